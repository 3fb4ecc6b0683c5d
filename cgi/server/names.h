/* names.h — names of tasks and brokers by id, for what shows ids to people.
 *
 * Filled by the threads that read the store, read by them and by net. A lock, held for a copy.
 */
#ifndef CGI_NAMES_H
#define CGI_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/label.h"

struct names;
struct store_task;

enum names_kind { NAMES_TASK, NAMES_BROKER, NAMES_KINDS };

#define NAMES_MAX 400 /* bytes of one, with the NUL */

struct names *names_new(void);
void names_free(struct names *n);
void names_set(struct names *n, enum names_kind kind, uint32_t id, const char *name);
/* A task, and what makes labels of its run_dates. */
void names_set_task(struct names *n, const struct store_task *t);
/* False: not known; the miss is remembered. */
bool names_get(struct names *n, enum names_kind kind, uint32_t id, char ret[NAMES_MAX]);
/* The label of a run_date (sched/label.h), by what the task is from `version` on; an older one that
 * is known is taken and counts as a miss. Of a task that is not known: the instant in UTC. */
void names_label(struct names *n, uint32_t task, uint32_t version, int64_t run_date,
                 char ret[LABEL_TEXT]);
/* Of what is not known UTC, in which it is labelled too. */
const struct tz *names_zone(struct names *n, uint32_t task);
uint32_t names_changes(struct names *n); /* how often something here became another */
/* Was anything missed that no load has looked for? */
/* Has a task that is known this project, `n_name` bytes long? */
bool names_has_project(struct names *n, const char *name, size_t n_name);
bool names_missed(struct names *n);
/* How many misses there were; all names were read after there were so many. */
uint64_t names_misses(struct names *n);
void names_loaded(struct names *n, uint64_t misses);

#endif
