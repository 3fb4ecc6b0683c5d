/* What one task of the documents would do: its next dates and what they wait for, its parameters
 * as a run would get them. For editors, with a dry run; bounded, for the commander waits for it. */
#include "baseserver/command/apply.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "sched/label.h"
#include "sched/macro.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "sched/window.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { FIRES_MAX = 50, EDGES_MAX = 10, DATES_SHOWN = 60, DATES_COUNTED = 5000, YEAR = 400 };

struct preview {
	struct apply *a;
	const struct task *task;
	const struct tz *tz;
	int64_t from; /* run_dates due from then on */
	int64_t fires, edges;
	int64_t change; /* the next change of the clock; INT64_MAX: none in a year */
	struct buf *out;
};

static void put_local(struct buf *out, const char *key, const struct tz *tz, int64_t t)
{
	char text[WHEN_TEXT];

	when_print(tz_to_label(tz, t), text);
	text[strlen(text) - 1] = '\0'; /* a label has no Z */
	put_text(out, key, text);
}

static void put_fire(const struct preview *p, int64_t t)
{
	const struct macro_scope scope = { .plan = p->task->plan, .run_date = t };
	int64_t due = plan_due(p->task->plan, t);
	struct err err = { 0 };
	struct buf day;

	put_open(p->out, NULL, '{');
	put_time(p->out, "run_date", t);
	put_label(p->out, p->task->plan, t);
	put_time(p->out, "due", due);
	put_local(p->out, "run_date_local", p->tz, t);
	put_local(p->out, "due_local", p->tz, due);
	put_int(p->out, "offset_s", tz_offset(p->tz, due));
	buf_init(&day);
	put_text(p->out, "biz_date",
	         macro_expand("${biz_date}", &scope, &day, &err) == 0 ? buf_str(&day) : NULL);
	buf_done(&day);
	put_close(p->out, '}');
}

/* The first run_date that is due at `from` or later. */
static int64_t first_due(const struct plan *plan, int64_t from)
{
	int64_t t = plan_prev(plan, from + 1);

	while (t != PLAN_BEFORE && plan_due(plan, t) >= from)
		t = plan_prev(plan, t);
	t = plan_next(plan, t == PLAN_BEFORE ? from - 1 : t);
	while (t != PLAN_NEVER && plan_due(plan, t) < from)
		t = plan_next(plan, t);
	return t;
}

static void put_fires(const struct preview *p)
{
	const struct plan *plan = p->task->plan;
	int64_t t = first_due(plan, p->from), n = 0;

	put_open(p->out, "fires", '[');
	for (; t != PLAN_NEVER && n < p->fires; t = plan_next(plan, t), n++)
		put_fire(p, t);
	put_close(p->out, ']');
	put_open(p->out, "around_change", '[');
	t = p->change == INT64_MAX ? PLAN_NEVER : first_due(plan, p->change - 86400);
	for (n = 0; t != PLAN_NEVER && n < 3 && p->fires; t = plan_next(plan, t), n++)
		put_fire(p, t);
	put_close(p->out, ']');
}

/* --- links ------------------------------------------------------------------------------- */

static const struct task *parent_of(const struct apply *a, uint32_t id)
{
	const struct task *own = apply__task(a, id);
	if (own)
		return own;
	const struct cat_task *t = catalog_task(&a->c->cat, id);
	return t ? t->def : NULL;
}

/* Dates of its window that lie before the parent's begin, which it does not wait for. */
static int64_t passed_over(const struct preview *p, const struct task_link *l,
                           const struct task *parent, int64_t t)
{
	struct link_span spans[LINK_SPANS_MAX];
	int k = link_spans_ever(l, parent->plan, p->task->plan, t, spans);
	int64_t n = 0, begin = plan_begin(parent->plan);

	for (int i = 0; i < k && spans[i].lo < begin && n < DATES_COUNTED; i++)
		n += plan_count(parent->plan, spans[i].lo,
		                spans[i].hi < begin ? spans[i].hi : begin, DATES_COUNTED - n);
	return n;
}

