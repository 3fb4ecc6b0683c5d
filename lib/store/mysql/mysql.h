/* mysql.h — the MySQL and MariaDB store. Internal to lib/store/mysql.
 *
 * One connection, blocking, with a limit on every wait. A connection that fails is closed;
 * the next call makes a new one. Nothing here is shared between threads.
 */
#ifndef STORE_MYSQL_MYSQL_H
#define STORE_MYSQL_MYSQL_H

#include <mariadb/mysql.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "store/row_store.h"
#include "store/sql_text.h"
#include "util/buf.h"

struct err;

/* ---- my_url.c: mysql://USER@HOST[:PORT][,HOST[:PORT]...]/DATABASE[?name=value&...] ---- */
enum my_tls {
	MY_TLS_OFF,
	MY_TLS_REQUIRE, /* encrypted, the server's name not checked */
	MY_TLS_VERIFY
};

enum {
	MY_HOSTS_MAX = 8,
	MY_LOCK_WAIT_S = 5 /* how long a statement waits for locks */
};

struct my_host {
	char *name;
	unsigned port;
};

struct my_url {
	char *user, *database;
	struct my_host hosts[MY_HOSTS_MAX]; /* tried in this order at each connect */
	size_t n_hosts;
	char *socket;        /* path, or NULL */
	char *password_file; /* or NULL */
	char *ca;            /* PEM file, or NULL: the system's */
	unsigned timeout_s;  /* of a connect, of a read, of a write */
	enum my_tls tls;
	bool is_plain; /* rows always as text */
};

/* `rest`: after "mysql:". E_INVALID names the part and what is allowed. */
int my_url_parse(const char *rest, struct my_url *ret, struct err *err);
void my_url_done(struct my_url *u);

/* How a connection came about. */
struct my_way {
	bool reads;   /* only reads: sees all that any node has said is committed */
	bool is_node; /* of a Galera cluster */
	size_t host;  /* of the url's, the one it has; of a cluster the next one begins there */
};

struct my_arrays; /* my_wide.c */
enum my_wide_rows { MY_WIDE_LIVE, MY_WIDE_DONE, MY_WIDE_EVENT, MY_WIDE_COUNT };

struct my_store {
	union {
		struct store base;
		struct row_store rows;
	};
	struct my_url url;
	MYSQL *db; /* NULL: to be made by my_ready() */
	struct my_way way;
	struct buf sql;
	struct my_arrays *arrays[MY_WIDE_COUNT];
	MYSQL_STMT *wides[MY_WIDE_COUNT]; /* NULL: not prepared on this connection */
	int64_t *gone;                    /* ids of live rows that go */
	size_t gone_cap;
	int64_t days_ahead_us; /* when partitions are looked at again */
	int64_t days_from_us;  /* the first ones begin here; 0: today */
	bool days_missing;     /* the last look failed */
	uint32_t silence_s; /* the database ends this connection when silent so long; 0: as usual */
	bool silence_set;   /* it knows */
	bool is_proven;     /* between my_begin() and my_end() */
};

/* ---- my_failure.c ---- */
/* The code and the text of a connection's last failure. *ret_over: it cannot be used again. */
int my_failure(MYSQL *db, const struct my_url *u, const char *what, bool *ret_over,
               struct err *err);

/* ---- my_conn.c ---- */
/* Connected, with the session's settings. E_AGAIN: no answer; E_AUTH, E_FORBIDDEN,
 * E_NOT_FOUND (no such database), E_VERSION (the server is too old). */
int my_ready(struct my_store *s, struct err *err);
void my_hang_up(struct my_store *s);
/* What the connection's last failure is to the store's caller. Hangs up when the connection
 * cannot be used any more. */
int my_fail(struct my_store *s, const char *what, struct err *err);
/* A connection to the first of the url's hosts that answers; of a cluster to the first from
 * way->host on that is in step, else to one that gives its state to another. Of several hosts a
 * read-only one is taken only when there is no other. */
int my_connect(const struct my_url *u, struct my_way *way, MYSQL **ret, struct err *err);
/* It is of no use any more: in a cluster the next one is with another node. */
void my_way_lost(struct my_way *way);
/* After a statement: E_BUSY when our transaction is over without a word of the server. */
int my_still_in(struct my_store *s, const char *what, struct err *err);
/* Run one statement that gives no rows. */
int my_run(struct my_store *s, const char *text, size_t len, struct err *err);
/* Run a statement with values in place of its `?`, as sql_put(). */
int my_do(struct my_store *s, struct err *err, const char *text, const char *types, ...);
/* A text as sql_text.h wants it quoted; ctx: the MYSQL. */
void my_quote(void *ctx, struct buf *b, const char *text, size_t len);

/* ---- my_transaction.c ---- */
/* The leader's row, locked for the transaction. */
int my_ask_leader(struct my_store *s, int64_t *ret_epoch, int64_t *ret_number, struct err *err);
/* Begin and prove the epoch (0: prove nothing). Holds the leader's row until my_end().
 * ret_number may be NULL. */
int my_begin(struct my_store *s, uint32_t epoch, uint64_t *ret_number, struct err *err);
/* Write the leader's row, for what changes nothing else in it: in a cluster of databases a lock is
 * one node's, and only rows that were written tell of each other. */
