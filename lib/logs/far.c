/* Segments that stand in a home, whether their files are here or not: what is known of them, what
 * waits, what is to go.
 *
 * What is known of one is its top, NAME.top beside the segments: the head and the filter of its
 * index, as they stand there, and a tail with the lengths of both files. It is written once the
 * home has both and has shown it, and removed after they are gone there: so a crash anywhere
 * repeats a step, and loses none. NAME is the origin (a number that was drawn for the directory)
 * and the segment's number. What is read of one is far_cache.c's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "logs/logs_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/crc.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/own.h"

enum { TOP_MODE = 0600 };

static const char top_magic[8] = "SRDLOGT1";

/* Behind the head and the filter of an index. */
struct top_tail {
	char magic[8];
	uint64_t origin, seg_bytes, idx_bytes;
	uint32_t number, zero[2], crc;
};
_Static_assert(sizeof(struct top_tail) == 48, "as it is stored");

static uint32_t tail_sum(const struct top_tail *t)
{
	return crc32c_bytes(0, t, offsetof(struct top_tail, crc));
}

/* --- names --- */

bool logs_name_ok(const char *name)
{
	uint64_t origin;
	uint32_t number;

	return logs__name_get(name, &origin, &number);
}

static void top_path(const struct logs *l, const char *name, char to[PATH_MAX_BYTES])
{
	snprintf(to, PATH_MAX_BYTES, "%s/%s.top", l->dir, name);
}

/* --- opening --- */

/* The number of the directory: drawn once, when a home is first set. */
static int origin_open(struct logs *l, struct err *err)
{
	char *path = mem_fmt("%s/origin", l->dir), text[LOGS_NAME_BYTES];
	struct buf was;

	buf_init(&was);
	int r = fs_read(path, 64, &was, NULL);
	if (r == 0)
		l->origin = strtoull(buf_str(&was), NULL, 16);
	if (l->origin == 0 && l->set.cache_dir && !l->set.is_read_only) {
		while (l->origin == 0)
			if (getrandom(&l->origin, sizeof l->origin, 0) != sizeof l->origin)
				l->origin = 0;
		snprintf(text, sizeof text, "%016" PRIx64 "\n", l->origin);
		r = fs_write(path, text, strlen(text), TOP_MODE, err);
	} else {
		r = 0; /* no home yet */
	}
	buf_done(&was);
	free(path);
	return r;
}

static int cache_open(struct logs *l, struct err *err)
{
	int r = own_dir(l->set.cache_dir, false, err);
	DIR *d = r == 0 ? opendir(l->set.cache_dir) : NULL;

	if (r == 0 && !d)
		r = err_sys(err, E_IO, errno, "%s", l->set.cache_dir);
	for (struct dirent *e; r == 0 && (e = readdir(d));)
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	l->cache = r == 0 ? mem_str(l->set.cache_dir) : NULL;
	return r;
}

int logs__far_open(struct logs *l, struct err *err)
{
	int r = origin_open(l, err);

	if (r == 0 && l->set.cache_dir && !l->set.is_read_only)
		r = cache_open(l, err);
	return r;
}

static struct far *far_new(const struct segment *s, uint64_t seg_bytes, uint64_t idx_bytes)
{
	struct far *f = mem_new(sizeof *f);

	logs__name_put(f->name, s->origin, s->number);
	f->bytes[FAR_SEG] = seg_bytes;
	f->bytes[FAR_IDX] = idx_bytes;
	f->is_seen = true;
	return f;
}

static int top_load(int fd, struct disk_index *x, struct top_tail *t)
{
	int r = disk_index_load(fd, x);

	if (r < 0)
		return r;
	r = read_whole(fd, t, sizeof *t, sizeof x->head + x->head.filter_bytes);
	if (r == 0 && memcmp(t->magic, top_magic, sizeof t->magic) == 0 && t->crc == tail_sum(t) &&
	    t->number == x->head.number && t->seg_bytes == x->head.segment_bytes)
		return 0;
	disk_index_done(x);
	return r < 0 ? r : E_CORRUPT;
}

