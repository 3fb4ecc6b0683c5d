/* History and events are a day a partition: made ahead, dropped whole. The first one, `pold`, has
 * what ended before partitions began and stays; the last one, `pmax`, what no day takes.
 *
 * A day is a day of UTC, so it has 24 hours whatever clocks do. Nothing here trusts that what it
 * made is still there: people drop partitions by hand, and two servers look at one instant. */
#include <stdio.h>
#include <string.h>

#include "sched/civil.h"
#include "store/mysql/mysql.h"
#include "util/check.h"
#include "util/err.h"

#define DAY_US     86400000000LL
#define DAYS_AHEAD 8
#define DAYS_MAX   1000 /* made at once; each is a file */
#define AGAIN_US   60000000LL

static const struct parted {
	const char *table, *column;
	bool is_history;
} parted[] = {
	{ "lb_task_run_history", "ended_us", true },
	{ "lb_task_event", "at_us", false },
};

/* A partition and the time it takes. */
struct day {
	char name[64];
	int64_t from_us, end_us; /* INT64_MIN: the first one; INT64_MAX: pmax */
};

/* The partition that takes the instant. 1 found, 0 none: it is beyond the last. */
static int day_of(struct my_store *s, const char *table, int64_t at_us, struct day *ret,
                  struct err *err)
{
	struct rows *rows = NULL;
	const char *name = NULL;
	int r = my_ask(s, table, &rows, err,
	               "SELECT PARTITION_NAME, CASE PARTITION_DESCRIPTION WHEN 'MAXVALUE' THEN"
	               " 9223372036854775807 ELSE CAST(PARTITION_DESCRIPTION AS SIGNED) END AS"
	               " ends FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE()"
	               " AND TABLE_NAME = ? AND PARTITION_NAME IS NOT NULL ORDER BY ends",
	               "t", table);
	bool found = false;

	if (r < 0)
		return r;
	*ret = (struct day){ .end_us = INT64_MIN };
	while (!found && (r = rows_step(rows, err)) > 0) {
		ret->from_us = ret->end_us;
		r = rows_text(rows, 0, &name, err);
		if (r == 0)
			r = rows_int(rows, 1, INT64_MIN, INT64_MAX, &ret->end_us, err);
		if (r < 0)
			break;
		snprintf(ret->name, sizeof ret->name, "%s", name ? name : "");
		found = ret->end_us > at_us;
	}
	rows_close(rows);
	if (r == 0 && !*ret->name) /* the catalog does not wait for who changes the table */
		r = err_set(err, E_BUSY, "%s: its partitions are being changed", table);
	return r < 0 ? r : found;
}

static void put_part(struct my_store *s, const char *name, int64_t end_us)
{
	struct buf *b = &s->sql;

	CHECK(s->sql.len > 0);
	buf_puts(b, buf_at(b)[b->len - 1] == '(' ? "PARTITION `" : ", PARTITION `");
	buf_puts(b, name);
	buf_puts(b, "` VALUES LESS THAN ");
	if (end_us == INT64_MAX) {
		buf_puts(b, "MAXVALUE");
		return;
	}
	buf_puts(b, "(");
	sql_put_int(b, end_us);
	buf_puts(b, ")");
}

static void put_day(struct my_store *s, int64_t from_us, int64_t end_us)
{
	struct civil d = civil_of_day(from_us / DAY_US);
	int64_t hour = from_us % DAY_US / (DAY_US / 24);
	char name[40];
	int n = snprintf(name, sizeof name, "p%04d%02d%02d", (int)d.year, (int)d.month, (int)d.day);

	CHECK(from_us >= 0 && end_us > from_us);
	if (hour) /* the rest of a day that somebody has cut */
		snprintf(name + n, sizeof name - (size_t)n, "%02d", (int)hour);
	put_part(s, name, end_us);
}

/* What somebody else has cut is left as it is. */
static bool is_ours(const char *name)
{
	return *name == 'p' &&
	       (strcmp(name, "pmax") == 0 || name[strspn(name + 1, "0123456789") + 1] == 0);
}

/* The first day to be made of `wide`: that of its first row, or of what a copy will bring. While
 * the server slept there were none, and one partition takes all that time. */
static int first_day(struct my_store *s, const struct parted *p, const struct day *wide,
                     int64_t today, int64_t *ret, struct err *err)
{
	int64_t row = 0, from = today;
	int r = my_ask_number(s, p->table, &row, err, "SELECT MIN(?) FROM ? PARTITION (?)", "nnn",
	                      p->column, p->table, wide->name);

	if (row && row < from)
		from = row;
	if (wide->from_us == INT64_MIN) { /* nothing is cut yet: what is there stays in pold */
		from = s->days_from_us && s->days_from_us < today ? s->days_from_us : today;
	}
	if (from < today - DAYS_MAX * DAY_US)
		from = today - DAYS_MAX * DAY_US;
	from = from / DAY_US * DAY_US;
	*ret = from > wide->from_us ? from : wide->from_us;
	return r;
}

/* Make days of a partition that takes more than one, up to eight days from now. */
static int days_split(struct my_store *s, const struct parted *p, const struct day *wide,
                      int64_t today, struct err *err)
{
	struct buf *b = &s->sql;
	int64_t from = 0, last = today + DAYS_AHEAD * DAY_US, end;
	int r = first_day(s, p, wide, today, &from, err);

	if (r < 0)
		return r;
	if (last > wide->end_us)
		last = wide->end_us;
	buf_clear(b);
	CHECK(wide->from_us < wide->end_us);
	buf_puts(b, "ALTER TABLE ");
	buf_puts(b, p->table);
	buf_puts(b, " REORGANIZE PARTITION `");
	buf_puts(b, wide->name);
	buf_puts(b, "` INTO (");
	if (wide->from_us == INT64_MIN)
		put_part(s, "pold", from);
	else if (wide->from_us < from)
		put_day(s, from - DAY_US > wide->from_us ? from - DAY_US : wide->from_us, from);
	for (; from < last; from = end) {
		end = from / DAY_US * DAY_US + DAY_US;
		put_day(s, from, end < last ? end : last);
	}
	if (last < wide->end_us)
		put_part(s, wide->name, wide->end_us);
	buf_puts(b, ")");
	return my_run(s, (const char *)buf_at(b), b->len, err);
}

