/* spans.h — an instance's history as OTLP spans, in JSON: the instance, its attempts, its run. */
#ifndef NOTIFIER_SPANS_H
#define NOTIFIER_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "sched/instance.h"
#include "store/read.h"

struct buf;

/* `task`: its whole name; events oldest first, of its present generation. Appends the spans of the
 * instance and of each attempt. Returns how many. */
size_t spans_instance(struct buf *out, const char *task, const struct instance *i,
                      const struct read_event *events, size_t n);

/* A run that is over: from the first row made to the last end. */
struct span_run {
	const char *task; /* one of its tasks: whole name */
	int64_t run_date, began_us, ended_us;
	size_t instances, failed;
};
void spans_run(struct buf *out, const struct span_run *r);

/* The whole request around spans that were appended to one buffer. */
void spans_request(struct buf *out, const char *service, const struct buf *spans);

#endif
