#include "util/json.h"

#include "util/buf.h"
#include "util/check.h"

#include <inttypes.h>
#include <string.h>

void json_out_start(struct json_out *j, struct buf *out)
{
	*j = (struct json_out){ .out = out };
}

void json_out_end(const struct json_out *j)
{
	CHECK(j->depth == 0 && j->has_items[0] && !j->keyed);
}

/* Before a value: the comma, and that it may stand here. */
static void begin_value(struct json_out *j)
{
	if (j->is_object[j->depth]) {
		CHECK(j->keyed);
		j->keyed = false;
		return;
	}
	CHECK(j->depth > 0 || !j->has_items[0]);
	if (j->has_items[j->depth])
		buf_putc(j->out, ',');
	j->has_items[j->depth] = true;
}

static void open_level(struct json_out *j, bool is_object)
{
	begin_value(j);
	CHECK(j->depth + 1 < JSON_OUT_DEPTH_MAX);
	j->depth++;
	j->is_object[j->depth] = is_object;
	j->has_items[j->depth] = false;
	buf_putc(j->out, is_object ? '{' : '[');
}

static void close_level(struct json_out *j, bool is_object)
{
	CHECK(j->depth > 0 && j->is_object[j->depth] == is_object && !j->keyed);
	j->depth--;
	buf_putc(j->out, is_object ? '}' : ']');
}

void json_open_object(struct json_out *j)
{
	open_level(j, true);
}

void json_close_object(struct json_out *j)
{
	close_level(j, true);
}

void json_open_array(struct json_out *j)
{
	open_level(j, false);
}

void json_close_array(struct json_out *j)
{
	close_level(j, false);
}

void json_add_key(struct json_out *j, const char *key)
{
	CHECK(j->is_object[j->depth] && !j->keyed);
	if (j->has_items[j->depth])
		buf_putc(j->out, ',');
	j->has_items[j->depth] = true;
	j->keyed = true;
	json_quote(j->out, key, strlen(key));
	buf_putc(j->out, ':');
}

void json_add_text(struct json_out *j, const char *text)
{
	if (text)
		json_add_textn(j, text, strlen(text));
	else
		json_add_null(j);
}

void json_add_textn(struct json_out *j, const char *text, size_t bytes)
{
	begin_value(j);
	json_quote(j->out, text, bytes);
}

void json_add_number(struct json_out *j, int64_t value)
{
	begin_value(j);
	buf_printf(j->out, "%" PRId64, value);
}

void json_add_truth(struct json_out *j, bool value)
{
	begin_value(j);
	buf_puts(j->out, value ? "true" : "false");
}

void json_add_null(struct json_out *j)
{
	begin_value(j);
	buf_puts(j->out, "null");
}

void json_add_raw(struct json_out *j, const char *json)
{
	begin_value(j);
	buf_puts(j->out, json);
}

void json_field_text(struct json_out *j, const char *key, const char *text)
{
	json_add_key(j, key);
	json_add_text(j, text);
}

void json_field_number(struct json_out *j, const char *key, int64_t value)
{
	json_add_key(j, key);
	json_add_number(j, value);
}

void json_field_truth(struct json_out *j, const char *key, bool value)
{
	json_add_key(j, key);
	json_add_truth(j, value);
}

/* Bytes of the well-formed UTF-8 character at p, 0 if there is none. */
static size_t character(const uint8_t *p, size_t n)
{
	static const struct {
		uint8_t lead_min, lead_max, second_min, second_max;
		size_t bytes;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (p[0] < forms[i].lead_min || p[0] > forms[i].lead_max)
			continue;
		if (n < forms[i].bytes || p[1] < forms[i].second_min || p[1] > forms[i].second_max)
			return 0;
		for (size_t k = 2; k < forms[i].bytes; k++)
			if (p[k] < 0x80 || p[k] > 0xbf)
				return 0;
		return forms[i].bytes;
	}
	return 0;
}

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
		size_t n = p[i] < 0x80 ? 0 : character(p + i, bytes - i);
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
