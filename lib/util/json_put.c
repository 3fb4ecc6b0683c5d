#include "util/json_put.h"

#include <inttypes.h>
#include <string.h>

#include "util/buf.h"
#include "util/json.h"

/* No comma after what opens, and none where the caller writes a value of its own framing: after a
 * key's colon, at the begin of a line of an event stream, after its "data: ". */
static void key_put(struct buf *b, const char *key)
{
	if (b->len > 0 && !strchr("{[:\n ", buf_at(b)[b->len - 1]))
		buf_putc(b, ',');
	if (key) {
		json_quote(b, key, strlen(key));
		buf_putc(b, ':');
	}
}

void put_open(struct buf *b, const char *key, char bracket)
{
	key_put(b, key);
	buf_putc(b, bracket);
}

void put_close(struct buf *b, char bracket)
{
	buf_putc(b, bracket);
}

void put_text(struct buf *b, const char *key, const char *value)
{
	if (value)
		put_bytes(b, key, value, strlen(value));
	else
		put_null(b, key);
}

void put_bytes(struct buf *b, const char *key, const void *p, size_t n)
{
	key_put(b, key);
	json_quote(b, p, n);
}

void put_int(struct buf *b, const char *key, int64_t value)
{
	key_put(b, key);
	buf_printf(b, "%" PRId64, value);
}

void put_id(struct buf *b, const char *key, uint64_t value)
{
	key_put(b, key);
	buf_printf(b, "\"%" PRIu64 "\"", value);
}

void put_bool(struct buf *b, const char *key, bool value)
{
	put_raw(b, key, value ? "true" : "false");
}

void put_null(struct buf *b, const char *key)
{
	put_raw(b, key, "null");
}

void put_raw(struct buf *b, const char *key, const char *json)
{
	key_put(b, key);
	buf_puts(b, json);
}
