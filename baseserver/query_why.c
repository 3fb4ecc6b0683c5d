/* Why is it not running? One line, always: the first closed gate and what opens it
 * (design: SEMANTICS section 4). */
#include <inttypes.h>
#include <string.h>

#include "baseserver/json_write.h"
#include "baseserver/query_impl.h"
#include "sched/civil.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/clock.h"
#include "util/err.h"

enum { WAITS_MAX = 20, DATES_MAX = 20000 };

struct why {
	struct query *q;
	const struct cat_task *t;
	const char *state, *opens;
	int gate;
	struct buf line, waits;
	int64_t expected_us;
	size_t n_waits;
};

static const char *const gate_names[] = { "",
	                                  "online",
	                                  "frozen",
	                                  "due",
	                                  "dependencies",
	                                  "serialisation",
	                                  "task concurrency",
	                                  "workflow quota",
	                                  "pools",
	                                  "task type",
	                                  "broker",
	                                  "slots",
	                                  "turn" };

static const struct {
	const char *begins;
	int gate;
	const char *opens;
} sorter_words[] = {
	{ "its task is not online", 1, "putting the task online" },
	{ "frozen", 2, "unfreeze" },
	{ "task concurrency", 6, "the end of one of its instances" },
	{ "workflow quota", 7, "the end of an instance of the workflow" },
	{ "no broker", 10, "a broker with that task type" },
	{ "all slots", 11, "the end of a job" },
};

static bool met(const struct task_link *l, const struct outcome_range *o)
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

static const char *shown_state(const struct why *w, struct inst_key key)
{
	const struct cat_task *t = catalog_task(&w->q->c->cat, key.task);
	const struct cat_inst *live = catalog_live(&w->q->c->cat, key);
	const struct outcome_range *o = t ? outcomes_find(&t->outcomes, key.run_date) : NULL;

	if (live)
		return state_name((enum state)live->state);
	return o ? state_name((enum state)o->state) : "planned";
}

static void add_wait(struct why *w, struct inst_key key)
{
	if (w->n_waits++ >= WAITS_MAX)
		return;
	jw_object(&w->waits, NULL);
	print_instance_name(w->q->c, key, &w->waits);
	jw_text(&w->waits, "state", shown_state(w, key));
	jw_end_object(&w->waits);
}

/* One link in words; false: nothing of it is open. */
static bool say_link(struct why *w, const struct task_link *l)
{
	const struct cat_task *p = catalog_task(&w->q->c->cat, l->parent);
	struct link_span spans[LINK_SPANS_MAX];
	int64_t first = PLAN_NEVER;
	size_t total = 0, open = 0;

	if (!p)
		return false;
	int n = link_spans(l, p->def->plan, w->t->def->plan, w->q->key.run_date, spans);
	for (int i = 0; i < n && total < DATES_MAX; i++)
		for (int64_t d = plan_next(p->def->plan, spans[i].lo - 1);
		     d < spans[i].hi && total < DATES_MAX; d = plan_next(p->def->plan, d)) {
			total++;
			if (met(l, outcomes_find(&p->outcomes, d)))
				continue;
			first = open++ ? first : d;
			add_wait(w, (struct inst_key){ d, p->id, 0 });
		}
	bool enough = l->strategy == LS_ANY        ? open < total
	              : l->strategy == LS_AT_LEAST ? total - open >= (size_t)l->n
	                                           : open == 0;
	if (enough || total == 0)
		return false;
	char text[WHEN_TEXT];
	when_print(first, text);
	buf_printf(&w->line, "waits for %zu of %zu instances of %s, the first is %s (%s)", open,
	           total, p->def->name, text, shown_state(w, (struct inst_key){ first, p->id, 0 }));
	return true;
}

static void say_links(struct why *w)
{
	w->gate = 4;
	w->opens = "success of those instances";
	for (size_t i = 0; i < w->t->def->n_links; i++) {
		size_t before = w->waits.len, n = w->n_waits;
		if (say_link(w, &w->t->def->links[i]))
			return;
		w->waits.len = before;
		w->n_waits = n;
	}
	buf_puts(&w->line, buf_str(&w->q->resolver));
	w->opens = "the end of what it waits for";
}

