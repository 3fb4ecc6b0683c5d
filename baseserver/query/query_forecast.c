/* Forecasts: from the commander, which knows what is asked, over the ledger, the sorter and the
 * registrar to the forecaster. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/forecast/forecaster.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/query/query.h"
#include "baseserver/query/query_impl.h"
#include "baseserver/sort/registrar.h"
#include "baseserver/sort/sorter.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"

/* --- what is shared with others --------------------------------------------------------------- */

/* A client's is played and answered; the forecaster's own snapshot goes to it as it is. */
static void to_forecaster(struct forecast_letter *l)
{
	struct query *q = l->ctx;

	if (!q) {
		l->letter.deliver = l->answered;
		if (actor_post_credit(l->reply_to, &l->letter) < 0)
			forecast_letter_free(l);
		return;
	}
	CHECK(l->front);
	if (forecaster_play(l->front->forecaster, l) == 0)
		return;
	refuse(&q->refusal, E_BUSY, "", NULL, "%s", err_text(E_BUSY));
	forecast_letter_free(l);
	query__home(q);
}

static void at_registrar(struct letter *letter, void *self)
{
	struct forecast_letter *l = (struct forecast_letter *)letter;

	registrar_forecast(self, &l->f);
	to_forecaster(l);
}

static void at_sorter(struct letter *letter, void *self)
{
	struct forecast_letter *l = (struct forecast_letter *)letter;

	sorter_forecast(self, &l->f);
	letter->deliver = at_registrar;
	if (!l->front->registrar ||
	    actor_post_credit(registrar_actor(l->front->registrar), letter) < 0)
		to_forecaster(l);
}

static void to_sorter(struct forecast_letter *l)
{
	l->letter.deliver = at_sorter;
	if (!l->front || !l->front->sorter ||
	    actor_post_credit(sorter_actor(l->front->sorter), &l->letter) < 0)
		to_forecaster(l);
}

/* --- a client asks ------------------------------------------------------------------------- */

static void on_played(struct letter *letter, void *self)
{
	struct forecast_letter *l = (struct forecast_letter *)letter;
	struct query *q = l->ctx;

	(void)self;
	if (l->code < 0)
		refuse(&q->refusal, l->code, "args", "fewer tasks, an earlier date", "%s", l->text);
	else
		forecast_print(&l->f, &q->out);
	forecast_letter_free(l);
	query__home(q);
}

static void at_ledger(struct letter *letter, void *self)
{
	struct query *q = (struct query *)letter;
	struct forecast_letter *l = q->forecast;

	forecast_fill_live(&l->f, self);
	q->number = stream_last(ledger_stream(self));
	q->forecast = NULL;
	l->ctx = q;
	l->answered = on_played;
	l->reply_to = commander_actor(q->c);
	to_sorter(l);
}

static int ask_for(struct query *q, const char *name, struct refusal *f)
{
	const struct catalog *cat = commander_catalog(q->c);
	const struct cat_task *one = catalog_find(cat, name);
	size_t before = q->forecast->f.n_tasks;

	if (one && !catalog_retired(one))
		forecast_ask_task(&q->forecast->f, cat, one->id);
	for (size_t i = 0; i < cat->tasks_cap && !one; i++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)i);
		if (t && !catalog_retired(t) && catalog_in_workflow(t, name, strlen(name)))
			forecast_ask_task(&q->forecast->f, cat, t->id);
	}
	return q->forecast->f.n_tasks > before
	               ? 0
	               : refuse(f, E_NOT_FOUND, "args.name", "project/workflow[/task]",
	                        "no workflow and no task '%.200s'", name);
}

static int parse_day(struct query *q, const char *text, struct refusal *f)
{
	struct forecast *fc = &q->forecast->f;
	int64_t now = fc->now_us / US_PER_S;
	char no_day[WHEN_TEXT];

	if (!when_parse(text, now, &fc->day) || !fc->day.is_date)
		return refuse(f, E_INVALID, "args.date", "for example 2026-03-01",
		              "args.date: '%.40s' is no date%s", text, when_no_day(text, no_day));
	fc->has_day = true;
	if (fc->day.label < now - 2 * INT64_C(86400) ||
	    fc->day.label > now + FORECAST_DAYS_MAX * INT64_C(86400))
		return refuse(f, E_INVALID, "args.date", "today and the days ahead",
		              "args.date: a forecast reaches from today to %d days ahead",
		              FORECAST_DAYS_MAX);
	return 0;
}

