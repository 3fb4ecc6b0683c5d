/* What a document costs: per link as many dates as one date of its task looks at, at the widest.
 *
 * A window grows with the year, the month, the day: its width is taken at a date that is near, at
 * the last one of a year and at the first. A plan that has only begun has few dates to look back
 * on: so this year's, the next one's, and those of a year by which the windows are full; the same
 * from the parent's start on, where that is in time to come, and where the parent ends. What is a
 * number of dates back is walked to, so it costs as many. */
#include "sched/cost.h"

#include <inttypes.h>

#include "sched/civil.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/window.h"
#include "util/buf.h"
#include "util/check.h"

enum { SUM_MAX_SHIFT = 60 };
static const int64_t years_on[] = { 0, 1, 20 };
#define PROBES  (2 + 2 * (int)(sizeof years_on / sizeof years_on[0]))
#define SUM_MAX (INT64_C(1) << SUM_MAX_SHIFT)
#define YEAR_S  (366 * DAY_S)

const struct cost_limits cost_limits_default = {
	.window = 50000, .project = 2000000, .year = INT64_C(4000000000000), .parts = 100000
};

static int64_t cost_sum(int64_t a, int64_t b)
{
	CHECK(a >= 0 && b >= 0);
	return a > SUM_MAX - b ? SUM_MAX : a + b;
}

static int64_t cost_product(int64_t a, int64_t b)
{
	return b && a > SUM_MAX / b ? SUM_MAX : a * b;
}

/* --- a link -------------------------------------------------------------------------------- */

struct probes {
	int64_t at[PROBES];
	int n;
};

static void cost_probe(struct probes *p, int64_t t)
{
	CHECK(p->n < PROBES);
	if (t != PLAN_NEVER && t != PLAN_BEFORE)
		p->at[p->n++] = t;
}

static struct probes probes_of(const struct plan *child, int64_t from)
{
	struct probes p = { .n = 0 };
	int64_t next = plan_next(child, from - 1);
	int64_t near = next != PLAN_NEVER ? next : plan_prev(child, from);

	cost_probe(&p, near);
	if (next == PLAN_NEVER)
		return p;
	int64_t month = civil_month_index(floor_div(near, DAY_S));
	for (size_t i = 0; i < sizeof years_on / sizeof years_on[0]; i++) {
		int64_t first = month - floor_mod(month, 12) + 12 * (years_on[i] + 1);
		int64_t new_year = civil_month_first(first) * DAY_S;
		cost_probe(&p, plan_prev(child, new_year));
		cost_probe(&p, plan_next(child, new_year - 1));
	}
	return p;
}

static int64_t width_at(const struct task_link *l, const struct plan *parent,
                        const struct plan *child, int64_t t)
{
	struct link_span spans[LINK_SPANS_MAX];
	int n = link_spans_ever(l, parent, child, t, spans);
	int64_t dates = 0;

	for (int i = 0; i < n; i++)
		dates = cost_sum(dates, spans[i].hi - spans[i].lo == 1
		                                ? 1
		                                : plan_about(parent, spans[i].lo, spans[i].hi));
	return dates;
}

static int64_t widest_at(const struct task_link *l, const struct plan *parent,
                         const struct plan *child, const struct probes *p)
{
	int64_t widest = 1;

	for (int i = 0; i < (l->kind == LK_WINDOW ? p->n : p->n > 0); i++) {
		int64_t dates = width_at(l, parent, child, p->at[i]);
		widest = dates > widest ? dates : widest;
	}
	return widest;
}

/* Of what the parent is in time to come the child's dates of now see nothing. */
static struct probes probes_late(const struct plan *parent, const struct plan *child, int64_t from)
{
	const struct schedule *s = plan_schedule(parent);
	struct probes p = { .n = 0 };

	if (s->start > from)
		p = probes_of(child, s->start);
	if (s->end > from && s->end < PLAN_NEVER)
		cost_probe(&p, plan_prev(child, s->end + 1));
	return p;
}

static int64_t link_dates(const struct task_link *l, const struct plan *parent,
                          const struct plan *child, const struct probes *p, int64_t from)
{
	int64_t widest, late = 1;

	if (l->kind == LK_PREV)
		return l->prev;
	widest = widest_at(l, parent, child, p);
	if (l->kind == LK_WINDOW) {
		struct probes more = probes_late(parent, child, from);
		late = widest_at(l, parent, child, &more);
	}
	widest = late > widest ? late : widest;
	bool is_part = l->strategy == LS_FIRST || l->strategy == LS_LAST;
	return is_part && l->n < widest ? l->n : widest;
}

