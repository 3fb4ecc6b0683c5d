/* sorter_impl.h — the sorter's inside, shared by sorter*.c only.
 *
 * An instance that waits stands in a lane: those of one task with one priority, by effective
 * due. A lane whose gates are open stands in its class (with its like, by what loaders it
 * can go to); one whose pool is full stands at that pool, in a stand with its like. So no lane
 * is looked at before something that it waits for has changed.
 */
#ifndef BASESERVER_SORTER_IMPL_H
#define BASESERVER_SORTER_IMPL_H

#include "baseserver/ledger/outbox.h"
#include "baseserver/model/docs.h"
#include "baseserver/sort/sorter.h"
#include "rt/stream.h"
#include "sched/rank.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/map.h"
#include "util/slab.h"
#include "util/timing.h"

struct klass;
struct lane;
struct registrar;
struct starts;
struct transition;
struct queue;

enum { PRIORITY_MAX = 10, LASTS_KEPT = 5, GATES = 13 };
#define AGE_STEP_US (600 * US_PER_S) /* effective priority = min(10, p + waited / 10 min) */

/* Who takes slots of a pool: each side has a share of it while both wait. */
enum side { SIDE_LIVE, SIDE_BACKFILL, SIDES };

/* One instance that could start, or runs. */
struct ready {
	union {
		struct heap_node node; /* waits: in its lane; key: effective due, us */
		struct {               /* runs: of its queue, oldest first */
			struct ready *next, *prev;
			int64_t since_us;
		} run;
	};
	struct inst_key key;
	struct lane *lane; /* NULL: it runs */
	struct queue *queue;
	int64_t eff_due_us;
	uint32_t slot, revision;
	uint32_t moves;    /* of its gates, when its grant was asked for */
	uint32_t since_ms; /* when it came to wait, after sorter.began_us; wraps */
	uint32_t avoid;    /* the broker where it did not start; 0: none */
	uint32_t place;    /* where it runs or is asked to: a machine, from 1; 0: nowhere */
	int64_t rests_us;  /* mono: until then others may have the tries; 0: it does not rest */
	bool asked;        /* a grant is under way ... */
	bool counted;      /* ... and has its slot */
	bool frozen, runs;
	bool no_user; /* `avoid` had none for its project */
	uint8_t side;
};

/* The ready instances of one task that are alike. */
struct lane {
	struct heap_node node; /* in its class or stand */
	int64_t key;           /* effective due of its first ... */
	uint32_t tie;          /* ... and what orders those due at once: its date */
	struct heap ready;
	struct queue *queue;
	struct lane *next;     /* of the queue */
	struct stand **stands; /* one per take of its queue; NULL: not looked up yet */
	struct stand *parked;  /* where it stands, NULL: nowhere */
	uint8_t priority, side;
	bool test;    /* of a draft: asks no gate of the task */
	bool spread;  /* part 0 of a task with parts: takes no slot, asks gates 1 and 2 */
	int32_t part; /* of a task with parts: this one, and the broker it is bound to */
	uint32_t broker;
	struct klass *klass; /* the queue's, or one of that broker alone; NULL: nobody */
	struct party *party; /* its project in that class; NULL: not looked up yet */
	bool open;           /* it stands in its class */
	uint8_t gate;        /* the closed one; 0: none */
	uint8_t held_by;     /* the one that was closed last ... */
	int64_t held_us;     /* ... until then, wall */
	struct {             /* what the counters say of it */
		uint8_t gate;
		struct limit *limit;
		struct klass *klass;
		struct party *party;
		size_t n;
	} counted;
};

/* A shelf: lanes of one class or stand, by project and by priority as given (age never changes the
 * order of those of one priority). The projects that have lanes there take turns. */
struct shelf {
	struct level *levels[PRIORITY_MAX + 1]; /* NULL: nothing stood there yet */
	uint32_t some;                          /* bit n: levels[n] has some */
	struct party **parties;
	size_t n_parties, n_busy; /* busy: with lanes */
	struct map party_of;      /* by project */
};

/* A project in a shelf. */
struct party {
	struct row *rows[PRIORITY_MAX + 1]; /* NULL: nothing stood there yet */
	uint32_t some;                      /* bit n: rows[n] has lanes */
	uint32_t at;                        /* in the shelf's list */
	uint32_t project;
	uint64_t turn;  /* which its last was; 0: it had none */
	int64_t holds;  /* of a class: slots, and grants under way */
	size_t waiting; /* of a class: instances of its open lanes */
};

