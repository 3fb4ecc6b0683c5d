/* Live rows: all at once, or a few for who follows. Every loop here: a row, each(); a negative
 * answer ends it. */
#include <inttypes.h>

#include "store/mysql/mysql.h"
#include "util/err.h"

/* Slots that do not follow each other, in one statement. */
#define NAMED_MAX 1000
/* From so many on a run of slots is asked for by its range. */
#define RUN_MIN 16

#define LIVE "SELECT " INSTANCE_COLUMNS ", id FROM lb_task_run "

static int each_live(struct rows *rows, int (*each)(void *ctx, const struct instance *i), void *ctx,
                     struct err *err)
{
	struct instance i = { 0 };
	int64_t id = 0;
	int r;

	while ((r = rows_step(rows, err)) > 0) {
		r = rows_instance(rows, &i, err);
		if (r == 0)
			r = rows_int(rows, INSTANCE_WIDTH, 1, UINT32_MAX, &id, err);
		if (r == 0 && state_final((enum state)i.state))
			r = err_set(err, E_CORRUPT,
			            "lb_task_run row with id %" PRId64
			            ": column job_status is a final state",
			            id);
		i.slot = (uint32_t)(id - 1);
		if (r == 0)
			r = each(ctx, &i);
		if (r < 0)
			break;
	}
	rows_close(rows);
	return r;
}

int my_load_live(struct store *st, int (*each)(void *ctx, const struct instance *i), void *ctx,
                 struct err *err)
{
	struct rows *rows = NULL;
	int r = my_ask((struct my_store *)st, "lb_task_run", &rows, err, LIVE "ORDER BY id", "");

	return r < 0 ? r : each_live(rows, each, ctx, err);
}

/* How many slots from `at` on go into one statement; *ret_run: they follow each other. */
static size_t next_few(const uint32_t *slots, size_t at, size_t n, bool *ret_run)
{
	size_t end = at + 1, run = at;

	while (end < n && slots[end] == slots[end - 1] + 1)
		end++;
	*ret_run = end - at >= RUN_MIN;
	if (*ret_run)
		return end - at;
	/* Up to where the next long run begins. */
	for (; end < n && end - at < NAMED_MAX && end - run < RUN_MIN; end++)
		if (slots[end] != slots[end - 1] + 1)
			run = end;
	return end - at;
}

static int read_few(struct my_store *s, const uint32_t *slots, size_t n, bool is_run,
                    struct rows **ret, struct err *err)
{
	if (is_run)
		return my_ask(s, "lb_task_run", ret, err, LIVE "WHERE id BETWEEN ? AND ?", "ii",
		              (int64_t)slots[0] + 1, (int64_t)slots[n - 1] + 1);
	buf_clear(&s->sql);
	buf_puts(&s->sql, LIVE "WHERE id IN (");
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_putc(&s->sql, ',');
		sql_put_int(&s->sql, (int64_t)slots[i] + 1);
	}
	buf_putc(&s->sql, ')');
	return my_ask_built(s, "lb_task_run", ret, err);
}

int my_read_live(struct store *st, const uint32_t *slots, size_t n,
                 int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int r = 0;

	for (size_t at = 0, few; r == 0 && at < n; at += few) {
		struct rows *rows = NULL;
		bool is_run;

		few = next_few(slots, at, n, &is_run);
		r = read_few(s, slots + at, few, is_run, &rows, err);
		if (r == 0)
			r = each_live(rows, each, ctx, err);
	}
	return r;
}