bool logs__far_list(struct logs *l, const char *file)
{
	char path[PATH_MAX_BYTES], name[LOGS_NAME_BYTES];
	struct disk_index x = { 0 };
	struct top_tail t;
	uint64_t origin;
	uint32_t number;

	if (strlen(file) != 29 || strcmp(file + 25, ".top") != 0)
		return false;
	snprintf(name, sizeof name, "%.25s", file);
	if (!logs__name_get(name, &origin, &number))
		return false;
	top_path(l, name, path);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int r = fd < 0 ? E_IO : top_load(fd, &x, &t);
	if (fd >= 0)
		close(fd);
	if (r < 0 || t.origin != origin || t.number != number) {
		/* The home's list says it again, or the segment is shipped again. */
		logs__tell(l, "index", "%s does not read back: it is made anew", file);
		disk_index_done(&x);
		return true;
	}
	struct segment *s = logs__far_find(l, name);
	if (!s)
		logs__segment_add(l, s = logs__segment_new(l, origin, number));
	s->far = far_new(s, t.seg_bytes, t.idx_bytes);
	s->disk = x;
	s->bytes = t.seg_bytes;
	return true;
}

/* --- on the way there --- */

static bool waits(const struct logs *l, const struct segment *s)
{
	return s != l->open && s->is_here && !s->far && !s->mem && s->origin == l->origin;
}

bool logs_to_ship(struct logs *l, struct logs_ship *ret)
{
	struct stat st;

	for (size_t i = 0; i < l->n; i++) {
		struct segment *s = l->segments[i];
		if (!waits(l, s))
			continue;
		*ret = (struct logs_ship){ .seg_bytes = s->bytes };
		logs__name_put(ret->name, s->origin, s->number);
		logs__path(l, s->number, false, ret->seg_path);
		logs__path(l, s->number, true, ret->idx_path);
		if (stat(ret->idx_path, &st) < 0 || st.st_size == 0)
			continue; /* logs_tend(), or a read, makes it anew */
		ret->idx_bytes = (uint64_t)st.st_size;
		return true;
	}
	return false;
}

static int top_write(struct logs *l, const struct segment *s, const struct far *f, struct err *err)
{
	struct top_tail t = { .origin = s->origin,
		              .seg_bytes = f->bytes[FAR_SEG],
		              .idx_bytes = f->bytes[FAR_IDX],
		              .number = s->number };
	char path[PATH_MAX_BYTES];
	struct buf out;

	CHECK(!s->mem && s->disk.filter);
	memcpy(t.magic, top_magic, sizeof t.magic);
	t.crc = tail_sum(&t);
	buf_init(&out);
	buf_put(&out, &s->disk.head, sizeof s->disk.head);
	buf_put(&out, s->disk.filter, s->disk.head.filter_bytes);
	buf_put(&out, &t, sizeof t);
	top_path(l, f->name, path);
	int r = fs_write(path, buf_at(&out), out.len, TOP_MODE, err);
	buf_done(&out);
	return r;
}

int logs_shipped(struct logs *l, const struct logs_ship *ship, struct err *err)
{
	struct segment *s = logs__far_find(l, ship->name);

	if (!s || !waits(l, s) || s->bytes != ship->seg_bytes)
		return err_set(err, E_NOT_FOUND, "%s is not here any more", ship->name);
	struct far *f = far_new(s, ship->seg_bytes, ship->idx_bytes);
	int r = top_write(l, s, f, err);
	if (r == 0)
		s->far = f;
	else
		logs__far_free(f);
	return r;
}

void logs_waiting(struct logs *l, struct logs_waiting *ret)
{
	*ret = (struct logs_waiting){ 0 };
	for (size_t i = 0; i < l->n; i++) {
		const struct segment *s = l->segments[i];
		if (s == l->open || !s->is_here || s->far)
			continue;
		ret->segments++;
		ret->bytes += s->bytes;
		if (!ret->oldest_us || logs__head(s)->last_us < ret->oldest_us)
			ret->oldest_us = logs__head(s)->last_us;
	}
}

static void segment_drop(struct logs *l, size_t i)
{
	struct segment *s = l->segments[i];

	CHECK(s != l->open);
	if (s->far)
		logs__far_drop(l, s);
	logs__remove_files(l, s);
	logs__segment_free(s);
	memmove(l->segments + i, l->segments + i + 1, (l->n - i - 1) * sizeof *l->segments);
	l->n--;
}

size_t logs_drop_waiting(struct logs *l, uint64_t bytes_max)
{
	struct logs_waiting w;
	size_t gone = 0;

	logs_waiting(l, &w);
	for (size_t i = 0; i < l->n && w.bytes > bytes_max;) {
		struct segment *s = l->segments[i];
		if (s == l->open || !s->is_here || s->far) {
			i++;
			continue;
		}
		w.bytes -= s->bytes;
		segment_drop(l, i);
		gone++;
	}
	return gone;
}

