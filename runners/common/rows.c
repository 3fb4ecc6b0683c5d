/* Rows of a result: to the job's log, up to a number, or into a CSV file; the first row as
 * outputs. The plan is read from parameters before the first statement, so that a wrong one costs
 * nothing. A file takes one result and appears only when it is whole (csv.c). */
#include "runners/common/rows.h"

#include "runners/common/apart.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CSV_BYTES_MAX (1ll << 40)
#define CSV_DEFAULT   (1ll << 30)
#define LOG_ROWS_MAX  100000
#define FIRST_ROW_MAX 100 /* columns that become outputs */

static int read_style(const struct run *r, struct rows_plan *p)
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
	return code;
}

int rows_plan_read(const struct run *r, struct rows_plan *p)
{
	*p = (struct rows_plan){ .csv_file = run_text(r, "csv_file") };
	if (read_style(r, p) < 0 || run_boolean(r, "first_row", false, &p->gives_first_row) < 0 ||
	    run_boolean(r, "csv_header", true, &p->has_header) < 0 ||
	    run_number(r, "log_rows", 0, LOG_ROWS_MAX, 100, &p->log_rows) < 0 ||
	    run_number(r, "csv_max", 1, CSV_BYTES_MAX, CSV_DEFAULT, &p->csv_max) < 0)
		return RUNNER_FAILED;
	if (p->csv_file && p->csv_file[0] != '/')
		return run_refuse(r, "parameter csv_file is '%.80s', want a path from the root",
		                  p->csv_file);
	if (p->csv_file && r->job->run_as[0] && !apart_is_wanted(r))
		return run_refuse(r, "csv_file is written by the broker's own user: this task's "
		                     "run_as cannot be honoured");
	return 0;
}

void rows_plan_done(struct rows_plan *p)
{
	free(p->csv_file);
	free(p->csv_null);
}

int rows_open(struct rows *t, const struct run *r, const struct rows_plan *plan)
{
	*t = (struct rows){ .run = r, .plan = plan };
	if (!plan->csv_file || csv_open(&t->file, r, plan->csv_file, (uint64_t)plan->csv_max) == 0)
		return 0;
	snprintf(t->why, sizeof t->why, "%s", t->file.why);
	return -1;
}

static void forget_names(struct rows *t)
{
	for (size_t i = 0; i < t->n_names; i++)
		free(t->names[i]);
	free(t->names);
	t->names = NULL;
	t->n_names = 0;
}

static void to_log(struct rows *t)
{
	t->run->host->log(t->run->job, RUNNER_STDOUT, text_str(&t->line), t->line.len);
	text_clear(&t->line);
}

int rows_columns(struct rows *t, size_t n, const char *const *names)
{
	const struct rows_plan *p = t->plan;

	forget_names(t);
	t->names = calloc(n + 1, sizeof *t->names);
	for (size_t i = 0; t->names && i < n; i++)
		t->names[t->n_names++] = strdup(names[i]);
	t->n = 0;
	if (++t->n_results > 1 && p->csv_file) {
		snprintf(t->why, sizeof t->why, "csv_file takes one result, and there is a second");
		return -1;
	}
	if (p->csv_file && p->has_header)
		csv_names(&p->style, n, names, &t->file.buffer);
	if (!p->csv_file && p->log_rows) {
		csv_names(&p->style, n, names, &t->line);
		to_log(t);
	}
	return 0;
}

/* The first row of a result: its values by their columns' names. */
static void give_first_row(struct rows *t, size_t n, const char *const *values, const size_t *lens)
{
	for (size_t i = 0; i < n && i < FIRST_ROW_MAX && i < t->n_names; i++)
		run_output(t->run, t->names[i] ? t->names[i] : "", "%.*s",
		           values[i] ? (int)lens[i] : 0, values[i] ? values[i] : "");
}

int rows_row(struct rows *t, size_t n, const char *const *values, const size_t *lens)
{
	const struct rows_plan *p = t->plan;

	if (t->n++ == 0 && p->gives_first_row)
		give_first_row(t, n, values, lens);
	t->n_all++;
	if (p->csv_file) {
		csv_line(&p->style, n, values, lens, &t->file.buffer);
		if (csv_flush(&t->file, false) == 0)
			return 0;
		snprintf(t->why, sizeof t->why, "%s", t->file.why);
		return -1;
	}
	if (t->n <= p->log_rows) {
		csv_line(&p->style, n, values, lens, &t->line);
		to_log(t);
	}
	return 0;
}

int rows_keep(struct rows *t)
{
	if (!t->plan->csv_file || csv_keep(&t->file) == 0)
		return 0;
	snprintf(t->why, sizeof t->why, "%s", t->file.why);
	return -1;
}

void rows_close(struct rows *t)
{
	csv_done(&t->file);
	forget_names(t);
	text_done(&t->line);
}
