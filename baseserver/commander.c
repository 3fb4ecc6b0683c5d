#include "baseserver/commander.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/commander_impl.h"
#include "baseserver/json_read.h"
#include "baseserver/ledger.h"
#include "baseserver/params.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

enum { KEEP_MAX = 10000, FOLD_MAX = 65536 };

/* --- answers --------------------------------------------------------------------------- */

void request_answer(struct client_request *r, int code, const char *text, struct buf *body,
                    uint64_t number)
{
	if (!r) {
		if (body)
			buf_done(body);
		return;
	}
	r->code = code;
	snprintf(r->text, sizeof r->text, "%s", text);
	r->number = number;
	if (body) {
		r->body_len = body->len;
		r->body = mem_strn((const char *)buf_at(body), body->len);
		buf_done(body);
	}
	r->letter.deliver = r->answered;
	if (!r->reply_to || actor_post_credit(r->reply_to, &r->letter) < 0)
		client_request_free(r);
}

void request_refuse(struct client_request *r, const struct refusal *f)
{
	struct buf body;

	buf_init(&body);
	if (f->json)
		buf_puts(&body, f->json);
	else
		refusal_print(f, &body);
	request_answer(r, f->code, f->text, &body, 0);
}

static void answer_all(struct cmd *cmd)
{
	while (cmd->asked) {
		struct client_request *r = cmd->asked;
		struct buf body;
		cmd->asked = (struct client_request *)r->letter.next;
		buf_init(&body);
		cmd_print(cmd, &body);
		request_answer(r, 0, "", &body, cmd->number);
	}
}

/* --- records --------------------------------------------------------------------------- */

struct cmd *commander_find(const struct commander *c, uint64_t id)
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

static void recorded(struct letter *l, void *self)
{
	struct commander *c = self;
	struct record *r = (struct record *)l;
	struct cmd *cmd = commander_find(c, r->command.id);
	const struct store_command *s = &r->command;

	commander_fold(c);
	if (cmd) {
		cmd->shown = (struct shown){ .state = (enum command_state)s->state,
			                     .total = s->total == UINT32_MAX ? -1
			                                                     : (int64_t)s->total,
			                     .done = s->done,
			                     .failed = s->failed,
			                     .ended_us = s->ended_us };
		snprintf(cmd->shown.error, sizeof cmd->shown.error, "%s", s->error);
		cmd->number = r->number;
		if (cmd->answer_early || command_state_over(cmd->shown.state))
			answer_all(cmd);
	}
	record_free(r);
}

static char *cursor_text(const struct cmd *cmd)
{
	struct buf b;

	if (!cmd->has_cursor && !cmd->picks)
		return mem_str("");
	buf_init(&b);
	buf_printf(&b, "%u %" PRId64 " %zu", cmd->has_cursor ? cmd->last.task : 0,
	           cmd->last.run_date, cmd->index);
	if (cmd->picks) {
		buf_putc(&b, '|');
		picks_print(cmd, &b);
	}
	char *text = mem_str(buf_str(&b));
	buf_done(&b);
	return text;
}

static bool cursor_parse(struct cmd *cmd, const char *text)
{
	const char *picks = strchr(text, '|');
	int64_t task, date, index;

	if (!*text)
		return true;
	if (!number_next(&text, &task) || !number_next(&text, &date) || !number_next(&text, &index))
		return false;
	cmd->last = (struct inst_key){ date, (uint32_t)task, 0 };
	cmd->index = (size_t)index;
	cmd->has_cursor = cmd->last.task != 0;
	return !picks || picks_parse(cmd, picks + 1);
}

