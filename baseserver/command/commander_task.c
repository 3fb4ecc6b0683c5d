/* Definitions, brokers, other commands: what is done at once, or by one edit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply.h"
#include "baseserver/command/begin.h"
#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/sort/registrar.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"

enum { RETRY_US = 10 * 1000, TRIES_MAX = 100, NAMED_MAX = 3 };

/* --- definitions ------------------------------------------------------------------- */

/* As it was, unless the plan of what goes online follows or begins: then a copy by that plan. */
static struct task *go_online(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                              struct store_task *row)
{
	struct plan *plan;

	row->state = TS_ONLINE;
	CHECK(plan_new(plan_schedule(t->def->plan), &plan, NULL) == 0); /* it was good before */
	if (begin_follow(t, plan, &cmd->o, false, row))
		begin_keep(e, t->id, t->def->name, plan, cmd->actor, cmd->o.now_us);
	return task_with_plan(t->def, plan);
}

static bool change_row(const struct cmd *cmd, struct store_task *row)
{
	struct store_task was = *row;

	switch (cmd->kind) {
	case CK_FREEZE:
	case CK_UNFREEZE:
		row->frozen = cmd->kind == CK_FREEZE;
		break;
	default:
		row->state = cmd->phase == PH_RETIRE ? TS_RETIRED
		             : cmd->o.detach         ? TS_DETACHED
		                                     : TS_OFFLINE;
	}
	return row->frozen != was.frozen || row->state != was.state;
}

/* Workflows by number: does one of the tasks that go now belong to it, does another stay? */
struct leaving {
	bool goes, stays;
};

static struct leaving *list_leaving(const struct commander *c, const struct order *o)
{
	uint32_t last = c->workflow_names.last_id;
	const struct cat_task *t;

	for (size_t i = 0; i < c->cat.tasks_cap; i++)
		if ((t = catalog_task(&c->cat, (uint32_t)i)) && t->row.workflow_id > last)
			last = t->row.workflow_id;
	struct leaving *all = mem_array(last + (size_t)1, sizeof *all);
	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		if (!(t = catalog_task(&c->cat, (uint32_t)i)) || catalog_retired(t))
			continue;
		if (order_selects(o, t->id))
			all[t->row.workflow_id].goes = true;
		else
			all[t->row.workflow_id].stays = true;
	}
	return all;
}

/* For who keeps documents elsewhere too: each change, in their order. */
static void tell_saved(const struct commander *c, const struct cmd *cmd, const struct edit *e)
{
	const struct front *f = c->front;

	if (!f || !f->registry || !f->saved)
		return;
	for (size_t i = 0; i < e->n_docs; i++) {
		const struct store_doc *d = &e->docs[i];
		if (d->kind == DOC_WORKFLOW && !version_is_draft(d->version))
			f->saved(f->registry,
			         &(struct saved_workflow){ d->name, d->retired ? NULL : d->body,
			                                   d->body_len, d->version, cmd->actor });
	}
	if (cmd->kind != CK_RETIRE)
		return;
	/* A plan ends before the last of it has: there is no document yet that says so. */
	struct leaving *all = list_leaving(c, &cmd->o);
	for (size_t i = 0; i < e->n_tasks; i++) {
		const char *name = e->tasks[i]->name;
		struct leaving *of = &all[e->rows[i].workflow_id];
		if (!of->goes || of->stays)
			continue;
		of->goes = false; /* told once */
		char *workflow = mem_strn(name, (size_t)(strrchr(name, '/') - name));
		f->saved(f->registry,
		         &(struct saved_workflow){ .name = workflow, .actor = cmd->actor });
		free(workflow);
	}
	free(all);
}

/* For `why` of those that wait for them. */
static void note_freeze(struct commander *c, const struct cmd *cmd, const struct edit *e)
{
	for (size_t i = 0; i < e->n_tasks; i++) {
		uint32_t id = e->rows[i].id;
		if (id < c->cat.tasks_cap && c->cat.tasks[id])
			c->cat.tasks[id]->frozen_by = cmd->id;
	}
}

