/* sirdar check */
#include "files.h"

#include "rt/manifests.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/json.h"

struct question {
	struct words files;
	const char *zone, *types;
};

static const struct argp_option options[] = {
	{ "tz", 'z', "ZONE", 0, "time zone of tasks that say none, default UTC", 0 },
	{ "types", 'T', "DIR", 0, "judge parameters by the manifests of task types there", 0 },
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

int cmd_check(struct cli *cli, int argc, char **argv)
{
	const struct argp own = { .options = options, .parser = parse };
	struct question q = { .zone = "UTC" };
	struct workflow_files f;
	struct manifests *manifests;
	int code = CLI_REFUSED;

	cli_parse(cli, &own, argc, argv, &q);
	manifests = manifests_new(q.types ? q.types : "");
	files_init(&f, q.zone);
	f.world.types = manifests_types(manifests);
	files_print_diags(manifests_wrong(manifests), stderr);
	if (files_read(&f, &q.files)) {
		/* What is wrong inside a document hides what is wrong between them. */
		if (!f.diags.errors)
			workflow_check(f.set, &f.world, clock_wall_us(&clock_machine) / US_PER_S,
			               &f.diags);
		code = answer(cli, &f);
	}
	files_done(&f);
	manifests_free(manifests);
	words_done(&q.files);
	return code;
}
