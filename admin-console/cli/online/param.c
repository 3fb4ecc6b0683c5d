/* sirdar param: parameters of all projects, or of one. A change is an apply of the whole document
 * with the one line changed. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "admin-console/cli/online/online.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/yaml.h"

/* Names as they are kept. */
static void put_project(struct asked *q, const struct opt *o, const char *arg,
                        struct argp_state *state)
{
	char *nfc = name_nfc(arg);

	(void)state;
	body_text(q, o->to, nfc ? nfc : arg);
	free(nfc);
}

/* "": of all. */
static const char *project_of(const struct asked *q)
{
	const char *project = json_text(q->body, "project");

	return project ? project : "";
}

static void online_param_check(struct asked *q, struct argp_state *state)
{
	const char *project = project_of(q);
	char why[NAME_WHY_BYTES];

	if (given(q, "project") && !*project)
		argp_error(state, "--project is empty: a project is wanted, or no --project at all "
		                  "for parameters of all");
	if (*project && name_wrong(project, why))
		argp_error(state, "--project: '%.*s' is not a name: %s", name_shown(project),
		           project, why);
}

static void check_list(struct asked *q, struct argp_state *state)
{
	if (q->words.n)
		argp_error(state, "'%s' is one word too many", word(q, 0));
	online_param_check(q, state);
}

/* The document as the server has it, in a set with nothing else; an empty set: none. */
static int document_read(struct online *o, const char *project, struct workflow_set *set,
                         long long *ret_version)
{
	char *name = mem_fmt("parameters%s%s", *project ? "/" : "", project);
	cJSON *page = NULL;
	const cJSON *item;
	struct diags d;
	int code = online_call(o, "GET", "/api/v1/parameters?limit=500", NULL, &page);

	diags_init(&d);
	cJSON_ArrayForEach(item, json_get(page, "items")) {
		const char *text = text_of(item, "document");
		if (strcmp(text_of(item, "name"), name) != 0)
			continue;
		*ret_version = number_of(item, "version");
		if (workflow_set_read(set, text, strlen(text), name, &d) < 0)
			code = cli_fail(CLI_REFUSED, "this program cannot read %s", name);
	}
	diags_done(&d);
	cJSON_Delete(page);
	free(name);
	return code;
}

static void list_json(const struct workflow_scope *s, const char *project)
{
	struct buf out;

	buf_init(&out);
	put_open(&out, NULL, '[');
	for (size_t i = 0; s && i < workflow_scope_count(s); i++) {
		const char *name = workflow_scope_name_at(s, i);
		put_open(&out, NULL, '{');
		put_text(&out, "project", project);
		put_text(&out, "name", name);
		put_text(&out, "value", workflow_scope_value(s, name));
		put_close(&out, '}');
	}
	put_close(&out, ']');
	cli_print(&out);
	buf_done(&out);
}

static void list_table(const struct workflow_scope *s)
{
	struct table t;
	struct buf out;

	table_init(&t, "Name|Value");
	buf_init(&out);
	for (size_t i = 0; s && i < workflow_scope_count(s); i++) {
		const char *name = workflow_scope_name_at(s, i);
		table_add(&t, name);
		table_add(&t, workflow_scope_value(s, name));
	}
	table_print(&t, &out);
	if (out.len)
		out.len--;
	cli_print(&out);
	buf_done(&out);
	table_done(&t);
}

static bool has_word(const struct words *w, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < w->n; i++)
		if (strcspn(w->items[i], "=") == n && strncmp(w->items[i], name, n) == 0)
			return true;
	return false;
}

static void put_line(struct buf *out, const char *name, size_t n, const char *value)
{
	buf_printf(out, "  %.*s: ", (int)n, name);
	yaml_print_text(value, false, out);
	buf_putc(out, '\n');
}

/* The whole document with the named lines changed (values) or taken out. What keeps its value
 * keeps its text: a map stays the JSON of one, which reads the same to its users. */
static void print_document(const struct asked *q, const struct workflow_scope *was, bool remove,
                           struct buf *out)
{
	struct buf lines;

