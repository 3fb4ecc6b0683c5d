/* What the server knows and the store does not: brokers, queues, forecasts, health. Most
 * handlers pass a query on and print its answer as it is. Whoever only wants to know whether we
 * live asks /healthz, which asks nobody else but looks whether a thread of ours has stalled;
 * /readyz asks the server. /metrics has this program's numbers also while the server is away. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/prometheus.h"
#include "cgi/http/traffic.h"
#include "cgi/server/disk.h"
#include "cgi/server/list.h"
#include "cgi/server/net.h"
#include "cgi/who/people.h"
#include "rt/thread.h"
#include "sched/tz.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/self.h"

enum { DISK_SLOW = 6 };

static const char *const no_args[] = { NULL };

static int server_ask(struct call *c, const char *kind)
{
	if (call_args_only(c, no_args) < 0)
		return c->err.code;
	return call_query(c, kind, "{}");
}

int server_get(struct call *c)
{
	return server_ask(c, "server");
}

int brokers_get(struct call *c)
{
	return server_ask(c, "brokers");
}

int nodes_get(struct call *c)
{
	return server_ask(c, "nodes");
}

int types_get(struct call *c)
{
	return server_ask(c, "types");
}

int retention_logs_get(struct call *c)
{
	return server_ask(c, "logs");
}

int queues_get(struct call *c)
{
	return server_ask(c, "queues");
}

int quotas_get(struct call *c)
{
	return server_ask(c, "quotas");
}

int pools_get(struct call *c)
{
	return server_ask(c, "pools");
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

		fails = !status || strcmp(status, "failing") == 0;
	}
	json_free(root);
	return reply_json(c, fails ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK);
}

int health_get(struct call *c)
{
	c->then = health_done;
	return server_ask(c, "health");
}

struct watched {
	struct thread *thread;
	const char *name;
	bool is_reader;
};

enum { OWN_N = 3, THREADS_N = OWN_N + DISK_READERS };

static struct watched watched_thread(const struct cgi *cgi, size_t i)
{
	const struct watched own[OWN_N] = { { cgi->net_thread, "net", false },
		                            { cgi->hash_thread, "hash", false },
		                            { cgi->search_thread, "search", false } };

	if (i < OWN_N)
		return own[i];
	i -= OWN_N;
	return (struct watched){ disk_thread(cgi->disk, i), disk_thread_name(i), true };
}

/* How long a thread of ours has stalled, us; 0: none does. Who reads the store may take longer. */
static int64_t stalls(const struct cgi *cgi, const char **ret_name)
{
	int64_t now = clock_mono_us(&clock_machine);
	const char *actor;

	for (size_t i = 0; i < THREADS_N; i++) {
		const struct watched w = watched_thread(cgi, i);
		int64_t us = thread_silent_us(w.thread, now, &actor);

		*ret_name = actor ? actor : w.name;
		if (us > cgi->param.stall_ms * US_PER_MS * (w.is_reader ? DISK_SLOW : 1))
			return us;
	}
	return 0;
}

static bool is_stalled(struct call *c)
{
	const char *name;
	int64_t us = stalls(c->cgi, &name);

	if (us == 0)
		return false;
	call_fail(c, E_AGAIN, "", "%s stalls: it has not answered for %" PRId64 " s", name,
	          (int64_t)(us / US_PER_S));
	return true;
}

int healthz_get(struct call *c)
{
	if (is_stalled(c))
		return c->err.code;
	return reply_bytes(c, MHD_HTTP_OK, "text/plain; charset=utf-8", "ok\n", 3);
}

/* One line for whoever watches: what the server says first of what is wrong. */
static int ready_done(struct call *c)
{
	struct cJSON *root = NULL;
	char text[200] = "";

	if (c->err.code == E_TIMEOUT)
		return call_fail(c, E_AGAIN, "", "the baseserver does not answer");
	if (c->err.code < 0)
		return c->err.code;
	int r = json_parse((const char *)buf_at(&c->out), c->out.len, &root, &c->err);
	if (r < 0)
		return r;
	const char *status = json_text(root, "status");
	const cJSON *first = cJSON_GetArrayItem(json_get(root, "problems"), 0);
	bool fails = !status || strcmp(status, "failing") == 0;
	/* Nobody knows who asks: where reading is bound, what is wrong may name what is not
	 * theirs. */
	bool tells = cJSON_IsString(first) && !people_binds_all(c->cgi->people);
	snprintf(text, sizeof text, "%s",
	         tells ? first->valuestring : "the server does not say how it is");
	json_free(root);
	if (fails)
		return call_fail(c, E_AGAIN, "", "%s", text);
	return reply_bytes(c, MHD_HTTP_OK, "text/plain; charset=utf-8", "ok\n", 3);
}

