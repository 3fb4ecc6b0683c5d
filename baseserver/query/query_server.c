/* The queries `server`, `health` and `nodes`: figures that any thread may read, and the catalog's
 * counts.
 *
 * Health is a list of problems, one line each with its remedy, and what they amount to. It must
 * answer while the core thread stalls: then a worker prints it by front_health(), from figures that
 * any thread may read. Each problem that has an alert of its own is also named by its word of
 * alert.def. Who may see some projects only is told of no other's workflows, nor of peers. */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "baseserver/lead/lead.h"
#include "baseserver/lead/scrubber.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/catalog.h"
#include "baseserver/model/reading.h"
#include "baseserver/query/query_impl.h"
#include "rt/thread.h"
#include "sched/task.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

enum { FREE_LOW_BYTES = 100 << 20 };

static uint64_t free_bytes(const struct front *f)
{
	struct statvfs st;

	if (!f || !f->store_dir || statvfs(f->store_dir, &st) < 0)
		return 0;
	return (uint64_t)st.f_bavail * st.f_frsize;
}

/* How long a thread has stalled, in us; 0: it has not. */
static int64_t stalled_us(const struct front_thread *t, int64_t now_us, const char **ret_actor)
{
	int64_t us = thread_silent_us(t->thread, now_us, ret_actor);

	return t->stall_us && us > t->stall_us ? us : 0;
}

bool front_stalls(const struct front *f, int64_t now_us)
{
	const char *actor;
	bool any = false;

	for (size_t i = 0; f && i < f->n_threads; i++)
		any |= stalled_us(&f->threads[i], now_us, &actor) > 0;
	return any;
}

static bool print_stalls(const struct front *f, int64_t now_us, struct buf *out)
{
	const char *actor;
	char text[160];
	bool any = false;

	for (size_t i = 0; f && i < f->n_threads; i++) {
		int64_t us = stalled_us(&f->threads[i], now_us, &actor);
		if (us == 0)
			continue;
		snprintf(text, sizeof text, "%s stalls: thread %s has not answered for %lld.%lld s",
		         actor ? actor : f->threads[i].name, f->threads[i].name,
		         (long long)(us / US_PER_S), (long long)(us % US_PER_S / 100000));
		put_text(out, NULL, text);
		any = true;
	}
	return any;
}

static void print_clock(const struct lead_view *lead, struct buf *out)
{
	int64_t off_s = lead->clock_off_us / US_PER_S;
	char text[120];

	snprintf(text, sizeof text,
	         "the database's clock is %lld s %s this server's: one of the two is wrong",
	         (long long)(off_s < 0 ? -off_s : off_s), off_s < 0 ? "behind" : "ahead of");
	put_text(out, NULL, text);
}

#define LOW_TEXT "little space is left on the store's disk"
#define DAMAGED_TEXT \
	"the store is damaged: nothing is handed out any more, and this server ends; the manual " \
	"has the three ways on"
#define DAYS_TEXT "the database has no partitions for the days ahead, and they could not be made"

/* Whom health is asked of: all but `lead` may be read on any thread. */
struct patient {
	const struct front *front;
	const struct ledger *ledger;
	const struct lead_view *lead; /* NULL: not now */
	int64_t now_us;               /* mono */
	size_t keeperless;            /* brokers, all that could start something */
	const char *broker;           /* one of them */
	const struct commander *home; /* NULL: not on its thread */
	const struct query *asked;    /* by whom; NULL: nobody who is bound */
};

/* Does he who asks keep to some projects? He is told of no other, nor of peers. */
static bool is_bound(const struct patient *p)
{
	return p->asked && !query__sees_all(p->asked);
}

static struct patient patient_of(const struct query *q)
{
	const struct commander *c = q->c;

	return (struct patient){ commander_front(c),
		                 commander_ledger(c),
		                 commander_lead_seen(c),
		                 actor_mono_us(commander_actor(c)),
		                 q->keeperless,
		                 q->broker,
		                 c,
		                 q };
}

