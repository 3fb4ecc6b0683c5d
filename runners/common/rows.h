/* rows.h — where the rows of results go: the log, a CSV file, the outputs. The parameters are the
 * same with every runner that has them.
 */
#ifndef RUNNERS_ROWS_H
#define RUNNERS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runners/common/csv.h"
#include "runners/common/run.h"

/* csv_file, csv_delimiter, csv_header, csv_null, csv_max; log_rows; first_row. */
struct rows_plan {
	char *csv_file, *csv_null;
	struct csv_style style;
	int64_t log_rows, csv_max;
	bool gives_first_row, has_header;
};

/* 0, or RUNNER_FAILED: the result says what is wrong. rows_plan_done() either way. */
int rows_plan_read(const struct run *r, struct rows_plan *ret_plan);
void rows_plan_done(struct rows_plan *p);

struct rows {
	const struct run *run;
	const struct rows_plan *plan;
	struct csv_file file;
	struct text line;
	char **names; /* of the result that is being read */
	size_t n_names, n_results;
	int64_t n, n_all; /* rows of this result, of all */
	char why[200];    /* after a negative answer */
};

/* Negative answers: rows.why. */
int rows_open(struct rows *t, const struct run *r, const struct rows_plan *plan);
int rows_columns(struct rows *t, size_t n, const char *const *names);
int rows_row(struct rows *t, size_t n, const char *const *values, const size_t *lens);
int rows_keep(struct rows *t); /* all results are there */
void rows_close(struct rows *t);

#endif
