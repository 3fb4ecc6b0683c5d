/* trace.h — names of runs, instances and attempts as OpenTelemetry has them, by W3C Trace Context.
 *
 * Made from what everybody knows of an attempt, so that broker, exporter and a person with
 * sha256sum come to the same: the first 16 (trace) or 8 bytes (spans) of SHA-256 over
 *
 *   trace, run   "run\n" WORKFLOW "\n" RUN_DATE "\n"     (the span: "run span\n" ...)
 *   instance     "instance\n" TASK "\n" RUN_DATE "\n" PART "\n" GENERATION "\n"
 *   attempt      "attempt\n" TASK "\n" RUN_DATE "\n" PART "\n" TOKEN "\n"
 *
 * TASK is the whole name, project/workflow/task; WORKFLOW that without its last part; RUN_DATE in
 * seconds since 1970 UTC; TOKEN the fence token. Thread: any.
 */
#ifndef WIRE_TRACE_H
#define WIRE_TRACE_H

#include <stdint.h>

enum { TRACE_PARENT_MAX = 56 };

struct trace_of {
	const char *task;
	int64_t run_date;
	int32_t part;
	uint32_t generation;
	uint64_t token;
};

/* Hexadecimal. */
void trace_id(const struct trace_of *o, char ret[33]);
void trace_run(const struct trace_of *o, char ret[17]);
void trace_instance(const struct trace_of *o, char ret[17]);
void trace_attempt(const struct trace_of *o, char ret[17]);

/* The header `traceparent` for what the attempt starts: "00-TRACE-ATTEMPT-01". */
void trace_parent(const struct trace_of *o, char ret[TRACE_PARENT_MAX]);

#endif
