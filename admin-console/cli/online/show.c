/* What is there: tasks, runs, why, brokers, status. Each is a GET and a table.
 *
 * A list is printed page by page, so that it costs no memory however long it is; its columns are
 * rows at the verb. One instance is found by its id, by task and date, or by task and label, and
 * the server resolves what people say. With --json the server's answer goes out as it came. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/base/output.h"
#include "admin-console/cli/online/ask.h"
#include "admin-console/cli/online/watch.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/failure.h"
#include "util/json_in.h"

static const struct opt task_options[] = {
	{ "state", 's', "STATE,...", "only those in these states, a,b" },
	{ "limit", 'n', "N", "at most so many, default 50" },
	{ "all", 'a', NULL, "all of them, page by page" },
	OPT_WATCH("commands"),
	{ 0 },
};

static const struct opt list_options[] = {
	{ "workflow", 'w', "WORKFLOW", "of all tasks of this one", .check = check_once },
	{ "state", 's', "STATES", "only those in these states: failed,queued ..." },
	{ "since", 0, "T", "run dates from then to now: -24h, yesterday, 2026-03-01" },
	{ "from", 'f', "T", "run dates from here, in each task's zone" },
	{ "to", 't', "T", "run dates to here, included" },
	{ "date", 'd', "T", "these run dates: one, or a range A..B" },
	{ "limit", 'n', "N", "at most so many, default 50" },
	{ "sort", 'S', "BY", "runs: run_date, change, start, end, priority, state" },
	{ "parts", 'p', NULL, "runs: also the parts of those that run on several brokers" },
	{ "all", 'a', NULL, "all of them, page by page" },
	OPT_WATCH("these"),
	{ 0 },
};

/* --- lists, page by page --- */

/* How far those that run say they are: asked for in pieces, as addresses are short. */
static int progress_add(struct online *o, cJSON *items)
{
	enum { AT_ONCE = 100 };
	int code = CLI_OK;

	for (cJSON *at = items->child; at && code == CLI_OK;) {
		struct buf path, ids;
		cJSON *root = NULL, *e;
		size_t n = 0;

		buf_init(&path);
		buf_init(&ids);
		cJSON *from = at;
		for (; at && n < AT_ONCE; at = at->next)
			if (strcmp(text_of(at, "state"), "Running") == 0)
				buf_printf(&ids, "%s%s", n++ ? "," : "", text_of(at, "id"));
		buf_puts(&path, "/api/v1/progress");
		path_arg(&path, "ids", buf_str(&ids));
		if (n)
			code = online_call(o, "GET", buf_str(&path), NULL, &root);
		cJSON_ArrayForEach(e, json_get(root, "items")) {
			cJSON *row = from;
			while (row && strcmp(text_of(row, "id"), text_of(e, "id")) != 0)
				row = row->next;
			if (row)
				cJSON_AddNumberToObject(row, "progress_permille",
				                        json_get(e, "permille")->valuedouble);
		}
		cJSON_Delete(root);
		buf_done(&ids);
		buf_done(&path);
	}
	return code;
}

/* One item may stand for many dates that were left out together. */
static void cell_reason(const cJSON *e, const char *key, struct buf *out)
{
	buf_puts(out, text_of(e, key));
	if (json_get(e, "dates"))
		buf_printf(out, ", %lld dates up to %s", number_of(e, "dates"),
		           json_get(e, "last_label") ? text_of(e, "last_label")
		                                     : date_of(e, "last_date"));
}

static void json_lines(const cJSON *items, bool *first)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, items) {
		char *text = cJSON_PrintUnformatted(e);

		printf("%s%s", *first ? "[" : ",\n ", text);
		*first = false;
		free(text);
	}
}

