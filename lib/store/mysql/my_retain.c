/* Outcomes, and what may go because they are kept: days as partitions, and rows of the days
 * before partitions began. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/mysql/mysql.h"
#include "util/err.h"

#define DAY_US      86400000000LL
#define DAYS_AHEAD  8
#define PARTED_MAX  4000 /* days of history; MySQL itself ends at 8192 partitions */
#define SINCE_COLUMNS "task_id, curr_run_date, curr_run_date, job_status, reason, generation"

static int read_outcome(const struct my_rows *rows, struct store_outcome *ret, struct err *err)
{
	struct store_outcome o = { 0 };
	int64_t task = 0, status = 0, reason = 0, generation = 0;
	enum state st = ST_NONE;
	int r = my_int(rows, 0, 0, UINT32_MAX, &task, err);

	if (r == 0)
		r = my_int(rows, 1, INT64_MIN, INT64_MAX, &o.lo, err);
	if (r == 0)
		r = my_int(rows, 2, o.lo, INT64_MAX, &o.hi, err);
	if (r == 0)
		r = my_int(rows, 3, INT32_MIN, INT32_MAX, &status, err);
	if (r == 0)
		r = my_int(rows, 4, 0, RE_COUNT - 1, &reason, err);
	if (r == 0)
		r = my_int(rows, 5, 0, UINT32_MAX, &generation, err);
	if (r == 0 && (!state_from_number((int)status, &st) || !state_final(st)))
		r = err_set(err, E_CORRUPT,
		            "%s row of task_id %" PRId64 " at %" PRId64
		            ": column job_status has %" PRId64 ", which is no final state",
		            rows->table, task, o.lo, status);
	if (r < 0)
		return r;
	o.task = (uint32_t)task;
	o.state = (uint8_t)st;
	o.reason = (uint8_t)reason;
	o.generation = (uint32_t)generation;
	*ret = o;
	return 0;
}

static int each_outcome(struct my_store *s, const char *table, const char *text,
                        int (*each)(void *ctx, const struct store_outcome *o), void *ctx,
                        struct err *err)
{
	struct store_outcome o;
	struct my_rows rows;
	int r = my_rows_begin(s, table, text, &rows, err);

	if (r < 0)
		return r;
	while ((r = my_rows_next(&rows, err)) > 0) {
		r = read_outcome(&rows, &o, err);
		if (r == 0)
			r = each(ctx, &o);
		if (r < 0)
			break;
	}
	return my_rows_end(&rows, r);
}

/* One number of one row; E_NOT_FOUND without a row, 0 for NULL. */
static int ask_number(struct my_store *s, const char *table, const char *text, int64_t *ret,
                      struct err *err)
{
	struct my_rows rows;
	int r = my_rows_begin(s, table, text, &rows, err);

	if (r < 0)
		return r;
	r = my_rows_next(&rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "%s: no row", table);
	else if (r > 0 && !rows.row[0])
		r = 0, *ret = 0;
	else if (r > 0)
		r = my_int(&rows, 0, INT64_MIN, INT64_MAX, ret, err);
	return my_rows_end(&rows, r);
}

static int outcome_number(struct my_store *s, int64_t *ret, struct err *err)
{
	return ask_number(s, "lb_leader", "SELECT outcome_number FROM lb_leader WHERE id = 1", ret,
	                  err);
}

int my_load_outcomes(struct store *st, int (*each)(void *ctx, const struct store_outcome *o),
                     void *ctx, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int64_t saved = 0;
	char text[300];
	int r = outcome_number(s, &saved, err);

	if (r == 0)
		r = each_outcome(s, "lb_outcome",
		                 "SELECT task_id, lo, hi, job_status, reason, generation"
		                 " FROM lb_outcome ORDER BY task_id, lo",
		                 each, ctx, err);
	if (r < 0)
		return r;
	snprintf(text, sizeof text,
	         "SELECT " SINCE_COLUMNS " FROM lb_task_run_history"
	         " WHERE last_number > %" PRId64 " AND part = 0 ORDER BY last_number",
	         saved);
	return each_outcome(s, "lb_task_run_history", text, each, ctx, err);
}

