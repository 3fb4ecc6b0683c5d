/* Failures by cause. The store is walked newest first, a slice of the transitions at a time, and
 * between two slices whoever else wants to read has a turn; what is older than where the time ends
 * is left out, and the answer says so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/causes.h"
#include "cgi/server/list.h"
#include "cgi/server/names.h"
#include "cgi/server/show.h"
#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_put.h"

enum {
	SLICE = 20000,  /* transitions */
	WALK_MS = 5000, /* of one answer, or half of what the request may take */
	TASKS_MAX = 100000,
};

/* One of the instances of a cause. */
struct member {
	struct inst_key key;
	int64_t at_us;
	uint16_t attempt;
	enum state now;
	struct failure shown;
};

struct failures {
	int64_t since_us, until_us, stop_us; /* stop_us: monotonic, 0: not begun */
	char prefix[CALL_PARAM_BYTES];       /* of tasks' names; "": all */
	uint32_t *tasks;                     /* of the prefix, in order of their ids */
	size_t n_tasks, cap_tasks;
	uint64_t before, looked; /* `looked` at: the number that the walk came to */
	int64_t looked_us;       /* and the oldest failure's time */
	uint64_t number;
	struct causes causes;
	struct list list;
	enum cause_now only;
	bool has_only, is_cut;
	struct map seen;
	struct member *members; /* NULL: causes are wanted */
	size_t n;
};

static void failures_done(void *extra)
{
	struct failures *q = extra;

	causes_done(&q->causes);
	map_done(&q->seen);
	free(q->tasks);
	free(q->members);
}

/* --- which --- */

