/* PostgreSQL, by libpq's calls that do not wait; a statement is cancelled with PQcancel(). */
#include <poll.h>
#include <postgresql/libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/db_clear.h"
#include "runners/common/db_impl.h"
#include "runners/common/run.h"

#define CONNECT_MS  15000
#define PATIENCE_MS 10000 /* for a cancelled statement to end */

struct pg {
	struct db db; /* first */
	PGconn *conn;
	struct db_clear clear;
	int64_t told_ms;
	bool is_stopped, is_up;
};

static struct pg *pg_of(struct db *db)
{
	return (struct pg *)db;
}

static void on_notice(void *ctx, const char *text)
{
	struct pg *p = ctx;

	run_log(p->db.run, "%.*s", (int)strcspn(text, "\n"), text);
}

static int postgres_fail(struct pg *p)
{
	if (p->is_stopped)
		return DB_STOPPED;
	return db__set(&p->db,
	               !p->is_up || PQstatus(p->conn) == CONNECTION_BAD ? DB_AWAY : DB_FAILED, "%s",
	               PQerrorMessage(p->conn));
}

/* -1: it is told to stop and does not end. */
static int postgres_stop(struct pg *p)
{
	PGcancel *cancel;
	char why[256] = "no memory";

	if (p->is_stopped)
		return run_now_ms() - p->told_ms < PATIENCE_MS ? 0 : -1;
	p->is_stopped = true;
	p->told_ms = run_now_ms();
	if (!p->is_up)
		return -1;
	cancel = PQgetCancel(p->conn);
	if (!cancel || !PQcancel(cancel, why, sizeof why))
		run_log(p->db.run, "the statement could not be cancelled on the server: %s", why);
	PQfreeCancel(cancel);
	return 0;
}

/* Until the socket is ready for one of `events`; end_ms 0: no end. */
static int postgres_await(struct pg *p, short events, int64_t end_ms)
{
	struct pollfd fd = { .fd = PQsocket(p->conn), .events = events };

	for (;;) {
		if (run_cancelled(p->db.run) && postgres_stop(p) < 0)
			return DB_STOPPED;
		if (poll(&fd, 1, DB_TICK_MS) != 0)
			return DB_OK;
		if (end_ms && run_now_ms() >= end_ms)
			return db__set(&p->db, DB_AWAY, "no answer within %d s", CONNECT_MS / 1000);
	}
}

static PGconn *start(const struct db_where *w, bool *ret_is_bound)
{
	char port[16] = "";
	const char *mode, *binding;

	db_clear_modes(w, &mode, &binding);
	*ret_is_bound = binding;
	const char *const names[] = { "host",
		                      "port",
		                      "user",
		                      "password",
		                      "dbname",
		                      "sslmode",
		                      "sslrootcert",
		                      "application_name",
		                      "client_encoding",
		                      "channel_binding",
		                      NULL };
	const char *const values[] = { w->host ? w->host : "127.0.0.1",
		                       port,
		                       w->user,
		                       w->password,
		                       w->database,
		                       mode,
		                       w->ca_file,
		                       "sirdar",
		                       "UTF8",
		                       binding,
		                       NULL };

	if (w->port)
		snprintf(port, sizeof port, "%d", (int)w->port);
	return PQconnectStartParams(names, values, 0);
}

/* Libpq ends the connection where it wants SCRAM bound to it, and is asked otherwise. */
static int connect_fail(struct pg *p)
{
	if (p->clear.is_bound && strstr(PQerrorMessage(p->conn), "channel binding"))
		return db_clear_refuse(&p->db, "not by SCRAM that is bound to TLS");
	return postgres_fail(p);
}

