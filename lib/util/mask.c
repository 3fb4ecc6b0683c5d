/* Many needles in one walk. All have MASK_MIN bytes and more; the shortest says how far the walk
 * may step at most. A table says, for the last two bytes of that window, how far it steps (0: some
 * needle may begin here), after Wu and Manber. Whatever any needle covers is hidden: what touches
 * is one run. The end of a piece that is the beginning of a needle is held until more comes. */
#include "util/mask.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#include "util/alloc.h"
#include "util/check.h"

enum { BLOCKS = 4096, STEP_MAX = 64, NONE = UINT16_MAX, NEEDLES_MAX = 8192 };
enum { NEEDLES_KEPT = 256, BYTES_KEPT = 1 << 20 }; /* for values as they are */

struct needle {
	char *bytes;
	size_t n;
	uint16_t next;  /* with the same block at the window's end */
	uint16_t alike; /* with the same block at the beginning */
};

struct mask {
	struct needle *needles, *values;
	size_t n, n_values, bytes;
	size_t shortest, longest;
	uint8_t steps[BLOCKS];
	uint16_t first[BLOCKS];
	uint16_t starts[BLOCKS];
	bool begins[256];
};

struct mask *mask_new(void)
{
	return mem_new(sizeof(struct mask));
}

static void wipe_all(struct needle *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		explicit_bzero(list[i].bytes, list[i].n);
		free(list[i].bytes);
	}
	free(list);
}

void mask_free(struct mask *m)
{
	if (!m)
		return;
	wipe_all(m->needles, m->n);
	wipe_all(m->values, m->n_values);
	free(m);
}

/* --- needles ------------------------------------------------------------------------------- */

/* Its other writings and its lines leave room for the values that come after it. */
static bool needle_add(struct mask *m, const char *p, size_t n, bool is_value)
{
	size_t most = is_value ? NEEDLES_MAX : NEEDLES_MAX - NEEDLES_KEPT;
	size_t bytes = is_value ? MASK_BYTES_MAX : MASK_BYTES_MAX - BYTES_KEPT;

	for (size_t i = 0; i < m->n; i++)
		if (m->needles[i].n == n && memcmp(m->needles[i].bytes, p, n) == 0)
			return true;
	if (n < MASK_MIN || m->n >= most || m->bytes > bytes || n > bytes - m->bytes)
		return false;
	m->needles = mem_grow(m->needles, m->n + 1, sizeof *m->needles);
	m->needles[m->n++] = (struct needle){ .bytes = mem_strn(p, n), .n = n };
	m->bytes += n;
	return true;
}

/* The buffer holds a secret. */
static void needle_take(struct mask *m, struct buf *b)
{
	needle_add(m, (const char *)buf_at(b), b->len, false);
	explicit_bzero(b->data, b->cap);
	buf_clear(b);
}

/* The letters that are the value's alone where `before` bytes stand in front of it. */
static void add_base64(struct mask *m, const char *p, size_t n, size_t before, const char *last)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
	struct buf b;

	buf_init(&b);
	buf_room(&b, 2 * n + 8); /* it never moves: no copy is left behind */
	for (size_t bit = (8 * before + 5) / 6 * 6; bit + 6 <= 8 * (before + n); bit += 6) {
		unsigned value = 0;
		for (size_t i = bit; i < bit + 6; i++)
			value = value << 1 | ((unsigned char)p[i / 8 - before] >> (7 - i % 8) & 1);
		buf_putc(&b, value < 62 ? letters[value] : last[value - 62]);
	}
	needle_take(m, &b);
	buf_done(&b);
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Programs differ in what they leave as it is, in the digits and in the blank. */
static void add_quoted(struct mask *m, const char *p, size_t n)
{
	static const struct {
		const char *plain, *blank;
	} ways[] = {
		{ "-_.~", "%20" }, { "-_.~/", "%20" }, { "-_.~!*'()", "%20" },
		{ "-_.~", "+" },   { "-_.*", "+" },
	};
	struct buf b;

	buf_init(&b);
	buf_room(&b, 3 * n + 8);
	for (size_t w = 0; w < 2 * sizeof ways / sizeof *ways; w++) {
		for (size_t i = 0; i < n; i++) {
			if (p[i] == ' ')
				buf_puts(&b, ways[w / 2].blank);
			else if (is_alnum(p[i]) || (p[i] && strchr(ways[w / 2].plain, p[i])))
				buf_putc(&b, p[i]);
			else
				buf_printf(&b, w % 2 ? "%%%02x" : "%%%02X", (unsigned char)p[i]);
		}
		needle_take(m, &b);
	}
	buf_done(&b);
}

/* A string of JSON, or of a program's trace. */
struct way {
	const char *marks; /* stand behind a \ */
	const char *codes; /* by their number */
	bool ascii, upper; /* so is what is no ASCII; the digits of numbers */
};

