/* crumb.h — the work in hand, told outside of the process: whoever starts after a stall or a crash
 * sees of which workflow it was.
 *
 * A page of a file that is mapped: what is written there outlives the process, not a power loss.
 * One writer of the work, one of the time; nothing is synced and nothing is waited for.
 */
#ifndef BASESERVER_CRUMB_H
#define BASESERVER_CRUMB_H

#include <stdbool.h>
#include <stdint.h>

struct crumb;
struct err;

enum crumb_kind {
	CRUMB_NONE,
	CRUMB_RECORDS /* what happened */,
	CRUMB_DATES /* windows counted */
};
const char *crumb_kind_text(enum crumb_kind kind); /* "counting the dates of its windows" */

struct crumb_left {
	uint32_t workflow; /* 0: nobody is to blame */
	enum crumb_kind kind;
	int64_t for_us; /* how long the server had been at it */
};

/* Open DIR/crumb, made where it is not there.
 *
 *   after_us  what took less before the process ended is nobody's fault
 *   now_us    wall; what is older than an hour counts no more
 *   owns      *ret_crumb is the caller's
 *   errors    E_IO, E_FULL
 */
int crumb_open(const char *dir, int64_t after_us, int64_t now_us, struct crumb **ret_crumb,
               struct crumb_left *ret_left, struct err *err);
void crumb_free(struct crumb *c); /* NULL is fine */

/* Who looks after the threads: so much time has passed since the last call. */
void crumb_tick(struct crumb *c, int64_t us, int64_t wall_us);
/* What is in hand from now on; workflow 0: nothing. Thread: the writer's. NULL is fine. */
void crumb_work(struct crumb *c, uint32_t workflow, enum crumb_kind kind);
/* What crumb_open() found is dealt with: it is forgotten. Thread: any. */
void crumb_settle(struct crumb *c);

#endif
