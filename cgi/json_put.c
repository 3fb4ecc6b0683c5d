#include "cgi/json_put.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sched/civil.h"
#include "util/buf.h"
#include "util/clock.h"

/* Bytes of the character at p, 0: not UTF-8. Loose about overlong forms of three and four
 * bytes on purpose: what comes here was checked when it came in. */
static size_t character_bytes(const unsigned char *p, const unsigned char *end)
{
	size_t n = p[0] < 0x80                   ? 1
	           : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
	           : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
	           : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
	                                         : 0;

	if (n > (size_t)(end - p))
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

static bool plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void string_put(struct buf *b, const void *text, size_t bytes)
{
	const unsigned char *p = text, *end = p + bytes;

	buf_putc(b, '"');
	while (p < end) {
		size_t n = 0;

		while (p + n < end && plain(p[n]))
			n++;
		if (n > 0) {
			buf_put(b, p, n);
			p += n;
			continue;
		}
		n = character_bytes(p, end);
		if (n == 0 || *p == '\0')
			buf_putc(b, '?');
		else if (n > 1)
			buf_put(b, p, n);
		else if (*p == '"' || *p == '\\')
			buf_printf(b, "\\%c", *p);
		else if (*p == '\n')
			buf_puts(b, "\\n");
		else
			buf_printf(b, "\\u%04x", *p);
		p += n == 0 ? 1 : n;
	}
	buf_putc(b, '"');
}

static void key_put(struct buf *b, const char *key)
{
	if (b->len > 0) {
		char last = (char)buf_at(b)[b->len - 1];

		if (last != '{' && last != '[' && last != '\n' && last != ' ')
			buf_putc(b, ',');
	}
	if (key != NULL) {
		string_put(b, key, strlen(key));
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
	key_put(b, key);
	if (value == NULL)
		buf_puts(b, "null");
	else
		string_put(b, value, strlen(value));
}

void put_bytes(struct buf *b, const char *key, const void *p, size_t n)
{
	key_put(b, key);
	string_put(b, p, n);
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

void instant_text(int64_t seconds, char ret[32])
{
	int64_t day = floor_div(seconds, DAY_S), of_day = floor_mod(seconds, DAY_S);
	struct civil c = civil_of_day(day);

	snprintf(ret, 32, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02dZ", c.year, c.month, c.day,
	         (int)(of_day / 3600), (int)(of_day / 60 % 60), (int)(of_day % 60));
}

void put_time(struct buf *b, const char *key, int64_t seconds)
{
	char text[32];

	if (seconds < TIME_MIN || seconds > TIME_MAX) {
		put_null(b, key);
		return;
	}
	instant_text(seconds, text);
	put_text(b, key, text);
}

void put_time_us(struct buf *b, const char *key, int64_t us)
{
	char text[48];
	int64_t s = floor_div(us, US_PER_S);

	if (us == 0 || s < TIME_MIN || s > TIME_MAX) {
		put_null(b, key);
		return;
	}
	instant_text(s, text);
	snprintf(text + strlen(text) - 1, 16, ".%06dZ", (int)floor_mod(us, US_PER_S));
	put_text(b, key, text);
}

/* n digits at *p, within lo..hi. */
static bool digits(const char **p, int n, int lo, int hi, int *ret)
{
	int v = 0;

	for (int i = 0; i < n; i++, (*p)++) {
		if (**p < '0' || **p > '9')
			return false;
		v = v * 10 + (**p - '0');
	}
	*ret = v;
	return v >= lo && v <= hi;
}

static bool zone_read(const char **p, int64_t *ret_offset)
{
	int h, m, sign = **p == '-' ? -1 : 1;

	*ret_offset = 0;
	if (**p == 'Z' || **p == 'z') {
		(*p)++;
		return true;
	}
	if (**p != '+' && **p != '-')
		return true; /* none: UTC */
	(*p)++;
	if (!digits(p, 2, 0, 23, &h) || *(*p)++ != ':' || !digits(p, 2, 0, 59, &m))
		return false;
	*ret_offset = sign * (h * 3600 + m * 60);
	return true;
}

bool instant_read(const char *p, int64_t *ret_seconds, bool *ret_date_only)
{
	int y, mo, d, h = 0, mi = 0, s = 0;
	int64_t offset = 0;

	*ret_date_only = false;
	if (!digits(&p, 4, 1, 9999, &y) || *p++ != '-' || !digits(&p, 2, 1, 12, &mo) ||
	    *p++ != '-' || !digits(&p, 2, 1, 31, &d) || d > civil_month_days(y, mo))
		return false;
	if (*p == '\0') {
		*ret_date_only = true;
	} else {
		if (*p != ' ' && *p != 'T' && *p != 't')
			return false;
		p++;
		if (!digits(&p, 2, 0, 23, &h) || *p++ != ':' || !digits(&p, 2, 0, 59, &mi))
			return false;
		if (*p == ':' && (p++, !digits(&p, 2, 0, 59, &s)))
			return false;
		if (!zone_read(&p, &offset) || *p != '\0')
			return false;
	}
	*ret_seconds = civil_to_day(y, mo, d) * DAY_S + h * 3600 + mi * 60 + s - offset;
	return true;
}
