/* sirdar edges: which instance waits for which, date by date, for a span of time.
 *
 * One line for each link of each instance, with the parent's dates that the link means, or a note
 * why there are none: the parent is a draft, unknown, or begins later. It is the answer to "which
 * dates does this window name?" before anything is saved. */
#include "admin-console/cli/base/table.h"
#include "admin-console/cli/offline/span.h"

#include "sched/label.h"
#include "sched/plan.h"
#include "sched/simulate.h"
#include "sched/task.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_put.h"

#include <stdio.h>
#include <stdlib.h>

struct writing {
	const struct simulate_input *in;
	struct buf *out;
	struct table table;
	bool is_json;
};

static void edges_put(void *ctx, const struct simulate_edge *e)
{
	struct writing *w = ctx;
	char text[LABEL_TEXT];

	if (w->is_json) {
		simulate_edge_json(w->in, e, w->out);
		return;
	}
	for (size_t i = 0; i < e->n_dates || i == 0; i++) {
		table_add(&w->table, w->in->tasks[e->child]->name);
		table_add(&w->table, label_of(w->in->tasks[e->child]->plan, e->run_date, text));
		table_addf(&w->table, "%u", e->link);
		table_add(&w->table, e->parent);
		table_add(&w->table, e->n_dates ? label_of(e->plan, e->dates[i], text) : e->note);
	}
}

static int edges_answer(const struct cli *cli, const struct simulate_input *in)
{
	struct buf out;
	struct writing w = { .in = in, .out = &out, .is_json = cli->json };
	struct err err = { 0 };
	int code;

	buf_init(&out);
	table_init(&w.table, "CHILD|RUN DATE|>LINK|PARENT|RUN DATE");
	if (cli->json)
		put_open(&out, NULL, '[');
	if (simulate_edges(in, NULL, edges_put, &w, &err) < 0) {
		code = cli_fail(CLI_REFUSED, "%s", err.text);
	} else {
		if (cli->json)
			put_close(&out, ']');
		else
			table_print(&w.table, &out);
		code = cli_print(&out);
	}
	table_done(&w.table);
	buf_done(&out);
	return code;
}

/* An empty table says nothing: what was asked for may lie before all that the task ever does. */
static void say_before(const struct simulate_input *in)
{
	char text[LABEL_TEXT];

	for (size_t i = 0; i < in->n; i++) {
		int64_t first = in->tasks[i]->n_links ? plan_first(in->tasks[i]->plan) : INT64_MIN;
		if (first >= in->spans[i].hi && first != PLAN_NEVER)
			fprintf(stderr, "sirdar: %s: before its begin: its plan begins with %s\n",
			        in->tasks[i]->name, label_of(in->tasks[i]->plan, first, text));
	}
}

static int edges(struct asked *q)
{
	struct link_span *spans = NULL;
	struct workflow_files f;
	int code = CLI_REFUSED;

	files_init(&f, given(q, "tz"));
	if (files_compile(&f, &q->words) && span_read(q, &f, &spans)) {
		struct simulate_input in = { f.tasks, f.n, spans, NULL };
		code = edges_answer(q->cli, &in);
		say_before(&in);
	}
	free(spans);
	files_done(&f);
	return code;
}

const struct verb verb_edges = { edges, span_options, 0, WORDS_ANY, .check = span_check };
