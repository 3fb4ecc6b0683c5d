/* Some rows have a date that no plan has: it lies before the task's begin, or off its plan. Links
 * pass over such dates (design: SEMANTICS section 1, *Begin*), except among the members of one
 * command. A backfill tells the resolver the dates of its members. A redo tells nothing, for each
 * instance that it touches has a row. Its members look at the rows that exist: those before the
 * begin of the parent, and the parent's row of the member's own date. */
#include <string.h>

#include "baseserver/plan/resolver_impl.h"
#include "sched/instance.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

/* Index of the first unfinished one at t or later. */
static size_t row_from(const struct rtask *t, int64_t at)
{
	size_t lo = 0, hi = t->n_rows;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->rows[mid] < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void row_add(struct rtask *t, size_t i, int64_t at)
{
	t->rows = mem_room(t->rows, &t->rows_cap, t->n_rows + 1, sizeof *t->rows);
	memmove(t->rows + i + 1, t->rows + i, (t->n_rows - i) * sizeof *t->rows);
	t->rows[i] = at;
	t->n_rows++;
	CHECK(i == 0 || t->rows[i - 1] < at); /* row_from() */
	CHECK(i + 1 == t->n_rows || at < t->rows[i + 1]);
}

bool resolver__row(struct resolver *r, const struct instance *inst)
{
	struct rtask *t = resolver__task(r, inst->key.task);
	int64_t at = inst->key.run_date;
	bool is_over = inst->state == ST_NONE || state_final((enum state)inst->state);

	if (inst->key.part != 0 || !t || !t->def)
		return false;
	size_t i = row_from(t, at);
	bool has = i < t->n_rows && t->rows[i] == at;
	if (is_over && has) {
		memmove(t->rows + i, t->rows + i + 1, (--t->n_rows - i) * sizeof *t->rows);
	} else if (!is_over && !has && !resolver__planned(t->def->plan, at)) {
		row_add(t, i, at);
		return true;
	}
	return false;
}

bool resolver__row_beside(const struct resolver *r, uint32_t task, int64_t at)
{
	const struct rtask *t = resolver__task(r, task);
	size_t i = row_from(t, at);

	return !plan_has(t->def->plan, at) &&
	       ((i < t->n_rows && t->rows[i] == at) || outcomes_find(&t->outcomes, at));
}

/* The first date after `at` that ended and is of the plan. */
static int64_t next_ended(const struct rtask *t, int64_t at)
{
	const struct plan *plan = t->def->plan;

	for (size_t i = outcomes_from(&t->outcomes, at + 1); i < t->outcomes.len; i++) {
		const struct outcome_range *o = &t->outcomes.ranges[i];
		int64_t p = o->lo > at ? o->lo : plan_next(plan, at);
		if (p <= o->hi && plan_has(plan, p))
			return p;
	}
	return PLAN_NEVER;
}

int64_t resolver__next_row(const struct resolver *r, uint32_t task, int64_t at)
{
	const struct rtask *t = resolver__task(r, task);
	const struct plan *plan = t->def->plan;
	int64_t p = at < INT64_MAX ? next_ended(t, at) : PLAN_NEVER;
	size_t i = at < INT64_MAX ? row_from(t, at + 1) : t->n_rows;

	while (i < t->n_rows && !plan_has(plan, t->rows[i]))
		i++;
	if (i < t->n_rows && t->rows[i] < p)
		p = t->rows[i];
	return p < plan_begin(plan) ? p : PLAN_NEVER;
}
