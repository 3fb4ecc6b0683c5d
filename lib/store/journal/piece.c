/* The head of a piece: numbers of fixed size, the lowest byte first.
 *
 *    0 "sirj"      4 format      5 flags    6 zero
 *    8 length     12 sum        16 the sum of the piece before    20 epoch
 *   24 seq        32 first      40 last     48 at_us
 *   56 store, 16 bytes
 */
#include "store/journal/piece.h"

#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "util/check.h"
#include "util/crc.h"
#include "util/err.h"

enum {
	AT_FORMAT = 4,
	AT_FLAGS = 5,
	AT_ZERO = 6,
	AT_LENGTH = 8,
	AT_SUM = 12,
	AT_BEFORE = 16,
	AT_EPOCH = 20,
	AT_SEQ = 24,
	AT_FIRST = 32,
	AT_LAST = 40,
	AT_TIME = 48,
	AT_STORE = 56
};
_Static_assert(AT_STORE + JOURNAL_STORE_BYTES == PIECE_HEAD, "the head ends with the store");

static const char magic[4] = { 's', 'i', 'r', 'j' };

static void put32(uint8_t *at, uint32_t v)
{
	v = htole32(v);
	memcpy(at, &v, sizeof v);
}

static void put64(uint8_t *at, uint64_t v)
{
	v = htole64(v);
	memcpy(at, &v, sizeof v);
}

static uint32_t get32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof v);
	return le32toh(v);
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof v);
	return le64toh(v);
}

uint32_t piece_sum(const uint8_t *bytes, uint32_t length)
{
	CHECK(length >= PIECE_HEAD);
	return crc32c_bytes(crc32c_bytes(0, bytes, AT_SUM), bytes + AT_BEFORE, length - AT_BEFORE);
}

uint32_t piece_head_put(uint8_t *bytes, const struct journal_head *h)
{
	memset(bytes, 0, PIECE_HEAD);
	memcpy(bytes, magic, sizeof magic);
	bytes[AT_FORMAT] = PIECE_FORMAT;
	bytes[AT_FLAGS] = h->flags;
	put32(bytes + AT_LENGTH, h->length);
	put32(bytes + AT_BEFORE, h->place.before);
	put32(bytes + AT_EPOCH, h->epoch);
	put64(bytes + AT_SEQ, h->place.seq);
	put64(bytes + AT_FIRST, h->first);
	put64(bytes + AT_LAST, h->last);
	put64(bytes + AT_TIME, (uint64_t)h->at_us);
	memcpy(bytes + AT_STORE, h->place.store, JOURNAL_STORE_BYTES);
	const uint32_t sum = piece_sum(bytes, h->length);
	put32(bytes + AT_SUM, sum);
	return sum;
}

static void head_get(const uint8_t *p, struct journal_head *ret)
{
	*ret = (struct journal_head){ .place = { .seq = get64(p + AT_SEQ),
		                                 .before = get32(p + AT_BEFORE) },
		                      .length = get32(p + AT_LENGTH),
		                      .sum = get32(p + AT_SUM),
		                      .epoch = get32(p + AT_EPOCH),
		                      .first = get64(p + AT_FIRST),
		                      .last = get64(p + AT_LAST),
		                      .at_us = (int64_t)get64(p + AT_TIME),
		                      .flags = p[AT_FLAGS] };
	memcpy(ret->place.store, p + AT_STORE, JOURNAL_STORE_BYTES);
}

int journal_head_read(const void *bytes, size_t n, struct journal_head *ret, struct err *err)
{
	const uint8_t *p = bytes;
	struct journal_head h;

	if (n < PIECE_HEAD || memcmp(p, magic, sizeof magic) != 0)
		return err_set(err, E_DAMAGED,
		               "journal: %zu bytes that do not begin as a piece of a record does",
		               n);
	head_get(p, &h);
	if (p[AT_FORMAT] != PIECE_FORMAT || p[AT_ZERO] || p[AT_ZERO + 1] ||
	    h.flags & ~(JOURNAL_BEGINS | JOURNAL_ENDS | JOURNAL_NUMBERED))
		return err_set(err, E_VERSION,
		               "journal piece %" PRIu64
		               ": format %u, flags %02x; this program reads format %d",
		               h.place.seq, p[AT_FORMAT], h.flags, PIECE_FORMAT);
	if (h.length < PIECE_HEAD || h.length > JOURNAL_PIECE_MAX || h.length > n)
		return err_set(err, E_DAMAGED,
		               "journal piece %" PRIu64 ": its length is %" PRIu32
		               ", and %zu bytes are there",
		               h.place.seq, h.length, n);
	*ret = h;
	return 0;
}
