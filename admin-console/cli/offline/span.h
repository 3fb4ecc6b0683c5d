/* span.h — the options of commands over files and a span of dates. */
#ifndef CLI_SPAN_H
#define CLI_SPAN_H

#include "admin-console/cli/base/verb.h"
#include "admin-console/cli/documents/files.h"

extern const struct opt span_options[];
void span_check(struct asked *q, struct argp_state *state);
/* What --from and --to, or --date, mean to each task. False, and a line on stderr: no dates. */
bool span_read(const struct asked *q, const struct workflow_files *f, struct link_span **ret_spans);

#endif
