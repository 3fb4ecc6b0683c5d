/* A task as it was compiled, counted and immutable. All of it lies in one block of memory with its
 * texts and links; plan, cron and calendar are counted by themselves. A copy with another plan
 * (task_with_plan) holds on to the one it is of, whose texts it uses. Also how long a retry waits
 * and when an instance expires. */
#include "sched/task.h"

#include "sched/calendar.h"
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/cycle.h"
#include "sched/plan.h"
#include "sched/window.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

#include <stdlib.h>
#include <string.h>

struct task *task_ref(const struct task *t)
{
	struct task *own = (struct task *)(uintptr_t)
		t; /* the count is not part of what is immutable */

	CHECK(atomic_fetch_add_explicit(&own->refs, 1, memory_order_relaxed) > 0);
	return own;
}

void task_unref(const struct task *t)
{
	struct task *own = (struct task *)(uintptr_t)t;

	if (!own)
		return;
	unsigned before = atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel);
	CHECK(before > 0);
	if (before > 1)
		return;
	for (size_t i = 0; i < own->n_links && !own->of; i++)
		window_free((struct window_expr *)(uintptr_t)own->links[i].window);
	plan_free(own->plan);
	cron_free(own->cron);
	calendar_free(own->calendar);
	task_unref(own->of);
	free(own->memory); /* `own` lies in it */
}

struct task *task_with_plan(const struct task *t, struct plan *plan)
{
	struct task *own = mem_new(sizeof *own);

	memcpy(own, t, sizeof *own);
	atomic_init(&own->refs, 1);
	own->plan = plan;
	own->cron = t->cron ? cron_ref(t->cron) : NULL;
	own->calendar = t->calendar ? calendar_ref(t->calendar) : NULL;
	own->of = task_ref(t->of ? t->of : t);
	own->memory = own;
	return own;
}

int64_t task_retry_delay_us(const struct task *t, int32_t n)
{
	int64_t delay = t->retry_delay_us;
	int64_t cap = t->retry_cap_us > 0 ? t->retry_cap_us : INT64_MAX;

	if (t->retry_exponential)
		for (int32_t i = 1; i < n && delay > 0 && delay < cap; i++)
			delay = delay > INT64_MAX / 2 ? INT64_MAX : delay * 2;
	return delay < cap ? delay : cap;
}

int64_t task_expiry_us(const struct task *t, int64_t eff_due_us)
{
	if (t->expire_after_us == 0)
		return INT64_MAX;
	if (t->expire_after_us > 0)
		return eff_due_us + t->expire_after_us;
	return unit_next(plan_tz(t->plan), CU_DAY, floor_div(eff_due_us, US_PER_S)) * US_PER_S;
}

/* From a fixed anchor: tasks of one workflow may begin at different dates, and share their runs. */
static struct cycle run_cycle(const struct task *t)
{
	CHECK(t->run_unit >= CU_MINUTE && t->run_unit <= CU_YEAR && t->run_step >= 1);
	return cycle_make(t->run_tz, t->run_unit, t->run_step, 0);
}

int64_t task_run(const struct task *t, int64_t run_date)
{
	if (!t->overlap_run || t->run_unit == CU_NONE)
		return run_date;
	struct cycle c = run_cycle(t);
	return cycle_floor(&c, run_date);
}

int64_t task_run_end(const struct task *t, int64_t run_date)
{
	if (!t->overlap_run || t->run_unit == CU_NONE)
		return run_date + 1;
	struct cycle c = run_cycle(t);
	return cycle_next(&c, run_date);
}

const char *task_overlap_name(enum task_overlap o)
{
	static const char *const names[] = { [OVERLAP_ALLOW] = "allow",
		                             [OVERLAP_SKIP] = "skip",
		                             [OVERLAP_QUEUE] = "queue",
		                             [OVERLAP_REPLACE] = "replace" };

	CHECK((size_t)o < sizeof names / sizeof names[0]);
	return names[o];
}
