/* apart.h — attempts that touch files, in a process of their project's user (sirdar/apart.h). */
#ifndef RUNNERS_APART_H
#define RUNNERS_APART_H

#include <stdbool.h>

struct run;
struct runner_host;

/* The open() of a plugin without state of its own that touches files. */
int apart_open(const struct runner_host *lent, void **ret_self);
/* Are files of jobs their project's user's here? Then no job's own process is that of another. */
bool apart_is_wanted(const struct run *r);
/* This attempt touches files, and has asked for its secrets. 0: the caller does the work; else what
 * execute() answers. */
int apart_begin(const struct run *r);

#endif
