/* Time goes in seconds, and these in windows. Of a second in which one workflow alone had work
 * nothing is booked: it takes nothing from anybody. At a window's end who is over its share is
 * told, and all begin anew.
 *
 * Looking at the machine's clock costs some 20 ns, at the thread's some 250: the first is read each
 * time the work in hand changes, the second only when the first has moved by LAP_US. */
#include "baseserver/plan/meter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/map.h"

enum { LAP_US = 20 };

struct booked {
	uint32_t workflow;
	char *name;
	int64_t second_us, window_us; /* of processor time; window_us: of seconds that are over */
	bool listed;                  /* it had work in this second */
};

struct meter {
	struct meter_settings set;
	struct booked *items;
	size_t n, cap, at; /* at: for whom it works; SIZE_MAX: nobody */
	struct map by_workflow;
	size_t n_listed;
	int64_t lap_us, cpu_us;          /* as they were read last: mono, the thread's */
	int64_t second_from_us, from_us; /* mono */
};

struct meter *meter_new(const struct meter_settings *set)
{
	struct meter *m = mem_new(sizeof *m);

	CHECK(set->percent > 0 && set->window_us >= US_PER_S);
	m->set = *set;
	m->at = SIZE_MAX;
	map_init(&m->by_workflow);
	return m;
}

static void window_begin(struct meter *m, int64_t now)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->items[i].name);
	map_done(&m->by_workflow);
	map_init(&m->by_workflow);
	m->n = m->n_listed = 0;
	m->at = SIZE_MAX;
	m->from_us = m->second_from_us = now;
}

void meter_free(struct meter *m)
{
	if (!m)
		return;
	window_begin(m, 0);
	map_done(&m->by_workflow);
	free(m->items);
	free(m);
}

static void second_over(struct meter *m)
{
	for (size_t i = 0; i < m->n && m->n_listed > 0; i++) {
		struct booked *b = &m->items[i];
		if (!b->listed)
			continue;
		if (m->n_listed > 1)
			b->window_us += b->second_us;
		b->second_us = 0;
		b->listed = false;
	}
	m->n_listed = 0;
}

/* A window in which the thread slept for long is longer than the others: the share is of it. */
static void window_over(struct meter *m, int64_t now)
{
	int64_t window_us = now - m->from_us;

	for (size_t i = 0; i < m->n; i++) {
		const struct booked *b = &m->items[i];
		int64_t percent = b->window_us * 100 / window_us;
		if (percent >= m->set.percent)
			m->set.over(m->set.ctx, b->name, percent);
	}
	window_begin(m, now);
}

static size_t book_of(struct meter *m, const struct task *def)
{
	uint32_t i = map_get(&m->by_workflow, def->workflow_id);

	if (i != MAP_NONE)
		return i;
	m->items = mem_room(m->items, &m->cap, m->n + 1, sizeof *m->items);
	m->items[m->n] = (struct booked){
		.workflow = def->workflow_id,
		.name = mem_strn(def->name, (size_t)(strrchr(def->name, '/') - def->name))
	};
	map_add(&m->by_workflow, def->workflow_id, (uint32_t)m->n);
	return m->n++;
}

static void meter_lap(struct meter *m, int64_t now)
{
	int64_t cpu = clock_thread_us();

	if (m->at != SIZE_MAX)
		m->items[m->at].second_us += cpu - m->cpu_us;
	m->cpu_us = cpu;
	m->lap_us = now;
	if (now - m->second_from_us < US_PER_S)
		return;
	second_over(m);
	m->second_from_us = now;
	if (now - m->from_us >= m->set.window_us)
		window_over(m, now);
}

void meter_work(struct meter *m, const struct task *def, enum crumb_kind kind)
{
	if (!m)
		return;
	crumb_work(m->set.crumb, def ? def->workflow_id : 0, kind);
	if (def && m->at != SIZE_MAX && m->items[m->at].workflow == def->workflow_id)
		return;
	int64_t now = clock_mono_us(&clock_machine);
	if (m->from_us == 0)
		window_begin(m, now);
	/* From nobody's work on the clock begins anew: what others did meanwhile is not booked. */
	if (m->at == SIZE_MAX || now - m->lap_us >= LAP_US)
		meter_lap(m, now);
	m->at = def ? book_of(m, def) : SIZE_MAX;
	if (!def || m->items[m->at].listed)
		return;
	m->items[m->at].listed = true;
	m->n_listed++;
}
