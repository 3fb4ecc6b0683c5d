/* log_index.h — where in a segment each log's bytes stand: in memory while it grows, then on disk.
 *
 * Entries are sorted by instance, generation, attempt, token and stream; each has its own checksum.
 * On disk they are found by binary search, and a filter in memory says of most instances that
 * nothing of them is here.
 */
#ifndef LOGS_LOG_INDEX_H
#define LOGS_LOG_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "logs/block.h"
#include "logs/logs.h"
#include "util/map.h"

struct err;

enum { ENTRY_BYTES = 64, EXTENT_BYTES = 32 };

/* One log in one segment, as it is stored. */
struct entry {
	int64_t run_date;
	uint64_t token, length; /* length: behind its last byte here */
	uint32_t task;
	int32_t part;
	uint32_t generation, attempt, broker;
	uint8_t stream, is_ended;
	uint16_t zero;
	uint32_t first, n; /* extents */
	uint32_t zero_more, crc;
};

/* Bytes of one record. */
struct extent {
	uint64_t offset; /* in the log */
	uint32_t block;  /* the block's place in the segment */
	uint32_t at, bytes;
	uint32_t lines; /* line ends in it */
	uint32_t zero, crc;
};

struct log_id entry_id(const struct entry *e);
/* By all of an id: below 0, 0, above. */
int log_id_order(const struct log_id *a, const struct log_id *b);

/* What is known of a segment as a whole, as it is stored. */
struct index_head {
	char magic[8];
	int64_t first_us, last_us;
	uint64_t min_token, max_token, printed, segment_bytes;
	uint32_t number, entries, extents, instances, filter_bytes, filter_crc;
	uint32_t zero, crc;
};

/* --- in memory --- */

struct mem_log {
	struct entry e;
	struct extent *extents;
	size_t cap;
};

struct mem_index {
	struct index_head head;
	struct mem_log *logs;
	size_t n, cap;
	struct map by_key;
};

struct mem_index *mem_index_new(uint32_t number, int64_t made_us);
void mem_index_free(struct mem_index *x); /* NULL is fine */
/* MAP_NONE: it has none. */
uint32_t mem_index_find(const struct mem_index *x, const struct log_id *id);
/* The log, made when it is not there. */
uint32_t mem_index_log(struct mem_index *x, const struct log_id *id, uint32_t broker);
/* A record stands in `block`. False: all of it was there before, and nothing is new. */
bool mem_index_add(struct mem_index *x, const struct record *r, uint32_t block);

/* How a log stood, to be put back when what came after it is not kept: the last one first. */
struct mem_was {
	uint32_t i, n;
	uint64_t length;
	uint8_t is_ended;
};
struct mem_was mem_index_was(const struct mem_index *x, uint32_t i);
void mem_index_undo(struct mem_index *x, const struct mem_was *was);

/* --- on disk --- */

struct disk_index {
	struct index_head head;
	uint8_t *filter;
};

/* Write it beside its segment, whole or not at all. Sorts x. E_FULL, E_IO. */
int mem_index_write(struct mem_index *x, const char *path, struct err *err);
/* Its head and filter. E_NOT_FOUND, E_CORRUPT, E_IO. */
int disk_index_load(int fd, struct disk_index *ret);
void disk_index_done(struct disk_index *x);
/* Whether entries of this instance may be here. */
bool disk_index_may_have(const struct disk_index *x, struct inst_key key);
/* Entry i; the first one that is not before `id`. Errors: E_CORRUPT, E_IO. */
int disk_index_entry(int fd, const struct disk_index *x, uint32_t i, struct entry *ret);
int disk_index_lower(int fd, const struct disk_index *x, const struct log_id *id, uint32_t *ret);
int disk_index_extents(int fd, const struct disk_index *x, const struct entry *e, uint32_t from,
                       uint32_t n, struct extent *ret);

#endif
