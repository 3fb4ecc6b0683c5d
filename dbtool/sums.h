/* sums.h — a table of either database as text, and what its rows add up to. */
#ifndef DBTOOL_SUMS_H
#define DBTOOL_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/buf.h"

struct admin;
struct db_table;
struct err;
struct rows;

enum { COLUMNS_MAX = 64 };

struct table {
	const struct db_table *t;
	char *names[COLUMNS_MAX];
	int n;
	struct buf list; /* the names, as SQL; NUL-terminated by buf_str() */
};

/* A table's rows: how many, and the sum of their hashes, so that order does not matter. */
struct sum {
	int64_t rows;
	uint64_t hash;
};

/* Column names as the store has them. */
int table_init(struct admin *from, const struct db_table *which, struct table *ret,
               struct err *err);
void table_done(struct table *t);
/* All its rows, in its order; the caller closes them. */
int table_ask(struct admin *a, struct table *t, struct rows **ret, struct err *err);
int table_sum(struct admin *a, struct table *t, struct sum *ret, struct err *err);
void sum_row(struct sum *s, struct rows *rows, int columns);

static inline bool sum_same(const struct sum *a, const struct sum *b)
{
	return a->rows == b->rows && a->hash == b->hash;
}

#endif
