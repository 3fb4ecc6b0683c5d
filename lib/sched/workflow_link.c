/* Needs into links: names found, the short form decided, steps of a pipeline in a row.
 *
 * A need names a task by its own name, with its workflow, or whole; a name that nobody has is
 * refused with the nearest ones. The short form (`depend: 1`) means what the two cycles make of it
 * (link.h), and is refused where they leave a choice, with the explicit forms to choose from. In a
 * pipeline each step follows the one before it without saying so. */
#include "sched/plan_impl.h"
#include "sched/window.h"
#include "sched/workflow_impl.h"
#include "util/check.h"
#include "util/err.h"
#include "util/pile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HINTS_MAX = 50 }; /* looking for the nearest name takes time; many errors need no more */

static int by_name(const void *key, const void *item)
{
	return strcmp(key, (*(struct wf_made *const *)item)->t->full);
}

struct wf_made *wf__find(const struct wf_compiler *c, const char *full)
{
	struct wf_made **at = bsearch(full, c->by_name, c->n, sizeof *c->by_name, by_name);

	return at ? *at : NULL;
}

static struct place place_of(const struct wf_made *m, size_t i, const struct yaml_node *n)
{
	CHECK(i < m->t->needs.n);
	const struct yaml_node *need = m->t->needs.items[i].node;
	const char *field = "";
	char key[80];

	for (size_t k = 0; need->kind == YAML_MAP && k < need->n; k++)
		if (need->items[k] == n)
			field = need->keys[k]->text;
	snprintf(key, sizeof key, "needs[%zu]%s%s", i, *field ? "." : "", field);
	return wf__place(m, n, key);
}

/* What a name means in this workflow: project/workflow/task. */
static const char *full_name(struct wf_compiler *c, const struct wf_made *m, const char *name)
{
	const struct workflow *wf = m->wf;
	const char *slash = strchr(name, '/');

	if (!slash)
		return pile_fmt(c->pile, "%s/%s", wf->full, name);
	if (!strchr(slash + 1, '/'))
		name = pile_fmt(c->pile, "%s/%s", wf->project.text, name);
	if (!wf->test.value)
		return name;
	/* Its own tasks are those that are tried, not the saved ones of that name. */
	const char *own = pile_fmt(c->pile, "%s/%s/", wf->project.text, wf->name.text);
	size_t n = strlen(own);
	return strncmp(name, own, n) == 0 ? pile_fmt(c->pile, "%s/%s", wf->full, name + n) : name;
}

/* The part of a candidate's name that compares with a name as it was written; NULL: none does. */
static const char *comparable(const struct wf_made *m, const struct wf_made *other,
                              const char *written)
{
	const char *slash = strchr(written, '/');

	if (!slash)
		return other->wf == m->wf ? other->t->name : NULL;
	if (strchr(slash + 1, '/'))
		return other->t->full;
	if (strcmp(other->wf->project.text, m->wf->project.text) != 0)
		return NULL;
	return strchr(other->t->full, '/') + 1;
}

static void unknown_task(struct wf_compiler *c, const struct wf_made *m, struct place at,
                         const char *written, const char *full)
{
	struct nearest near = nearest_to(written);
	char hint[NEAREST_HINT_BYTES];

	for (size_t i = 0; i < c->n && c->d->errors < HINTS_MAX; i++) {
		const char *name = comparable(m, &c->made[i], written);
		if (name && &c->made[i] != m)
			nearest_try(&near, name);
	}
	const char *said = nearest_hint(&near, hint);
	diag_error(c->d, at, "unknown_task", said ? said : "give the file it is in as well",
	           "there is no task '%s'", full);
}

static bool counts_in_units(const struct plan *p)
{
	return p->has_cycle;
}

/* The explicit forms to choose from, for a message. */
static const char forms[] = "say which: depend: 1, 2, 3 or -n, or window: \"[@day, @day+1d)\"";

static bool pick_short(struct wf_compiler *c, const struct wf_made *m, struct place at,
                       const struct plan *parent, const char *name, struct task_link *l)
{
	const struct plan *child = m->plan, *p[2] = { child, parent };

	for (int i = 0; i < 2; i++) {
		if (counts_in_units(p[i]))
			continue;
		diag_error(
			c->d, at, "unclear_link", forms,
			"%s has the cycle '%s', which says nothing of which dates of %s are meant",
			i ? "the parent" : "the task", unit_name(p[i]->unit), name);
		return false;
	}
	int order = wf__cycles_compare(child, parent);
	const struct plan *longer = order >= 0 ? child : parent,
			  *shorter = order >= 0 ? parent : child;
	bool same = child->unit == parent->unit && plan_step(child) == plan_step(parent);
	if (!same && !wf__cycles_nest(longer, shorter)) {
		diag_error(c->d, at, "unclear_link", forms,
		           "periods of %d %s and of %d %s (%s) do not end together",
		           plan_step(child), unit_name(child->unit), plan_step(parent),
		           unit_name(parent->unit), name);
		return false;
	}
	l->kind = order == 0 ? LK_SAME : order > 0 ? LK_LARGE : LK_SMALL;
	return true;
}

static bool pick_window(struct wf_compiler *c, const struct wf_made *m, size_t i,
                        const struct wf_need *need, struct task_link *l)
{
	struct err err = { 0 };
	struct window_expr *window;

	l->kind = LK_WINDOW;
	if (window_parse(need->window.text, &window, &err) < 0) {
		diag_error(c->d, place_of(m, i, need->window.node), "window", NULL, "%s", err.text);
		return false;
	}
	l->window = window;
	return true;
}

