/* The actor: one turn folds the stream, then takes each command at work one step further, then
 * each dry run, and last drops what is over. A command's phase (enum phase) says which file
 * goes on with it; a paused command is not stepped. No step waits: what has to wait (the
 * ledger, another edit, a running attempt) leaves the command in its phase, and a letter, the
 * stream or an alarm brings the next turn. News that others keep here (lead, nodes, progress,
 * the notifier's session) come as letters too and are only looked at. */
#include "baseserver/command/commander.h"

#include <stdlib.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/vault.h"
#include "rt/manifests.h"
#include "util/alloc.h"
#include "util/check.h"

static void step_dry(struct commander *c, struct cmd *cmd)
{
	struct buf out;

	CHECK(cmd->dry && !cmd->id && !cmd->recorded);
	if (cmd->phase == PH_SURVEY) {
		cmd__survey(c, cmd);
		return;
	}
	struct refusal f = { 0 };
	int r = cmd__begin_edit(c, cmd, &f);

	if (r > 0)
		return;
	if (r < 0 || (cmd->edit && cmd__check_edit(c, cmd->edit, &f) < 0)) {
		cmd__fail(c, cmd, &f);
		return;
	}
	if (cmd->o.draft) { /* it is right; now what would run */
		cmd->phase = PH_SURVEY;
		cmd__survey(c, cmd);
		return;
	}
	/* Kinds that select nothing: the arguments are right. */
	buf_init(&out);
	cmd__print_dry(c, cmd, &out);
	struct client_request *asked = cmd->asked;
	cmd->asked = NULL;
	request_answer(asked, 0, "", &out, stream_seen(c->in));
	cmd->phase = PH_OVER;
}

static void commander_step(struct commander *c, struct cmd *cmd)
{
	CHECK(!cmd->dry);
	cmd->at_work = false;
	if (cmd->state == CS_PAUSED)
		return;
	switch (cmd->phase) {
	case PH_SURVEY:
		cmd__survey(c, cmd);
		if (cmd->phase == PH_SURVEY)
			cmd->at_work = true;
		break;
	case PH_EDIT:
	case PH_RETIRE:
		cmd__edit(c, cmd);
		break;
	case PH_RUN:
		cmd__run(c, cmd);
		if (cmd->phase == PH_EDIT)
			cmd__edit(c, cmd);
		break;
	case PH_GONE:
		(cmd->ops->tries ? trial__gone : cmd__gone)(c, cmd);
		break;
	case PH_OTHER:
		cmd__other(c, cmd);
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
		cmd__free(cmd);
	}
}

/* Nothing is under way any more, and how it ended is durable and was told. */
static bool settled(const struct cmd *cmd)
{
	return cmd->phase == PH_OVER && !cmd->asked && !cmd->flights && !cmd->records &&
	       command_state_over(cmd->shown.state);
}

/* Commands that never became durable go; of those that are over a record stays. */
static void commander_sweep(struct commander *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_cmds; i++) {
		struct cmd *cmd = c->cmds[i];
		if (cmd->flights || (!cmd->forget && !settled(cmd))) {
			c->cmds[n++] = cmd;
			continue;
		}
		if (!cmd->forget)
			pasts__keep(&c->pasts, cmd);
		cmd__free(cmd);
	}
	c->n_cmds = n;
}

static void commander_turn(void *self)
{
	struct commander *c = self;

	commander_fold(c);
	if (!c->scopes_told) {
		plugins__tell(c);
		commander__tell_scopes(c);
	}
	if (c->stuck) {
		struct proposals *ps = c->stuck;
		c->stuck = NULL;
		commander_send(c, ps);
	}
	bool gone = false;
	cmd__survey_share(c);
	for (size_t i = 0; i < c->n_cmds; i++) {
		struct cmd *cmd = c->cmds[i];
		if (cmd->phase != PH_OVER &&
		    (cmd->at_work || cmd->phase == PH_GONE || cmd->phase == PH_OTHER ||
		     (cmd->phase == PH_RUN && !c->stuck)))
			commander_step(c, cmd);
		gone = gone || cmd->forget || settled(cmd);
	}
	step_dry_runs(c);
	cmd__survey_rest(c);
	commander__look_full(c);
	if (gone)
		commander_sweep(c);
	if (c->set.guests)
		c->set.guests->unpark(c);
}

static void on_alarm(void *self)
{
	struct commander *c = self;

	c->alarm_us = ALARM_OFF; /* commander_turn() follows and looks again */
}

static int commander_init(void *self, struct actor *me, struct err *err)
{
	(void)self;
	actor_wake(me);
	(void)err;
	return 0;
}

static const struct actor_ops ops = { .name = "commander",
	                              .letters_max = 65536,
	                              .init = commander_init,
	                              .turn = commander_turn,
	                              .alarm = on_alarm };

