/* warm.h — interpreters that are started once and fork themselves for each job (zygote.py). */
#ifndef PYTHON_WARM_H
#define PYTHON_WARM_H

#include <stdbool.h>

struct warm;

/* 0, or -1: no memory, or no sirdar-python-job beside the broker's programs. `is_bound`: their jobs
 * are other users, and have the filters of such from their interpreter. `may_be` false:
 * there is none. */
int warm_open(bool is_bound, bool may_be, struct warm **ret_warm);
void warm_close(struct warm *w); /* their jobs go on */

const char *warm_program(const struct warm *w); /* sirdar-python-job */
/* The name of the socket where that interpreter's is found, started if need be; "-" if there is
 * none and will be none. Borrowed until warm_close(). Thread: any. */
const char *warm_name(struct warm *w, const char *interpreter);

#endif
