/* logsearch.h — lines of logs in which an expression stands, out of pieces as logread.h gives them.
 *
 * One log after the other, each from its beginning, its pieces in order. A line that is longer than
 * LOGSEARCH_LINE_MAX is looked through up to there. Thread: one at a time.
 */
#ifndef CGI_LOGSEARCH_H
#define CGI_LOGSEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct logsearch;

enum { LOGSEARCH_LINE_MAX = 65536 };

/* A line that was found. `text` is borrowed, without its end. */
struct logsearch_hit {
	unsigned stream; /* enum logrec_stream */
	uint64_t line;   /* number in its stream, from 1 */
	uint64_t at;     /* of the records: the record it begins in; 0 without records */
	int64_t time_ms; /* of that; 0: nobody knows */
	const char *text;
	size_t n;
};
/* False: no more of this search. */
typedef bool logsearch_fn(void *ctx, const struct logsearch_hit *hit);

/* errors  E_INVALID, of rex_new() */
int logsearch_new(const char *expression, bool folds, struct logsearch **ret, struct err *err);
void logsearch_free(struct logsearch *s); /* NULL is fine */

/* Another log comes. */
void logsearch_begin(struct logsearch *s);
/* The next piece: records (struct log_raw), or one stream's bytes. False: it was enough. */
bool logsearch_records(struct logsearch *s, const struct buf *piece, logsearch_fn *each, void *ctx);
bool logsearch_bytes(struct logsearch *s, unsigned stream, const struct buf *piece,
                     logsearch_fn *each, void *ctx);
/* Nothing follows: lines without an end are lines too. */
bool logsearch_end(struct logsearch *s, logsearch_fn *each, void *ctx);

#endif
