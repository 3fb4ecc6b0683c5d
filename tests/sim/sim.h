/* sim.h — the BaseServer's actors on one thread, under a virtual clock and bad luck.
 *
 * Same actors, same store contract; clock, network, brokers and the disk's faults are
 * ours and come from one seed. What leaves the server (durable records only) is fed to
 * the checker, record by record; what jobs do is witnessed by the world, not by the server.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sched/instance.h"

struct actor;
struct commander;
struct err;
struct ledger;
struct letter;
struct maintainer;
struct sorter;
struct store;
struct store_task;
struct task;
struct thread;

#define MS     1000LL
#define SEC    1000000LL
#define MINUTE (60 * SEC)

/* The wall clock of the world's beginning: 2026-03-01 00:00:00 UTC. Plans end after a while. */
#define WALL_BASE_US (1772323200LL * SEC)
#define PLANNED_US   (10 * MINUTE)

enum { BROKERS = 3, TASKS = 8, SLOTS = 6 /* of a loader */ };

struct options {
	uint64_t seed;
	int64_t steps;
	bool verbose;
};

/* Where the actors run, when each has a thread. */
enum place_of {
	AT_LEDGER,
	AT_RESOLVER,
	AT_SORTER,
	AT_PLAN,
	AT_MAINTAIN,
	AT_COMMAND,
	AT_WORKER,
	AT_STORE,
	PLACES
};

/* What kinds of bad luck a seed has (swarm testing): drawn once per seed. */
struct swarm {
	bool apart;             /* a thread for each actor */
	bool writer;            /* the store is called on a thread of its own */
	uint32_t lag_per_mille; /* of a thread's steps come late ... */
	int64_t lag_us;         /* ... by up to this */
	enum place_of late;     /* one thread is behind ... */
	int64_t late_us;        /* ... by up to this; 0: none */
	bool slow_wire;         /* some messages take seconds */
	bool replays;           /* old reports come again */
	bool cuts, loader_crashes, machine_crashes, server_crashes, store_faults, operators;
	uint32_t hasty; /* per mille: people redo what has just ended ... */
	bool forces;    /* ... or force it, if it ended badly ... */
	bool spreads;   /* ... or has just begun in parts */
	uint32_t fatal; /* per mille of the jobs that end badly for good; 0: as usual */
	bool brisk;     /* loaders crash often and are back at once */
	bool backfills; /* of commands, mostly these */
	bool commands, edits, wall_jumps, takeovers, long_downs, standby;
	bool flows;       /* some tasks are the steps of a pipeline */
	bool branches;    /* jobs choose among the children of their task */
	bool looks;       /* many jobs are sensors: they find nothing, and look again */
	bool stands;      /* the server stands still at times */
	bool switches;    /* versions of plugins follow each other, side by side */
	bool keepers;     /* each machine's taskbroker beats for what its jobkeeper holds */
	bool freezes;     /* loaders that do nothing any more, and are there */
	bool quarantines; /* loaders that are not begun again */
	bool twins;       /* a second machine with the name of the first */
	bool liar;        /* one of the brokers lies */
	bool begins;      /* tasks went online some minutes after their plans start */
	uint32_t sick;    /* so many machines may be sick at a time: no start goes well there */
	size_t ring_slots;
	int64_t rows_max; /* dates left out in one go that have rows */
};
extern struct swarm swarm;

/* What a run may ask for beside a seed: luck that is bent to one kind of trouble. */
#define SCENARIOS(X) \
	X(NONE, "none", "as drawn") \
	X(STALE, "stale", "all act on old news, and people redo at once") \
	X(PASSES, "passes", "links with pass_after, whose parents are redone") \
	X(RESTARTS, "restarts", "a server that goes down right after an edit or a redo") \
	X(FORCES, "forces", "links on failure, whose parents are forced at once") \
	X(PARTS, "parts", "broadcasts, which are redone while their parts begin") \
	X(BACKFILLS, "backfills", "backfills, a few at once, of what runs") \
	X(VERSIONS, "versions", \
	  "the next version's loader beside the former, and servers that go down") \
	X(SESSIONS, "sessions", "loaders that are back at once, and a maintainer that is late") \
	X(SILENCES, "silences", "minutes without a server, whose dates are left out, and redone") \
	X(STANDS, "stands", "a server that stands still while brokers beat and jobs end") \
	X(OVERLAPS, "overlaps", "dates that come due while an earlier one is unfinished") \
	X(RETURNS, "returns", "the same, and servers that are away for minutes") \
	X(FROZEN, "frozen", "loaders that are frozen while their taskbroker beats on") \
	X(QUARANTINES, "quarantines", \
	  "loaders that are not begun again, and jobs of the keeper's") \
	X(TWINS, "twins", "two machines with one name") \
	X(SICK, "sick", "machines on which no start goes well") \
	X(LIARS, "liars", "a broker that lies of its own jobs and of others'") \
	X(LOOKS, "looks", "sensors that look again, and all that can happen between two looks") \
	X(MEMBERS, "members", \
	  "what commands name together, while links are edited and servers die") \
	X(NEIGHBOURS, "neighbours", "two projects at the slots of which some are kept")
