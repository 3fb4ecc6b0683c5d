/* broker.h — inside of taskbroker: one thread, one loop. README.md has the files; from the bottom
 * up: tell.c, spawn.c, alive.c, wanted.c, types.c, lanes.c, judge.c, versions.c, types_list.c,
 * served.c, keeper.c, load.c, delegates.c, broker.c.
 */
#ifndef TASKBROKER_BROKER_H
#define TASKBROKER_BROKER_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/link/link.h"
#include "util/buf.h"
#include "util/lease_proof.h"
#include "util/map.h"
#include "util/param.h"

struct broker;
struct delegates;
struct err;
struct keeper_client;

enum type_state { /* RunnerState.state */
	          TYPE_WAITING = 0,
	          TYPE_READY = 1,
	          TYPE_REFUSED = 2,
	          TYPE_CRASHED = 3,
	          TYPE_QUARANTINED = 4,
	          TYPE_STOPPED = 5,
	          TYPE_DRAINING = 6,
	          TYPE_OVER = 7,
};

#define CRASHES_KEPT   64
#define KEEPER_LIST    1  /* id of the lists asked for; nobody looks at it */
#define UNSERVED_TIMES 10 /* loader_silent_ms: nobody has been there for long */

/* Of a plugin, as registered at the server; version "": the type's own file. */
struct version {
	char version[64], sha256[65];
	uint32_t abi;
};

/* A task type this machine runs, and its loader; one of several while versions follow each other
 * (lanes.c). */
struct type {
	struct type *next;
	struct broker *broker;
	char *name;
	uint32_t lane, slots;
	enum type_state state;
	char text[400];       /* why */
	char last_words[400]; /* of a loader that found itself stuck; "": none */
	bool is_ending;       /* it said that it ends in good order */
	char version[64];
	struct version wanted;
	char order[160];   /* on its way in: the server's words */
	char failed[160];  /* the last order whose version would not even start */
	bool is_coming;    /* on its way in: not ready yet */
	bool is_retired;   /* on its way out */
	bool is_heir;      /* its loader has no plugin: it sees the jobkeeper's jobs to their end */
	bool is_over;      /* nothing of it is left: gone when its loader is */
	bool is_listening; /* to SIGHUP */
	uint32_t abi_major, abi_minor;
	bool is_disabled; /* by orders */
	bool is_unwanted; /* the settings name it no more: gone when its loader is */
	bool is_leaving;  /* told to end because of that */
	bool is_again;    /* start it again as soon as it has ended */
	pid_t pid;        /* of our loader, or of one we met; 0: none */
	bool is_met;      /* started by an earlier broker */
	int pid_fd;       /* -1 with pid 0 */
	int status_fd;    /* -1: closed */
	struct buf status;
	ev_io ended, said;
	ev_timer start;      /* time to start it */
	ev_timer late;       /* it should have spoken, or ended, by now */
	ev_timer look;       /* has it shown a sign of life? */
	uint32_t in_process; /* jobs that its loader has besides the jobkeeper's */
	uint32_t silent;     /* looks since the last one */
	int64_t heard_us;
	bool holds,
		is_listed; /* the jobkeeper has jobs of it; so says the list that is coming in */
	bool is_unserved;  /* and nobody has been there to report them for long */
	uint32_t pause_ms;
	int64_t crashes_us[CRASHES_KEPT]; /* a ring */
	uint32_t n_crashes;
};

/* What follows from a loader's word and from its end; t->broker->life. */
struct type_life {
	void (*ready)(struct type *t);
	void (*ended)(struct type *t, int status); /* may free t; status 0 of one we met */
};

struct load {
	uint32_t cpu_permille; /* how busy the processors were since the last look */
	uint32_t
		load_permille; /* load average of the last minute, one runnable a processor: 1000 */
	uint32_t memory_permille;
	uint64_t memory_free_bytes;
	uint64_t disk_free_bytes;
	char why_not[160]; /* "": work is welcome */
};

