/* The segments of a directory: NUMBER.seg and beside each its index, NUMBER.idx; of those that are
 * in a home a NAME.top (far.c).
 *
 * At the start each index is held against its segment (size, number, checksums of head and
 * filter); where it does not fit the segment is read again. The last one may end torn, and is
 * closed as it is: what comes next goes into a new one. So a segment has one writer in its life,
 * and only the open one has an index in memory. Retention takes whole segments by their last
 * byte. */
#include "logs/logs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "logs/logs_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/own.h"

/* --- opening --- */

static struct segment *own_segment(struct logs *l, uint32_t number)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->segments[i]->origin == l->origin && l->segments[i]->number == number)
			return l->segments[i];
	return NULL;
}

static void list_segments(struct logs *l, DIR *d)
{
	for (struct dirent *e; (e = readdir(d));) {
		char *end = NULL;
		unsigned long number = strtoul(e->d_name, &end, 16);
		size_t n = strlen(e->d_name);

		/* An index that a crash left half written. */
		if (!l->set.is_read_only && n > 4 && strcmp(e->d_name + n - 4, ".tmp") == 0)
			unlinkat(dirfd(d), e->d_name, 0);
		if (logs__far_list(l, e->d_name) || end != e->d_name + 8 ||
		    strcmp(end, ".seg") != 0)
			continue;
		struct segment *s = own_segment(l, (uint32_t)number);
		if (!s)
			logs__segment_add(l, s = logs__segment_new(l, l->origin, (uint32_t)number));
		s->is_here = true;
	}
	for (size_t i = 0; i < l->n; i++)
		if (l->segments[i]->origin == l->origin && l->segments[i]->number >= l->next)
			l->next = l->segments[i]->number + 1;
}

static int remake(struct logs *l, struct segment *s, int fd, int64_t made_us, bool is_last)
{
	uint64_t bytes = s->bytes;

	s->mem = mem_index_new(s->number, made_us);
	int r = logs__scan(l, fd, s->number, is_last && !l->set.is_read_only, s->mem, &bytes);
	if (r < 0)
		return r;
	if (bytes < s->bytes) {
		char path[PATH_MAX_BYTES];
		logs__path(l, s->number, false, path);
		if (truncate(path, (off_t)bytes) < 0)
			return E_IO;
		s->bytes = bytes;
	}
	if (!l->set.is_read_only && s->mem->n)
		logs__write_index(l, s, NULL); /* on a full disk it stays in memory */
	return 0;
}

static bool index_fits(struct logs *l, struct segment *s)
{
	disk_index_done(&s->disk); /* of its top, when it is in a home */
	int fd = logs__file(l, s, true);

	if (fd < 0 || disk_index_load(fd, &s->disk) < 0)
		return false;
	if (s->disk.head.number == s->number && s->disk.head.segment_bytes == s->bytes)
		return true;
	disk_index_done(&s->disk);
	return false;
}

/* False: nothing of it can be used. */
static bool load_segment(struct logs *l, struct segment *s, bool is_last)
{
	if (!s->is_here)
		return true;
	uint8_t head[SEGMENT_HEAD_BYTES];
	int fd = logs__file(l, s, false);
	uint32_t number = 0;
	int64_t made_us = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	s->bytes = (uint64_t)st.st_size;
	if (read_whole(fd, head, sizeof head, 0) < 0 ||
	    !segment_head_get(head, &number, &made_us) || number != s->number) {
		logs__tell(l, "damaged", "segment %08" PRIx32 ": its head does not read back",
		           s->number);
		if (s->bytes <= sizeof head)
			return false;
		made_us = (int64_t)st.st_mtime * 1000000;
	}
	return index_fits(l, s) || remake(l, s, fd, made_us, is_last) == 0;
}

static void load_segments(struct logs *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct segment *s = l->segments[i];
		bool is_good = load_segment(l, s, i + 1 == l->n);

		if (is_good && !(s->mem && s->mem->n == 0)) {
			l->segments[kept++] = s;
			continue;
		}
		/* Made and never written to. */
		if (s->bytes <= SEGMENT_HEAD_BYTES && !l->set.is_read_only)
			logs__remove_files(l, s);
		logs__segment_free(s);
	}
	l->n = kept;
}

