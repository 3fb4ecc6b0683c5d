/* request.h — an HTTP request as a task's parameters say it, and what its answer must be: the http
 * runner, and the sensor that asks.
 */
#ifndef RUNNERS_REQUEST_H
#define RUNNERS_REQUEST_H

#include <stdbool.h>

#include "runners/common/fetch.h"
#include "runners/common/run.h"

#define REQUEST_HEADERS_MAX 100

struct request {
	struct fetch what; /* points into what follows */
	char *url, *body, *user, *password, *bearer, *ca_file, *expect_status, *expect_text;
	char method[12];
	char *headers[REQUEST_HEADERS_MAX + 1];
	struct cJSON *expect_json, *outputs;
	bool logs_body;
};

/* Read the parameters into a zeroed request. 0, or RUNNER_FAILED: the result says what is wrong.
 * End it with request_done() either way. */
int request_read(const struct run *r, struct request *q);
/* The secrets it names, asked of the server. The same answers. */
int request_secrets(const struct run *r, struct request *q);
void request_done(struct request *q);

/* Log the answer, hold it against what is expected, give outputs. The result says how it is:
 * exit_code 0 when all is well. */
void request_judge(const struct run *r, const struct request *q, const struct answer *a);

#endif
