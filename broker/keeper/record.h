/* record.h — the records of a job: both its streams and what is said of it, in one file, in the
 * order in which they came here (util/logrec.h).
 *
 * Without space a record is dropped whole and nothing of it stays. The file appears with the first
 * record. Whoever reads it meanwhile takes whole records only: what is torn may be written anew.
 */
#ifndef KEEPER_RECORD_H
#define KEEPER_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "broker/keeper/job.h"

struct outputs;

/* Of a job that has printed nothing yet, or of a former image. `begins` NULL or "": nothing is said
 * first. */
void record_begin(struct job *job, const char *begins);
/* How many of the bytes are kept. */
size_t record_put(struct outputs *o, struct job *job, int stream, const uint8_t *p, size_t n);
/* A line of ours about the job; nothing where it has no records. */
__attribute__((format(printf, 3, 4))) void record_say(struct outputs *o, struct job *job,
                                                      const char *fmt, ...);
/* What killed it, as far as the keeper knows. */
void record_say_kill(struct outputs *o, struct job *job, enum job_why why, uint64_t grace_us);
void record_say_end(struct outputs *o, struct job *job);
/* There is nothing more: how many bytes the file has, also one of a former keeper. */
uint64_t record_end(struct outputs *o, struct job *job);
void record_free(struct job *job);

enum { RECORD_TIME_BYTES = 32 };
int64_t record_now_ms(void);
/* "2026-11-24 05:46:11.120" */
void record_time(int64_t ms, char ret[RECORD_TIME_BYTES]);

#endif
