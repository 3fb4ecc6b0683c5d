/* What a batch adds to the statistics: worked out from its events, so that a batch that is
 * repeated says the same, and stored in the transaction that stores them. */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "sched/civil.h"
#include "sched/measure.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

/* The local day of the task's zone at `at_us`, days since 1970-01-01. */
static int32_t day_of(const struct ledger *l, uint32_t task, int64_t at_us)
{
	const struct ltask *t = ledger__task_of(l, task);
	int64_t s = floor_div(at_us, US_PER_S);

	if (t && t->def && t->def->plan)
		s = tz_to_label(plan_tz(t->def->plan), s);
	return (int32_t)floor_div(s, DAY_S);
}

/* An attempt or an instance came to an end? Parts and test runs are nobody's statistics. */
static bool stats_counts(const struct transition *tr)
{
	bool ends = state_final((enum state)tr->to) || tr->to == ST_FAILED;

	bool restores = tr->event >= EV_RESTORE_SUCC && tr->event <= EV_RESTORE_SKIPPED;

	return ends && !restores && tr->from != tr->to && tr->inst.key.part == 0 &&
	       tr->inst.origin != OR_TEST;
}

static struct store_stat stat_of(const struct ledger *l, const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	struct store_stat s = { .day = day_of(l, i->key.task, tr->at_us),
		                .task = i->key.task,
		                .state = tr->to,
		                .bucket = STORE_STAT_UNRUN,
		                .count = 1 };

	if (tr->from == ST_NONE || !state_holds_slot((enum state)tr->from) ||
	    !(i->flags & IF_STARTED))
		return s;
	int64_t took = (i->ended_us ? i->ended_us : tr->at_us) - i->started_us;
	s.sum_us = took > 0 ? took : 0;
	s.bucket = (int16_t)measure_bucket(s.sum_us);
	return s;
}

static int by_key(const void *a, const void *b)
{
	const struct store_stat *x = a, *y = b;

	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	return x->bucket - y->bucket;
}

static size_t stats_merge(struct store_stat *s, size_t n)
{
	size_t kept = 0;

	qsort(s, n, sizeof *s, by_key);
	for (size_t i = 0; i < n; i++) {
		if (kept && by_key(&s[kept - 1], &s[i]) == 0) {
			s[kept - 1].count += s[i].count;
			s[kept - 1].sum_us += s[i].sum_us;
		} else {
			s[kept++] = s[i];
		}
	}
	return kept;
}

/* The rows of the tasks, then those of task 0: all together. */
size_t ledger__gather_stats(const struct ledger *l, const struct store_batch *b,
                            struct store_stat **ret_stats)
{
	const struct transition *const *events = b->events;
	size_t ends = b->n_ranges, at = 0, n = b->n_events;

	for (size_t i = 0; i < n; i++)
		ends += stats_counts(events[i]);
	*ret_stats = NULL;
	if (ends == 0)
		return 0;
	struct store_stat *s = mem_array(ends * 2, sizeof *s);
	for (size_t i = 0; i < n; i++)
		if (stats_counts(events[i]))
			s[at++] = stat_of(l, events[i]);
	for (size_t i = 0; i < b->n_ranges; i++)
		s[at++] = (struct store_stat){ .day = day_of(l, b->ranges[i].task,
			                                     b->ranges[i].at_us),
			                       .task = b->ranges[i].task,
			                       .state = ST_SKIPPED,
			                       .bucket = STORE_STAT_UNRUN,
			                       .count = b->ranges[i].dates };
	CHECK(at == ends);
	at = stats_merge(s, at);
	for (size_t i = 0; i < at; i++) {
		s[at + i] = s[i];
		s[at + i].task = 0;
	}
	*ret_stats = s;
	return at + stats_merge(s + at, at);
}
