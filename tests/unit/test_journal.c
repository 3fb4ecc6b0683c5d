/* lib/store/journal: what goes in comes out, in whatever pieces; and what is torn, changed, out of
 * order, of a later release or of another store is refused with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/batch.h"
#include "store/journal/journal.h"
#include "store/journal/piece.h"
#include "store/journal/rows.h"
#include "tests/support/journal_twice.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/pile.h"

enum { ROWS = 6000 };

/* A commit, drawn. */
struct drawn {
	struct pile *pile;
	struct store_batch b;
	struct instance *inst;
	struct transition *events;
	const struct transition **event_list;
	const struct instance **live, **done, **reopened;
	uint64_t seed;
};

static uint64_t draw(struct drawn *d, uint64_t below)
{
	d->seed = d->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (d->seed >> 24) % below;
}

/* Mostly small, now and then at the edge. */
static int64_t draw_number(struct drawn *d)
{
	static const int64_t edges[] = { INT64_MIN, INT64_MAX, -1, 0, INT32_MIN, UINT32_MAX };

	return draw(d, 8) ? (int64_t)draw(d, 2000) - 100 : edges[draw(d, 6)];
}

static char *draw_text(struct drawn *d, size_t most)
{
	size_t n = draw(d, most + 1);
	char *text = pile_take(d->pile, n + 1);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(1 + draw(d, 255));
	return draw(d, 6) ? text : NULL;
}

static size_t text_most(struct drawn *d)
{
	return draw(d, 40) ? 30 : draw(d, 4) ? TEXT_SHORT_MAX + 1 : 200000;
}

/* Every field of a row, by its type. */
static void draw_row(struct drawn *d, const struct row_kind *k, char *row)
{
	for (size_t i = 0; i < k->n; i++) {
		const struct field *f = &k->fields[i];
		int64_t v = draw_number(d);
		char *text;

		switch (f->type) {
		case FIELD_RUN:
			break;
		case FIELD_TEXT:
			text = draw_text(d, text_most(d));
			memcpy(row + f->at, &text, sizeof text);
			break;
		case FIELD_BYTES:
			text = draw_text(d, text_most(d));
			size_t n = text ? strlen(text) : 0;
			memcpy(row + f->at, &text, sizeof text);
			memcpy(row + f->len_at, &n, sizeof n);
			break;
		case FIELD_BOOL:
			row[f->at] = v & 1;
			break;
		case FIELD_STATE:
		case FIELD_STATE_BEFORE:
			row[f->at] = (char)(1 + draw(d, ST_COUNT - 1));
			break;
		case FIELD_U8:
			row[f->at] = (char)(f->below ? draw(d, f->below) : (uint64_t)v);
			break;
		case FIELD_U16:
		case FIELD_I16:
			memcpy(row + f->at, &v, 2);
			break;
		case FIELD_U32:
		case FIELD_I32:
			v = f->below ? (int64_t)draw(d, f->below) : v;
			memcpy(row + f->at, &v, 4);
			break;
		default:
			memcpy(row + f->at, &v, 8);
		}
	}
}

static void draw_events(struct drawn *d, size_t n)
{
	uint64_t number = d->b.first - 1;

	d->events = pile_take(d->pile, (n + 1) * sizeof *d->events);
	d->event_list = pile_take(d->pile, (n + 1) * sizeof(void *));
	for (size_t i = 0; i < n; i++) {
		struct transition *t = &d->events[i];
		draw_row(d, section_rows(SECTION_EVENTS), (char *)t);
		number += 1 + draw(d, 3) / 2;
		t->number = number;
		t->kind = draw(d, 9) ? TK_INSTANCE : TK_COMMAND;
		if (!draw(d, 4))
			t->from = ST_NONE;
		if (!draw(d, 9) && (t->data = draw_text(d, text_most(d))))
			t->data_kind = ID_OUTPUTS;
		d->event_list[i] = t;
	}
	d->b.events = d->event_list;
	d->b.n_events = n;
	d->b.last = number;
}

