/* Why is it not running? One line, always: the first closed gate and what opens it
 * (design: SEMANTICS section 4). */
#include <inttypes.h>

#include "baseserver/query/query_impl.h"
#include "sched/civil.h"
#include "sched/label.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

enum { WAITS_MAX = 20, DATES_MAX = 20000 };

struct why {
	struct query *q;
	struct why_line *line;
	const struct cat_task *t;
	size_t n_waits;
	bool has_parent;
};

bool query__met(const struct task_link *l, const struct outcome_range *o)
{
	if (!o)
		return false;
	if (l->on == ON_FAILURE)
		return o->state == ST_STOP || o->state == ST_KILLED;
	if (l->on == ON_DONE)
		return true;
	return o->state == ST_SUCC || (o->state == ST_SKIPPED && o->reason != RE_LINK &&
	                               o->reason != RE_BRANCH && o->reason != RE_PIPELINE);
}

static bool has_row(const struct link_ask *a, const struct link_span *s, int64_t date)
{
	return date >= s->lo && date < s->hi && !plan_has(a->p->def->plan, date) &&
	       (catalog_live(a->cat, (struct inst_key){ date, a->p->id, 0 }) ||
	        outcomes_find(&a->p->outcomes, date));
}

int64_t query__link_next(const struct link_ask *a, const struct link_span *s, int64_t after)
{
	const struct plan *plan = a->p->def->plan;
	int64_t next = plan_next(plan, after), off = PLAN_NEVER;

	if (a->off_plan || plan_unit(plan) == CU_NONE)
		off = has_row(a, s, a->own) ? a->own : has_row(a, s, s->lo) ? s->lo : PLAN_NEVER;
	if (off > after && off < next)
		next = off;
	return next < s->hi ? next : PLAN_NEVER;
}

/* Is the child one of a run, whose links are that run's? */
static bool is_of_run(const struct why *w)
{
	return w->q->live && w->q->image.flags & IF_MEMBER;
}

static const char *shown_state(const struct why *w, struct inst_key key)
{
	const struct cat_task *t = catalog_task(commander_catalog(w->q->c), key.task);
	const struct cat_inst *live = catalog_live(commander_catalog(w->q->c), key);
	const struct outcome_range *o = t ? outcomes_find(&t->outcomes, key.run_date) : NULL;

	if (live)
		return state_name((enum state)live->state);
	return o ? state_name((enum state)o->state) : "planned";
}

static void add_wait(struct why *w, struct inst_key key)
{
	if (!query__sees_task(w->q, key.task) || w->n_waits++ >= WAITS_MAX)
		return;
	put_open(&w->q->waits, NULL, '{');
	print_instance_name(w->q->c, key, &w->q->waits);
	put_text(&w->q->waits, "state", shown_state(w, key));
	put_close(&w->q->waits, '}');
}

/* What it waits for does not start either: which of the two is frozen, by whom. */
static void say_frozen(struct why *w, const struct cat_task *p, struct inst_key key)
{
	const struct cat_inst *live = catalog_live(commander_catalog(w->q->c), key);
	bool instance = live && live->flags & IF_FROZEN, task = p->row.frozen;
	char at[WHEN_TEXT];

	if (!query__sees_task(w->q, key.task) || (!task && !instance) ||
	    (live && state_holds_slot((enum state)live->state)))
		return;
	/* Of an instance its history tells; of a task its command, while that is known. */
	const struct commander *c = w->q->c;
	const struct face face = commander_face(c, task ? p->frozen_by : 0);
	w->line->code = WHY_LINK_FROZEN;
	w->line->n--; /* the state is not what holds it */
	why_text(w->line, "what", "%s", task ? "the task" : "that instance");
	when_print(floor_div(face.created_us, US_PER_S), at);
	why_text(w->line, "by", "%s%s%s%s", face.id ? " since " : "", face.id ? at : "",
	         face.id ? " by " : "", face.id ? face.actor : "");
}