/* What has a threshold of load. */
enum load_of { LOAD_CPU, LOAD_MEMORY, LOAD_MEMORY_FREE, LOAD_DISK_FREE, LOADS };

struct broker {
	struct param_taskbroker *settings;
	const struct param_args *args;
	char *state_dir; /* absolute */
	char *bin_dir;   /* where our programs are */
	struct ev_loop *loop;
	struct link_self about;
	struct link *link;
	struct delegates *delegates;
	struct member *member; /* etcd/member.h; NULL: no etcd */
	char *epoch_file;
	struct type *types;
	const struct type_life *life;
	ev_timer load_timer, stop_timer;
	ev_prepare round;
	bool is_drained, is_stopping, with_jobs;
	bool ends_jobs;      /* --with-jobs: whatever ends it */
	int failed;          /* why it could not begin; 0: it did */
	bool is_over[LOADS]; /* its threshold, and not yet far enough below it */

	struct keeper_client *keeper;
	int64_t keeper_down_us;  /* since then it has told nothing; 0: it is there */
	int64_t keeper_heard_us; /* it holds its socket and is silent since then; 0: it is not */
	char keeper_why[160];    /* and why */
	ev_timer keeper_timer;   /* start it, if nobody answers by then */
	uint32_t keeper_pause_ms;
	int keeper_away;   /* an errno: that nobody is in keeper_dir was told */
	pid_t keeper_pid;  /* the one we started; 0: none, or one of a taskbroker before us */
	int keeper_pid_fd; /* the one there is, whoever started it; -1: none that we know */
	ev_io keeper_ended;
	uint64_t *held, *listing; /* tokens of the last whole list; of the one coming in */
	size_t n_held, n_listing, cap_held, cap_listing;
	struct lease_proof *proofs, *listing_proofs; /* of each, in their order */
	size_t cap_proofs, cap_listing_proofs;
	bool is_proving;     /* the server of this session asks for proofs, and has those of */
	struct map proven;   /* these tokens */
	bool is_held_known;  /* it has told a whole list, once */
	bool is_list_fresh;  /* a whole list came in since the last beat */
	uint32_t listed_seq; /* the first beat that named `held` */
	uint32_t running, counting; /* of `held`; of the list coming in */
	bool is_full;               /* so the server was told: jobs_max run */
	uint64_t cpu_all, cpu_busy; /* clock ticks at the last look */
	uint32_t cpu_permille;
};

/* broker.c */
int broker_open(struct broker *b, struct err *err);
void broker_reload(struct broker *b); /* settings have changed */
/* End loaders, then the loop; with_jobs: the jobkeeper and its jobs too. */
void broker_stop(struct broker *b, bool with_jobs);
void broker_close(struct broker *b);

/* keeper.c */
int keeper_watch(struct broker *b, struct err *err);
/* A keeper that is away for fence_ms: nobody can report what it ran. That is ended, and `held` is
 * nothing then; after lose_ms it is in any case. */
void keeper_look(struct broker *b);
void keeper_tell(struct broker *b);      /* for how long it has been silent, to the server */
void keeper_take_list(struct broker *b); /* `held` is what came in last */
void keeper_settings_send(struct broker *b);
void keeper_end(struct broker *b);           /* TERM to it: it kills its jobs */
bool keeper_is_gone(const struct broker *b); /* there is none, nor may one still answer */
void keeper_unwatch(struct broker *b);

/* prove.c */
void prove_begin(struct broker *b, bool asked); /* a session: everything, if it is asked for */
void prove_new(struct broker *b);               /* of `held`, what it has not been shown */

/* delegates.c: loaders' own keys are signed by this machine's */
int delegates_open(struct broker *b, struct err *err);
void delegates_tell(struct broker *b); /* anew, to each that has asked */
void delegates_close(struct broker *b);

