/* What goes out: a log found by its id, an instance's logs, ranges and lines.
 *
 * A log stands in every segment that was open while it was printed, and offsets say what comes
 * where. So a range asks which segment has the next byte, and goes through that one's extents as
 * far as they reach. Most segments are passed over by their tokens or their filter, in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "logs/logs_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

enum { EXTENTS_AT_ONCE = 64 };

size_t logs__group(const struct logs *l, size_t hi)
{
	size_t lo = l->segments[0]->origin == l->origin ? 0 : hi - 1;

	while (lo > 0 && l->segments[lo - 1]->origin == l->segments[hi - 1]->origin)
		lo--;
	return lo;
}

int logs_find(struct logs *l, const struct log_id *id, struct log_facts *ret)
{
	struct log_facts f = { .id = *id };
	struct place p = { 0 };
	bool is_there = false;

	/* The newest part says how long it is, of each directory that has some. One that was taken
	 * back has neither. */
	for (size_t hi = l->n, lo; hi > 0; hi = lo) {
		lo = logs__group(l, hi);
		p.e.n = 0;
		for (size_t i = hi; i > lo && p.e.n == 0; i--) {
			int r = logs__place(l, l->segments[i - 1], id, &p);
			if (r < 0) {
				p.e.n = 0;
				if (r != E_NOT_FOUND)
					return r;
				continue;
			}
			is_there |= p.e.n > 0 || p.e.is_ended || id->stream == 0;
			f.broker = p.e.broker;
			f.is_ended |= p.e.is_ended;
			f.bytes = p.e.length > f.bytes ? p.e.length : f.bytes;
		}
	}
	if (!is_there)
		return E_NOT_FOUND;
	*ret = f;
	return 0;
}

/* --- an instance's --- */

struct listing {
	struct log_facts *items;
	size_t n, cap;
};

static void list_one(void *ctx, const struct entry *e)
{
	struct listing *all = ctx;

	if (e->n == 0 && !e->is_ended && e->stream != 0)
		return; /* what it had was taken back */
	all->items = mem_room(all->items, &all->cap, all->n + 1, sizeof *all->items);
	all->items[all->n++] = (struct log_facts){ entry_id(e), e->broker, e->length, e->is_ended };
}

static int by_id(const void *a, const void *b)
{
	return log_id_order(&((const struct log_facts *)a)->id, &((const struct log_facts *)b)->id);
}

size_t logs_of(struct logs *l, struct inst_key key, struct log_facts **ret_facts)
{
	struct listing all = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		int r = logs__each_of(l, l->segments[i], key, list_one, &all);
		if (r < 0 && r != E_AGAIN)
			logs__tell(l, "unread", "segment %08" PRIx32 " cannot be read",
			           l->segments[i]->number);
	}
	if (all.n)
		qsort(all.items, all.n, sizeof *all.items, by_id);
	for (size_t i = 0; i < all.n; i++) {
		struct log_facts *f = &all.items[i], *last = n ? &all.items[n - 1] : NULL;
		if (!last || !log_id_eq(&last->id, &f->id)) {
			all.items[n++] = *f;
			continue;
		}
		last->is_ended |= f->is_ended;
		last->bytes = f->bytes > last->bytes ? f->bytes : last->bytes;
	}
	*ret_facts = all.items;
	return n;
}

/* --- ranges --- */

/* The first extent of a place that reaches beyond `offset`. */
static int first_beyond(struct logs *l, struct place *p, uint64_t offset, uint32_t *ret_i,
                        struct extent *ret)
{
	uint32_t lo = 0, hi = p->e.n;
	int r = 0;

