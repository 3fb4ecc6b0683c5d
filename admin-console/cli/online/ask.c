/* Calls made of rows. A verb's `call` is the method and the path; words fill its {}, the rest of
 * them and the options go to the query of a GET or the body of what changes something. */
#include "admin-console/cli/online/ask.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_in.h"

/* The words from the `at`th on by their names: "type version", "level *brokers". */
static void words_put(struct asked *q, size_t at, struct buf *path)
{
	const char *name = q->verb->words;

	for (; name && at < q->words.n; at++) {
		size_t n = strcspn(name, " ");
		bool rest = *name == '*';
		char *key = mem_strn(name + rest, n - rest);

		if (path)
			path_arg(path, key, q->words.items[at]);
		else if (rest)
			cJSON_AddItemToArray(body_list(q, key),
			                     cJSON_CreateString(q->words.items[at]));
		else
			body_text(q, key, q->words.items[at]);
		free(key);
		if (!rest)
			name += n + (name[n] == ' ');
	}
}

static void query_put(const struct asked *q, struct buf *path)
{
	for (const struct opt *o = q->verb->options; o && o->name; o++)
		if (o->take == TAKE_QUERY)
			path_arg(path, o->to, given(q, o->name));
}

/* The path of a template; how many words it took. */
static size_t path_make(const char *p, const struct asked *q, size_t at, struct buf *path)
{
	for (; *p; p++) {
		bool maybe = strncmp(p, "{/}", 3) == 0;

		if (!maybe && strncmp(p, "{}", 2) != 0) {
			buf_putc(path, *p);
			continue;
		}
		if (maybe && at < q->words.n)
			buf_putc(path, '/');
		if (at < q->words.n)
			path_part(path, q->words.items[at++]);
		p += maybe ? 2 : 1;
	}
	return at;
}

static int ask_call(struct online *o, struct asked *q, size_t at, cJSON **ret)
{
	size_t n = strcspn(q->verb->call, " ");
	char *method = mem_strn(q->verb->call, n);
	bool body = strcmp(method, "POST") == 0, get = strcmp(method, "GET") == 0;
	struct buf path;

	buf_init(&path);
	at = path_make(q->verb->call + n + 1, q, at, &path);
	if (q->verb->words)
		words_put(q, at, get ? &path : NULL);
	query_put(q, &path);
	int code = online_call(o, method, buf_str(&path), body ? q->body : NULL, ret);
	buf_done(&path);
	free(method);
	return code;
}

int online_get(struct online *o, const char *path, cJSON **ret)
{
	return online_call(o, "GET", path, NULL, ret);
}

/* Of what shows nothing of its own: that it was done, and to what. */
void done_say(const struct asked *q, const char *what)
{
	if (!q->cli->json && what)
		printf("%s: done, %s\n", q->cli->command->name, what);
}

int answer_show(struct online *o, const struct asked *q, const cJSON *answer)
{
	const struct verb *v = q->verb;
	const cJSON *shown = v->member ? json_get(answer, v->member) : answer;

	int code = CLI_OK;

	if (o->cli->json)
		return print_json(shown);
	if (v->show)
		code = v->show(o, q, answer);
	else if (v->columns)
		rows_show(v->columns, shown);
	else if (v->call && strncmp(v->call, "GET ", 4) != 0)
		done_say(q, word(q, 0));
	if (code == CLI_OK && v->member && (v->show || v->columns) && !(shown && shown->child))
		none_say(o->cli, v->none);
	return code;
}

int ask(struct asked *q)
{
	struct online o = { 0 };
	cJSON *answer = NULL;
	int code = online_open(q->cli, &o);

	if (code == CLI_OK && q->verb->prepare)
		code = q->verb->prepare(&o, q);
	if (code == CLI_OK)
		code = ask_call(&o, q, 0, &answer);
	if (code == CLI_OK)
		code = answer_show(&o, q, answer);
	cJSON_Delete(answer);
	online_close(&o);
	return code;
}

int ask_each(struct asked *q, const char *done)
{
	struct online o = { 0 };
	int code = online_open(q->cli, &o);

	for (size_t i = 0; i < q->words.n && code == CLI_OK; i++) {
		cJSON *answer = NULL;

		code = ask_call(&o, q, i, &answer);
		if (code == CLI_OK && !q->cli->json)
			printf("%s %s\n", q->words.items[i], done);
		else if (code == CLI_OK)
			code = print_json(answer);
		cJSON_Delete(answer);
	}
	online_close(&o);
	return code;
}

/* --- commands of the server --- */

int command_ask(struct asked *q)
{
	return command_ask_as(q, NULL);
}

int command_ask_as(struct asked *q, const char *as)
{
	bool waits = given_if(q, "wait") || given_if(q, "follow");

	if (given_if(q, "timeout") && !waits)
		return cli_fail(CLI_USAGE, "--timeout goes with --wait or --follow");
	char *kind = mem_str(as ? as : q->verb->call ? q->verb->call : q->cli->command->name);
	struct online o = { 0 };
	int code = online_open(q->cli, &o);

	if (!as && !q->verb->call && strchr(kind, ' '))
		*strchr(kind, ' ') = '-';
	if (code == CLI_OK && q->verb->prepare)
		code = q->verb->prepare(&o, q);
	if (code == CLI_OK) {
		struct sending s = { .kind = kind,
			             .args = q->body,
			             .of = &q->words,
			             .request_id = given_if(q, "request-id"),
			             .dry_run = given_if(q, "dry-run"),
			             .yes = q->verb->sure || given_if(q, "yes"),
			             .wait = waits,
			             .how = waiting_of(q) };
		words_put(q, 0, NULL);
		code = command_send(&o, &s);
	}
	online_close(&o);
	free(kind);
	return code;
}
