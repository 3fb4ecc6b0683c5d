/* What is there: tasks, runs, why, brokers, status. Each is one GET and a table. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_in.h"

struct options {
	struct words words;
	const char *state, *from, *to, *limit, *sort, *prefix;
	bool all;
};

static const struct argp_option list_options[] = {
	{ "state", 's', "STATES", 0, "only those in these states, a,b", 0 },
	{ "from", 'f', "T", 0, "runs: run dates from here (UTC, or with an offset)", 0 },
	{ "to", 't', "T", 0, "runs: run dates before this", 0 },
	{ "limit", 'n', "N", 0, "at most so many, default 50", 0 },
	{ "sort", 'S', "BY", 0, "runs: run_date, change, start, end, priority, state", 0 },
	{ "all", 'a', NULL, 0, "all of them, page by page", 0 },
	{ 0 },
};

static error_t list_parse(int key, char *arg, struct argp_state *state)
{
	struct options *q = state->input;

	switch (key) {
	case 's':
		q->state = arg;
		return 0;
	case 'f':
		q->from = arg;
		return 0;
	case 't':
		q->to = arg;
		return 0;
	case 'n':
		q->limit = arg;
		return 0;
	case 'S':
		q->sort = arg;
		return 0;
	case 'a':
		q->all = true;
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->words, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int open_with(struct cli *cli, int argc, char **argv, struct options *q, size_t least,
                     size_t most, struct online *o)
{
	static const struct argp own = { .options = list_options, .parser = list_parse };

	cli_parse(cli, &own, argc, argv, q);
	if (q->words.n < least || q->words.n > most)
		return cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name,
		                cli->command->args);
	return online_open(cli, o);
}

static int end(struct online *o, struct options *q, int code)
{
	words_done(&q->words);
	online_close(o);
	return code;
}

/* --- lists, page by page --- */

struct listed {
	const char *key;
	bool time;
};

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
		cJSON_ArrayForEach(e, json_get(root, "items"))
		{
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
static void cell_add(struct table *t, const cJSON *e, const struct listed *c)
{
	char *text;

	if (strcmp(c->key, "reason") != 0 || json_get(e, "dates") == NULL) {
		bool date = strcmp(c->key, "run_date") == 0;

		table_add(t, date      ? date_of(e, c->key)
		             : c->time ? time_of(e, c->key)
		                       : text_of(e, c->key));
		return;
	}
	text = mem_fmt("%s, %lld dates up to %s", text_of(e, "reason"), number_of(e, "dates"),
	               date_of(e, "last_date"));
	table_add(t, text);
	free(text);
}

static void rows_add(struct table *t, const cJSON *items, const struct listed *columns)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, items) for (size_t i = 0; i < t->columns; i++)
		cell_add(t, e, &columns[i]);
}

static void table_out(struct table *t)
{
	struct buf out;

	buf_init(&out);
	table_print(t, &out);
	cli_print(&out);
	buf_done(&out);
}

static void json_lines(const cJSON *items, bool *first)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, items)
	{
		char *text = cJSON_PrintUnformatted(e);

		printf("%s%s", *first ? "[" : ",\n ", text);
		*first = false;
		free(text);
	}
}

/* A page's table is printed before the next page is asked for: nothing grows with the list. */
static int list_show(struct online *o, const char *path, bool all, const char *titles,
                     const struct listed *columns, int (*more)(struct online *o, cJSON *items))
{
	bool first = true;
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

			if (json_text(root, "cursor") != NULL)
				cursor = mem_str(json_text(root, "cursor"));
			if (more != NULL)
				code = more(o, items);
			if (o->cli->json) {
				json_lines(items, &first);
			} else {
				struct table t;

				table_init(&t, titles);
				rows_add(&t, items, columns);
				table_out(&t);
				table_done(&t);
			}
		}
		cJSON_Delete(root);
		buf_done(&page);
	} while (code == CLI_OK && all && cursor != NULL);
	if (code == CLI_OK && o->cli->json)
		puts(first ? "[]" : "]");
	if (cursor != NULL && !o->cli->json)
		fputs("there are more: --limit, --all\n", stderr);
	free(cursor);
	return code;
}

