/* read_impl.h — what the parts of the reader share, and what a database gives it. Internal to
 * lib/store. */
#ifndef STORE_READ_IMPL_H
#define STORE_READ_IMPL_H

#include "store/read.h"
#include "store/rows.h"
#include "store/sql_text.h"
#include "util/buf.h"

#define READ_KEYS_MAX 3

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
};

extern const struct read_ops read_sqlite_ops;
extern const struct read_ops read_mysql_ops; /* in the module */

/* Where a page begins: the key of the last row of the page before. */
struct read_from {
	bool begun; /* a key is set */
	int64_t key[READ_KEYS_MAX];
};

/* Begin a snapshot and its time; ret_number may be NULL. */
int read_begin(struct reader *r, uint64_t *ret_number, struct err *err);
/* End it, whatever `code` is; returns `code`. */
int read_end(struct reader *r, int code);

/* read_range.c: within a snapshot. */
/* The range over a date, or with this number. 1 found, 0 not. */
int read_range_over(struct reader *r, struct inst_key key, struct store_range *ret,
                    struct err *err);
int read_range_numbered(struct reader *r, uint64_t number, struct store_range *ret,
                        struct err *err);
/* Dates without rows under the filter, `states` apart. */
int read_range_count(struct reader *r, const struct read_filter *f, uint64_t *ret_dates,
                     struct err *err);
/* What the filter says of tasks, run dates and states, as a condition that follows others. */
void read_range_where(struct reader *r, struct buf *q, const struct read_filter *f);
/* Of the table with column task_id. */
void read_where_tasks(struct reader *r, struct buf *q, const struct read_filter *f);

/* read_gaps.c: rows of the live table are due when they were due as they last changed; moves
 * them through the times when nobody led since. `stride`: bytes from one to the next. */
int read_leave_gaps(struct reader *r, struct instance *first, size_t n, size_t stride,
                    struct err *err);

/* Append to a query's text, as sql_put(). */
void read_put(struct reader *r, struct buf *b, const char *text, const char *types, ...);
/* Ask with the text in `b`, which is freed. */
int read_query(struct reader *r, const char *table, struct buf *b, struct rows **ret,
               struct err *err);

/* `list` names the list, its sort and filter kind: a cursor of another is refused. */
int read_cursor_parse(const struct read_page *page, const char *list, int keys,
                      struct read_from *ret, struct err *err);
void read_cursor_make(struct read_answer *ret, const struct read_page *page, const char *list,
                      int keys, const int64_t *key);

/* Within a snapshot. E_NOT_FOUND. */
int read_find_instance(struct reader *r, struct inst_key key, struct instance *ret,
                       struct err *err);

#endif
