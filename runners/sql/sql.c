/* sql.c — statements on a database: README.md has the parameters. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/csv.h"
#include "runners/common/db.h"
#include "runners/common/run.h"

#define CSV_BYTES_MAX   (1ll << 40)
#define CSV_DEFAULT     (1ll << 30)
#define LOG_ROWS_MAX    100000
#define FIRST_ROW_MAX   100 /* columns that become outputs */
#define TELL_EVERY_ROWS 10000

struct sql_job {
	struct db_where where;
	cJSON *statements, *session;
	char *csv_file, *csv_null;
	struct csv_style style;
	int64_t log_rows, csv_max;
	bool is_transaction, gives_first_row, has_header;
};

/* Where the results of all statements go. */
struct taker {
	const struct run *run;
	const struct sql_job *job;
	struct csv_file file;
	struct text line;
	char **names; /* of the result that is being read */
	size_t n_names, n_results, n_done, n_statements;
	int64_t rows, rows_all, affected;
	char why[200];
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

static int read_csv(const struct run *r, struct sql_job *s)
{
	char *delimiter = run_text(r, "csv_delimiter");
	int code = 0;

	s->style.delimiter = ',';
	if (delimiter && !strcmp(delimiter, "tab"))
		s->style.delimiter = '\t';
	else if (delimiter && (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0])))
		code = run_refuse(r,
		                  "parameter csv_delimiter is '%.20s', want one character, or tab",
		                  delimiter);
	else if (delimiter)
		s->style.delimiter = delimiter[0];
	free(delimiter);
	s->csv_file = run_text(r, "csv_file");
	s->csv_null = run_text(r, "csv_null");
	s->style.null_text = s->csv_null ? s->csv_null : "";
	if (code == 0 && s->csv_file && s->csv_file[0] != '/')
		code = run_refuse(r, "parameter csv_file is '%.80s', want a path from the root",
		                  s->csv_file);
	if (code == 0 && s->csv_file && r->job->run_as[0])
		code = run_refuse(r, "csv_file is written by the broker's own user: this task's "
		                     "run_as cannot be honoured");
	return code;
}

static int read_all(const struct run *r, struct sql_job *s)
{
	if (read_statements(r, s) < 0 || read_csv(r, s) < 0 ||
	    run_map(r, "session", &s->session) < 0 ||
	    run_boolean(r, "transaction", false, &s->is_transaction) < 0 ||
	    run_boolean(r, "first_row", false, &s->gives_first_row) < 0 ||
	    run_boolean(r, "csv_header", true, &s->has_header) < 0 ||
	    run_number(r, "log_rows", 0, LOG_ROWS_MAX, 100, &s->log_rows) < 0 ||
	    run_number(r, "csv_max", 1, CSV_BYTES_MAX, CSV_DEFAULT, &s->csv_max) < 0)
		return RUNNER_FAILED;
	return db_where_read(r, "server", "", &s->where);
}

static void job_done(struct sql_job *s)
{
	db_where_done(&s->where);
	cJSON_Delete(s->statements);
	cJSON_Delete(s->session);
	free(s->csv_file);
	free(s->csv_null);
}

/* --- results ---------------------------------------------------------------------- */

static void forget_names(struct taker *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		free(t->names[i]);
	free(t->names);
	t->names = NULL;
	t->n_names = 0;
}

static int to_log(struct taker *t)
{
	t->run->host->log(t->run->job, RUNNER_STDOUT, text_str(&t->line), t->line.len);
	text_clear(&t->line);
	return 0;
}

static int on_columns(void *ctx, size_t n, const char *const *names)
{
	struct taker *t = ctx;
	const struct sql_job *s = t->job;

	forget_names(t);
	t->names = calloc(n + 1, sizeof *t->names);
	for (size_t i = 0; t->names && i < n; i++)
		t->names[t->n_names++] = strdup(names[i]);
	t->rows = 0;
	if (++t->n_results > 1 && s->csv_file) {
		snprintf(t->why, sizeof t->why,
		         "csv_file takes one result, and statement %zu gives a second",
		         t->n_done + 1);
		return -1;
	}
	if (s->csv_file && s->has_header)
		csv_names(&s->style, n, names, &t->file.buffer);
	if (!s->csv_file && s->log_rows) {
		csv_names(&s->style, n, names, &t->line);
		to_log(t);
	}
	return 0;
}

