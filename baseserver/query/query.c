/* Queries: a letter goes from actor to actor, each adds what only it knows, and the commander,
 * where it began, answers.
 *
 * The stations are ledger, resolver, sorter, registrar, and home; each kind of query visits those
 * it needs. Actors share nothing, so this walk replaces locks; it also means that an answer is not
 * one instant of the whole server. What an answer shows waits until it is durable (may_leave), as
 * all that leaves does; only `why` leaves while the store is away, because people ask it when the
 * store is what hangs. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/plan/resolver.h"
#include "baseserver/query/query.h"
#include "baseserver/query/query_impl.h"
#include "baseserver/sort/registrar.h"
#include "baseserver/sort/sorter.h"
#include "rt/actor.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

#define LOOK_AGAIN_US US_PER_S

static void query_discard(struct letter *l)
{
	query__free((struct query *)l);
}

static void query_answer(struct query *q)
{
	CHECK(q->req); /* answered or refused, once */
	request_answer(q->req, 0, "", &q->out, q->number);
	q->req = NULL;
	buf_init(&q->out);
	query__free(q);
}

static void refuse_query(struct query *q, const struct refusal *f)
{
	CHECK(q->req && f->code < 0);
	request_refuse(q->req, f);
	q->req = NULL;
	query__free(q);
}

/* --- the last station ------------------------------------------------------------------- */

static void print_flags(const struct instance *i, struct buf *out)
{
	put_open(out, "flags", '[');
	if (i->flags & IF_FROZEN)
		put_text(out, NULL, "frozen");
	if (i->flags & IF_FORCED)
		put_text(out, NULL, "forced");
	if (i->flags & IF_DRY)
		put_text(out, NULL, "dry_run");
	if (i->flags & IF_RUN_NOW)
		put_text(out, NULL, "run_now");
	if (i->flags & IF_NOTIFIED)
		put_text(out, NULL, "notified");
	put_close(out, ']');
}

static void print_image(const struct query *q, struct buf *out)
{
	const struct instance now = instance_now(&q->image), *i = &now;

	put_text(out, "state", state_name((enum state)i->state));
	put_text(out, "reason", reason_name((enum reason)i->reason));
	put_time(out, "due", i->due);
	put_time_us(out, "effective_due", i->eff_due_us);
	put_time_us(out, "created", i->created_us);
	put_time_us(out, "started", i->started_us);
	put_time_us(out, "ended", i->ended_us);
	bool again = i->state == ST_FAILED || inst_looks_again(i);
	put_time_us(out, "retry_at", again ? i->retry_at_us : 0);
	put_int(out, "generation", i->generation);
	put_int(out, "revision", i->revision);
	put_int(out, "version", version_shown(i->version));
	put_bool(out, "draft", version_is_draft(i->version));
	put_int(out, "attempt", i->attempt);
	put_int(out, "infra", i->infra);
	put_int(out, "looks", i->looks);
	if (i->ended_us)
		put_int(out, "exit_code", i->exit_code);
	else
		put_null(out, "exit_code");
	put_text(out, "broker", q->broker);
	put_int(out, "broker_id", i->broker);
	put_int(out, "priority", i->priority);
	put_text(out, "origin", origin_name((enum origin)i->origin));
	print_flags(i, out);
	const struct progress_item *far = progress_find(commander_progress_of(q->c), q->key);
	if (far)
		put_int(out, "progress_permille", far->permille);
	else
		put_null(out, "progress_permille");
	put_id(out, "last_number", i->last_number);
	put_id(out, "cause", i->cause);
	put_id(out, "token", i->token);
}

static void query_instance(struct query *q)
{
	const struct cat_task *t = catalog_task(commander_catalog(q->c), q->key.task);

	put_open(&q->out, NULL, '{');
	print_instance_name(q->c, q->key, &q->out);
	put_bool(&q->out, "live", q->live);
	if (q->live)
		print_image(q, &q->out);
	else
		put_bool(&q->out, "planned",
		         t && q->key.part == 0 && plan_has(t->def->plan, q->key.run_date));
	put_close(&q->out, '}');
}

static void ask_for_ledger(struct query *q);

static void query_finish(struct query *q)
{
	if (q->refusal.code < 0) {
		refuse_query(q, &q->refusal);
		return;
	}
	switch (q->kind) {
	case QK_INSTANCE:
		query_instance(q);
		break;
	case QK_WHY:
		if (q->store_away)
			query__why_store_away(q);
		else if (!q->about_parent && query__why_say(q)) {
			q->about_parent = true;
			ask_for_ledger(q);
			return;
		}
		query__why_print(q);
		break;
	case QK_SERVER:
		query__server(q);
		break;
	case QK_HEALTH:
		query__health(q);
		break;
	case QK_METRICS:
		query__metrics(q);
		break;
	default:
		break;
	}
	if (q->number == 0)
		q->number = commander_seen(q->c);
	query_answer(q);
}