int pages_show(struct online *o, const char *path, bool all, const struct column *columns,
               int (*more)(struct online *o, cJSON *items), bool *ret_any)
{
	bool first = true, any = false;
	struct widths pages = { 0 };
	char *cursor = NULL;
	int code;

	do {
		struct buf page;
		cJSON *root = NULL;

		buf_init(&page);
		buf_puts(&page, path);
		path_arg(&page, "cursor", cursor);
		code = online_call(o, "GET", buf_str(&page), NULL, &root);
		free(cursor);
		cursor = NULL;
		if (code == CLI_OK) {
			cJSON *items = cJSON_GetObjectItemCaseSensitive(root, "items");

			if (json_text(root, "cursor"))
				cursor = mem_str(json_text(root, "cursor"));
			any = any || items->child;
			if (more)
				code = more(o, items);
			if (output_is(OUTPUT_JSON))
				json_lines(items, &first);
			else if (o->cli->json)
				print_json(items);
			else if (items->child)
				rows_more(columns, items, &pages);
		}
		cJSON_Delete(root);
		buf_done(&page);
	} while (code == CLI_OK && all && cursor);
	if (code == CLI_OK && output_is(OUTPUT_JSON))
		puts(first ? "[]" : "]");
	if (cursor && !o->cli->json)
		fputs("there are more: --limit, --all\n", stderr);
	free(cursor);
	if (ret_any)
		*ret_any = any;
	return code;
}

static const struct column task_columns[] = {
	{ "Task", "task" },
	{ "Title", "title" },
	{ "State", "state" },
	{ "Frozen", "frozen" },
	{ "Quarantined", "quarantined", cell_time },
	{ "Type", "type" },
	{ "Owner", "owner" },
	{ ">Priority", "priority" },
	{ "Planned through", "planned_through_label" },
	{ "Begins", "begins_label", .wide = true },
	{ ">Version", "version", .wide = true },
	{ "From", "start", cell_time, .wide = true },
	{ "To", "end", cell_time, .wide = true },
	{ 0 },
};

/* "data: Duplicate entry '7' for key 'PRIMARY'", cut: the whole is in `run show`. */
static void cell_failure(const cJSON *e, const char *key, struct buf *out)
{
	const cJSON *f = json_get(e, key);
	char line[61];

	if (!f)
		return;
	const char *text = text_of(f, text_of(f, "line")[0] ? "line" : "exit");
	failure_set_line(line, sizeof line, text, strlen(text));
	buf_printf(out, "%s: %s", text_of(f, "class"), line);
}

static const struct column run_columns[] = {
	{ "Task", "task" },
	{ "Run date", "run_date", cell_label },
	{ "State", "state", cell_state_word },
	{ ">Progress", "progress_permille", cell_permille },
	{ "Reason", "reason", cell_reason },
	{ ">Attempt", "attempt" },
	{ "Broker", "broker" },
	{ "Started", "started", cell_time },
	{ "Ended", "ended", cell_time },
	{ "Failure", "failure", cell_failure },
	{ "Id", "id" },
	{ "Due", "due", cell_time, .wide = true },
	{ ">Priority", "priority", .wide = true },
	{ ">Generation", "generation", .wide = true },
	{ "Origin", "origin", .wide = true },
	{ 0 },
};

static const struct column workflow_columns[] = {
	{ "Workflow", "name" },    { "Title", "title" },          { ">Version", "version" },
	{ "Draft", "draft" },      { "Retired", "retired" },      { "By", "actor" },
	{ "At", "at", cell_time }, { ">Id", "id", .wide = true }, { 0 },
};

static int show_list(struct asked *q, struct buf *path, bool all,
                     int (*more)(struct online *o, cJSON *items), const char *none)
{
	struct online o = { 0 };
	bool any = true;
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = pages_show(&o, buf_str(path), all, q->verb->columns, more, &any);
	if (code == CLI_OK && !any && !q->cli->json)
		rows_show(q->verb->columns, NULL);
	if (code == CLI_OK && !any && none)
		cli_fail(0, "nothing matches '%s'", none);
	else if (code == CLI_OK && !any)
		none_say(q->cli, NULL);
	online_close(&o);
	buf_done(path);
	return code;
}

static void limit_put(const struct asked *q, struct buf *path)
{
	const char *limit = given(q, "limit");

	path_arg(path, "limit", limit ? limit : given(q, "all") ? "500" : "50");
}

