/* What the commander reads at its start: commands, tasks, names, documents.
 *
 * A command that is not over goes on behind its cursor, with its arguments parsed anew; one whose
 * arguments no longer read (its tasks are gone) ends as failed. A large apply keeps a brief of its
 * arguments only: whether its edit was saved decides how it ended. Members of commands may wait
 * still after their command is over, so the resolver is told their dates before it lets any go.
 * commander__learn() takes documents of each later edit, in the order of the stream. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/params.h"
#include "baseserver/plan/resolver.h"
#include "baseserver/sort/sorter.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

enum { TELL_AGAIN_US = 10 * 1000 };

struct loading {
	struct commander *c;
	struct map causes;
	struct err *err;
};

/* All of it was saved, or nothing: it cannot be done again from what is kept of it. */
static void resume_brief(struct commander *c, struct cmd *cmd)
{
	cmd->resumed = cmd->recorded = true;
	cmd->state = cmd->saved ? CS_DONE : CS_FAILED;
	cmd->ended_us = actor_wall_us(c->me);
	if (!cmd->saved)
		snprintf(cmd->error, sizeof cmd->error, "%s",
		         "the server ended before it was saved: nothing of it is in force; send it "
		         "again, with another request id");
	cmd->phase = PH_OVER;
	cmd__record(c, cmd, NULL, 0);
}

/* Where one that tries a workflow goes on: in force under its name, it is its own. */
static void resume_trial(struct commander *c, struct cmd *cmd)
{
	if (trial__saved(c, cmd)) {
		cmd->phase = cmd->total >= 0 || cmd->ends_as != CS_QUEUED ? PH_RUN : PH_SURVEY;
		cmd->at_work = true;
		return;
	}
	/* Its members were made: so it was saved, and is gone. */
	bool was = cmd->total >= 0 || cmd->ends_as != CS_QUEUED;
	cmd->state = !was ? CS_FAILED : cmd->ends_as == CS_QUEUED ? CS_DONE : cmd->ends_as;
	cmd->ended_us = actor_wall_us(c->me);
	if (!was)
		snprintf(cmd->error, sizeof cmd->error, "%s",
		         "the server ended before it began: nothing of it ran; send it again, with "
		         "another request id");
	cmd->phase = PH_OVER;
	cmd__record(c, cmd, NULL, 0);
}

/* Not over: from its cursor on. What no longer reads (its tasks are gone) has failed. */
static void resume(struct commander *c, struct cmd *cmd)
{
	struct refusal f = { 0 };

	if (args__are_brief(cmd->args)) {
		resume_brief(c, cmd);
		return;
	}
	int r = order__parse(
		c, &(struct order_text){ cmd->kind, cmd->args, cmd->args_len, cmd->created_us },
		&cmd->o, &f);

	cmd->resumed = true;
	cmd->recorded = true;
	if (r < 0) {
		cmd->state = CS_FAILED;
		cmd->ended_us = actor_wall_us(c->me);
		snprintf(cmd->error, sizeof cmd->error, "after a restart: %.380s", f.text);
		cmd->phase = PH_OVER;
		cmd__record(c, cmd, NULL, 0);
		return;
	}
	cmd->answer_early = true;
	if (cmd->ops->tries) {
		resume_trial(c, cmd);
		return;
	}
	cmd->phase = cmd__first_phase(cmd);
	if (cmd->phase == PH_SURVEY && cmd->total >= 0)
		cmd->phase = PH_RUN;
	cmd->at_work = true;
}

static void read_message(struct cmd *cmd)
{
	const struct jval *doc;

	if (!strstr(cmd->args, "\"message\"")) /* most have none: not worth reading them */
		return;
	if (jv_parse_args(cmd->args, cmd->args_len, &doc, NULL) < 0)
		return;
	if (jv_text(doc, "message")) {
		free(cmd->message);
		cmd->message = mem_str(jv_text(doc, "message"));
	}
	jv_free(doc);
}

/* Commands whose members wait still: what they chose is wanted once more. */
static void find_causes(const struct commander *c, struct map *causes)
{
	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&c->cat, (uint32_t)i);
		for (uint32_t k = t ? t->live : SLAB_NONE; k != SLAB_NONE;) {
			const struct cat_inst *in = catalog_inst(&c->cat, k);
			k = in->next;
			if (in->flags & IF_MEMBER && map_get(causes, in->cause) == MAP_NONE)
				map_add(causes, in->cause, 1);
		}
	}
}

static int each_command(void *ctx, const struct store_command *s)
{
	struct loading *ld = ctx;
	enum command_kind kind;

	if (!command_kind_parse(s->kind, &kind) || s->state >= CS_COUNT)
		return err_set(ld->err, E_CORRUPT,
		               "lb_command: id %" PRIu64 " has kind %s, state %u", s->id, s->kind,
		               s->state);
	struct cmd *cmd = cmd__new(ld->c, kind, s->request_id, s->actor, s->args, s->created_us);
	cmd->id = s->id;
	cmd->state = (enum command_state)s->state;
	cmd->ended_us = s->ended_us;
	cmd->total = s->total == COMMAND_UNCOUNTED ? -1 : (int64_t)s->total;
	cmd->done = s->done;
	cmd->failed = s->failed;
	cmd->message = mem_str("");
	cmd->projects = s->projects && *s->projects ? mem_str(s->projects) : NULL;
	read_message(cmd);
	snprintf(cmd->error, sizeof cmd->error, "%s", s->error ? s->error : "");
	cmd->shown = (struct shown){ cmd->state, cmd->total, cmd->done, cmd->failed,
		                     cmd->ended_us };
	snprintf(cmd->shown_error, sizeof cmd->shown_error, "%s", cmd->error);
	cmd->number = stream_last(ledger_stream(ld->c->ledger));
	cmd->recorded = true;
	cmd->phase = command_state_over(cmd->state) ? PH_OVER : PH_SURVEY;
	if (s->id > ld->c->last_id)
		ld->c->last_id = s->id;
	if (cmd->phase == PH_OVER && map_get(&ld->causes, cmd->id) == MAP_NONE) {
		pasts__keep(&ld->c->pasts, cmd);
		cmd__free(cmd);
		return 0;
	}
	commander__put(ld->c, cmd);
	if (!cmd__cursor_parse(cmd, s->cursor ? s->cursor : ""))
		return err_set(ld->err, E_CORRUPT,
		               "lb_command: id %" PRIu64 " has a cursor '%.80s'", s->id, s->cursor);
	return 0;
}

