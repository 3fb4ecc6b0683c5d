/* Channels, on-call lists and rules: by which ways people are told, who, and of what.
 *
 * * What is secret of a channel is asked for, read from a file, or a reference to where it is kept
 * outside. The address of a chat or webhook is a secret as well: other programs see a command
 * line. */
#include "admin-console/cli/online/told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "util/buf.h"
#include "util/json_in.h"

/* --- channels ------------------------------------------------------------------------ */

void say_alone(const cJSON *channels)
{
	const cJSON *is = json_get(channels, "notifier");

	if (cJSON_IsFalse(is))
		fprintf(stderr, "sirdar: no notifier is connected: nobody is told. Start "
		                "sirdar-notifier, see its log\n");
}

static void cell_went(const cJSON *channel, const char *key, struct buf *out)
{
	if (json_true(channel, "hidden"))
		buf_puts(out, "hidden: the notifier's file has one of this name");
	else if (*text_of(channel, "lacks") != '\0')
		buf_puts(out, text_of(channel, "lacks"));
	else
		buf_puts(out, text_of(channel, key));
	if (out->len == 0 && json_true(channel, "last_ok"))
		buf_puts(out, "well");
}

static void cell_projects(const cJSON *channel, const char *key, struct buf *out)
{
	cell_list(channel, key, out);
	if (out->len == 0)
		buf_putc(out, '*');
}

static const struct column channel_columns[] = {
	{ "Name", "name" },
	{ "Kind", "kind" },
	{ "Made in", "made" },
	{ "To", "where" },
	{ "Projects", "projects", cell_projects },
	{ ">Waiting", "queue" },
	{ "Last", "last_at", cell_time },
	{ "How it went", "last_error", cell_went },
	{ "Sender", "sender", .wide = true },
	{ "User", "user", .wide = true },
	{ "Language", "language", .wide = true },
	{ "Last good", "last_ok", cell_time, .wide = true },
	{ 0 },
};

static int channels_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	(void)o;
	rows_show(q->verb->columns, json_get(answer, "channels"));
	say_alone(answer);
	return CLI_OK;
}

const struct verb verb_channel_list = { ask,
	                                .most = WORDS_NONE,
	                                .call = "GET /api/v1/channels",
	                                .member = "channels",
	                                .columns = channel_columns,
	                                .show = channels_show };

/* One of them, as the list has it: secrets by name. */
static int channel_show(struct asked *q)
{
	struct online o = { 0 };
	cJSON *answer = NULL;
	const cJSON *v, *found = NULL;
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = online_get(&o, "/api/v1/channels", &answer);
	cJSON_ArrayForEach(v, json_get(answer, "channels"))
		if (!found && strcmp(text_of(v, "name"), word(q, 0)) == 0)
			found = v;
	if (code == CLI_OK && !found)
		code = cli_fail(CLI_NOT_FOUND, "there is no channel '%s'", word(q, 0));
	else if (code == CLI_OK)
		code = print_json(found);
	cJSON_Delete(answer);
	online_close(&o);
	return code;
}

const struct verb verb_channel_show = { channel_show, NULL, 1, 1 };

static void check_url(struct asked *q, const struct opt *o, const char *arg,
                      struct argp_state *state)
{
	(void)q;
	(void)o;
	if (strncmp(arg, "smtp", 4) != 0)
		argp_error(state, "--url in the command line is for smtp:// and smtps://: others "
		                  "are secrets: --ask-url, --url-file FILE or --url-from");
}

