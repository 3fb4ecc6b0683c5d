/* dbtool.h — sirdar-db: a store while no server has it, and logs of jobs while one may. */
#ifndef DBTOOL_DBTOOL_H
#define DBTOOL_DBTOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admin;
struct err;

/* Exit codes, besides 0. */
enum {
	DB_PROBLEMS = 1,   /* check or compare found some */
	DB_USAGE = 64,     /* wrong use, or no for an answer */
	DB_NOT_THERE = 69, /* the store is not to be had, or broke off */
	DB_NOT_EMPTY = 73, /* the target of a copy has rows */
	DB_IN_USE = 75,    /* a server has it */
};

struct db_options {
	const char *urls[2]; /* in the order they were given */
	size_t n_urls;
	bool yes, dry_run, help;
	int64_t rows, tasks, days, events; /* mock */
	const char *state_dir;             /* accept-loss: of the server; NULL: the store's */
	int64_t epoch;                     /* the same: the highest that a broker told */
	int64_t line;                      /* log: from this one on; 0: from the beginning */
};

/* Each answers an exit code. */
int db_build(const struct db_options *o);
int db_clean(const struct db_options *o);
int db_migrate(const struct db_options *o);
int db_check(const struct db_options *o);
int db_copy(const struct db_options *o);
int db_compare(const struct db_options *o);
int db_accept_loss(const struct db_options *o);
int db_mock(const struct db_options *o);
int db_logs(const struct db_options *o);
int db_log(const struct db_options *o);
int db_check_logs(const struct db_options *o);

/* Say what went wrong; the exit code for it. */
int db_fail(const struct err *err);
/* Ask on the terminal, unless --yes. False: no, or nobody to ask. */
bool db_may_destroy(const struct db_options *o, const char *what);
/* "12,345 of 67,890" once a second on a terminal; `done` at the end. */
void db_progress(const char *what, int64_t n, int64_t of, bool done);
/* Rows that Sirdar's tables have, all together; 0 also without tables. */
int db_count_all(struct admin *a, int64_t *ret, struct err *err);

extern const struct db_table {
	const char *name, *order;
} db_tables[];
extern const size_t db_tables_n;

#endif
