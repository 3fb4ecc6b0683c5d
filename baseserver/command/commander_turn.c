/* What all of the commander asks for and nothing of it is below: the commands at work, one of them
 * to be looked at in the next turn, a turn at a time, a letter for the ledger. */
#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/ledger.h"
#include "sched/tz.h"
#include "util/alloc.h"
#include "util/check.h"

enum { RETRY_US = 10 * 1000 };

void commander_alarm(struct commander *c, int64_t at_us)
{
	CHECK(actor_here(c->me));
	if (at_us >= c->alarm_us)
		return;
	c->alarm_us = at_us;
	actor_alarm(c->me, at_us);
}

void commander__put(struct commander *c, struct cmd *cmd)
{
	c->cmds = mem_room(c->cmds, &c->cmds_cap, c->n_cmds + 1, sizeof *c->cmds);
	CHECK(c->n_cmds == 0 || c->cmds[c->n_cmds - 1]->id < cmd->id); /* commander__find() */
	c->cmds[c->n_cmds++] = cmd;
}

struct cmd *commander__find(const struct commander *c, uint64_t id)
{
	size_t lo = 0, hi = c->n_cmds;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (c->cmds[mid]->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->n_cmds && c->cmds[lo]->id == id ? c->cmds[lo] : NULL;
}

void commander__work(struct commander *c, struct cmd *cmd)
{
	if (cmd->phase == PH_OVER || cmd->at_work)
		return;
	cmd->at_work = true;
	actor_wake(c->me);
}

bool order__selects(const struct order *o, uint32_t task)
{
	size_t lo = 0, hi = o->sel.n_tasks; /* by id ascending */

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (o->sel.tasks[mid] < task)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < o->sel.n_tasks && o->sel.tasks[lo] == task;
}

int64_t order__from(const struct order *o, const struct tz *tz)
{
	return when_instant(&o->from, tz, false);
}

bool commander__retires(const struct commander *c, uint32_t task)
{
	for (size_t i = 0; i < c->n_cmds; i++) {
		const struct cmd *cmd = c->cmds[i];
		if (cmd->ops->retires && !command_state_over(cmd->state) &&
		    order__selects(&cmd->o, task))
			return true;
	}
	return false;
}

bool commander_send(struct commander *c, struct proposals *ps)
{
	if (ledger_propose(c->ledger, ps) == 0)
		return true;
	CHECK(!c->stuck);
	c->stuck = ps;
	commander_alarm(c, actor_mono_us(c->me) + RETRY_US);
	return false;
}