int commander_new(struct thread *th, struct ledger *ledger, struct store *store,
                  const struct commander_settings *set, struct commander **ret_commander,
                  struct err *err)
{
	struct commander *c = mem_new(sizeof *c);

	c->ledger = ledger;
	c->kinds = command_kinds();
	c->alarm_us = ALARM_OFF;
	c->set = *set;
	catalog_init(&c->cat);
	catalog_restore(&c->cat, ledger);
	names_init(&c->task_names);
	names_init(&c->workflow_names);
	documents_init(&c->documents);
	stored__init(c);
	progress_init(&c->progress);
	sign_ins__init(c);
	c->credentials.issuer = set->outsiders ? set->oidc_issuer : NULL;
	c->credentials.directory = set->directories ? set->ldap_url : NULL;
	c->vault = vault_new(set->secrets_key_file);
	int r = commander__load(c, store, err);
	if (r < 0) {
		commander_free(c);
		return r;
	}
	c->types = manifests_new(set->types_dir ? set->types_dir : "");
	c->me = actor_new(th, &ops, c);
	c->in = stream_reader_new(ledger_stream(ledger), STREAM_OUTER, c->me);
	budget__notice(c);
	outside__look(c);
	commander__resume(c);
	*ret_commander = c;
	return 0;
}

void commander_free(struct commander *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_cmds; i++)
		cmd__free(c->cmds[i]);
	pasts__done(&c->pasts);
	while (c->work) {
		struct cmd *cmd = c->work;
		c->work = cmd->next;
		cmd__free(cmd);
	}
	free(c->nodes);
	if (c->set.guests)
		c->set.guests->drop(c);
	proposals_free(c->stuck);
	catalog_done(&c->cat);
	documents_done(&c->documents);
	names_done(&c->task_names);
	names_done(&c->workflow_names);
	progress_done(&c->progress);
	manifests_free(c->types);
	roster__done(c);
	sign_ins__done(c);
	stored__done(c);
	alerts__forget(c);
	factors__forget(c);
	vault_free(c->vault);
	free(c->cmds);
	free(c);
}

struct actor *commander_actor(const struct commander *c)
{
	return c->me;
}

void commander_set_front(struct commander *c, const struct front *front)
{
	c->front = front;
}

struct lead_news {
	struct letter letter;
	struct lead_view view;
};

static void on_lead(struct letter *l, void *self)
{
	((struct commander *)self)->lead = ((struct lead_news *)l)->view;
	free(l);
}

void commander_lead(struct commander *c, const struct lead_view *v)
{
	struct lead_news *n = mem_new(sizeof *n);

	n->view = *v;
	n->letter = (struct letter){ .deliver = on_lead, .discard = letter_free };
	if (actor_post(c->me, &n->letter) < 0)
		free(n);
}

static void on_progress(struct letter *l, void *self)
{
	struct commander *c = self;
	struct progress_news *n = (struct progress_news *)l;

	commander_fold(c);
	for (size_t i = 0; i < n->n; i++) {
		/* Late, or of a grant that is not durable yet: the next one comes. */
		const struct cat_inst *live = catalog_live(&c->cat, n->items[i].key);
		if (live && state_holds_slot((enum state)live->state))
			progress_set(&c->progress, n->items[i].key, n->items[i].permille);
	}
	free(n);
}

void commander_progress(struct commander *c, struct progress_news *n)
{
	n->letter = (struct letter){ .deliver = on_progress, .discard = letter_free };
	if (actor_post(c->me, &n->letter) < 0)
		free(n);
}

struct notifier_news {
	struct letter letter;
	struct worker *worker;
	uint32_t session;
};

static void on_notifier(struct letter *l, void *self)
{
	struct commander *c = self;
	const struct notifier_news *n = (const struct notifier_news *)l;

	if (n->worker || n->session == c->notifier_session) {
		c->notifier = n->worker;
		c->notifier_session = n->session;
	}
	free(l);
}

void commander_notifier(struct commander *c, struct worker *w, uint32_t session)
{
	struct notifier_news *n = mem_new(sizeof *n);

	n->worker = w;
	n->session = session;
	n->letter = (struct letter){ .deliver = on_notifier, .discard = letter_free };
	if (actor_post_credit(c->me, &n->letter) < 0)
		free(n);
}

struct nodes_news {
	struct letter letter;
	char *json;
};

static void nodes_discard(struct letter *l)
{
	free(((struct nodes_news *)l)->json);
	free(l);
}

static void on_nodes(struct letter *l, void *self)
{
	struct commander *c = self;

	free(c->nodes);
	c->nodes = ((struct nodes_news *)l)->json;
	free(l);
}

void commander_nodes(struct commander *c, char *json)
{
	struct nodes_news *n = mem_new(sizeof *n);

	n->json = json;
	n->letter = (struct letter){ .deliver = on_nodes, .discard = nodes_discard };
	if (actor_post(c->me, &n->letter) < 0)
		nodes_discard(&n->letter);
}