void cmd_record(struct commander *c, struct cmd *cmd, struct store_command_item *items,
                size_t n_items)
{
	struct record *r = mem_new(sizeof *r);
	bool over = command_state_over(cmd->state);

	cmd->recorded = true;
	r->reply_to = c->me;
	r->answered = recorded;
	r->items = items;
	r->n_items = n_items;
	r->command = (struct store_command){ .id = cmd->id,
		                             .request_id = mem_str(cmd->request_id),
		                             .actor = mem_str(cmd->actor),
		                             .kind = mem_str(command_kind_name(cmd->kind)),
		                             .args = mem_str(cmd->args),
		                             .error = mem_str(cmd->error),
		                             .state = (uint8_t)cmd->state,
		                             .created_us = cmd->created_us,
		                             .ended_us = over ? cmd->ended_us : 0,
		                             .total = cmd->total < 0 ? UINT32_MAX
		                                                     : (uint32_t)cmd->total,
		                             .done = (uint32_t)cmd->done,
		                             .failed = (uint32_t)cmd->failed,
		                             .cursor = over ? mem_str("") : cursor_text(cmd) };
	/* Refused only when the process is ending. */
	if (ledger_record(c->ledger, r) < 0) {
		log_warn("command.unrecorded", "command=%" PRIu64, cmd->id);
		record_free(r);
	}
}

static void work_done(struct commander *c, struct cmd *cmd)
{
	feed_close(cmd->feed);
	cmd->feed = NULL;
	if (cmd->phase == PH_RUN && cmd->o.parallel > 0 && c->parallel > 0)
		c->parallel--;
	cmd->phase = PH_OVER;
	edit_free(cmd->edit);
	cmd->edit = NULL;
	free(cmd->out);
	cmd->out = NULL;
	cmd->n_out = 0;
	picks_free(cmd->picks, cmd->n_picks);
	cmd->picks = NULL;
	cmd->n_picks = 0;
	cmd_forget_settled(cmd);
}

void cmd_over(struct commander *c, struct cmd *cmd, enum command_state state, const char *error)
{
	cmd->state = state;
	cmd->ended_us = actor_wall_us(c->me);
	if (cmd->total < 0)
		cmd->total = cmd->done;
	snprintf(cmd->error, sizeof cmd->error, "%s", error);
	work_done(c, cmd);
	cmd_record(c, cmd, NULL, 0);
	log_info("command.over",
	         "command=%" PRIu64 " kind=%s actor=%s state=%s done=%" PRId64 " failed=%" PRId64,
	         cmd->id, command_kind_name(cmd->kind), cmd->actor, command_state_name(state),
	         cmd->done, cmd->failed);
}

void cmd_fail(struct commander *c, struct cmd *cmd, const struct refusal *f)
{
	if (cmd->recorded) {
		free(f->json);
		cmd_over(c, cmd, CS_FAILED, f->text);
		return;
	}
	while (cmd->asked) {
		struct client_request *r = cmd->asked;
		cmd->asked = (struct client_request *)r->letter.next;
		request_refuse(r, f);
	}
	free(f->json);
	work_done(c, cmd);
	cmd->forget = true;
}

/* --- commands in ------------------------------------------------------------------------ */

static void cmd_free(struct cmd *cmd)
{
	while (cmd->asked) {
		struct client_request *r = cmd->asked;
		cmd->asked = (struct client_request *)r->letter.next;
		client_request_free(r);
	}
	while (cmd->flights) {
		struct flight *fl = cmd->flights;
		cmd->flights = fl->next;
		for (size_t i = 0; i < fl->n_items; i++)
			free((void *)fl->items[i].text);
		free(fl->items);
		free(fl);
	}
	feed_close(cmd->feed);
	picks_free(cmd->picks, cmd->n_picks);
	edit_free(cmd->edit);
	order_done(&cmd->o);
	free(cmd->tally.tasks);
	cmd_forget_settled(cmd);
	free(cmd->out);
	free(cmd->changes);
	free(cmd->request_id);
	free(cmd->actor);
	free(cmd->args);
	free(cmd->message);
	free(cmd);
}

static struct cmd *cmd_new(enum command_kind kind, const char *request_id, const char *actor,
                           const char *args, int64_t created_us)
{
	struct cmd *cmd = mem_new(sizeof *cmd);

	cmd->kind = kind;
	cmd->request_id = mem_str(request_id ? request_id : "");
	cmd->actor = mem_str(actor ? actor : "");
	cmd->args = mem_str(args ? args : "");
	cmd->args_len = strlen(cmd->args);
	cmd->created_us = created_us;
	cmd->total = -1;
	cmd->shown.total = -1;
	cmd->flights_tail = &cmd->flights;
	return cmd;
}

void commander_work(struct commander *c, struct cmd *cmd)
{
	if (cmd->phase == PH_OVER || cmd->at_work)
		return;
	cmd->at_work = true;
	actor_wake(c->me);
}

