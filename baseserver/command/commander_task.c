/* Definitions change by one edit: what a command makes of its tasks' rows, or the documents that
 * its kind wrote, goes to the ledger and is in force when that says so. One edit is out at a time,
 * for the next is made from what this one leaves; where something came due meanwhile (E_REVISION)
 * it is made anew. A retirement has two: offline first, and when nothing of it runs any more,
 * gone. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/begin.h"
#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/ledger.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"

enum { RETRY_US = 10 * 1000, GO_US = 1000 * 1000, TRIES_MAX = 100 };

/* --- definitions ------------------------------------------------------------------- */

int retire_parse(struct order *o, struct refusal *f)
{
	static const char *const runnings[] = { "refuse", "wait", NULL };
	int running = 0, r = arg_choice(o->args, "args", "running", runnings, &running, f);

	o->let_end = running == 1;
	return r;
}

/* As it was, unless the plan of what goes online follows or begins: then a copy by that plan. */
struct task *change_online(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                           struct store_task *row)
{
	struct plan *plan;

	if (row->state == TS_ONLINE && !begin_moves(t, t->def->plan, &cmd->o))
		return NULL;
	row->state = TS_ONLINE;
	CHECK(plan_new(plan_schedule(t->def->plan), &plan, NULL) == 0); /* it was good before */
	if (begin_follow(t, plan, &cmd->o, false, row))
		begin_keep(e, t->id, t->def->name, plan, cmd->actor, cmd->o.now_us);
	return task_with_plan(t->def, plan);
}

/* Offline, and the last step of a retirement. */
struct task *change_offline(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                            struct store_task *row)
{
	(void)e;
	row->state = cmd->phase == PH_RETIRE ? TS_RETIRED
	             : cmd->o.detach         ? TS_DETACHED
	                                     : TS_OFFLINE;
	return row->state != t->row.state ? task_ref(t->def) : NULL;
}

struct task *change_freeze(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                           struct store_task *row)
{
	(void)cmd;
	(void)e;
	row->frozen = true;
	return t->row.frozen ? NULL : task_ref(t->def);
}

struct task *change_unfreeze(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                             struct store_task *row)
{
	(void)cmd;
	(void)e;
	row->frozen = false;
	return t->row.frozen ? task_ref(t->def) : NULL;
}

struct task *change_quarantine(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                               struct store_task *row)
{
	(void)e;
	row->quarantined_us = cmd->o.now_us; /* anew: a start marks it, and this makes it durable */
	return task_ref(t->def);
}

struct task *change_release(const struct cmd *cmd, const struct cat_task *t, struct edit *e,
                            struct store_task *row)
{
	(void)cmd;
	(void)e;
	row->quarantined_us = 0;
	return t->row.quarantined_us ? task_ref(t->def) : NULL;
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
		if (order__selects(o, t->id))
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
		if (d->kind == DOC_WORKFLOW && !name_is_test(d->name))
			f->saved(f->registry,
			         &(struct saved_workflow){ d->name, d->retired ? NULL : d->body,
			                                   d->body_len, d->version, cmd->actor });
	}
}

/* A plan ends before the last of it has: there is no document yet that says so. */
void retire_edited(struct commander *c, const struct cmd *cmd, const struct edit *e)
{
	const struct front *f = c->front;

	if (!f || !f->registry || !f->saved)
		return;
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
void freeze_edited(struct commander *c, const struct cmd *cmd, const struct edit *e)
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
	struct cmd *cmd = commander__find(c, e->cookie);
	int code = e->code;

	CHECK(c->edit_out);
	c->edit_out = false;
	c->changes++;
	if (code == 0)
		commander__learn(c, e);
	if (code == 0 && cmd)
		tell_saved(c, cmd, e);
	if (code == 0 && cmd && cmd->ops->edited)
		cmd->ops->edited(c, cmd, e);
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
	bool goes = cmd->ops->tries && cmd->phase == PH_RETIRE;
	if (code < 0 && goes) { /* it has to */
		commander_alarm(c, actor_mono_us(c->me) + GO_US);
		cmd->at_work = true;
		return;
	}
	if (code < 0) {
		cmd__over(c, cmd, CS_FAILED, err_text(code));
		return;
	}
	if (cmd->phase != PH_EDIT || cmd->ops->sweep != SWEEP_AFTER_EDIT) {
		char *why = mem_str(goes ? cmd->error : "");
		cmd__over(c, cmd, goes && cmd->ends_as ? cmd->ends_as : CS_DONE, why);
		free(why);
		return;
	}
	cmd->phase = PH_SURVEY;
	commander__work(c, cmd);
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

	CHECK(cmd->ops->change); /* else its `begin` has made one */
	e->tasks = mem_array(cmd->o.sel.n_tasks + 1, sizeof *e->tasks);
	e->rows = mem_array(cmd->o.sel.n_tasks + 1, sizeof *e->rows);
	e->keep_links = true;
	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		struct store_task row = t->row;
		struct task *as = cmd->ops->change(cmd, t, e, &row);
		if (!as)
			continue;
		e->tasks[e->n_tasks] = as;
		e->rows[e->n_tasks++] = row;
	}
	if (cmd->phase == PH_RETIRE)
		retire_documents(c, cmd, e);
	return e;
}

