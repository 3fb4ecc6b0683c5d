/* Brokers by number and by name, each with its runners and the sessions that its processes
 * have. A greeting gets its answer when it was judged (registrar_machine.c), and a new name its
 * number; both are stored as a document of the ledger, so that a number stays for good. What
 * brokers report about themselves is kept in memory only and printed for queries. The registrar
 * grants nothing: which session has credit is the sorter's. */
#include "baseserver/sort/registrar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/model/docs.h"
#include "baseserver/sort/registrar_impl.h"
#include "rt/manifests.h"
#include "sched/when.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"

#define BEAT_US (10 * US_PER_S)

static struct broker *by_name(const struct registrar *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->brokers[i]->name, name) == 0)
			return r->brokers[i];
	return NULL;
}

static struct broker *by_id(const struct registrar *r, uint32_t id)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->brokers[i]->id == id)
			return r->brokers[i];
	return NULL;
}

static struct broker *registrar_add(struct registrar *r, uint32_t id, const char *name)
{
	struct broker *b = mem_new(sizeof *b);

	b->id = id;
	b->accepts = true;
	snprintf(b->name, sizeof b->name, "%s", name);
	r->brokers = mem_grow(r->brokers, r->n + 1, sizeof *r->brokers);
	r->brokers[r->n++] = b;
	if (id > r->last_id)
		r->last_id = id;
	return b;
}

static void put_hex(struct buf *out, const char *name, uint64_t v)
{
	char text[17];

	snprintf(text, sizeof text, "%" PRIx64, v);
	put_text(out, name, text);
}

static void store_broker(struct registrar *r, struct broker *b)
{
	struct edit *e = mem_new(sizeof *e);
	struct buf body;

	buf_init(&body);
	put_open(&body, NULL, '{');
	put_text(&body, "name", b->name);
	put_bool(&body, "drained", b->drained);
	put_text(&body, "machine", b->machine.nonce);
	put_hex(&body, "machine_id", b->machine.id);
	put_hex(&body, "machine_since", b->machine.since);
	put_close(&body, '}');
	docs_add(e, &(struct store_doc){ .kind = DOC_BROKER,
	                                 .id = b->id,
	                                 .version = ++b->version,
	                                 .name = b->name,
	                                 .body = (char *)(uintptr_t)buf_str(&body),
	                                 .body_len = body.len,
	                                 .actor = (char *)"registrar",
	                                 .at_us = actor_wall_us(r->me) });
	buf_done(&body);
	b->stored = ledger_edit(r->ledger, e) == 0;
	if (!b->stored)
		edit_free(e);
}