/* One link in words; false: nothing of it is open. */
static bool say_link(struct why *w, const struct task_link *l)
{
	const struct cat_task *p = catalog_task(commander_catalog(w->q->c), l->parent);
	struct link_span spans[LINK_SPANS_MAX];
	int64_t first = PLAN_NEVER;
	size_t total = 0, open = 0;

	if (!p)
		return false;
	/* Before the begin nobody is waited for but a member's own like, which has a row. */
	int64_t begin = plan_begin(p->def->plan);
	int n = link_spans_of_row(l, p->def->plan, w->t->def->plan, w->q->key.run_date, spans);
	const struct link_ask a = { commander_catalog(w->q->c), p, w->q->key.run_date,
		                    is_of_run(w) };
	for (int i = 0; i < n && total < DATES_MAX; i++)
		for (int64_t d = query__link_next(&a, &spans[i], spans[i].lo - 1);
		     d != PLAN_NEVER && total < DATES_MAX; d = query__link_next(&a, &spans[i], d)) {
			if (d < begin &&
			    !catalog_live(commander_catalog(w->q->c),
			                  (struct inst_key){ d, p->id, 0 }) &&
			    !outcomes_find(&p->outcomes, d))
				continue;
			total++;
			if (query__met(l, outcomes_find(&p->outcomes, d)))
				continue;
			first = open++ ? first : d;
			add_wait(w, (struct inst_key){ d, p->id, 0 });
		}
	bool enough = l->strategy == LS_ANY        ? open < total
	              : l->strategy == LS_AT_LEAST ? total - open >= (size_t)l->n
	                                           : open == 0;
	if (enough || total == 0)
		return false;
	char text[LABEL_TEXT];
	label_of(p->def->plan, first, text);
	w->q->parent = (struct inst_key){ first, p->id, 0 };
	w->has_parent = true;
	why_set(w->line, WHY_LINK);
	why_number(w->line, "open", (int64_t)open);
	why_number(w->line, "total", (int64_t)total);
	bool sees = query__sees_task(w->q, p->id);
	why_text(w->line, "task", "%s", sees ? p->def->name : "a task of another project");
	why_text(w->line, "date", "%s", text);
	why_text(w->line, "state", "%s", shown_state(w, w->q->parent));
	say_frozen(w, p, w->q->parent);
	return true;
}

/* The date before is not over, and each waits for the one before it. */
static bool say_turn(struct why *w)
{
	const struct plan *plan = w->t->def->plan;
	int64_t before = plan_prev(plan, w->q->key.run_date - 1);
	char text[LABEL_TEXT];

	if (w->t->def->serial != SERIAL_ORDERED || before < plan_begin(plan))
		return false;
	label_of(plan, before, text);
	w->q->parent = (struct inst_key){ before, w->t->id, 0 };
	w->has_parent = true;
	add_wait(w, w->q->parent);
	why_set(w->line, WHY_ORDERED);
	why_text(w->line, "date", "%s", text);
	why_text(w->line, "state", "%s", shown_state(w, w->q->parent));
	return true;
}

/* The unfinished instance of t that is before `first`, if it is before *ret. */
static void find_earlier(const struct why *w, const struct cat_task *t, int64_t first,
                         struct inst_key *ret)
{
	const struct catalog *c = commander_catalog(w->q->c);

	for (uint32_t k = t->live; k != SLAB_NONE; k = catalog_inst(c, k)->next) {
		const struct cat_inst *i = catalog_inst(c, k);
		if (i->key.part == 0 && !(i->flags & IF_MEMBER) &&
		    i->key.run_date < ret->run_date && task_run(t->def, i->key.run_date) < first)
			*ret = i->key;
	}
}

/* The oldest date of it, or of its workflow, that is unfinished and of an earlier run. */
static bool say_earlier(struct why *w, enum why_code code)
{
	const struct task *def = w->t->def;
	int64_t first = task_run(def, w->q->key.run_date);
	struct inst_key earlier = { INT64_MAX, 0, 0 };
	char text[LABEL_TEXT];

	if (!def->overlap_run)
		find_earlier(w, w->t, first, &earlier);
	for (uint32_t id = 0; def->overlap_run && id < commander_catalog(w->q->c)->tasks_cap;
	     id++) {
		const struct cat_task *t = commander_catalog(w->q->c)->tasks[id];
		if (t && t->def && t->def->workflow_id == def->workflow_id)
			find_earlier(w, t, first, &earlier);
	}
	if (earlier.run_date == INT64_MAX)
		return false;
	label_of(catalog_task(commander_catalog(w->q->c), earlier.task)->def->plan,
	         earlier.run_date, text);
	w->q->parent = earlier;
	w->has_parent = true;
	add_wait(w, earlier);
	why_set(w->line, code);
	why_text(w->line, "date", "%s", text);
	why_text(w->line, "task", "%s%s", earlier.task == w->t->id ? "" : " of ",
	         earlier.task == w->t->id
	                 ? ""
	                 : catalog_task(commander_catalog(w->q->c), earlier.task)->def->name);
	why_text(w->line, "state", "%s", shown_state(w, earlier));
	return true;
}

