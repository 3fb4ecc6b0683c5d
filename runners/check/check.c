/* check.c — data-quality rules: README.md has them. Each rule is one statement and one number. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/apart.h"
#include "runners/common/db.h"
#include "runners/common/json.h"
#include "runners/common/run.h"

#define RULES_MAX  1000
#define WANT_BYTES 120

struct check {
	const struct run *run;
	struct db *db;
	char *table, *where;
	cJSON *rules;
	size_t level; /* 0 block, 1 warn */
	size_t n_blocked, n_warned, n_done;
	char first[160]; /* the first rule that blocks */
};

/* One rule, as it is being checked. */
struct rule {
	const cJSON *map, *what; /* the whole; the member that says its kind */
	const char *table, *where;
	char want[WANT_BYTES]; /* OP VALUE */
	const char *wrong;     /* what is wrong with how it is written */
};

static const char *text_of(const cJSON *map, const char *name, const char *fallback)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(map, name);

	return cJSON_IsString(item) ? item->valuestring : fallback;
}

static void add_from(const struct check *c, const struct rule *u, struct text *sql)
{
	text_str_add(sql, " FROM ");
	db_quote_name(c->db, u->table, sql);
	if (u->where)
		text_addf(sql, " WHERE (%s)", u->where);
}

static void check_want(struct rule *u, const char *text)
{
	snprintf(u->want, sizeof u->want, "%s", text);
}

/* rows: "> 0" */
static void make_rows(const struct check *c, struct rule *u, struct text *sql)
{
	struct text value = { 0 };

	json_text(u->what, &value);
	check_want(u, text_str(&value));
	text_done(&value);
	text_str_add(sql, "SELECT count(*)");
	add_from(c, u, sql);
}

/* null_rate: column, max: 0.01 */
static void make_null_rate(const struct check *c, struct rule *u, struct text *sql)
{
	const cJSON *max = cJSON_GetObjectItemCaseSensitive(u->map, "max");
	struct text value = { 0 };

	if (!cJSON_IsString(u->what)) {
		u->wrong = "null_rate: want a column";
		return;
	}
	json_text(max, &value);
	snprintf(u->want, sizeof u->want, "<= %s", max ? text_str(&value) : "0");
	text_done(&value);
	text_str_add(sql, "SELECT CASE WHEN count(*) = 0 THEN 0 ELSE 1.0 - count(");
	db_quote_column(c->db, u->what->valuestring, sql);
	text_str_add(sql, ") * 1.0 / count(*) END");
	add_from(c, u, sql);
}

/* unique: column, or a list of them; the number of values that are there more than once. */
static void make_unique(const struct check *c, struct rule *u, struct text *sql)
{
	struct text columns = { 0 };
	const cJSON *item, *list = cJSON_IsArray(u->what) ? u->what : NULL;

	if (cJSON_IsString(u->what))
		db_quote_column(c->db, u->what->valuestring, &columns);
	cJSON_ArrayForEach(item, list) {
		text_str_add(&columns, columns.len ? ", " : "");
		db_quote_column(c->db, cJSON_IsString(item) ? item->valuestring : "", &columns);
	}
	if (!columns.len)
		u->wrong = "unique: want a column, or a list of them";
	check_want(u, "= 0");
	text_addf(sql, "SELECT count(*) FROM (SELECT %s", text_str(&columns));
	add_from(c, u, sql);
	text_addf(sql, " GROUP BY %s HAVING count(*) > 1) twice", text_str(&columns));
	text_done(&columns);
}

static bool add_bound(struct check *c, const struct rule *u, const char *name, const char *op,
                      bool is_second, struct text *sql)
{
	const cJSON *bound = cJSON_GetObjectItemCaseSensitive(u->map, name);
	struct text value = { 0 };

	if (!bound)
		return false;
	json_text(bound, &value);
	text_str_add(sql, is_second ? " OR " : "");
	db_quote_column(c->db, u->what->valuestring, sql);
	text_str_add(sql, op);
	if (cJSON_IsNumber(bound))
		text_str_add(sql, text_str(&value));
	else
		db_quote(c->db, text_str(&value), value.len, sql);
	text_done(&value);
	return true;
}

