#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cgi/call.h"
#include "cgi/cgi.h"
#include "cgi/list.h"
#include "cgi/net.h"
#include "cgi/prometheus.h"
#include "cgi/route.h"
#include "util/alloc.h"
#include "util/json_in.h"
#include "util/json_put.h"

static const char *const no_args[] = { NULL };

static int ask(struct call *c, const char *kind)
{
	if (call_args_only(c, no_args) < 0)
		return c->err.code;
	return call_query(c, kind, "{}");
}

int server_get(struct call *c)
{
	return ask(c, "server");
}

int brokers_get(struct call *c)
{
	return ask(c, "brokers");
}

int nodes_get(struct call *c)
{
	return ask(c, "nodes");
}

int types_get(struct call *c)
{
	return ask(c, "types");
}

int retention_logs_get(struct call *c)
{
	return ask(c, "logs");
}

int queues_get(struct call *c)
{
	return ask(c, "queues");
}

int pools_get(struct call *c)
{
	return ask(c, "pools");
}

/* The arguments as they are: the server judges them. */
static int ask_with(struct call *c, const char *kind, const char *const *names)
{
	struct buf args;

	if (call_args_only(c, names) < 0)
		return c->err.code;
	buf_init(&args);
	put_open(&args, NULL, '{');
	for (; *names; names++)
		if (call_arg(c, *names))
			put_text(&args, *names, call_arg(c, *names));
	put_close(&args, '}');
	int r = call_query(c, kind, buf_str(&args));
	buf_done(&args);
	return r;
}

int progress_get(struct call *c)
{
	static const char *const names[] = { "ids", NULL };

	return ask_with(c, "progress", names);
}

int forecast_get(struct call *c)
{
	static const char *const names[] = { "name", "date", NULL };

	return ask_with(c, "forecast", names);
}

int baselines_get(struct call *c)
{
	static const char *const names[] = { "date", NULL };

	return ask_with(c, "baselines", names);
}

/* What does not work is 503, with the whole answer, so that a probe needs no parser. */
static int health_done(struct call *c)
{
	struct cJSON *root = NULL;
	bool fails = true;

	if (c->err.code < 0)
		return c->err.code;
	if (json_parse((const char *)buf_at(&c->out), c->out.len, &root, &c->err) == 0) {
		const char *status = json_text(root, "status");

		fails = status == NULL || strcmp(status, "failing") == 0;
	}
	json_free(root);
	return reply_json(c, fails ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK);
}

int health_get(struct call *c)
{
	c->then = health_done;
	return ask(c, "health");
}

int healthz_get(struct call *c)
{
	return reply_bytes(c, MHD_HTTP_OK, "text/plain; charset=utf-8", "ok\n", 3);
}

/* One line for whoever watches: what the server says first of what is wrong. */
static int ready_done(struct call *c)
{
	struct cJSON *root = NULL;
	char text[200] = "";

	if (c->err.code < 0)
		return c->err.code;
	int r = json_parse((const char *)buf_at(&c->out), c->out.len, &root, &c->err);
	if (r < 0)
		return r;
	const char *status = json_text(root, "status");
	const cJSON *first = cJSON_GetArrayItem(json_get(root, "problems"), 0);
	bool fails = !status || strcmp(status, "failing") == 0;
	snprintf(text, sizeof text, "%s",
	         cJSON_IsString(first) ? first->valuestring : "the server does not say how it is");
	json_free(root);
	if (fails)
		return call_fail(c, E_AGAIN, "", "%s", text);
	return reply_bytes(c, MHD_HTTP_OK, "text/plain; charset=utf-8", "ok\n", 3);
}

int readyz_get(struct call *c)
{
	if (!net_up(c->cgi->net))
		return call_fail(c, E_AGAIN, "", "no session with the baseserver");
	c->then = ready_done;
	return ask(c, "health");
}

/* The cgi's own numbers are there also when the server is not. */
static int metrics_done(struct call *c)
{
	struct cgi *cgi = c->cgi;
	struct buf text;
	int r;

	buf_init(&text);
	prometheus_own(&text, "cgi_requests_total", "counter", "Requests",
	               atomic_load(&cgi->requests));
	prometheus_own(&text, "cgi_errors_total", "counter", "Requests answered with an error",
	               atomic_load(&cgi->refusals));
	prometheus_own(&text, "cgi_kept_answers_total", "counter",
	               "Requests answered with what nothing had changed", atomic_load(&cgi->kept));
	prometheus_own(&text, "cgi_streams", "gauge", "Open event streams and followed logs",
	               atomic_load(&cgi->streams));
	prometheus_own(&text, "up", "gauge", "Whether the baseserver answers", c->err.code == 0);
	if (c->err.code == 0)
		prometheus_server(&text, (const char *)buf_at(&c->out), c->out.len);
	r = reply_bytes(c, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", buf_str(&text),
	                text.len);
	buf_done(&text);
	return r;
}

int metrics_get(struct call *c)
{
	c->then = metrics_done;
	return ask(c, "metrics");
}

/* --- numbers of instances by state --- */

static int stats_work(struct call *c, struct reader *r)
{
	const struct read_filter *f = c->extra;
	uint64_t counts[ST_COUNT];
	int code = read_counts(r, f, counts, &c->number, &c->err);

	if (code < 0)
		return code;
	put_open(&c->out, NULL, '{');
	put_open(&c->out, "instances", '{');
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		put_int(&c->out, state_name((enum state)st), (int64_t)counts[st]);
	put_close(&c->out, '}');
	put_id(&c->out, "number", c->number);
	put_close(&c->out, '}');
	return 0;
}

int stats_get(struct call *c)
{
	static const char *const names[] = { "from", "to", "workflow_id", NULL };
	struct read_filter *f = c->extra = mem_new(sizeof(*f));
	int64_t workflow;

	if (call_args_only(c, names) < 0 || instant_arg(c, "from", false, &f->from) < 0 ||
	    instant_arg(c, "to", true, &f->to) < 0 ||
	    call_arg_int(c, "workflow_id", 0, 0, UINT32_MAX, &workflow) < 0)
		return c->err.code;
	if (f->from != 0 && f->to == 0)
		f->to = INT64_MAX;
	f->workflow = (uint32_t)workflow;
	return call_read(c, stats_work);
}
