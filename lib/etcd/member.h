/* member.h — this node's entry in etcd's registry: there for as long as we live.
 *
 * PREFIX/nodes/UUID holds our JSON under a lease that an actor keeps; whoever dies is gone when
 * the lease runs out, whoever ends takes it away. Waits for etcd on a thread of its own.
 */
#ifndef ETCD_MEMBER_H
#define ETCD_MEMBER_H

#include <stdint.h>

#include "etcd/etcd.h"

struct err;
struct member;

/* Borrowed for member_open(), but for `told`. */
struct member_settings {
	struct etcd_settings etcd;
	const char *prefix;
	int64_t ttl_ms;
	const char *state_dir; /* node.id is kept there: the UUID, drawn once */
	const char *name, *address, *mode, *status, *description; /* address: HOST[:PORT] */
	/* What became of it: NULL it is registered, else why not. Only when that changes. A program
	 * that has nothing else to do with it takes member_log(). */
	void (*told)(void *ctx, const struct err *err);
	void *ctx;
};

/* Starts its thread. Signals are blocked.
 *   errors  those of etcd_open(), E_IO, E_CORRUPT of node.id; never that etcd is away */
int member_open(const struct member_settings *set, struct member **ret, struct err *err);
void member_close(struct member *m); /* takes the entry away; NULL is fine */
void member_log(void *ctx, const struct err *err);
/* From now on the entry says so; static text. Thread: any. */
void member_set_status(struct member *m, const char *status);

#endif
