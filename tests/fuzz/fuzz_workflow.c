/* Workflow documents: judged, compiled, previewed, printed. Errors are told, nothing falls, and
 * what compiles can be simulated. */
#include <stdlib.h>

#include "sched/simulate.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define FROM INT64_C(1772323200) /* 2026-03-01 */
enum { TASKS_MAX = 20, HOURS = 2 };

static void no_edge(void *ctx, const struct simulate_edge *e)
{
	*(size_t *)ctx += e->n_dates;
}

static void preview(struct task **tasks, size_t n)
{
	struct link_span spans[TASKS_MAX];
	struct simulate_row *rows;
	size_t n_rows, edges = 0;

	if (n > TASKS_MAX)
		return;
	for (size_t i = 0; i < n; i++)
		spans[i] = (struct link_span){ FROM, FROM + HOURS * 3600 };
	struct simulate_input in = { tasks, n, spans, NULL };
	if (simulate_run(&in, &rows, &n_rows, NULL) == 0)
		free(rows);
	simulate_edges(&in, NULL, no_edge, &edges, NULL);
}

static void print_again(const struct workflow *wf, struct diags *d)
{
	struct workflow *copy;
	struct buf text;

	buf_init(&text);
	workflow_print(wf, &text);
	CHECK(workflow_parse(buf_str(&text), text.len, "again", d, &copy) == 0);
	CHECK(workflow_same(wf, copy));
	workflow_free(copy);
	buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct workflow_world world = { 0 };
	struct workflow_set *set = workflow_set_new();
	struct task **tasks;
	struct diags d;
	size_t n;

	if (bytes > 4096)
		bytes = 4096;
	diags_init(&d);
	if (workflow_set_read(set, (const char *)data, bytes, "fuzz", &d) == 0) {
		for (size_t i = 0; i < workflow_set_count(set); i++)
			print_again(workflow_set_at(set, i), &d);
		if (workflow_compile(set, &world, &d, &tasks, &n) == 0) {
			preview(tasks, n);
			for (size_t i = 0; i < n; i++)
				task_unref(tasks[i]);
			free(tasks);
		} else {
			CHECK(d.errors > 0);
		}
	} else {
		CHECK(d.errors > 0);
	}
	workflow_set_free(set);
	diags_done(&d);
	return 0;
}