/* A pool or quota, as the sorter sees it. */
struct limit {
	char *name;
	int32_t size; /* POOL_NONE: no limit */
	int32_t taken[SIDES];
	uint8_t gate;
	bool dirty;     /* in the list of those that may have room now */
	bool reserving; /* some lane does not fit for the share or the turn of another */
	struct stand **stands;
	size_t n_stands;
	size_t waiting; /* instances in lanes parked here */
	size_t parked;  /* those lanes */
	uint32_t moves;
	struct take *users; /* of queues that run something */
};

/* Lanes of one class and side that take the same number of slots: alike for their limit. */
struct stand {
	struct limit *limit;
	struct klass *klass;
	int32_t slots;
	uint8_t side;
	struct shelf parked;
	uint32_t open; /* lanes that stand in their class */
};

struct take {
	struct limit *limit;
	struct queue *queue;
	struct take *next, **at; /* of the limit's users; at NULL: not among them */
	int32_t slots;
};

/* How long the last runs took. */
struct lasts {
	uint32_t ms[LASTS_KEPT];
	uint8_t n, at;
};

/* One task. */
struct queue {
	const struct task *def; /* counted */
	struct klass *klass;
	struct party *party; /* its project in that class */
	struct take *takes;
	size_t n_takes;
	struct lane *lanes;
	struct ready *oldest, *newest;      /* running */
	struct queue *next_user, **at_user; /* of its class, while it runs something */
	struct lasts *lasts;
	uint32_t id;
	uint32_t project; /* sorter.project_turns[] */
	uint32_t moves;   /* changes that may have opened a gate of its own */
	uint8_t state;    /* enum task_state */
	bool frozen;
	bool held; /* the ledger returned a grant: until its gates move */
	bool held_listed;
	uint32_t held_moves; /* of its gates, then */
	int32_t slots, asked;
	int32_t taken[SIDES]; /* slots and asked */
	size_t n;             /* ready, also frozen and asked ones */
};

/* A type, a group, a machine pool and whose work it is: what the same sessions can serve. */
struct klass {
	uint32_t broker; /* for a part: this one alone; 0: any */
	const struct klass
		*alike;  /* the first of its type and group: itself, or one that figures go to */
	bool is_trusted; /* its projects are */
	char *project;   /* "": all that no broker is bound to */
	struct shelf lanes;
	struct klass *next, **at;       /* of those with lanes and credit; at NULL: not there */
	char *type, *group, **machines; /* machines: NULL-ended, or NULL */
	struct seat **sessions;
	size_t n_sessions, turn; /* turn: of the sessions */
	uint64_t last;           /* which turn of a project was its last */
	uint64_t open;           /* sum of its sessions' open credit */
	uint64_t slots;          /* of those of its sessions that take work */
	struct seldom {
		uint32_t project;
		int64_t at_us; /* mono; 0: never */
	} seldom[2];           /* who started little there: the last one, and the last other one */
	size_t waiting;        /* instances of its open lanes */
	uint8_t held_by;       /* 10, 11: it had no session, or no credit ... */
	int64_t held_us;       /* ... until then, wall; INT64_MAX: it still has none */
	int32_t running;
	struct queue *users;
};

/* A broker, with all its types. */
struct machine {
	uint32_t taken, jobs_max; /* jobs_max 0: it does not say */
};

/* A loader's session. */
struct seat {
	uint32_t session, broker, lane;
	uint32_t host;    /* index of its broker's machine */
	uint64_t machine; /* which one has the name now (holder.h) */
	char *type, *broker_name, **groups;
	char **projects; /* that its broker is bound to, NULL-ended; NULL: none */
	bool separates;  /* its machine keeps projects apart */
	bool accepts, keeps_proofs;
	uint32_t slots;          /* most jobs at once; 0: it did not say */
	uint64_t limit, granted; /* running totals */
	struct starts *starts;   /* its broker's and type's; NULL: nobody minds */
	uint32_t room;           /* grants that `starts` leaves; STARTS_ANY: does not mind */
	struct rank_load load;   /* of its broker */
	int32_t running;
	int32_t asked; /* grants under way */
	struct desk *desk;
};

