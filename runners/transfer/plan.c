#include <stdlib.h>
#include <string.h>

#include "runners/common/run.h"
#include "runners/transfer/transfer.h"

#define CHUNK_MAX   100000
#define CSV_DEFAULT (1ll << 40)

static int read_csv(const struct run *r, struct plan *p)
{
	char *delimiter = run_text(r, "csv_delimiter");
	int code = 0;

	p->style.delimiter = ',';
	if (delimiter && !strcmp(delimiter, "tab"))
		p->style.delimiter = '\t';
	else if (delimiter && (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0])))
		code = run_refuse(r,
		                  "parameter csv_delimiter is '%.20s', want one character, or tab",
		                  delimiter);
	else if (delimiter)
		p->style.delimiter = delimiter[0];
	free(delimiter);
	p->csv_null = run_text(r, "csv_null");
	p->style.null_text = p->csv_null ? p->csv_null : "";
	if (code == 0 && p->csv_file && p->csv_file[0] != '/')
		code = run_refuse(r, "parameter csv_file is '%.80s', want a path from the root",
		                  p->csv_file);
	if (code == 0 && p->csv_file && r->job->run_as[0])
		code = run_refuse(r, "csv_file is written by the broker's own user: this task's "
		                     "run_as cannot be honoured");
	return code;
}

static int check(const struct run *r, const struct plan *p)
{
	if (!p->table == !p->query)
		return run_refuse(r, "want exactly one of the parameters table, query");
	if (!p->to_table == !p->csv_file)
		return run_refuse(r, "want exactly one of the parameters to_table, csv_file");
	if (p->watermark && (p->csv_file || p->mode != MODE_APPEND))
		return run_refuse(r, "watermark goes with to_table and mode append");
	if (p->mode == MODE_APPEND && p->csv_file)
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
	p->csv_file = run_text(r, "csv_file");
	p->watermark = run_text(r, "watermark");
	p->mark_name = run_text(r, "mark_name");
	if (!p->mark_name)
		p->mark_name = strdup(r->job->task_name);
	if (run_choice(r, "mode", modes, &mode) < 0 ||
	    run_number(r, "chunk", 1, CHUNK_MAX, 1000, &p->chunk) < 0 ||
	    run_number(r, "csv_max", 1, INT64_MAX, CSV_DEFAULT, &p->csv_max) < 0 ||
	    run_boolean(r, "csv_header", true, &p->has_header) < 0 ||
	    run_boolean(r, "count", false, &p->counts) < 0)
		return RUNNER_FAILED;
	p->mode = (enum transfer_mode)mode;
	if (read_csv(r, p) < 0 || check(r, p) < 0 ||
	    db_where_read(r, "source", "source_", &p->source) < 0)
		return RUNNER_FAILED;
	return p->csv_file ? 0 : db_where_read(r, "target", "target_", &p->target);
}

void plan_done(struct plan *p)
{
	db_where_done(&p->source);
	db_where_done(&p->target);
	free(p->table);
	free(p->query);
	free(p->to_table);
	free(p->csv_file);
	free(p->watermark);
	free(p->mark_name);
	free(p->csv_null);
}
