/* Link cycles of a set, also those that run through tasks outside it.
 *
 * A cycle of links is an error only if it is one of dates: a task may wait for its own yesterday.
 * So each link has a lead, by how much the parent's date lies ahead of the child's (below nothing:
 * in the past), and a cycle counts if its leads add up to nothing or more. Leads are computed for
 * links between tasks that wait for each other in some way, which few do, since each costs a walk
 * over dates. */
#include "sched/graph.h"
#include "sched/workflow_impl.h"
#include "util/alloc.h"
#include "util/check.h"

#include <stdlib.h>

/* A link and the plans it joins. */
struct web_link {
	const struct task_link *link;
	const struct plan *parent, *child;
};

enum { LEADS_KEPT = 64 };

struct web {
	struct wf_compiler *c;
	const struct task **outside; /* of node - c->n */
	size_t n_outside, room;
	struct graph_edge *edges;
	struct web_link *links; /* of each edge */
	size_t n_edges, edges_room;
	uint32_t *part; /* of each node */
	size_t at;      /* of the edges: whose lead is next */
	struct map node_by_id;
	/* Leads take a while to find, and most links are like others. */
	struct web_link kept[LEADS_KEPT];
	int64_t leads[LEADS_KEPT];
	size_t n_kept;
};

static void add_edge(struct web *w, uint32_t child, uint32_t parent, struct web_link link)
{
	CHECK(child < w->c->n + w->n_outside && parent < w->c->n + w->n_outside);
	size_t room = w->edges_room;
	w->edges = mem_room(w->edges, &room, w->n_edges + 1, sizeof *w->edges);
	w->links = mem_room(w->links, &w->edges_room, w->n_edges + 1, sizeof *w->links);
	CHECK(room == w->edges_room && w->n_edges < room);
	w->links[w->n_edges] = link;
	w->edges[w->n_edges++] = (struct graph_edge){ child, parent, 0 };
}

/* The node of an id, made if it is a task outside; UINT32_MAX if nobody knows it. */
static uint32_t node_of(struct web *w, uint32_t id)
{
	const struct workflow_world *world = w->c->world;
	uint32_t node = map_get(&w->node_by_id, id);

	if (node != MAP_NONE)
		return node;
	const struct task *t = world->task_by_id ? world->task_by_id(world->ctx, id) : NULL;
	if (!t)
		return UINT32_MAX;
	w->outside = mem_room(w->outside, &w->room, w->n_outside + 1, sizeof *w->outside);
	node = (uint32_t)(w->c->n + w->n_outside);
	w->outside[w->n_outside++] = t;
	map_add(&w->node_by_id, id, node);
	return node;
}

static const struct plan *plan_of(const struct web *w, uint32_t node)
{
	CHECK(node < w->c->n + w->n_outside);
	return node < w->c->n ? w->c->made[node].plan : w->outside[node - w->c->n]->plan;
}

static void web_gather(struct web *w)
{
	struct wf_compiler *c = w->c;

	for (size_t i = 0; i < c->n; i++) {
		const struct wf_made *m = &c->made[i];
		for (size_t k = 0; k < m->n_links; k++) {
			uint32_t parent = m->parents[k] ? (uint32_t)(m->parents[k] - c->made)
			                                : node_of(w, m->links[k].parent);
			if (parent != UINT32_MAX)
				add_edge(w, (uint32_t)i, parent,
				         (struct web_link){ &m->links[k], m->parent_plans[k],
				                            m->plan });
		}
	}
	for (size_t i = 0; i < w->n_outside; i++) { /* grows while it goes */
		const struct task *t = w->outside[i];
		for (size_t k = 0; k < t->n_links; k++) {
			uint32_t parent = node_of(w, t->links[k].parent);
			if (parent != UINT32_MAX)
				add_edge(w, (uint32_t)(c->n + i), parent,
				         (struct web_link){ &t->links[k], plan_of(w, parent),
				                            t->plan });
		}
	}
}

