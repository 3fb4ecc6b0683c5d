/* journal.h — a commit as one record: bytes that hold all of a struct store_batch.
 *
 * A record is written in pieces of at most JOURNAL_PIECE_MAX bytes, each with a head of its own
 * and its own sum, so that one event is read for the price of one piece. None of them counts
 * before the one that ends the record. Pieces are numbered without a gap, and each names the sum of
 * the one before it. The format: README.md beside this.
 *
 * Thread: an object is for one thread at a time.
 */
#ifndef STORE_JOURNAL_JOURNAL_H
#define STORE_JOURNAL_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct store_batch;

enum { JOURNAL_PIECE_MAX = 64 << 10, JOURNAL_STORE_BYTES = 16 };

/* Where the next piece stands. */
struct journal_place {
	uint8_t store[JOURNAL_STORE_BYTES]; /* the first bytes of the store's id */
	uint64_t seq;                       /* of that piece */
	uint32_t before;                    /* the sum of the piece before it; 0: there is none */
};

/* A piece's head, as it is read. */
struct journal_head {
	struct journal_place place;
	uint32_t length, sum; /* bytes, with the head */
	uint32_t epoch;
	uint64_t first, last; /* transitions of the piece; last < first: it has none */
	int64_t at_us;
	uint8_t flags; /* enum journal_flag */
};

enum journal_flag {
	JOURNAL_BEGINS = 1,
	JOURNAL_ENDS = 2,
	JOURNAL_NUMBERED = 4, /* the commit has transitions; else first and last are the batch's */
};

struct journal_packer;
__attribute__((returns_nonnull)) struct journal_packer *journal_packer_new(void);
void journal_packer_free(struct journal_packer *p); /* NULL is fine */
/* Append the pieces of `b`, one after the other, to `out`, and move `place` behind them. The batch
 * is one that store_commit() takes; the same place and batch give the same bytes. */
void journal_pack(struct journal_packer *p, struct journal_place *place,
                  const struct store_batch *b, struct buf *out);

/* The head of the piece that `bytes` begin with; its sum is not looked at.
 *
 *   errors  E_DAMAGED no head, or a length that is not there; E_VERSION of a later release */
int journal_head_read(const void *bytes, size_t n, struct journal_head *ret, struct err *err);

struct journal_reader;
/* `from`: where the first piece must stand; NULL: wherever it says. */
__attribute__((returns_nonnull)) struct journal_reader *journal_reader_new(
	const struct journal_place *from);
void journal_reader_free(struct journal_reader *r); /* NULL is fine */
/* One piece, the next in order. Memory grows with what was seen, not with what a length claims.
 *
 *   returns 1 the record is whole, 0 more pieces follow
 *   errors  E_DAMAGED torn, not as written, or out of order; E_STRANGER another store's;
 *           E_VERSION of a later release. Which piece and where in it is said. After one only
 *           journal_reader_free() is called. */
int journal_take(struct journal_reader *r, const void *bytes, size_t n, struct err *err);
/* The commit of a whole record; the reader's, until its next call. Events are those of kind
 * TK_INSTANCE, with what is stored of them; images are in the order of the events that made them,
 * others after these. */
const struct store_batch *journal_batch(const struct journal_reader *r);
/* Where the next piece must stand. */
struct journal_place journal_reader_place(const struct journal_reader *r);

#endif
