/* Sending a command of the server: preview, question, request, and what came of it.
 *
 * A command that may touch many instances is asked for twice: once as a dry run, whose answer is
 * shown with a question unless --yes was said, and then for good. The request's id is made here,
 * so that an answer that got lost does not carry the command out twice. What came of it is
 * command_told.c's to say; who waits for the end of it waits in wait.c. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_in.h"
#include "util/screen.h"

static const struct kind {
	const char *name;
	bool bulk;
} kinds[] = {
#define COMMAND(NAME, kind, role, acts_on, bulk, text) { kind, bulk },
#include "tbl/command.def"
#undef COMMAND
};

static bool is_bulk(const char *kind)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].name, kind) == 0)
			return kinds[i].bulk;
	return false;
}

/* --- what would happen --- */

static void preview_tasks(const cJSON *list, const char *title, struct buf *out)
{
	struct table t;
	const cJSON *e;

	if (cJSON_GetArraySize(list) == 0)
		return;
	table_init(&t, title);
	cJSON_ArrayForEach(e, list) {
		table_add(&t, text_of(e, "task"));
		table_add(&t, text_of(e, "owner"));
		table_add(&t, text_of(e, "count"));
		if (t.columns == 4)
			table_add(&t, text_of(e, "depth"));
		if (t.columns > 4) {
			table_add(&t, text_of(e, "new"));
			table_add(&t, text_of(e, "running"));
		}
	}
	table_print(&t, out);
	table_done(&t);
}

const char *left_out_of(const cJSON *e)
{
	static char text[100];
	long long out = number_of(e, "left_out"), runs = number_of(e, "run_dates") - out;

	snprintf(text, sizeof text, "; %lld of them %s, catchup skips %lld", runs,
	         runs == 1 ? "runs" : "run", out);
	return out ? text : "";
}

/* What goes online, where its plan begins, and what comes due at once. */
static void preview_online(const cJSON *e, struct buf *out)
{
	buf_printf(out, "%s goes online", text_of(e, "task"));
	if (text_of(e, "begins")[0] != '\0')
		buf_printf(out, ", its plan begins with %s", text_of(e, "begins_label"));
	buf_putc(out, '\n');
	if (number_of(e, "run_dates") > 0)
		buf_printf(out, "  %s run dates of the past come due: %s", text_of(e, "run_dates"),
		           text_of(e, "first_label"));
	if (number_of(e, "run_dates") > 0)
		buf_printf(out, " to %s%s\n", text_of(e, "last_label"), left_out_of(e));
}

static void preview_dates(const cJSON *dates, struct buf *out)
{
	const char *first = text_of(dates, "first_label"), *last = text_of(dates, "last_label");

	if (first[0])
		buf_printf(out, " for %s%s%s", first, strcmp(first, last) != 0 ? " to " : "",
		           strcmp(first, last) != 0 ? last : "");
}

static void preview_print(const cJSON *dry, FILE *to)
{
	struct buf out;
	const cJSON *e;

	buf_init(&out);
	buf_printf(&out, "%s: ", text_of(dry, "kind"));
	if (json_get(dry, "tasks_changed"))
		buf_printf(&out, "%s, ", plural_of(dry, "tasks_changed", "task"));
	buf_printf(&out, "%s", plural_of(dry, "total", "instance"));
	preview_dates(json_get(dry, "dates"), &out);
	buf_putc(&out, '\n');
	cJSON_ArrayForEach(e, json_get(dry, "states"))
		buf_printf(&out, "%8lld %s\n", (long long)e->valuedouble, word_of_state(e->string));
	preview_tasks(json_get(dry, "tasks"), "Task|Owner|>Count|>New|>Running", &out);
	cJSON_ArrayForEach(e, json_get(dry, "online"))
		preview_online(e, &out);
	if (cJSON_GetArraySize(json_get(dry, "downstream")) > 0)
		buf_puts(&out, "\nDownstream, not touched:\n");
	preview_tasks(json_get(dry, "downstream"), "Task|Owner|>Count|>Depth", &out);
	if (number_of(dry, "outside_scope") > 0)
		buf_printf(&out,
		           "%s more depend on these beyond the scope and are left out "
		           "(--scope project, all)\n",
		           text_of(dry, "outside_scope"));
	cJSON_ArrayForEach(e, json_get(dry, "reasons"))
		buf_printf(&out, "refused %s: %s\n", text_of(e, "count"), text_of(e, "message"));
	cJSON_ArrayForEach(e, json_get(dry, "detached"))
		buf_printf(&out, "%s no longer waits for %s\n", text_of(e, "task"),
		           text_of(e, "parent"));
	cJSON_ArrayForEach(e, json_get(dry, "refused"))
		buf_printf(&out, "refused: %s %s: %s\n", text_of(e, "task"), label_in(e),
		           text_of(e, "message"));
	cJSON_ArrayForEach(e, json_get(dry, "warnings"))
		if (cJSON_IsString(e))
			buf_printf(&out, "warning: %s\n", e->valuestring);
	fputs(buf_str(&out), to);
	buf_done(&out);
}