/* range: column, min: .., max: ..; the number of rows outside. NULL is no value. */
static void make_range(const struct check *c, struct rule *u, struct text *sql)
{
	struct check *own = (struct check *)c;
	struct text outside = { 0 };
	bool has_min, has_max;

	if (!cJSON_IsString(u->what)) {
		u->wrong = "range: want a column";
		return;
	}
	has_min = add_bound(own, u, "min", " < ", false, &outside);
	has_max = add_bound(own, u, "max", " > ", has_min, &outside);
	if (!has_min && !has_max)
		u->wrong = "range: want min, max, or both";
	check_want(u, "= 0");
	text_str_add(sql, "SELECT count(*)");
	add_from(c, u, sql);
	text_addf(sql, "%s (%s)", u->where ? " AND" : " WHERE", text_str(&outside));
	text_done(&outside);
}

/* sql: a statement with one value, expect: OP VALUE (default: = 0) */
static void make_sql(const struct check *c, struct rule *u, struct text *sql)
{
	const cJSON *expect = cJSON_GetObjectItemCaseSensitive(u->map, "expect");
	struct text value = { 0 };

	(void)c;
	json_text(expect, &value);
	check_want(u, expect ? text_str(&value) : "= 0");
	text_done(&value);
	if (!cJSON_IsString(u->what))
		u->wrong = "sql: want a statement";
	else
		text_str_add(sql, u->what->valuestring);
}

static const struct kind {
	const char *name;
	void (*make)(const struct check *c, struct rule *u, struct text *sql);
	bool has_table;
} kinds[] = {
	{ "rows", make_rows, true },     { "null_rate", make_null_rate, true },
	{ "unique", make_unique, true }, { "range", make_range, true },
	{ "sql", make_sql, false },
};

static const struct kind *kind_of(const cJSON *map, const cJSON **ret_what)
{
	const struct kind *found = NULL;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const cJSON *what = cJSON_GetObjectItemCaseSensitive(map, kinds[i].name);

		if (!what)
			continue;
		if (found)
			return NULL;
		found = &kinds[i];
		*ret_what = what;
	}
	return found;
}

/* 0, or the answer of the plugin when the rule is none. */
static int make_rule(struct check *c, const cJSON *map, struct rule *u, struct text *sql)
{
	*u = (struct rule){ .map = map };
	const struct kind *kind = kind_of(map, &u->what);

	u->table = text_of(map, "table", c->table);
	u->where = text_of(map, "where", c->where);
	if (!kind)
		u->wrong = "want exactly one of rows, null_rate, unique, range, sql";
	else if (kind->has_table && !u->table)
		u->wrong = "of which table: there is no table, neither the rule's nor the task's";
	else
		kind->make(c, u, sql);
	return u->wrong ? run_refuse(c->run, "rule %zu: %s", c->n_done + 1, u->wrong) : 0;
}

static int level_of(struct check *c, const cJSON *map, bool *ret_warns)
{
	const char *level = text_of(map, "level", c->level ? "warn" : "block");

	*ret_warns = !strcmp(level, "warn");
	if (*ret_warns || !strcmp(level, "block"))
		return 0;
	return run_refuse(c->run, "rule %zu: level is '%.40s', want block or warn", c->n_done + 1,
	                  level);
}

static void check_settle(struct check *c, const struct rule *u, const char *found, bool warns)
{
	const char *name = text_of(u->map, "name", NULL), *kind = u->what->string;
	const bool has_column = cJSON_IsString(u->what) && strcmp(kind, "sql") != 0 &&
	                        strcmp(kind, "rows") != 0;
	char own[80];

	snprintf(own, sizeof own, "%s%s%s", kind, has_column ? " " : "",
	         has_column ? u->what->valuestring : "");
	bool holds = json_compares(found, u->want);

	run_log(c->run, "%s rule %zu, %.80s: found %.80s, want %s",
	        holds   ? "ok   "
	        : warns ? "WARN "
	                : "BLOCK",
	        c->n_done, name ? name : own, found, u->want);
	if (name)
		run_output(c->run, name, "%s", found);
	if (holds)
		return;
	c->n_warned += warns;
	if (!warns && c->n_blocked++ == 0)
		snprintf(c->first, sizeof c->first, "%.60s: found %.40s, want %.40s",
		         name ? name : own, found, u->want);
}

