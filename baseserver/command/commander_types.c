/* What brokers have said of themselves since the start: task types that they run, for a type
 * without a manifest is known by that, so that an apply does not refuse it; their names and
 * groups, for tasks that name others are saved with a warning (model/world.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "util/alloc.h"

struct roster_news {
	struct letter letter;
	struct roster_name who;
};

static void on_roster(struct letter *l, void *self)
{
	struct roster_news *n = (struct roster_news *)l;
	struct commander *c = self;
	size_t i = 0;

	while (i < c->n_roster &&
	       (c->roster[i].is != n->who.is || strcmp(c->roster[i].name, n->who.name) != 0))
		i++;
	if (i == c->n_roster) {
		c->roster = mem_grow(c->roster, c->n_roster + 1, sizeof *c->roster);
		c->roster[c->n_roster++] = n->who;
	}
	free(n);
}

void commander_meets(void *commander, enum roster is, const char *name)
{
	struct commander *c = commander;
	struct roster_news *n = mem_new(sizeof *n);

	n->letter.deliver = on_roster;
	n->letter.discard = letter_free;
	n->who.is = is;
	snprintf(n->who.name, sizeof n->who.name, "%s", name);
	if (actor_post_credit(c->me, &n->letter) < 0)
		free(n);
}

void roster__done(struct commander *c)
{
	free(c->roster);
}
