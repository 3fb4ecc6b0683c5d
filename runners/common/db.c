/* What the databases' drivers share: which database a job names, statements with their rows handed
 * to a sink, quoting of values and names, variables of the session. A connection belongs to one
 * job's thread. Every wait of a driver looks whether the job was told to stop. Which driver serves
 * which kind stands in db_open.c. */
#include "runners/common/db.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/apart.h"
#include "runners/common/db_impl.h"
#include "runners/common/json.h"
#include "runners/common/run.h"

static const char *const kinds[] = { "mysql", "mariadb", "postgresql", "sqlite", NULL };

int db__set(struct db *db, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(db->why, sizeof db->why, fmt, args);
	va_end(args);
	for (char *p = db->why; *p; p++) {
		if (*p == '\n')
			*p = p[1] ? ' ' : 0;
	}
	return code;
}

int db__types(const struct db_sink *sink, size_t n, const struct db_type *types)
{
	return sink && sink->types && sink->types(sink->ctx, n, types) < 0 ? DB_REFUSED : 0;
}

int db__columns(const struct db_sink *sink, size_t n, const char *const *names)
{
	return sink && sink->columns && sink->columns(sink->ctx, n, names) < 0 ? DB_REFUSED : 0;
}

int db__row(const struct db_sink *sink, size_t n, const char *const *values, const size_t *lens)
{
	return sink && sink->row && sink->row(sink->ctx, n, values, lens) < 0 ? DB_REFUSED : 0;
}

int db__done(const struct db_sink *sink, int64_t affected)
{
	return sink && sink->done && sink->done(sink->ctx, affected) < 0 ? DB_REFUSED : 0;
}

/* --- which database --------------------------------------------------------------- */

struct reader {
	const struct run *run;
	char prefix[80];
};

static const char *name_of(const struct reader *f, const char *what, char *room, size_t cap)
{
	snprintf(room, cap, "%s%s", f->prefix, what);
	return room;
}

static char *read_text(const struct reader *f, const char *what)
{
	char name[120];

	return run_text(f->run, name_of(f, what, name, sizeof name));
}

static char *read_password(const struct reader *f, const char *server)
{
	char name[120];

	if (!server)
		return run_secret(f->run, name_of(f, "password", name, sizeof name));
	snprintf(name, sizeof name, "secret.%s.password", server);
	return run_text(f->run, name);
}

static int read_where(const struct reader *f, const char *server, struct db_where *w)
{
	static const char *const tls[] = { "off", "on", "verify", "trusted", NULL };
	const char *extra = server ? "extra.tls" : "tls";
	char name[120];
	size_t i;

	if (run_choice(f->run, name_of(f, "kind", name, sizeof name), kinds, &i) < 0)
		return RUNNER_FAILED;
	w->kind = (enum db_kind)i;
	if (run_choice(f->run, name_of(f, extra, name, sizeof name), tls, &i) < 0 ||
	    run_number(f->run, name_of(f, "port", name, sizeof name), 0, 65535, 0, &w->port) < 0)
		return RUNNER_FAILED;
	w->tls = (enum db_tls)i;
	w->host = read_text(f, "host");
	w->user = read_text(f, "user");
	w->database = read_text(f, "database");
	w->ca_file = read_text(f, server ? "extra.ca_file" : "ca_file");
	w->password = read_password(f, server);
	if (w->kind == DB_SQLITE && !w->database)
		return run_refuse(f->run, "parameter %s is missing: the file of SQLite",
		                  name_of(f, "database", name, sizeof name));
	if (w->kind == DB_SQLITE && f->run->job->run_as[0] && !apart_is_wanted(f->run))
		return run_refuse(f->run,
		                  "a SQLite file is opened by the broker's own user: this task's "
		                  "run_as cannot be honoured");
	return 0;
}

int db_where_read(const struct run *r, const char *server, const char *prefix,
                  struct db_where *ret_where)
{
	struct reader f = { .run = r };
	char *named = run_text(r, server), *kind;
	int code = 0;

	*ret_where = (struct db_where){ 0 };
	if (named)
		snprintf(f.prefix, sizeof f.prefix, "%s.", server);
	else
		snprintf(f.prefix, sizeof f.prefix, "%s", prefix);
	kind = read_text(&f, "kind");
	if (!kind && named)
		code = run_refuse(r, "parameter %s: there is no target server '%.80s'", server,
		                  named);
	else if (!kind)
		code = run_refuse(r, "want parameter %s (a target server), or %skind and kin",
		                  server, prefix);
	else
		code = read_where(&f, named ? server : NULL, ret_where);
	free(kind);
	free(named);
	return code;
}