int readyz_get(struct call *c)
{
	if (is_stalled(c))
		return c->err.code;
	if (!net_up(c->cgi->net))
		return call_fail(c, E_AGAIN, "", "no session with the baseserver");
	c->then = ready_done;
	return server_ask(c, "health");
}

struct listing {
	struct buf *out;
	enum metric m;
};

static void actor_print(void *ctx, const struct actor_figures *f)
{
	const struct listing *l = ctx;
	const char *const labels[] = { "actor", f->name, NULL };

	if (l->m == METRIC_CGI_ACTOR_BOUT)
		prometheus_timing(l->out, l->m, labels, f->bouts, 2);
	else
		prometheus_put(l->out, l->m, labels,
		               l->m == METRIC_CGI_ACTOR_LETTERS  ? (int64_t)f->letters
		               : l->m == METRIC_CGI_ACTOR_STALLS ? (int64_t)f->stalls
		                                                 : f->busy_us);
}

static void threads_print(const struct cgi *cgi, struct buf *out)
{
	int64_t now = clock_mono_us(&clock_machine);
	struct listing l = { .out = out };
	const char *actor;

	for (l.m = METRIC_CGI_ACTOR_LETTERS; l.m <= METRIC_CGI_ACTOR_BUSY; l.m++) {
		prometheus_head(out, l.m);
		for (size_t i = 0; i < THREADS_N; i++)
			thread_each_actor(watched_thread(cgi, i).thread, now, actor_print, &l);
	}
	prometheus_head(out, METRIC_CGI_SILENT);
	for (size_t i = 0; i < THREADS_N; i++) {
		const struct watched w = watched_thread(cgi, i);

		prometheus_put(out, METRIC_CGI_SILENT,
		               (const char *const[]){ "thread", w.name, NULL },
		               thread_silent_us(w.thread, now, &actor));
	}
}

static void own_print(struct cgi *cgi, struct buf *out)
{
	prometheus_one(out, METRIC_CGI_REQUESTS, (int64_t)atomic_load(&cgi->requests));
	prometheus_one(out, METRIC_CGI_ERRORS, (int64_t)atomic_load(&cgi->refusals));
	prometheus_one(out, METRIC_CGI_KEPT, (int64_t)atomic_load(&cgi->kept));
	prometheus_one(out, METRIC_CGI_STREAMS, atomic_load(&cgi->streams));
	prometheus_one(out, METRIC_CGI_STREAM_MESSAGES, (int64_t)atomic_load(&cgi->messages));
	prometheus_one(out, METRIC_CGI_STREAM_LOST, (int64_t)atomic_load(&cgi->gaps));
	limits_print(cgi, out);
	traffic_print(cgi->traffic, out);
	threads_print(cgi, out);
	prometheus_one(out, METRIC_CGI_CPU, self_cpu_us());
	prometheus_one(out, METRIC_CGI_RESIDENT, (int64_t)self_resident_bytes());
}

/* The cgi's own numbers are there also when the server is not. */
static int metrics_done(struct call *c)
{
	struct buf text;
	int r;

	buf_init(&text);
	own_print(c->cgi, &text);
	prometheus_one(&text, METRIC_UP, c->err.code == 0);
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
	return server_ask(c, "metrics");
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
	struct read_filter *f = c->extra = mem_new(sizeof *f);
	struct span span;
	int64_t workflow;

	if (call_args_only(c, names) < 0 || span_args(c, &span) < 0 ||
	    call_arg_int(c, "workflow_id", 0, 0, UINT32_MAX, &workflow) < 0)
		return c->err.code;
	span_in(&span, tz_utc(), &f->from, &f->to);
	f->workflow = (uint32_t)workflow;
	return call_read(c, stats_work);
}
