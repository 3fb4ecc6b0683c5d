/* Dates that were left out together: one record and one transition for all of them. A date of it
 * that is redone or forced gets a row, as if there had been one all the time. */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

struct dates {
	int64_t *at;
	size_t n, cap;
};

static void range_add(struct dates *d, int64_t date)
{
	d->at = mem_room(d->at, &d->cap, d->n + 1, sizeof *d->at);
	d->at[d->n++] = date;
}

static int by_date(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Dates of the task that are unfinished: by their plan, or by a walk of all, whichever is less. */
static struct dates find_open(const struct ledger *l, const struct ltask *t, int64_t lo, int64_t hi,
                              int64_t planned)
{
	struct dates d = { 0 };
	uint32_t index;

	if (t->unfinished == 0)
		return d;
	if (planned < l->table.used) {
		const struct plan *plan = t->def->plan;
		for (int64_t at = plan_next(plan, lo - 1); at <= hi; at = plan_next(plan, at))
			if (table_find(&l->table, (struct inst_key){ at, t->row.id, 0 }, &index))
				range_add(&d, at);
		return d;
	}
	for (index = 0; index < l->table.used; index++) {
		const struct instance *i = &table_at(&l->table, index)->inst;
		if (i->state != ST_NONE && i->key.task == t->row.id && i->key.part == 0 &&
		    i->key.run_date >= lo && i->key.run_date <= hi)
			range_add(&d, i->key.run_date);
	}
	if (d.n)
		qsort(d.at, d.n, sizeof *d.at, by_date);
	return d;
}

/* Planned dates in it that have ended already. */
static int64_t count_over(const struct ltask *t, int64_t lo, int64_t hi)
{
	const struct outcomes *o = &t->outcomes;
	int64_t n = 0;

	for (size_t i = outcomes_from(o, lo); i < o->len && o->ranges[i].lo <= hi; i++)
		n += plan_count_all(t->def->plan, o->ranges[i].lo > lo ? o->ranges[i].lo : lo,
		                    o->ranges[i].hi < hi ? o->ranges[i].hi : hi);
	return n;
}

static struct date_range *range_new(const struct ledger *l, const struct ltask *t, int64_t lo,
                                    int64_t hi)
{
	int64_t planned = plan_count_all(t->def->plan, lo, hi);
	struct dates open = find_open(l, t, lo, hi, planned);
	struct date_range *r = mem_new(sizeof *r + open.n * sizeof r->open[0]);

	planned -= count_over(t, lo, hi);
	r->lo = lo;
	r->hi = hi;
	for (size_t i = 0; i < open.n; i++)
		if (!outcomes_find(&t->outcomes, open.at[i])) { /* over, and not committed yet */
			r->open[r->n_open++] = open.at[i];
			planned -= plan_has(t->def->plan, open.at[i]);
		}
	free(open.at);
	r->dates = planned > UINT32_MAX ? UINT32_MAX : planned < 0 ? 0 : (uint32_t)planned;
	return r;
}

int ledger__leave_out(struct ledger *l, struct ltask *t, struct proposal *p, uint64_t *ret_number)
{
	int64_t lo = p->key.run_date, hi = p->last;

	/* By another plan than that in force: the instantiator goes back to planned_through
	 * then. An edit that leaves the plan as it was sends nothing back: not refused either. */
	if (t->row.state != TS_ONLINE || !t->def || plan_since(t->def->plan) != p->due || lo > hi ||
	    !plan_has(t->def->plan, lo) || !plan_has(t->def->plan, hi))
		return E_CONFLICT;
	if (hi > t->row.planned_through) {
		t->row.planned_through = hi;
		ledger__touch_task(l, t);
	}
	struct date_range *r = range_new(l, t, lo, hi);
	if (r->dates == 0) {
		free(r);
		return 0;
	}
	struct store_range image = { .number = stream_last(l->stream) + 1,
		                     .task = t->row.id,
		                     .version = t->row.version,
		                     .lo = lo,
		                     .hi = hi,
		                     .dates = r->dates,
		                     .at_us = l->now_us,
		                     .reason = p->reason,
		                     .priority = (uint8_t)t->def->priority };
	struct transition tr = { .kind = TK_RANGE,
		                 .event = EV_CREATE_SKIP,
		                 .from = ST_NONE,
		                 .to = ST_SKIPPED,
		                 .reason = p->reason,
		                 .inst = store_range_row(&image, lo),
		                 .row = r };
	struct outcome_range o = { lo, hi, 1, ST_SKIPPED, p->reason, { 0 } };
	outcomes_fill(&t->outcomes, t->def->plan, &o, r->open, r->n_open);
	*ret_number = ledger__publish(l, &tr);
	CHECK(*ret_number == image.number); /* the record and its row */
	ledger__parts_left_out(l, t);
	l->fresh = mem_room(l->fresh, &l->fresh_cap, l->n_fresh + 1, sizeof *l->fresh);
	l->fresh[l->n_fresh++] = image;
	return 0;
}

void ledger__ranges_durable(struct ledger *l, uint64_t number)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n_fresh; i++)
		if (l->fresh[i].number > number)
			l->fresh[kept++] = l->fresh[i];
	if (kept != l->n_fresh)
		l->found.n = 0; /* what was not there before may be now */
	l->n_fresh = kept;
}

