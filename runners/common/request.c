/* A request as a task's parameters say it, for http and sensor: read and checked as a whole before
 * anything is sent, and the answer judged by status, text and JSON, with outputs taken from it.
 * Secrets are asked for last and wiped. Sending is fetch.c's. */
#include "runners/common/request.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runners/common/json.h"

#define ANSWER_BYTES_MAX (64 << 20)
#define BODY_LOG_BYTES   65536u
#define DAY_MS           (86400 * 1000)

static int read_method(const struct run *r, struct request *q)
{
	static const char *const methods[] = { "GET",    "POST", "PUT",     "PATCH",
		                               "DELETE", "HEAD", "OPTIONS", NULL };
	size_t i;

	if (run_choice(r, "method", methods, &i) < 0)
		return RUNNER_FAILED;
	snprintf(q->method, sizeof q->method, "%s", methods[i]);
	q->what.method = q->method;
	return 0;
}

/* A line break would begin a header, or a request, of the value's own. */
static bool is_one_line(const char *text)
{
	return !strpbrk(text, "\r\n");
}

/* Whom the request reaches can tell which attempt asked; a header of the task's own comes first. */
static void add_trace(const struct run *r, struct request *q, size_t n)
{
	char parent[64];

	for (size_t k = 0; k < n; k++)
		if (strncasecmp(q->headers[k], "traceparent:", 12) == 0)
			return;
	if (n == REQUEST_HEADERS_MAX ||
	    r->host->param(r->job, "sirdar.traceparent", parent, sizeof parent) <= 0)
		return;
	if (asprintf(&q->headers[n], "traceparent: %s", parent) < 0)
		q->headers[n] = NULL;
}

static int read_headers(const struct run *r, struct request *q)
{
	struct cJSON *map = NULL;
	const cJSON *item;
	size_t n = 0;
	int code = run_map(r, "headers", &map);

	cJSON_ArrayForEach(item, map) {
		struct text value = { 0 };

		json_text(item, &value);
		if (code == 0 && n == REQUEST_HEADERS_MAX)
			code = run_refuse(r, "parameter headers: more than %d",
			                  REQUEST_HEADERS_MAX);
		if (code == 0 && (!is_one_line(item->string) || !is_one_line(text_str(&value)) ||
		                  strchr(item->string, ':') || !item->string[0]))
			code = run_refuse(r, "parameter headers: '%.60s' is not a header",
			                  item->string);
		/* With a semicolon curl sends a header that is empty. */
		if (code == 0 && asprintf(&q->headers[n], "%s%s%s", item->string,
		                          value.len ? ": " : ";", text_str(&value)) >= 0)
			n++;
		text_done(&value);
	}
	cJSON_Delete(map);
	if (code == 0)
		add_trace(r, q, n);
	q->what.headers = (const char *const *)q->headers;
	return code;
}

