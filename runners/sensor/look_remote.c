/* An answer of HTTP, a row of SQL. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/apart.h"
#include "runners/common/db.h"
#include "runners/common/fetch.h"
#include "runners/common/json.h"
#include "runners/common/request.h"
#include "runners/sensor/sensor.h"

/* An answer that is not as expected: not yet. */
static enum sight remote_judge(struct look *l, const struct request *q, const struct answer *a)
{
	struct runner_result *result = l->run->result;

	request_judge(l->run, q, a);
	if (result->exit_code == 0) {
		snprintf(l->found, sizeof l->found, "status %ld", a->status);
		return SIGHT_THERE;
	}
	snprintf(l->found, sizeof l->found, "%.190s", result->text);
	result->text[0] = 0;
	result->exit_code = 0;
	return SIGHT_NOT_YET;
}

enum sight look_http(struct look *l)
{
	struct request q = { 0 };
	struct answer answer = { 0 };
	char why[RUNNER_TEXT_BYTES];
	enum sight sight = SIGHT_ENDED;

	if (request_read(l->run, &q) == 0 && request_secrets(l->run, &q) == 0) {
		int code = fetch_run(l->fetcher, l->run, &q.what, &answer, why, sizeof why);

		if (code == FETCH_OK) {
			sight = remote_judge(l, &q, &answer);
		} else {
			fetch_end(l->run, code, why);
			if (code == FETCH_FAILED || code == FETCH_LATE)
				sight = SIGHT_FAILED;
		}
		answer_done(&answer);
	}
	request_done(&q);
	return sight;
}

/* SELECT 1 FROM table WHERE column = value AND ... */
static int add_partition(const struct run *r, struct db *db, const char *table,
                         const cJSON *columns, struct text *sql)
{
	const cJSON *item;
	const char *word = " WHERE ";

	text_str_add(sql, "SELECT 1 FROM ");
	db_quote_name(db, table, sql);
	cJSON_ArrayForEach(item, columns) {
		struct text value = { 0 };

		json_text(item, &value);
		text_str_add(sql, word);
		db_quote_column(db, item->string, sql);
		text_str_add(sql, " = ");
		db_quote(db, text_str(&value), value.len, sql);
		text_done(&value);
		word = " AND ";
	}
	text_str_add(sql, " LIMIT 1");
	return columns ? 0 : run_refuse(r, "parameter columns is missing: which rows of the table");
}

/* The statement: the task's, or one made of `table` and `columns`. */
static int make_sql(const struct run *r, struct db *db, struct text *sql)
{
	char *own = run_text(r, "sql"), *table = run_text(r, "table");
	cJSON *columns = NULL;
	int code = run_map(r, "columns", &columns);

	if (code == 0 && !own == !table)
		code = run_refuse(r, "want exactly one of the parameters sql, table");
	else if (code == 0 && own)
		code = db_values(r, db, own, sql);
	else if (code == 0)
		code = add_partition(r, db, table, columns, sql);
	cJSON_Delete(columns);
	free(own);
	free(table);
	return code;
}

/* There, when the first value of the first row is something: not NULL, 0, false, nor empty. */
static enum sight judge_row(struct look *l, const struct text *value, bool is_row, bool is_null)
{
	static const char *const nothing[] = { "", "0", "f", "false" };

	if (!is_row || is_null) {
		snprintf(l->found, sizeof l->found, is_row ? "the value is NULL" : "no row");
		return SIGHT_NOT_YET;
	}
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
		if (!strcmp(text_str(value), nothing[i])) {
			snprintf(l->found, sizeof l->found, "the value is '%s'", nothing[i]);
			return SIGHT_NOT_YET;
		}
	}
	run_output(l->run, "value", "%s", text_str(value));
	snprintf(l->found, sizeof l->found, "the value is '%.100s'", text_str(value));
	return SIGHT_THERE;
}

enum sight look_sql(struct look *l)
{
	struct db_where where;
	struct db *db = NULL;
	struct text sql = { 0 }, value = { .max = 4096 };
	bool is_row = false, is_null = false;
	enum sight sight = SIGHT_ENDED;

	if (db_where_read(l->run, "server", "", &where) < 0) {
		db_where_done(&where);
		return SIGHT_ENDED;
	}
	l->apart = where.kind == DB_SQLITE ? apart_begin(l->run) : 0;
	if (l->apart) {
		db_where_done(&where);
		return SIGHT_APART;
	}
	int code = db_open(l->run, &where, &db);

	if (code == DB_OK && make_sql(l->run, db, &sql) == 0) {
		code = db_ask(db, text_str(&sql), &value, &is_row, &is_null);
		if (code == DB_OK)
			sight = judge_row(l, &value, is_row, is_null);
	}
	if (code < 0) {
		db_end(l->run, db, code, "");
		sight = code == DB_STOPPED ? SIGHT_ENDED : SIGHT_FAILED;
	}
	db_close(db);
	db_where_done(&where);
	text_done(&sql);
	text_done(&value);
	return sight;
}
