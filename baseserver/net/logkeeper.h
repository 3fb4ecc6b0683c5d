/* logkeeper.h — what jobs print: chunks by offset in, ranges and tails out (LogServer).
 *
 * What is kept is in segments (logs/logs.h) below log_dir; files of releases before that are read
 * (logkeeper_files.h). A chunk that comes again changes nothing. An end mark says nothing follows.
 * A chunk is answered when it is on the disk: what was acknowledged survives a crash and a loss of
 * power.
 */
#ifndef BASESERVER_LOGKEEPER_H
#define BASESERVER_LOGKEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/actor.h"
#include "sched/instance.h"

struct err;
struct carrier;
struct log_home_figures;
struct logkeeper;
struct thread;

struct logkeeper_settings {
	const char *dir;       /* borrowed; made with 0700 */
	int64_t job_bytes_max; /* of records, or of each stream; what is beyond is dropped */
	int64_t retention_us;
	int64_t segment_us; /* a segment is closed when it is so old */
	/* The home of closed segments; NULL: they stay here. */
	const char *home;              /* its address */
	struct carrier *ships, *reads; /* borrowed */
	int64_t here_us;               /* how long what is there stays here, too */
	uint64_t wait_bytes_max;       /* of closed segments that are not there */
	uint64_t cache_bytes;          /* of what is fetched from there */
};

/* Which output: one stream of one execution of an attempt. */
struct log_name {
	struct inst_key key;
	uint32_t generation, attempt; /* reading: 0 is the last one */
	uint32_t stream;              /* of log_stream.def */
	uint64_t token;               /* reading: 0 is the execution that counts */
};

/* Records of all that an execution printed (util/logrec.h); a broker of an earlier release ships
 * its streams apart instead. Who asks for records gets the attempt that printed last, also where
 * that has streams: there is no such log then (E_NOT_FOUND), and the answer names generation and
 * attempt. */
enum {
#define LOG_STREAM(word, number, text) LOG_STREAM_##word = number,
#include "tbl/log_stream.def"
#undef LOG_STREAM
	LOG_RECORDS = LOG_STREAM_records
};

/* The stream that a peer's number means: one it may name, else standard output. */
uint32_t log_stream_of(uint32_t number);

/* Executions of one attempt have the same number, after a failure of a machine, and logs of their
 * own, by token. The one that counts is that with the largest, from its grant on. */
enum log_rule {
	LOG_HOLDER, /* its lease is live, or it has reported its end, or a proof shows it was its */
	LOG_TAIL,   /* nobody remembers its lease: only the rest of what that broker has begun */
	LOG_CLAIM,  /* no chunk, no answer: a new execution of the attempt was granted */
};

/* A chunk; the very letter comes back through `answered` with `have` and code set. */
struct log_put {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	uint32_t session;
	uint64_t token;
	uint32_t broker; /* whose token it is, or says it is (LOG_TAIL) */
	enum log_rule rule;
	struct log_name name;
	uint64_t offset, dropped;
	bool end;
	uint64_t have; /* answer: bytes kept on disk; the sender may forget them */
	int code;
	struct log_put *next; /* the logkeeper's, until it is answered */
	size_t bytes;
	uint8_t data[];
};

/* A range, once or whenever there is more. Comes back (a new letter each time while it
 * follows) through `answered`; the receiver frees it. */
struct log_get {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	uint32_t session;
	uint64_t id;
	struct log_name name;
	uint64_t offset;
	uint32_t bytes_max;
	bool follow, cancel;
	uint32_t execution;      /* of the attempt, from 1 on; 0: the one that counts */
	bool is_lost;            /* the logkeeper's: a later execution counts, nothing follows */
	bool list;               /* no bytes: which executions there are */
	struct log_known *known; /* answer of `list`: heap, n_known */
	size_t n_known;
	bool is_of_one;  /* the logkeeper's: it named an execution, and stays with it */
	uint32_t parked; /* the logkeeper's: how often it waited for the home */
	bool is_judged;  /* the logkeeper's: which execution is meant is known */
	bool end;        /* answer: nothing follows what was given */
	int code;
	char text[128];
	uint8_t *data; /* answer: heap */
	size_t bytes;
};
void log_get_free(struct log_get *g);

/* What is kept of an execution. */
enum { LOG_STREAMS = 3, LOG_KNOWN_MAX = 1000 };
struct log_known {
	uint32_t generation, attempt, execution, broker;
	uint64_t bytes[LOG_STREAMS]; /* of streams 1.. */
	bool is_ended, counts;
};

int logkeeper_new(struct thread *th, const struct logkeeper_settings *set,
                  struct logkeeper **ret_keeper, struct err *err);
void logkeeper_free(struct logkeeper *k); /* NULL is fine */
struct actor *logkeeper_actor(struct logkeeper *k);
struct log_survey;
/* What the next retention would take, as far as it can be counted in LOGKEEPER_SURVEY_MS.
 * `self`: the logkeeper. Thread: its own. */
enum { LOGKEEPER_SURVEY_MS = 2000 };
void logkeeper_survey(void *self, struct log_survey *ret);
/* What is in the home and what waits for it; is_set false: there is none. Thread: any. */
void logkeeper_home(const struct logkeeper *k, struct log_home_figures *ret);
int logkeeper_put(struct logkeeper *k, struct log_put *p); /* thread: any */
int logkeeper_get(struct logkeeper *k, struct log_get *g); /* thread: any */

#endif
