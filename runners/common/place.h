/* place.h — where files of jobs may lie: not in what is the broker's own (sirdar/kept.h). */
#ifndef RUNNERS_PLACE_H
#define RUNNERS_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct run;

/* The path without links in it, which is the one to open (O_NOFOLLOW); the caller's. NULL: *ret_why
 * says why not, errno is EPERM where it is the broker's own. `follows`: the last name too may be a
 * link; else it is the link that is meant. */
char *place_of(const struct run *r, const char *path, bool follows, char *ret_why,
               size_t why_bytes);

#endif
