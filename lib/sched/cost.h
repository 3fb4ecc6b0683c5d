/* cost.h — what a document costs the scheduler, told from its text: no date is walked over.
 *
 * A link costs the dates of its parent that one date of its task looks at; a task costs that with
 * each of its dates. Figures of crons and calendars are close, not exact. Pure.
 */
#ifndef SCHED_COST_H
#define SCHED_COST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct task;

/* As the server's settings have them, unless they say otherwise (schema/tbl/param_baseserver.def).
 * 0: any. */
struct cost_limits {
	int64_t window;  /* window_dates_max: dates that one link looks at */
	int64_t project; /* project_dates_max: of all links of a project, for one date of each */
	int64_t year;    /* document_year_max: of all links of a document, in a year */
	int64_t parts;   /* document_parts_max: parts of one date of each of its tasks */
};
extern const struct cost_limits cost_limits_default;

struct cost {
	int64_t tasks, links, dates, year, parts;
	int64_t widest; /* dates of the link that looks at the most */
	const struct task *widest_of;
	size_t widest_link;
};

/* Add what the task costs from then on. `parent`: the task of an id, NULL: nobody knows it. */
void cost_add(struct cost *c, const struct task *t, int64_t from,
              const struct task *(*parent)(void *ctx, uint32_t id), void *ctx);
void cost_join(struct cost *c, const struct cost *other);

/* Is a document of this cost within the limits? Else why not and what to do, in words.
 * `name`: of the document. */
bool cost_within(const struct cost *c, const struct cost_limits *limits, const char *name,
                 const struct task *(*parent)(void *ctx, uint32_t id), void *ctx,
                 struct buf *ret_why);
void cost_project_why(const char *project, int64_t dates, int64_t max, struct buf *ret_why);
/* "3 tasks, 2 needs that look at 2,880 dates, ..." */
void cost_print(const struct cost *c, struct buf *out);

#endif