enum scenario {
#define X(name, text, what) SC_##name,
	SCENARIOS(X)
#undef X
};
extern enum scenario scenario;

/* sim_world.c: time, luck, things that happen later. */
extern struct options opt;
extern int64_t now_us;    /* since the world began */
uint32_t rnd(uint32_t n); /* 0 .. n-1 */
bool chance(uint32_t per_mille);
void later(int64_t after_us, void (*what)(void *a, uint64_t b), void *a, uint64_t b);
void later_owned(int64_t after_us, void (*what)(void *a, uint64_t b), void *a); /* what() frees a */
bool world_step(void); /* the next thing happens; false: nothing is left */
void world_reset(uint64_t seed);
extern const struct clock sim_clock;
int64_t wall_of(int64_t us); /* what the wall clock shows then, as it is set now */
void wall_shift(int64_t us); /* somebody sets the wall clock */
extern int64_t wall_shifted_us;
__attribute__((format(printf, 1, 2))) void note(const char *fmt, ...);

/* sim_threads.c: where the actors run. */
void threads_new(void);
void threads_stand(int64_t us);             /* no thread does anything for so long */
int64_t threads_rested_us(void);            /* when none had anything left to do */
int64_t threads_idle_us(enum place_of who); /* when this one had nothing left to do */
int64_t threads_stand_until(void);          /* world time; in the past: they do not */
struct thread *thread_of(enum place_of who);
int threads_start(struct err *err);
void threads_run(const bool *stop); /* all that may step now, until nothing may */
int64_t threads_next_us(void);      /* the world's time of the next step or alarm */
void threads_stop(void);
void threads_free(void);

/* sim_check.c: the invariants. */
extern const char *broken; /* the first one that broke, with its words */
__attribute__((format(printf, 2, 3))) void break_invariant(const char *which, const char *fmt, ...);
void check_reset(void);
void check_record(const struct transition *tr);
void check_restart(struct store *s); /* also: rows in the store nobody was told of */
void check_task(const struct task *t, const struct store_task *row);
const struct task *check_def(uint32_t id); /* the definition in force, as the log says */
const struct task *check_def_of(const struct instance *i);
bool check_starts(uint32_t task);                /* gate 1, as the log says */
const struct instance *check_next(uint32_t *at); /* each row, as the log says; NULL: no more */
int64_t check_ended_at(uint64_t token); /* the world: its machine's wall clock then; or never */
void check_start(uint64_t token, struct inst_key key);              /* a process begins */
void check_end(uint64_t token, struct inst_key key, int exit_code); /* it is gone */
void check_acked(uint64_t token, int code);                         /* its end was acknowledged */
void check_trouble(void);          /* from here results may be lost with a good reason */
void check_store(struct store *s); /* replay(log) == tables */
void check_quiet(struct store *s); /* at the very end */
size_t check_unfinished(bool print);
int64_t check_first_gap(uint32_t task);
bool check_find(struct inst_key key, struct instance *ret);      /* as the log says */
bool check_is_due_now(struct inst_key key);                      /* enqueued before it was due */
bool check_was_there(struct inst_key row, struct inst_key when); /* before that one began anew */
bool check_runs(struct inst_key key); /* the world: is there a process? */
uint64_t check_hash(void);            /* of all records so far */
void check_coverage(uint64_t counts[ST_COUNT][EV_COUNT]);
void check_epoch_taken(uint32_t epoch);

