/* logkeeper.h — what jobs print: chunks by offset in, ranges and tails out (LogServer).
 *
 * Bodies are plain files below log_dir, named by numbers only. A chunk that comes again
 * is written to the same place: repeating is harmless. An end mark says nothing follows.
 */
#ifndef BASESERVER_LOGKEEPER_H
#define BASESERVER_LOGKEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/actor.h"
#include "sched/instance.h"

struct err;
struct logkeeper;
struct thread;

struct logkeeper_settings {
	const char *dir;       /* borrowed; made with 0700 */
	int64_t job_bytes_max; /* per stream of an attempt; what is beyond is dropped */
	int64_t retention_us;
};

/* Which output: one stream of one attempt. */
struct log_name {
	struct inst_key key;
	uint32_t generation, attempt; /* reading: 0 is the last one */
	uint32_t stream;              /* 1 stdout, 2 stderr */
};

/* Executions of one attempt share a log: after a failure of a machine the attempt's number is the
 * same. It belongs to the execution with the largest token, and begins anew with that one's first
 * word; what an earlier one sends then is E_STALE. */
enum log_rule {
	LOG_HOLDER, /* its lease is live, or it has reported its end */
	LOG_TAIL,   /* nobody remembers its lease: only the rest of what is its own by .owner */
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
	uint64_t have; /* answer: bytes kept without a hole; the sender may forget them */
	int code;
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
	bool end; /* answer: nothing follows what was given */
	int code;
	char text[128];
	uint8_t *data; /* answer: heap */
	size_t bytes;
};
void log_get_free(struct log_get *g);

int logkeeper_new(struct thread *th, const struct logkeeper_settings *set,
                  struct logkeeper **ret_keeper, struct err *err);
void logkeeper_free(struct logkeeper *k); /* NULL is fine */
struct actor *logkeeper_actor(struct logkeeper *k);
struct log_survey;
/* What the next retention would take, as far as it can be counted in LOGKEEPER_SURVEY_MS.
 * `self`: the logkeeper. Thread: its own. */
enum { LOGKEEPER_SURVEY_MS = 2000 };
void logkeeper_survey(void *self, struct log_survey *ret);
int logkeeper_put(struct logkeeper *k, struct log_put *p); /* thread: any */
int logkeeper_get(struct logkeeper *k, struct log_get *g); /* thread: any */

#endif