	while (r == 0 && lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		r = logs__extents(l, p, mid, 1, ret);
		if (r == 0 && ret->offset + ret->bytes > offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (r == 0 && lo < p->e.n)
		r = logs__extents(l, p, lo, 1, ret);
	*ret_i = lo;
	return r;
}

struct reading {
	struct place p;
	uint32_t i;    /* extent */
	uint64_t from; /* where its bytes begin to be new */
};

/* The first segment of lo..hi, all of one directory, where the log reaches beyond `offset`: a later
 * one never has less of it. Few are looked into, for each of those may have to be fetched. */
static int seek_group(struct logs *l, const struct log_id *id, uint64_t offset, size_t lo,
                      size_t hi, struct place *ret)
{
	bool is_found = false;

	while (lo < hi) {
		struct place p = { 0 };
		size_t mid = lo + (hi - lo) / 2, at = mid;
		int r = E_NOT_FOUND;

		for (; at < hi && (r == E_NOT_FOUND || (r == 0 && p.e.n == 0)); at++)
			r = logs__place(l, l->segments[at], id, &p);
		if (r < 0 && r != E_NOT_FOUND)
			return r;
		if (r == 0 && p.e.n && p.e.length <= offset) {
			lo = at;
			continue;
		}
		if (r == 0 && p.e.n) {
			*ret = p;
			is_found = true;
		}
		hi = mid;
	}
	return is_found ? 0 : E_NOT_FOUND;
}

/* The segment with the byte at `offset`, or with the next one behind it; E_NOT_FOUND. */
static int seek_offset(struct logs *l, const struct log_id *id, uint64_t offset,
                       struct reading *ret)
{
	struct reading best = { .from = UINT64_MAX };

	for (size_t hi = l->n, lo; hi > 0 && best.from > offset; hi = lo) {
		struct reading at = { 0 };
		struct extent e;

		lo = logs__group(l, hi);
		int r = seek_group(l, id, offset, lo, hi, &at.p);
		if (r == E_NOT_FOUND)
			continue;
		r = r < 0 ? r : first_beyond(l, &at.p, offset, &at.i, &e);
		if (r == 0 && at.i == at.p.e.n)
			r = E_CORRUPT;
		if (r < 0)
			return r;
		at.from = e.offset > offset ? e.offset : offset;
		if (at.from < best.from)
			best = at;
	}
	if (best.from == UINT64_MAX)
		return E_NOT_FOUND;
	*ret = best;
	return 0;
}

/* Bytes from..to of a log were never there. */
static void fill_gap(uint8_t *to, uint64_t at, size_t n, uint64_t gap_to)
{
	char text[128];
	int len = snprintf(text, sizeof text,
	                   "\n[%" PRIu64 " bytes are missing, %" PRIu64 " to %" PRIu64 "]\n",
	                   gap_to - at, at, gap_to);

	memset(to, 0, n);
	if ((size_t)len <= n)
		memcpy(to, text, (size_t)len);
}

static int copy_extent(struct logs *l, const struct place *p, const struct extent *e,
                       uint64_t offset, uint8_t *to, size_t *n)
{
	const struct buf *raw;
	uint32_t skip = (uint32_t)(offset - e->offset);

	CHECK(offset >= e->offset);
	int r = logs__block(l, p->s, e->block, &raw);
	if (r < 0)
		return r;
	if (skip >= e->bytes || e->at > raw->len || e->bytes > raw->len - e->at)
		return E_CORRUPT;
	if (*n > e->bytes - skip)
		*n = e->bytes - skip;
	memcpy(to, buf_at(raw) + e->at + skip, *n);
	return 0;
}

/* From one segment, as far as its extents follow each other. */
static int read_run(struct logs *l, struct reading *at, uint64_t *offset, uint8_t *to, size_t max,
                    size_t *done)
{
	struct extent e[EXTENTS_AT_ONCE];

	while (*done < max && at->i < at->p.e.n) {
		uint32_t n = at->p.e.n - at->i;
		uint32_t few = (uint32_t)((max - *done) / RECORD_DATA_MAX) + 2;
		n = n < EXTENTS_AT_ONCE ? n : EXTENTS_AT_ONCE;
		if (*done == 0 && n > few)
			n = few;
		int r = logs__extents(l, &at->p, at->i, n, e);
		for (uint32_t i = 0; r == 0 && i < n && *done < max; i++) {
			size_t want = max - *done;
			if (e[i].offset > *offset)
				return 0;
			r = copy_extent(l, &at->p, &e[i], *offset, to + *done, &want);
			if (r == 0) {
				*done += want;
				*offset += want;
				at->i += *offset == e[i].offset + e[i].bytes;
			}
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int logs_read(struct logs *l, const struct log_id *id, uint64_t offset, struct log_room room,
              size_t *ret_bytes, struct err *err)
{
	uint8_t *to = room.to;
	size_t max = room.max;
	struct log_facts f;
	size_t done = 0;
	int r = logs_find(l, id, &f);

	*ret_bytes = 0;
	if (r < 0)
		return err_set(err, r, "no such log");
	while (r == 0 && done < max && offset < f.bytes) {
		struct reading at = { 0 };

		r = seek_offset(l, id, offset, &at);
		if (r == 0 && at.from > offset) {
			size_t n = at.from - offset < max - done ? (size_t)(at.from - offset)
			                                         : max - done;
			fill_gap(to + done, offset, n, at.from);
			done += n;
			offset += n;
		} else if (r == 0) {
			r = read_run(l, &at, &offset, to, max, &done);
		}
		if (r < 0 && at.p.s)
			err_set(err, r,
			        "segment %08" PRIx32 " does not read back where byte %" PRIu64
			        " of this log stands",
			        at.p.s->number, offset);
	}
	*ret_bytes = done;
	/* Segments that went, or what was before the damage, are no failure of what is given. */
	return r == E_NOT_FOUND || (r < 0 && done > 0) ? 0 : r;
}

/* --- lines --- */

struct line_search {
	uint64_t left;   /* line ends to pass yet */
	uint64_t offset; /* where the search stands in the log */
	bool is_found;
};

static int line_within(struct logs *l, const struct place *p, const struct extent *e,
                       struct line_search *s)
{
	const struct buf *raw;
	int r = logs__block(l, p->s, e->block, &raw);

	if (r == 0 && (e->at > raw->len || e->bytes > raw->len - e->at))
		r = E_CORRUPT;
	for (uint32_t i = 0; r == 0 && i < e->bytes; i++)
		if (buf_at(raw)[e->at + i] == '\n' && --s->left == 0) {
			s->offset = e->offset + i + 1;
			s->is_found = true;
			return 0;
		}
	return r;
}

static int line_in_place(struct logs *l, struct place *p, struct line_search *s)
{
	struct extent e[EXTENTS_AT_ONCE];

	for (uint32_t i = 0; i < p->e.n && !s->is_found; i += EXTENTS_AT_ONCE) {
		uint32_t n = p->e.n - i < EXTENTS_AT_ONCE ? p->e.n - i : EXTENTS_AT_ONCE;
		int r = logs__extents(l, p, i, n, e);

		for (uint32_t j = 0; r == 0 && j < n && !s->is_found; j++) {
			if (e[j].offset + e[j].bytes <= s->offset)
				continue; /* another segment had it */
			s->offset = e[j].offset + e[j].bytes;
			if (e[j].lines < s->left)
				s->left -= e[j].lines;
			else
				r = line_within(l, p, &e[j], s);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int logs_line(struct logs *l, const struct log_id *id, uint64_t n, uint64_t *ret_offset,
              struct err *err)
{
	struct line_search s = { .left = n, .is_found = n == 0 };

	for (size_t i = 0; i < l->n && !s.is_found; i++) {
		struct place p;
		int r = logs__place(l, l->segments[i], id, &p);

		if (r == 0)
			r = line_in_place(l, &p, &s);
		if (r < 0 && r != E_NOT_FOUND)
			return err_set(err, r, "segment %08" PRIx32 " does not read back",
			               l->segments[i]->number);
	}
	if (!s.is_found)
		return err_set(err, E_NOT_FOUND, "it has fewer lines");
	*ret_offset = s.offset;
	return 0;
}
