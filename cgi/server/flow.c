/* A workflow's tasks and zone, and what its instances of one run add up to. */
#include "cgi/server/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/names.h"
#include "cgi/server/show.h"
#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"

#define MINUTE_S  60
#define HOUR_S    3600
#define TASKS_MAX 20000

struct reading {
	struct call *c;
	struct flow *flow;
};

/* The value of a line `timezone: X` at the document's first level, or of "timezone": "X". A
 * document that was accepted has a valid one; what is not found is the default's. */
static void zone_find(const char *p, size_t n, char ret[64])
{
	static const char key[] = "timezone";
	const char *end = p + n;

	while (p < end) {
		const char *line_end = memchr(p, '\n', (size_t)(end - p));
		const char *q = p;

		if (!line_end)
			line_end = end;
		while (q < line_end && strchr("{\" ", *q) && (*p == '{' || q == p))
			q++;
		if ((size_t)(line_end - q) > sizeof key && strncmp(q, key, sizeof key - 1) == 0) {
			size_t len;

			q += sizeof key - 1;
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
	struct flow *f = ctx;

	f->workflow = d->id;
	if (d->body_len > 0)
		zone_find((const char *)d->body, d->body_len, f->zone);
	if (f->wants_document && !f->document)
		f->document = show_flow(d);
	return 0;
}

static void cycle_see(struct flow *f, int64_t s)
{
	bool fits = s > 0 && s <= DAY_S, have = f->cycle_s > 0 && f->cycle_s <= DAY_S;

	if (s <= 0)
		return;
	if (f->cycle_s == 0 || (fits && !have) || (fits && s > f->cycle_s) ||
	    (!fits && !have && s < f->cycle_s))
		f->cycle_s = s;
}

static int task_take(void *ctx, const struct store_task *t)
{
	const struct reading *g = ctx;
	struct flow *f = g->flow;

	if (t->workflow_id != f->workflow)
		return 0;
	if (f->n == TASKS_MAX)
		return err_set(&g->c->err, E_LIMIT, "the workflow has more than %d tasks",
		               TASKS_MAX);
	CHECK(f->n < TASKS_MAX);
	f->ids = mem_room(f->ids, &f->cap, f->n + 1, sizeof *f->ids);
	f->ids[f->n++] = t->id;
	names_set_task(g->c->cgi->names, t);
	cycle_see(f, t->cycle_s);
	if (f->each)
		f->each(f->ctx, t);
	return 0;
}

int flow_read(struct call *c, struct reader *r, const char *name, struct flow *f)
{
	struct reading g = { c, f };
	struct read_answer at = { 0 };
	int code;

	snprintf(f->zone, sizeof f->zone, "%s", c->cgi->param.timezone);
	code = read_doc(r, &(struct read_which){ DOC_WORKFLOW, .name = name }, doc_take, f,
	                &c->err);
	while (code == 0) {
		struct read_task_filter filter = { .workflow = f->workflow };
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .answer = &at };

		code = read_tasks(r, &filter, &page, task_take, &g, &c->err);
		if (at.cursor[0] == '\0')
			break;
	}
	if (zones_get(f->zone, &f->tz, NULL) < 0)
		f->tz = tz_utc();
	return code;
}

void flow_done(struct flow *f)
{
	free(f->ids);
	f->ids = NULL;
	workflow_set_free(f->document);
	f->document = NULL;
	f->cap = 0;
}

void flow_put(struct call *c, const struct flow *f, const char *name)
{
	put_text(&c->out, "workflow", name);
	put_int(&c->out, "workflow_id", f->workflow);
	put_text(&c->out, "zone", f->zone);
	put_int(&c->out, "cycle_s", f->cycle_s);
}

int flow_walk(struct call *c, struct reader *r, const struct flow *f, struct flow_walk *w)
{
	struct read_filter which = { .workflow = f->workflow, .to = w->before };
	struct read_answer at = { 0 };
	int code = 0, pages = w->pages;

	if (w->before != 0)
		which.from = INT64_MIN;
	do {
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .descending = true,
			                  .answer = &at };

		code = read_instances(r, &which, &page, w->take, c, &c->err);
	} while (code == 0 && at.cursor[0] != '\0' && --pages > 0);
	w->more = at.cursor[0] != '\0';
	return code;
}

/* How long a run is. Steps that do not divide a day, and all that are longer, are counted from an
 * anchor (weeks from a Monday, months by the calendar), which only the plan knows: of those a run
 * is the unit that holds one run_date. */
static int64_t run_s(const struct flow *f)
{
	if (f->cycle_s <= 0 || f->cycle_s > DAY_S)
		return DAY_S;
	if (DAY_S % f->cycle_s == 0)
		return f->cycle_s;
	return f->cycle_s % HOUR_S == 0 ? HOUR_S : MINUTE_S;
}

int64_t flow_label(const struct flow *f, int64_t run_date)
{
	int64_t local = tz_to_label(f->tz, run_date);

	return local - floor_mod(local, run_s(f));
}

void flow_run_count(struct flow_run *run, const struct instance *i)
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

void flow_run_put(struct call *c, const struct flow *f, const struct flow_run *run)
{
	struct buf *b = &c->out;

	put_time(b, "label", run->label);
	put_time(b, "from", tz_first(f->tz, run->label));
	put_time(b, "to", tz_first(f->tz, run->label + run_s(f)));
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
}
