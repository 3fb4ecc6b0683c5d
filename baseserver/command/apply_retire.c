/* Tasks in force that their workflow's document no longer names, and workflows that a pruned
 * project no longer has: they retire with the edit, unless something still wants them. */
#include <stdlib.h>

#include "baseserver/command/apply_impl.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

int apply__may_retire(struct apply *a, const struct cat_task *t)
{
	const struct task *child = apply__waits_for(a, t->id);

	if (child)
		return refuse(a->f, E_CONFLICT, "args.documents", NULL,
		              "%s needs %s, which is no longer in its workflow's document",
		              child->name, t->def->name);
	if (!a->cmd->o.retire)
		return refuse(
			a->f, E_CONFLICT, "args.documents", "retire: true",
			"%s is in force and no longer in its workflow's document (sirdar apply "
			"--retire takes such tasks out of use)",
			t->def->name);
	if (t->live != SLAB_NONE)
		return refuse(a->f, E_CONFLICT, "args.documents", "take it offline first",
		              "%s has unfinished instances", t->def->name);
	for (size_t i = 0; i < t->n_children; i++) {
		const struct cat_task *ch = catalog_task(&a->c->cat, t->children[i]);
		if (ch && ch->row.state == TS_ONLINE && !apply__owns(a, ch))
			return refuse(a->f, E_CONFLICT, "args.documents", NULL,
			              "%s is online and depends on %s", ch->def->name,
			              t->def->name);
	}
	return 0;
}

static int by_workflow(const void *a, const void *b)
{
	const struct leaving *x = a, *y = b;

	if (x->workflow != y->workflow)
		return x->workflow < y->workflow ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

void apply__list_leaving(struct apply *a)
{
	const struct catalog *cat = &a->c->cat;

	CHECK(a->n_leaving == 0);
	for (size_t i = 0; i < cat->tasks_cap; i++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)i);
		if (!t || catalog_retired(t) || apply__in_set(a, t->id))
			continue;
		a->leaving = mem_room(a->leaving, &a->leaving_cap, a->n_leaving + 1,
		                      sizeof *a->leaving);
		a->leaving[a->n_leaving++] = (struct leaving){ t->row.workflow_id, t->id };
	}
	if (a->n_leaving)
		qsort(a->leaving, a->n_leaving, sizeof *a->leaving, by_workflow);
}

static int apply_retire_retire(struct apply *a, const struct cat_task *t)
{
	struct edit *e = a->e;
	int r = apply__may_retire(a, t);

	if (r < 0)
		return r;
	e->tasks = mem_grow(e->tasks, e->n_tasks + 1, sizeof *e->tasks);
	e->rows = mem_grow(e->rows, e->n_tasks + 1, sizeof *e->rows);
	e->tasks[e->n_tasks] = task_ref(t->def);
	e->rows[e->n_tasks] = t->row;
	e->rows[e->n_tasks++].state = TS_RETIRED;
	apply__change(a, "task", t->def->name, "retire", 0);
	return 0;
}

int apply__retire_missing(struct apply *a, const char *workflow)
{
	const struct name *known = names_find(&a->c->workflow_names, workflow);
	size_t lo = 0, hi = a->n_leaving;
	int r = 0;

	while (known && lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (a->leaving[mid].workflow < known->id)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; known && r == 0 && lo < a->n_leaving && a->leaving[lo].workflow == known->id; lo++)
		r = apply_retire_retire(a, catalog_task(&a->c->cat, a->leaving[lo].task));
	return r;
}

/* Workflows of a pruned project that the documents do not name. */
int apply__prune(struct apply *a)
{
	for (size_t i = 0; i < a->c->documents.all.n; i++) {
		const struct doc *d = &a->c->documents.all.items[i];
		if (d->retired || !apply__prunes(a, d->name) || apply__names(a, d->name) ||
		    name_is_test(d->name))
			continue;
		int r = apply__retire_missing(a, d->name);
		if (r == 0 && workflow_stored_library(d->body, d->len))
			r = apply__unused(a, d->name, "args.prune");
		if (r < 0)
			return r;
		apply__retire_doc(a, d);
		apply__change(a, "workflow", d->name, "retire", d->version + 1);
	}
	return 0;
}
