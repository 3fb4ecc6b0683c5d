/* http.c — one HTTP request: README.md has the parameters.
 *
 * A job is a job thread that sleeps in its own curl_multi_poll(): small, and woken by kill().
 */
#include <stdlib.h>

#include "runners/common/fetch.h"
#include "runners/common/request.h"
#include "runners/common/run.h"

struct http_job {
	struct fetcher *fetcher;
	struct request request;
};

static int http_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                        void **ret_state)
{
	struct run r = run_of(job, result);
	struct http_job *h = calloc(1, sizeof *h);

	(void)self;
	*ret_state = h;
	if (!h || !(h->fetcher = fetcher_new()))
		return run_refuse(&r, "out of memory");
	return request_read(&r, &h->request) < 0 ? RUNNER_FAILED : RUNNER_DONE;
}

static int http_execute(void *self, void *state, const struct runner_job *job,
                        struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct http_job *h = state;
	struct answer answer;
	char why[RUNNER_TEXT_BYTES];

	(void)self;
	if (request_secrets(&r, &h->request) < 0)
		return RUNNER_FAILED;
	int code = fetch_run(h->fetcher, &r, &h->request.what, &answer, why, sizeof why);

	if (code < 0)
		fetch_end(&r, code, why);
	else
		request_judge(&r, &h->request, &answer);
	answer_done(&answer);
	return RUNNER_DONE;
}

static void http_kill(void *self, void *state, const struct runner_job *job)
{
	struct http_job *h = state;

	(void)self;
	(void)job;
	fetch_wake(h->fetcher);
}

static void http_finish(void *self, void *state, const struct runner_job *job,
                        struct runner_result *result)
{
	struct http_job *h = state;

	(void)self;
	(void)job;
	(void)result;
	if (!h)
		return;
	fetcher_free(h->fetcher);
	request_done(&h->request);
	free(h);
}

RUN_PLUGIN("http", .flags = RUNNER_NO_PROCESS, .open = fetch_open, .close = run_close,
           .prepare = http_prepare, .execute = http_execute, .finish = http_finish,
           .kill = http_kill);