static int read_limits(const struct run *r, struct request *q)
{
	int64_t redirects, answer_max;
	bool verifies;

	if (run_duration(r, "timeout", DAY_MS, 60000, &q->what.timeout_ms) < 0 ||
	    run_duration(r, "connect_timeout", DAY_MS, 10000, &q->what.connect_ms) < 0 ||
	    run_number(r, "redirects", 0, 20, 5, &redirects) < 0 ||
	    run_number(r, "answer_max", 1, ANSWER_BYTES_MAX, 1 << 20, &answer_max) < 0 ||
	    run_boolean(r, "tls_verify", true, &verifies) < 0 ||
	    run_boolean(r, "log_body", true, &q->logs_body) < 0)
		return RUNNER_FAILED;
	q->what.redirects_max = (unsigned)redirects;
	q->what.answer_max = (size_t)answer_max;
	q->what.is_unverified = !verifies;
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

static int read_expectations(const struct run *r, struct request *q)
{
	q->expect_status = run_text(r, "expect_status");
	q->expect_text = run_text(r, "expect_text");
	if (q->expect_status && in_ranges(q->expect_status, 0) < 0)
		return run_refuse(r,
		                  "parameter expect_status is '%.60s', want statuses such as "
		                  "200,300-399",
		                  q->expect_status);
	if (run_list(r, "expect_json", &q->expect_json) < 0)
		return RUNNER_FAILED;
	return run_map(r, "outputs", &q->outputs);
}

int request_read(const struct run *r, struct request *q)
{
	q->url = run_text(r, "url");
	q->body = run_text(r, "body");
	q->user = run_text(r, "user");
	q->ca_file = run_text(r, "ca_file");
	if (!q->url)
		return run_refuse(r, "parameter url is missing");
	if (read_method(r, q) < 0 || read_headers(r, q) < 0 || read_limits(r, q) < 0 ||
	    read_expectations(r, q) < 0)
		return RUNNER_FAILED;
	q->what.url = q->url;
	q->what.body = q->body;
	q->what.body_bytes = q->body ? strlen(q->body) : 0;
	q->what.user = q->user;
	q->what.ca_file = q->ca_file;
	return 0;
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

static void log_answer(const struct run *r, const struct request *q, const struct answer *a)
{
	char shown[300];
	size_t len = a->body.len < BODY_LOG_BYTES ? a->body.len : BODY_LOG_BYTES;

	fetch_show(q->url, shown, sizeof shown);
	run_log(r, "%s %s: %ld, %zu bytes, %lld ms, %u redirects", q->method, shown, a->status,
	        a->body.len, (long long)a->took_ms, a->redirects);
	if (!q->logs_body || !len)
		return;
	r->host->log(r->job, RUNNER_STDOUT, a->body.at, len);
	r->host->log(r->job, RUNNER_STDOUT, "\n", a->body.at[len - 1] != '\n');
	if (len < a->body.len)
		run_log(r, "(%zu bytes more)", a->body.len - len);
}

static bool check_json(const struct run *r, const struct request *q, const cJSON *root)
{
	char why[200];
	const cJSON *item;

	if (q->expect_json && !root) {
		run_end(r, RUNNER_BY_CODE, "the answer is no JSON");
		return false;
	}
	cJSON_ArrayForEach(item, q->expect_json)
		if (!json_holds(root, item->valuestring, why, sizeof why)) {
			run_end(r, RUNNER_BY_CODE, "expect_json: %s", why);
			return false;
		}
	return true;
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

static void give_outputs(const struct run *r, const struct request *q, const struct answer *a,
                         const cJSON *root)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, q->outputs) {
		struct text value = { 0 };
		const char *from = cJSON_IsString(item) ? item->valuestring : "";

		if (!find_value(a, root, from, &value))
			run_end(r, RUNNER_BY_CODE, "outputs: %.60s: the answer has no %.80s",
			        item->string, from);
		else if (r->host->output(r->job, item->string, text_str(&value)) < 0)
			run_end(r, RUNNER_BY_CODE, "outputs: %.60s: %zu bytes are not taken",
			        item->string, value.len);
		text_done(&value);
		if (r->result->exit_code)
			break;
	}
}

void request_judge(const struct run *r, const struct request *q, const struct answer *a)
{
	const char *want = q->expect_status ? q->expect_status : "200-299";
	cJSON *root = NULL;

	log_answer(r, q, a);
	if (in_ranges(want, a->status) != 1) {
		run_end(r, RUNNER_BY_CODE, "status %ld, want %.80s", a->status, want);
		return;
	}
	if (q->expect_text &&
	    !memmem(text_str(&a->body), a->body.len, q->expect_text, strlen(q->expect_text))) {
		run_end(r, RUNNER_BY_CODE, "the answer does not contain '%.80s'", q->expect_text);
		return;
	}
	if (q->expect_json || q->outputs)
		root = json_parse(text_str(&a->body), a->body.len);
	r->result->exit_code = 0;
	if (check_json(r, q, root))
		give_outputs(r, q, a, root);
	cJSON_Delete(root);
}

int request_secrets(const struct run *r, struct request *q)
{
	if (read_secret(r, "password", &q->password) < 0 ||
	    read_secret(r, "bearer", &q->bearer) < 0)
		return RUNNER_FAILED;
	q->what.password = q->password;
	q->what.bearer = q->bearer;
	return 0;
}

void request_done(struct request *q)
{
	run_forget(q->password);
	run_forget(q->bearer);
	for (size_t i = 0; q->headers[i]; i++)
		run_forget(q->headers[i]);
	cJSON_Delete(q->expect_json);
	cJSON_Delete(q->outputs);
	free(q->url);
	free(q->body);
	free(q->user);
	free(q->ca_file);
	free(q->expect_status);
	free(q->expect_text);
}
