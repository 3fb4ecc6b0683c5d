/* http.c — one HTTP request: README.md has the parameters.
 *
 * A job is a job thread that sleeps in its own curl_multi_poll(): small, and woken by kill().
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/fetch.h"
#include "runners/common/json.h"
#include "runners/common/run.h"

#define ANSWER_BYTES_MAX (64 << 20)
#define BODY_LOG_BYTES   65536u
#define HEADERS_MAX      100
#define DAY_MS           (86400 * 1000)

struct http_job {
	struct fetcher *fetcher;
	struct fetch what;
	char *url, *body, *user, *password, *bearer, *ca_file, *expect_status, *expect_text;
	char method[12];
	char *headers[HEADERS_MAX + 1];
	cJSON *expect_json, *outputs;
	bool logs_body;
};

static int http_open(const struct runner_host *lent, void **ret_self)
{
	return fetch_begin() < 0 ? -1 : run_open(lent, ret_self);
}

static int read_method(const struct run *r, struct http_job *h)
{
	static const char *const methods[] = { "GET",    "POST", "PUT",     "PATCH",
		                               "DELETE", "HEAD", "OPTIONS", NULL };
	size_t i;

	if (run_choice(r, "method", methods, &i) < 0)
		return RUNNER_FAILED;
	snprintf(h->method, sizeof h->method, "%s", methods[i]);
	h->what.method = h->method;
	return 0;
}

/* A line break would begin a header, or a request, of the value's own. */
static bool is_one_line(const char *text)
{
	return !strpbrk(text, "\r\n");
}

static int read_headers(const struct run *r, struct http_job *h)
{
	struct cJSON *map = NULL;
	const cJSON *item;
	size_t n = 0;
	int code = run_map(r, "headers", &map);

	cJSON_ArrayForEach(item, map)
	{
		struct text value = { 0 };

		json_text(item, &value);
		if (code == 0 && n == HEADERS_MAX)
			code = run_refuse(r, "parameter headers: more than %d", HEADERS_MAX);
		if (code == 0 && (!is_one_line(item->string) || !is_one_line(text_str(&value)) ||
		                  strchr(item->string, ':') || !item->string[0]))
			code = run_refuse(r, "parameter headers: '%.60s' is not a header",
			                  item->string);
		/* With a semicolon curl sends a header that is empty. */
		if (code == 0 && asprintf(&h->headers[n], "%s%s%s", item->string,
		                          value.len ? ": " : ";", text_str(&value)) >= 0)
			n++;
		text_done(&value);
	}
	cJSON_Delete(map);
	h->what.headers = (const char *const *)h->headers;
	return code;
}

static int read_limits(const struct run *r, struct http_job *h)
{
	int64_t redirects, answer_max;
	bool verifies;

	if (run_duration(r, "timeout", DAY_MS, 60000, &h->what.timeout_ms) < 0 ||
	    run_duration(r, "connect_timeout", DAY_MS, 10000, &h->what.connect_ms) < 0 ||
	    run_number(r, "redirects", 0, 20, 5, &redirects) < 0 ||
	    run_number(r, "answer_max", 1, ANSWER_BYTES_MAX, 1 << 20, &answer_max) < 0 ||
	    run_boolean(r, "tls_verify", true, &verifies) < 0 ||
	    run_boolean(r, "log_body", true, &h->logs_body) < 0)
		return RUNNER_FAILED;
	h->what.redirects_max = (unsigned)redirects;
	h->what.answer_max = (size_t)answer_max;
	h->what.is_unverified = !verifies;
	return 0;
}

/* Is a status in `200,201,300-399`? -1: that is no such list. */
static int in_ranges(const char *list, long status)
{
	int is = 0;

	for (const char *p = list; *p;) {
		char *end;
		long from = strtol(p, &end, 10), to = from;

		if (end == p || from < 100 || from > 599)
			return -1;
		if (*end == '-') {
			p = end + 1;
			to = strtol(p, &end, 10);
			if (end == p || to < from || to > 599)
				return -1;
		}
		is |= status >= from && status <= to;
		p = end + strspn(end, " ,");
		if (p == end && *p)
			return -1;
	}
	return is;
}

static int read_expectations(const struct run *r, struct http_job *h)
{
	h->expect_status = run_text(r, "expect_status");
	h->expect_text = run_text(r, "expect_text");
	if (h->expect_status && in_ranges(h->expect_status, 0) < 0)
		return run_refuse(r,
		                  "parameter expect_status is '%.60s', want statuses such as "
		                  "200,300-399",
		                  h->expect_status);
	if (run_list(r, "expect_json", &h->expect_json) < 0)
		return RUNNER_FAILED;
	return run_map(r, "outputs", &h->outputs);
}

static int http_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                        void **ret_state)
{
	struct run r = run_of(job, result);
	struct http_job *h = calloc(1, sizeof *h);

	(void)self;
	*ret_state = h;
	if (!h || !(h->fetcher = fetcher_new()))
		return run_refuse(&r, "out of memory");
	h->url = run_text(&r, "url");
	h->body = run_text(&r, "body");
	h->user = run_text(&r, "user");
	h->ca_file = run_text(&r, "ca_file");
	if (!h->url)
		return run_refuse(&r, "parameter url is missing");
	if (read_method(&r, h) < 0 || read_headers(&r, h) < 0 || read_limits(&r, h) < 0 ||
	    read_expectations(&r, h) < 0)
		return RUNNER_FAILED;
	h->what.url = h->url;
	h->what.body = h->body;
	h->what.body_bytes = h->body ? strlen(h->body) : 0;
	h->what.user = h->user;
	h->what.ca_file = h->ca_file;
	return RUNNER_DONE;
}