/* An image of an event, or of nothing in this commit. */
static void draw_image(struct drawn *d, struct instance *i, size_t at)
{
	struct image_row row = { .where = 0 };

	draw_row(d, section_rows(SECTION_IMAGES), (char *)&row);
	*i = row.inst;
	i->reason = (uint8_t)draw(d, RE_COUNT);
	i->origin = (uint8_t)draw(d, OR_END);
	i->intent = (uint8_t)draw(d, KI_REPLACE + 1);
	i->token = draw(d, INT64_MAX);
	i->cause = draw(d, 3);
	i->last_number = draw(d, INT64_MAX);
	i->key.task = (uint32_t)at; /* no two have one key */
	if (draw(d, 8)) {
		d->events[at].inst.key = i->key;
		i->last_number = d->events[at].number;
	}
	if (!state_final((enum state)i->state) && draw(d, 3))
		d->live[d->b.n_live++] = i;
	else
		d->reopened[d->b.n_reopened++] = i;
	if (state_final((enum state)i->state))
		d->done[d->b.n_done++] = i;
}

static void draw_images(struct drawn *d, size_t n)
{
	d->inst = pile_take(d->pile, (n + 1) * sizeof *d->inst);
	d->live = pile_take(d->pile, (n + 1) * sizeof(void *));
	d->done = pile_take(d->pile, (n + 1) * sizeof(void *));
	d->reopened = pile_take(d->pile, (n + 1) * sizeof(void *));
	for (size_t i = 0; i < n; i++)
		draw_image(d, &d->inst[i], (i ^ 1) < n ? i ^ 1 : i);
	d->b.live = d->live;
	d->b.done = d->done;
	d->b.reopened = d->reopened;
}

/* What batch_check() wants of a row that was drawn. */
static void fit_row(struct drawn *d, enum section s, char *row, size_t i)
{
	struct store_range *range = (void *)row;
	struct store_taken *taken = (void *)row;
	struct store_alert *alert = (void *)row;
	struct store_stat *stat = (void *)row;
	struct store_doc *doc = (void *)row;

	if (s == SECTION_RANGES) {
		range->number = d->b.first + i;
		range->hi = INT64_MAX;
		range->dates = 1;
		range->taken = 0;
		range->reason = 0;
	} else if (s == SECTION_TAKEN) {
		*taken = (struct store_taken){ d->b.first, 1 };
	} else if (s == SECTION_ALERTS) {
		alert->id = i + 1;
		alert->severity = 1;
		alert->since_us = alert->ended_us = alert->acked_us = 5;
	} else if (s == SECTION_STATS) {
		stat->state = ST_SUCC;
		stat->count = 3;
		stat->bucket = STORE_STAT_UNRUN;
	} else if (s == SECTION_DOCS) {
		doc->kind = DOC_WORKFLOW;
	}
}

static void draw_array(struct drawn *d, const struct section_array *a, size_t n)
{
	const struct row_kind *k = section_rows(a->section);
	char *rows = pile_take(d->pile, (n + 1) * k->bytes);

	for (size_t i = 0; i < n; i++) {
		draw_row(d, k, rows + i * k->bytes);
		fit_row(d, a->section, rows + i * k->bytes, i);
	}
	memcpy((char *)&d->b + a->rows_at, &rows, sizeof rows);
	memcpy((char *)&d->b + a->n_at, &n, sizeof n);
}

static struct drawn *drawn_new(uint64_t seed, size_t events)
{
	struct drawn *d = mem_new(sizeof *d);

	d->pile = pile_new();
	d->seed = seed;
	d->b = (struct store_batch){ .epoch = 3, .at_us = 1234567890, .first = 100 };
	draw_events(d, events);
	draw_images(d, events / 2);
	for (size_t i = 0; i < SECTION_ARRAYS && events; i++)
		draw_array(d, &section_arrays[i], draw(d, events < 20 ? events : 20));
	return d;
}

static void drawn_free(struct drawn *d)
{
	pile_free(d->pile);
	free(d);
}