static void print_keeperless(const struct patient *p, struct buf *out)
{
	char text[200], more[32] = "";

	if (p->keeperless > 1)
		snprintf(more, sizeof more, " and %zu more", p->keeperless - 1);
	snprintf(text, sizeof text,
	         "nothing can start: no broker that is online has a jobkeeper (%s%s)", p->broker,
	         more);
	put_text(out, NULL, text);
}

static bool print_unsaid(const struct patient *p, struct buf *out)
{
	struct buf names;
	char text[300];

	buf_init(&names);
	if (p->home && !is_bound(p))
		query__unsaid(p->home, &names);
	bool any = names.len > 0;
	snprintf(
		text, sizeof text,
		"nobody has said what these keys are, and they are not let in: %.150s (sirdar peer "
		"set NAME --kind KIND)",
		buf_str(&names));
	if (any)
		put_text(out, NULL, text);
	buf_done(&names);
	return any;
}

static bool print_unasked(const struct patient *p, struct buf *out)
{
	struct buf names;
	char text[500];

	buf_init(&names);
	if (p->home && !is_bound(p))
		query__unasked(p->home, &names);
	bool any = names.len > 0;
	snprintf(text, sizeof text,
	         "these projects are trusted because they had work before anybody was asked, so "
	         "machines that give projects no users of their own take their jobs: %.180s "
	         "(sirdar project trust NAME... keeps it so, sirdar project untrust ends it)",
	         buf_str(&names));
	if (any)
		put_text(out, NULL, text);
	buf_done(&names);
	return any;
}

/* Workflows in quarantine by name, with commas: as many as a line holds. */
static void list_aside(const struct patient *p, struct buf *out)
{
	const struct catalog *cat = p->home ? commander_catalog(p->home) : NULL;
	uint32_t last = 0;

	for (size_t i = 0; cat && cat->n_aside && i < cat->tasks_cap && out->len < 200; i++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)i);
		if (!t || catalog_retired(t) || !t->row.quarantined_us ||
		    t->row.workflow_id == last ||
		    (is_bound(p) && !query__sees(p->asked, t->def->name)))
			continue;
		last = t->row.workflow_id;
		buf_printf(out, "%s%.*s", out->len ? ", " : "",
		           (int)(strrchr(t->def->name, '/') - t->def->name), t->def->name);
	}
}

static bool print_aside(const struct patient *p, struct buf *out)
{
	struct buf names;

	buf_init(&names);
	list_aside(p, &names);
	bool any = names.len > 0;
	if (any) {
		buf_puts(&names,
		         ": in quarantine, for the server was held up by it (sirdar workflow "
		         "release)");
		put_text(out, NULL, buf_str(&names));
	}
	buf_done(&names);
	return any;
}

/* What is wrong, a line each. Returns what it amounts to. */
/* Logs of jobs wait for their home, or were lost for want of it. */
static bool print_log_home(const struct front *f, struct buf *out)
{
	struct log_home_figures h = { .is_set = false };
	char text[200];

	if (f && f->log_home)
		f->log_home(f->logkeeper, &h);
	if (!h.is_set || (h.code == 0 && h.dropped == 0))
		return false;
	if (h.code < 0) {
		snprintf(text, sizeof text,
		         "the home of jobs' logs does not take or give them (%s): %llu segments "
		         "wait, "
		         "%llu bytes",
		         err_text(h.code), (unsigned long long)h.waiting,
		         (unsigned long long)h.waiting_bytes);
		put_text(out, NULL, text);
	}
	if (h.dropped) {
		snprintf(text, sizeof text,
		         "%llu segments of jobs' logs are lost: more than log_home_wait_bytes_max "
		         "waited for their home",
		         (unsigned long long)h.dropped);
		put_text(out, NULL, text);
	}
	return true;
}

