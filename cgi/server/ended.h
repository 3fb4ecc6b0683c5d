/* ended.h — how an instance came to its end, from its history: what each attempt ended with, and
 * whose command ended it.
 */
#ifndef CGI_ENDED_H
#define CGI_ENDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"

struct buf;
struct names;
struct reader;

#define ENDED_ATTEMPTS 20 /* the last ones; `more` tells that there were others */

struct ended_attempt {
	uint64_t number, token; /* of the transition that ended it */
	int64_t started_us, ended_us;
	uint32_t broker;
	int32_t exit_code;
	uint16_t attempt;
	uint8_t event, reason, to;
};

struct ended {
	uint8_t state;
	bool is_found, is_whole;
	char note[600]; /* ": ..." or "" */
	uint64_t cause; /* the command; 0: none */
	char actor[140], kind[60], message[400];
	int64_t asked_us;
	uint32_t generation;
	struct ended_attempt attempts[ENDED_ATTEMPTS]; /* newest first */
	size_t n;
	bool has_more;
};

/* Blocks: reads the store. */
void ended_read(struct reader *r, const struct instance *i, struct ended *ret);
/* "ended": {...} */
void ended_put(struct buf *out, struct names *n, struct reader *r, const struct instance *i,
               const struct ended *e);

#endif
