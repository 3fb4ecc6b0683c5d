/* sirdar check */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "online.h"

#include "rt/manifests.h"
#include "sched/type.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/json_in.h"

/* Where `make install` puts them: types_dir of the server, unless it says another. */
#define TYPES_DIR "/usr/local/share/sirdar/types"

struct question {
	struct words files;
	const char *zone, *types;
	bool online;
};

static const struct argp_option options[] = {
	{ "tz", 'z', "ZONE", 0, "time zone of tasks that say none, default UTC", 0 },
	{ "types", 'T', "DIR", 0,
	  "judge parameters by the manifests of task types there (else, if they are there, those "
	  "of " TYPES_DIR "; -T '': by none)",
	  0 },
	{ "online", 'o', NULL, 0, "judge parameters by the task types that the server knows", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct question *q = state->input;

	switch (key) {
	case 'z':
		q->zone = arg;
		return 0;
	case 'T':
		q->types = arg;
		return 0;
	case 'o':
		q->online = true;
		return 0;
	case ARGP_KEY_ARG:
		words_add(&q->files, arg);
		return 0;
	case ARGP_KEY_END:
		if (!q->files.n)
			argp_error(state, "which files?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void put_json(const struct diags *d, struct buf *out)
{
	struct json_out j;

	json_out_start(&j, out);
	json_open_array(&j);
	for (size_t i = 0; i < d->n; i++) {
		const struct diag *x = &d->items[i];
		json_open_object(&j);
		json_field_text(&j, "file", x->at.file);
		json_field_number(&j, "line", x->at.line);
		json_field_number(&j, "column", x->at.column);
		json_field_text(&j, "path", x->at.path);
		json_field_text(&j, "code", x->code);
		json_field_text(&j, "message", x->message);
		json_field_text(&j, "hint", x->hint);
		json_close_object(&j);
	}
	json_close_array(&j);
	json_out_end(&j);
}

static int answer(const struct cli *cli, const struct workflow_files *f)
{
	struct buf out;
	int code;

	buf_init(&out);
	if (cli->json) {
		put_json(&f->diags, &out);
	} else {
		size_t tasks = 0;
		for (size_t i = 0; i < workflow_set_count(f->set); i++)
			tasks += workflow_tasks(workflow_set_at(f->set, i));
		files_print_diags(&f->diags, stdout);
		if (!f->diags.errors)
			buf_printf(&out, "good: %zu workflows, %zu tasks",
			           workflow_set_count(f->set), tasks);
		if (!f->diags.errors && workflow_set_calendars(f->set))
			buf_printf(&out, ", %zu calendars", workflow_set_calendars(f->set));
	}
	code = cli_print(&out);
	buf_done(&out);
	return code ? code : f->diags.errors ? CLI_REFUSED : CLI_OK;
}

/* --- the server's types ------------------------------------------------------------------ */

static void drop_empty(cJSON *o)
{
	for (cJSON *m = o->child, *next; m; m = next) {
		next = m->next;
		if (cJSON_IsNull(m) || ((cJSON_IsArray(m) || cJSON_IsObject(m)) && !m->child) ||
		    (cJSON_IsString(m) && !m->valuestring[0]))
			cJSON_Delete(cJSON_DetachItemViaPointer(o, m));
		else if (cJSON_IsObject(m))
			drop_empty(m);
	}
}

/* What the API tells of a type is its manifest, but for brokers and what is empty. */
static void add_type(struct type_set *set, cJSON *type)
{
	struct diags d;
	cJSON *p;

	if (!json_true(type, "declared"))
		return;
	cJSON_DeleteItemFromObject(type, "declared");
	cJSON_DeleteItemFromObject(type, "brokers");
	cJSON_ArrayForEach(p, json_get(type, "params"))
	{
		drop_empty(p);
	}
	drop_empty(type);
	diags_init(&d);
	char *text = cJSON_PrintUnformatted(type);
	type_set_read(set, text, strlen(text), text_of(type, "type"), &d);
	files_print_diags(&d, stderr);
	cJSON_free(text);
	diags_done(&d);
}

static int ask_types(struct cli *cli, struct type_set *set)
{
	struct online o = { 0 };
	cJSON *root = NULL, *type;
	int code = online_open(cli, &o);

	if (code == CLI_OK)
		code = online_call(&o, "GET", "/api/v1/types", NULL, &root);
	cJSON_ArrayForEach(type, json_get(root, "types"))
	{
		add_type(set, type);
	}
	cJSON_Delete(root);
	online_close(&o);
	return code;
}

/* --- the command --------------------------------------------------------------------------- */

static int judge(struct cli *cli, const struct question *q, const struct type_set *types)
{
	struct workflow_files f;
	int code = CLI_REFUSED;

	files_init(&f, q->zone);
	f.world.types = types;
	if (files_read(&f, &q->files)) {
		/* What is wrong inside a document hides what is wrong between them. */
		if (!f.diags.errors)
			workflow_check(f.set, &f.world, clock_wall_us(&clock_machine) / US_PER_S,
			               &f.diags);
		code = answer(cli, &f);
	}
	files_done(&f);
	return code;
}

int cmd_check(struct cli *cli, int argc, char **argv)
{
	const struct argp own = { .options = options, .parser = parse };
	struct question q = { .zone = "UTC" };
	struct type_set *online = type_set_new();
	struct manifests *manifests;
	int code = CLI_OK;

	cli_parse(cli, &own, argc, argv, &q);
	if (!q.types)
		q.types = !q.online && access(TYPES_DIR, R_OK) == 0 ? TYPES_DIR : "";
	manifests = manifests_new(q.types);
	const struct type_set *types = manifests_types(manifests);
	files_print_diags(manifests_wrong(manifests), stderr);
	if (q.online) {
		code = ask_types(cli, online);
		types = online;
	}
	if (code == CLI_OK)
		code = judge(cli, &q, types);
	manifests_free(manifests);
	type_set_free(online);
	words_done(&q.files);
	return code;
}
