/* The query `metrics`: each actor prints what only it knows, the commander the rest.
 *
 * Names, types and words of the figures are rows of schema/tbl/metric.def. One letter visits
 * registrar and sorter and prints there from that actor's own counters, so a scrape takes no lock
 * and copies no table. Loaders of one type side by side (two versions) are one sample, because a
 * scraper refuses two samples with the same labels. */
#include <stdio.h>
#include <sys/statvfs.h>

#include "baseserver/lead/scrubber.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/pools.h"
#include "baseserver/model/meters.h"
#include "baseserver/query/query_impl.h"
#include "baseserver/sort/broker.h"
#include "baseserver/sort/sorter.h"
#include "rt/thread.h"
#include "util/clock.h"
#include "util/json_put.h"
#include "util/self.h"

enum { BROKERS_MAX = 500, POOLS_MAX = 500 };

#define LABELS(...) ((const char *const[]){ __VA_ARGS__, NULL })

void query__metrics_begin(struct query *q)
{
	put_open(&q->out, NULL, '{');
	put_open(&q->out, "metrics", '[');
}

/* --- brokers, on the registrar's thread ---------------------------------------------------- */

static int64_t broker_figure(const struct broker *b, enum meter m)
{
	switch (m) {
	case M_BROKER_UP:
		return b->session != 0;
	case M_BROKER_ACCEPTS:
		return b->session != 0 && b->accepts && !b->drained;
	case M_BROKER_SLOTS:
		return b->slots;
	case M_BROKER_RUNNING:
		return b->session ? broker_running(b) : 0;
	case M_BROKER_CPU:
		return b->cpu_permille;
	case M_BROKER_LOAD:
		return b->load_permille;
	case M_BROKER_MEMORY:
		return b->memory_permille;
	default:
		return (int64_t)b->disk_free_bytes;
	}
}

/* Loaders of one type side by side are one sample: a scraper takes no two with the same labels. */
static void put_types(const struct broker *b, enum meter m, struct buf *out)
{
	for (size_t i = 0; i < b->n_runners; i++) {
		const struct runner *run = &b->runners[i];
		bool is_first = true, is_ready = false;

		for (size_t k = 0; k < b->n_runners; k++) {
			bool is_same = strcmp(b->runners[k].type, run->type) == 0;
			is_first &= !is_same || k >= i;
			is_ready |= is_same && b->session && b->runners[k].state == 1;
		}
		if (is_first)
			meter_put(out, m == M_STARTS_OK ? run->starts[0] == 0 : is_ready,
			          LABELS("broker", b->name, "type", run->type));
	}
}

void query__metrics_brokers(struct query *q, const struct registrar *r)
{
	const struct broker *const *brokers;
	size_t all = registrar_brokers(r, &brokers), n = all < BROKERS_MAX ? all : BROKERS_MAX;
	struct buf *out = &q->out;

	meter_one(out, M_BROKERS, (int64_t)registrar_online(r));
	for (enum meter m = M_BROKER_UP; m <= M_BROKER_DISK; m++) {
		meter_open(out, m);
		for (size_t i = 0; i < n; i++)
			meter_put(out, broker_figure(brokers[i], m),
			          LABELS("broker", brokers[i]->name));
		meter_close(out);
	}
	for (enum meter m = M_RUNNER_READY; m <= M_STARTS_OK; m++) {
		meter_open(out, m);
		for (size_t i = 0; i < n; i++)
			put_types(brokers[i], m, out);
		meter_close(out);
	}
	meter_open(out, M_FORGED);
	for (size_t i = 0; i < n; i++)
		meter_put(out, (int64_t)brokers[i]->forged.ever,
		          LABELS("broker", brokers[i]->name));
	meter_close(out);
	meter_open(out, M_TWIN_REFUSED);
	for (size_t i = 0; i < n; i++)
		meter_put(out, (int64_t)brokers[i]->machine.refused_ever,
		          LABELS("broker", brokers[i]->name));
	meter_close(out);
}

/* --- queues, on the sorter's thread ---------------------------------------------------------- */

struct listing {
	struct buf *out;
	enum meter m;
	size_t n;
	const char *thread;
};

static void each_class(void *ctx, const struct sorter_class *k)
{
	struct listing *l = ctx;

	if (l->n++ >= POOLS_MAX)
		return;
	meter_put(l->out,
	          l->m == M_CLASS_WAITING   ? (int64_t)k->queued
	          : l->m == M_CLASS_RUNNING ? k->running
	                                    : (int64_t)k->open,
	          LABELS("type", k->type, "group", k->group));
}

static void each_pool(void *ctx, const struct sorter_pool *p)
{
	struct listing *l = ctx;
	const char *name, *kind = query__pool_kind(p->name, &name);

	if (p->size == POOL_NONE || l->n++ >= POOLS_MAX)
		return;
	meter_put(l->out,
	          l->m == M_POOL_SLOTS   ? p->size
	          : l->m == M_POOL_TAKEN ? p->taken
	                                 : (int64_t)p->waiting,
	          LABELS("kind", kind, "pool", name));
}