/* An answer leaves when what it shows is durable. `why` leaves also while the store is away: who
 * asks why nothing moves is not kept waiting. */
static bool may_leave(struct query *q)
{
	struct ledger_figures fig;

	if (q->number <= commander_seen(q->c))
		return true;
	if (q->kind != QK_WHY)
		return false;
	ledger_figures(commander_ledger(q->c), &fig);
	q->store_away = fig.store_down;
	if (q->store_away)
		q->number = commander_seen(q->c);
	else
		commander_alarm(q->c, actor_mono_us(commander_actor(q->c)) + LOOK_AGAIN_US);
	return q->store_away;
}

/* Back at the commander. */
static void at_home(struct letter *l, void *self)
{
	struct commander *c = self;
	struct query *q = (struct query *)l;

	CHECK(c == q->c && actor_here(commander_actor(c)));
	commander_fold(c);
	if (may_leave(q)) {
		query_finish(q);
		return;
	}
	struct query **parked = commander_parked(c);
	q->next = *parked;
	*parked = q;
}

static void query_unpark(struct commander *c)
{
	for (struct query **at = commander_parked(c), *q; (q = *at);) {
		if (!may_leave(q)) {
			at = &q->next;
			continue;
		}
		*at = q->next;
		query_finish(q);
	}
}

static void query_drop_parked(struct commander *c)
{
	for (struct query **at = commander_parked(c), *q; (q = *at);) {
		*at = q->next;
		query__free(q);
	}
}

/* --- stations on the way ------------------------------------------------------------------ */

static void to_sorter(struct query *q);

static void at_registrar(struct letter *l, void *self)
{
	struct query *q = (struct query *)l;

	if (q->kind == QK_BROKERS)
		registrar_print(self, &q->out);
	else if (q->kind == QK_TYPES)
		registrar_print_types(self, &q->out);
	else if (q->kind == QK_WHY && q->live && !q->in_queue &&
	         state_holds_slot((enum state)q->image.state))
		registrar_explain_run(self, q->def, &q->image, &q->why);
	else if (q->kind == QK_WHY)
		registrar_explain(self, q->def, &q->why);
	else if (q->kind == QK_INSTANCE && q->live)
		registrar_name(self, q->image.broker, q->broker);
	else if (q->kind == QK_METRICS)
		query__metrics_brokers(q, self);
	else {
		q->brokers_online = registrar_online(self);
		q->keeperless = registrar_keeperless(self, q->broker);
	}
	if (q->kind == QK_METRICS)
		to_sorter(q);
	else
		query__home(q);
}

static struct actor *sorter_of(const struct query *q)
{
	const struct front *f = commander_front(q->c);

	return f && f->sorter ? sorter_actor(f->sorter) : NULL;
}

static struct actor *registrar_of(const struct query *q)
{
	const struct front *f = commander_front(q->c);

	return f && f->registrar ? registrar_actor(f->registrar) : NULL;
}

static void to_registrar(struct query *q)
{
	if (!query__hop(q, registrar_of(q), at_registrar))
		query__home(q);
}

static void at_sorter(struct letter *l, void *self)
{
	struct query *q = (struct query *)l;
	size_t counts[ST_COUNT];

	if (q->about_parent) {
		q->lasts_us = sorter_median_us(self, q->parent.task);
	} else if (q->kind == QK_WHY) {
		const struct instance *i = q->part.key.part ? &q->part : &q->image;
		q->in_queue = sorter_explain(self, i->key, i->slot, &q->why);
		if (q->in_queue && why_gate(q->why.code) >= 9) {
			to_registrar(q);
			return;
		}
	} else if (q->kind == QK_POOLS) {
		query__pools(q, self);
	} else if (q->kind == QK_QUOTAS) {
		query__quotas(q, self);
	} else {
		CHECK(q->resolver.len == sizeof counts);
		memcpy(counts, buf_at(&q->resolver), sizeof counts); /* packed at the start */
		(q->kind == QK_METRICS ? query__metrics_queues : query__queues)(q, self, counts);
	}
	query__home(q);
}

static void to_sorter(struct query *q)
{
	if (!query__hop(q, sorter_of(q), at_sorter))
		query__home(q);
}

