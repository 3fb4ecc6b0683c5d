/* net_impl.h — shared by net*.c only. */
#ifndef CGI_NET_IMPL_H
#define CGI_NET_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "cgi/server/net.h"
#include "rt/actor.h"
#include "sched/name.h"
#include "sirdar.pb-c.h"
#include "util/buf.h"
#include "wire/client.h"

#define BEAT_US (10 * US_PER_S) /* heartbeat of feeds */

struct call;
struct net;

/* net_ask.c: one call that waits. */
struct call *net__ask_take(struct net *n, uint64_t id); /* out of n->asks, or NULL */
void net__call_end(struct call *c, int code, const char *text);
int net__send_command(struct net *n, struct call *c, struct err *err);
void net__ask_extend(struct net *n, struct call *c); /* it goes on: it has its time anew */
/* net_piece.c: arguments that are larger than a frame. The call waits in n->asks. */
bool net__wants_pieces(const struct call *c);
void net__pieces_go_on(struct net *n, struct call *c, size_t taken); /* and at last the command */
void net__pieces_end(struct net *n, const struct call *c); /* it was taken out of n->asks */

bool net__has_records(const struct net *n); /* the server keeps logs of records */

/* net_signs.c */
void net__signs_look(struct net *n, int64_t now);
bool net__signs_answered(struct net *n, const Sirdar__Answer *a); /* false: it was none of it */
void net__signs_down(struct net *n);

/* Someone who listens. */
struct follower {
	struct letter letter;
	struct net *net;
	struct follower *next;
	struct feed *feed;
	bool log;      /* else events */
	bool gap;      /* events were lost for it: say so when there is room */
	uint64_t mark; /* struct follow's */
	struct session_ref session;
	/* events */
	uint64_t from;
	uint32_t task, states;
	struct sight *sight; /* held; NULL: all */
	uint64_t heard;      /* of the news of commands, the last one */
	/* log */
	struct log_ask ask;
	uint64_t id;        /* of the LOG_READ; 0: none is open */
	unsigned absent;    /* beats at which there was no log of an instance that is over */
	bool is_found;      /* what is read is what follows; else where to begin is looked for */
	struct buf pending; /* records of which the end has not come */
	unsigned char carry[4]; /* the beginning of a character whose end has not come */
	size_t carry_n;
};

/* Events that wait to go out together, each shown once. */
struct told_event {
	uint64_t number;
	uint32_t task, state;             /* state: its bit */
	size_t at, bytes;                 /* in text */
	char project[NAME_BYTES_MAX + 1]; /* of its task; "": its name is not known yet */
};

struct told {
	struct told_event *events;
	size_t n, cap;
	struct buf text;
};

enum { NEWS_KEPT = 32 };

enum { OWNED_KEPT = 256 };

/* Who gave the last commands of this face. */
struct told_owner {
	uint64_t id;
	char person[136];
};

/* The last news of the last commands, for who begins to listen too. */
struct told_news {
	struct {
		uint64_t id, at; /* at: rises with each news */
		char text[200];
	} kept[NEWS_KEPT];
	size_t n;
	uint64_t last;
	struct told_owner owners[OWNED_KEPT];
	size_t n_owners;
};

/* net_signs.c: what is told to the audit. */
struct net_signs {
	struct buf args;
	char request[48];
	bool waits;      /* args are a command that the server has not answered */
	uint64_t ask_id; /* under way; 0: not */
	int64_t next_us; /* mono */
};

struct net {
	struct cgi *cgi;
	struct actor *me;
	struct actor_ops ops;
	struct client *client;
	int64_t beat_at_us;
	uint64_t last_id;
	struct call *asks; /* sent, waiting */
	struct follower *followers;
	bool subscribed;
	uint64_t seen; /* number of the last event that came */
	struct told told;
	struct told_news news;
	struct net_signs signs;
};

void net__followers_event(struct net *n, const Sirdar__Events *e);
void net__tell(struct net *n); /* what waits goes out now */
/* net_news.c: how far commands are. */
void net__news_take(struct net *n, const Sirdar__CommandNews *m);
void net__news_own(struct net *n, struct call *c);     /* its command was taken */
void net__news_say(struct net *n, struct follower *f); /* what it has not heard */
void net__told_done(struct told *t);
void net__followers_log(struct net *n, const Sirdar__LogData *d);
void net__followers_up(struct net *n); /* a session began */
void net__followers_down(struct net *n);
void net__followers_beat(struct net *n); /* heartbeats; those who left are forgotten */
void net__followers_fresh(
	struct net *n); /* follow events for cgi/server/fresh.h, if it wants them */
void net__followers_end(struct net *n);

#endif