static const struct opt channel_options[] = {
	{ "kind", 0, "KIND",
	  "mail, webhook, slack, dingtalk, wecom, feishu, telegram, pagerduty, alertmanager or "
	  "file",
	  TAKE_TEXT, "kind" },
	{ "url", 0, "URL", "of mail: smtp://HOST:PORT or smtps://HOST", TAKE_TEXT, "url",
	  .check = check_url },
	{ "ask-url", 0, NULL, "ask for the address, or read it from a pipe" },
	{ "url-file", 0, "FILE", "the address is the file's first line" },
	{ "url-from", 0, "FROM:PATH[#KEY]", "it is kept outside, as --password-from",
	  .check = check_from },
	{ "sender", 0, "ADDRESS", "of mail: who sends it", TAKE_TEXT, "sender" },
	{ "user", 0, "USER", "who signs in there", TAKE_TEXT, "user" },
	{ "chat", 0, "ID", "of telegram: the chat", TAKE_TEXT, "chat" },
	{ "language", 0, "LANGUAGE", "of its messages, en or zh", TAKE_TEXT, "language" },
	{ "project", 'p', "PROJECT", "whose rules may use it; again for more, * for all",
	  TAKE_ITEMS, "projects" },
	{ "insecure", 0, NULL, "http, or mail with a password without TLS", TAKE_TRUE, "insecure" },
	{ "secure", 0, NULL, "neither, as by default", TAKE_FALSE, "insecure" },
	{ "password", 0, NULL, "ask for its password, or read it from a pipe" },
	{ "password-file", 0, "FILE", "the password is the file's first line" },
	{ "password-from", 0, "FROM:PATH[#KEY]",
	  "it is kept outside: vault:kv/data/NAME#KEY, file:PATH, env:NAME, exec:PATH",
	  .check = check_from },
	{ "no-password", 0, NULL, "it has none any more" },
	{ "secret", 0, NULL, "ask for what signs its messages, or read it from a pipe" },
	{ "secret-file", 0, "FILE", "the secret is the file's first line" },
	{ "secret-from", 0, "FROM:PATH[#KEY]", "it is kept outside, as --password-from",
	  .check = check_from },
	{ "no-secret", 0, NULL, "it has none any more" },
	{ 0 },
};

static int channel_put(struct online *o, struct asked *q)
{
	static const struct {
		const char *name, *label, *ask, *file, *from, *none;
	} all[] = { { "url", "Address", "ask-url", "url-file", "url-from", "" },
		    { "password", "Password", "password", "password-file", "password-from",
		      "no-password" },
		    { "secret", "Secret", "secret", "secret-file", "secret-from", "no-secret" } };
	int code = CLI_OK;

	(void)o;
	for (size_t i = 0; i < sizeof all / sizeof all[0] && code == CLI_OK; i++) {
		if (given_if(q, all[i].none))
			body_text(q, all[i].name, "");
		if (given(q, all[i].from))
			cJSON_AddItemToObject(q->body, all[i].name,
			                      secret_ref(given(q, all[i].from)));
		else if (given(q, all[i].file) || given(q, all[i].ask))
			code = secret_put(q->body, all[i].name, given(q, all[i].file),
			                  all[i].label);
	}
	return code;
}

const struct verb verb_channel_set = {
	command_ask,        channel_options,       1, 1, .call = "channel-set",
	.words = "channel", .prepare = channel_put
};
const struct verb verb_channel_remove = { command_ask,       NULL, 1, 1, .call = "channel-remove",
	                                  .words = "channel" };

/* Printed for programs too when the channel refused: that is the answer, and the exit code. */
static int channel_test(struct asked *q)
{
	struct online o = { 0 };
	cJSON *answer = NULL;
	struct buf path;
	int code = online_open(q->cli, &o);

	buf_init(&path);
	buf_puts(&path, "/api/v1/channels/");
	path_part(&path, word(q, 0));
	buf_puts(&path, "/test");
	if (word(q, 1))
		body_text(q, "to", word(q, 1));
	if (code == CLI_OK)
		code = online_call(&o, "POST", buf_str(&path), q->body, &answer);
	bool taken = json_true(answer, "taken");
	if (code == CLI_OK && q->cli->json)
		code = print_json(answer);
	else if (code == CLI_OK && taken)
		printf("%s took it (%s ms)\n", word(q, 0), text_of(answer, "took_ms"));
	if (code == CLI_OK && !taken)
		code = cli_fail(CLI_REFUSED, "%s: %s", word(q, 0), text_of(answer, "error"));
	cJSON_Delete(answer);
	buf_done(&path);
	online_close(&o);
	return code;
}

