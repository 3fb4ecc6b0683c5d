/* json_put.h — JSON written straight into a buffer, without a tree.
 *
 * A value follows a key or stands in a list; commas are put by looking at what is before.
 */
#ifndef CGI_JSON_PUT_H
#define CGI_JSON_PUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

void put_open(struct buf *b, const char *key, char bracket); /* '{' or '['; key NULL: in a list */
void put_close(struct buf *b, char bracket);                 /* '}' or ']' */
void put_text(struct buf *b, const char *key, const char *value); /* NULL: null; bad UTF-8: '?' */
/* n bytes that need not be text: what is not UTF-8 is shown as '?', NUL too. */
void put_bytes(struct buf *b, const char *key, const void *p, size_t n);
void put_int(struct buf *b, const char *key, int64_t value);
void put_id(struct buf *b, const char *key, uint64_t value); /* a decimal string */
void put_bool(struct buf *b, const char *key, bool value);
void put_null(struct buf *b, const char *key);
void put_raw(struct buf *b, const char *key, const char *json);
/* RFC 3339 in UTC; seconds, or microseconds of which 0 is null. */
void put_time(struct buf *b, const char *key, int64_t seconds);
void put_time_us(struct buf *b, const char *key, int64_t us);

/* The same text without JSON around it. */
void instant_text(int64_t seconds, char ret[32]);
/* Reads RFC 3339 (Z or offset), or `YYYY-MM-DD[( |T)HH:MM[:SS]]` as UTC. False: it is neither. */
bool instant_read(const char *text, int64_t *ret_seconds, bool *ret_date_only);

#endif