static int task_list(struct asked *q)
{
	char *prefix = mem_str(word(q, 0));
	size_t n = prefix ? strlen(prefix) : 0;
	struct buf path;

	if (n && prefix[n - 1] == '*')
		prefix[--n] = '\0';

	buf_init(&path);
	buf_puts(&path, "/api/v1/tasks");
	if (n)
		path_arg(&path, "prefix", prefix);
	path_arg(&path, "states", given(q, "state"));
	limit_put(q, &path);
	free(prefix);
	return show_list(q, &path, given(q, "all"), NULL, word(q, 0));
}

static int workflow_list(struct asked *q)
{
	struct buf path;

	if (q->words.n)
		return cli_fail(CLI_USAGE, "'%s' is one word too many", word(q, 0));
	buf_init(&path);
	buf_puts(&path, "/api/v1/workflows?limit=500");
	path_arg(&path, "all", given(q, "all") ? "true" : NULL);
	return show_list(q, &path, true, NULL, NULL);
}

/* Which tasks: the word, or all of a workflow. NULL: wrong use, and it was said. Owned. */
static char *runs_of(const struct asked *q)
{
	const char *task = word(q, 0), *flow = given(q, "workflow");
	const char *slash = flow ? strchr(flow, '/') : NULL;

	if (flow && task) {
		cli_fail(CLI_USAGE, "--workflow is all of it: no task beside it");
		return NULL;
	}
	if (flow && (!slash || strchr(slash + 1, '/'))) {
		cli_fail(CLI_USAGE, "--workflow is '%s', want PROJECT/WORKFLOW", flow);
		return NULL;
	}
	return flow ? mem_fmt("%s/*", flow) : mem_str(task);
}

static int list_check(const struct asked *q)
{
	const char *date = given(q, "date"), *since = given(q, "since");

	const char *all, *wrong = states_wrong(given(q, "state"), &all);

	if (wrong)
		return cli_fail(CLI_USAGE, "'%s' is not a state: %s", wrong, all);
	if (date && !date[0])
		return cli_fail(CLI_USAGE, "--date is empty: a date, or a range A..B");
	if (date && (given(q, "from") || given(q, "to")))
		return cli_fail(CLI_USAGE, "--date is the whole of it: no --from, no --to");
	if (since && (date || given(q, "from") || given(q, "to")))
		return cli_fail(CLI_USAGE, "--since goes to now: no --date, --from, --to");
	return CLI_OK;
}

static int run_list(struct asked *q)
{
	const char *since = given(q, "since"), *name = word(q, 0);
	const char *slash = name ? strchr(name, '/') : NULL;
	int code = list_check(q);
	char *task = code == CLI_OK ? runs_of(q) : NULL;
	struct buf path;

	if (code != CLI_OK || (!task && (name || given(q, "workflow"))))
		return CLI_USAGE;
	buf_init(&path);
	buf_puts(&path, "/api/v1/instances");
	path_arg(&path, "task", task);
	path_states(&path, given(q, "state"));
	path_dates(&path, given(q, "date"));
	path_arg(&path, "from", since ? since : given(q, "from"));
	path_arg(&path, "to", since ? "now" : given(q, "to"));
	path_arg(&path, "sort", given(q, "sort"));
	path_arg(&path, "parts", given(q, "parts") ? "true" : NULL);
	limit_put(q, &path);
	path_arg(&path, "order", "desc");
	free(task);
	code = show_list(q, &path, given(q, "all"), progress_add, NULL);
	if (code == CLI_NOT_FOUND && slash && !strchr(slash + 1, '/'))
		cli_fail(0, "all of a workflow: sirdar run list --workflow %s", name);
	return code;
}

static const struct opt workflow_options[] = {
	{ "all", 'a', NULL, "retired ones too" },
	OPT_WATCH("commands"),
	{ 0 },
};

const struct verb verb_task_list = { task_list, task_options, 0, 1, .columns = task_columns };
const struct verb verb_workflow_list = { workflow_list, workflow_options, 0, WORDS_ANY,
	                                 .columns = workflow_columns };