static void at_resolver(struct letter *l, void *self)
{
	struct query *q = (struct query *)l;

	q->waits_for_link = resolver_explain(self, q->key, &q->resolver);
	to_sorter(q);
}

static void to_resolver(struct query *q)
{
	const struct front *f = commander_front(q->c);

	if (!query__hop(q, f && f->resolver ? resolver_actor(f->resolver) : NULL, at_resolver))
		to_sorter(q);
}

static void at_ledger(struct letter *l, void *self)
{
	struct query *q = (struct query *)l;
	struct ledger *ledger = self;

	if (q->about_parent) {
		q->parent_live = ledger_find(ledger, q->parent, &q->parent_image);
		to_sorter(q);
		return;
	}
	q->live = ledger_find(ledger, q->key, &q->image);
	q->number = stream_last(ledger_stream(ledger));
	bool holds = q->live && state_holds_slot((enum state)q->image.state);
	/* Of a whole that runs one part that waits is asked about. */
	if (q->part.key.part && (!holds || !ledger_find(ledger, q->part.key, &q->part)))
		q->part.key.part = 0;
	if (q->part.key.part)
		to_sorter(q);
	else if (q->kind == QK_WHY && q->live && !holds)
		to_resolver(q);
	else if (q->live && (q->kind == QK_INSTANCE || q->kind == QK_WHY))
		to_registrar(q);
	else
		query__home(q);
}

static void ask_for_ledger(struct query *q)
{
	query__hop(q, ledger_actor(commander_ledger(q->c)), at_ledger);
}

/* --- the first station ------------------------------------------------------------------------ */

static int parse_instance(struct query *q, const struct jval *args, struct refusal *f)
{
	static const char *const keys[] = { "instance", NULL };
	const struct jval *v;
	int r = arg_object(args, "args", keys, f);

	if (r < 0)
		return r;
	v = jv_get(args, "instance");
	if (!v)
		return refuse(f, E_INVALID, "args.instance",
		              "for example {\"id\": \"17.1772323200\"}",
		              "args.instance: is missing");
	if (!query__names_own(q, v))
		return query__not_there(f);
	r = selection_instance(commander_catalog(q->c), v,
	                       actor_wall_us(commander_actor(q->c)) / US_PER_S, "args.instance",
	                       &q->key, f);
	return r == 0 && !query__sees_task(q, q->key.task) ? query__not_there(f) : r;
}

static int query_command(struct query *q, const struct jval *args, struct refusal *f)
{
	static const char *const keys[] = { "command", NULL };
	const char *text = NULL;
	int r = arg_object(args, "args", keys, f);

	if (r == 0)
		r = arg_text(args, "args", "command", 20, &text, f);
	if (r < 0)
		return r;
	if (!text || !*text || strspn(text, "0123456789") != strlen(text))
		return refuse(f, E_INVALID, "args.command", "for example \"12\"",
		              "args.command: a command's number in quotes is expected");
	uint64_t id = strtoull(text, NULL, 10);
	const struct face face = commander_face(q->c, id);
	if (!face.number || (!query__sees_all(q) && strcmp(face.actor, q->req->actor) != 0))
		return refuse(f, E_NOT_FOUND, "args.command", NULL, "no command %s", text);
	face_print(&face, &q->out);
	q->number = face.number;
	return 0;
}

/* How many are in which state, for who prints gates; counts[ST_NONE]: of those that are Ready, how
 * many look again. */
static void pack_counts(struct query *q)
{
	const struct catalog *cat = commander_catalog(q->c);
	size_t counts[ST_COUNT];

	memcpy(counts, cat->counts, sizeof counts);
	CHECK(counts[ST_NONE] == 0);
	counts[ST_NONE] = cat->looking;
	buf_put(&q->resolver, counts, sizeof counts);
}

static void start_queues(struct query *q)
{
	if (!sorter_of(q)) {
		query__queues(q, NULL, commander_catalog(q->c)->counts);
		query_finish(q);
		return;
	}
	pack_counts(q);
	to_sorter(q);
}

static void start_metrics(struct query *q)
{
	query__metrics_begin(q);
	pack_counts(q);
	if (!query__hop(q, registrar_of(q), at_registrar))
		to_sorter(q);
}

static void start_why(struct query *q)
{
	q->def = task_ref(catalog_task(commander_catalog(q->c), q->key.task)->def);
	query__why_part(q);
	ask_for_ledger(q);
}

static void start_nodes(struct query *q)
{
	query__nodes(q);
	query_finish(q);
}

