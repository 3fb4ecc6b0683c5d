/* Which task types brokers have said they run, since the start: a type without a manifest is known
 * by that, so that an apply does not refuse it (model/world.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "util/alloc.h"

struct runs_news {
	struct letter letter;
	char type[64];
};

static void on_runs(struct letter *l, void *self)
{
	struct runs_news *n = (struct runs_news *)l;
	struct commander *c = self;
	size_t i = 0;

	while (i < c->n_runs && strcmp(c->runs[i], n->type) != 0)
		i++;
	if (i == c->n_runs) {
		c->runs = mem_grow(c->runs, c->n_runs + 1, sizeof *c->runs);
		c->runs[c->n_runs++] = mem_str(n->type);
	}
	free(n);
}

void commander_runs(void *commander, const char *type)
{
	struct commander *c = commander;
	struct runs_news *n = mem_new(sizeof *n);

	n->letter.deliver = on_runs;
	n->letter.discard = letter_free;
	snprintf(n->type, sizeof n->type, "%s", type);
	if (actor_post_credit(c->me, &n->letter) < 0)
		free(n);
}

void runs__done(struct commander *c)
{
	for (size_t i = 0; i < c->n_runs; i++)
		free(c->runs[i]);
	free(c->runs);
}