/* sim_rules.c: what the checker works out by brute force, from definitions and outcomes. */
void rules_reset(void);
void rules_follow(const struct transition *tr);                /* keep the outcomes */
void rules_grant(const struct transition *tr, bool came_back); /* I8 */
bool rules_may_wait(const struct instance *i);    /* for a parent that ended badly, or waits */
void rules_expire(const struct transition *tr);   /* I25 */
void rules_skip(const struct transition *tr);     /* P15 */
bool rules_skip_stands(const struct instance *i); /* Skipped(link): is its join still dead? */

/* sim_ranges.c: dates left out as one record, told to the checker one by one. */
void ranges_follow(const struct transition *tr);
/* Those stored with numbers in (after, before) that nobody was shown. */
void ranges_before(struct store *s, uint64_t after, uint64_t before);
void ranges_see(struct store *s, const struct instance *i); /* it has no row, but lies in one */
void ranges_check(struct store *s);                         /* all were seen */
void check_skipped_date(const struct transition *tr);       /* one date of a record; sim_check.c */

enum met { MET, OPEN, DEAD };

/* sim_parts.c: parts of an instance, by the log alone. Called before a record is folded. */
void parts_grant(const struct transition *tr, bool came_back); /* N1 */
void parts_skip(const struct transition *tr);                  /* N2 */
void parts_whole(const struct transition *tr, bool unclear);   /* I22; of a whole that is spread */
void parts_quiet(const struct instance *i);
bool parts_may_wait(const struct instance *i);

/* sim_branch.c: what a job chose, and what must follow (B1). */
void branch_reset(void);
uint32_t branch_choose(uint64_t token, struct inst_key key); /* at its good end; 0: it does not */
char *branch_text(uint32_t choice, uint64_t token);          /* heap, or NULL */
void branch_follow(const struct transition *tr, bool unclear);
void branch_replayed(void);
void branch_quiet(const struct instance *i);

/* sim_stats.c: statistics counted again. */
void stats_reset(void);
void stats_follow(const struct transition *tr);
void stats_check(struct store *s);

/* sim_tasks.c: definitions; every version ever made is kept until the seed ends. */
void tasks_make(void);
void tasks_free(void);
const struct task *task_version(uint32_t id, uint32_t version); /* NULL: no such */
const struct task *task_now(uint32_t id);                       /* the newest made */
struct task *task_edit(uint32_t id);                            /* another version */
/* All its versions, and those to come: it goes online, and nothing of its plan has come due. */
void task_begins_at(uint32_t id, int64_t from);

/* sim_flow.c: the pipeline of a seed. */
void flow_make(bool wanted);
void flow_edit(void); /* other nodes, other strengths; its tasks are to be made anew */
bool flow_has(uint32_t id);
void flow_define(struct task *t); /* a step or a hook of it */

/* sim_pools.c: pools, their changes, and what no grant may exceed. */
enum { POOLS = 3 };
const char *pool_name(int pool); /* the last one is a quota: no task names it */
void pools_reset(void);
void pools_make(void);                          /* with the first definitions */
void pools_act(void);                           /* somebody changes a size */
void pools_follow(const struct transition *tr); /* TK_POOL */
void pools_restart(struct store *s);            /* as stored */
void pools_grant(const struct task *t, const int slots[TASKS + 1]);

/* sim_server.c: the server's process. */
void server_start(void);
void server_crash(void);
void server_stands(int64_t us); /* still */
void server_end(void);          /* of one seed: everything goes */
bool server_up(void);
int64_t server_due(
	const struct instance *i); /* at most: no record tells of time without a leader */
void server_run(void);
int64_t server_next_us(void); /* its next alarm on the clock, INT64_MAX none */
struct store *server_store(void);
struct ledger *server_ledger(void);
struct maintainer *server_maintainer(void);
struct sorter *server_sorter(void);
struct commander *server_commander(void);
uint32_t ledger_epoch_now(void);   /* of the server that is up */
void server_disk_fails(void);      /* from now on it may show no life for a while */
bool server_lawful_takeover(void); /* a standby that saw no sign of life for LEAD_US */
void server_takeover(void);        /* another leader takes the epoch on the same disk */