static void put_waits(const struct query *q, const struct sorter *s, struct buf *out)
{
	const struct ledger_timings *t = ledger_timings(commander_ledger(q->c));

	meter_open(out, M_GATE_WAIT);
	meter_timing(out, &t->due, 2, LABELS("gate", why_gate_name(3)));
	meter_timing(out, &t->link, 2, LABELS("gate", why_gate_name(4)));
	for (int g = 0; g < SORTER_GATES; g++)
		if (g != 3 && g != 4 && g != 9 && g != 12)
			meter_timing(out, sorter_waited(s, g), 2,
			             LABELS("gate", g ? why_gate_name(g) : "none"));
	meter_close(out);
}

void query__metrics_queues(struct query *q, struct sorter *s, const size_t counts[ST_COUNT])
{
	struct listing l = { .out = &q->out };
	size_t gates[SORTER_GATES];

	sorter_blocked(s, gates);
	gates[3] += counts[ST_FAILED] + counts[ST_NONE];
	gates[4] += counts[ST_READY] - counts[ST_NONE];
	meter_open(&q->out, M_GATE_WAITING);
	for (int g = 1; g < SORTER_GATES; g++)
		meter_put(&q->out, (int64_t)gates[g], LABELS("gate", why_gate_name(g)));
	meter_close(&q->out);
	put_waits(q, s, &q->out);
	for (l.m = M_POOL_SLOTS; l.m <= M_POOL_WAITING; l.m++, l.n = 0) {
		meter_open(&q->out, l.m);
		sorter_each_pool(s, each_pool, &l);
		meter_close(&q->out);
	}
	for (l.m = M_CLASS_WAITING; l.m <= M_CLASS_CREDIT; l.m++, l.n = 0) {
		meter_open(&q->out, l.m);
		sorter_each_class(s, each_class, &l);
		meter_close(&q->out);
	}
}

/* --- the rest, on the commander's ------------------------------------------------------------- */

static void put_actor(void *ctx, const struct actor_figures *f)
{
	const struct listing *l = ctx;
	const char *const labels[] = { "actor", f->name, "thread", l->thread, NULL };

	if (l->m == M_ACTOR_BOUT)
		meter_timing(l->out, f->bouts, 2, labels);
	else
		meter_put(l->out,
		          l->m == M_ACTOR_LETTERS       ? (int64_t)f->letters
		          : l->m == M_ACTOR_LETTERS_MAX ? (int64_t)f->letters_max
		          : l->m == M_ACTOR_DELIVERED   ? (int64_t)f->delivered
		          : l->m == M_ACTOR_STALLS      ? (int64_t)f->stalls
		                                        : f->busy_us,
		          labels);
}

static void put_threads(const struct front *f, int64_t now_us, struct buf *out)
{
	struct listing l = { .out = out };
	const char *at;

	for (l.m = M_ACTOR_LETTERS; l.m <= M_ACTOR_BUSY; l.m++) {
		meter_open(out, l.m);
		for (size_t i = 0; i < f->n_threads; i++) {
			l.thread = f->threads[i].name;
			thread_each_actor(f->threads[i].thread, now_us, put_actor, &l);
		}
		meter_close(out);
	}
	meter_open(out, M_THREAD_SILENT);
	for (size_t i = 0; i < f->n_threads; i++)
		meter_put(out, thread_silent_us(f->threads[i].thread, now_us, &at),
		          LABELS("thread", f->threads[i].name));
	meter_close(out);
}

static void put_disk(struct buf *out, enum meter m, const char *what, const char *dir)
{
	struct statvfs st;

	if (!dir || !dir[0] || statvfs(dir, &st) < 0)
		return;
	meter_put(out, (int64_t)((uint64_t)(m == M_DISK ? st.f_blocks : st.f_bavail) * st.f_frsize),
	          LABELS("disk", what));
}

static void put_workers(const struct front *f, struct buf *out)
{
	uint64_t jobs = 0, reports = 0, log_refused = 0, unproven = 0;
	struct worker_figures w;
	char number[24];

	if (!f->figures || f->n_workers == 0)
		return;
	meter_open(out, M_HAND_OVER);
	for (size_t i = 0; i < f->n_workers; i++) {
		f->figures(f->workers[i], &w);
		jobs += w.jobs;
		reports += w.reports;
		log_refused += w.log_refused;
		unproven += w.unproven;
		snprintf(number, sizeof number, "%zu", i + 1);
		meter_timing(out, w.hand_over, 1, LABELS("worker", number));
	}
	meter_close(out);
	meter_one(out, M_JOBS_SENT, (int64_t)jobs);
	meter_one(out, M_REPORTS, (int64_t)reports);
	meter_one(out, M_LOG_REFUSED, (int64_t)log_refused);
	meter_one(out, M_UNPROVEN, (int64_t)unproven);
}

