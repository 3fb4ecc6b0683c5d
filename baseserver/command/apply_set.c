/* What the set of documents has, asked thousands of times in a large apply: workflows and tasks by
 * name or number, never by a walk over all of them. And when a piece of the work is over. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/yaml.h"

bool apply__enough(void *ctx)
{
	const struct apply *a = ctx;

	return a->sliced && actor_mono_us(a->c->me) >= a->until_us;
}

void apply__index(struct apply *a)
{
	CHECK(a->index.used == 0);
	for (size_t i = 0; i < a->n; i++) {
		const struct task *t = a->tasks[i];
		map_add(&a->index, t->id, (uint32_t)i);
		for (size_t k = 0; k < t->n_links; k++)
			if (map_get(&a->waited, t->links[k].parent) == MAP_NONE)
				map_add(&a->waited, t->links[k].parent, (uint32_t)i);
	}
}

const struct task *apply__task(const struct apply *a, uint32_t id)
{
	uint32_t i = map_get(&a->index, id);

	CHECK(i == MAP_NONE || (i < a->n && a->tasks[i]->id == id));
	return i == MAP_NONE ? NULL : a->tasks[i];
}

bool apply__in_set(const struct apply *a, uint32_t id)
{
	return map_get(&a->index, id) != MAP_NONE;
}

bool apply__has(const struct apply *a, const char *name)
{
	return workflow_set_find(a->set, name) < workflow_set_count(a->set);
}

bool apply__names(const struct apply *a, const char *name)
{
	return workflow_set_find(a->set, name) < a->n_given;
}

static char *workflow_of(const struct cat_task *t)
{
	return mem_strn(t->def->name, (size_t)(strrchr(t->def->name, '/') - t->def->name));
}

bool apply__has_own(const struct apply *a, const struct cat_task *t)
{
	char *name = workflow_of(t);
	bool has = apply__has(a, name);

	free(name);
	return has;
}

bool apply__prunes(const struct apply *a, const char *name)
{
	size_t n = strcspn(name, "/");

	for (const struct jval *v = a->cmd->o.prune ? a->cmd->o.prune->first : NULL; v; v = v->next)
		if (v->len == n && strncmp(v->text, name, n) == 0)
			return true;
	return false;
}

bool apply__owns(const struct apply *a, const struct cat_task *t)
{
	char *name = workflow_of(t);
	bool is = apply__names(a, name) || apply__prunes(a, name);

	free(name);
	return is;
}

const struct task *apply__waits_for(const struct apply *a, uint32_t parent)
{
	uint32_t i = map_get(&a->waited, parent);

	CHECK(i == MAP_NONE || i < a->n);
	return i == MAP_NONE ? NULL : a->tasks[i];
}

/* --- texts -------------------------------------------------------------------------------- */

const struct yaml_node *apply__root(const char *text, size_t len, struct yaml_doc ***docs,
                                    size_t *n)
{
	struct diags d;

	diags_init(&d);
	*docs = NULL;
	*n = 0;
	int r = text ? yaml_read(text, len, "", &d, docs, n) : E_NOT_FOUND;
	diags_done(&d);
	return r == 0 && *n ? yaml_root((*docs)[0]) : NULL;
}

void apply__free_docs(struct yaml_doc **docs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		yaml_free(docs[i]);
	free(docs);
}
