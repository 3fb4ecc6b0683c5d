/* sql.c — statements on a database: README.md has the parameters. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runners/common/apart.h"
#include "runners/common/db.h"
#include "runners/common/probe.h"
#include "runners/common/rows.h"
#include "runners/common/run.h"

#define TELL_EVERY_ROWS 10000
#define SQL_NO_VALUE    (-100) /* the result says which */

struct sql_job {
	struct db_where where;
	struct rows_plan rows;
	cJSON *statements, *session;
	bool is_transaction;
};

/* What the statements gave so far. */
struct taker {
	const struct run *run;
	struct rows rows;
	size_t n_done, n_statements;
	int64_t affected;
};

/* --- parameters ------------------------------------------------------------------- */

static int read_statements(const struct run *r, struct sql_job *s)
{
	char *sql = run_text(r, "sql"), *list = run_text(r, "statements");
	int code = 0;

	if (!sql == !list) {
		code = run_refuse(r, "want exactly one of the parameters sql, statements");
	} else if (list) {
		code = run_list(r, "statements", &s->statements);
	} else {
		s->statements = cJSON_CreateArray();
		cJSON_AddItemToArray(s->statements, cJSON_CreateString(sql));
	}
	free(sql);
	free(list);
	return code;
}

static int read_all(const struct run *r, struct sql_job *s)
{
	if (read_statements(r, s) < 0 || rows_plan_read(r, &s->rows) < 0 ||
	    run_map(r, "session", &s->session) < 0 ||
	    run_boolean(r, "transaction", false, &s->is_transaction) < 0)
		return RUNNER_FAILED;
	return db_where_read(r, "server", "", &s->where);
}

static void job_done(struct sql_job *s)
{
	db_where_done(&s->where);
	rows_plan_done(&s->rows);
	cJSON_Delete(s->statements);
	cJSON_Delete(s->session);
}

/* --- results ---------------------------------------------------------------------- */

static int on_columns(void *ctx, size_t n, const char *const *names)
{
	return rows_columns(&((struct taker *)ctx)->rows, n, names);
}

static int on_row(void *ctx, size_t n, const char *const *values, const size_t *lens)
{
	struct taker *t = ctx;
	int code = rows_row(&t->rows, n, values, lens);

	if (t->rows.n_all % TELL_EVERY_ROWS == 0)
		run_progress(t->run, (uint32_t)(t->n_done * 1000 / t->n_statements),
		             "statement %zu, %" PRId64 " rows", t->n_done + 1, t->rows.n_all);
	return code;
}

static int on_done(void *ctx, int64_t affected)
{
	struct taker *t = ctx;
	const struct rows_plan *p = t->rows.plan;

	t->n_done++;
	if (affected >= 0) {
		t->affected += affected;
		run_log(t->run, "statement %zu: %" PRId64 " rows affected", t->n_done, affected);
	} else {
		run_log(t->run, "statement %zu: %" PRId64 " rows%s", t->n_done, t->rows.n,
		        !p->csv_file && t->rows.n > p->log_rows ? ", the rest of them not shown"
		                                                : "");
	}
	if (t->n_statements > 1)
		run_progress(t->run, (uint32_t)(t->n_done * 1000 / t->n_statements),
		             "%zu of %zu statements", t->n_done, t->n_statements);
	return 0;
}

/* --- the job ---------------------------------------------------------------------- */

static int run_statements(struct db *db, const struct sql_job *s, struct taker *t)
{
	struct db_sink sink = { .ctx = t, .columns = on_columns, .row = on_row, .done = on_done };
	const cJSON *item;
	int code = db_claim(db);

	if (code == DB_OK)
		code = db_session(db, s->session);
	if (code == DB_OK && s->is_transaction)
		code = db_run(db, "BEGIN", NULL);
	cJSON_ArrayForEach(item, s->statements) {
		struct text sql = { 0 };

		if (code == DB_OK)
			code = db_values(t->run, db, item->valuestring, &sql) < 0
			               ? SQL_NO_VALUE
			               : db_run(db, text_str(&sql), &sink);
		text_done(&sql);
	}
	if (code == DB_OK && s->is_transaction)
		code = db_run(db, "COMMIT", NULL);
	return code;
}