static void put_log_home(const struct front *f, struct buf *out)
{
	struct log_home_figures h = { .is_set = false };
	int64_t now_us = clock_wall_us(&clock_machine);

	if (f->log_home)
		f->log_home(f->logkeeper, &h);
	meter_one(out, M_LOG_HOME_UP, h.code == 0);
	meter_one(out, M_LOG_HOME_WAITING, (int64_t)h.waiting);
	meter_one(out, M_LOG_HOME_WAITING_BYTES, (int64_t)h.waiting_bytes);
	meter_one(out, M_LOG_HOME_WAITING_AGE,
	          h.oldest_us && h.oldest_us < now_us ? now_us - h.oldest_us : 0);
	meter_one(out, M_LOG_HOME_SEGMENTS, (int64_t)h.far);
	meter_one(out, M_LOG_HOME_SHIPPED, (int64_t)h.shipped);
	meter_one(out, M_LOG_HOME_FAILURES, (int64_t)h.failures);
	meter_one(out, M_LOG_HOME_LOST, (int64_t)h.dropped);
}

static void put_ledger(const struct query *q, struct buf *out)
{
	const struct ledger_timings *t = ledger_timings(commander_ledger(q->c));
	struct scrubber_figures s = { 0 };
	struct ledger_figures f;

	ledger_figures(commander_ledger(q->c), &f);
	if (commander_front(q->c) && commander_front(q->c)->scrubber)
		scrubber_figures(commander_front(q->c)->scrubber, &s);
	meter_one(out, M_TRANSITIONS, (int64_t)f.durable);
	meter_one(out, M_PENDING, (int64_t)(f.last - f.durable));
	meter_open(out, M_EVENTS);
	for (int e = 1; e < EV_COUNT; e++)
		if (*event_name((enum event)e) != '?') /* numbers have gaps */
			meter_put(out, (int64_t)t->events[e],
			          LABELS("event", event_name((enum event)e)));
	meter_close(out);
	meter_one(out, M_LOST, (int64_t)t->lost);
	meter_one(out, M_COMMITS, (int64_t)f.commits);
	meter_open(out, M_COMMIT);
	meter_timing(out, &t->commit, 1, NULL);
	meter_close(out);
	meter_one(out, M_COMMIT_RETRIES, (int64_t)f.retries);
	meter_one(out, M_STORE_UP, !f.store_down);
	meter_one(out, M_STORE_CHECKED,
	          s.is_over ? 1000
	          : s.of    ? (int64_t)(1000 * s.done / (s.of + 1))
	                    : 0);
	meter_one(out, M_STORE_DAMAGED, s.is_damaged);
	meter_one(out, M_REFUSED, (int64_t)f.refused);
	meter_one(out, M_STALE, (int64_t)f.stale);
	meter_open(out, M_CLAIMS_IGNORED);
	meter_put(out, (int64_t)f.claims_unproven, LABELS("why", "unproven"));
	meter_put(out, (int64_t)f.claims_false, LABELS("why", "false"));
	meter_close(out);
	meter_open(out, M_DUE_TO_START);
	meter_timing(out, &t->due_to_start, 1, NULL);
	meter_close(out);
	meter_open(out, M_RAN);
	meter_timing(out, &t->ran_well, 2, LABELS("result", "ok"));
	meter_timing(out, &t->ran_badly, 2, LABELS("result", "failed"));
	meter_close(out);
}

static void put_process(const struct query *q, const struct front *f, struct buf *out)
{
	meter_one(out, M_STANDBYS, (int64_t)commander_lead_seen(q->c)->n);
	meter_one(out, M_EPOCH, ledger_epoch(commander_ledger(q->c)));
	meter_one(out, M_STARTED, f->started_us);
	meter_one(out, M_CPU, self_cpu_us());
	meter_one(out, M_RESIDENT, (int64_t)self_resident_bytes());
}

void query__metrics(struct query *q)
{
	static const struct front nothing;
	const struct front *f = commander_front(q->c) ? commander_front(q->c) : &nothing;
	struct buf *out = &q->out;

	put_ledger(q, out);
	meter_open(out, M_INSTANCES);
	for (int s = 1; s < ST_COUNT; s++)
		if (!state_final((enum state)s))
			meter_put(out, (int64_t)commander_catalog(q->c)->counts[s],
			          LABELS("state", state_name((enum state)s)));
	meter_close(out);
	put_workers(f, out);
	put_log_home(f, out);
	put_threads(f, actor_mono_us(commander_actor(q->c)), out);
	for (enum meter m = M_DISK_FREE; m <= M_DISK; m++) {
		meter_open(out, m);
		put_disk(out, m, "store", f->store_dir);
		put_disk(out, m, "logs", f->log_dir);
		meter_close(out);
	}
	put_process(q, f, out);
	put_close(out, ']');
	put_close(out, '}');
}
