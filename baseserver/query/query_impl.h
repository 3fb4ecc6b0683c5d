/* query_impl.h — a query on its way along the actors that know; shared by query*.c only. */
#ifndef BASESERVER_QUERY_IMPL_H
#define BASESERVER_QUERY_IMPL_H

#include "baseserver/command/commander.h"
#include "baseserver/command/commander_guest.h"
#include "baseserver/command/progress.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/model/args.h"
#include "baseserver/model/catalog.h"
#include "baseserver/model/lead_view.h"
#include "baseserver/model/select.h"
#include "baseserver/model/why.h"
#include "sched/instance.h"
#include "util/buf.h"

struct jval;

struct query {
	struct letter letter;
	struct commander *c;
	void (*home)(struct letter *l, void *self); /* back at the commander */
	struct client_request *req;
	enum query_kind kind;
	struct inst_key key;
	bool live, store_away;
	struct instance image;
	uint64_t number; /* what it shows; waits until that is durable */
	char broker[64];
	size_t brokers_online, keeperless; /* keeperless: all of them; `broker` is one */
	bool waits_for_link, in_queue;
	struct buf resolver; /* its words */
	struct why_line why;
	const struct task *def; /* why: counted */
	/* why, once it waits for a parent: the first of them, how it is, how long it takes. */
	struct inst_key parent;
	bool about_parent, parent_live;
	struct instance parent_image;
	struct instance part; /* of a whole that runs: one that waits; key.part 0: there is none */
	int64_t lasts_us;
	struct buf waits;                 /* JSON of what it waits for */
	struct forecast_letter *forecast; /* while it is collected */
	struct refusal refusal;           /* code: what came of it on the way */
	struct buf out;
	struct query *next;
};

/* query_why.c: the answer of `why`. On the commander's thread. The first one finds the words;
 * true: q->parent is to be asked for before it is printed. */
bool query__why_say(struct query *q);
/* Does the end of a parent (NULL: there is none) meet the link? */
struct outcome_range;
struct task_link;
bool query__met(const struct task_link *l, const struct outcome_range *o);
/* The dates of parent p that a link's span asks for, one by one, `after` < date; PLAN_NEVER: there
 * is none. Of a plan its dates; off it the row of the child's own date, else of the span's begin:
 * where there is no plan, or the child is the member of a run (`off_plan`), that run's. */
struct link_span;
struct cat_task;
struct link_ask {
	const struct catalog *cat;
	const struct cat_task *p;
	int64_t own;
	bool off_plan;
};
int64_t query__link_next(const struct link_ask *a, const struct link_span *s, int64_t after);
/* query_causes.c: answered, or refused. */
int query__causes(struct query *q, const struct jval *args, struct refusal *f);
void query__why_part(struct query *q); /* sets `part`: the first that waits */
void query__why_print(struct query *q);
/* What it would show cannot become durable now: it says so, with the state shown last. */
void query__why_store_away(struct query *q);
/* query_bound.c: the peer that asks may keep to some projects. */
bool query__sees_all(const struct query *q);
bool query__sees(const struct query *q, const char *name); /* a project, or what is in one */
bool query__sees_task(const struct query *q, uint32_t task);
bool query__names_own(const struct query *q, const struct jval *instance);
int query__not_there(struct refusal *f); /* E_NOT_FOUND, as of what was never made */
/* query_queues.c: on the sorter's thread. */
struct sorter;
void query__queues(struct query *q, struct sorter *s, const size_t counts[ST_COUNT]);
void query__pools(struct query *q, struct sorter *s);
/* query_hop.c: to the next actor, false: there is none; back to the commander */
bool query__hop(struct query *q, struct actor *to, void (*deliver)(struct letter *l, void *self));
void query__home(struct query *q);
void query__free(struct query *q);
/* query_forecast.c: on its way, or refused. */
int query__forecast(struct query *q, const struct jval *args, struct refusal *f);
/* query_progress.c: answered, or refused. */
int query__progress(struct query *q, const struct jval *args, struct refusal *f);
/* query_logs.c: on its way, or refused. */
int query__logs(struct query *q, struct refusal *f);
/* query_notifier.c: on its way, or refused. */
bool query__is_notifiers(enum query_kind kind);
int query__notifier(struct query *q, const struct jval *args, struct refusal *f);
/* query_server.c */
void query__server(struct query *q);
void query__health(struct query *q);
void query__nodes(struct query *q);
/* query_peers.c: both on the commander's thread. Answered, or refused. */
int query__exposed(struct query *q, const struct jval *args, struct refusal *f);
int query__peers(struct query *q, const struct jval *args, struct refusal *f);
/* Names of keys of which nobody has said what their owners are, appended. */
void query__unsaid(const struct commander *c, struct buf *out);
/* query_projects.c: both on the commander's thread. */
void query__projects(struct query *q);
/* Names of projects that an upgrade trusts and nobody has looked at, appended. */
void query__unasked(const struct commander *c, struct buf *out);
/* The commander's part, and the sorter's. */
void query__quotas_begin(struct query *q);
void query__quotas(struct query *q, const struct sorter *s);
/* query_metrics.c: in this order, each on the thread of who it asks; the last the commander's. */
struct registrar;
void query__metrics_begin(struct query *q);
void query__metrics_brokers(struct query *q, const struct registrar *r);
void query__metrics_queues(struct query *q, struct sorter *s, const size_t counts[ST_COUNT]);
void query__metrics(struct query *q);
/* query_queues.c: what kind of pool it is; *ret_name: its name among those. */
const char *query__pool_kind(const char *name, const char **ret_name);

#endif