/* --- sums ---------------------------------------------------------------------------------- */

void cost_add(struct cost *c, const struct task *t, int64_t from,
              const struct task *(*parent)(void *ctx, uint32_t id), void *ctx)
{
	struct probes probes = probes_of(t->plan, from);
	int64_t since = probes.n && probes.at[0] > from ? probes.at[0] : from; /* not begun yet */
	int64_t dates = 0, yearly = plan_about(t->plan, since, since + YEAR_S);

	for (size_t i = 0; i < t->n_links; i++) {
		const struct task *p = parent(ctx, t->links[i].parent);
		int64_t n = p ? link_dates(&t->links[i], p->plan, t->plan, &probes, from) : 1;
		dates = cost_sum(dates, n);
		if (n <= c->widest)
			continue;
		c->widest = n;
		c->widest_of = t;
		c->widest_link = i;
	}
	c->tasks++;
	c->links = cost_sum(c->links, (int64_t)t->n_links);
	c->dates = cost_sum(c->dates, dates);
	c->year = cost_sum(c->year, cost_product(yearly, dates + 1));
	c->parts = cost_sum(c->parts,
	                    t->n_machines && task_spreads(t) ? (int64_t)t->n_machines : 1);
}

void cost_join(struct cost *c, const struct cost *other)
{
	if (other->widest > c->widest) {
		c->widest = other->widest;
		c->widest_of = other->widest_of;
		c->widest_link = other->widest_link;
	}
	c->tasks += other->tasks;
	c->links = cost_sum(c->links, other->links);
	c->dates = cost_sum(c->dates, other->dates);
	c->year = cost_sum(c->year, other->year);
	c->parts = cost_sum(c->parts, other->parts);
}

/* --- words --------------------------------------------------------------------------------- */

/* p/w/child needs p/w/parent, window [@day-300d, @day) */
static void put_widest(const struct cost *c, const struct task *(*parent)(void *ctx, uint32_t id),
                       void *ctx, struct buf *out)
{
	const struct task_link *l = &c->widest_of->links[c->widest_link];
	const struct task *p = parent(ctx, l->parent);

	buf_printf(out, "%s needs %s", c->widest_of->name, p ? p->name : "a task");
	if (l->window) {
		buf_puts(out, ", window ");
		window_print(l->window, out);
	} else if (l->kind == LK_PREV) {
		buf_printf(out, ", depend %" PRId32, -l->prev);
	}
}

bool cost_within(const struct cost *c, const struct cost_limits *limits, const char *name,
                 const struct task *(*parent)(void *ctx, uint32_t id), void *ctx,
                 struct buf *ret_why)
{
	if (limits->window && c->widest > limits->window) {
		put_widest(c, parent, ctx, ret_why);
		buf_printf(ret_why,
		           ": one date looks at about %" PRId64 " dates, window_dates_max allows "
		           "%" PRId64 "; make the window smaller, or wait for a task of a longer "
		           "cycle that sums them up",
		           c->widest, limits->window);
	} else if (limits->year && c->year > limits->year) {
		buf_printf(ret_why,
		           "the needs of %s look at about %" PRId64 " dates in a year, "
		           "document_year_max allows %" PRId64 "; the widest: ",
		           name, c->year, limits->year);
		if (c->widest_of)
			put_widest(c, parent, ctx, ret_why);
		buf_puts(ret_why, "; give its tasks longer cycles or smaller windows");
	} else if (limits->parts && c->parts > limits->parts) {
		buf_printf(ret_why,
		           "the tasks of %s have %" PRId64 " parts, document_parts_max allows "
		           "%" PRId64 "; name fewer machines, or divide the document",
		           name, c->parts, limits->parts);
	}
	return ret_why->len == 0;
}

void cost_project_why(const char *project, int64_t dates, int64_t max, struct buf *ret_why)
{
	buf_printf(ret_why,
	           "the needs of project %s look at %" PRId64 " dates in all, project_dates_max "
	           "allows %" PRId64 "; make windows smaller, or divide the project",
	           project, dates, max);
}

void cost_print(const struct cost *c, struct buf *out)
{
	buf_printf(out,
	           "tasks: %" PRId64 " (parts: %" PRId64 "); needs: %" PRId64
	           ", dates they look at: %" PRId64 " (at most %" PRId64
	           " by one); dates to run or to look at in a year: %" PRId64,
	           c->tasks, c->parts, c->links, c->dates, c->widest, c->year);
}
