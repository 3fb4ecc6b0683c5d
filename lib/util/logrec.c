/* Records of what a job printed: written, read, found. The format stands in the header.
 *
 * A writer's place is all its state, so that a write that failed is undone by a copy, and one who
 * goes on with a file finds it by reading the last block. A reader trusts nothing: each length is
 * held against the block's end, and where one does not fit, the rest of the block is passed over.
 */
#include "util/logrec.h"

#include <string.h>

#include "util/buf.h"
#include "util/check.h"
#include "util/utf8.h"

enum {
	STREAM_BITS = 3,
	HAS_LENGTH = 4,
	DELTA_SHIFT = 3,
	DELTA_MORE = 31,
	LINE_MAX = 4096, /* longer ones have a length: they are not searched twice */
	ROOM_MIN = 28,   /* less is filled up */
	VARINT_MAX = 10,
	LENGTH_BYTES = 3, /* of a length: no record is longer than a block */
};

static const char magic[4] = { 'L', 'O', 'G', '1' };

/* --- numbers ------------------------------------------------------------------------------ */

static size_t varint_put(uint8_t *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	return n;
}

enum { TORN = -1, WRONG = -2 };

/* Bytes it takes, TORN or WRONG. */
static int varint_get(const uint8_t *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VARINT_MAX; i++) {
		if (i >= n)
			return TORN;
		v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
		if (p[i] < 0x80) {
			*ret = v;
			return (int)i + 1;
		}
	}
	return WRONG;
}

size_t logrec_lines(const uint8_t *p, size_t n)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), ends = UINT64_C(0x0a0a0a0a0a0a0a0a);
	size_t lines = 0;

	for (; n >= 8; p += 8, n -= 8) { /* a byte that is none keeps its high bit */
		uint64_t v;
		memcpy(&v, p, 8);
		v ^= ends;
		lines += (size_t)__builtin_popcountll(~(((v & low) + low) | v | low));
	}
	for (; n; p++, n--)
		lines += *p == '\n';
	return lines;
}

static size_t room_at(uint64_t at)
{
	return LOGREC_BLOCK - (size_t)(at % LOGREC_BLOCK);
}

/* --- writing ------------------------------------------------------------------------------ */

static void header_put(struct logrec_place *w, struct logrec_head *h)
{
	uint8_t *p = h->bytes + h->n;

	CHECK(w->at % LOGREC_BLOCK == 0);
	memcpy(p, magic, sizeof magic);
	p += sizeof magic;
	*p++ = w->open;
	p += varint_put(p, (uint64_t)w->time_ms);
	for (unsigned s = LOGREC_OUT; s < LOGREC_STREAMS; s++)
		p += varint_put(p, w->bytes[s]);
	for (unsigned s = LOGREC_OUT; s < LOGREC_STREAMS; s++)
		p += varint_put(p, w->lines[s]);
	w->at += (uint64_t)(p - h->bytes) - h->n;
	h->n = (size_t)(p - h->bytes);
}

/* Room for a record: what is left of a block, or a new one. */
static void room_make(struct logrec_place *w, struct logrec_head *h)
{
	size_t left = room_at(w->at);

	if (left < ROOM_MIN) {
		memset(h->bytes, 0, left);
		h->n = left;
		w->at += left;
	}
	if (w->at % LOGREC_BLOCK == 0)
		header_put(w, h);
}

static bool is_line(const uint8_t *p, size_t n)
{
	return n <= LINE_MAX && p[n - 1] == '\n' && !memchr(p, '\n', n - 1);
}

size_t logrec_head(struct logrec_place *w, enum logrec_stream s, int64_t time_ms, const void *data,
                   size_t n, struct logrec_head *ret)
{
	const uint8_t *p = data;
	int64_t now_ms = time_ms > w->time_ms ? time_ms : w->time_ms;

	CHECK(n > 0 && s > LOGREC_NONE && s < LOGREC_STREAMS);
	ret->n = 0;
	if (w->at % LOGREC_BLOCK == 0 || room_at(w->at) < ROOM_MIN)
		w->time_ms = now_ms; /* the header's, and so this record's */
	room_make(w, ret);
	uint64_t delta = (uint64_t)(now_ms - w->time_ms);
	uint8_t *tag = ret->bytes + ret->n, *to = tag + 1;
	*tag = (uint8_t)(s | (delta < DELTA_MORE ? delta : DELTA_MORE) << DELTA_SHIFT);
	if (delta >= DELTA_MORE)
		to += varint_put(to, delta - DELTA_MORE);
	size_t room = room_at(w->at) - (size_t)(to - tag);
	if (n > room || !is_line(p, n)) {
		room -= LENGTH_BYTES;
		if (n > room) /* a character is not cut: a block may be shown alone */
			n = room - utf8_unfinished(p, room);
		*tag |= HAS_LENGTH;
		to += varint_put(to, n);
	}
	CHECK(n > 0);
	w->at += (uint64_t)(to - tag) + n;
	w->time_ms = now_ms;
	w->bytes[s] += n;
	w->lines[s] += logrec_lines(p, n);
	w->open = (uint8_t)(p[n - 1] == '\n' ? w->open & ~(1u << s) : w->open | 1u << s);
	ret->n = (size_t)(to - ret->bytes);
	CHECK(ret->n <= LOGREC_HEAD_MAX);
	return n;
}

