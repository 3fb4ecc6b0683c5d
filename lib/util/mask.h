/* mask.h — known secrets in text that others will read: each is shown as MASK_SHOWN.
 *
 * Found are a value as it is, in base64 (at each of its three places, both alphabets), quoted for
 * an URL, escaped for JSON (as Python, PHP, Go, Java and .NET write it), as Python's repr() and a
 * shell's trace show it; of a value of several lines each line of MASK_LINE_MIN bytes and more,
 * too. This guards against what slips out, not against a job that
 * wants to tell: whoever turns a value round or encrypts it gets it out. Pure.
 */
#ifndef UTIL_MASK_H
#define UTIL_MASK_H

#include <stdbool.h>
#include <stddef.h>

#include "util/buf.h"

#define MASK_SHOWN     "******"
#define MASK_MIN       4           /* shorter values are not looked for */
#define MASK_LINE_MIN  8           /* nor are shorter lines of a value */
#define MASK_CODED_MAX 4096        /* of longer values no other writing */
#define MASK_BYTES_MAX (16u << 20) /* of all that is looked for: 32 values in all writings */

struct mask;

struct mask *mask_new(void);
void mask_free(struct mask *m); /* NULL is fine. Wiped. */
/* False: not looked for, because it is short, or there is no more room. */
bool mask_add(struct mask *m, const char *value, size_t n);
/* The values that are looked for, as they were added. Borrowed. */
size_t mask_count(const struct mask *m); /* NULL: 0 */
const char *mask_value(const struct mask *m, size_t i, size_t *ret_n);

/* Text that comes in pieces. Zeros begin one. */
struct mask_stream {
	struct buf held; /* may be the beginning of a secret: not shown yet */
	size_t covered;  /* bytes of it that were shown as a part of one */
	bool in_run;     /* what was shown last is MASK_SHOWN */
};

/* Append what may be shown of it by now. */
void mask_take(const struct mask *m, struct mask_stream *s, const void *p, size_t n,
               struct buf *out);
/* There is no more: append what was held. */
void mask_end(const struct mask *m, struct mask_stream *s, struct buf *out);
void mask_stream_done(struct mask_stream *s);

/* A text of its own. True: there was a secret in it, and `out` has it masked; else it is empty.
 * m NULL: there is none. */
bool mask_text(const struct mask *m, const char *text, size_t n, struct buf *out);

#endif
