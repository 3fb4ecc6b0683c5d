/* Commands come in: made, or known already by their request id.
 *
 * A request id makes a command happen once: the same request again gets the first one's answer, the
 * same id with other arguments is refused. A new command is parsed, judged by role and projects,
 * bounded by the quotas, and only then gets a number; a dry run gets none. Nothing is answered
 * before what it says is durable (commander_record.c). A store without room takes no command, and
 * those that wait for an answer are told so within two seconds. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/ledger.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

/* Well within the two seconds in which a full disk is told. */
#define LOOK_FULL_US (500 * US_PER_MS)

void cmd__free(struct cmd *cmd)
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
	down__close(cmd->down);
	picks__free(cmd->picks, cmd->n_picks);
	apply__drop(cmd);
	edit_free(cmd->edit);
	order__done(&cmd->o);
	free(cmd->tally.tasks);
	free(cmd->tally.days);
	keyset_done(&cmd->tally.chosen);
	keyset_done(&cmd->out);
	keyset_done(&cmd->asked_for);
	keyset_done(&cmd->waits);
	keyset_done(&cmd->ripe);
	keyset_done(&cmd->settled);
	free(cmd->changes);
	free(cmd->tried);
	free(cmd->request_id);
	free(cmd->actor);
	free(cmd->args);
	free(cmd->by);
	free(cmd->message);
	free(cmd->projects);
	free(cmd);
}

struct cmd *cmd__new(const struct commander *c, enum command_kind kind, const char *request_id,
                     const char *actor, const char *args, int64_t created_us)
{
	struct cmd *cmd = mem_new(sizeof *cmd);

	cmd->kind = kind;
	cmd->ops = &c->kinds[kind];
	cmd->request_id = mem_str(request_id ? request_id : "");
	cmd->actor = mem_str(actor ? actor : "");
	cmd->args = mem_str(args ? args : "");
	cmd->args_len = strlen(cmd->args);
	args__hash(cmd->args, cmd->args_len, cmd->args__hash);
	cmd->created_us = created_us;
	cmd->total = -1;
	cmd->shown.total = -1;
	cmd->flights_tail = &cmd->flights;
	return cmd;
}

enum phase cmd__first_phase(const struct cmd *cmd)
{
	enum acts_on on = command_acts_on(cmd->kind);

	if (on == ON_DOCUMENTS || cmd->o.draft)
		return PH_EDIT;
	if (on == ON_BROKERS || on == ON_COMMANDS || on == ON_NOTHING)
		return PH_OTHER;
	if (cmd->o.on_tasks) /* unfreeze: their rows first, else they might start */
		return cmd->dry || cmd->ops->sweep == SWEEP_BEFORE_EDIT ? PH_SURVEY : PH_EDIT;
	return PH_SURVEY;
}

static void refuse_other(struct client_request *r, enum command_kind kind)
{
	struct refusal f = { 0 };

	refuse(&f, E_CONFLICT, "request_id", NULL,
	       "request id %.80s was used for a %s with other arguments", r->request_id,
	       command_kind_name(kind));
	request_refuse(r, &f);
}

static bool same_args(const struct cmd *cmd, const struct client_request *r)
{
	uint8_t wanted[ARGS_HASH_BYTES];

	args__hash(r->args, strlen(r->args), wanted);
	return memcmp(cmd->args__hash, wanted, sizeof wanted) == 0;
}

