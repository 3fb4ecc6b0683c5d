/* logrec.h — what a job printed, as one ordered stream of records (time, stream, bytes).
 *
 * The stream is cut into blocks of LOGREC_BLOCK bytes, from its beginning on. Each block begins
 * with a header: the time, and how many bytes and line ends of each stream stand before it. A
 * reader that has any block can go on from there, and finds a time, a line or a stream's own
 * offset by looking at a few headers (struct logrec_seek). No record crosses a block's end.
 *
 *   header   "LOG1", open lines, varints: ms since 1970, bytes of 3 streams, line ends of 3 streams
 *   record   a byte: stream (2 bits), has a length (1 bit), ms since the last record (5 bits;
 *            31: 31 and a varint); the length where it has one, else the data is one line
 *   0        nothing up to the block's end
 *
 * Bytes are kept exactly, whatever they are. What is read may be torn at its end, or hostile:
 * a record that is not whole is not there yet, a block that does not read is passed over.
 */
#ifndef UTIL_LOGREC_H
#define UTIL_LOGREC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum logrec_stream {
	LOGREC_NONE, /* a header, or nothing */
	LOGREC_OUT,
	LOGREC_ERR,
	LOGREC_OURS, /* what Sirdar says of the job, a line each */
	LOGREC_STREAMS,
};

enum {
	LOGREC_BLOCK = 65536,
	LOGREC_HEADER_MAX = 5 + 7 * 10,
	LOGREC_HEAD_MAX = 32 + LOGREC_HEADER_MAX +
	                  16, /* before the data: filling, header, record */
};

/* Where in a stream one is: what stands before `at`. Zeros: its beginning. */
struct logrec_place {
	uint64_t at;                    /* bytes of the stream of records */
	int64_t time_ms;                /* of the last record, UTC */
	uint64_t bytes[LOGREC_STREAMS]; /* of each stream, as its writer wrote them */
	uint64_t lines[LOGREC_STREAMS]; /* line ends */
	uint8_t open;                   /* bits 1 << stream: its last line has no end yet */
};

/* --- writing ------------------------------------------------------------------------------ */

struct logrec_head {
	uint8_t bytes[LOGREC_HEAD_MAX];
	size_t n;
};

/* What goes before the first of n bytes of data, and how many of them go with it (at least 1; n is
 * not 0): again with the rest. `w` moves on: a copy of before undoes it when the write fails. A
 * time before the last record's counts as that one. */
size_t logrec_head(struct logrec_place *w, enum logrec_stream s, int64_t time_ms, const void *data,
                   size_t n, struct logrec_head *ret);
/* Append all of it. */
void logrec_put(struct logrec_place *w, enum logrec_stream s, int64_t time_ms, const void *data,
                size_t n, struct buf *out);

/* --- reading ------------------------------------------------------------------------------ */

struct logrec {
	enum logrec_stream stream; /* NONE: no data; a header, filling, what does not read */
	const uint8_t *data;       /* borrowed */
	size_t n;
	bool is_damaged;
};

struct logrec_reader {
	struct logrec_place place;
	size_t skip; /* bytes up to the block's end that say nothing */
};

/* The first record of the bytes at r->place.at. Returns how many bytes it takes, r is behind them
 * then; 0: it is not whole. Counts of bytes and lines go on. A reader that began within a block has
 * neither a time nor counts until the next one. */
size_t logrec_next(struct logrec_reader *r, const uint8_t *p, size_t n, struct logrec *ret);
/* The n bytes are all there will ever be, and no whole record: what there is of one (a log that was
 * cut). Returns as logrec_next(); 0: not even its first byte. */
size_t logrec_torn(struct logrec_reader *r, const uint8_t *p, size_t n, struct logrec *ret);
/* How many of the n bytes at `at`, where a record begins, are whole records. */
size_t logrec_whole(uint64_t at, const uint8_t *p, size_t n);
/* The header of the block at `at`. False: it is none. */
bool logrec_header(uint64_t at, const uint8_t *p, size_t n, struct logrec_place *ret);
size_t logrec_lines(const uint8_t *p, size_t n); /* line ends */

/* --- finding ------------------------------------------------------------------------------ */

enum logrec_by { LOGREC_BY_BYTES, LOGREC_BY_LINES, LOGREC_BY_TIME };

/* The last block before which there are no more than `most` bytes or line ends of `streams` (bits
 * 1 << stream), or whose time is no later. */
struct logrec_seek {
	enum logrec_by by;
	unsigned streams, tries;
	uint64_t most;
	uint64_t low, high; /* blocks: `low` fits, `high` does not; the answer is `low` */
	uint64_t low_is, high_is;
};

uint64_t logrec_measure(const struct logrec_place *p, enum logrec_by by, unsigned streams);
/* `end`: where the stream ends, which is what is known of it. */
void logrec_seek_begin(struct logrec_seek *s, enum logrec_by by, unsigned streams, uint64_t most,
                       const struct logrec_place *end);
/* Where the header stands that is to be read next, LOGREC_HEADER_MAX bytes. False: found. */
bool logrec_seek_next(const struct logrec_seek *s, uint64_t *ret_at);
/* The header that was asked for. NULL: it does not read. */
void logrec_seek_take(struct logrec_seek *s, uint64_t at, const struct logrec_place *header);
static inline uint64_t logrec_seek_found(const struct logrec_seek *s)
{
	return s->low * LOGREC_BLOCK;
}

#endif
