/* pools.h — what running instances share: pools of slots, and quotas, which are pools that a
 * task takes one slot of without naming them.
 *
 * By name: "NAME" a pool, "server:NAME" a target server, "project:NAME" a project's quota,
 * "workflow:PROJECT/NAME" a workflow's. All but the last are documents (DOC_POOL), changed by
 * command and kept by the ledger, which also counts what is taken; the sorter has its own view.
 */
#ifndef BASESERVER_POOLS_H
#define BASESERVER_POOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/task.h"
#include "util/map.h"

struct buf;

enum { POOL_NONE = -1 /* no limit */, POOL_SLOTS_MAX = 1000000, POOL_NAME_MAX = 64 };

#define POOL_PROJECT  "project:"
#define POOL_WORKFLOW "workflow:"
#define POOL_SERVER   TASK_SERVER_POOL

/* The gate a pool of that name closes: 7 quotas, 8 pools and target servers. */
int pool_gate(const char *name);
/* Its size while nobody has set one: quotas have none, a pool that is not there has 0 slots. */
int32_t pool_size_unset(const char *name);

/* What an instance of the task takes while it runs, in the order of the gates. `size`: the
 * limit the definition itself gives (a workflow's quota), or POOL_NONE. */
struct pool_want {
	const char *name;
	int32_t slots, size;
};
void pool_each_want(const struct task *def, void (*each)(void *ctx, const struct pool_want *w),
                    void *ctx);

/* A pool's document: {"size": 2}. */
void pool_print(int32_t size, struct buf *out);
bool pool_parse(const char *body, size_t len, int32_t *ret_size);

/* A change of a pool as it goes through the stream (TK_POOL, `row`). */
struct pool__change {
	int32_t size; /* POOL_NONE or the size of what is unset: removed */
	char name[];
};
struct pool__change *pool_change_new(const char *name, int32_t size);

/* Pools by name with what is taken of each. */
struct pool {
	char *name;
	int32_t size, taken;
};
struct pools {
	struct pool **items; /* they stay where they are */
	size_t n;
	struct map by_name;
};
void pools_init(struct pools *p);
void pools_done(struct pools *p);
struct pool *pools_get(struct pools *p, const char *name); /* made when it is new */
uint64_t pool_name_hash(const char *name);

/* The pools one task takes of. */
struct pool_take {
	struct pool *pool;
	int32_t slots;
};
/* owns    *ret is the caller's: free() */
size_t pools_takes_of(struct pools *p, const struct task *def, struct pool_take **ret);

#endif