/* A retirement is done when the last of their instances has ended. */
static size_t tasks_changed(const struct cmd *cmd, const struct edit *e)
{
	return cmd->kind == CK_RETIRE ? cmd->o.sel.n_tasks : e->n_tasks;
}

/* How many, and which: the first of them. */
static char *changes_text(const struct cmd *cmd, const struct edit *e)
{
	struct buf b;

	buf_init(&b);
	buf_printf(&b, "\"tasks_changed\":%zu,\"tasks\":[", tasks_changed(cmd, e));
	for (size_t i = 0; i < e->n_tasks && i < DRY_LIST_MAX; i++)
		put_text(&b, NULL, e->tasks[i]->name);
	buf_putc(&b, ']');
	char *text = mem_str(buf_str(&b));
	buf_done(&b);
	return text;
}

size_t cmd__tasks_changed(struct commander *c, const struct cmd *cmd)
{
	struct edit *e = edit_of(c, cmd);
	size_t n = tasks_changed(cmd, e);

	edit_free(e);
	return n;
}

int cmd__begin_edit(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	bool made = cmd->edit || !cmd->ops->begin || cmd->phase == PH_RETIRE;

	return made ? 0 : cmd->ops->begin(c, cmd, f);
}

int cmd__check_edit(const struct commander *c, const struct edit *e, struct refusal *f)
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

void cmd__edit(struct commander *c, struct cmd *cmd)
{
	CHECK(cmd->phase == PH_EDIT || cmd->phase == PH_RETIRE);
	if (cmd->edit_posted)
		return;
	if (c->edit_out || (c->judged && c->judged != cmd)) {
		cmd->at_work = true; /* when that one is durable */
		return;
	}
	struct refusal f = { 0 };
	int r = cmd__begin_edit(c, cmd, &f);
	cmd->at_work = r > 0;
	if (r < 0)
		cmd__fail(c, cmd, &f);
	if (r)
		return;
	struct edit *e = cmd->edit ? cmd->edit : edit_of(c, cmd);
	cmd->edit = NULL;
	if (cmd->o.on_tasks && !cmd->changes)
		cmd->changes = changes_text(cmd, e);
	if (cmd__check_edit(c, e, &f) < 0) {
		edit_free(e);
		cmd__fail(c, cmd, &f);
		return;
	}
	if (cmd->state == CS_QUEUED)
		cmd->state = CS_RUNNING;
	if (!cmd->recorded)
		cmd__record(c, cmd, NULL, 0);
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

void cmd__gone(struct commander *c, struct cmd *cmd)
{
	CHECK(cmd->ops->retires && cmd->in_flight == 0);
	/* Saved anew while the last of it ran: it is wanted again. */
	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		if (t && t->row.state == TS_ONLINE) {
			cmd__over(c, cmd, CS_DONE, "");
			return;
		}
	}
	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		if (t && t->live != SLAB_NONE)
			return; /* turn() looks again when something was folded */
	}
	cmd->phase = PH_RETIRE;
	cmd__edit(c, cmd);
}

void cmd__other(struct commander *c, struct cmd *cmd)
{
	struct refusal f = { 0 };

	if (cmd->edit_posted)
		return;
	int r = cmd->ops->act ? cmd->ops->act(c, cmd, &f) : 0;
	if (r < 0)
		cmd__fail(c, cmd, &f);
	else if (r == 0 && !cmd->edit_posted)
		cmd__over(c, cmd, CS_DONE, "");
}
