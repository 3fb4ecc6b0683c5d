/* A time zone from the bytes of a TZif file: its transitions in order with the offset after each,
 * and the rule that holds behind the last. The rule is written out up to 2110, so that what is
 * scheduled in practice is found by search.
 *
 * tz_first(label) is the first instant that shows a local time, or that comes after where the time
 * was left out; tz_reached(t) is the latest local time that any instant up to t has shown. They
 * undo each other, and everything above stands on that. Instants are clamped to a limit that sums
 * cannot overflow. */
#include "sched/tz.h"

#include <stdlib.h>
#include <string.h>

#include "sched/civil.h"
#include "sched/tz_rule.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

#define TIMES_MAX        4096
#define TYPES_MAX        256
#define CHARS_MAX        4096
#define FOOTER_MAX       256
#define TABLE_YEAR_FIRST 1900 /* of a zone that has a rule and no transitions */
#define TABLE_YEAR_LAST  2110 /* up to here the rule is written out; later it is computed */
/* Far outside what is scheduled, far inside what can be added to. */
#define T_LIMIT (INT64_C(1) << 50)

struct tz {
	char *name;
	size_t n;        /* transitions */
	int64_t *at;     /* n, ascending */
	int32_t *offset; /* n + 1: offset[i] holds before at[i], offset[n] from at[n - 1] on */
	bool has_rule;   /* takes over from at[n - 1] */
	struct tz_rule rule;
};

static const int32_t utc_offset[1] = { 0 };
static const struct tz utc = { .name = (char *)"UTC", .offset = (int32_t *)utc_offset };

const struct tz *tz_utc(void)
{
	return &utc;
}

const char *tz_name(const struct tz *tz)
{
	return tz->name;
}

static int64_t limited(int64_t t)
{
	return t < -T_LIMIT ? -T_LIMIT : t > T_LIMIT ? T_LIMIT : t;
}

/* Labels stay so far inside that no span behind one is beyond the limit. */
static int64_t label_limited(int64_t label)
{
	int64_t max = T_LIMIT - 4 * TZ_OFFSET_MAX;

	return label < -max ? -max : label > max ? max : label;
}

/* How many transitions are at or before t: the index into offset[]. */
static size_t tz_find(const struct tz *tz, int64_t t)
{
	const int64_t *base = tz->at;
	size_t n = tz->n;

	if (n == 0)
		return 0;
	while (n > 1) {
		size_t half = n / 2;
		base += base[half - 1] <= t ? half : 0;
		n -= half;
	}
	return (size_t)(base - tz->at) + (*base <= t);
}

static bool by_rule(const struct tz *tz, int64_t t)
{
	return tz->has_rule && (tz->n == 0 || t >= tz->at[tz->n - 1]);
}

struct tz_span tz_span_at(const struct tz *tz, int64_t t)
{
	struct tz_span s;

	t = limited(t);
	if (by_rule(tz, t)) {
		s = tz_rule_span(&tz->rule, t);
		if (tz->n && s.from < tz->at[tz->n - 1])
			s.from = tz->at[tz->n - 1];
		return s;
	}
	size_t i = tz_find(tz, t);
	s.from = i ? tz->at[i - 1] : INT64_MIN;
	s.to = i < tz->n ? tz->at[i] : INT64_MAX;
	s.offset = tz->offset[i];
	CHECK(s.from <= t && t < s.to);
	return s;
}

int32_t tz_offset(const struct tz *tz, int64_t t)
{
	t = limited(t);
	return by_rule(tz, t) ? tz_rule_span(&tz->rule, t).offset : tz->offset[tz_find(tz, t)];
}

int32_t tz_offset_hint(const struct tz *tz, int64_t t, size_t *hint)
{
	size_t i = *hint;

	if (i > 0 && i < tz->n && tz->at[i - 1] <= t && t < tz->at[i])
		return tz->offset[i];
	t = limited(t);
	if (by_rule(tz, t))
		return tz_rule_span(&tz->rule, t).offset;
	*hint = tz_find(tz, t);
	return tz->offset[*hint];
}

