/* net.h — the session with the BaseServer, and what waits for it.
 *
 * An actor: keeps one session up (addresses in order, growing pauses), sends asks and gives
 * the answers back, carries events and logs to feeds. Nothing is repeated here: an ask whose
 * session ended is answered with E_AGAIN, and the caller's request id makes a repeat safe.
 */
#ifndef CGI_NET_H
#define CGI_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "cgi/server/logread.h"
#include "cgi/who/auth.h"
#include "rt/actor.h"
#include "sched/instance.h"

struct cgi;
struct err;
struct feed;
struct net;
struct sight;
struct param_cgi;
struct thread;

/* Does its key read? errors as of identity_read() */
int net_check(const struct param_cgi *p, struct err *err);
/* Names are resolved here, so this blocks. errors  E_INVALID, E_NOT_FOUND, of the key file */
int net_new(struct thread *th, struct cgi *cgi, struct net **ret_net, struct err *err);
void net_free(struct net *n); /* after the thread has stopped; NULL is fine */
struct actor *net_actor(struct net *n);
bool net_up(struct net *n); /* thread: any */

/* deliver of a call that has ask_kind and ask_args. */
void net_ask(struct letter *l, void *self);
/* deliver of a call whose `extra` is a struct log_ask: one piece of a log into `out`. */
void net_log(struct letter *l, void *self);

/* Follow all events (states: bits, 0 all; task 0 all), or one log, into a feed, which
 * becomes the actor's.
 *   from    events after this number; 0: from now on
 *   errors  E_BUSY, E_CLOSED: the writer has let go of the feed */
struct follow {
	uint64_t from;
	uint32_t task, states;
	struct sight *sight; /* held meanwhile; NULL: who follows reads everything */
	uint64_t mark; /* people_mark_of(), or people_reading_mark(), when it began; 0: unknown */
	struct session_ref session; /* the stream ends with it */
};
int net_follow_events(struct net *n, struct feed *f, const struct follow *which);
int net_follow_log(struct net *n, struct feed *f, const struct log_ask *ask);

/* The words of a command line that have this program enrol (wire/enrol.h). An exit status. */
#define NET_ENROL_USES "enrol CODE | rotate-key"
int net_enrol(const struct param_cgi *p, char *const *words);

#endif