static void assert_twice(const struct store_batch *b)
{
	const char *wrong = journal_twice(b);

	if (wrong)
		fail_msg("%s", wrong);
}

static const struct journal_place from = { .store = "0123456789abcdef", .seq = 41, .before = 77 };

static void pack(const struct store_batch *b, struct buf *out)
{
	struct journal_packer *p = journal_packer_new();
	struct journal_place place = from;

	buf_init(out);
	journal_pack(p, &place, b, out);
	journal_packer_free(p);
}

/* Where piece `i` begins, and its head. */
static size_t piece_at(const struct buf *bytes, size_t i, struct journal_head *h)
{
	size_t at = 0;

	for (;; at += h->length) {
		assert_int_equal(journal_head_read(buf_at(bytes) + at, bytes->len - at, h, NULL),
		                 0);
		if (i-- == 0)
			return at;
	}
}

static size_t pieces_of(const struct buf *bytes)
{
	struct journal_head h;
	size_t n = 0;

	for (size_t at = 0; at < bytes->len; at += h.length, n++)
		assert_int_equal(journal_head_read(buf_at(bytes) + at, bytes->len - at, &h, NULL),
		                 0);
	return n;
}

static int take(struct journal_reader *r, const void *bytes, size_t n, struct err *err)
{
	/* At the end of a block of its own: a byte too many is seen by whoever watches memory. */
	void *copy = mem_array(n + 1, 1);

	memcpy(copy, bytes, n);
	int code = journal_take(r, copy, n, err);
	free(copy);
	return code;
}

static void all_that_is_in_it_comes_back(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct drawn *d = drawn_new(seed, seed % 60);
		assert_twice(&d->b);
		drawn_free(d);
	}
}

static void a_large_one_comes_in_pieces_that_are_full_and_no_larger(void **state)
{
	struct drawn *d = drawn_new(5, ROWS);
	struct journal_head h;
	struct buf bytes;

	(void)state;
	assert_int_equal(batch_check(&d->b, NULL), 0);
	assert_twice(&d->b);
	pack(&d->b, &bytes);
	size_t n = pieces_of(&bytes);
	assert_true(n > 10);
	for (size_t i = 0; i < n; i++) {
		piece_at(&bytes, i, &h);
		assert_true(h.length <= JOURNAL_PIECE_MAX);
		assert_int_equal(h.place.seq, from.seq + i);
		assert_int_equal(!!(h.flags & JOURNAL_BEGINS), i == 0);
		assert_int_equal(!!(h.flags & JOURNAL_ENDS), i == n - 1);
	}
	buf_done(&bytes);
	drawn_free(d);
}

static void one_without_transitions_keeps_its_numbers(void **state)
{
	static const uint64_t spans[][2] = { { 0, 0 }, { 8, 7 }, { 0, 9 }, { 5, 0 } };
	struct store_doc doc = {
		.kind = DOC_POOL, .id = 1, .version = 1, .name = "p", .body = "{}", .body_len = 2
	};

	(void)state;
	for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
		assert_twice(&(struct store_batch){ .epoch = 1,
		                                    .first = spans[i][0],
		                                    .last = spans[i][1],
		                                    .docs = &doc,
		                                    .n_docs = 1 });
	assert_twice(&(struct store_batch){ .epoch = UINT32_MAX });
}

static void an_event_is_read_from_its_piece_alone(void **state)
{
	struct drawn *d = drawn_new(11, ROWS);
	struct journal_head h;
	struct buf bytes;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) /* long texts are in other pieces */
		d->events[i].note = d->events[i].data = NULL;
	pack(&d->b, &bytes);
	size_t at = piece_at(&bytes, 1, &h);
	uint8_t *piece = mem_array(h.length, 1);
	memcpy(piece, buf_at(&bytes) + at, h.length);
	h.flags |= JOURNAL_BEGINS | JOURNAL_ENDS;
	piece_head_put(piece, &h);
	struct journal_reader *r = journal_reader_new(NULL);
	struct err err = { 0 };
	int code = take(r, piece, h.length, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(code, 1);
	const struct store_batch *b = journal_batch(r);
	assert_true(b->n_events > 10);
	assert_int_equal(b->events[b->n_events - 1]->number, h.last);
	journal_reader_free(r);
	free(piece);
	buf_done(&bytes);
	drawn_free(d);
}

