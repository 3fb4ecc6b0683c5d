/* Rows as numbers and texts.
 *
 * Members are read and written where a table says they are, all as int64_t; what a column holds
 * above INT64_MAX wraps there and back. A difference is taken without overflow (modulo 2^64) and
 * zigzag coded, so that any value is kept exactly and a small one costs a byte. Reading believes
 * nothing: a number has one spelling, fits its member, and says something that was not expected; a
 * text lies within what was read, with no byte 0 in it. */
#include "store/journal/field.h"

#include <string.h>

#include "sched/instance.h"
#include "store/batch.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/pile.h"

#define READ_AS(type) (int64_t)(*(const type *)at)

static int64_t number_of(const struct field *f, const void *row)
{
	const void *at = (const char *)row + f->at;

	switch (f->type) {
	case FIELD_BOOL:
		return READ_AS(bool);
	case FIELD_U8:
		return READ_AS(uint8_t);
	case FIELD_U16:
		return READ_AS(uint16_t);
	case FIELD_U32:
		return READ_AS(uint32_t);
	case FIELD_U64:
		return READ_AS(uint64_t);
	case FIELD_I16:
		return READ_AS(int16_t);
	case FIELD_I32:
		return READ_AS(int32_t);
	case FIELD_I64:
		return READ_AS(int64_t);
	case FIELD_STATE_BEFORE:
		if (*(const uint8_t *)at == ST_NONE)
			return STORE_STATUS_NONE;
		return state_number((enum state) * (const uint8_t *)at);
	case FIELD_STATE:
		return state_number((enum state) * (const uint8_t *)at);
	default:
		return 0;
	}
}

/* What a member of the type can hold; false: not that. */
#define WRITE_AS(type) (*(type *)at = (type)v, (int64_t) * (type *)at == v)

static bool state_set(uint8_t *at, int64_t v)
{
	enum state st = ST_NONE;

	if (v < INT32_MIN || v > INT32_MAX || !state_from_number((int)v, &st))
		return false;
	*at = (uint8_t)st;
	return true;
}

static bool number_set(const struct field *f, void *row, int64_t v)
{
	void *at = (char *)row + f->at;

	if (f->below && (v < 0 || v >= f->below))
		return false;
	switch (f->type) {
	case FIELD_BOOL:
		return (v == 0 || v == 1) && WRITE_AS(bool);
	case FIELD_U8:
		return WRITE_AS(uint8_t);
	case FIELD_U16:
		return WRITE_AS(uint16_t);
	case FIELD_U32:
		return WRITE_AS(uint32_t);
	case FIELD_U64:
		return WRITE_AS(uint64_t);
	case FIELD_I16:
		return WRITE_AS(int16_t);
	case FIELD_I32:
		return WRITE_AS(int32_t);
	case FIELD_I64:
		return WRITE_AS(int64_t);
	case FIELD_STATE_BEFORE: /* ST_NONE: the row is zeroed */
		return v == STORE_STATUS_NONE || state_set(at, v);
	case FIELD_STATE:
		return state_set(at, v);
	default:
		return v == 0;
	}
}

static bool is_text(const struct field *f)
{
	return f->type == FIELD_TEXT || f->type == FIELD_BYTES;
}

const char *field_text(const struct field *f, const void *row, size_t *ret_n)
{
	const char *text;

	if (!is_text(f))
		return NULL;
	memcpy(&text, (const char *)row + f->at, sizeof text);
	*ret_n = 0;
	if (text && f->type == FIELD_BYTES)
		memcpy(ret_n, (const char *)row + f->len_at, sizeof *ret_n);
	else if (text)
		*ret_n = strlen(text);
	return text;
}

static uint64_t expected(const struct field_base *b, const struct row_before *before)
{
	const uint64_t last = (uint64_t)before->last[b->field];

	if (b->expected == EXPECT_EVENT && before->event)
		return (uint64_t)before->event[b->of];
	return last + (b->expected == EXPECT_NEXT);
}

void row_numbers(const struct row_kind *k, const void *row, int64_t v[FIELDS_MAX])
{
	if (k->numbers) {
		k->numbers(row, v);
		return;
	}
	for (size_t i = 0; i < k->n; i++)
		v[i] = number_of(&k->fields[i], row);
}

uint64_t row_texts(const struct row_kind *k)
{
	uint64_t texts = k->texts;

	for (size_t i = 0; i < k->n && !k->numbers; i++)
		texts |= (uint64_t)is_text(&k->fields[i]) << i;
	return texts;
}

/* A length and whether the text stands apart, in one number. */
static uint8_t *text_put(uint8_t *to, const char *text, size_t n)
{
	const bool is_apart = n > TEXT_SHORT_MAX;

	to = number_put(to, (uint64_t)n << 1 | is_apart);
	if (is_apart)
		return to;
	memcpy(to, text, n);
	return to + n;
}

/* A bit for each number that is not what was expected, and by how much. */
static uint64_t numbers_differ(const struct row_kind *k, const struct row_before *before,
                               const int64_t *v, uint64_t *ret_by)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < k->n; i++)
		ret_by[i] = (uint64_t)v[i] - (uint64_t)before->last[i];
	for (size_t i = 0; i < k->n_bases; i++) {
		const struct field_base *b = &k->bases[i];
		ret_by[b->field] = (uint64_t)v[b->field] - expected(b, before);
	}
	for (size_t i = 0; i < k->n; i++)
		mask |= (uint64_t)(ret_by[i] != 0) << i;
	return mask;
}