int cmd_task_list(struct cli *cli, int argc, char **argv)
{
	static const struct listed columns[] = { { "task", 0 },     { "title", 0 },
		                                 { "state", 0 },    { "frozen", 0 },
		                                 { "type", 0 },     { "owner", 0 },
		                                 { "priority", 0 }, { "planned_through", 1 } };
	struct options q = { 0 };
	struct online o = { 0 };
	struct buf path;
	int code = open_with(cli, argc, argv, &q, 0, 1, &o);

	if (code != CLI_OK)
		return end(&o, &q, code);
	buf_init(&path);
	buf_puts(&path, "/api/v1/tasks");
	path_arg(&path, "prefix", q.words.n > 0 ? q.words.items[0] : NULL);
	path_arg(&path, "states", q.state);
	path_arg(&path, "limit", q.limit != NULL ? q.limit : q.all ? "500" : "50");
	code = list_show(&o, buf_str(&path), q.all,
	                 "Task|Title|State|Frozen|Type|Owner|>Priority|Planned through", columns,
	                 NULL);
	buf_done(&path);
	return end(&o, &q, code);
}

int cmd_workflow_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "all", 'a', NULL, 0, "retired ones too", 0 }, { 0 }
	};
	static const struct argp own = { .options = options, .parser = list_parse };
	static const struct listed columns[] = { { "name", 0 },    { "title", 0 }, { "version", 0 },
		                                 { "retired", 0 }, { "actor", 0 }, { "at", 1 } };
	struct options q = { 0 };
	struct online o = { 0 };

	cli_parse(cli, &own, argc, argv, &q);
	int code = q.words.n ? cli_fail(CLI_USAGE, "'%s' is one word too many", q.words.items[0])
	                     : online_open(cli, &o);
	if (code == CLI_OK)
		code = list_show(&o,
		                 q.all ? "/api/v1/workflows?limit=500&all=true"
		                       : "/api/v1/workflows?limit=500",
		                 true, "Workflow|Title|>Version|Retired|By|At", columns, NULL);
	return end(&o, &q, code);
}

int cmd_run_list(struct cli *cli, int argc, char **argv)
{
	static const struct listed columns[] = { { "task", 0 },   { "run_date", 0 },
		                                 { "state", 0 },  { "progress_permille", 0 },
		                                 { "reason", 0 }, { "attempt", 0 },
		                                 { "broker", 0 }, { "started", 1 },
		                                 { "ended", 1 },  { "id", 0 } };
	struct options q = { 0 };
	struct online o = { 0 };
	struct buf path;
	int code = open_with(cli, argc, argv, &q, 0, 1, &o);

	if (code != CLI_OK)
		return end(&o, &q, code);
	buf_init(&path);
	buf_puts(&path, "/api/v1/instances");
	path_arg(&path, "task", q.words.n > 0 ? q.words.items[0] : NULL);
	path_arg(&path, "states", q.state);
	path_arg(&path, "from", q.from);
	path_arg(&path, "to", q.to);
	path_arg(&path, "sort", q.sort);
	path_arg(&path, "limit", q.limit != NULL ? q.limit : q.all ? "500" : "50");
	path_arg(&path, "order", q.all ? NULL : "desc");
	code = list_show(&o, buf_str(&path), q.all,
	                 "Task|Run date|State|>Permille|Reason|>Attempt|Broker|Started|Ended|Id",
	                 columns, progress_add);
	buf_done(&path);
	return end(&o, &q, code);
}

/* --- one thing --- */

static void fields_print(const cJSON *root)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, root)
	{
		if (cJSON_IsArray(e) || cJSON_IsObject(e)) {
			char *text = cJSON_PrintUnformatted(e);

			printf("%-18s %s\n", e->string, text);
			free(text);
		} else if (!cJSON_IsNull(e)) {
			printf("%-18s %s\n", e->string, text_of(root, e->string));
		}
	}
}

static int show(struct online *o, const char *path)
{
	cJSON *root = NULL;
	int code = online_call(o, "GET", path, NULL, &root);

	if (code == CLI_OK && o->cli->json)
		code = print_json(root);
	else if (code == CLI_OK)
		fields_print(root);
	cJSON_Delete(root);
	return code;
}

static void links_print(const cJSON *root, const char *list, const char *who)
{
	const cJSON *l;

	cJSON_ArrayForEach(l, json_get(root, list))
	{
		const char *window = text_of(l, "window");

		printf("  %-40s %s %s, %s\n", text_of(l, who),
		       window[0] != '\0' ? "window" : "depend",
		       window[0] ? window : text_of(l, "depend_type"), text_of(l, "on"));
	}
}