/* sim_operator.c: people. */
void operator_acts(void);                        /* somebody gives a random command */
void operator_sees(const struct transition *tr); /* and may act at once */
void operator_mends(void); /* healing: what was frozen, offline or hanged goes on */

bool operator_pick(struct inst_key *ret);

/* sim_commands.c: people who use commands, through the real commander. */
enum wish {
	W_REDO,
	W_BACKFILL,
	W_KILL,
	W_FORCE,
	W_SKIP,
	W_FREEZE,
	W_UNFREEZE,
	W_ENQUEUE,
	W_RUN_NOW,
	W_PRIORITY,
	W_DECLARE,
	W_TASK,
	W_PAUSE,
	W_RESUME,
	W_CANCEL
};
/* An instance as it was when somebody looked; revision 0: no row. */
struct look_of {
	struct inst_key key;
	uint32_t revision;
	uint8_t state, priority;
	bool frozen;
};
struct order_of {
	enum wish kind;
	const char *name;
	char request[24], state[12];
	char *args;
	bool dry, answered, refused;
	uint32_t asked_epoch; /* an answer is awaited of this epoch's server */
	uint64_t id, target;  /* target: of a pause, resume or cancel */
	uint64_t number, at_number;
	int64_t total, done, failed;
	struct look_of *keys; /* what it selects, as it was when asked */
	size_t n_keys;
	int mode, parallel;
	bool kill_running, wait_running, leave_finished, may_stop, failed_parts;
	bool all; /* a backfill's links look at the plan too */
};
void commands_reset(void);
void commands_act(void);       /* somebody gives a random command */
void commands_settle(void);    /* the stream went on */
void commands_restarted(void); /* the server is back */
void commands_mend(void);
size_t commands_pending(bool print);
bool commands_resume_out(uint64_t id); /* somebody asked to go on, and is not answered yet */
const struct order_of *commands_by_id(uint64_t id);

/* sim_promises.c: what they are promised. */
void promises_reset(void);
void promises_follow(const struct transition *tr);
void promises_told(const struct order_of *o, bool first);
void promises_steered(const struct order_of *o); /* somebody asks to pause, resume, cancel */
bool promises_out(uint64_t id);                  /* something that it let go has not ended */
uint64_t promises_number(void);
struct look_of promises_look(struct inst_key key);

/* sim_worker.c: the worker that speaks to simulated brokers instead of sockets. */
void worker_start(struct thread *th);
void worker_stop(void);
bool worker_behind(void); /* durable records are not shown yet */
struct actor *worker_actor(void);
void worker_answered(struct letter *l, void *self);
/* A place for a loader, of broker `place % BROKERS`: two each, for versions side by side; and one
 * of another machine with its name. Each machine's taskbroker has a seat of its own beside. */
enum { LOADERS = 2 * BROKERS, MACHINES = 3 * BROKERS, SEATS = 2 * MACHINES };
struct greeter {
	uint32_t incarnation, lane;
	bool others; /* another lane of this broker may hold jobs */
};
void worker_hello(int place, uint64_t conn, struct greeter g, const uint64_t *held, size_t n);
void worker_close(int place, uint64_t conn); /* it takes nothing more */
void worker_gone(int seat, uint64_t conn);
void worker_kept(int place, uint64_t conn, int64_t sent_us, bool hello, const uint64_t *held,
                 size_t n); /* the taskbroker's own list */
void worker_evicts(uint32_t session);
void worker_credit(int broker, uint64_t conn, uint64_t limit);
void worker_beat(int broker, uint64_t conn, int64_t sent_us, const uint64_t *held, size_t n);
struct report {
	uint64_t token;
	uint32_t seq;
	int end; /* enum attempt_end, or -1 started, -2 kill acknowledged, -3 hanged */
	int exit_code, reason;
	uint32_t branch; /* branch_choose() */
	int64_t wait_us; /* AE_NOT_YET: until the next look */
};
void worker_report(int broker, uint64_t conn, const struct report *r);

