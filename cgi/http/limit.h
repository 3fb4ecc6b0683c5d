/* limit.h — refusals that say which limit is reached, and until when: 429 with Retry-After. */
#ifndef CGI_LIMIT_H
#define CGI_LIMIT_H

#include <stdint.h>

struct buf;
struct call;
struct cgi;

enum limit {
#define LIMIT(NAME, setting) LIMIT_##NAME,
#include "cgi/http/limits.def"
#undef LIMIT
	LIMITS_N
};

/* E_LIMIT: `most` is reached, for `wait_s` more seconds; 0: until one of what counts ends, nobody
 * knows when. `fmt` says it to people, without the name of the setting. */
__attribute__((format(printf, 5, 6))) int limit_refuse(struct call *c, enum limit which,
                                                       int64_t most, int64_t wait_s,
                                                       const char *fmt, ...);
/* A family of /metrics: how often each was reached. */
void limits_print(const struct cgi *cgi, struct buf *out);

#endif