/* What the seats of one broker have in common. */
struct desk {
	struct desk *next;
	uint32_t broker;
	int32_t running; /* of all its seats, asked ones too */
	unsigned seats;
	/* What the last expression said of it, kept until something is new there: who is granted
	 * one by one by the same expression asks it of one broker each time, not of all. */
	uint64_t liked_by; /* expr_hash(); 0: of none */
	struct rank liked;
};

struct sorter {
	bool (*room)(void *ctx, uint64_t *ret_free, uint64_t *ret_min); /* NULL: always */
	void *room_ctx;
	int64_t room_us; /* mono: it is asked again then */
	bool no_room;
	uint64_t disk_free, disk_min;
	struct actor *me;
	struct ledger *ledger;
	struct stream_reader *in;
	struct outbox out;
	struct queue **queues; /* by task id */
	size_t queues_cap;
	struct limit **limits;
	size_t n_limits;
	struct map limit_by_name;
	struct limit **dirty; /* may have room for what is parked */
	size_t n_dirty, dirty_cap;
	struct klass **classes;
	size_t n_classes;
	struct klass *startable;
	struct seat **seats;
	size_t n_seats;
	struct desk *desks;
	struct machine *machines;
	size_t n_machines;
	struct map machine_of; /* by broker */
	struct slab ready;
	uint32_t *by_slot;
	size_t by_slot_cap;
	struct map project_of;   /* by map_text(); two names of one hash share their turns */
	uint64_t *project_turns; /* which was its last, of any class */
	size_t n_projects;
	uint64_t turns;        /* of projects, so far */
	size_t blocked[GATES]; /* instances of lanes by their closed gate, and frozen ones */
	size_t n_reserving;
	int64_t began_us, now_us;    /* wall: made; of this turn */
	int64_t mono_us;             /* of this turn */
	struct timing waited[GATES]; /* until the grant, by the gate that held last; 0: none */
	uint32_t marks;              /* folded so far */
	uint64_t mark;               /* the last mark folded: the stamp of its grants */
	uint32_t random;
	struct queue **held; /* and some that are so no longer */
	size_t n_held;
	int64_t unread_us; /* mono: what could not be read is tried again; 0: nothing */
	/* sorter_bound.c */
	struct docs peers, trusts;
	struct map bound;   /* projects that a broker is bound to, by map_text() */
	bool trusts_unsaid; /* projects that nobody has said anything of */
	/* sorter_starts.c */
	struct registrar *registrar;
	struct starts *starts;
	int64_t start_pause_us, start_pause_max_us;
	uint32_t *rests; /* slots of those that rest, and some that do so no longer */
	size_t n_rests;
};

static inline struct ready *sorter_ready(const struct sorter *s, uint32_t i)
{
	return slab_at(&s->ready, i);
}
static inline uint32_t sorter_of_slot(const struct sorter *s, uint32_t slot)
{
	return slot < s->by_slot_cap ? s->by_slot[slot] : SLAB_NONE;
}

/* sorter_wait.c: what waits, in its lane. */
void sorter__wait(struct sorter *s, struct ready *r, const struct instance *i); /* as i is now */
void sorter__enqueue(struct sorter *s, struct ready *r); /* to its place in the order, or out */
void sorter__leave_lane(struct sorter *s, struct ready *r);
void sorter__set_asked(struct sorter *s, struct ready *r, bool asked);
void sorter__rest(struct sorter *s, struct ready *r, int64_t until_us);
int64_t sorter__rests_look(struct sorter *s, int64_t now_us); /* when the next one has rested */

/* sorter_lane.c: tasks, their lanes, and where these stand. */
struct queue *sorter__queue(struct sorter *s, uint32_t task); /* made when it is new */
void sorter__put_def(struct sorter *s, const struct task *def, uint8_t state, bool frozen);
struct lane *sorter__lane(struct sorter *s, struct queue *q, const struct lane *like);
static inline bool sorter_takes(const struct lane *l) /* slots of the task, of its pools */
{
	return !l->test && !l->spread;
}
/* Its gates or its first instance may have changed: to where it belongs. */
void sorter__lane_moved(struct sorter *s, struct lane *l);
void sorter__queue_moved(struct sorter *s, struct queue *q); /* all its lanes */
void sorter__count_slots(struct sorter *s, struct queue *q, uint8_t side, int32_t d);
void sorter__count_asked(struct sorter *s, struct queue *q, uint8_t side, int32_t d);
/* The lane whose first instance starts next, or NULL. Its gates are open, its class has credit. */
struct lane *sorter__first(struct sorter *s);
uint8_t sorter__gate(struct sorter *s, const struct lane *l, size_t *ret_take);
void sorter__limits_settle(struct sorter *s); /* what fits now leaves its stand */
void sorter__queues_free(struct sorter *s);