static void edited(struct letter *l, void *self)
{
	struct commander *c = self;
	struct edit *e = (struct edit *)l;
	struct cmd *cmd = commander_find(c, e->cookie);
	int code = e->code;

	CHECK(c->edit_out);
	c->edit_out = false;
	c->changes++;
	if (code == 0)
		commander_learn(c, e);
	if (code == 0 && cmd)
		tell_saved(c, cmd, e);
	if (code == 0 && cmd && cmd->kind == CK_FREEZE)
		note_freeze(c, cmd, e);
	for (size_t i = 0; i < e->n_tasks && code == E_REVISION; i++)
		catalog_planned(&c->cat, e->rows[i].id, e->rows[i].planned_through);
	edit_free(e);
	commander_fold(c);
	if (!cmd || cmd->phase == PH_OVER)
		return;
	cmd->edit_posted = false;
	/* Something came due meanwhile: made again from how it is now. */
	if (code == E_REVISION && cmd->tries++ < TRIES_MAX) {
		commander_alarm(c, actor_mono_us(c->me) + RETRY_US);
		cmd->at_work = true;
		return;
	}
	if (code < 0) {
		cmd_over(c, cmd, CS_FAILED, err_text(code));
		return;
	}
	bool sweep = cmd->phase == PH_EDIT &&
	             (cmd->kind == CK_OFFLINE || cmd->kind == CK_RETIRE || cmd->o.draft);
	if (!sweep) {
		cmd_over(c, cmd, CS_DONE, "");
		return;
	}
	cmd->phase = PH_SURVEY;
	commander_work(c, cmd);
}

static void retire_document(const struct cmd *cmd, const struct doc *d, struct edit *e)
{
	docs_add(e, &(struct store_doc){ .kind = DOC_WORKFLOW,
	                                 .id = d->id,
	                                 .version = d->version + 1,
	                                 .retired = true,
	                                 .name = d->name,
	                                 .body = d->body,
	                                 .body_len = d->len,
	                                 .actor = cmd->actor,
	                                 .at_us = cmd->o.now_us });
}

/* A workflow goes with the last of its tasks. */
static void retire_documents(const struct commander *c, const struct cmd *cmd, struct edit *e)
{
	struct leaving *all = list_leaving(c, &cmd->o);

	for (size_t i = 0; i < c->documents.all.n; i++) {
		const struct doc *d = &c->documents.all.items[i];
		if (!d->retired && all[d->id].goes && !all[d->id].stays)
			retire_document(cmd, d, e);
	}
	free(all);
}

static struct edit *edit_of(struct commander *c, const struct cmd *cmd)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(cmd->o.sel.n_tasks + 1, sizeof *e->tasks);
	e->rows = mem_array(cmd->o.sel.n_tasks + 1, sizeof *e->rows);
	e->keep_links = true;
	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		struct store_task row = t->row;
		bool goes_online = cmd->kind == CK_ONLINE;
		if (goes_online ? row.state == TS_ONLINE && !begin_moves(t, t->def->plan, &cmd->o)
		                : !change_row(cmd, &row))
			continue;
		e->tasks[e->n_tasks] = goes_online ? go_online(cmd, t, e, &row) : task_ref(t->def);
		e->rows[e->n_tasks++] = row;
	}
	if (cmd->phase == PH_RETIRE)
		retire_documents(c, cmd, e);
	return e;
}