/* The first row of a result: its values by their columns' names. */
static void give_first_row(struct taker *t, size_t n, const char *const *values, const size_t *lens)
{
	for (size_t i = 0; i < n && i < FIRST_ROW_MAX && i < t->n_names; i++)
		run_output(t->run, t->names[i] ? t->names[i] : "", "%.*s",
		           values[i] ? (int)lens[i] : 0, values[i] ? values[i] : "");
}

static int on_row(void *ctx, size_t n, const char *const *values, const size_t *lens)
{
	struct taker *t = ctx;
	const struct sql_job *s = t->job;

	if (t->rows++ == 0 && s->gives_first_row)
		give_first_row(t, n, values, lens);
	t->rows_all++;
	if (t->rows_all % TELL_EVERY_ROWS == 0)
		run_progress(t->run, (uint32_t)(t->n_done * 1000 / t->n_statements),
		             "statement %zu, %" PRId64 " rows", t->n_done + 1, t->rows_all);
	if (s->csv_file) {
		csv_line(&s->style, n, values, lens, &t->file.buffer);
		return csv_flush(&t->file, false);
	}
	if (t->rows > s->log_rows)
		return 0;
	csv_line(&s->style, n, values, lens, &t->line);
	return to_log(t);
}

static int on_done(void *ctx, int64_t affected)
{
	struct taker *t = ctx;

	t->n_done++;
	if (affected >= 0) {
		t->affected += affected;
		run_log(t->run, "statement %zu: %" PRId64 " rows affected", t->n_done, affected);
	} else {
		run_log(t->run, "statement %zu: %" PRId64 " rows%s", t->n_done, t->rows,
		        !t->job->csv_file && t->rows > t->job->log_rows
		                ? ", the rest of them not shown"
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
	int code = db_session(db, s->session);

	if (code == DB_OK && s->is_transaction)
		code = db_run(db, "BEGIN", NULL);
	cJSON_ArrayForEach(item, s->statements)
	{
		if (code == DB_OK)
			code = db_run(db, item->valuestring, &sink);
	}
	if (code == DB_OK && s->is_transaction)
		code = db_run(db, "COMMIT", NULL);
	return code;
}

static int end(const struct run *r, const struct taker *t, struct db *db, int code)
{
	char where[40];

	if (code == DB_REFUSED)
		return run_end(r, RUNNER_BY_CODE, "%s",
		               t->why[0]        ? t->why
		               : t->file.why[0] ? t->file.why
		                                : "out of memory");
	snprintf(where, sizeof where, "statement %zu", t->n_done + 1);
	if (code < 0)
		return db_end(r, db, code, where);
	run_output(r, "rows", "%" PRId64, t->rows_all);
	run_output(r, "affected", "%" PRId64, t->affected);
	run_output(r, "statements", "%zu", t->n_done);
	return RUNNER_DONE;
}

static int work(const struct run *r, const struct sql_job *s)
{
	struct taker t = { .run = r,
		           .job = s,
		           .n_statements = (size_t)cJSON_GetArraySize(s->statements) };
	struct db *db = NULL;
	int answer, code;

	if (s->csv_file &&
	    csv_open(&t.file, s->csv_file, r->job->token, (uint64_t)s->csv_max) < 0) {
		answer = run_end(r, RUNNER_BY_CODE, "%s", t.file.why);
		csv_done(&t.file);
		return answer;
	}
	code = db_open(r, &s->where, &db);
	if (code < 0) {
		answer = db_end(r, db, code, "connect");
	} else {
		code = run_statements(db, s, &t);
		if (code == DB_OK && s->csv_file && csv_keep(&t.file) < 0)
			code = DB_REFUSED;
		answer = end(r, &t, db, code);
	}
	db_close(db);
	csv_done(&t.file);
	forget_names(&t);
	text_done(&t.line);
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
	if (answer == 0)
		answer = work(&r, &s);
	job_done(&s);
	return answer;
}

static const struct runner_plugin plugin = {
	.size = sizeof plugin,
	.abi_major = RUNNER_ABI_MAJOR,
	.abi_minor = RUNNER_ABI_MINOR,
	.flags = RUNNER_NO_PROCESS,
	.name = "sql",
	.version = "1.0",
	.open = run_open,
	.close = run_close,
	.execute = sql_execute,
};

const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
