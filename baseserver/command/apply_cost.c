/* Is what is saved anew within the budgets? Documents that stay as they are, and stored ones, are
 * counted and never refused: a budget that became smaller stops no save of something else. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "sched/cost.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/log.h"

enum { SOME = 64 }; /* tasks between two looks at the clock */

struct cost_project {
	char *name;
	int64_t before, after; /* dates that the links of its tasks look at */
	bool anew;             /* one of its documents is */
};

struct apply_cost {
	struct cost all, document;
	int64_t from;
	size_t workflow, task, first; /* of the documents: at hand */
	size_t stored;                /* of the catalog: the id that is next */
	struct cost_project *projects;
	size_t n;
	struct map by_name;
};

static const struct task *parent_of(void *ctx, uint32_t id)
{
	const struct apply *a = ctx;
	const struct task *own = apply__task(a, id);

	if (own)
		return own;
	const struct cat_task *t = catalog_task(&a->c->cat, id);
	return t ? t->def : NULL;
}

/* NULL: none of the documents is of that project. */
static struct cost_project *project_of(const struct apply_cost *k, const char *task)
{
	size_t len = strcspn(task, "/"), at;
	char *name = mem_strn(task, len);
	struct cost_project *found = NULL;

	for (uint32_t i = map_first(&k->by_name, map_text(name), &at); i != MAP_NONE && !found;
	     i = map_next(&k->by_name, map_text(name), &at))
		if (strcmp(k->projects[i].name, name) == 0)
			found = &k->projects[i];
	free(name);
	return found;
}

static void list_projects(const struct apply *a, struct apply_cost *k)
{
	map_init(&k->by_name);
	for (size_t i = 0; i < a->n_given; i++) {
		const char *name = workflow_name(workflow_set_at(a->set, i));
		struct cost_project *p = project_of(k, name);
		if (!p) {
			k->projects = mem_grow(k->projects, k->n + 1, sizeof *k->projects);
			p = &k->projects[k->n];
			*p = (struct cost_project){ .name = mem_strn(name, strcspn(name, "/")) };
			map_add(&k->by_name, map_text(p->name), (uint32_t)k->n++);
		}
		p->anew = p->anew || a->differs[i];
	}
}

static int refuse_cost(const struct apply *a, struct buf *why)
{
	int r = refuse(a->f, E_INVALID, "args.documents", NULL, "%s", buf_str(why));

	buf_done(why);
	return r;
}

static int judge_document(struct apply *a, struct apply_cost *k)
{
	const char *name = workflow_name(workflow_set_at(a->set, k->workflow));
	bool anew = a->differs[k->workflow];
	struct buf why;

	cost_join(&k->all, &k->document);
	project_of(k, name)->after += k->document.dates;
	buf_init(&why);
	if (anew && !cost_within(&k->document, &a->c->set.budget, name, parent_of, a, &why))
		return refuse_cost(a, &why);
	buf_done(&why);
	k->document = (struct cost){ 0 };
	return 0;
}

/* 1: it goes on */
static int cost_documents(struct apply *a, struct apply_cost *k)
{
	for (size_t n = 0; k->workflow < a->n_given; k->workflow++, k->task = 0) {
		size_t tasks = workflow_tasks(workflow_set_at(a->set, k->workflow));
		for (; k->task < tasks; k->task++, n++) {
			if (n % SOME == SOME - 1 && apply__enough(a))
				return 1;
			cost_add(&k->document, a->tasks[k->first++], k->from, parent_of, a);
		}
		int r = judge_document(a, k);
		if (r < 0)
			return r;
	}
	return 0;
}

static int cost_stored(struct apply *a, struct apply_cost *k)
{
	const struct catalog *cat = &a->c->cat;
	bool anew = false;

	for (size_t i = 0; !anew && i < k->n; i++)
		anew = k->projects[i].anew;
	for (size_t n = 0; anew && k->stored < cat->tasks_cap; k->stored++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)k->stored);
		struct cost_project *p = t && !catalog_retired(t) ? project_of(k, t->def->name)
		                                                  : NULL;
		if (++n % SOME == 0 && apply__enough(a))
			return 1;
		if (!p || !p->anew)
			continue;
		struct cost cost = { 0 };
		cost_add(&cost, t->def, k->from, parent_of, a);
		p->before += cost.dates;
		if (!apply__owns(a, t))
			p->after += cost.dates;
	}
	return 0;
}

static int judge_projects(struct apply *a, struct apply_cost *k)
{
	int64_t max = a->c->set.budget.project;

	for (size_t i = 0; i < k->n && max; i++) {
		const struct cost_project *p = &k->projects[i];
		if (!p->anew || p->after <= max || p->after <= p->before)
			continue;
		struct buf why;
		buf_init(&why);
		cost_project_why(p->name, p->after, max, &why);
		return refuse_cost(a, &why);
	}
	return 0;
}

void apply__cost_free(struct apply *a)
{
	struct apply_cost *k = a->cost;

	for (size_t i = 0; k && i < k->n; i++)
		free(k->projects[i].name);
	if (k) {
		free(k->projects);
		map_done(&k->by_name);
	}
	free(k);
	free(a->differs);
}

int apply__cost(struct apply *a)
{
	if (!a->cost) {
		a->cost = mem_new(sizeof *a->cost);
		*a->cost = (struct apply_cost){ .from = a->cmd->o.now_us / US_PER_S };
		list_projects(a, a->cost);
	}
	int r = cost_documents(a, a->cost);
	if (r == 0)
		r = cost_stored(a, a->cost);
	return r == 0 ? judge_projects(a, a->cost) : r;
}

void apply__print_cost(const struct apply *a, struct buf *out)
{
	const struct cost *c = &a->cost->all;

	put_open(out, "cost", '{');
	put_int(out, "tasks", c->tasks);
	put_int(out, "parts", c->parts);
	put_int(out, "links", c->links);
	put_int(out, "dates", c->dates);
	put_int(out, "widest", c->widest);
	put_int(out, "year", c->year);
	put_close(out, '}');
}

static const struct task *stored_parent(void *ctx, uint32_t id)
{
	const struct cat_task *t = catalog_task(ctx, id);

	return t ? t->def : NULL;
}

static bool looks_far(const struct task *t)
{
	for (size_t i = 0; i < t->n_links; i++)
		if (t->links[i].kind != LK_SAME && t->links[i].kind != LK_SMALL)
			return true;
	return false;
}

/* A line for the first such task of each workflow. */
void budget__notice(const struct commander *c)
{
	struct catalog *cat = (struct catalog *)(uintptr_t)&c->cat;
	int64_t from = actor_wall_us(c->me) / US_PER_S;
	uint32_t told = 0;

	for (size_t i = 0; i < cat->tasks_cap && c->set.budget.window; i++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)i);
		struct cost cost = { 0 };
		if (!t || catalog_retired(t) || t->row.workflow_id == told || !looks_far(t->def))
			continue;
		cost_add(&cost, t->def, from, stored_parent, cat);
		if (cost.widest <= c->set.budget.window)
			continue;
		told = t->row.workflow_id;
		log_warn("document.over_budget",
		         "task=%s need=%zu dates=%" PRId64 " window_dates_max=%" PRId64,
		         t->def->name, cost.widest_link, cost.widest, c->set.budget.window);
	}
}