const struct verb verb_channel_test = { channel_test, NULL, 1, 2 };

/* --- who is told that nobody is ------------------------------------------------------- */

struct ways {
	cJSON *channels, *people, *groups, *lists; /* answers; NULL: may not be read */
};

static const cJSON *named(const cJSON *list, const char *key, const char *name)
{
	const cJSON *e = list ? list->child : NULL;

	while (e && strcmp(text_of(e, key), name) != 0)
		e = e->next;
	return e;
}

/* A person, or a group of them. */
static bool has_person(const struct ways *w, const char *name)
{
	const cJSON *people = json_get(w->people, "users"), *groups = json_get(w->groups, "groups");

	return !people || !groups || named(people, "user", name) || named(groups, "name", name);
}

static bool has_channel(const struct ways *w, const char *kind, const char *name)
{
	const cJSON *all = json_get(w->channels, "channels"), *e = named(all, "name", name);

	return !all || (e && strcmp(text_of(e, "kind"), kind) == 0);
}

/* What may not be read is not doubted. */
static void recipient_check(const char *to, const struct ways *w)
{
	size_t n = strcspn(to, ":");
	const char *name = to[n] ? to + n + 1 : "", *what = NULL, *more = "";
	char kind[32];

	snprintf(kind, sizeof kind, "%.*s", (int)n, to);
	if (!*name || strcmp(kind, "mail") == 0 || strcmp(kind, "bell") == 0)
		return;
	if (strcmp(kind, "user") == 0) {
		what = has_person(w, name) ? NULL : "person and no group";
	} else if (strcmp(kind, "oncall") == 0) {
		const cJSON *lists = json_get(w->lists, "lists");
		what = !lists || named(lists, "name", name) ? NULL : "on-call list";
	} else {
		what = has_channel(w, kind, name) ? NULL : "channel";
	}
	if (what && cJSON_IsFalse(json_get(w->channels, "notifier")) && strcmp(kind, "user") != 0)
		more = " (no notifier is connected: its file may have it)";
	if (what)
		cli_fail(0, "warning: %s: there is no %s '%s'%s; until then nobody is told so", to,
		         what, name, more);
}

/* The command, and then whom it names that nobody is: that may come later, so it is no refusal. */
static int told_set(struct asked *q, const char *member)
{
	int code = command_ask(q);
	const cJSON *names = json_get(q->body, member), *e;
	struct ways w = { 0 };
	struct online o = { 0 };

	if (code != CLI_OK || !names || online_open(q->cli, &o) != CLI_OK)
		return code;
	o.quiet = true;
	online_get(&o, "/api/v1/channels", &w.channels);
	online_get(&o, "/api/v1/users", &w.people);
	online_get(&o, "/api/v1/groups", &w.groups);
	online_get(&o, "/api/v1/oncall", &w.lists);
	cJSON_ArrayForEach(e, names)
		recipient_check(e->valuestring, &w);
	cJSON_Delete(w.channels);
	cJSON_Delete(w.people);
	cJSON_Delete(w.groups);
	cJSON_Delete(w.lists);
	online_close(&o);
	return code;
}

static int rule_set(struct asked *q)
{
	return told_set(q, "to");
}

static int oncall_set(struct asked *q)
{
	return told_set(q, "people");
}

/* --- rules --------------------------------------------------------------------------- */

static const struct column told_columns[] = {
	{ "Task", "task" },        { "When", "kind" },           { "Told", "to" },
	{ ">After s", "after_s" }, { "By the rule of", "from" }, { 0 },
};

static const struct column rule_columns[] = {
	{ "Name", "name" },
	{ "Of", "covers" },
	{ "When", "when", cell_list },
	{ "After", "after" },
	{ "To", "to", cell_list },
	{ "Changed", "changed", cell_time, .wide = true },
	{ "By", "changed_by", .wide = true },
	{ 0 },
};

