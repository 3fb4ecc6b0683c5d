/* Bytes of a segment. A block is 16 bytes of head (magic, bytes raw, bytes stored, checksum) and
 * what is stored: zstd's frame, or the records themselves where that is no longer. The checksum
 * (CRC32C) goes over the head's first twelve bytes and all that is stored, so that a flipped bit
 * anywhere in it is found before anything is unpacked. Records are a head of fixed size and their
 * data; a block holds whole ones only, and with that a torn end is cut between records. */
#include "logs/block.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/crc.h"
#include "util/err.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "numbers are stored as they are in memory");

enum { BLOCK_MAGIC = 0x31425253, ZSTD_LEVEL = 1, SMALL_BYTES = 128, SEEK_BYTES = 65536 };

static const char segment_magic[8] = "SRDLOGS1";

struct block_head {
	uint32_t magic, raw, stored, crc;
};

struct record_head {
	int64_t run_date;
	uint64_t token, offset;
	uint32_t task;
	int32_t part;
	uint32_t generation, attempt, broker, bytes;
	uint8_t stream, is_end;
	uint16_t zero;
	uint32_t written_s;
};

_Static_assert(sizeof(struct block_head) == BLOCK_HEAD_BYTES, "as it is stored");
_Static_assert(sizeof(struct record_head) == RECORD_HEAD_BYTES, "as it is stored");

struct segment_head {
	char magic[8];
	int64_t made_us;
	uint32_t number, zero[2], crc;
};

_Static_assert(sizeof(struct segment_head) == SEGMENT_HEAD_BYTES, "as it is stored");

void segment_head_put(uint8_t to[SEGMENT_HEAD_BYTES], uint32_t number, int64_t made_us)
{
	struct segment_head h = { .made_us = made_us, .number = number };

	memcpy(h.magic, segment_magic, sizeof h.magic);
	h.crc = crc32c_bytes(0, &h, offsetof(struct segment_head, crc));
	memcpy(to, &h, sizeof h);
}

bool segment_head_get(const uint8_t from[SEGMENT_HEAD_BYTES], uint32_t *ret_number,
                      int64_t *ret_made_us)
{
	struct segment_head h;

	memcpy(&h, from, sizeof h);
	if (memcmp(h.magic, segment_magic, sizeof h.magic) != 0 ||
	    h.crc != crc32c_bytes(0, &h, offsetof(struct segment_head, crc)))
		return false;
	*ret_number = h.number;
	*ret_made_us = h.made_us;
	return true;
}

uint32_t record_put(struct buf *raw, const struct log_piece *p)
{
	struct record_head h = { .run_date = p->id.key.run_date,
		                 .token = p->id.token,
		                 .offset = p->offset,
		                 .task = p->id.key.task,
		                 .part = p->id.key.part,
		                 .generation = p->id.generation,
		                 .attempt = p->id.attempt,
		                 .broker = p->broker,
		                 .bytes = (uint32_t)p->bytes,
		                 .stream = (uint8_t)p->id.stream,
		                 .is_end = p->is_end,
		                 .written_s = (uint32_t)(p->now_us / 1000000) };
	uint32_t at = (uint32_t)(raw->len + sizeof h);

	CHECK(p->bytes <= RECORD_DATA_MAX && p->id.stream <= UINT8_MAX);
	CHECK(raw->len < BLOCK_FULL_BYTES);
	buf_put(raw, &h, sizeof h);
	buf_put(raw, p->data, p->bytes);
	return at;
}

size_t record_get(const uint8_t *raw, size_t n, size_t at, struct record *ret)
{
	struct record_head h;

	if (at > n || n - at < sizeof h)
		return 0;
	memcpy(&h, raw + at, sizeof h);
	at += sizeof h;
	if (h.bytes > RECORD_DATA_MAX || h.bytes > n - at || h.is_end > 1 ||
	    h.offset > (uint64_t)INT64_MAX - h.bytes)
		return 0;
	*ret = (struct record){ .id = { { h.run_date, h.task, h.part },
		                        h.generation,
		                        h.attempt,
		                        h.token,
		                        h.stream },
		                .broker = h.broker,
		                .offset = h.offset,
		                .is_end = h.is_end,
		                .written_s = h.written_s,
		                .at = (uint32_t)at,
		                .bytes = h.bytes,
		                .data = raw + at };
	return at + h.bytes;
}

