/* sirdar simulate: what these documents would do in a span of time, as a table or as JSON.
 *
 * The play is lib/sched/simulate.h, which the server's forecast uses too; here it begins with
 * nothing at work and every machine free. Durations come from a file, by task name (the shortest
 * name that is clear will do), else a task takes the default. Nothing is asked of a server. */

#include "admin-console/cli/base/table.h"
#include "admin-console/cli/offline/span.h"

#include "sched/label.h"
#include "sched/simulate.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/yaml.h"

#include <stdlib.h>
#include <string.h>

#define SPAN_OPTIONS \
	{ "from", 'f', "T", "run dates from here, in each task's zone" }, \
		{ "to", 't', "T", "run dates to here, included" }, \
		{ "date", 0, "T", "these run dates: one, or a range A..B" }, \
	{ \
		"tz", 'z', "ZONE", "time zone of tasks that say none, default UTC", .value = "UTC" \
	}

const struct opt span_options[] = { SPAN_OPTIONS, { 0 } };

static const struct opt simulate_options[] = {
	SPAN_OPTIONS,
	{ "durations", 'd', "FILE", "a map of task names to durations" },
	{ 0 },
};

void span_check(struct asked *q, struct argp_state *state)
{
	bool is_range = given(q, "from") && given(q, "to") && !given(q, "date");
	bool is_date = given(q, "date") && !given(q, "from") && !given(q, "to");

	if (!q->words.n || (!is_range && !is_date))
		argp_error(state, "want files, and --from and --to, or --date");
}

bool span_read(const struct asked *q, const struct workflow_files *f, struct link_span **ret_spans)
{
	const char *from = given(q, "date") ? given(q, "date") : given(q, "from");
	const char *to = given(q, "to");
	struct when_span asked, end;

	if (!dates_read(from, &asked) || (to && !dates_read(to, &end)))
		return false;
	if (to)
		asked.to = end.to;
	if (when_is_after(&asked.from, &asked.to))
		return cli_fail(0, "%s ends before it begins", to ? "--to" : from);
	*ret_spans = files_spans(f, &asked);
	return true;
}

/* Names as long as they are clear: task, workflow/task or all of it. */
static bool is_named(const char *full, const char *name)
{
	size_t n = strlen(full), k = strlen(name);

	return k <= n && strcmp(full + n - k, name) == 0 && (k == n || full[n - k - 1] == '/');
}

static bool set_durations(const struct workflow_files *f, const struct yaml_node *map,
                          const char *file, int64_t *durations)
{
	for (size_t i = 0; i < map->n; i++) {
		const char *name = map->keys[i]->text;
		bool used = false;
		int64_t us;
		if (!yaml_duration_us(map->items[i], &us))
			return cli_fail(0, "%s:%d: want a duration such as 5m", file,
			                map->items[i]->line);
		for (size_t t = 0; t < f->n; t++) {
			if (!is_named(f->tasks[t]->name, name))
				continue;
			durations[t] = us;
			used = true;
		}
		if (!used)
			return cli_fail(0, "%s:%d: there is no task '%s'", file, map->keys[i]->line,
			                name);
	}
	return true;
}

static bool read_durations(struct workflow_files *f, const char *file, int64_t **ret_durations)
{
	struct yaml_doc **docs = NULL;
	struct err err = { 0 };
	struct buf text;
	size_t n = 0;
	bool good = false;

	*ret_durations = mem_array(f->n + 1, sizeof **ret_durations);
	buf_init(&text);
	if (fs_read(file, YAML_BYTES_MAX, &text, &err) < 0)
		cli_fail(0, "%s", err.text);
	else if (yaml_read(buf_str(&text), text.len, file, &f->diags, &docs, &n) < 0)
		files_print_diags(&f->diags, stderr);
	else if (n != 1 || yaml_root(docs[0])->kind != YAML_MAP)
		cli_fail(0, "%s: want one map of task names to durations", file);
	else
		good = set_durations(f, yaml_root(docs[0]), file, *ret_durations);
	for (size_t i = 0; i < n; i++)
		yaml_free(docs[i]);
	free(docs);
	buf_done(&text);
	return good;
}

static void add_us(struct table *t, int64_t us)
{
	char text[WHEN_TEXT];

	table_add(t, us == INT64_MAX ? "-" : when_print(us / 1000000, text));
}

static void put_table(const struct simulate_input *in, const struct simulate_row *rows, size_t n,
                      struct buf *out)
{
	char text[LABEL_TEXT];
	struct table t;

	table_init(&t, in->durations_us ? "TASK|RUN DATE|DUE|STATE|REASON|START|END"
	                                : "TASK|RUN DATE|DUE|STATE|REASON");
	for (size_t i = 0; i < n; i++) {
		table_add(&t, in->tasks[rows[i].task]->name);
		table_add(&t, label_of(in->tasks[rows[i].task]->plan, rows[i].run_date, text));
		table_add(&t, when_print(rows[i].due, text));
		table_add(&t, rows[i].is_skipped ? "Skipped" : "planned");
		table_add(&t, simulate_reason_name(rows[i].reason));
		if (in->durations_us) {
			add_us(&t, rows[i].start_us);
			add_us(&t, rows[i].end_us);
		}
	}
	table_print(&t, out);
	table_done(&t);
}

static int simulate_answer(const struct cli *cli, const struct simulate_input *in)
{
	struct simulate_row *rows;
	struct err err = { 0 };
	struct buf out;
	size_t n;

	if (simulate_run(in, &rows, &n, &err) < 0)
		return cli_fail(CLI_REFUSED, "%s", err.text);
	if (n == 0)
		cli_fail(CLI_OK, "there is no run date in that time");
	buf_init(&out);
	if (cli->json)
		simulate_json(in, rows, n, &out);
	else
		put_table(in, rows, n, &out);
	int code = cli_print(&out);
	buf_done(&out);
	free(rows);
	return code;
}

static int simulate(struct asked *q)
{
	const char *file = given(q, "durations");
	struct link_span *spans = NULL;
	int64_t *durations = NULL;
	struct workflow_files f;
	int code = CLI_REFUSED;

	files_init(&f, given(q, "tz"));
	if (files_compile(&f, &q->words) && span_read(q, &f, &spans) &&
	    (!file || read_durations(&f, file, &durations))) {
		struct simulate_input in = { f.tasks, f.n, spans, durations };
		code = simulate_answer(q->cli, &in);
	}
	free(spans);
	free(durations);
	files_done(&f);
	return code;
}

const struct verb verb_simulate = { simulate, simulate_options, 0, WORDS_ANY, .check = span_check };
