/* presto.c — one statement of Presto or Trino over its REST protocol: README.md.
 *
 * POST /v1/statement begins it; each answer names the page that follows (nextUri), until one names
 * none. DELETE of that page cancels the statement.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runners/common/apart.h"
#include "runners/common/fetch.h"
#include "runners/common/json.h"
#include "runners/common/rows.h"
#include "runners/common/run.h"
#include "runners/common/values.h"

#define PAGE_BYTES_MAX (256u << 20)
#define PAGE_MS        120000 /* of one exchange; the server answers within a second or so */
#define TRIES_MS       120000 /* how long a server may be out of reach */
#define PAUSE_MS       100
#define PAUSE_MAX_MS   5000
#define HEADERS_MAX    16
#define COLUMNS_MAX    1024

static const char *const dialects[] = { "Trino", "Presto", NULL };

struct presto {
	struct fetcher *fetcher; /* first: kill() reaches it while execute() runs */
	const struct run *run;
	struct rows_plan plan;
	struct rows rows;
	char *url, *sql, *user, *password, *ca_file, *next;
	cJSON *session;
	char *headers[HEADERS_MAX + 1];
	size_t n_headers, n_columns, dialect;
	int64_t updated; /* -1: the statement says nothing of it */
	bool is_verified, is_begun, is_again;
	char *work; /* what the statement is called there; NULL: nothing */
};

/* --- parameters ------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void add_header(struct presto *p, const char *name,
                                                             const char *fmt, ...)
{
	char value[400], *line = NULL;
	va_list args;

	va_start(args, fmt);
	vsnprintf(value, sizeof value, fmt, args);
	va_end(args);
	if (p->n_headers < HEADERS_MAX && !strpbrk(value, "\r\n") &&
	    asprintf(&line, "X-%s-%s: %s", dialects[p->dialect], name, value) >= 0)
		p->headers[p->n_headers++] = line;
}

/* A plain parameter, or the same of the target server. */
static char *read_either(const struct run *r, bool is_named, const char *named, const char *plain)
{
	return run_text(r, is_named ? named : plain);
}

static int read_url(struct presto *p, bool is_named)
{
	const struct run *r = p->run;
	char *host = read_either(r, is_named, "server.host", "host"), *tls;
	int64_t port;

	if (run_number(r, is_named ? "server.port" : "port", 1, 65535, 8080, &port) < 0) {
		free(host);
		return RUNNER_FAILED;
	}
	tls = read_either(r, is_named, "server.extra.tls", "tls");
	const bool is_safe = tls && strcmp(tls, "off") != 0;

	if (host &&
	    asprintf(&p->url, "%s://%s:%d", is_safe ? "https" : "http", host, (int)port) < 0)
		p->url = NULL;
	p->is_verified = !tls || strcmp(tls, "on") != 0;
	free(host);
	free(tls);
	return p->url ? 0 : run_refuse(r, "want parameter server (a target server), or host");
}

static int read_headers(struct presto *p, bool is_named)
{
	const struct run *r = p->run;
	char *catalog = read_either(r, is_named, "server.database", "catalog");
	char *schema = read_either(r, is_named, "server.extra.schema", "schema");
	const cJSON *item;

	add_header(p, "User", "%s", p->user);
	add_header(p, "Source", "sirdar");
	p->work = run_work(r, &p->is_again);
	if (p->work)
		add_header(p, "Client-Tags", "%s", p->work);
	if (catalog)
		add_header(p, "Catalog", "%s", catalog);
	if (schema)
		add_header(p, "Schema", "%s", schema);
	free(catalog);
	free(schema);
	if (run_map(r, "session", &p->session) < 0)
		return RUNNER_FAILED;
	cJSON_ArrayForEach(item, p->session) {
		struct text value = { 0 };

		json_text(item, &value);
		add_header(p, "Session", "%s=%s", item->string, text_str(&value));
		text_done(&value);
	}
	return 0;
}

static void quote_presto(void *ctx, const char *value, size_t len, struct text *out)
{
	(void)ctx;
	text_str_add(out, "'");
	for (size_t i = 0; i < len; i++) {
		if (value[i] == '\'')
			text_str_add(out, "'");
		text_add(out, value + i, 1);
	}
	text_str_add(out, "'");
}

static int read_sql(struct presto *p, const struct run *r)
{
	char *sql = run_text(r, "sql");
	struct text bound = { 0 };
	int code = sql ? values_put(r, sql, quote_presto, NULL, &bound)
	               : run_refuse(r, "parameter sql is missing");

	p->sql = code == 0 ? strdup(text_str(&bound)) : NULL;
	if (code == 0 && !p->sql)
		code = run_refuse(r, "out of memory");
	free(sql);
	text_done(&bound);
	return code;
}