/* Do two plans have the same run_dates? */
static bool same_dates(const struct plan *a, const struct plan *b)
{
	const struct schedule *x = plan_schedule(a), *y = plan_schedule(b);

	return a == b || (x->unit == y->unit && x->step == y->step && !x->cron && !y->cron &&
	                  x->tz == y->tz && x->start == y->start && x->end == y->end &&
	                  x->anchor == y->anchor && !x->calendar && !y->calendar);
}

static int64_t lead_of(struct web *w, const struct web_link *l)
{
	if (l->parent == l->child && l->link->kind == LK_PREV)
		return -1; /* its own past, however far */
	if (l->link->kind == LK_SAME && plan_unit(l->parent) == CU_NONE &&
	    plan_unit(l->child) == CU_NONE)
		return 0; /* no dates of a plan, and one run all the same */
	for (size_t i = 0; i < w->n_kept && l->link->kind != LK_WINDOW; i++) {
		const struct web_link *k = &w->kept[i];
		if (k->link->kind == l->link->kind && k->link->prev == l->link->prev &&
		    same_dates(k->parent, l->parent) && same_dates(k->child, l->child))
			return w->leads[i];
	}
	int64_t lead = link_lead(l->link, l->parent, l->child);
	if (w->n_kept < LEADS_KEPT && l->link->kind != LK_WINDOW) {
		w->kept[w->n_kept] = *l;
		w->leads[w->n_kept++] = lead;
	}
	return lead;
}

/* Only links between tasks that wait for each other in some way can close a circle. One of them;
 * false: there is none left. */
static bool find_lead(struct web *w)
{
	for (; w->at < w->n_edges; w->at++) {
		struct graph_edge *e = &w->edges[w->at];
		if (w->part[e->child] != w->part[e->parent])
			continue;
		e->lead = lead_of(w, &w->links[w->at++]);
		return true;
	}
	return false;
}

static void name_cycle(struct web *w, const uint32_t *cycle, size_t n)
{
	const struct wf_made *first = NULL;
	struct buf names;

	CHECK(n > 0);
	buf_init(&names);
	for (size_t i = 0; i <= n; i++) {
		uint32_t node = cycle[i % n];
		if (i < n && node < w->c->n && !first)
			first = &w->c->made[node];
		CHECK(node < w->c->n || w->outside);
		if (names.len < 700)
			buf_printf(&names, "%s%s", i ? " -> " : "",
			           node < w->c->n ? w->c->made[node].t->full
			                          : w->outside[node - w->c->n]->name);
		else if (i == n)
			buf_puts(&names, " -> ...");
	}
	CHECK(first); /* tasks outside alone are no circle of ours */
	diag_error(w->c->d, wf__place(first, first->t->needs.node, "needs"), "cycle",
	           "let one of them wait for an earlier date: depend: -1", "a cycle of needs: %s",
	           buf_str(&names));
	buf_done(&names);
}

static void web_new(struct wf_compiler *c)
{
	struct web *w = c->web = mem_new(sizeof *w);

	w->c = c;
	map_init(&w->node_by_id);
	for (size_t i = 0; i < c->n; i++)
		map_add(&w->node_by_id, c->made[i].known.id, (uint32_t)i);
	web_gather(w);
	w->part = graph_parts(c->n + w->n_outside, w->edges, w->n_edges);
}

void wf__web_free(struct wf_compiler *c)
{
	struct web *w = c->web;

	if (!w)
		return;
	map_done(&w->node_by_id);
	free(w->outside);
	free(w->edges);
	free(w->links);
	free(w->part);
	free(w);
	c->web = NULL;
}

bool wf__check_cycles(struct wf_compiler *c)
{
	if (!c->web)
		web_new(c);
	struct web *w = c->web;
	if (find_lead(w))
		return false;
	uint32_t *cycle = mem_array(c->n + w->n_outside + 1, sizeof *cycle);
	size_t n = graph_cycle(c->n + w->n_outside, w->edges, w->n_edges, cycle);
	/* One that runs outside the set alone is not the set's fault. */
	bool ours = false;
	for (size_t i = 0; i < n; i++)
		ours |= cycle[i] < c->n;
	if (ours)
		name_cycle(w, cycle, n);
	free(cycle);
	wf__web_free(c);
	return true;
}