static int command_confirm(long long total)
{
	char line[16] = "";

	if (!isatty(STDIN_FILENO))
		return cli_fail(CLI_REFUSED, "%lld instances: say --yes to go on", total);
	fprintf(stderr, "Go on? [y/N] ");
	fflush(stderr);
	if (!fgets(line, sizeof line, stdin) || (line[0] != 'y' && line[0] != 'Y'))
		return cli_fail(CLI_REFUSED, "nothing was changed");
	return CLI_OK;
}

/* --- sending --- */

static int command_post(struct online *o, const struct sending *s, bool dry, const char *request_id,
                        cJSON **ret)
{
	cJSON *body = cJSON_CreateObject();
	int code;

	cJSON_AddStringToObject(body, "kind", s->kind);
	cJSON_AddItemReferenceToObject(body, "args", s->args);
	cJSON_AddBoolToObject(body, "dry_run", dry);
	if (!dry)
		cJSON_AddStringToObject(body, "request_id", request_id);
	code = online_call(o, "POST", "/api/v1/commands", body, ret);
	cJSON_Delete(body);
	return code;
}

/* Neither an instance nor a task: the command itself would be refused. */
static bool is_nothing(const cJSON *dry)
{
	return number_of(dry, "total") == 0 && number_of(dry, "tasks_changed") == 0 &&
	       cJSON_GetArraySize(json_get(dry, "online")) == 0;
}

static int preview(struct online *o, const struct sending *s)
{
	cJSON *dry = NULL;
	int code = command_post(o, s, true, NULL, &dry);
	long long total = number_of(dry, "total");

	if (code != CLI_OK)
		return code;
	if (s->dry_run && o->cli->json)
		code = print_json(dry);
	else if (s->dry_run || total > 1)
		preview_print(dry, s->dry_run ? stdout : stderr);
	if (code == CLI_OK && !s->dry_run && total > 1)
		code = command_confirm(total);
	if (code == CLI_OK && s->dry_run && is_nothing(dry))
		code = cli_fail(CLI_REFUSED, "nothing to do: no instance matches");
	cJSON_Delete(dry);
	return code;
}

void request_id_new(char ret[33])
{
	unsigned char bytes[16] = { 0 };

	if (getrandom(bytes, sizeof bytes, 0) < 0)
		cli_fail(0, "no random numbers: %m");
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* Which instances a test run of tasks made: they are in no list, and their names are the tasks'. */
static int tried_tell(struct online *o, const char *command)
{
	char *path = mem_fmt("/api/v1/commands/%s/items?limit=20", command);
	cJSON *items = NULL;
	const cJSON *i;
	int code = online_call(o, "GET", path, NULL, &items);

	if (code == CLI_OK)
		cJSON_ArrayForEach(i, json_get(items, "items"))
			if (strcmp(text_of(i, "code"), "OK") == 0)
				cli_line(stdout, "  %s %s  id %s; sirdar logs %s",
				         text_of(i, "task"), label_in(i), text_of(i, "id"),
				         text_of(i, "id"));
	cJSON_Delete(items);
	free(path);
	return code;
}

int command_send(struct online *o, const struct sending *s)
{
	char fresh[33], *id;
	cJSON *answer = NULL;
	int code = CLI_OK;

	if (s->dry_run || (is_bulk(s->kind) && !s->yes))
		code = preview(o, s);
	if (code != CLI_OK || s->dry_run)
		return code;
	request_id_new(fresh);
	code = command_post(o, s, false, s->request_id ? s->request_id : fresh, &answer);
	if (code != CLI_OK)
		return code;
	id = mem_str(text_of(answer, "command"));
	bool over = command_is_over(answer);
	bool waits = s->wait && (!over || command_makes_run(answer));
	if (waits)
		code = wait_command(o, id, &s->how);
	else
		code = command_tell(o, answer, s->of);
	if (code == CLI_OK && !waits && over)
		code = command_code(answer);
	if (code == CLI_OK && !waits)
		code = command_unchanged(answer);
	if (strcmp(s->kind, "test-run") == 0 && !o->cli->json) {
		int told = tried_tell(o, id);
		code = code == CLI_OK ? told : code;
	}
	free(id);
	cJSON_Delete(answer);
	return code;
}
