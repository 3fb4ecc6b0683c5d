/* Outcomes, and what may go because they are kept. */
#include <inttypes.h>

#include "store/mysql/mysql.h"
#include "util/clock.h"
#include "util/err.h"

static int each_outcome(struct rows *rows, int (*each)(void *ctx, const struct store_outcome *o),
                        void *ctx, struct err *err)
{
	struct store_outcome o;
	int r;

	while ((r = rows_step(rows, err)) > 0) {
		r = rows_outcome(rows, &o, err);
		if (r == 0)
			r = each(ctx, &o);
		if (r < 0)
			break;
	}
	rows_close(rows);
	return r;
}

int my_outcome_number(struct my_store *s, int64_t *ret, struct err *err)
{
	return my_ask_number(s, "lb_leader", ret, err,
	                     "SELECT outcome_number FROM lb_leader WHERE id = 1", "");
}

int my_load_outcomes(struct store *st, int (*each)(void *ctx, const struct store_outcome *o),
                     void *ctx, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct rows *rows = NULL;
	int64_t saved = 0;
	int r = my_outcome_number(s, &saved, err);

	if (r == 0)
		r = my_ask(s, "lb_outcome", &rows, err,
		           "SELECT " OUTCOME_COLUMNS " FROM lb_outcome"
		           " ORDER BY task_id, lo",
		           "");
	if (r == 0)
		r = each_outcome(rows, each, ctx, err);
	if (r == 0)
		r = my_ask(s, "lb_task_run_history", &rows, err,
		           "SELECT task_id, curr_run_date, curr_run_date, job_status, reason,"
		           " generation FROM lb_task_run_history WHERE last_number > ? AND part = 0"
		           " ORDER BY last_number",
		           "i", saved);
	return r < 0 ? r : each_outcome(rows, each, ctx, err);
}

static int write_outcomes(struct my_store *s, const struct store_outcome *o, size_t n,
                          uint64_t upto_number, struct err *err)
{
	struct my_out out = { s,
		              "INSERT INTO lb_outcome (task_id, lo, hi, job_status, reason,"
		              " generation) VALUES ",
		              "", 0 };
	int r = my_do(s, err, "DELETE FROM lb_outcome", "");

	for (size_t i = 0; i < n && r == 0; i++)
		r = my_out_put(&out, err, "iiiiii", (int64_t)o[i].task, o[i].lo, o[i].hi,
		               (int64_t)state_number((enum state)o[i].state), (int64_t)o[i].reason,
		               (int64_t)o[i].generation);
	r = my_out_end(&out, r, err);
	if (r == 0)
		r = my_do(s, err,
		          "UPDATE lb_leader SET outcome_number = ?, beat = beat + 1 WHERE id = 1",
		          "i", (int64_t)upto_number);
	return r;
}

int my_save_outcomes(struct store *st, uint32_t epoch, const struct store_outcome *o, size_t n,
                     uint64_t upto_number, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	uint64_t stored = 0;
	int r = my_begin(s, epoch, &stored, err);

	if (r < 0)
		return r;
	if (upto_number > stored)
		r = err_set(err, E_INVALID,
		            "outcomes up to %" PRIu64 ", the store ends at %" PRIu64, upto_number,
		            stored);
	else
		r = write_outcomes(s, o, n, upto_number, err);
	r = my_end(s, r, err);
	return r < 0 ? err_wrap(err, r, "save outcomes") : 0;
}

/* ---- rows of the time before partitions began ---- */

/* Drop or count the chain of events that ends in `number`. */
static int drop_events(struct my_store *s, int64_t number, bool dry_run, size_t *rows,
                       struct err *err)
{
	int64_t prev = 0;
	int r = 0;

	for (; r == 0 && number; number = prev) {
		r = my_ask_number(s, "lb_task_event", &prev, err,
		                  "SELECT prev FROM lb_task_event WHERE number = ?", "i", number);
		if (r == E_NOT_FOUND) /* the rest of the chain went before */
			return 0;
		if (r == 0 && !dry_run) /* what is gone is not read again: tip.h */
			r = my_do(s, err,
			          "UPDATE lb_leader SET mark_number = chain_number,"
			          " mark_chain = chain WHERE mark_number < ?",
			          "i", number);
		if (r == 0 && !dry_run)
			r = my_do(s, err, "DELETE FROM lb_task_event WHERE number = ?", "i",
			          number);
		if (r == 0 && !dry_run)
			r = my_do(s, err, "DELETE FROM lb_task_data WHERE number = ?", "i", number);
		++*rows;
	}
	return r;
}