int64_t tz_to_label(const struct tz *tz, int64_t t)
{
	return limited(t) + tz_offset(tz, t);
}

/* Spans in order: the first that ends after the label would be shown shows it, or began
 * beyond it. */
int64_t tz_first(const struct tz *tz, int64_t label)
{
	label = label_limited(label);
	struct tz_span s = tz_span_at(tz, label - TZ_OFFSET_MAX);
	while (label - s.offset >= s.to)
		s = tz_span_at(tz, s.to);
	return label - s.offset > s.from ? label - s.offset : s.from;
}

int64_t tz_reached(const struct tz *tz, int64_t t)
{
	t = limited(t);
	struct tz_span s = tz_span_at(tz, t);
	int64_t top = t + s.offset;

	/* What a clock shows after it was set back, it regains in two days at most. */
	while (s.from > t - 2 * TZ_OFFSET_MAX) {
		int64_t set = s.from;
		s = tz_span_at(tz, set - 1);
		if (set - 1 + s.offset > top)
			top = set - 1 + s.offset;
	}
	return top;
}

struct tz_local tz_from_label(const struct tz *tz, int64_t label)
{
	struct tz_local l = { .first = tz_first(tz, label) };

	label = label_limited(label);
	l.last = l.first;
	if (tz_to_label(tz, l.first) != label) {
		l.kind = TZ_GAP;
		return l;
	}
	struct tz_span s = tz_span_at(tz, l.first);
	while (s.to < l.first + 2 * TZ_OFFSET_MAX) {
		s = tz_span_at(tz, s.to);
		int64_t t = label - s.offset;
		if (t >= s.from && t < s.to)
			l.last = t;
	}
	l.kind = l.last == l.first ? TZ_ONCE : TZ_TWICE;
	return l;
}

/* --- reading ------------------------------------------------------------------------ */

struct reader {
	const uint8_t *p;
	size_t left;
};

