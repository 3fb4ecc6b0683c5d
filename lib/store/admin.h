/* admin.h — a store's tables as they are, for the offline tool; not for servers.
 *
 * Nobody else may have the store meanwhile. One thread. Blocks.
 */
#ifndef STORE_ADMIN_H
#define STORE_ADMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/rows.h"
#include "store/sql_text.h"

struct admin;
struct err;
struct store_migration;

/* What a database gives. */
struct admin_ops {
	const char *prefix; /* of its urls, with the colon */
	int (*open)(const char *rest, bool may_make, struct admin **ret, struct err *err);
	void (*close)(struct admin *a);
	int (*run)(struct admin *a, const char *text, size_t len, struct err *err);
	int (*ask)(struct admin *a, const char *table, const char *text, struct rows **ret,
	           struct err *err);
	sql_quote *quote; /* ctx: the admin */
	int (*migrate)(struct admin *a, int64_t first_us, struct err *err);
	int (*whole)(struct admin *a, struct err *err); /* NULL: there is no file */
	int (*verify)(struct admin *a, struct err *err);
	const char *tables;     /* a query: the names of the tables that are there */
	const char *after_wipe; /* one statement, or NULL */
	const struct store_migration *schema;
	const size_t *schema_count;
};

/* An implementation embeds it as its first member. */
struct admin {
	const struct admin_ops *ops;
};

extern const struct admin_ops admin_sqlite_ops;
extern const struct admin_ops admin_mysql_ops; /* in the module */

/* As it is: nothing is migrated.
 *
 *   may_make  SQLite: make the directory and an empty file
 *   errors    E_INVALID the url; E_BUSY a server has it; E_NOT_FOUND there is none
 */
int admin_open(const char *url, bool may_make, struct admin **ret, struct err *err);
void admin_close(struct admin *a); /* NULL is fine */

/* A statement without rows. */
int admin_run(struct admin *a, const char *text, struct err *err);
/* One query at a time. */
int admin_ask(struct admin *a, const char *table, const char *text, struct rows **ret,
              struct err *err);
/* One number of one row; NULL is 0. */
int admin_number(struct admin *a, const char *table, const char *text, int64_t *ret,
                 struct err *err);
/* Rows of a table. */
int admin_count(struct admin *a, const char *table, int64_t *ret, struct err *err);
/* Up to this program's schema. first_us: history from then on gets its days at once; 0: now. */
int admin_migrate(struct admin *a, int64_t first_us, struct err *err);
/* 1: it is there, 0: not. `name` begins with lb_. */
int admin_has_table(struct admin *a, const char *name, struct err *err);
/* How many migrations are in: 0 also when there is nothing. */
int admin_version(struct admin *a, int64_t *ret, struct err *err);
/* Those this program has, from 1; NULL beyond. */
const char *admin_migration(const struct admin *a, int64_t number);
/* Does the file hold together, and do the last events and the leader's row fit (tip.h)?
 * E_DAMAGED. */
int admin_whole(struct admin *a, struct err *err);
int admin_verify(struct admin *a, struct err *err);
/* Is each table of Sirdar that is there known()? E_CORRUPT names the first that is not. */
int admin_know_tables(struct admin *a, bool (*known)(const char *name), struct err *err);
/* All tables of Sirdar go. */
int admin_wipe(struct admin *a, struct err *err);

#endif
