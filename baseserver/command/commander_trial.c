/* A workflow that is tried, from the moment it is saved (apply_trial.c) until it is gone.
 *
 *   saved      its instances are made as run-start makes them, and marked (OR_TEST)
 *   PH_GONE    they run; every half second somebody looks: are all over, does the rest wait for
 *              what will not come, has it lasted too long?
 *   ends_as    it is to end: what has not started is skipped, what runs is killed, and is asked
 *              again until none is left
 *   PH_RETIRE  no instance is left: tasks and document go out of force. Their numbers stay with
 *              their names, and the next one in that place takes them over.
 *
 * Nobody besides the server is needed for any of it. The command's cursor has the name that it is
 * saved under and whether it is to end, in the same commit as, or before, what it speaks of: after
 * a restart a document in force under that name is this command's, and one that is not was either
 * never saved (nothing was made of it then) or has gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { LOOK_US = 500 * US_PER_MS, STALL_US = 5 * US_PER_S, ENDS_MAX = 256 };

/* --- its instances ------------------------------------------------------------------------- */

static void choose_tasks(const struct commander *c, const char *tried, struct selection *s)
{
	size_t length = strlen(tried);

	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&c->cat, (uint32_t)i);
		if (!t || catalog_retired(t) || !catalog_in_workflow(t, tried, length))
			continue;
		s->tasks = mem_grow(s->tasks, s->n_tasks + 1, sizeof *s->tasks);
		s->tasks[s->n_tasks++] = t->id;
	}
}

void trial_chosen(const struct commander *c, const struct cmd *cmd, struct order *o)
{
	struct refusal f = { 0 };

	if (o->sel.n_tasks || !cmd->tried)
		return;
	choose_tasks(c, cmd->tried, &o->sel);
	const struct task **tasks = mem_array(o->sel.n_tasks + 1, sizeof *tasks);
	for (size_t i = 0; i < o->sel.n_tasks; i++)
		tasks[i] = catalog_task(&c->cat, o->sel.tasks[i])->def;
	/* It was judged before it was saved. A zone that the machine has otherwise since may leave
	 * nothing: then it goes without a run. */
	if (start__dates(o, tasks, o->sel.n_tasks, &f) < 0)
		o->sel.n_instances = 0;
	free(f.json);
	free(tasks);
}

struct verdict decide_trial(const struct look *l)
{
	struct verdict v = decide_start(l);

	v.origin = OR_TEST;
	return v;
}

/* --- its end ------------------------------------------------------------------------------- */

/* What a look at its members says. */
struct seen {
	size_t n;
	bool waits;      /* all of them are Ready, and look at nothing again */
	uint64_t digest; /* as they are: another number when one changes */
	int64_t pass_us; /* the longest time after which a link of them passes */
};

static void see(const struct cat_task *t, const struct cat_inst *in, struct seen *s)
{
	s->n++;
	s->waits = s->waits && in->state == ST_READY && !(in->flags & IF_LOOKS);
	s->digest = map_mix(s->digest + inst_key_hash(in->key),
	                    (uint64_t)in->state << 32 | in->flags);
	for (size_t i = 0; i < t->def->n_links; i++)
		if (t->def->links[i].pass_after_s * US_PER_S > s->pass_us)
			s->pass_us = t->def->links[i].pass_after_s * US_PER_S;
}

static struct seen see_all(const struct commander *c, const struct cmd *cmd)
{
	struct seen s = { .waits = true };

	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		for (uint32_t k = t ? t->live : SLAB_NONE; k != SLAB_NONE;) {
			const struct cat_inst *in = catalog_inst(&c->cat, k);
			k = in->next;
			see(t, in, &s);
		}
	}
	return s;
}

/* What has not started is skipped, what runs is killed; of what dies the next look tells. */
static bool ask_end(const struct cat_inst *in, struct proposals *ps)
{
	enum state st = (enum state)in->state;
	struct proposal *p;

	if (st == ST_WAITKILL || st == ST_KILLING || st == ST_HANGED)
		return true;
	p = proposals_add(ps, state_holds_slot(st) ? ASK_KILL : ASK_SKIP, in->key);
	if (!p)
		return false;
	p->intent = state_holds_slot(st) ? KI_USER : KI_NONE;
	p->reason = state_holds_slot(st) ? RE_USER : RE_CANCELLED;
	return true;
}

static void end_members(struct commander *c, struct cmd *cmd)
{
	struct proposals *ps = proposals_new(PR_COMMANDER, ENDS_MAX, c->me, commander_answered);

	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		for (uint32_t k = t ? t->live : SLAB_NONE; k != SLAB_NONE;) {
			const struct cat_inst *in = catalog_inst(&c->cat, k);
			k = in->next;
			if (!ask_end(in, ps))
				break;
		}
	}
	for (size_t i = 0; i < ps->n; i++)
		ps->p[i].cause = cmd->id;
	if (ps->n && !c->stuck)
		commander_send(c, ps);
	else
		proposals_free(ps);
}

/* Has it lasted too long, or does what is left of it wait for what will not come? */
static void judge_end(struct commander *c, struct cmd *cmd, const struct seen *s, int64_t now_us)
{
	int64_t max_us = c->set.test_run_us;
	char why[200];

	if (s->digest != cmd->tried_look || cmd->tried_us == 0) {
		cmd->tried_look = s->digest;
		cmd->tried_us = now_us;
	}
	if (max_us && actor_wall_us(c->me) - cmd->created_us >= max_us) {
		snprintf(why, sizeof why,
		         "it lasted longer than test_run_max_ms allows (%lld s): %zu were not over",
		         (long long)(max_us / US_PER_S), s->n);
		trial__end(c, cmd, CS_FAILED, why);
	} else if (s->waits && now_us - cmd->tried_us >= STALL_US + s->pass_us) {
		snprintf(why, sizeof why,
		         "%zu waited for what ended otherwise than they wait for: skipped", s->n);
		trial__end(c, cmd, CS_DONE, why);
	}
}

static bool anything_lives(const struct commander *c, const struct cmd *cmd)
{
	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		if (t && t->live != SLAB_NONE)
			return true;
	}
	return false;
}

void trial__gone(struct commander *c, struct cmd *cmd)
{
	int64_t now_us = actor_mono_us(c->me);

	CHECK(cmd->phase == PH_GONE && cmd->in_flight == 0);
	if (!anything_lives(c, cmd)) {
		cmd->phase = PH_RETIRE;
		cmd__edit(c, cmd);
		return;
	}
	if (now_us >= cmd->look_us) {
		const struct seen s = see_all(c, cmd);
		cmd->look_us = now_us + LOOK_US;
		judge_end(c, cmd, &s, now_us);
		if (cmd->ends_as != CS_QUEUED)
			end_members(c, cmd);
	}
	commander_alarm(c, cmd->look_us ? cmd->look_us : now_us + LOOK_US);
}
