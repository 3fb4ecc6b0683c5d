/* One segment, as it is read: its files, its blocks, and its index wherever that is.
 *
 * A segment that was open when its server ended has no index; it is read from end to end, and what
 * does not read back at its end is what a crash left torn. Damage in the middle has whole blocks
 * after it: those are found again by their magic, and what lies between is told and lost. The same
 * reading makes an index anew that is not there or does not read back. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "logs/logs_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

/* --- the list of segments --- */

struct segment *logs__segment_new(struct logs *l, uint64_t origin, uint32_t number)
{
	struct segment *s = mem_new(sizeof *s);

	s->slot = ++l->slots;
	s->origin = origin;
	s->number = number;
	return s;
}

/* Ours are last: what is looked for is in the newest most often. */
static bool goes_before(const struct logs *l, const struct segment *x, const struct segment *y)
{
	bool is_own = x->origin == l->origin;

	if (is_own != (y->origin == l->origin))
		return !is_own;
	return x->origin != y->origin ? x->origin < y->origin : x->number < y->number;
}

void logs__segment_add(struct logs *l, struct segment *s)
{
	size_t at = l->n;

	l->segments = mem_room(l->segments, &l->cap, l->n + 1, sizeof *l->segments);
	for (; at > 0 && goes_before(l, s, l->segments[at - 1]); at--)
		l->segments[at] = l->segments[at - 1];
	l->segments[at] = s;
	l->n++;
}

const struct index_head *logs__head(const struct segment *s)
{
	return s->mem ? &s->mem->head : &s->disk.head;
}

uint64_t logs__index_bytes(const struct index_head *h)
{
	return sizeof *h + h->filter_bytes + (uint64_t)h->entries * ENTRY_BYTES +
	       (uint64_t)h->extents * EXTENT_BYTES;
}

void logs__remove_files(struct logs *l, struct segment *s)
{
	char path[PATH_MAX_BYTES];

	logs__forget(l, s);
	if (!s->is_here)
		return;
	logs__path(l, s->number, true, path);
	unlink(path);
	logs__path(l, s->number, false, path);
	unlink(path);
	s->is_here = false;
}

/* --- blocks --- */

static int read_block(struct logs *l, struct segment *s, uint32_t at, struct buf *raw)
{
	uint64_t bytes = s == l->open ? l->end : s->bytes, next;
	int r = logs__have(l, s, false, at, BLOCK_HEAD_BYTES + BLOCK_RAW_MAX);

	if (r < 0)
		return r;
	int fd = s == l->open ? l->fd : logs__file(l, s, false);
	r = fd < 0 ? fd : block_get(fd, at, bytes, raw, &next);
	if (r == E_NOT_FOUND)
		r = E_CORRUPT;
	return r == E_CORRUPT && !s->is_here ? logs__far_bad(l, s) : r;
}

int logs__block(struct logs *l, struct segment *s, uint32_t at, const struct buf **ret)
{
	struct block_slot *oldest = &l->blocks[0];

	if (s == l->open && at == l->end) { /* not written yet */
		*ret = &l->raw;
		return 0;
	}
	for (struct block_slot *b = l->blocks; b < l->blocks + BLOCKS_HELD; b++) {
		if (b->is_there && b->slot == s->slot && b->at == at) {
			b->used = ++l->used;
			*ret = &b->raw;
			return 0;
		}
		if (!b->is_there || (oldest->is_there && b->used < oldest->used))
			oldest = b;
	}
	oldest->is_there = false;
	int r = read_block(l, s, at, &oldest->raw);
	if (r < 0)
		return r;
	oldest->slot = s->slot;
	oldest->at = at;
	oldest->is_there = true;
	oldest->used = ++l->used;
	*ret = &oldest->raw;
	return 0;
}

/* --- read again --- */

static bool take_block(const struct buf *raw, uint32_t block, struct mem_index *x)
{
	struct record r;

	for (size_t at = 0; at < raw->len;) {
		at = record_get(buf_at(raw), raw->len, at, &r);
		if (at == 0)
			return false;
		mem_index_add(x, &r, block);
	}
	return true;
}

