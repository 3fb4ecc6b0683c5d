/* Graphs of numbered nodes: strongly connected parts, a cycle whose leads do not sum to less than
 * zero, an order with parents first. Nodes are 0 to n - 1 and edges an array; what a node stands
 * for is the caller's. Nothing calls itself, so that a chain of 100,000 tasks needs no stack;
 * memory and time are bounded by nodes and edges. */
#include "sched/graph.h"

#include "util/alloc.h"
#include "util/check.h"

#include <stdlib.h>
#include <string.h>

#define LEAD_MAX INT64_C(1000000000000)

/* Edges by child: those of node v are at[v] .. at[v + 1] of `by`. */
struct index {
	uint32_t *at, *by;
};

static struct index index_edges(size_t nodes, const struct graph_edge *edges, size_t n,
                                bool by_child)
{
	struct index x = { mem_array(nodes + 2, sizeof *x.at), mem_array(n + 1, sizeof *x.by) };

	for (size_t i = 0; i < n; i++)
		CHECK(edges[i].child < nodes && edges[i].parent < nodes);
	for (size_t i = 0; i < n; i++)
		x.at[(by_child ? edges[i].child : edges[i].parent) + 2]++;
	for (size_t v = 2; v < nodes + 2; v++)
		x.at[v] += x.at[v - 1];
	for (size_t i = 0; i < n; i++)
		x.by[x.at[(by_child ? edges[i].child : edges[i].parent) + 1]++] = (uint32_t)i;
	return x;
}

static void index_done(struct index *x)
{
	free(x->at);
	free(x->by);
}

/* --- strongly connected components: Tarjan's, with a stack of its own */

struct tarjan {
	const struct graph_edge *edges;
	struct index from;
	uint32_t *number, *low, *next, *stack, *calls, *component;
	uint32_t counter, stacked, depth, components;
};

static void tarjan_enter(struct tarjan *t, uint32_t v)
{
	CHECK(!t->number[v]);
	t->number[v] = t->low[v] = ++t->counter;
	t->next[v] = t->from.at[v];
	t->stack[t->stacked++] = v;
	t->calls[t->depth++] = v;
}

static void tarjan_leave(struct tarjan *t, uint32_t v)
{
	CHECK(t->depth > 0 && t->calls[t->depth - 1] == v);
	t->depth--;
	if (t->depth) {
		uint32_t up = t->calls[t->depth - 1];
		t->low[up] = t->low[v] < t->low[up] ? t->low[v] : t->low[up];
	}
	if (t->low[v] != t->number[v])
		return;
	t->components++;
	for (uint32_t w = UINT32_MAX; w != v;) {
		CHECK(t->stacked > 0);
		w = t->stack[--t->stacked];
		t->component[w] = t->components;
	}
}

static void tarjan_run(struct tarjan *t, uint32_t root)
{
	tarjan_enter(t, root);
	while (t->depth) {
		uint32_t v = t->calls[t->depth - 1];
		if (t->next[v] == t->from.at[v + 1]) {
			tarjan_leave(t, v);
			continue;
		}
		uint32_t w = t->edges[t->from.by[t->next[v]++]].parent;
		if (!t->number[w])
			tarjan_enter(t, w);
		else if (!t->component[w] && t->number[w] < t->low[v])
			t->low[v] = t->number[w];
	}
}

uint32_t *graph_parts(size_t nodes, const struct graph_edge *edges, size_t n)
{
	uint32_t *memory = mem_array(nodes * 5 + 1, sizeof *memory);
	struct tarjan t = { .edges = edges,
		            .from = index_edges(nodes, edges, n, true),
		            .number = memory,
		            .low = memory + nodes,
		            .next = memory + nodes * 2,
		            .stack = memory + nodes * 3,
		            .calls = memory + nodes * 4,
		            .component = mem_array(nodes + 1, sizeof *t.component) };

	for (uint32_t v = 0; v < nodes; v++)
		if (!t.number[v])
			tarjan_run(&t, v);
	CHECK(t.stacked == 0 && t.depth == 0);
	index_done(&t.from);
	free(memory);
	return t.component;
}

/* --- the largest sums of leads along edges, as Bellman and Ford find them. Leads are scaled so
 * that a cycle that sums to zero counts as growth, and only such or larger ones do. */

struct growth {
	size_t nodes, n;
	const struct graph_edge *edges;
	__int128 *sum;
	uint32_t *via; /* the edge that gave the sum, + 1 */
	uint32_t *seen;
};

