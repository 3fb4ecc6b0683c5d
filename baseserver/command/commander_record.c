/* What is durable of a command, and the answers that wait for it.
 *
 * A record is the command's row as it is now. The ledger writes it with a commit and sends it back;
 * only then is its state copied to `shown`, which is all that clients see, and only then are
 * requests answered. So nobody is told of progress that a crash could undo. A command that was
 * refused before its first record leaves no trace; one that people followed meanwhile (an apply
 * that is judged piece by piece) ends as failed, for all to see. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/ledger.h"
#include "sched/name.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/log.h"

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

void cmd__answer_all(struct cmd *cmd)
{
	while (cmd->asked) {
		struct client_request *r = cmd->asked;
		struct buf body;
		cmd->asked = (struct client_request *)r->letter.next;
		struct face face = cmd__face(cmd);
		buf_init(&body);
		face_print(&face, &body);
		request_answer(r, 0, "", &body, cmd->number);
	}
}

/* --- records --------------------------------------------------------------------------- */

static void tell_workers(const struct commander *c, const struct cmd *cmd)
{
	const struct shown *s = &cmd->shown;
	const struct command_news n = { cmd->id, s->total, s->done, s->failed, s->state };

	for (size_t k = 0; c->front && c->front->news && k < c->front->n_workers; k++)
		c->front->news(c->front->workers[k], &n);
}

static void recorded(struct letter *l, void *self)
{
	struct commander *c = self;
	struct record *r = (struct record *)l;
	struct cmd *cmd = commander__find(c, r->command.id);
	const struct store_command *s = &r->command;

	commander_fold(c);
	if (cmd) {
		CHECK(cmd->records > 0);
		cmd->records--;
		cmd->shown = (struct shown){ .state = (enum command_state)s->state,
			                     .total = s->total == COMMAND_UNCOUNTED
			                                      ? -1
			                                      : (int64_t)s->total,
			                     .done = s->done,
			                     .failed = s->failed,
			                     .ended_us = s->ended_us };
		snprintf(cmd->shown_error, sizeof cmd->shown_error, "%s", s->error);
		cmd->number = r->number;
		tell_workers(c, cmd);
		if (cmd->answer_early || command_state_over(cmd->shown.state))
			cmd__answer_all(cmd);
	}
	record_free(r);
}

/* " 17.1772323200": what is waited for */
static void print_waits(const struct keyset *s, struct buf *out)
{
	for (size_t i = 0; i < s->n; i++)
		buf_printf(out, " %u.%" PRId64, s->at[i].task, s->at[i].run_date);
}

static bool parse_waits(struct cmd *cmd, const char *text)
{
	int64_t task, date;

	while (*text == ' ') {
		text++;
		if (!number_next(&text, &task) || *text++ != '.' || !number_next(&text, &date))
			return false;
		keyset_add(&cmd->waits, (struct inst_key){ date, (uint32_t)task, 0 });
	}
	return *text == 0 || *text == '|';
}

/* "~p/w~2 ", "!" or "?" before the blank when it is to end. */
static void print_tried(const struct cmd *cmd, struct buf *out)
{
	if (!cmd->tried)
		return;
	buf_printf(out, "%c%s%s ", NAME_TEST, cmd->tried,
	           cmd->ends_as == CS_CANCELLED ? "!"
	           : cmd->ends_as == CS_FAILED  ? "?"
	           : cmd->ends_as == CS_DONE    ? "."
	                                        : "");
}

/* What follows it; NULL: it does not read. */
static const char *parse_tried(struct cmd *cmd, const char *text)
{
	if (*text != NAME_TEST)
		return text;
	size_t n = strcspn(++text, " ");
	if (n < 2 || text[n] != ' ' || !cmd->ops->tries)
		return NULL;
	const char *rest = text + n + 1;
	char last = text[n - 1];
	cmd->ends_as = last == '!'   ? CS_CANCELLED
	               : last == '?' ? CS_FAILED
	               : last == '.' ? CS_DONE
	                             : CS_QUEUED;
	cmd->tried = mem_strn(text, n - (cmd->ends_as != CS_QUEUED));
	return rest;
}

static char *cursor_text(const struct cmd *cmd)
{
	struct buf b;

	bool begun = cmd->has_cursor || cmd->picks || cmd->waits.n || cmd->ripe.n;
	buf_init(&b);
	print_tried(cmd, &b);
	if (begun)
		buf_printf(&b, "%u %" PRId64 " %zu", cmd->has_cursor ? cmd->last.task : 0,
		           cmd->last.run_date, cmd->index);
	print_waits(&cmd->waits, &b);
	print_waits(&cmd->ripe, &b);
	if (cmd->picks) {
		buf_putc(&b, '|');
		picks__print(cmd, &b);
	}
	char *text = mem_str(buf_str(&b));
	buf_done(&b);
	return text;
}

bool cmd__cursor_parse(struct cmd *cmd, const char *text)
{
	int64_t task, date, index;

	if (!(text = parse_tried(cmd, text)))
		return false;
	const char *picks = strchr(text, '|');
	if (!*text)
		return true;
	if (!number_next(&text, &task) || !number_next(&text, &date) || !number_next(&text, &index))
		return false;
	cmd->last = (struct inst_key){ date, (uint32_t)task, 0 };
	cmd->index = (size_t)index;
	cmd->has_cursor = cmd->last.task != 0;
	return parse_waits(cmd, text) && (!picks || picks__parse(cmd, picks + 1));
}

