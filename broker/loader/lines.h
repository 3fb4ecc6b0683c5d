/* lines.h — what a job's process tells us by lines of its standard output.
 *
 *   sirdar:progress 40.5 text     how far it is, in percent; the text may be missing
 *   sirdar:output name=value      a value for the job's children; a repeated name replaces
 *
 * `::progress ` and `::output ` say the same. Fed with the bytes as they are shipped, so that
 * they are read once; whatever language wrote them. A runner in a process of its own (one.c) says
 * all of what in this process its calls would:
 *
 *   sirdar:set name=value         an output, of any bytes: lines_escape()
 *   sirdar:end ANSWER VERDICT CODE RETRY_MS text
 */
#ifndef LOADER_LINES_H
#define LOADER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct buf;
struct job;

#define LINES_PROGRESS "sirdar:progress "
#define LINES_SET      "sirdar:set "
#define LINES_END      "sirdar:end "

/* Embedded in the job; zeros are an empty one. */
struct lines {
	uint64_t at;  /* bytes looked at */
	char *part;   /* a line of ours whose end has not come */
	size_t bytes; /* of it */
	bool is_other, is_told;
};

/* Bytes of standard output that begin at `offset`. What was looked at is passed over, what
 * comes after a gap is left for later. Thread: session. */
void lines_take(struct job *j, uint64_t offset, const uint8_t *data, size_t n);
/* There is no more: the last line may have no end. */
void lines_end(struct job *j);

/* May a line that begins so be one of these? */
bool lines_may_be_ours(const char *p, size_t n);
/* A text without line ends and '=', which the reader puts back. */
void lines_escape(struct buf *to, const char *text);

static inline void lines_done(struct lines *l)
{
	free(l->part);
	*l = (struct lines){ 0 };
}

#endif
