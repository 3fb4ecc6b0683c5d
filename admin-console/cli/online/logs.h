/* logs.h — what the files of `sirdar logs` share. */
#ifndef CLI_LOGS_H
#define CLI_LOGS_H

#include <stdbool.h>
#include <stddef.h>

struct asked;
struct buf;
struct online;

/* --- logs_run.c */

/* Is it the word of a state that an instance stays in? */
bool logs_is_over(const char *state);

/* --- logs_grep.c */

/* Which stream is meant: -o, -e, --merged; without them both on a terminal, and for a program what
 * it always got, standard output. */
const char *logs_stream(const struct asked *q);

/* --grep over what the words name; `id` NULL: a run, a task's attempts, a project. */
int logs_search(struct online *o, const struct asked *q, const char *id);
/* "load[3] | " in front of a line of text, which is escaped no further. */
void logs_prefix(struct buf *out, const char *name, size_t width);
/* A task's own name, and which part. Owned. */
char *logs_name(const char *task, int part);

/* --- logs_run.c: --run, all of it in the order of time, each line with its task. */
int logs_run(struct online *o, const struct asked *q);

#endif
