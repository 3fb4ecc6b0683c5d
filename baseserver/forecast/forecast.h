/* forecast.h — when what is unfinished will start and end, and which promises that keeps.
 *
 * A question takes a copy of what matters (the asked tasks and all they depend on, their unfinished
 * instances, recent outcomes) on the commander's thread, the starts of what runs on the ledger's,
 * what it shares with others (pools, quotas, loaders) on the sorter's and the registrar's, and is
 * played on the forecaster's: nothing of that is in the scheduler's way.
 */
#ifndef BASESERVER_FORECAST_H
#define BASESERVER_FORECAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baseserver/model/why.h"
#include "sched/instance.h"
#include "sched/outcome.h"
#include "sched/simulate.h"
#include "sched/when.h"
#include "util/map.h"

struct buf;
struct catalog;
struct err;
struct ledger;
struct task;

enum { FORECAST_DAYS_MAX = 31, FORECAST_ROWS_MAX = 2000, FORECAST_TASKS_MAX = 20000 };

struct forecast_task {
	const struct task *def; /* counted */
	bool is_asked, is_online, is_frozen;
	int64_t through; /* all up to here has come due */
	struct outcome_range *over;
	size_t n_over;
	/* from measured durations */
	int64_t usual_us, slow_us; /* the median, and what nine of ten stay within */
	uint64_t runs;             /* that were measured */
	struct simulate_asks asks; /* of the sorter; indexes of limits and classes below */
};

struct forecast_live {
	struct inst_key key;
	uint8_t state, reason; /* ST_NONE: its row is gone */
	uint16_t flags;
	int64_t at_us;         /* running: since; Failed: the retry */
	uint32_t broker, seat; /* running: where; seat: from 1, 0: nobody knows */
};

/* A pool or quota, a loader on a broker, and the loaders that serve a kind of tasks: what the
 * sorter has, from a copy. */
struct forecast_limit {
	char *name; /* see pools.h */
	int32_t size, taken;
};
struct forecast_seat {
	uint32_t broker;
	char *type;
	int32_t slots, running; /* slots: as things are; 0: it takes nothing */
	bool accepts;           /* false: its broker takes no work now */
	bool is_asked;          /* it takes work, but the last credit it gave is used up */
	char *name, **groups;   /* of the broker; groups NULL-ended */
	struct rank_load load;
};
struct forecast_class {
	struct simulate_class seats;
	uint32_t of_task;    /* one of its tasks: an index */
	struct why_line why; /* why none of them takes anything; gate 0: some do */
};
/* Runs and is not played, as it is of a task that is not concerned. */
struct forecast_other {
	struct simulate_asks asks;
	int64_t since_us, lasts_us; /* lasts: the median; 0: not known */
};

enum promise_state { PROMISE_SAFE, PROMISE_AT_RISK, PROMISE_BREACHED };

/* One instance of a task that is promised. */
struct promise {
	struct inst_key key; /* task: id */
	enum promise_state state;
	int64_t committed, margin_us; /* s; by when */
	int64_t expected_us,
		expected_slow_us; /* its end; INT64_MAX: never, as far as can be seen */
	struct inst_key cause;    /* who is to blame; itself where nobody else is */
	bool is_over, is_live;
};

struct forecast {
	int64_t now_us;
	bool has_day, only_promised;
	struct when day;
	struct forecast_task *tasks;
	size_t n_tasks, tasks_cap;
	struct map by_id; /* of a task -> index */
	struct forecast_live *lives;
	size_t n_lives, lives_cap;
	struct map by_key; /* hash of (task, run_date) -> index of lives */
	bool has_gates;    /* the sorter told what follows */
	struct forecast_limit *limits;
	size_t n_limits;
	struct forecast_seat *seats;
	size_t n_seats;
	struct forecast_class *classes;
	size_t n_classes;
	struct forecast_other *others;
	size_t n_others, others_cap;
	/* results */
	struct simulate_row *rows, *slow; /* the same instances, in the same order */
	size_t n_rows;
	int64_t *day_lo, *day_hi; /* per task: due in [lo, hi) is shown */
	struct promise *promises;
	size_t n_promises, promises_cap;
};

void forecast_init(struct forecast *f, int64_t now_us);
void forecast_done(struct forecast *f);

/* forecast_collect.c. Thread: the commander's. */
void forecast_ask_task(struct forecast *f, const struct catalog *cat, uint32_t task);
void forecast_collect(struct forecast *f, const struct catalog *cat); /* after the last of them */
/* What they are by now, and since when. The catalog is behind the ledger: what ran there may be
 * over here. Thread: the ledger's. */
void forecast_fill_live(struct forecast *f, const struct ledger *l);

/* NULL: it is over, or has no row yet. */
/* One of its tasks, by the number of the definition. */
const struct forecast_task *forecast_task_of(const struct forecast *f, uint32_t id);
const struct forecast_live *forecast_live_of(const struct forecast *f, struct inst_key key);
/* It runs, and the play knows that. */
bool forecast_plays(const struct forecast *f, struct inst_key key);

/* forecast_gates.c: pure. What the play shares out; gates_done() after the play. */
void forecast_gates_make(struct forecast *f, struct simulate_gates *ret);
void forecast_gates_done(struct simulate_gates *g);
int64_t forecast_guess(int64_t now_us, int64_t since_us, int64_t lasts_us);
/* The first gate of 7 to 11 that never opens for a task, as things are; false: there is none. */
bool forecast_shut(const struct forecast *f, size_t task, struct why_line *ret);

/* forecast_play.c: pure.
 *
 *   errors  E_LIMIT too many instances */
int forecast_play(struct forecast *f, struct err *err);
/* Why an instance of the result cannot start, by a gate of its own or of what it waits for. */
bool forecast_cannot_start(const struct forecast *f, struct inst_key key, struct why_line *ret);
void forecast_print(const struct forecast *f, struct buf *out); /* JSON */

#endif
