/* What comes in: records into the block in the making, that into the open segment, all of it
 * synced by logs_commit().
 *
 * What fails takes everything back since the last commit: the index as it was, the file as long
 * as it was. A full disk may have room later, so the segment stays open; after any other failure
 * nobody knows what stands on the disk behind the last sync, and the next append begins a new
 * segment. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "logs/logs_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"

static int code_of_errno(void)
{
	return errno == ENOSPC || errno == EDQUOT ? E_FULL : E_IO;
}

static int write_whole(int fd, const uint8_t *from, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t w = pwrite(fd, from + done, n - done, (off_t)(at + done));

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return code_of_errno();
		done += (size_t)w;
	}
	return 0;
}

static int take_back(struct logs *l, int code)
{
	CHECK(l->open && l->open->mem && code < 0);
	while (l->n_was)
		mem_index_undo(l->open->mem, &l->was[--l->n_was]);
	buf_clear(&l->raw);
	l->end = l->kept;
	logs__forget(l, l->open);
	if (ftruncate(l->fd, (off_t)l->kept) < 0 || code != E_FULL)
		l->is_spent = true;
	return code;
}

static int flush(struct logs *l)
{
	if (l->raw.len == 0)
		return 0;
	if (!l->packer)
		l->packer = packer_new();
	buf_clear(&l->packed);
	block_put(l->packer, &l->raw, &l->packed);
	int r = write_whole(l->fd, buf_at(&l->packed), l->packed.len, l->end);
	if (r == 0) {
		l->end += l->packed.len;
		buf_clear(&l->raw);
	}
	return r;
}

int logs_commit(struct logs *l)
{
	if (!l->open || (l->raw.len == 0 && l->end == l->kept))
		return 0;
	int r = flush(l);
	if (r == 0 && fdatasync(l->fd) < 0)
		r = code_of_errno();
	if (r < 0)
		return take_back(l, r);
	l->kept = l->end;
	l->open->bytes = l->end;
	l->n_was = 0;
	return 0;
}

/* --- segments begin and end --- */

static void close_segment(struct logs *l)
{
	struct segment *s = l->open;

	CHECK(l->raw.len == 0 && l->n_was == 0);
	s->bytes = l->kept;
	l->open = NULL;
	l->is_spent = false;
	close(l->fd);
	l->fd = -1;
	logs__write_index(l, s, NULL); /* where it cannot, logs_tend() tries again */
}

static int open_segment(struct logs *l, int64_t now_us)
{
	uint8_t head[SEGMENT_HEAD_BYTES];
	char path[PATH_MAX_BYTES];

	CHECK(!l->open && !l->set.is_read_only);
	logs__path(l, l->next, false, path);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return code_of_errno();
	segment_head_put(head, l->next, now_us);
	int r = write_whole(fd, head, sizeof head, 0);
	if (r == 0 && fdatasync(fd) < 0)
		r = code_of_errno();
	if (r == 0) /* its name, too, has to be there after a power loss */
		r = fs_sync_dir(l->dir, NULL);
	if (r < 0) {
		close(fd);
		unlink(path);
		return r;
	}
	struct segment *s = logs__segment_new(l, l->origin, l->next++);
	s->is_here = true;
	s->bytes = sizeof head;
	s->mem = mem_index_new(s->number, now_us);
	logs__segment_add(l, s);
	l->open = s;
	l->fd = fd;
	l->end = l->kept = sizeof head;
	return 0;
}

static bool is_done(const struct logs *l, int64_t now_us)
{
	const struct index_head *h = &l->open->mem->head;

	return l->is_spent || l->end >= l->set.segment_bytes || h->entries >= l->set.segment_logs ||
	       h->extents >= l->set.segment_logs || now_us - h->first_us >= l->set.segment_age_us;
}

/* The segment that takes the next piece. */
static int ready(struct logs *l, int64_t now_us)
{
	if (l->open && is_done(l, now_us)) {
		int r = logs_commit(l);
		if (r < 0)
			return r;
		close_segment(l);
	}
	return l->open ? 0 : open_segment(l, now_us);
}

void logs_tend(struct logs *l, int64_t now_us)
{
	if (l->open && is_done(l, now_us) && logs_commit(l) == 0)
		close_segment(l);
	for (size_t i = 0; i < l->n; i++)
		if (l->segments[i]->mem && l->segments[i] != l->open)
			logs__write_index(l, l->segments[i], NULL);
}

/* --- pieces --- */

/* A record of at most RECORD_DATA_MAX. */
static int append_record(struct logs *l, const struct log_piece *p)
{
	if (l->raw.len >= BLOCK_FULL_BYTES) {
		int r = flush(l);
		if (r < 0)
			return take_back(l, r);
	}
	uint32_t at = record_put(&l->raw, p);
	uint32_t i = mem_index_log(l->open->mem, &p->id, p->broker);
	struct record r = { .id = p->id,
		            .broker = p->broker,
		            .offset = p->offset,
		            .is_end = p->is_end,
		            .written_s = (uint32_t)(p->now_us / 1000000),
		            .at = at,
		            .bytes = (uint32_t)p->bytes,
		            .data = p->data };
	l->was = mem_room(l->was, &l->cap_was, l->n_was + 1, sizeof *l->was);
	l->was[l->n_was++] = mem_index_was(l->open->mem, i);
	mem_index_add(l->open->mem, &r, (uint32_t)l->end);
	return 0;
}

int logs_append(struct logs *l, const struct log_piece *p)
{
	struct log_piece part = *p;
	size_t done = 0;
	int r = ready(l, p->now_us);

	CHECK(p->bytes == 0 || p->id.stream != 0);
	do {
		if (r < 0)
			return r;
		part.offset = p->offset + done;
		part.data = p->bytes ? p->data + done : NULL;
		part.bytes = p->bytes - done < RECORD_DATA_MAX ? p->bytes - done : RECORD_DATA_MAX;
		done += part.bytes;
		part.is_end = p->is_end && done == p->bytes;
		r = append_record(l, &part);
	} while (done < p->bytes);
	return r;
}
