/* What is odd though it is allowed. */
#include "sched/civil.h"
#include "sched/workflow_impl.h"
#include "util/err.h"

#include <stdio.h>

enum { DATES_MAX = 2000, LATE_DATES_MAX = 3 };

static struct place place_of(const struct wf_made *m, size_t i)
{
	char key[40];
	const struct wf_need *need = m->needs[i];

	snprintf(key, sizeof key, "needs[%zu]", (size_t)(need - m->t->needs.items));
	return wf__place(m, need->node, key);
}

static const char *parent_name(const struct wf_made *m, size_t i)
{
	return m->parents[i] ? m->parents[i]->t->full : m->needs[i]->task.text;
}

/* Does the window hold any planned date for some date of the coming year? */
static bool ever_fills(const struct wf_made *m, size_t i, int64_t from)
{
	struct link_span spans[LINK_SPANS_MAX];
	int64_t t = plan_next(m->plan, from - 1);
	int seen = 0;

	for (; t < from + 366 * DAY_S && seen < DATES_MAX; seen++) {
		int n = link_spans(&m->links[i], m->parent_plans[i], m->plan, t, spans);
		for (int k = 0; k < n; k++)
			if (plan_count(m->parent_plans[i], spans[k].lo, spans[k].hi, 1))
				return true;
		t = plan_next(m->plan, t);
	}
	return seen == 0; /* nothing to fill */
}

/* The next few dates: is a parent due after its child? */
static bool parent_is_later(const struct wf_made *m, size_t i, int64_t from)
{
	struct link_span spans[LINK_SPANS_MAX];
	int64_t t = plan_next(m->plan, from - 1);

	for (int seen = 0; t != PLAN_NEVER && seen < LATE_DATES_MAX; seen++) {
		int n = link_spans(&m->links[i], m->parent_plans[i], m->plan, t, spans);
		int64_t last = n > 0 ? plan_prev(m->parent_plans[i], spans[n - 1].hi) : PLAN_BEFORE;
		if (last != PLAN_BEFORE && last >= spans[n - 1].lo &&
		    plan_due(m->parent_plans[i], last) > plan_due(m->plan, t))
			return true;
		t = plan_next(m->plan, t);
	}
	return false;
}

int workflow_check(const struct workflow_set *set, const struct workflow_world *world, int64_t from,
                   struct diags *d)
{
	struct wf_compiler c = { .set = set, .world = world, .d = d };
	int r = wf__prepare(&c);

	for (size_t k = 0; r == 0 && k < c.n; k++) {
		const struct wf_made *m = &c.made[k];
		/* Steps have one plan: nothing is odd between them. */
		for (size_t i = 0; !m->t->is_step && i < m->n_links; i++) {
			if (!ever_fills(m, i, from))
				diag_warning(d, place_of(m, i), "empty_window",
				             "an empty window counts as met",
				             "for no date of the coming year has %s an instance in "
				             "this window",
				             parent_name(m, i));
			else if (parent_is_later(m, i, from))
				diag_warning(
					d, place_of(m, i), "late_parent",
					"give this task a later offset",
					"%s comes due later than this task, which waits for it",
					parent_name(m, i));
		}
	}
	wf__compiler_done(&c);
	return r;
}
