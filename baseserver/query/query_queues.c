/* Who waits for what, by the sorter's counters: for the page that shows the situation. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/pools.h"
#include "baseserver/query/query_impl.h"
#include "baseserver/sort/sorter.h"
#include "sched/when.h"
#include "util/json_put.h"

enum { QUEUES_MAX = 1000 };

struct listing {
	struct query *q;
	size_t n;
};

struct queue {
	const char *kind, *name;
	size_t waiting;
	int64_t running, limit, oldest_us;
};

static void queues_put(struct listing *l, const struct queue *q)
{
	struct buf *out = &l->q->out;

	if (l->n++ >= QUEUES_MAX)
		return;
	put_open(out, NULL, '{');
	put_text(out, "kind", q->kind);
	put_text(out, "name", q->name);
	put_int(out, "waiting", (int64_t)q->waiting);
	put_int(out, "running", q->running);
	put_int(out, "limit", q->limit);
	put_time_us(out, "oldest", q->oldest_us);
	put_close(out, '}');
}

static void each_class(void *ctx, const struct sorter_class *k)
{
	struct listing *l = ctx;

	if (k->queued == 0 && k->running == 0)
		return;
	queues_put(l, &(struct queue){ "type", k->type, k->queued, k->running,
	                               (int64_t)k->open + k->running, k->oldest_us });
}

const char *query__pool_kind(const char *name, const char **ret_name)
{
	static const char *const kinds[][2] = { { POOL_PROJECT, "project" },
		                                { POOL_WORKFLOW, "workflow" },
		                                { POOL_SERVER, "server" } };

	*ret_name = name;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strncmp(name, kinds[i][0], strlen(kinds[i][0])) == 0) {
			*ret_name = name + strlen(kinds[i][0]);
			return kinds[i][1];
		}
	return "pool";
}

static void each_limit(void *ctx, const struct sorter_pool *p)
{
	struct listing *l = ctx;
	const char *name, *kind = query__pool_kind(p->name, &name);

	if (p->size == POOL_NONE || (p->waiting == 0 && p->taken == 0))
		return;
	queues_put(l, &(struct queue){ kind, name, p->waiting, p->taken, p->size, p->oldest_us });
}

static void put_gates(const struct sorter *s, const size_t counts[ST_COUNT], struct buf *out)
{
	size_t gates[SORTER_GATES] = { 0 };

	if (s)
		sorter_blocked(s, gates);
	gates[3] += counts[ST_FAILED] + counts[ST_NONE];
	gates[4] += counts[ST_READY] - counts[ST_NONE];
	put_open(out, "gates", '[');
	for (int g = 1; g < SORTER_GATES; g++) {
		if (gates[g] == 0)
			continue;
		put_open(out, NULL, '{');
		put_int(out, "gate", g);
		put_text(out, "gate_name", why_gate_name(g));
		put_int(out, "waiting", (int64_t)gates[g]);
		put_close(out, '}');
	}
	put_close(out, ']');
}

void query__queues(struct query *q, struct sorter *s, const size_t counts[ST_COUNT])
{
	size_t running = counts[ST_RUNNING] + counts[ST_WAITKILL] + counts[ST_KILLING] +
	                 counts[ST_HANGED];
	struct listing l = { .q = q };

	put_open(&q->out, NULL, '{');
	put_open(&q->out, "queues", '[');
	if (s) {
		sorter_each_class(s, each_class, &l);
		sorter_each_pool(s, each_limit, &l);
	}
	put_close(&q->out, ']');
	put_gates(s, counts, &q->out);
	put_int(&q->out, "ready", (int64_t)counts[ST_READY]);
	put_int(&q->out, "waiting", (int64_t)counts[ST_DEPEND]);
	put_int(&q->out, "running", (int64_t)running);
	put_close(&q->out, '}');
}

static void each_pool(void *ctx, const struct sorter_pool *p)
{
	struct query *q = ctx;
	struct buf *out = &q->out;
	const char *name, *kind = query__pool_kind(p->name, &name);

	if (p->size == POOL_NONE || (p->size == 0 && p->waiting == 0 && p->taken == 0))
		return;
	put_open(out, NULL, '{');
	put_text(out, "kind", kind);
	put_text(out, "name", name);
	put_int(out, "size", p->size);
	put_int(out, "taken", p->taken);
	put_int(out, "backfill", p->backfill);
	put_int(out, "waiting", (int64_t)p->waiting);
	put_time_us(out, "oldest", p->oldest_us);
	put_close(out, '}');
}

void query__pools(struct query *q, struct sorter *s)
{
	put_open(&q->out, NULL, '{');
	put_open(&q->out, "pools", '[');
	sorter_each_pool(s, each_pool, q);
	put_close(&q->out, ']');
	put_close(&q->out, '}');
}
