/* A pipeline among the tasks of a seed: steps in a row, strong and weak, with hooks, most often
 * by node. Its members stay; nodes and strengths change with an edit of all of it. */
#include "sched/task.h"
#include "sim.h"

enum { STEPS_MAX = 3, ORDERS = 6 };

static const uint32_t step_ids[STEPS_MAX] = { 2, 4, 5 };
enum { FINISHED = 6, FAILED = 8 };

/* Part k is the k-th node's: an edit may turn them round. */
static const char *const orders[ORDERS][BROKERS] = {
	{ "b0", "b1", "b2" }, { "b0", "b2", "b1" }, { "b1", "b0", "b2" },
	{ "b1", "b2", "b0" }, { "b2", "b0", "b1" }, { "b2", "b1", "b0" },
};

static struct {
	size_t n_steps, n_nodes;
	const char *const *nodes;
	bool by_node, finished, failed;
	enum task_overlap overlap;
	bool strong[STEPS_MAX];
	enum catchup_mode catchup;
	int32_t catchup_max;
} flow;

static void draw_shape(void)
{
	bool any = false;

	flow.nodes = orders[rnd(ORDERS)];
	flow.n_nodes = flow.by_node ? 1 + rnd(BROKERS) : 0;
	for (size_t k = 0; k < flow.n_steps; k++)
		any = (flow.strong[k] = chance(700)) || any;
	flow.strong[0] = flow.strong[0] || (flow.failed && !any);
}

void flow_make(bool wanted)
{
	flow.n_steps = 0;
	if (!wanted)
		return;
	flow.n_steps = 2 + rnd(STEPS_MAX - 1);
	flow.by_node = chance(800);
	flow.finished = chance(400);
	flow.failed = chance(700);
	flow.overlap = chance(250) ? OVERLAP_SKIP : OVERLAP_ALLOW;
	if (scenario == SC_OVERLAPS || scenario == SC_RETURNS)
		flow.overlap = (enum task_overlap)rnd(OVERLAP_REPLACE + 1);
	flow.catchup = chance(250) ? (enum catchup_mode)rnd(3) : CATCHUP_ALL;
	flow.catchup_max = chance(100) ? 1 + (int)rnd(3) : 0;
	draw_shape();
}

void flow_edit(void)
{
	draw_shape();
}

/* Where it stands: 0.. a step, n_steps `finished`, -1: it is no member, or `failed`. */
static int place_of(uint32_t id)
{
	for (size_t k = 0; k < flow.n_steps; k++)
		if (step_ids[k] == id)
			return (int)k;
	return flow.n_steps && flow.finished && id == FINISHED ? (int)flow.n_steps : -1;
}

static bool is_failed(uint32_t id)
{
	return flow.n_steps && flow.failed && id == FAILED;
}

bool flow_has(uint32_t id)
{
	return place_of(id) >= 0 || is_failed(id);
}

static void add_link(struct task *t, uint32_t parent, enum link_on on)
{
	t->links[t->n_links++] = (struct task_link){ .parent = parent,
		                                     .kind = LK_SAME,
		                                     .on = on,
		                                     .strategy = on == ON_FAILURE ? LS_ANY : LS_ALL,
		                                     .by_node = flow.by_node };
}

/* As a document's steps become links: after the one before, if the last strong one was good. */
static void links_of(struct task *t)
{
	int place = place_of(t->id), strong = -1;

	for (int k = 0; is_failed(t->id) && k < (int)flow.n_steps; k++)
		if (flow.strong[k])
			add_link(t, step_ids[k], ON_FAILURE);
	if (is_failed(t->id)) {
		t->join = 1;
		return;
	}
	for (int k = 0; k < place; k++)
		strong = flow.strong[k] ? k : strong;
	if (place > 0 && strong != place - 1)
		add_link(t, step_ids[place - 1], ON_DONE);
	if (strong >= 0)
		add_link(t, step_ids[strong], ON_STRONG);
}

void flow_define(struct task *t)
{
	t->n_links = 0;
	t->join = 0;
	links_of(t);
	t->pipeline = true;
	t->fails_only = is_failed(t->id);
	t->overlap = flow.overlap;
	t->overlap_run = flow.overlap != OVERLAP_ALLOW;
	t->catchup = flow.catchup;
	t->catchup_max = flow.catchup_max;
	t->priority = 5;
	t->concurrency = 0;
	t->expire_after_us = 0;
	t->on_lost_hold = false;
	t->serial = SERIAL_PARALLEL;
	t->n_pools = 0;
	t->dispatch = flow.by_node ? DISPATCH_BROADCAST : DISPATCH_LEAST_LOADED;
	t->least = NULL;
	t->machines = flow.by_node ? flow.nodes : NULL;
	t->n_machines = flow.n_nodes;
}