static void put_code(struct buf *b, const struct way *w, uint32_t c)
{
	uint32_t high = c > 0xffff ? 0xd7c0 + (c >> 10) : 0, low = high ? 0xdc00 | (c & 0x3ff) : c;

	for (int i = high ? 0 : 1; i < 2; i++) {
		unsigned unit = i == 0 ? high : low;
		if (w->upper)
			buf_printf(b, "\\u%04X", unit);
		else
			buf_printf(b, "\\u%04x", unit);
	}
}

static void put_escaped(struct buf *b, const struct way *w, const char *p, size_t n)
{
	static const char controls[] = "\b\f\n\r\t", letters[] = "bfnrt";

	for (size_t i = 0, len = 1; i < n; i += len) {
		unsigned char c = (unsigned char)p[i];
		const char *control = c ? strchr(controls, c) : NULL;
		ucs4_t wide = 0;
		int got = c < 0x80 ? 1 : u8_mbtoucr(&wide, (const uint8_t *)p + i, n - i);
		len = got > 0 ? (size_t)got : 1;
		if (c && strchr(w->marks, c))
			buf_printf(b, "\\%c", c);
		else if (control)
			buf_printf(b, "\\%c", letters[control - controls]);
		else if (c < ' ' || strchr(w->codes, c))
			put_code(b, w, c);
		else if (w->ascii && wide && got > 0)
			put_code(b, w, wide);
		else
			buf_put(b, p + i, len);
	}
}

/* As a string of JSON in the writings of many libraries, as Python's repr() shows it, and within
 * single quotes of a shell. */
static void add_escaped(struct mask *m, const char *p, size_t n)
{
	static const struct way ways[] = {
		{ "\"\\", "", false, false },      { "\"\\", "", true, false }, /* Python */
		{ "\"\\", "", true, true },        { "\"\\/", "", false, false },
		{ "\"\\/", "", true, false },                                   /* PHP */
		{ "\"\\", "<>&", false, false },                                /* Go, Rails */
		{ "\"\\", "<>&'=", false, false },                              /* Gson */
		{ "\\", "\"<>&'+`", true, true },                               /* .NET */
		{ "\\", "", false, false },        { "\\'", "", false, false }, /* repr() */
	};
	struct buf b;

	buf_init(&b);
	buf_room(&b, 6 * n + 8);
	for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
		put_escaped(&b, &ways[w], p, n);
		needle_take(m, &b);
	}
	for (size_t i = 0; i < n; i++) {
		buf_puts(&b, p[i] == '\'' ? "'\\'" : "");
		buf_putc(&b, p[i]);
	}
	needle_take(m, &b);
	buf_done(&b);
}

static void add_lines(struct mask *m, const char *p, size_t n)
{
	for (const char *end = p + n, *stop; p < end; p = stop + 1) {
		stop = memchr(p, '\n', (size_t)(end - p));
		stop = stop ? stop : end;
		size_t len = (size_t)(stop - p);
		len -= len > 0 && p[len - 1] == '\r';
		if (len >= MASK_LINE_MIN)
			needle_add(m, p, len, false);
	}
}

/* --- the table ------------------------------------------------------------------------------ */

static unsigned block(const char *p)
{
	return ((unsigned)(unsigned char)p[0] << 5 ^ (unsigned char)p[1]) % BLOCKS;
}

static void table_make(struct mask *m)
{
	m->shortest = m->n ? SIZE_MAX : 0;
	m->longest = 0;
	for (size_t i = 0; i < m->n; i++) {
		size_t n = m->needles[i].n;
		m->shortest = n < m->shortest ? n : m->shortest;
		m->longest = n > m->longest ? n : m->longest;
	}
	if (m->shortest > STEP_MAX)
		m->shortest = STEP_MAX;
	memset(m->steps, (int)(m->shortest - 1), sizeof m->steps);
	memset(m->first, 0xff, sizeof m->first);
	memset(m->starts, 0xff, sizeof m->starts);
	for (size_t i = 0; i < m->n; i++) {
		struct needle *x = &m->needles[i];
		m->begins[(unsigned char)x->bytes[0]] = true;
		for (size_t k = 0; k + 2 <= m->shortest; k++) {
			unsigned h = block(x->bytes + k);
			size_t step = m->shortest - 2 - k;
			if (step < m->steps[h])
				m->steps[h] = (uint8_t)step;
		}
		unsigned last = block(x->bytes + m->shortest - 2);
		x->next = m->first[last];
		m->first[last] = (uint16_t)i;
		x->alike = m->starts[block(x->bytes)];
		m->starts[block(x->bytes)] = (uint16_t)i;
	}
}

