/* row_store.c — a store of rows: asking statements by their number, and what each keeps beside its
 * rows.
 *
 * A statement is known by its row_id; the database that the store is on has its text. Between
 * transactions a store keeps one thing, the cycle of each task: a commit works out next_run_date
 * from it. It is read once, before the first commit, and follows what commits save.
 */
#include "store/row_store.h"

#include "store/schema.h"
#include "util/check.h"
#include "util/err.h"

const char *row_table(enum row_id id)
{
	static const char *const tables[ROW_COUNT] = {
#define ROW(name, table, text)           [ROW_##name] = table,
#define ROW2(name, table, sqlite, mysql) [ROW_##name] = table,
#include "store/row_stmt.def"
#undef ROW
#undef ROW2
	};

	CHECK((size_t)id < ROW_COUNT);
	return tables[id];
}

int row_ask(struct row_store *s, enum row_id id, struct rows **ret, struct err *err,
            const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	int r = s->ops->ask(s, id, ret, err, types, ap);
	va_end(ap);
	return r;
}

int row_change(struct row_store *s, enum row_id id, size_t *ret_rows, struct err *err,
               const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	int r = s->ops->change(s, id, ret_rows, err, types, ap);
	va_end(ap);
	return r;
}

int row_number(struct row_store *s, enum row_id id, int64_t *ret, struct err *err,
               const char *types, ...)
{
	struct rows *rows = NULL;
	va_list ap;

	va_start(ap, types);
	int r = s->ops->ask(s, id, &rows, err, types, ap);
	va_end(ap);
	if (r == 0)
		r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_NOT_FOUND, "%s: no row", row_table(id));
	else if (r > 0)
		r = rows_int(rows, 0, 0, INT64_MAX, ret, err);
	rows_close(rows);
	return r;
}

int row_tip(struct row_store *s, enum row_id id, struct store_tip *ret, struct err *err)
{
	struct rows *rows = NULL;
	int r = row_ask(s, id, &rows, err, "");

	if (r == 0)
		r = rows_step(rows, err);
	if (r == 0)
		r = err_set(err, E_CORRUPT, STORE_NO_LEADER_ROW);
	else if (r > 0)
		r = rows_tip(rows, ret, err);
	rows_close(rows);
	return r;
}

int row_saved(struct row_store *s, int64_t *ret, struct err *err)
{
	int r = row_number(s, ROW_OUTCOME_NUMBER, ret, err, "");

	return r == E_NOT_FOUND ? err_set(err, E_CORRUPT, STORE_NO_LEADER_ROW) : r;
}

static void know_cycle(struct map *cycles, uint32_t task, int64_t cycle_s)
{
	if (cycle_s > 0 && cycle_s < MAP_NONE)
		map_add(cycles, task, (uint32_t)cycle_s);
}

int row_know_cycles(struct row_store *s, struct err *err)
{
	struct rows *rows = NULL;
	int64_t task = 0, cycle_s = 0;
	int r;

	if (s->cycles_known)
		return 0;
	r = row_ask(s, ROW_CYCLES, &rows, err, "");
	map_done(&s->cycles);
	map_init(&s->cycles);
	while ((r = rows_next(rows, r, err)) > 0) {
		r = rows_int(rows, 0, 0, UINT32_MAX, &task, err);
		if (r == 0)
			r = rows_int(rows, 1, INT64_MIN, INT64_MAX, &cycle_s, err);
		if (r == 0)
			know_cycle(&s->cycles, (uint32_t)task, cycle_s);
	}
	s->cycles_known = r == 0;
	return r;
}

void row_remember(struct row_store *s, const struct store_batch *b)
{
	for (size_t i = 0; i < b->n_tasks; i++) {
		const struct store_task *t = &b->tasks[i];
		uint32_t old = map_get(&s->cycles, t->id);

		if (old != MAP_NONE)
			map_remove(&s->cycles, t->id, old);
		know_cycle(&s->cycles, t->id, t->cycle_s);
	}
}
