/* conformance.h — sirdar-runner-conformance: every promise of runner.h, tried on a plugin.
 *
 * Each scenario runs in a process of its own (main.c), so that a crash or a hang is a finding.
 * Parts: findings.c (what was found), scenarios.c (what is done), led.c (a job, led as a broker
 * does), host.c (what the plugin calls), guard.c (memory that tells who touches it), traces.c (what
 * is left behind), shape.c (the file and its struct).
 */
#ifndef SDK_CONFORMANCE_H
#define SDK_CONFORMANCE_H

#include <pthread.h>
#include <sirdar/runner.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "plugins-sdk/run/run.h"

enum promise {
#define PROMISE(id, text) P_##id,
#include "plugins-sdk/conformance/promises.def"
#undef PROMISE
	PROMISES
};

enum call {
	CALL_ENTRY,
	CALL_OPEN,
	CALL_PREPARE,
	CALL_EXECUTE,
	CALL_FINISH,
	CALL_KILL,
	CALL_DRAIN,
	CALL_CLOSE,
	CALLS
};

enum { FINDING_BYTES = 256, JOBS_MAX = 1024, PARALLEL = 64, ROUND_JOBS = 50, ROUNDS = 4 };
enum { NEWER_BYTES = 64, NEWER_POISON = 0xA5 };

/* What was found; in memory that the scenario's process shares with ours. */
struct report {
	struct {
		_Atomic bool is_seen, is_broken;
		char text[FINDING_BYTES];
	} promises[PROMISES];
	_Atomic int inside[CALLS];
	_Atomic bool is_given_up; /* the scenario ended itself: its finding says why */
	char about[FINDING_BYTES];
	bool is_mapped;    /* the struct may be looked at */
	int32_t exit_code; /* of the job led alone */
	uint32_t verdict;
	bool is_known;    /* the two above */
	bool has_process; /* the job alone spawned one */
};

/* What the command line said. */
struct plan {
	const char *plugin, *job_file, *long_file;
	long limit_s;
	struct run job, longer; /* as read; parameters are shared by all jobs */
};

struct traces {
	size_t threads, descriptors;
};

struct check;

/* One job. The plugin's pointers lead to pages of their own. */
struct led {
	struct run run; /* what the kit's own host works on */
	struct check *check;
	struct runner_job *job;
	struct runner_result *result;
	uint8_t *pages;
	void *state;
	int answer;
	pthread_t thread;
	pid_t tid;
	int64_t host_us; /* spent in the host */
	bool is_prepared, has_spawned, has_waited, is_patient, is_newer, is_left;
	_Atomic bool is_finished;
};

struct check {
	const struct plan *plan;
	struct report *report;
	const char *scenario;
	const struct runner_plugin *plugin;
	struct runner_host *host, base; /* ours in a page of its own; the kit's */
	uint8_t *host_pages;
	void *self;
	struct led *jobs;
	_Atomic uint32_t n_jobs;
	struct traces before;
	bool is_open, is_newer;
	pid_t control;
};

/* --- findings.c. Thread: any. */
__attribute__((format(printf, 3, 4))) void broke(struct check *c, enum promise p, const char *fmt,
                                                 ...);
void seen(struct check *c, enum promise p);
void enter(struct check *c, enum call call);
void leave(struct check *c, enum call call);
/* End the scenario here: what was found is told, threads may be inside the plugin. */
_Noreturn void give_up(struct check *c);
const char *call_name(enum call call);

/* --- shape.c */
/* The file's exported names, without loading it. */
void shape_exports(struct check *c);
/* Load it, look at the struct; false: it cannot be used. */
bool shape_map(struct check *c);

/* --- host.c: host_open() makes check's host; one check a process. */
void host_open(struct check *c, bool newer);

/* --- guard.c */
void guard_install(struct check *c);
/* `bytes` at the very end of a page, what follows may not be touched. *ret_pages: two. */
void *guard_place(uint8_t *pages, size_t bytes);
uint8_t *guard_pages(size_t n);
void guard_protect(void *in_page, bool writable);
void guard_close(uint8_t *pages, size_t n); /* nobody may touch them any more */
enum { GUARD_JOB_PAGES = 4 };

/* --- led.c */
struct led *led_new(struct check *c, const struct run *from);
void led_start(struct led *j); /* on a thread of its own */
/* Prepare and execute here, as a loader's session thread does; true: the call blocked. A job
 * that answered RUNNER_THREAD or RUNNER_PROCESS goes on with led_start(). */
bool led_inline(struct led *j);
void led_finish(struct led *j);
void led_close(struct led *j);                 /* after the last call: its memory is gone */
bool led_is_inside(struct led *j, int64_t us); /* in execute, or has a process; else over */
/* To its end: tell it to stop after so long. Gives up when it does not come back. */
void led_lead(struct led *j, int64_t us);
int led_execute(struct led *j);

/* --- traces.c */
struct traces traces_now(void);
void traces_compare(struct check *c); /* after close; waits for threads on their way out */
size_t traces_heap_bytes(void);
void manners_before(void);
void manners_compare(struct check *c);
void children_compare(struct check *c);

/* --- scenarios.c */
struct scenario {
	const char *name;
	void (*run)(struct check *c);
	bool needs_job; /* left out once jobs are known to crash or hang */
};
extern const struct scenario scenarios[];
extern const size_t n_scenarios;

#endif
