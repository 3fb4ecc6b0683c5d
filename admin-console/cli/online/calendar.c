/* sirdar calendar: list, show, retire, import. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/documents/ics.h"
#include "admin-console/cli/online/ask.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"
#include "util/screen.h"

#define ICS_BYTES_MAX ((size_t)4 << 20)

static const struct opt list_options[] = {
	{ "all", 'a', NULL, "retired ones too", TAKE_QUERY, "all", "true" },
	{ 0 },
};

static const struct opt show_options[] = {
	{ "version", 'V', "N", "this version, default the newest", TAKE_QUERY, "version" },
	{ 0 },
};

static const struct opt retire_options[] = {
	{ "dry-run", 'd', NULL, "only show what would change" },
	{ 0 },
};

static void cell_retired(const cJSON *version, const char *key, struct buf *out)
{
	buf_puts(out, json_true(version, key) ? "yes" : "");
}

static const struct column columns[] = {
	{ "Name", "name" },
	{ ">Version", "version" },
	{ "Retired", "retired", cell_retired },
	{ "By", "actor" },
	{ "At", "at", cell_time },
	{ ">Id", "id", .wide = true },
	{ 0 },
};

static int calendar_show(struct online *o, const struct asked *q, const cJSON *calendar)
{
	(void)o;
	fputs(text_of(calendar, "document"), stdout);
	putchar('\n');
	rows_show(q->verb->columns, json_get(calendar, "versions"));
	return CLI_OK;
}

/* `call`: how the command `apply` takes their names. */
static int calendar_retire(struct asked *q)
{
	cJSON *list = body_list(q, q->verb->call);

	for (size_t i = 0; i < q->words.n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(q->words.items[i]));
	return apply_send(q->cli, q->body, given(q, "dry-run"));
}

const struct verb verb_calendar_list = { ask, list_options,
	                                 .call = "GET /api/v1/calendars?limit=500",
	                                 .member = "items", .columns = columns };
const struct verb verb_calendar_show = { ask,
	                                 show_options,
	                                 1,
	                                 1,
	                                 .call = "GET /api/v1/calendars/{}",
	                                 .columns = columns,
	                                 .show = calendar_show };
const struct verb verb_calendar_retire = { calendar_retire, retire_options, 1, 100,
	                                   .call = "retire_calendars" };
const struct verb verb_library_retire = { calendar_retire, retire_options, 1, 100,
	                                  .call = "retire_libraries" };

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

static int years_read(const char *years, struct ics_options *ics)
{
	char *end = NULL;

	if (!years)
		return CLI_OK;
	ics->first_year = ics->last_year = (int)strtol(years, &end, 10);
	if (strncmp(end, "..", 2) == 0)
		ics->last_year = (int)strtol(end + 2, &end, 10);
	if (*end || ics->first_year < 1 || ics->last_year > 9999 ||
	    ics->first_year > ics->last_year)
		return cli_fail(CLI_USAGE, "--years is '%s', want 2026 or 2026..2030", years);
	return CLI_OK;
}

static int send_text(struct asked *q, struct buf *text)
{
	cJSON *d = cJSON_CreateObject();

	cJSON_AddItemToArray(body_list(q, "documents"), d);
	cJSON_AddStringToObject(d, "name", word(q, 0));
	cJSON_AddStringToObject(d, "text", buf_str(text));
	return apply_send(q->cli, q->body, given(q, "dry-run"));
}

static int calendar_import(struct asked *q)
{
	struct ics_options ics = { .weekends = given(q, "weekends"),
		                   .workday_mark = given(q, "workday-mark") };
	const char *file = word(q, 0);
	char *name = given(q, "name") ? mem_str(given(q, "name")) : name_of(file);
	struct err err = { 0 };
	struct buf text, out;
	int code = years_read(given(q, "years"), &ics);

	buf_init(&text);
	buf_init(&out);
	ics.name = name;
	if (code == CLI_OK && fs_read(file, ICS_BYTES_MAX, &text, &err) < 0)
		code = cli_fail(err.code == E_NOT_FOUND ? CLI_NOT_FOUND : CLI_REFUSED, "%s",
		                err.text);
	if (code == CLI_OK && ics_read(buf_str(&text), &ics, &out, &err) < 0)
		code = cli_fail(CLI_REFUSED, "%s: %s", file, err.text);
	if (code == CLI_OK && given(q, "print")) {
		screen_data(stdout);
		fputs(buf_str(&out), stdout);
	} else if (code == CLI_OK) {
		code = send_text(q, &out);
	}
	free(name);
	buf_done(&text);
	buf_done(&out);
	return code;
}

static const struct opt import_options[] = {
	{ "name", 'n', "NAME", "of the calendar, default the file's" },
	{ "weekends", 'w', "DAYS", "\"saturday, sunday\" is the default; \"\" for none",
	  .value = "saturday, sunday" },
	{ "workday-mark", 'm', "TEXT", "events with TEXT in their summary are working days" },
	{ "years", 'y', "A..B", "only these; needed for rules without an end" },
	{ "dry-run", 'd', NULL, "only show what would change" },
	{ "print", 'p', NULL, "print the document, send nothing" },
	{ 0 },
};

const struct verb verb_calendar_import = { calendar_import, import_options, 1, 1 };
