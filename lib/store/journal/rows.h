/* rows.h — what a record has of a commit: sections, the rows in them, the fields of each.
 * Internal to lib/store/journal, and for those who test it. */
#ifndef STORE_JOURNAL_ROWS_H
#define STORE_JOURNAL_ROWS_H

#include "store/journal/field.h"
#include "store/store.h"

/* Numbers of sections: for good, in the order in which they stand in a piece and are read. One
 * with SECTION_MUST, which these all have, must be understood; others may be passed over. To come:
 * rows of the audit with their hash, a gap, the begin of an epoch. */
enum { SECTION_MUST = 128 };

enum section {
	SECTION_LONGS = 1, /* bytes of long texts, for the rows after them to take */
	SECTION_EVENTS,
	SECTION_IMAGES,
	SECTION_DATA,
	SECTION_RANGES,
	SECTION_TAKEN,
	SECTION_TASKS,
	SECTION_LINKS_OF,
	SECTION_LINKS,
	SECTION_DOCS,
	SECTION_COMMANDS,
	SECTION_ITEMS,
	SECTION_ALERTS,
	SECTION_STATS,
	SECTION_END
};

const char *section_name(enum section s);

/* Where an image stands in its batch. */
enum { IMAGE_LIVE = 1, IMAGE_DONE = 2, IMAGE_REOPENED = 4 };

/* Before the row stands a number: how many events further than the image before it in the piece
 * (in its first: than its begin) the one that made it is; 0: none of the commit did. */
struct image_row {
	struct instance inst;
	uint8_t where;
};

/* The data of an event. */
struct data_row {
	uint64_t number;
	uint8_t kind;
	const char *body;
};

/* What the first row of a section in a piece is compared with. */
struct journal_head;
void section_begin(enum section s, const struct journal_head *h, int64_t v[FIELDS_MAX]);

/* An array of the batch that is written as it is. */
struct section_array {
	enum section section;
	size_t rows_at, n_at; /* of struct store_batch: the pointer, the size_t */
};

enum { SECTION_ARRAYS = 10 };

extern const struct section_array section_arrays[SECTION_ARRAYS];
/* Of the struct whose rows a section has; of SECTION_LONGS: none. */
const struct row_kind *section_rows(enum section s);

/* The array of a batch: its first row, and how many. */
const char *section_array_of(const struct store_batch *b, const struct section_array *a,
                             size_t *ret_n);

#endif
