/* server, health, metrics: figures that any thread may read, and the catalog's counts. */
#include <stdio.h>
#include <sys/statvfs.h>

#include "baseserver/ledger.h"
#include "baseserver/query_impl.h"
#include "rt/thread.h"
#include "sched/when.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

enum { QUIET_MS_MAX = 30000, FREE_LOW_BYTES = 100 << 20 };

static uint64_t free_bytes(const struct front *f)
{
	struct statvfs st;

	if (!f || !f->store_dir || statvfs(f->store_dir, &st) < 0)
		return 0;
	return (uint64_t)st.f_bavail * st.f_frsize;
}

static bool all_beat(const struct commander *c)
{
	const struct front *f = c->front;
	bool all = true;

	for (size_t i = 0; f && i < f->n_threads; i++)
		all &= actor_mono_us(c->me) - thread_beat_us(f->threads[i].thread) <
		       QUIET_MS_MAX * US_PER_MS;
	return all;
}

static void print_clock(const struct commander *c, struct buf *out)
{
	int64_t off_s = c->lead.clock_off_us / US_PER_S;
	char text[120];

	snprintf(text, sizeof text,
	         "the database's clock is %lld s %s this server's: one of the two is wrong",
	         (long long)(off_s < 0 ? -off_s : off_s), off_s < 0 ? "behind" : "ahead of");
	put_text(out, NULL, text);
}

/* What is wrong, a line each. Returns what it amounts to. */
static const char *print_problems(const struct commander *c, struct buf *out)
{
	uint64_t room = free_bytes(c->front);
	bool low = room && room < FREE_LOW_BYTES, beat = all_beat(c);
	bool off = lead_clock_is_off(&c->lead);
	struct ledger_figures fig;
	char text[120];

	ledger_figures(c->ledger, &fig);
	put_open(out, "problems", '[');
	if (fig.store_down) {
		snprintf(text, sizeof text,
		         "the store refuses commits (%s); nothing is lost, nothing new leaves",
		         err_text(fig.store_code ? fig.store_code : E_AGAIN));
		put_text(out, NULL, text);
	}
	if (low)
		put_text(out, NULL, "little space is left on the store's disk");
	if (!beat)
		put_text(out, NULL, "a thread has not been heard for long");
	if (off)
		print_clock(c, out);
	put_close(out, ']');
	return fig.store_down ? "failing" : low || !beat || off ? "degraded" : "ok";
}

/* How far a standby is behind is the number it read against the last one on disk. */
static void print_lead(const struct commander *c, struct buf *out)
{
	const struct lead_view *v = &c->lead;
	struct ledger_figures fig;

	if (!v->lease.epoch)
		return;
	ledger_figures(c->ledger, &fig);
	put_text(out, "name", v->lease.who);
	put_text(out, "address", v->lease.address);
	put_text(out, "elects", v->elects);
	put_time_us(out, "since", v->lease.since_us);
	put_int(out, "lease_ms", v->lease.lease_ms);
	put_open(out, "standbys", '[');
	for (size_t i = 0; i < v->n; i++) {
		const struct store_node *n = &v->nodes[i];
		put_open(out, NULL, '{');
		put_text(out, "name", n->who);
		put_text(out, "address", n->address);
		put_int(out, "heard_ms", (n->age_us + actor_mono_us(c->me) - v->at_us) / US_PER_MS);
		put_int(out, "behind",
		        fig.durable > n->number ? (int64_t)(fig.durable - n->number) : 0);
		put_close(out, '}');
	}
	put_close(out, ']');
}

void query_server(struct query *q)
{
	static const struct front nothing;
	const struct commander *c = q->c;
	const struct front *f = c->front ? c->front : &nothing;
	struct buf *out = &q->out;

	put_open(out, NULL, '{');
	put_text(out, "version", f->software ? f->software : SIRDAR_VERSION);
	put_bool(out, "leads", true);
	put_bool(out, "recovering", false);
	put_int(out, "epoch", ledger_epoch(c->ledger));
	put_id(out, "number", stream_seen(c->in));
	put_time_us(out, "started", f->started_us);
	put_time_us(out, "now", actor_wall_us(c->me));
	put_text(out, "timezone", c->set.timezone ? c->set.timezone : "UTC");
	put_text(out, "store", f->store ? f->store : "mem");
	print_lead(c, out);
	print_problems(c, out);
	size_t tasks = 0;
	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&c->cat, (uint32_t)i);
		tasks += t && !catalog_retired(t);
	}
	put_int(out, "tasks", (int64_t)tasks);
	put_int(out, "brokers", (int64_t)q->brokers_online);
	put_open(out, "instances", '{');
	for (int s = 1; s < ST_COUNT; s++)
		if (c->cat.counts[s])
			put_int(out, state_name((enum state)s), (int64_t)c->cat.counts[s]);
	put_close(out, '}');
	put_close(out, '}');
}

