/* JSON written straight into a buffer. Commas follow from what stands before: none after what
 * opens, one after a value. Texts may be any bytes: what is no UTF-8, or a NUL, becomes U+FFFD,
 * and characters that end lines for some readers are written by number. Whether brackets close is
 * the caller's to see to. */
#include "util/json_put.h"
#include "util/check.h"

#include <inttypes.h>
#include <string.h>

#include "util/buf.h"
#include "util/utf8.h"

#define NOT_TEXT "\xef\xbf\xbd" /* U+FFFD */

static void quote_ascii(struct buf *out, uint8_t c)
{
	static const char short_from[] = "\"\\\b\f\n\r\t", short_to[] = "\"\\bfnrt";
	const char *at = strchr(short_from, c);

	if (c == 0) /* no reader of ours takes a NUL within a text */
		buf_puts(out, NOT_TEXT);
	else if (at)
		buf_printf(out, "\\%c", short_to[at - short_from]);
	else if (c < 0x20 || c == 0x7f)
		buf_printf(out, "\\u%04x", c);
	else
		buf_putc(out, (char)c);
}

/* Characters that end lines or are invisible to some readers (YAML's and JavaScript's too) are
 * written by number. `n`: bytes of the character, 2..4. */
static bool is_delicate(const uint8_t *p, size_t n)
{
	if (n == 2)
		return p[0] == 0xc2 && p[1] < 0xa0; /* C1 controls, next line */
	if (n == 3 && p[0] == 0xe2 && p[1] == 0x80)
		return p[2] == 0xa8 || p[2] == 0xa9; /* line and paragraph separator */
	if (n == 3 && p[0] == 0xef)
		return (p[1] == 0xbb && p[2] == 0xbf) || (p[1] == 0xbf && p[2] >= 0xbe);
	return false;
}

static void quote_character(struct buf *out, const uint8_t *p, size_t n)
{
	CHECK(n >= 2 && n <= 4);
	if (!is_delicate(p, n)) {
		buf_put(out, p, n);
		return;
	}
	unsigned c = n == 2 ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
	                    : (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
	buf_printf(out, "\\u%04x", c);
}

void json_quote(struct buf *out, const char *text, size_t bytes)
{
	const uint8_t *p = (const uint8_t *)text;

	buf_putc(out, '"');
	for (size_t i = 0; i < bytes;) {
		size_t plain = i; /* a run that needs nothing */
		while (plain < bytes && p[plain] >= 0x20 && p[plain] < 0x7f && p[plain] != '"' &&
		       p[plain] != '\\')
			plain++;
		if (plain > i) {
			buf_put(out, p + i, plain - i);
			i = plain;
			continue;
		}
		size_t n = p[i] < 0x80 ? 0 : utf8_char(p + i, bytes - i);
		if (p[i] < 0x80)
			quote_ascii(out, p[i]);
		else if (n)
			quote_character(out, p + i, n);
		else
			buf_puts(out, NOT_TEXT);
		i += n ? n : 1;
	}
	buf_putc(out, '"');
}

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
	CHECK(bracket == '{' || bracket == '[');
	key_put(b, key);
	buf_putc(b, bracket);
}

void put_close(struct buf *b, char bracket)
{
	CHECK(bracket == '}' || bracket == ']');
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
	CHECK(*json);
	key_put(b, key);
	buf_puts(b, json);
}
