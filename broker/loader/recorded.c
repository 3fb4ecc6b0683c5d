/* Records of a process, in the jobkeeper's file: looked at once from its beginning to its end, for
 * lines that are ours and for how far they are whole, and searched by a stream's own offset.
 *
 * The keeper may write anew what is torn at the end, when it had no space; so what is not whole is
 * neither shipped nor looked at.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/loader/loader.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/logrec.h"

int loader_open_log(struct loader *l, const struct job *j, int log)
{
	char path[4096];

	if (!l->logs_dir)
		return -1;
	keeper_log_path(path, sizeof path, l->logs_dir, j->pub.token, log + 1);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

void recorded_take(struct job *j, uint64_t offset, const uint8_t *p, size_t n)
{
	struct logrec_reader *r = &j->seen;
	struct logrec rec;
	size_t k;

	if (r->place.at < offset || r->place.at >= offset + n)
		return;
	size_t used = (size_t)(r->place.at - offset);
	while ((k = logrec_next(r, p + used, n - used, &rec)) > 0) {
		used += k;
		if (rec.stream == LOGREC_OUT)
			lines_take(j, j->lines.at, rec.data, rec.n);
	}
}

void recorded_look(struct loader *l, struct job *j, uint64_t most)
{
	uint64_t to = j->seen.place.at + most, before = UINT64_MAX;
	int fd = loader_open_log(l, j, LOG_RECORDS);

	if (fd < 0)
		return;
	uint8_t *p = mem_new(LOGREC_BLOCK);
	while (j->seen.place.at < to && j->seen.place.at != before) {
		before = j->seen.place.at;
		ssize_t n = pread(fd, p, LOGREC_BLOCK, (off_t)before);
		if (n > 0)
			recorded_take(j, before, p, (size_t)n);
	}
	free(p);
	close(fd);
}

uint64_t recorded_whole(int fd, uint64_t from, size_t n)
{
	struct logrec_reader r = { .place.at = from / LOGREC_BLOCK * LOGREC_BLOCK };
	uint8_t *p = mem_new(LOGREC_BLOCK);
	uint64_t before = UINT64_MAX;

	while (r.place.at < from + n && r.place.at != before) {
		before = r.place.at;
		ssize_t got = pread(fd, p, LOGREC_BLOCK, (off_t)before);
		r.place.at += got > 0 ? logrec_whole(before, p, (size_t)got) : 0;
	}
	free(p);
	return r.place.at > from ? r.place.at : from;
}

/* What of a record that ends at `end` stands at `offset`. */
static size_t part_copy(const struct logrec *rec, uint64_t end, uint64_t offset, uint8_t *to,
                        size_t n)
{
	uint64_t begin = end - rec->n;

	if (end <= offset || begin > offset)
		return 0;
	size_t from = (size_t)(offset - begin), left = rec->n - from;

	left = left < n ? left : n;
	memcpy(to, rec->data + from, left);
	return left;
}

size_t recorded_read(int fd, struct logrec_reader *at, int stream, uint64_t offset, uint8_t *to,
                     size_t n)
{
	enum logrec_stream s = stream == LOG_ERR ? LOGREC_ERR : LOGREC_OUT;
	uint8_t *p = mem_new(LOGREC_BLOCK);
	struct logrec_reader was = *at;
	struct logrec rec;
	size_t done = 0, used, k;

	do {
		ssize_t got = pread(fd, p, LOGREC_BLOCK, (off_t)at->place.at);
		used = 0;
		while (done < n && got > 0 &&
		       (k = logrec_next(at, p + used, (size_t)got - used, &rec)) > 0) {
			used += k;
			if (rec.stream == s)
				done += part_copy(&rec, at->place.bytes[s], offset + done,
				                  to + done, n - done);
			if (at->place.bytes[s] <= offset + done)
				was = *at;
		}
	} while (used > 0 && done < n);
	free(p);
	*at = was; /* a record of which there is more is read again */
	return done;
}

void recorded_find(int fd, uint64_t size, int stream, uint64_t offset, struct logrec_reader *ret)
{
	unsigned streams = 1u << (stream == LOG_ERR ? LOGREC_ERR : LOGREC_OUT);
	struct logrec_place end = { .at = size }, header;
	uint8_t p[LOGREC_HEADER_MAX];
	struct logrec_seek seek;
	uint64_t at;

	logrec_seek_begin(&seek, LOGREC_BY_BYTES, streams, offset, &end);
	while (logrec_seek_next(&seek, &at)) {
		ssize_t n = pread(fd, p, sizeof p, (off_t)at);
		bool reads = n > 0 && logrec_header(at, p, (size_t)n, &header);
		logrec_seek_take(&seek, at, reads ? &header : NULL);
	}
	*ret = (struct logrec_reader){ .place.at = logrec_seek_found(&seek) };
}