/* --- what the home has --- */

void logs_list_begin(struct logs *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->segments[i]->far)
			l->segments[i]->far->is_seen = false;
}

bool logs_list_seen(struct logs *l, const char *name, const uint64_t bytes[2])
{
	struct segment *s = logs__far_find(l, name);

	if (s && s->far)
		s->far->is_seen = s->far->bytes[FAR_SEG] == bytes[FAR_SEG] &&
		                  s->far->bytes[FAR_IDX] == bytes[FAR_IDX];
	return s != NULL; /* one that is here and not shipped will be */
}

static void top_remove(struct logs *l, const char *name)
{
	char path[PATH_MAX_BYTES];

	top_path(l, name, path);
	unlink(path);
}

void logs__top_remove(struct logs *l, const struct segment *s)
{
	if (s->far)
		top_remove(l, s->far->name);
}

void logs_list_over(struct logs *l)
{
	for (size_t i = 0; i < l->n;) {
		struct segment *s = l->segments[i];
		if (!s->far || s->far->is_seen) {
			i++;
			continue;
		}
		logs__tell(l, "home", "%s is not in the home any more%s", s->far->name,
		           s->is_here ? "; it is shipped again" : "");
		top_remove(l, s->far->name);
		if (!s->is_here) {
			segment_drop(l, i);
			continue;
		}
		logs__far_free(s->far);
		s->far = NULL;
		i++;
	}
}

/* The head and the filter, of the first bytes of an index. */
static int top_take(const struct logs_top *t, struct disk_index *x, size_t *ret_want)
{
	int fd = memfd_create("top", MFD_CLOEXEC);

	if (fd < 0)
		return E_IO;
	int r = t->n < sizeof x->head ? E_NOT_FOUND : 0;
	if (r == 0)
		memcpy(&x->head, t->data, sizeof x->head);
	*ret_want = r < 0 ? sizeof x->head : sizeof x->head + x->head.filter_bytes;
	if (r == 0 && write(fd, t->data, t->n) != (ssize_t)t->n)
		r = E_IO;
	if (r == 0)
		r = disk_index_load(fd, x);
	close(fd);
	return r == E_NOT_FOUND
	               ? t->n < *ret_want && *ret_want <= t->idx_bytes ? E_AGAIN : E_CORRUPT
	               : r;
}

int logs_learn(struct logs *l, const struct logs_top *t, size_t *ret_want, struct err *err)
{
	struct disk_index x = { 0 };
	uint64_t origin;
	uint32_t number;

	if (!logs__name_get(t->name, &origin, &number) || logs__far_find(l, t->name))
		return err_set(err, E_CORRUPT, "%s is no name of one that is not known", t->name);
	int r = top_take(t, &x, ret_want);
	if (r < 0)
		return err_set(err, r, "the index of %s does not read back", t->name);
	if (x.head.number != number || x.head.segment_bytes != t->seg_bytes ||
	    logs__index_bytes(&x.head) != t->idx_bytes) {
		disk_index_done(&x);
		return err_set(err, E_CORRUPT, "%s: segment and index do not fit each other",
		               t->name);
	}
	struct segment *s = logs__segment_new(l, origin, number);
	s->bytes = t->seg_bytes;
	s->disk = x;
	s->far = far_new(s, t->seg_bytes, t->idx_bytes);
	r = top_write(l, s, s->far, err);
	if (r < 0)
		logs__segment_free(s);
	else
		logs__segment_add(l, s);
	if (r == 0 && origin == l->origin && number >= l->next)
		l->next = number + 1;
	return r;
}

/* --- retention --- */

size_t logs_retain_here(struct logs *l, int64_t before_us)
{
	size_t gone = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct segment *s = l->segments[i];
		if (!s->far || !s->is_here || s->mem || logs__head(s)->last_us >= before_us)
			continue;
		logs__remove_files(l, s);
		gone++;
	}
	return gone;
}

bool logs_overdue(struct logs *l, int64_t before_us, char ret_name[LOGS_NAME_BYTES])
{
	for (size_t i = 0; i < l->n; i++)
		if (l->segments[i]->far && logs__head(l->segments[i])->last_us < before_us) {
			memcpy(ret_name, l->segments[i]->far->name, LOGS_NAME_BYTES);
			return true;
		}
	return false;
}

void logs_gone(struct logs *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->segments[i]->far && strcmp(l->segments[i]->far->name, name) == 0) {
			top_remove(l, name);
			segment_drop(l, i);
			return;
		}
}
