/* Files of segments that are open and blocks that are unpacked: the one used longest ago goes.
 * Where a file is, and how what goes wrong is told, stands here too, below all others. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "logs/logs_impl.h"
#include "util/alloc.h"
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

void logs__far_path(const struct logs *l, const struct segment *s, bool is_index,
                    char to[PATH_MAX_BYTES])
{
	snprintf(to, PATH_MAX_BYTES, "%s/%s.%s", l->cache ? l->cache : "",
	         s->far ? s->far->name : "", is_index ? "idx" : "seg");
}

int logs__file(struct logs *l, const struct segment *s, bool is_index)
{
	struct file_slot *oldest = &l->files[0];
	char path[PATH_MAX_BYTES];

	for (struct file_slot *f = l->files; f < l->files + FILES_OPEN; f++) {
		if (f->fd >= 0 && f->slot == s->slot && f->is_index == is_index) {
			f->used = ++l->used;
			return f->fd;
		}
		if (f->fd < 0 || (oldest->fd >= 0 && f->used < oldest->used))
			oldest = f;
	}
	if (s->is_here)
		logs__path(l, s->number, is_index, path);
	else
		logs__far_path(l, s, is_index, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? E_NOT_FOUND : E_IO;
	if (oldest->fd >= 0)
		close(oldest->fd);
	*oldest = (struct file_slot){ s->slot, is_index, fd, ++l->used };
	return fd;
}

void logs__forget(struct logs *l, const struct segment *s)
{
	for (struct file_slot *f = l->files; f < l->files + FILES_OPEN; f++)
		if (f->fd >= 0 && f->slot == s->slot) {
			close(f->fd);
			f->fd = -1;
		}
	for (struct block_slot *b = l->blocks; b < l->blocks + BLOCKS_HELD; b++)
		if (b->slot == s->slot)
			b->is_there = false;
}
