/* simulate_impl.h — inside of a simulation. For the simulate*.c files only. */
#ifndef SCHED_SIMULATE_IMPL_H
#define SCHED_SIMULATE_IMPL_H

#include "sched/simulate.h"
#include "sched/task.h"
#include "util/heap.h"
#include "util/map.h"

enum { SIM_PRIORITY_MAX = 10 };

/* Tasks that wait for a start, by priority as given: age never changes the order of those with the
 * same one. */
struct sim_shelf {
	struct heap tasks[SIM_PRIORITY_MAX + 1];
	uint32_t some; /* bit n: tasks[n] has some */
};

/* Tasks that take the same number of slots of a limit: one is as good as the other for it. */
struct sim_stand {
	int32_t slots;
	struct sim_shelf waits;
};

/* A pool, a quota, or the seats of a class. */
struct sim_limit {
	int32_t size, taken;                /* size below 0: no limit */
	const struct simulate_class *klass; /* NULL: a pool or a quota */
	struct sim_stand **stands;
	size_t n_stands;
	uint32_t last_end; /* the row that freed a slot last, from 1 */
	bool is_dirty;     /* something was freed: look who may start */
};

struct sim_seat {
	int32_t slots, taken;
	uint32_t desk;    /* the first seat of its broker ... */
	int32_t running;  /* ... which counts the jobs of all */
	uint32_t *limits; /* classes that have it */
	size_t n_limits;
};

struct sim_task {
	struct heap_node node; /* in its shelf; key: due of its first ready row */
	const struct task *def;
	uint32_t first, end; /* rows */
	struct simulate_take *takes;
	struct sim_stand **stands; /* one per take */
	size_t n_takes;
	struct sim_limit *klass;
	struct sim_shelf *shelf; /* where it waits; NULL: nowhere */
	uint8_t at_priority;
	uint32_t held_by;  /* the limit that had no room for it, from 1 */
	uint32_t last_end; /* the last of its rows that ended, from 1 */
	bool is_closed;
	uint32_t line; /* of `overlap`; UINT32_MAX: none */
	int32_t running;
	uint32_t *ready; /* rows that wait for a slot: a heap */
	size_t n_ready, room;
};

enum sim_phase { SIM_WAITS, SIM_READY, SIM_RUNS, SIM_SKIPS, SIM_DONE };

struct sim_row {
	struct simulate_row row;
	enum sim_phase phase;
	bool is_due, is_free; /* free: its links do not matter */
	bool in_line;
	int64_t ready_us;
	uint32_t cause; /* row, or UINT32_MAX */
	uint32_t slot;  /* of its first link */
	uint32_t met, dead;
	uint32_t seat; /* where it runs, from 1 */
};

/* A link of one row. */
struct sim_slot {
	uint32_t want, can; /* parents that must meet it; those that still can or did */
	uint32_t met;
	bool is_settled;
};

struct sim_edge {
	uint32_t parent, child, slot; /* rows, slot */
};

/* What `overlap` judges together, a task or a workflow, and its rows that are due and unfinished:
 * a list of runs, the oldest first. */
struct sim_line {
	struct sim_run {
		int64_t first; /* task_run() of its rows */
		uint32_t *rows, n;
		size_t room;
		bool is_left_out;
	} * runs;
	size_t at, n, room; /* at: the first that has rows */
};

struct sim {
	const struct simulate_input *in;
	struct sim_task *tasks;
	struct sim_limit *limits; /* also the classes, after the others */
	size_t n_limits;
	struct sim_seat *seats;
	size_t n_seats;
	struct sim_limit **dirty;
	size_t n_dirty;
	struct sim_shelf marked; /* tasks that may start something */
	struct sim_row *rows;
	uint32_t n_rows;
	struct sim_slot *slots;
	uint32_t n_slots;
	struct sim_edge *edges;
	uint32_t n_edges;
	size_t edges_room;
	uint32_t *edge_at, *edge_by; /* edges by parent row */
	uint32_t *ids;               /* pairs (id, index), sorted by id */
	struct sim_line *lines;
	size_t n_lines;
	struct sim_event *heap;
	size_t n_events, events_room;
	uint64_t counter;
	int64_t now_us;
	uint32_t actor; /* the row that this moment's event is about, where others follow from it */
};

struct sim_event {
	int64_t at_us;
	uint32_t kind, row, link;
	uint64_t number;
	int64_t date; /* of the row */
};

enum { EV_KNOWN, EV_SKIP, EV_END, EV_OTHER, EV_PASS, EV_DUE };

/* Dates of `plan` in the spans, at most `max`; n of all, or E_LIMIT. */
void sim__play(struct sim *s);

/* simulate_gate.c: what a start takes, and whose turn it is. */
void sim__gates_make(struct sim *s);
void sim__gates_done(struct sim *s);
void sim__ready(struct sim *s, uint32_t row);      /* it waits for nothing else */
void sim__mark(struct sim *s, struct sim_task *t); /* something changed for it */
void sim__hold(struct sim *s, uint32_t row);       /* it runs already */
void sim__free_slots(struct sim *s, uint32_t row); /* it ran */
void sim__free_other(struct sim *s, uint32_t other);
/* The row that starts now and has its slots, or UINT32_MAX: no more. */
uint32_t sim__next(struct sim *s);

/* simulate_turn.c */
enum sim_entry { SIM_ENTERS, SIM_IS_LEFT_OUT, SIM_REPLACES };
void sim__lines_make(struct sim *s);
void sim__lines_done(struct sim *s);
/* The row is unfinished from now on; or, where it comes due, is left out. */
enum sim_entry sim__line_enter(struct sim *s, uint32_t row, bool is_due);
/* A row that it replaces, which is to end now; UINT32_MAX: no more. */
uint32_t sim__line_older(const struct sim *s, uint32_t row);
bool sim__has_turn(const struct sim *s, uint32_t row);
/* It is over: those whose turn that makes it are looked at. */
void sim__line_leave(struct sim *s, uint32_t row, void (*look)(struct sim *s, uint32_t row));

#endif
