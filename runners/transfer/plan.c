#include <stdlib.h>
#include <string.h>

#include "runners/common/run.h"
#include "runners/transfer/transfer.h"

#define CHUNK_MAX 100000

static int plan_check(const struct run *r, const struct plan *p)
{
	if (!p->table == !p->query)
		return run_refuse(r, "want exactly one of the parameters table, query");
	if (!p->to_table == !p->rows.csv_file)
		return run_refuse(r, "want exactly one of the parameters to_table, csv_file");
	if (p->watermark && (p->rows.csv_file || p->mode != MODE_APPEND))
		return run_refuse(r, "watermark goes with to_table and mode append");
	if (p->mode == MODE_APPEND && p->rows.csv_file)
		return run_refuse(r, "a csv_file is always made anew: mode append is for tables");
	return 0;
}

int plan_read(const struct run *r, struct plan *p)
{
	static const char *const modes[] = { "replace", "append", NULL };
	size_t mode;

	*p = (struct plan){ 0 };
	p->table = run_text(r, "table");
	p->query = run_text(r, "query");
	p->to_table = run_text(r, "to_table");
	p->watermark = run_text(r, "watermark");
	p->mark_name = run_text(r, "mark_name");
	if (!p->mark_name)
		p->mark_name = strdup(r->job->task_name);
	if (run_choice(r, "mode", modes, &mode) < 0 ||
	    run_number(r, "chunk", 1, CHUNK_MAX, 1000, &p->chunk) < 0 ||
	    run_boolean(r, "count", false, &p->counts) < 0)
		return RUNNER_FAILED;
	p->mode = (enum transfer_mode)mode;
	if (rows_plan_read(r, &p->rows) < 0 || plan_check(r, p) < 0 ||
	    db_where_read(r, "source", "source_", &p->source) < 0)
		return RUNNER_FAILED;
	return p->rows.csv_file ? 0 : db_where_read(r, "target", "target_", &p->target);
}

void plan_done(struct plan *p)
{
	db_where_done(&p->source);
	db_where_done(&p->target);
	free(p->table);
	free(p->query);
	free(p->to_table);
	free(p->watermark);
	free(p->mark_name);
	rows_plan_done(&p->rows);
}
