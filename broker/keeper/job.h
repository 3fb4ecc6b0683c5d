/* job.h — one token the keeper knows. */
#ifndef KEEPER_JOB_H
#define KEEPER_JOB_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/keeper/limiter.h"
#include "keeper.pb-c.h"
#include "util/heap.h"
#include "util/lease_proof.h"
#include "util/logrec.h"
#include "util/mask.h"

struct keeper;
struct launch;

/* Numbers are on the wire (KeeperJob.state).
 *
 *   STARTING --> RUNNING --> KILLING --> ENDED, LOST
 *       |                      `--> HANGED --> ENDED, LOST
 *       `--> NOT_STARTED                             */
enum job_state {
	JOB_STARTING = 1, /* its marker is or will be on disk */
	JOB_RUNNING = 2,
	JOB_KILLING = 3, /* also: the main process is gone, strays are being killed */
	JOB_ENDED = 4,
	JOB_NOT_STARTED = 5,
	JOB_LOST = 6,
	JOB_HANGED = 7,
};

enum job_phase { PHASE_NONE, PHASE_TERM, PHASE_KILL };
enum job_why { WHY_ITSELF, WHY_ASKED, WHY_LEASE, WHY_STOP };

/* How much is kept: of a stream, or of both where they are recorded together. */
struct output_limit {
	uint64_t credit; /* bytes the rate allows now */
	int64_t credit_us;
	bool is_capped;
};

/* One of a job's two outputs: a pipe here, a file there, or records in a file that both share. */
struct output {
	struct ev_io io; /* fd -1: closed */
	struct job *job;
	int number;       /* 1 stdout, 2 stderr */
	int file;         /* -1: not open */
	uint64_t bytes;   /* kept */
	uint64_t dropped; /* in all */
	uint64_t gap;     /* dropped since the last byte that was kept: no space */
	uint64_t hurry;   /* dropped since the last byte that was kept: over the rate */
	int64_t gap_ms;   /* when the first of them was; 0: not known */
	int64_t hurry_ms;
	struct output_limit limit;
	bool has_no_file;         /* for sure: it was never made */
	struct output *next_slow; /* those read by the clock, not when ready */
	bool is_slow;
	struct mask_stream mask;
};

/* The file of a job's records. */
struct record {
	int file; /* -1: not open */
	struct logrec_place w;
	struct output_limit limit;
	char *begins; /* said before anything else; NULL: said, or nothing is */
};

struct job {
	uint32_t slab_link; /* the slab's while this place is free */
	struct keeper *keeper;
	uint64_t token;
	char *type;
	uint32_t task_id, generation, attempt;
	int64_t run_date, started_us;
	struct lease_proof proof;
	int32_t part;
	enum job_state state;
	pid_t pid;          /* stays after the end */
	uint64_t group;     /* of tree.h; 0: none, or a former keeper's */
	uint64_t pid_ticks; /* 0: not asked */
	bool has_no_files;  /* for sure: it was given none */
	bool is_main_done, is_keep, is_foreign, is_fenced, is_hang_told, is_settling;
	enum job_phase phase;
	uint64_t grace_us, fence_kill_us, deadline_us;
	struct group_limits limits;
	int64_t phase_us, hang_us, step_us; /* CLOCK_BOOTTIME */
	struct heap_node due;
	uint32_t at;           /* in the slab */
	uint64_t owner, turn;  /* of its start: its project, and when it is this one's turn */
	struct launch *launch; /* until started */
	char *start_text;      /* why not started */
	int start_code;
	Sirdar__KeeperExited end;
	struct mask *mask; /* what its output must not show; NULL: nothing */
	struct output out, err;
	bool is_recorded;      /* its output is one file of records */
	bool has_no_record;    /* for sure: that was never made */
	struct record *record; /* of a job of this keeper that is not over; NULL: none */
};

/* The one way from a state to the next, but for what a journal or a former image says. */
void job_move(struct job *job, enum job_state to);

/* It has ended, one way or another. */
static inline bool job_is_over(const struct job *job)
{
	return job->state == JOB_ENDED || job->state == JOB_NOT_STARTED || job->state == JOB_LOST;
}

#endif
