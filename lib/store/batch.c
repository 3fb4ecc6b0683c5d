/* What no store may hold, refused before any implementation sees it.
 *
 * A batch is checked against itself here: numbers rise within the batch, images are states that
 * the machine knows, live ones are not final, ranges have an order. So mem, SQLite and MySQL need
 * not agree on refusals, and a bug of the ledger is E_INVALID at the commit instead of a row that
 * no start can read. */
#include <inttypes.h>

#include "sched/measure.h"
#include "store/store_impl.h"
#include "util/err.h"

static bool has_numbers(const struct store_batch *b)
{
	return b->first && b->last >= b->first;
}

static int check_image(const struct instance *i, struct err *err)
{
	if (i->state == ST_NONE || i->state >= ST_COUNT || i->reason >= RE_COUNT ||
	    i->origin >= OR_END || i->intent > KI_REPLACE)
		return err_set(err, E_INVALID,
		               "instance %" PRIu32 "/%" PRId64 "/%" PRId32
		               ": a state, reason, origin or intent that does not exist",
		               i->key.task, i->key.run_date, i->key.part);
	if (i->token > INT64_MAX || i->last_number > INT64_MAX || i->cause > INT64_MAX)
		return err_set(err, E_INVALID, "instance %" PRIu32 ": a number above 2^63",
		               i->key.task);
	return 0;
}

static int check_images(const struct instance *const *list, size_t n, bool final, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		r = check_image(list[i], err);
		if (r == 0 && state_final((enum state)list[i]->state) != final)
			r = err_set(err, E_INVALID, "instance %" PRIu32 ": %s among the %s",
			            list[i]->key.task, state_name((enum state)list[i]->state),
			            final ? "finished" : "unfinished");
	}
	return r;
}

static int check_events(const struct store_batch *b, struct err *err)
{
	uint64_t before = 0;

	for (size_t i = 0; i < b->n_events; i++) {
		const struct transition *t = b->events[i];

		if (!has_numbers(b) || t->number < b->first || t->number > b->last ||
		    t->number <= before)
			return err_set(err, E_INVALID,
			               "event %" PRIu64 " is out of order or outside its batch",
			               t->number);
		before = t->number;
		if (t->kind == TK_INSTANCE &&
		    (t->to == ST_NONE || t->to >= ST_COUNT || t->from >= ST_COUNT))
			return err_set(err, E_INVALID, "event %" PRIu64 " has no state", t->number);
	}
	return 0;
}

/* Final ones are allowed: forced from history they get a new row there. */
static int check_reopened(const struct store_batch *b, struct err *err)
{
	for (size_t i = 0; i < b->n_reopened; i++)
		if (!state_final((enum state)b->reopened[i]->state)) {
			int r = check_images(&b->reopened[i], 1, false, err);
			if (r < 0)
				return r;
		}
	return 0;
}

static int check_stats(const struct store_batch *b, struct err *err)
{
	if (b->n_stats && !has_numbers(b))
		return err_set(err, E_INVALID, "statistics without transitions");
	for (size_t i = 0; i < b->n_stats; i++) {
		const struct store_stat *s = &b->stats[i];
		bool known = s->state < ST_COUNT &&
		             (state_final((enum state)s->state) || s->state == ST_FAILED);

		if (!known || s->count == 0 || s->bucket < STORE_STAT_UNRUN ||
		    s->bucket >= MEASURE_BUCKETS)
			return err_set(err, E_INVALID,
			               "statistics of task %" PRIu32
			               ": state %u, bucket %d, count %" PRIu32,
			               s->task, s->state, s->bucket, s->count);
	}
	return 0;
}

static int check_ranges(const struct store_batch *b, struct err *err)
{
	for (size_t i = 0; i < b->n_ranges; i++) {
		const struct store_range *r = &b->ranges[i];

		if (!has_numbers(b) || r->number < b->first || r->number > b->last ||
		    (i > 0 && r->number <= b->ranges[i - 1].number) || r->lo > r->hi ||
		    r->dates == 0 || r->taken != 0 || r->reason >= RE_COUNT)
			return err_set(err, E_INVALID,
			               "range %" PRIu64 " of task %" PRIu32
			               ": out of its batch, empty, or taken already",
			               r->number, r->task);
	}
	for (size_t i = 0; i < b->n_taken; i++)
		if (!has_numbers(b) || b->taken[i].number > b->last || b->taken[i].dates == 0)
			return err_set(err, E_INVALID,
			               "dates of range %" PRIu64 ", which is not stored",
			               b->taken[i].number);
	return 0;
}

static int check_alerts(const struct store_batch *b, struct err *err)
{
	for (size_t i = 0; i < b->n_alerts; i++) {
		const struct store_alert *a = &b->alerts[i];

		if (a->id == 0 || a->id > INT64_MAX || a->severity >= STORE_SEVERITIES ||
		    a->since_us < 0 || a->ended_us < 0 || a->acked_us < 0)
			return err_set(err, E_INVALID,
			               "alert %" PRIu64 ": an id, severity or instant out of range",
			               a->id);
	}
	return 0;
}

struct instance store_range_row(const struct store_range *r, int64_t run_date)
{
	return (struct instance){ .key = { run_date, r->task, 0 },
		                  .due = run_date,
		                  .eff_due_us = r->at_us,
		                  .created_us = r->at_us,
		                  .ended_us = r->at_us,
		                  .last_number = r->number,
		                  .generation = 1,
		                  .revision = 1,
		                  .version = r->version,
		                  .state = ST_SKIPPED,
		                  .reason = r->reason,
		                  .origin = OR_CYCLE,
		                  .priority = r->priority };
}

int batch_check(const struct store_batch *b, struct err *err)
{
	int r = check_events(b, err);

	if (r == 0)
		r = check_images(b->live, b->n_live, false, err);
	if (r == 0)
		r = check_images(b->done, b->n_done, true, err);
	if (r == 0)
		r = check_reopened(b, err);
	if (r == 0)
		r = check_ranges(b, err);
	if (r == 0)
		r = check_alerts(b, err);
	return r < 0 ? r : check_stats(b, err);
}

int store__check_numbers(const struct store_batch *b, uint64_t stored, struct err *err)
{
	if (!has_numbers(b))
		return 0;
	if (b->last <= stored)
		return 1;
	if (b->first == stored + 1)
		return 0;
	return err_set(err, E_INVALID,
	               "batch of transitions %" PRIu64 "..%" PRIu64
	               " does not follow the stored number %" PRIu64,
	               b->first, b->last, stored);
}
