/* Pieces back into a commit.
 *
 * A piece is believed when its sum and its place are right; what it says is still looked at bit by
 * bit, for a program with a bug makes right sums too. Rows go to memory of the record's own, as
 * they are read: never more than PIECE_ROWS_MAX for a piece, and texts as long as their bytes. When
 * the last piece is in, the batch passes the check that every batch passes before a commit. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/batch.h"
#include "store/journal/journal.h"
#include "store/journal/piece.h"
#include "store/journal/rows.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/pile.h"

/* Rows of one section, one after the other; or pointers to them. */
struct rows_read {
	char *rows;
	size_t n, cap;
};

enum { LIST_LIVE, LIST_DONE, LIST_REOPENED, LISTS };

struct journal_reader {
	struct journal_place place;
	bool is_placed; /* where the next piece must stand is known */
	bool is_begun;
	bool is_whole;
	struct journal_head head; /* of the piece that is read */
	uint64_t first;           /* of the record */
	struct pile *pile;
	struct buf longs;
	struct row_source in;
	size_t rows_left;     /* of the piece */
	size_t events_before; /* events of the pieces before it */
	size_t events_told;   /* of the piece: how far images have told of them */
	uint64_t last_number; /* of an event */
	struct rows_read rows[SECTION_END];
	const struct instance **lists[LISTS];
	size_t n_lists[LISTS], cap_lists[LISTS];
	struct store_batch b;
};

struct journal_reader *journal_reader_new(const struct journal_place *from)
{
	struct journal_reader *r = mem_new(sizeof *r);

	if (from)
		r->place = *from;
	r->is_placed = from;
	buf_init(&r->longs);
	return r;
}

void journal_reader_free(struct journal_reader *r)
{
	if (!r)
		return;
	for (int i = 0; i < SECTION_END; i++)
		free(r->rows[i].rows);
	for (int i = 0; i < LISTS; i++)
		free(r->lists[i]);
	pile_free(r->pile);
	buf_done(&r->longs);
	free(r);
}

static void record_begin(struct journal_reader *r)
{
	pile_free(r->pile);
	r->pile = pile_new();
	r->in.pile = r->pile;
	buf_clear(&r->longs);
	for (int i = 0; i < SECTION_END; i++)
		r->rows[i].n = 0;
	memset(r->n_lists, 0, sizeof r->n_lists);
	r->first = r->head.first;
	r->last_number = 0;
	r->is_begun = true;
	r->is_whole = false;
}

/* Room for one more row; it may move those before it. */
static void *row_new(struct rows_read *rows, size_t bytes)
{
	rows->rows = mem_room(rows->rows, &rows->cap, rows->n + 1, bytes);
	void *row = rows->rows + rows->n++ * bytes;
	memset(row, 0, bytes);
	return row;
}

static struct transition *event_at(const struct journal_reader *r, size_t i)
{
	return ((struct transition **)(void *)r->rows[SECTION_EVENTS].rows)[i];
}

static bool take_event(struct journal_reader *r, const struct row_before *before, int64_t *v)
{
	struct transition *t = pile_take(r->pile, sizeof *t);
	const struct journal_head *h = &r->head;

	if (!row_unpack(section_rows(SECTION_EVENTS), before, &r->in, t, v))
		return false;
	if (t->number < h->first || t->number > h->last || t->number <= r->last_number ||
	    !(h->flags & JOURNAL_NUMBERED))
		return source_fail(&r->in, E_DAMAGED, "an event out of its order or its piece");
	t->kind = TK_INSTANCE;
	t->inst.state = t->to;
	r->last_number = t->number;
	*(struct transition **)row_new(&r->rows[SECTION_EVENTS], sizeof t) = t;
	return true;
}

static void list_add(struct journal_reader *r, int list, const struct instance *i)
{
	size_t n = r->n_lists[list]++;

	r->lists[list] = mem_room(r->lists[list], &r->cap_lists[list], n + 1,
	                          sizeof *r->lists[list]);
	r->lists[list][n] = i;
}

/* The numbers of the event that made the image; *ret NULL: none did. */
static bool event_of(struct journal_reader *r, int64_t v[FIELDS_MAX], const int64_t **ret)
{
	const size_t n = r->rows[SECTION_EVENTS].n - r->events_before;
	uint64_t step;

	*ret = NULL;
	if (!source_number(&r->in, &step))
		return false;
	if (step > n - r->events_told)
		return source_fail(&r->in, E_DAMAGED, "an image of an event that is not there");
	if (!step)
		return true;
	r->events_told += step;
	row_numbers(section_rows(SECTION_EVENTS),
	            event_at(r, r->events_before + r->events_told - 1), v);
	*ret = v;
	return true;
}

