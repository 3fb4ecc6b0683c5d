/* wake.h — the session with the BaseServer that says when there is news. What the news is stands
 * in the store: an event that this session misses is found there all the same. */
#ifndef NOTIFIER_WAKE_H
#define NOTIFIER_WAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/actor.h"
#include "util/param.h"

struct err;
struct wake;

/* What the server is to hear: a letter to the session's thread, and back. */
struct told {
	struct letter letter;
	size_t n;
	struct told_item {
		uint32_t task, generation;
		int64_t run_date;
		char *who; /* owned */
		int code;  /* once it is back: 0, what the server says, or E_AGAIN: not heard */
	} items[];
};

void told_free(struct told *t); /* NULL is fine */

/* Alerts as the server is to keep them: a letter to the session's thread, and back. */
struct say {
	struct letter letter;
	char *json; /* owned */
	int code;   /* once it is back: 0, what the server says, or E_AGAIN: not heard */
	size_t n;
	struct {
		int64_t id, change;
	} items[];
};

void say_free(struct say *s); /* NULL is fine */

/* What a client asks of us, through the server; the same goes back as the answer. */
struct ask {
	struct letter letter;
	struct ask *next;
	uint64_t id, meeting; /* meeting: of the session it came by */
	char kind[40], channel[64];
	int64_t sent_us;  /* wall: of a test, when it began */
	int64_t since_us; /* wall: of the first look at it; 0: none yet */
	char *args;       /* owned JSON */
	int code;
	char text[400];
	char *body; /* owned JSON, or NULL */
};

void ask_free(struct ask *a); /* NULL is fine */

/* The secrets of a channel, or why not. A letter of the session's thread. */
struct given {
	struct given *next;
	char *channel;   /* owned */
	char *secret[3]; /* url, password, secret; owned, wiped; NULL: it has none */
	uint32_t version;
	int code;
	char text[300];
};

void given_free(struct given *g); /* NULL is fine */

/* What is asked of the server every few seconds, while somebody wants to hear of it. */
enum wake_fact { WAKE_BROKERS, WAKE_HEALTH, WAKE_SERVER, WAKE_FACTS };

/* Called on wake's own thread. */
struct wake_ops {
	void (*news)(void *ctx);      /* after each event, and each try to connect */
	uint64_t (*place)(void *ctx); /* up to which event the store was read: none falls between */
	void (*told)(void *ctx, struct told *t); /* owns t: every item has its code */
	void (*fact)(void *ctx, enum wake_fact which, char *json); /* owns json */
	void (*said)(void *ctx, struct say *s);                    /* owns s */
	void (*given)(void *ctx, struct given *g);                 /* owns g */
	void (*asked)(void *ctx, struct ask *a); /* owns a: to be given to wake_reply() */
};

/* errors  E_INVALID an address, E_NOT_FOUND a name or key */
int wake_start(const struct param_notifier *p, const struct wake_ops *ops, void *ctx,
               struct wake **ret_wake, struct err *err);
void wake_stop(struct wake *w); /* NULL is fine */
/* Tell the server; ops.told() gives `t` back. One at a time. Thread: any. */
void wake_tell(struct wake *w, struct told *t);
/* The same of alerts; ops.said() gives `s` back. */
void wake_say(struct wake *w, struct say *s);
/* Owns a. Thread: any. */
void wake_reply(struct wake *w, struct ask *a);
/* The server is to forget a device that its push service knows no more. Heard or not is seen in
 * the store. Thread: any. */
void wake_forget(struct wake *w, const char *device);
/* The secrets of a channel: ops.given() brings them. What the session loses is asked for again by
 * who wants them. Thread: any. */
void wake_ask_secrets(struct wake *w, const char *channel);
/* Whether to ask for facts. Thread: any. */
void wake_ask_facts(struct wake *w, bool ask);
/* A server that leads has answered. Thread: any. */
bool wake_is_up(const struct wake *w);

#endif
