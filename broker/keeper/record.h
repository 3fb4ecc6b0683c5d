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

/* Of a job that has printed nothing yet, or of a former image. `begins` NULL or "": nothing is said
 * first. */
void record_begin(struct job *job, const char *begins);
/* How many of the bytes are kept. */
size_t record_put(struct job *job, int stream, const uint8_t *p, size_t n);
/* A line of ours about the job; nothing where it has no records. */
__attribute__((format(printf, 2, 3))) void record_say(struct job *job, const char *fmt, ...);
/* What killed it, as far as the keeper knows. */
void record_say_kill(struct job *job, enum job_why why, uint64_t grace_us);
void record_say_end(struct job *job);
/* There is nothing more: how many bytes the file has, also one of a former keeper. */
uint64_t record_end(struct job *job);
void record_free(struct job *job);

int64_t record_now_ms(void); /* UTC */

#endif