int cmd_begin_edit(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	if ((command_acts_on(cmd->kind) != ON_DOCUMENTS && !cmd->o.draft) || cmd->edit)
		return 0;
	switch (cmd->kind) {
	case CK_APPLY:
		return apply_begin(c, cmd, f);
	case CK_TEST_RUN:
		return draft_begin(c, cmd, f);
	case CK_USER_SET:
	case CK_USER_REMOVE:
	case CK_GROUP_SET:
	case CK_GROUP_REMOVE:
	case CK_TOKEN_SET:
	case CK_TOKEN_REMOVE:
	case CK_DEVICE_SET:
	case CK_DEVICE_REMOVE:
		return person_begin(c, cmd, f);
	case CK_PREFERENCES_SET:
		return preferences_begin(c, cmd, f);
	case CK_SILENCE_ADD:
	case CK_SILENCE_REMOVE:
		return silence_begin(c, cmd, f);
	case CK_SERVER_SET:
	case CK_SERVER_REMOVE:
	case CK_SERVER_REKEY:
		return target_begin(c, cmd, f);
	case CK_PLUGIN_REGISTER:
	case CK_PLUGIN_ENABLE:
	case CK_PLUGIN_DRAIN:
	case CK_PLUGIN_ROLLBACK:
	case CK_PLUGIN_REMOVE:
		return plugin_begin(c, cmd, f);
	default:
		return pool_begin(c, cmd, f);
	}
}

int cmd_check_edit(const struct commander *c, const struct edit *e, struct refusal *f)
{
	size_t most = ledger_edit_max(c->ledger), n = ledger_edit_records(e);

	if (n <= most)
		return 0;
	return refuse(
		f, E_INVALID, "args", "fewer at once, or a larger ring_slots of the server",
		"%zu tasks and %zu documents would change at once, which makes %zu records of "
		"the ring; the server takes %zu",
		e->n_tasks, e->n_docs, n, most);
}

void cmd_edit(struct commander *c, struct cmd *cmd)
{
	if (cmd->edit_posted)
		return;
	if (c->edit_out || (c->judged && c->judged != cmd)) {
		cmd->at_work = true; /* when that one is durable */
		return;
	}
	struct refusal f = { 0 };
	int r = cmd_begin_edit(c, cmd, &f);
	cmd->at_work = r > 0;
	if (r < 0)
		cmd_fail(c, cmd, &f);
	if (r)
		return;
	struct edit *e = cmd->edit ? cmd->edit : edit_of(c, cmd);
	cmd->edit = NULL;
	if (cmd_check_edit(c, e, &f) < 0) {
		edit_free(e);
		cmd_fail(c, cmd, &f);
		return;
	}
	if (cmd->state == CS_QUEUED)
		cmd->state = CS_RUNNING;
	if (!cmd->recorded)
		cmd_record(c, cmd, NULL, 0);
	e->reply_to = c->me;
	e->answered = edited;
	e->cookie = cmd->id;
	e->cause = cmd->id;
	cmd->edit_posted = c->edit_out = true;
	if (e->n_tasks == 0 && e->n_docs == 0) { /* as it was */
		e->letter.next = NULL;
		edited(&e->letter, c);
		return;
	}
	if (ledger_edit(c->ledger, e) == 0)
		return;
	cmd->edit = e;
	cmd->edit_posted = c->edit_out = false;
	commander_alarm(c, actor_mono_us(c->me) + RETRY_US);
	cmd->at_work = true;
}

void cmd_gone(struct commander *c, struct cmd *cmd)
{
	/* Saved anew while the last of it ran: it is wanted again. */
	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		if (t && t->row.state == TS_ONLINE) {
			cmd_over(c, cmd, CS_DONE, "");
			return;
		}
	}
	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		if (t && t->live != SLAB_NONE)
			return; /* turn() looks again when something was folded */
	}
	cmd->phase = PH_RETIRE;
	cmd_edit(c, cmd);
}

/* --- other commands ------------------------------------------------------------------ */

