/* logmark.h — what Sirdar says in the text of a log begins its line with LOGMARK, and nothing that
 * a job prints does: a job's line that would look so gets a '>' before it, as does one that begins
 * with such a '>' already, so that the line can be had back. What steers a terminal and shows
 * nothing, and a carriage return, hide no beginning. Letters that only look alike are not judged.
 */
#ifndef UTIL_LOGMARK_H
#define UTIL_LOGMARK_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

#define LOGMARK "[sirdar] "

/* Append n bytes that a job printed: of one line, with its end at most. `begins`: nothing of the
 * line is to be seen yet. Returns the same of what follows on the line. */
bool logmark_put(const void *p, size_t n, bool begins, struct buf *out);

#endif
