/* select.h — which tasks and instances a person means (docs/protocol-json.md, "Selection").
 *
 * Only reads a catalog. Nothing is listed: a feed gives one instance after the other and
 * can go on from a place in the middle.
 */
#ifndef BASESERVER_SELECT_H
#define BASESERVER_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"
#include "sched/when.h"

struct cat_task;
struct catalog;
struct feed;
struct jval;
struct refusal;

enum { SELECT_LIST_MAX = 10000 };

struct selection {
	uint32_t *tasks; /* ascending, each once */
	size_t n_tasks;
	bool has_from, has_to, has_dates, has_states, has_instances;
	struct when from, to;
	struct when_span *dates;
	size_t n_dates;
	uint32_t states; /* bit per enum state */
	/* Of a range only dates whose local day is one of these; both 0: all. */
	uint32_t weekdays;   /* bit 0 Monday */
	uint32_t month_days; /* bit 1..31; bit 0: the last */
	struct inst_key *instances;
	size_t n_instances;
};

/* `v` NULL: an empty selection; `now`, UTC seconds: the moment of `yesterday`. 0, E_INVALID, or
 * E_NOT_FOUND a name that is unknown. */
int selection_parse(const struct catalog *c, const struct jval *v, int64_t now,
                    struct selection *ret, struct refusal *f);
void selection_done(struct selection *s);
bool selection_has_dates(const struct selection *s); /* from, to or dates */
/* One instance: {"id": ...} or {"task", "run_date", "part"}. */
int selection_instance(const struct catalog *c, const struct jval *v, int64_t now, const char *at,
                       struct inst_key *ret, struct refusal *f);
/* TASKID.RUNDATE[.PART] */
bool selection_id(const char *text, struct inst_key *ret);

/* The decimal number at *text, which moves behind it. */
bool number_next(const char **text, int64_t *ret);

/* What a feed looks at, besides exact dates and instances, which always count. */
enum feed_source {
	FEED_PLAN = 1,
	FEED_LIVE = 2,
	FEED_DONE = 4,
	FEED_BARE = 8, /* with FEED_PLAN: calendars, starts and ends count for nothing */
};
enum feed_order {
	FEED_BY_TASK,      /* parents wholly before their children */
	FEED_BY_DATE,      /* by the end of the period, then parents first */
	FEED_BY_DATE_DESC, /* the same, last first */
};

/* A date is as long as what was written, and names every planned date of a task in it, at most so
 * many. */
enum { SELECT_DATE_MAX = 10000 };
/* Is there an instance of this date, or is one planned? */
bool select_date_counts(const struct catalog *c, const struct cat_task *t, int64_t date);

struct item {
	struct inst_key key;
	const struct cat_task *task; /* NULL: unknown (of `instances`) */
	bool exact;                  /* named by date or key */
};

/* Closed spans of one task's dates: planned ones, and lo == hi. */
struct pick_range {
	int64_t lo, hi;
};
struct pick {
	uint32_t task;
	struct pick_range *ranges; /* ascending */
	size_t n, cap;
	bool downstream; /* not chosen itself */
};

/* Both borrow what they are given until feed_close(). */
struct feed *feed_open(const struct catalog *c, const struct selection *s, unsigned sources,
                       enum feed_order order);
struct feed *feed_open_picks(const struct catalog *c, const struct pick *picks, size_t n);
/* May it be asked now? Does what is still to be done for that, about as many rows, dates and tasks
 * as `budget` has, and takes them off. What changes between two calls may be in it or not. */
bool feed_ready(struct feed *f, size_t *budget);
void feed_close(struct feed *f);                  /* NULL is fine */
bool feed_next(struct feed *f, struct item *ret); /* once it is ready, as feed_skip() */
/* As if everything up to and with this one had been given. `index`: of `instances`. */
void feed_skip(struct feed *f, struct inst_key last, size_t index);

#endif
