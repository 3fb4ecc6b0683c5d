/* life.h — where to go on in a store whose numbers are of another past: a copy was put back and the
 * loss accepted, or it is another store. */
#ifndef NOTIFIER_LIFE_H
#define NOTIFIER_LIFE_H

#include <stdint.h>

#include "store/read.h"

struct err;

/* *cursor was read in the life `was` ("": an earlier version kept none). 1: the store has another
 * past, and *cursor is where that begins to be news; 0: it is as it was.
 *
 *   errors  of the store */
int life_look(struct reader *r, const char *was, char now[READ_LIFE_MAX], uint64_t *cursor,
              struct err *err);

#endif