/* The sum is made right again: what a program with a bug would write. */
static void bytes_that_nobody_wrote_are_read_within_their_bounds(void **state)
{
	size_t refused = 0, read = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct drawn *d = drawn_new(seed, 1 + seed % 30);
		struct buf bytes;
		struct journal_head h;
		pack(&d->b, &bytes);
		uint8_t *p = bytes.data + bytes.from;
		for (int n = 0; n < 400; n++) {
			struct journal_reader *r = journal_reader_new(NULL);
			struct err err = { 0 };
			piece_at(&bytes, 0, &h);
			size_t at = PIECE_HEAD + draw(d, h.length - PIECE_HEAD);
			uint8_t was = p[at];
			p[at] = (uint8_t)draw(d, 256);
			piece_head_put(p, &h);
			int code = take(r, p, h.length, &err);
			assert_true(code >= 0 ||
			            (err.code == code && strstr(err.text, "piece 41")));
			read += code >= 0;
			refused += code < 0;
			if (code == 1)
				assert_twice(journal_batch(r));
			p[at] = was;
			piece_head_put(p, &h);
			journal_reader_free(r);
		}
		buf_done(&bytes);
		drawn_free(d);
	}
	assert_true(refused > 500 && read > 50);
}

static int take_pieces(const struct buf *bytes, const size_t *order, size_t n, struct err *err)
{
	struct journal_reader *r = journal_reader_new(&from);
	struct journal_head h;
	int code = 0;

	for (size_t i = 0; i < n && code >= 0; i++) {
		size_t at = piece_at(bytes, order[i], &h);
		code = take(r, buf_at(bytes) + at, h.length, err);
	}
	journal_reader_free(r);
	return code;
}

static void pieces_count_in_their_order_and_with_the_last_one(void **state)
{
	struct drawn *d = drawn_new(5, ROWS);
	struct err err = { 0 };
	struct buf bytes;

	(void)state;
	pack(&d->b, &bytes);
	assert_int_equal(take_pieces(&bytes, (const size_t[]){ 0, 1, 2 }, 3, &err), 0);
	assert_int_equal(take_pieces(&bytes, (const size_t[]){ 1 }, 1, &err), E_DAMAGED);
	assert_non_null(strstr(err.text, "piece 42 stands where 41 belongs"));
	assert_int_equal(take_pieces(&bytes, (const size_t[]){ 0, 2 }, 2, &err), E_DAMAGED);
	assert_int_equal(take_pieces(&bytes, (const size_t[]){ 0, 0 }, 2, &err), E_DAMAGED);
	buf_done(&bytes);
	drawn_free(d);
}

/* A piece of the head and the section bytes given. */
static int take_made(struct journal_head h, const char *section, size_t n, struct err *err)
{
	uint8_t bytes[200] = { 0 };
	struct journal_reader *r = journal_reader_new(&from);

	h.length = (uint32_t)(PIECE_HEAD + n);
	memcpy(bytes + PIECE_HEAD, section, n);
	piece_head_put(bytes, &h);
	*err = (struct err){ 0 };
	int code = take(r, bytes, h.length, err);
	journal_reader_free(r);
	return code;
}