const struct verb verb_run_list = { run_list, list_options, 0, 1, .columns = run_columns };

/* --- one thing --- */

/* A name that is dim, so that what it says stands out. */
static void field_print(const char *name, const char *text, const char *color)
{
	char cell[80];

	snprintf(cell, sizeof cell, "%-18s ", name);
	colored_print(cell, strlen(cell), "\033[2m");
	colored_print(text, strlen(text), color);
	putchar('\n');
}

static void fields_print(const cJSON *root)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, root)
		if (strcmp(e->string, "failure") == 0) /* failure_print() has it */
			continue;
		else if (cJSON_IsArray(e) || cJSON_IsObject(e)) {
			char *text = cJSON_PrintUnformatted(e);

			field_print(e->string, text, NULL);
			free(text);
		} else if (strcmp(e->string, "state") == 0) {
			const char *word = state_in(root, "state");

			field_print(e->string, word, color_of_state(word));
		} else if (!cJSON_IsNull(e)) {
			field_print(e->string, text_of(root, e->string), NULL);
		}
}

static int fields_show(struct online *o, const struct asked *q, const cJSON *root)
{
	(void)o;
	(void)q;
	fields_print(root);
	return CLI_OK;
}

static void links_print(const cJSON *root, const char *list, const char *who)
{
	const cJSON *l;

	cJSON_ArrayForEach(l, json_get(root, list)) {
		const char *window = text_of(l, "window");

		printf("  %-40s %s %s, %s\n", text_of(l, who),
		       window[0] != '\0' ? "window" : "depend",
		       window[0] ? window : text_of(l, "depend_type"), text_of(l, "on"));
	}
}

static int task_show(struct online *o, const struct asked *q, const cJSON *root)
{
	cJSON *links = NULL;
	struct buf path;

	fields_print(root);
	buf_init(&path);
	buf_puts(&path, "/api/v1/links/");
	path_part(&path, word(q, 0));
	int code = online_get(o, buf_str(&path), &links);
	puts("needs");
	links_print(links, "parents", "parent");
	puts("is needed by");
	links_print(links, "children", "child");
	cJSON_Delete(links);
	buf_done(&path);
	return code;
}

const struct verb verb_task_show = {
	ask, NULL, 1, 1, .call = "GET /api/v1/tasks/{}", .show = task_show
};

/* --- one instance: its id from the words, what follows from the verb's `call` --- */

static int instance_answer(struct online *o, const struct asked *q, const char *id)
{
	char *path = mem_fmt("/api/v1/instances/%s%s", id, q->verb->call);
	cJSON *root = NULL;
	int code;

	bool any = true;

	if (q->verb->columns)
		code = pages_show(o, path, true, q->verb->columns, NULL, &any);
	else
		code = online_get(o, path, &root);
	if (root)
		code = answer_show(o, q, root);
	if (code == CLI_OK && !any && !o->cli->json)
		rows_show(q->verb->columns, NULL);
	cJSON_Delete(root);
	free(path);
	return code;
}

static int instance_show(struct asked *q)
{
	struct online o = { 0 };
	char *id = NULL;
	int code = online_open(q->cli, &o);

	if (code == CLI_OK)
		code = online_resolve(&o, word(q, 0), word(q, 1), &id);
	if (code == CLI_OK)
		code = given(q, "web") ? web_print(&o, id, NULL, NULL) : instance_answer(&o, q, id);
	free(id);
	online_close(&o);
	return code;
}

static const struct opt instance_options[] = { OPT_WEB, OPT_WATCH("these"), { 0 } };
static const struct opt why_options[] = { OPT_WEB, OPT_WATCH("instances"), { 0 } };

static const struct column event_columns[] = {
	{ "At", "at", cell_time },
	{ "Event", "event" },
	{ "From", "from", cell_state_word },
	{ "To", "to", cell_state_word },
	{ "Reason", "reason", cell_reason },
	{ ">Gen", "generation" },
	{ ">Attempt", "attempt" },
	{ "Broker", "broker" },
	{ ">Command", "cause" },
	{ "Note", "note" },
	{ ">Exit", "exit_code", .wide = true },
	{ ">No.", "number", .wide = true },
	{ 0 },
};