static const char *print_problems(const struct patient *p, struct buf *out)
{
	uint64_t room = free_bytes(p->front);
	bool low = room && room < FREE_LOW_BYTES;
	bool off = p->lead && lead_clock_is_off(p->lead);
	struct scrubber_figures scrub = { 0 };
	struct ledger_figures fig;
	char text[120];

	ledger_figures(p->ledger, &fig);
	if (p->front && p->front->scrubber)
		scrubber_figures(p->front->scrubber, &scrub);
	put_open(out, "problems", '[');
	bool stalls = print_stalls(p->front, p->now_us, out);
	if (fig.store_down) {
		snprintf(text, sizeof text,
		         "the store refuses commits (%s); nothing is lost, nothing new leaves",
		         err_text(fig.store_code ? fig.store_code : E_AGAIN));
		put_text(out, NULL, text);
	}
	if (scrub.is_damaged)
		put_text(out, NULL, DAMAGED_TEXT);
	if (low)
		put_text(out, NULL, LOW_TEXT);
	if (fig.lacks_days)
		put_text(out, NULL, DAYS_TEXT);
	if (off)
		print_clock(p->lead, out);
	if (p->keeperless)
		print_keeperless(p, out);
	bool unsaid = print_unsaid(p, out), aside = print_aside(p, out);
	bool unasked = print_unasked(p, out), homeless = print_log_home(p->front, out);
	put_close(out, ']');
	if (fig.store_down || stalls || scrub.is_damaged)
		return "failing";
	return low || off || fig.lacks_days || p->keeperless || unsaid || aside || unasked ||
	                       homeless
	               ? "degraded"
	               : "ok";
}

/* How far a standby is behind is the number it read against the last one on disk. */
static void print_lead(const struct commander *c, struct buf *out)
{
	const struct lead_view *v = commander_lead_seen(c);
	struct ledger_figures fig;

	if (!v->lease.epoch)
		return;
	ledger_figures(commander_ledger(c), &fig);
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
		put_int(out, "heard_ms",
		        (n->age_us + actor_mono_us(commander_actor(c)) - v->at_us) / US_PER_MS);
		put_int(out, "behind",
		        fig.durable > n->number ? (int64_t)(fig.durable - n->number) : 0);
		put_close(out, '}');
	}
	put_close(out, ']');
}

/* How much work there is, of all projects. */
static void print_work(const struct catalog *cat, struct buf *out)
{
	size_t tasks = 0;

	for (size_t i = 0; i < cat->tasks_cap; i++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)i);
		tasks += t && !catalog_retired(t) && !name_is_test(t->def->name);
	}
	put_int(out, "tasks", (int64_t)tasks);
	put_open(out, "instances", '{');
	for (int s = 1; s < ST_COUNT; s++)
		if (cat->counts[s])
			put_int(out, state_name((enum state)s), (int64_t)cat->counts[s]);
	put_close(out, '}');
}

void query__server(struct query *q)
{
	static const struct front nothing;
	const struct commander *c = q->c;
	const struct front *f = commander_front(c) ? commander_front(c) : &nothing;
	struct buf *out = &q->out;

	put_open(out, NULL, '{');
	put_text(out, "version", f->software ? f->software : SIRDAR_VERSION);
	put_bool(out, "leads", true);
	put_bool(out, "recovering", false);
	put_int(out, "epoch", ledger_epoch(commander_ledger(c)));
	put_id(out, "number", commander_seen(c));
	put_time_us(out, "started", f->started_us);
	put_time_us(out, "now", actor_wall_us(commander_actor(c)));
	put_text(out, "timezone", commander_timezone(c));
	put_text(out, "store", f->store ? f->store : "mem");
	put_bool(out, "trust_new_projects", !f->asks_trust);
	bool bound = reading_is_bound(commander_docs(c, DOC_SETTING));
	put_text(out, "reading", bound ? "project" : "all");
	print_lead(c, out);
	struct patient p = patient_of(q);
	print_problems(&p, out);
	put_int(out, "brokers", (int64_t)q->brokers_online);
	if (query__sees_all(q))
		print_work(commander_catalog(c), out);
	put_close(out, '}');
}

