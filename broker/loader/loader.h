/* loader.h — inside of taskrunner-loader: one session thread that owns every job, and a
 * pool of job threads. README.md has the files; from the bottom up: say.c, table.c, stuck.c,
 * reports.c, ship.c, run.c, process.c, kill.c, host.c, fence.c, grants.c, loader.c.
 */
#ifndef LOADER_LOADER_H
#define LOADER_LOADER_H

#include <ev.h>
#include <pthread.h>
#include <sirdar/apart.h>
#include <sirdar/kept.h>
#include <stdbool.h>
#include <stdint.h>

#include "broker/link/link.h"
#include "broker/loader/job.h"
#include "util/map.h"
#include "util/param.h"
#include "util/slab.h"

struct buf;
struct delegate;
struct err;
struct keeper_client;
struct link;
struct pack;
struct pool;
struct stuck;
struct trying;
struct ask;
typedef struct Sirdar__Jobs Sirdar__Jobs;
typedef struct Sirdar__Kills Sirdar__Kills;
typedef struct Sirdar__ReportAcks Sirdar__ReportAcks;
typedef struct Sirdar__ParamGive Sirdar__ParamGive;
typedef struct Sirdar__LogAck Sirdar__LogAck;
typedef struct Sirdar__Probe Sirdar__Probe;

#define KEPT_MAX 11

struct loader {
	const struct param_taskbroker *settings;
	const char *type;
	char *lane; /* its name: at the jobkeeper, of files */
	uint32_t slots;
	const struct runner_plugin *plugin; /* NULL: an heir */
	struct guest_type *guest;           /* NULL: the type is a plugin of its own */
	struct runner_host host;
	struct runner_kept kept;
	char *kept_paths[KEPT_MAX];
	struct runner_apart apart;
	char *program, *plugin_file; /* of this process: what apart.c has started once more */
	const char *plugin_sha256;   /* NULL: any */
	void *self;                  /* the plugin's */

	struct ev_loop *loop;
	ev_prepare round;
	ev_async bell;
	ev_timer fence_timer, ship_timer, tick_timer, stop_timer;
	ev_io broker_gone; /* nobody reads the status any more */
	ev_timer alone_timer, alive_timer, jobs_timer;
	ev_timer keeper_timer; /* looks while the keeper is away */
	uint32_t keeper_looks;
	uint32_t told_jobs; /* in_process, as the broker knows it */
	struct link_self about;
	char *epoch_file;
	struct delegate *delegate; /* NULL: started by hand, or by a taskbroker of before */
	struct link *link;         /* NULL until the keeper told what it holds */
	struct keeper_client *keeper;
	struct pool *pool;
	struct trying *trying;         /* probe.c; NULL: none is under way */
	ev_timer probe_timer;          /* when it is answered for */
	struct stuck *stuck;           /* watches calls on the session thread */
	_Atomic uint64_t calls;        /* odd: the plugin is inside */
	const char *_Atomic call_name; /* of the last one */
	int status_fd;                 /* to the broker, -1: none */

	struct job **jobs; /* every job ever made, by index */
	uint32_t n_jobs;
	size_t cap_jobs;
	uint32_t *free_jobs;
	uint32_t n_free;
	struct map by_token;
	uint64_t *held; /* scratch */
	size_t held_cap;

	uint64_t granted;    /* in this session */
	uint64_t credit;     /* sent in this session */
	uint32_t active;     /* jobs that hold a slot */
	uint32_t in_process; /* of them, those without a process of their own */
	uint32_t unacked;    /* ended and not acknowledged */
	uint32_t seq_base;   /* first seq of jobs an earlier loader reported on */
	struct job *dirty, **dirty_tail;
	struct pack *pack; /* scratch of reports.c */
	uint8_t *chunk;    /* scratch of ship.c */
	struct job *shipping;
	struct job *texts; /* [shared] in-process jobs with new text */
	size_t log_flight; /* bytes of logs sent and not acknowledged */

	char *logs_dir; /* the keeper's */
	bool keeper_keeps_proofs, keeper_records;
	_Atomic bool takes_records; /* the server we are greeted by, or were last */
	char name[128];             /* of this broker */
	bool is_apart;              /* its plugin may want processes for attempts (apart.c) */
	bool is_stopping, is_held_known, is_fenced, is_alone;
	bool is_left;        /* its taskbroker is gone, and none followed */
	bool is_keeper_gone; /* away for fence_ms, and what it ran is ended */
	bool is_retired;     /* ends when nothing is left */
	bool is_closed;      /* told to this session's server, with beat ... */
	uint32_t closed_seq; /* ... of this number */
	bool is_settled;     /* and answered: no grant is on its way to us */
	bool is_over;        /* nothing is left of this lane */

