#include "sched/task.h"

#include <stdlib.h>

#include "sched/window.h"

struct task *task_ref(const struct task *t)
{
	struct task *own = (struct task *)t;

	if (own)
		atomic_fetch_add_explicit(&own->refs, 1, memory_order_relaxed);
	return own;
}

void task_unref(const struct task *t)
{
	struct task *own = (struct task *)t;

	if (!own || atomic_fetch_sub_explicit(&own->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (size_t i = 0; i < own->n_links; i++)
		window_free((struct window_expr *)own->links[i].window);
	plan_free(own->plan);
	free(own->memory);
	free(own);
}

int64_t task_retry_delay_us(const struct task *t, int32_t n)
{
	int64_t delay = t->retry_delay_us;

	for (int32_t i = 1; t->retry_exponential && i < n && delay < INT64_MAX / 2; i++) {
		delay *= 2;
		if (t->retry_cap_us > 0 && delay > t->retry_cap_us)
			break;
	}
	return t->retry_cap_us > 0 && delay > t->retry_cap_us ? t->retry_cap_us : delay;
}