static int connect_wait(struct pg *p, int64_t end_ms)
{
	for (PostgresPollingStatusType s = PGRES_POLLING_WRITING; s != PGRES_POLLING_OK;) {
		int code;

		if (!db_clear_passes(&p->clear))
			return db_clear_refuse(&p->db, "in clear text");
		if (s == PGRES_POLLING_FAILED || PQstatus(p->conn) == CONNECTION_BAD)
			return connect_fail(p);
		code = postgres_await(p, s == PGRES_POLLING_READING ? POLLIN : POLLOUT, end_ms);
		if (code < 0)
			return code;
		s = PQconnectPoll(p->conn);
	}
	return DB_OK;
}

static int pg_open(struct db *db, const struct db_where *w)
{
	struct pg *p = pg_of(db);
	bool is_bound;
	int code;

	p->conn = start(w, &is_bound);
	if (!p->conn)
		return db__set(db, DB_FAILED, "out of memory");
	PQsetNoticeProcessor(p->conn, on_notice, p);
	if (db_clear_is_wanted(w) && db_clear_begin(&p->clear, p->conn, is_bound) < 0)
		return db__set(db, DB_FAILED, "out of memory");
	code = connect_wait(p, run_now_ms() + CONNECT_MS);
	db_clear_end(&p->clear);
	if (code < 0)
		return code;
	p->is_up = true;
	return PQsetnonblocking(p->conn, 1) < 0 ? postgres_fail(p) : DB_OK;
}

/* The next result, NULL at the end. */
static int next_result(struct pg *p, PGresult **ret)
{
	int left, code;

	while ((left = PQflush(p->conn)) != 0 || PQisBusy(p->conn)) {
		if (left < 0)
			return postgres_fail(p);
		code = postgres_await(p, (short)(POLLIN | (left ? POLLOUT : 0)), 0);
		if (code < 0)
			return code;
		if (!PQconsumeInput(p->conn))
			return postgres_fail(p);
	}
	*ret = PQgetResult(p->conn);
	return DB_OK;
}

/* The rows of one result; room for its columns is made once. */
struct shape {
	size_t n;
	const char **values;
	size_t *lens;
	bool is_open;
};

/* By the numbers that PostgreSQL's catalogue gives them; those it has no row for go as text. */
static const struct {
	Oid oid;
	struct db_type type;
} types[] = {
	{ 16, { DB_BOOLEAN, "boolean" } },
	{ 17, { DB_BYTES, "bytea" } },
	{ 20, { DB_NUMBER, "bigint" } },
	{ 21, { DB_NUMBER, "smallint" } },
	{ 23, { DB_NUMBER, "integer" } },
	{ 700, { DB_NUMBER, "real" } },
	{ 701, { DB_NUMBER, "double" } },
	{ 1082, { DB_DATE, "date" } },
	{ 1083, { DB_TIME, "time" } },
	{ 1114, { DB_STAMP, "timestamp" } },
	{ 1184, { DB_INSTANT, "timestamptz" } },
	{ 1266, { DB_ZONED_TIME, "timetz" } },
	{ 1560, { DB_BITS, "bit" } },
	{ 1562, { DB_BITS, "varbit" } },
	{ 1700, { DB_NUMBER, "numeric" } },
	{ 2950, { DB_UUID, "uuid" } },
};

static int give_types(const struct db_sink *sink, const PGresult *result, size_t n)
{
	struct db_type *all = sink && sink->types ? calloc(n + 1, sizeof *all) : NULL;
	int code = DB_OK;

	for (size_t c = 0; all && c < n; c++) {
		all[c].name = "text";
		for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
			if (types[i].oid == PQftype(result, (int)c))
				all[c] = types[i].type;
	}
	if (all)
		code = db__types(sink, n, all);
	free(all);
	return code;
}

