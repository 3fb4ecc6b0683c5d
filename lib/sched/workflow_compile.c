/* A set of documents into tasks: plans first, then links between them, then what must hold of
 * the whole. */
#include "sched/cron.h"
#include "sched/graph.h"
#include "sched/window.h"
#include "sched/workflow_impl.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/pile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place wf_place(const struct wf_made *m, const struct yaml_node *n, const char *key)
{
	static _Thread_local char path[400];

	if (!n)
		n = m->t->node;
	snprintf(path, sizeof path, "%s%s%s", m->t->path, key ? "." : "", key ? key : "");
	return (struct place){
		.file = m->wf->file, .line = n->line, .column = n->column, .path = path
	};
}

static int by_full_name(const void *a, const void *b)
{
	return strcmp((*(struct wf_made *const *)a)->t->full,
	              (*(struct wf_made *const *)b)->t->full);
}

static void list_tasks(struct wf_compiler *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->set->n; i++)
		c->n += c->set->items[i]->n;
	c->made = pile_take(c->pile, c->n * sizeof *c->made + 1);
	c->by_name = pile_take(c->pile, c->n * sizeof *c->by_name + 1);
	for (size_t i = 0; i < c->set->n; i++) {
		const struct workflow *wf = c->set->items[i];
		uint32_t id = (uint32_t)i + 1, version = 1;
		if (c->world->workflow)
			c->world->workflow(c->world->ctx, wf->full, &id, &version);
		for (size_t k = 0; k < wf->n; k++, n++) {
			c->made[n] = (struct wf_made){
				.wf = wf, .t = &wf->items[k], .workflow_id = id, .version = version
			};
			c->by_name[n] = &c->made[n];
		}
	}
	qsort(c->by_name, c->n, sizeof *c->by_name, by_full_name);
}

static void check_baselines(struct wf_compiler *c)
{
	for (size_t i = 0; i < c->set->n; i++) {
		const struct workflow *wf = c->set->items[i];
		for (size_t k = 0; k < wf->n_baselines; k++) {
			const struct wf_text *task = &wf->baseline_items[k].task;
			if (!task->node || strchr(task->text, '/'))
				continue;
			char *full = mem_fmt("%s/%s", wf->full, task->text);
			if (!wf_find(c, full))
				diag_error(c->d,
				           (struct place){ wf->file, task->node->line,
				                           task->node->column, "baselines" },
				           "unknown_task", NULL, "there is no task '%s'", full);
			free(full);
		}
	}
}

/* --- link cycles, also through tasks that are not in the set */

struct web {
	struct wf_compiler *c;
	uint32_t *ids;               /* of node: made first, then those outside */
	const struct task **outside; /* of node - c->n */
	size_t n_outside, room;
	struct graph_edge *edges;
	size_t n_edges, edges_room;
	struct {
		uint32_t id, node;
	} * index; /* sorted by id: of made */
};

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void add_edge(struct web *w, uint32_t child, uint32_t parent, int64_t lead)
{
	if (w->n_edges == w->edges_room) {
		w->edges_room = w->edges_room ? w->edges_room * 2 : 64;
		w->edges = mem_grow(w->edges, w->edges_room, sizeof *w->edges);
	}
	w->edges[w->n_edges++] = (struct graph_edge){ child, parent, lead };
}

/* The node of an id, made if it is a task outside; UINT32_MAX if nobody knows it. */
static uint32_t node_of(struct web *w, uint32_t id)
{
	const struct workflow_world *world = w->c->world;
	const uint32_t *at = bsearch(&id, w->index, w->c->n, sizeof *w->index, by_id);

	if (at)
		return at[1];
	for (size_t i = 0; i < w->n_outside; i++)
		if (w->outside[i]->id == id)
			return (uint32_t)(w->c->n + i);
	const struct task *t = world->task_by_id ? world->task_by_id(world->ctx, id) : NULL;
	if (!t)
		return UINT32_MAX;
	if (w->n_outside == w->room) {
		w->room = w->room ? w->room * 2 : 16;
		w->outside = mem_grow(w->outside, w->room, sizeof *w->outside);
	}
	w->outside[w->n_outside++] = t;
	return (uint32_t)(w->c->n + w->n_outside - 1);
}

static const struct plan *plan_of(const struct web *w, uint32_t node)
{
	return node < w->c->n ? w->c->made[node].plan : w->outside[node - w->c->n]->plan;
}

