/* resolver_impl.h — the resolver's inside, shared by resolver*.c only. */
#ifndef BASESERVER_RESOLVER_IMPL_H
#define BASESERVER_RESOLVER_IMPL_H

#include <stdbool.h>

#include "baseserver/ledger/outbox.h"
#include "baseserver/plan/meter.h"
#include "baseserver/plan/resolver.h"
#include "rt/stream.h"
#include "sched/link.h"
#include "sched/outcome.h"
#include "sched/workflow.h"
#include "util/heap.h"
#include "util/index.h"
#include "util/map.h"
#include "util/slab.h"

enum window_state { WS_OPEN, WS_MET, WS_DEAD };

enum { LINK_BITS = 17, LINK_MASK = (1 << LINK_BITS) - 1 }; /* links of one task, and a turn */
_Static_assert(WORKFLOW_NEEDS_MAX + 1 < 1 << LINK_BITS, "a link's number fits");

/* What a link of `child` waits for: planned run_dates of its parent in [lo, hi). Shared
 * by every instance that waits for the same. */
struct window {
	uint32_t child;            /* task id */
	uint32_t link : LINK_BITS; /* index; == n_links: the turn of an ordered task */
	uint32_t state : 2;        /* enum window_state */
	bool exact : 1; /* one run_date, lo: found by hash; else in the link's sorted list */
	uint32_t width; /* s: hi = lo + width */
	int64_t lo;
	uint32_t total, met, dead; /* planned dates */
	uint32_t edges;            /* first; SLAB_NONE */
	uint32_t scope;            /* whose dates count beside the plan, or alone; 0: the plan's */
} __attribute__((packed, aligned(4)));

_Static_assert(ST_COUNT <= 16, "a waiting's state fits");

enum { EDGE_END = 0x7fffffff };

/* One waiting instance on one window. */
struct edge {
	uint32_t waiting, window;
	uint32_t prev, next;      /* of the window */
	uint32_t of_waiting : 31; /* next of the instance; EDGE_END */
	uint32_t passed : 1;      /* pass_after has come: counts as met */
};

/* An instance that is Ready, or satisfied and not started yet. */
struct waiting {
	struct inst_key key;
	uint32_t slot, revision;
	int64_t eff_due_us;
	uint32_t edges;      /* first; EDGE_END */
	uint32_t prev, next; /* of the task */
	uint32_t n_links : LINK_BITS, met : LINK_BITS, dead : LINK_BITS;
	uint32_t state : 4; /* ST_READY or ST_DEPEND */
	bool unread : 1;    /* some links are not attached yet: it waits (resolver_slice.c) */
	bool asked : 1;     /* a proposal is under way */
	bool listed : 1;    /* in the to-do list */
	bool due : 1;
	bool no_links : 1;   /* its command asked that they be ignored */
	bool member : 1;     /* of a scope: scope_of */
	bool held : 1;       /* the ledger refused it: an earlier date is unfinished (overlap) */
	bool waits_turn : 1; /* of an ordered task: the date before is not over; outside the join */
} __attribute__((packed, aligned(4))); /* 52 bytes, of which there may be millions */

struct timer {
	struct heap_node node; /* wall us: due, or the next pass_after */
	uint32_t waiting;
};

/* A (child, link) that looks at a task. */
struct dependent {
	uint32_t child, link;
	uint32_t *spans; /* windows that are not exact, by lo; hi rises with lo */
	size_t n_spans, spans_cap;
};

struct rtask {
	const struct task *def; /* counted; NULL: retired or unknown */
	bool in_force;          /* not a draft: its links hold children */
	bool aside;             /* in quarantine: what waits of it is not looked at */
	struct outcomes outcomes;
	struct dependent *dependents;
	size_t n_dependents;
	uint32_t waitings; /* first; SLAB_NONE */
	int64_t *rows;     /* unfinished dates that the plan does not have, ascending */
	size_t n_rows, rows_cap;
	bool skipped;   /* some date was skipped for a dead join, ever */
	uint32_t stamp; /* of the last walk over children that saw it */
};

/* A command whose members look at each other. Numbers are places + 1. */
struct scope {
	uint64_t command; /* 0: free */
	struct pick *picks;
	size_t n, users;         /* users: waiting members */
	bool inside, over, told; /* told: the command has said which dates are its members */
};

/* Unread instances of a project: from `next` on; some may be gone, or read meanwhile. */
struct lane {
	uint64_t project;
	size_t spent; /* the lane that has spent least is next */
	uint32_t *items;
	size_t next, n, cap;
};