static void what_is_refused_says_why(void **state)
{
	const struct journal_head whole = { .place = from, .flags = JOURNAL_BEGINS | JOURNAL_ENDS };
	struct journal_head h = whole;
	struct err err;

	(void)state;
	assert_int_equal(take_made(whole, "", 0, &err), 1);
	assert_int_equal(take_made(whole, "\x6f\x03xyz", 5, &err), 1); /* may be passed over */
	assert_int_equal(take_made(whole, "\xef\x03xyz", 5, &err), E_VERSION);
	assert_string_equal(err.text, "journal piece 41, byte 74, head : a section that this "
	                              "program does not know");
	assert_int_equal(take_made(whole, "\x86\x02\x04\x02", 4, &err), E_VERSION);
	assert_string_equal(err.text, "journal piece 41, byte 75, taken : a field that this "
	                              "program does not know");
	assert_int_equal(take_made(whole, "\x85\x02\x01\x02", 4, &err), E_VERSION);
	assert_non_null(strstr(err.text, "ranges run: a run, which this program does not know"));
	assert_int_equal(take_made(whole, "\x86\x09\x01\x02", 4, &err), E_DAMAGED);
	assert_non_null(strstr(err.text, "a section longer than its piece"));
	assert_int_equal(take_made(whole, "\x86\x02\x01\x80", 4, &err), E_DAMAGED);
	assert_non_null(strstr(err.text, "taken number: a number that does not end"));
	assert_int_equal(take_made(whole, "\x81\x03xyz", 5, &err), E_DAMAGED);
	assert_non_null(strstr(err.text, "3 bytes of text that no row has"));
	/* a document whose name claims four gigabytes */
	assert_int_equal(take_made(whole, "\x8a\x06\x10\xfe\xff\xff\xff\x0f", 8, &err), E_DAMAGED);
	assert_non_null(strstr(err.text, "documents name: a text that is longer"));
	h.place.store[0]++;
	assert_int_equal(take_made(h, "", 0, &err), E_STRANGER);
	h = whole;
	h.place.before++;
	assert_int_equal(take_made(h, "", 0, &err), E_DAMAGED);
	assert_non_null(strstr(err.text, "follows one with the sum 0000004e, and the one before "
	                                 "it has 0000004d"));
	h = whole;
	h.flags = JOURNAL_ENDS;
	assert_int_equal(take_made(h, "", 0, &err), E_DAMAGED);
	h.flags = 64;
	assert_int_equal(take_made(h, "", 0, &err), E_VERSION);
}

/* Fields of a row by their places: what the format had when it was first written. */
static void fill_row(enum section s, void *to, int64_t times)
{
	static const size_t fields[SECTION_END] = {
		[SECTION_EVENTS] = 22,   [SECTION_IMAGES] = 32, [SECTION_DATA] = 3,
		[SECTION_RANGES] = 11,   [SECTION_TAKEN] = 2,   [SECTION_TASKS] = 20,
		[SECTION_LINKS_OF] = 1,  [SECTION_LINKS] = 7,   [SECTION_DOCS] = 8,
		[SECTION_COMMANDS] = 15, [SECTION_ITEMS] = 7,   [SECTION_ALERTS] = 16,
		[SECTION_STATS] = 6,
	};
	static char text[] = "text";
	const struct row_kind *k = section_rows(s);
	char *row = to, *const t = text;

	assert_true(k->n >= fields[s]);
	for (size_t i = 0; i < fields[s]; i++) {
		const struct field *f = &k->fields[i];
		const int64_t v = f->below || f->type == FIELD_BOOL ? 1 : (int64_t)(i + 1) * times;
		const size_t n = 4;
		if (f->type == FIELD_TEXT || f->type == FIELD_BYTES)
			memcpy(row + f->at, &t, sizeof t);
		if (f->type == FIELD_BYTES)
			memcpy(row + f->len_at, &n, sizeof n);
		if (f->type == FIELD_STATE || f->type == FIELD_STATE_BEFORE)
			row[f->at] = ST_SUCC;
		else if (f->type == FIELD_BOOL || f->type == FIELD_U8)
			row[f->at] = (char)v;
		else if (f->type == FIELD_U16 || f->type == FIELD_I16)
			memcpy(row + f->at, &v, 2);
		else if (f->type == FIELD_U32 || f->type == FIELD_I32)
			memcpy(row + f->at, &v, 4);
		else if (f->type == FIELD_U64 || f->type == FIELD_I64)
			memcpy(row + f->at, &v, 8);
	}
}