static int read_all(struct presto *p)
{
	const struct run *r = p->run;
	char *named = run_text(r, "server");
	const bool is_named = named != NULL;

	free(named);
	p->updated = -1;
	if (read_sql(p, r) < 0)
		return RUNNER_FAILED;
	if (run_choice(r, "dialect", dialects, &p->dialect) < 0 ||
	    rows_plan_read(r, &p->plan) < 0 || read_url(p, is_named) < 0)
		return RUNNER_FAILED;
	p->user = read_either(r, is_named, "server.user", "user");
	p->password = is_named ? run_text(r, "secret.server.password") : run_secret(r, "password");
	p->ca_file = read_either(r, is_named, "server.extra.ca_file", "ca_file");
	if (!p->user)
		p->user = strdup("sirdar");
	if (!p->user || !p->url)
		return run_refuse(r, "out of memory");
	if (p->password && strncmp(p->url, "https:", 6) != 0)
		return run_refuse(r, "a password goes over TLS only: set tls");
	return read_headers(p, is_named);
}

/* --- the protocol ------------------------------------------------------------------ */

static int presto_ask(struct presto *p, const char *method, const char *url, struct answer *ret,
                      char *why, size_t cap)
{
	struct fetch what = { .method = method,
		              .url = url,
		              .headers = (const char *const *)p->headers,
		              .user = p->password ? p->user : NULL,
		              .password = p->password,
		              .ca_file = p->ca_file,
		              .is_unverified = !p->is_verified,
		              .timeout_ms = PAGE_MS,
		              .connect_ms = PAGE_MS / 4,
		              .answer_max = PAGE_BYTES_MAX };

	if (!strcmp(method, "POST")) {
		what.body = p->sql;
		what.body_bytes = strlen(p->sql);
	}
	what.is_last_word = !strcmp(method, "DELETE");
	if (what.is_last_word)
		what.timeout_ms = PAUSE_MAX_MS;
	return fetch_run(p->fetcher, p->run, &what, ret, why, cap);
}

/* The server wants the same request again, a little later. */
static bool is_busy(long status)
{
	return status == 429 || (status >= 502 && status <= 504);
}

/* One page, tried again while the server is out of reach; a statement is begun only once. */
static int page(struct presto *p, cJSON **ret_page, char *why, size_t cap)
{
	const bool begins = !p->is_begun;
	int64_t end_ms = run_now_ms() + TRIES_MS;
	char first[600];

	snprintf(first, sizeof first, "%s/v1/statement", p->url);
	for (uint64_t pause_ms = PAUSE_MS;; pause_ms *= 2) {
		struct answer a;
		int code = presto_ask(p, begins ? "POST" : "GET", begins ? first : p->next, &a, why,
		                      cap);
		long status = a.status;

		*ret_page = code == FETCH_OK && status == 200
		                    ? json_parse(text_str(&a.body), a.body.len)
		                    : NULL;
		if (code == FETCH_OK && !*ret_page)
			snprintf(why, cap, "status %ld: %.150s", status,
			         status == 200 ? "the answer is no JSON" : text_str(&a.body));
		answer_done(&a);
		if (*ret_page)
			return FETCH_OK;
		bool again = code == FETCH_OK
		                     ? is_busy(status)
		                     : !begins && (code == FETCH_FAILED || code == FETCH_LATE);

		if (!again || run_now_ms() > end_ms)
			return code == FETCH_OK ? FETCH_FAILED : code;
		if (p->run->host->pause(p->run->job,
		                        pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS))
			return FETCH_STOPPED;
	}
}

static void presto_cancel(struct presto *p)
{
	struct answer a;
	char why[RUNNER_TEXT_BYTES];
	int code;

	if (!p->next)
		return;
	code = presto_ask(p, "DELETE", p->next, &a, why, sizeof why);
	if (code == FETCH_OK && a.status < 300)
		run_log(p->run, "the statement is cancelled on the server");
	else
		run_log(p->run, "the statement could not be cancelled on the server: %s",
		        code < 0 ? why : "it answered otherwise");
	answer_done(&a);
}

