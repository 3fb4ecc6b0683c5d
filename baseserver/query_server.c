/* server, health, metrics: figures that any thread may read, and the catalog's counts. */
#include <stdio.h>
#include <sys/statvfs.h>

#include "baseserver/json_write.h"
#include "baseserver/ledger.h"
#include "baseserver/query_impl.h"
#include "rt/thread.h"
#include "util/clock.h"
#include "util/err.h"

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
	jw_text(out, NULL, text);
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
	jw_list(out, "problems");
	if (fig.store_down) {
		snprintf(text, sizeof text,
		         "the store refuses commits (%s); nothing is lost, nothing new leaves",
		         err_text(fig.store_code ? fig.store_code : E_AGAIN));
		jw_text(out, NULL, text);
	}
	if (low)
		jw_text(out, NULL, "little space is left on the store's disk");
	if (!beat)
		jw_text(out, NULL, "a thread has not been heard for long");
	if (off)
		print_clock(c, out);
	jw_end_list(out);
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
	jw_text(out, "name", v->lease.who);
	jw_text(out, "address", v->lease.address);
	jw_text(out, "elects", v->elects);
	jw_instant_us(out, "since", v->lease.since_us);
	jw_number(out, "lease_ms", v->lease.lease_ms);
	jw_list(out, "standbys");
	for (size_t i = 0; i < v->n; i++) {
		const struct store_node *n = &v->nodes[i];
		jw_object(out, NULL);
		jw_text(out, "name", n->who);
		jw_text(out, "address", n->address);
		jw_number(out, "heard_ms",
		          (n->age_us + actor_mono_us(c->me) - v->at_us) / US_PER_MS);
		jw_number(out, "behind",
		          fig.durable > n->number ? (int64_t)(fig.durable - n->number) : 0);
		jw_end_object(out);
	}
	jw_end_list(out);
}

void query_server(struct query *q)
{
	static const struct front nothing;
	const struct commander *c = q->c;
	const struct front *f = c->front ? c->front : &nothing;
	struct buf *out = &q->out;

	jw_object(out, NULL);
	jw_text(out, "version", f->software ? f->software : SIRDAR_VERSION);
	jw_truth(out, "leads", true);
	jw_truth(out, "recovering", false);
	jw_number(out, "epoch", ledger_epoch(c->ledger));
	jw_string_number(out, "number", stream_seen(c->in));
	jw_instant_us(out, "started", f->started_us);
	jw_instant_us(out, "now", actor_wall_us(c->me));
	jw_text(out, "timezone", c->set.timezone ? c->set.timezone : "UTC");
	jw_text(out, "store", f->store ? f->store : "mem");
	print_lead(c, out);
	print_problems(c, out);
	size_t tasks = 0;
	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&c->cat, (uint32_t)i);
		tasks += t && !catalog_retired(t);
	}
	jw_number(out, "tasks", (int64_t)tasks);
	jw_number(out, "brokers", (int64_t)q->brokers_online);
	jw_object(out, "instances");
	for (int s = 1; s < ST_COUNT; s++)
		if (c->cat.counts[s])
			jw_number(out, state_name((enum state)s), (int64_t)c->cat.counts[s]);
	jw_end_object(out);
	jw_end_object(out);
}

/* A thread that is quiet beats when it is pinged: the daemon does that. */
static void print_actors(const struct query *q, struct buf *out)
{
	const struct front *f = q->c->front;
	int64_t now = actor_mono_us(q->c->me);

	jw_list(out, "actors");
	for (size_t i = 0; f && i < f->n_threads; i++) {
		int64_t quiet_ms = (now - thread_beat_us(f->threads[i].thread)) / US_PER_MS;
		jw_object(out, NULL);
		jw_text(out, "name", f->threads[i].name);
		jw_number(out, "quiet_ms", quiet_ms > 0 ? quiet_ms : 0);
		jw_number(out, "letters", 0);
		jw_truth(out, "ok", quiet_ms < QUIET_MS_MAX);
		jw_end_object(out);
	}
	jw_end_list(out);
}

void query_health(struct query *q)
{
	struct ledger_figures fig;
	struct buf *out = &q->out;

	ledger_figures(q->c->ledger, &fig);
	jw_object(out, NULL);
	const char *amounts = print_problems(q->c, out);
	jw_text(out, "status", amounts);
	print_actors(q, out);
	jw_object(out, "store");
	jw_truth(out, "ok", !fig.store_down);
	jw_number(out, "behind", (int64_t)(fig.last - fig.durable));
	jw_number(out, "commit_us", (int64_t)fig.commit_us_last);
	jw_number(out, "free_bytes", (int64_t)free_bytes(q->c->front));
	jw_end_object(out);
	jw_end_object(out);
}

void query_nodes(struct query *q)
{
	buf_puts(&q->out, q->c->nodes ? q->c->nodes : "{\"etcd\":false,\"nodes\":[]}");
}

static void metric(struct buf *out, const char *name, const char *type, const char *help,
                   uint64_t value)
{
	jw_object(out, NULL);
	jw_text(out, "name", name);
	jw_text(out, "type", type);
	jw_text(out, "help", help);
	jw_list(out, "samples");
	jw_object(out, NULL);
	jw_object(out, "labels");
	jw_end_object(out);
	jw_number(out, "value", (int64_t)value);
	jw_end_object(out);
	jw_end_list(out);
	jw_end_object(out);
}

static void by_state(const struct catalog *cat, struct buf *out)
{
	jw_object(out, NULL);
	jw_text(out, "name", "instances");
	jw_text(out, "type", "gauge");
	jw_text(out, "help", "Unfinished instances by state");
	jw_list(out, "samples");
	for (int s = 1; s < ST_COUNT; s++) {
		if (state_final((enum state)s))
			continue;
		jw_object(out, NULL);
		jw_object(out, "labels");
		jw_text(out, "state", state_name((enum state)s));
		jw_end_object(out);
		jw_number(out, "value", (int64_t)cat->counts[s]);
		jw_end_object(out);
	}
	jw_end_list(out);
	jw_end_object(out);
}

void query_metrics(struct query *q)
{
	struct ledger_figures f;
	struct buf *out = &q->out;

	ledger_figures(q->c->ledger, &f);
	jw_object(out, NULL);
	jw_list(out, "metrics");
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
	jw_end_list(out);
	jw_end_object(out);
}