/* tell.c */
/* Its state from now on, and why ("": no more to say); told to the server. */
__attribute__((format(printf, 3, 4))) void type_say(struct type *t, enum type_state state,
                                                    const char *fmt, ...);
void type_tell(struct type *t); /* once more */

/* types.c */
void type_enable(struct type *t);
void type_stop(struct type *t, const char *why);
struct type *type_make(struct broker *b, const char *name);
void type_free(struct type *t);
void type_start(struct type *t, uint32_t in_ms);
void type_start_later(struct type *t);     /* after a pause that grows */
uint32_t type_count_crash(struct type *t); /* of the last ten minutes, with this one */
/* Is a loader of an earlier broker there? It gets the signal and is watched. */
bool type_meet(struct type *t, int signal);

/* lanes.c: loaders of one type side by side */
bool lane_is_current(const struct type *t);
struct type *lane_current(struct broker *b, const char *name); /* who takes work; or NULL */
struct type *lane_coming(const struct type *t);                /* who is to follow it; or NULL */
/* Start a version beside t. text: the server's order, noted when it is ready. */
void lane_begin(struct type *t, const struct version *v, const char *text);
void lane_came_to_grief(struct type *t, bool is_refused, const char *how);
void lane_promote(struct type *t);
/* What it left in the jobkeeper is seen to its end by a loader without the plugin. */
void lane_inherit(struct type *t);
void lane_ended(struct type *t);
void lane_note(const struct type *t); /* its version, for a broker that follows */
void lane_cancel(struct type *t);     /* who is to follow it */
void lane_drain(struct type *t);
struct type *lane_meet_retired(struct type *t, uint32_t lane); /* another lane of its type */
void lane_unmake(const struct type *t);                        /* nothing of it is left */
void lanes_recall(struct type *t);

/* judge.c */
extern const struct type_life judge_life;

/* types_list.c */
int types_read(struct broker *b, struct err *err); /* from the settings; starts and ends loaders */
void types_reload(struct broker *b);               /* have the loaders read their settings again */
void types_free(struct broker *b);
bool types_are_gone(const struct broker *b);
/* The jobkeeper has jobs of a lane that the settings do not name. */
struct type *types_orphan(struct broker *b, const char *name, uint32_t lane);

/* alive.c: is a loader frozen? */
void alive_init(struct type *t);
void alive_heard(struct type *t);                 /* its loader said something */
void alive_watch(struct type *t, long silent_ms); /* and says how soon it will again */

/* served.c: a loader reports what the jobkeeper holds, or nobody keeps its leases. */
/* The jobkeeper's list has a job of this lane. False: our beats do not name it. */
bool served_take(struct broker *b, const char *lane_name);
void served_look(struct broker *b); /* the list is whole */

/* wanted.c: which version of its plugin a type is to run */
#define VERSION_DRAIN "drain"
/* "VERSION ABI SHA256"; "": none, the type's own file runs. False: it does not read. */
bool version_parse(const char *text, struct version *ret);
void version_recall(struct type *t); /* what was wanted when we last ran */
void version_note(const struct type *t, const char *text);
char *version_path(const struct type *t); /* of what is wanted; the caller's */

/* versions.c */
void version_order(struct type *t, const char *text); /* the server's */
void version_again(struct type *t);                   /* one that would not start */

/* load.c: how busy the machine is, and whether work is welcome. */
void load_measure(struct broker *b, struct load *ret);
/* Jobs that run here: the jobkeeper's, and those inside loaders. */
uint32_t load_running(const struct broker *b);
uint32_t load_slots(const struct broker *b);

/* spawn.c: our programs. pid_fd watches the end. status_fd: its descriptor 3, or -1.
 *   errors  E_IO */
int spawn_program(const char *path, char *const argv[], int status_fd, pid_t *ret_pid,
                  int *ret_pid_fd, struct err *err);

#endif
