/* MySQL and MariaDB, by the connector's calls that answer "wait" instead of waiting: so a statement
 * is cancelled (KILL QUERY, over a second connection) while it runs. */
#include <mariadb/mysql.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "runners/common/db_clear.h"
#include "runners/common/db_impl.h"
#include "runners/common/run.h"

#define PORT          3306
#define CONNECT_S     15
#define KILL_S        5
#define PATIENCE_MS   10000 /* for a killed statement to end */
#define LOST_FIRST    2000  /* the connector's own errors */
#define LOST_LAST     2999
#define ER_NO_SERVERS 1040 /* too many connections */
#define NOT_ALLOWED   5010 /* of the connector: a plugin that is not in its list */

struct my {
	struct db db; /* first */
	MYSQL *conn;
	const struct db_where *where; /* while open() runs, and copied for the kill */
	struct db_where copy;
	int64_t told_ms; /* when the statement was killed; 0: it was not */
	bool is_stopped, is_up;
};

static struct my *my_of(struct db *db)
{
	return (struct my *)db;
}

/* Plugins that answer a challenge and show the password to nobody. Those that are left out send it
 * as it is, over TLS, or sealed with a key that the server names. */
#define CHALLENGES "mysql_native_password,client_ed25519"

static void set_options(MYSQL *conn, const struct db_where *w, unsigned timeout_s)
{
	const unsigned off = 0;
	const char yes = 1, verify = w->tls == DB_TLS_VERIFY;

	mysql_optionsv(conn, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
	mysql_optionsv(conn, MYSQL_OPT_LOCAL_INFILE, &off);
	mysql_optionsv(conn, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (db_clear_is_wanted(w) && w->password && w->password[0])
		mysql_optionsv(conn, MARIADB_OPT_RESTRICTED_AUTH, CHALLENGES);
	if (w->tls == DB_TLS_OFF || w->tls == DB_TLS_TRUSTED)
		return;
	mysql_optionsv(conn, MYSQL_OPT_SSL_ENFORCE, &yes);
	mysql_optionsv(conn, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
	mysql_ssl_set(conn, NULL, NULL, w->ca_file, NULL, NULL);
}

/* The connector goes on in clear text when the server has no TLS, whatever it was told. */
static bool is_safe(MYSQL *conn, const struct db_where *w)
{
	return w->tls == DB_TLS_OFF || w->tls == DB_TLS_TRUSTED || mysql_get_ssl_cipher(conn);
}

/* A host that begins with a slash is a socket. */
static const char *host_of(const struct db_where *w)
{
	return !w->host ? "127.0.0.1" : w->host[0] == '/' ? NULL : w->host;
}

static const char *socket_of(const struct db_where *w)
{
	return w->host && w->host[0] == '/' ? w->host : NULL;
}

static unsigned port_of(const struct db_where *w)
{
	return w->port ? (unsigned)w->port : PORT;
}

static bool kill_query(struct my *m)
{
	const struct db_where *w = &m->copy;
	unsigned timeout_s = KILL_S;
	MYSQL *second = mysql_init(NULL);
	char sql[64];
	bool is_done;

	if (!second)
		return false;
	set_options(second, w, timeout_s);
	mysql_optionsv(second, MYSQL_OPT_READ_TIMEOUT, &timeout_s);
	snprintf(sql, sizeof sql, "KILL QUERY %lu", mysql_thread_id(m->conn));
	is_done = mysql_real_connect(second, host_of(w), w->user, w->password, NULL, port_of(w),
	                             socket_of(w), 0) &&
	          is_safe(second, w) && mysql_query(second, sql) == 0;
	if (!is_done)
		run_log(m->db.run, "the statement could not be cancelled on the server: %s",
		        mysql_error(second));
	mysql_close(second);
	return is_done;
}

/* The job should stop: have the server end the statement, or hang up. */
static void mysql_stop(struct my *m)
{
	int64_t now_ms = run_now_ms();

	if (!m->is_stopped) {
		m->is_stopped = true;
		m->told_ms = now_ms;
		if (m->is_up && kill_query(m))
			return;
	} else if (now_ms - m->told_ms < PATIENCE_MS) {
		return;
	}
	shutdown(mysql_get_socket(m->conn), SHUT_RDWR);
}

/* Wait for what the connector asks for; the answer goes to its _cont call. */
static int mysql_await(struct my *m, int status)
{
	struct pollfd p = { .fd = mysql_get_socket(m->conn) };
	int64_t left_ms = status & MYSQL_WAIT_TIMEOUT ? (int64_t)mysql_get_timeout_value_ms(m->conn)
	                                              : -1;

	if (status & MYSQL_WAIT_READ)
		p.events |= POLLIN;
	if (status & MYSQL_WAIT_WRITE)
		p.events |= POLLOUT;
	if (status & MYSQL_WAIT_EXCEPT)
		p.events |= POLLPRI;
	for (int64_t end_ms = run_now_ms() + left_ms;;) {
		if (run_cancelled(m->db.run))
			mysql_stop(m);
		if (poll(&p, 1, DB_TICK_MS) > 0)
			return (p.revents & POLLOUT ? MYSQL_WAIT_WRITE : 0) |
			       (p.revents & POLLPRI ? MYSQL_WAIT_EXCEPT : 0) |
			       (p.revents & (POLLIN | POLLHUP | POLLERR) ? MYSQL_WAIT_READ : 0);
		if (left_ms >= 0 && run_now_ms() >= end_ms)
			return MYSQL_WAIT_TIMEOUT;
	}
}

static int mysql_fail(struct my *m)
{
	unsigned code = mysql_errno(m->conn);
	const bool is_away = (code >= LOST_FIRST && code <= LOST_LAST) || code == ER_NO_SERVERS ||
	                     !m->is_up;

	if (m->is_stopped)
		return DB_STOPPED;
	/* The connector's own sentence names no plugin where the server changed to another. */
	if (code == NOT_ALLOWED)
		return db_clear_refuse(&m->db, "not by a challenge");
	return db__set(&m->db, is_away ? DB_AWAY : DB_FAILED, "%u %s", code, mysql_error(m->conn));
}

static int my_open(struct db *db, const struct db_where *w)
{
	struct my *m = my_of(db);
	MYSQL *ret = NULL;

	m->copy = (struct db_where){ .kind = w->kind,
		                     .tls = w->tls,
		                     .port = w->port,
		                     .host = w->host ? strdup(w->host) : NULL,
		                     .user = w->user ? strdup(w->user) : NULL,
		                     .password = w->password ? strdup(w->password) : NULL,
		                     .ca_file = w->ca_file ? strdup(w->ca_file) : NULL };
	m->conn = mysql_init(NULL);
	if (!m->conn)
		return db__set(db, DB_FAILED, "out of memory");
	mysql_optionsv(m->conn, MYSQL_OPT_NONBLOCK, NULL);
	set_options(m->conn, w, CONNECT_S);
	int status = mysql_real_connect_start(&ret, m->conn, host_of(w), w->user, w->password,
	                                      w->database, port_of(w), socket_of(w),
	                                      CLIENT_MULTI_STATEMENTS | CLIENT_FOUND_ROWS);

	while (status)
		status = mysql_real_connect_cont(&ret, m->conn, mysql_await(m, status));
	if (!ret)
		return mysql_fail(m);
	m->is_up = true;
	if (!is_safe(m->conn, w))
		return db__set(db, DB_FAILED, "the server offers no TLS, and tls is not off");
	return DB_OK;
}

#define BINARY_CHARSET 63

static const struct {
	enum enum_field_types field;
	struct db_type type;
} types[] = {
	{ MYSQL_TYPE_TINY, { DB_NUMBER, "tinyint" } },
	{ MYSQL_TYPE_SHORT, { DB_NUMBER, "smallint" } },
	{ MYSQL_TYPE_INT24, { DB_NUMBER, "mediumint" } },
	{ MYSQL_TYPE_LONG, { DB_NUMBER, "int" } },
	{ MYSQL_TYPE_LONGLONG, { DB_NUMBER, "bigint" } },
	{ MYSQL_TYPE_FLOAT, { DB_NUMBER, "float" } },
	{ MYSQL_TYPE_DOUBLE, { DB_NUMBER, "double" } },
	{ MYSQL_TYPE_DECIMAL, { DB_NUMBER, "decimal" } },
	{ MYSQL_TYPE_NEWDECIMAL, { DB_NUMBER, "decimal" } },
	{ MYSQL_TYPE_YEAR, { DB_NUMBER, "year" } },
	{ MYSQL_TYPE_DATE, { DB_DATE, "date" } },
	{ MYSQL_TYPE_NEWDATE, { DB_DATE, "date" } },
	{ MYSQL_TYPE_TIME, { DB_TIME, "time" } },
	{ MYSQL_TYPE_DATETIME, { DB_STAMP, "datetime" } },
	{ MYSQL_TYPE_TIMESTAMP, { DB_INSTANT, "timestamp" } },
	{ MYSQL_TYPE_BIT, { DB_BITS, "bit" } },
	{ MYSQL_TYPE_JSON, { DB_TEXT, "json" } },
	{ MYSQL_TYPE_GEOMETRY, { DB_SHAPE, "geometry" } },
};

static struct db_type type_of(const MYSQL_FIELD *field)
{
	MARIADB_CONST_STRING name = { 0 };

	/* MariaDB's own types are strings, with a name besides. */
	if (mariadb_field_attr(&name, field, MARIADB_FIELD_ATTR_DATA_TYPE_NAME) == 0 &&
	    name.length == 4 && memcmp(name.str, "uuid", 4) == 0)
		return (struct db_type){ DB_UUID, "uuid" };
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (types[i].field == field->type)
			return types[i].type;
	return field->charsetnr == BINARY_CHARSET ? (struct db_type){ DB_BYTES, "binary" }
	                                          : (struct db_type){ DB_TEXT, "text" };
}

static int give_types(const struct db_sink *sink, const MYSQL_FIELD *fields, size_t n)
{
	struct db_type *all = sink && sink->types ? calloc(n + 1, sizeof *all) : NULL;
	int code = DB_OK;

	for (size_t i = 0; all && i < n; i++)
		all[i] = type_of(&fields[i]);
	if (all)
		code = db__types(sink, n, all);
	free(all);
	return code;
}

static int give_columns(const struct db_sink *sink, MYSQL_RES *result, size_t n)
{
	const MYSQL_FIELD *fields = mysql_fetch_fields(result);
	const char **names = calloc(n + 1, sizeof *names);
	int code = names ? give_types(sink, fields, n) : DB_REFUSED;

	for (size_t i = 0; names && i < n; i++)
		names[i] = fields[i].name;
	if (code == DB_OK)
		code = db__columns(sink, n, names);
	free(names);
	return code;
}

static int give_rows(struct my *m, const struct db_sink *sink, MYSQL_RES *result, size_t n)
{
	size_t *lens = calloc(n + 1, sizeof *lens);
	int code = lens ? DB_OK : DB_REFUSED;

	while (code == DB_OK) {
		MYSQL_ROW row = NULL;
		int status = mysql_fetch_row_start(&row, result);

		while (status)
			status = mysql_fetch_row_cont(&row, result, mysql_await(m, status));
		if (!row)
			break;
		const unsigned long *found = mysql_fetch_lengths(result);

		for (size_t i = 0; i < n; i++)
			lens[i] = found[i];
		code = db__row(sink, n, (const char *const *)row, lens);
		if (run_cancelled(m->db.run))
			code = DB_STOPPED;
	}
	free(lens);
	if (code == DB_OK && mysql_errno(m->conn))
		code = mysql_fail(m);
	return code;
}

static int take_result(struct my *m, const struct db_sink *sink)
{
	MYSQL_RES *result = mysql_use_result(m->conn);

	if (!result && mysql_field_count(m->conn))
		return mysql_fail(m);
	if (!result)
		return db__done(sink, (int64_t)mysql_affected_rows(m->conn));
	size_t n = mysql_num_fields(result);
	int code = give_columns(sink, result, n);

	if (code == DB_OK)
		code = give_rows(m, sink, result, n);
	/* What is left of a result nobody wants would all be read: hang up instead. */
	if (code != DB_OK && code != DB_FAILED)
		shutdown(mysql_get_socket(m->conn), SHUT_RDWR);
	mysql_free_result(result);
	return code == DB_OK ? db__done(sink, -1) : code;
}

static int my_run(struct db *db, const char *sql, const struct db_sink *sink)
{
	struct my *m = my_of(db);
	int ret = 0, code = DB_OK;
	int status = mysql_real_query_start(&ret, m->conn, sql, strlen(sql));

	while (status)
		status = mysql_real_query_cont(&ret, m->conn, mysql_await(m, status));
	while (code == DB_OK) {
		if (ret > 0)
			code = mysql_fail(m);
		else if (!m->is_stopped)
			code = take_result(m, sink);
		/* MySQL answers a killed SLEEP() with a row. */
		if (m->is_stopped)
			code = DB_STOPPED;
		if (code != DB_OK || !mysql_more_results(m->conn))
			break;
		status = mysql_next_result_start(&ret, m->conn);
		while (status)
			status = mysql_next_result_cont(&ret, m->conn, mysql_await(m, status));
	}
	return code;
}

static void my_quote(struct db *db, const char *value, size_t len, struct text *out)
{
	char *made = malloc(len * 2 + 1);

	if (!made) {
		out->is_over = true;
		return;
	}
	size_t n = mysql_real_escape_string(my_of(db)->conn, made, value, len);

	text_str_add(out, "'");
	text_add(out, made, n);
	text_str_add(out, "'");
	free(made);
}

static void my_close(struct db *db)
{
	struct my *m = my_of(db);

	if (m->conn)
		mysql_close(m->conn);
	db_where_done(&m->copy);
	free(m);
}

const struct db_ops db__mysql = { sizeof(struct my), my_open, my_run, my_quote, my_close };