static int each_task(void *ctx, const struct store_task *row)
{
	struct commander *c = ctx;

	names_put(&c->task_names, row->name, row->id)->anchor = row->anchor;
	return 0;
}

static void put_document(struct commander *c, const struct store_doc *d)
{
	documents_put(&c->documents, d);
	names_put(&c->workflow_names, d->name, d->id)->version = d->version;
}

static int each_document(void *ctx, const struct store_doc *d)
{
	put_document(ctx, d);
	return 0;
}

/* Who else keeps it hears of it before the client does. */
static void load_learn(struct commander *c, const struct store_doc *d)
{
	stored__learn(c, d);
	if ((d->kind == DOC_PEER || d->kind == DOC_TRUST) && c->front && c->front->sorter)
		sorter_tell_bound(c->front->sorter, d);
	if (d->kind == DOC_RUNNER)
		plugin__tell(c, d->name);
	else if (d->kind == DOC_PEER)
		peer__tell(c, d);
	else if (d->kind == DOC_USER)
		person_tell(c, d->name);
	else if ((d->kind == DOC_SERVER || d->kind == DOC_SETTING || d->kind == DOC_CHANNEL) &&
	         c->front && c->front->params)
		params_tell(c->front->params, d);
}

void commander__learn(struct commander *c, const struct edit *e)
{
	for (size_t i = 0; i < e->n_docs; i++)
		if (e->docs[i].kind == DOC_WORKFLOW)
			put_document(c, &e->docs[i]);
		else if (e->docs[i].kind == DOC_DRAFT)
			draft__learn(c, &e->docs[i]);
		else
			load_learn(c, &e->docs[i]);
	for (size_t i = 0; i < e->n_tasks; i++)
		names_put(&c->task_names, e->tasks[i]->name, e->rows[i].id)
			->anchor = e->rows[i].anchor;
}

int commander__load(struct commander *c, struct store *store, struct err *err)
{
	struct loading ld = { .c = c, .err = err };

	map_init(&ld.causes);
	find_causes(c, &ld.causes);
	int r = store_load_commands(store, false, each_command, &ld, err);
	map_done(&ld.causes);
	if (r == 0)
		r = store_load_tasks(store, each_task, c, err);
	if (r == 0)
		r = store_load_docs(store, DOC_WORKFLOW, each_document, c, err);
	if (r == 0)
		r = drafts__load(c, store, err);
	if (r == 0)
		r = stored__load(c, store, err);
	if (r == 0)
		r = alerts__load(c, store, err);
	for (size_t i = 0; i < c->n_cmds && r == 0; i++)
		if (c->cmds[i]->phase != PH_OVER)
			r = args__are_brief(c->cmds[i]->args)
			            ? brief__load(c->cmds[i], store, err)
			            : cmd__load_settled(c->cmds[i], store, err);
	return r;
}

void commander__resume(struct commander *c)
{
	for (size_t i = 0; i < c->n_cmds; i++)
		if (c->cmds[i]->phase != PH_OVER)
			resume(c, c->cmds[i]);
}

/* --- members of commands, after a restart ------------------------------------------------- */

/* The resolver holds members until then: told again where its mailbox was full. */
static void all_told(struct commander *c)
{
	struct scope_news *n = mem_new(sizeof *n);
	int r = resolver_tell(c->front->resolver, n);

	if (r < 0)
		scope_news_free(n);
	if (r == E_BUSY) {
		c->scopes_told = false;
		commander_alarm(c, actor_mono_us(c->me) + TELL_AGAIN_US);
	}
}

/* Members of a command that is over may wait still. */
void commander__tell_scopes(struct commander *c)
{
	uint64_t last = 0;

	c->scopes_told = true;
	if (!c->front || !c->front->resolver)
		return;
	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&c->cat, (uint32_t)i);
		for (uint32_t k = t ? t->live : SLAB_NONE; k != SLAB_NONE;) {
			const struct cat_inst *in = catalog_inst(&c->cat, k);
			struct cmd *cmd = in->flags & IF_MEMBER && in->cause != last
			                          ? commander__find(c, in->cause)
			                          : NULL;
			k = in->next;
			if (!cmd || cmd->scoped)
				continue;
			last = cmd->id;
			struct refusal f = { 0 };
			bool over = cmd->phase == PH_OVER;
			struct order o;
			if (order__parse(c,
			                 &(struct order_text){ cmd->kind, cmd->args, cmd->args_len,
			                                       cmd->created_us },
			                 &o, &f) < 0)
				continue;
			if (cmd->ops->chosen)
				cmd->ops->chosen(c, cmd, &o);
			cmd->scoped = order__has_members(&o); /* told once */
			if (cmd->scoped)
				order__tell_scope(c, cmd->id, &o, over);
			order__done(&o);
		}
	}
	all_told(c);
}