/* 0, or the plugin's answer. */
static int check_rule(struct check *c, const cJSON *map, bool *ret_is_over)
{
	struct text sql = { 0 }, found = { .max = 4096 };
	struct rule u;
	bool warns = false, is_row = false, is_null = false;
	char where[40];
	int answer = make_rule(c, map, &u, &sql);

	if (answer == 0)
		answer = level_of(c, map, &warns);
	*ret_is_over = answer < 0;
	if (answer == 0) {
		int code = db_ask(c->db, text_str(&sql), &found, &is_row, &is_null);

		snprintf(where, sizeof where, "rule %zu", ++c->n_done);
		*ret_is_over = code < 0;
		if (code < 0)
			answer = db_end(c->run, c->db, code, where);
		else
			check_settle(c, &u,
			             !is_row   ? "no row"
			             : is_null ? "NULL"
			                       : text_str(&found),
			             warns);
	}
	text_done(&sql);
	text_done(&found);
	return answer;
}

/* All rules are read before the first is asked. */
static int read_rules(struct check *c)
{
	const cJSON *map;
	int answer = 0;

	cJSON_ArrayForEach(map, c->rules) {
		struct text sql = { 0 };
		struct rule u;
		bool warns;

		if (answer == 0)
			answer = make_rule(c, map, &u, &sql);
		if (answer == 0)
			answer = level_of(c, map, &warns);
		text_done(&sql);
		c->n_done++;
	}
	c->n_done = 0;
	return answer;
}

static int check_all(struct check *c)
{
	const cJSON *map;
	int n = cJSON_GetArraySize(c->rules);

	if (read_rules(c) < 0)
		return RUNNER_FAILED;
	cJSON_ArrayForEach(map, c->rules) {
		bool is_over;
		int answer = check_rule(c, map, &is_over);

		if (is_over)
			return answer;
		run_progress(c->run, (uint32_t)(c->n_done * 1000 / (size_t)n), "%zu of %d rules",
		             c->n_done, n);
	}
	run_output(c->run, "blocked", "%zu", c->n_blocked);
	run_output(c->run, "warned", "%zu", c->n_warned);
	if (c->n_blocked)
		return run_end(c->run, RUNNER_BY_CODE, "%zu of %d rules are broken; %s",
		               c->n_blocked, n, c->first);
	if (c->n_warned) {
		run_end(c->run, RUNNER_BY_CODE, "%zu of %d rules warn", c->n_warned, n);
		c->run->result->exit_code = 0;
	}
	return RUNNER_DONE;
}

static int read_all(struct check *c)
{
	static const char *const levels[] = { "block", "warn", NULL };

	c->table = run_text(c->run, "table");
	c->where = run_text(c->run, "where");
	if (run_objects(c->run, "rules", &c->rules) < 0 ||
	    run_choice(c->run, "level", levels, &c->level) < 0)
		return RUNNER_FAILED;
	int n = cJSON_GetArraySize(c->rules);

	if (n < 1 || n > RULES_MAX)
		return run_refuse(c->run, "parameter rules: want 1 to %d of them", RULES_MAX);
	return 0;
}

static int check_execute(void *self, void *state, const struct runner_job *job,
                         struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct check c = { .run = &r };
	struct db_where where = { 0 };
	int answer = read_all(&c);

	(void)self;
	(void)state;
	if (answer == 0)
		answer = db_where_read(&r, "server", "", &where);
	if (answer == 0 && where.kind == DB_SQLITE)
		answer = apart_begin(&r);
	if (answer == 0) {
		int code = db_open(&r, &where, &c.db);

		answer = code < 0 ? db_end(&r, c.db, code, "connect") : check_all(&c);
	}
	db_close(c.db);
	db_where_done(&where);
	cJSON_Delete(c.rules);
	free(c.table);
	free(c.where);
	return answer;
}

RUN_PLUGIN("check", .flags = RUNNER_NO_PROCESS, .open = apart_open, .close = run_close,
           .execute = check_execute);
