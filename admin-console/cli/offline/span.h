/* span.h — the options of commands over files and a span of dates. */
#ifndef CLI_SPAN_H
#define CLI_SPAN_H

#include "admin-console/cli/documents/files.h"

struct span_question {
	struct words files;
	const char *from, *to, *zone, *durations;
};

/* For `own` of cli_parse(); its input is a struct span_question. */
extern const struct argp span_argp;

#endif