	pthread_mutex_t kill_mu; /* guards is_executing: kill() only while execute() runs */
	pthread_mutex_t mu;      /* guards what is marked [shared] */
	struct job *starts;      /* [shared] jobs whose thread waits for a process */
	struct ask *asks;        /* [shared] parameters asked for */
	uint64_t ask_id;         /* [shared] */
	_Atomic bool has_asks, has_logs, has_starts;
};

/* table.c */
struct job *loader_job_new(struct loader *l);
struct job *loader_job_find(struct loader *l, uint64_t token); /* NULL: not held */
void loader_job_enter(struct loader *l, struct job *j);        /* under its token */
void loader_job_settled(struct loader *l, struct job *j);      /* leaves if nothing is left to do */
void loader_report_forget(struct loader *l, struct job *j);
/* The beats name it. Not when only the keeper could report its end, and is gone. */
bool loader_is_named(const struct loader *l, const struct job *j);
const uint64_t *loader_held(struct loader *l, size_t *ret_n);
void loader_prove(struct loader *l); /* to a server that has welcomed us */

/* grants.c */
int loader_take_jobs(struct loader *l, const Sirdar__Jobs *m);
void loader_take_done(struct loader *l);   /* what the pool gave back */
void loader_send_credit(struct loader *l); /* or, retired, that it takes no more */

/* kill.c */
int loader_take_kills(struct loader *l, const Sirdar__Kills *m);
void loader_kill(struct loader *l, struct job *j, uint64_t grace_us, uint32_t intent);
void loader_cancel(struct loader *l, struct job *j); /* tell an in-process job to stop */

/* run.c */
void loader_run_job(struct job *j); /* on a job thread */
/* Prepare and execute here and now. RUNNER_THREAD: it wants a thread; RUNNER_PROCESS: its
 * process is to be started; else it is over. */
int loader_run_inline(struct job *j);
void loader_job_ended(struct loader *l, struct job *j); /* j->result and kin are final */
/* What the plugin answered, as the report will say it. */
void loader_run_settle(struct job *j);

/* Its processes are runners, who say themselves how they ended. Of an heir nobody knows: it may. */
static inline bool loader_is_apart(const struct loader *l)
{
	return l->is_apart || !l->plugin;
}

/* host.c */
void loader_host_init(struct loader *l, const char *settings_file);
void loader_host_done(struct loader *l);
void loader_send_asks(struct loader *l, bool again);
int loader_take_params(struct loader *l, const Sirdar__ParamGive *m);
/* A parameter whose name begins with "sirdar.". */
int64_t loader_param_own(const struct job *j, const char *name, char *ret_value, uint64_t cap);
void loader_take_starts(struct loader *l); /* those asked for by process_wait() */

/* reports.c */
void loader_report(struct loader *l, struct job *j, unsigned due);
void loader_report_unknown(struct loader *l, uint64_t token); /* "held no more" */
void loader_report_all(struct loader *l);                     /* after a welcome */
void loader_flush_reports(struct loader *l);
void loader_report_overdue(struct loader *l); /* ends told long ago and not acknowledged */
void loader_send_progress(struct loader *l);
int loader_take_acks(struct loader *l, const Sirdar__ReportAcks *m);
void loader_drop_end(struct loader *l, struct job *j); /* the server wants no report of it */
void loader_reports_done(struct loader *l);

/* process.c */
void loader_keeper_init(struct loader *l);
int loader_open_keeper(struct loader *l, struct err *err);
void loader_start_process(struct loader *l, struct job *j);
void loader_kill_process(struct loader *l, struct job *j, uint64_t grace_us, uint32_t intent);
void loader_renew_processes(struct loader *l, const uint64_t *tokens, size_t n,
                            int64_t deadline_us);

