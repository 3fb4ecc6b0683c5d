/* csv.h — rows as RFC 4180 text, and a file of them that is there whole or not at all. */
#ifndef RUNNERS_CSV_H
#define RUNNERS_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runners/common/text.h"

struct run;

struct csv_style {
	char delimiter;
	const char *null_text; /* what SQL's NULL is */
};

/* One line, with its end. */
void csv_line(const struct csv_style *style, size_t n, const char *const *values,
              const size_t *lens, struct text *out);
void csv_names(const struct csv_style *style, size_t n, const char *const *names, struct text *out);

/* Zeroed is closed. */
struct csv_file {
	int fd;
	char *path, *part; /* written as `part`, renamed when it is whole */
	struct text buffer;
	uint64_t bytes, bytes_max;
	bool is_open;
	char why[200];
};

/* -1: csv_file.why. The part's name has the job's token: two attempts never share one. */
int csv_open(struct csv_file *f, const struct run *r, const char *path, uint64_t bytes_max);
/* The buffer's text belongs in the file; call after each line. */
int csv_flush(struct csv_file *f, bool is_end);
int csv_keep(struct csv_file *f);  /* whole: on disk, and renamed */
void csv_done(struct csv_file *f); /* what was not kept is removed */

#endif
