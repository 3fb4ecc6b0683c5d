/* The keeper's records on disk: appended into zeros that are there already, replaced by a rename.
 *
 * A record counts when its checksum is right and its number is higher than the last. What is torn
 * at the end is a write that was cut; damage with whole records after it is told, and those
 * records count. After a failed write or sync nothing that follows in this file can be believed:
 * it is broken until a rewrite has made another.
 */
#include "broker/keeper/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"

enum { MAGIC = 0x314a4b53, HEAD_BYTES = 16, ALIGN = 8, GROW_BYTES = 1 << 20, SLACK_BYTES = 65536 };

struct head {
	uint32_t magic, bytes, sum, zero;
};

static uint32_t sum_of(uint32_t bytes, const uint8_t *p)
{
	static uint32_t table[256];
	uint32_t crc = ~bytes;

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;
			for (int k = 0; k < 8; k++)
				c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
			table[i] = c;
		}
	for (uint32_t i = 0; i < bytes; i++)
		crc = table[(crc ^ p[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

static size_t journal_whole(size_t bytes)
{
	return HEAD_BYTES + (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

void journal_init(struct journal *j, const char *path)
{
	memset(j, 0, sizeof *j);
	j->path = mem_str(path);
	j->fd = -1;
	buf_init(&j->pending);
}

void journal_done(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
	buf_done(&j->pending);
	free(j->path);
	j->path = NULL;
}

/* --- reading --- */

static Sirdar__KeeperRecord *record_at(const uint8_t *p, size_t left, size_t *ret_bytes)
{
	struct head h;

	if (left < HEAD_BYTES)
		return NULL;
	memcpy(&h, p, sizeof h);
	if (h.magic != MAGIC || h.bytes > JOURNAL_RECORD_MAX || journal_whole(h.bytes) > left ||
	    h.sum != sum_of(h.bytes, p + HEAD_BYTES))
		return NULL;
	*ret_bytes = journal_whole(h.bytes);
	return sirdar__keeper_record__unpack(NULL, h.bytes, p + HEAD_BYTES);
}

static size_t zeros_from_end(const uint8_t *p, size_t n)
{
	while (n > 0 && p[n - 1] == 0)
		n--;
	return n;
}

static size_t journal_walk(const uint8_t *p, size_t n,
                           void (*each)(void *, const Sirdar__KeeperRecord *), void *ctx,
                           uint64_t *number, struct journal_health *health)
{
	/* Only the start of a record is sought before the zeros: its own end may be zeros too. */
	size_t at = 0, good_end = 0, bytes = 0, limit = zeros_from_end(p, n);

	while (at < limit) {
		Sirdar__KeeperRecord *r = record_at(p + at, n - at, &bytes);
		if (!r) {
			at += ALIGN;
			continue;
		}
		if (r->number > *number) {
			health->corrupt_bytes += at - good_end;
			health->records++;
			*number = r->number;
			if (each)
				each(ctx, r);
			at += bytes;
			good_end = at;
		} else {
			at += ALIGN;
		}
		sirdar__keeper_record__free_unpacked(r, NULL);
	}
	CHECK(good_end <= n && good_end % ALIGN == 0);
	health->torn_bytes = limit > good_end ? limit - good_end : 0;
	return good_end;
}

/* The same after a rename and after a reboot; of a copy, another. "": cannot be told. */
static void place_of(int fd, char ret[JOURNAL_PLACE])
{
	struct statx st;

	ret[0] = 0;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
		return;
	bool is_born = st.stx_mask & STATX_BTIME;
	snprintf(ret, JOURNAL_PLACE, "%x.%x.%llx.%llx.%x", st.stx_dev_major, st.stx_dev_minor,
	         (unsigned long long)st.stx_ino,
	         is_born ? (unsigned long long)st.stx_btime.tv_sec : 0,
	         is_born ? st.stx_btime.tv_nsec : 0);
}

static int map_file(const char *path, int *ret_fd, const uint8_t **ret_p, size_t *ret_n,
                    struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return err_set(err, E_NOT_FOUND, "%s", path);
	if (fd < 0)
		return err_sys(err, E_IO, errno, "%s", path);
	if (fstat(fd, &st) < 0 || st.st_size == 0) {
		close(fd);
		return err_set(err, E_NOT_FOUND, "%s is empty", path);
	}
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED) {
		int r = err_sys(err, E_IO, errno, "%s", path);
		close(fd);
		return r;
	}
	*ret_fd = fd;
	*ret_p = p;
	*ret_n = (size_t)st.st_size;
	return 0;
}

int journal_read(const struct journal *j, void (*each)(void *ctx, const Sirdar__KeeperRecord *r),
                 void *ctx, struct journal_health *ret_health, struct err *err)
{
	const uint8_t *p;
	size_t n;
	int fd;
	uint64_t number = 0;
	struct journal_health health = { 0 };
	int r = map_file(j->path, &fd, &p, &n, err);

	if (r == E_NOT_FOUND) {
		*ret_health = health;
		return 0;
	}
	if (r < 0)
		return r;
	journal_walk(p, n, each, ctx, &number, &health);
	place_of(fd, health.place);
	munmap((void *)p, n);
	close(fd);
	*ret_health = health;
	return 0;
}

int journal_resume(struct journal *j, struct err *err)
{
	const uint8_t *p;
	struct journal_health health = { 0 };

	CHECK(j->fd < 0);
	int r = map_file(j->path, &j->fd, &p, &j->size, err);

	if (r < 0)
		return r;
	j->end = journal_walk(p, j->size, NULL, NULL, &j->number, &health);
	j->live_end = j->end;
	place_of(j->fd, j->place);
	munmap((void *)p, j->size);
	return 0;
}

/* --- writing --- */

static int write_all(int fd, const void *data, size_t n, size_t at, struct err *err)
{
	const uint8_t *p = data;

	while (n > 0) {
		ssize_t done = pwrite(fd, p, n, (off_t)at);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return err_sys(err, errno == ENOSPC || errno == EDQUOT ? E_FULL : E_IO,
			               errno, "journal");
		p += done;
		at += (size_t)done;
		n -= (size_t)done;
	}
	return 0;
}

static int zeros_write(int fd, size_t from, size_t to, struct err *err)
{
	static const uint8_t zeros[16384];
	int r = 0;

	while (from < to && r == 0) {
		size_t n = to - from < sizeof zeros ? to - from : sizeof zeros;
		r = write_all(fd, zeros, n, from, err);
		from += n;
	}
	return r;
}

int journal_room(struct journal *j, size_t bytes, struct err *err)
{
	if (j->is_broken || j->fd < 0)
		return err_set(err, E_IO, "the journal cannot be written");
	if (j->end + j->pending.len + bytes <= j->size)
		return 0;
	size_t size = j->size + (bytes > GROW_BYTES ? bytes : GROW_BYTES);
	int r = zeros_write(j->fd, j->size, size, err);
	if (r < 0)
		return r;
	if (fdatasync(j->fd) < 0)
		return err_sys(err, E_IO, errno, "journal");
	j->size = size;
	return 0;
}

void journal_put(struct journal *j, Sirdar__KeeperRecord *r)
{
	r->number = ++j->number;
	size_t bytes = sirdar__keeper_record__get_packed_size(r);
	CHECK(bytes > 0 && bytes <= JOURNAL_RECORD_MAX);
	uint8_t *p = buf_room(&j->pending, journal_whole(bytes));
	struct head h = { MAGIC, (uint32_t)bytes, 0, 0 };
	memset(p, 0, journal_whole(bytes));
	sirdar__keeper_record__pack(r, p + HEAD_BYTES);
	h.sum = sum_of(h.bytes, p + HEAD_BYTES);
	memcpy(p, &h, sizeof h);
	buf_added(&j->pending, journal_whole(bytes));
}

/* A failed sync leaves pages that are neither written nor dirty: nothing after it in this
 * file can be trusted, only a new file. */
int journal_flush(struct journal *j, bool sync, struct err *err)
{
	int r;

	if (j->is_broken || j->fd < 0)
		return err_set(err, E_IO, "the journal cannot be written");
	CHECK(j->end % ALIGN == 0 && j->pending.len % ALIGN == 0);
	r = write_all(j->fd, buf_at(&j->pending), j->pending.len, j->end, err);
	if (r == 0 && sync && fdatasync(j->fd) < 0)
		r = err_sys(err, E_IO, errno, "journal");
	if (r < 0) {
		j->is_broken = true;
		return r;
	}
	j->end += j->pending.len;
	if (j->end > j->size)
		j->size = j->end;
	buf_clear(&j->pending);
	return 0;
}

static int dir_sync(const char *path, struct err *err)
{
	char *dir = mem_str(path), *slash = strrchr(dir, '/');
	int r;

	if (slash)
		*slash = 0;
	r = fs_sync_dir(slash ? dir : ".", err);
	free(dir);
	return r;
}

static int file_make(struct journal *fresh, size_t size, void (*fill)(void *ctx, struct journal *j),
                     void *ctx, struct err *err)
{
	int r;

	/* A file of its own: one that was left, or copied here, is another. */
	unlink(fresh->path);
	fresh->fd = open(fresh->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fresh->fd < 0)
		return err_sys(err, E_IO, errno, "%s", fresh->path);
	place_of(fresh->fd, fresh->place);
	CHECK(fresh->end == 0 && fresh->number == 0);
	fill(ctx, fresh);
	fresh->size = fresh->pending.len + SLACK_BYTES;
	r = zeros_write(fresh->fd, 0, fresh->size, err);
	if (r == 0 && size > fresh->size && zeros_write(fresh->fd, fresh->size, size, NULL) == 0)
		fresh->size = size;
	return r < 0 ? r : journal_flush(fresh, true, err);
}

int journal_rewrite(struct journal *j, size_t size, void (*fill)(void *ctx, struct journal *j),
                    void *ctx, struct err *err)
{
	char *path = mem_fmt("%s.new", j->path);
	struct journal fresh;
	int r;

	journal_init(&fresh, path);
	r = file_make(&fresh, size, fill, ctx, err);
	if (r == 0 && rename(path, j->path) < 0)
		r = err_sys(err, E_IO, errno, "%s", j->path);
	if (r < 0) {
		unlink(path);
		goto out;
	}
	if (dir_sync(j->path, err) < 0)
		r = E_IO; /* either file may be there after a power loss: not to be built on */
	if (j->fd >= 0)
		close(j->fd);
	j->fd = fresh.fd;
	fresh.fd = -1;
	memcpy(j->place, fresh.place, sizeof j->place);
	j->end = j->live_end = fresh.end;
	j->size = fresh.size;
	j->number = fresh.number;
	j->is_broken = r < 0;
	buf_clear(&j->pending); /* fill() put all that is known */
out:
	journal_done(&fresh);
	free(path);
	return r;
}
