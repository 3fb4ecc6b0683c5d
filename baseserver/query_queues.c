/* Who waits for what, by the sorter's counters: for the page that shows the situation. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/json_write.h"
#include "baseserver/pools.h"
#include "baseserver/query_impl.h"
#include "baseserver/sorter.h"

enum { QUEUES_MAX = 1000 };

struct listing {
	struct query *q;
	size_t n;
};

static void put(struct listing *l, const char *kind, const char *name, size_t waiting,
                int64_t running, int64_t limit, int64_t oldest_us)
{
	struct buf *out = &l->q->out;

	if (l->n++ >= QUEUES_MAX)
		return;
	jw_object(out, NULL);
	jw_text(out, "kind", kind);
	jw_text(out, "name", name);
	jw_number(out, "waiting", (int64_t)waiting);
	jw_number(out, "running", running);
	jw_number(out, "limit", limit);
	jw_instant_us(out, "oldest", oldest_us);
	jw_end_object(out);
}

static void each_class(void *ctx, const struct sorter_class *k)
{
	struct listing *l = ctx;

	if (k->queued == 0 && k->running == 0)
		return;
	put(l, "type", k->type, k->queued, k->running, (int64_t)k->open + k->running, k->oldest_us);
}

static const char *kind_of(const char *name, const char **ret_name)
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
	const char *name, *kind = kind_of(p->name, &name);

	if (p->size == POOL_NONE || (p->waiting == 0 && p->taken == 0))
		return;
	put(l, kind, name, p->waiting, p->taken, p->size, p->oldest_us);
}

static void put_gates(const struct sorter *s, const size_t counts[ST_COUNT], struct buf *out)
{
	size_t gates[SORTER_GATES] = { 0 };

	if (s)
		sorter_blocked(s, gates);
	gates[3] += counts[ST_FAILED];
	gates[4] += counts[ST_READY];
	jw_list(out, "gates");
	for (int g = 1; g < SORTER_GATES; g++) {
		if (gates[g] == 0)
			continue;
		jw_object(out, NULL);
		jw_number(out, "gate", g);
		jw_text(out, "gate_name", why_gate_name(g));
		jw_number(out, "waiting", (int64_t)gates[g]);
		jw_end_object(out);
	}
	jw_end_list(out);
}

void query_queues(struct query *q, struct sorter *s, const size_t counts[ST_COUNT])
{
	size_t running = counts[ST_RUNNING] + counts[ST_WAITKILL] + counts[ST_KILLING] +
	                 counts[ST_HANGED];
	struct listing l = { .q = q };

	jw_object(&q->out, NULL);
	jw_list(&q->out, "queues");
	if (s) {
		sorter_each_class(s, each_class, &l);
		sorter_each_pool(s, each_limit, &l);
	}
	jw_end_list(&q->out);
	put_gates(s, counts, &q->out);
	jw_number(&q->out, "ready", (int64_t)counts[ST_READY]);
	jw_number(&q->out, "waiting", (int64_t)counts[ST_DEPEND]);
	jw_number(&q->out, "running", (int64_t)running);
	jw_end_object(&q->out);
}

static void each_pool(void *ctx, const struct sorter_pool *p)
{
	struct query *q = ctx;
	struct buf *out = &q->out;
	const char *name, *kind = kind_of(p->name, &name);

	if (p->size == POOL_NONE || (p->size == 0 && p->waiting == 0 && p->taken == 0))
		return;
	jw_object(out, NULL);
	jw_text(out, "kind", kind);
	jw_text(out, "name", name);
	jw_number(out, "size", p->size);
	jw_number(out, "taken", p->taken);
	jw_number(out, "backfill", p->backfill);
	jw_number(out, "waiting", (int64_t)p->waiting);
	jw_instant_us(out, "oldest", p->oldest_us);
	jw_end_object(out);
}

void query_pools(struct query *q, struct sorter *s)
{
	jw_object(&q->out, NULL);
	jw_list(&q->out, "pools");
	sorter_each_pool(s, each_pool, q);
	jw_end_list(&q->out);
	jw_end_object(&q->out);
}