static int steer(struct commander *c, const struct cmd *cmd, struct refusal *f)
{
	unsigned long long id = cmd->o.command;
	struct cmd *at = commander_find(c, cmd->o.command);
	char told[240];
	const struct past *past = pasts_find(&c->pasts, cmd->o.command);

	if (!at && !past)
		return refuse(f, E_NOT_FOUND, "args.command", NULL, "args.command: no command %llu",
		              id);
	const struct face face = at ? cmd_face(at) : past_face(past);
	if (!within_own(cmd, face.actor))
		return refuse(f, E_FORBIDDEN, "args.command", NULL, "command %llu is %s's", id,
		              face.actor);
	if (!at || command_state_over(at->state))
		return refuse(f, E_CONFLICT, "args.command", NULL, "command %llu is %s", id,
		              command_state_name(at ? at->state : face.shown->state));
	if (cmd->kind == CK_COMMAND_CANCEL && at->kind == CK_APPLY && at->edit_posted)
		return refuse(f, E_CONFLICT, "args.command", NULL,
		              "command %llu is judged and is being stored", id);
	if (cmd->kind == CK_COMMAND_CANCEL) {
		at->halted = true;
		if (at->in_flight)
			return 1; /* what is under way makes rows that this takes back */
		cmd_cancel_rows(c, at);
		snprintf(told, sizeof told, "cancelled by %.200s", cmd->actor);
		cmd_over(c, at, CS_CANCELLED, told); /* who asks for it again reads that */
		return 0;
	}
	/* Paused while it swept, and begun with its edit again after a restart: it goes on. */
	if (at->phase != PH_RUN && at->phase != PH_SURVEY && at->state != CS_PAUSED)
		return refuse(f, E_CONFLICT, "args.command", NULL,
		              "command %llu is done in one step", id);
	at->state = cmd->kind == CK_COMMAND_PAUSE ? CS_PAUSED : CS_RUNNING;
	at->answer_early = true;
	cmd_record(c, at, NULL, 0);
	commander_work(c, at);
	return 0;
}

/* --- brokers -------------------------------------------------------------------------- */

struct drain {
	struct letter letter;
	struct commander *c;
	uint64_t command;
	bool drained;
	const char *level; /* instead of a drain; static */
	char type[64];     /* of a level: its loaders alone; without one: a release of it */
	char missing[64];
	size_t n;
	struct {
		char name[64];
		uint32_t id;
	} b[];
};

static void drain_discard(struct letter *l)
{
	free(l);
}

static void tell_worker(const struct commander *c, const struct drain *d, uint32_t broker,
                        struct worker *w)
{
	if (!d->level && d->type[0] && c->front->release)
		c->front->release(w, broker, d->type);
	else if (d->level && c->front->level)
		c->front->level(w, broker, d->type, d->level);
	else if (!d->type[0] && !d->level && c->front->drain)
		c->front->drain(w, broker, d->drained);
}

static void drained(struct letter *l, void *self)
{
	struct commander *c = self;
	struct drain *d = (struct drain *)l;
	struct cmd *cmd = commander_find(c, d->command);
	struct refusal f;

	for (size_t i = 0; i < d->n && !d->missing[0]; i++)
		for (size_t k = 0; k < c->front->n_workers; k++)
			tell_worker(c, d, d->b[i].id, c->front->workers[k]);
	if (cmd && d->missing[0]) {
		refuse(&f, E_NOT_FOUND, "args.brokers", NULL, "args.brokers: no broker '%s'",
		       d->missing);
		cmd_fail(c, cmd, &f);
	} else if (cmd) {
		cmd_over(c, cmd, CS_DONE, "");
	}
	free(d);
}

/* On the registrar's thread: all of them are known, or none is changed. */
static void drain_at_registrar(struct letter *l, void *self)
{
	struct drain *d = (struct drain *)l;

	for (size_t i = 0; i < d->n && !d->missing[0]; i++)
		if (!registrar_find(self, d->b[i].name, &d->b[i].id))
			snprintf(d->missing, sizeof d->missing, "%s", d->b[i].name);
	for (size_t i = 0; i < d->n && !d->missing[0] && !d->level && !d->type[0]; i++)
		registrar_drain(self, d->b[i].id, d->drained);
	l->deliver = drained;
	if (actor_post_credit(d->c->me, l) < 0)
		free(d);
}