int ledger__fresh_row(const struct ledger *l, struct inst_key key, struct instance *ret)
{
	for (size_t i = l->n_fresh; key.part == 0 && i-- > 0;)
		if (l->fresh[i].task == key.task && l->fresh[i].lo <= key.run_date &&
		    l->fresh[i].hi >= key.run_date) {
			*ret = store_range_row(&l->fresh[i], key.run_date);
			ret->marks = EM_HISTORY | EM_RANGE;
			return 0;
		}
	return E_NOT_FOUND;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = ((const struct store_taken *)a)->number,
		 y = ((const struct store_taken *)b)->number;

	return x < y ? -1 : x > y;
}

static void gather_taken(struct ledger *l, struct flight *f)
{
	f->taken = mem_array(l->n_taken + 1, sizeof *f->taken);
	if (l->n_taken > 1)
		qsort(l->taken, l->n_taken, sizeof *l->taken, by_number);
	for (size_t i = 0; i < l->n_taken; i++) {
		size_t n = f->b.n_taken;
		if (n && f->taken[n - 1].number == l->taken[i].number)
			f->taken[n - 1].dates++;
		else
			f->taken[f->b.n_taken++] = l->taken[i];
	}
	l->n_taken = 0;
	f->b.taken = f->taken;
}

/* Copies: the list goes on while the batch is with another thread. */
void ledger__gather_ranges(struct ledger *l, struct flight *f)
{
	f->ranges = mem_array(l->n_fresh + 1, sizeof *f->ranges);
	for (size_t i = 0; i < l->n_fresh; i++)
		if (l->fresh[i].number >= f->b.first)
			f->ranges[f->b.n_ranges++] = l->fresh[i];
	f->b.ranges = f->ranges;
	gather_taken(l, f);
}

/* Dates that ended otherwise since have their outcome already; what runs again is cleared later. */
static int each_range(void *ctx, const struct store_range *r)
{
	struct ltask *t = ledger__task_of(ctx, r->task);
	struct outcome_range o = { r->lo, r->hi, 1, ST_SKIPPED, r->reason, { 0 } };

	CHECK(r->lo <= r->hi && r->taken <= r->dates);
	if (t && t->def)
		outcomes_fill(&t->outcomes, t->def->plan, &o, NULL, 0);
	return 0;
}

int ledger__load_ranges(struct ledger *l, struct err *err)
{
	return store_load_ranges(l->store, true, each_range, l, err);
}

int ledger__read_row(struct store *s, struct inst_key key, struct instance *ret)
{
	struct store_range range;
	int r = store_find_done(s, key, ret, NULL);

	CHECK(r != 0 || inst_key_eq(ret->key, key));
	if (r == 0)
		ret->marks = EM_HISTORY;
	if (r != E_NOT_FOUND || key.part != 0)
		return r;
	r = store_find_range(s, key.task, key.run_date, &range, NULL);
	if (r < 0)
		return r;
	CHECK(range.task == key.task && range.lo <= key.run_date && key.run_date <= range.hi);
	*ret = store_range_row(&range, key.run_date);
	ret->marks = EM_HISTORY | EM_RANGE;
	return 0;
}

int ledger__row_of_range(const struct ltask *t, struct instance *i)
{
	const struct outcome_range *o = outcomes_find(&t->outcomes, i->key.run_date);
	const struct plan *plan = t->def ? t->def->plan : NULL;
	int64_t at = i->key.run_date;

	CHECK(i->marks & EM_RANGE && i->key.task == t->row.id && i->key.part == 0);
	if (!o || o->state != ST_SKIPPED || o->generation != 1 || o->reason != i->reason)
		return E_NOT_FOUND;
	if (at != o->lo && at != o->hi && (!plan || !plan_has(plan, at)))
		return E_NOT_FOUND;
	if (plan)
		i->due = plan_due(plan, at);
	return 0;
}
