/* db_clear.c — who asks for the password itself is not told.
 *
 * Libpq answers AuthenticationCleartextPassword with the password, and before version 16 has no
 * option against that. But it traces each message before it sends it (PQtrace), with its length,
 * and nothing of what is in it. While it signs in, a message that is as long as one with the
 * password would be is looked at. Without TLS it is held back: the socket is changed for one end of
 * a pair until it is read. With TLS it cannot be read; there it is refused, but for the lengths
 * that messages of SCRAM have: with such a password libpq itself is told to take SCRAM that is
 * bound to the connection (channel_binding), or nothing. */
#include "runners/common/db_clear.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD       5 /* of a message: its type, its length */
#define HELD_BYTES 16384

bool db_clear_is_wanted(const struct db_where *w)
{
	return w->tls != DB_TLS_VERIFY && w->tls != DB_TLS_TRUSTED &&
	       !(w->host && w->host[0] == '/');
}

int db_clear_refuse(struct db *db, const char *way)
{
	return db__set(
		db, DB_FAILED,
		"the server asks for the password itself (%.60s), which whoever answers "
		"there would get; it was not sent: set tls to verify (of a target server "
		"extra.tls, extra.ca_file), or to trusted where nobody else can answer there",
		way);
}

/* Of messages of SCRAM, by PostgreSQL's server: its first one, bound to TLS and not, its last one
 * not bound, and bound to certificates signed over SHA-256, 384 and 512. With their length. */
static bool is_of_scram(size_t len)
{
	static const size_t lens[] = { 54, 80, 108, 180, 200, 224 };
	bool is = false;

	for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++)
		is = is || lens[i] == len;
	return is;
}

/* The message of a password: its length, which counts itself, and a NUL. */
static size_t length_of(const char *password)
{
	return strlen(password) + HEAD;
}

void db_clear_modes(const struct db_where *w, const char **ret_mode, const char **ret_binding)
{
	static const char *const modes[] = { "prefer", "require", "verify-full", "prefer" };
	const bool is_alike = db_clear_is_wanted(w) && w->password &&
	                      is_of_scram(length_of(w->password));

	*ret_mode = is_alike && w->tls == DB_TLS_OFF ? "allow" : modes[w->tls];
	*ret_binding = is_alike && w->tls == DB_TLS_ON ? "require" : NULL;
}

/* Libpq's socket is one end of the pair from now on. */
static bool hold_back(struct db_clear *c)
{
	if (c->real >= 0)
		return true; /* behind the one that is held */
	c->fd = PQsocket(c->conn);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, c->pair) < 0)
		return false;
	c->real = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
	return c->real >= 0 && dup3(c->pair[0], c->fd, O_CLOEXEC) >= 0;
}

/* The message that libpq is about to send. */
static void judge_length(struct db_clear *c, size_t len)
{
	bool may_be = len == length_of(PQpass(c->conn));

	if (!may_be || (PQsslInUse(c->conn) ? c->is_bound : hold_back(c)))
		return;
	c->is_asked = true;
	shutdown(PQsocket(c->conn), SHUT_RDWR);
}

static void judge_line(struct db_clear *c)
{
	char *end;

	if (strncmp(c->line, "F\t", 2) != 0)
		return;
	size_t len = strtoul(c->line + 2, &end, 10);

	if (*end != '\t')
		return;
	c->is_heard = true;
	if (PQstatus(c->conn) == CONNECTION_AWAITING_RESPONSE)
		judge_length(c, len);
}

static ssize_t on_trace(void *ctx, const char *text, size_t n)
{
	struct db_clear *c = ctx;

	for (size_t i = 0; i < n; i++) {
		if (text[i] != '\n' && c->n + 1 < sizeof c->line) {
			c->line[c->n++] = text[i];
			c->line[c->n] = 0;
		}
		if (text[i] != '\n')
			continue;
		judge_line(c);
		c->n = 0;
		c->line[0] = 0;
	}
	return (ssize_t)n;
}

int db_clear_begin(struct db_clear *c, PGconn *conn, bool is_bound)
{
	*c = (struct db_clear){ .fd = -1, .real = -1, .pair = { -1, -1 }, .is_bound = is_bound };
	if (!PQpass(conn)[0])
		return 0;
	c->trace = fopencookie(c, "w", (cookie_io_functions_t){ .write = on_trace });
	if (!c->trace)
		return -1;
	c->conn = conn;
	setvbuf(c->trace, NULL, _IONBF, 0);
	PQtrace(conn, c->trace);
	PQsetTraceFlags(conn, PQTRACE_SUPPRESS_TIMESTAMPS);
	return 0;
}

/* Is one of these messages the password? What is no whole message may be. */
static bool has_password(const char *data, size_t n, const char *password)
{
	const size_t len = strlen(password);

	while (n >= HEAD) {
		const unsigned char *u = (const unsigned char *)data;
		const size_t whole = 1 + ((size_t)u[1] << 24 | (size_t)u[2] << 16 |
		                          (size_t)u[3] << 8 | u[4]);

		if (whole < HEAD || whole > n)
			return true;
		if (whole == HEAD + len + 1 && memcmp(data + HEAD, password, len) == 0)
			return true;
		data += whole;
		n -= whole;
	}
	return n > 0;
}

/* It closes its socket where it gives up, and may have opened another one. */
static bool is_still_held(const struct db_clear *c)
{
	struct stat mine, its;

	return PQsocket(c->conn) == c->fd && fstat(c->pair[0], &mine) == 0 &&
	       fstat(c->fd, &its) == 0 && mine.st_ino == its.st_ino && mine.st_dev == its.st_dev;
}

static bool let_go(struct db_clear *c)
{
	char held[HELD_BYTES];
	ssize_t n = recv(c->pair[1], held, sizeof held, 0);
	bool is_good = n > 0 && n < (ssize_t)sizeof held &&
	               !has_password(held, (size_t)n, PQpass(c->conn)) &&
	               send(c->real, held, (size_t)n, MSG_NOSIGNAL) == n;

	explicit_bzero(held, sizeof held);
	return is_good;
}

static void held_close(struct db_clear *c)
{
	const int all[] = { c->real, c->pair[0], c->pair[1] };

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i] >= 0)
			close(all[i]);
	c->real = c->pair[0] = c->pair[1] = -1;
}

bool db_clear_passes(struct db_clear *c)
{
	if (!c->conn)
		return true;
	if (c->real >= 0) {
		bool is_held = is_still_held(c);

		c->is_asked = c->is_asked ||
		              (is_held && (!let_go(c) || dup3(c->real, c->fd, O_CLOEXEC) < 0));
		held_close(c);
	}
	/* Its startup message was traced; if not, the trace is not what it was. */
	return !c->is_asked && (c->is_heard || PQstatus(c->conn) != CONNECTION_AWAITING_RESPONSE);
}

void db_clear_end(struct db_clear *c)
{
	if (c->conn)
		PQuntrace(c->conn);
	if (c->trace)
		fclose(c->trace);
	held_close(c);
	c->conn = NULL;
	c->trace = NULL;
}