static void fill_batch(struct drawn *d)
{
	struct instance *i = pile_take(d->pile, 2 * sizeof *i);
	const struct instance **done = pile_take(d->pile, 2 * sizeof(void *));

	draw_events(d, 2);
	for (size_t n = 0; n < 2; n++) {
		struct image_row row = { .where = 0 };
		memset(&d->events[n], 0, sizeof d->events[n]);
		fill_row(SECTION_EVENTS, &d->events[n], (int64_t)n + 1);
		d->events[n].number = 100 + n;
		d->events[n].kind = TK_INSTANCE;
		d->events[n].data = n ? pile_str(d->pile, "d") : NULL;
		d->events[n].data_kind = n ? ID_OUTPUTS : ID_NONE;
		fill_row(SECTION_IMAGES, &row, (int64_t)n + 1);
		i[n] = row.inst;
		i[n].last_number = 100;
		if (n == 0)
			i[n].key = d->events[n].inst.key;
		done[n] = &i[n];
	}
	d->b.last = 101;
	d->b.done = done;
	d->b.n_done = 2;
	for (size_t n = 0; n < SECTION_ARRAYS; n++) {
		const struct row_kind *k = section_rows(section_arrays[n].section);
		char *rows = pile_take(d->pile, 2 * k->bytes);
		const size_t two = 2;
		fill_row(section_arrays[n].section, rows, 1);
		fill_row(section_arrays[n].section, rows + k->bytes, 2);
		memcpy((char *)&d->b + section_arrays[n].rows_at, &rows, sizeof rows);
		memcpy((char *)&d->b + section_arrays[n].n_at, &two, sizeof two);
	}
}

static void a_byte_that_changed_is_found(void **state)
{
	struct drawn *d = drawn_new(1, 0);
	struct buf bytes;
	struct err err;

	(void)state;
	fill_batch(d);
	pack(&d->b, &bytes);
	uint8_t *p = bytes.data + bytes.from;
	size_t first;
	struct journal_head h;
	piece_at(&bytes, 0, &h);
	first = h.length;
	for (size_t i = 0; i < first; i++)
		for (int bit = 0; bit < 8; bit++) {
			struct journal_reader *r = journal_reader_new(&from);
			p[i] ^= (uint8_t)(1 << bit);
			assert_true(take(r, p, first, &err) < 0);
			p[i] ^= (uint8_t)(1 << bit);
			journal_reader_free(r);
		}
	for (size_t n = 0; n < first; n++) {
		struct journal_reader *r = journal_reader_new(&from);
		assert_int_equal(take(r, p, n, &err), E_DAMAGED);
		journal_reader_free(r);
	}
	buf_done(&bytes);
	drawn_free(d);
}

/* Journals that were written stay readable: a field or section that moved is seen here, one that
 * was added at the end of its table is not. Who means to change the format gives it another
 * number (PIECE_FORMAT) and reads both. */
static void the_format_is_what_it_was(void **state)
{
	struct drawn *d = drawn_new(1, 0);
	struct buf bytes;
	struct journal_head h;

	(void)state;
	fill_batch(d);
	pack(&d->b, &bytes);
	piece_at(&bytes, 0, &h);
	assert_int_equal(h.length, bytes.len);
	assert_int_equal(h.length, 637);
	assert_int_equal(h.sum, 0xc14f3a37);
	buf_done(&bytes);
	drawn_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_in_it_comes_back),
		cmocka_unit_test(a_large_one_comes_in_pieces_that_are_full_and_no_larger),
		cmocka_unit_test(one_without_transitions_keeps_its_numbers),
		cmocka_unit_test(an_event_is_read_from_its_piece_alone),
		cmocka_unit_test(a_byte_that_changed_is_found),
		cmocka_unit_test(bytes_that_nobody_wrote_are_read_within_their_bounds),
		cmocka_unit_test(pieces_count_in_their_order_and_with_the_last_one),
		cmocka_unit_test(what_is_refused_says_why),
		cmocka_unit_test(the_format_is_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