static int write_outcomes(struct my_store *s, const struct store_outcome *o, size_t n,
                          uint64_t upto_number, struct err *err)
{
	struct my_out out = { s,
		              "INSERT INTO lb_outcome (task_id, lo, hi, job_status, reason,"
		              " generation) VALUES ",
		              "", 0 };
	int r = my_runf(s, err, "DELETE FROM lb_outcome");

	for (size_t i = 0; i < n && r == 0; i++)
		r = my_out_put(&out, err, "iiiiii", (int64_t)o[i].task, o[i].lo, o[i].hi,
		               (int64_t)state_number((enum state)o[i].state), (int64_t)o[i].reason,
		               (int64_t)o[i].generation);
	r = my_out_end(&out, r, err);
	return r < 0 ? r
	             : my_runf(s, err,
	                       "UPDATE lb_leader SET outcome_number = %" PRIu64 " WHERE id = 1",
	                       upto_number);
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

/* ---- days as partitions ---- */

static const struct parted {
	const char *table, *column;
} parted[] = {
	{ "lb_task_run_history", "ended_us" },
	{ "lb_task_event", "at_us" },
};

/* The end of the newest day there is; 0: none yet. */
static int newest_day(struct my_store *s, const struct parted *p, int64_t *ret, struct err *err)
{
	char text[400];

	snprintf(text, sizeof text,
	         "SELECT MAX(CAST(PARTITION_DESCRIPTION AS SIGNED)) FROM"
	         " information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME ="
	         " '%s' AND PARTITION_DESCRIPTION <> 'MAXVALUE'",
	         p->table);
	return ask_number(s, p->table, text, ret, err);
}

static void put_day(struct buf *b, int64_t from_us, int64_t end_us)
{
	time_t at = (time_t)(from_us / 1000000);
	struct tm tm;

	gmtime_r(&at, &tm);
	buf_printf(b, "PARTITION p%04d%02d%02d VALUES LESS THAN (%" PRId64 "), ",
	           tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, end_us);
}

static int add_days(struct my_store *s, const struct parted *p, int64_t now_us, struct err *err)
{
	int64_t end = 0, today = now_us / DAY_US * DAY_US;
	int r = newest_day(s, p, &end, err);

	if (r < 0 || end >= today + 2 * DAY_US)
		return r;
	buf_clear(&s->sql);
	buf_printf(&s->sql, "ALTER TABLE %s REORGANIZE PARTITION pmax INTO (", p->table);
	if (end == 0) {
		buf_printf(&s->sql, "PARTITION pold VALUES LESS THAN (%" PRId64 "), ", today);
		end = today;
	}
	if (end < today - (PARTED_MAX - 1) * DAY_US)
		end = today;
	for (; end < today + DAYS_AHEAD * DAY_US; end += DAY_US)
		put_day(&s->sql, end, end + DAY_US);
	buf_puts(&s->sql, "PARTITION pmax VALUES LESS THAN MAXVALUE)");
	return my_run(s, (const char *)buf_at(&s->sql), s->sql.len, NULL, err);
}

int my_partitions_ahead(struct my_store *s, int64_t now_us, struct err *err)
{
	int r = my_ready(s, err);

	if (now_us < s->parted_us)
		return 0;
	for (size_t i = 0; i < sizeof parted / sizeof parted[0] && r == 0; i++)
		r = add_days(s, &parted[i], now_us, err);
	if (r == 0)
		s->parted_us = now_us + DAY_US / 4;
	return r;
}

/* The oldest whole day that ended by `before_us`: its name, or "" for none. */
static int oldest_day(struct my_store *s, const struct parted *p, int64_t before_us, int64_t after,
                      char ret_name[64], int64_t *ret_end, struct err *err)
{
	struct my_rows rows;
	char text[500];
	const char *name = NULL;
	int r;

	*ret_name = 0;
	snprintf(text, sizeof text,
	         "SELECT PARTITION_NAME, CAST(PARTITION_DESCRIPTION AS SIGNED) AS ends FROM"
	         " information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME ="
	         " '%s' AND PARTITION_NAME NOT IN ('pold', 'pmax') HAVING ends <= %" PRId64
	         " AND ends > %" PRId64 " ORDER BY ends LIMIT 1",
	         p->table, before_us, after);
	r = my_rows_begin(s, p->table, text, &rows, err);
	if (r < 0)
		return r;
	r = my_rows_next(&rows, err);
	if (r > 0)
		r = my_text(&rows, 0, &name, err);
	if (r == 0 && name) {
		snprintf(ret_name, 64, "%.63s", name);
		r = my_int(&rows, 1, 0, INT64_MAX, ret_end, err);
	}
	return my_rows_end(&rows, r);
}

static int count_day(struct my_store *s, const struct parted *p, const char *name, size_t *rows,
                     struct err *err)
{
	char text[200];
	int64_t n = 0;
	int r;

	snprintf(text, sizeof text, "SELECT COUNT(*) FROM %s PARTITION (%s)", p->table, name);
	r = ask_number(s, p->table, text, &n, err);
	*rows += (size_t)n;
	return r;
}

/* May the day go? Not while the outcomes that are saved do not know all of it. */
static int day_is_known(struct my_store *s, const char *name, int64_t saved, bool *ret,
                        struct err *err)
{
	char text[200];
	int64_t last = 0;
	int r;

	snprintf(text, sizeof text, "SELECT MAX(last_number) FROM lb_task_run_history PARTITION (%s)",
	         name);
	r = ask_number(s, "lb_task_run_history", text, &last, err);
	*ret = last <= saved;
	return r;
}

/* Whole days from the oldest on, at least one, until rows_max is reached. A day of events goes
 * when it is old enough, also those of instances that are kept: a history is as long as the
 * retention. */
static int drop_days(struct my_store *s, const struct parted *p, int64_t before_us, size_t rows_max,
                     bool dry_run, size_t *rows, struct err *err)
{
	int64_t saved = 0, end = INT64_MIN;
	char name[64];
	int r = outcome_number(s, &saved, err);

	while (r == 0 && *rows < rows_max) {
		bool may = true;

		r = oldest_day(s, p, before_us, end, name, &end, err);
		if (r < 0 || !*name)
			return r;
		if (p == &parted[0])
			r = day_is_known(s, name, saved, &may, err);
		if (r == 0 && !may)
			return 0;
		if (r == 0)
			r = count_day(s, p, name, rows, err);
		if (r == 0 && !dry_run)
			r = my_runf(s, err, "ALTER TABLE %s DROP PARTITION %s", p->table, name);
	}
	return r;
}

/* ---- rows of the time before partitions began ---- */

/* Drop or count the chain of events that ends in `number`. */
static int drop_events(struct my_store *s, int64_t number, bool dry_run, size_t *rows,
                       struct err *err)
{
	char text[120];
	int64_t prev = 0;
	int r = 0;

	for (; r == 0 && number; number = prev) {
		snprintf(text, sizeof text, "SELECT prev FROM lb_task_event WHERE number = %" PRId64,
		         number);
		r = ask_number(s, "lb_task_event", text, &prev, NULL);
		if (r == E_NOT_FOUND) /* the rest of the chain went before */
			return 0;
		if (r < 0)
			return err_set(err, r, "lb_task_event: number %" PRId64, number);
		if (!dry_run)
			r = my_runf(s, err, "DELETE FROM lb_task_event WHERE number = %" PRId64,
			            number);
		++*rows;
	}
	return r;
}

static int oldest_row(struct my_store *s, int64_t after, int64_t *ret_number, int64_t *ret_ended_us,
                      struct err *err)
{
	struct my_rows rows;
	char text[200];
	int r;

	snprintf(text, sizeof text,
	         "SELECT last_number, ended_us FROM lb_task_run_history PARTITION (pold) WHERE"
	         " last_number > %" PRId64 " ORDER BY last_number LIMIT 1",
	         after);
	r = my_rows_begin(s, "lb_task_run_history", text, &rows, err);
	if (r < 0)
		return r;
	r = my_rows_next(&rows, err);
	if (r == 0)
		r = E_NOT_FOUND;
	if (r > 0)
		r = my_int(&rows, 0, 0, INT64_MAX, ret_number, err);
	if (r == 0)
		r = my_int(&rows, 1, 0, INT64_MAX, ret_ended_us, err);
	return my_rows_end(&rows, r);
}

static int drop_old_rows(struct my_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                         size_t *rows, struct err *err)
{
	int64_t saved = 0, number = 0, ended_us = 0;
	int r = outcome_number(s, &saved, err);

	while (r == 0 && *rows < rows_max) {
		r = oldest_row(s, number, &number, &ended_us, err);
		if (r == E_NOT_FOUND)
			return 0;
		if (r < 0 || ended_us >= before_us || number > saved)
			return r;
		r = drop_events(s, number, dry_run, rows, err);
		if (r == 0 && !dry_run)
			r = my_runf(s, err,
			            "DELETE FROM lb_task_run_history WHERE last_number = %" PRId64,
			            number);
		++*rows;
	}
	return r;
}

static int drop_items(struct my_store *s, int64_t before_us, size_t rows_max, bool dry_run,
                      size_t *rows, struct err *err)
{
	uint64_t n = 0;
	int64_t counted = 0;
	char text[300];
	int r;

	if (*rows >= rows_max)
		return 0;
	snprintf(text, sizeof text,
	         "%s FROM lb_command_item WHERE command_id IN (SELECT id FROM lb_command WHERE"
	         " ended_us > 0 AND ended_us < %" PRId64 ")",
	         dry_run ? "SELECT COUNT(*)" : "DELETE", before_us);
	if (dry_run) {
		r = ask_number(s, "lb_command_item", text, &counted, err);
		n = (uint64_t)counted;
		n = n < rows_max - *rows ? n : rows_max - *rows;
	} else {
		snprintf(text + strlen(text), sizeof text - strlen(text), " LIMIT %zu",
		         rows_max - *rows);
		r = my_run(s, text, strlen(text), &n, err);
	}
	*rows += n;
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
	r = drop_old_rows(s, before_us, rows_max, dry_run, &rows, err);
	if (r == 0)
		r = drop_items(s, before_us, rows_max, dry_run, &rows, err);
	r = my_end(s, r, err);
	/* Changes of a table's shape are transactions of their own. */
	for (size_t i = 0; i < sizeof parted / sizeof parted[0] && r == 0; i++)
		r = drop_days(s, &parted[i], before_us, rows_max, dry_run, &rows, err);
	if (r == 0)
		*ret_rows = rows;
	return r < 0 ? err_wrap(err, r, "retain") : 0;
}
