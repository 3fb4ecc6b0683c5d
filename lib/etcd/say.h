/* say.h — what is asked of etcd's JSON gateway. Pure: text out.
 *
 * The gateway ignores members it does not know: a misspelt one is a condition that always holds.
 * So every request is built here, and nowhere else.
 */
#ifndef ETCD_SAY_H
#define ETCD_SAY_H
#include <stdint.h>

struct buf;

/* Keys that begin with `prefix`, from key `from` on (NULL: the first); limit 0: all.
 * revision 0: now. */
void say_range_prefix(struct buf *out, const char *prefix, const char *from, int64_t limit,
                      int64_t revision);
void say_range(struct buf *out, const char *key);
void say_put(struct buf *out, const char *key, const char *value, int64_t lease);
void say_delete(struct buf *out, const char *key);
/* Put when the key is not there; when it is, its kv is the answer's. */
void say_create(struct buf *out, const char *key, const char *value, int64_t lease);
/* Put, or (value NULL) delete, when it was not written since, 0: when it is not there; when it was,
 * its kv is the answer's. */
void say_change_if(struct buf *out, const char *key, const char *value, int64_t mod_revision);
void say_lease_grant(struct buf *out, int64_t ttl_s);
void say_lease(struct buf *out, int64_t lease); /* keep alive, revoke */
void say_watch(struct buf *out, const char *prefix, int64_t from_revision);
void say_login(struct buf *out, const char *user, const char *password);

#endif
