/* rules.h — who is to be told of what: the `alerts:` of the workflow a task belongs to, in the
 * version that is in force now. Reads the store; one thread. */
#ifndef NOTIFIER_RULES_H
#define NOTIFIER_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/label.h"

struct err;
struct reader;
struct rules;

struct rules *rules_new(struct reader *reader); /* borrowed */
void rules_free(struct rules *r);               /* NULL is fine */

/* What is known of a task. Borrowed until the next call. */
struct task_rules {
	const char *task;    /* project/workflow/task */
	const char *title;   /* "" */
	const char *owner;   /* "" */
	const struct tz *tz; /* of its run_dates; NULL: not known */
	enum label_grain grain;
	int64_t late_after_us; /* 0: never late */
	int64_t long_after_us; /* 0: never too long */
	const struct workflow *workflow;
	const struct workflow_scope *project; /* or NULL */
};

/* errors  E_NOT_FOUND, and those of the store */
int rules_of(struct rules *r, uint32_t task, struct task_rules *ret, struct err *err);

/* What people call an instance of it. */
const char *rules_label(const struct task_rules *t, int64_t run_date, char ret[static LABEL_TEXT]);

/* Who is told when `word` happens, one after the other, by the workflow and then by its project:
 * NULL after the last. *ret_after_us: only when it is still so after that time. *ret_of_project
 * (NULL is fine): the project's rule says so. */
const char *rules_recipient(const struct task_rules *t, const char *word, size_t i,
                            int64_t *ret_after_us, bool *ret_of_project);
/* Why nobody is told of it now: a silence of its project; NULL: they are. at: wall, seconds. */
const char *rules_silence(const struct task_rules *t, const char *word, int64_t at);
/* Documents of projects as they are now. To be called before a batch: cheap when none changed. */
int rules_refresh(struct rules *r, struct err *err);

#endif
