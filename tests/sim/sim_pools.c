/* Pools and a quota: people change their size at any moment; no grant exceeds the size that
 * the log has made known before it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/ledger/pools.h"
#include "sched/task.h"
#include "sim.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"

static const char *const names[POOLS] = { "sim_a", "sim_b", POOL_PROJECT "sim" };
static int32_t sizes[POOLS]; /* as the log says */
static uint32_t versions[POOLS];

const char *pool_name(int pool)
{
	return names[pool];
}

void pools_reset(void)
{
	for (int p = 0; p < POOLS; p++)
		sizes[p] = pool_size_unset(names[p]);
	memset(versions, 0, sizeof versions);
}

static int pool_of(const char *name)
{
	int p = 0;

	while (p < POOLS && strcmp(names[p], name) != 0)
		p++;
	return p;
}

static void put(int pool, int32_t size)
{
	struct edit *e = mem_new(sizeof *e);
	struct buf body;

	note("pool %s: %" PRId32 " slots", names[pool], size);
	buf_init(&body);
	pool_print(size, &body);
	e->docs = mem_array(1, sizeof *e->docs);
	e->n_docs = 1;
	e->docs[0] = (struct store_doc){ .kind = DOC_POOL,
		                         .id = (uint32_t)pool + 1,
		                         .version = ++versions[pool],
		                         .name = mem_str(names[pool]),
		                         .body = mem_strn(buf_str(&body), body.len),
		                         .body_len = body.len,
		                         .actor = mem_str("sim"),
		                         .at_us = wall_of(now_us) };
	buf_done(&body);
	if (ledger_edit(server_ledger(), e) < 0)
		edit_free(e);
}

void pools_make(void)
{
	for (int p = 0; p < POOLS; p++)
		put(p, 2 + (int32_t)rnd(4));
}

/* Never below what one instance takes: it would wait for good. */
void pools_act(void)
{
	put((int)rnd(POOLS), 2 + (int32_t)rnd(5));
}

static int each_doc(void *ctx, const struct store_doc *d)
{
	int p = pool_of(d->name);

	(void)ctx;
	if (p < POOLS && !pool_parse(d->body, d->body_len, &sizes[p]))
		break_invariant("I20", "pool %s does not read back", d->name);
	return 0;
}

void pools_restart(struct store *s)
{
	if (store_load_docs(s, DOC_POOL, each_doc, NULL, NULL) < 0)
		break_invariant("I20", "the pools do not load");
}

void pools_follow(const struct transition *tr)
{
	const struct pool__change *c = tr->row;
	int p = pool_of(c->name);

	if (p < POOLS)
		sizes[p] = c->size;
}

static int32_t takes(const struct task *t, int pool)
{
	int32_t n = pool == POOLS - 1 && strncmp(t->name, "sim/", 4) == 0; /* the project's quota */

	for (size_t k = 0; k < t->n_pools; k++)
		n += strcmp(t->pools[k].name, names[pool]) == 0 ? t->pools[k].slots : 0;
	return n;
}

/* What runs takes by the definition in force, which may have changed since its grant. */
void pools_grant(const struct task *t, const int slots[TASKS + 1])
{
	for (int p = 0; p < POOLS; p++) {
		int32_t want = takes(t, p), taken = 0;
		if (want == 0 || sizes[p] == POOL_NONE)
			continue;
		for (uint32_t id = 1; id <= TASKS; id++)
			taken += slots[id] * takes(check_def(id), p);
		if (taken + want > sizes[p])
			break_invariant("G7-8",
			                "task %u takes %" PRId32 " of pool %s, %" PRId32
			                " of %" PRId32 " are taken",
			                t->id, want, names[p], taken, sizes[p]);
	}
}

/* Nothing is taken of what it needs; of the quota, which all take one of, some is left. */
bool pools_free(const struct task *t, const int slots[TASKS + 1])
{
	for (int p = 0; p < POOLS; p++) {
		int32_t want = takes(t, p), taken = 0;
		if (want == 0 || sizes[p] == POOL_NONE)
			continue;
		for (uint32_t id = 1; id <= TASKS; id++)
			taken += slots[id] * takes(check_def(id), p);
		if (p == POOLS - 1 ? taken + want > sizes[p] : taken > 0)
			return false;
	}
	return true;
}