static bool name_is_plain(const char *name)
{
	size_t n = strspn(name,
	                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	return n > 0 && name[n] == 0;
}

static struct runner *find_runner(struct broker *b, const char *type, uint32_t lane)
{
	for (size_t i = 0; i < b->n_runners; i++)
		if (b->runners[i].lane == lane && strcmp(b->runners[i].type, type) == 0)
			return &b->runners[i];
	return NULL;
}

static struct runner *runner_of(struct broker *b, const char *type, uint32_t lane)
{
	struct runner *n = find_runner(b, type, lane);

	if (n || b->n_runners == TYPES_MAX)
		return n;
	n = &b->runners[b->n_runners++];
	*n = (struct runner){ .state = RUNNER_READY, .lane = lane };
	snprintf(n->type, sizeof n->type, "%s", type);
	return n;
}

/* A former version's loader is gone, and nothing of it is left. */
static void lane_over(struct broker *b, const char *type, uint32_t lane)
{
	struct runner *run = find_runner(b, type, lane);

	if (run)
		*run = b->runners[--b->n_runners];
}

void registrar_set_teller(struct registrar *r,
                          void (*tell)(void *ctx, enum roster is, const char *name), void *ctx)
{
	r->tell = tell;
	r->tell_ctx = ctx;
}

/* Says it the first time. */
static void tell_once(struct registrar *r, enum roster is, const char *name)
{
	for (size_t i = 0; i < r->n_told; i++)
		if (r->told[i].is == is && strcmp(r->told[i].name, name) == 0)
			return;
	r->told = mem_grow(r->told, r->n_told + 1, sizeof *r->told);
	r->told[r->n_told].is = is;
	snprintf(r->told[r->n_told++].name, sizeof r->told->name, "%s", name);
	if (r->tell)
		r->tell(r->tell_ctx, is, name);
}

static void tell_broker(struct registrar *r, const struct broker *b)
{
	tell_once(r, ROSTER_MACHINE, b->name);
	for (size_t i = 0; i < b->n_groups; i++)
		tell_once(r, ROSTER_GROUP, b->groups[i]);
}

static void greet_broker(struct registrar *r, struct greeting *g, struct broker *b, int64_t now)
{
	g->fresh = b->incarnation != g->incarnation;
	b->barred[0] = 0;
	for (size_t i = 0; i < b->n_runners && g->fresh; i++)
		b->runners[i].barred[0] = 0; /* it may have other types now */
	b->session = g->session;
	b->incarnation = g->incarnation;
	b->slots = g->slots;
	b->separates = g->separates;
	b->since_us = now;
	memcpy(b->host, g->host, sizeof b->host);
	memcpy(b->mac, g->mac, sizeof b->mac);
	memcpy(b->peer, g->peer, sizeof b->peer);
	memcpy(b->software, g->software, sizeof b->software);
	b->worker = g->reply_to;
	b->evict = g->evict;
	memcpy(b->groups, g->groups, sizeof b->groups);
	b->n_groups = g->n_groups;
	tell_broker(r, b);
}

static void greet_loader(struct registrar *r, struct greeting *g, struct broker *b)
{
	struct runner *run = runner_of(b, g->type, g->lane);

	if (!run) {
		registrar_refuse(g, E_LIMIT, "more than 128 loaders on one broker");
		return;
	}
	tell_once(r, ROSTER_TYPE, run->type);
	/* After a restart nobody knows which process held what: absent means lost then, never
	 * "send it again": an in-process job leaves no marker on the machine. */
	g->fresh = run->incarnation != g->incarnation;
	run->incarnation = g->incarnation;
	run->session = g->session;
	run->barred[0] = 0;
	run->worker = g->reply_to;
	run->evict = g->evict;
	run->slots = g->slots;
	run->held = g->held;
	memcpy(run->version, g->version, sizeof run->version);
}

static void on_greet(struct letter *l, void *self)
{
	struct registrar *r = self;
	struct greeting *g = (struct greeting *)l;
	struct broker *b = by_name(r, g->name);
	int64_t now = actor_wall_us(r->me);

	if (!b && !name_is_plain(g->name))
		registrar_refuse(g, E_INVALID,
		                 "a broker's name has letters, digits, '.', '_' and '-'");
	else if (!b)
		b = registrar_add(r, r->last_id + 1, g->name);
	struct admit at = { actor_mono_us(r->me), r->beat_us, r->ledger };
	bool admitted = b && forged_admit(b, at.now_us, g) == 0 && machine_admit(&at, b, g) == 0;
	if (b && !b->stored)
		store_broker(r, b);
	if (admitted && g->role == 1)
		greet_broker(r, g, b, now);
	else if (admitted)
		greet_loader(r, g, b);
	if (admitted) {
		machine_heard(b, actor_mono_us(r->me));
		b->heard_us = now;
		g->drained = b->drained;
	}
	g->letter.deliver = g->answered;
	if (actor_post_credit(g->reply_to, &g->letter) < 0)
		free(g);
}

static void gone(struct broker *b, uint32_t session)
{
	if (b->session == session)
		b->session = 0;
	for (size_t i = 0; i < b->n_runners; i++)
		if (b->runners[i].session == session)
			b->runners[i].session = 0;
}

static void registrar_count(struct broker *b, uint32_t session, uint32_t held)
{
	for (size_t i = 0; i < b->n_runners; i++)
		if (b->runners[i].session == session)
			b->runners[i].held = held;
}

static void runner_news(struct broker *b, const struct broker_news *n)
{
	struct runner *run;

	if (n->runner_state == RUNNER_OVER) {
		lane_over(b, n->type, n->lane);
		return;
	}
	run = runner_of(b, n->type, n->lane);
	if (!run)
		return;
	if (run->state != n->runner_state)
		log_info("runner.state",
		         "broker=%s type=%s lane=%u version=%s state=%u text=\"%s\"", b->name,
		         n->type, n->lane, n->version, n->runner_state, n->text);
	run->state = n->runner_state;
	memcpy(run->version, n->version, sizeof run->version);
	memcpy(run->text, n->text, sizeof run->text);
}

static void starts(struct broker *b, const struct broker_news *n)
{
	for (size_t i = 0; i < b->n_runners; i++)
		if (strcmp(b->runners[i].type, n->type) == 0)
			snprintf(b->runners[i].starts, sizeof b->runners[i].starts, "%.199s",
			         n->text);
}

/* Also its session that told of it, which a later one may have taken the place of here. */
static void forged(struct registrar *r, struct broker *b, const struct broker_news *n)
{
	static const char text[] = "this broker spoke of leases of others too often";
	const struct broker *of = by_id(r, n->forged_of);
	struct evict e = { .session = n->session, .broker = b->id, .code = E_FORGED };

	if (!forged_note(b, n->text, of ? of->name : "another", actor_mono_us(r->me)))
		return;
	log_warn("broker.forged", "name=%s peer=%s text=\"%s\"", b->name, b->peer, text);
	snprintf(e.text, sizeof e.text, "%s", text);
	session_evict(n->worker, n->evict, &e);
	broker_evict(b, E_FORGED, text);
}

/* Until it is let in. Of a name that nobody was ever let in by there is nothing to show. */
static void barred(struct registrar *r, const struct broker_news *n)
{
	struct broker *b = by_name(r, n->name);
	struct runner *run = b && n->type[0] ? runner_of(b, n->type, n->lane) : NULL;
	char *to = run ? run->barred : b && !n->type[0] ? b->barred : NULL;

	if (to)
		snprintf(to, sizeof b->barred, "%.199s", n->text);
}

static void on_report(struct letter *l, void *self)
{
	struct registrar *r = self;
	struct broker_news *n = (struct broker_news *)l;
	struct broker *b = by_id(r, n->broker);

	if (b)
		log_debug("registrar.report", "broker=%s gone=%d accepts=%d running=%u why=\"%s\"",
		          b->name, n->gone, n->load ? n->accepts : b->accepts, b->running,
		          n->load ? n->why_not : b->why_not);
	if (n->barred)
		barred(r, n);
	if (b && n->gone)
		gone(b, n->session);
	if (b && n->load) {
		b->accepts = n->accepts;
		memcpy(b->why_not, n->why_not, sizeof b->why_not);
		b->cpu_permille = n->cpu_permille;
		b->load_permille = n->load_permille;
		b->slots = n->slots ? n->slots : b->slots;
		b->memory_permille = n->memory_permille;
		b->running = n->running;
		b->disk_free_bytes = n->disk_free_bytes;
	}
	if (b && n->runner)
		runner_news(b, n);
	if (b && n->count)
		registrar_count(b, n->session, n->held);
	if (b && n->forged)
		forged(r, b, n);
	if (b && n->starts)
		starts(b, n);
	else if (b && !n->gone) {
		machine_heard(b, actor_mono_us(r->me));
		b->heard_us = actor_wall_us(r->me);
	}
	free(n);
}

int registrar_greet(struct registrar *r, struct greeting *g)
{
	g->letter = (struct letter){ .deliver = on_greet, .discard = letter_free };
	return actor_post(r->me, &g->letter);
}

int registrar_report(struct registrar *r, struct broker_news *n)
{
	n->letter = (struct letter){ .deliver = on_report, .discard = letter_free };
	return actor_post_credit(r->me, &n->letter);
}

static const struct actor_ops ops = { .name = "registrar", .letters_max = 65536 };

struct loading {
	struct registrar *r;
	struct err *err;
};

/* One that was drained must not take work because its row does not read. A row of an earlier
 * version names no machine. */
static int read_body(const struct store_doc *d, struct broker *b)
{
	const struct jval *doc = NULL;
	int r = jv_parse_args(d->body, d->body_len, &doc, NULL);
	const struct jval *v = jv_get(doc, "drained");

	if (r == 0 && !jv_is(v, JV_TRUTH))
		r = E_CORRUPT;
	if (r == 0)
		b->drained = v->truth;
	if (r == 0)
		machine_load(b, jv_str(doc, "machine"), jv_str(doc, "machine_id"),
		             jv_str(doc, "machine_since"));
	jv_free(doc);
	return r;
}

static int each_doc(void *ctx, const struct store_doc *d)
{
	struct loading *ld = ctx;

	if (by_name(ld->r, d->name))
		return 0;
	struct broker *b = registrar_add(ld->r, d->id, d->name);
	b->stored = true;
	b->version = d->version;
	if (read_body(d, b) < 0)
		return err_set(ld->err, E_CORRUPT,
		               "lb_broker: the body of %s (id %u) does not read back", d->name,
		               d->id);
	return 0;
}

int registrar_new(struct thread *th, struct ledger *ledger, struct store *store,
                  struct registrar **ret_registrar, struct err *err)
{
	struct registrar *r = mem_new(sizeof *r);
	struct loading ld = { r, err };
	int e = store_load_docs(store, DOC_BROKER, each_doc, &ld, err);

	if (e < 0) {
		registrar_free(r);
		return e;
	}
	r->ledger = ledger;
	r->beat_us = BEAT_US;
	r->me = actor_new(th, &ops, r);
	*ret_registrar = r;
	return 0;
}

void registrar_free(struct registrar *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		free(r->brokers[i]);
	manifests_free(r->types);
	free(r->told);
	free(r->brokers);
	free(r);
}

void registrar_set_beat(struct registrar *r, int64_t beat_us)
{
	r->beat_us = beat_us;
}

struct actor *registrar_actor(struct registrar *r)
{
	return r->me;
}

bool registrar_name(const struct registrar *r, uint32_t broker, char ret[64])
{
	const struct broker *b = by_id(r, broker);

	CHECK(actor_here(r->me));
	if (b)
		memcpy(ret, b->name, 64);
	return b != NULL;
}

size_t registrar_online(const struct registrar *r)
{
	size_t n = 0;

	CHECK(actor_here(r->me));
	for (size_t i = 0; i < r->n; i++)
		n += r->brokers[i]->session != 0;
	return n;
}

/* Its taskbroker's words (load.c) begin with that. */
bool registrar__is_keeperless(const struct broker *b)
{
	static const char words[] = "no jobkeeper";

	return !b->accepts && strncmp(b->why_not, words, sizeof words - 1) == 0;
}

size_t registrar_keeperless(const struct registrar *r, char ret_first[64])
{
	size_t n = 0;

	CHECK(actor_here(r->me));
	for (size_t i = 0; i < r->n; i++) {
		const struct broker *b = r->brokers[i];
		if (!b->session || b->drained)
			continue;
		if (!registrar__is_keeperless(b))
			return 0;
		if (n++ == 0)
			memcpy(ret_first, b->name, sizeof b->name);
	}
	return n;
}

size_t registrar_brokers(const struct registrar *r, const struct broker *const **ret_brokers)
{
	*ret_brokers = (const struct broker *const *)r->brokers;
	return r->n;
}

bool registrar_find(const struct registrar *r, const char *name, uint32_t *ret_broker)
{
	const struct broker *b = by_name(r, name);

	CHECK(actor_here(r->me));
	if (b)
		*ret_broker = b->id;
	return b != NULL;
}

void registrar_drain(struct registrar *r, uint32_t broker, bool drained)
{
	struct broker *b = by_id(r, broker);

	CHECK(actor_here(r->me));
	if (!b || b->drained == drained)
		return;
	b->drained = drained;
	store_broker(r, b);
}

const char *runner__state_name(const struct runner *run)
{
	static const char *const names[] = { "stopped",     "ready",   "refused", "crashed",
		                             "quarantined", "stopped", "draining" };

	return run->state < sizeof names / sizeof names[0] ? names[run->state] : "stopped";
}

bool runner__accepts(const struct broker *b, const struct runner *run)
{
	return b->session && b->accepts && !b->drained && run->session &&
	       run->state == RUNNER_READY;
}

/* What its taskbroker counts where the processes are, or what its loaders name: more, where the
 * jobkeeper that is to start it says nothing. */
uint32_t broker_running(const struct broker *b)
{
	uint32_t named = 0;

	for (size_t i = 0; i < b->n_runners; i++)
		named += b->runners[i].session ? b->runners[i].held : 0;
	return b->running > named ? b->running : named;
}

static void print_loaders(const struct broker *b, bool draining, struct buf *out)
{
	for (size_t i = 0; i < b->n_runners; i++) {
		const struct runner *run = &b->runners[i];

		if ((run->state == RUNNER_DRAINING) != draining)
			continue;
		put_open(out, NULL, '{');
		put_text(out, "type", run->type);
		put_text(out, "version", run->version);
		put_text(out, "state", runner__state_name(run));
		put_bool(out, "accepts", runner__accepts(b, run));
		put_text(out, "text", run->text);
		put_text(out, "starts", run->starts);
		put_text(out, "barred", run->session ? "" : run->barred);
		put_int(out, "running", run->session ? run->held : 0);
		put_int(out, "slots", run->slots);
		put_close(out, '}');
	}
}

static void print_broker(const struct registrar *r, const struct broker *b, struct buf *out)
{
	put_open(out, NULL, '{');
	put_int(out, "id", b->id);
	put_text(out, "name", b->name);
	put_text(out, "host", b->host);
	put_text(out, "address", b->peer);
	put_text(out, "mac", b->mac);
	put_open(out, "groups", '[');
	for (size_t i = 0; i < b->n_groups; i++)
		put_text(out, NULL, b->groups[i]);
	put_close(out, ']');
	put_bool(out, "online", b->session != 0);
	put_time_us(out, "since", b->since_us);
	put_time_us(out, "last_heard", b->heard_us);
	put_bool(out, "drained", b->drained);
	put_bool(out, "accepts", b->accepts);
	put_text(out, "why_not", b->why_not);
	put_text(out, "barred", b->session ? "" : b->barred);
	put_int(out, "cpu_permille", b->cpu_permille);
	put_int(out, "load_permille", b->load_permille);
	put_int(out, "memory_permille", b->memory_permille);
	put_id(out, "disk_free_bytes", b->disk_free_bytes);
	put_int(out, "running", broker_running(b));
	put_int(out, "slots", b->slots);
	put_text(out, "software", b->software);
	put_text(out, "separates", b->separates == 1 ? "yes" : b->separates == 2 ? "no" : "");
	machine_print(b, actor_mono_us(r->me), r->beat_us, out);
	forged_print(b, actor_mono_us(r->me), out);
	put_open(out, "types", '[');
	print_loaders(b, false, out);
	print_loaders(b, true, out);
	put_close(out, ']');
	put_close(out, '}');
}

static int name_order(const void *a, const void *b)
{
	return strcmp((*(struct broker *const *)a)->name, (*(struct broker *const *)b)->name);
}

void registrar_print(const struct registrar *r, struct buf *out)
{
	struct broker **sorted = mem_array(r->n + 1, sizeof *sorted);

	CHECK(actor_here(r->me));
	for (size_t i = 0; i < r->n; i++)
		sorted[i] = r->brokers[i];
	qsort(sorted, r->n, sizeof *sorted, name_order);
	put_open(out, NULL, '{');
	put_open(out, "brokers", '[');
	for (size_t i = 0; i < r->n; i++)
		print_broker(r, sorted[i], out);
	put_close(out, ']');
	put_close(out, '}');
	free(sorted);
}
