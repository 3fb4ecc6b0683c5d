/* span.h — the options of commands over files and a span of dates. */
#ifndef CLI_SPAN_H
#define CLI_SPAN_H

#include "admin-console/cli/base/verb.h"
#include "admin-console/cli/documents/files.h"

extern const struct opt span_options[];
void span_check(struct asked *q, struct argp_state *state);

#endif
