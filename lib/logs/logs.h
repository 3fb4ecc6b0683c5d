/* logs.h — what jobs print, in few files: appended, found by instance, read by range.
 *
 * A log is one stream of one execution (a token) of an attempt. Its bytes have offsets that never
 * change. Appended pieces are durable after logs_commit(), all of them together or, where it fails,
 * none. What is here has no thread: one caller at a time.
 */
#ifndef LOGS_LOGS_H
#define LOGS_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"

struct err;
struct logs;

/* Stream 0 has no bytes: it says that the execution was granted. */
struct log_id {
	struct inst_key key;
	uint32_t generation, attempt;
	uint64_t token;
	uint32_t stream; /* 0..255 */
};

bool log_id_eq(const struct log_id *a, const struct log_id *b);

struct logs_settings {
	const char *dir;        /* borrowed for logs_open(); made with 0700 */
	uint64_t segment_bytes; /* a segment is closed at so much; 0: SEGMENT_BYTES */
	uint32_t segment_logs;  /* or at so many logs or pieces; 0: SEGMENT_LOGS */
	int64_t segment_age_us; /* or when it is so old; 0: SEGMENT_AGE_US */
	bool is_read_only;      /* nothing is cut, made or written */
	/* Segments that are closed may stand in a home, too (below). The directory of what is
	 * fetched from there, emptied at the start, and what it may hold; NULL: no home. */
	const char *cache_dir;
	uint64_t cache_bytes;
	/* What a person should know, NULL: nobody. `what` is a word: damaged (bytes that do not
	 * read back), cut (a torn end), index (made anew), unread (a file that cannot be read). */
	void (*told)(void *ctx, const char *what, const char *text);
	void *ctx;
};

/* Open, or make. What a crash left torn is cut at a record; an index that is not there, or does
 * not fit, is made anew from its segment.
 *
 *   owns    *ret is the caller's until logs_close()
 *   errors  E_IO, E_FULL, E_FORBIDDEN, E_EXISTS
 */
int logs_open(const struct logs_settings *set, struct logs **ret, struct err *err);

/* What was not committed is lost. NULL is fine. */
void logs_close(struct logs *l);

/* What is known of a log. */
struct log_facts {
	struct log_id id;
	uint32_t broker; /* whose lease it was */
	uint64_t bytes;  /* offset behind its last byte */
	bool is_ended;   /* nothing follows */
};

/* One log; E_NOT_FOUND. */
int logs_find(struct logs *l, const struct log_id *id, struct log_facts *ret);

/* All logs of an instance, by generation, attempt, token, stream.
 *
 *   owns    *ret_facts is the caller's to free(); NULL with 0
 */
size_t logs_of(struct logs *l, struct inst_key key, struct log_facts **ret_facts);

/* A piece of a log. What the log has already is left out; a gap before `offset` is kept as one. */
struct log_piece {
	struct log_id id;
	uint32_t broker;
	uint64_t offset;
	const uint8_t *data;
	size_t bytes;
	bool is_end;
	int64_t now_us; /* wall */
};

/* Append. It can be read at once, and is kept once logs_commit() says so.
 *
 *   errors  E_FULL, E_IO: what was appended since the last commit is gone then
 */
int logs_append(struct logs *l, const struct log_piece *p);

/* Write and sync what was appended. Errors as logs_append(). Nothing to do costs nothing. */
int logs_commit(struct logs *l);

/* Where bytes that are read go, at most so many. */
struct log_room {
	uint8_t *to;
	size_t max;
};

/* Bytes of a log from `offset` on. A gap reads as a line that says what is missing, then NULs.
 *
 *   *ret_bytes  0: nothing there yet; less than max: nothing more, or ask again
 *   errors      E_NOT_FOUND; E_CORRUPT with segment and place: what is before it was given
 */
int logs_read(struct logs *l, const struct log_id *id, uint64_t offset, struct log_room room,
              size_t *ret_bytes, struct err *err);

/* Where line n (from 0) of a log begins; E_NOT_FOUND: it has fewer. Errors as logs_read(). */
int logs_line(struct logs *l, const struct log_id *id, uint64_t n, uint64_t *ret_offset,
              struct err *err);