static void put(struct commander *c, struct cmd *cmd)
{
	if (c->n_cmds == c->cmds_cap) {
		c->cmds_cap = c->cmds_cap ? c->cmds_cap * 2 : 64;
		c->cmds = mem_grow(c->cmds, c->cmds_cap, sizeof *c->cmds);
	}
	c->cmds[c->n_cmds++] = cmd;
}

static enum phase first_phase(const struct cmd *cmd)
{
	enum acts_on on = command_acts_on(cmd->kind);

	if (on == ON_DOCUMENTS)
		return PH_EDIT;
	if (on == ON_BROKERS || on == ON_COMMANDS || on == ON_NOTHING)
		return PH_OTHER;
	if (cmd->o.on_tasks)
		return cmd->dry ? PH_SURVEY : PH_EDIT;
	return PH_SURVEY;
}

/* The same request once more: the first one's command as it is. */
static bool repeated(struct commander *c, struct client_request *r, enum command_kind kind)
{
	struct refusal f;

	for (size_t i = c->n_cmds; i > 0 && r->request_id && r->request_id[0]; i--) {
		struct cmd *cmd = c->cmds[i - 1];
		if (cmd->forget || strcmp(cmd->request_id, r->request_id) != 0)
			continue;
		if (cmd->kind != kind || strcmp(cmd->args, r->args) != 0) {
			refuse(&f, E_CONFLICT, "request_id", NULL,
			       "request id %.80s was used for a %s with other arguments",
			       r->request_id, command_kind_name(cmd->kind));
			request_refuse(r, &f);
			return true;
		}
		r->letter.next = cmd->asked ? &cmd->asked->letter : NULL;
		cmd->asked = r;
		if (cmd->number)
			answer_all(cmd);
		return true;
	}
	return false;
}

static int unknown_kind(const char *kind, struct refusal *f)
{
	const char *names[CK_COUNT + 1];

	for (int k = 0; k < CK_COUNT; k++)
		names[k] = command_kind_name((enum command_kind)k);
	names[CK_COUNT] = NULL;
	const char *near = nearest_of(kind, names);
	return refuse(f, E_INVALID, "kind", near, "'%.60s' is no kind of command%s%s", kind,
	              near ? ", is this meant: " : "", near ? near : "");
}

static int begin(struct commander *c, struct client_request *r, enum command_kind kind,
                 struct refusal *f)
{
	int64_t now = actor_wall_us(c->me);
	struct cmd *cmd = cmd_new(kind, r->request_id, r->actor, r->args, now);
	int code = order_parse(c, kind, r->args, r->args_len, now, &cmd->o, f);

	cmd->dry = r->dry_run;
	if (code == 0)
		code = cmd_check_tasks(c, &cmd->o, f);
	if (code < 0) {
		cmd_free(cmd);
		return code;
	}
	cmd->message = mem_str(cmd->o.message);
	cmd->phase = first_phase(cmd);
	cmd->asked = r;
	r->letter.next = NULL;
	if (cmd->dry) {
		cmd->next = c->work;
		c->work = cmd;
	} else {
		cmd->id = ++c->last_id;
		put(c, cmd);
	}
	commander_work(c, cmd);
	return 0;
}

static void on_command(struct letter *l, void *self)
{
	struct commander *c = self;
	struct client_request *r = (struct client_request *)l;
	enum command_kind kind;
	struct refusal f = { 0 };
	int code;

	commander_fold(c);
	if (!command_kind_parse(r->kind, &kind))
		code = unknown_kind(r->kind, &f);
	else if (!r->dry_run && repeated(c, r, kind))
		return;
	else
		code = begin(c, r, kind, &f);
	if (code < 0) {
		request_refuse(r, &f);
		free(f.json);
	}
}

int commander_command(struct commander *c, struct client_request *r)
{
	r->letter.deliver = on_command;
	return actor_post(c->me, &r->letter);
}

int commander_query(struct commander *c, struct client_request *r)
{
	r->letter.deliver = query_begin;
	return actor_post(c->me, &r->letter);
}

/* --- the actor ---------------------------------------------------------------------------- */

