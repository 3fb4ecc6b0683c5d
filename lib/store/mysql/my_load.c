/* Reading back, before the first commit of an epoch. Every loop here: a row, each(); a negative
 * answer ends it. */
#include <inttypes.h>

#include "store/mysql/mysql.h"
#include "util/alloc.h"
#include "util/err.h"

int my_know_cycles(struct my_store *s, struct err *err)
{
	struct rows *rows = NULL;
	int64_t task = 0, cycle_s = 0;
	int r;

	if (s->cycles_known)
		return 0;
	r = my_ask(s, "lb_task", &rows, err, "SELECT task_id, task_cycle FROM lb_task", "");
	if (r < 0)
		return r;
	map_done(&s->cycles);
	map_init(&s->cycles);
	while ((r = rows_step(rows, err)) > 0) {
		r = rows_int(rows, 0, 0, UINT32_MAX, &task, err);
		if (r == 0)
			r = rows_int(rows, 1, INT64_MIN, INT64_MAX, &cycle_s, err);
		if (r < 0)
			break;
		if (cycle_s > 0 && cycle_s < MAP_NONE)
			map_add(&s->cycles, (uint64_t)task, (uint32_t)cycle_s);
	}
	s->cycles_known = r == 0;
	rows_close(rows);
	return r;
}

int my_load_docs(struct store *st, enum store_doc_kind kind,
                 int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	const char *table = doc_table(kind);
	struct store_doc d;
	struct rows *rows = NULL;
	int r;

	if (!table)
		return err_set(err, E_INVALID, "document kind %d", (int)kind);
	r = my_ask(s, table, &rows, err,
	           "SELECT " DOC_COLUMNS " FROM ? AS d WHERE version ="
	           " (SELECT max(version) FROM ? AS e WHERE e.id = d.id) ORDER BY id",
	           "nn", table, table);
	if (r < 0)
		return r;
	while ((r = rows_step(rows, err)) > 0) {
		r = rows_doc(rows, kind, &d, err);
		if (r == 0)
			r = each(ctx, &d);
		if (r < 0)
			break;
	}
	rows_close(rows);
	return r;
}

int my_find_workflow(struct store *st, uint32_t id, uint32_t version,
                     int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	enum store_doc_kind kind = workflow_kind(version);
	const char *table = doc_table(kind);
	struct rows *rows = NULL;
	struct store_doc d;
	int r = my_ask((struct my_store *)st, table, &rows, err,
	               "SELECT " DOC_COLUMNS " FROM ? WHERE id = ? AND version = ?", "nii", table,
	               (int64_t)id, (int64_t)version);

	if (r < 0)
		return r;
	r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "no version %" PRIu32 " of workflow %" PRIu32,
		            version, id);
	else if (r > 0)
		r = rows_doc(rows, kind, &d, err);
	if (r == 0)
		r = each(ctx, &d);
	rows_close(rows);
	return r;
}

int my_load_tasks(struct store *st, int (*each)(void *ctx, const struct store_task *t), void *ctx,
                  struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct store_task t = { 0 };
	struct rows *rows = NULL;
	int r = my_ask(s, "lb_task", &rows, err,
	               "SELECT " TASK_COLUMNS " FROM lb_task ORDER BY task_id", "");

	if (r < 0)
		return r;
	while ((r = rows_step(rows, err)) > 0) {
		r = rows_task(rows, &t, err);
		if (r == 0)
			r = each(ctx, &t);
		if (r < 0)
			break;
	}
	rows_close(rows);
	return r;
}

#define COMMANDS "SELECT " COMMAND_COLUMNS " FROM lb_command "

/* How many rows `each` saw, or negative. */
static int each_command(struct rows *rows, int (*each)(void *ctx, const struct store_command *c),
                        void *ctx, struct err *err)
{
	struct store_command c = { 0 };
	int n = 0, r;

	while ((r = rows_step(rows, err)) > 0) {
		r = rows_command(rows, &c, err);
		if (r == 0)
			r = each(ctx, &c);
		if (r < 0)
			break;
		n++;
	}
	rows_close(rows);
	return r < 0 ? r : n;
}

int my_load_commands(struct store *st, bool unfinished_only,
                     int (*each)(void *ctx, const struct store_command *c), void *ctx,
                     struct err *err)
{
	struct rows *rows = NULL;
	int r = my_ask((struct my_store *)st, "lb_command", &rows, err,
	               unfinished_only ? COMMANDS "WHERE ended_us = 0 ORDER BY id"
	                               : COMMANDS "ORDER BY id",
	               "");

	if (r == 0)
		r = each_command(rows, each, ctx, err);
	return r < 0 ? r : 0;
}

int my_find_command(struct store *st, const char *request_id,
                    int (*each)(void *ctx, const struct store_command *c), void *ctx,
                    struct err *err)
{
	struct rows *rows = NULL;
	int r = my_ask((struct my_store *)st, "lb_command", &rows, err,
	               COMMANDS "WHERE request_id = ?", "t", request_id);

	if (r < 0)
		return r;
	r = each_command(rows, each, ctx, err);
	if (r == 0)
		return err_set(err, E_NOT_FOUND, "no command with request id %.80s", request_id);
	return r < 0 ? r : 0;
}

int my_find_done(struct store *st, struct inst_key key, struct instance *ret, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct rows *rows = NULL;
	int r = my_ask(s, "lb_task_run_history", &rows, err,
	               "SELECT " INSTANCE_COLUMNS " FROM lb_task_run_history WHERE"
	               " curr_run_date = ? AND task_id = ? AND part = ?",
	               "iii", key.run_date, (int64_t)key.task, (int64_t)key.part);

	if (r < 0)
		return r;
	r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND,
		            "no finished instance of task %" PRIu32 " at %" PRId64
		            ", part %" PRId32,
		            key.task, key.run_date, key.part);
	else if (r > 0)
		r = rows_instance(rows, ret, err);
	rows_close(rows);
	return r;
}

int my_load_items(struct store *st, uint64_t command,
                  int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
                  struct err *err)
{
	struct store_command_item item;
	struct rows *rows = NULL;
	int r = my_ask((struct my_store *)st, "lb_command_item", &rows, err,
	               "SELECT " ITEM_COLUMNS " FROM lb_command_item WHERE command_id = ?"
	               " ORDER BY task_id, curr_run_date, part",
	               "i", (int64_t)command);

	if (r < 0)
		return r;
	while ((r = rows_step(rows, err)) > 0) {
		r = rows_item(rows, command, &item, err);
		if (r == 0)
			r = each(ctx, &item);
		if (r < 0)
			break;
	}
	rows_close(rows);
	return r;
}

int my_find_data(struct store *st, uint64_t last_number, uint32_t generation, enum inst_data kind,
                 char **ret_body, struct err *err)
{
	struct rows *rows = NULL;
	const char *body = NULL;
	int r = my_ask((struct my_store *)st, "lb_task_data", &rows, err, DATA_WALK, "iiii",
	               (int64_t)last_number, (int64_t)generation, (int64_t)generation,
	               (int64_t)kind);

	if (r < 0)
		return r;
	r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "no data of kind %d at %" PRIu64, (int)kind,
		            last_number);
	else if (r > 0)
		r = rows_text(rows, 0, &body, err);
	if (r == 0)
		*ret_body = mem_str(body);
	rows_close(rows);
	return r;
}
