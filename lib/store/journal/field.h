/* field.h — rows as numbers and texts, by tables of their members. Internal to lib/store/journal.
 *
 * A row is written as a mask of those of its fields that are not what was expected, and these: a
 * number as the difference to what was expected, a text with its length. What is expected is part
 * of the format.
 */
#ifndef STORE_JOURNAL_FIELD_H
#define STORE_JOURNAL_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct pile;

enum field_type {
	FIELD_NONE,
	FIELD_BOOL,
	FIELD_U8,
	FIELD_U16,
	FIELD_U32,
	FIELD_U64,
	FIELD_I16,
	FIELD_I32,
	FIELD_I64,
	FIELD_STATE,        /* enum state in a byte; by the number of schema/tbl/state.def */
	FIELD_STATE_BEFORE, /* the same, and ST_NONE */
	FIELD_RUN,   /* no member: rows of this release are of run 0, and no others are read */
	FIELD_TEXT,  /* a pointer; NULL is not "" */
	FIELD_BYTES, /* a pointer, and a size_t at `len_at` */
};

enum field_expected {
	EXPECT_LAST,  /* what the row before it has; a piece's first: section_begin() */
	EXPECT_NEXT,  /* one more than that */
	EXPECT_EVENT, /* field `of` of the image's event; without one: EXPECT_LAST */
};

struct field_base {
	uint8_t field, expected, of;
};

struct field {
	const char *name;
	uint16_t at, len_at;
	uint8_t type;
	uint8_t below; /* numbers are smaller than that; 0: what the member holds */
};

struct row_kind {
	const struct field *fields;     /* their places are their numbers: new ones come last */
	const struct field_base *bases; /* of those that are not EXPECT_LAST, by field */
	size_t n, n_bases, bytes;       /* fields; of the struct */
	/* Of rows that come by the thousand: their numbers without a table, a bit for each text. */
	void (*numbers)(const void *row, int64_t v[]);
	uint64_t texts;
};

/* The numbers of rows that were there before; 0 where a row has a text. */
struct row_before {
	const int64_t *last, *event; /* event NULL: none */
};

enum {
	FIELDS_MAX = 64,
	TEXT_SHORT_MAX = 4095, /* longer ones stand apart from their rows */
	TEXTS_MAX = 8,         /* of a row */
	ROW_BYTES_MAX = 10 * (1 + FIELDS_MAX) + TEXTS_MAX * (TEXT_SHORT_MAX + 3)
};

#define FIELD_TYPE(x) \
	_Generic((x), \
	        bool: FIELD_BOOL, \
	        uint8_t: FIELD_U8, \
	        uint16_t: FIELD_U16, \
	        uint32_t: FIELD_U32, \
	        uint64_t: FIELD_U64, \
	        int16_t: FIELD_I16, \
	        int32_t: FIELD_I32, \
	        int64_t: FIELD_I64, \
	        char *: FIELD_TEXT, \
	        const char *: FIELD_TEXT)
#define FIELD(s, member) \
	{ \
		.name = #member, .at = offsetof(s, member), .type = FIELD_TYPE(((s *)0)->member) \
	}

/* A bit for each field that is a text. */
uint64_t row_texts(const struct row_kind *k);
/* A text of the row, or NULL, and how long it is. */
const char *field_text(const struct field *f, const void *row, size_t *ret_n);

/* Write a row to `to`, which has room for ROW_BYTES_MAX; its numbers go to `v`. */
size_t row_pack(const struct row_kind *k, const struct row_before *before, const void *row,
                uint8_t *to, int64_t v[FIELDS_MAX]);

/* Where rows are read from. Nothing is read at or beyond `end`. */
struct row_source {
	const uint8_t *begin, *at, *end;
	struct buf *longs;         /* long texts that no row has taken yet */
	struct pile *pile;         /* whose texts are */
	const char *wrong, *field; /* what is wrong, with which field; "" */
	int code;                  /* then; else 0 */
};

bool source_fail(struct row_source *s, int code, const char *wrong);
bool source_number(struct row_source *s, uint64_t *ret);
/* Read a row into the struct `row` and its numbers into `v`. False: s->code. */
bool row_unpack(const struct row_kind *k, const struct row_before *before, struct row_source *s,
                void *row, int64_t v[FIELDS_MAX]);
/* The numbers of a row. */
void row_numbers(const struct row_kind *k, const void *row, int64_t v[FIELDS_MAX]);

/* At most 10 bytes. */
static inline uint8_t *number_put(uint8_t *to, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		*to++ = (uint8_t)(v | 128);
	*to++ = (uint8_t)v;
	return to;
}

#endif
