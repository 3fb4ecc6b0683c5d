/* Attempts that ended badly, newest first, a slice of the transitions at a time: nothing but their
 * numbers orders them, so a slice costs what it has of them, whatever it finds. */
#include <inttypes.h>

#include "sched/name.h"
#include "store/read_impl.h"
#include "util/err.h"

/* The first transition after `number`: is it of before `since_us`, or is there none? */
static int is_reached(struct reader *r, uint64_t number, int64_t since_us, bool *ret,
                      struct err *err)
{
	struct rows *q = NULL;
	struct buf text = { 0 };
	int64_t at_us = 0;

	read__put(r, &text,
	          "SELECT at_us FROM lb_task_event WHERE number > ? ORDER BY number LIMIT 1", "i",
	          (int64_t)number);
	int code = read__query(r, "lb_task_event", &text, &q, err);
	if (code == 0)
		code = rows_step(q, err);
	*ret = code == 0;
	if (code > 0)
		code = rows_int(q, 0, 0, INT64_MAX, &at_us, err);
	rows_close(q);
	*ret = *ret || at_us < since_us;
	return code;
}

static int failed_take(struct rows *q, int (*each)(void *ctx, const struct read_failed *f),
                       void *ctx, struct err *err)
{
	enum { BODY = 21, NOW = 22 };
	struct read_failed f = { .now = ST_NONE };
	int64_t status;
	int code = rows_event(q, &f.e, err);

	if (code < 0)
		return code;
	f.body = q->ops->text(q, BODY, NULL);
	if (q->ops->number(q, NOW, &status) && !state_from_number((int)status, &f.now))
		return err_set(err, E_CORRUPT, "%s: unknown state %" PRId64, q->table, status);
	return each(ctx, &f);
}

/* Numbers above lo, up to hi. */
struct stretch {
	uint64_t lo, hi;
};

static int slice(struct reader *r, const struct read_failures_of *of, struct stretch in,
                 int (*each)(void *ctx, const struct read_failed *f), void *ctx, struct err *err)
{
	struct rows *q = NULL;
	struct buf text = { 0 };

	read__put(r, &text,
	          "SELECT " EVENT_COLUMNS
	          ", (SELECT d.body FROM lb_task_data AS d WHERE d.number = e.number"
	          " AND d.kind = ?)"
	          ", (SELECT h.job_status FROM lb_task_run_history AS h"
	          " WHERE h.curr_run_date = e.curr_run_date AND h.task_id = e.task_id"
	          " AND h.part = e.part LIMIT 1)"
	          " FROM lb_task_event AS e WHERE number > ? AND number <= ? AND at_us >= ?"
	          " AND part = 0 AND to_status IN (?, ?, ?) AND from_status <> to_status"
	          " AND event NOT IN (?, ?)",
	          "iiiiiiiii", (int64_t)ID_FAILURE, (int64_t)in.lo, (int64_t)in.hi, of->since_us,
	          (int64_t)state_number(ST_FAILED), (int64_t)state_number(ST_STOP),
	          (int64_t)state_number(ST_KILLED), (int64_t)EV_RESTORE_STOP,
	          (int64_t)EV_RESTORE_KILLED);
	/* What is only tried is nobody's failure. */
	read__put(r, &text,
	          " AND task_id NOT IN (SELECT task_id FROM lb_task WHERE instr(task_name, ?) > 0)",
	          "t", (const char[]){ NAME_TEST, 0 });
	read__see_tasks(r, &text, "task_id");
	buf_puts(&text, " ORDER BY number DESC");
	int code = read__query(r, "lb_task_event", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0)
		code = failed_take(q, each, ctx, err);
	return code;
}

int read_failures(struct reader *r, const struct read_failures_of *of, uint64_t *ret_before,
                  int (*each)(void *ctx, const struct read_failed *f), void *ctx, struct err *err)
{
	uint64_t number = 0;
	bool is_all = true;
	int code = read__begin(r, &number, err);

	if (code < 0)
		return code;
	uint64_t hi = of->before ? of->before - 1 : number;
	uint64_t lo = hi > of->numbers ? hi - of->numbers : 0;
	if (lo > 0)
		code = is_reached(r, lo, of->since_us, &is_all, err);
	if (code == 0)
		code = slice(r, of, (struct stretch){ lo, hi }, each, ctx, err);
	*ret_before = is_all ? 0 : lo + 1;
	return read__end(r, code);
}