static void tell_damage(struct logs *l, uint32_t number, uint64_t from, uint64_t to)
{
	logs__tell(l, "damaged",
	           "segment %08" PRIx32 ": bytes %" PRIu64 " to %" PRIu64
	           " do not read back; parts of logs in it are lost",
	           number, from, to);
}

int logs__scan(struct logs *l, int fd, uint32_t number, bool cuts, struct mem_index *x,
               uint64_t *bytes)
{
	uint64_t at = SEGMENT_HEAD_BYTES, end = *bytes, next = 0;
	struct buf raw;
	int r = 0;

	if (end > SEGMENT_BYTES_MAX * 2)
		end = SEGMENT_BYTES_MAX * 2;
	buf_init(&raw);
	while (at < end) {
		r = block_get(fd, at, end, &raw, &next);
		if (r == E_IO)
			break;
		if (r == 0 && !take_block(&raw, (uint32_t)at, x))
			tell_damage(l, number, at, next);
		if (r < 0 && (next = block_seek(fd, at + 1, end)) == end) {
			logs__tell(l, "cut",
			           "segment %08" PRIx32 ": its last %" PRIu64
			           " bytes do not read back%s",
			           number, end - at,
			           cuts ? ", they were cut off: it was being written" : "");
			if (cuts)
				*bytes = at;
		} else if (r < 0) {
			tell_damage(l, number, at, next);
		}
		r = 0;
		at = next;
	}
	buf_done(&raw);
	return r;
}

int logs__write_index(struct logs *l, struct segment *s, struct err *err)
{
	char path[PATH_MAX_BYTES];

	CHECK(s->mem && s != l->open);
	logs__path(l, s->number, true, path);
	s->mem->head.segment_bytes = s->bytes;
	int r = mem_index_write(s->mem, path, err);
	if (r < 0)
		return r;
	logs__forget(l, s); /* the former index, if it is open */
	int fd = logs__file(l, s, true);
	r = fd < 0 ? fd : disk_index_load(fd, &s->disk);
	if (r < 0)
		return err_set(err, r, "%s does not read back", path);
	mem_index_free(s->mem);
	s->mem = NULL;
	return 0;
}

/* The index does not read back. */
static int make_anew(struct logs *l, struct segment *s)
{
	if (!s->is_here)
		return logs__far_bad(l, s);
	int fd = logs__file(l, s, false);
	struct mem_index *x = mem_index_new(s->number, s->disk.head.first_us);
	uint64_t bytes = s->bytes;

	logs__tell(l, "index", "segment %08" PRIx32 ": its index does not read back; made anew",
	           s->number);
	int r = fd < 0 ? fd : logs__scan(l, fd, s->number, false, x, &bytes);
	if (r < 0) {
		mem_index_free(x);
		return r;
	}
	disk_index_done(&s->disk);
	s->mem = x;
	if (!l->set.is_read_only)
		logs__write_index(l, s, NULL); /* else it stays in memory */
	return 0;
}

/* --- the index, wherever it is --- */

static int disk_place(struct logs *l, struct segment *s, const struct log_id *id, struct place *ret)
{
	uint32_t i;

	if (id->token < s->disk.head.min_token || id->token > s->disk.head.max_token ||
	    !disk_index_may_have(&s->disk, id->key))
		return E_NOT_FOUND;
	int r = logs__have_index(l, s);
	if (r < 0)
		return r;
	int fd = logs__file(l, s, true);
	r = fd == E_NOT_FOUND ? E_CORRUPT : fd < 0 ? fd : disk_index_lower(fd, &s->disk, id, &i);
	if (r < 0)
		return r;
	if (i == s->disk.head.entries)
		return E_NOT_FOUND;
	r = disk_index_entry(fd, &s->disk, i, &ret->e);
	struct log_id found = entry_id(&ret->e);
	return r < 0 ? r : log_id_eq(&found, id) ? 0 : E_NOT_FOUND;
}