static int drain(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct jval *list = cmd->o.brokers;

	if (!c->front || !c->front->registrar)
		return refuse(f, E_UNSUPPORTED, "args.brokers", NULL, "there are no brokers here");
	struct drain *d = mem_new(sizeof *d + list->len * sizeof d->b[0]);
	d->c = c;
	d->command = cmd->id;
	d->drained = cmd->kind == CK_BROKER_DRAIN;
	d->level = cmd->kind == CK_LOG_LEVEL ? order_level_name(cmd->o.level) : NULL;
	if (cmd->o.type)
		snprintf(d->type, sizeof d->type, "%s", cmd->o.type);
	for (const struct jval *v = list->first; v; v = v->next)
		snprintf(d->b[d->n++].name, sizeof d->b[0].name, "%s", v->text);
	d->letter.deliver = drain_at_registrar;
	d->letter.discard = drain_discard;
	int r = actor_post(registrar_actor(c->front->registrar), &d->letter);
	if (r < 0) {
		free(d);
		return refuse(f, r, "", NULL, "%s", err_text(r));
	}
	cmd->edit_posted = true; /* under way */
	return 0;
}

/* Whoever leads alone stays: work would stand still. */
static int step_down(const struct commander *c, struct refusal *f)
{
	if (!c->front || !c->front->lead)
		return refuse(f, E_UNSUPPORTED, "", NULL, "this server stands alone");
	if (c->lead.n == 0)
		return refuse(f, E_CONFLICT, "", "start a second server on the same store",
		              "no standby is heard: nobody would lead");
	log_info("lead.steps-down", "standby=\"%s\"", c->lead.nodes[0].who);
	c->front->step_down(c->front->lead);
	return 0;
}

static void level_everywhere(const struct commander *c, const struct cmd *cmd)
{
	for (size_t k = 0; c->front && c->front->level && k < c->front->n_workers; k++)
		c->front->level(c->front->workers[k], 0, cmd->o.type,
		                order_level_name(cmd->o.level));
}

void cmd_other(struct commander *c, struct cmd *cmd)
{
	struct refusal f = { 0 };
	int r = 0;

	if (cmd->edit_posted)
		return;
	switch (cmd->kind) {
	case CK_COMMAND_PAUSE:
	case CK_COMMAND_RESUME:
	case CK_COMMAND_CANCEL:
		r = steer(c, cmd, &f);
		break;
	case CK_BROKER_DRAIN:
	case CK_BROKER_UNDRAIN:
		r = drain(c, cmd, &f);
		break;
	case CK_PLUGIN_RELEASE:
		if (cmd->o.brokers && cmd->o.brokers->len)
			r = drain(c, cmd, &f);
		for (size_t k = 0; c->front && c->front->release && k < c->front->n_workers &&
		                   !cmd->edit_posted && r == 0;
		     k++)
			c->front->release(c->front->workers[k], 0, cmd->o.type);
		break;
	case CK_STEP_DOWN:
		r = step_down(c, &f);
		break;
	case CK_ALERT_ACK:
		r = alert_ack(c, cmd, &f);
		break;
	case CK_NODE_FORGET:
		r = cmd_forget_node(c, cmd->o.node, &f);
		break;
	case CK_LOG_LEVEL:
		if (cmd->o.brokers && cmd->o.brokers->len)
			r = drain(c, cmd, &f);
		else if (cmd->o.type)
			level_everywhere(c, cmd);
		else
			log_level_set((enum log_level)cmd->o.level);
		break;
	default:
		break;
	}
	if (r < 0)
		cmd_fail(c, cmd, &f);
	else if (r == 0 && !cmd->edit_posted)
		cmd_over(c, cmd, CS_DONE, "");
}