int cmd_task_show(struct cli *cli, int argc, char **argv)
{
	struct options q = { 0 };
	struct online o = { 0 };
	struct buf path;
	cJSON *links = NULL;
	int code = open_with(cli, argc, argv, &q, 1, 1, &o);

	if (code != CLI_OK)
		return end(&o, &q, code);
	buf_init(&path);
	buf_puts(&path, "/api/v1/tasks/");
	path_part(&path, q.words.items[0]);
	code = show(&o, buf_str(&path));
	if (code == CLI_OK && !cli->json) {
		buf_clear(&path);
		buf_puts(&path, "/api/v1/links/");
		path_part(&path, q.words.items[0]);
		code = online_call(&o, "GET", buf_str(&path), NULL, &links);
		puts("needs");
		links_print(links, "parents", "parent");
		puts("is needed by");
		links_print(links, "children", "child");
	}
	cJSON_Delete(links);
	buf_done(&path);
	return end(&o, &q, code);
}

/* /api/v1/instances/ID with what follows. Owned; NULL and *ret_code on failure. */
static char *instance_path(struct online *o, const struct options *q, const char *after,
                           int *ret_code)
{
	char *id = NULL, *path = NULL;

	*ret_code = online_resolve(o, q->words.items[0], q->words.n > 1 ? q->words.items[1] : NULL,
	                           &id);
	if (*ret_code == CLI_OK)
		path = mem_fmt("/api/v1/instances/%s%s", id, after);
	free(id);
	return path;
}

int cmd_run_show(struct cli *cli, int argc, char **argv)
{
	struct options q = { 0 };
	struct online o = { 0 };
	int code = open_with(cli, argc, argv, &q, 1, 2, &o);
	char *path = code == CLI_OK ? instance_path(&o, &q, "", &code) : NULL;

	if (path != NULL)
		code = show(&o, path);
	free(path);
	return end(&o, &q, code);
}

int cmd_run_history(struct cli *cli, int argc, char **argv)
{
	static const struct listed columns[] = { { "at", 1 },      { "event", 0 },
		                                 { "from", 0 },    { "to", 0 },
		                                 { "reason", 0 },  { "generation", 0 },
		                                 { "attempt", 0 }, { "broker", 0 },
		                                 { "cause", 0 },   { "note", 0 } };
	struct options q = { 0 };
	struct online o = { 0 };
	int code = open_with(cli, argc, argv, &q, 1, 2, &o);
	char *path = code == CLI_OK ? instance_path(&o, &q, "/events?limit=500", &code) : NULL;

	if (path != NULL)
		code = list_show(&o, path, true,
		                 "At|Event|From|To|Reason|>Gen|>Attempt|Broker|>Command|Note",
		                 columns, NULL);
	free(path);
	return end(&o, &q, code);
}

int cmd_why(struct cli *cli, int argc, char **argv)
{
	struct options q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	int code = open_with(cli, argc, argv, &q, 1, 2, &o);
	char *path = code == CLI_OK ? instance_path(&o, &q, "/why", &code) : NULL;

	if (path != NULL)
		code = online_call(&o, "GET", path, NULL, &root);
	if (root != NULL && cli->json) {
		code = print_json(root);
	} else if (root != NULL) {
		printf("%s: %s\n", text_of(root, "state"), text_of(root, "line"));
		if (text_of(root, "opens")[0] != '\0')
			printf("opens with: %s\n", text_of(root, "opens"));
		if (text_of(root, "expected")[0] != '\0')
			printf("expected: %s\n", text_of(root, "expected"));
	}
	cJSON_Delete(root);
	free(path);
	return end(&o, &q, code);
}

/* --- brokers, status --- */

/* The state of a type that the broker should run and does not, or NULL. */
static const char *type_trouble(const cJSON *b, const cJSON *type)
{
	static const char *const well[] = { "ready", "stopped", "draining", "" };
	const char *state = text_of(type, "state");

	for (size_t i = 0; i < sizeof(well) / sizeof(well[0]); i++)
		if (strcmp(state, well[i]) == 0)
			return NULL;
	return json_true(b, "online") ? state : NULL;
}

/* "sql", "sql(quarantined)" */
static void broker_type(const cJSON *b, const cJSON *type, struct buf *out)
{
	const char *trouble = type_trouble(b, type);

	buf_printf(out, "%s%s", out->len > 0 ? " " : "", text_of(type, "type"));
	if (trouble != NULL)
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
	cJSON_ArrayForEach(y, json_get(b, "types")) if (type_trouble(b, y) != NULL)
		cli_line(stdout, "%s: task type %s is %s: %s", text_of(b, "name"),
	                 text_of(y, "type"), text_of(y, "state"), text_of(y, "text"));
	cJSON_ArrayForEach(y, json_get(b, "types")) if (text_of(y, "starts")[0] != '\0')
		printf("%s: nothing of task type %s starts: %s\n", text_of(b, "name"),
	               text_of(y, "type"), text_of(y, "starts"));
}