/* 1 found, 0 none. */
static int oldest_row(struct my_store *s, int64_t after, int64_t *ret_number, int64_t *ret_ended_us,
                      struct err *err)
{
	struct rows *rows = NULL;
	int r = my_ask(
		s, "lb_task_run_history", &rows, err,
		"SELECT last_number, ended_us FROM lb_task_run_history PARTITION (pold) WHERE"
		" last_number > ? ORDER BY last_number LIMIT 1",
		"i", after);

	if (r < 0) /* E_CONFLICT: the partition was dropped by hand */
		return r == E_CONFLICT ? 0 : r;
	r = rows_step(rows, err);
	if (r > 0) {
		r = rows_int(rows, 0, 0, INT64_MAX, ret_number, err);
		if (r == 0)
			r = rows_int(rows, 1, 0, INT64_MAX, ret_ended_us, err);
		r = r < 0 ? r : 1;
	}
	rows_close(rows);
	return r;
}

static int drop_old_rows(struct my_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                         size_t *rows, struct err *err)
{
	int64_t saved = 0, number = 0, ended_us = 0;
	int r = my_outcome_number(s, &saved, err);

	while (r == 0 && *rows < rows_max) {
		r = oldest_row(s, number, &number, &ended_us, err);
		if (r <= 0 || ended_us >= before_us || number > saved)
			return r < 0 ? r : 0;
		r = drop_events(s, number, dry_run, rows, err);
		if (r == 0 && !dry_run)
			r = my_do(s, err, "DELETE FROM lb_task_run_history WHERE last_number = ?",
			          "i", number);
		++*rows;
	}
	return r;
}

#define OLD_ITEMS \
	"FROM lb_command_item WHERE command_id IN (SELECT id FROM lb_command WHERE ended_us > 0" \
	" AND ended_us < ?)"

static int drop_items(struct my_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                      size_t *rows, struct err *err)
{
	int64_t n = 0, most = (int64_t)(rows_max - *rows);
	int r;

	if (*rows >= rows_max)
		return 0;
	if (dry_run) {
		r = my_ask_number(s, "lb_command_item", &n, err, "SELECT COUNT(*) " OLD_ITEMS, "i",
		                  before_us);
	} else {
		r = my_do(s, err, "DELETE " OLD_ITEMS " LIMIT ?", "ii", before_us, most);
		n = r == 0 ? (int64_t)mysql_affected_rows(s->db) : 0;
	}
	*rows += (size_t)(n < most ? n : most);
	return r;
}

/* Days go whole; the data that came with their transitions follow them. */
static int drop_data(struct my_store *s, size_t rows_max, size_t *rows, struct err *err)
{
	int r = *rows < rows_max
	                ? my_do(s, err,
	                        "DELETE FROM lb_task_data WHERE number <"
	                        " (SELECT MIN(number) FROM lb_task_event) ORDER BY number LIMIT ?",
	                        "i", (int64_t)(rows_max - *rows))
	                : 0;

	if (r == 0 && *rows < rows_max)
		*rows += (size_t)mysql_affected_rows(s->db);
	return r;
}

int my_retain(struct store *st, uint32_t epoch, int64_t before_us, size_t rows_max, bool dry_run,
              size_t *ret_rows, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	size_t rows = 0;
	int r = my_begin(s, epoch, NULL, err);

	if (r < 0)
		return r;
	r = my_stamp(s, err);
	/* A range goes before the rows that say otherwise of its dates. */
	if (r == 0)
		r = my_drop_ranges(s, before_us, rows_max, dry_run, &rows, err);
	if (r == 0)
		r = drop_old_rows(s, before_us, rows_max, dry_run, &rows, err);
	if (r == 0)
		r = drop_items(s, before_us, rows_max, dry_run, &rows, err);
	if (r == 0)
		r = my_drop_alerts(s, before_us, rows_max, dry_run, &rows, err);
	r = my_end(s, r, err);
	/* Changes of a table's shape are transactions of their own. */
	if (r == 0)
		r = my_drop_days(s, before_us, rows_max, dry_run, &rows, err);
	if (r == 0 && !dry_run)
		r = drop_data(s, rows_max, &rows, err);
	if (r == 0 && s->days_missing) { /* what nobody could be told when it failed */
		s->days_ahead_us = 0;
		r = my_days_ahead(s, clock_wall_us(&clock_machine), err);
	}
	if (r == 0)
		*ret_rows = rows;
	return r < 0 ? err_wrap(err, r, "retain") : 0;
}
