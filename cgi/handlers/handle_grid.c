/* Tasks by runs, compact: of every run one letter and one duration for each task (docs/api.md).
 *
 * Instances are read newest first, and those of one label are a run; when the label changes the
 * run before is whole and is printed. A cell that stands for many instances shows the worst of them
 * that needs a person, else what moves, else what waits. Reading stops after so many pages: a run
 * that was not read to its end is left out, unless it would be the only one. */
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/server/flow.h"
#include "cgi/server/list.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"

#define PAGES_MAX 120 /* of READ_ROWS_MAX instances that one answer looks at */
#define DAY_S     86400

/* Many instances in one cell: the worst that needs a person first, then what moves, then what
 * waits. The console's own order (admin-console/web/src/domain/states.ts). */
static const char worst_first[] = "hxwkKtRqzrfsp~";

static const char letters[ST_COUNT] = {
	[ST_ROUGH] = '~',   [ST_READY] = 'r',  [ST_DEPEND] = 'q', [ST_RUNNING] = 'R',
	[ST_SUCC] = 's',    [ST_FAILED] = 't', [ST_STOP] = 'x',   [ST_WAITKILL] = 'w',
	[ST_KILLING] = 'k', [ST_KILLED] = 'K', [ST_HANGED] = 'h', [ST_SKIPPED] = 'p',
};

struct cell {
	uint8_t rank;   /* 1 + place in worst_first; 0: nothing */
	uint32_t n;     /* instances */
	int64_t ran_us; /* of the one that is shown; 0: it did not end */
};

struct place {
	uint32_t task, row;
};

struct grid_query {
	int64_t limit, before;
	struct flow flow;
	struct flow_run now;
	struct place *places; /* by task */
	struct cell *cells;   /* of `now`, by row */
	int64_t n;
	bool full, more;
};

static char letter_of(const struct instance *i)
{
	char at = i->state < ST_COUNT ? letters[i->state] : '\0';

	if (at == 's' && (i->flags & IF_FORCED))
		return 'f';
	if ((at == 'r' || at == 'q' || at == 't') && (i->flags & IF_FROZEN))
		return 'z';
	return at ? at : 'r';
}

static int by_task(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->task > y->task) - (x->task < y->task);
}

static void places_make(struct grid_query *q)
{
	q->places = mem_array(q->flow.n + 1, sizeof *q->places);
	q->cells = mem_array(q->flow.n + 1, sizeof *q->cells);
	for (size_t i = 0; i < q->flow.n; i++)
		q->places[i] = (struct place){ q->flow.ids[i], (uint32_t)i };
	qsort(q->places, q->flow.n, sizeof *q->places, by_task);
}

static void cell_count(struct grid_query *q, const struct instance *i)
{
	struct place key = { i->key.task, 0 };
	const struct place *at = bsearch(&key, q->places, q->flow.n, sizeof *q->places, by_task);
	uint8_t rank = (uint8_t)(1 + (strchr(worst_first, letter_of(i)) - worst_first));
	struct cell *cell;

	if (!at)
		return;
	cell = &q->cells[at->row];
	cell->n++;
	if (cell->rank != 0 && cell->rank <= rank)
		return;
	cell->rank = rank;
	cell->ran_us = i->started_us != 0 && i->ended_us > i->started_us
	                       ? i->ended_us - i->started_us
	                       : 0;
}

static void cells_put(struct call *c, const struct grid_query *q)
{
	struct buf *b = &c->out;
	char *line = mem_array(q->flow.n + 1, 1);

	for (size_t i = 0; i < q->flow.n; i++)
		line[i] = q->cells[i].rank ? worst_first[q->cells[i].rank - 1] : '.';
	put_bytes(b, "cells", line, q->flow.n);
	free(line);
	put_open(b, "took_ms", '[');
	for (size_t i = 0; i < q->flow.n; i++)
		put_int(b, NULL, q->cells[i].ran_us / 1000);
	put_close(b, ']');
	put_open(b, "many", '[');
	for (size_t i = 0; i < q->flow.n; i++) {
		if (q->cells[i].n < 2)
			continue;
		put_int(b, NULL, (int64_t)i);
		put_int(b, NULL, q->cells[i].n);
	}
	put_close(b, ']');
}

static void run_put(struct call *c, struct grid_query *q)
{
	put_open(&c->out, NULL, '{');
	flow_run_put(c, &q->flow, &q->now);
	cells_put(c, q);
	put_close(&c->out, '}');
	memset(&q->now, 0, sizeof q->now);
	memset(q->cells, 0, (q->flow.n + 1) * sizeof *q->cells);
	if (++q->n == q->limit)
		q->full = true;
}

/* Newest run_date first, so that a run is whole when another one begins. */
static int grid_take(void *ctx, const struct instance *i)
{
	struct call *c = ctx;
	struct grid_query *q = c->extra;
	int64_t label = flow_label(&q->flow, i->key.run_date);

	if (q->now.total > 0 && q->now.label != label) {
		run_put(c, q);
		q->more = true;
		if (q->full)
			return E_LIMIT;
	}
	q->now.label = label;
	flow_run_count(&q->now, i);
	cell_count(q, i);
	return 0;
}

/* A run that was not read to its end is put only when it would be the only one. */
static int runs_read(struct call *c, struct reader *r)
{
	struct grid_query *q = c->extra;
	struct flow_walk w = { .before = q->before, .pages = PAGES_MAX, .take = grid_take };
	int code = flow_walk(c, r, &q->flow, &w);

	if (q->full)
		return 0;
	q->more = code == 0 && w.more;
	if (code == 0 && q->now.total > 0 && (!q->more || q->n == 0))
		run_put(c, q);
	return code;
}

static void tasks_put(struct call *c, const struct grid_query *q)
{
	put_open(&c->out, "task_ids", '[');
	for (size_t i = 0; i < q->flow.n; i++)
		put_int(&c->out, NULL, q->flow.ids[i]);
	put_close(&c->out, ']');
}

static int grid_work(struct call *c, struct reader *r)
{
	struct grid_query *q = c->extra;
	int code = flow_read(c, r, c->params[0], &q->flow);

	if (q->flow.cycle_s == 0)
		q->flow.cycle_s = DAY_S;
	places_make(q);
	put_open(&c->out, NULL, '{');
	put_open(&c->out, "items", '[');
	if (code == 0)
		code = runs_read(c, r);
	put_close(&c->out, ']');
	tasks_put(c, q);
	put_bool(&c->out, "more", q->more);
	flow_put(c, &q->flow, c->params[0]);
	put_close(&c->out, '}');
	flow_done(&q->flow);
	free(q->places);
	free(q->cells);
	return code;
}

int grid_get(struct call *c)
{
	static const char *const names[] = { "limit", "before", NULL };
	struct grid_query *q = c->extra = mem_new(sizeof *q);

	if (call_args_only(c, names) < 0 || call_arg_int(c, "limit", 30, 1, 200, &q->limit) < 0 ||
	    instant_arg(c, "before", &q->before) < 0)
		return c->err.code;
	return call_read(c, grid_work);
}
