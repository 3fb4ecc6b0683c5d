/* job.h — one granted attempt inside the loader.
 *
 * A job belongs to the session thread, except while it is in the pool: then the job
 * thread has what is marked [job]. What is marked [shared] is guarded by shared.mu.
 */
#ifndef LOADER_JOB_H
#define LOADER_JOB_H

#include <sirdar/runner.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "broker/loader/lines.h"
#include "util/buf.h"
#include "util/lease_proof.h"
#include "util/logrec.h"
#include "util/mask.h"
#include "wire/report.h"

struct loader;
typedef struct Sirdar__Job Sirdar__Job;
typedef struct Sirdar__KeeperStart Sirdar__KeeperStart;

#define JOB_WORK_BYTES       64
#define JOB_OUTPUTS_MAX      64
#define JOB_OUTPUT_BYTES_MAX 65536 /* names and values of a job */
#define JOB_LOG_BYTES_MAX    (256u << 10)
#define JOB_TAIL_BYTES       4096

enum job_phase {
	JOB_FREE,
	JOB_QUEUED,  /* in the pool, or waits for a keeper */
	JOB_PROCESS, /* its process is in the keeper, or on its way there; no thread */
	JOB_ENDED,   /* reported until acknowledged */
	JOB_ACKED,   /* its output is not all shipped yet; no longer held */
};

enum job_stage { /* what the next turn on a thread begins with */
	         STAGE_PREPARE,
	         STAGE_EXECUTE,
	         STAGE_FINISH,
};

enum job_due { /* what the next round has to report */
	       DUE_STARTED = 1,
	       DUE_KILL_ACK = 4,
	       DUE_END = 8,
	       DUE_HANGED = 16,
};

/* lib/sched has the same numbers; a loader schedules nothing. */
enum job_reason {
#define REASON(name, num, lower, text) REASON_##name = (num),
#include "tbl/reason.def"
#undef REASON
};

/* A process a job asked for; owned by the job until it has ended. */
struct start {
	Sirdar__KeeperStart *message;
	bool is_sent, is_answered;
};

struct job_pair {
	char *name, *value;
};

/* Its logs: standard output, standard error, and the records of both. Either the first two are
 * shipped, or the third. */
enum { LOG_OUT, LOG_ERR, LOG_RECORDS, LOGS };

/* How a job in this process says what it says: settled with its first word. */
enum job_says { SAYS_NOTHING, SAYS_STREAMS, SAYS_RECORDS };

/* What a job says about itself besides its result: output of an in-process job. */
struct job_log {
	struct buf text;         /* [shared] not yet acknowledged; in-process jobs only */
	struct buf tail;         /* [shared] the end of it, for the digest of a failure */
	uint64_t dropped;        /* [shared] bytes that found no room since */
	uint64_t acked;          /* offset up to which the server has it */
	uint64_t sent;           /* bytes in flight after it */
	uint64_t size;           /* of the file, once the process has ended */
	struct logrec_reader at; /* of a stream that is read out of records: how far */
	struct mask_stream mask; /* [shared] */
	bool in_flight, is_over;
	bool end_in_flight; /* what is in flight is the last of it */
};

struct job {
	struct runner_job pub; /* first: the plugin's pointer is ours */
	struct loader *loader;
	struct job *next;       /* in the pool's lists */
	struct job *dirty_next; /* among those with something to report */
	struct job *ship_next;  /* among those whose output is looked after */
	struct job *text_next;  /* [shared] among those with new text */
	uint32_t index;
	uint8_t phase, due, stage;
	bool is_dirty, is_shipping, has_started, keep_on_server_lost;
	bool is_probe;   /* no job of the server's: probe.c */
	bool is_adopted; /* its process was started by an earlier loader */
	bool has_slot;
	bool kill_seen;  /* a KILL came for it; acknowledged again after a reconnect */
	bool was_inline; /* prepare() may have run on the session thread */
	bool in_keeper;  /* the keeper may know the token */
	uint64_t kill_grace_us;
	uint32_t kill_intent;
	bool is_process; /* it has, or had, a process in the keeper */
	bool is_waited;  /* a job thread waits for that process */
	bool has_said;   /* its runner, in that process, said how it ended: process_result */
	bool is_listed;  /* the keeper named it in the list that is coming in */
	bool is_hanged;
	bool has_no_lease;     /* the server does not know the token */
	uint32_t entered_seq;  /* beats sent before it came do not list it */
	int64_t lease_us;      /* CLOCK_BOOTTIME */
	int64_t grace_end_us;  /* killed in-process job: then it counts as hanged */
	int64_t report_us;     /* when its end was last reported */
	uint32_t seq, end_seq; /* of its reports */