void commander_fold(struct commander *c)
{
	for (const struct transition *tr; (tr = stream_peek(c->in)); stream_next(c->in)) {
		catalog_fold(&c->cat, tr);
		for (size_t i = 0; i < c->n_cmds && c->parallel > 0 && tr->kind == TK_INSTANCE; i++)
			if (c->cmds[i]->phase == PH_RUN)
				cmd_watch(c, c->cmds[i], tr);
	}
}

static void step_dry(struct commander *c, struct cmd *cmd)
{
	struct buf out;

	if (cmd->phase == PH_SURVEY) {
		cmd_survey(c, cmd);
		return;
	}
	struct refusal f = { 0 };
	if (cmd_begin_edit(c, cmd, &f) < 0) {
		cmd_fail(c, cmd, &f);
		return;
	}
	/* Kinds that select nothing: the arguments are right. */
	buf_init(&out);
	cmd_print_dry(c, cmd, &out);
	struct client_request *r = cmd->asked;
	cmd->asked = NULL;
	request_answer(r, 0, "", &out, stream_seen(c->in));
	cmd->phase = PH_OVER;
}

static void step(struct commander *c, struct cmd *cmd)
{
	cmd->at_work = false;
#ifndef BUG_22
	if (cmd->state == CS_PAUSED)
		return;
#endif
	switch (cmd->phase) {
	case PH_SURVEY:
		cmd_survey(c, cmd);
		if (cmd->phase == PH_SURVEY)
			cmd->at_work = true;
		break;
	case PH_EDIT:
	case PH_RETIRE:
		cmd_edit(c, cmd);
		break;
	case PH_RUN:
		cmd_run(c, cmd);
		break;
	case PH_GONE:
		cmd_gone(c, cmd);
		break;
	case PH_OTHER:
		cmd_other(c, cmd);
		break;
	case PH_OVER:
		break;
	}
}

static void step_dry_runs(struct commander *c)
{
	for (struct cmd **at = &c->work, *cmd; (cmd = *at);) {
		if (cmd->phase != PH_OVER)
			step_dry(c, cmd);
		if (cmd->phase != PH_OVER) {
			at = &cmd->next;
			continue;
		}
		*at = cmd->next;
		cmd_free(cmd);
	}
}

/* Commands that never became durable go; of those that are over the last ones stay. */
static void sweep(struct commander *c)
{
	size_t n = 0, over = 0;

	for (size_t i = 0; i < c->n_cmds; i++)
		over += c->cmds[i]->phase == PH_OVER;
	for (size_t i = 0; i < c->n_cmds; i++) {
		struct cmd *cmd = c->cmds[i];
		bool old = cmd->phase == PH_OVER && !cmd->asked && over > KEEP_MAX &&
		           !cmd->flights && command_state_over(cmd->shown.state);
		if ((cmd->forget && !cmd->flights) || old) {
			over--;
			cmd_free(cmd);
		} else {
			c->cmds[n++] = cmd;
		}
	}
	c->n_cmds = n;
}

static void turn(void *self)
{
	struct commander *c = self;

	commander_fold(c);
	if (c->stuck) {
		struct proposals *ps = c->stuck;
		c->stuck = NULL;
		commander_send(c, ps);
	}
	bool forget = c->n_cmds > KEEP_MAX + KEEP_MAX / 8;
	for (size_t i = 0; i < c->n_cmds; i++) {
		struct cmd *cmd = c->cmds[i];
		if (cmd->phase != PH_OVER &&
		    (cmd->at_work || cmd->phase == PH_GONE || cmd->phase == PH_OTHER ||
		     (cmd->phase == PH_RUN && !c->stuck)))
			step(c, cmd);
		forget = forget || cmd->forget;
	}
	step_dry_runs(c);
	if (forget)
		sweep(c);
	query_unpark(c);
}

void commander_alarm(struct commander *c, int64_t at_us)
{
	if (at_us >= c->alarm_us)
		return;
	c->alarm_us = at_us;
	actor_alarm(c->me, at_us);
}

static void on_alarm(void *self)
{
	struct commander *c = self;

	c->alarm_us = ALARM_OFF; /* turn() follows and looks again */
}

static int init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	(void)me;
	(void)err;
	return 0;
}

static const struct actor_ops ops = {
	.name = "commander", .letters_max = 65536, .init = init, .turn = turn, .alarm = on_alarm
};

