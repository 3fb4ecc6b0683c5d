/* sirdar macro */
#include "admin-console/cli/base/verb.h"
#include "admin-console/cli/documents/files.h"

#include "sched/label.h"
#include "sched/macro.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void offline_macro_check(struct asked *q, struct argp_state *state)
{
	if (!q->words.n || !given(q, "task") || !given(q, "run-date"))
		argp_error(state, "want a text, --task and --run-date");
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

static bool macro_declares(const struct task *t, const char *output)
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
	if (!macro_declares(find_task(n->files, parent), dot + 1))
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

static int macro_answer(const struct asked *q, const struct task *t, const struct workflow_files *f)
{
	const char *run_date = given(q, "run-date");
	struct when w;
	int64_t dates[2];
	struct err err = { 0 };
	struct buf text, out;

	if (!date_read(run_date, &w))
		return CLI_USAGE;
	size_t n = label_dates(t->plan, &w, dates);
	if (n != 1) {
		label_unclear(t->plan, t->name, run_date, &w, n ? dates : NULL, &err);
		return cli_fail(CLI_REFUSED, "%s", err.text);
	}
	const char **known = mem_array(t->n_params + 1, sizeof *known);
	for (size_t i = 0; i < t->n_params; i++)
		known[i] = t->params[i].name;
	struct names names = { .task = t, .files = f };
	struct macro_scope scope = { .plan = t->plan,
		                     .run_date = dates[0],
		                     .lookup = value_of,
		                     .known = known,
		                     .ctx = &names };
	buf_init(&text);
	buf_init(&out);
	int code = CLI_REFUSED;
	if (macro_expand(word(q, 0), &scope, &text, &err) < 0) {
		cli_fail(0, "%s", err.text);
	} else {
		if (q->cli->json) {
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

static int macro(struct asked *q)
{
	const char *name = given(q, "task"), *colon = strrchr(name, ':');
	struct words files = { 0 };
	struct workflow_files f;
	int code = CLI_REFUSED;

	screen_data(stdout);
	if (!colon || !colon[1])
		return cli_fail(CLI_USAGE, "--task is '%s', want FILE:TASK", name);
	char *file = mem_strn(name, (size_t)(colon - name));
	words_add(&files, file);
	files_init(&f, given(q, "tz"));
	if (files_compile(&f, &files)) {
		const struct task *t = find_task(&f, colon + 1);
		code = t ? macro_answer(q, t, &f)
		         : cli_fail(CLI_NOT_FOUND, "%s has no task '%s'", file, colon + 1);
	}
	files_done(&f);
	words_done(&files);
	free(file);
	return code;
}

static const struct opt options[] = {
	{ "task", 't', "FILE:TASK", "whose zone, cycle and parameters" },
	{ "run-date", 'r', "T", "the run_date, in the task's zone" },
	{ "tz", 'z', "ZONE", "time zone of tasks that say none, default UTC", .value = "UTC" },
	{ 0 },
};

const struct verb verb_macro = {
	macro, options, 0, 1, .many = "one text, in quotes", .check = offline_macro_check
};