static void gather(struct web *w)
{
	struct wf_compiler *c = w->c;

	for (size_t i = 0; i < c->n; i++) {
		const struct wf_made *m = &c->made[i];
		for (size_t k = 0; k < m->n_links; k++) {
			uint32_t parent = m->parents[k] ? (uint32_t)(m->parents[k] - c->made)
			                                : node_of(w, m->links[k].parent);
			if (parent != UINT32_MAX)
				add_edge(w, (uint32_t)i, parent,
				         link_lead(&m->links[k], m->parent_plans[k], m->plan));
		}
	}
	for (size_t i = 0; i < w->n_outside; i++) { /* grows while it goes */
		const struct task *t = w->outside[i];
		for (size_t k = 0; k < t->n_links; k++) {
			uint32_t parent = node_of(w, t->links[k].parent);
			if (parent != UINT32_MAX)
				add_edge(w, (uint32_t)(c->n + i), parent,
				         link_lead(&t->links[k], plan_of(w, parent), t->plan));
		}
	}
}

static void name_cycle(struct web *w, const uint32_t *cycle, size_t n)
{
	const struct wf_made *first = NULL;
	struct buf names;

	buf_init(&names);
	for (size_t i = 0; i <= n; i++) {
		uint32_t node = cycle[i % n];
		if (i < n && node < w->c->n && !first)
			first = &w->c->made[node];
		if (names.len < 700)
			buf_printf(&names, "%s%s", i ? " -> " : "",
			           node < w->c->n ? w->c->made[node].t->full
			                          : w->outside[node - w->c->n]->name);
		else if (i == n)
			buf_puts(&names, " -> ...");
	}
	const struct yaml_node *at = first->t->needs.node ? first->t->needs.node : first->t->node;
	diag_error(w->c->d, wf_place(first, at, "needs"), "cycle",
	           "let one of them wait for an earlier date: depend: -1", "a cycle of needs: %s",
	           buf_str(&names));
	buf_done(&names);
}

static void check_cycles(struct wf_compiler *c)
{
	struct web w = { .c = c };

	w.index = mem_array(c->n + 1, sizeof *w.index);
	for (size_t i = 0; i < c->n; i++) {
		w.index[i].id = c->made[i].known.id;
		w.index[i].node = (uint32_t)i;
	}
	qsort(w.index, c->n, sizeof *w.index, by_id);
	gather(&w);
	uint32_t *cycle = mem_array(c->n + w.n_outside + 1, sizeof *cycle);
	size_t n = graph_cycle(c->n + w.n_outside, w.edges, w.n_edges, cycle);
	/* One that runs outside the set alone is not the set's fault. */
	bool ours = false;
	for (size_t i = 0; i < n; i++)
		ours |= cycle[i] < c->n;
	if (ours)
		name_cycle(&w, cycle, n);
	free(cycle);
	free(w.index);
	free(w.outside);
	free(w.edges);
}

int wf_prepare(struct wf_compiler *c)
{
	size_t errors = c->d->errors;

	c->pile = pile_new();
	list_tasks(c);
	for (size_t i = 0; i < c->n; i++)
		wf_make_plan(c, &c->made[i]);
	for (size_t i = 0; i < c->n; i++) {
		struct wf_made *m = &c->made[i];
		(m->t->is_step ? wf_make_steps : wf_make_links)(c, m);
	}
	for (size_t i = 0; i < c->n; i++)
		wf_check_macros(c, &c->made[i]);
	check_baselines(c);
	if (c->d->errors == errors)
		check_cycles(c);
	return c->d->errors == errors ? 0 : E_INVALID;
}

void wf_compiler_done(struct wf_compiler *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct wf_made *m = &c->made[i];
		if (m->task)
			continue; /* all of it is the task's */
		for (size_t k = 0; k < m->n_links; k++)
			window_free((struct window_expr *)(uintptr_t)m->links[k].window);
		plan_free(m->plan);
		cron_free(m->cron);
	}
	pile_free(c->pile);
}

int workflow_compile(const struct workflow_set *set, const struct workflow_world *world,
                     struct diags *d, struct task ***ret_tasks, size_t *ret_n)
{
	struct wf_compiler c = { .set = set, .world = world, .d = d };
	int r = wf_prepare(&c);

	if (r == 0) {
		struct task **tasks = mem_array(c.n + 1, sizeof *tasks);
		for (size_t i = 0; i < c.n; i++)
			tasks[i] = c.made[i].task = wf_pack(&c.made[i]);
		*ret_tasks = tasks;
		*ret_n = c.n;
	}
	wf_compiler_done(&c);
	return r;
}
