/* Statistics by day, and what retention would take. */
#include "store/read_impl.h"
#include "util/err.h"

/* A seek per day: the key begins with it. */
int read_stats(struct reader *r, const struct store_stat_days *days,
               int (*each)(void *ctx, const struct store_stat *s), void *ctx, struct err *err)
{
	struct rows *rows = NULL;
	struct store_stat s;
	struct buf q = { 0 };
	int code = read__begin(r, NULL, err);

	if (code < 0)
		return code;
	/* The rows of all together are nobody's who sees some: theirs are added up instead. */
	bool some = r->sight && days->task == 0;
	read__put(r, &q,
	          some ? "SELECT " STAT_COLUMNS " FROM lb_statistic WHERE day = ? AND task_id > ?"
	               : "SELECT " STAT_COLUMNS " FROM lb_statistic WHERE day = ? AND task_id = ?",
	          "?i", (int64_t)days->task);
	read__see_tasks(r, &q, "task_id");
	buf_puts(&q, " ORDER BY job_status, bucket");
	code = read__query(r, "lb_statistic", &q, &rows, err);
	for (int64_t day = days->hi; day >= days->lo && code == 0; day--) {
		rows_bind(rows, 1, day);
		while ((code = rows_step(rows, err)) > 0) {
			code = rows_stat(rows, &s, err);
			if (code == 0)
				code = each(ctx, &s);
			if (code < 0)
				break;
		}
	}
	rows_close(rows);
	return read__end(r, code);
}

/* One number from one statement. No row, or NULL: `none`. */
static int stats_ask(struct reader *r, int64_t none, int64_t *ret, struct err *err,
                     const char *text, const char *types, ...)
{
	struct rows *rows = NULL;
	struct buf q = { 0 };
	va_list ap;

	va_start(ap, types);
	sql_vput(&q, r->ops->quote, r, text, types, ap);
	va_end(ap);
	int code = read__query(r, "lb_task_run_history", &q, &rows, err);
	if (code < 0)
		return code;
	code = rows_step(rows, err);
	if (code <= 0 || !rows->ops->number(rows, 0, ret))
		*ret = none;
	rows_close(rows);
	return code < 0 ? code : 0;
}

#define HISTORY "lb_task_run_history"

/* History is in the order of ending: the last number that goes is found by halves. Times
 * that a clock set back has put out of order end it early, as they end retention. */
static int find_last(struct reader *r, int64_t before_us, int64_t *ret, struct err *err)
{
	int64_t lo = 0, hi = 0, ended = 0;
	int code = stats_ask(r, 0, &hi, err,
	                     "SELECT max(last_number) FROM " HISTORY " WHERE last_number <="
	                     " (SELECT outcome_number FROM lb_leader)",
	                     "");

	while (code == 0 && lo < hi) {
		int64_t mid = lo + (hi - lo) / 2 + 1;
		code = stats_ask(r, INT64_MAX, &ended, err,
		                 "SELECT ended_us FROM " HISTORY " WHERE last_number >= ?"
		                 " ORDER BY last_number LIMIT 1",
		                 "i", mid);
		if (ended < before_us)
			lo = mid;
		else
			hi = mid - 1;
	}
	*ret = lo;
	return code;
}

static int measure_size(struct reader *r, struct read_retention *a, struct err *err)
{
	int64_t events = 0, runs = 0;
	int code = r->ops->size(r, &a->bytes_all, err);

	if (code == 0)
		code = stats_ask(r, 0, &events, err,
		                 "SELECT max(number) - min(number) + 1 FROM lb_task_event", "");
	if (code == 0)
		code = stats_ask(r, 0, &runs, err, "SELECT count(*) FROM lb_task_run", "");
	if (code < 0)
		return code;
	uint64_t all = (uint64_t)(events + runs) + a->rows + a->rows_kept;
	a->bytes = all ? (uint64_t)((double)a->bytes_all * (double)(a->rows + a->events) /
	                            (double)all)
	               : 0;
	return 0;
}

static int survey(struct reader *r, int64_t before_us, struct read_retention *a, struct err *err)
{
	int64_t last = 0, first_event = 0, rows = 0, kept = 0, items = 0, ranges = 0;
	int code = find_last(r, before_us, &last, err);

	if (code == 0)
		code = stats_ask(r, 0, &rows, err,
		                 "SELECT count(*) FROM " HISTORY " WHERE last_number <= ?", "i",
		                 last);
	if (code == 0)
		code = stats_ask(r, 0, &kept, err,
		                 "SELECT count(*) FROM " HISTORY " WHERE last_number > ?", "i",
		                 last);
	if (code == 0)
		code = stats_ask(r, 0, &items, err,
		                 "SELECT count(*) FROM lb_command_item AS i JOIN lb_command AS c"
		                 " ON c.id = i.command_id WHERE c.ended_us > 0 AND c.ended_us < ?",
		                 "i", before_us);
	if (code == 0)
		code = stats_ask(r, 0, &first_event, err, "SELECT min(number) FROM lb_task_event",
		                 "");
	if (code == 0)
		code = stats_ask(r, 0, &ranges, err,
		                 "SELECT count(*) FROM lb_task_range WHERE at_us < ? AND number <="
		                 " (SELECT outcome_number FROM lb_leader)",
		                 "i", before_us);
	a->rows = (uint64_t)(rows + ranges);
	a->rows_kept = (uint64_t)kept;
	a->items = (uint64_t)items;
	a->events = rows && first_event && last >= first_event ? (uint64_t)(last - first_event + 1)
	                                                       : 0;
	if (code == 0 && rows)
		code = stats_ask(r, 0, &a->first_us, err,
		                 "SELECT ended_us FROM " HISTORY " ORDER BY last_number LIMIT 1",
		                 "");
	if (code == 0 && rows)
		code = stats_ask(r, 0, &a->last_us, err,
		                 "SELECT ended_us FROM " HISTORY " WHERE last_number <= ?"
		                 " ORDER BY last_number DESC LIMIT 1",
		                 "i", last);
	return code < 0 ? code : measure_size(r, a, err);
}

int read_retention(struct reader *r, int64_t before_us, struct read_retention *ret, struct err *err)
{
	struct read_retention a = { 0 };
	int code = read__begin(r, NULL, err);

	if (code < 0)
		return code;
	code = read__end(r, survey(r, before_us, &a, err));
	if (code == 0)
		*ret = a;
	return code;
}