	/* The grant's text and parameters: one block, kept from job to job. */
	char *store;
	size_t store_cap;
	const char *project; /* "": the server is a release older */
	const char **params; /* name, value, name, value */
	uint32_t n_params;
	int64_t created_us; /* of the instance, UTC */
	struct lease_proof proof;
	bool is_again; /* an earlier attempt was granted */

	/* [job] */
	void *state;
	struct runner_result result;
	int answer;          /* of execute() */
	uint8_t report_kind; /* how it ended, an enum report_kind */
	uint8_t reason;      /* an enum job_reason */
	uint8_t unplaced;    /* why nobody here may be its user, a reason; 0: somebody is */
	uint8_t cut_short;   /* why the keeper ended its process unasked, a reason; 0: it did not */
	struct start *start; /* the process it asks for */
	struct job_pair *outputs; /* [shared] */
	struct job_pair *given;   /* [shared] secrets it was told when it asked */
	uint32_t n_given;
	uint32_t n_outputs;
	size_t output_bytes;

	int64_t started_us, ended_us;
	uint32_t progress_sent;
	uint64_t pid, cpu_us, rss_max_bytes;

	_Atomic bool is_cancelled, was_fenced, has_logged;
	_Atomic int64_t begun_us;            /* a thread has begun it; wall clock */
	bool is_executing;                   /* [kill_mu] */
	struct job *start_next;              /* [shared] */
	struct runner_result process_result; /* [shared] */
	_Atomic uint32_t progress;           /* permille + 1 */
	pthread_cond_t cv;         /* [shared] cancelled, answered, or its process is over */
	bool process_over;         /* [shared] */
	bool has_text;             /* [shared] in loader.texts */
	struct mask *mask;         /* [shared] the secrets it was told; NULL: none */
	char *progress_text;       /* [shared] */
	char *no_secret;           /* [shared] it asked for one that cannot be had: why; or NULL */
	_Atomic uint8_t says;      /* an enum job_says */
	int64_t lost_ms;           /* [shared] when its records first found no room */
	struct logrec_place place; /* [shared] of its records, where the next one goes */
	struct logrec_reader seen; /* of its process's records: those that are whole; of its own:
	                            * those that the server has */
	bool is_recorded;          /* its process's output is one file of records */
	struct job_log logs[LOGS];
	struct lines lines;      /* of a process's standard output */
	struct failure *failure; /* why it ended badly; NULL: it did not, or has not ended */
};

static inline struct job *job_of(const struct runner_job *pub)
{
	return (struct job *)(uintptr_t)pub;
}

/* Is that log one of those that the server gets? Thread: session. */
bool job_ships(const struct job *j, int log);
/* The server has all of its output. Thread: session. */
bool job_is_shipped(const struct job *j);

/* Only the keeper can tell its end: its process is there, or asked for. */
bool job_is_running_process(const struct job *j);
void start_free(struct start *s); /* NULL is fine */
/* The one way from a phase to the next, but for job_clear(). Thread: session. */
void job_move(struct job *j, enum job_phase to);
/* Copy a grant into a fresh job. */
void job_fill(struct job *j, const Sirdar__Job *grant);
/* Let go of everything but the block that is kept. */
void job_clear(struct job *j);
const char *job_param(const struct job *j, const char *name); /* NULL: none */
/* What its work is called in other systems: the same for all attempts of an instance, and for no
 * other instance, of other servers neither; small letters, digits and '-'. */
void job_work_id(const struct job *j, char ret[JOB_WORK_BYTES]);
/* It was told that secret: nothing that it says will show it. Under loader.mu. */
void job_hide(struct job *j, const char *value);
/* The text with its secrets hidden, to be freed. Under loader.mu. */
char *job_masked(const struct job *j, const char *text);
/* Text for LOG_OUT or LOG_ERR. Under loader.mu. */
void job_say(struct job *j, int log, const char *text, size_t len);
/* The server knows no records: what it has not got goes as streams. Under loader.mu. */
void job_say_streams(struct job *j);
/* Up to `acked` the server has its records. Under loader.mu. */
void job_said_records(struct job *j, uint64_t acked);
/* Has room come for what was lost? Then its records say what was. Under loader.mu. */
void job_say_lost(struct job *j);
/* It says no more: its log is whole, and its result shows no secret. Thread: session. */
void job_said(struct job *j);
/* Set or replace an output. 0, RUNNER_E_INVALID, RUNNER_E_LIMIT. Under loader.mu. */
int job_output(struct job *j, const char *name, const char *value);
/* `text` NULL: as it was. Thread: any, not under loader.mu. */
void job_progress(struct job *j, uint32_t permille, const char *text);
/* One line, cut to size, fit to travel. */
void result_set_text(struct runner_result *r, const char *text);

#endif