/* One named secret; it is an error when the task names one it may not have. */
static int read_secret(const struct run *r, const char *name, char **ret)
{
	char *named = run_text(r, name);
	int code = 0;

	*ret = named ? run_secret(r, name) : NULL;
	if (named && !*ret)
		code = run_refuse(r, "parameter %s: this task has no secret '%.80s'", name, named);
	free(named);
	return code;
}

static void log_answer(const struct run *r, const struct http_job *h, const struct answer *a)
{
	char shown[300];
	size_t len = a->body.len < BODY_LOG_BYTES ? a->body.len : BODY_LOG_BYTES;

	fetch_show(h->url, shown, sizeof shown);
	run_log(r, "%s %s: %ld, %zu bytes, %lld ms, %u redirects", h->method, shown, a->status,
	        a->body.len, (long long)a->took_ms, a->redirects);
	if (!h->logs_body || !len)
		return;
	r->host->log(r->job, RUNNER_STDOUT, a->body.at, len);
	r->host->log(r->job, RUNNER_STDOUT, "\n", a->body.at[len - 1] != '\n');
	if (len < a->body.len)
		run_log(r, "(%zu bytes more)", a->body.len - len);
}

static int check_json(const struct run *r, const struct http_job *h, const cJSON *root)
{
	char why[200];
	const cJSON *item;

	if (h->expect_json && !root)
		return run_end(r, RUNNER_BY_CODE, "the answer is no JSON");
	cJSON_ArrayForEach(item, h->expect_json)
	{
		if (!json_holds(root, item->valuestring, why, sizeof why))
			return run_end(r, RUNNER_BY_CODE, "expect_json: %s", why);
	}
	return 0;
}

/* Where an output's value comes from; false: there is none. */
static bool find_value(const struct answer *a, const cJSON *root, const char *from,
                       struct text *ret)
{
	if (!strcmp(from, "status")) {
		text_addf(ret, "%ld", a->status);
	} else if (!strcmp(from, "body")) {
		text_add(ret, text_str(&a->body), a->body.len);
	} else if (!strncmp(from, "header ", 7)) {
		return answer_header(a, from + 7, ret);
	} else {
		const cJSON *at = root ? json_at(root, from) : NULL;

		if (!at)
			return false;
		json_text(at, ret);
	}
	return true;
}

static int give_outputs(const struct run *r, const struct http_job *h, const struct answer *a,
                        const cJSON *root)
{
	const cJSON *item;
	int code = 0;

	cJSON_ArrayForEach(item, h->outputs)
	{
		struct text value = { 0 };
		const char *from = cJSON_IsString(item) ? item->valuestring : "";

		if (!find_value(a, root, from, &value)) {
			run_end(r, RUNNER_BY_CODE, "outputs: %.60s: the answer has no %.80s",
			        item->string, from);
			code = -1;
		} else if (r->host->output(r->job, item->string, text_str(&value)) < 0) {
			run_end(r, RUNNER_BY_CODE, "outputs: %.60s: %zu bytes are not taken",
			        item->string, value.len);
			code = -1;
		}
		text_done(&value);
		if (code < 0)
			break;
	}
	return code;
}

static int check_answer(const struct run *r, const struct http_job *h, const struct answer *a)
{
	const char *want = h->expect_status ? h->expect_status : "200-299";
	cJSON *root = NULL;
	int code = 0;

	log_answer(r, h, a);
	if (in_ranges(want, a->status) != 1)
		return run_end(r, RUNNER_BY_CODE, "status %ld, want %.80s", a->status, want);
	if (h->expect_text &&
	    !memmem(text_str(&a->body), a->body.len, h->expect_text, strlen(h->expect_text)))
		return run_end(r, RUNNER_BY_CODE, "the answer does not contain '%.80s'",
		               h->expect_text);
	if (h->expect_json || h->outputs)
		root = cJSON_ParseWithLengthOpts(text_str(&a->body), a->body.len + 1, NULL, 1);
	r->result->exit_code = 0;
	code = check_json(r, h, root);
	if (r->result->exit_code == 0)
		code = give_outputs(r, h, a, root);
	cJSON_Delete(root);
	(void)code;
	return RUNNER_DONE;
}

static int http_execute(void *self, void *state, const struct runner_job *job,
                        struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct http_job *h = state;
	struct answer answer;
	char why[RUNNER_TEXT_BYTES];

	(void)self;
	if (read_secret(&r, "password", &h->password) < 0 ||
	    read_secret(&r, "bearer", &h->bearer) < 0)
		return RUNNER_FAILED;
	h->what.password = h->password;
	h->what.bearer = h->bearer;
	int code = fetch_run(h->fetcher, &r, &h->what, &answer, why, sizeof why);

	code = code < 0 ? fetch_end(&r, code, why) : check_answer(&r, h, &answer);
	answer_done(&answer);
	return code;
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
	run_forget(h->password);
	run_forget(h->bearer);
	for (size_t i = 0; h->headers[i]; i++)
		run_forget(h->headers[i]);
	cJSON_Delete(h->expect_json);
	cJSON_Delete(h->outputs);
	free(h->url);
	free(h->body);
	free(h->user);
	free(h->ca_file);
	free(h->expect_status);
	free(h->expect_text);
	free(h);
}

static const struct runner_plugin plugin = {
	.size = sizeof plugin,
	.abi_major = RUNNER_ABI_MAJOR,
	.abi_minor = RUNNER_ABI_MINOR,
	.flags = RUNNER_NO_PROCESS,
	.name = "http",
	.version = "1.0",
	.open = http_open,
	.close = run_close,
	.prepare = http_prepare,
	.execute = http_execute,
	.finish = http_finish,
	.kill = http_kill,
};

const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
