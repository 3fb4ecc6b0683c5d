/* Kinds that act on what is under way: other commands, a node of the registry, the lead. A command
 * is paused or resumed between two steps. A cancel first waits for the proposals that are in
 * flight, because the ledger may still make rows of them; then it takes back what has not started.
 * A command that is done in one step cannot be steered. Whoever gave a command may steer it; others
 * want an operator of all projects: of whom projects are named, `within`, that is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"

enum { NODE_NAME_MAX = 200 };

int steer_parse(struct order *o, struct refusal *f)
{
	const struct jval *v = jv_get(o->args, "command");
	char *end = NULL;

	if (jv_is(v, JV_TEXT) && v->len && v->len < 20 && strspn(v->text, "0123456789") == v->len) {
		o->command = strtoull(v->text, &end, 10);
		return 0;
	}
	return refuse(f, E_INVALID, "args.command", "for example \"12\"",
	              "args.command: a command's number in quotes is expected, not %s",
	              jv_kind_name(v));
}

/* The command that is meant, if it may be steered. */
static int find_steered(const struct commander *c, struct cmd *cmd, struct cmd **ret,
                        struct refusal *f)
{
	unsigned long long id = cmd->o.command;
	struct cmd *at = commander__find(c, cmd->o.command);
	const struct past *past = pasts__find(&c->pasts, cmd->o.command);

	if (!at && !past)
		return refuse(f, E_NOT_FOUND, "args.command", NULL, "args.command: no command %llu",
		              id);
	const struct face face = at ? cmd__face(at) : past__face(past);
	if (at && at->projects)
		touch__steered(cmd, at);
	if (!within__own(cmd, face.actor))
		return refuse(f, E_FORBIDDEN, "args.command",
		              "its giver, or an operator of all projects", "command %llu is %s's",
		              id, face.actor);
	if (!at || command_state_over(at->state))
		return refuse(f, E_CONFLICT, "args.command", NULL, "command %llu is %s", id,
		              command_state_name(at ? at->state : face.shown->state));
	*ret = at;
	return 0;
}

static int set_state(struct commander *c, struct cmd *cmd, enum command_state state,
                     struct refusal *f)
{
	struct cmd *at = NULL;
	int r = find_steered(c, cmd, &at, f);

	if (r < 0)
		return r;
	CHECK(at);
	if (at->ops->tries)
		return refuse(f, E_CONFLICT, "args.command", "command-cancel, or wait for its end",
		              "command %llu is a test run, which is not paused",
		              (unsigned long long)at->id);
	/* Paused while it swept, and begun with its edit again after a restart: it goes on. */
	if (at->phase != PH_RUN && at->phase != PH_SURVEY && at->state != CS_PAUSED)
		return refuse(f, E_CONFLICT, "args.command", NULL,
		              "command %llu is done in one step", (unsigned long long)at->id);
	at->state = state;
	at->answer_early = true;
	cmd__record(c, at, NULL, 0);
	commander__work(c, at);
	return 0;
}

int pause_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	return set_state(c, cmd, CS_PAUSED, f);
}

int resume_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	return set_state(c, cmd, CS_RUNNING, f);
}

int cancel_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	char told[240];
	struct cmd *at = NULL;
	int r = find_steered(c, cmd, &at, f);

	if (r < 0)
		return r;
	CHECK(at);
	if (at->ops->tries && (at->edit_posted || trial__saved(c, at))) {
		snprintf(told, sizeof told, "cancelled by %.200s", cmd->actor);
		trial__end(c, at, CS_CANCELLED, told);
		return 0;
	}
	if (at->ops->is_large && at->edit_posted)
		return refuse(f, E_CONFLICT, "args.command", NULL,
		              "command %llu is judged and is being stored",
		              (unsigned long long)at->id);
	at->halted = true;
	if (at->in_flight)
		return 1; /* what is under way makes rows that this takes back */
	cmd__cancel_rows(c, at);
	snprintf(told, sizeof told, "cancelled by %.200s", cmd->actor);
	cmd__over(c, at, CS_CANCELLED, told); /* who asks for it again reads that */
	return 0;
}

int node_parse(struct order *o, struct refusal *f)
{
	int r = arg_text(o->args, "args", "node", NODE_NAME_MAX, &o->node, f);

	return r == 0 && (!o->node || (unsigned char)o->node[0] <= ' ')
	               ? refuse(f, E_INVALID, "args.node", "for example \"etl-1\"",
	                        "args.node: the name or the id of a node is expected")
	               : r;
}

int node_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	return cmd__forget_node(c, cmd->o.node, f);
}

/* Whoever leads alone stays: work would stand still. */
int step_down_act(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	(void)cmd;
	if (!c->front || !c->front->lead)
		return refuse(f, E_UNSUPPORTED, "", NULL, "this server stands alone");
	if (c->lead.n == 0)
		return refuse(f, E_CONFLICT, "", "start a second server on the same store",
		              "no standby is heard: nobody would lead");
	log_info("lead.steps-down", "standby=\"%s\"", c->lead.nodes[0].who);
	c->front->step_down(c->front->lead);
	return 0;
}
