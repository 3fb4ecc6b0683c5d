/* What the console draws of one workflow: its tasks with their links, and its runs (flow.h). */
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/flow.h"
#include "cgi/server/list.h"
#include "cgi/server/show.h"
#include "util/alloc.h"
#include "util/json_put.h"

#define PAGES_MAX 24 /* of READ_ROWS_MAX instances that one answer looks at */
#define DAY_S     86400

/* --- tasks and links -------------------------------------------------------------------------- */

struct graph {
	struct call *c;
	struct flow flow;
};

static void task_put(void *ctx, const struct store_task *t)
{
	struct graph *g = ctx;

	show_task(&g->c->out, t, g->flow.document);
}

static int link_put(void *ctx, const struct store_link *l)
{
	struct call *c = ctx;

	show_link(&c->out, c->cgi->names, l);
	return 0;
}

static int graph_work(struct call *c, struct reader *r)
{
	struct graph g = { c, { .wants_document = true, .each = task_put, .ctx = &g } };
	struct flow *f = &g.flow;
	int code;

	put_open(&c->out, NULL, '{');
	put_open(&c->out, "tasks", '[');
	code = flow_read(c, r, c->params[0], f);
	put_close(&c->out, ']');
	put_open(&c->out, "links", '[');
	for (size_t i = 0; i < f->n && code == 0; i++)
		code = read_links(r, f->ids[i], false, link_put, c, &c->err);
	put_close(&c->out, ']');
	flow_put(c, f, c->params[0]);
	put_close(&c->out, '}');
	flow_done(f);
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

struct runs_query {
	int64_t limit, before;
	struct flow flow;
	struct flow_run now; /* the one that is being counted */
	int64_t n;           /* put so far */
	bool full;
};

static void run_put(struct call *c, const struct runs_query *q)
{
	put_open(&c->out, NULL, '{');
	flow_run_put(c, &q->flow, &q->now);
	put_close(&c->out, '}');
}

/* Newest run_date first, so that a run is whole when another one begins. */
static int run_take(void *ctx, const struct instance *i)
{
	struct call *c = ctx;
	struct runs_query *q = c->extra;
	int64_t label = flow_label(&q->flow, i->key.run_date);

	if (q->now.total > 0 && q->now.label != label) {
		run_put(c, q);
		memset(&q->now, 0, sizeof q->now);
		if (++q->n == q->limit)
			q->full = true;
		if (q->full)
			return E_LIMIT;
	}
	q->now.label = label;
	flow_run_count(&q->now, i);
	return 0;
}

static int runs_work(struct call *c, struct reader *r)
{
	struct runs_query *q = c->extra;
	struct flow_walk w = { .before = q->before, .pages = PAGES_MAX, .take = run_take };
	int code = flow_read(c, r, c->params[0], &q->flow);

	if (q->flow.cycle_s == 0)
		q->flow.cycle_s = DAY_S;
	put_open(&c->out, NULL, '{');
	put_open(&c->out, "items", '[');
	if (code == 0)
		code = flow_walk(c, r, &q->flow, &w);
	if (q->full)
		code = 0;
	else if (code == 0 && q->now.total > 0)
		run_put(c, q);
	put_close(&c->out, ']');
	flow_put(c, &q->flow, c->params[0]);
	put_close(&c->out, '}');
	flow_done(&q->flow);
	return code;
}

int runs_get(struct call *c)
{
	static const char *const names[] = { "limit", "before", NULL };
	struct runs_query *q = c->extra = mem_new(sizeof *q);

	if (call_args_only(c, names) < 0 || call_arg_int(c, "limit", 10, 1, 200, &q->limit) < 0 ||
	    instant_arg(c, "before", &q->before) < 0)
		return c->err.code;
	return call_read(c, runs_work);
}