static void print_actors(const struct patient *p, struct buf *out)
{
	const struct front *f = p->front;
	const char *actor;

	put_open(out, "actors", '[');
	for (size_t i = 0; f && i < f->n_threads; i++) {
		int64_t quiet_us = thread_silent_us(f->threads[i].thread, p->now_us, &actor);
		put_open(out, NULL, '{');
		put_text(out, "name", f->threads[i].name);
		put_text(out, "at_work", actor);
		put_int(out, "quiet_ms", quiet_us / US_PER_MS);
		put_int(out, "letters", 0);
		put_bool(out, "ok", stalled_us(&f->threads[i], p->now_us, &actor) == 0);
		put_close(out, '}');
	}
	put_close(out, ']');
}

/* The problems that have rules of their own (alert.def), by word. */
static void print_kinds(const struct patient *p, struct buf *out)
{
	uint64_t room = free_bytes(p->front);
	struct ledger_figures fig;

	ledger_figures(p->ledger, &fig);
	put_open(out, "kinds", '[');
	if (room && room < FREE_LOW_BYTES)
		put_text(out, NULL, "disk");
	if (fig.lacks_days)
		put_text(out, NULL, "partition");
	put_close(out, ']');
}

/* For the alert of its own. */
static void put_aside(const struct patient *p, struct buf *out)
{
	struct buf names;

	buf_init(&names);
	list_aside(p, &names);
	if (p->home) /* else nobody knows now */
		put_text(out, "quarantine", buf_str(&names));
	buf_done(&names);
}

/* The same of projects whose plans made more than a command might. */
static void put_crowded(const struct patient *p, struct buf *out)
{
	struct buf names;

	if (!p->home || is_bound(p))
		return;
	buf_init(&names);
	commander_list_crowded(p->home, &names);
	put_text(out, "crowded", buf_str(&names));
	buf_done(&names);
}

/* How far the look through the whole store is. */
static void print_scrub(const struct patient *p, struct buf *out)
{
	struct scrubber_figures s = { 0 };

	if (!p->front || !p->front->scrubber)
		return;
	scrubber_figures(p->front->scrubber, &s);
	put_text(out, "check", s.is_damaged ? "damaged" : s.is_over ? "whole" : "runs");
	put_int(out, "checked_tables", (int64_t)s.done);
	put_int(out, "tables", (int64_t)s.of);
}

static void print_health(const struct patient *p, struct buf *out)
{
	struct ledger_figures fig;

	ledger_figures(p->ledger, &fig);
	put_open(out, NULL, '{');
	const char *amounts = print_problems(p, out);
	put_text(out, "status", amounts);
	print_kinds(p, out);
	put_aside(p, out);
	put_crowded(p, out);
	print_actors(p, out);
	put_open(out, "store", '{');
	put_bool(out, "ok", !fig.store_down);
	put_int(out, "behind", (int64_t)(fig.last - fig.durable));
	put_int(out, "commit_us", (int64_t)fig.commit_us_last);
	put_int(out, "free_bytes", (int64_t)free_bytes(p->front));
	print_scrub(p, out);
	put_close(out, '}');
	put_close(out, '}');
}

void query__health(struct query *q)
{
	struct patient p = patient_of(q);

	print_health(&p, &q->out);
}

void front_health(const struct front *f, int64_t now_us, struct buf *out)
{
	print_health(&(struct patient){ .front = f, .ledger = f->ledger, .now_us = now_us }, out);
}

void query__nodes(struct query *q)
{
	buf_puts(&q->out, commander_nodes_seen(q->c));
}
