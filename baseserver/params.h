/* params.h — a job's parameters, only to the holder of its lease (the seed's parameter
 * requests).
 *
 * Runners may ask while they run; what is secret never travels with the job itself.
 */
#ifndef BASESERVER_PARAMS_H
#define BASESERVER_PARAMS_H

#include "rt/actor.h"
#include "sched/instance.h"

struct ledger;
struct params;
struct thread;

struct param_value {
	char *name, *value; /* heap */
};

/* A question; the very letter comes back through `answered`. */
struct param_question {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	uint32_t session;
	uint64_t id;
	struct inst_key key; /* of the lease the worker has checked */
	char **names;        /* NULL-ended, heap; none: all */
	struct param_value *values;
	size_t n;
	int code;
	char text[200];
};
void param_question_free(struct param_question *q);

struct params *params_new(struct thread *th, struct ledger *ledger);
void params_free(struct params *p); /* NULL is fine */
struct actor *params_actor(struct params *p);
int params_ask(struct params *p, struct param_question *q); /* thread: any */

#endif
