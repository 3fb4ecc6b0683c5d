/* sirdar run start, run wait: a workflow or a part of it runs once; instances are waited for.
 *
 * `run start` makes one command of the server, which chooses the date where none is said. `run
 * wait` takes tasks with dates, a range, or ids, makes a list of reads of them, and follows these
 * until all are over (wait.c); its exit code says how they ended. Where one waits is printed as a
 * command to go on with. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"

/* --- run start ------------------------------------------------------------------------------ */

static bool is_task(const char *name)
{
	const char *slash = strchr(name, '/');

	return slash && strchr(slash + 1, '/');
}

/* A task of the workflow that is started, by its own name or the whole. */
static char *member_name(const struct asked *q, const char *name)
{
	return strchr(name, '/') ? mem_str(name) : mem_fmt("%s/%s", word(q, 0), name);
}

static void put_edge(struct asked *q, const char *option, const char *to)
{
	const char *name = given(q, option);

	if (!name)
		return;
	char *whole = member_name(q, name);
	body_text(q, to, whole);
	free(whole);
}

static void start_check(struct asked *q, struct argp_state *state)
{
	bool parts = given(q, "task") || given(q, "up-to") || given(q, "from");
	struct when_span dates;

	if (q->words.n == 2 && when_range(word(q, 1), 0, &dates))
		argp_error(state, "the date of a run is --date %s", word(q, 1));
	if (q->words.n != 1)
		argp_error(state, "which workflow, or task of one?");
	if (is_task(word(q, 0)) && parts)
		argp_error(state, "--task, --up-to and --from choose of a workflow, '%s' is a task",
		           word(q, 0));
	for (size_t i = 0; i < q->n; i++) {
		if (strcmp(q->given[i].opt->name, "task") != 0)
			continue;
		char *whole = member_name(q, q->given[i].value);
		cJSON_AddItemToArray(body_list(q, "selection.tasks"), cJSON_CreateString(whole));
		free(whole);
	}
	if (is_task(word(q, 0)))
		cJSON_AddItemToArray(body_list(q, "selection.tasks"),
		                     cJSON_CreateString(word(q, 0)));
	else if (!given(q, "task"))
		body_text(q, "selection.workflow", word(q, 0));
	put_edge(q, "up-to", "up_to");
	put_edge(q, "from", "from_task");
}

static int run_start(struct asked *q)
{
	return command_ask(q);
}

static const struct opt start_options[] = {
	{ "date", 0, "DATE",
	  "for this date; default: the last period that has come due, of what has no plan the "
	  "present second. The answer says which it was",
	  TAKE_TEXT, "date", .group = 1 },
	{ "param", 'a', "NAME=VALUE", "a parameter of this run alone (repeatable)", TAKE_PAIR,
	  "params", NULL, check_pair, 1 },
	{ "priority", 'p', "N", "1 to 10; default: as it was, at first the task's own", TAKE_NUMBER,
	  "priority", .group = 1 },
	{ "task", 0, "TASK", "only this task of the workflow (repeatable)", .group = 2 },
	{ "up-to", 0, "TASK", "only this task and what it waits for", .group = 2 },
	{ "from", 0, "TASK", "only this task and what waits for it", .group = 2 },
	{ "no-op", 0, NULL, "no job runs: everything succeeds when its turn comes", TAKE_TRUE,
	  "no_op", .group = 1 },
	{ "message", 0, "TEXT", "why, kept with the command", TAKE_TEXT, "message", .group = 3 },
	{ "dry-run", 0, NULL, "only show what would be done", .group = 3 },
	{ "wait", 0, NULL,
	  "until every instance has ended. Exit 0: all well; 1: nothing was started; 6: --timeout; "
	  "7: something failed, or a part was refused; 130: Ctrl-C, the work goes on",
	  .group = 3 },
	WAITING(3),
	{ "request-id", 0, "ID", "makes a repeat harmless", .group = 3 },
	{ 0 },
};

const struct verb verb_run_start = { run_start, start_options,        0,
	                             WORDS_ANY, .check = start_check, .sure = true };

/* --- run wait ------------------------------------------------------------------------------- */

struct paths {
	char **items;
	size_t n;
};

static void paths_add(struct paths *ps, char *path)
{
	ps->items = mem_grow(ps->items, ps->n + 1, sizeof *ps->items);
	ps->items[ps->n++] = path;
}

/* Of `dates`, or from..to where that is NULL. */
static void list_add(struct paths *ps, const char *task, const char *dates, const struct asked *q)
{
	struct buf path;

	buf_init(&path);
	buf_puts(&path, "/api/v1/instances");
	path_arg(&path, "task", task);
	path_dates(&path, dates);
	path_arg(&path, "from", dates ? NULL : given(q, "from"));
	path_arg(&path, "to", dates ? NULL : given(q, "to"));
	paths_add(ps, mem_str(buf_str(&path)));
	buf_done(&path);
}

/* Each date on its own; without one, the range; ids. */
static void paths_make(struct paths *ps, const struct asked *q)
{
	const char *first = word(q, 0), *flow = given(q, "workflow");
	char *task = flow ? mem_fmt("%s/*", flow) : NULL;
	bool dates = false;

	if (!task && first && !instance_id_is(first))
		task = mem_fmt(is_task(first) || strchr(first, '*') ? "%s" : "%s/*", first);
	for (size_t i = 0; i < q->words.n; i++) {
		const char *w = q->words.items[i];
		if (instance_id_is(w))
			paths_add(ps, mem_fmt("/api/v1/instances/%s", w));
		else if (flow || i > 0)
			list_add(ps, task, w, q);
		dates = dates || instance_id_is(w) || flow || i > 0;
	}
	if (!dates)
		list_add(ps, task, NULL, q);
	free(task);
}

static char *again_text(const struct asked *q)
{
	struct buf b;

	buf_init(&b);
	buf_puts(&b, "run wait");
	for (size_t i = 0; i < q->words.n; i++)
		buf_printf(&b, strchr(q->words.items[i], ' ') ? " '%s'" : " %s", q->words.items[i]);
	static const char *const options[] = { "workflow", "from", "to" };
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
		if (given(q, options[i]))
			buf_printf(&b, " --%s '%s'", options[i], given(q, options[i]));
	char *text = mem_str(buf_str(&b));
	buf_done(&b);
	return text;
}

static void wait_check(struct asked *q, struct argp_state *state)
{
	if (q->words.n == 0 && !given(q, "workflow"))
		argp_error(state, "which workflow, task or instances?");
}

static int run_await(struct asked *q)
{
	const struct waiting how = waiting_of(q);
	struct paths ps = { 0 };
	struct online o = { 0 };
	int code = online_open(q->cli, &o);

	paths_make(&ps, q);
	if (code == CLI_OK) {
		char *again = again_text(q);
		code = wait_lists(&o, ps.items, ps.n, again, &how);
		free(again);
	}
	online_close(&o);
	for (size_t i = 0; i < ps.n; i++)
		free(ps.items[i]);
	free(ps.items);
	return code;
}

static const struct opt wait_options[] = {
	{ "workflow", 0, "WORKFLOW", "all tasks of a workflow", .check = check_once },
	{ "from", 0, "T", "run dates from here" },
	{ "to", 0, "T", "run dates to here, included" },
	WAITING(0),
	{ 0 },
};

const struct verb verb_run_wait = { run_await, wait_options, 0, WORDS_ANY, .check = wait_check };