/* sim_broker.c: machines with a loader and a keeper. */
void brokers_reset(void);
void broker_job(int broker, uint64_t conn, uint64_t token, struct inst_key key);
void broker_kill(int broker, uint64_t conn, uint64_t token);
void broker_ack(int broker, uint64_t conn, uint64_t token, uint32_t seq, int code);
void broker_beat_ack(int broker, uint64_t conn, int64_t sent_us, const uint64_t *unknown, size_t n);
void broker_cut(int broker); /* the connection breaks */
void broker_loader_crash(int broker);
void broker_loader_stop(int broker); /* takes nothing more, ends a while later */
void broker_switch(int broker);      /* another version's loader follows, beside this one */
int broker_place(int broker);        /* one of its loaders, by luck */
void broker_machine_crash(int broker);
bool broker_has_room(int broker); /* it could start one more */
void brokers_heal(void);
void broker_server_lost(void); /* the server's end died: all connections break */

/* sim_story.c: the hash, and the edges that were taken. */
void story_reset(void);
void story_follow(const struct transition *tr);

/* sim_looks.c: sensors that look again. `at`: the row's number. */
void looks_reset(void);
void looks_follow(uint32_t at, const struct transition *tr, const struct instance *was);
struct transition looks_bridge(uint32_t at, const struct instance *was, const struct instance *now,
                               enum state to);

/* sim_gray.c: what looks well from one side. */
void gray_acts(int broker); /* one of the swarm's kinds */
void gray_act_ends(void);   /* people mend */
void broker_refused(int seat, uint64_t conn);
void broker_kept_ack(int place, uint64_t conn, int64_t sent_us, const uint64_t *unknown, size_t n);
int64_t broker_thaws_us(int place); /* its loader does nothing before; in the past: it does */

/* sim_names.c: one machine a name, by the registrar's own judgement. */
void names_reset(void);
void names_restarted(void);
struct holder;
bool names_admit(int seat, uint32_t session, struct holder *ret_holder);
void names_heard(int seat);

/* Somebody at that seat spoke of a lease of another's. */
void names_forged(int seat, const char *frame, uint32_t of);

/* sim_liar.c: a broker that lies. */
void liar_reset(void);
void liar_restarted(void);  /* the server has begun anew */
int liar_number(int place); /* which machine it says it is */
void liar_acts(void);       /* it comes with another number */
void liar_acked(int place, uint64_t token, int code);
bool liar_has(uint32_t broker);
bool liar_had(int place, uint64_t token); /* it ran that once */
void liar_ends(void);                     /* it is honest again */
void liar_counted(int name, bool cut);
void liar_admitted(int name);
enum lie { LIE_NONE, LIE_DONE, LIE_NEVER } liar_takes(int place);

/* sim_liveness.c: nothing stays in a state that nobody works on (L1). */
void liveness_reset(void);
void liveness_trouble(int64_t us); /* the server cannot work, for so long; clocks begin anew */
void liveness_look(void);          /* after each step of the world */
struct tended {
	const struct instance *inst;
	uint32_t at;   /* which row */
	bool runs;     /* the world: there is a process */
	bool may_move; /* Ready, DependenceFinish: no gate that the checker knows is closed */
};
/* sim_overlap.c: of overlap: queue or replace, and not its turn; a record. */
bool overlap_awaits_turn(const struct task *t, const struct instance *i);
void overlap_check(const struct transition *tr);
void check_each_unfinished(void (*each)(const struct tended *t));
void check_heard(uint64_t token);          /* a list that names it was taken */
bool rules_open(const struct instance *i); /* links, join and turn are as they must be */
bool parts_over(const struct instance *i); /* of a whole: all of them have ended */
bool pools_free(const struct task *t, const int slots[TASKS + 1]);

extern bool healing;
extern bool parts; /* some tasks are broadcast: one seed in four, with --parts all */
int64_t wire_delay(void);

/* The lease rule, in small: T_fence + T_kill < T_lose. */
enum {
	BEAT_US = 200 * 1000,
	FENCE_US = 1500 * 1000,
	KILL_US = 300 * 1000,
	LOSE_US = 2000 * 1000,
	EPOCH_US = 1000 * 1000,
	LEAD_US = 1200 * 1000,     /* a standby waits so long; more than T_epoch */
	SILENT_US = 1000 * 1000,   /* a loader without a sign of life is ended then */
	UNSERVED_US = 4000 * 1000, /* a lane without a loader is named no more then */
	KILL_EXTRA_US = 1000 * 1000,
	PAUSE_US = 200 * 1000,     /* a machine where nothing starts is left alone, at first ... */
	PAUSE_MAX_US = 2000 * 1000 /* ... and at most */
};

#endif