static void put_waits(const struct preview *p, uint32_t index, const struct task *parent, int64_t t)
{
	const struct task_link *l = &p->task->links[index];
	struct link_span spans[LINK_SPANS_MAX];
	int k = link_spans(l, parent->plan, p->task->plan, t, spans);
	int64_t n = 0;

	put_open(p->out, NULL, '{');
	put_time(p->out, "child", t);
	put_label(p->out, p->task->plan, t);
	put_local(p->out, "child_local", p->tz, t);
	put_open(p->out, "parents", '[');
	for (int i = 0; i < k; i++) {
		int64_t d = plan_has(parent->plan, spans[i].lo)
		                    ? spans[i].lo
		                    : plan_next(parent->plan, spans[i].lo);
		for (; d < spans[i].hi && n < DATES_COUNTED; d = plan_next(parent->plan, d)) {
			if (n++ >= DATES_SHOWN)
				continue;
			put_open(p->out, NULL, '{');
			put_time(p->out, "run_date", d);
			put_label(p->out, parent->plan, d);
			put_local(p->out, "local", p->tz, d);
			put_close(p->out, '}');
		}
	}
	put_close(p->out, ']');
	put_int(p->out, "count", n);
	put_int(p->out, "before_begin", passed_over(p, l, parent, t));
	put_close(p->out, '}');
}

static void put_dates(const struct preview *p, uint32_t index, const struct task *parent)
{
	const struct plan *plan = p->task->plan;
	int64_t t = first_due(plan, p->from);

	put_open(p->out, "dates", '[');
	for (int64_t n = 0; t != PLAN_NEVER && n < p->edges; t = plan_next(plan, t), n++)
		put_waits(p, index, parent, t);
	/* A period with a change of the clock in it is where counts are not what one thinks. */
	int64_t odd = p->change == INT64_MAX ? PLAN_BEFORE : plan_prev(plan, p->change + 1);
	if (p->edges && odd != PLAN_BEFORE && odd >= t && plan_period_end(plan, odd) > p->change)
		put_waits(p, index, parent, odd);
	put_close(p->out, ']');
}

static void put_links(const struct preview *p)
{
	static const char *const strategies[] = { "all", "any", "first", "last", "at_least" };

	put_open(p->out, "links", '[');
	for (uint32_t i = 0; i < p->task->n_links; i++) {
		const struct task_link *l = &p->task->links[i];
		const struct task *parent = parent_of(p->a, l->parent);
		struct buf window;
		put_open(p->out, NULL, '{');
		put_int(p->out, "link", i);
		put_text(p->out, "parent", parent ? parent->name : NULL);
		put_int(p->out, "depend_type", link_depend_type(l));
		buf_init(&window);
		if (l->window)
			window_print(l->window, &window);
		put_text(p->out, "window", l->window ? buf_str(&window) : NULL);
		buf_done(&window);
		put_text(p->out, "strategy", strategies[l->strategy]);
		put_int(p->out, "n", l->n);
		if (parent)
			put_dates(p, i, parent);
		put_close(p->out, '}');
	}
	put_close(p->out, ']');
}

/* --- parameters ---------------------------------------------------------------------------- */

static const char *value_of(void *ctx, const char *name)
{
	const struct preview *p = ctx;
	const char *project = p->task->name;

	for (size_t i = 0; i < p->task->n_params; i++)
		if (strcmp(p->task->params[i].name, name) == 0)
			return p->task->params[i].value;
	char *own = mem_strn(project, strcspn(project, "/"));
	const char *value = scopes_value(&p->a->c->docs[DOC_SETTING], own, name);
	free(own);
	return value;
}

/* As text; what only a run can know (outputs of parents) is said to be so. */
static void put_params(const struct preview *p)
{
	int64_t t = first_due(p->task->plan, p->from);
	const struct macro_scope scope = { .plan = p->task->plan,
		                           .run_date = t,
		                           .lookup = value_of,
		                           .ctx = (void *)(uintptr_t)p };

	put_open(p->out, "params", '[');
	for (size_t i = 0; i < p->task->n_params && t != PLAN_NEVER; i++) {
		struct err err = { 0 };
		struct buf text;
		buf_init(&text);
		bool good = macro_expand(p->task->params[i].value, &scope, &text, &err) == 0;
		put_open(p->out, NULL, '{');
		put_text(p->out, "name", p->task->params[i].name);
		put_text(p->out, "value", good ? buf_str(&text) : NULL);
		put_text(p->out, "unknown", good ? NULL : err.text);
		put_close(p->out, '}');
		buf_done(&text);
	}
	put_close(p->out, ']');
}

