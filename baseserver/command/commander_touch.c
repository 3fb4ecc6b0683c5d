/* Which projects a command touches: what it chose, what it brings, and what it came to. It is kept
 * with the command, so that who reads some projects only is shown those of theirs, and no command
 * that reaches into another one (lib/store/read_sight.c). Whom that is kept from knows nothing of
 * it, so what touches no project, as a broker's drain, is for who reads all. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/json_read.h"

void touch__name(struct cmd *cmd, const char *name)
{
	char *one = mem_fmt(":%.*s:", (int)strcspn(name, "/"), name);

	if (one[1] != ':' && (!cmd->projects || !strstr(cmd->projects, one))) {
		char *all = mem_fmt("%s%s", cmd->projects ? cmd->projects : "", one);
		free(cmd->projects);
		cmd->projects = all;
	}
	free(one);
}

static void touch_task(const struct commander *c, struct cmd *cmd, uint32_t id)
{
	const struct cat_task *t = catalog_task(&c->cat, id);

	if (t)
		touch__name(cmd, t->def->name);
}

static void touch_list(struct cmd *cmd, const struct jval *names)
{
	for (const struct jval *v = names ? names->first : NULL; v; v = v->next)
		touch__name(cmd, v->text);
}

void touch__set(struct cmd *cmd, const struct workflow_set *set)
{
	for (size_t i = 0; i < workflow_set_count(set); i++)
		touch__name(cmd, workflow_name(workflow_set_at(set, i)));
	for (size_t i = 0; i < workflow_set_scopes(set); i++) {
		const struct workflow_scope *s = workflow_set_scope(set, i);
		if (!workflow_scope_pool(s))
			touch__name(cmd, workflow_scope_project(s));
	}
	touch_list(cmd, cmd->o.retired_libraries);
	touch_list(cmd, cmd->o.prune);
}

/* A kind whose project is an argument has it where a pool's name stands. */
static bool names_project(const struct cmd *cmd)
{
	return cmd->kind == CK_QUOTA_SET || cmd->kind == CK_SERVER_TEST ||
	       cmd->kind == CK_PROJECT_TRUST || cmd->kind == CK_PROJECT_UNTRUST;
}

void touch__order(const struct commander *c, struct cmd *cmd)
{
	const struct order *o = &cmd->o;

	if (cmd->touched)
		return;
	cmd->touched = true;
	for (size_t i = 0; i < o->sel.n_tasks; i++)
		touch_task(c, cmd, o->sel.tasks[i]);
	for (size_t i = 0; i < o->sel.n_instances; i++)
		touch_task(c, cmd, o->sel.instances[i].task);
	for (size_t i = 0; i < cmd->n_picks; i++)
		touch_task(c, cmd, cmd->picks[i].task);
	if (o->covers)
		touch__name(cmd, o->covers);
	if (o->pool && names_project(cmd))
		touch__name(cmd, o->pool);
}

/* What another one touches, too. */
void touch__steered(struct cmd *cmd, const struct cmd *at)
{
	for (const char *p = at->projects; *p == ':'; p = strchr(p + 1, ':') + 1) {
		char *one = mem_fmt("%.*s", (int)strcspn(p + 1, ":"), p + 1);
		touch__name(cmd, one);
		free(one);
	}
}

void touch__items(const struct commander *c, struct cmd *cmd,
                  const struct store_command_item *items, size_t n)
{
	uint32_t last = 0;

	for (size_t i = 0; i < n; i++) {
		if (items[i].key.task != last)
			touch_task(c, cmd, items[i].key.task);
		last = items[i].key.task;
	}
}
