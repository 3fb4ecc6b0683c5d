/* keeper.h — the jobs of this machine, and the rounds that move them.
 *
 * A round is one turn of the loop: requests and ends are gathered; then one sync of the
 * journal makes all their marks durable; then ends are told and starts are started.
 */
#ifndef KEEPER_KEEPER_H
#define KEEPER_KEEPER_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "broker/keeper/job.h"
#include "broker/keeper/journal.h"
#include "broker/keeper/launcher_ask.h"
#include "broker/keeper/output.h"
#include "broker/keeper/tree.h"
#include "util/err.h"
#include "util/heap.h"
#include "util/map.h"
#include "util/slab.h"

struct err;
struct service;

struct keeper_settings {
	const char *state_dir, *files_dir; /* files_dir NULL: in state_dir */
	const char *cgroup;                /* "auto", "off", a directory */
	int64_t jobs_max, output_bytes_max, journal_bytes, hang_ms;
	int64_t output_rate_max; /* bytes a second and stream; 0: any */
	bool separates;          /* jobs are started by a launcher */
	struct launcher_link launcher;
	uid_t peer; /* whose loaders and broker talk here, beside our own user; 0: nobody else */
};

enum { FORGOTTEN_MAX = 4096 };

/* A queue of job numbers; a job is in it at most once. */
struct keeper_queue {
	uint32_t *jobs;
	size_t n, cap;
};

struct keeper {
	struct ev_loop *loop;
	struct keeper_settings settings;
	char *logs_dir, *files_dir, *program; /* program: what an upgrade execs */
	char boot_id[40];
	uint64_t incarnation;
	struct journal journal;
	struct tree *tree;
	struct outputs *outputs;
	struct service *service;
	struct slab jobs;
	struct map tokens, pids;
	struct heap due;
	struct keeper_queue starts;   /* marked or about to be, not started; by turn */
	uint64_t starts_turn;         /* of the last one that was started */
	uint64_t starts_owner;        /* the project whose start came last ... */
	int64_t starts_mixed_us;      /* ... and until when another one's counts as here, mono */
	struct keeper_queue ends;     /* put into the journal, not told */
	struct keeper_queue settling; /* main process gone, tree not */
	uint64_t forgotten[FORGOTTEN_MAX];
	size_t forgotten_n; /* ever; the ring's last place is before it */
	size_t running;     /* jobs not yet ended */
	int null_fd, timer_fd, signal_fd, lock_fd;
	struct ev_io timer, signal, launcher;
	struct ev_prepare round;
	struct ev_idle again; /* on: the round left work */
	struct ev_timer mend; /* the journal is broken: try anew */
	struct ev_timer poll; /* settling jobs, now and then */
	bool is_stopping, is_sync_due, is_strangers_known;
	struct err no_box;      /* why KeeperStart.box is refused; code 0: it is not */
	struct err no_landlock; /* the same of KeeperStart.landlock */
	bool is_unable;         /* without its launcher it cannot go on */
	size_t strangers;       /* children that are no job's first process */
	char *upgrade_to;       /* not NULL: exec it after this round */
};

/* Start on the state directory; `handover` is the descriptor a former image left, -1: none.
 *   errors  E_BUSY another keeper runs on it, E_IO, E_FULL, E_INVALID */
int keeper_open(struct keeper *k, struct ev_loop *loop, const struct keeper_settings *s,
                const char *program, int handover, struct err *err);
void keeper_close(struct keeper *k);
/* Kill all jobs, then end the loop. Again: without grace. */
void keeper_stop(struct keeper *k);

/* --- what the service calls --- */

struct job *keeper_find(struct keeper *k, uint64_t token);
/* The job, new or held already; or an error to be told as not started. */
int keeper_start(struct keeper *k, const Sirdar__KeeperStart *m, struct job **ret_job,
                 struct err *err);
/* False: nothing to kill. */
bool keeper_kill(struct keeper *k, struct job *job, enum job_why why, uint32_t intent,
                 uint64_t grace_us);
void keeper_renew(struct keeper *k, struct job *job, uint64_t deadline_us);
void keeper_forget(struct keeper *k, uint64_t token); /* ends only */
bool keeper_is_forgotten(const struct keeper *k, uint64_t token);

/* --- shared by keeper*.c --- */

void keeper_files_remove(struct keeper *k, uint64_t token);
bool keeper_has_launcher(struct keeper *k); /* false: it should, and it is gone */

struct job *keeper_add(struct keeper *k, uint64_t token, const char *type);
void keeper_remove(struct keeper *k, struct job *job);
/* Its output will not show them. Before there is any. */
void keeper_hide(struct job *job, const ProtobufCBinaryData *secrets, size_t n);
void keeper_remember_forgotten(struct keeper *k, uint64_t token);
void keeper_load(struct keeper *k, int *ret_rc, struct err *err);
void keeper_journal_fill(void *ctx, struct journal *j);
void keeper_record_boot(const struct keeper *k, struct journal *j);
void keeper_record_start(struct journal *j, const struct job *job);
void keeper_record_end(struct journal *j, const struct job *job);
void keeper_record_pid(struct journal *j, const struct job *job);
void keeper_record_forget(struct journal *j, uint64_t token);
bool keeper_round(struct keeper *k); /* true: it left no work */
void keeper_reap(struct keeper *k);
void keeper_settle(struct keeper *k, struct job *job);
void keeper_not_started(struct keeper *k, struct job *job, const struct err *why);
void keeper_due_set(struct keeper *k, struct job *job);
void keeper_timer_set(struct keeper *k);
void keeper_due_run(struct keeper *k);
void keeper_wake(struct keeper *k); /* have another round */
void keeper_queue_add(struct keeper_queue *q, uint32_t at);
bool keeper_queue_remove(struct keeper_queue *q, uint32_t at); /* false: it was not in it */
struct tree_of job_tree(const struct job *job);
void job_message(const struct job *job, Sirdar__KeeperJob *to);
void job_from_message(struct job *job, const Sirdar__KeeperJob *m); /* what a start says of it */

/* --- the exec of itself --- */
int keeper_handover_take(struct keeper *k, int fd, int *ret_listen_fd, struct err *err);
/* Returns only if it failed. */
int keeper_upgrade(struct keeper *k, const char *program, struct err *err);

#endif