/* What stands first in it: `sirdar logs -e`, or without. `said`: what was printed of its end. */
static void failure_print(const cJSON *root, const char *said)
{
	static const struct {
		const char *label, *key;
	} lines[] = {
		{ "ended", "exit" }, { "by", "by" }, { "cause", "line" }, { "class", "class" }
	};
	const cJSON *f = json_get(root, "failure");
	const char *tail = f ? text_of(f, "tail") : "";

	for (size_t i = 0; f && i < sizeof lines / sizeof lines[0]; i++)
		if (text_of(f, lines[i].key)[0] != '\0' &&
		    !(strcmp(lines[i].key, "exit") == 0 && strstr(said, "exit ")))
			printf("%s: %s\n", lines[i].label, text_of(f, lines[i].key));
	if (*tail)
		printf("last lines of %s:\n", text_of(f, "stream"));
	while (*tail) {
		int n = (int)strcspn(tail, "\n");
		printf("  %.*s\n", n, tail);
		tail += n + (tail[n] == '\n');
	}
}

/* "p/w/load 2026-03-01 (StopSchedule)" */
static void instances_print(const char *head, const cJSON *list)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, list) {
		printf("%s%s %s (%s)", e == list->child ? head : ", ", text_of(e, "task"),
		       text_of(e, "label"), state_in(e, "state"));
	}
	if (list && list->child)
		putchar('\n');
}

static void cell_took(const cJSON *e, const char *key, struct buf *out)
{
	const cJSON *us = json_get(e, key);

	if (us)
		buf_printf(out, "%.1f s", us->valuedouble / 1e6);
}

static const struct column attempt_columns[] = {
	{ ">Attempt", "attempt" },
	{ "Started", "started", cell_time },
	{ "Ended", "ended", cell_time },
	{ "Broker", "broker" },
	{ "State", "state", cell_state_word },
	{ "Reason", "reason" },
	{ "Failure", "failure", cell_failure },
	{ 0 },
};

/* Of what is over: how it came to that. */
static void ended_print(const cJSON *root)
{
	const cJSON *e = json_get(root, "ended"), *attempts = json_get(e, "attempts");
	struct buf took;

	if (!e)
		return;
	buf_init(&took);
	cell_took(e, "took_us", &took);
	/* The state has been said: only who or what made it so is news. */
	bool news = strcmp(text_of(e, "how"), state_in(root, "state")) != 0;
	bool tried = attempts && attempts->child;
	if (news || tried)
		cli_line(stdout, "%s%s%s%s%s%s", news ? "how: " : "", news ? text_of(e, "how") : "",
		         !tried ? ""
		         : news ? " at attempt "
		                : "attempt ",
		         tried ? text_of(e, "attempt") : "", took.len ? ", it took " : "",
		         buf_str(&took));
	buf_done(&took);
	instances_print("skipped by: ", json_get(root, "skipped_by"));
	if (cJSON_GetArraySize(attempts) > 1)
		rows_show(attempt_columns, attempts);
}

static int why_show(struct online *o, const struct asked *q, const cJSON *root)
{
	(void)o;
	(void)q;
	const char *line = text_of(root, "line");
	bool over = strcmp(text_of(root, "code"), "over") == 0; /* the line begins with the state */

	const char *word = state_in(root, "state");
	bool says_it = over && strncmp(line, word, strlen(word)) == 0;

	if (!over || says_it)
		colored_print(word, strlen(word), color_of_state(word));
	cli_line(stdout, "%s%s", over ? "" : ": ", says_it ? line + strlen(word) : line);
	if (text_of(root, "opens")[0] != '\0')
		printf("opens with: %s\n", text_of(root, "opens"));
	if (text_of(root, "expected")[0] != '\0')
		printf("expected: %s\n", text_of(root, "expected"));
	ended_print(root);
	failure_print(root, over ? line : "");
	return CLI_OK;
}