/* --- the question -------------------------------------------------------------------------- */

static const struct task *find_task(const struct apply *a, const char *name)
{
	size_t k = strlen(name);

	for (size_t i = 0; i < a->n; i++) {
		const char *full = a->tasks[i]->name;
		size_t n = strlen(full);
		if (k <= n && strcmp(full + n - k, name) == 0 && (k == n || full[n - k - 1] == '/'))
			return a->tasks[i];
	}
	return NULL;
}

struct question {
	const char *task, *from;
	int64_t fires, edges;
};

static int read_question(const struct jval *args, struct question *q, struct refusal *f)
{
	static const char *const keys[] = { "task", "from", "fires", "edges", NULL };
	const struct jval *v = jv_get(args, "preview");
	const char *at = "args.preview";

	*q = (struct question){ .task = "", .fires = 10, .edges = 4 };
	int r = arg_object(v, at, keys, f);
	if (r == 0)
		r = arg_text(v, at, "task", 1000, &q->task, f);
	if (r == 0)
		r = arg_text(v, at, "from", 40, &q->from, f);
	if (r == 0)
		r = arg_number(v, at, (struct arg_range){ "fires", 0, FIRES_MAX }, &q->fires, f);
	return r == 0 ? arg_number(v, at, (struct arg_range){ "edges", 0, EDGES_MAX }, &q->edges, f)
	              : r;
}

int apply_preview_check(const struct jval *args, struct refusal *f)
{
	struct question q;

	return jv_get(args, "preview") ? read_question(args, &q, f) : 0;
}

static int preview_ask(struct preview *p)
{
	struct refusal *f = p->a->f;
	struct question q;
	struct when w;
	int r = read_question(p->a->cmd->o.args, &q, f);

	if (r < 0)
		return r;
	p->fires = q.fires;
	p->edges = q.edges;
	p->from = p->a->cmd->o.now_us / US_PER_S;
	if (!q.task[0])
		return 0;
	p->task = find_task(p->a, q.task);
	if (!p->task)
		return refuse(f, E_INVALID, "args.preview.task", "a task of the documents",
		              "args.preview.task: there is no task '%.200s' in the documents; "
		              "task, workflow/task or project/workflow/task is expected",
		              q.task);
	p->tz = plan_tz(p->task->plan);
	if (!q.from)
		return 0;
	if (!when_parse(q.from, p->from, &w))
		return refuse(f, E_INVALID, "args.preview.from",
		              "for example 2026-03-01, or 2026-03-01T02:30:00Z",
		              "args.preview.from: an instant is expected, found '%.40s'", q.from);
	p->from = when_instant(&w, p->tz, false);
	return 0;
}

int apply__preview(struct apply *a)
{
	struct preview p = { .a = a, .out = &a->changes };

	if (!jv_get(a->cmd->o.args, "preview"))
		return 0;
	if (!a->cmd->dry)
		return refuse(a->f, E_INVALID, "args.preview", "dry_run: true",
		              "args.preview: is allowed with dry_run only");
	int r = preview_ask(&p);
	if (r < 0 || !p.task)
		return r;
	p.change = tz_span_at(p.tz, p.from).to;
	if (p.change > p.from + (int64_t)YEAR * 86400)
		p.change = INT64_MAX;
	put_open(p.out, "preview", '{');
	put_text(p.out, "task", p.task->name);
	put_text(p.out, "timezone", tz_name(p.tz));
	put_text(p.out, "unit", unit_name(plan_unit(p.task->plan)));
	if (p.change == INT64_MAX)
		put_null(p.out, "clock_change");
	else
		put_time(p.out, "clock_change", p.change);
	put_fires(&p);
	put_links(&p);
	put_params(&p);
	put_close(p.out, '}');
	return 0;
}

bool apply__preview_errors(struct apply *a)
{
	if (!a->diags.errors || !a->cmd->dry || !jv_get(a->cmd->o.args, "preview"))
		return false;
	free(a->f->json);
	a->f->json = NULL;
	buf_clear(&a->changes);
	put_open(&a->changes, "changes", '[');
	put_close(&a->changes, ']');
	apply__print_diags(&a->diags, true, "warnings", &a->changes);
	apply__print_diags(&a->diags, false, "errors", &a->changes);
	return true;
}
