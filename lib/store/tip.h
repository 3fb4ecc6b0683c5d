/* tip.h — where the last commit has left a store, and whether it still is there.
 *
 * Each commit has a sequence number without gaps. The chain is a CRC32C over the events in their
 * order, each over its columns but the note; it goes on from commit to commit. The leader's row has
 * it at the last transition and at a mark some thousand before: the events between are read again
 * when a store is opened to lead. Outside the store its end is known to the anchor (anchor.h) and
 * to the brokers: from them a store that was put back, or lost its log, is known.
 */
#ifndef STORE_TIP_H
#define STORE_TIP_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct store;
struct store_batch;

struct store_tip {
	char id[65];  /* of the store, drawn when it was made; "": this store keeps none */
	char key[65]; /* drawn with it, see proof.h; "": a later release's server draws it */
	uint32_t epoch;
	uint32_t base_epoch; /* somebody accepted that what epochs below it did may be lost */
	uint64_t seq, number;
	uint64_t chain_number; /* below `number`: a program that knows no chain went on */
	uint32_t chain;
	uint64_t mark_number;
	uint32_t mark_chain;
};

/* As stored now. E_UNSUPPORTED: this store keeps none. */
int store_read_tip(struct store *s, struct store_tip *ret, struct err *err);
/* As the last commit of this process left it; its id is "" before the first. */
const struct store_tip *store_tip(const struct store *s);
/* Take the events after `after`, up to `upto`, into `chain`; `rows`: how many there were, `beyond`:
 * one that was there above `upto`. */
struct store_walk {
	uint64_t after, upto, rows, beyond;
	uint32_t chain;
};
int store_chain(struct store *s, struct store_walk *w, struct err *err);
/* Do the leader's row and the last events fit together? E_DAMAGED says what does not. */
int store_verify(struct store *s, const struct store_tip *t, struct err *err);

/* How far a look through the whole store is. All zero: at its beginning. */
struct store_scrub {
	char table[64];    /* under way */
	uint64_t done, of; /* tables */
	uint64_t partly;   /* of them were read row by row, their indexes not */
	int64_t row;
	bool in_rows;
};

/* Does the file hold together? limit_us 0: no limit. What has no file is whole.
 *
 *   errors  E_DAMAGED what is wrong; E_AGAIN not known in time */
int store_inspect(struct store *s, int64_t limit_us, struct err *err);
/* The same a slice at a time, each about limit_us at most, for a connection that only reads.
 *
 *   returns 1 there is more, 0 all is whole
 *   errors  E_DAMAGED */
int store_scrub(struct store *s, struct store_scrub *at, int64_t limit_us, struct err *err);

/* What a commit of `b` makes of the tip before it. Pure. */
struct store_tip tip_next(const struct store_tip *was, const struct store_batch *b);

#endif