void logrec_put(struct logrec_place *w, enum logrec_stream s, int64_t time_ms, const void *data,
                size_t n, struct buf *out)
{
	const uint8_t *p = data;
	struct logrec_head h;

	while (n) {
		size_t k = logrec_head(w, s, time_ms, p, n, &h);
		buf_put(out, h.bytes, h.n);
		buf_put(out, p, k);
		p += k;
		n -= k;
	}
}

/* --- reading ------------------------------------------------------------------------------ */

/* Bytes it takes, TORN or WRONG. */
static int header_get(const uint8_t *p, size_t n, struct logrec_place *ret)
{
	uint64_t v[7];
	size_t used = sizeof magic + 1;

	if (memcmp(p, magic, n < sizeof magic ? n : sizeof magic) != 0)
		return WRONG;
	for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
		int k = used < n ? varint_get(p + used, n - used, &v[i]) : TORN;
		if (k < 0)
			return k;
		used += (size_t)k;
	}
	if (v[0] > INT64_MAX)
		return WRONG;
	ret->open = p[sizeof magic];
	ret->time_ms = (int64_t)v[0];
	for (unsigned s = LOGREC_OUT; s < LOGREC_STREAMS; s++) {
		ret->bytes[s] = v[s];
		ret->lines[s] = v[3 + s];
	}
	return (int)used;
}

bool logrec_header(uint64_t at, const uint8_t *p, size_t n, struct logrec_place *ret)
{
	struct logrec_place found = { .at = at };

	if (at % LOGREC_BLOCK || header_get(p, n, &found) < 0)
		return false;
	*ret = found;
	return true;
}

/* Up to the block's end nothing is said. */
static size_t pass_over(struct logrec_reader *r, size_t n, bool is_damaged, struct logrec *ret)
{
	size_t left = r->skip ? r->skip : room_at(r->place.at);
	size_t now = n < left ? n : left;

	r->skip = left - now;
	r->place.at += now;
	ret->is_damaged = is_damaged;
	return now;
}

/* Where the data of a record begins; then its length is in *ret_n, SIZE_MAX for a line. TORN,
 * WRONG. */
static int record_get(const uint8_t *p, size_t n, uint64_t *ret_delta, size_t *ret_n)
{
	uint64_t delta = p[0] >> DELTA_SHIFT, length;
	int used = 1, k;

	if ((p[0] & STREAM_BITS) == LOGREC_NONE)
		return WRONG;
	if (delta == DELTA_MORE) {
		k = varint_get(p + used, n - (size_t)used, &delta);
		if (k < 0)
			return k;
		used += k;
		delta += DELTA_MORE;
	}
	*ret_delta = delta;
	*ret_n = SIZE_MAX;
	if (p[0] & HAS_LENGTH) {
		k = varint_get(p + used, n - (size_t)used, &length);
		if (k < 0)
			return k;
		used += k;
		if (length == 0 || length > LOGREC_BLOCK)
			return WRONG;
		*ret_n = (size_t)length;
	}
	return used;
}

static void place_count(struct logrec_place *p, uint64_t delta, const struct logrec *r)
{
	p->time_ms = delta < (uint64_t)(INT64_MAX - p->time_ms) ? p->time_ms + (int64_t)delta
	                                                        : INT64_MAX;
	p->bytes[r->stream] += r->n;
	p->lines[r->stream] += logrec_lines(r->data, r->n);
	p->open = (uint8_t)(r->data[r->n - 1] == '\n' ? p->open & ~(1u << r->stream)
	                                              : p->open | 1u << r->stream);
}

/* A record of the n bytes at p, of which no more than `room` may belong to it. */
static size_t record_next(struct logrec_reader *r, const uint8_t *p, size_t n, size_t room,
                          struct logrec *ret)
{
	uint64_t delta = 0;
	size_t length = 0, have = n < room ? n : room;
	int k = record_get(p, have, &delta, &length);