static int place_of(struct logs *l, struct segment *s, const struct log_id *id, struct place *ret)
{
	*ret = (struct place){ .s = s };
	if (!s->mem)
		return disk_place(l, s, id, ret);
	uint32_t i = mem_index_find(s->mem, id);
	if (i == MAP_NONE)
		return E_NOT_FOUND;
	ret->mem = &s->mem->logs[i];
	ret->e = ret->mem->e;
	return 0;
}

int logs__place(struct logs *l, struct segment *s, const struct log_id *id, struct place *ret)
{
	int r = place_of(l, s, id, ret);

	if (r != E_CORRUPT)
		return r;
	r = make_anew(l, s);
	return r < 0 ? r : place_of(l, s, id, ret);
}

static int disk_each_of(struct logs *l, struct segment *s, struct inst_key key,
                        void (*each)(void *ctx, const struct entry *e), void *ctx)
{
	struct log_id id = { .key = key };
	struct entry e;
	uint32_t i;

	if (!disk_index_may_have(&s->disk, key))
		return 0;
	int r = logs__have_index(l, s);
	if (r < 0)
		return r;
	int fd = logs__file(l, s, true);
	r = fd == E_NOT_FOUND ? E_CORRUPT : fd < 0 ? fd : disk_index_lower(fd, &s->disk, &id, &i);
	/* Looked at whole first: one that does not read back is begun anew. */
	for (int pass = 0; r == 0 && pass < 2; pass++)
		for (uint32_t j = i; r == 0 && j < s->disk.head.entries; j++) {
			r = disk_index_entry(fd, &s->disk, j, &e);
			if (r < 0 || !inst_key_eq(entry_id(&e).key, key))
				break;
			if (pass == 1)
				each(ctx, &e);
		}
	return r;
}

int logs__each_of(struct logs *l, struct segment *s, struct inst_key key,
                  void (*each)(void *ctx, const struct entry *e), void *ctx)
{
	size_t at;
	int r = s->mem ? 0 : disk_each_of(l, s, key, each, ctx);

	if (r == E_CORRUPT) {
		r = make_anew(l, s);
		if (r == 0 && !s->mem)
			return disk_each_of(l, s, key, each, ctx);
	}
	if (r < 0 || !s->mem)
		return r;
	for (uint32_t i = map_first(&s->mem->by_key, inst_key_hash(key), &at); i != MAP_NONE;
	     i = map_next(&s->mem->by_key, inst_key_hash(key), &at))
		if (inst_key_eq(entry_id(&s->mem->logs[i].e).key, key))
			each(ctx, &s->mem->logs[i].e);
	return 0;
}

static int extents_of(struct logs *l, const struct place *p, uint32_t from, uint32_t n,
                      struct extent *ret)
{
	if (from > p->e.n || n > p->e.n - from)
		return E_CORRUPT;
	if (p->mem) {
		memcpy(ret, p->mem->extents + from, n * sizeof *ret);
		return 0;
	}
	int r = logs__have_index(l, p->s);
	int fd = r < 0 ? r : logs__file(l, p->s, true);
	return fd < 0 ? fd : disk_index_extents(fd, &p->s->disk, &p->e, from, n, ret);
}

int logs__extents(struct logs *l, struct place *p, uint32_t from, uint32_t n, struct extent *ret)
{
	int r = extents_of(l, p, from, n, ret);

	if (r != E_CORRUPT || p->mem)
		return r;
	struct log_id id = entry_id(&p->e);
	r = make_anew(l, p->s);
	if (r == 0)
		r = place_of(l, p->s, &id, p);
	return r == E_AGAIN ? r : r < 0 ? E_CORRUPT : extents_of(l, p, from, n, ret);
}

void logs__segment_free(struct segment *s)
{
	mem_index_free(s->mem);
	disk_index_done(&s->disk);
	logs__far_free(s->far);
	free(s);
}