struct resolver {
	struct actor *me;
	struct ledger *ledger;
	struct meter *meter; /* NULL: nothing is booked */
	struct stream_reader *in;
	struct outbox out;

	struct rtask **tasks; /* by id */
	size_t tasks_cap;
	struct slab waitings, windows, edges, timers;
	uint32_t *by_slot; /* waiting of a ledger's slot, SLAB_NONE */
	size_t by_slot_cap;
	struct map timer_of;     /* waiting -> timer */
	struct index exact;      /* windows by (child, link, lo) */
	struct map dependent_at; /* resolver__link_key() -> place among the parent's dependents */
	uint32_t stamp;
	struct heap times;
	struct scope *scopes;
	size_t n_scopes;
	bool all_told;        /* commands of before a restart have said what they mean */
	struct map scope_of;  /* waiting -> scope, of members */
	uint64_t turn_number; /* of the last TK_TURN */
	struct map held;      /* what overlap judges together, and its run -> waiting */

	uint32_t *todo; /* waitings whose verdict may differ from their state */
	size_t n_todo, todo_cap;
	struct inst_key *reopens; /* skipped children to reopen */
	size_t n_reopens, reopens_cap;
	/* resolver_slice.c: what was done since the piece began, how much a piece may be, in dates
	 * that are looked at; what is left for later ones. */
	size_t spent, walked, piece; /* walked: dependents and windows of outcomes that came */
	int64_t piece_us;            /* mono: when the next piece of what is left begins */
	bool behind;                 /* the stream was not read to its end */
	struct lane *lanes;          /* of projects that have unread ones */
	size_t n_lanes;
	struct inst_key *doubts; /* skipped children: is their join dead still? */
	size_t next_doubt, n_doubts, doubts_cap;
	int64_t reopens_from_us; /* mono; the store could not be read: not before */
	bool need_mark;          /* something was taken back: tell the sorter when all is in */
	/* Restored: the first `urgent` of todo were satisfied once; when they have been looked
	 * at, a mark of start_mark says so: not before commands have said what they mean, where
	 * some of those are members. */
	size_t urgent;
	uint64_t start_mark;
	bool awaits_scopes;
};

/* resolver_table.c */
struct rtask *resolver__task(const struct resolver *r, uint32_t id); /* NULL: none */
struct rtask *resolver__task_place(struct resolver *r, uint32_t id); /* made when it is new */
/* The link as seen: a task's own, or the turn of an ordered one. False: not in force. */
bool resolver__link(const struct resolver *r, uint32_t child, uint32_t index,
                    struct task_link *ret);
/* Links see the plan from its begin on: does it have t there? */
bool resolver__planned(const struct plan *plan, int64_t t);
/* It works for the workflow of that task from now on. */
void resolver__work_for(const struct resolver *r, uint32_t task, enum crumb_kind kind);
/* Onto the to-do list: its verdict may differ from its state. */
void resolver__want(struct resolver *r, uint32_t waiting);

/* Where the child's link stands among its parent's dependents. */
static inline uint64_t resolver__link_key(uint32_t child, uint32_t link)
{
	return (uint64_t)child << LINK_BITS | link;
}
struct dependent *resolver__dependent(const struct resolver *r, uint32_t parent, uint32_t child,
                                      uint32_t link);

/* resolver_edge.c */
void resolver__edge_add(struct resolver *r, uint32_t waiting, uint32_t window);
void resolver__window_changed(struct resolver *r, uint32_t window, enum window_state was);
/* pass_after: past its time an open link counts as met. */
void resolver__look_at_passes(struct resolver *r, uint32_t waiting, int64_t now);
void resolver__timer_set(struct resolver *r, uint32_t waiting, int64_t wall_us);
void resolver__timer_clear(struct resolver *r, uint32_t waiting);

/* resolver_window.c */
/* The window of `child`'s link for an instance at t: found or made. SLAB_NONE: nothing is
 * planned in it, or the link is not in force: satisfied. */
uint32_t resolver__window(struct resolver *r, uint32_t child, uint32_t link, int64_t t,
                          uint32_t scope);
uint64_t resolver__window_hash(const void *resolver, uint32_t window);
void resolver__window_drop(struct resolver *r, uint32_t window); /* no edges are left */
/* The outcome of parent's run_date p went from `was` to `is` (NULL: none). */
void resolver__outcome(struct resolver *r, uint32_t parent, int64_t p,
                       const struct outcome_range *was, const struct outcome_range *is);

