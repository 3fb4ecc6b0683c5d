/* The instances of a command: those that its items name, as they are now. What is unfinished is
 * found by a scan, for lb_task_run has no index by key; what has ended by the index of history. */
#include "store/read_impl.h"
#include "util/err.h"

static int found_put(struct rows *q, int (*each)(void *ctx, const struct instance *i), void *ctx,
                     struct read_of_command *ret, struct err *err)
{
	struct instance row;
	int code = rows_instance(q, &row, err);

	if (code < 0)
		return code;
	ret->states[row.state]++;
	return each(ctx, &row);
}

static int of_live(struct reader *r, uint64_t command, struct read_of_command *ret,
                   int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err)
{
	struct rows *q = NULL;
	struct buf text = { 0 };

	read__put(r, &text,
	          "SELECT " INSTANCE_COLUMNS " FROM lb_task_run AS t WHERE EXISTS"
	          " (SELECT 1 FROM lb_command_item AS i WHERE i.command_id = ?"
	          " AND i.task_id = t.task_id AND i.curr_run_date = t.curr_run_date"
	          " AND i.part = t.part AND i.code = 0)",
	          "i", (int64_t)command);
	read__see_tasks(r, &text, "task_id");
	int code = read__query(r, "lb_task_run", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0)
		code = found_put(q, each, ctx, ret, err);
	return code;
}

#define OF_COMMAND \
	" FROM lb_command_item AS i JOIN lb_task_run_history AS h" \
	" ON h.curr_run_date = i.curr_run_date AND h.task_id = i.task_id AND h.part = i.part" \
	" WHERE i.command_id = ? AND i.code = 0"

/* Both tables have the column: which one does not matter to whoever is seen. */
static void see_joined(struct reader *r, struct buf *q)
{
	if (!r->sight)
		return;
	buf_puts(q, " AND i.task_id IN (SELECT task_id FROM lb_task WHERE 1");
	read__see_names(r, q, "task_name");
	buf_puts(q, ")");
}

static int count_done(struct reader *r, uint64_t command, struct read_of_command *ret,
                      struct err *err)
{
	struct rows *q = NULL;
	struct buf text = { 0 };
	int64_t number, n;
	enum state st;

	read__put(r, &text, "SELECT h.job_status, count(*)" OF_COMMAND, "i", (int64_t)command);
	see_joined(r, &text);
	buf_puts(&text, " GROUP BY h.job_status");
	int code = read__query(r, "lb_task_run_history", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0) {
		code = rows_int(q, 0, INT32_MIN, INT32_MAX, &number, err);
		if (code == 0)
			code = rows_int(q, 1, 0, INT64_MAX, &n, err);
		if (code == 0 && state_from_number((int)number, &st))
			ret->states[st] += (uint64_t)n;
	}
	return code;
}

/* The last that ended badly, or all that have ended since. */
static int keys_done(struct reader *r, const struct read_command_of *of, struct inst_key *keys,
                     size_t *ret_n, struct err *err)
{
	struct rows *q = NULL;
	struct buf text = { 0 };
	int64_t v[3];

	read__put(r, &text, "SELECT i.task_id, i.curr_run_date, i.part" OF_COMMAND, "i",
	          (int64_t)of->command);
	see_joined(r, &text);
	if (of->since)
		read__put(r, &text, " AND h.last_number > ? ORDER BY h.last_number LIMIT ?", "ii",
		          (int64_t)of->since, (int64_t)of->ended_max);
	else
		read__put(r, &text,
		          " AND h.job_status IN (5, 8) ORDER BY h.last_number DESC LIMIT ?", "i",
		          (int64_t)of->ended_max);
	int code = read__query(r, "lb_task_run_history", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0) {
		code = 0;
		for (int k = 0; k < 3 && code == 0; k++)
			code = rows_int(q, k, INT64_MIN, INT64_MAX, &v[k], err);
		if (code == 0)
			keys[(*ret_n)++] = (struct inst_key){ .task = (uint32_t)v[0],
				                              .run_date = v[1],
				                              .part = (int32_t)v[2] };
	}
	return code;
}

static int count_items(struct reader *r, uint64_t command, struct read_of_command *ret,
                       struct err *err)
{
	struct rows *q = NULL;
	struct buf text = { 0 };
	int64_t n[2] = { 0 };

	read__put(r, &text,
	          "SELECT count(*), count(CASE WHEN text <> '' THEN 1 END) FROM lb_command_item"
	          " WHERE command_id = ? AND code = 0",
	          "i", (int64_t)command);
	read__see_tasks(r, &text, "task_id");
	int code = read__query(r, "lb_command_item", &text, &q, err);
	while ((code = rows_next(q, code, err)) > 0) {
		code = 0;
		for (int k = 0; k < 2 && code == 0; k++)
			code = rows_int(q, k, 0, INT64_MAX, &n[k], err);
	}
	ret->total = (uint64_t)n[0];
	ret->joined = (uint64_t)n[1];
	return code;
}

static int of_command(struct reader *r, const struct read_command_of *of,
                      struct read_of_command *ret, int (*each)(void *ctx, const struct instance *i),
                      void *ctx, struct err *err)
{
	struct inst_key keys[READ_ENDED_MAX];
	struct instance row;
	size_t n = 0;
	int code = count_items(r, of->command, ret, err);

	if (code == 0)
		code = of_live(r, of->command, ret, each, ctx, err);
	if (code == 0)
		code = count_done(r, of->command, ret, err);
	if (code == 0)
		code = keys_done(r, of, keys, &n, err);
	for (size_t k = 0; k < n && code == 0; k++) {
		code = read__find_instance(r, keys[k], &row, err);
		if (code == 0)
			code = each(ctx, &row);
	}
	return code;
}

int read_command_instances(struct reader *r, const struct read_command_of *of,
                           struct read_of_command *ret,
                           int (*each)(void *ctx, const struct instance *i), void *ctx,
                           struct err *err)
{
	*ret = (struct read_of_command){ 0 };
	if (of->ended_max > READ_ENDED_MAX)
		return err_set(err, E_INVALID, "more than %d that have ended", READ_ENDED_MAX);
	int code = read__begin(r, &ret->number, err);
	return code < 0 ? code : read__end(r, of_command(r, of, ret, each, ctx, err));
}