/* The same request once more: the first one's command as it is. */
static bool repeated(struct commander *c, struct client_request *r, enum command_kind kind)
{
	if (!r->request_id || !r->request_id[0])
		return false;
	for (size_t i = c->n_cmds; i > 0; i--) {
		struct cmd *cmd = c->cmds[i - 1];
		if (cmd->forget || strcmp(cmd->request_id, r->request_id) != 0)
			continue;
		/* Of what has a password only what may be shown is known. */
		if (cmd->kind != kind || (!cmd->ops->hides[0] && !same_args(cmd, r))) {
			refuse_other(r, cmd->kind);
			return true;
		}
		r->letter.next = cmd->asked ? &cmd->asked->letter : NULL;
		cmd->asked = r;
		if (cmd->number)
			cmd__answer_all(cmd);
		return true;
	}
	const struct past *past = pasts__repeated(&c->pasts, r->request_id);
	if (!past)
		return false;
	struct face face = past__face(past);
	if (past__same(past, kind, c->kinds[kind].hides[0] ? NULL : r->args)) {
		struct buf body;
		buf_init(&body);
		face_print(&face, &body);
		request_answer(r, 0, "", &body, face.number);
	} else {
		refuse_other(r, face.kind);
	}
	return true;
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

/* Read anew as of another moment, if its own second is taken. */
static int take_moment(struct commander *c, struct cmd *cmd, const struct client_request *r,
                       struct refusal *f)
{
	int64_t at;
	int code = start__moment(c, &cmd->o, &at, f);

	if (code < 0 || at == cmd->created_us)
		return code;
	order__done(&cmd->o);
	cmd->created_us = at;
	return order__parse(c, &(struct order_text){ cmd->kind, r->args, r->args_len, at }, &cmd->o,
	                    f);
}

static int commander_in_begin(struct commander *c, struct client_request *r, enum command_kind kind,
                              struct refusal *f)
{
	int64_t now = actor_wall_us(c->me);
	struct credential has;

	if (rights__who(c, r, &has, f) < 0)
		return f->code;
	struct cmd *cmd = cmd__new(c, kind, r->request_id, r->actor, r->args, now);
	int code = order__parse(c, &(struct order_text){ kind, r->args, r->args_len, now }, &cmd->o,
	                        f);

	if (!r->face)
		code = peer__own_only(r, code, f);
	if (code == 0)
		code = take_moment(c, cmd, r, f);
	cmd->dry = r->dry_run;
	memcpy(cmd->session, has.session, sizeof cmd->session);
	if (code == 0)
		code = rights__judge(c, r, &cmd->o, &has, &cmd->by, f);
	if (code == 0)
		code = peer__within(&cmd->o, r->projects, f);
	if (code == 0 && cmd->ops->check)
		code = cmd->ops->check(c, &cmd->o, f);
	if (code == 0 && !cmd->dry)
		code = quota__commands(c, cmd, f);
	log_debug("commander.judge", "kind=%s actor=%s dry_run=%d tasks=%zu code=%s why=\"%s\"",
	          command_kind_name(kind), cmd->actor, cmd->dry, cmd->o.sel.n_tasks,
	          code < 0 ? err_name(code) : "ok", code < 0 ? f->text : "");
	if (code < 0) {
		cmd__free(cmd);
		return code;
	}
	if (cmd->ops->hides[0]) {
		free(cmd->args);
		cmd->args = args__shown(&cmd->o);
		cmd->args_len = strlen(cmd->args);
	} else {
		args__make_brief(cmd);
	}
	CHECK(cmd->o.ops == cmd->ops && cmd->phase == PH_SURVEY); /* nothing of it has begun */
	cmd->message = mem_str(cmd->o.message);
	cmd->phase = cmd__first_phase(cmd);
	cmd->asked = r;
	r->letter.next = NULL;
	if (cmd->dry) {
		cmd->next = c->work;
		c->work = cmd;
	} else {
		cmd->id = ++c->last_id;
		commander__put(c, cmd);
	}
	commander__work(c, cmd);
	return 0;
}

/* A store without room takes nothing, and nobody is to wait for who makes some. */
static int has_room(const struct commander *c, const struct client_request *r, struct refusal *f)
{
	if (r->dry_run || !ledger_is_full(c->ledger))
		return 0;
	return refuse(f, E_FULL, NULL, NULL,
	              "no space is left on the store's disk: the command was not taken");
}

static void tell_full(struct cmd *cmd)
{
	struct refusal f = { 0 };

	refuse(&f, E_FULL, NULL, NULL,
	       "no space is left on the store's disk: the command may be taken when there is; ask "
	       "again with the same request id");
	while (cmd->asked) {
		struct client_request *r = cmd->asked;
		cmd->asked = (struct client_request *)r->letter.next;
		request_refuse(r, &f);
	}
	free(f.json);
}

void commander__look_full(struct commander *c)
{
	bool full = ledger_is_full(c->ledger), waits = false;

	for (size_t i = 0; i < c->n_cmds; i++) {
		if (full && c->cmds[i]->asked)
			tell_full(c->cmds[i]);
		waits = waits || c->cmds[i]->asked;
	}
	if (waits)
		commander_alarm(c, actor_mono_us(c->me) + LOOK_FULL_US);
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
	else if ((code = has_room(c, r, &f)) == 0)
		code = commander_in_begin(c, r, kind, &f);
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
	if (!c->set.guests)
		return E_UNSUPPORTED;
	r->letter.deliver = c->set.guests->begin;
	return actor_post(c->me, &r->letter);
}
