/* Names by id, added and replaced but never taken out: an id keeps its meaning for good. A name
 * that is asked for and absent sets a mark, and the disk thread, which is the only writer, then
 * reads all names anew. Readers get a copy under the lock, never a pointer. */
#include "cgi/server/names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/map.h"

struct names {
	pthread_mutex_t mu; /* guards all below */
	struct map by_id[NAMES_KINDS];
	char **texts;
	uint32_t n;
	size_t cap;
	bool missed;
};

struct names *names_new(void)
{
	struct names *n = mem_new(sizeof *n);

	pthread_mutex_init(&n->mu, NULL);
	for (int k = 0; k < NAMES_KINDS; k++)
		map_init(&n->by_id[k]);
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->n; i++)
		free(n->texts[i]);
	free(n->texts);
	for (int k = 0; k < NAMES_KINDS; k++)
		map_done(&n->by_id[k]);
	pthread_mutex_destroy(&n->mu);
	free(n);
}

void names_set(struct names *n, enum names_kind kind, uint32_t id, const char *name)
{
	uint32_t at;

	pthread_mutex_lock(&n->mu);
	at = map_get(&n->by_id[kind], id);
	CHECK(at == MAP_NONE || at < n->n);
	if (at == MAP_NONE) {
		n->texts = mem_room(n->texts, &n->cap, n->n + 1, sizeof *n->texts);
		at = n->n++;
		n->texts[at] = mem_str(name);
		map_add(&n->by_id[kind], id, at);
	} else if (strcmp(n->texts[at], name) != 0) {
		free(n->texts[at]);
		n->texts[at] = mem_str(name);
	}
	pthread_mutex_unlock(&n->mu);
}

bool names_get(struct names *n, enum names_kind kind, uint32_t id, char ret[NAMES_MAX])
{
	uint32_t at;

	pthread_mutex_lock(&n->mu);
	at = map_get(&n->by_id[kind], id);
	if (at != MAP_NONE)
		snprintf(ret, NAMES_MAX, "%s", n->texts[at]);
	else
		n->missed = true;
	pthread_mutex_unlock(&n->mu);
	return at != MAP_NONE;
}

bool names_missed(struct names *n)
{
	bool missed;

	pthread_mutex_lock(&n->mu);
	missed = n->missed;
	n->missed = false;
	pthread_mutex_unlock(&n->mu);
	return missed;
}

uint32_t names_count(struct names *n)
{
	uint32_t count;

	pthread_mutex_lock(&n->mu);
	count = n->n;
	pthread_mutex_unlock(&n->mu);
	return count;
}