static const uint8_t *tz_take(struct reader *r, size_t n)
{
	const uint8_t *p = r->p;

	if (r->left < n)
		return NULL;
	r->p += n;
	r->left -= n;
	return p;
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t be64(const uint8_t *p)
{
	return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

struct header {
	uint8_t version;
	uint32_t isut, isstd, leap, times, types, chars;
};

static bool read_header(struct reader *r, struct header *h)
{
	const uint8_t *p = tz_take(r, 44);

	if (!p || memcmp(p, "TZif", 4) != 0)
		return false;
	h->version = p[4];
	h->isut = be32(p + 20);
	h->isstd = be32(p + 24);
	h->leap = be32(p + 28);
	h->times = be32(p + 32);
	h->types = be32(p + 36);
	h->chars = be32(p + 40);
	return h->times <= TIMES_MAX && h->types <= TYPES_MAX && h->chars <= CHARS_MAX &&
	       h->isut <= TYPES_MAX && h->isstd <= TYPES_MAX && h->leap <= TIMES_MAX;
}

static size_t body_size(const struct header *h, size_t time_size)
{
	return h->times * (time_size + 1) + h->types * 6 + h->chars + h->leap * (time_size + 4) +
	       h->isstd + h->isut;
}

static void add_transition(struct tz *tz, int64_t at, int32_t offset)
{
	if (offset == tz->offset[tz->n])
		return;
	tz->at[tz->n++] = at;
	tz->offset[tz->n] = offset;
}

/* The 64-bit block into the table; transitions that only rename the time are left out. */
static const char *read_block(struct tz *tz, const struct header *h, const uint8_t *p,
                              int64_t *ret_last)
{
	const uint8_t *index = p + h->times * 8, *types = index + h->times;
	int64_t last = INT64_MIN;

	for (size_t i = 0; i < h->types; i++) {
		int32_t offset = (int32_t)be32(types + i * 6);
		if (offset < -TZ_OFFSET_MAX || offset > TZ_OFFSET_MAX)
			return "an offset is out of range";
	}
	tz->offset[0] = (int32_t)be32(types);
	for (size_t i = 0; i < h->times; i++) {
		int64_t at = be64(p + i * 8);
		if (i && at <= last)
			return "the transitions are not in order";
		if (index[i] >= h->types)
			return "a transition has no type";
		last = at;
		add_transition(tz, limited(at), (int32_t)be32(types + index[i] * 6));
	}
	*ret_last = h->times ? limited(last) : INT64_MIN;
	return NULL;
}

/* Write the footer's rule out behind the table, so that what is scheduled in practice is
 * found by search. */
static void write_out_rule(struct tz *tz, int64_t last)
{
	int64_t year = TABLE_YEAR_FIRST;

	if (last > T_LIMIT / 2)
		return;
	if (last > INT64_MIN / 2)
		year = civil_of_day(floor_div(last, DAY_S)).year - 1;
	if (year < TABLE_YEAR_FIRST)
		year = TABLE_YEAR_FIRST;
	struct tz_span s = tz_rule_span(&tz->rule, civil_to_day(year, 1, 1) * DAY_S);
	for (; s.to != INT64_MAX; s = tz_rule_span(&tz->rule, s.to)) {
		if (s.from > civil_to_day(TABLE_YEAR_LAST, 1, 1) * DAY_S)
			break;
		if (s.from > last)
			add_transition(tz, s.from, s.offset);
		else if (s.to > last)
			add_transition(tz, last, s.offset);
	}
	if (s.to == INT64_MAX) /* no summer time */
		add_transition(tz, last > INT64_MIN ? last : -T_LIMIT, s.offset);
}

static const char *read_footer(struct tz *tz, struct reader *r, int64_t last)
{
	char text[FOOTER_MAX];
	const uint8_t *p = tz_take(r, 1);
	const uint8_t *end;

	if (!p || *p != '\n' || !(end = memchr(r->p, '\n', r->left)))
		return "the footer is missing";
	size_t len = (size_t)(end - r->p);
	if (len >= sizeof text)
		return "the footer is too long";
	memcpy(text, r->p, len);
	text[len] = 0;
	if (len == 0)
		return NULL;
	if (!tz_rule_parse(text, &tz->rule))
		return "the footer is not a rule";
	tz->has_rule = true;
	write_out_rule(tz, last);
	return NULL;
}

static const char *read_file(struct tz *tz, struct reader *r)
{
	struct header h;
	const uint8_t *body;
	const char *wrong;
	int64_t last = INT64_MIN;

	if (!read_header(r, &h) || !tz_take(r, body_size(&h, 4)))
		return "not a TZif file";
	if (h.version < '2')
		return "a TZif file of version 1, which ends in 2038";
	if (!read_header(r, &h) || !(body = tz_take(r, body_size(&h, 8))))
		return "the 64-bit block is missing";
	if (h.types == 0)
		return "no offset at all";
	if (h.leap)
		return "counts leap seconds";
	tz->at = mem_array(h.times + 2 * (TABLE_YEAR_LAST - TABLE_YEAR_FIRST + 8), sizeof *tz->at);
	tz->offset = mem_array(h.times + 2 * (TABLE_YEAR_LAST - TABLE_YEAR_FIRST + 8) + 1,
	                       sizeof *tz->offset);
	wrong = read_block(tz, &h, body, &last);
	if (!wrong)
		wrong = read_footer(tz, r, last);
	if (!wrong) {
		tz->at = mem_grow(tz->at, tz->n + 1, sizeof *tz->at);
		tz->offset = mem_grow(tz->offset, tz->n + 1, sizeof *tz->offset);
	}
	return wrong;
}

int tz_parse(const void *bytes, size_t len, const char *name, struct tz **ret_tz, struct err *err)
{
	struct reader r = { .p = bytes, .left = len };
	struct tz *tz = mem_new(sizeof *tz);

	tz->name = mem_str(name);
	const char *wrong = read_file(tz, &r);
	if (wrong) {
		tz_free(tz);
		return err_set(err, E_INVALID, "time zone %s: %s", name, wrong);
	}
	*ret_tz = tz;
	return 0;
}

void tz_free(struct tz *tz)
{
	if (!tz)
		return;
	free(tz->name);
	free(tz->at);
	free(tz->offset);
	free(tz);
}
