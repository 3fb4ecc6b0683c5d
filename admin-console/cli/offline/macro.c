/* sirdar macro */
#include "admin-console/cli/documents/files.h"

#include "sched/instant.h"
#include "sched/macro.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct question {
	const char *text, *task, *run_date, *zone;
};

static const struct argp_option options[] = {
	{ "task", 't', "FILE:TASK", 0, "whose zone, cycle and parameters", 0 },
	{ "run-date", 'r', "T", 0, "the run_date, in the task's zone", 0 },
	{ "tz", 'z', "ZONE", 0, "time zone of tasks that say none, default UTC", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct question *q = state->input;

	switch (key) {
	case 't':
		q->task = arg;
		return 0;
	case 'r':
		q->run_date = arg;
		return 0;
	case 'z':
		q->zone = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (q->text)
			argp_error(state, "one text, in quotes");
		q->text = arg;
		return 0;
	case ARGP_KEY_END:
		if (!q->text || !q->task || !q->run_date)
			argp_error(state, "want a text, --task and --run-date");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* task, workflow/task or project/workflow/task; the first that fits. */
static const struct task *find_task(const struct workflow_files *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++) {
		const char *full = f->tasks[i]->name;
		size_t n = strlen(full), k = strlen(name);
		if (k <= n && strcmp(full + n - k, name) == 0 && (k == n || full[n - k - 1] == '/'))
			return f->tasks[i];
	}
	return NULL;
}

struct names {
	const struct task *task;
	const struct workflow_files *files;
	char as_it_is[MACRO_NAME_MAX + 4];
};

static bool declares(const struct task *t, const char *output)
{
	for (size_t i = 0; t && i < t->n_outputs; i++)
		if (strcmp(t->outputs[i], output) == 0)
			return true;
	return false;
}

/* What a parent gives out is known when it has run: its name stays. */
static const char *output_of(struct names *n, const char *name)
{
	const char *dot = strrchr(name, '.');
	char parent[MACRO_NAME_MAX + 1];

	if (!dot)
		return NULL;
	snprintf(parent, sizeof parent, "%.*s", (int)(dot - name), name);
	if (!declares(find_task(n->files, parent), dot + 1))
		return NULL;
	snprintf(n->as_it_is, sizeof n->as_it_is, "${%s}", name);
	return n->as_it_is;
}

static const char *value_of(void *ctx, const char *name)
{
	struct names *n = ctx;
	const struct task *t = n->task;

	for (size_t i = 0; i < t->n_params; i++)
		if (strcmp(t->params[i].name, name) == 0)
			return t->params[i].value;
	return output_of(n, name);
}

static int answer(const struct cli *cli, const struct question *q, const struct task *t,
                  const struct workflow_files *f)
{
	struct instant at;
	struct err err = { 0 };
	struct buf text, out;

	if (!instant_parse(q->run_date, plan_tz(t->plan), &at))
		return cli_fail(CLI_USAGE,
		                "--run-date is '%s', want 2026-03-01, \"2026-03-01 02:30\" or "
		                "2026-03-01T02:30:00Z",
		                q->run_date);
	const char **known = mem_array(t->n_params + 1, sizeof *known);
	for (size_t i = 0; i < t->n_params; i++)
		known[i] = t->params[i].name;
	struct names names = { .task = t, .files = f };
	struct macro_scope scope = {
		.plan = t->plan, .run_date = at.t, .lookup = value_of, .known = known, .ctx = &names
	};
	buf_init(&text);
	buf_init(&out);
	int code = CLI_REFUSED;
	if (macro_expand(q->text, &scope, &text, &err) < 0) {
		cli_fail(0, "%s", err.text);
	} else {
		if (cli->json) {
			put_open(&out, NULL, '{');
			put_text(&out, "text", buf_str(&text));
			put_close(&out, '}');
		} else {
			buf_puts(&out, buf_str(&text));
		}
		code = cli_print(&out);
	}
	free(known);
	buf_done(&text);
	buf_done(&out);
	return code;
}

int cmd_macro(struct cli *cli, int argc, char **argv)
{
	const struct argp own = { .options = options, .parser = parse };
	struct question q = { .zone = "UTC" };
	struct words files = { 0 };
	struct workflow_files f;
	int code = CLI_REFUSED;

	cli_parse(cli, &own, argc, argv, &q);
	screen_data(stdout);
	const char *colon = strrchr(q.task, ':');
	if (!colon || !colon[1])
		return cli_fail(CLI_USAGE, "--task is '%s', want FILE:TASK", q.task);
	char *file = mem_strn(q.task, (size_t)(colon - q.task));
	words_add(&files, file);
	files_init(&f, q.zone);
	if (files_compile(&f, &files)) {
		const struct task *t = find_task(&f, colon + 1);
		code = t ? answer(cli, &q, t, &f)
		         : cli_fail(CLI_NOT_FOUND, "%s has no task '%s'", file, colon + 1);
	}
	files_done(&f);
	words_done(&files);
	free(file);
	return code;
}
