/* notifier.h — from events in the store to messages that were taken.
 *
 * Three steps, each durable before the next begins: events are read from the store and what
 * they ask for enters the outbox, with the place up to which was read; letters that are due are
 * grouped by recipient and sent; how that went is written down. Whatever ends the process,
 * each step goes on where it was. Told at least once; twice only when a crash comes between an
 * answer and its record.
 */
#ifndef NOTIFIER_NOTIFIER_H
#define NOTIFIER_NOTIFIER_H

#include <stdatomic.h>
#include <stdint.h>

#include "notifier/message.h"
#include "notifier/wake.h"
#include "util/param.h"

struct alert;
struct channels;
struct devices;
struct err;
struct outbox;
struct owners;
struct reader;
struct rules;
struct sender;
struct silences;
struct stored;
struct task_rules;
struct webpush_pair;

struct notifier {
	struct param_notifier param;
	struct channels *channels;
	struct outbox *outbox;
	struct reader *reader;
	struct rules *rules;
	struct silences *silences;
	struct stored *stored; /* channels, lists and rules that are documents */
	struct devices *devices;
	struct owners *owners;
	struct webpush_pair *pair; /* of the channel push; NULL: there is none */
	struct sender *sender;
	struct wake *wake;
	_Atomic(struct told *) answered;   /* by wake's thread */
	_Atomic(char *) facts[WAKE_FACTS]; /* answers of the server, by wake's thread */
	_Atomic(struct say *) said;        /* the same of alerts */
	_Atomic(struct given *) given;     /* secrets of channels; by wake's thread */
	_Atomic(struct ask *) asks;        /* the last first; by wake's thread */
	struct ask *held;                  /* tests of channels whose secrets are on their way */
	bool is_telling, is_saying;
	bool lacks_secrets;      /* something is due by a channel whose secrets are on their way */
	int64_t tell_us, say_us; /* wall: not before */
	_Atomic bool has_news;
	_Atomic int64_t cursor; /* wake.c looks too */
	int64_t forgot_us;
	int64_t began_us; /* wall */
	int64_t nodes_us; /* when nodes were last looked at */
	int64_t gone_us;  /* when the server was last told of devices that are gone */
};

/* errors  of the channels file, the store, the state directory */
int notifier_open(struct notifier *n, struct err *err);
void notifier_close(struct notifier *n);
int notifier_reload(struct notifier *n, struct err *err); /* the channels file */
/* Of wake.h. Thread: any. */
void notifier_news(void *notifier);
uint64_t notifier_place(void *notifier);

/* One round: read, send, wait until something happens or `fd` can be read.
 *
 *   errors  of the outbox: the process must end. A store that cannot be read is tried again */
int notifier_round(struct notifier *n, int fd, struct err *err);

/* news.c. One alert to one recipient. */
struct notice {
	const char *key; /* the same key again is the same letter */
	int64_t alert;   /* its number in the outbox */
	const struct alert *is;
	const char *recipient;
	int64_t next_us; /* sent from then on (wall); 0: after the grouping pause */
};
int news_put(struct notifier *n, const struct notice *news, struct err *err);
/* The i-th recipient by which a task's owner is told of it, because the channels file says so; to
 * be freed. NULL: there are no more. */
char *news_owner_recipient(const struct notifier *n, const struct task_rules *t,
                           enum happening what, size_t i);
/* Facts of the outbox: which past the cursor is of, and when it was last that of another. */
#define NEWS_LIFE "life of the store"
#define NEWS_WENT "past of the store"
/* What happened since the cursor, into the outbox. */
int news_take(struct notifier *n, struct err *err);
int news_late(struct notifier *n, int64_t now_us, struct err *err);
/* nodes.c: what became of nodes in etcd's registry, into the outbox. */
int news_nodes(struct notifier *n, struct err *err);
/* system.c: what machines and the server say of themselves, into the outbox. */
int news_system(struct notifier *n, int64_t now_us, struct err *err);
void system_answer(void *notifier, enum wake_fact which, char *json); /* of wake.h */
/* asked.c: what clients ask of us. */
void asked_put(void *notifier, struct ask *a); /* of wake.h. Thread: any */
/* True: some are held, to be looked at again. */
bool asked_answer(struct notifier *n, int64_t now_us);
struct buf;
struct jval;
/* asked_reply.c: the answer. `body` may be NULL. Owns a. */
void asked_reply(struct notifier *n, struct ask *a, int code, const char *text, struct buf *body);
/* How the last try went (outbox_try()), as the fields last_at, last_ok, last_error. */
void asked_put_try(struct buf *out, int64_t at_us, const char *error);
void asked_tested(void *notifier, struct ask *a, const char *error); /* of a test; NULL: taken */
/* asked_push.c: the same of pushes: the key, a subscription, a test. */
int asked_push(struct notifier *n, struct ask *a, const struct jval *args, struct err *err);
/* recipients.c: who is meant by one that a rule or a document names, one after the other; each is
 * to be freed, NULL: there are no more. `owner`, `user:NAME` and lists that are documents are
 * people's ways; `at`: when it is sent. */
char *recipients_at(const struct notifier *n, const char *named, const char *owner,
                    enum happening what, int64_t at, size_t i);
/* Why it may not be told of a task of that project (NULL: of machines); NULL: it may. */
const char *recipients_refusal(const struct notifier *n, const char *recipient, const char *project,
                               int64_t now_us);
void notifier_given(void *notifier, struct given *g); /* of wake.h. Thread: any */
/* told.c: the server hears whose end somebody was told of. */
int told_put(struct notifier *n, const struct alert *a, const char *who, struct err *err);
/* One batch at a time; *wait_ms gets shorter where it is to be tried again. */
int told_send(struct notifier *n, int64_t now_us, int64_t *wait_ms, struct err *err);
void told_back(void *notifier, struct told *t); /* of wake.h. Thread: any */
/* post.c: letters that are due, to their recipients. */
int post_due(struct notifier *n, int64_t now_us, struct err *err);
int post_test(struct notifier *n, const char *recipient, struct err *err); /* at once */

#endif