static int no_args(struct query *q, const struct jval *args, struct refusal *f)
{
	static const char *const none[] = { NULL };

	(void)q;
	return arg_object(args, "args", none, f);
}

static int of_brokers(struct query *q, const struct jval *args, struct refusal *f)
{
	int r = no_args(q, args, f);

	return r == 0 && !registrar_of(q)
	               ? refuse(f, E_UNSUPPORTED, "", NULL, "there are no brokers here")
	               : r;
}

static int of_logs(struct query *q, const struct jval *args, struct refusal *f)
{
	int r = no_args(q, args, f);

	return r < 0 ? r : query__logs(q, f);
}

static int of_quotas(struct query *q, const struct jval *args, struct refusal *f)
{
	int r = no_args(q, args, f);

	return r == 0 && !sorter_of(q) ? refuse(f, E_UNSUPPORTED, "", NULL, "nothing runs here")
	                               : r;
}

static void start_quotas(struct query *q)
{
	query__quotas_begin(q);
	to_sorter(q);
}

static void start_projects(struct query *q)
{
	query__projects(q);
	query_finish(q);
}

/* How each kind begins; those of the notifier are none of them. */
static const struct start {
	int (*read)(struct query *q, const struct jval *args, struct refusal *f);
	void (*go)(struct query *q); /* NULL: read() had it on its way */
} starts[QK_COUNT] = {
	[QK_INSTANCE] = { parse_instance, ask_for_ledger },
	[QK_WHY] = { parse_instance, start_why },
	[QK_CAUSES] = { query__causes, query_finish },
	[QK_PROGRESS] = { query__progress, query_finish },
	[QK_COMMAND] = { query_command, query_finish },
	[QK_FORECAST] = { query__forecast, NULL },
	[QK_BASELINES] = { query__forecast, NULL },
	[QK_BROKERS] = { of_brokers, to_registrar },
	[QK_TYPES] = { of_brokers, to_registrar },
	[QK_SERVER] = { no_args, to_registrar },
	[QK_HEALTH] = { no_args, to_registrar },
	[QK_METRICS] = { no_args, start_metrics },
	[QK_QUEUES] = { no_args, start_queues },
	[QK_POOLS] = { no_args, to_sorter },
	[QK_LOGS] = { of_logs, NULL },
	[QK_NODES] = { no_args, start_nodes },
	[QK_PEERS] = { query__peers, query_finish },
	[QK_EXPOSED] = { query__exposed, query_finish },
	[QK_PROJECTS] = { no_args, start_projects },
	[QK_QUOTAS] = { of_quotas, start_quotas },
};

/* The query is on its way, or refused. */
static int query_start(struct query *q, const struct jval *args, struct refusal *f)
{
	const struct start *s = &starts[q->kind];

	if (query__is_notifiers(q->kind))
		return query__notifier(q, args, f);
	CHECK(s->read);
	int r = s->read(q, args, f);
	if (r == 0 && s->go)
		s->go(q);
	if (r == E_NOT_FOUND && !query__sees_all(q)) /* it may name what is near */
		return query__not_there(f);
	return r;
}

static int unknown_kind(const char *kind, struct refusal *f)
{
	static const char *const names[] = {
#define QUERY(NAME, kind, role, of, teller, what) kind,
#include "tbl/query.def"
#undef QUERY
		NULL
	};
	const char *near = nearest_of(kind, names);

	return refuse(f, E_INVALID, "kind", near, "'%.60s' is no kind of query%s%s", kind,
	              near ? ", is this meant: " : "", near ? near : "");
}

static void query_begin(struct letter *l, void *self)
{
	struct commander *c = self;
	struct client_request *r = (struct client_request *)l;
	struct query *q = mem_new(sizeof *q);
	struct refusal f = { 0 };
	const struct jval *doc = NULL;
	struct err err = { 0 };
	int code = 0;

	CHECK(actor_here(commander_actor(c)));
	commander_fold(c);
	q->letter.discard = query_discard;
	q->c = c;
	q->home = at_home;
	q->req = r;
	if (!query_kind_parse(r->kind, &q->kind))
		code = unknown_kind(r->kind, &f);
	else if (jv_parse_args(r->args, r->args_len, &doc, &err) < 0)
		code = refuse(&f, E_INVALID, "args", NULL, "args: %s", err.text);
	else
		code = query_start(q, doc, &f);
	if (code < 0)
		refuse_query(q, &f);
	jv_free(doc);
}

const struct commander_guests query_guests = {
	.begin = query_begin,
	.unpark = query_unpark,
	.drop = query_drop_parked,
};
