/* json_put.h — JSON written straight into a buffer, without a tree.
 *
 * A value follows a key or, with key NULL, stands in a list; commas are put by looking at what is
 * before. What is not UTF-8, and NUL, comes out as U+FFFD. Reading: util/json_in.h; instants:
 * sched/when.h.
 */
#ifndef UTIL_JSON_PUT_H
#define UTIL_JSON_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

void put_open(struct buf *b, const char *key, char bracket);      /* '{' or '[' */
void put_close(struct buf *b, char bracket);                      /* '}' or ']' */
void put_text(struct buf *b, const char *key, const char *value); /* NULL: null */
/* n bytes that need not be text. */
void put_bytes(struct buf *b, const char *key, const void *p, size_t n);
void put_int(struct buf *b, const char *key, int64_t value);
void put_id(struct buf *b, const char *key, uint64_t value); /* a decimal string: "123" */
void put_bool(struct buf *b, const char *key, bool value);
void put_null(struct buf *b, const char *key);
void put_raw(struct buf *b, const char *key, const char *json); /* one value, already JSON */

/* A string in quotes, alone. */
void json_quote(struct buf *out, const char *text, size_t bytes);

#endif
