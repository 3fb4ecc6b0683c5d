/* A small random workflow: minute tasks and a five-minute one, linked in every way. */
#include <stdlib.h>
#include <string.h>

#include "rt/zones.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sim.h"
#include "util/alloc.h"
#include "util/check.h"

static struct plan *plan_of(enum cycle_unit unit, int32_t step, int64_t start, int64_t end)
{
	const struct tz *tz;
	struct plan *p;

	CHECK(zones_get("UTC", &tz, NULL) == 0);
	struct schedule s = { .unit = unit, .step = step, .tz = tz, .start = start, .end = end,
		              .anchor = start };
	CHECK(plan_new(&s, &p, NULL) == 0);
	return p;
}

static void add_link(struct task *t, struct task_link l)
{
	t->links = mem_grow(t->links, t->n_links + 1, sizeof *t->links);
	t->links[t->n_links++] = l;
}

static void random_links(struct task *ts[TASKS], size_t i)
{
	struct task *t = ts[i];
	size_t n = i ? rnd(3) : 0;

	for (size_t k = 0; k < n; k++) {
		struct task *p = ts[rnd((uint32_t)i)];
		struct task_link l = { .parent = p->id, .kind = LK_SAME };
		if (plan_step(t->plan) > plan_step(p->plan))
			l.kind = LK_LARGE;
		else if (plan_step(t->plan) < plan_step(p->plan))
			l.kind = LK_SMALL;
		else if (chance(250))
			l = (struct task_link){ .parent = p->id, .kind = LK_PREV, .prev = 1 + (int)rnd(2) };
		if (chance(150))
			l.on = ON_DONE;
		if (chance(150))
			l.strategy = LS_ANY;
		add_link(t, l);
	}
	if (chance(200))
		add_link(t, (struct task_link){ .parent = t->id, .kind = LK_PREV, .prev = 1 });
}

static struct task *task_of(uint32_t id, int64_t start, int64_t end)
{
	struct task *t = mem_new(sizeof *t);

	t->refs = 1;
	t->id = id;
	t->version = 1;
	t->workflow_id = 1;
	t->state = TS_ONLINE;
	t->memory = mem_fmt("sim/w/t%u", id);
	t->name = t->memory;
	t->type = "t";
	t->group = t->owner = t->run_as = "";
	t->plan = plan_of(CU_MINUTE, id % 4 == 3 ? 5 : 1, start, end);
	t->priority = 1 + (int)rnd(10);
	t->concurrency = chance(500) ? 1 + (int)rnd(3) : 0;
	t->workflow_cap = 10;
	t->max_attempts = 1 + (int)rnd(4);
	t->retry_delay_us = (1 + rnd(20)) * SEC;
	t->retry_exponential = chance(500);
	t->retry_cap_us = 60 * SEC;
	t->infra_max = 1000;
	t->grace_us = 200 * MS;
	t->alive_wait_us = chance(300) ? 20 * SEC : 0;
	t->catchup = CATCHUP_ALL;
	t->serial = chance(150) ? SERIAL_ORDERED : SERIAL_PARALLEL;
	return t;
}

size_t tasks_make(struct task *ret[TASKS])
{
	int64_t start = wall_of(0) / SEC, end = start + 20 * 60;

	for (uint32_t i = 0; i < TASKS; i++)
		ret[i] = task_of(i + 1, start, end);
	for (size_t i = 0; i < TASKS; i++)
		random_links(ret, i);
	return TASKS;
}
