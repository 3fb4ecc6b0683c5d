/* db.h — SQL on a server of MySQL, MariaDB or PostgreSQL, or on a SQLite file, so that a job that
 * is told to stop stops: its statement is cancelled on the server.
 *
 * A connection is one job thread's. Rows are streamed; a value is text, NULL for SQL's NULL.
 */
#ifndef RUNNERS_DB_H
#define RUNNERS_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runners/common/text.h"

struct run;
struct db;

enum db_kind { DB_MYSQL, DB_MARIADB, DB_POSTGRESQL, DB_SQLITE };
/* TRUSTED: as OFF, and whoever answers may have the password. */
enum db_tls { DB_TLS_OFF, DB_TLS_ON, DB_TLS_VERIFY, DB_TLS_TRUSTED };

/* Negative results; db_why() has the sentence. */
enum {
	DB_OK = 0,
	DB_FAILED = -1,  /* the statement */
	DB_AWAY = -2,    /* no connection, or it broke */
	DB_STOPPED = -3, /* the job was told to stop */
	DB_REFUSED = -4, /* who takes the rows said no */
	DB_BARRED = -5,  /* the machine's policy does not allow it */
	DB_NO_POLICY = -6
};

/* Which database; db_where_done() frees the texts. */
struct db_where {
	enum db_kind kind;
	enum db_tls tls;
	char *host, *user, *password, *database, *ca_file;
	int64_t port;
	bool is_read_only; /* SQLite: its file is neither made nor changed */
};

/* From the target server that parameter `server` names (`server.host` and kin, secret
 * `server.password`), else from the plain parameters PREFIXkind, PREFIXhost, ...
 * 0, or RUNNER_FAILED: the result says what is wrong. Asks the server for the secret. */
int db_where_read(const struct run *r, const char *server, const char *prefix,
                  struct db_where *ret_where);
void db_where_done(struct db_where *where);

/* What values of a column are, over all databases. How each is written as text: as its database
 * does, bytes of MySQL and SQLite raw, of PostgreSQL in its hex form. */
enum db_class {
	DB_TEXT, /* and what goes as text: names of an enum, JSON, arrays, intervals */
	DB_BOOLEAN,
	DB_NUMBER,
	DB_DATE,
	DB_TIME,
	DB_ZONED_TIME,
	DB_STAMP,   /* date and time of no zone */
	DB_INSTANT, /* with one */
	DB_BYTES,
	DB_BITS,
	DB_UUID,
	DB_SHAPE, /* geometry of MySQL and MariaDB */
	DB_CLASSES
};

struct db_type {
	enum db_class class;
	const char *name; /* as its database calls it; static, or borrowed for the call */
};

/* Who takes what statements give; members may be NULL. Negative answers end it: DB_REFUSED. */
struct db_sink {
	void *ctx;
	int (*types)(void *ctx, size_t n, const struct db_type *types); /* before their names */
	int (*columns)(void *ctx, size_t n, const char *const *names);
	int (*row)(void *ctx, size_t n, const char *const *values, const size_t *lens);
	/* After each statement; `affected` is -1 for one that gave rows. */
	int (*done)(void *ctx, int64_t affected);
};

/* *ret_db is the caller's also when the result is negative (db_why()); NULL: no memory. */
int db_open(const struct run *r, const struct db_where *where, struct db **ret_db);
/* Make this connection the one that does the job's work: what an earlier attempt of it still does
 * there is ended first, and a later one finds this connection by its name. SQLite's dies with
 * its process. */
int db_claim(struct db *db);
void db_close(struct db *db); /* NULL is fine; an open transaction is rolled back */
/* All statements of a text, in order; `sink` may be NULL. */
int db_run(struct db *db, const char *sql, const struct db_sink *sink);
__attribute__((format(printf, 2, 3))) int db_runf(struct db *db, const char *fmt, ...);
/* The first column of the first row, which may be NULL; false in *ret_is: no row. */
int db_ask(struct db *db, const char *sql, struct text *ret_value, bool *ret_is, bool *ret_is_null);
const char *db_why(const struct db *db);
enum db_kind db_kind(const struct db *db);

void db_quote(struct db *db, const char *value, size_t len, struct text *out); /* NULL: NULL */
void db_quote_column(const struct db *db, const char *name, struct text *out);
/* A name, perhaps with dots (schema.table), each part quoted. */
void db_quote_name(const struct db *db, const char *name, struct text *out);

/* Append SQL of the task with the values that the server bound to it (values.h). 0, or
 * RUNNER_FAILED. */
int db_values(const struct run *r, struct db *db, const char *sql, struct text *out);

/* Variables of the session, a map of names and values; SQLite's are pragmas. */
struct cJSON;
int db_session(struct db *db, const struct cJSON *variables);

/* The verdict's sentence for a negative result; answers what the plugin answers. `where` ("":
 * none) says which part of the job. */
int db_end(const struct run *r, const struct db *db, int code, const char *where);

#endif
