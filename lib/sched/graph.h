/* graph.h — cycles by leads, and topological order, over numbered nodes.
 *
 * (design: SEMANTICS section 2, Cycles.) An edge says that `child` waits for `parent`; its
 * lead is how far ahead of the child's date the parent's can be. Pure.
 */
#ifndef SCHED_GRAPH_H
#define SCHED_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph_edge {
	uint32_t child, parent; /* < nodes */
	int64_t lead;           /* seconds; values beyond 10^12 count as that */
};

/* Which nodes wait for each other in whatever way: the number of its part for each node, from 1.
 * No cycle leaves a part.
 *
 *   owns  the caller's to free() */
uint32_t *graph_parts(size_t nodes, const struct graph_edge *edges, size_t n);

/* Find a cycle of edges whose leads sum to zero or more: it would wait for itself.
 *
 *   ret_cycle  room for `nodes`; each waits for the next, the last for the first
 *   returns    how many nodes it has, 0 when there is none
 *   cost       nodes + edges where nothing is circular; nodes * edges within a tangle
 */
size_t graph_cycle(size_t nodes, const struct graph_edge *edges, size_t n, uint32_t *ret_cycle);

/* Parents before children.
 *
 *   ret_order  room for `nodes`
 *   returns    how many are ordered; less than `nodes` when some go in circles */
size_t graph_order(size_t nodes, const struct graph_edge *edges, size_t n, uint32_t *ret_order);

#endif