/* Its links hold, and an earlier date is unfinished: the ledger keeps it back (ledger_flow.c). */
static bool say_overlap(struct why *w)
{
	const struct task *def = w->t->def;
	const struct instance *i = &w->q->image;

	if (def->overlap < OVERLAP_QUEUE || i->origin != OR_CYCLE || i->key.part != 0 ||
	    i->flags & (IF_MEMBER | IF_NO_LINKS | IF_RUN_NOW))
		return false;
	return say_earlier(w, def->overlap == OVERLAP_QUEUE ? WHY_OVERLAP : WHY_REPLACES);
}

/* Due, and not judged yet (ledger_flow.c: ledger__is_early). */
static bool say_unheard(struct why *w)
{
	enum task_overlap o = w->t->def->overlap;

	if ((o != OVERLAP_SKIP && o != OVERLAP_REPLACE) || !say_earlier(w, WHY_UNHEARD))
		return false;
	why_text(w->line, "overlap", "%s", task_overlap_name(o));
	return true;
}

static void say_links(struct why *w)
{
	for (size_t i = 0; i < w->t->def->n_links; i++) {
		size_t before = w->q->waits.len, n = w->n_waits;
		if (say_link(w, &w->t->def->links[i]))
			return;
		w->q->waits.len = before;
		w->n_waits = n;
	}
	if (say_turn(w))
		return;
	why_set(w->line, WHY_LINK_OTHER);
	why_text(w->line, "words", "%s", buf_str(&w->q->resolver));
}

static void say_until(struct why *w, enum why_code code, int64_t at_us)
{
	char text[WHEN_TEXT];

	when_print(floor_div(at_us, US_PER_S), text);
	why_set(w->line, code);
	why_text(w->line, "at", "%s", text);
	w->line->expected_us = at_us;
}

static void say_looks(struct why *w, const struct instance *i)
{
	say_until(w, WHY_LOOKS, i->retry_at_us);
	why_number(w->line, "looks", i->looks);
}

/* What did not begin for want of a secret has the words in its last event: who reads the store
 * fills them in. */
static void say_retry(struct why *w, const struct instance *i)
{
	bool is_secret = i->reason == RE_PARAMS;

	say_until(w, is_secret ? WHY_SECRET : WHY_RETRY, i->retry_at_us);
	if (is_secret)
		why_text(w->line, "note", "waits for a secret");
}

/* Until a person ends it. */
static void say_quarantine(struct why *w)
{
	say_until(w, WHY_QUARANTINE, w->t->row.quarantined_us);
	w->line->expected_us = 0;
}

struct parts {
	size_t states[ST_COUNT], waiting, all;
	struct inst_key first;
};

/* Those that have not ended; whose turn has not come are those that wait. */
static void count_parts(const struct query *q, struct why *w, struct parts *ret)
{
	const struct catalog *cat = commander_catalog(q->c);
	const struct cat_task *t = catalog_task(cat, q->key.task);

	*ret = (struct parts){ 0 };
	for (uint32_t k = t ? t->live : SLAB_NONE; k != SLAB_NONE; k = catalog_inst(cat, k)->next) {
		const struct cat_inst *in = catalog_inst(cat, k);
		if (in->key.part <= 0 || in->key.run_date != q->key.run_date)
			continue;
		ret->all++;
		ret->states[in->state]++;
		if (in->state != ST_READY && in->state != ST_DEPEND)
			continue;
		if (ret->waiting++ == 0 || in->key.part < ret->first.part)
			ret->first = in->key;
		if (w)
			add_wait(w, in->key);
	}
}

void query__why_part(struct query *q)
{
	struct parts p;

	count_parts(q, NULL, &p);
	if (q->key.part == 0 && p.waiting)
		q->part.key = p.first;
}