void db_where_done(struct db_where *w)
{
	run_forget(w->password);
	free(w->host);
	free(w->user);
	free(w->database);
	free(w->ca_file);
	*w = (struct db_where){ 0 };
}

/* --- a connection ----------------------------------------------------------------- */

void db_close(struct db *db)
{
	if (db)
		db->ops->close(db);
}

int db_run(struct db *db, const char *sql, const struct db_sink *sink)
{
	db->why[0] = 0;
	if (run_cancelled(db->run))
		return DB_STOPPED;
	if (db->kind == DB_SQLITE)
		return db->ops->run(db, sql, sink);
	int code = db__dial_begin(db);

	return code < 0 ? code : db__dial_end(db, db->ops->run(db, sql, sink));
}

int db_runf(struct db *db, const char *fmt, ...)
{
	char *sql = NULL;
	va_list args;

	va_start(args, fmt);
	int n = vasprintf(&sql, fmt, args);
	va_end(args);
	if (n < 0)
		return db__set(db, DB_FAILED, "out of memory");
	n = db_run(db, sql, NULL);
	free(sql);
	return n;
}

struct first {
	struct text *value;
	bool is, is_null;
};

static int take_first(void *ctx, size_t n, const char *const *values, const size_t *lens)
{
	struct first *f = ctx;

	if (!f->is && n > 0) {
		f->is = true;
		f->is_null = !values[0];
		if (values[0])
			text_add(f->value, values[0], lens[0]);
	}
	return 0;
}

int db_ask(struct db *db, const char *sql, struct text *ret_value, bool *ret_is, bool *ret_is_null)
{
	struct first f = { .value = ret_value };
	struct db_sink sink = { .ctx = &f, .row = take_first };
	int code = db_run(db, sql, &sink);

	*ret_is = f.is;
	*ret_is_null = f.is_null;
	return code;
}

const char *db_why(const struct db *db)
{
	return db && db->why[0] ? db->why : "out of memory";
}

enum db_kind db_kind(const struct db *db)
{
	return db->kind;
}

void db_quote(struct db *db, const char *value, size_t len, struct text *out)
{
	if (value)
		db->ops->quote(db, value, len, out);
	else
		text_str_add(out, "NULL");
}

static void quote_part(const struct db *db, const char *name, size_t len, struct text *out)
{
	const char quote = db->kind == DB_MYSQL || db->kind == DB_MARIADB ? '`' : '"';

	text_add(out, &quote, 1);
	for (size_t i = 0; i < len; i++) {
		if (name[i] == quote)
			text_add(out, &quote, 1);
		text_add(out, name + i, 1);
	}
	text_add(out, &quote, 1);
}

void db_quote_column(const struct db *db, const char *name, struct text *out)
{
	quote_part(db, name, strlen(name), out);
}

void db_quote_name(const struct db *db, const char *name, struct text *out)
{
	for (;;) {
		size_t len = strcspn(name, ".");

		quote_part(db, name, len, out);
		name += len;
		if (!*name)
			return;
		text_str_add(out, ".");
		name++;
	}
}

/* --- variables of the session ------------------------------------------------------ */

static const char *const set_words[] = { "SET SESSION", "SET SESSION", "SET SESSION", "PRAGMA" };

static bool is_plain_name(const char *name)
{
	return name[0] && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                                     "0123456789_.")];
}

int db_session(struct db *db, const struct cJSON *variables)
{
	const cJSON *item;
	int code = 0;

	cJSON_ArrayForEach(item, variables) {
		struct text sql = { 0 }, value = { 0 };
		int64_t number;

		if (!is_plain_name(item->string))
			return db__set(db, DB_FAILED, "session: '%.60s' is no name of a variable",
			               item->string);
		json_text(item, &value);
		text_addf(&sql, "%s %s = ", set_words[db->kind], item->string);
		if (text_number(text_str(&value), &number))
			text_str_add(&sql, text_str(&value));
		else
			db_quote(db, text_str(&value), value.len, &sql);
		code = db_run(db, text_str(&sql), NULL);
		text_done(&sql);
		text_done(&value);
		if (code < 0)
			break;
	}
	return code;
}

int db_end(const struct run *r, const struct db *db, int code, const char *where)
{
	const char *colon = where[0] ? ": " : "";

	if (code == DB_STOPPED)
		return run_stopped(r);
	const uint32_t verdict = code == DB_AWAY        ? RUNNER_RETRYABLE
	                         : code == DB_BARRED    ? RUNNER_FATAL
	                         : code == DB_NO_POLICY ? RUNNER_INFRA
	                                                : RUNNER_BY_CODE;

	return run_end(r, verdict, "%s%s%s", where, colon, db_why(db));
}
