/* Reading back, before the first commit of an epoch. Every loop here: a row, each(); a negative
 * answer ends it. */
#include <inttypes.h>
#include <stddef.h>

#include "store/mysql/mysql.h"
#include "util/alloc.h"
#include "util/err.h"

int my_know_cycles(struct my_store *s, struct err *err)
{
	struct my_rows rows;
	int64_t task = 0, cycle_s = 0;
	int r;

	if (s->cycles_known)
		return 0;
	r = my_ask(s, "lb_task", &rows, err, "SELECT task_id, task_cycle FROM lb_task", "");
	if (r < 0)
		return r;
	map_done(&s->cycles);
	map_init(&s->cycles);
	while ((r = my_rows_next(&rows, err)) > 0) {
		r = my_int(&rows, 0, 0, UINT32_MAX, &task, err);
		if (r == 0)
			r = my_int(&rows, 1, INT64_MIN, INT64_MAX, &cycle_s, err);
		if (r < 0)
			break;
		if (cycle_s > 0 && cycle_s < MAP_NONE)
			map_add(&s->cycles, (uint64_t)task, (uint32_t)cycle_s);
	}
	s->cycles_known = r == 0;
	return my_rows_end(&rows, r);
}

int my_load_live(struct store *st, int (*each)(void *ctx, const struct instance *i), void *ctx,
                 struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct my_rows rows;
	struct instance i = { 0 };
	int64_t id = 0;
	int r = my_ask(s, "lb_task_run", &rows, err,
	               "SELECT " MY_INSTANCE_COLUMNS ", id FROM lb_task_run ORDER BY id", "");

	if (r < 0)
		return r;
	while ((r = my_rows_next(&rows, err)) > 0) {
		r = my_instance(&rows, &i, err);
		if (r == 0)
			r = my_int(&rows, MY_INSTANCE_WIDTH, 1, UINT32_MAX, &id, err);
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
	return my_rows_end(&rows, r);
}

static int decode_doc(const struct my_rows *rows, struct store_doc *ret, struct err *err)
{
	struct store_doc d = { .kind = ret->kind };
	int64_t id = 0, version = 0, retired = 0;
	int r = my_int(rows, 0, 0, UINT32_MAX, &id, err);

	if (r == 0)
		r = my_int(rows, 1, 0, UINT32_MAX, &version, err);
	if (r == 0)
		r = my_text(rows, 2, &d.name, err);
	if (r == 0)
		r = my_int(rows, 3, 0, 1, &retired, err);
	if (r == 0)
		r = my_text(rows, 4, &d.actor, err);
	if (r == 0)
		r = my_int(rows, 5, INT64_MIN, INT64_MAX, &d.at_us, err);
	if (r == 0)
		r = my_text(rows, 6, &d.body, err);
	if (r < 0)
		return r;
	d.body_len = rows->len[6];
	d.id = (uint32_t)id;
	d.version = (uint32_t)version;
	d.retired = retired;
	*ret = d;
	return 0;
}

int my_load_docs(struct store *st, enum store_doc_kind kind,
                 int (*each)(void *ctx, const struct store_doc *d), void *ctx, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	const char *table = my_doc_table(kind);
	struct store_doc d = { .kind = kind };
	struct my_rows rows;
	int r;

	if (!table)
		return err_set(err, E_INVALID, "document kind %d", (int)kind);
	r = my_ask(
		s, table, &rows, err,
		"SELECT id, version, name, retired, actor, at_us, body FROM ? AS d WHERE version ="
		" (SELECT max(version) FROM ? AS e WHERE e.id = d.id) ORDER BY id",
		"nn", table, table);
	if (r < 0)
		return r;
	while ((r = my_rows_next(&rows, err)) > 0) {
		r = decode_doc(&rows, &d, err);
		if (r == 0)
			r = each(ctx, &d);
		if (r < 0)
			break;
	}
	return my_rows_end(&rows, r);
}

/* A column's home in a struct: a number with its range, or text. */
struct field {
	size_t offset;
	uint8_t bytes; /* 0: text */
	int64_t lo, hi;
};

#define NUMBER(type, member, lo, hi) \
	{ \
		offsetof(struct type, member), sizeof(((struct type *)0)->member), (lo), (hi) \
	}
#define TEXT(type, member) \
	{ \
		offsetof(struct type, member), 0, 0, 0 \
	}

static int decode(const struct my_rows *rows, const struct field *f, unsigned n, void *ret,
                  struct err *err)
{
	int r = 0;

	for (unsigned i = 0; i < n && r == 0; i++) {
		char *to = (char *)ret + f[i].offset;
		int64_t v = 0;

		if (f[i].bytes == 0) {
			r = my_text(rows, i, (const char **)(void *)to, err);
			continue;
		}
		r = my_int(rows, i, f[i].lo, f[i].hi, &v, err);
		if (f[i].bytes == 1)
			*(uint8_t *)to = (uint8_t)v;
		else if (f[i].bytes == 4)
			*(uint32_t *)(void *)to = (uint32_t)v;
		else
			*(int64_t *)(void *)to = v;
	}
	return r;
}

static const struct field task_fields[] = {
	NUMBER(store_task, id, 0, UINT32_MAX),
	TEXT(store_task, name),
	TEXT(store_task, type),
	NUMBER(store_task, cycle_s, INT64_MIN, INT64_MAX),
	NUMBER(store_task, start_s, INT64_MIN, INT64_MAX),
	NUMBER(store_task, end_s, INT64_MIN, INT64_MAX),
	NUMBER(store_task, state, 0, 3),
	NUMBER(store_task, frozen, 0, 1),
	NUMBER(store_task, workflow_id, 0, UINT32_MAX),
	NUMBER(store_task, version, 0, UINT32_MAX),
	NUMBER(store_task, anchor, INT64_MIN, INT64_MAX),
	NUMBER(store_task, online_from, INT64_MIN, INT64_MAX),
	NUMBER(store_task, planned_through, INT64_MIN, INT64_MAX),
	TEXT(store_task, owner),
	NUMBER(store_task, priority, INT32_MIN, INT32_MAX),
};

int my_load_tasks(struct store *st, int (*each)(void *ctx, const struct store_task *t), void *ctx,
                  struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct store_task t = { 0 };
	struct my_rows rows;
	int r = my_ask(s, "lb_task", &rows, err,
	               "SELECT task_id, task_name, task_type, task_cycle, start_date,"
	               " end_date, task_status, frozen, workflow_id, version, anchor,"
	               " online_from, planned_through, owner, priority FROM lb_task"
	               " ORDER BY task_id",
	               "");

	if (r < 0)
		return r;
	while ((r = my_rows_next(&rows, err)) > 0) {
		r = decode(&rows, task_fields, sizeof task_fields / sizeof task_fields[0], &t, err);
		if (r == 0)
			r = each(ctx, &t);
		if (r < 0)
			break;
	}
	return my_rows_end(&rows, r);
}

static const struct field command_fields[] = {
	NUMBER(store_command, id, 0, INT64_MAX),
	TEXT(store_command, request_id),
	TEXT(store_command, actor),
	TEXT(store_command, kind),
	TEXT(store_command, args),
	TEXT(store_command, error),
	NUMBER(store_command, state, 0, UINT8_MAX),
	NUMBER(store_command, created_us, 0, INT64_MAX),
	NUMBER(store_command, ended_us, 0, INT64_MAX),
	NUMBER(store_command, total, 0, UINT32_MAX),
	NUMBER(store_command, done, 0, UINT32_MAX),
	NUMBER(store_command, failed, 0, UINT32_MAX),
	TEXT(store_command, cursor),
};

#define COMMANDS \
	"SELECT id, request_id, actor, kind, args, error, state, created_us, ended_us, total," \
	" done, failed, `cursor` FROM lb_command "

/* How many rows `each` saw, or negative. */
static int each_command(struct my_rows *rows, int (*each)(void *ctx, const struct store_command *c),
                        void *ctx, struct err *err)
{
	struct store_command c = { 0 };
	int n = 0, r;

	while ((r = my_rows_next(rows, err)) > 0) {
		r = decode(rows, command_fields, sizeof command_fields / sizeof command_fields[0],
		           &c, err);
		if (r == 0)
			r = each(ctx, &c);
		if (r < 0)
			break;
		n++;
	}
	r = my_rows_end(rows, r);
	return r < 0 ? r : n;
}

int my_load_commands(struct store *st, bool unfinished_only,
                     int (*each)(void *ctx, const struct store_command *c), void *ctx,
                     struct err *err)
{
	struct my_rows rows;
	int r = my_ask((struct my_store *)st, "lb_command", &rows, err,
	               unfinished_only ? COMMANDS "WHERE ended_us = 0 ORDER BY id"
	                               : COMMANDS "ORDER BY id",
	               "");

	if (r == 0)
		r = each_command(&rows, each, ctx, err);
	return r < 0 ? r : 0;
}

int my_find_command(struct store *st, const char *request_id,
                    int (*each)(void *ctx, const struct store_command *c), void *ctx,
                    struct err *err)
{
	struct my_rows rows;
	int r = my_ask((struct my_store *)st, "lb_command", &rows, err,
	               COMMANDS "WHERE request_id = ?", "t", request_id);

	if (r < 0)
		return r;
	r = each_command(&rows, each, ctx, err);
	if (r == 0)
		return err_set(err, E_NOT_FOUND, "no command with request id %.80s", request_id);
	return r < 0 ? r : 0;
}

int my_find_done(struct store *st, struct inst_key key, struct instance *ret, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	struct my_rows rows;
	int r = my_ask(s, "lb_task_run_history", &rows, err,
	               "SELECT " MY_INSTANCE_COLUMNS " FROM lb_task_run_history WHERE"
	               " curr_run_date = ? AND task_id = ? AND part = ?",
	               "iii", key.run_date, (int64_t)key.task, (int64_t)key.part);

	if (r < 0)
		return r;
	r = my_rows_next(&rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND,
		            "no finished instance of task %" PRIu32 " at %" PRId64
		            ", part %" PRId32,
		            key.task, key.run_date, key.part);
	else if (r > 0)
		r = my_instance(&rows, ret, err);
	return my_rows_end(&rows, r);
}

/* 1 a text, 0 none at this number. */
static int data_at(struct my_store *s, int64_t number, enum inst_data kind, char **ret_body,
                   struct err *err)
{
	struct my_rows rows;
	const char *body;
	int r = my_ask(s, "lb_task_data", &rows, err,
	               "SELECT body FROM lb_task_data WHERE number = ? AND kind = ?", "ii", number,
	               (int64_t)kind);

	if (r < 0)
		return r;
	r = my_rows_next(&rows, err);
	if (r > 0) {
		r = my_text(&rows, 0, &body, err);
		if (r == 0) {
			*ret_body = mem_str(body);
			r = 1;
		}
	}
	return my_rows_end(&rows, r);
}

/* 1 and the number before, 0 when the chain ends or leaves the generation. */
static int step_back(struct my_store *s, uint32_t generation, int64_t number, int64_t *ret_prev,
                     struct err *err)
{
	struct my_rows rows;
	int64_t of = 0;
	int r = my_ask(s, "lb_task_event", &rows, err,
	               "SELECT prev, generation FROM lb_task_event WHERE number = ?", "i", number);

	if (r < 0)
		return r;
	r = my_rows_next(&rows, err);
	if (r > 0) {
		r = my_int(&rows, 0, 0, number - 1, ret_prev, err);
		if (r == 0)
			r = my_int(&rows, 1, 0, UINT32_MAX, &of, err);
		if (r == 0)
			r = !generation || of == generation;
	}
	return my_rows_end(&rows, r);
}

int my_find_data(struct store *st, uint64_t last_number, uint32_t generation, enum inst_data kind,
                 char **ret_body, struct err *err)
{
	struct my_store *s = (struct my_store *)st;
	int64_t number = (int64_t)last_number, prev = 0;
	int r;

	for (; number; number = prev) {
		r = step_back(s, generation, number, &prev, err);
		if (r > 0)
			r = data_at(s, number, kind, ret_body, err);
		else if (r == 0)
			break;
		if (r != 0)
			return r < 0 ? r : 0;
	}
	return err_set(err, E_NOT_FOUND, "no data of kind %d at %" PRIu64, (int)kind, last_number);
}
