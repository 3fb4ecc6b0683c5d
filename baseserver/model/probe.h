/* probe.h — a try to connect to a target server, on its way: from the commander to the workers, one
 * after the other, until one has a loader that may try; and back.
 */
#ifndef BASESERVER_PROBE_H
#define BASESERVER_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/actor.h"

struct worker;

enum probe_outcome {
#define PROBE(NAME, num, name, what) PROBE_##NAME = (num),
#include "tbl/probe.def"
#undef PROBE
};
const char *probe_outcome_name(uint32_t outcome); /* "other" of one that is not known */

#define PROBE_MS       10000 /* the loader's time */
#define PROBE_GRACE_MS 20000 /* until nobody waits any more: secrets are fetched meanwhile, too */

struct probe {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	struct probe *next; /* of the worker's own */
	struct worker *const *workers;
	size_t n_workers, at; /* at: who is asked */
	uint64_t id;          /* of the command */
	uint32_t session;     /* of the loader that tries; 0: none yet */
	char *target, *project, *type;
	char *broker, *group; /* NULL: any */
	bool is_trusted;      /* the project is, or the target is for all */
	enum probe_outcome outcome;
	int64_t took_us;
	char by[64];     /* the broker that tried */
	char text[1000]; /* for people */
};
void probe_free(struct probe *p);
/* Why that broker may not try; up to some of them, for the answer that nobody may. */
void probe_note(struct probe *p, const char *broker, const char *why);

#endif
