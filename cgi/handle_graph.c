/* What the console draws of one workflow: its tasks with their links, and its runs.
 *
 * A run is what a person means by it: all instances of a workflow whose run_date lies in one
 * step of its widest cycle of a day at most (a day for daily workflows with hourly tasks, an
 * hour for hourly ones), in the workflow's zone. The ledger knows instances only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/call.h"
#include "cgi/cgi.h"
#include "cgi/list.h"
#include "cgi/names.h"
#include "cgi/route.h"
#include "cgi/show.h"
#include "rt/zones.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/json_put.h"

#define DAY_S     86400
#define PAGES_MAX 24 /* of READ_ROWS_MAX instances that one answer looks at */
#define TASKS_MAX 20000

struct graph {
	struct call *c;
	uint32_t workflow;
	uint32_t *ids; /* of its tasks */
	size_t n;
	int64_t cycle_s; /* the widest of a day at most; else the narrowest */
	char zone[64];
	bool show; /* put the tasks */
};

/* --- the workflow ----------------------------------------------------------------------------- */

/* The value of a line `timezone: X` at the document's first level, or of "timezone": "X". A
 * document that was accepted has a valid one; what is not found is the default's. */
static void zone_find(const char *p, size_t n, char ret[64])
{
	static const char key[] = "timezone";
	const char *end = p + n;

	while (p < end) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p));
		const char *q = p;

		if (line_end == NULL)
			line_end = end;
		while (q < line_end && strchr("{\" ", *q) != NULL && (*p == '{' || q == p))
			q++;
		if ((size_t)(line_end - q) > sizeof(key) && strncmp(q, key, sizeof(key) - 1) == 0) {
			size_t len;

			q += sizeof(key) - 1;
			q += strspn(q, "\"': ");
			len = strcspn(q, "\"',#} \r\n");
			if (len > 0 && len < 64 && q + len <= end)
				snprintf(ret, 64, "%.*s", (int)len, q);
			return;
		}
		p = line_end + 1;
	}
}

static int doc_take(void *ctx, const struct store_doc *d)
{
	struct graph *g = ctx;

	g->workflow = d->id;
	if (d->body_len > 0)
		zone_find((const char *)d->body, d->body_len, g->zone);
	return 0;
}

static void cycle_see(struct graph *g, int64_t s)
{
	bool fits = s > 0 && s <= DAY_S, have = g->cycle_s > 0 && g->cycle_s <= DAY_S;

	if (s <= 0)
		return;
	if (g->cycle_s == 0 || (fits && !have) || (fits && s > g->cycle_s) ||
	    (!fits && !have && s < g->cycle_s))
		g->cycle_s = s;
}

static int task_take(void *ctx, const struct store_task *t)
{
	struct graph *g = ctx;

	if (t->workflow_id != g->workflow)
		return 0;
	if (g->n == TASKS_MAX)
		return err_set(&g->c->err, E_LIMIT, "the workflow has more than %d tasks",
		               TASKS_MAX);
	if ((g->n & (g->n + 1)) == 0)
		g->ids = mem_grow(g->ids, (g->n + 1) * 2, sizeof(*g->ids));
	g->ids[g->n++] = t->id;
	names_set(g->c->cgi->names, NAMES_TASK, t->id, t->name);
	cycle_see(g, t->cycle_s);
	if (g->show)
		show_task(&g->c->out, t);
	return 0;
}

static int workflow_read(struct call *c, struct reader *r, struct graph *g)
{
	struct read_answer at = { 0 };
	int code;

	snprintf(g->zone, sizeof(g->zone), "%s", c->cgi->param.timezone);
	code = read_doc(r, DOC_WORKFLOW, c->params[0], 0, 0, doc_take, g, &c->err);
	while (code == 0) {
		struct read_task_filter f = { .workflow = g->workflow };
		struct read_page page = { .limit = READ_ROWS_MAX, .cursor = at.cursor };
		struct read_answer next = { 0 };

		code = read_tasks(r, &f, &page, task_take, g, &next, &c->err);
		at = next;
		if (at.cursor[0] == '\0')
			break;
	}
	return code;
}

static void workflow_put(struct call *c, const struct graph *g)
{
	put_text(&c->out, "workflow", c->params[0]);
	put_int(&c->out, "workflow_id", g->workflow);
	put_text(&c->out, "zone", g->zone);
	put_int(&c->out, "cycle_s", g->cycle_s);
}

/* --- tasks and links -------------------------------------------------------------------------- */

static int link_put(void *ctx, const struct store_link *l)
{
	struct graph *g = ctx;

	show_link(&g->c->out, g->c->cgi->names, l);
	return 0;
}