/* resolver_scope.c */
uint32_t resolver__scope_place(struct resolver *r, uint64_t command); /* made when it is new */
/* What its command says, while no member has a window: takes the picks. */
void resolver__scope_learn(struct resolver *r, uint32_t number, struct scope_news *n);
void resolver__scope_over(struct resolver *r, uint32_t number); /* no more members come */
void resolver__scope_join(struct resolver *r, uint32_t waiting, uint64_t command);
void resolver__scope_leave(struct resolver *r, uint32_t waiting);
uint32_t resolver__scope_of(const struct resolver *r, uint32_t waiting); /* 0: none */
void resolver__scopes_done(struct resolver *r);
/* The next date of a task after t, and whether t is one, as members of the scope see it. */
int64_t resolver__next(const struct resolver *r, uint32_t scope, uint32_t task, int64_t t);
bool resolver__has(const struct resolver *r, uint32_t scope, uint32_t task, int64_t t);
bool resolver__extends(const struct resolver *r, uint32_t scope); /* it knows dates of its own */
int resolver__prev_span(const struct resolver *r, uint32_t scope, const struct task_link *l,
                        int64_t t, struct link_span *ret);

/* Not told yet, after a restart: its members are held. */
bool resolver__scope_held(const struct resolver *r, uint32_t waiting);
/* Its command says nothing: links look at what has a row (resolver_rows.c). */
bool resolver__by_rows(const struct resolver *r, uint32_t scope);

/* resolver_rows.c: dates that the plan does not have and that have a row. */
/* It was made, or is over. True: such a date is new. */
bool resolver__row(struct resolver *r, const struct instance *inst);
/* The first date after t of these before the begin; PLAN_NEVER. */
int64_t resolver__next_row(const struct resolver *r, uint32_t task, int64_t t);
bool resolver__row_beside(const struct resolver *r, uint32_t task, int64_t t); /* off the plan */

/* resolver_turn.c */
void resolver__turn_held(struct resolver *r, uint32_t waiting); /* refused: not asked again ... */
void resolver__turn_free(struct resolver *r, uint32_t waiting); /* ... until then, or it changes */
void resolver__turn_came(struct resolver *r, const struct transition *tr);

/* resolver_slice.c */
void resolver__attach(struct resolver *r, uint32_t waiting); /* to windows, times, the to-do list */
bool resolver__enough(const struct resolver *r);             /* the piece at hand is over */
void resolver__read_unread(struct resolver *r);              /* a piece of it */
bool resolver__is_behind(const struct resolver *r);
void resolver__slices_done(struct resolver *r);

/* resolver_wait.c */
void resolver__detach(struct resolver *r, uint32_t waiting); /* from its windows */
void resolver__each_waiting(struct resolver *r, uint32_t task,
                            void (*each)(struct resolver *, uint32_t));
/* Its members let go of their windows, or find them again. */
void resolver__rescope(struct resolver *r, uint32_t scope, bool leave);
uint32_t resolver__of_slot(const struct resolver *r, uint32_t slot); /* SLAB_NONE: none waits */
bool resolver__waits(const struct instance *i);
void resolver__track(struct resolver *r, const struct instance *i, uint32_t slot);
void resolver__follow(struct resolver *r, const struct transition *tr);

/* resolver_reopen.c: the outcome of parent's run_date p is not what it was: children that were
 * skipped for it are wanted again, unless their join is dead all the same. */
void resolver__reopen(struct resolver *r, uint32_t parent, int64_t p);
void resolver__look_at_doubts(struct resolver *r); /* a piece of what was left of these */
/* Given back its skip by a cancel: is that still right? */
void resolver__look_at_skip(struct resolver *r, uint32_t child, int64_t t);
void resolver__load_reopens(struct resolver *r);    /* for parents forced before a restart */
bool resolver__propose_reopens(struct resolver *r); /* false: no credit, try again later */
/* The store could not tell the ledger whether there is such a row. */
void resolver__reopen_again(struct resolver *r, struct inst_key key, int64_t from_us);

/* For a dead join: to be reopened with the parent. */
static inline bool resolver_was_skipped(uint8_t state, uint8_t reason)
{
	return state == ST_SKIPPED && (reason == RE_LINK || reason == RE_PIPELINE);
}

/* A window of more than 136 years is cut there. */
static inline int64_t window_hi(const struct window *w)
{
	return w->lo + w->width;
}

static inline struct window *window_at(const struct resolver *r, uint32_t i)
{
	return slab_at(&r->windows, i);
}
static inline struct edge *edge_at(const struct resolver *r, uint32_t i)
{
	return slab_at(&r->edges, i);
}
static inline struct waiting *waiting_at(const struct resolver *r, uint32_t i)
{
	return slab_at(&r->waitings, i);
}

#endif
