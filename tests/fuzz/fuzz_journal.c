/* Pieces of a record of whatever bytes: as they are, and with a head and a sum that are right,
 * since none is found by luck. What is read as a commit is packed, and read again as the same. */
#include <stdlib.h>
#include <string.h>

#include "store/journal/journal.h"
#include "store/journal/piece.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void pieces_take(struct journal_reader *r, const uint8_t *p, size_t n)
{
	struct journal_head h;
	int code = 0;

	for (; n && code == 0; p += h.length, n -= h.length) {
		CHECK(journal_head_read(p, n, &h, NULL) == 0);
		code = journal_take(r, p, h.length, NULL);
	}
	CHECK(code == 1 && n == 0);
}

static void packed_is_read(const struct store_batch *b)
{
	struct journal_place place = { .seq = 5 };
	const struct journal_place from = place;
	struct journal_packer *p = journal_packer_new();
	struct journal_reader *r = journal_reader_new(&from);
	struct buf once, again;

	buf_init(&once);
	buf_init(&again);
	journal_pack(p, &place, b, &once);
	pieces_take(r, buf_at(&once), once.len);
	place = from;
	journal_pack(p, &place, journal_batch(r), &again);
	CHECK(once.len == again.len && memcmp(buf_at(&once), buf_at(&again), once.len) == 0);
	buf_done(&once);
	buf_done(&again);
	journal_reader_free(r);
	journal_packer_free(p);
}

/* The body cut in two pieces where the first byte says, or in one. */
static size_t piece_make(struct journal_head *h, const uint8_t *data, size_t n, uint8_t *to)
{
	h->length = (uint32_t)(PIECE_HEAD + n);
	memcpy(to + PIECE_HEAD, data, n);
	h->place.before = piece_head_put(to, h);
	h->place.seq++;
	return h->length;
}

static void bodies_take(const uint8_t *data, size_t n)
{
	struct journal_head h = { .place.seq = 1, .epoch = 1, .first = 100, .last = 200 };
	struct journal_reader *r = journal_reader_new(NULL);
	uint8_t *piece = mem_array(PIECE_HEAD + n, 1);
	struct err err = { 0 };
	const size_t cut = data[0] ? data[0] * n / 256 : 0;
	int code = 0;

	h.flags = (uint8_t)(JOURNAL_BEGINS | JOURNAL_NUMBERED | (cut ? 0 : JOURNAL_ENDS));
	if (cut)
		h.last = 150;
	code = journal_take(r, piece, piece_make(&h, data + 1, cut ? cut - 1 : n - 1, piece), &err);
	if (cut && code == 0) {
		h.flags = JOURNAL_ENDS | JOURNAL_NUMBERED;
		h.first = 151;
		h.last = 200;
		code = journal_take(r, piece, piece_make(&h, data + cut, n - cut, piece), &err);
	}
	CHECK(code >= 0 || (err.code == code && err.text[0]));
	if (code == 1)
		packed_is_read(journal_batch(r));
	free(piece);
	journal_reader_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct journal_reader *r;

	if (bytes < 2 || bytes > JOURNAL_PIECE_MAX - PIECE_HEAD)
		return 0;
	r = journal_reader_new(NULL);
	journal_take(r, data, bytes, NULL);
	journal_reader_free(r);
	bodies_take(data, bytes);
	return 0;
}
