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

#include "util/buf.h"

struct loader;
struct start;
typedef struct Sirdar__Job Sirdar__Job;

#define JOB_OUTPUTS_MAX      64
#define JOB_OUTPUT_BYTES_MAX 65536 /* one value */
#define JOB_LOG_BYTES_MAX    (256u << 10)

enum job_phase {
	JOB_FREE,
	JOB_QUEUED,  /* in the pool, or waits for a keeper */
	JOB_PROCESS, /* its process is in the keeper; no thread */
	JOB_ENDED,   /* reported until acknowledged */
};

enum job_due { /* what the next round has to report */
	DUE_STARTED = 1,
	DUE_PROGRESS = 2,
	DUE_KILL_ACK = 4,
	DUE_END = 8,
};

struct job_pair {
	char *name, *value;
};

/* What a job says about itself besides its result: output of an in-process job. */
struct job_log {
	struct buf text;  /* [shared] not yet acknowledged */
	uint64_t offset;  /* [shared] of text's first byte */
	uint64_t dropped; /* [shared] bytes that found no room since */
	bool in_flight, is_over;
};

struct job {
	struct runner_job pub; /* first: the plugin's pointer is ours */
	struct loader *loader;
	struct job *next;      /* in the pool's lists */
	struct job *dirty_next; /* among those with something to report */
	struct job *log_next;
	uint32_t index;
	uint8_t phase, due;
	bool is_dirty, is_logging, has_started, is_adopted, keep_on_server_lost;
	bool kill_seen;  /* a KILL came for it; repeat the acknowledgement after reconnect */
	bool was_fenced;
	bool is_process;   /* it has, or had, a process in the keeper */
	uint32_t seq, end_seq; /* of its reports */

	/* The grant's text and parameters: one block, kept from job to job. */
	char *store;
	size_t store_cap;
	const char **params; /* name, value, name, value */
	uint32_t n_params;

	/* [job] */
	void *state;
	struct runner_result result;
	int answer;          /* of execute() */
	uint8_t report_kind; /* how it ended: 3, 5 or 8 */
	uint8_t reason;
	struct start *start; /* the process it asks for */
	struct job_pair *outputs;
	uint32_t n_outputs;

	int64_t started_us, ended_us;
	uint64_t pid, cpu_us, rss_max_bytes;

	_Atomic bool is_cancelled, is_killed_called;
	_Atomic uint32_t progress; /* permille + 1 */
	pthread_cond_t cv;         /* [shared] cancelled, answered, or its process is over */
	bool process_over;         /* [shared] */
	char *progress_text;       /* [shared] */
	struct job_log logs[2];
};

static inline struct job *job_of(const struct runner_job *pub)
{
	return (struct job *)(uintptr_t)pub;
}

/* Copy a grant into a fresh job. */
void job_fill(struct job *j, const Sirdar__Job *grant);
/* Let go of everything but the block that is kept. */
void job_clear(struct job *j);
const char *job_param(const struct job *j, const char *name); /* NULL: none */
/* Set or replace an output. 0, RUNNER_E_INVALID, RUNNER_E_LIMIT. */
int job_output(struct job *j, const char *name, const char *value);

#endif