static int give_columns(const struct db_sink *sink, const PGresult *result, struct shape *s)
{
	s->n = (size_t)PQnfields(result);
	free(s->values);
	free(s->lens);
	s->values = calloc(s->n + 1, sizeof *s->values);
	s->lens = calloc(s->n + 1, sizeof *s->lens);
	if (!s->values || !s->lens)
		return DB_REFUSED;
	s->is_open = true;
	if (give_types(sink, result, s->n) < 0)
		return DB_REFUSED;
	for (size_t i = 0; i < s->n; i++)
		s->values[i] = PQfname(result, (int)i);
	return db__columns(sink, s->n, s->values);
}

static int give_rows(const struct db_sink *sink, const PGresult *result, struct shape *s)
{
	int code = s->is_open ? DB_OK : give_columns(sink, result, s);

	for (int i = 0; code == DB_OK && i < PQntuples(result); i++) {
		for (size_t c = 0; c < s->n; c++) {
			bool is_null = PQgetisnull(result, i, (int)c);

			s->values[c] = is_null ? NULL : PQgetvalue(result, i, (int)c);
			s->lens[c] = (size_t)PQgetlength(result, i, (int)c);
		}
		code = db__row(sink, s->n, s->values, s->lens);
	}
	if (code == DB_OK && PQresultStatus(result) == PGRES_TUPLES_OK) {
		s->is_open = false;
		code = db__done(sink, -1);
	}
	return code;
}

static int take_result(struct pg *p, const struct db_sink *sink, const PGresult *result,
                       struct shape *s)
{
	switch (PQresultStatus(result)) {
	case PGRES_SINGLE_TUPLE:
	case PGRES_TUPLES_OK:
		return give_rows(sink, result, s);
	case PGRES_COMMAND_OK:
		return db__done(sink, strtoll(PQcmdTuples((PGresult *)result), NULL, 10));
	case PGRES_EMPTY_QUERY:
		return DB_OK;
	case PGRES_COPY_IN:
	case PGRES_COPY_OUT:
	case PGRES_COPY_BOTH:
		return db__set(&p->db, DB_FAILED, "COPY with the client is not supported");
	default:
		return p->is_stopped
		               ? DB_STOPPED
		               : db__set(&p->db,
		                         PQstatus(p->conn) == CONNECTION_BAD ? DB_AWAY : DB_FAILED,
		                         "%s %s",
		                         PQresultErrorField(result, PG_DIAG_SQLSTATE)
		                                 ? PQresultErrorField(result, PG_DIAG_SQLSTATE)
		                                 : "",
		                         PQresultErrorMessage(result));
	}
}

static int pg_run(struct db *db, const char *sql, const struct db_sink *sink)
{
	struct pg *p = pg_of(db);
	struct shape shape = { 0 };
	PGresult *result = NULL;
	int code = DB_OK;

	if (!PQsendQuery(p->conn, sql) || !PQsetSingleRowMode(p->conn))
		return postgres_fail(p);
	while (code == DB_OK) {
		code = next_result(p, &result);
		if (code < 0 || !result)
			break;
		code = take_result(p, sink, result, &shape);
		PQclear(result);
		if (p->is_stopped)
			code = DB_STOPPED;
	}
	/* An error ends the text of statements; what is left of an answer nobody wants is not
	 * read: such a connection takes no more. */
	while (code == DB_FAILED && next_result(p, &result) == DB_OK && result) {
		ExecStatusType status = PQresultStatus(result);

		PQclear(result);
		if (status >= PGRES_COPY_OUT && status <= PGRES_COPY_IN)
			break;
	}
	free(shape.values);
	free(shape.lens);
	return code;
}

static void pg_quote(struct db *db, const char *value, size_t len, struct text *out)
{
	char *made = PQescapeLiteral(pg_of(db)->conn, value, len);

	if (made)
		text_str_add(out, made);
	else
		out->is_over = true;
	PQfreemem(made);
}

static void pg_close(struct db *db)
{
	struct pg *p = pg_of(db);

	PQfinish(p->conn);
	free(p);
}

const struct db_ops db__postgres = { sizeof(struct pg), pg_open, pg_run, pg_quote, pg_close };
