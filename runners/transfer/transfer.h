/* transfer.h — rows on their way from a source to a target. */
#ifndef RUNNERS_TRANSFER_H
#define RUNNERS_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runners/common/csv.h"
#include "runners/common/db.h"
#include "runners/common/rows.h"

struct run;

enum transfer_mode { MODE_REPLACE, MODE_APPEND };

/* What the task says. */
struct plan {
	struct db_where source, target;
	char *table, *query, *to_table, *watermark, *mark_name;
	enum transfer_mode mode;
	struct rows_plan rows; /* of a csv_file */
	int64_t chunk;
	bool counts;
};

/* 0, or RUNNER_FAILED: the result says what is wrong. plan_done() either way. */
int plan_read(const struct run *r, struct plan *ret_plan);
void plan_done(struct plan *p);

/* Where the rows go. Methods answer 0, or a negative code of db.h; `failed` is the database whose
 * words say why, NULL: the sentence is in `why`. */
struct target {
	const struct run *run;
	const struct plan *plan;
	struct db *db;       /* of a table */
	struct csv_file csv; /* of a file */
	struct text insert, columns;
	const char *into; /* the table rows are put into: the plan's, or its staging table */
	char *staging;
	size_t n_columns, mark_column, n_pending;
	int64_t rows;
	struct text mark; /* the watermark of the last row that was put */
	bool has_mark;
	char why[200];
};

int target_open(struct target *t, const struct run *r, const struct plan *p);
/* The watermark of the last run; has_mark says whether there is one. */
int target_begin(struct target *t);
int target_columns(struct target *t, size_t n, const char *const *names);
int target_row(struct target *t, size_t n, const char *const *values, const size_t *lens);
int target_keep(struct target *t); /* all rows are there */
void target_close(struct target *t);

#endif
