/* cgi.h — the daemon as a whole: what its threads know of each other.
 *
 * Threads: HTTP (libmicrohttpd's own, `threads` of them, a connection always the same one's: every
 * handler, never blocks), net (the session with the
 * BaseServer, streams, the janitor of connections), disk, disk-2, disk-3 (reads of the store), hash
 * (passwords). `param` is fixed once the threads run, but for what atomics below carry.
 */
#ifndef CGI_CGI_H
#define CGI_CGI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cgi/http/limit.h"
#include "util/buf.h"
#include "util/param.h"

struct MHD_Daemon;
struct actor;
struct budget;
struct call;
struct letter;
struct reader;
struct auth;
struct disk;
struct fresh;
struct hash;
struct janitor;
struct names;
struct net;
struct pages;
struct people;
struct proxies;
struct signs;
struct routes;
struct thread;
struct ways;
struct traffic;

/* What a call can wait for: an actor, and what it does with the letter; or `post`, which has it
 * wait elsewhere. */
enum waits_for { FOR_SERVER, FOR_LOG, FOR_DISK, FOR_HASH, FOR_WAY, FOR_SEARCH, WAITS_N };
struct waiter {
	struct actor *actor;
	void (*deliver)(struct letter *l, void *self);
	int (*post)(struct cgi *cgi, struct call *c); /* as actor_post(); NULL: to the actor */
};

struct cgi {
	struct param_cgi param;
	struct MHD_Daemon *http;
	bool tls;                /* on the face's own connections; of a call: c->https */
	struct proxies *proxies; /* cgi/http/proxy.h; fixed */
	struct buf certificate, certificate_key; /* PEM, NUL-terminated */

	struct thread *net_thread, *hash_thread, *search_thread;
	struct net *net;         /* cgi/server/net.h */
	struct janitor *janitor; /* cgi/http/janitor.h */
	struct disk *disk;       /* cgi/server/disk.h */
	struct hash *hash;       /* cgi/who/hash.h */
	struct hash *search;     /* cgi/who/hash.h: looks through logs, in turns of people */
	struct member *member;   /* etcd/member.h; NULL: no etcd */
	struct auth *auth;       /* cgi/who/auth.h; has its own lock */
	struct budget *budget;   /* cgi/who/budget.h; has its own lock */
	struct signs *signs;     /* cgi/who/signs.h; has its own lock */
	struct ways *ways;       /* cgi/who/ways.h; NULL: none is set */

	struct pages *pages;     /* cgi/http/pages.h; NULL: not built */
	struct pages *docs;      /* the manual; NULL: not built */
	struct pages *schemas;   /* KIND.json of sched/schema.h; NULL: not built */
	struct people *people;   /* cgi/who/people.h; has its own lock */
	struct fresh *fresh;     /* cgi/server/fresh.h; has its own lock */
	struct names *names;     /* cgi/server/names.h; has its own lock */
	struct traffic *traffic; /* cgi/http/traffic.h; any thread */
	struct routes *routes;   /* cgi/handlers/route.h; fixed once the face listens */

	/* Set before the face listens: http/ knows none of those it uses. */
	struct waiter waiters[WAITS_N];
	int (*keep)(struct call *c); /* answer, and keep the answer */
	/* Of calls with a sight. What is about to be asked: 0; 1: `work` has the store asked
	 * before; negative: refused. What the server answered, or why it refused, is cut down to
	 * it. */
	int (*may_ask)(struct call *c, int (**ret_work)(struct call *c, struct reader *r));
	void (*shown)(struct call *c);
	int (*may_log)(struct call *c);
	bool (*words_of_seed)(struct call *c, int *ret_status); /* of an error */

	_Atomic unsigned calls;   /* requests not yet answered in full */
	atomic_bool stopping;     /* nobody new is let in */
	_Atomic unsigned large;   /* bodies over request_bytes_max */
	_Atomic unsigned streams; /* open event streams and followed logs */
	uint64_t nonce;           /* how request ids begin */
	_Atomic unsigned long long requests, refusals, kept; /* for /metrics */
	_Atomic unsigned long long messages, gaps;           /* of streams */
	_Atomic unsigned long long limited[LIMITS_N];
};

#endif
