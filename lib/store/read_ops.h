/* read_ops.h — what a database gives the reader. For those that read one. */
#ifndef STORE_READ_OPS_H
#define STORE_READ_OPS_H

#include "store/read.h"
#include "store/rows.h"
#include "store/sql_text.h"

struct read_ops {
	const char *prefix; /* of its urls, with the colon */
	int (*open)(const char *rest, struct reader **ret, struct err *err);
	void (*close)(struct reader *r);
	/* One snapshot for all queries until end(), with READ_TIME_MS to live. */
	int (*begin)(struct reader *r, struct err *err);
	void (*end)(struct reader *r);
	/* One query at a time; bound values may be given again and again. */
	int (*query)(struct reader *r, const char *table, const char *text, struct rows **ret,
	             struct err *err);
	sql_quote *quote; /* ctx: the reader */
	/* Bytes of the whole database. */
	int (*size)(struct reader *r, uint64_t *ret_bytes, struct err *err);
	const char *by_history_key; /* what makes it use lb_task_run_history_key */
};

/* An implementation embeds it as its first member. */
struct reader {
	const struct read_ops *ops;
	const struct read_sight *sight; /* NULL: all of it shows */
};

extern const struct read_ops read_sqlite_ops;
extern const struct read_ops read_mysql_ops; /* in the module */

#endif