static bool take_image(struct journal_reader *r, const struct row_before *before, int64_t *v)
{
	struct image_row *row = pile_take(r->pile, sizeof *row);
	struct row_before with = *before;
	int64_t event[FIELDS_MAX];

	if (!event_of(r, event, &with.event) ||
	    !row_unpack(section_rows(SECTION_IMAGES), &with, &r->in, row, v))
		return false;
	if (!row->where)
		return source_fail(&r->in, E_DAMAGED, "an image that stands nowhere");
	if (row->where & IMAGE_LIVE)
		list_add(r, LIST_LIVE, &row->inst);
	if (row->where & IMAGE_DONE)
		list_add(r, LIST_DONE, &row->inst);
	if (row->where & IMAGE_REOPENED)
		list_add(r, LIST_REOPENED, &row->inst);
	return true;
}

static struct transition *event_numbered(const struct journal_reader *r, uint64_t number)
{
	size_t lo = 0, hi = r->rows[SECTION_EVENTS].n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (event_at(r, mid)->number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->rows[SECTION_EVENTS].n && event_at(r, lo)->number == number ? event_at(r, lo)
	                                                                           : NULL;
}

static bool take_data(struct journal_reader *r, const struct row_before *before, int64_t *v)
{
	struct data_row row = { 0 };
	struct transition *t;

	if (!row_unpack(section_rows(SECTION_DATA), before, &r->in, &row, v))
		return false;
	t = event_numbered(r, row.number);
	if (!t || t->data || !row.body || !row.kind)
		return source_fail(&r->in, E_DAMAGED, "data of no event, or without a body");
	t->data = (char *)row.body;
	t->data_kind = row.kind;
	return true;
}

static bool take_row(struct journal_reader *r, enum section s, const struct row_before *before,
                     int64_t *v)
{
	const struct row_kind *k = section_rows(s);

	if (r->rows_left-- == 0) {
		r->rows_left = 0;
		return source_fail(&r->in, E_DAMAGED, "more rows than a piece has");
	}
	switch (s) {
	case SECTION_EVENTS:
		return take_event(r, before, v);
	case SECTION_IMAGES:
		return take_image(r, before, v);
	case SECTION_DATA:
		return take_data(r, before, v);
	default:
		return row_unpack(k, before, &r->in, row_new(&r->rows[s], k->bytes), v);
	}
}

static bool take_section(struct journal_reader *r, enum section s)
{
	int64_t v[2][FIELDS_MAX] = { 0 };
	int now = 1;

	section_begin(s, &r->head, v[0]);
	if (s == SECTION_LONGS) {
		buf_put(&r->longs, r->in.at, (size_t)(r->in.end - r->in.at));
		r->in.at = r->in.end;
		return true;
	}
	for (; r->in.at < r->in.end; now ^= 1) {
		const struct row_before before = { v[now ^ 1], NULL };
		if (!take_row(r, s, &before, v[now]))
			return false;
	}
	return true;
}

/* A section's tag and length. *ret 0: passed over. */
static bool section_head(struct journal_reader *r, unsigned before, unsigned *ret)
{
	const uint8_t tag = *r->in.at++;
	const unsigned section = tag & (SECTION_MUST - 1);
	uint64_t length;

	if (!source_number(&r->in, &length))
		return false;
	if (length > (uint64_t)(r->in.end - r->in.at))
		return source_fail(&r->in, E_DAMAGED, "a section longer than its piece");
	if (section <= before)
		return source_fail(&r->in, E_DAMAGED, "a section out of order");
	if (section >= SECTION_END && tag & SECTION_MUST)
		return source_fail(&r->in, E_VERSION, "a section that this program does not know");
	r->in.end = r->in.at + length;
	*ret = section < SECTION_END ? section : 0;
	if (!*ret)
		r->in.at = r->in.end;
	return true;
}

static int take_sections(struct journal_reader *r, const uint8_t *p, struct err *err)
{
	const uint8_t *const end = p + r->head.length;
	unsigned section = 0, last = 0;

	r->in = (struct row_source){ .begin = p,
		                     .at = p + PIECE_HEAD,
		                     .end = end,
		                     .longs = &r->longs,
		                     .pile = r->pile,
		                     .field = "" };
	r->rows_left = PIECE_ROWS_MAX;
	r->events_before = r->rows[SECTION_EVENTS].n;
	r->events_told = 0;
	while (r->in.at < end && !r->in.code) {
		r->in.end = end;
		section = 0;
		if (section_head(r, last, &section) && section &&
		    take_section(r, (enum section)section))
			last = section;
	}
	if (!r->in.code)
		return 0;
	return err_set(err, r->in.code, "journal piece %" PRIu64 ", byte %zu, %s %s: %s",
	               r->head.place.seq, (size_t)(r->in.at - p),
	               section_name((enum section)section), r->in.field, r->in.wrong);
}

static int check_place(const struct journal_reader *r, struct err *err)
{
	const struct journal_place *is = &r->head.place, *want = &r->place;

	if (!r->is_placed)
		return 0;
	if (memcmp(is->store, want->store, sizeof is->store) != 0)
		return err_set(err, E_STRANGER,
		               "journal piece %" PRIu64 " is another store's record", is->seq);
	if (is->seq != want->seq)
		return err_set(err, E_DAMAGED,
		               "journal piece %" PRIu64 " stands where %" PRIu64 " belongs",
		               is->seq, want->seq);
	if (is->before != want->before)
		return err_set(err, E_DAMAGED,
		               "journal piece %" PRIu64 " follows one with the sum %08" PRIx32
		               ", and the one before it has %08" PRIx32,
		               is->seq, is->before, want->before);
	return 0;
}

/* Does the piece go on with the record that was begun, or begin one? */
static int check_order(const struct journal_reader *r, const struct journal_head *was,
                       struct err *err)
{
	const struct journal_head *h = &r->head;
	const bool begins = h->flags & JOURNAL_BEGINS;
	const bool is_numbered = h->flags & JOURNAL_NUMBERED;