/* Remove segments whose last byte is older than that (wall, us). How many were removed. Where there
 * is a home, those that are in it are left to logs_overdue(). */
size_t logs_retain(struct logs *l, int64_t before_us);

/* --- in a home ---
 *
 * The caller carries a closed segment and its index to a home. From then on NAME.top says what the
 * segment has: its index's head and filter. What is read of one whose files are not here is
 * missed: the call answers E_AGAIN (logs_of(): leaves it out), and logs_miss() says what to fetch
 * before the same is asked again. Names are unique among all directories that ship to one home. */

enum { LOGS_NAME_BYTES = 32, LOGS_TOP_BYTES_MAX = 1 << 26 };

/* A file of a segment: NAME.seg or NAME.idx. */
struct logs_miss {
	char name[LOGS_NAME_BYTES];
	bool is_index;
	uint64_t from;
	size_t n;
};
/* What the calls since the last question missed first. */
bool logs_miss(struct logs *l, struct logs_miss *ret);
/* It was fetched. E_NOT_FOUND no such segment any more, E_FULL, E_IO. */
int logs_fetched(struct logs *l, const struct logs_miss *m, const uint8_t *data);

/* The next segment that is to be shipped. */
struct logs_ship {
	char name[LOGS_NAME_BYTES];
	char seg_path[4096], idx_path[4096];
	uint64_t seg_bytes, idx_bytes;
};
bool logs_to_ship(struct logs *l, struct logs_ship *ret);
/* Both are in the home, and were verified. E_NOT_FOUND, E_FULL, E_IO. */
int logs_shipped(struct logs *l, const struct logs_ship *s, struct err *err);
/* What waits for the home: closed segments. oldest_us: wall, the last byte of the oldest; 0: none
 * waits. */
struct logs_waiting {
	uint64_t segments, bytes;
	int64_t oldest_us;
};
void logs_waiting(struct logs *l, struct logs_waiting *ret);
/* What waits is no more than that: the oldest go. How many. */
size_t logs_drop_waiting(struct logs *l, uint64_t bytes_max);

/* A list of the home begins; each name with an index is said; it is over: what it did not have is
 * in the home no more, and is shipped again if it is here. Of unknown ones logs_learn() is told the
 * first bytes of the index: E_AGAIN it needs *ret_want of them, E_CORRUPT, E_FULL, E_IO. */
void logs_list_begin(struct logs *l);
/* `bytes`: of the segment, of its index, as they are there. False: unknown. */
bool logs_list_seen(struct logs *l, const char *name, const uint64_t bytes[2]);
void logs_list_over(struct logs *l);
struct logs_top {
	const char *name;
	uint64_t seg_bytes, idx_bytes;
	const uint8_t *data; /* of the index, from its beginning */
	size_t n;
};
int logs_learn(struct logs *l, const struct logs_top *t, size_t *ret_want, struct err *err);
bool logs_name_ok(const char *name); /* of a segment's */

/* Files here go whose segment is in the home and has nothing younger. How many. */
size_t logs_retain_here(struct logs *l, int64_t before_us);
/* A segment in the home that is to go there; once it is gone, all of it is forgotten. */
bool logs_overdue(struct logs *l, int64_t before_us, char ret_name[LOGS_NAME_BYTES]);
void logs_gone(struct logs *l, const char *name);

/* Close the open segment when it is old, and write indexes that a full disk kept from it. */
void logs_tend(struct logs *l, int64_t now_us);

/* How much is here: bytes on disk. An instance that stands in two segments counts twice. */
struct logs_size {
	uint64_t segments, instances, logs, bytes, printed;
	uint64_t far; /* segments that are in the home, whether here or not */
};
void logs_size(struct logs *l, int64_t before_us, struct logs_size *ret_all,
               struct logs_size *ret_old);

/* Each log of each segment, in the segments' order; of a log in several segments each part.
 * False from `each` ends it. */
typedef bool logs_each_fn(void *ctx, uint32_t segment, const struct log_facts *f);
void logs_each(struct logs *l, logs_each_fn *each, void *ctx);

/* Read every block of every segment; each damaged one is told. How many. */
size_t logs_verify(struct logs *l);

#endif