/* A thread that is quiet beats when it is pinged: the daemon does that. */
static void print_actors(const struct query *q, struct buf *out)
{
	const struct front *f = q->c->front;
	int64_t now = actor_mono_us(q->c->me);

	put_open(out, "actors", '[');
	for (size_t i = 0; f && i < f->n_threads; i++) {
		int64_t quiet_ms = (now - thread_beat_us(f->threads[i].thread)) / US_PER_MS;
		put_open(out, NULL, '{');
		put_text(out, "name", f->threads[i].name);
		put_int(out, "quiet_ms", quiet_ms > 0 ? quiet_ms : 0);
		put_int(out, "letters", 0);
		put_bool(out, "ok", quiet_ms < QUIET_MS_MAX);
		put_close(out, '}');
	}
	put_close(out, ']');
}

void query_health(struct query *q)
{
	struct ledger_figures fig;
	struct buf *out = &q->out;

	ledger_figures(q->c->ledger, &fig);
	put_open(out, NULL, '{');
	const char *amounts = print_problems(q->c, out);
	put_text(out, "status", amounts);
	print_actors(q, out);
	put_open(out, "store", '{');
	put_bool(out, "ok", !fig.store_down);
	put_int(out, "behind", (int64_t)(fig.last - fig.durable));
	put_int(out, "commit_us", (int64_t)fig.commit_us_last);
	put_int(out, "free_bytes", (int64_t)free_bytes(q->c->front));
	put_close(out, '}');
	put_close(out, '}');
}

void query_nodes(struct query *q)
{
	buf_puts(&q->out, q->c->nodes ? q->c->nodes : "{\"etcd\":false,\"nodes\":[]}");
}

static void metric(struct buf *out, const char *name, const char *type, const char *help,
                   uint64_t value)
{
	put_open(out, NULL, '{');
	put_text(out, "name", name);
	put_text(out, "type", type);
	put_text(out, "help", help);
	put_open(out, "samples", '[');
	put_open(out, NULL, '{');
	put_open(out, "labels", '{');
	put_close(out, '}');
	put_int(out, "value", (int64_t)value);
	put_close(out, '}');
	put_close(out, ']');
	put_close(out, '}');
}

static void by_state(const struct catalog *cat, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "name", "instances");
	put_text(out, "type", "gauge");
	put_text(out, "help", "Unfinished instances by state");
	put_open(out, "samples", '[');
	for (int s = 1; s < ST_COUNT; s++) {
		if (state_final((enum state)s))
			continue;
		put_open(out, NULL, '{');
		put_open(out, "labels", '{');
		put_text(out, "state", state_name((enum state)s));
		put_close(out, '}');
		put_int(out, "value", (int64_t)cat->counts[s]);
		put_close(out, '}');
	}
	put_close(out, ']');
	put_close(out, '}');
}

void query_metrics(struct query *q)
{
	struct ledger_figures f;
	struct buf *out = &q->out;

	ledger_figures(q->c->ledger, &f);
	put_open(out, NULL, '{');
	put_open(out, "metrics", '[');
	metric(out, "transitions_total", "counter", "Transitions, ever", f.durable);
	metric(out, "transitions_pending", "gauge", "Transitions not yet durable",
	       f.last - f.durable);
	metric(out, "commits_total", "counter", "Commits since the start", f.commits);
	metric(out, "commit_microseconds_total", "counter", "Time spent in commits",
	       f.commit_us_sum);
	metric(out, "commit_retries_total", "counter", "Commits that failed for the moment",
	       f.retries);
	metric(out, "proposals_refused_total", "counter", "Proposals refused", f.refused);
	metric(out, "reports_stale_total", "counter", "Reports under an old lease", f.stale);
	metric(out, "brokers_online", "gauge", "Brokers with a session", q->brokers_online);
	metric(out, "epoch", "gauge", "Epoch of this leader", ledger_epoch(q->c->ledger));
	by_state(&q->c->cat, out);
	put_close(out, ']');
	put_close(out, '}');
}