static uint32_t block_sum(const struct block_head *h, const uint8_t *stored)
{
	return crc32c_bytes(crc32c_bytes(0, h, offsetof(struct block_head, crc)), stored,
	                    h->stored);
}

struct ZSTD_CCtx_s *packer_new(void)
{
	struct ZSTD_CCtx_s *packer = ZSTD_createCCtx();

	if (!packer) /* as mem_new() answers */
		free(mem_new(SIZE_MAX / 2));
	return packer;
}

void packer_free(struct ZSTD_CCtx_s *packer)
{
	ZSTD_freeCCtx(packer);
}

void block_put(struct ZSTD_CCtx_s *packer, const struct buf *raw, struct buf *out)
{
	struct block_head h = { BLOCK_MAGIC, (uint32_t)raw->len, (uint32_t)raw->len, 0 };
	size_t room = ZSTD_compressBound(raw->len);
	uint8_t *to = buf_room(out, sizeof h + (room > raw->len ? room : raw->len));
	size_t n = raw->len;

	if (raw->len >= SMALL_BYTES)
		n = ZSTD_compressCCtx(packer, to + sizeof h, room, buf_at(raw), raw->len,
		                      ZSTD_LEVEL);
	CHECK(raw->len > 0 && raw->len <= BLOCK_RAW_MAX);
	if (ZSTD_isError(n) || n >= raw->len)
		memcpy(to + sizeof h, buf_at(raw), raw->len);
	else
		h.stored = (uint32_t)n;
	h.crc = block_sum(&h, to + sizeof h);
	memcpy(to, &h, sizeof h);
	buf_added(out, sizeof h + h.stored);
}

int read_whole(int fd, void *to, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? E_IO : E_NOT_FOUND;
		done += (size_t)got;
	}
	return 0;
}

static int unpack(const struct block_head *h, const uint8_t *stored, struct buf *ret_raw)
{
	buf_clear(ret_raw);
	if (h->stored == h->raw) {
		buf_put(ret_raw, stored, h->raw);
		return 0;
	}
	size_t n = ZSTD_decompress(buf_room(ret_raw, h->raw), h->raw, stored, h->stored);

	if (ZSTD_isError(n) || n != h->raw)
		return E_CORRUPT;
	buf_added(ret_raw, n);
	return 0;
}

int block_get(int fd, uint64_t at, uint64_t file_bytes, struct buf *ret_raw, uint64_t *ret_next)
{
	struct block_head h;

	if (at > file_bytes || file_bytes - at < sizeof h)
		return E_NOT_FOUND;
	int r = read_whole(fd, &h, sizeof h, at);
	if (r < 0)
		return r;
	if (h.magic != BLOCK_MAGIC || h.raw == 0 || h.raw > BLOCK_RAW_MAX || h.stored == 0 ||
	    h.stored > h.raw)
		return E_CORRUPT;
	if (file_bytes - at - sizeof h < h.stored)
		return E_NOT_FOUND;
	uint8_t *stored = mem_new(h.stored);
	r = read_whole(fd, stored, h.stored, at + sizeof h);
	if (r == 0 && block_sum(&h, stored) != h.crc)
		r = E_CORRUPT;
	if (r == 0)
		r = unpack(&h, stored, ret_raw);
	free(stored);
	if (r == 0)
		*ret_next = at + sizeof h + h.stored;
	return r;
}

uint64_t block_seek(int fd, uint64_t at, uint64_t file_bytes)
{
	uint8_t *window = mem_new(SEEK_BYTES);
	uint64_t found = file_bytes, next;
	const uint32_t magic = BLOCK_MAGIC;
	struct buf raw;

	buf_init(&raw);
	while (found == file_bytes && at + BLOCK_HEAD_BYTES <= file_bytes) {
		size_t n = file_bytes - at < SEEK_BYTES ? (size_t)(file_bytes - at) : SEEK_BYTES;
		size_t i = 0;

		if (read_whole(fd, window, n, at) < 0)
			break;
		for (; i + sizeof magic <= n; i++)
			if (memcmp(window + i, &magic, sizeof magic) == 0 &&
			    block_get(fd, at + i, file_bytes, &raw, &next) == 0) {
				found = at + i;
				break;
			}
		at += i; /* the last three bytes are looked at again */
	}
	buf_done(&raw);
	free(window);
	return found;
}
