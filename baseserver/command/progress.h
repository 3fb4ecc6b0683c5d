/* progress.h — how far what runs says it is. In memory only: a restart forgets it, the next
 * report of the job brings it back.
 *
 * Plain data of the commander. An entry begins with a report and ends when its instance no
 * longer holds a slot, so that there are never more than instances that run.
 */
#ifndef BASESERVER_PROGRESS_H
#define BASESERVER_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "rt/actor.h"
#include "sched/instance.h"
#include "util/index.h"
#include "util/slab.h"

struct progress_item {
	struct inst_key key;
	uint32_t permille;
};

/* From a worker to the commander: of one message of a loader. */
struct progress_news {
	struct letter letter;
	size_t n;
	struct progress_item items[];
};

struct progress {
	struct slab items;
	struct index by_key;
};

void progress_init(struct progress *p); /* p stays where it is until progress_done() */
void progress_done(struct progress *p);
void progress_set(struct progress *p, struct inst_key key, uint32_t permille);
/* Takes the entry away once the instance has no attempt that runs, or begins another one. */
void progress_fold(struct progress *p, const struct transition *tr);
/* NULL: it has said nothing so far. */
const struct progress_item *progress_find(const struct progress *p, struct inst_key key);

#endif
