/* directories.h — is this the password of that person of the directory? An actor with a thread of
 * its own, for it waits for an LDAP server.
 */
#ifndef BASESERVER_DIRECTORIES_H
#define BASESERVER_DIRECTORIES_H

#include "baseserver/secret/passwords.h"
#include "openid/provider.h"
#include "rt/actor.h"

struct directories;
struct err;
struct param_baseserver;

enum { DIRECTORY_USER_MAX = 64 };

/* The very letter comes back through `answered`; its password is wiped then. */
struct directory_question {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	void (*discard)(struct letter *l);
	char user[DIRECTORY_USER_MAX];
	char password[PASSWORD_BYTES_MAX + 1];
	int code; /* E_AUTH, E_AGAIN, E_TIMEOUT, E_INVALID */
	char text[400];
	struct vouched who; /* of code 0; groups by their DN */
};
/* What is inside is wiped and freed; the question itself is the caller's. */
void directory_question_done(struct directory_question *q);

/* `p` is borrowed; its ldap_url is set.
 *   errors  E_INVALID, E_FORBIDDEN settings; E_NOT_FOUND, E_ABI the module that asks */
int directories_new(struct thread *th, const struct param_baseserver *p, struct directories **ret,
                    struct err *err);
/* Would directories_new() take these settings? errors as its */
int directories_check(const struct param_baseserver *p, struct err *err);
void directories_free(struct directories *d); /* its thread is stopped; NULL is fine */
/*   owns    on 0 the question is on its way; on error it is the caller's
 *   errors  E_BUSY, E_CLOSED
 *   thread  any */
int directories_ask(struct directories *d, struct directory_question *q);

#endif
