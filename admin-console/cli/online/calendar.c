/* sirdar calendar: list, show, retire, import. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/documents/ics.h"
#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"
#include "util/screen.h"

#define ICS_BYTES_MAX ((size_t)4 << 20)

struct options {
	struct words words;
	const char *version, *name, *years;
	struct ics_options ics;
	bool dry_run, print, all;
};

static const struct argp_option show_options[] = {
	{ "version", 'V', "N", 0, "show: this version, default the newest", 0 },
	{ "dry-run", 'd', NULL, 0, "retire: only show what would change", 0 },
	{ 0 },
};

static const struct argp_option import_options[] = {
	{ "name", 'n', "NAME", 0, "of the calendar, default the file's", 0 },
	{ "weekends", 'w', "DAYS", 0, "\"saturday, sunday\" is the default; \"\" for none", 0 },
	{ "workday-mark", 'm', "TEXT", 0, "events with TEXT in their summary are working days", 0 },
	{ "years", 'y', "A..B", 0, "only these; needed for rules without an end", 0 },
	{ "dry-run", 'd', NULL, 0, "only show what would change", 0 },
	{ "print", 'p', NULL, 0, "print the document, send nothing", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *q = state->input;

	switch (key) {
	case 'V':
		q->version = arg;
		return 0;
	case 'n':
		q->name = arg;
		return 0;
	case 'w':
		q->ics.weekends = arg;
		return 0;
	case 'm':
		q->ics.workday_mark = arg;
		return 0;
	case 'y':
		q->years = arg;
		return 0;
	case 'd':
		q->dry_run = true;
		return 0;
	case 'p':
		q->print = true;
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

static int options_read(struct cli *cli, const struct argp_option *options, int argc, char **argv,
                        struct options *q, size_t least, size_t most)
{
	const struct argp own = { .options = options, .parser = parse };

	cli_parse(cli, &own, argc, argv, q);
	if (q->words.n >= least && q->words.n <= most)
		return CLI_OK;
	return cli_fail(CLI_USAGE, "usage: sirdar %s %s", cli->command->name, cli->command->args);
}

/* --- list, show --- */

static void versions_print(const cJSON *items)
{
	struct table t;
	struct buf out;
	const cJSON *e;

	table_init(&t, "Name|>Version|Retired|By|At");
	cJSON_ArrayForEach(e, items)
	{
		table_add(&t, text_of(e, "name"));
		table_add(&t, text_of(e, "version"));
		table_add(&t, json_true(e, "retired") ? "yes" : "");
		table_add(&t, text_of(e, "actor"));
		table_add(&t, time_of(e, "at"));
	}
	buf_init(&out);
	table_print(&t, &out);
	cli_print(&out);
	buf_done(&out);
	table_done(&t);
}

int cmd_calendar_list(struct cli *cli, int argc, char **argv)
{
	static const struct argp_option own[] = { { "all", 'a', NULL, 0, "retired ones too", 0 },
		                                  { 0 } };
	struct options q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	int code = options_read(cli, own, argc, argv, &q, 0, 0);

	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK)
		code = online_call(&o, "GET",
		                   q.all ? "/api/v1/calendars?limit=500&all=true"
		                         : "/api/v1/calendars?limit=500",
		                   NULL, &root);
	if (root && cli->json)
		code = print_json(json_get(root, "items"));
	else if (root)
		versions_print(json_get(root, "items"));
	cJSON_Delete(root);
	words_done(&q.words);
	online_close(&o);
	return code;
}

int cmd_calendar_show(struct cli *cli, int argc, char **argv)
{
	struct options q = { 0 };
	struct online o = { 0 };
	cJSON *root = NULL;
	struct buf path;
	int code = options_read(cli, show_options, argc, argv, &q, 1, 1);

	buf_init(&path);
	if (code == CLI_OK)
		code = online_open(cli, &o);
	if (code == CLI_OK) {
		buf_puts(&path, "/api/v1/calendars/");
		path_part(&path, q.words.items[0]);
		path_arg(&path, "version", q.version);
		code = online_call(&o, "GET", buf_str(&path), NULL, &root);
	}
	if (root && cli->json) {
		code = print_json(root);
	} else if (root) {
		fputs(text_of(root, "document"), stdout);
		putchar('\n');
		versions_print(json_get(root, "versions"));
	}
	cJSON_Delete(root);
	buf_done(&path);
	words_done(&q.words);
	online_close(&o);
	return code;
}

