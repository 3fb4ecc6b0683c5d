/* A small random workflow: minute tasks and five-minute ones, linked in every way; and its
 * edits, each a version of its own. */
#include <stdio.h>
#include <stdlib.h>

#include "rt/zones.h"
#include "sched/plan.h"
#include "sched/rank.h"
#include "sched/task.h"
#include "sched/window.h"
#include "sim.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

enum { VERSIONS = 512, LINKS = 4 };

/* One piece of memory, as a compiled task has. */
struct made {
	struct task task;
	struct task_link links[LINKS];
	struct task_pool pools[POOLS - 1];
	char name[32];
};

static struct task *versions[TASKS + 1][VERSIONS];
static uint32_t n_versions[TASKS + 1];

static int64_t begins[TASKS + 1]; /* of its plan, whatever it is edited to: task_begins_at() */

static struct plan *plan_of(int32_t step, int64_t begin)
{
	int64_t start = WALL_BASE_US / SEC;
	const struct tz *tz;
	struct plan *p;

	CHECK(zones_get("UTC", &tz, NULL) == 0);
	struct schedule s = { .unit = CU_MINUTE,
		              .step = step,
		              .tz = tz,
		              .start = start,
		              .end = start + PLANNED_US / SEC,
		              .anchor = start };
	CHECK(plan_new(&s, &p, NULL) == 0);
	plan_begin_at(p, begin);
	return p;
}

static const char *const texts[] = { "[@hour, t]", "(t-3m, t]",     "[t-5m, t)",
	                             "{latest}",   "[@hour, t-1m]", "{t, t-4m}" };
enum { WINDOWS = sizeof texts / sizeof texts[0] };

/* The task's to free. */
static struct window_expr *random_window(void)
{
	struct window_expr *w = NULL;
	struct err err;

	if (window_parse(texts[rnd(WINDOWS)], &w, &err) < 0)
		break_invariant("C0", "a window of ours: %s", err.text);
	return w;
}

static struct task_link random_link(const struct task *t, const struct task *p)
{
	struct task_link l = { .parent = p->id, .kind = LK_SAME };

	if (plan_step(t->plan) > plan_step(p->plan))
		l.kind = LK_LARGE;
	else if (plan_step(t->plan) < plan_step(p->plan))
		l.kind = LK_SMALL;
	else if (chance(250))
		l = (struct task_link){ .parent = p->id, .kind = LK_PREV, .prev = 1 + (int)rnd(2) };
	if (chance(150)) /* whatever the two cycles are */
		l = (struct task_link){ .parent = p->id,
			                .kind = LK_WINDOW,
			                .window = random_window() };
	if (chance(150))
		l.on = ON_DONE;
	else if (chance(scenario == SC_FORCES ? 600 : 120))
		l.on = ON_FAILURE;
	if (chance(250)) {
		l.strategy = (enum link_strategy)(LS_ANY + rnd(4));
		l.n = l.strategy == LS_ANY ? 0 : 1 + (int32_t)rnd(3);
	}
	if (scenario == SC_PASSES && chance(600))
		l.pass_after_s = 2 + rnd(40);
	else if (chance(60))
		l.pass_after_s = 10 + rnd(100);
	return l;
}

static void random_links(struct task *t)
{
	size_t n = t->id > 1 ? rnd(LINKS - 1) : 0;

	if (scenario == SC_PASSES && t->id > 2)
		n = 2;

	t->n_links = 0;
	for (size_t k = 0; k < n; k++)
		t->links[t->n_links++] = random_link(t, task_now(1 + rnd(t->id - 1)));
	if (chance(200))
		t->links[t->n_links++] = (struct task_link){ .parent = t->id,
			                                     .kind = LK_PREV,
			                                     .prev = 1 };
	t->join = t->n_links > 1 && chance(150) ? 1 : 0;
}

/* None, one or both pools, up to the two slots that each always has. */
static void random_pools(struct task *t)
{
	int first = (int)rnd(POOLS - 1);

	t->n_pools = chance(300) ? 1 + rnd(POOLS - 1) : 0;
	for (size_t k = 0; k < t->n_pools; k++)
		t->pools[k] = (struct task_pool){ pool_name((first + (int)k) % (POOLS - 1)),
			                          1 + (int32_t)rnd(2) };
}

static const char *const machine_names[BROKERS] = { "b0", "b1", "b2" };

static const struct expr *least(void)
{
	static struct expr *e;
	struct expr_wrong wrong;

	if (!e)
		CHECK(rank_read("running / 3 + (name == \"b1\" ? 0.5 : 0)", &e, &wrong) == 0);
	return e;
}

static void random_settings(struct task *t)
{
	static const int64_t lives[] = { 2 * SEC, 5 * SEC, 20 * SEC };

	t->priority = 1 + (int)rnd(10);
	t->concurrency = chance(500) ? 1 + (int)rnd(3) : 0;
	t->max_attempts = 1 + (int)rnd(4);
	t->retry_delay_us = (1 + rnd(20)) * SEC;
	t->retry_exponential = chance(500);
	t->retry_cap_us = MINUTE;
	t->alive_wait_us = chance(300) ? lives[rnd(3)] : 0;
	t->expire_after_us = chance(100) ? (30 + rnd(200)) * SEC : 0;
	t->on_lost_hold = chance(150);
	t->serial = chance(150) ? SERIAL_ORDERED : chance(50) ? SERIAL_UNORDERED : SERIAL_PARALLEL;
	t->overlap = OVERLAP_ALLOW;
	if ((scenario == SC_OVERLAPS || scenario == SC_RETURNS) && t->serial == SERIAL_PARALLEL)
		t->overlap = (enum task_overlap)rnd(OVERLAP_REPLACE + 1);
	t->overlap_run = false;
	t->dispatch = (enum task_dispatch)rnd(DISPATCH_BROADCAST);
	if (t->dispatch == DISPATCH_LEAST_LOADED && t->id % 2) { /* as much by an expression */
		t->dispatch = DISPATCH_LEAST;
		t->least = least();
	}
	if (parts &&
	    chance(scenario == SC_PARTS
	                   ? 600
	                   : 100)) { /* on each broker that is there, or on those with a name */
		t->dispatch = DISPATCH_BROADCAST;
		t->least = NULL;
		t->machines = chance(400) ? machine_names : NULL;
		t->n_machines = t->machines ? 1 + rnd(BROKERS) : 0;
	}
}