static int by_id(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int task_take(void *ctx, const struct store_task *t)
{
	struct call *c = ctx;
	struct failures *q = c->extra;

	if (q->n_tasks == TASKS_MAX) {
		snprintf(c->hint, sizeof c->hint, "name fewer: PROJECT/WORKFLOW/*");
		return err_set(&c->err, E_INVALID, "more than %d tasks match", TASKS_MAX);
	}
	q->tasks = mem_room(q->tasks, &q->cap_tasks, q->n_tasks + 1, sizeof *q->tasks);
	q->tasks[q->n_tasks++] = t->id;
	names_set_task(c->cgi->names, t);
	return 0;
}

static int tasks_read(struct call *c, struct reader *r)
{
	struct failures *q = c->extra;
	struct read_task_filter f = { .prefix = q->prefix };
	struct read_answer at = { 0 };
	int code = 0;

	for (bool more = true; more && code == 0; more = at.cursor[0] != '\0') {
		struct read_page page = { READ_ROWS_MAX, at.cursor, false, &at };
		code = read_tasks(r, &f, &page, task_take, c, &c->err);
	}
	if (code == 0 && q->n_tasks == 0)
		return call_fail(c, E_NOT_FOUND, "project", "no task is in '%s'", q->prefix);
	if (code == 0)
		qsort(q->tasks, q->n_tasks, sizeof *q->tasks, by_id);
	return code;
}

static bool is_meant(const struct failures *q, uint32_t task)
{
	return !q->prefix[0] ||
	       bsearch(&task, q->tasks, q->n_tasks, sizeof *q->tasks, by_id) != NULL;
}

/* --- the walk --- */

static int cause_take(void *ctx, const struct read_failed *f)
{
	struct failures *q = ((struct call *)ctx)->extra;

	q->looked = f->e.number;
	q->looked_us = f->e.at_us;
	if (!is_meant(q, f->e.key.task))
		return 0;
	causes_add(&q->causes, f);
	return q->causes.failures < FAILURES_MAX ? 0 : E_LIMIT;
}

static int member_take(void *ctx, const struct read_failed *f)
{
	struct call *c = ctx;
	struct failures *q = c->extra;
	uint64_t key = map_mix(f->e.key.task, (uint64_t)f->e.key.run_date);
	struct failure_cause is;
	struct failure shown;

	q->looked = f->e.number;
	if (!is_meant(q, f->e.key.task) || (q->has_only && cause_now(f->now) != q->only) ||
	    map_get(&q->seen, key) != MAP_NONE)
		return 0;
	cause_of(f, &shown, &is);
	if (strcmp(is.id, c->params[0]) != 0)
		return 0;
	map_add(&q->seen, key, 0);
	q->members[q->n++] = (struct member){ f->e.key, f->e.at_us, f->e.attempt, f->now, shown };
	return q->n < q->list.page.limit ? 0 : E_LIMIT;
}

/* A cursor is where a walk came to. */
static void walk_stop(struct failures *q)
{
	q->is_cut = true;
	snprintf(q->list.answer.cursor, sizeof q->list.answer.cursor, "%llu",
	         (unsigned long long)q->before);
}

static int failures_walk(struct call *c, struct reader *r, call_work_fn then)
{
	struct failures *q = c->extra;
	int64_t now = clock_mono_us(&clock_machine), half = (c->deadline_us - now) / 2;
	int code = 0;

	if (q->stop_us == 0) {
		q->stop_us = now + (half < WALK_MS * US_PER_MS ? half : WALK_MS * US_PER_MS);
		code = read_number(r, &q->number, &c->err);
		if (code == 0 && q->prefix[0])
			code = tasks_read(c, r);
	}
	if (code < 0)
		return code;
	struct read_failures_of of = { q->since_us, q->before, SLICE };
	code = read_failures(r, &of, &q->before, q->members ? member_take : cause_take, c, &c->err);
	if (code == E_LIMIT && c->err.code == 0) {
		q->before = q->looked;
		walk_stop(q);
	} else if (code < 0) {
		return code;
	} else if (q->before && clock_mono_us(&clock_machine) > q->stop_us) {
		walk_stop(q);
	} else if (q->before) {
		return WORK_MORE;
	}
	c->number = q->number;
	c->names = true;
	c->work = then;
	return then(c, r);
}

/* --- causes --- */

static void now_put(struct buf *b, const uint32_t instances[CAUSE_NOWS])
{
	uint64_t all = 0;

	for (int i = 0; i < CAUSE_NOWS; i++)
		all += instances[i];
	put_int(b, "instances", (int64_t)all);
	for (int i = 0; i < CAUSE_NOWS; i++)
		put_int(b, cause_now_names[i], instances[i]);
}

static void cause_put(struct call *c, const struct cause *e)
{
	struct buf *b = &c->out;
	char name[NAMES_MAX];

	put_open(b, NULL, '{');
	put_text(b, "cause", e->is.id);
	put_text(b, "class", failure_name(e->class));
	put_text(b, "line", e->is.line);
	put_text(b, "sample", e->sample[0] ? e->sample : NULL);
	put_text(b, "exit", e->exit);
	put_int(b, "failures", e->failures);
	now_put(b, e->instances);
	put_time_us(b, "first", e->first_us);
	put_time_us(b, "last", e->last_us);
	put_int(b, "task_count", e->n_tasks);
	put_open(b, "tasks", '[');
	for (uint32_t i = 0; i < e->n_tasks && i < CAUSE_TASKS; i++)
		if (names_get(c->cgi->names, NAMES_TASK, e->tasks[i], name))
			put_text(b, NULL, name);
	put_close(b, ']');
	put_open(b, "parts", '[');
	for (int i = 0; i < CAUSE_HOURS; i++)
		put_int(b, NULL, e->hours[i]);
	put_close(b, ']');
	put_open(b, "latest", '{');
	show_key(b, c->cgi->names, e->latest, 0);
	put_close(b, '}');
	put_close(b, '}');
}

static int causes_print(struct call *c, struct reader *r)
{
	struct failures *q = c->extra;
	struct buf *b = &c->out;
	size_t limit = q->list.page.limit;

	(void)r;
	causes_sort(&q->causes);
	put_open(b, NULL, '{');
	put_time_us(b, "since", q->since_us);
	put_time_us(b, "until", q->until_us);
	put_bool(b, "whole", !q->is_cut);
	put_time_us(b, "looked_from", q->is_cut && q->looked_us ? q->looked_us : q->since_us);
	put_int(b, "failures", (int64_t)q->causes.failures);
	now_put(b, q->causes.instances);
	put_int(b, "causes", (int64_t)q->causes.n);
	put_int(b, "others", (int64_t)q->causes.others);
	put_open(b, "items", '[');
	for (size_t i = 0; i < q->causes.n && i < limit; i++)
		cause_put(c, &q->causes.list[i]);
	put_close(b, ']');
	put_id(b, "number", q->number);
	put_close(b, '}');
	return 0;
}

static int causes_work(struct call *c, struct reader *r)
{
	return failures_walk(c, r, causes_print);
}

/* --- one cause's instances --- */

static int members_print(struct call *c, struct reader *r)
{
	struct failures *q = c->extra;
	struct buf *b = &c->out;

	(void)r;
	list_begin(c);
	for (size_t i = 0; i < q->n; i++) {
		const struct member *m = &q->members[i];

		put_open(b, NULL, '{');
		show_key(b, c->cgi->names, m->key, 0);
		put_text(b, "now", cause_now_names[cause_now(m->now)]);
		put_text(b, "state", m->now == ST_NONE ? NULL : state_name(m->now));
		put_time_us(b, "at", m->at_us);
		put_int(b, "attempt", m->attempt);
		put_text(b, "class", failure_name(m->shown.class));
		put_text(b, "exit", m->shown.exit);
		put_text(b, "line", m->shown.line[0] ? m->shown.line : NULL);
		put_close(b, '}');
	}
	q->list.answer.number = q->number;
	list_end(c, &q->list);
	return 0;
}

static int members_work(struct call *c, struct reader *r)
{
	return failures_walk(c, r, members_print);
}

/* --- what was asked for --- */

/* Of words the day of the installation's zone; "24h" is "-24h". */
static int since_read(struct call *c, struct failures *q)
{
	const char *text = call_arg(c, "since");
	const struct tz *tz = tz_utc();
	char ago[60];
	struct when w;

	q->until_us = clock_wall_us(&clock_machine);
	int64_t now = q->until_us / US_PER_S;
	snprintf(ago, sizeof ago, "-%s", text ? text : "24h");
	zones_get(c->cgi->param.timezone, &tz, NULL);
	if ((!text || !when_parse(text, now, &w)) && !when_parse(ago, now, &w))
		return call_fail(c, E_INVALID, "since",
		                 "since wants a time, or how long ago: 24h, 7d, today");
	q->since_us = when_instant(&w, tz, false) * US_PER_S;
	if (q->since_us > q->until_us)
		return call_fail(c, E_INVALID, "since", "since is in the future");
	return 0;
}

static int prefix_read(struct call *c, struct failures *q)
{
	const char *project = call_arg(c, "project"), *workflow = call_arg(c, "workflow");
	const char *name = workflow ? workflow : project;

	if (!name)
		return 0;
	bool has_slash = strchr(name, '/');
	if (!*name || strlen(name) > 200 || has_slash != (name == workflow))
		return call_fail(c, E_INVALID, workflow ? "workflow" : "project",
		                 workflow ? "want PROJECT/WORKFLOW" : "want a project");
	snprintf(q->prefix, sizeof q->prefix, "%s/", name);
	return 0;
}

static struct failures *failures_new(struct call *c)
{
	struct failures *q = c->extra = mem_new(sizeof *q);

	c->extra_done = failures_done;
	map_init(&q->seen);
	if (since_read(c, q) < 0 || prefix_read(c, q) < 0 || list_args(c, &q->list, 50) < 0)
		return NULL;
	causes_init(&q->causes, q->since_us, q->until_us);
	return q;
}

int failures_get(struct call *c)
{
	static const char *const names[] = { "since", "project", "workflow", "limit", NULL };

	if (call_args_only(c, names) < 0 || !failures_new(c))
		return c->err.code;
	return call_read(c, causes_work);
}

int failure_instances_get(struct call *c)
{
	static const char *const names[] = { "since",  "project", "workflow", "limit",
		                             "cursor", "now",     NULL };
	const char *now = call_arg(c, "now");
	struct failures *q;
	int64_t before;

	if (call_args_only(c, names) < 0 || !(q = failures_new(c)) ||
	    call_arg_int(c, "cursor", 0, 1, INT64_MAX, &before) < 0)
		return c->err.code;
	q->before = (uint64_t)before;
	for (int i = 0; now && i < CAUSE_NOWS; i++)
		if (strcmp(now, cause_now_names[i]) == 0) {
			q->only = (enum cause_now)i;
			q->has_only = true;
		}
	if (now && !q->has_only)
		return call_fail(c, E_INVALID, "now", "now wants failed, well or under_way");
	q->members = mem_array(q->list.page.limit, sizeof *q->members);
	return call_read(c, members_work);
}
