/* diag.h — what is wrong in a file that a person wrote: where, what, and what to do.
 *
 * A list keeps what was found in order, up to DIAGS_MAX; more are only counted. It owns
 * the texts.
 */
#ifndef UTIL_DIAG_H
#define UTIL_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#define DIAGS_MAX 1000 /* kept */

struct pile;

/* Where something stands. `path` as people say it: tasks.rollup.needs[0]. */
struct place {
	const char *file;
	int line, column; /* from 1; 0: the file as a whole */
	const char *path; /* "" at the top */
};

struct diag {
	struct place at;
	const char *code;    /* a word that scripts can compare; static */
	const char *message; /* one sentence */
	const char *hint;    /* what would be right; "" when there is nothing to say */
	bool is_warning;
};

struct diags {
	struct diag *items;
	size_t n, cap, errors, dropped;
	struct pile *pile;
};

void diags_init(struct diags *d);
void diags_done(struct diags *d);

/* Add an error; what `at` points to and the texts are copied. `hint` may be NULL.
 * Returns E_INVALID, so that `return diag_error(...)` is one step. */
__attribute__((format(printf, 5, 6))) int diag_error(struct diags *d, struct place at,
                                                     const char *code, const char *hint,
                                                     const char *fmt, ...);
/* Something to look at that does not stop anything. */
__attribute__((format(printf, 5, 6))) void diag_warning(struct diags *d, struct place at,
                                                        const char *code, const char *hint,
                                                        const char *fmt, ...);

/* Which of the names tried is nearest to what was written. */
struct nearest {
	const char *wanted, *name;
	int distance;
};

struct nearest nearest_to(const char *wanted);
void nearest_try(struct nearest *n, const char *name); /* borrowed */
/* The best so far if it is close enough to be meant, else NULL. */
const char *nearest_name(const struct nearest *n);
enum { NEAREST_HINT_BYTES = 300 };
/* "did you mean 'NAME'?" in `hint`, or NULL where none is near. */
const char *nearest_hint(const struct nearest *n, char hint[NEAREST_HINT_BYTES]);

#endif
