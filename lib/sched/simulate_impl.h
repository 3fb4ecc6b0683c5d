/* simulate_impl.h — inside of a simulation. For the simulate*.c files only. */
#ifndef SCHED_SIMULATE_IMPL_H
#define SCHED_SIMULATE_IMPL_H

#include "sched/simulate.h"
#include "sched/task.h"
#include "util/map.h"

/* Where instances of one workflow with a cap, or of one task, wait for their turn. */
struct sim_group {
	uint32_t *tasks; /* indexes */
	size_t n;
	int32_t cap, running; /* 0: no cap */
	uint32_t last_end;    /* the row that freed a slot last */
	bool is_dirty;        /* something changed: look who may start */
};

struct sim_task {
	const struct task *def;
	uint32_t first, end; /* rows */
	uint32_t group;
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
		uint32_t *rows, n, room;
		bool is_left_out;
	} * runs;
	size_t at, n, room; /* at: the first that has rows */
};

struct sim {
	const struct simulate_input *in;
	struct sim_task *tasks;
	struct sim_group *groups;
	size_t n_groups;
	uint32_t *dirty; /* groups */
	size_t n_dirty;
	struct sim_row *rows;
	uint32_t n_rows;
	struct sim_slot *slots;
	uint32_t n_slots;
	struct sim_edge *edges;
	uint32_t n_edges, edges_room;
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

enum { EV_KNOWN, EV_SKIP, EV_END, EV_PASS, EV_DUE };

/* Index of a task id in the input, or -1. */
int64_t sim_task_of(const struct sim *s, uint32_t id);
/* Dates of `plan` in the spans, at most `max`; n of all, or E_LIMIT. */
int sim_dates(const struct plan *plan, const struct link_span *spans, int n, size_t max,
              int64_t **dates, size_t *room, size_t *ret_n);
int sim_load(struct sim *s, struct err *err);
void sim_done(struct sim *s);
void sim_play(struct sim *s);

/* simulate_turn.c */
enum sim_entry { SIM_ENTERS, SIM_IS_LEFT_OUT, SIM_REPLACES };
void sim_lines_make(struct sim *s);
void sim_lines_done(struct sim *s);
/* The row is unfinished from now on; or, where it comes due, is left out. */
enum sim_entry sim_line_enter(struct sim *s, uint32_t row, bool is_due);
/* A row that it replaces, which is to end now; UINT32_MAX: no more. */
uint32_t sim_line_older(const struct sim *s, uint32_t row);
bool sim_has_turn(const struct sim *s, uint32_t row);
/* It is over: those whose turn that makes it are looked at. */
void sim_line_leave(struct sim *s, uint32_t row, void (*look)(struct sim *s, uint32_t row));

#endif
