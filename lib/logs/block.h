/* block.h — the form of a segment: a head, then blocks; in a block records, whole.
 *
 * Numbers are stored lowest byte first. A block is packed with zstd where that makes it smaller,
 * and its checksum covers what stands on the disk.
 */
#ifndef LOGS_BLOCK_H
#define LOGS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "logs/logs.h"
#include "util/buf.h"

enum {
	SEGMENT_HEAD_BYTES = 32,
	BLOCK_HEAD_BYTES = 16,
	RECORD_HEAD_BYTES = 56,
	RECORD_DATA_MAX = 65536,
	BLOCK_FULL_BYTES = 131072, /* a block with as much is closed */
	BLOCK_RAW_MAX = BLOCK_FULL_BYTES + RECORD_DATA_MAX + RECORD_HEAD_BYTES,
};

/* A record as it is read: `data` points into the block. */
struct record {
	struct log_id id;
	uint32_t broker;
	uint64_t offset;
	bool is_end;
	uint32_t written_s; /* wall */
	uint32_t at, bytes; /* of its data in the block */
	const uint8_t *data;
};

void segment_head_put(uint8_t to[SEGMENT_HEAD_BYTES], uint32_t number, int64_t made_us);
/* False: no head of a segment. */
bool segment_head_get(const uint8_t from[SEGMENT_HEAD_BYTES], uint32_t *ret_number,
                      int64_t *ret_made_us);

/* Append a record to a block in the making. Where its data begins in it. */
uint32_t record_put(struct buf *raw, const struct log_piece *p);

/* The record at `at` of a block: where the next one begins, or 0: that is no record. */
size_t record_get(const uint8_t *raw, size_t n, size_t at, struct record *ret);

/* What stands on the disk for the block `raw`, appended to `out`. `packer` is for one caller at a
 * time. */
struct ZSTD_CCtx_s;
struct ZSTD_CCtx_s *packer_new(void);
void packer_free(struct ZSTD_CCtx_s *packer); /* NULL is fine */
void block_put(struct ZSTD_CCtx_s *packer, const struct buf *raw, struct buf *out);

/* The block at `at`: its records into `ret_raw`, replaced; *ret_next is the place behind it.
 *
 *   errors  E_NOT_FOUND the file ends within or before it, E_CORRUPT, E_IO
 */
int block_get(int fd, uint64_t at, uint64_t file_bytes, struct buf *ret_raw, uint64_t *ret_next);

/* The next place from `at` on where a whole block stands; file_bytes: none. */
uint64_t block_seek(int fd, uint64_t at, uint64_t file_bytes);

/* pread() of all or nothing: 0, E_NOT_FOUND short, E_IO. */
int read_whole(int fd, void *to, size_t n, uint64_t at);

#endif