/* All tasks that are promised. Where nothing is, nothing is looked through. */
static void ask_promised(struct forecast *f, const struct catalog *cat)
{
	size_t left = cat->n_promised;

	f->only_promised = true;
	for (size_t i = 0; i < cat->tasks_cap && left > 0; i++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)i);
		if (!t || !t->def->has_promise)
			continue;
		left--;
		if (t->row.state == TS_ONLINE)
			forecast_ask_task(f, cat, t->id);
	}
}

int query__forecast(struct query *q, const struct jval *args, struct refusal *f)
{
	static const char *const keys[] = { "name", "date", NULL };
	const char *name = NULL, *date = NULL;
	int r = arg_object(args, "args", keys, f);

	if (!commander_front(q->c) || !commander_front(q->c)->forecaster)
		return refuse(f, E_UNSUPPORTED, "", NULL, "there is no forecaster here");
	q->forecast = forecast_letter_new(actor_wall_us(commander_actor(q->c)));
	q->forecast->front = commander_front(q->c);
	if (r == 0)
		r = arg_text(args, "args", "name", 300, &name, f);
	if (r == 0)
		r = arg_text(args, "args", "date", 40, &date, f);
	if (r == 0 && date)
		r = parse_day(q, date, f);
	if (r == 0 && q->kind == QK_BASELINES)
		ask_promised(&q->forecast->f, commander_catalog(q->c));
	else if (r == 0 && !name)
		r = refuse(f, E_INVALID, "args.name", "project/workflow[/task]",
		           "args.name: is missing");
	else if (r == 0)
		r = ask_for(q, name, f);
	if (r < 0)
		return r;
	forecast_collect(&q->forecast->f, commander_catalog(q->c));
	return query__hop(q, ledger_actor(commander_ledger(q->c)), at_ledger) ? 0 : E_CLOSED;
}

/* --- the forecaster looks after its promises ----------------------------------------------- */

static void on_filled(struct letter *letter, void *self)
{
	struct forecast_letter *l = (struct forecast_letter *)letter;

	forecast_fill_live(&l->f, self);
	to_sorter(l);
}

static void on_snapshot(struct letter *letter, void *self)
{
	struct commander *c = self;
	struct forecast_letter *l = (struct forecast_letter *)letter;

	commander_fold(c);
	l->front = commander_front(c);
	ask_promised(&l->f, commander_catalog(c));
	forecast_collect(&l->f, commander_catalog(c));
	letter->deliver = on_filled;
	if (actor_post_credit(ledger_actor(commander_ledger(c)), letter) < 0)
		letter->discard(letter);
}

static int snapshot(void *ctx, struct forecast_letter *l)
{
	struct commander *c = ctx;

	l->letter.deliver = on_snapshot;
	return actor_post_credit(commander_actor(c), &l->letter);
}

struct promise_news {
	struct letter letter;
	struct inst_key key;
	uint8_t reason;
	char *note;
};

static void news_discard(struct letter *letter)
{
	free(((struct promise_news *)letter)->note);
	free(letter);
}

static void on_news(struct letter *letter, void *self)
{
	struct commander *c = self;
	struct promise_news *n = (struct promise_news *)letter;
	struct proposals *ps = proposals_new(PR_COMMANDER, 1, commander_actor(c),
	                                     commander_answered);
	struct proposal *p = proposals_add(ps, ASK_PROMISE, n->key);

	p->reason = n->reason;
	p->note = n->note;
	n->note = NULL;
	if (commander_stuck(c))
		proposals_free(ps);
	else
		commander_send(c, ps);
	news_discard(letter);
}

static void tell_promise(void *ctx, struct inst_key key, enum promise_state state, char *note)
{
	struct commander *c = ctx;
	static const uint8_t reasons[] = { RE_SAFE, RE_AT_RISK, RE_BREACHED };
	struct promise_news *n = mem_new(sizeof *n);

	n->key = key;
	n->reason = reasons[state];
	n->note = note;
	n->letter = (struct letter){ .deliver = on_news, .discard = news_discard };
	if (actor_post_credit(commander_actor(c), &n->letter) < 0)
		news_discard(&n->letter);
}

struct forecast_source query_promises(struct commander *c)
{
	return (struct forecast_source){ .ctx = c, .snapshot = snapshot, .tell = tell_promise };
}