static void say_queue(struct why *w)
{
	const char *words = buf_str(&w->q->sorter);

	w->gate = 12;
	w->opens = "its turn by priority";
	for (size_t i = 0; i < sizeof sorter_words / sizeof sorter_words[0]; i++)
		if (strncmp(words, sorter_words[i].begins, strlen(sorter_words[i].begins)) == 0) {
			w->gate = sorter_words[i].gate;
			w->opens = sorter_words[i].opens;
		}
	buf_puts(&w->line, words);
}

static void say_until(struct why *w, const char *words, int64_t at_us)
{
	char text[WHEN_TEXT];

	when_print(floor_div(at_us, US_PER_S), text);
	buf_printf(&w->line, "%s %s", words, text);
	w->gate = 3;
	w->opens = "time";
	w->expected_us = at_us;
}

static void closed(struct why *w, int gate, const char *line, const char *opens)
{
	w->gate = gate;
	buf_puts(&w->line, line);
	w->opens = opens;
}

static void say_live(struct why *w)
{
	const struct instance *i = &w->q->image;
	int64_t now = actor_wall_us(w->q->c->me);

	w->state = state_name((enum state)i->state);
	if (state_holds_slot((enum state)i->state))
		buf_printf(&w->line, "it is %s, attempt %u", w->state, i->attempt);
	else if (w->t->row.state != TS_ONLINE && i->key.part >= 0)
		closed(w, 1, "its task is not online", "putting the task online");
	else if (w->t->row.frozen || (i->flags & IF_FROZEN))
		closed(w, 2, w->t->row.frozen ? "its task is frozen" : "it is frozen", "unfreeze");
	else if (i->state == ST_FAILED)
		say_until(w, "an attempt failed, the next is due", i->retry_at_us);
	else if (i->state == ST_READY && i->eff_due_us > now)
		say_until(w, "due", i->eff_due_us);
	else if (i->state == ST_READY && w->q->waits_for_link)
		say_links(w);
	else if (w->q->in_queue)
		say_queue(w);
	else
		buf_puts(&w->line, "nothing holds it back, it starts now");
}

static void say_absent(struct why *w)
{
	const struct query *q = w->q;
	const struct outcome_range *o = outcomes_find(&w->t->outcomes, q->key.run_date);
	const struct plan *plan = w->t->def->plan;
	bool planned = q->key.part == 0 && plan_has(plan, q->key.run_date);
	int64_t due_us = planned ? plan_due(plan, q->key.run_date) * US_PER_S : 0;

	w->state = planned ? "planned" : "unplanned";
	if (o && q->key.part == 0 && (planned || o->lo == o->hi)) {
		w->state = state_name((enum state)o->state);
		buf_printf(&w->line, "it is over: %s%s%s", w->state, o->reason ? ", " : "",
		           reason_text((enum reason)o->reason));
	} else if (!planned) {
		buf_puts(&w->line, "not a date of the task's plan");
	} else if (w->t->row.state != TS_ONLINE) {
		closed(w, 1, "its task is not online", "putting the task online");
	} else if (due_us > actor_wall_us(q->c->me)) {
		say_until(w, "due", due_us);
	} else {
		closed(w, 1, "its date is from before the task went online", "a backfill");
	}
}

void query_why(struct query *q)
{
	struct why w = { .q = q, .t = catalog_task(&q->c->cat, q->key.task), .opens = "" };
	struct buf *out = &q->out;

	buf_init(&w.line);
	buf_init(&w.waits);
	if (q->live)
		say_live(&w);
	else
		say_absent(&w);
	jw_object(out, NULL);
	print_instance_name(q->c, q->key, out);
	jw_text(out, "state", w.state);
	jw_number(out, "gate", w.gate);
	jw_text(out, "gate_name", gate_names[w.gate]);
	jw_text(out, "line", buf_str(&w.line));
	jw_text(out, "opens", w.opens);
	jw_instant_us(out, "expected", w.expected_us);
	jw_list(out, "waits_for");
	buf_put(out, w.waits.data ? (const char *)buf_at(&w.waits) : "", w.waits.len);
	jw_end_list(out);
	jw_end_object(out);
	buf_done(&w.line);
	buf_done(&w.waits);
}
