/* Pools and quotas: their names, their documents, and the table of those that are known.
 *
 * A quota is a pool of which a task takes one slot because of where it stands: its workflow, its
 * project. pool_each_want() alone says what a task takes, in the order of the gates: for the
 * ledger, which counts, and for the sorter, which chooses. A pool stays where it is in memory until
 * the table ends, because tasks point at it. `taken` is counted by the table's owner. */
#include "baseserver/ledger/pools.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/task.h"
#include "util/alloc.h"
#include "util/buf.h"

static bool begins(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

int pool_gate(const char *name)
{
	return begins(name, POOL_PROJECT) || begins(name, POOL_WORKFLOW) ? 7 : 8;
}

int32_t pool_size_unset(const char *name)
{
	return strchr(name, ':') ? POOL_NONE : 0;
}

void pool_each_want(const struct task *def, void (*each)(void *ctx, const struct pool_want *w),
                    void *ctx)
{
	char name[sizeof POOL_WORKFLOW + 200];
	const char *full = def->name ? def->name : "";
	const char *first = strchr(full, '/'), *last = strrchr(full, '/');

	if (def->workflow_cap > 0 && last) {
		snprintf(name, sizeof name, POOL_WORKFLOW "%.*s", (int)(last - full), full);
		each(ctx, &(struct pool_want){ name, 1, def->workflow_cap });
	}
	if (first) {
		snprintf(name, sizeof name, POOL_PROJECT "%.*s", (int)(first - full), full);
		each(ctx, &(struct pool_want){ name, 1, POOL_NONE });
	}
	for (size_t i = 0; i < def->n_pools; i++)
		each(ctx,
		     &(struct pool_want){ def->pools[i].name, def->pools[i].slots, POOL_NONE });
}

void pool_print(int32_t size, struct buf *out)
{
	buf_printf(out, "{\"size\": %" PRId32 "}", size);
}

bool pool_parse(const char *body, size_t len, int32_t *ret_size)
{
	static const char key[] = "{\"size\": ";
	char text[64], *end;

	if (!body || len >= sizeof text)
		return false;
	memcpy(text, body, len);
	text[len] = 0;
	if (!begins(text, key))
		return false;
	long size = strtol(text + sizeof key - 1, &end, 10);
	if (*end != '}' || size < POOL_NONE || size > POOL_SLOTS_MAX)
		return false;
	*ret_size = (int32_t)size;
	return true;
}

struct pool__change *pool_change_new(const char *name, int32_t size)
{
	size_t len = strlen(name) + 1;
	struct pool__change *c = mem_new(sizeof *c + len);

	c->size = size;
	memcpy(c->name, name, len);
	return c;
}

/* --- the table ------------------------------------------------------------------------ */

uint64_t pool_name_hash(const char *name)
{
	return map_text(name);
}

void pools_init(struct pools *p)
{
	*p = (struct pools){ 0 };
	map_init(&p->by_name);
}

void pools_done(struct pools *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->items[i]->name);
		free(p->items[i]);
	}
	free(p->items);
	map_done(&p->by_name);
}

struct pool *pools_get(struct pools *p, const char *name)
{
	uint64_t h = pool_name_hash(name);
	size_t at = 0;

	for (uint32_t i = map_first(&p->by_name, h, &at); i != MAP_NONE;
	     i = map_next(&p->by_name, h, &at))
		if (strcmp(p->items[i]->name, name) == 0)
			return p->items[i];
	struct pool *made = mem_new(sizeof *made);
	made->name = mem_str(name);
	made->size = pool_size_unset(name);
	p->items = mem_grow(p->items, p->n + 1, sizeof *p->items);
	map_add(&p->by_name, h, (uint32_t)p->n);
	p->items[p->n++] = made;
	return made;
}

struct taking {
	struct pools *pools;
	struct pool_take *takes;
	size_t n;
};

static void add_take(void *ctx, const struct pool_want *w)
{
	struct taking *t = ctx;
	struct pool *pool = pools_get(t->pools, w->name);

	if (w->size != POOL_NONE)
		pool->size = w->size;
	t->takes = mem_grow(t->takes, t->n + 1, sizeof *t->takes);
	t->takes[t->n++] = (struct pool_take){ pool, w->slots };
}

size_t pools_takes_of(struct pools *p, const struct task *def, struct pool_take **ret)
{
	struct taking t = { .pools = p };

	pool_each_want(def, add_take, &t);
	*ret = t.takes;
	return t.n;
}
