/* Dates left out, as ranges, among instances. */
#include "store/read_impl.h"
#include "util/check.h"
#include "util/err.h"

static int range_find(struct reader *r, struct buf *q, struct store_range *ret, struct err *err)
{
	struct rows *rows = NULL;
	int code = read__query(r, "lb_task_range", q, &rows, err);

	if (code < 0)
		return code;
	code = rows_step(rows, err);
	if (code > 0) {
		code = rows_range(rows, ret, err);
		code = code < 0 ? code : 1;
	}
	rows_close(rows);
	return code;
}

int read__range_over(struct reader *r, struct inst_key key, struct store_range *ret,
                     struct err *err)
{
	struct buf q = { 0 };

	if (key.part != 0)
		return 0;
	read__put(r, &q,
	          "SELECT " RANGE_COLUMNS " FROM lb_task_range WHERE task_id = ? AND lo <= ?"
	          " AND hi >= ?",
	          "iii", (int64_t)key.task, key.run_date, key.run_date);
	read__see_tasks(r, &q, "task_id");
	buf_puts(&q, " ORDER BY number DESC LIMIT 1");
	return range_find(r, &q, ret, err);
}

int read__range_numbered(struct reader *r, uint64_t number, struct store_range *ret,
                         struct err *err)
{
	struct buf q = { 0 };

	read__put(r, &q, "SELECT " RANGE_COLUMNS " FROM lb_task_range WHERE number = ?", "i",
	          (int64_t)number);
	return range_find(r, &q, ret, err);
}

void read__where_tasks(struct reader *r, struct buf *q, const struct read_filter *f)
{
	for (size_t i = 0; i < f->n_tasks; i++)
		read__put_list(q, " AND task_id IN (", f->tasks[i], i == 0);
	if (f->n_tasks)
		buf_puts(q, ")");
	if (f->workflow)
		read__put(r, q,
		          " AND task_id IN (SELECT task_id FROM lb_task WHERE workflow_id = ?)",
		          "i", (int64_t)f->workflow);
	read__see_tasks(r, q, "task_id");
}

/* All its dates have rows by now: it says nothing more. */
void read__range_where(struct reader *r, struct buf *q, const struct read_filter *f)
{
	buf_puts(q, " AND taken < dates");
	read__where_tasks(r, q, f);
	if (f->from || f->to)
		read__put(r, q, " AND hi >= ? AND lo < ?", "ii", f->from, f->to);
	if (f->broker || (f->states && !(f->states & 1u << ST_SKIPPED)))
		buf_puts(q, " AND 0");
}

static uint64_t dates_within(const struct store_range *r, const struct read_filter *f)
{
	int64_t lo = r->lo, hi = r->hi;

	CHECK(r->taken <= r->dates && r->lo <= r->hi);
	if ((f->from || f->to) && f->from > lo)
		lo = f->from;
	if ((f->from || f->to) && f->to - 1 < hi)
		hi = f->to - 1;
	if (lo == r->lo && hi == r->hi)
		return r->dates - r->taken;
	return (uint64_t)((double)(r->dates - r->taken) * ((double)(hi - lo) + 1) /
	                  ((double)(r->hi - r->lo) + 1));
}

int read__range_count(struct reader *r, const struct read_filter *f, uint64_t *ret_dates,
                      struct err *err)
{
	struct read_filter any = *f;
	struct store_range range;
	struct rows *rows = NULL;
	struct buf q = { 0 };
	int code;

	any.states = 0;
	buf_puts(&q, "SELECT " RANGE_COLUMNS " FROM lb_task_range WHERE 1");
	read__range_where(r, &q, &any);
	code = read__query(r, "lb_task_range", &q, &rows, err);
	while (code == 0 && (code = rows_step(rows, err)) > 0) {
		code = rows_range(rows, &range, err);
		if (code == 0)
			*ret_dates += dates_within(&range, &any);
	}
	rows_close(rows);
	return code;
}