	if (k == TORN && have < room)
		return 0;
	if (k < 0)
		return pass_over(r, n, true, ret);
	size_t used = (size_t)k;
	if (length == SIZE_MAX) {
		const uint8_t *end = memchr(p + used, '\n', have - used);
		if (!end && have < room)
			return 0;
		length = end ? (size_t)(end + 1 - p) - used : 0;
	}
	if (length == 0 || length > room - used)
		return pass_over(r, n, true, ret);
	if (length > have - used)
		return 0;
	*ret = (struct logrec){ (enum logrec_stream)(p[0] & STREAM_BITS), p + used, length, false };
	place_count(&r->place, delta, ret);
	r->place.at += used + length;
	return used + length;
}

size_t logrec_next(struct logrec_reader *r, const uint8_t *p, size_t n, struct logrec *ret)
{
	size_t room = room_at(r->place.at);

	*ret = (struct logrec){ 0 };
	if (n == 0)
		return 0;
	if (r->skip)
		return pass_over(r, n, false, ret);
	if (room == LOGREC_BLOCK) {
		int k = header_get(p, n, &r->place);
		if (k == TORN && n < LOGREC_HEADER_MAX)
			return 0;
		if (k < 0)
			return pass_over(r, n, true, ret);
		r->place.at += (uint64_t)k;
		return (size_t)k;
	}
	if (p[0] == 0)
		return pass_over(r, n, false, ret);
	return record_next(r, p, n, room, ret);
}

size_t logrec_torn(struct logrec_reader *r, const uint8_t *p, size_t n, struct logrec *ret)
{
	uint64_t delta = 0;
	size_t length;
	int k = n && !r->skip && p[0] && r->place.at % LOGREC_BLOCK
	                ? record_get(p, n, &delta, &length)
	                : TORN;

	*ret = (struct logrec){ 0 };
	if (k < 0 || (size_t)k >= n)
		return 0;
	*ret = (struct logrec){ (enum logrec_stream)(p[0] & STREAM_BITS), p + k, n - (size_t)k,
		                false };
	place_count(&r->place, delta, ret);
	r->place.at += n;
	return n;
}

size_t logrec_whole(uint64_t at, const uint8_t *p, size_t n)
{
	struct logrec_reader r = { .place.at = at };
	struct logrec record;
	size_t whole = 0, k;

	while ((k = logrec_next(&r, p + whole, n - whole, &record)) > 0)
		whole += k;
	return whole;
}

/* --- finding ------------------------------------------------------------------------------ */

uint64_t logrec_measure(const struct logrec_place *p, enum logrec_by by, unsigned streams)
{
	uint64_t sum = 0;

	if (by == LOGREC_BY_TIME)
		return (uint64_t)p->time_ms;
	for (unsigned s = LOGREC_OUT; s < LOGREC_STREAMS; s++)
		if (streams & 1u << s)
			sum += by == LOGREC_BY_LINES ? p->lines[s] : p->bytes[s];
	return sum;
}

void logrec_seek_begin(struct logrec_seek *s, enum logrec_by by, unsigned streams, uint64_t most,
                       const struct logrec_place *end)
{
	*s = (struct logrec_seek){ .by = by, .streams = streams, .most = most };
	s->high = (end->at + LOGREC_BLOCK - 1) / LOGREC_BLOCK;
	s->high = s->high ? s->high : 1;
	s->high_is = logrec_measure(end, by, streams);
}

/* By halves, and every other time where it would stand if all went evenly. */
bool logrec_seek_next(const struct logrec_seek *s, uint64_t *ret_at)
{
	uint64_t between = s->high - s->low - 1, step;

	CHECK(s->high > s->low);
	if (between == 0)
		return false;
	step = between / 2;
	if (s->tries % 2 == 0 && s->high_is > s->low_is && s->most >= s->low_is) {
		double part = (double)(s->most - s->low_is) / (double)(s->high_is - s->low_is);
		step = part < 1 ? (uint64_t)(part * (double)between) : between - 1;
	}
	*ret_at = (s->low + 1 + (step < between ? step : between - 1)) * LOGREC_BLOCK;
	return true;
}

void logrec_seek_take(struct logrec_seek *s, uint64_t at, const struct logrec_place *header)
{
	uint64_t block = at / LOGREC_BLOCK, is;

	CHECK(block > s->low && block < s->high);
	s->tries++;
	is = header ? logrec_measure(header, s->by, s->streams) : UINT64_MAX;
	if (header && is <= s->most) {
		s->low = block;
		s->low_is = is;
	} else {
		s->high = block;
		s->high_is = header ? is : s->high_is;
	}
}