static int run_show(struct online *o, const struct asked *q, const cJSON *root)
{
	fields_show(o, q, root);
	failure_print(root, "");
	return CLI_OK;
}

const struct verb verb_run_show = { instance_show, instance_options, 1, 2,
	                            .call = "",    .show = run_show };
const struct verb verb_run_history = {
	instance_show, instance_options, 1, 2, .call = "/events?limit=500", .columns = event_columns
};

/* Causes that are equal but for their dates stand once: how often, what opens them, and the command
 * that tells more of the first. */
static int causes_show(struct online *o, const struct asked *q, const cJSON *root)
{
	const cJSON *e;

	(void)o;
	(void)q;
	cli_line(stdout, "%s", text_of(root, "line"));
	cJSON_ArrayForEach(e, json_get(root, "causes")) {
		const char *opens = text_of(e, "opens");
		cli_line(stdout, "  %s: sirdar why %s '%s'%s%s", text_of(e, "kind"),
		         text_of(e, "task"), text_of(e, "first_label"),
		         opens[0] ? "; opens with: " : "", opens);
	}
	return CLI_OK;
}

/* Of a workflow: "project/workflow", perhaps with the date of a run. */
static int workflow_why(struct asked *q)
{
	struct asked as = *q;
	struct verb verb = *q->verb;
	struct online o = { 0 };
	cJSON *root = NULL;
	struct buf path;
	int code = online_open(q->cli, &o);

	verb.show = causes_show;
	as.verb = &verb;
	buf_init(&path);
	buf_puts(&path, "/api/v1/why/");
	path_part(&path, word(q, 0));
	path_arg(&path, "date", word(q, 1));
	if (code == CLI_OK)
		code = online_get(&o, buf_str(&path), &root);
	if (code == CLI_OK)
		code = answer_show(&o, &as, root);
	buf_done(&path);
	cJSON_Delete(root);
	online_close(&o);
	return code;
}

static int why_ask(struct asked *q)
{
	const char *slash = strchr(word(q, 0), '/');

	return slash && !strchr(slash + 1, '/') ? workflow_why(q) : instance_show(q);
}

const struct verb verb_why = { why_ask, why_options, 1, 2, .call = "/why", .show = why_show };

/* --- brokers, status --- */

/* The state of a type that the broker should run and does not, or NULL. */
static const char *type_trouble(const cJSON *b, const cJSON *type)
{
	static const char *const well[] = { "ready", "stopped", "draining", "" };
	const char *state = text_of(type, "state");

	for (size_t i = 0; i < sizeof well / sizeof well[0]; i++)
		if (strcmp(state, well[i]) == 0)
			return NULL;
	return json_true(b, "online") ? state : NULL;
}

/* "sql", "sql(quarantined)" */
static void broker_type(const cJSON *b, const cJSON *type, struct buf *out)
{
	const char *trouble = type_trouble(b, type);

	buf_printf(out, "%s%s", out->len > 0 ? " " : "", text_of(type, "type"));
	if (trouble)
		buf_printf(out, "(%s)", trouble);
}

/* What is wrong with one that the table has no room for. */
static void broker_notes(const cJSON *b)
{
	const cJSON *y;

	if (text_of(b, "twin")[0] != '\0')
		printf("%s: %s; refused %lld times. Give that machine a name and key of its own, "
		       "or "
		       "stop one of the two\n",
		       text_of(b, "name"), text_of(b, "twin"), number_of(b, "twin_refused"));
	if (text_of(b, "barred")[0] != '\0')
		cli_line(stdout, "%s is not let in: %s", text_of(b, "name"), text_of(b, "barred"));
	cJSON_ArrayForEach(y, json_get(b, "types"))
		if (text_of(y, "barred")[0] != '\0')
			cli_line(stdout, "%s: the loader of task type %s is not let in: %s",
			         text_of(b, "name"), text_of(y, "type"), text_of(y, "barred"));
	if (text_of(b, "misbehaves")[0] != '\0')
		printf("%s: %s; refused %lld times. Its key may be in strange hands: give it a new "
		       "one\n",
		       text_of(b, "name"), text_of(b, "misbehaves"), number_of(b, "forged"));
	if (strcmp(text_of(b, "separates"), "no") == 0)
		printf("%s: jobs there can read each other (separates: no); it takes trusted "
		       "projects' only\n",
		       text_of(b, "name"));
	cJSON_ArrayForEach(y, json_get(b, "types"))
		if (type_trouble(b, y))
			cli_line(stdout, "%s: task type %s is %s: %s", text_of(b, "name"),
			         text_of(y, "type"), text_of(y, "state"), text_of(y, "text"));
	cJSON_ArrayForEach(y, json_get(b, "types"))
		if (text_of(y, "starts")[0] != '\0')
			printf("%s: nothing of task type %s starts: %s\n", text_of(b, "name"),
			       text_of(y, "type"), text_of(y, "starts"));
}