/* `key`: how the command takes their names. */
static int retire(struct cli *cli, int argc, char **argv, const char *key)
{
	struct options q = { 0 };
	int code = options_read(cli, show_options, argc, argv, &q, 1, 100);

	if (code == CLI_OK) {
		cJSON *args = cJSON_CreateObject();
		cJSON *list = cJSON_AddArrayToObject(args, key);
		for (size_t i = 0; i < q.words.n; i++)
			cJSON_AddItemToArray(list, cJSON_CreateString(q.words.items[i]));
		code = apply_send(cli, args, q.dry_run);
		cJSON_Delete(args);
	}
	words_done(&q.words);
	return code;
}

int cmd_calendar_retire(struct cli *cli, int argc, char **argv)
{
	return retire(cli, argc, argv, "retire_calendars");
}

int cmd_library_retire(struct cli *cli, int argc, char **argv)
{
	return retire(cli, argc, argv, "retire_libraries");
}

/* --- import --- */

/* holidays/cn-2026.ics: cn-2026 */
static char *name_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *name = mem_str(slash ? slash + 1 : file);
	char *dot = strrchr(name, '.');

	if (dot && dot != name)
		*dot = '\0';
	return name;
}

static int years_read(struct options *q)
{
	char *end = NULL;

	if (!q->years)
		return CLI_OK;
	q->ics.first_year = q->ics.last_year = (int)strtol(q->years, &end, 10);
	if (strncmp(end, "..", 2) == 0)
		q->ics.last_year = (int)strtol(end + 2, &end, 10);
	if (*end || q->ics.first_year < 1 || q->ics.last_year > 9999 ||
	    q->ics.first_year > q->ics.last_year)
		return cli_fail(CLI_USAGE, "--years is '%s', want 2026 or 2026..2030", q->years);
	return CLI_OK;
}

static int send_text(struct cli *cli, const char *file, const struct buf *text, bool dry_run)
{
	cJSON *args = cJSON_CreateObject(), *d = cJSON_CreateObject();

	cJSON_AddItemToArray(cJSON_AddArrayToObject(args, "documents"), d);
	cJSON_AddStringToObject(d, "name", file);
	cJSON_AddStringToObject(d, "text", buf_str((struct buf *)(uintptr_t)text));
	int code = apply_send(cli, args, dry_run);
	cJSON_Delete(args);
	return code;
}

int cmd_calendar_import(struct cli *cli, int argc, char **argv)
{
	struct options q = { .ics = { .weekends = "saturday, sunday" } };
	struct err err = { 0 };
	struct buf text, out;
	char *name = NULL;
	int code = options_read(cli, import_options, argc, argv, &q, 1, 1);

	buf_init(&text);
	buf_init(&out);
	if (code == CLI_OK)
		code = years_read(&q);
	if (code == CLI_OK && fs_read(q.words.items[0], ICS_BYTES_MAX, &text, &err) < 0)
		code = cli_fail(err.code == E_NOT_FOUND ? CLI_NOT_FOUND : CLI_REFUSED, "%s",
		                err.text);
	if (code == CLI_OK) {
		name = q.name ? mem_str(q.name) : name_of(q.words.items[0]);
		q.ics.name = name;
		if (ics_read(buf_str(&text), &q.ics, &out, &err) < 0)
			code = cli_fail(CLI_REFUSED, "%s: %s", q.words.items[0], err.text);
	}
	if (code == CLI_OK && q.print) {
		screen_data(stdout);
		fputs(buf_str(&out), stdout);
	}
	if (code == CLI_OK && !q.print)
		code = send_text(cli, q.words.items[0], &out, q.dry_run);
	free(name);
	buf_done(&text);
	buf_done(&out);
	words_done(&q.words);
	return code;
}
