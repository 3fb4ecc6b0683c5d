/* The batch of a commit as virtual tables, so that one INSERT ... SELECT writes it: no
 * statement per row, no binding, and a cursor that stays where the last row went.
 * Measured against a bound INSERT per row: lib/store rule 3. */
#include <stdlib.h>

#include "store/sqlite.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

enum kind { BATCH_EVENT, BATCH_LIVE, BATCH_DONE };

struct batch_table {
	sqlite3_vtab base;
	struct sqlite_store *s;
	enum kind kind;
};

struct batch_cursor {
	sqlite3_vtab_cursor base;
	size_t at, n;
};

/* Declared types do not matter: the tables are strict. */
static const char *const declared[] = {
	[BATCH_EVENT] = "CREATE TABLE x (" BATCH_EVENT_COLUMNS ")",
	[BATCH_LIVE] = "CREATE TABLE x (" BATCH_LIVE_COLUMNS ")",
	[BATCH_DONE] = "CREATE TABLE x (" BATCH_DONE_COLUMNS ")",
};

static int connect_as(sqlite3 *db, struct sqlite_store *s, enum kind kind, sqlite3_vtab **ret)
{
	CHECK((size_t)kind < sizeof declared / sizeof declared[0]);
	struct batch_table *t;
	int rc = sqlite3_declare_vtab(db, declared[kind]);

	if (rc != SQLITE_OK)
		return rc;
	t = mem_new(sizeof *t);
	t->s = s;
	t->kind = kind;
	*ret = &t->base;
	return SQLITE_OK;
}

static int connect_event(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **ret, char **ret_error)
{
	(void)argc, (void)argv, (void)ret_error;
	return connect_as(db, aux, BATCH_EVENT, ret);
}

static int connect_live(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **ret, char **ret_error)
{
	(void)argc, (void)argv, (void)ret_error;
	return connect_as(db, aux, BATCH_LIVE, ret);
}

static int connect_done(sqlite3 *db, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **ret, char **ret_error)
{
	(void)argc, (void)argv, (void)ret_error;
	return connect_as(db, aux, BATCH_DONE, ret);
}

static int disconnect(sqlite3_vtab *t)
{
	free(t);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *t, sqlite3_index_info *info)
{
	(void)t;
	info->estimatedCost = 1000;
	info->estimatedRows = 1000;
	return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *t, sqlite3_vtab_cursor **ret)
{
	struct batch_cursor *c = mem_new(sizeof *c);

	(void)t;
	*ret = &c->base;
	return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}

static struct batch_table *table_of(sqlite3_vtab_cursor *c)
{
	return (struct batch_table *)c->pVtab;
}

/* Transitions of other kinds than TK_INSTANCE are no events. */
static void skip_others(struct batch_cursor *c)
{
	const struct store_batch *b = table_of(&c->base)->s->batch;

	while (c->at < c->n && b->events[c->at]->kind != TK_INSTANCE)
		c->at++;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                         sqlite3_value **argv)
{
	struct batch_cursor *c = (struct batch_cursor *)base;
	struct batch_table *t = table_of(base);

	CHECK(t->s->batch);
	(void)number, (void)text, (void)argc, (void)argv;
	c->at = 0;
	if (t->kind == BATCH_EVENT) {
		c->n = t->s->batch->n_events;
		skip_others(c);
	} else {
		c->n = t->s->n_shown;
	}
	return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	struct batch_cursor *c = (struct batch_cursor *)base;

	CHECK(c->at < c->n);
	c->at++;
	if (table_of(base)->kind == BATCH_EVENT)
		skip_others(c);
	return SQLITE_OK;
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	const struct batch_cursor *c = (const struct batch_cursor *)base;

	return c->at >= c->n;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((struct batch_cursor *)base)->at;
	return SQLITE_OK;
}

enum {
#define ECOL(column, value) EVENT_##column,
#include "store/event_cols.def"
#undef ECOL
	EVENT_note
};

static int column_event(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	const struct batch_cursor *c = (const struct batch_cursor *)base;

	CHECK(c->at < c->n);
	const struct transition *t = table_of(base)->s->batch->events[c->at];

	switch (column) {
#define ECOL(column, value) \
	case EVENT_##column: \
		sqlite3_result_int64(out, (sqlite3_int64)(value)); \
		break;
#include "store/event_cols.def"
#undef ECOL
	default:
		if (t->note)
			sqlite3_result_text(out, t->note, -1, SQLITE_STATIC);
	}
	return SQLITE_OK;
}

enum {
	RUN_ID,
	RUN_NEXT,
	RUN_STATUS,
#define COL(column, member, lo, hi) RUN_##column,
#include "store/instance_cols.def"
#undef COL
};

/* When the task's next one is, as far as a fixed cycle says. */
static int64_t next_run_date(struct sqlite_store *s, struct inst_key key)
{
	uint32_t cycle_s = map_get(&s->rows.cycles, key.task);

	return cycle_s == MAP_NONE || key.run_date > INT64_MAX - cycle_s ? key.run_date
	                                                                 : key.run_date + cycle_s;
}

static int column_live(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	const struct batch_cursor *c = (const struct batch_cursor *)base;
	struct sqlite_store *s = table_of(base)->s;
	int64_t v = 0;

	CHECK(c->at < s->n_shown);
	const struct instance *i = s->shown[c->at].inst;
	switch (column) {
	case RUN_ID:
		v = s->shown[c->at].id;
		break;
	case RUN_NEXT:
		v = next_run_date(s, i->key);
		break;
	case RUN_STATUS:
		v = state_number((enum state)i->state);
		break;
#define COL(column, member, lo, hi) \
	case RUN_##column: \
		v = (int64_t)i->member; \
		break;
#include "store/instance_cols.def"
#undef COL
	}
	sqlite3_result_int64(out, v);
	return SQLITE_OK;
}

/* The live row's columns with last_number in the id's place. */
static int column_done(sqlite3_vtab_cursor *base, sqlite3_context *out, int column)
{
	if (column == RUN_ID)
		column = RUN_last_number;
	else if (column >= RUN_last_number)
		column++;
	return column_live(base, out, column);
}

#define BATCH_MODULE(connect, column) \
	{ \
		.xConnect = (connect), .xDisconnect = disconnect, .xBestIndex = best_index, \
		.xOpen = cursor_open, .xClose = cursor_close, .xFilter = cursor_filter, \
		.xNext = cursor_next, .xEof = cursor_eof, .xColumn = (column), \
		.xRowid = cursor_rowid \
	}

int sqlite_batch_register(struct sqlite_store *s, struct err *err)
{
	static const struct {
		const char *name;
		sqlite3_module module;
	} tables[] = {
		{ "batch_event", BATCH_MODULE(connect_event, column_event) },
		{ "batch_live", BATCH_MODULE(connect_live, column_live) },
		{ "batch_done", BATCH_MODULE(connect_done, column_done) },
	};

	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
		int rc = sqlite3_create_module(s->db, tables[i].name, &tables[i].module, s);

		if (rc != SQLITE_OK)
			return sql_fail(s->db, rc, tables[i].name, err);
	}
	return 0;
}
