/* election.h — one of several in etcd: who has made PREFIX/leader, under a lease of its own.
 *
 * Whoever wants to lead and finds no key makes it by a transaction on its create revision. The
 * holder keeps its lease, and knows by its own clock until when nobody else can have one: the
 * instant a keep-alive was sent, and the lease's time from there, less a tenth for clocks that
 * differ in speed. After that it may not act, whatever etcd would say.
 *
 * Waits for etcd on a thread of its own.
 */
#ifndef ETCD_ELECTION_H
#define ETCD_ELECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "etcd/etcd.h"

struct election;
struct err;

/* What `told` is told of. */
enum election_news { ELECTION_WON, ELECTION_LOST, ELECTION_GIVEN, ELECTION_AWAY, ELECTION_BACK };

/* Borrowed for election_open(), but for `told`. */
struct election_settings {
	struct etcd_settings etcd;
	const char *prefix;
	int64_t ttl_ms;
	const char *value; /* what the key says, for people */
	/* text: of AWAY and LOST why. Thread: the actor's. */
	void (*told)(void *ctx, enum election_news news, const char *text);
	void *ctx;
};

/* Starts its thread. Signals are blocked.  errors  those of etcd_open() */
int election_open(const struct election_settings *set, struct election **ret, struct err *err);
void election_close(struct election *e); /* gives back what it holds; NULL is fine */

/* Stand for it, or give it back. Thread: any. */
void election_want(struct election *e, bool wanted);
/* Until when it is surely ours (mono_us of the machine's clock); 0: it is not. Thread: any. */
const _Atomic int64_t *election_until_us(const struct election *e);
bool election_holds(const struct election *e);
/* The create revision of our key, the fence; 0: none. Thread: any. */
int64_t election_revision(const struct election *e);

#endif
