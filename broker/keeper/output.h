/* output.h — what jobs print: from a pipe to a file, up to a cap.
 *
 * A pipe and not the file itself, so that a full disk or a reached cap is the keeper's
 * trouble: the job's writes go on to succeed. Past the cap or without space bytes are
 * read at a bounded rate and dropped, and counted. Files appear with the first byte. What comes
 * faster than the rate (one second of it in advance) is dropped and counted too.
 */
#ifndef KEEPER_OUTPUT_H
#define KEEPER_OUTPUT_H

#include <ev.h>
#include <stdint.h>

#include "broker/keeper/job.h"

struct err;
struct outputs;

struct outputs *outputs_new(struct ev_loop *loop, const char *logs_dir, bool is_shared);
void outputs_free(struct outputs *o);
uint64_t outputs_bytes_max(const struct outputs *o);
/* From now on. bytes_a_second 0: any. */
void outputs_set_limits(struct outputs *o, uint64_t bytes_max, uint64_t bytes_a_second);

void output_init(struct output *x, struct job *job, int number);
/* Make the pipe; *ret_write is the job's end. E_LIMIT */
int output_open(struct outputs *o, struct output *x, int *ret_write, struct err *err);
/* Go on with a pipe of the former image. */
void output_resume(struct outputs *o, struct output *x, int fd);
/* The processes are gone: take what is in the pipe, close. */
void output_finish(struct outputs *o, struct output *x);
/* Close without reading (not started). */
void output_drop(struct outputs *o, struct output *x);
void output_remove(struct outputs *o, const struct job *job);

#endif