static int sql_sql_end(const struct run *r, const struct taker *t, struct db *db, int code)
{
	char where[40];

	if (code == SQL_NO_VALUE)
		return RUNNER_FAILED;
	if (code == DB_REFUSED)
		return run_end(r, RUNNER_BY_CODE, "statement %zu: %s", t->n_done + 1,
		               t->rows.why[0] ? t->rows.why : "out of memory");
	snprintf(where, sizeof where, "statement %zu", t->n_done + 1);
	if (code < 0)
		return db_end(r, db, code, where);
	run_output(r, "rows", "%" PRId64, t->rows.n_all);
	run_output(r, "affected", "%" PRId64, t->affected);
	run_output(r, "statements", "%zu", t->n_done);
	return RUNNER_DONE;
}

static int sql_work(const struct run *r, const struct sql_job *s)
{
	struct taker t = { .run = r, .n_statements = (size_t)cJSON_GetArraySize(s->statements) };
	struct db *db = NULL;
	int answer, code;

	if (rows_open(&t.rows, r, &s->rows) < 0) {
		answer = run_end(r, RUNNER_BY_CODE, "%s", t.rows.why);
	} else if ((code = db_open(r, &s->where, &db)) < 0) {
		answer = db_end(r, db, code, "connect");
	} else {
		code = run_statements(db, s, &t);
		if (code == DB_OK && rows_keep(&t.rows) < 0)
			code = DB_REFUSED;
		answer = sql_sql_end(r, &t, db, code);
	}
	db_close(db);
	rows_close(&t.rows);
	return answer;
}

static int sql_execute(void *self, void *state, const struct runner_job *job,
                       struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct sql_job s = { 0 };
	int answer = read_all(&r, &s);

	(void)self;
	(void)state;
	if (answer == 0 && (s.where.kind == DB_SQLITE || s.rows.csv_file))
		answer = apart_begin(&r);
	if (answer == 0)
		answer = sql_work(&r, &s);
	job_done(&s);
	return answer;
}

/* --- a test of a target server -------------------------------------------------------- */

/* What it is asked once it let us in, for people. SQLite reads its file only then. */
static const char *const versions[] = {
	"SELECT version()",
	"SELECT version()",
	"SHOW server_version",
	"SELECT sqlite_version() FROM (SELECT count(*) FROM sqlite_master)",
};

static int try_connect(const struct run *r, const struct db_where *w)
{
	static const char *const names[] = { "MySQL", "MariaDB", "PostgreSQL", "SQLite" };
	struct text version = { .max = 100 };
	struct db *db = NULL;
	bool is, is_null;
	int code = db_open(r, w, &db), outcome;

	if (code == DB_OK)
		code = db_ask(db, versions[w->kind], &version, &is, &is_null);
	if (code == DB_OK) {
		run_end(r, RUNNER_BY_CODE, "%s %s", names[w->kind], text_str(&version));
		outcome = RUNNER_PROBE_CONNECTED;
	} else if (code == DB_BARRED || code == DB_NO_POLICY) {
		outcome = probe_end(r, RUNNER_PROBE_POLICY, db_why(db));
	} else if (code == DB_STOPPED) {
		outcome = probe_end(r, RUNNER_PROBE_LATE, "no answer in time");
	} else {
		outcome = probe_failed(r, db_why(db));
	}
	db_close(db);
	text_done(&version);
	return outcome;
}

/* What lies in a project's folder is its project's to say: who opens it as somebody else follows
 * its links into other folders, and takes away whatever file its journal names. */
static int try_file(const struct run *r, struct db_where *w)
{
	if (apart_is_wanted(r))
		return probe_end(r, RUNNER_PROBE_OTHER,
		                 "this machine opens a SQLite file as its project's user, which a "
		                 "test is not: a task of type sql shows whether jobs get in");
	if (access(w->database, F_OK) < 0)
		return probe_end(r, RUNNER_PROBE_DATABASE, "the file is not there");
	w->is_read_only = true;
	return try_connect(r, w);
}

static int sql_probe(void *self, const struct runner_job *job, struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct db_where w = { 0 };
	int outcome = RUNNER_PROBE_OTHER;

	(void)self;
	if (db_where_read(&r, "server", "", &w) == 0)
		outcome = w.kind == DB_SQLITE ? try_file(&r, &w) : try_connect(&r, &w);
	db_where_done(&w);
	return outcome;
}

RUN_PLUGIN("sql", .flags = RUNNER_NO_PROCESS, .open = apart_open, .close = run_close,
           .execute = sql_execute, .probe = sql_probe);