int logs_open(const struct logs_settings *set, struct logs **ret, struct err *err)
{
	int r = set->is_read_only ? 0 : own_dir(set->dir, false, err);

	if (r < 0)
		return r;
	DIR *d = opendir(set->dir);
	if (!d)
		return err_sys(err, err_of_errno(errno), errno, "%s", set->dir);
	struct logs *l = mem_new(sizeof *l);
	l->set = *set;
	if (!l->set.segment_bytes || l->set.segment_bytes > SEGMENT_BYTES_MAX)
		l->set.segment_bytes = SEGMENT_BYTES;
	if (!l->set.segment_logs)
		l->set.segment_logs = SEGMENT_LOGS;
	if (!l->set.segment_age_us)
		l->set.segment_age_us = SEGMENT_AGE_US;
	l->dir = mem_str(set->dir);
	l->set.dir = l->dir;
	l->next = 1;
	l->fd = -1;
	for (size_t i = 0; i < FILES_OPEN; i++)
		l->files[i].fd = -1;
	r = logs__far_open(l, err);
	if (r == 0) {
		list_segments(l, d);
		load_segments(l);
	}
	closedir(d);
	if (r < 0)
		logs_close(l);
	else
		*ret = l;
	return r;
}

void logs_close(struct logs *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < FILES_OPEN; i++)
		if (l->files[i].fd >= 0)
			close(l->files[i].fd);
	for (size_t i = 0; i < BLOCKS_HELD; i++)
		buf_done(&l->blocks[i].raw);
	for (size_t i = 0; i < l->n; i++)
		logs__segment_free(l->segments[i]);
	if (l->fd >= 0)
		close(l->fd);
	buf_done(&l->raw);
	buf_done(&l->packed);
	packer_free(l->packer);
	free(l->was);
	free(l->segments);
	free(l->cache);
	free(l->dir);
	free(l);
}

/* --- as a whole --- */

size_t logs_retain(struct logs *l, int64_t before_us)
{
	size_t kept = 0, gone = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct segment *s = l->segments[i];

		if (s == l->open || logs__head(s)->last_us >= before_us || (s->far && l->cache)) {
			l->segments[kept++] = s;
			continue;
		}
		logs__top_remove(l, s); /* of a home that there was */
		logs__remove_files(l, s);
		logs__segment_free(s);
		gone++;
	}
	l->n = kept;
	return gone;
}

void logs_size(struct logs *l, int64_t before_us, struct logs_size *ret_all,
               struct logs_size *ret_old)
{
	*ret_all = *ret_old = (struct logs_size){ 0 };
	for (size_t i = 0; i < l->n; i++) {
		const struct segment *s = l->segments[i];
		const struct index_head *h = logs__head(s);
		struct logs_size *to[] = { ret_all, h->last_us < before_us ? ret_old : NULL };

		for (size_t j = 0; j < 2 && to[j]; j++) {
			to[j]->segments++;
			to[j]->instances += h->instances;
			to[j]->logs += h->entries;
			if (s->is_here)
				to[j]->bytes += (s == l->open ? l->end : s->bytes) +
				                (s->mem ? 0 : logs__index_bytes(h));
			to[j]->far += s->far != NULL;
			to[j]->printed += h->printed;
		}
	}
}

static bool give_entry(const struct segment *s, const struct entry *e, logs_each_fn *each,
                       void *ctx)
{
	struct log_facts f = { entry_id(e), e->broker, e->length, e->is_ended };

	return each(ctx, s->number, &f);
}

void logs_each(struct logs *l, logs_each_fn *each, void *ctx)
{
	for (size_t i = 0; i < l->n; i++) {
		struct segment *s = l->segments[i];
		uint32_t n = logs__head(s)->entries;

		for (uint32_t j = 0; j < n; j++) {
			struct entry e;
			int fd = s->mem || !s->is_here ? -1 : logs__file(l, s, true);

			if (s->mem)
				e = s->mem->logs[j].e;
			else if (fd < 0 || disk_index_entry(fd, &s->disk, j, &e) < 0)
				continue;
			if (!give_entry(s, &e, each, ctx))
				return;
		}
	}
}

size_t logs_verify(struct logs *l)
{
	size_t bad = 0;
	struct buf raw;

	buf_init(&raw);
	for (size_t i = 0; i < l->n; i++) {
		struct segment *s = l->segments[i];
		uint64_t end = s == l->open ? l->kept : s->bytes, at = SEGMENT_HEAD_BYTES, next;
		int fd = s == l->open ? l->fd : logs__file(l, s, false);

		if (!s->is_here)
			continue; /* the home keeps it */
		for (; fd >= 0 && at < end; at = next) {
			int r = block_get(fd, at, end, &raw, &next);
			if (r == 0)
				continue;
			next = block_seek(fd, at + 1, end);
			bad++;
			logs__tell(l, "damaged",
			           "segment %08" PRIx32 ": bytes %" PRIu64 " to %" PRIu64
			           " do not read back",
			           s->number, at, next);
		}
		bad += fd < 0;
	}
	buf_done(&raw);
	return bad;
}
