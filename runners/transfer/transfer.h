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

enum { VALUE_WHY_BYTES = 300 };

/* What a column is, and the database's own word for it. */
struct value_type {
	enum db_class class;
	char name[32], column[64];
};

/* Make the connection write and read values so that each has one meaning: UTC, ISO dates, and
 * nothing cut off silently. */
int value_session(struct db *db);
void value_type_take(const struct db_type *from, struct value_type *ret);
/* May values of the one go into the other? Else `why` names column and types. */
bool value_fits(const struct value_type *from, const struct value_type *to,
                char why[static VALUE_WHY_BYTES]);
/* From which column into which. */
struct value_way {
	enum db_kind source;
	const struct value_type *from;
	struct db *target;
	const struct value_type *to;
	char *why; /* VALUE_WHY_BYTES */
};
/* One value as the target's literal; NULL is the value NULL. False: it may not go there, and `why`
 * says why. */
bool value_put(const struct value_way *way, const char *value, size_t len, struct text *out);

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
	struct value_type *from, *to; /* of the columns, when rows go to a table */
	struct text mark;             /* the watermark of the last row that was put */
	bool has_mark;
	char why[VALUE_WHY_BYTES];
};

int target_open(struct target *t, const struct run *r, const struct plan *p);
/* The watermark of the last run; has_mark says whether there is one. */
int target_begin(struct target *t);
/* What the columns are at the source, before their names. */
int target_types(struct target *t, size_t n, const struct db_type *types);
int target_columns(struct target *t, size_t n, const char *const *names);
int target_row(struct target *t, size_t n, const char *const *values, const size_t *lens);
int target_keep(struct target *t); /* all rows are there */
void target_close(struct target *t);

#endif
