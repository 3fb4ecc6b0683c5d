/* The index of a closed segment: a head, a filter, entries in order, extents. Only the head and
 * the filter (twelve bits an instance) are held in memory; an entry is found by binary search,
 * and its own checksum is looked at each time it is read, and so is an extent's. A damaged index
 * is no loss, for the segment says it all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "logs/log_index.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/crc.h"
#include "util/err.h"
#include "util/fs.h"

enum { FILTER_BITS_EACH = 12, FILTER_HASHES = 6, FILTER_BYTES_MAX = 1 << 26, MODE = 0600 };

static const char index_magic[8] = "SRDLOGX1";

_Static_assert(sizeof(struct entry) == ENTRY_BYTES, "as it is stored");
_Static_assert(sizeof(struct extent) == EXTENT_BYTES, "as it is stored");
_Static_assert(sizeof(struct index_head) == 88, "as it is stored");

static uint32_t head_sum(const struct index_head *h)
{
	return crc32c_bytes(0, h, offsetof(struct index_head, crc));
}

static uint32_t extent_sum(const struct extent *e)
{
	return crc32c_bytes(0, e, offsetof(struct extent, crc));
}

static uint32_t entry_sum(const struct entry *e)
{
	return crc32c_bytes(0, e, offsetof(struct entry, crc));
}

/* --- the filter --- */

static uint64_t filter_bit(uint64_t hash, unsigned i, uint32_t bytes)
{
	uint64_t step = (hash >> 32 | hash << 32) | 1;

	return (hash + i * step) % ((uint64_t)bytes * 8);
}

static void filter_add(uint8_t *filter, uint32_t bytes, struct inst_key key)
{
	uint64_t hash = inst_key_hash(key);

	for (unsigned i = 0; i < FILTER_HASHES; i++) {
		uint64_t bit = filter_bit(hash, i, bytes);
		filter[bit / 8] |= (uint8_t)(1u << bit % 8);
	}
}

bool disk_index_may_have(const struct disk_index *x, struct inst_key key)
{
	uint64_t hash = inst_key_hash(key);

	for (unsigned i = 0; i < FILTER_HASHES; i++) {
		uint64_t bit = filter_bit(hash, i, x->head.filter_bytes);
		if (!(x->filter[bit / 8] & 1u << bit % 8))
			return false;
	}
	return true;
}

/* --- writing --- */

static int by_id(const void *a, const void *b)
{
	const struct mem_log *x = a, *y = b;
	struct log_id i = entry_id(&x->e), j = entry_id(&y->e);

	return log_id_order(&i, &j);
}

static void put_entries(struct mem_index *x, struct buf *out)
{
	uint32_t first = 0;

	for (size_t i = 0; i < x->n; i++) {
		struct entry e = x->logs[i].e;

		e.first = first;
		e.crc = entry_sum(&e);
		first += e.n;
		buf_put(out, &e, sizeof e);
	}
	CHECK(first == x->head.extents);
	for (size_t i = 0; i < x->n; i++)
		for (uint32_t j = 0; j < x->logs[i].e.n; j++) {
			struct extent e = x->logs[i].extents[j];

			e.crc = extent_sum(&e);
			buf_put(out, &e, sizeof e);
		}
}

static void index_sort(struct mem_index *x)
{
	if (x->n)
		qsort(x->logs, x->n, sizeof *x->logs, by_id);
	map_done(&x->by_key);
	for (size_t i = 0; i < x->n; i++)
		map_add(&x->by_key, inst_key_hash(entry_id(&x->logs[i].e).key), (uint32_t)i);
}

int mem_index_write(struct mem_index *x, const char *path, struct err *err)
{
	struct index_head h = x->head;
	struct buf out;

	CHECK(x->n == h.entries);
	index_sort(x);
	h.filter_bytes = h.instances * FILTER_BITS_EACH / 8 + 8;
	uint8_t *filter = mem_new(h.filter_bytes);
	for (size_t i = 0; i < x->n; i++)
		filter_add(filter, h.filter_bytes, entry_id(&x->logs[i].e).key);
	memcpy(h.magic, index_magic, sizeof h.magic);
	h.filter_crc = crc32c_bytes(0, filter, h.filter_bytes);
	h.crc = head_sum(&h);
	buf_init(&out);
	buf_put(&out, &h, sizeof h);
	buf_put(&out, filter, h.filter_bytes);
	put_entries(x, &out);
	int r = fs_write(path, buf_at(&out), out.len, MODE, err);
	buf_done(&out);
	free(filter);
	return r;
}

/* --- reading --- */

int disk_index_load(int fd, struct disk_index *ret)
{
	struct disk_index x = { 0 };
	int r = read_whole(fd, &x.head, sizeof x.head, 0);

	if (r < 0)
		return r;
	if (memcmp(x.head.magic, index_magic, sizeof x.head.magic) != 0 ||
	    head_sum(&x.head) != x.head.crc || x.head.filter_bytes == 0 ||
	    x.head.filter_bytes > FILTER_BYTES_MAX)
		return E_CORRUPT;
	x.filter = mem_new(x.head.filter_bytes);
	r = read_whole(fd, x.filter, x.head.filter_bytes, sizeof x.head);
	if (r == 0 && crc32c_bytes(0, x.filter, x.head.filter_bytes) != x.head.filter_crc)
		r = E_CORRUPT;
	if (r == 0)
		*ret = x;
	else
		free(x.filter);
	return r;
}

void disk_index_done(struct disk_index *x)
{
	free(x->filter);
	x->filter = NULL;
}

static uint64_t entries_at(const struct disk_index *x)
{
	return sizeof x->head + x->head.filter_bytes;
}

int disk_index_entry(int fd, const struct disk_index *x, uint32_t i, struct entry *ret)
{
	struct entry e;

	CHECK(i < x->head.entries);
	int r = read_whole(fd, &e, sizeof e, entries_at(x) + (uint64_t)i * sizeof e);
	if (r < 0)
		return r == E_NOT_FOUND ? E_CORRUPT : r;
	if (entry_sum(&e) != e.crc || e.first > x->head.extents || e.n > x->head.extents - e.first)
		return E_CORRUPT;
	*ret = e;
	return 0;
}

int disk_index_lower(int fd, const struct disk_index *x, const struct log_id *id, uint32_t *ret)
{
	uint32_t lo = 0, hi = x->head.entries;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		struct entry e;
		int r = disk_index_entry(fd, x, mid, &e);
		if (r < 0)
			return r;
		struct log_id at = entry_id(&e);
		if (log_id_order(&at, id) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = lo;
	return 0;
}

int disk_index_extents(int fd, const struct disk_index *x, const struct entry *e, uint32_t from,
                       uint32_t n, struct extent *ret)
{
	uint64_t base = entries_at(x) + (uint64_t)x->head.entries * sizeof(struct entry);

	CHECK(from + n <= e->n);
	int r = read_whole(fd, ret, n * sizeof *ret,
	                   base + (uint64_t)(e->first + from) * sizeof *ret);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (extent_sum(&ret[i]) != ret[i].crc || ret[i].bytes > RECORD_DATA_MAX)
			r = E_CORRUPT;
	return r == E_NOT_FOUND ? E_CORRUPT : r;
}
