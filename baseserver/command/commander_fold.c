/* The stream comes into the catalog, and commands that follow what they let go, or that wait for
 * what runs, see each change of it. */
#include <inttypes.h>
#include <stdio.h>

#include "baseserver/command/commander_impl.h"
#include "sched/task.h"
#include "util/check.h"

/* Who started a job this long ago starts jobs now. */
enum { OTHERS_US = 1000 * 1000 };

void cmd__stop_if_bad(const struct commander *c, struct cmd *cmd, struct inst_key key,
                      enum state st)
{
	const struct cat_task *t = catalog_task(&c->cat, key.task);

	if ((st != ST_STOP && st != ST_KILLED) || cmd->stopping)
		return;
	cmd->stopping = true;
	snprintf(cmd->error, sizeof cmd->error, "stopped: %s at %" PRId64 " ended as %s",
	         t ? t->def->name : "", key.run_date, state_name(st));
}

static void fold_watch(struct commander *c, struct cmd *cmd, const struct transition *tr)
{
	struct inst_key key = tr->inst.key;
	enum state now = (enum state)tr->inst.state;

	if (!state_holds_slot(now) && keyset_remove(&cmd->waits, key)) {
		keyset_add(&cmd->ripe, key);
		commander__work(c, cmd);
	}
	/* Skipped for a parent that reopens, it is out once more. */
	if (tr->event == EV_REOPEN && tr->inst.cause == cmd->id && cmd->o.parallel > 0)
		keyset_add(&cmd->out, key);
	if (keyset_has(&cmd->asked_for, key))
		return; /* not ours yet: commander_answered() looks again */
	if (!state_final(now) || !keyset_remove(&cmd->out, key))
		return;
	if (cmd->o.stop_on_failure)
		cmd__stop_if_bad(c, cmd, key, now);
	commander__work(c, cmd);
}

static void watch_all(struct commander *c, const struct transition *tr)
{
	for (struct cmd *cmd = c->watchers; cmd; cmd = cmd->watch_next)
		fold_watch(c, cmd, tr);
}

void cmd__unwatch(struct commander *c, struct cmd *cmd)
{
	struct cmd **at = &c->watchers;

	if (!cmd->watched)
		return;
	while (*at != cmd) {
		CHECK(*at);
		at = &(*at)->watch_next;
	}
	*at = cmd->watch_next;
	cmd->watched = false;
}

static void fold_start(struct commander *c, const struct transition *tr)
{
	const struct cat_task *t = catalog_task(&c->cat, tr->inst.key.task);

	if (!t)
		return;
	if (c->starts.project != t->project)
		c->starts_elsewhere = c->starts;
	c->starts = (struct starts){ t->project, actor_mono_us(c->me) };
}

bool commander__others_start(const struct commander *c, uint32_t project)
{
	const struct starts *s = c->starts.project != project ? &c->starts : &c->starts_elsewhere;

	return s->at_us && actor_mono_us(c->me) - s->at_us < OTHERS_US;
}

bool commander__some_start(const struct commander *c)
{
	return c->starts.at_us && actor_mono_us(c->me) - c->starts.at_us < OTHERS_US;
}

void commander_fold(struct commander *c)
{
	CHECK(actor_here(c->me));
	for (const struct transition *tr; (tr = stream_peek(c->in)); stream_next(c->in)) {
		catalog_fold(&c->cat, tr);
		c->changes += tr->kind == TK_TASK;
		progress_fold(&c->progress, tr);
		if (c->watchers && tr->kind == TK_INSTANCE)
			watch_all(c, tr);
		if (tr->kind == TK_INSTANCE && tr->event == EV_GRANT)
			fold_start(c, tr);
	}
}