	buf_init(&lines);
	buf_puts(&lines, *project_of(q) ? "parameters:\n" : "global:\n");
	size_t before = lines.len;
	for (size_t i = 0; was && i < workflow_scope_count(was); i++) {
		const char *name = workflow_scope_name_at(was, i);
		if (!has_word(&q->words, name))
			put_line(&lines, name, strlen(name), workflow_scope_value(was, name));
	}
	for (size_t i = 0; !remove && i < q->words.n; i++) {
		size_t n = strcspn(q->words.items[i], "=");
		put_line(&lines, q->words.items[i], n, q->words.items[i] + n + 1);
	}
	if (lines.len == before) {
		lines.len--;
		buf_puts(&lines, " {}\n");
	}
	workflow_scope_print_with(was, project_of(q), was ? workflow_scope_slots(was) : 0,
	                          buf_str(&lines), out);
	buf_done(&lines);
}

/* version: of the document as it was read; another meanwhile, and this is refused. */
static int param_send(struct online *o, const char *text, long long version)
{
	cJSON *body = cJSON_CreateObject(), *answer = NULL;
	cJSON *args = cJSON_AddObjectToObject(body, "args");
	cJSON *list = cJSON_AddArrayToObject(args, "documents"), *d = cJSON_CreateObject();
	char request_id[33];

	cJSON_AddStringToObject(body, "kind", "apply");
	cJSON_AddStringToObject(d, "name", "parameters");
	cJSON_AddStringToObject(d, "text", text);
	cJSON_AddNumberToObject(d, "version", (double)version);
	cJSON_AddItemToArray(list, d);
	request_id_new(request_id);
	cJSON_AddStringToObject(body, "request_id", request_id);
	int code = online_call(o, "POST", "/api/v1/commands", body, &answer);
	cJSON_Delete(answer);
	cJSON_Delete(body);
	return code;
}

/* Words as they must be: names that are there, or NAME=VALUE. */
static int check_words(const struct asked *q, const struct workflow_scope *was, bool remove)
{
	for (size_t i = 0; i < q->words.n; i++) {
		const char *word = q->words.items[i];
		size_t n = strcspn(word, "=");
		char *name = mem_strn(word, n);
		bool good = word_ok(name) && (remove ? !word[n] : word[n] == '=');
		bool known = !remove || (was && workflow_scope_value(was, name));
		free(name);
		if (!good)
			return cli_fail(CLI_USAGE, "'%s' is no %s", word,
			                remove ? "name of a parameter" : "NAME=VALUE");
		if (!known)
			return cli_fail(CLI_NOT_FOUND, "there is no parameter '%s'", word);
	}
	return CLI_OK;
}

enum what { LIST, SET, REMOVE };

static int param_run(struct asked *q, enum what what)
{
	struct workflow_set *set = workflow_set_new();
	struct online o = { 0 };
	long long version = 0; /* none */
	struct buf text;

	buf_init(&text);
	int code = online_open(q->cli, &o);
	if (code == CLI_OK)
		code = document_read(&o, project_of(q), set, &version);
	const struct workflow_scope *was = workflow_set_scopes(set) ? workflow_set_scope(set, 0)
	                                                            : NULL;
	if (code == CLI_OK && what == LIST) {
		if (q->cli->json)
			list_json(was, project_of(q));
		else
			list_table(was);
		if (!was || workflow_scope_count(was) == 0)
			none_say(q->cli, NULL);
	} else if (code == CLI_OK) {
		code = check_words(q, was, what == REMOVE);
		if (code == CLI_OK) {
			print_document(q, was, what == REMOVE, &text);
			code = param_send(&o, buf_str(&text), version);
			if (code == CLI_OK)
				done_say(q, *project_of(q) ? project_of(q) : "all projects");
			if (code == CLI_OK && what == SET && *project_of(q))
				project_tell(&o, project_of(q));
		}
	}
	buf_done(&text);
	workflow_set_free(set);
	online_close(&o);
	return code;
}

static int param_list(struct asked *q)
{
	return param_run(q, LIST);
}

static int online_param_set(struct asked *q)
{
	return param_run(q, SET);
}

static int take_out(struct asked *q)
{
	return param_run(q, REMOVE);
}

static const struct opt options[] = {
	{ "project", 'p', "PROJECT", "of this project; else of all", TAKE_OWN, "project",
	  .check = put_project },
	{ 0 },
};

#define WHICH "which parameters?"
const struct verb verb_param_list = { param_list, options, 0, WORDS_ANY, .check = check_list };
const struct verb verb_param_set = { online_param_set, options, 1,
	                             WORDS_ANY,        WHICH,   .check = online_param_check };
const struct verb verb_param_remove = { take_out,  options, 1,
	                                WORDS_ANY, WHICH,   .check = online_param_check };
#undef WHICH