static bool graph_grow(struct growth *g)
{
	bool grew = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct graph_edge *e = &g->edges[i];
		int64_t lead = e->lead > LEAD_MAX    ? LEAD_MAX
		               : e->lead < -LEAD_MAX ? -LEAD_MAX
		                                     : e->lead;
		__int128 sum = g->sum[e->parent] + (__int128)lead * (int64_t)(g->nodes + 1) + 1;
		if (sum <= g->sum[e->child])
			continue;
		g->sum[e->child] = sum;
		g->via[e->child] = (uint32_t)i + 1;
		grew = true;
	}
	return grew;
}

/* Is there a cycle among the edges that gave the sums? Any such cycle grows for ever. */
static size_t cycle_of(struct growth *g, uint32_t *ret_cycle)
{
	memset(g->seen, 0, g->nodes * sizeof *g->seen);
	for (uint32_t root = 0; root < g->nodes; root++) {
		uint32_t v = root;
		while (g->via[v] && !g->seen[v]) {
			g->seen[v] = root + 1;
			v = g->edges[g->via[v] - 1].parent;
		}
		if (!g->via[v] || g->seen[v] != root + 1)
			continue;
		size_t n = 0;
		for (uint32_t w = v; n == 0 || w != v; w = g->edges[g->via[w] - 1].parent)
			ret_cycle[n++] = w;
		CHECK(n <= g->nodes);
		return n;
	}
	return 0;
}

/* Begin with the smallest number, so that the same cycle is told the same way. */
static void rotate(uint32_t *cycle, size_t n)
{
	size_t least = 0;
	uint32_t *copy = mem_array(n, sizeof *copy);

	CHECK(n > 0);
	for (size_t i = 1; i < n; i++)
		if (cycle[i] < cycle[least])
			least = i;
	for (size_t i = 0; i < n; i++)
		copy[i] = cycle[(least + i) % n];
	memcpy(cycle, copy, n * sizeof *cycle);
	free(copy);
}

static size_t graph_search(size_t nodes, const struct graph_edge *edges, size_t n,
                           uint32_t *ret_cycle)
{
	struct growth g = { .nodes = nodes, .n = n, .edges = edges };
	size_t found = 0;

	g.sum = mem_array(nodes + 1, sizeof *g.sum);
	g.via = mem_array(nodes + 1, sizeof *g.via);
	g.seen = mem_array(nodes + 1, sizeof *g.seen);
	/* A look for the cycle costs as much as a round: take it at rounds 1, 2, 4, 8, ... */
	for (size_t round = 1; graph_grow(&g) && !found; round++)
		if ((round & (round - 1)) == 0)
			found = cycle_of(&g, ret_cycle);
	free(g.sum);
	free(g.via);
	free(g.seen);
	if (found)
		rotate(ret_cycle, found);
	return found;
}

size_t graph_cycle(size_t nodes, const struct graph_edge *edges, size_t n, uint32_t *ret_cycle)
{
	uint32_t *component = graph_parts(nodes, edges, n);
	struct graph_edge *inner = mem_array(n + 1, sizeof *inner);
	size_t kept = 0, found = 0;

	for (size_t i = 0; i < n; i++)
		if (component[edges[i].child] == component[edges[i].parent])
			inner[kept++] = edges[i];
	if (kept)
		found = graph_search(nodes, inner, kept, ret_cycle);
	free(inner);
	free(component);
	return found;
}

size_t graph_order(size_t nodes, const struct graph_edge *edges, size_t n, uint32_t *ret_order)
{
	struct index children = index_edges(nodes, edges, n, false);
	uint32_t *open = mem_array(nodes + 1, sizeof *open);
	size_t ordered = 0;

	for (size_t i = 0; i < n; i++)
		open[edges[i].child]++;
	for (uint32_t v = 0; v < nodes; v++)
		if (!open[v])
			ret_order[ordered++] = v;
	for (size_t done = 0; done < ordered; done++) {
		uint32_t v = ret_order[done];
		for (uint32_t i = children.at[v]; i < children.at[v + 1]; i++) {
			uint32_t child = edges[children.by[i]].child;
			CHECK(open[child] > 0);
			if (--open[child] == 0)
				ret_order[ordered++] = child;
		}
	}
	CHECK(ordered <= nodes);
	index_done(&children);
	free(open);
	return ordered;
}
