/* anchor.h — what is known of a store outside of it: a file of the server's state directory.
 *
 * Two lines of fixed length, written in place by turns and never synced: what is on disk after a
 * crash is older than the store, which is no matter, or does not read back and counts as none.
 */
#ifndef STORE_ANCHOR_H
#define STORE_ANCHOR_H

#include <stdint.h>

#include "store/tip.h"

#define ANCHOR_FILE  "anchor"
#define DAMAGED_FILE "damaged" /* beside it: what was found in the store, for the next start */

struct anchor {
	char id[65], by[65]; /* the store; who knows it: "this server", or a broker */
	uint32_t epoch;
	uint64_t seq, number; /* seq 0: a broker knows the number alone */
	uint32_t chain;
	int64_t at_us; /* wall */
};

struct anchor_file {
	int fd; /* -1: not open */
	unsigned turn;
};

/* The newer line. E_NOT_FOUND: there is none that reads back. */
int anchor_read(const char *dir, struct anchor *ret, struct err *err);
int anchor_open(const char *dir, struct anchor_file *f, struct err *err);
void anchor_close(struct anchor_file *f);
/* E_IO, E_FULL: the file says what it said. */
int anchor_write(struct anchor_file *f, const struct anchor *a, struct err *err);
/* What it is after a commit. */
struct anchor anchor_of(const struct store_tip *t, int64_t at_us);

/* Is this the store that the anchor in `dir` knows, and has it all that was in it? An anchor that
 * does not read back is told, and stops nobody. `name`: of the store, for the text.
 *
 *   errors  E_STRANGER another store; E_LOST acknowledged work is missing */
int anchor_check(const char *dir, const char *name, struct store *s, const struct store_tip *t,
                 struct err *err);

#endif
