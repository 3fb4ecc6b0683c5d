/* Dates left out together: for the checker each is a row that came and was skipped at once; the
 * store must have no row of it, and its range must count it. */
#include <inttypes.h>
#include <stdlib.h>

#include "sched/task.h"
#include "sim.h"
#include "store/store.h"
#include "util/alloc.h"

enum { RANGES = 4096 };

static struct {
	uint64_t number;
	uint32_t seen;
} seen[RANGES];
static size_t n_seen;

static bool is_open(const struct date_range *r, int64_t date)
{
	for (uint32_t i = 0; i < r->n_open; i++)
		if (r->open[i] == date)
			return true;
	return false;
}

/* I2: those that are planned, have no row, and are as many as it says. */
void ranges_follow(const struct transition *tr)
{
	const struct task *t = task_version(tr->inst.key.task, tr->inst.version);
	const struct date_range *r = tr->row;
	struct transition one = *tr;
	struct instance was;
	uint32_t n = 0;

	note("  #%" PRIu64 " task %u: %u dates are left out, %" PRId64 "..%" PRId64, tr->number,
	     t->id, r->dates, r->lo % 100000, r->hi % 100000);
	for (int64_t d = plan_next(t->plan, r->lo - 1); d <= r->hi; d = plan_next(t->plan, d)) {
		one.inst.key.run_date = d;
		if (check_find(one.inst.key, &was)) {
			if (!state_final((enum state)was.state) && !is_open(r, d))
				break_invariant("I2", "task %u at %" PRId64 " is left out and open",
				                t->id, d);
			continue;
		}
		check_skipped_date(&one);
		n++;
	}
	if (n != r->dates)
		break_invariant("I2",
		                "task %u: %u dates from %" PRId64 " to %" PRId64
		                " are left out, the record says %u",
		                t->id, n, r->lo, r->hi, r->dates);
}

struct missing {
	uint64_t after, before;
};

static void show(const struct store_range *r)
{
	size_t size = sizeof(struct date_range), n = 0;
	const struct task *t = task_version(r->task, r->version);
	struct instance was;

	for (int64_t d = plan_next(t->plan, r->lo - 1); d <= r->hi; d = plan_next(t->plan, d))
		n++;
	struct date_range *row = mem_new(size + n * sizeof row->open[0]);
	row->lo = r->lo;
	row->hi = r->hi;
	row->dates = r->dates;
	for (int64_t d = plan_next(t->plan, r->lo - 1); d <= r->hi; d = plan_next(t->plan, d))
		if (check_find((struct inst_key){ d, r->task, 0 }, &was) &&
		    !state_final((enum state)was.state))
			row->open[row->n_open++] = d;
	struct transition tr = { .number = r->number,
		                 .at_us = r->at_us,
		                 .kind = TK_RANGE,
		                 .event = EV_CREATE_SKIP,
		                 .to = ST_SKIPPED,
		                 .reason = r->reason,
		                 .inst = store_range_row(r, r->lo),
		                 .row = row };
	ranges_follow(&tr);
	free(row);
}

static int each_missing(void *ctx, const struct store_range *r)
{
	const struct missing *m = ctx;

	if (r->number > m->after && r->number < m->before)
		show(r);
	return 0;
}

void ranges_before(struct store *s, uint64_t after, uint64_t before)
{
	struct missing m = { after, before };

	if (after < before && store_load_ranges(s, false, each_missing, &m, NULL) < 0)
		break_invariant("I20", "the ranges do not load");
}

void ranges_see(struct store *s, const struct instance *i)
{
	struct store_range r;
	struct instance row;
	size_t at = 0;

	if (store_find_done(s, i->key, &row, NULL) == 0)
		break_invariant("I16", "task %u at %" PRId64 " was left out and has a row",
		                i->key.task, i->key.run_date);
	if (store_find_range(s, i->key.task, i->key.run_date, &r, NULL) < 0 ||
	    r.number != i->last_number) {
		break_invariant("I16", "task %u at %" PRId64 " was left out and lies in no range",
		                i->key.task, i->key.run_date);
		return;
	}
	while (at < n_seen && seen[at].number != r.number)
		at++;
	if (at == n_seen && n_seen < RANGES) {
		seen[n_seen].number = r.number;
		seen[n_seen++].seen = 0;
	}
	if (at < RANGES)
		seen[at].seen++;
}

static int each_range(void *ctx, const struct store_range *r)
{
	uint32_t n = 0;

	(void)ctx;
	for (size_t at = 0; at < n_seen; at++)
		if (seen[at].number == r->number)
			n = seen[at].seen;
	if (n != r->dates - r->taken)
		break_invariant("I16",
		                "range %" PRIu64 " of task %u has %u dates, %u with rows; the log"
		                " has %u without",
		                r->number, r->task, r->dates, r->taken, n);
	return 0;
}

void ranges_check(struct store *s)
{
	if (store_load_ranges(s, false, each_range, NULL, NULL) < 0)
		break_invariant("I20", "the ranges do not load");
	n_seen = 0;
}
