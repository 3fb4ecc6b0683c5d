/* warm.h — a picture of the unfinished instances, kept by a server that does not lead.
 *
 * It follows the store in small reads, a sweep over the live rows after the other: which slots
 * there are and the last_number of each, then the rows that differ. What is missed meanwhile does
 * no harm: who takes over compares every row's number (ledger_load.c), and reads what differs.
 *
 * A row is known by its slot and last_number, since every change of an instance has a number of
 * its own; but one: a part that runs takes over flags of its whole (ledger_parts.c: ready_part), so
 * that rows of parts are read again at the take-over.
 */
#ifndef BASESERVER_WARM_H
#define BASESERVER_WARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct store;
struct table;
struct warm;

enum { WARM_BATCH = 4096 }; /* rows of some milliseconds */

struct warm *warm_new(size_t batch); /* rows of one read */
void warm_free(struct warm *w);      /* NULL is fine */

/* Look at the next rows, in batches, until `budget_us` is used up or the sweep is over. A sweep
 * begins when `number` (the store's last, as just read) is another than at the last one's start.
 * Blocks. What fails leaves a picture that is older, no more.
 *
 *   errors  those of the store */
int warm_follow(struct warm *w, struct store *s, uint64_t number, int64_t budget_us,
                struct err *err);
/* Whether all rows were looked at once. */
bool warm_is_whole(const struct warm *w);
/* All that was committed up to this number is in the picture; 0: nothing yet. */
uint64_t warm_number(const struct warm *w);
size_t warm_rows(const struct warm *w);

/* What a take-over found. */
struct warm_figures {
	size_t rows;      /* of the store, each compared */
	size_t warm;      /* of them: in the picture as they are */
	size_t caught_up; /* read, since they were not */
	size_t gone;      /* of the picture, not of the store any more */
};

/* Nobody else commits any more: make the picture what the store is, and prove it row by row. It is
 * then in `to` (table_init() done), and w is empty.
 *
 *   errors  E_CONFLICT what was read is not what was seen a moment before; those of the store */
int warm_give(struct warm *w, struct store *s, struct table *to, struct warm_figures *ret,
              struct err *err);

#endif