/* What nobody but its person is told of: durable with its edit, and then forgotten. */
static void answer_unrecorded(struct cmd *cmd)
{
	cmd->shown = (struct shown){ .state = cmd->state,
		                     .total = cmd->total,
		                     .done = cmd->done,
		                     .failed = cmd->failed,
		                     .ended_us = cmd->ended_us };
	snprintf(cmd->shown_error, sizeof cmd->shown_error, "%s", cmd->error);
	cmd__answer_all(cmd);
	cmd->forget = true;
}

/* What the audit keeps of it: its arguments, and who spoke for the actor. */
static char *told_of(const struct cmd *cmd)
{
	size_t n = strlen(cmd->args);

	if (!cmd->by)
		return NULL;
	if (n < 2 || strcmp(cmd->args, "{}") == 0)
		return mem_fmt("{%s}", cmd->by);
	return mem_fmt("%.*s,%s}", (int)n - 1, cmd->args, cmd->by);
}

void cmd__record(struct commander *c, struct cmd *cmd, struct store_command_item *items,
                 size_t n_items)
{
	bool over = command_state_over(cmd->state);

	CHECK(cmd->id && !cmd->dry);
	CHECK(!items == !n_items);
	cmd->recorded = true;
	if (cmd->ops->is_private) {
		if (over)
			answer_unrecorded(cmd);
		return;
	}
	touch__order(c, cmd);
	touch__items(c, cmd, items, n_items);
	struct record *r = mem_new(sizeof *r);
	r->reply_to = c->me;
	r->answered = recorded;
	r->items = items;
	r->n_items = n_items;
	r->command = (struct store_command){ .id = cmd->id,
		                             .request_id = mem_str(cmd->request_id),
		                             .actor = mem_str(cmd->actor),
		                             .kind = mem_str(command_kind_name(cmd->kind)),
		                             .args = mem_str(cmd->args),
		                             .told = told_of(cmd),
		                             .error = mem_str(cmd->error),
		                             .state = (uint8_t)cmd->state,
		                             .created_us = cmd->created_us,
		                             .ended_us = over ? cmd->ended_us : 0,
		                             .total = cmd->total < 0 ? COMMAND_UNCOUNTED
		                                                     : (uint32_t)cmd->total,
		                             .done = (uint32_t)cmd->done,
		                             .failed = (uint32_t)cmd->failed,
		                             .cursor = over ? mem_str("") : cursor_text(cmd),
		                             .projects = mem_str(cmd->projects) };
	/* Refused only when the process is ending. */
	if (ledger_record(c->ledger, r) < 0) {
		log_warn("command.unrecorded", "command=%" PRIu64, cmd->id);
		record_free(r);
		return;
	}
	cmd->records++;
}

static void work_done(struct commander *c, struct cmd *cmd)
{
	feed_close(cmd->feed);
	cmd->feed = NULL;
	down__close(cmd->down);
	cmd->down = NULL;
	cmd->phase = PH_OVER;
	apply__drop(cmd);
	edit_free(cmd->edit);
	cmd->edit = NULL;
	cmd__unwatch(c, cmd);
	cmd__scope_over(c, cmd);
	keyset_done(&cmd->out);
	keyset_done(&cmd->asked_for);
	keyset_done(&cmd->waits);
	keyset_done(&cmd->ripe);
	keyset_done(&cmd->settled);
	picks__free(cmd->picks, cmd->n_picks);
	cmd->picks = NULL;
	cmd->n_picks = 0;
}

void cmd__over(struct commander *c, struct cmd *cmd, enum command_state state, const char *error)
{
	CHECK(command_state_over(state));
	cmd->state = state;
	cmd->ended_us = actor_wall_us(c->me);
	if (cmd->total < 0)
		cmd->total = cmd->done;
	snprintf(cmd->error, sizeof cmd->error, "%s", error);
	work_done(c, cmd);
	cmd__record(c, cmd, NULL, 0);
	log_info("command.over",
	         "command=%" PRIu64 " kind=%s actor=%s state=%s done=%" PRId64 " failed=%" PRId64,
	         cmd->id, command_kind_name(cmd->kind), cmd->actor, command_state_name(state),
	         cmd->done, cmd->failed);
}

/* Who asks is told at once what is wrong; where that was followed meanwhile, others see it too. */
void cmd__fail(struct commander *c, struct cmd *cmd, const struct refusal *f)
{
	while (cmd->asked && (!cmd->recorded || cmd->apply_told)) {
		struct client_request *r = cmd->asked;
		cmd->asked = (struct client_request *)r->letter.next;
		request_refuse(r, f);
	}
	free(f->json);
	if (cmd->recorded) {
		cmd__over(c, cmd, CS_FAILED, f->text);
		return;
	}
	work_done(c, cmd);
	cmd->forget = true;
}

/* --- of a workflow that is tried -------------------------------------------------------------- */

bool trial__saved(const struct commander *c, const struct cmd *cmd)
{
	return cmd->tried && docs_find(&c->documents.all, cmd->tried);
}

void trial__end(struct commander *c, struct cmd *cmd, enum command_state state, const char *why)
{
	CHECK(command_state_over(state) && cmd->ops->tries);
	if (cmd->ends_as != CS_QUEUED)
		return;
	cmd->ends_as = state;
	cmd->look_us = 0;
	snprintf(cmd->error, sizeof cmd->error, "%s", why);
	cmd->answer_early = true;
	cmd__record(c, cmd, NULL, 0);
	if (cmd->phase == PH_SURVEY)
		cmd->phase = PH_RUN; /* cmd__run() goes on from there */
	commander__work(c, cmd);
}
