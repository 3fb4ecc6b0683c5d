/* secrets.h — values of secrets that are kept outside, fetched when a job needs them.
 *
 * An actor with a thread of its own, whose helpers wait for files, programs and a vault, so that
 * nobody else does.
 */
#ifndef BASESERVER_SECRETS_H
#define BASESERVER_SECRETS_H

#include "rt/actor.h"

struct err;
struct param_baseserver;
struct secrets;

#define SECRET_WAIT_MAX_US ((int64_t)300 * 1000000) /* between two tries, at most */

/* One value. Texts are heap, and the question's. */
struct secret_wish {
	char *from, *path, *key;  /* source.h */
	char *what;               /* "the secret password of target server w", for people */
	char *value;              /* answered */
	bool is_asked, is_filled; /* ours: begin with false */
};

/* The very letter comes back through `answered`, with all values or with a code. */
struct secret_question {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	void (*discard)(struct letter *l);
	struct secret_wish *wishes;
	size_t n;
	/* For a job that has not begun: what is about to be forgotten is fetched anew. */
	bool is_ahead;
	int code;        /* E_SECRET: cannot be had now */
	char text[400];  /* "waits for the secret ...: vault answered 403 ..." */
	int64_t wait_us; /* of E_SECRET: nothing is tried before */
};
/* What is inside is wiped; the question itself is the caller's. */
void secret_question_done(struct secret_question *q);

/* Opens what the settings turn on, before there are threads. `p` is borrowed.
 *
 *   errors  E_NOT_FOUND, E_ABI the module for a vault */
int secrets_new(struct thread *th, const struct param_baseserver *p, struct secrets **ret,
                struct err *err);
/* Would secrets_new() take these settings? errors as its */
int secrets_check(const struct param_baseserver *p, struct err *err);
void secrets_free(struct secrets *s); /* NULL is fine */
/*   owns    on 0 the question is on its way; on error it is the caller's
 *   errors  E_BUSY, E_CLOSED
 *   thread  any */
int secrets_ask(struct secrets *s, struct secret_question *q);
/* The setting that is empty and would allow that source; NULL: it is allowed. Thread: any. */
const char *secrets_lack(const struct secrets *s, const char *from);

#endif