/* sorter_shelf.c: which lane comes first. */
/* What has aged to the top takes with it all that was given its priority or a higher one. */
struct bar {
	int64_t effective; /* with age, of the first of all; -1: nothing was looked at */
	uint8_t priority;  /* as given, of that one: those below wait */
};
int64_t sorter__effective(const struct sorter *s, const struct lane *l); /* priority with age */
/* Of one project: higher priority with age, then the earlier effective due, then the earlier
 * date. */
bool sorter__goes_first(const struct sorter *s, const struct lane *a, const struct lane *b);
void sorter__bar(const struct sorter *s, const struct shelf *sh, struct bar *bar); /* raises it */
/* The lane whose project has the next turn among those that reach the bar; NULL: none does. */
struct lane *sorter__next(const struct sorter *s, const struct shelf *sh, const struct bar *bar);
struct lane *sorter__next_of(const struct sorter *s, const struct shelf *sh); /* with its own bar */
void sorter__party_bar(const struct sorter *s, const struct party *p, struct bar *bar);
struct lane *sorter__first_of_party(const struct sorter *s, const struct party *p);
struct lane *sorter__eldest(const struct sorter *s, const struct shelf *sh); /* as of one project */
/* Does `l`, of the shelf, go before `other`, which would be in it? */
bool sorter__passes(const struct sorter *s, const struct shelf *sh, const struct lane *l,
                    const struct lane *other);
void sorter__had_turn(struct sorter *s, struct lane *l);        /* in its class, at its pools */
uint32_t sorter__project(struct sorter *s, const char *task);   /* of a task's name */
struct party *shelf__party(struct shelf *sh, uint32_t project); /* made when it is new */
void shelf__put(struct shelf *sh, struct lane *l);
void shelf__take(struct shelf *sh, struct lane *l);
void shelf__done(struct shelf *sh);
int64_t shelf__oldest_us(const struct shelf *sh); /* effective due; 0: it is empty */

/* sorter_kept.c: slots kept free for who starts little. */
/* Of its slots only such are open as some projects may not have now. */
bool sorter__keeps(const struct sorter *s, const struct klass *k);
bool sorter__kept_from(const struct sorter *s, const struct klass *k, const struct party *p);
/* As sorter__bar() and sorter__next(), of those who may have them. */
void sorter__kept_bar(const struct sorter *s, const struct klass *k, struct bar *bar);
struct lane *sorter__kept_next(const struct sorter *s, const struct klass *k,
                               const struct bar *bar);
void sorter__kept_note(struct sorter *s, const struct lane *l,
                       const struct seat *seat);    /* granted */
int64_t sorter__kept_until(const struct sorter *s); /* mono: look again then */
bool sorter__kept_explain(const struct sorter *s, const struct lane *l, struct why_line *w);

/* sorter_limit.c: pools and quotas. */
struct limit *sorter__limit(struct sorter *s, const char *name); /* made when it is new */
void sorter__limit_size(struct sorter *s, struct limit *m, int32_t size);
bool sorter__limit_fits(struct sorter *s, struct limit *m, const struct lane *l, int32_t slots);
struct stand *sorter__stand(struct limit *m, struct klass *k, uint8_t side, int32_t slots);
void sorter__limit_look(struct sorter *s, struct limit *m);   /* there may be room now ... */
void sorter__limit_looked(struct sorter *s, struct limit *m); /* ... which is looked into now */
void sorter__reserves_moved(struct sorter *s);                /* a class won or lost its credit */
void sorter__limits_free(struct sorter *s);

/* sorter_seat.c: who can serve what. */
struct klass *sorter__class_of(struct sorter *s, const struct task *def);
struct klass *sorter__class_of_part(struct sorter *s, const struct task *def, int32_t part,
                                    uint32_t broker);        /* NULL: there is no such part */
