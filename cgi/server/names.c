/* Names by id, added and replaced but never taken out: an id keeps its meaning for good. A name
 * that is asked for and absent counts as a miss, and a thread that reads the store then reads all
 * names anew. Misses are counted, so that one that comes while another thread reads names is not
 * taken for looked for. Readers get a copy under the lock, never a pointer. */
#include "cgi/server/names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/zones.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/map.h"

struct entry {
	char *text;
	const struct tz *tz; /* of a task; NULL: not known */
	uint32_t version;
	uint8_t grain;
	bool is_bare; /* a row of an earlier release, which the server is about to write */
};

struct names {
	pthread_mutex_t mu; /* guards all below */
	struct map by_id[NAMES_KINDS];
	struct entry *entries;
	uint32_t n;
	size_t cap;
	char **projects; /* of the tasks, each once */
	size_t n_projects;
	uint32_t changes;
	uint64_t misses, looked_for;
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
		free(n->entries[i].text);
	free(n->entries);
	for (size_t i = 0; i < n->n_projects; i++)
		free(n->projects[i]);
	free(n->projects);
	for (int k = 0; k < NAMES_KINDS; k++)
		map_done(&n->by_id[k]);
	pthread_mutex_destroy(&n->mu);
	free(n);
}

/* Under the lock. */
static bool has_project(const struct names *n, const char *name, size_t len)
{
	for (size_t i = 0; i < n->n_projects; i++)
		if (strlen(n->projects[i]) == len && memcmp(n->projects[i], name, len) == 0)
			return true;
	return false;
}

/* Under the lock. */
static void project_of(struct names *n, const char *task)
{
	size_t len = strcspn(task, "/");

	if (has_project(n, task, len))
		return;
	n->projects = mem_grow(n->projects, n->n_projects + 1, sizeof *n->projects);
	n->projects[n->n_projects++] = mem_strn(task, len);
}

bool names_has_project(struct names *n, const char *name, size_t n_name)
{
	pthread_mutex_lock(&n->mu);
	bool has = has_project(n, name, n_name);
	pthread_mutex_unlock(&n->mu);
	return has;
}

/* Under the lock. */
static struct entry *entry_set(struct names *n, enum names_kind kind, uint32_t id, const char *name)
{
	uint32_t at = map_get(&n->by_id[kind], id);

	CHECK(at == MAP_NONE || at < n->n);
	if (at == MAP_NONE) {
		n->entries = mem_room(n->entries, &n->cap, n->n + 1, sizeof *n->entries);
		at = n->n++;
		n->entries[at] = (struct entry){ .text = mem_str(name) };
		map_add(&n->by_id[kind], id, at);
		n->changes++;
	} else if (strcmp(n->entries[at].text, name) != 0) {
		free(n->entries[at].text);
		n->entries[at].text = mem_str(name);
		n->changes++;
	}
	if (kind == NAMES_TASK)
		project_of(n, name);
	return &n->entries[at];
}

void names_set(struct names *n, enum names_kind kind, uint32_t id, const char *name)
{
	pthread_mutex_lock(&n->mu);
	entry_set(n, kind, id, name);
	pthread_mutex_unlock(&n->mu);
}

void names_set_task(struct names *n, const struct store_task *t)
{
	const struct tz *tz = NULL;

	if (t->zone && t->zone[0] && zones_get(t->zone, &tz, NULL) < 0)
		tz = NULL; /* the server has a zone that this machine has not */
	pthread_mutex_lock(&n->mu);
	struct entry *e = entry_set(n, NAMES_TASK, t->id, t->name);
	n->changes += e->version != t->version || e->tz != tz;
	e->tz = tz;
	e->version = t->version;
	e->grain = t->grain;
	e->is_bare = !t->zone || !t->zone[0];
	pthread_mutex_unlock(&n->mu);
}

void names_label(struct names *n, uint32_t task, uint32_t version, int64_t run_date,
                 char ret[LABEL_TEXT])
{
	struct entry e = { 0 };

	pthread_mutex_lock(&n->mu);
	uint32_t at = map_get(&n->by_id[NAMES_TASK], task);
	if (at != MAP_NONE)
		e = n->entries[at];
	if (at == MAP_NONE || e.version < version || e.is_bare)
		n->misses++;
	pthread_mutex_unlock(&n->mu);
	if (e.tz)
		label_print(e.tz, e.grain, run_date, ret);
	else
		when_print(run_date, ret);
}

const struct tz *names_zone(struct names *n, uint32_t task)
{
	const struct tz *tz = NULL;

	pthread_mutex_lock(&n->mu);
	uint32_t at = map_get(&n->by_id[NAMES_TASK], task);
	if (at != MAP_NONE)
		tz = n->entries[at].tz;
	n->misses += at == MAP_NONE;
	pthread_mutex_unlock(&n->mu);
	return tz ? tz : tz_utc();
}

bool names_get(struct names *n, enum names_kind kind, uint32_t id, char ret[NAMES_MAX])
{
	uint32_t at;

	pthread_mutex_lock(&n->mu);
	at = map_get(&n->by_id[kind], id);
	if (at != MAP_NONE)
		snprintf(ret, NAMES_MAX, "%s", n->entries[at].text);
	else
		n->misses++;
	pthread_mutex_unlock(&n->mu);
	return at != MAP_NONE;
}

bool names_missed(struct names *n)
{
	bool missed;

	pthread_mutex_lock(&n->mu);
	missed = n->misses > n->looked_for;
	pthread_mutex_unlock(&n->mu);
	return missed;
}

uint64_t names_misses(struct names *n)
{
	uint64_t misses;

	pthread_mutex_lock(&n->mu);
	misses = n->misses;
	pthread_mutex_unlock(&n->mu);
	return misses;
}

void names_loaded(struct names *n, uint64_t misses)
{
	pthread_mutex_lock(&n->mu);
	if (misses > n->looked_for)
		n->looked_for = misses;
	pthread_mutex_unlock(&n->mu);
}

uint32_t names_changes(struct names *n)
{
	uint32_t changes;

	pthread_mutex_lock(&n->mu);
	changes = n->changes;
	pthread_mutex_unlock(&n->mu);
	return changes;
}
