/* What one person, and one project, may have in the server: commands in flight, unfinished
 * instances. Judged before a command is recorded or makes anything; what there is already stays,
 * also where a limit became smaller, and a command that was taken goes on after a restart. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/task.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"

bool quota__same_person(const char *a, const char *b)
{
	size_t n = strcspn(a, "/");

	return n == strcspn(b, "/") && strncmp(a, b, n) == 0;
}

/* Goes through instances and makes work of them, or takes over documents. What ends work or holds
 * it back, and what is over at once, has as many places of its own: whoever filled the others may
 * still kill a job and shut out a peer. */
static bool is_work(const struct kind *ops)
{
	return ops->is_large || (ops->decide && !ops->brakes);
}

/* Whoever has too many may still end, pause and resume them. */
int quota__commands(const struct commander *c, const struct cmd *cmd, struct refusal *f)
{
	size_t n = 0, max = c->set.commands_max;
	bool work = is_work(cmd->ops);

	for (size_t i = 0; i < c->n_cmds && max; i++) {
		const struct cmd *other = c->cmds[i];
		n += other->phase != PH_OVER && !other->forget && is_work(other->ops) == work &&
		     quota__same_person(other->actor, cmd->actor);
	}
	if (!max || n < max || command_acts_on(cmd->kind) == ON_COMMANDS)
		return 0;
	return refuse(f, E_LIMIT, "person_commands_max", "sirdar command list --open",
	              "%.*s has %zu commands that are not over, person_commands_max allows %zu: "
	              "wait for one, or cancel one",
	              (int)strcspn(cmd->actor, "/"), cmd->actor, n, max);
}

/* What another command has yet to make of the project. */
static int64_t promised(const struct commander *c, const struct cmd *other, uint32_t project)
{
	if (other->phase != PH_RUN || !other->ops->fills || other->tally.n_tasks == 0 ||
	    catalog_task(&c->cat, other->tally.tasks[0].task)->project != project)
		return 0;
	int64_t left = other->total - other->done;
	if (other->o.parallel > 0 && left > other->o.parallel - (int64_t)other->out.n)
		left = other->o.parallel - (int64_t)other->out.n; /* the rest has its rows */
	return left > 0 ? left : 0;
}

static int64_t fresh_of(const struct commander *c, const struct cmd *cmd, uint32_t project)
{
	const struct tally *t = &cmd->tally;
	int64_t n = 0;

	for (size_t i = 0; i < t->n_tasks; i++)
		if (catalog_task(&c->cat, t->tasks[i].task)->project == project)
			n += t->tasks[i].fresh;
	return cmd->o.parallel > 0 && n > cmd->o.parallel ? cmd->o.parallel : n;
}

static int judge_project(const struct commander *c, const struct cmd *cmd, uint32_t project,
                         struct refusal *f)
{
	const struct cat_project *p = &c->cat.projects[project];
	int64_t max = c->set.unfinished_max, fresh = fresh_of(c, cmd, project), others = 0;

	for (size_t i = 0; i < c->n_cmds; i++)
		others += c->cmds[i] == cmd ? 0 : promised(c, c->cmds[i], project);
	if (fresh == 0 || (int64_t)p->unfinished + others + fresh <= max)
		return 0;
	return refuse(f, E_LIMIT, "project_unfinished_max", "--parallel N, or fewer dates",
	              "project %.64s has %zu unfinished instances, commands at work make %" PRId64
	              " more, and this one would make %" PRId64
	              ": project_unfinished_max allows %" PRId64,
	              p->name, p->unfinished, others, fresh, max);
}

int quota__unfinished(const struct commander *c, const struct cmd *cmd, struct refusal *f)
{
	const struct tally *t = &cmd->tally;
	uint32_t last = UINT32_MAX;

	if (!cmd->ops->fills || cmd->resumed || c->set.unfinished_max == 0)
		return 0;
	for (size_t i = 0; i < t->n_tasks; i++) {
		const struct cat_task *task = catalog_task(&c->cat, t->tasks[i].task);
		CHECK(task && task->project < c->cat.n_projects);
		if (task->project == last)
			continue;
		last = task->project;
		int r = judge_project(c, cmd, last, f);
		if (r < 0)
			return r;
	}
	return 0;
}

void commander_list_crowded(const struct commander *c, struct buf *out)
{
	enum { LINE_MAX_BYTES = 200 };

	for (size_t i = 0; c->set.unfinished_max && i < c->cat.n_projects; i++) {
		const struct cat_project *p = &c->cat.projects[i];

		if ((int64_t)p->unfinished > c->set.unfinished_max && out->len < LINE_MAX_BYTES)
			buf_printf(out, "%s%s", out->len ? ", " : "", p->name);
	}
}

/* Is there an earlier one of the same person? */
static bool is_counted(const struct commander *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (c->cmds[k]->phase != PH_OVER && is_work(c->cmds[k]->ops) &&
		    quota__same_person(c->cmds[k]->actor, c->cmds[i]->actor))
			return true;
	return false;
}

void commander_print_quotas(const struct commander *c, bool with_people, struct buf *out)
{
	CHECK(actor_here(c->me));
	put_int(out, "unfinished_max", c->set.unfinished_max);
	put_int(out, "commands_max", (int64_t)c->set.commands_max);
	put_open(out, "people", '[');
	for (size_t i = 0; i < (with_people ? c->n_cmds : 0); i++) {
		const struct cmd *cmd = c->cmds[i];
		int64_t n = 0;

		if (cmd->phase == PH_OVER || !is_work(cmd->ops) || is_counted(c, i))
			continue;
		for (size_t k = i; k < c->n_cmds; k++)
			n += c->cmds[k]->phase != PH_OVER && !c->cmds[k]->forget &&
			     is_work(c->cmds[k]->ops) &&
			     quota__same_person(c->cmds[k]->actor, cmd->actor);
		put_open(out, NULL, '{');
		put_bytes(out, "person", cmd->actor, strcspn(cmd->actor, "/"));
		put_int(out, "commands", n);
		put_close(out, '}');
	}
	put_close(out, ']');
}
