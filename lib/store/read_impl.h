/* read_impl.h — what the parts of the reader share. Internal to lib/store. */
#ifndef STORE_READ_IMPL_H
#define STORE_READ_IMPL_H

#include "store/read.h"
#include "store/sqlite.h"

#define READ_KEYS_MAX 3

struct reader {
	sqlite3 *db;
	int64_t deadline_us; /* of the present call */
};

/* Where a page begins: the key of the last row of the page before. */
struct read_from {
	bool begun; /* a key is set */
	int64_t key[READ_KEYS_MAX];
};

/* Begin a snapshot and its time; ret_number may be NULL. */
int read_begin(struct reader *r, uint64_t *ret_number, struct err *err);
/* End it, whatever `code` is; returns `code`. */
int read_end(struct reader *r, int code);
/* A statement from text made with sqlite3_str; frees it. */
int read_prepare(struct reader *r, sqlite3_str *text, sqlite3_stmt **ret_stmt, struct err *err);

/* `list` names the list, its sort and filter kind: a cursor of another is refused. */
int read_cursor_parse(const struct read_page *page, const char *list, int keys,
                      struct read_from *ret, struct err *err);
void read_cursor_make(struct read_answer *ret, const struct read_page *page, const char *list,
                      int keys, const int64_t *key);

/* Within a snapshot. E_NOT_FOUND. */
int read_find_instance(struct reader *r, struct inst_key key, struct instance *ret,
                       struct err *err);

#endif