/* ship.c */
void loader_ship_init(struct loader *l);
void loader_ship(struct loader *l, struct job *j); /* it may have output to send */
void loader_ship_texts(struct loader *l);          /* of in-process jobs that logged */
void loader_ship_again(struct loader *l);          /* after a welcome: nothing is in flight */
int loader_take_log_ack(struct loader *l, const Sirdar__LogAck *m);
void loader_read_outputs(struct loader *l, struct job *j);
/* recorded.c: what the jobkeeper wrote */
/* The file of a process's LOG_*; -1: there is none. The caller's. */
int loader_open_log(struct loader *l, const struct job *j, int log);
/* Look at `most` more bytes of its file: what is whole of it, and its lines. */
void recorded_look(struct loader *l, struct job *j, uint64_t most);
/* The same, of the n bytes at `offset`, which are at hand. */
void recorded_take(struct job *j, uint64_t offset, const uint8_t *p, size_t n);
/* Where the last whole record ends that begins before from + n; `from` itself, if that is later. */
uint64_t recorded_whole(int fd, uint64_t from, size_t n);
/* Bytes of a stream (LOG_OUT, LOG_ERR) from its own offset on. `at` is where to begin and moves on;
 * before it nothing of that is looked for. */
size_t recorded_read(int fd, struct logrec_reader *at, int stream, uint64_t offset, uint8_t *to,
                     size_t n);
/* A reader that has that offset before it. `size`: of the file. */
void recorded_find(int fd, uint64_t size, int stream, uint64_t offset, struct logrec_reader *ret);

/* probe.c: tries to connect to target servers */
void loader_probe_init(struct loader *l);
int loader_take_probe(struct loader *l, const Sirdar__Probe *m);
void loader_end_probe(struct loader *l); /* if its thread is done */

/* fence.c */
void loader_fence_init(struct loader *l);
void loader_fence_arm(struct loader *l);
void loader_on_lease(void *ctx, uint32_t seq, int64_t deadline_us, const uint64_t *unknown,
                     size_t n);
void loader_tick_arm(struct loader *l); /* while there are jobs, once a second */

/* say.c */
/* A line for the broker: "ready", "refused" and "stuck", each with more, "ending" and "over"; and
 * "alive MS", again and again once it is ready: after a silence of MS the broker ends us;
 * and "jobs N" when the number of jobs in this process has changed. */
__attribute__((format(printf, 2, 3))) void loader_say(const struct loader *l, const char *fmt, ...);

/* stuck.c: around each call of the plugin on the session thread. One that takes longer than
 * loader_call_ms ends the process, which is told to the broker as a crash. */
void loader_call_begin(struct loader *l, const char *what);
void loader_call_end(struct loader *l);
int loader_watch_calls(struct loader *l, struct err *err);
void loader_unwatch_calls(struct loader *l);

/* loader.c */
struct loader_args {
	const char *type, *plugin_path;
	const char *version, *sha256; /* what the plugin must be; NULL: anything */
	const char *settings_file;    /* of -c; NULL: none */
	/* A version: no plugin is loaded; what its loader left in the jobkeeper is seen to its
	 * end. NULL: an ordinary loader. */
	const char *heir_of;
	uint32_t lane; /* broker/link/lane.h */
	uint32_t slots;
	const char *key_socket; /* broker/link/delegate.h; NULL: it reads key_file itself */
	int status_fd;          /* where to say "ready ..." or "refused ..."; -1: nowhere */
	/* Hold the processes of guests (hold.h); NULL: nobody does. */
	int (*hold)(struct loader *l, struct guest_type *t, struct err *err);
};

/* Take no more, and end when nothing is left: no job, no report, no log, and no grant on its way;
 * however long that takes. Another version's loader works beside us. */
void loader_retire(struct loader *l);

/* Map and open the plugin, then work until loader_stop() has been obeyed. Blocks.
 *
 *   errors  those of plugin_map() and plugin_open(), the link's, the keeper's
 */
int loader_run(const struct param_taskbroker *settings, const struct loader_args *args,
               struct ev_loop *loop, struct loader **ret_loader, struct err *err);
/* Take no more work, let in-process jobs end within stop_ms, then return from loader_run().
 * Processes go on in the jobkeeper. Thread: the loop's. */
void loader_stop(struct loader *l);
/* Take over what may be; answers how many. NULL: nothing runs yet. Thread: the loop's.
 *   ret_restart  names of those that need a restart */
size_t loader_reload(struct loader *l, struct param_taskbroker *settings,
                     const struct param_taskbroker *fresh, struct buf *ret_restart);

#endif
