/* A task whose plan is exhausted goes offline once nothing of it is left. Each edit is a commit
 * of its own, so they are gathered for a while. */
#include <stdlib.h>

#include "baseserver/keep/maintainer_impl.h"
#include "baseserver/ledger/letters.h"
#include "rt/actor.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

#define GATHER_US     (1 * US_PER_S) /* of quiet: they do not hold up what still runs */
#define GATHER_MAX_US (30 * US_PER_S)
enum { EDIT_MAX = 1000 };

static bool is_over(const struct mtask *t)
{
	int64_t through = t->through;

	if (through == INT64_MIN && t->row.online_from > INT64_MIN) /* nothing has come due yet */
		through = t->row.online_from - 1;
	return t->def && t->row.state == TS_ONLINE && !t->unfinished &&
	       plan_unit(t->def->plan) != CU_NONE && through != INT64_MIN &&
	       plan_next(t->def->plan, through) == PLAN_NEVER;
}

void maintainer__retire_if_over(struct maintainer *m, struct mtask *t)
{
	if (t->offline_asked || !is_over(t))
		return;
	m->over = mem_room(m->over, &m->over_cap, m->n_over + 1, sizeof *m->over);
	int64_t now = actor_mono_us(m->me);
	if (m->n_over == 0)
		m->over_us = now;
	m->retire_us = now + GATHER_US < m->over_us + GATHER_MAX_US ? now + GATHER_US
	                                                            : m->over_us + GATHER_MAX_US;
	m->over[m->n_over++] = t->row.id;
	t->offline_asked = true;
}

/* Refused when somebody changed one of them meanwhile: looked at again. */
static void retire_answered(struct letter *letter, void *self)
{
	struct maintainer *m = self;
	struct edit *e = (struct edit *)letter;

	CHECK(m->retiring && e->n_tasks <= EDIT_MAX);
	m->retiring = false;
	for (size_t i = 0; i < e->n_tasks && e->code < 0; i++) {
		struct mtask *t = maintainer__task(m, e->rows[i].id);
		t->offline_asked = false;
		maintainer__retire_if_over(m, t);
	}
	edit_free(e);
}

static struct edit *retire_gather(struct maintainer *m)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(EDIT_MAX, sizeof *e->tasks);
	e->rows = mem_array(EDIT_MAX, sizeof *e->rows);
	e->keep_links = true;
	e->reply_to = m->me;
	e->answered = retire_answered;
	while (m->n_over && e->n_tasks < EDIT_MAX) {
		struct mtask *t = maintainer__task(m, m->over[--m->n_over]);
		t->offline_asked = is_over(t);
		if (!t->offline_asked)
			continue;
		e->tasks[e->n_tasks] = task_ref(t->def);
		e->rows[e->n_tasks] = t->row;
		e->rows[e->n_tasks++].state = TS_OVER;
	}
	return e;
}

void maintainer__retire(struct maintainer *m)
{
	if (m->retiring || m->n_over == 0 || actor_mono_us(m->me) < m->retire_us)
		return;
	struct edit *e = retire_gather(m);
	if (e->n_tasks == 0) {
		edit_free(e);
		return;
	}
	m->retiring = true;
	if (ledger_edit(m->ledger, e) == 0)
		return;
	m->retiring = false; /* its mailbox is full: later */
	m->retire_us = actor_mono_us(m->me) + GATHER_US;
	for (size_t i = 0; i < e->n_tasks; i++)
		maintainer__task(m, e->rows[i].id)->offline_asked = false;
	for (size_t i = 0; i < e->n_tasks; i++)
		maintainer__retire_if_over(m, maintainer__task(m, e->rows[i].id));
	edit_free(e);
}
