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

/* Remove segments whose last byte is older than that (wall, us). How many were removed. */
size_t logs_retain(struct logs *l, int64_t before_us);

/* Close the open segment when it is old, and write indexes that a full disk kept from it. */
void logs_tend(struct logs *l, int64_t now_us);

/* How much is here: bytes on disk. An instance that stands in two segments counts twice. */
struct logs_size {
	uint64_t segments, instances, logs, bytes, printed;
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