static void brokers_print(const cJSON *root)
{
	struct table t;
	const cJSON *b, *y;

	table_init(&t, "Name|State|>Running|>Slots|>CPU %|>Load|>Memory %|Types|Address");
	cJSON_ArrayForEach(b, json_get(root, "brokers"))
	{
		struct buf types;

		buf_init(&types);
		cJSON_ArrayForEach(y, json_get(b, "types")) broker_type(b, y, &types);
		table_add(&t, text_of(b, "name"));
		table_add(&t, !json_true(b, "online")   ? "offline"
		              : json_true(b, "drained") ? "drained"
		              : json_true(b, "accepts") ? "accepts"
		                                        : text_of(b, "why_not"));
		table_add(&t, text_of(b, "running"));
		table_add(&t, text_of(b, "slots"));
		table_addf(&t, "%lld", number_of(b, "cpu_permille") / 10);
		table_addf(&t, "%.2f", (double)number_of(b, "load_permille") / 1000.0);
		table_addf(&t, "%lld", number_of(b, "memory_permille") / 10);
		table_add(&t, buf_str(&types));
		table_add(&t, text_of(b, "address"));
		buf_done(&types);
	}
	table_out(&t);
	table_done(&t);
	cJSON_ArrayForEach(b, json_get(root, "brokers")) broker_notes(b);
}

int cmd_broker_list(struct cli *cli, int argc, char **argv)
{
	struct options q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	int code = open_with(cli, argc, argv, &q, 0, 0, &o);

	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/brokers", NULL, &root);
	if (root != NULL && cli->json)
		code = print_json(json_get(root, "brokers"));
	else if (root != NULL)
		brokers_print(root);
	cJSON_Delete(root);
	return end(&o, &q, code);
}

struct steering {
	struct words brokers;
	const char *type;    /* log-level: its loaders alone */
	const char *missing; /* what is asked for when no word is there; NULL: a broker */
	bool yes;
};

static error_t steer_parse(int key, char *arg, struct argp_state *state)
{
	struct steering *q = state->input;

	switch (key) {
	case 'y':
		q->yes = true;
		return 0;
	case 't':
		q->type = arg;
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->brokers, arg);
		return 0;
	case ARGP_KEY_END:
		if (q->brokers.n == 0)
			argp_error(state, "%s", q->missing != NULL ? q->missing : "which broker?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* drain, undrain: the kind is the command's name with a dash. */
int cmd_broker_steer(struct cli *cli, int argc, char **argv)
{
	static const struct argp_option steer_options[] = {
		{ "yes", 'y', NULL, 0, "do not ask", 0 },
		{ 0 },
	};
	static const struct argp own = { .options = steer_options, .parser = steer_parse };
	struct steering q = { 0 };
	struct online o = { 0 };
	char kind[32];

	cli_parse(cli, &own, argc, argv, &q);
	int code = online_open(cli, &o);

	snprintf(kind, sizeof(kind), "%s", cli->command->name);
	*strchr(kind, ' ') = '-';
	if (code == CLI_OK) {
		struct sending s = { .kind = kind, .args = cJSON_CreateObject(), .yes = q.yes };
		cJSON *list = cJSON_AddArrayToObject(s.args, "brokers");

		for (size_t i = 0; i < q.brokers.n; i++)
			cJSON_AddItemToArray(list, cJSON_CreateString(q.brokers.items[i]));
		code = command_send(&o, &s);
		cJSON_Delete(s.args);
	}
	words_done(&q.brokers);
	online_close(&o);
	return code;
}

int cmd_log_level(struct cli *cli, int argc, char **argv)
{
	static const struct argp_option level_options[] = {
		{ "type", 't', "TYPE", 0, "loaders of this task type alone", 0 },
		{ 0 },
	};
	static const struct argp own = { .options = level_options, .parser = steer_parse };
	struct steering q = { .yes = true, .missing = "which level? error, warn, info or debug" };
	struct online o = { 0 };

	cli_parse(cli, &own, argc, argv, &q);
	int code = online_open(cli, &o);
	if (code == CLI_OK) {
		struct sending s = { .kind = "log-level",
			             .args = cJSON_CreateObject(),
			             .yes = true };
		cJSON *list = cJSON_AddArrayToObject(s.args, "brokers");

		cJSON_AddStringToObject(s.args, "level", q.brokers.n ? q.brokers.items[0] : "");
		if (q.type != NULL)
			cJSON_AddStringToObject(s.args, "type", q.type);
		for (size_t i = 1; i < q.brokers.n; i++)
			cJSON_AddItemToArray(list, cJSON_CreateString(q.brokers.items[i]));
		code = command_send(&o, &s);
		cJSON_Delete(s.args);
	}
	words_done(&q.brokers);
	online_close(&o);
	return code;
}
