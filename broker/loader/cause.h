/* cause.h — why a job failed, read from what it printed: cheap, and only of jobs that failed. */
#ifndef LOADER_CAUSE_H
#define LOADER_CAUSE_H

#include <stddef.h>
#include <stdint.h>

struct failure;
struct job;
struct loader;

/* Of one task type, from its manifest. */
struct cause_pattern {
	const char *text; /* borrowed */
	uint8_t class;    /* enum failure_class */
};

#define CAUSE_PATTERNS_MAX 32

/* Its digest, once its result is final; the caller's. NULL: it did not fail. Thread: session. */
struct failure *cause_find(struct loader *l, struct job *j);

#endif