/* --- life ------------------------------------------------------------------------------------ */

struct loading {
	struct commander *c;
	struct err *err;
};

/* Not over: from its cursor on. What no longer reads (its tasks are gone) has failed. */
static void resume(struct commander *c, struct cmd *cmd)
{
	struct refusal f = { 0 };
	int r = order_parse(c, cmd->kind, cmd->args, cmd->args_len, cmd->created_us, &cmd->o, &f);

	cmd->resumed = true;
	cmd->recorded = true;
	if (r < 0) {
		cmd->state = CS_FAILED;
		cmd->ended_us = actor_wall_us(c->me);
		snprintf(cmd->error, sizeof cmd->error, "after a restart: %.380s", f.text);
		cmd->phase = PH_OVER;
		cmd_record(c, cmd, NULL, 0);
		return;
	}
	cmd->phase = first_phase(cmd);
	if (cmd->phase == PH_SURVEY && cmd->total >= 0)
		cmd->phase = PH_RUN;
	cmd->answer_early = true;
	cmd->at_work = true;
}

static int each_command(void *ctx, const struct store_command *s)
{
	struct loading *ld = ctx;
	enum command_kind kind;

	if (!command_kind_parse(s->kind, &kind) || s->state >= CS_COUNT)
		return err_set(ld->err, E_CORRUPT,
		               "lb_command: id %" PRIu64 " has kind %s, state %u", s->id, s->kind,
		               s->state);
	struct cmd *cmd = cmd_new(kind, s->request_id, s->actor, s->args, s->created_us);
	cmd->id = s->id;
	cmd->state = (enum command_state)s->state;
	cmd->ended_us = s->ended_us;
	cmd->total = s->total == UINT32_MAX ? -1 : (int64_t)s->total;
	cmd->done = s->done;
	cmd->failed = s->failed;
	cmd->message = mem_str("");
	snprintf(cmd->error, sizeof cmd->error, "%s", s->error ? s->error : "");
	cmd->shown = (struct shown){ cmd->state,  cmd->total,    cmd->done,
		                     cmd->failed, cmd->ended_us, "" };
	snprintf(cmd->shown.error, sizeof cmd->shown.error, "%s", cmd->error);
	cmd->number = stream_last(ledger_stream(ld->c->ledger));
	cmd->recorded = true;
	cmd->phase = command_state_over(cmd->state) ? PH_OVER : PH_SURVEY;
	if (s->id > ld->c->last_id)
		ld->c->last_id = s->id;
	put(ld->c, cmd);
	if (!cursor_parse(cmd, s->cursor ? s->cursor : ""))
		return err_set(ld->err, E_CORRUPT,
		               "lb_command: id %" PRIu64 " has a cursor '%.80s'", s->id, s->cursor);
	return 0;
}

static void read_message(struct cmd *cmd)
{
	struct jdoc *doc;

	if (jdoc_parse(cmd->args, cmd->args_len, &doc, NULL) < 0)
		return;
	const struct jval *m = jv_get(jdoc_root(doc), "message");
	if (m && m->kind == JV_TEXT) {
		free(cmd->message);
		cmd->message = mem_str(m->text);
	}
	jdoc_free(doc);
}

static int each_task(void *ctx, const struct store_task *row)
{
	struct commander *c = ctx;

	names_put(&c->task_names, row->name, row->id)->anchor = row->anchor;
	return 0;
}

static void put_document(struct commander *c, const struct store_doc *d)
{
	struct document *at = NULL;

	for (size_t i = 0; i < c->n_documents && !at; i++)
		if (strcmp(c->documents[i].name, d->name) == 0)
			at = &c->documents[i];
	if (!at) {
		c->documents = mem_grow(c->documents, c->n_documents + 1, sizeof *c->documents);
		at = &c->documents[c->n_documents++];
		*at = (struct document){ .name = mem_str(d->name) };
	}
	free(at->body);
	at->body = mem_strn(d->body, d->body_len);
	at->len = d->body_len;
	at->id = d->id;
	at->version = d->version;
	at->retired = d->retired;
	names_put(&c->workflow_names, d->name, d->id)->version = d->version;
}

static int each_document(void *ctx, const struct store_doc *d)
{
	put_document(ctx, d);
	return 0;
}