static struct task *task_make(uint32_t id, uint32_t version)
{
	struct made *m = mem_new(sizeof *m);
	struct task *t = &m->task;

	t->memory = m;
	t->refs = 1;
	t->id = id;
	t->version = version;
	t->workflow_id = 1;
	t->state = TS_ONLINE;
	bool is_next = scenario == SC_NEIGHBOURS && id % 2 == 0; /* of the other project */
	snprintf(m->name, sizeof m->name, "%s/w/t%u", is_next ? "by" : "sim", id);
	t->name = m->name;
	t->type = "t";
	t->group = t->owner = t->run_as = "";
	t->links = m->links;
	t->pools = m->pools;
	t->plan = plan_of(id % 4 == 3 ? 5 : 1, begins[id]);
	t->workflow_cap = scenario == SC_NEIGHBOURS ? 0 : 10; /* the checker's is of one project */
	t->infra_max = scenario == SC_SICK ? 10 : 1000;
	t->grace_us = 200 * MS;
	random_settings(t);
	random_pools(t);
	return t;
}

static const char *window_of(const struct task_link *l)
{
	static char text[64];
	struct buf b;

	if (!l->window)
		return "";
	buf_init(&b);
	window_print(l->window, &b);
	snprintf(text, sizeof text, " %s", buf_str(&b));
	buf_done(&b);
	return text;
}

/* Beside what a task has alone: its links, or its place in the pipeline. */
static void random_place(struct task *t)
{
	if (flow_has(t->id))
		flow_define(t);
	else
		random_links(t);
}

static void note_task(const struct task *t)
{
	static const char *const kinds[] = { "same", "large", "small", "prev", "window" };

	note("task %u v%u: join %d serial %d overlap %d cap %d attempts %d catchup %d%s", t->id,
	     t->version, (int)t->join, (int)t->serial, (int)t->overlap, (int)t->concurrency,
	     (int)t->max_attempts, (int)t->catchup, t->pipeline ? ", of the pipeline" : "");
	for (size_t k = 0; k < t->n_machines; k++)
		note("  part %zu on %s", k + 1, t->machines[k]);
	for (size_t k = 0; k < t->n_links; k++)
		note("  link %s %d%s of task %u, on %d strategy %d %d pass %d",
		     kinds[t->links[k].kind], (int)t->links[k].prev, window_of(&t->links[k]),
		     t->links[k].parent, (int)t->links[k].on, (int)t->links[k].strategy,
		     (int)t->links[k].n, (int)t->links[k].pass_after_s);
}

static struct task *keep(struct task *t)
{
	CHECK(t->version == n_versions[t->id] + 1 && t->version <= VERSIONS);
	versions[t->id][n_versions[t->id]++] = t;
	return t;
}

void tasks_make(void)
{
	flow_make(swarm.flows);
	for (uint32_t id = 1; id <= TASKS; id++) {
		begins[id] = swarm.begins ? WALL_BASE_US / SEC + (int64_t)rnd(6) * 60 : INT64_MIN;
		struct task *t = keep(task_make(id, 1));
		if (chance(scenario == SC_SILENCES ? 900 : 250))
			t->catchup = chance(500) ? CATCHUP_LATEST : CATCHUP_NONE;
		else if (chance(100))
			t->catchup_max = 1 + (int)rnd(3);
		random_place(t);
		note_task(t);
	}
}

struct task *task_edit(uint32_t id)
{
	const struct task *was = task_now(id);

	if (n_versions[id] == VERSIONS)
		return NULL;
	struct task *t = keep(task_make(id, n_versions[id] + 1));
	t->catchup = was->catchup;
	t->catchup_max = was->catchup_max;
	random_place(t);
	note_task(t);
	return t;
}

void task_begins_at(uint32_t id, int64_t from)
{
	for (uint32_t v = 0; v < n_versions[id]; v++) {
		struct task *was = versions[id][v];
		if (plan_begin(was->plan) == from)
			continue;
		struct plan *plan = plan_of(plan_step(was->plan), from);
		versions[id][v] = task_with_plan(was, plan);
		task_unref(was);
	}
	begins[id] = from;
}

void tasks_free(void)
{
	for (uint32_t id = 1; id <= TASKS; id++) {
		while (n_versions[id] > 0)
			task_unref(versions[id][--n_versions[id]]);
	}
}

const struct task *task_version(uint32_t id, uint32_t version)
{
	CHECK(id >= 1 && id <= TASKS);
	return version >= 1 && version <= n_versions[id] ? versions[id][version - 1] : NULL;
}

const struct task *task_now(uint32_t id)
{
	return versions[id][n_versions[id] - 1];
}
