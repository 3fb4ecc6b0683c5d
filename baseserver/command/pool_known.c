/* Pools and quotas as they are stored. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/pools.h"
#include "util/alloc.h"

struct known_pool *pool_find(const struct commander *c, const char *name)
{
	for (size_t i = 0; i < c->n_pools; i++)
		if (strcmp(c->pools[i].name, name) == 0)
			return &c->pools[i];
	return NULL;
}

const struct known_pool *pool_in_force(const struct commander *c, const char *name)
{
	const struct known_pool *p = pool_find(c, name);

	return p && !p->retired ? p : NULL;
}

uint32_t pool_version(const struct commander *c, const char *name)
{
	const struct known_pool *p = pool_in_force(c, name);

	return p ? p->version : 0;
}

bool pool_is(const struct commander *c, const char *name)
{
	return pool_in_force(c, name) != NULL;
}

void pool_learn(struct commander *c, const struct store_doc *d)
{
	struct known_pool *p = pool_find(c, d->name);

	if (!p) {
		c->pools = mem_grow(c->pools, c->n_pools + 1, sizeof *c->pools);
		p = &c->pools[c->n_pools++];
		*p = (struct known_pool){ .name = mem_str(d->name) };
	}
	p->id = d->id;
	p->version = d->version;
	p->retired = d->retired;
	pool_parse(d->body, d->body_len, &p->size);
	if (d->id > c->last_pool)
		c->last_pool = d->id;
}

void pools_forget(struct commander *c)
{
	for (size_t i = 0; i < c->n_pools; i++)
		free(c->pools[i].name);
	free(c->pools);
}