bool mask_add(struct mask *m, const char *value, size_t n)
{
	while (n > 0 && (value[n - 1] == '\n' || value[n - 1] == '\r'))
		n--;
	for (size_t i = 0; i < m->n_values; i++)
		if (m->values[i].n == n && memcmp(m->values[i].bytes, value, n) == 0)
			return true;
	if (!needle_add(m, value, n, true))
		return false;
	m->values = mem_grow(m->values, m->n_values + 1, sizeof *m->values);
	m->values[m->n_values++] = (struct needle){ .bytes = mem_strn(value, n), .n = n };
	if (memchr(value, '\n', n))
		add_lines(m, value, n);
	if (n <= MASK_CODED_MAX) {
		for (size_t before = 0; before < 3; before++) {
			add_base64(m, value, n, before, "+/");
			add_base64(m, value, n, before, "-_");
		}
		add_quoted(m, value, n);
		add_escaped(m, value, n);
	}
	table_make(m);
	return true;
}

size_t mask_count(const struct mask *m)
{
	return m ? m->n_values : 0;
}

const char *mask_value(const struct mask *m, size_t i, size_t *ret_n)
{
	CHECK(i < m->n_values);
	*ret_n = m->values[i].n;
	return m->values[i].bytes;
}

/* --- text ----------------------------------------------------------------------------------- */

/* The first place from which on all may be the beginning of a needle; n: there is none. */
static size_t hold_from(const struct mask *m, const char *text, size_t n)
{
	for (size_t at = n < m->longest ? 0 : n - m->longest + 1; at + 1 < n; at++)
		for (unsigned i = m->starts[block(text + at)]; i != NONE; i = m->needles[i].alike)
			if (m->needles[i].n > n - at &&
			    memcmp(m->needles[i].bytes, text + at, n - at) == 0)
				return at;
	return n > 0 && m->begins[(unsigned char)text[n - 1]] ? n - 1 : n;
}

/* The longest needle at `at`; 0: none. */
static size_t match(const struct mask *m, const char *text, size_t n, size_t at)
{
	size_t best = 0;

	for (unsigned i = m->first[block(text + at + m->shortest - 2)]; i != NONE;
	     i = m->needles[i].next) {
		const struct needle *x = &m->needles[i];
		if (x->n > best && x->n <= n - at && memcmp(x->bytes, text + at, x->n) == 0)
			best = x->n;
	}
	return best;
}

/* Show text[0 .. upto). What begins in it and is longer is hidden beyond it. */
static void show(const struct mask *m, struct mask_stream *s, const char *text, size_t n,
                 size_t upto, struct buf *out)
{
	size_t shown = s->covered, at = 0;

	while (m->n && at < upto && at + m->shortest <= n) {
		size_t step = m->steps[block(text + at + m->shortest - 2)];
		size_t len = step ? 0 : match(m, text, n, at);
		if (len && at > shown) {
			buf_put(out, text + shown, at - shown);
			s->in_run = false;
		}
		if (len) {
			if (!s->in_run)
				buf_puts(out, MASK_SHOWN);
			s->in_run = true;
			shown = at + len > shown ? at + len : shown;
		}
		at += step ? step : 1;
	}
	if (shown < upto) {
		buf_put(out, text + shown, upto - shown);
		s->in_run = false;
		shown = upto;
	}
	s->covered = shown - upto;
}

static void pass(const struct mask *m, struct mask_stream *s, bool is_last, const void *p, size_t n,
                 struct buf *out)
{
	bool was_held = s->held.len > 0;

	if (was_held)
		buf_put(&s->held, p, n);
	const char *text = was_held ? (const char *)buf_at(&s->held) : p;

	n = was_held ? s->held.len : n;
	if (n == 0)
		return;
	size_t upto = is_last ? n : hold_from(m, text, n);
	show(m, s, text, n, upto, out);
	if (was_held)
		buf_drop(&s->held, upto);
	else if (upto < n)
		buf_put(&s->held, text + upto, n - upto);
}

void mask_take(const struct mask *m, struct mask_stream *s, const void *p, size_t n,
               struct buf *out)
{
	pass(m, s, false, p, n, out);
}

void mask_end(const struct mask *m, struct mask_stream *s, struct buf *out)
{
	pass(m, s, true, "", 0, out);
	CHECK(s->held.len == 0 && s->covered == 0);
}

void mask_stream_done(struct mask_stream *s)
{
	if (s->held.data)
		explicit_bzero(s->held.data, s->held.cap);
	buf_done(&s->held);
	*s = (struct mask_stream){ 0 };
}

bool mask_text(const struct mask *m, const char *text, size_t n, struct buf *out)
{
	struct mask_stream s = { 0 };

	if (!m || !m->n || !n)
		return false;
	mask_take(m, &s, text, n, out);
	mask_end(m, &s, out);
	mask_stream_done(&s);
	if (out->len != n || memcmp(buf_at(out), text, n) != 0)
		return true;
	buf_clear(out);
	return false;
}