static void cell_types(const cJSON *b, const char *key, struct buf *out)
{
	const cJSON *y;

	cJSON_ArrayForEach(y, json_get(b, key))
		broker_type(b, y, out);
}

static void cell_state(const cJSON *b, const char *key, struct buf *out)
{
	(void)key;
	buf_puts(out, !json_true(b, "online")   ? "offline"
	              : json_true(b, "drained") ? "drained"
	              : json_true(b, "accepts") ? "accepts"
	                                        : text_of(b, "why_not"));
}

static void cell_percent(const cJSON *b, const char *key, struct buf *out)
{
	buf_printf(out, "%lld", number_of(b, key) / 10);
}

static void cell_load(const cJSON *b, const char *key, struct buf *out)
{
	buf_printf(out, "%.2f", (double)number_of(b, key) / 1000.0);
}

static const struct column broker_columns[] = {
	{ "Name", "name" },
	{ "State", NULL, cell_state },
	{ ">Running", "running" },
	{ ">Slots", "slots" },
	{ ">CPU %", "cpu_permille", cell_percent },
	{ ">Load", "load_permille", cell_load },
	{ ">Memory %", "memory_permille", cell_percent },
	{ "Types", "types", cell_types },
	{ "Address", "address" },
	{ "Groups", "groups", cell_list, .wide = true },
	{ "Host", "host", .wide = true },
	{ "Software", "software", .wide = true },
	{ "Since", "since", cell_time, .wide = true },
	{ "Heard", "last_heard", cell_time, .wide = true },
	{ 0 },
};

static int brokers_show(struct online *o, const struct asked *q, const cJSON *root)
{
	const cJSON *b;

	(void)o;
	rows_show(q->verb->columns, json_get(root, "brokers"));
	cJSON_ArrayForEach(b, json_get(root, "brokers"))
		broker_notes(b);
	return CLI_OK;
}

static const struct opt steer_options[] = {
	{ "message", 'm', "TEXT", "why, kept with the command", TAKE_TEXT, "message" },
	{ "yes", 'y' }, /* of scripts: it never asks */
	{ 0 },
};

static const struct opt level_options[] = {
	{ "type", 't', "TYPE", "loaders of this task type alone", TAKE_TEXT, "type" },
	{ 0 },
};

static int brokers_begin(struct online *o, struct asked *q)
{
	(void)o;
	body_list(q, "brokers"); /* nobody: the server itself */
	return CLI_OK;
}

static const struct opt brokers_options[] = { OPT_WATCH("instances"), { 0 } };

const struct verb verb_broker_list = { ask,
	                               brokers_options,
	                               .call = "GET /api/v1/brokers",
	                               .member = "brokers",
	                               .columns = broker_columns,
	                               .show = brokers_show };
const struct verb verb_broker_steer = { command_ask, steer_options,   1,
	                                WORDS_ANY,   "which broker?", .words = "*brokers" };
const struct verb verb_log_level = { command_ask,
	                             level_options,
	                             1,
	                             WORDS_ANY,
	                             "which level? error, warn, info or debug",
	                             .words = "level *brokers",
	                             .sure = true,
	                             .prepare = brokers_begin };
