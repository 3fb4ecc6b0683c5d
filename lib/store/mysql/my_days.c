/* History and events are a day a partition: made ahead, dropped whole. The first one, `pold`, has
 * what ended before partitions began and stays; the last one, `pmax`, what no day takes. */
#include <stdio.h>

#include "sched/civil.h"
#include "store/mysql/mysql.h"
#include "util/err.h"

#define DAY_US     86400000000LL
#define DAYS_AHEAD 8
#define DAYS_MAX   4000 /* made at once after a long sleep; MySQL ends at 8192 partitions */

static const struct parted {
	const char *table;
	bool is_history;
} parted[] = {
	{ "lb_task_run_history", true },
	{ "lb_task_event", false },
};

/* The end of the newest day there is; 0: none yet. */
static int newest_day(struct my_store *s, const char *table, int64_t *ret, struct err *err)
{
	return my_ask_number(s, table, ret, err,
	                     "SELECT MAX(CAST(PARTITION_DESCRIPTION AS SIGNED)) FROM"
	                     " information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND"
	                     " TABLE_NAME = ? AND PARTITION_DESCRIPTION <> 'MAXVALUE'",
	                     "t", table);
}

static void put_end(struct buf *b, int64_t end_us)
{
	buf_puts(b, " VALUES LESS THAN (");
	sql_put_int(b, end_us);
	buf_puts(b, "), ");
}

static void put_day(struct buf *b, int64_t from_us)
{
	struct civil d = civil_of_day(from_us / DAY_US);

	buf_puts(b, "PARTITION p");
	sql_put_int(b, (int64_t)d.year * 10000 + d.month * 100 + d.day);
	put_end(b, from_us + DAY_US);
}

static int add_days(struct my_store *s, const char *table, int64_t now_us, struct err *err)
{
	int64_t end = 0, today = now_us / DAY_US * DAY_US;
	struct buf *b = &s->sql;
	int r = newest_day(s, table, &end, err);

	if (r < 0 || end >= today + 2 * DAY_US)
		return r;
	buf_clear(b);
	buf_puts(b, "ALTER TABLE ");
	buf_puts(b, table);
	buf_puts(b, " REORGANIZE PARTITION pmax INTO (");
	if (end == 0) {
		end = s->days_from_us && s->days_from_us < today ? s->days_from_us / DAY_US * DAY_US
		                                                 : today;
		if (end < today - DAYS_MAX * DAY_US)
			end = today - DAYS_MAX * DAY_US;
		buf_puts(b, "PARTITION pold");
		put_end(b, end);
	}
	if (end < today - DAYS_MAX * DAY_US)
		end = today;
	for (; end < today + DAYS_AHEAD * DAY_US; end += DAY_US)
		put_day(b, end);
	buf_puts(b, "PARTITION pmax VALUES LESS THAN MAXVALUE)");
	return my_run(s, (const char *)buf_at(b), b->len, err);
}

int my_days_ahead(struct my_store *s, int64_t now_us, struct err *err)
{
	int r;

	if (now_us < s->days_ahead_us)
		return 0;
	r = my_ready(s, err);
	for (size_t i = 0; i < sizeof parted / sizeof parted[0] && r == 0; i++)
		r = add_days(s, parted[i].table, now_us, err);
	if (r == 0)
		s->days_ahead_us = now_us + DAY_US / 4;
	return r;
}

/* A day: its partition's name and end. */
struct day {
	char name[64];
	int64_t end_us;
};

/* The oldest day that ends after ret->end_us and by `before_us`. 1 found, 0 none. */
static int next_day(struct my_store *s, const char *table, int64_t before_us, struct day *ret,
                    struct err *err)
{
	struct rows *rows = NULL;
	const char *name = NULL;
	int r = my_ask(s, table, &rows, err,
	               "SELECT PARTITION_NAME, CAST(PARTITION_DESCRIPTION AS SIGNED) AS ends FROM"
	               " information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND"
	               " TABLE_NAME = ? AND PARTITION_NAME NOT IN ('pold', 'pmax')"
	               " HAVING ends <= ? AND ends > ? ORDER BY ends LIMIT 1",
	               "tii", table, before_us, ret->end_us);

	if (r < 0)
		return r;
	r = rows_step(rows, err);
	if (r > 0) {
		r = rows_text(rows, 0, &name, err);
		if (r == 0)
			r = rows_int(rows, 1, 0, INT64_MAX, &ret->end_us, err);
		if (r == 0)
			r = snprintf(ret->name, sizeof ret->name, "%s", name) > 0;
	}
	rows_close(rows);
	return r;
}

/* May the day go? Not while the saved outcomes do not know all of it. */
static int day_is_known(struct my_store *s, const struct day *d, bool *ret, struct err *err)
{
	int64_t last = 0, saved = 0;
	int r = my_outcome_number(s, &saved, err);

	if (r == 0)
		r = my_ask_number(s, "lb_task_run_history", &last, err,
		                  "SELECT MAX(last_number) FROM lb_task_run_history PARTITION (?)",
		                  "n", d->name);
	*ret = last <= saved;
	return r;
}

static int drop_day(struct my_store *s, const struct parted *p, const struct day *d, bool dry_run,
                    size_t *rows, struct err *err)
{
	int64_t n = 0;
	int r = my_ask_number(s, p->table, &n, err, "SELECT COUNT(*) FROM ? PARTITION (?)", "nn",
	                      p->table, d->name);

	*rows += (size_t)n;
	if (r == 0 && !dry_run)
		r = my_do(s, err, "ALTER TABLE ? DROP PARTITION ?", "nn", p->table, d->name);
	return r;
}

int my_drop_days(struct my_store *s, int64_t before_us, size_t rows_max, bool dry_run, size_t *rows,
                 struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < sizeof parted / sizeof parted[0] && r == 0; i++) {
		struct day d = { .end_us = INT64_MIN };
		bool may = true;

		while (r == 0 && may && *rows < rows_max) {
			r = next_day(s, parted[i].table, before_us, &d, err);
			if (r <= 0)
				break;
			r = parted[i].is_history ? day_is_known(s, &d, &may, err) : 0;
			if (r == 0 && may)
				r = drop_day(s, &parted[i], &d, dry_run, rows, err);
		}
	}
	return r;
}
