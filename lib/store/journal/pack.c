/* A commit into the pieces of its record.
 *
 * Rows go to the buffer of their section until a piece is full; then the sections are written in
 * their order behind a head, and what rows are compared with begins anew, so that a piece is read
 * alone. Events come first, each with its images in the same piece, as the difference to it; then
 * the images of what no event of the commit made, data, and the other rows. A long text goes ahead
 * of its row, in as many pieces as it takes. */
#include <stdlib.h>
#include <string.h>

#include "store/journal/journal.h"
#include "store/journal/piece.h"
#include "store/journal/rows.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"

enum {
	/* What an event and its images may take together, without a long note. */
	EVENT_ROOM = 3 * 10 * (1 + FIELDS_MAX) + TEXT_SHORT_MAX + 3,
	/* A piece of events is closed at that, a page of a database: one event of it is read for
	 * the price of all of them, 16 us a KiB. */
	EVENTS_FILL = 3800,
	SECTION_HEAD_MAX = 1 + 3 /* tag, length */
};
_Static_assert(PIECE_HEAD + SECTION_END * SECTION_HEAD_MAX + ROW_BYTES_MAX < JOURNAL_PIECE_MAX,
               "a row fits an empty piece");

/* The images that an event made. */
struct made {
	const struct instance *image;
	uint8_t where;
};

struct journal_packer {
	const struct store_batch *b;
	struct journal_place *place;
	struct buf *out;
	struct buf sections[SECTION_END];
	size_t used; /* bytes of the piece, its head and those of all sections counted */
	size_t rows, events, events_told; /* events; how far images have told of them */
	int64_t last[SECTION_END][FIELDS_MAX];
	uint8_t row[ROW_BYTES_MAX];
	uint64_t first, number; /* the piece's first transition; the last one written */
	bool is_numbered, has_begun;
	struct made *made; /* by the place of the event in the batch */
	struct made *rest; /* made by none of them */
	size_t cap_made, cap_rest, n_rest;
};

struct journal_packer *journal_packer_new(void)
{
	return mem_new(sizeof(struct journal_packer));
}

void journal_packer_free(struct journal_packer *p)
{
	if (!p)
		return;
	for (int i = 0; i < SECTION_END; i++)
		buf_done(&p->sections[i]);
	free(p->made);
	free(p->rest);
	free(p);
}

static struct journal_head head_of(const struct journal_packer *p, bool is_last)
{
	const struct store_batch *b = p->b;

	return (struct journal_head){ .place = *p->place,
		                      .epoch = b->epoch,
		                      .first = p->is_numbered ? p->first : b->first,
		                      .last = is_last || !p->is_numbered ? b->last : p->number,
		                      .at_us = b->at_us,
		                      .flags = (uint8_t)((p->has_begun ? 0 : JOURNAL_BEGINS) |
		                                         (is_last ? JOURNAL_ENDS : 0) |
		                                         (p->is_numbered ? JOURNAL_NUMBERED : 0)) };
}

static void piece_begin(struct journal_packer *p)
{
	p->first = p->number + 1;
	const struct journal_head h = head_of(p, false);

	for (int i = 0; i < SECTION_END; i++) {
		buf_clear(&p->sections[i]);
		section_begin((enum section)i, &h, p->last[i]);
	}
	p->used = PIECE_HEAD + SECTION_END * SECTION_HEAD_MAX;
	p->rows = p->events = p->events_told = 0;
}

static void section_put(struct buf *out, enum section s, const struct buf *bytes)
{
	uint8_t head[1 + 10];

	head[0] = (uint8_t)(s | SECTION_MUST);
	buf_put(out, head, (size_t)(number_put(head + 1, bytes->len) - head));
	buf_put(out, buf_at(bytes), bytes->len);
}

/* Sections, then the head in front of them. */
static void piece_end(struct journal_packer *p, bool is_last)
{
	const size_t begin = p->out->len;
	struct journal_head h = head_of(p, is_last);

	memset(buf_room(p->out, PIECE_HEAD), 0, PIECE_HEAD);
	buf_added(p->out, PIECE_HEAD);
	for (int i = 0; i < SECTION_END; i++)
		if (p->sections[i].len)
			section_put(p->out, (enum section)i, &p->sections[i]);
	h.length = (uint32_t)(p->out->len - begin);
	CHECK(h.length <= JOURNAL_PIECE_MAX);
	uint8_t *bytes = p->out->data + p->out->from + begin;
	p->place->before = piece_head_put(bytes, &h);
	p->place->seq++;
	p->has_begun = true;
	piece_begin(p);
}

static bool has_room(const struct journal_packer *p, size_t n, size_t rows)
{
	return p->used + n <= JOURNAL_PIECE_MAX && p->rows + rows <= PIECE_ROWS_MAX;
}

static void put_apart(struct journal_packer *p, const char *text, size_t n)
{
	while (n) {
		const size_t room = JOURNAL_PIECE_MAX - p->used, part = room < n ? room : n;

		buf_put(&p->sections[SECTION_LONGS], text, part);
		p->used += part;
		text += part;
		n -= part;
		if (n)
			piece_end(p, false);
	}
}

static void put_longs(struct journal_packer *p, const struct row_kind *k, const void *row)
{
	size_t n = 0;

	for (uint64_t left = row_texts(k); left; left &= left - 1) {
		const char *text = field_text(&k->fields[__builtin_ctzll(left)], row, &n);

		if (text && n > TEXT_SHORT_MAX)
			put_apart(p, text, n);
	}
}

