/* etcd.h — a client of etcd v3 by its JSON gateway.
 *
 * Calls block, none longer than timeout_ms for each endpoint; one thread, but for etcd_stop().
 * When an endpoint does not answer, the next one is asked; it is the one asked from then on.
 * A change whose answer is lost may be in: each here may be made again.
 */
#ifndef ETCD_ETCD_H
#define ETCD_ETCD_H
#include <stddef.h>
#include <stdint.h>

#include "etcd/hear.h"

struct err;
struct etcd;
struct etcd_watch;

/* Borrowed for etcd_open(). */
struct etcd_settings {
	char *const *endpoints; /* http[s]://HOST:PORT */
	size_t n;
	const char *user_file; /* one line USER:PASSWORD, or :TOKEN; "": none */
	const char *ca_file;   /* "": the machine's */
	int64_t timeout_ms;
};

/* Checks settings and files and loads libcurl; nobody is asked yet.
 *   errors  E_INVALID, E_NOT_FOUND, E_FORBIDDEN the file may be read by others, E_ABI */
int etcd_open(const struct etcd_settings *set, struct etcd **ret, struct err *err);
void etcd_close(struct etcd *e); /* NULL is fine; its watches are ended */
/* Every call under way and to come ends with E_CLOSED. Thread: any. */
void etcd_stop(struct etcd *e);
const char *etcd_endpoint(const struct etcd *e); /* the one in use; borrowed */

/* All calls: errors  E_IO, E_TIMEOUT nobody answers; E_AUTH who we are, or who they are, is not
 * believed; E_FORBIDDEN; E_AGAIN it may pass; E_CLOSED; E_PROTOCOL. */

/* All keys that begin with prefix, of one revision: in *ret_revision. */
int etcd_each(struct etcd *e, const char *prefix, int (*each)(void *ctx, const struct etcd_kv *kv),
              void *ctx, int64_t *ret_revision, struct err *err);
/* errors  E_NOT_FOUND */
int etcd_get(struct etcd *e, const char *key, struct etcd_answer *ret, struct err *err);
/* How far its history is. */
int etcd_revision(struct etcd *e, int64_t *ret_revision, struct err *err);
int etcd_put(struct etcd *e, const char *key, const char *value, int64_t lease, struct err *err);
/* E_NOT_FOUND of the lease: it has run out. */
int etcd_delete(struct etcd *e, const char *key, struct err *err);
/* Put, or (value NULL) delete, what was not written since, 0: what is not there. ret->succeeded: it
 * is; else ret->kvs has what is there now, if anything is. */
int etcd_change_if(struct etcd *e, const char *key, const char *value, int64_t mod_revision,
                   struct etcd_answer *ret, struct err *err);
/* Only what was not written since. */
int etcd_delete_if(struct etcd *e, const char *key, int64_t mod_revision, struct err *err);
/* Put if it is not there. *ret_revision: its create revision, which is ours when 0 is returned.
 *   errors  E_EXISTS another's */
int etcd_create(struct etcd *e, const char *key, const char *value, int64_t lease,
                int64_t *ret_revision, struct err *err);

/* *ret_ttl_s: etcd may give more than was asked for. */
int etcd_lease_grant(struct etcd *e, int64_t ttl_s, int64_t *ret_lease, int64_t *ret_ttl_s,
                     struct err *err);
/* errors  E_STALE it has run out */
int etcd_lease_keep(struct etcd *e, int64_t lease, int64_t *ret_ttl_s, struct err *err);
int etcd_lease_revoke(struct etcd *e, int64_t lease, struct err *err);

/* Changes of keys with this prefix, from a revision on, in order.
 *   owns  *ret is the caller's: etcd_watch_end(), before etcd_close() */
int etcd_watch(struct etcd *e, const char *prefix, int64_t from_revision, struct etcd_watch **ret,
               struct err *err);
/* Hand on what has come, or comes within wait_ms; nothing may have.
 *   errors  E_STALE the revision is compacted away: list again; E_IO it is over: watch again
 *           from etcd_watch_revision(); also when another call went on to another endpoint */
int etcd_watch_wait(struct etcd_watch *w, int64_t wait_ms,
                    int (*each)(void *ctx, const struct etcd_kv *kv), void *ctx, struct err *err);
int64_t etcd_watch_revision(const struct etcd_watch *w); /* the first not handed on yet */
void etcd_watch_end(struct etcd_watch *w);               /* NULL is fine */

/* Of the cluster that answered last; "" nobody yet. */
const char *etcd_cluster(const struct etcd *e);

#endif