size_t row_pack(const struct row_kind *k, const struct row_before *before, const void *row,
                uint8_t *to, int64_t v[FIELDS_MAX])
{
	const uint64_t texts = row_texts(k);
	uint64_t by[FIELDS_MAX], mask;
	uint8_t *const begin = to;
	size_t n = 0;

	CHECK(k->n <= FIELDS_MAX);
	row_numbers(k, row, v);
	mask = numbers_differ(k, before, v, by);
	for (uint64_t left = texts; left; left &= left - 1) {
		const int i = __builtin_ctzll(left);
		mask |= (uint64_t)(field_text(&k->fields[i], row, &n) != NULL) << i;
	}
	to = number_put(to, mask);
	for (; mask; mask &= mask - 1) {
		const int i = __builtin_ctzll(mask);
		if (texts >> i & 1) {
			const char *text = field_text(&k->fields[i], row, &n);
			to = text_put(to, text, n);
		} else {
			to = number_put(to, by[i] << 1 ^ (0 - (by[i] >> 63)));
		}
	}
	CHECK((size_t)(to - begin) <= ROW_BYTES_MAX);
	return (size_t)(to - begin);
}

bool source_fail(struct row_source *s, int code, const char *wrong)
{
	s->code = code;
	s->wrong = wrong;
	return false;
}

bool source_number(struct row_source *s, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; s->at < s->end; shift += 7) {
		const uint8_t byte = *s->at++;
		if ((byte == 0 && shift) || (shift == 63 && byte > 1))
			return source_fail(s, E_DAMAGED, "a number that no program writes so");
		v |= (uint64_t)(byte & 127) << shift;
		if (byte < 128) {
			*ret = v;
			return true;
		}
	}
	return source_fail(s, E_DAMAGED, "a number that does not end");
}

/* Where a text's bytes are; those that stand apart came before their row. */
static const uint8_t *text_at(struct row_source *s, size_t n, bool is_apart)
{
	const size_t have = is_apart ? s->longs->len : (size_t)(s->end - s->at);

	if (n > have || is_apart != (n > TEXT_SHORT_MAX)) {
		source_fail(s, E_DAMAGED, "a text that is longer than what there is");
		return NULL;
	}
	return is_apart ? buf_at(s->longs) : s->at;
}

static bool text_take(struct row_source *s, const struct field *f, void *row)
{
	uint64_t word;

	if (!source_number(s, &word))
		return false;
	const bool is_apart = word & 1;
	const size_t n = (size_t)(word >> 1);
	const uint8_t *bytes = text_at(s, n, is_apart);
	if (!bytes)
		return false;
	if (f->type == FIELD_TEXT && n && memchr(bytes, 0, n))
		return source_fail(s, E_DAMAGED, "a text with a byte 0 in it");
	char *text = pile_take(s->pile, n + 1);
	memcpy(text, bytes, n);
	if (is_apart)
		buf_drop(s->longs, n);
	else
		s->at += n;
	memcpy((char *)row + f->at, &text, sizeof text);
	if (f->type == FIELD_BYTES)
		memcpy((char *)row + f->len_at, &n, sizeof n);
	return true;
}

static bool number_take(struct row_source *s, uint64_t base, int64_t *v)
{
	uint64_t z;

	if (!source_number(s, &z))
		return false;
	if (z == 0)
		return source_fail(s, E_DAMAGED, "a number that was expected, and stands there");
	*v = (int64_t)(base + (z >> 1 ^ -(z & 1)));
	return true;
}

static bool field_unpack(const struct field *f, uint64_t base, struct row_source *s, bool is_there,
                         void *row, int64_t *v)
{
	s->field = f->name;
	*v = 0;
	if (is_text(f))
		return !is_there || text_take(s, f, row);
	*v = (int64_t)base;
	if (is_there && !number_take(s, base, v))
		return false;
	if (number_set(f, row, *v))
		return true;
	return f->type == FIELD_RUN
	               ? source_fail(s, E_VERSION, "a run, which this program does not know")
	               : source_fail(s, E_DAMAGED, "a number out of its range");
}

bool row_unpack(const struct row_kind *k, const struct row_before *before, struct row_source *s,
                void *row, int64_t v[FIELDS_MAX])
{
	size_t next = 0; /* of k->bases */
	uint64_t mask;

	s->field = "";
	if (!source_number(s, &mask))
		return false;
	if (k->n < FIELDS_MAX && mask >> k->n)
		return source_fail(s, E_VERSION, "a field that this program does not know");
	for (size_t i = 0; i < k->n; i++) {
		uint64_t base = (uint64_t)before->last[i];
		if (next < k->n_bases && k->bases[next].field == i)
			base = expected(&k->bases[next++], before);
		if (!field_unpack(&k->fields[i], base, s, mask >> i & 1, row, &v[i]))
			return false;
	}
	s->field = "";
	return true;
}
