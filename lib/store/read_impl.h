/* read_impl.h — what the parts of the reader share. Internal to lib/store. */
#ifndef STORE_READ_IMPL_H
#define STORE_READ_IMPL_H

#include "store/read_ops.h"
#include "util/buf.h"

#define READ_KEYS_MAX 3

/* Where a page begins: the key of the last row of the page before. */
struct read_from {
	bool begun; /* a key is set */
	int64_t key[READ_KEYS_MAX];
};

/* Begin a snapshot and its time; ret_number may be NULL. */
int read__begin(struct reader *r, uint64_t *ret_number, struct err *err);
/* End it, whatever `code` is; returns `code`. */
int read__end(struct reader *r, int code);

/* read_range.c: within a snapshot. */
/* The range over a date, or with this number. 1 found, 0 not. */
int read__range_over(struct reader *r, struct inst_key key, struct store_range *ret,
                     struct err *err);
int read__range_numbered(struct reader *r, uint64_t number, struct store_range *ret,
                         struct err *err);
/* Dates without rows under the filter, `states` apart. */
int read__range_count(struct reader *r, const struct read_filter *f, uint64_t *ret_dates,
                      struct err *err);
/* What the filter says of tasks, run dates and states, as a condition that follows others. */
void read__range_where(struct reader *r, struct buf *q, const struct read_filter *f);

/* read_gaps.c: rows of the live table are due when they were due as they last changed; moves
 * them through the times when nobody led since. `stride`: bytes from one to the next. */
int read__leave_gaps(struct reader *r, struct instance *first, size_t n, size_t stride,
                     struct err *err);

/* Append to a query's text, as sql_put(). */
void read__put(struct reader *r, struct buf *b, const char *text, const char *types, ...);
/* Ask with the text in `b`, which is freed. */
int read__query(struct reader *r, const char *table, struct buf *b, struct rows **ret,
                struct err *err);

/* One more number of a list that `before` begins. */
void read__put_list(struct buf *q, const char *before, int64_t value, bool first);
/* What the filter says of tasks, of a table with column task_id. */
void read__where_tasks(struct reader *r, struct buf *q, const struct read_filter *f);

/* `list` names the list, its sort and filter kind: a cursor of another is refused. */
int read__cursor_parse(const struct read_page *page, const char *list, int keys,
                       struct read_from *ret, struct err *err);
void read__cursor_make(struct read_answer *ret, const struct read_page *page, const char *list,
                       int keys, const int64_t *key);

/* read_sight.c: conditions that follow others; nothing, for who sees all. */
void read__see_names(struct reader *r, struct buf *q, const char *column); /* "PROJECT/..." */
void read__see_tasks(struct reader *r, struct buf *q, const char *column); /* ids */
void read__see_commands(struct reader *r, struct buf *q);
void read__see_items(struct reader *r, struct buf *q);
void read__see_actions(struct reader *r, struct buf *q);
void read__see_docs(struct reader *r, struct buf *q, enum store_doc_kind kind, bool has_body);
bool read__sees_doc(const struct reader *r, const struct store_doc *d);
/* The column itself, as a column: 0 in place of a task that is not seen. */
void read__see_end(struct reader *r, struct buf *q, const char *column);

/* Within a snapshot. E_NOT_FOUND. */
int read__find_instance(struct reader *r, struct inst_key key, struct instance *ret,
                        struct err *err);

#endif