/* A row for each rule of each task. */
static void told_show(const cJSON *answer)
{
	cJSON *all = cJSON_CreateArray(), *row;
	const cJSON *task, *rule;

	cJSON_ArrayForEach(task, json_get(answer, "tasks"))
		cJSON_ArrayForEach(rule, json_get(task, "rules")) {
			cJSON_AddItemToArray(all, row = cJSON_Duplicate(rule, true));
			cJSON_AddStringToObject(row, "task", text_of(task, "task"));
		}
	rows_show(told_columns, all);
	cJSON_Delete(all);
}

static int tasks_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	(void)o;
	(void)q;
	told_show(answer);
	return CLI_OK;
}

/* Of a workflow, or those that are documents. */
static int rule_list(struct asked *q)
{
	static const struct verb of_flow = { .call = "GET /api/v1/rules",
		                             .words = "workflow",
		                             .member = "tasks",
		                             .columns = told_columns,
		                             .show = tasks_show };
	static const struct verb own = { .call = "GET /api/v1/rules",
		                         .member = "rules",
		                         .columns = rule_columns };

	q->verb = word(q, 0) ? &of_flow : &own;
	return ask(q);
}

const struct verb verb_rule_list = { rule_list, NULL, 0, 1 };

static const struct opt rule_options[] = {
	{ "when", 0, "WORD", "failed, late, broker_lost ...; again for more", TAKE_ITEMS, "when" },
	{ "to", 0, "RECIPIENT",
	  "mail:ADDRESS, user:NAME, KIND:CHANNEL, oncall:LIST or owner; again for more", TAKE_ITEMS,
	  "to" },
	{ "project", 'p', "PROJECT", "of what happens in it", TAKE_TEXT, "project" },
	{ "workflow", 0, "PROJECT/WORKFLOW", "of this one", TAKE_TEXT, "workflow" },
	{ "task", 0, "PROJECT/WORKFLOW/TASK", "of this one", TAKE_TEXT, "task" },
	{ "after", 0, "TIME", "only if it still holds after this time: 30m; '' tells at once",
	  TAKE_TEXT, "after" },
	{ 0 },
};

const struct verb verb_rule_set = { rule_set, rule_options,       1,
	                            1,        .call = "rule-set", .words = "rule" };
const struct verb verb_rule_remove = { command_ask,           NULL,           1, 1,
	                               .call = "rule-remove", .words = "rule" };

/* --- on-call lists --------------------------------------------------------------------- */

static const struct column oncall_columns[] = {
	{ "Name", "name" },
	{ "Now", "now", cell_list },
	{ "Until", "until", cell_time },
	{ "Every", "every" },
	{ "People", "people", cell_list },
	{ "Zone", "zone" },
	{ "Start", "start", .wide = true },
	{ "Projects", "projects", cell_list, .wide = true },
	{ "Changed", "changed", cell_time, .wide = true },
	{ "By", "changed_by", .wide = true },
	{ 0 },
};

const struct verb verb_oncall_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/oncall",
	                               .member = "lists", .columns = oncall_columns };

static const struct opt oncall_options[] = {
	{ "person", 0, "RECIPIENT", "user:NAME, mail:ADDRESS or KIND:CHANNEL; again for more",
	  TAKE_ITEMS, "people" },
	{ "every", 0, "TURN", "day or week: they take turns; all: everybody is told", TAKE_TEXT,
	  "every" },
	{ "start", 0, "TIME", "local time of the first handover: '2026-03-02 09:00'", TAKE_TEXT,
	  "start" },
	{ "zone", 0, "ZONE", "of the handovers, default UTC", TAKE_TEXT, "zone" },
	{ "project", 'p', "PROJECT", "whose rules may use it; again for more, * for all",
	  TAKE_ITEMS, "projects" },
	{ 0 },
};

const struct verb verb_oncall_set = { oncall_set, oncall_options,       1,
	                              1,          .call = "oncall-set", .words = "oncall" };
const struct verb verb_oncall_remove = { command_ask,      NULL, 1, 1, .call = "oncall-remove",
	                                 .words = "oncall" };