	if (begins == r->is_begun)
		return err_set(err, E_DAMAGED,
		               begins ? "journal piece %" PRIu64
		                        " begins a record, and the one before it has no end"
		                      : "journal piece %" PRIu64 " goes on with a record that "
		                        "has no begin",
		               h->place.seq);
	if (begins)
		return 0;
	if (h->epoch != was->epoch || h->at_us != was->at_us ||
	    (h->flags ^ was->flags) & JOURNAL_NUMBERED ||
	    (is_numbered ? h->first != was->last + 1
	                 : h->first != was->first || h->last != was->last))
		return err_set(err, E_DAMAGED,
		               "journal piece %" PRIu64
		               " does not go on where the one before it ends",
		               h->place.seq);
	return 0;
}

static void fill_arrays(struct journal_reader *r)
{
	for (size_t i = 0; i < SECTION_ARRAYS; i++) {
		const struct section_array *a = &section_arrays[i];
		const struct rows_read *rows = &r->rows[a->section];

		memcpy((char *)&r->b + a->rows_at, &rows->rows, sizeof rows->rows);
		memcpy((char *)&r->b + a->n_at, &rows->n, sizeof rows->n);
	}
}

static int record_end(struct journal_reader *r, struct err *err)
{
	const struct journal_head *h = &r->head;
	struct err why = { 0 };

	r->b = (struct store_batch){ .epoch = h->epoch,
		                     .at_us = h->at_us,
		                     .first = r->first,
		                     .last = h->last,
		                     .events = (void *)r->rows[SECTION_EVENTS].rows,
		                     .n_events = r->rows[SECTION_EVENTS].n,
		                     .live = r->lists[LIST_LIVE],
		                     .n_live = r->n_lists[LIST_LIVE],
		                     .done = r->lists[LIST_DONE],
		                     .n_done = r->n_lists[LIST_DONE],
		                     .reopened = r->lists[LIST_REOPENED],
		                     .n_reopened = r->n_lists[LIST_REOPENED] };
	fill_arrays(r);
	if (r->longs.len)
		return err_set(err, E_DAMAGED,
		               "journal piece %" PRIu64
		               " ends a record with %zu bytes of text that no row has",
		               h->place.seq, r->longs.len);
	if (!(h->flags & JOURNAL_NUMBERED) != !(r->first && h->last >= r->first))
		return err_set(err, E_DAMAGED,
		               "journal piece %" PRIu64 " ends a record of transitions %" PRIu64
		               "..%" PRIu64 ", and says otherwise",
		               h->place.seq, r->first, h->last);
	if (batch_check(&r->b, &why) < 0)
		return err_set(err, E_DAMAGED,
		               "journal piece %" PRIu64 " ends a record that no commit makes: %s",
		               h->place.seq, why.text);
	r->is_begun = false;
	r->is_whole = true;
	return 1;
}

int journal_take(struct journal_reader *r, const void *bytes, size_t n, struct err *err)
{
	const struct journal_head was = r->head;
	int code = journal_head_read(bytes, n, &r->head, err);

	if (code < 0)
		return code;
	if (r->head.length != n || piece_sum(bytes, r->head.length) != r->head.sum)
		return err_set(err, E_DAMAGED,
		               "journal piece %" PRIu64 " is torn: its %" PRIu32
		               " bytes of %zu do not have the sum %08" PRIx32,
		               r->head.place.seq, r->head.length, n, r->head.sum);
	code = check_place(r, err);
	if (code == 0)
		code = check_order(r, &was, err);
	if (code < 0)
		return code;
	if (r->head.flags & JOURNAL_BEGINS)
		record_begin(r);
	code = take_sections(r, bytes, err);
	if (code < 0)
		return code;
	r->place = r->head.place;
	r->place.seq++;
	r->place.before = r->head.sum;
	r->is_placed = true;
	return r->head.flags & JOURNAL_ENDS ? record_end(r, err) : 0;
}

const struct store_batch *journal_batch(const struct journal_reader *r)
{
	CHECK(r->is_whole);
	return &r->b;
}

struct journal_place journal_reader_place(const struct journal_reader *r)
{
	return r->place;
}