static int graph_work(struct call *c, struct reader *r)
{
	struct graph g = { .c = c, .show = true };
	int code;

	put_open(&c->out, NULL, '{');
	put_open(&c->out, "tasks", '[');
	code = workflow_read(c, r, &g);
	put_close(&c->out, ']');
	put_open(&c->out, "links", '[');
	for (size_t i = 0; i < g.n && code == 0; i++)
		code = read_links(r, g.ids[i], false, link_put, &g, &c->err);
	put_close(&c->out, ']');
	workflow_put(c, &g);
	put_close(&c->out, '}');
	free(g.ids);
	return code;
}

int graph_get(struct call *c)
{
	static const char *const names[] = { NULL };

	if (call_args_only(c, names) < 0)
		return c->err.code;
	return call_read(c, graph_work);
}

/* --- runs ------------------------------------------------------------------------------------- */

struct run {
	int64_t label; /* local clock time of its start */
	uint32_t states[ST_COUNT];
	uint32_t total, forced, frozen;
	int64_t started_us, ended_us;
};

struct runs_query {
	int64_t limit, before;
	struct graph graph;
	const struct tz *tz;
	struct run now; /* the one that is being counted */
	int64_t n;      /* put so far */
	bool full;
};

static void run_put(struct call *c, const struct runs_query *q, const struct run *run)
{
	struct buf *b = &c->out;

	put_open(b, NULL, '{');
	put_time(b, "label", run->label);
	put_time(b, "from", tz_first(q->tz, run->label));
	put_time(b, "to", tz_first(q->tz, run->label + q->graph.cycle_s));
	put_int(b, "total", run->total);
	put_int(b, "forced", run->forced);
	put_int(b, "frozen", run->frozen);
	put_time_us(b, "started", run->started_us);
	put_time_us(b, "ended", run->ended_us);
	put_open(b, "states", '{');
	for (int st = 0; st < ST_COUNT; st++)
		if (run->states[st] > 0)
			put_int(b, state_name((enum state)st), run->states[st]);
	put_close(b, '}');
	put_close(b, '}');
}

static void run_count(struct run *run, const struct instance *i)
{
	if (i->state < ST_COUNT)
		run->states[i->state]++;
	run->total++;
	run->forced += (i->flags & IF_FORCED) != 0;
	run->frozen += (i->flags & IF_FROZEN) != 0;
	if (i->started_us != 0 && (run->started_us == 0 || i->started_us < run->started_us))
		run->started_us = i->started_us;
	if (i->ended_us > run->ended_us)
		run->ended_us = i->ended_us;
}

/* Newest run_date first, so that a run is whole when another one begins. */
static int run_take(void *ctx, const struct instance *i)
{
	struct call *c = ctx;
	struct runs_query *q = c->extra;
	int64_t local = tz_to_label(q->tz, i->key.run_date), cycle = q->graph.cycle_s;
	int64_t label = local - ((local % cycle) + cycle) % cycle;

	if (q->now.total > 0 && q->now.label != label) {
		run_put(c, q, &q->now);
		memset(&q->now, 0, sizeof(q->now));
		if (++q->n == q->limit)
			q->full = true;
		if (q->full)
			return E_LIMIT;
	}
	q->now.label = label;
	run_count(&q->now, i);
	return 0;
}

static int runs_read(struct call *c, struct reader *r)
{
	struct runs_query *q = c->extra;
	struct read_filter f = { .workflow = q->graph.workflow, .to = q->before };
	struct read_answer at = { 0 };
	int code = 0;

	if (q->before != 0)
		f.from = INT64_MIN;
	for (int pages = 0; pages < PAGES_MAX && code == 0; pages++) {
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .descending = true };
		struct read_answer next = { 0 };

		code = read_instances(r, &f, READ_BY_RUN_DATE, &page, run_take, c, &next, &c->err);
		at = next;
		if (at.cursor[0] == '\0')
			break;
	}
	return code;
}

static int runs_work(struct call *c, struct reader *r)
{
	struct runs_query *q = c->extra;
	int code;

	q->graph.c = c;
	code = workflow_read(c, r, &q->graph);
	if (q->graph.cycle_s == 0)
		q->graph.cycle_s = DAY_S;
	if (zones_get(q->graph.zone, &q->tz, NULL) < 0)
		q->tz = tz_utc();
	put_open(&c->out, NULL, '{');
	put_open(&c->out, "items", '[');
	if (code == 0)
		code = runs_read(c, r);
	if (q->full)
		code = 0;
	else if (code == 0 && q->now.total > 0)
		run_put(c, q, &q->now);
	put_close(&c->out, ']');
	workflow_put(c, &q->graph);
	put_close(&c->out, '}');
	free(q->graph.ids);
	q->graph.ids = NULL;
	return code;
}

int runs_get(struct call *c)
{
	static const char *const names[] = { "limit", "before", NULL };
	struct runs_query *q = c->extra = mem_new(sizeof(*q));

	if (call_args_only(c, names) < 0 || call_arg_int(c, "limit", 10, 1, 200, &q->limit) < 0 ||
	    instant_arg(c, "before", false, &q->before) < 0)
		return c->err.code;
	return call_read(c, runs_work);
}