static bool link_pick(struct wf_compiler *c, const struct wf_made *m, size_t i,
                      const struct wf_need *need, const struct plan *parent, struct task_link *l)
{
	static const enum link_kind kinds[] = { 0, LK_SAME, LK_LARGE, LK_SMALL };
	int32_t depend = need->depend.value;

	if (need->depend.node && need->window.node) {
		diag_error(c->d, place_of(m, i, need->window.node), "conflict", NULL,
		           "a need has a `depend` or a `window`, not both");
		return false;
	}
	if (need->window.node)
		return pick_window(c, m, i, need, l);
	if (!need->depend.node)
		return pick_short(c, m, place_of(m, i, need->node), parent, need->task.text, l);
	CHECK(depend < (int32_t)(sizeof kinds / sizeof kinds[0]));
	l->kind = depend < 0 ? LK_PREV : kinds[depend];
	l->prev = depend < 0 ? -depend : 0;
	return true;
}

static void add_link(struct wf_made *m, const struct task_link *l, const struct wf_need *need,
                     const struct wf_made *parent, const struct plan *plan,
                     const struct task *outside)
{
	m->links[m->n_links] = *l;
	m->needs[m->n_links] = need;
	m->parents[m->n_links] = parent;
	m->outside[m->n_links] = outside;
	m->parent_plans[m->n_links++] = plan;
}

static void make_room(struct wf_compiler *c, struct wf_made *m, size_t n)
{
	m->links = pile_take(c->pile, n * sizeof *m->links + 1);
	m->needs = pile_take(c->pile, n * sizeof *m->needs + 1);
	m->parents = pile_take(c->pile, n * sizeof *m->parents + 1);
	m->outside = pile_take(c->pile, n * sizeof *m->outside + 1);
	m->parent_plans = pile_take(c->pile, n * sizeof *m->parent_plans + 1);
}

static void make_link(struct wf_compiler *c, struct wf_made *m, size_t i)
{
	const struct wf_need *need = &m->t->needs.items[i];
	const char *full = full_name(c, m, need->task.text);
	const struct wf_made *parent = wf__find(c, full);
	const struct task *outside = NULL;
	struct task_link l = { .on = (enum link_on)need->on.value,
		               .strategy = (enum link_strategy)need->strategy.value,
		               .n = need->n,
		               .pass_after_s = need->pass_after_us.us / 1000000 };

	if (!parent && c->world->task)
		outside = c->world->task(c->world->ctx, full);
	if (!parent && !outside) {
		unknown_task(c, m, place_of(m, i, need->task.node), need->task.text, full);
		return;
	}
	const struct plan *plan = parent ? parent->plan : outside->plan;
	l.parent = parent ? parent->known.id : outside->id;
	if (l.on == ON_FAILURE && !need->strategy.node)
		l.strategy = LS_ANY;
	if (l.on == ON_FAILURE && need->pass_after_us.node) {
		diag_error(c->d, place_of(m, i, need->pass_after_us.node), "conflict", NULL,
		           "a link on failure cannot pass after a time");
		return;
	}
	if (plan && m->plan && link_pick(c, m, i, need, plan, &l))
		add_link(m, &l, need, parent, plan, outside);
}

void wf__make_links(struct wf_compiler *c, struct wf_made *m)
{
	const struct wf_needs *needs = &m->t->needs;

	make_room(c, m, needs->n);
	for (size_t i = 0; i < needs->n; i++)
		make_link(c, m, i);
	m->join = needs->n ? m->t->join.value : 0;
	if (m->join > (int32_t)needs->n)
		diag_error(c->d, wf__place(m, m->t->join.node, "join"), "wrong_value", NULL,
		           "join is %d, and the task has %zu needs", m->join, needs->n);
}

static void link_step(struct wf_made *m, const struct wf_made *parent, enum link_on on)
{
	struct task_link l = { .parent = parent->known.id,
		               .kind = LK_SAME,
		               .on = on,
		               .strategy = on == ON_FAILURE ? LS_ANY : LS_ALL,
		               .by_node = m->t->machines.n > 0 };

	add_link(m, &l, NULL, parent, parent->plan, NULL);
}

static bool is_strong(const struct wf_made *m)
{
	return !m->t->dependence.value;
}

/* A step follows the one before it, whatever became of that if it is weak, and only if the last
 * strong one before was good. `failed` runs when a strong one was not. */
void wf__make_steps(struct wf_compiler *c, struct wf_made *m)
{
	const struct workflow *wf = m->wf;
	struct wf_made *first = m - (m->t - wf->items), *strong = NULL;
	size_t before = (size_t)(m - first),
	       steps = wf->n - !!wf->finished.node - !!wf->failed.node;
	bool is_failed = wf->failed.node && m->t->node == wf->failed.node;

	CHECK(first->t == wf->items && before < wf->n);
	before = before < steps ? before : steps;
	make_room(c, m, before + 2);
	for (size_t i = 0; i < before; i++) {
		if (!is_strong(&first[i]))
			continue;
		strong = &first[i];
		if (is_failed)
			link_step(m, strong, ON_FAILURE);
	}
	if (is_failed) {
		m->join = 1;
		if (!strong)
			diag_error(c->d, wf__place(m, m->t->node, NULL), "conflict", NULL,
			           "`failed` can never run: no step is strong");
		return;
	}
	if (before && &first[before - 1] != strong)
		link_step(m, &first[before - 1], ON_DONE);
	if (strong)
		link_step(m, strong, ON_STRONG);
}
