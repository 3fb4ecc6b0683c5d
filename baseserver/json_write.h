/* json_write.h — JSON into a buffer; commas are its own business. */
#ifndef BASESERVER_JSON_WRITE_H
#define BASESERVER_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* `key` NULL: an item of a list, or the root. Bytes that are not UTF-8 become U+FFFD. */
void jw_object(struct buf *b, const char *key);
void jw_list(struct buf *b, const char *key);
void jw_end_object(struct buf *b);
void jw_end_list(struct buf *b);
void jw_text(struct buf *b, const char *key, const char *text); /* NULL text: null */
void jw_number(struct buf *b, const char *key, int64_t v);
void jw_string_number(struct buf *b, const char *key, uint64_t v); /* "123" */
void jw_truth(struct buf *b, const char *key, bool v);
void jw_null(struct buf *b, const char *key);
/* RFC 3339, UTC; seconds, or microseconds with six digits. us 0: null. */
void jw_instant(struct buf *b, const char *key, int64_t s);
void jw_instant_us(struct buf *b, const char *key, int64_t us);
void jw_raw(struct buf *b, const char *key, const char *json, size_t n);

#endif
