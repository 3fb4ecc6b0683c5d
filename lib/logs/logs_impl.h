/* logs_impl.h — what the files of lib/logs share. */
#ifndef LOGS_LOGS_IMPL_H
#define LOGS_LOGS_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "logs/block.h"
#include "logs/log_index.h"
#include "logs/logs.h"
#include "util/buf.h"

enum { FILES_OPEN = 32, BLOCKS_HELD = 16, PATH_MAX_BYTES = 4096 };

#define SEGMENT_BYTES     (UINT64_C(64) << 20)
#define SEGMENT_BYTES_MAX (UINT64_C(1) << 30) /* places of blocks have 32 bits */
#define SEGMENT_LOGS      65536u
#define SEGMENT_AGE_US    INT64_C(3600000000)

/* A segment that stands in the home (far.c). */
enum { FAR_SEG, FAR_IDX, FAR_FILES };
struct far {
	char name[LOGS_NAME_BYTES];
	uint64_t bytes[FAR_FILES];
	uint8_t *have[FAR_FILES]; /* a bit a piece; NULL: none was fetched */
	uint64_t used;
	unsigned bad; /* what was fetched did not read back */
	bool is_seen; /* in the home's list, since its last beginning */
};

/* Its index is in memory while it grows, and where it could not be written. */
struct segment {
	uint32_t number;
	uint32_t slot;   /* what its open files and blocks are held by */
	uint64_t origin; /* of the directory that it was written in */
	bool is_here;    /* its two files are */
	struct far *far; /* NULL: it is nowhere else */
	uint64_t bytes;
	struct mem_index *mem;  /* NULL: on disk */
	struct disk_index disk; /* without mem */
};

/* Files of closed segments that are open, and unpacked blocks: the one used longest ago goes. */
struct file_slot {
	uint32_t slot;
	bool is_index;
	int fd; /* -1: free */
	uint64_t used;
};

struct block_slot {
	uint32_t slot, at;
	bool is_there;
	struct buf raw;
	uint64_t used;
};

struct logs {
	struct logs_settings set;
	char *dir;
	struct segment **segments; /* others' by origin, then ours; each by number, rising */
	size_t n, cap;
	uint32_t slots;  /* the last one that was given */
	uint64_t origin; /* 0: no home was ever set */
	char *cache;     /* directory of fetched pieces; NULL: no home */
	uint64_t cached; /* bytes in it */
	struct logs_miss miss;
	bool has_miss;
	uint32_t next; /* number of the next segment */

	struct segment *open; /* the last one, or NULL: the next append makes one */
	int fd;               /* of it, for writing */
	struct buf raw;       /* the block in the making; it will stand at `end` */
	struct buf packed;    /* the same as it is written */
	struct ZSTD_CCtx_s *packer;
	uint64_t end, kept; /* end of what is written, of what is synced */
	bool is_spent;      /* the disk failed below it: nothing more goes there */
	struct mem_was *was;
	size_t n_was, cap_was;

	struct file_slot files[FILES_OPEN];
	struct block_slot blocks[BLOCKS_HELD];
	uint64_t used;
};

/* A log in a segment. */
struct place {
	struct segment *s;
	const struct mem_log *mem; /* NULL: on disk */
	struct entry e;
};

/* --- logs_read.c --- */

/* Where the segments of one directory begin whose last one is before `hi`. */
size_t logs__group(const struct logs *l, size_t hi);

/* --- held.c --- */

__attribute__((format(printf, 3, 4))) void logs__tell(struct logs *l, const char *what,
                                                      const char *fmt, ...);
void logs__path(const struct logs *l, uint32_t number, bool is_index, char to[PATH_MAX_BYTES]);

/* A file of a segment, for reading; it stays the cache's. Negative: E_NOT_FOUND, E_IO. */
int logs__file(struct logs *l, const struct segment *s, bool is_index);
void logs__forget(struct logs *l, const struct segment *s); /* its files and blocks */
void logs__far_path(const struct logs *l, const struct segment *s, bool is_index,
                    char to[PATH_MAX_BYTES]);

/* --- segment.c --- */

struct segment *logs__segment_new(struct logs *l, uint64_t origin, uint32_t number);
/* Where a segment belongs in the list. */
void logs__segment_add(struct logs *l, struct segment *s);
/* What is known of it, wherever its index is. */
const struct index_head *logs__head(const struct segment *s);
uint64_t logs__index_bytes(const struct index_head *h);     /* of its file */
void logs__remove_files(struct logs *l, struct segment *s); /* here, not those of the home */
/* Read a segment again into an index in memory; `cuts`: a torn end is cut off. E_IO. */
int logs__scan(struct logs *l, int fd, uint32_t number, bool cuts, struct mem_index *x,
               uint64_t *bytes);
/* Write the index of a segment that has it in memory, and let that go. E_FULL, E_IO. */
int logs__write_index(struct logs *l, struct segment *s, struct err *err);
/* E_NOT_FOUND; an index that does not read back is made anew. */
int logs__place(struct logs *l, struct segment *s, const struct log_id *id, struct place *ret);
/* Each log of an instance there. */
int logs__each_of(struct logs *l, struct segment *s, struct inst_key key,
                  void (*each)(void *ctx, const struct entry *e), void *ctx);
int logs__extents(struct logs *l, struct place *p, uint32_t from, uint32_t n, struct extent *ret);
/* The records of a block; borrowed until the next call. */
int logs__block(struct logs *l, struct segment *s, uint32_t at, const struct buf **ret);
void logs__segment_free(struct segment *s);

/* --- far.c --- */

int logs__far_open(struct logs *l, struct err *err);
void logs__top_remove(struct logs *l, const struct segment *s); /* if it has one */
/* A file of the directory that stands for a segment in the home; true: it was one. */
bool logs__far_list(struct logs *l, const char *file);

/* --- far_cache.c --- */

void logs__name_put(char to[LOGS_NAME_BYTES], uint64_t origin, uint32_t number);
bool logs__name_get(const char *name, uint64_t *ret_origin, uint32_t *ret_number);
struct segment *logs__far_find(struct logs *l, const char *name); /* NULL: there is none */
void logs__far_drop(struct logs *l, struct segment *s); /* nothing of it is in the cache any more */
/* n bytes from there on can be read; E_AGAIN: they are missed now. */
int logs__have(struct logs *l, struct segment *s, bool is_index, uint64_t from, uint64_t n);
int logs__have_index(struct logs *l, struct segment *s);
/* What was fetched does not read back: E_AGAIN, it is missed again, or E_CORRUPT. */
int logs__far_bad(struct logs *l, struct segment *s);
void logs__far_free(struct far *f);

#endif
