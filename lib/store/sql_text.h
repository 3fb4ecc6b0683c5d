/* sql_text.h — the text of statements. Internal to lib/store.
 *
 * A value goes in as a number or quoted by its database, never as it came. */
#ifndef STORE_SQL_TEXT_H
#define STORE_SQL_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Append `text` as the database wants it, with its quotation marks. */
typedef void sql_quote(void *ctx, struct buf *b, const char *text, size_t len);

/* Append with values in place of the text's `?`, a letter of `types` each:
 *   i  int64_t
 *   t  const char *, quoted; NULL: the empty text
 *   n  const char *, a name of letters, digits and _
 *   ?  nothing: it stays, to be bound */
void sql_put(struct buf *b, sql_quote *quote, void *ctx, const char *text, const char *types, ...);
void sql_vput(struct buf *b, sql_quote *quote, void *ctx, const char *text, const char *types,
              va_list ap);
void sql_put_int(struct buf *b, int64_t v);

#endif
