#include "baseserver/json_write.h"

#include <inttypes.h>
#include <string.h>

#include "baseserver/when.h"
#include "util/buf.h"

/* A comma unless something was just opened or nothing stands before. */
static void before(struct buf *b, const char *key)
{
	char last = b->len ? (char)buf_at(b)[b->len - 1] : '{';

	if (last != '{' && last != '[' && last != ':')
		buf_putc(b, ',');
	if (key)
		buf_printf(b, "\"%s\":", key);
}

void jw_object(struct buf *b, const char *key)
{
	before(b, key);
	buf_putc(b, '{');
}

void jw_list(struct buf *b, const char *key)
{
	before(b, key);
	buf_putc(b, '[');
}

void jw_end_object(struct buf *b)
{
	buf_putc(b, '}');
}

void jw_end_list(struct buf *b)
{
	buf_putc(b, ']');
}

static size_t utf8_length(const unsigned char *p)
{
	size_t n = p[0] < 0x80                    ? 1
	           : p[0] >= 0xc2 && p[0] <= 0xdf ? 2
	           : (p[0] & 0xf0) == 0xe0        ? 3
	           : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4
	                                          : 0;

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static void put_char(struct buf *b, const unsigned char *p, size_t n)
{
	if (n == 0)
		buf_puts(b, "\xef\xbf\xbd");
	else if (*p == '"' || *p == '\\')
		buf_printf(b, "\\%c", *p);
	else if (*p == '\n')
		buf_puts(b, "\\n");
	else if (*p < 0x20 || *p == 0x7f)
		buf_printf(b, "\\u%04x", *p);
	else
		buf_put(b, p, n);
}

void jw_text(struct buf *b, const char *key, const char *text)
{
	if (!text) {
		jw_null(b, key);
		return;
	}
	before(b, key);
	buf_putc(b, '"');
	for (const unsigned char *p = (const unsigned char *)text; *p;) {
		size_t n = utf8_length(p);
		put_char(b, p, n);
		p += n ? n : 1;
	}
	buf_putc(b, '"');
}

void jw_number(struct buf *b, const char *key, int64_t v)
{
	before(b, key);
	buf_printf(b, "%" PRId64, v);
}

void jw_string_number(struct buf *b, const char *key, uint64_t v)
{
	before(b, key);
	buf_printf(b, "\"%" PRIu64 "\"", v);
}

void jw_truth(struct buf *b, const char *key, bool v)
{
	before(b, key);
	buf_puts(b, v ? "true" : "false");
}

void jw_null(struct buf *b, const char *key)
{
	before(b, key);
	buf_puts(b, "null");
}

void jw_instant(struct buf *b, const char *key, int64_t s)
{
	char text[WHEN_TEXT];

	when_print(s, text);
	jw_text(b, key, text);
}

void jw_instant_us(struct buf *b, const char *key, int64_t us)
{
	char text[WHEN_TEXT];

	if (us == 0) {
		jw_null(b, key);
		return;
	}
	when_print_us(us, text);
	jw_text(b, key, text);
}

void jw_raw(struct buf *b, const char *key, const char *json, size_t n)
{
	before(b, key);
	buf_put(b, json, n);
}