/* How many parts are in which state, and what the first of those that wait waits for. */
static bool say_parts(struct why *w, const struct instance *i)
{
	struct query *q = w->q;
	struct buf states, waits;
	struct parts p;

	if (q->key.part != 0)
		return false;
	count_parts(q, w, &p);
	if (p.all == 0)
		return false;
	buf_init(&states);
	buf_init(&waits);
	for (int st = 0; st < ST_COUNT; st++)
		if (p.states[st])
			buf_printf(&states, "%s%zu %s", states.len ? ", " : "", p.states[st],
			           state_word((enum state)st));
	if (q->part.key.part && q->in_queue) {
		buf_printf(&waits, "; %u.%" PRId64 ".%d: ", q->part.key.task, q->key.run_date,
		           q->part.key.part);
		why_print_line(w->line, &waits);
	}
	why_set(w->line, WHY_PARTS);
	why_text(w->line, "state", "%s", state_name((enum state)i->state));
	why_text(w->line, "parts", "%s", buf_str(&states));
	why_text(w->line, "waits", "%s", buf_str(&waits));
	buf_done(&states);
	buf_done(&waits);
	return true;
}

static void say_runs(struct why *w, const struct instance *i)
{
	if (say_parts(w, i))
		return;
	if (w->line->code == WHY_RUNS || w->line->code == WHY_RUNS_SICK ||
	    w->line->code == WHY_RUNS_UNHEARD)
		return; /* the registrar has said it */
	why_set(w->line, WHY_RUNS);
	why_text(w->line, "state", "%s", state_name((enum state)i->state));
	why_number(w->line, "attempt", i->attempt);
}

static void say_live(struct why *w)
{
	const struct instance *i = &w->q->image;
	int64_t now = actor_wall_us(commander_actor(w->q->c));

	if (state_holds_slot((enum state)i->state))
		say_runs(w, i);
	else if (!task_starts(w->t->row.state) && i->key.part >= 0)
		why_set(w->line, WHY_OFFLINE);
	else if (w->t->row.quarantined_us && i->key.part >= 0 && i->state == ST_READY &&
	         !inst_looks_again(i))
		say_quarantine(w);
	else if (w->t->row.frozen && i->key.part >= 0)
		why_set(w->line, WHY_TASK_FROZEN);
	else if (i->flags & IF_FROZEN)
		why_set(w->line, WHY_FROZEN);
	else if (i->state == ST_FAILED)
		say_retry(w, i);
	else if (inst_looks_again(i))
		say_looks(w, i);
	else if (i->state == ST_READY && i->eff_due_us > now)
		say_until(w, WHY_DUE, i->eff_due_us);
	else if (i->state == ST_READY && w->q->waits_for_link)
		say_links(w);
	else if (i->state == ST_READY && say_overlap(w))
		return;
	else if (!w->q->in_queue) /* else the sorter has said it */
		why_set(w->line, WHY_STARTS);
}

/* Whose end skipped it: of a branch whoever chose, else what is not met. */
static void say_skipped(struct why *w, const struct outcome_range *o)
{
	const struct catalog *cat = commander_catalog(w->q->c);
	struct link_span spans[LINK_SPANS_MAX];
	size_t looked = 0;

	for (size_t k = 0; k < w->t->def->n_links; k++) {
		const struct task_link *l = &w->t->def->links[k];
		const struct cat_task *p = catalog_task(cat, l->parent);
		int n = p ? link_spans_of_row(l, p->def->plan, w->t->def->plan, w->q->key.run_date,
		                              spans)
		          : 0;
		const struct link_ask a = { cat, p, w->q->key.run_date, false };
		for (int i = 0; i < n; i++)
			for (int64_t d = query__link_next(&a, &spans[i], spans[i].lo - 1);
			     d != PLAN_NEVER && looked++ < DATES_MAX;
			     d = query__link_next(&a, &spans[i], d)) {
				const struct outcome_range *was = outcomes_find(&p->outcomes, d);
				if (was && (o->reason == RE_BRANCH || !query__met(l, was)))
					add_wait(w, (struct inst_key){ d, p->id, 0 });
			}
	}
}

static void say_over(struct why *w, const struct outcome_range *o)
{
	if (o->state == ST_SKIPPED &&
	    (o->reason == RE_LINK || o->reason == RE_BRANCH || o->reason == RE_PIPELINE))
		say_skipped(w, o);
	why_set(w->line, WHY_OVER);
	why_text(w->line, "state", "%s", state_name((enum state)o->state));
	why_text(w->line, "reason", "%s%s", o->reason ? ", " : "",
	         reason_text((enum reason)o->reason));
	/* Who reads the store fills these in. */
	why_text(w->line, "note", "%s", "");
	why_text(w->line, "by", "%s", "");
}

