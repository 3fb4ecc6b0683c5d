/* What was fetched of segments that stand in a home and not here.
 *
 * It stands in sparse files with a bit for each piece. Where a piece is missing the call ends with
 * E_AGAIN, and its caller is told which (logs_miss()). The cache is bounded: what was used longest
 * ago goes, a whole segment of it, and of the one that is read its blocks before its index. It is
 * empty at each start. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "logs/logs_impl.h"
#include "util/alloc.h"
#include "util/err.h"

enum { CACHE_PIECE = 262144, MISS_PIECES = 4, BAD_MAX = 3, CACHE_MODE = 0600 };

void logs__name_put(char to[LOGS_NAME_BYTES], uint64_t origin, uint32_t number)
{
	snprintf(to, LOGS_NAME_BYTES, "%016" PRIx64 "-%08" PRIx32, origin, number);
}

bool logs__name_get(const char *name, uint64_t *ret_origin, uint32_t *ret_number)
{
	char again[LOGS_NAME_BYTES], *end = NULL;

	if (strlen(name) != 25 || name[16] != '-')
		return false;
	*ret_origin = strtoull(name, &end, 16);
	*ret_number = (uint32_t)strtoul(name + 17, &end, 16);
	logs__name_put(again, *ret_origin, *ret_number);
	return strcmp(again, name) == 0 && *ret_origin != 0;
}

struct segment *logs__far_find(struct logs *l, const char *name)
{
	uint64_t origin;
	uint32_t number;

	if (!logs__name_get(name, &origin, &number))
		return NULL;
	for (size_t i = 0; i < l->n; i++)
		if (l->segments[i]->origin == origin && l->segments[i]->number == number)
			return l->segments[i];
	return NULL;
}

void logs__far_free(struct far *f)
{
	if (!f)
		return;
	free(f->have[FAR_SEG]);
	free(f->have[FAR_IDX]);
	free(f);
}

static uint64_t pieces_of(uint64_t bytes)
{
	return (bytes + CACHE_PIECE - 1) / CACHE_PIECE;
}

static uint64_t piece_bytes(const struct far *f, bool is_index, uint64_t piece)
{
	uint64_t left = f->bytes[is_index] - piece * CACHE_PIECE;

	return left < CACHE_PIECE ? left : CACHE_PIECE;
}

static bool has_piece(const struct far *f, bool is_index, uint64_t piece)
{
	const uint8_t *have = f->have[is_index];

	return have && have[piece / 8] & 1u << piece % 8;
}

static void far_drop_file(struct logs *l, struct segment *s, bool is_index)
{
	char path[PATH_MAX_BYTES];

	if (!s->far->have[is_index])
		return;
	for (uint64_t p = 0; p < pieces_of(s->far->bytes[is_index]); p++)
		if (has_piece(s->far, is_index, p))
			l->cached -= piece_bytes(s->far, is_index, p);
	free(s->far->have[is_index]);
	s->far->have[is_index] = NULL;
	logs__far_path(l, s, is_index, path);
	unlink(path);
	if (!s->is_here)
		logs__forget(l, s);
}

/* Nothing of it is in the cache any more. */
void logs__far_drop(struct logs *l, struct segment *s)
{
	far_drop_file(l, s, false);
	far_drop_file(l, s, true);
}

int logs__have(struct logs *l, struct segment *s, bool is_index, uint64_t from, uint64_t n)
{
	if (s->is_here)
		return 0;
	if (!s->far || !l->cache)
		return E_NOT_FOUND;
	uint64_t bytes = s->far->bytes[is_index], end = pieces_of(bytes), at = from / CACHE_PIECE;
	uint64_t to = pieces_of(from + n < bytes ? from + n : bytes);

	s->far->used = ++l->used;
	while (at < to && has_piece(s->far, is_index, at))
		at++;
	if (at >= to)
		return from < bytes ? 0 : E_CORRUPT;
	if (!l->has_miss) {
		/* What follows is wanted next, most often. */
		uint64_t last = at + 1;
		while (last < end && last < at + MISS_PIECES && !has_piece(s->far, is_index, last))
			last++;
		uint64_t till = last * CACHE_PIECE < bytes ? last * CACHE_PIECE : bytes;
		l->miss = (struct logs_miss){ .is_index = is_index,
			                      .from = at * CACHE_PIECE,
			                      .n = (size_t)(till - at * CACHE_PIECE) };
		memcpy(l->miss.name, s->far->name, sizeof l->miss.name);
		l->has_miss = true;
	}
	return E_AGAIN;
}

int logs__have_index(struct logs *l, struct segment *s)
{
	return s->is_here ? 0 : logs__have(l, s, true, 0, s->far ? s->far->bytes[FAR_IDX] : 0);
}

int logs__far_bad(struct logs *l, struct segment *s)
{
	if (!s->far)
		return E_CORRUPT;
	logs__far_drop(l, s);
	if (++s->far->bad >= BAD_MAX)
		return E_CORRUPT;
	logs__tell(l, "index", "%s: what was fetched of it does not read back; fetched again",
	           s->far->name);
	return logs__have_index(l, s);
}

bool logs_miss(struct logs *l, struct logs_miss *ret)
{
	bool has = l->has_miss;

	*ret = l->miss;
	l->has_miss = false;
	return has;
}

/* Room for n more bytes of that segment: what was used longest ago goes, of others first. */
static void cache_room(struct logs *l, struct segment *of, uint64_t n)
{
	while (l->cached + n > l->set.cache_bytes) {
		struct segment *oldest = NULL;

		for (size_t i = 0; i < l->n; i++) {
			struct segment *s = l->segments[i];
			if (s != of && s->far && (s->far->have[FAR_SEG] || s->far->have[FAR_IDX]) &&
			    (!oldest || s->far->used < oldest->far->used))
				oldest = s;
		}
		if (oldest)
			logs__far_drop(l, oldest);
		else if (of->far->have[FAR_SEG])
			far_drop_file(l, of, false);
		else
			return;
	}
}

static int cache_write(const char *path, const struct logs_miss *m, const uint8_t *data)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, CACHE_MODE);
	int r = fd < 0 ? E_IO : 0;

	for (size_t done = 0; r == 0 && done < m->n;) {
		ssize_t w = pwrite(fd, data + done, m->n - done, (off_t)(m->from + done));
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			r = err_of_errno(errno) == E_FULL ? E_FULL : E_IO;
		else
			done += (size_t)w;
	}
	if (fd >= 0)
		close(fd);
	return r;
}

int logs_fetched(struct logs *l, const struct logs_miss *m, const uint8_t *data)
{
	struct segment *s = logs__far_find(l, m->name);
	char path[PATH_MAX_BYTES];

	if (!s || !s->far || s->is_here || !l->cache ||
	    m->from + m->n > s->far->bytes[m->is_index] || m->from % CACHE_PIECE)
		return E_NOT_FOUND;
	cache_room(l, s, m->n);
	logs__far_path(l, s, m->is_index, path);
	int r = cache_write(path, m, data);
	if (r < 0)
		return r;
	uint8_t *have = s->far->have[m->is_index];
	if (!have)
		have = s->far->have[m->is_index] = mem_new(
			pieces_of(s->far->bytes[m->is_index]) / 8 + 1);
	for (uint64_t p = m->from / CACHE_PIECE; p < pieces_of(m->from + m->n); p++) {
		if (!has_piece(s->far, m->is_index, p))
			l->cached += piece_bytes(s->far, m->is_index, p);
		have[p / 8] |= (uint8_t)(1u << p % 8);
	}
	s->far->used = ++l->used;
	return 0;
}
