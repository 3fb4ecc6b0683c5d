/* probe.h — what the words of a client that could not connect mean. */
#ifndef RUNNERS_PROBE_H
#define RUNNERS_PROBE_H

#include "runners/common/run.h"

/* One of RUNNER_PROBE_..., never CONNECTED; the result says `why`. */
int probe_failed(const struct run *r, const char *why);
/* It is known what: the same. */
int probe_end(const struct run *r, int outcome, const char *why);

#endif