/* Nobody makes it but a backfill. */
static void say_before_begin(struct why *w)
{
	const struct plan *plan = w->t->def->plan;
	char text[LABEL_TEXT];

	label_of(plan, plan_next(plan, plan_begin(plan) - 1), text);
	why_set(w->line, WHY_BEFORE_ONLINE);
	why_text(w->line, "begin", "%s", text);
}

static void say_absent(struct why *w)
{
	const struct query *q = w->q;
	const struct outcome_range *o = outcomes_find(&w->t->outcomes, q->key.run_date);
	const struct plan *plan = w->t->def->plan;
	bool planned = q->key.part == 0 && plan_has(plan, q->key.run_date);
	int64_t due_us = planned ? plan_due(plan, q->key.run_date) * US_PER_S : 0;

	if (o && q->key.part == 0 && (planned || o->lo == o->hi))
		say_over(w, o);
	else if (!planned)
		why_set(w->line, WHY_UNPLANNED);
	else if (w->t->row.state == TS_DRAFT) /* a backfill would be refused */
		why_set(w->line, WHY_DRAFT);
	else if (q->key.run_date < plan_begin(plan))
		say_before_begin(w);
	else if (w->t->row.state != TS_ONLINE)
		why_set(w->line, WHY_OFFLINE);
	else if (w->t->row.quarantined_us)
		say_quarantine(w);
	else if (w->t->row.frozen)
		why_set(w->line, WHY_TASK_FROZEN);
	else if (due_us > actor_wall_us(commander_actor(q->c)))
		say_until(w, WHY_DUE, due_us);
	else if (!say_unheard(w))
		why_set(w->line, WHY_STARTS); /* its row is made at this moment */
}

bool query__why_say(struct query *q)
{
	struct why w = { .q = q,
		         .line = &q->why,
		         .t = catalog_task(commander_catalog(q->c), q->key.task) };

	if (q->live)
		say_live(&w);
	else
		say_absent(&w);
	return w.has_parent;
}

void query__why_store_away(struct query *q)
{
	struct why w = { .q = q,
		         .line = &q->why,
		         .t = catalog_task(commander_catalog(q->c), q->key.task) };

	q->live = false; /* that image is not durable */
	why_set(&q->why, WHY_STORE_AWAY);
	why_text(&q->why, "state", "%s", shown_state(&w, q->key));
}

/* When the parent ends: it takes as long as it did before. 0: nobody knows, also when it is
 * late already. */
static int64_t parent_ends_us(const struct query *q)
{
	const struct instance *i = &q->parent_image;
	const struct cat_task *t = catalog_task(commander_catalog(q->c), q->parent.task);
	int64_t from;

	if (!t || q->lasts_us == 0)
		return 0;
	if (!q->parent_live)
		from = outcomes_find(&t->outcomes, q->parent.run_date)
		               ? 0
		               : plan_due(t->def->plan, q->parent.run_date) * US_PER_S;
	else if (state_holds_slot((enum state)i->state))
		from = i->started_us;
	else
		from = i->state == ST_FAILED || inst_looks_again(i) ? i->retry_at_us
		                                                    : i->eff_due_us;
	from += from ? q->lasts_us : 0;
	return from > actor_wall_us(commander_actor(q->c)) ? from : 0;
}

static const char *state_of(const struct query *q)
{
	if (q->live)
		return state_name((enum state)q->image.state);
	if (q->why.code == WHY_OVER || q->why.code == WHY_STORE_AWAY)
		return q->why.args[0].text;
	return q->why.code == WHY_UNPLANNED ? "unplanned" : "planned";
}

void query__why_print(struct query *q)
{
	struct buf *out = &q->out;

	if (q->about_parent)
		q->why.expected_us = parent_ends_us(q);
	put_open(out, NULL, '{');
	print_instance_name(q->c, q->key, out);
	put_text(out, "state", state_of(q));
	why_print(&q->why, out);
	/* What is over waits for nothing: what it has named is what skipped it. */
	if (q->why.code == WHY_OVER) {
		put_open(out, "waits_for", '[');
		put_close(out, ']');
	}
	put_open(out, q->why.code == WHY_OVER ? "skipped_by" : "waits_for", '[');
	buf_put(out, q->waits.data ? (const char *)buf_at(&q->waits) : "", q->waits.len);
	put_close(out, ']');
	put_close(out, '}');
}