static const char *text_at(const cJSON *root, const char *path)
{
	const cJSON *item = json_at(root, path);

	return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_at(const cJSON *root, const char *path)
{
	const cJSON *item = json_at(root, path);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* --- an earlier attempt, whose loader died: the statement bears the name of the work ----- */

static bool is_ours(const struct presto *p, const cJSON *query)
{
	const cJSON *tag;
	const char *state = text_at(query, "state");

	if (!strcmp(state, "FINISHED") || !strcmp(state, "FAILED"))
		return false;
	cJSON_ArrayForEach(tag, json_at(query, "session.clientTags"))
		if (cJSON_IsString(tag) && !strcmp(tag->valuestring, p->work))
			return true;
	return false;
}

/* FETCH_OK, and *ret_left: how many there were and were told to end. */
static int end_all(struct presto *p, int *ret_left, char *why, size_t cap)
{
	char url[600];
	struct answer a;
	const cJSON *query;

	snprintf(url, sizeof url, "%s/v1/query", p->url);
	int code = presto_ask(p, "GET", url, &a, why, cap);
	cJSON *all = code == FETCH_OK && a.status == 200 ? json_parse(text_str(&a.body), a.body.len)
	                                                 : NULL;

	if (code == FETCH_OK && !cJSON_IsArray(all)) {
		snprintf(why, cap, "status %ld of its list of statements", a.status);
		code = FETCH_FAILED;
	}
	answer_done(&a);
	*ret_left = 0;
	cJSON_ArrayForEach(query, all) {
		if (code != FETCH_OK || !is_ours(p, query))
			continue;
		run_log(p->run, "an earlier attempt runs there as %.60s: cancelled",
		        text_at(query, "queryId"));
		snprintf(url, sizeof url, "%s/v1/query/%.100s", p->url, text_at(query, "queryId"));
		code = presto_ask(p, "DELETE", url, &a, why, cap);
		answer_done(&a);
		++*ret_left;
	}
	cJSON_Delete(all);
	return code;
}

/* Never two at once: nothing is begun before the earlier one is known to have ended. False: it is
 * over, the result says how. */
static bool end_earlier(struct presto *p)
{
	const int64_t end_ms = run_now_ms() + TRIES_MS;
	char why[RUNNER_TEXT_BYTES] = "it does not end";
	int left = 0, code;

	if (!p->work || !p->is_again)
		return true;
	do {
		code = end_all(p, &left, why, sizeof why);
		if (code == FETCH_OK && !left)
			return true;
		if (p->run->host->pause(p->run->job, PAUSE_MS * 2)) {
			run_stopped(p->run);
			return false;
		}
	} while (run_now_ms() < end_ms && code != FETCH_STOPPED);
	run_end(p->run, RUNNER_BY_CODE,
	        "not begun: an earlier attempt's statement may still run there: %.150s", why);
	return false;
}

/* --- what a page says --------------------------------------------------------------- */

static int take_columns(struct presto *p, const cJSON *columns)
{
	const char *names[COLUMNS_MAX];
	const cJSON *column;
	size_t n = 0;

	if (p->n_columns || !cJSON_IsArray(columns))
		return 0;
	cJSON_ArrayForEach(column, columns)
		if (n < COLUMNS_MAX)
			names[n++] = text_at(column, "name");
	p->n_columns = n;
	return n ? rows_columns(&p->rows, n, names) : 0;
}

static int take_row(struct presto *p, const cJSON *row)
{
	const char *values[COLUMNS_MAX];
	size_t lens[COLUMNS_MAX], n = 0;
	struct text texts[1] = { { 0 } };
	size_t starts[COLUMNS_MAX];
	const cJSON *value;
	int code;

	/* All values in one text; their places are kept, as it may move. */
	cJSON_ArrayForEach(value, row) {
		if (n == p->n_columns)
			break;
		starts[n] = texts->len;
		values[n] = cJSON_IsNull(value) ? NULL : "";
		if (values[n])
			json_text(value, texts);
		lens[n] = texts->len - starts[n];
		n++;
	}
	for (size_t i = 0; i < n; i++)
		values[i] = values[i] ? text_str(texts) + starts[i] : NULL;
	code = rows_row(&p->rows, n, values, lens);
	text_done(texts);
	return code;
}

static void presto_tell(struct presto *p, const cJSON *stats)
{
	const double total = number_at(stats, "totalSplits");
	double percent = number_at(stats, "progressPercentage");

	if (percent == 0 && total > 0)
		percent = 100 * number_at(stats, "completedSplits") / total;
	run_progress(p->run, (uint32_t)(percent * 10), "%s, %.0f of %.0f splits, %.0f rows read",
	             text_at(stats, "state"), number_at(stats, "completedSplits"), total,
	             number_at(stats, "processedRows"));
}

/* 1: it is over, the result says how. */
static int take_page(struct presto *p, const cJSON *root)
{
	const cJSON *error = json_at(root, "error"), *row, *count = json_at(root, "updateCount");
	const char *next = text_at(root, "nextUri");

	if (!p->is_begun)
		run_output(p->run, "query_id", "%s", text_at(root, "id"));
	p->is_begun = true;
	free(p->next);
	p->next = next[0] ? strdup(next) : NULL;
	presto_tell(p, json_at(root, "stats"));
	if (cJSON_IsObject(error)) {
		const char *type = text_at(error, "errorType");

		run_end(p->run,
		        !strcmp(type, "INSUFFICIENT_RESOURCES") ? RUNNER_RETRYABLE : RUNNER_BY_CODE,
		        "%s %s: %.150s", type, text_at(error, "errorName"),
		        text_at(error, "message"));
		return 1;
	}
	if (cJSON_IsNumber(count))
		p->updated = (int64_t)count->valuedouble;
	int code = take_columns(p, json_at(root, "columns"));

	cJSON_ArrayForEach(row, json_at(root, "data"))
		if (code == 0)
			code = take_row(p, row);
	if (code == 0 && p->next && !fetch_same_origin(p->url, p->next)) {
		run_end(p->run, RUNNER_FATAL, "the server's next page is on another server: %.120s",
		        p->next);
		free(p->next);
		p->next = NULL;
		return 1;
	}
	if (code == 0)
		return 0;
	run_end(p->run, RUNNER_BY_CODE, "%s", p->rows.why);
	presto_cancel(p);
	return 1;
}

static int succeed(struct presto *p)
{
	if (rows_keep(&p->rows) < 0)
		return run_end(p->run, RUNNER_BY_CODE, "%s", p->rows.why);
	run_output(p->run, "rows", "%" PRId64, p->rows.n_all);
	if (p->updated >= 0)
		run_output(p->run, "affected", "%" PRId64, p->updated);
	run_log(p->run, "%" PRId64 " rows%s", p->rows.n_all,
	        !p->plan.csv_file && p->rows.n_all > p->plan.log_rows
	                ? ", the rest of them not shown"
	                : "");
	return RUNNER_DONE;
}

static int presto_work(struct presto *p)
{
	char why[RUNNER_TEXT_BYTES];
	int is_over = 0;

	if (rows_open(&p->rows, p->run, &p->plan) < 0)
		return run_end(p->run, RUNNER_BY_CODE, "%s", p->rows.why);
	if (!end_earlier(p))
		return RUNNER_DONE;
	do {
		cJSON *root = NULL;
		int code = page(p, &root, why, sizeof why);

		if (code < 0) {
			presto_cancel(p);
			return fetch_end(p->run, code, why);
		}
		is_over = take_page(p, root);
		cJSON_Delete(root);
		if (!is_over && run_cancelled(p->run)) {
			presto_cancel(p);
			return run_stopped(p->run);
		}
	} while (!is_over && p->next);
	return is_over ? RUNNER_DONE : succeed(p);
}

/* --- the plugin --------------------------------------------------------------------- */

static int presto_open(const struct runner_host *lent, void **ret_self)
{
	return apart_open(lent, ret_self) < 0 ? -1 : fetch_open(lent, ret_self);
}

static int presto_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                          void **ret_state)
{
	struct run r = run_of(job, result);
	struct presto *p = calloc(1, sizeof *p);

	(void)self;
	*ret_state = p;
	if (!p || !(p->fetcher = fetcher_new()))
		return run_refuse(&r, "out of memory");
	return RUNNER_DONE;
}

static int presto_execute(void *self, void *state, const struct runner_job *job,
                          struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct presto *p = state;

	(void)self;
	p->run = &r;
	int answer = read_all(p);

	if (answer == 0 && p->plan.csv_file)
		answer = apart_begin(&r);
	return answer ? answer : presto_work(p);
}

static void presto_kill(void *self, void *state, const struct runner_job *job)
{
	struct presto *p = state;

	(void)self;
	(void)job;
	fetch_wake(p->fetcher);
}

static void presto_finish(void *self, void *state, const struct runner_job *job,
                          struct runner_result *result)
{
	struct presto *p = state;

	(void)self;
	(void)job;
	(void)result;
	if (!p)
		return;
	fetcher_free(p->fetcher);
	rows_close(&p->rows);
	rows_plan_done(&p->plan);
	run_forget(p->password);
	for (size_t i = 0; i < p->n_headers; i++)
		free(p->headers[i]);
	cJSON_Delete(p->session);
	free(p->url);
	free(p->sql);
	free(p->user);
	free(p->ca_file);
	free(p->next);
	free(p->work);
	free(p);
}

RUN_PLUGIN("presto", .flags = RUNNER_NO_PROCESS, .open = presto_open, .close = run_close,
           .prepare = presto_prepare, .execute = presto_execute, .finish = presto_finish,
           .kill = presto_kill);