void sorter__class_moved(struct sorter *s, struct klass *k); /* its credit or lanes changed */
struct seat *sorter__seat(const struct sorter *s, uint32_t session); /* NULL: not there */
struct seat *sorter__seat_enter(struct sorter *s, const struct session_news *n);
void sorter__seat_news(struct sorter *s, struct seat *seat, const struct session_news *n);
void sorter__seat_gone(struct sorter *s, struct seat *seat);
/* The session that gets this instance, by the task's policy; its class has open credit. */
struct seat *sorter__choose(struct sorter *s, struct klass *k, const struct ready *r);
/* All that serve the class, each once; the caller's to free. */
size_t sorter__brokers(const struct klass *k, uint32_t **ret_brokers);
void sorter__seat_runs(struct seat *seat, int32_t more);  /* or less */
void sorter__spend(struct sorter *s, struct seat *seat);  /* one credit */
void sorter__regain(struct sorter *s, struct seat *seat); /* its grant was returned */
void sorter__seats_free(struct sorter *s);
void sorter__seat_room(struct sorter *s, struct seat *seat, uint32_t room);
void sorter__place(struct sorter *s, struct ready *r, uint32_t broker); /* 0: nowhere */

bool sorter__reaches(const struct seat *seat, const struct klass *k); /* whose jobs aside */
void sorter__seat_bind(struct sorter *s, struct seat *seat); /* to what the documents say */

/* sorter_bound.c: whose jobs a broker may be given. */
void sorter__bounds_init(struct sorter *s);
void sorter__bounds_free(struct sorter *s);
/* What a class of a task's project is; the caller's. "": no broker is bound to it. */
char *sorter__bound_project(const struct sorter *s, const struct task *def);
bool sorter__bound_trusts(const struct sorter *s, const struct task *def);
char **sorter__bound_to(const struct sorter *s, const char *broker); /* the caller's; NULL: none */
bool sorter__bound_names(const struct seat *seat, const char *project); /* its broker may have it */
bool sorter__bound_allows(const struct seat *seat, const struct klass *k);
void sorter__bound_list(struct sorter *s);        /* the documents of peers are others */
char *sorter__project_of(const struct task *def); /* the caller's */

/* sorter_bind.c */
/* Who could serve the class may not be given such jobs; false: nobody is kept from them. */
bool sorter__bound_explain(const struct sorter *s, const struct klass *k, const struct task *def,
                           struct why_line *w);

/* sorter_machine.c: how many jobs a broker has, of all types. */
uint32_t sorter__machine(struct sorter *s, uint32_t broker); /* made when it is new */
bool sorter__machine_is_full(const struct sorter *s, uint32_t machine);
/* Both true: it has become full, or is so no more. */
bool sorter__machine_jobs_max(struct sorter *s, uint32_t machine, uint32_t jobs_max);
bool sorter__machine_count(struct sorter *s, uint32_t machine, int more);
void sorter__machines_free(struct sorter *s);

/* sorter_starts.c: brokers on which nothing starts. */
#define STARTS_ANY UINT32_MAX
void sorter__starts_enter(struct sorter *s, struct seat *seat);
void sorter__starts_fold(struct sorter *s, struct seat *seat, const struct transition *tr);
int64_t sorter__starts_look(struct sorter *s); /* what is due; when it is next */
/* Nothing starts at any that serve the class; false: somewhere it may. */
/* Of one that waits for a machine that has a user for its project. */
void sorter__no_user_explain(const struct sorter *s, const struct ready *r, struct why_line *w);
bool sorter__starts_explain(const struct sorter *s, const struct klass *k, struct why_line *w);
void sorter__starts_free(struct sorter *s);

/* sorter_measure.c */
void sorter__came(struct sorter *s, struct ready *r);       /* it begins to wait */
void sorter__went(struct sorter *s, const struct ready *r); /* it is granted; still in its lane */
void sorter__gate_moved(const struct sorter *s, struct lane *l, uint8_t was);
void sorter__credit_moved(const struct sorter *s, struct klass *k);

/* sorter_explain.c */
void sorter__lasted(struct queue *q, const struct instance *i); /* it ended well */

#endif