const struct document *commander_document(const struct commander *c, const char *name)
{
	for (size_t i = 0; i < c->n_documents; i++)
		if (strcmp(c->documents[i].name, name) == 0)
			return c->documents[i].retired ? NULL : &c->documents[i];
	return NULL;
}

static int each_calendar(void *ctx, const struct store_doc *d)
{
	struct loading *ld = ctx;

	return calendars_put(&ld->c->calendars, d, ld->err);
}

/* The params actor hears of it before the client does. */
static void put_scope(struct commander *c, const struct store_doc *d)
{
	scopes_put(&c->scopes, d);
	if (c->front && c->front->params)
		params_tell(c->front->params, d->name, d->body, d->body_len);
}

void commander_learn(struct commander *c, const struct edit *e)
{
	for (size_t i = 0; i < e->n_docs; i++)
		if (e->docs[i].kind == DOC_WORKFLOW)
			put_document(c, &e->docs[i]);
		else if (e->docs[i].kind == DOC_CALENDAR)
			CHECK(calendars_put(&c->calendars, &e->docs[i], NULL) == 0);
		else if (e->docs[i].kind == DOC_POOL)
			pool_learn(c, &e->docs[i]);
		else if (e->docs[i].kind == DOC_SETTING)
			put_scope(c, &e->docs[i]);
	for (size_t i = 0; i < e->n_tasks; i++)
		names_put(&c->task_names, e->tasks[i]->name, e->rows[i].id)
			->anchor = e->rows[i].anchor;
}

static int each_pool(void *ctx, const struct store_doc *d)
{
	pool_learn(ctx, d);
	return 0;
}

int commander_new(struct thread *th, struct ledger *ledger, struct store *store,
                  const struct commander_settings *set, struct commander **ret_commander,
                  struct err *err)
{
	struct commander *c = mem_new(sizeof *c);
	struct loading ld = { c, err };

	c->ledger = ledger;
	c->alarm_us = ALARM_OFF;
	c->set = *set;
	catalog_init(&c->cat);
	catalog_restore(&c->cat, ledger);
	names_init(&c->task_names);
	names_init(&c->workflow_names);
	calendars_init(&c->calendars);
	scopes_init(&c->scopes);
	int r = store_load_commands(store, false, each_command, &ld, err);
	if (r == 0)
		r = store_load_tasks(store, each_task, c, err);
	if (r == 0)
		r = store_load_docs(store, DOC_WORKFLOW, each_document, c, err);
	if (r == 0)
		r = store_load_docs(store, DOC_CALENDAR, each_calendar, &ld, err);
	for (size_t i = 0; i < c->n_cmds && r == 0; i++)
		if (c->cmds[i]->phase != PH_OVER)
			r = cmd_load_settled(c->cmds[i], store, err);
	if (r == 0)
		r = store_load_docs(store, DOC_POOL, each_pool, c, err);
	if (r == 0)
		r = scopes_load(&c->scopes, store, err);
	if (r < 0) {
		commander_free(c);
		return r;
	}
	c->me = actor_new(th, &ops, c);
	c->in = stream_reader_new(ledger_stream(ledger), STREAM_OUTER, c->me);
	for (size_t i = 0; i < c->n_cmds; i++) {
		read_message(c->cmds[i]);
		if (c->cmds[i]->phase != PH_OVER)
			resume(c, c->cmds[i]);
	}
	*ret_commander = c;
	return 0;
}

void commander_free(struct commander *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_cmds; i++)
		cmd_free(c->cmds[i]);
	while (c->work) {
		struct cmd *cmd = c->work;
		c->work = cmd->next;
		cmd_free(cmd);
	}
	query_drop_parked(c);
	scopes_done(&c->scopes);
	proposals_free(c->stuck);
	catalog_done(&c->cat);
	for (size_t i = 0; i < c->n_documents; i++) {
		free(c->documents[i].name);
		free(c->documents[i].body);
	}
	free(c->documents);
	pools_forget(c);
	names_done(&c->task_names);
	names_done(&c->workflow_names);
	calendars_done(&c->calendars);
	free(c->cmds);
	free(c);
}

struct actor *commander_actor(struct commander *c)
{
	return c->me;
}

void commander_set_front(struct commander *c, const struct front *front)
{
	c->front = front;
}