int my_stamp(struct my_store *s, struct err *err);
/* Commit when r is 0, else roll back. Returns what came of it. */
int my_end(struct my_store *s, int r, struct err *err);

/* ---- my_cluster.c: Galera ---- */
/* *ret_is_node: it is one of a cluster; E_AGAIN: it is not in step with it, or takes no writes. */
int my_cluster_check(MYSQL *db, const struct my_url *u, bool *ret_is_node, bool *ret_is_donor,
                     struct err *err);
/* Wait until the node has what any node has said is committed; `always`: before each reading. */
int my_cluster_catch_up(MYSQL *db, const struct my_url *u, bool always, struct err *err);

/* ---- my_out.c: writing many rows ---- */
/* A statement that grows by rows and runs when it is long enough. Set by hand, n = 0. */
struct my_out {
	struct my_store *s;
	const char *head, *tail;
	size_t n;
};

/* s->sql is ready for one more row. */
int my_out_row(struct my_out *o, struct err *err);
/* One more row: a letter a value, as sql_put(). */
int my_out_put(struct my_out *o, struct err *err, const char *types, ...);
/* Run what is left. With r < 0 only that is returned. */
int my_out_end(struct my_out *o, int r, struct err *err);

/* ---- my_wide.c: writing many rows of many numbers ---- */
struct my_wide {
	struct my_out out; /* where the server takes no arrays */
	enum my_wide_rows rows;
	struct my_arrays *a; /* NULL: as text */
	unsigned column;     /* of the row that is being made; 0: none */
	size_t n, text_bytes;
};

/* Connected, and nothing else is written until my_wide_end(). */
struct my_wide my_wide(struct my_store *s, enum my_wide_rows rows);
/* Begin a row; then all its numbers, then its text if it has one (borrowed; NULL is NULL). */
int my_wide_row(struct my_wide *w, struct err *err);
void my_wide_int(struct my_wide *w, int64_t v);
void my_wide_text(struct my_wide *w, const char *text);
/* Write what is left. With r < 0 only that is returned. */
int my_wide_end(struct my_wide *w, int r, struct err *err);
void my_wide_free(struct my_store *s);

/* ---- my_statements.c: the statements of row_stmt.def ---- */
extern const struct row_ops my_row_ops;

/* ---- my_rows.c: reading ---- */
/* A statement with its values into s->sql; connects before, for quoting wants the connection. */
int my_put(struct my_store *s, struct err *err, const char *text, const char *types, va_list ap);
/* Rows as they come from the server: nothing else may be asked before rows_close(), which reads
 * the rest away. Values as in my_do(). */
int my_ask(struct my_store *s, const char *table, struct rows **ret, struct err *err,
           const char *text, const char *types, ...);
/* The same with the statement that stands in s->sql. */
int my_ask_built(struct my_store *s, const char *table, struct rows **ret, struct err *err);
/* One number of one row; 0 for NULL, E_NOT_FOUND without a row. */
int my_ask_number(struct my_store *s, const char *table, int64_t *ret, struct err *err,
                  const char *text, const char *types, ...);

/* ---- my_lease.c ---- */
int my_take_lease(struct store *s, const struct store_lease *seen, const struct store_lease *mine,
                  uint32_t *ret_epoch, struct err *err);
int my_renew_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
int my_add_gap(struct store *s, uint32_t epoch, const struct store_gap *g, uint64_t oldest,
               struct err *err);
int my_give_lease(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
int my_show_node(struct store *s, const struct store_node *n, struct err *err);
int my_now(struct store *s, int64_t *ret_us, struct err *err);
int my_each_node(struct store *s, int64_t max_age_us,
                 int (*each)(void *ctx, const struct store_node *n), void *ctx, struct err *err);

/* ---- my_open.c ---- */
/* Not connected yet. */
int my_open_bare(const char *rest, struct my_store **ret, struct err *err);
void my_free(struct my_store *s);

/* ---- others ---- */
int my_migrate(struct my_store *s, struct err *err);
int my_commit(struct store *s, const struct store_batch *b, struct err *err);
/* my_alerts.c */
int my_write_alerts(struct my_store *s, const struct store_batch *b, struct err *err);
int my_write_docs(struct my_store *s, const struct store_batch *b, struct err *err);

/* ---- my_days.c: partitions ---- */
/* Make days ahead when fewer than two are left; looks four times a day, a minute after a failure.
 * E_BUSY: somebody reads just then; what has no day goes into `pmax` meanwhile. */
int my_days_ahead(struct my_store *s, int64_t now_us, struct err *err);
/* Whole days from the oldest on, until rows_max is reached; t->rows grows by what goes. A day of
 * events goes when it is old enough, also those of instances that are kept: a history is as
 * long as the retention. */
int my_drop_days(struct row_retain *t, struct err *err);
/* my_retain.c */
int my_put_outcomes(struct row_store *s, const struct store_outcome *o, size_t n, struct err *err);
int my_retained(struct row_retain *t, struct err *err);

int my_load_live(struct store *s, int (*each)(void *ctx, const struct instance *i), void *ctx,
                 struct err *err);
int my_read_live(struct store *s, const uint32_t *slots, size_t n,
                 int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err);
/* my_range.c */
int my_write_ranges(struct my_store *s, const struct store_batch *b, struct err *err);
int my_write_stats(struct my_store *s, const struct store_batch *b, struct err *err);

#endif