/* Somebody dropped the last one: then nothing would take what is later than the last day. */
static int add_last(struct my_store *s, const char *table, struct err *err)
{
	struct day last;
	int r = day_of(s, table, INT64_MAX - 1, &last, err);

	return r != 0 ? r
	              : my_do(s, err,
	                      "ALTER TABLE ? ADD PARTITION (PARTITION pmax VALUES LESS THAN"
	                      " MAXVALUE)",
	                      "n", table);
}

/* Tomorrow is to have a day of its own: then so have today, and the days until the next look.
 * One that takes more than a day: pmax, one before which a day was dropped by hand, one that a
 * clock gone wrong has made far ahead. */
static int add_days(struct my_store *s, const struct parted *p, int64_t now_us, struct err *err)
{
	int64_t today = now_us / DAY_US * DAY_US;
	struct day d;
	int r = add_last(s, p->table, err);

	if (r < 0)
		return r;
	r = day_of(s, p->table, today + 2 * DAY_US - 1, &d, err);
	if (r <= 0)
		return r;
	if (!is_ours(d.name))
		return 0;
	if (d.from_us != INT64_MIN && d.end_us != INT64_MAX && d.end_us - d.from_us <= DAY_US)
		return 0;
	return days_split(s, p, &d, today, err);
}

/* A change of shape waits for readers, and who comes later waits for it: for a second at most. */
static int set_patience(struct my_store *s, int64_t seconds, struct err *err)
{
	return my_do(s, err, "SET SESSION lock_wait_timeout = ?", "i", seconds);
}

static int with_patience(struct my_store *s, int r)
{
	if (s->db && set_patience(s, MY_LOCK_WAIT_S, NULL) < 0)
		my_hang_up(s);
	return r;
}

static int look_ahead(struct my_store *s, int64_t now_us, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < sizeof parted / sizeof parted[0] && r == 0; i++) {
		r = add_days(s, &parted[i], now_us, err);
		if (r == E_CONFLICT) /* another server made them meanwhile */
			r = add_days(s, &parted[i], now_us, err);
	}
	return r;
}

int my_days_ahead(struct my_store *s, int64_t now_us, struct err *err)
{
	int r;

	if (now_us < s->days_ahead_us)
		return 0;
	r = my_ready(s, err);
	if (r == 0)
		r = set_patience(s, 1, err);
	if (r == 0)
		r = with_patience(s, look_ahead(s, now_us, err));
	s->days_missing = r < 0;
	s->base.lacks_days = r < 0 && r != E_EPOCH;
	s->days_ahead_us = now_us + (r < 0 ? AGAIN_US : DAY_US / 4);
	return r;
}

/* The oldest day that ends after ret->end_us and by `before_us`, of those made here. 1 found,
 * 0 none. */
static int next_day(struct my_store *s, const char *table, int64_t before_us, struct day *ret,
                    struct err *err)
{
	struct rows *rows = NULL;
	const char *name = NULL;
	int r = my_ask(s, table, &rows, err,
	               "SELECT PARTITION_NAME, CAST(PARTITION_DESCRIPTION AS SIGNED) AS ends FROM"
	               " information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND"
	               " TABLE_NAME = ? AND PARTITION_NAME REGEXP '^p[0-9]+$'"
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
	int r = row_saved(&s->rows, &saved, err);

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
	bool may = true;
	int r = p->is_history ? day_is_known(s, d, &may, err) : 0;

	if (r < 0 || !may)
		return r < 0 ? r : E_BUSY;
	r = my_ask_number(s, p->table, &n, err, "SELECT COUNT(*) FROM ? PARTITION (?)", "nn",
	                  p->table, d->name);
	if (r == 0 && !dry_run && !p->is_history) /* what is gone is not read again: tip.h */
		r = my_do(s, err,
		          "UPDATE lb_leader SET mark_number = chain_number, mark_chain = chain"
		          " WHERE mark_number < (SELECT MAX(number) FROM ? PARTITION (?))",
		          "nn", p->table, d->name);
	if (r == 0 && !dry_run)
		r = my_do(s, err, "ALTER TABLE ? DROP PARTITION ?", "nn", p->table, d->name);
	*rows += r == 0 ? (size_t)n : 0;
	return r;
}

static int drop_days_of(struct row_retain *t, const struct parted *p, struct err *err)
{
	struct my_store *s = (struct my_store *)t->s;
	struct day d = { .end_us = INT64_MIN };
	int r = 0;

	while (t->rows < t->ask.rows_max &&
	       (r = next_day(s, p->table, t->ask.before_us, &d, err)) > 0) {
		r = drop_day(s, p, &d, t->ask.dry_run, &t->rows, err);
		if (r < 0 && r != E_CONFLICT) /* that: somebody else dropped it */
			break;
	}
	/* Somebody reads the day, or it is not known yet: another time. */
	return r == E_BUSY ? 0 : r;
}

int my_drop_days(struct row_retain *t, struct err *err)
{
	struct my_store *s = (struct my_store *)t->s;
	int r = set_patience(s, 1, err);

	for (size_t i = 0; i < sizeof parted / sizeof parted[0] && r == 0; i++)
		r = drop_days_of(t, &parted[i], err);
	return with_patience(s, r);
}
