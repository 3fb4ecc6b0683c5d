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

void logs__tell(struct logs *l, const char *what, const char *fmt, ...)
{
	va_list ap;

	if (!l->set.told)
		return;
	va_start(ap, fmt);
	char *text = mem_vfmt(fmt, ap);
	va_end(ap);
	l->set.told(l->set.ctx, what, text);
	free(text);
}

void logs__path(const struct logs *l, uint32_t number, bool is_index, char to[PATH_MAX_BYTES])
{
	snprintf(to, PATH_MAX_BYTES, "%s/%08" PRIx32 ".%s", l->dir, number,
	         is_index ? "idx" : "seg");
}

/* --- files and blocks that are held --- */

int logs__file(struct logs *l, uint32_t number, bool is_index)
{
	struct file_slot *oldest = &l->files[0];
	char path[PATH_MAX_BYTES];

	for (struct file_slot *f = l->files; f < l->files + FILES_OPEN; f++) {
		if (f->fd >= 0 && f->number == number && f->is_index == is_index) {
			f->used = ++l->used;
			return f->fd;
		}
		if (f->fd < 0 || (oldest->fd >= 0 && f->used < oldest->used))
			oldest = f;
	}
	logs__path(l, number, is_index, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? E_NOT_FOUND : E_IO;
	if (oldest->fd >= 0)
		close(oldest->fd);
	*oldest = (struct file_slot){ number, is_index, fd, ++l->used };
	return fd;
}

void logs__forget(struct logs *l, uint32_t number)
{
	for (struct file_slot *f = l->files; f < l->files + FILES_OPEN; f++)
		if (f->fd >= 0 && f->number == number) {
			close(f->fd);
			f->fd = -1;
		}
	for (struct block_slot *b = l->blocks; b < l->blocks + BLOCKS_HELD; b++)
		if (b->number == number)
			b->is_there = false;
}

int logs__block(struct logs *l, struct segment *s, uint32_t at, const struct buf **ret)
{
	struct block_slot *oldest = &l->blocks[0];
	uint64_t next;

	if (s == l->open && at == l->end) { /* not written yet */
		*ret = &l->raw;
		return 0;
	}
	for (struct block_slot *b = l->blocks; b < l->blocks + BLOCKS_HELD; b++) {
		if (b->is_there && b->number == s->number && b->at == at) {
			b->used = ++l->used;
			*ret = &b->raw;
			return 0;
		}
		if (!b->is_there || (oldest->is_there && b->used < oldest->used))
			oldest = b;
	}
	int fd = s == l->open ? l->fd : logs__file(l, s->number, false);
	uint64_t bytes = s == l->open ? l->end : s->bytes;
	oldest->is_there = false;
	int r = fd < 0 ? fd : block_get(fd, at, bytes, &oldest->raw, &next);
	if (r < 0)
		return r == E_NOT_FOUND ? E_CORRUPT : r;
	oldest->number = s->number;
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
	logs__forget(l, s->number); /* the former index, if it is open */
	int fd = logs__file(l, s->number, true);
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
	int fd = logs__file(l, s->number, false);
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
	int fd = logs__file(l, s->number, true);
	int r = fd == E_NOT_FOUND ? E_CORRUPT
	        : fd < 0          ? fd
	                          : disk_index_lower(fd, &s->disk, id, &i);
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
	int fd = logs__file(l, s->number, true);
	int r = fd == E_NOT_FOUND ? E_CORRUPT
	        : fd < 0          ? fd
	                          : disk_index_lower(fd, &s->disk, &id, &i);
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
	int fd = logs__file(l, p->s->number, true);
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
	return r < 0 ? E_CORRUPT : extents_of(l, p, from, n, ret);
}

void logs__segment_free(struct segment *s)
{
	mem_index_free(s->mem);
	disk_index_done(&s->disk);
	free(s);
}