/* `event`: the numbers of the event that made it, or NULL. */
static void put_row(struct journal_packer *p, enum section s, const void *row, const int64_t *event)
{
	const struct row_kind *k = section_rows(s);
	int64_t v[FIELDS_MAX];
	const struct row_before before = { p->last[s], event };
	size_t n = row_pack(k, &before, row, p->row, v);

	if (!has_room(p, n, 1)) {
		CHECK(!event); /* it would stand in another piece than its event */
		piece_end(p, false);
		n = row_pack(k, &before, row, p->row, v);
	}
	CHECK(has_room(p, n, 1));
	buf_put(&p->sections[s], p->row, n);
	memcpy(p->last[s], v, k->n * sizeof *v);
	p->used += n;
	p->rows++;
}

static bool is_of(const struct transition *t, const struct instance *i)
{
	return t->kind == TK_INSTANCE && t->number == i->last_number &&
	       inst_key_eq(t->inst.key, i->key);
}

/* The event of the batch that made the image: its place; n_events: none. */
static size_t event_of(const struct store_batch *b, const struct instance *i)
{
	size_t lo = 0, hi = b->n_events;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (b->events[mid]->number < i->last_number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < b->n_events && is_of(b->events[lo], i) ? lo : b->n_events;
}

static void sort_image(struct journal_packer *p, const struct instance *i, uint8_t where)
{
	size_t at = event_of(p->b, i);
	struct made *m = at < p->b->n_events ? &p->made[at] : NULL;

	if (m && (!m->image || m->image == i)) {
		m->image = i;
		m->where |= where;
		return;
	}
	p->rest = mem_room(p->rest, &p->cap_rest, p->n_rest + 1, sizeof *p->rest);
	p->rest[p->n_rest++] = (struct made){ i, where };
}

static void sort_images(struct journal_packer *p)
{
	const struct store_batch *b = p->b;

	p->n_rest = 0;
	p->made = mem_room(p->made, &p->cap_made, b->n_events, sizeof *p->made);
	if (b->n_events)
		memset(p->made, 0, b->n_events * sizeof *p->made);
	for (size_t i = 0; i < b->n_reopened; i++)
		sort_image(p, b->reopened[i], IMAGE_REOPENED);
	for (size_t i = 0; i < b->n_live; i++)
		sort_image(p, b->live[i], IMAGE_LIVE);
	for (size_t i = 0; i < b->n_done; i++)
		sort_image(p, b->done[i], IMAGE_DONE);
}

static void put_image(struct journal_packer *p, const struct made *m, bool has_event)
{
	const struct image_row row = { .inst = *m->image, .where = m->where };
	uint8_t step[10];

	if (!has_event && !has_room(p, EVENT_ROOM, 1))
		piece_end(p, false);
	size_t n = (size_t)(number_put(step, has_event ? p->events - p->events_told : 0) - step);
	buf_put(&p->sections[SECTION_IMAGES], step, n);
	p->used += n;
	if (has_event)
		p->events_told = p->events;
	put_row(p, SECTION_IMAGES, &row, has_event ? p->last[SECTION_EVENTS] : NULL);
}

static void put_events(struct journal_packer *p)
{
	for (size_t i = 0; i < p->b->n_events; i++) {
		const struct transition *t = p->b->events[i];

		if (t->kind != TK_INSTANCE)
			continue;
		put_longs(p, section_rows(SECTION_EVENTS), t);
		if (p->used > EVENTS_FILL || !has_room(p, EVENT_ROOM, 3))
			piece_end(p, false);
		put_row(p, SECTION_EVENTS, t, NULL);
		p->events++;
		p->number = t->number;
		if (p->made[i].image)
			put_image(p, &p->made[i], true);
	}
	for (size_t i = 0; i < p->n_rest; i++)
		put_image(p, &p->rest[i], false);
}

static void put_data(struct journal_packer *p)
{
	for (size_t i = 0; i < p->b->n_events; i++) {
		const struct transition *t = p->b->events[i];
		const struct data_row row = { t->number, t->data_kind, t->data };

		if (t->kind != TK_INSTANCE || !t->data)
			continue;
		put_longs(p, section_rows(SECTION_DATA), &row);
		put_row(p, SECTION_DATA, &row, NULL);
	}
}

static void put_array(struct journal_packer *p, const struct section_array *a)
{
	const struct row_kind *k = section_rows(a->section);
	size_t n;
	const char *row = section_array_of(p->b, a, &n);

	for (size_t i = 0; i < n; i++, row += k->bytes) {
		put_longs(p, k, row);
		put_row(p, a->section, row, NULL);
	}
}

void journal_pack(struct journal_packer *p, struct journal_place *place,
                  const struct store_batch *b, struct buf *out)
{
	p->b = b;
	p->place = place;
	p->out = out;
	p->is_numbered = b->first && b->last >= b->first;
	p->number = p->is_numbered ? b->first - 1 : 0;
	p->has_begun = false;
	piece_begin(p);
	sort_images(p);
	put_events(p);
	put_data(p);
	for (size_t i = 0; i < SECTION_ARRAYS; i++)
		put_array(p, &section_arrays[i]);
	piece_end(p, true);
}
