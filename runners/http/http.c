/* http.c — one HTTP request: README.md has the parameters.
 *
 * A job is a job thread that sleeps in its own curl_multi_poll(): small, and woken by kill().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/fetch.h"
#include "runners/common/probe.h"
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

/* --- a test of a target server -------------------------------------------------------- */

#define PROBE_MS 9000 /* where the host says nothing else */

/* Its host may be an address with a scheme and a path, or a name alone. NULL: it has none. */
static char *probe_url(const struct run *r)
{
	char *host = run_text(r, "server.host"), *port = run_text(r, "server.port"), *url = NULL;
	const char *scheme = host ? strstr(host, "://") : NULL, *name = scheme ? scheme + 3 : host;
	size_t n = name ? strcspn(name, "/?#") : 0;
	const bool has_port = !port || (name && memchr(name, ':', n));

	if (host && asprintf(&url, "%.*s%.*s%s%s%s", scheme ? (int)(name - host) : 7,
	                     scheme ? host : "http://", (int)n, name, has_port ? "" : ":",
	                     has_port ? "" : port, name + n) < 0)
		url = NULL;
	free(host);
	free(port);
	return url;
}

static int judge_answer(const struct run *r, const struct answer *a)
{
	char text[40];

	snprintf(text, sizeof text, "HTTP status %ld", a->status);
	return probe_end(r,
	                 a->status == 401 || a->status == 403 || a->status == 407
	                         ? RUNNER_PROBE_LOGIN
	                         : RUNNER_PROBE_CONNECTED,
	                 text);
}

static int try_fetch(const struct run *r, struct fetcher *f, const struct fetch *what)
{
	char why[RUNNER_TEXT_BYTES] = "";
	struct answer a = { 0 };
	int code = fetch_run(f, r, what, &a, why, sizeof why);
	int outcome = code == FETCH_OK ? judge_answer(r, &a)
	              : code == FETCH_REFUSED || code == FETCH_NO_POLICY
	                      ? probe_end(r, RUNNER_PROBE_POLICY, why)
	              : code == FETCH_LATE || code == FETCH_STOPPED
	                      ? probe_end(r, RUNNER_PROBE_LATE, why[0] ? why : "no answer in time")
	                      : probe_failed(r, why);

	answer_done(&a);
	return outcome;
}

/* Its own user and password, no redirect; a HEAD changes nothing there. */
static int http_probe(void *self, const struct runner_job *job, struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct fetcher *f = fetcher_new();
	char *url = probe_url(&r), *user = run_text(&r, "server.user"),
	     *password = run_text(&r, "secret.server.password"),
	     *ca_file = run_text(&r, "server.extra.ca_file");
	const struct fetch what = { .method = "HEAD",
		                    .url = url,
		                    .user = user,
		                    .password = user ? password : NULL,
		                    .ca_file = ca_file,
		                    .timeout_ms = PROBE_MS,
		                    .connect_ms = PROBE_MS,
		                    .answer_max = 65536 };
	int outcome = url && f ? try_fetch(&r, f, &what)
	                       : probe_end(&r, RUNNER_PROBE_OTHER, "the target has no host");

	(void)self;
	if (f)
		fetcher_free(f);
	run_forget(password);
	free(ca_file);
	free(user);
	free(url);
	return outcome;
}

RUN_PLUGIN("http", .flags = RUNNER_NO_PROCESS, .open = fetch_open, .close = run_close,
           .prepare = http_prepare, .execute = http_execute, .finish = http_finish,
           .kill = http_kill, .probe = http_probe);
