/* Escapes: one character is looked at, then copied or replaced. Knows no terminal's language but
 * the colours; what is not known to be harmless is escaped. */
#include "util/visible.h"
#include "util/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "util/utf8.h"

/* What one character becomes: `taken` bytes of the text, 0 where its rest is missing. */
struct look {
	size_t taken, n;
	char text[VISIBLE_HELD];
};

static bool steers(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029 ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static void look_as_is(struct look *l, const uint8_t *p, size_t n)
{
	CHECK(n <= sizeof l->text);
	memcpy(l->text, p, n);
	l->taken = l->n = n;
}

static void look_escaped(struct look *l, uint32_t c, size_t taken)
{
	l->n = (size_t)snprintf(l->text, sizeof l->text, "\\u%04x", (unsigned)c);
	l->taken = taken;
}

/* Length of the colour, ESC [ digits ; : m, that p begins with; 0: it is none. *ret_cut: it may
 * become one. */
static size_t colour_length(const uint8_t *p, size_t n, bool *ret_cut)
{
	size_t at = 1;

	*ret_cut = false;
	if (at < n && p[at] != '[')
		return 0;
	for (at = 2; at < n && at < VISIBLE_HELD - 1; at++)
		if ((p[at] < '0' || p[at] > '9') && p[at] != ';' && p[at] != ':')
			break;
	*ret_cut = at >= n;
	return at < n && p[at] == 'm' ? at + 1 : 0;
}

static void look_ascii(struct look *l, const uint8_t *p, size_t n, enum visible how)
{
	size_t colour;
	bool cut;

	if (!steers(*p) || (how != VISIBLE_LINE && (*p == '\n' || *p == '\t'))) {
		look_as_is(l, p, 1);
	} else if (how == VISIBLE_COLOURS && *p == '\033') {
		colour = colour_length(p, n, &cut);
		if (colour)
			look_as_is(l, p, colour);
		else if (!cut)
			look_escaped(l, *p, 1);
	} else if (how == VISIBLE_COLOURS && *p == '\r' && (n == 1 || p[1] == '\n')) {
		if (n > 1)
			look_as_is(l, p, 2);
	} else {
		look_escaped(l, *p, 1);
	}
}

static void look_at(struct look *l, const uint8_t *p, size_t n, enum visible how)
{
	CHECK(n > 0);
	l->taken = l->n = 0;
	if (*p < 0x80) {
		look_ascii(l, p, n, how);
		return;
	}
	size_t bytes = utf8_char(p, n);
	if (bytes == 0) {
		if (n <= 3 && utf8_unfinished(p, n) == n)
			return;
		l->n = (size_t)snprintf(l->text, sizeof l->text, "\\x%02x", *p);
		l->taken = 1;
		return;
	}
	uint32_t c = *p & (0xffu >> (bytes + 1));
	for (size_t i = 1; i < bytes; i++)
		c = c << 6 | (p[i] & 0x3f);
	if (steers(c))
		look_escaped(l, c, bytes);
	else
		look_as_is(l, p, bytes);
}

size_t visible_copy(const char *text, size_t n, enum visible how, char *to, size_t size,
                    size_t *ret_taken)
{
	size_t at = 0, out = 0;
	struct look l;

	while (at < n) {
		look_at(&l, (const uint8_t *)text + at, n - at, how);
		CHECK(l.taken <= n - at && l.n <= sizeof l.text);
		if (l.taken == 0 || l.n > size - out)
			break;
		memcpy(to + out, l.text, l.n);
		out += l.n;
		at += l.taken;
	}
	CHECK(at <= n && out <= size);
	*ret_taken = at;
	return out;
}

void visible_put(const char *text, size_t n, enum visible how, struct buf *out)
{
	size_t taken = 0;
	char *to = (char *)buf_room(out, n * VISIBLE_GROWS + 1);

	buf_added(out, visible_copy(text, n, how, to, n * VISIBLE_GROWS, &taken));
	for (const uint8_t *p = (const uint8_t *)text + taken; taken < n; taken++, p++)
		if (*p >= 0x20 && *p < 0x7f)
			buf_putc(out, (char)*p);
		else
			buf_printf(out, "\\x%02x", *p);
}
