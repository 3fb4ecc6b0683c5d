/* F17: a segment of logs, and its index, as a disk may give them back.
 *
 * Byte 0: whether the rest is a segment's blocks (with a good head before them), one block's
 * records with a checksum that fits, or an index beside a good segment. Whatever stands there, it
 * is opened, listed, read and gone on with; nothing is read beyond what there is. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "logs/block.h"
#include "logs/log_index.h"
#include "logs/logs.h"
#include "util/buf.h"
#include "util/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { BLOCKS, RECORDS, INDEX, WAYS };

static char dir[] = "/dev/shm/sirdar-fuzz-logs-XXXXXX";

static void put_file(const char *name, const void *data, size_t n)
{
	char path[sizeof dir + 32];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	close(fd);
}

static void drop(const char *name)
{
	char path[sizeof dir + 32];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	unlink(path);
}

static void put_segment(int way, const uint8_t *data, size_t n)
{
	struct log_piece p = {
		{ { 60, 1, 0 }, 1, 1, 5, 1 }, 2, 0, (const uint8_t *)"a\nb", 3, true, 1
	};
	uint8_t head[SEGMENT_HEAD_BYTES];
	struct ZSTD_CCtx_s *packer = packer_new();
	struct buf out, raw;

	buf_init(&out);
	buf_init(&raw);
	segment_head_put(head, 1, 1);
	buf_put(&out, head, sizeof head);
	record_put(&raw, &p);
	if (way == RECORDS && n)
		buf_put(&raw, data, n);
	block_put(packer, &raw, &out);
	packer_free(packer);
	if (way == BLOCKS)
		buf_put(&out, data, n);
	put_file("00000001.seg", buf_at(&out), out.len);
	if (way == INDEX)
		put_file("00000001.idx", data, n);
	buf_done(&raw);
	buf_done(&out);
}

static bool read_one(void *ctx, uint32_t segment, const struct log_facts *f)
{
	static uint8_t to[4096];
	size_t n = 0;
	uint64_t at = f->bytes > sizeof to ? f->bytes - sizeof to : 0;

	(void)segment;
	CHECK(logs_read(ctx, &f->id, 0, (struct log_room){ to, sizeof to }, &n, NULL) <= 0 &&
	      n <= sizeof to);
	CHECK(logs_read(ctx, &f->id, at, (struct log_room){ to, sizeof to }, &n, NULL) <= 0 &&
	      n <= sizeof to);
	logs_line(ctx, &f->id, 1, &at, NULL);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static bool is_made;
	struct logs_settings set = { .dir = dir };
	struct log_piece more = {
		{ { 60, 1, 0 }, 1, 1, 5, 1 }, 2, 3, (const uint8_t *)"more", 4, true, 2
	};
	struct log_facts *all;
	struct logs *l;

	if (bytes < 1 || bytes > BLOCK_FULL_BYTES)
		return 0;
	if (!is_made)
		CHECK(mkdtemp(dir));
	is_made = true;
	put_segment(data[0] % WAYS, data + 1, bytes - 1);
	CHECK(logs_open(&set, &l, NULL) == 0);
	logs_verify(l);
	logs_each(l, read_one, l);
	free((logs_of(l, more.id.key, &all), all));
	CHECK(logs_append(l, &more) == 0 && logs_commit(l) == 0);
	logs_each(l, read_one, l);
	logs_close(l);
	drop("00000001.idx");
	drop("00000002.seg");
	drop("00000002.idx");
	return 0;
}
