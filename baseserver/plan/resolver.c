/* Waiting instances and their verdicts: wait, go, or skip because the join is dead.
 *
 * `waitings` holds each instance that is Ready, or satisfied and not started yet. It has an edge to
 * the window of each of its links and counts how many of these are met and dead. A window that
 * changes corrects these counts and puts its instances on the to-do list; nothing is rescanned.
 * An instance that is not on the list has the state that its verdict says, or a proposal under way,
 * or is held. When something was taken back, a mark follows as soon as the list is empty. */
#include "baseserver/plan/resolver.h"

#include <inttypes.h>
#include <stdlib.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/pack.h"
#include "baseserver/model/select.h"
#include "baseserver/plan/resolver_impl.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

/* The wall clock may be set: due times are looked at again at least this often. */
#define WALL_RECHECK_US (10 * US_PER_S)

enum { TODO_KEEP = 65536, UNREAD_US = 100 * 1000 };
/* How many dates the resolver looks at in one piece. PIECE takes one or two milliseconds. A start
 * takes about a second at once: nobody else is served yet. */
enum { PIECE = 1 << 15, START_PIECE = 1 << 24, PAUSE_US = 500 };

static void fold_outcome(struct resolver *r, const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	struct rtask *t = resolver__task_place(r, i->key.task);
	const struct plan *plan = t->def ? t->def->plan : NULL;
	bool is_final = state_final((enum state)i->state);
	struct outcome_range was = { 0 }, is = { i->key.run_date, i->key.run_date, i->generation,
		                                 i->state,        i->reason,       { 0 } };

	if (i->key.part != 0 || tr->event == EV_NOTIFIED ||
	    (!is_final && !state_final((enum state)tr->from)))
		return;
	const struct outcome_range *had = outcomes_find(&t->outcomes, i->key.run_date);
	if (had)
		was = *had;
	if (is_final)
		outcomes_set(&t->outcomes, plan, i->key.run_date, i->generation, i->state,
		             i->reason);
	else
		outcomes_clear(&t->outcomes, plan, i->key.run_date);
	resolver__outcome(r, i->key.task, i->key.run_date, had ? &was : NULL,
	                  is_final ? &is : NULL);
	if (state_final((enum state)tr->from))
		r->need_mark = true;
	if (is_final && resolver_was_skipped(i->state, i->reason))
		t->skipped = true;
	if (tr->event == EV_RESTORE_SKIPPED && resolver_was_skipped(i->state, i->reason))
		resolver__look_at_skip(r, i->key.task, i->key.run_date);
	if (had)
		resolver__reopen(r, i->key.task, i->key.run_date);
}

static void drop_dependent(struct resolver *r, struct rtask *p, struct dependent *d)
{
	struct dependent *last = &p->dependents[p->n_dependents - 1];
	uint32_t at = (uint32_t)(d - p->dependents);

	CHECK(d->n_spans == 0 && d <= last);
	map_remove(&r->dependent_at, resolver__link_key(d->child, d->link), at);
	free(d->spans);
	if (d != last) {
		uint64_t key = resolver__link_key(last->child, last->link);
		map_remove(&r->dependent_at, key, (uint32_t)(last - p->dependents));
		map_add(&r->dependent_at, key, at);
		*d = *last;
	}
	CHECK(p->n_dependents > 0);
	p->n_dependents--;
}

static void drop_dependents(struct resolver *r, const struct task *def)
{
	for (size_t k = 0; def && k <= def->n_links; k++) {
		uint32_t parent = k < def->n_links ? def->links[k].parent : def->id;
		struct dependent *d = resolver__dependent(r, parent, def->id, (uint32_t)k);
		if (d)
			drop_dependent(r, resolver__task(r, parent), d);
	}
}

static void add_dependent(struct resolver *r, uint32_t parent, uint32_t child, size_t link)
{
	struct rtask *p = resolver__task_place(r, parent);

	p->dependents = mem_grow(p->dependents, p->n_dependents + 1, sizeof *p->dependents);
	map_add(&r->dependent_at, resolver__link_key(child, (uint32_t)link),
	        (uint32_t)p->n_dependents);
	p->dependents[p->n_dependents++] = (struct dependent){ .child = child,
		                                               .link = (uint32_t)link };
}

static void add_dependents(struct resolver *r, const struct task *def)
{
	for (size_t k = 0; k < def->n_links; k++)
		add_dependent(r, def->links[k].parent, def->id, k);
	if (def->serial == SERIAL_ORDERED)
		add_dependent(r, def->id, def->id, def->n_links);
}

/* Do the links to it hold its children? */
static bool in_force(const struct store_task *row)
{
	return row->state == TS_ONLINE || row->state == TS_OFFLINE || row->state == TS_OVER;
}

static void put_def(struct resolver *r, const struct task *def, const struct store_task *row)
{
	struct rtask *t = resolver__task_place(r, def->id);

	drop_dependents(r, t->def);
	if (t->def && plan_replans(t->def->plan, def->plan))
		outcomes_replan(&t->outcomes, t->def->plan, def->plan, plan_since(def->plan));
	task_ref(def);
	task_unref(t->def);
	t->def = def;
	t->in_force = in_force(row);
	t->aside = row->quarantined_us != 0;
	add_dependents(r, def);
}

static void put_range(struct resolver *r, const void *of)
{
	const struct transition *tr = of;
	struct rtask *t = resolver__task_place(r, tr->inst.key.task);
	const struct date_range *n = tr->row;
	struct outcome_range o = { n->lo, n->hi, 1, tr->to, tr->reason, { 0 } };

	CHECK(n->lo <= n->hi);
	outcomes_fill(&t->outcomes, t->def->plan, &o, n->open, n->n_open);
}

static void put_edit(struct resolver *r, const void *of)
{
	const struct packed_task *p = of;

	put_def(r, p->def, &p->row);
	r->need_mark = true;
}

/* What changes what the task and all who look at it wait for: windows of what it was go, those
 * of what it is are made. An edit; or many dates at once, which windows count anew more cheaply
 * than date by date. */
static void fold_whole(struct resolver *r, uint32_t id, const void *of,
                       void (*put)(struct resolver *r, const void *of))
{
	struct rtask *t = resolver__task_place(r, id);
	size_t n = t->n_dependents;
	uint32_t *children = mem_array(n + 1, sizeof *children);

	for (size_t k = 0; k < n; k++)
		children[k] = t->dependents[k].child;
	for (size_t k = 0; k < n; k++)
		resolver__each_waiting(r, children[k], resolver__detach);
	resolver__each_waiting(r, id, resolver__detach);
	put(r, of);
	resolver__each_waiting(r, id, resolver__attach);
	resolver__task(r, id)->stamp = ++r->stamp;
	for (size_t k = 0; k < n; k++) {
		struct rtask *c = resolver__task(r, children[k]);
		if (c->stamp != r->stamp)
			resolver__each_waiting(r, children[k], resolver__attach);
		c->stamp = r->stamp;
	}
	free(children);
}

enum verdict { V_WAIT, V_GO, V_DEAD };

static enum verdict resolver_judge(const struct resolver *r, const struct waiting *w)
{
	const struct rtask *t = resolver__task(r, w->key.task);
	int join = t && t->def ? t->def->join : 0;
	int need = join > 0 && join < w->n_links ? join : w->n_links;

	if (w->unread)
		return V_WAIT;
	if (w->dead > w->n_links - need)
		return V_DEAD;
	return w->met >= need && w->due && !w->waits_turn ? V_GO : V_WAIT;
}

/* The steps after a strong one that ended badly; `failed` where none did. */
static enum reason dead_reason(const struct resolver *r, uint32_t task)
{
	const struct task *def = resolver__task(r, task)->def;

	return def->pipeline && !def->fails_only ? RE_PIPELINE : RE_LINK;
}

/* True: settled for now. False: no credit, try again later. */
static bool resolver_propose(struct resolver *r, uint32_t index)
{
	struct waiting *w = waiting_at(r, index);
	enum verdict v = resolver_judge(r, w);
	enum ask ask;

	if (resolver__scope_held(r, index) || w->asked || (v == V_GO && w->held) ||
	    (v == V_WAIT && w->state == ST_READY) || (v == V_GO && w->state == ST_DEPEND))
		return true;
	if (outbox_room(&r->out) == 0)
		return false;
	ask = v == V_DEAD ? ASK_SKIP : v == V_GO ? ASK_SATISFY : ASK_WITHDRAW;
	struct proposal *p = outbox_add(&r->out, ask, w->key);
	p->revision = w->revision;
	p->folded = stream_seen(r->in);
	p->cookie = (uint64_t)w->slot;
	p->reason = v == V_DEAD ? (uint8_t)dead_reason(r, w->key.task) : RE_NONE;
	w->asked = true;
	log_debug("resolver.judge", "instance=%u.%" PRId64 " verdict=%s", w->key.task,
	          w->key.run_date,
	          v == V_DEAD ? "skip"
	          : v == V_GO ? "satisfy"
	                      : "withdraw");
	return true;
}

static void work_off(struct resolver *r)
{
	size_t i = 0;

	for (; i < r->n_todo; i++) {
		uint32_t index = r->todo[i];
		struct waiting *w = waiting_at(r, index);
		if (w->state == ST_NONE || !w->listed)
			continue; /* gone meanwhile */
		if (!resolver_propose(r, index))
			break;
		w->listed = false;
	}
	resolver__propose_reopens(r);
	size_t left = r->n_todo - i;
	for (size_t k = 0; k < left && i > 0; k++)
		r->todo[k] = r->todo[i + k];
	r->n_todo = left;
	r->urgent -= i < r->urgent ? i : r->urgent;
	CHECK(r->urgent <= r->n_todo);              /* they are the first of it */
	if (left == 0 && r->todo_cap > TODO_KEEP) { /* a restart lists everything once */
		free(r->todo);
		r->todo = NULL;
		r->todo_cap = 0;
	}
	if (r->start_mark && r->urgent == 0 && !r->awaits_scopes) {
		outbox_flush(&r->out);
		ledger_mark(r->ledger, r->start_mark);
		r->start_mark = 0;
	}
	if (r->need_mark && left == 0 && !r->start_mark) {
		outbox_flush(&r->out);
		ledger_mark(r->ledger, stream_seen(r->in));
		r->need_mark = false;
	}
}

/* A date that no plan has may have come: members of a command look at it from then on. */
static void fold_row(struct resolver *r, const struct instance *i)
{
	if (resolver__row(r, i))
		resolver__outcome(r, i->key.task, i->key.run_date, NULL, NULL);
}

static void resolver_fold(struct resolver *r)
{
	r->spent = r->walked = 0;
	for (const struct transition *tr; r->walked < r->piece && (tr = stream_peek(r->in));
	     stream_next(r->in)) {
		r->walked++;
		resolver__work_for(r, tr->inst.key.task, CRUMB_RECORDS);
		if (tr->kind == TK_TASK) {
			const struct task_pack *p = tr->row;
			for (size_t i = 0; i < p->n; i++)
				fold_whole(r, p->items[i].def->id, &p->items[i], put_edit);
		} else if (tr->kind == TK_RANGE) {
			fold_whole(r, tr->inst.key.task, tr, put_range);
		} else if (tr->kind == TK_TURN) {
			resolver__turn_came(r, tr);
		} else if (tr->kind == TK_INSTANCE) {
			fold_row(r, &tr->inst);
			resolver__follow(r, tr);
			fold_outcome(r, tr);
		}
	}
	r->behind = stream_peek(r->in) != NULL;
}

static void look_at_times(struct resolver *r)
{
	int64_t now = actor_wall_us(r->me);
	struct heap_node *top;

	while ((top = heap_top(&r->times)) && top->key <= now) {
		uint32_t index = ((struct timer *)top)->waiting;
		resolver__timer_clear(r, index);
		struct waiting *w = waiting_at(r, index);
		w->due = w->eff_due_us <= now;
		resolver__look_at_passes(r, index, now);
		resolver__want(r, index);
	}
	int64_t wait = top ? top->key - now : INT64_MAX, mono = actor_mono_us(r->me);
	int64_t at = !top ? ALARM_OFF : mono + (wait < WALL_RECHECK_US ? wait : WALL_RECHECK_US);
	if (r->reopens_from_us && r->n_reopens && r->reopens_from_us < at)
		at = r->reopens_from_us;
	if (r->behind)
		at = mono;
	else if (resolver__is_behind(r) && r->piece_us < at)
		at = r->piece_us;
	actor_alarm(r->me, at);
}

/* A piece of what earlier turns left. */
static void read_on(struct resolver *r)
{
	int64_t began = actor_mono_us(r->me);

	if (began < r->piece_us || !resolver__is_behind(r))
		return;
	r->spent = 0;
	resolver__look_at_doubts(r);
	resolver__read_unread(r);
	int64_t now = actor_mono_us(r->me), took = now - began;
	r->piece_us = now + (took > PAUSE_US ? took : PAUSE_US);
}

static void resolver_turn(void *self)
{
	struct resolver *r = self;

	resolver_fold(r);
	read_on(r);
	meter_work(r->meter, NULL, CRUMB_NONE);
	look_at_times(r);
	work_off(r);
	outbox_flush(&r->out);
}

static void resolver_answered(struct letter *letter, void *self)
{
	struct resolver *r = self;
	struct answers *as = (struct answers *)letter;

	outbox_settled(&r->out, as);
	for (size_t i = 0; i < as->n; i++) {
		const struct answer *a = &as->a[i];
		bool known = a->code == E_CONFLICT || a->code == E_NOT_FOUND;
		if (a->ask == ASK_REOPEN && !known)
			resolver__reopen_again(r, a->key, actor_mono_us(r->me) + UNREAD_US);
		uint32_t index = resolver__of_slot(r, (uint32_t)as->a[i].cookie);
		if (index == SLAB_NONE || !inst_key_eq(waiting_at(r, index)->key, as->a[i].key))
			continue;
		waiting_at(r, index)->asked = false;
		/* Its turn may have come, and been folded, before this answer was read. */
		if (a->ask == ASK_SATISFY && a->code == E_LIMIT && a->number >= r->turn_number)
			resolver__turn_held(r, index);
		else
			resolver__want(r, index);
	}
	free(as);
}

/* --- what commands say of their members ----------------------------------------------------- */

/* Of what is not told by now nothing is told: its members are held no longer. */
static void all_told(struct resolver *r)
{
	r->all_told = true;
	for (uint32_t i = 1; i <= r->n_scopes; i++)
		if (r->scopes[i - 1].command && !r->scopes[i - 1].told) {
			resolver__rescope(r, i, true);
			resolver__rescope(r, i, false);
		}
	if (r->awaits_scopes) /* members among them are on the list once more */
		r->urgent = r->n_todo;
	r->awaits_scopes = false;
}

static void resolver_learn(struct resolver *r, struct scope_news *n)
{
	CHECK(n->command);
	uint32_t number = resolver__scope_place(r, n->command);

	if (n->n) {
		resolver__rescope(r, number, true);
		resolver__scope_learn(r, number, n);
		resolver__rescope(r, number, false);
	}
	if (n->over || r->scopes[number - 1].over)
		resolver__scope_over(r, number);
}

static void on_news(struct letter *l, void *self)
{
	struct scope_news *n = (struct scope_news *)l;

	if (n->command == 0)
		all_told(self);
	else
		resolver_learn(self, n);
	scope_news_free(n);
}

static void free_news(struct letter *l)
{
	scope_news_free((struct scope_news *)l);
}

int resolver_tell(struct resolver *r, struct scope_news *n)
{
	n->letter = (struct letter){ .deliver = on_news, .discard = free_news };
	return actor_post(r->me, &n->letter);
}

void scope_news_free(struct scope_news *n)
{
	for (size_t i = 0; i < n->n; i++)
		free(n->picks[i].ranges);
	free(n->picks);
	free(n);
}

static const struct actor_ops ops = { .name = "resolver",
	                              .letters_max = 65536,
	                              .turn = resolver_turn };

static void load_task(void *ctx, const struct ledger_task *lt)
{
	struct resolver *r = ctx;

	put_def(r, lt->def, lt->row);
	struct rtask *t = resolver__task(r, lt->def->id);
	for (size_t i = 0; i < lt->outcomes->len; i++) {
		const struct outcome_range *o = &lt->outcomes->ranges[i];
		CHECK(outcomes_put(&t->outcomes, o));
		t->skipped = t->skipped || resolver_was_skipped(o->state, o->reason);
	}
}

static void load_row(void *ctx, const struct instance *i, uint32_t slot)
{
	(void)slot;
	fold_row(ctx, i);
}

static void load_satisfied(void *ctx, const struct instance *i, uint32_t slot)
{
	if (resolver__waits(i) && i->state == ST_DEPEND)
		resolver__track(ctx, i, slot);
}

static void load_instance(void *ctx, const struct instance *i, uint32_t slot)
{
	struct resolver *r = ctx;

	if (resolver__waits(i) && i->state != ST_DEPEND)
		resolver__track(r, i, slot);
	/* A parent that reopened just before the restart: its children may not know yet. */
	if (i->key.part == 0)
		resolver__reopen(r, i->key.task, i->key.run_date);
}

struct resolver *resolver_new(struct thread *th, struct ledger *ledger)
{
	struct resolver *r = mem_new(sizeof *r);

	r->ledger = ledger;
	slab_init(&r->waitings, sizeof(struct waiting));
	slab_init(&r->windows, sizeof(struct window));
	slab_init(&r->edges, sizeof(struct edge));
	slab_init(&r->timers, sizeof(struct timer));
	map_init(&r->timer_of);
	map_init(&r->scope_of);
	map_init(&r->held);
	map_init(&r->dependent_at);
	r->piece = START_PIECE;
	index_init(&r->exact, resolver__window_hash, r);
	heap_init(&r->times);
	r->me = actor_new(th, &ops, r);
	r->in = stream_reader_new(ledger_stream(ledger), STREAM_INNER, r->me);
	r->out = (struct outbox){
		.ledger = ledger, .me = r->me, .from = PR_RESOLVER, .answered = resolver_answered
	};
	ledger_each_task(ledger, load_task, r);
	ledger_each_instance(ledger, load_row, r);
	ledger_each_instance(ledger, load_satisfied, r);
	r->urgent = r->n_todo;
	r->awaits_scopes = r->n_scopes > 0;
	r->start_mark = stream_last(ledger_stream(ledger));
	ledger_each_instance(ledger, load_instance, r);
	resolver__load_reopens(r);
	r->piece = PIECE;
	return r;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->tasks_cap; i++) {
		struct rtask *t = r->tasks[i];
		if (!t)
			continue;
		for (size_t k = 0; k < t->n_dependents; k++)
			free(t->dependents[k].spans);
		free(t->dependents);
		outcomes_done(&t->outcomes);
		free(t->rows);
		task_unref(t->def);
		free(t);
	}
	free(r->tasks);
	slab_done(&r->waitings);
	slab_done(&r->windows);
	slab_done(&r->edges);
	slab_done(&r->timers);
	map_done(&r->timer_of);
	map_done(&r->held);
	map_done(&r->dependent_at);
	resolver__slices_done(r);
	resolver__scopes_done(r);
	index_done(&r->exact);
	heap_done(&r->times);
	outbox_done(&r->out);
	free(r->by_slot);
	free(r->todo);
	free(r->reopens);
	free(r);
}

struct actor *resolver_actor(struct resolver *r)
{
	return r->me;
}

void resolver_set_meter(struct resolver *r, struct meter *m)
{
	r->meter = m;
}

static void explain_window(const struct resolver *r, const struct window *win, struct buf *out)
{
	struct task_link l;

	if (!resolver__link(r, win->child, win->link, &l))
		return;
	const char *parent = resolver__task(r, l.parent)->def->name;
	char lo[WHEN_TEXT], hi[WHEN_TEXT];
	when_print(win->lo, lo);
	when_print(window_hi(win), hi);
	if (win->exact)
		buf_printf(out, "waits for %s %s", parent, lo);
	else
		buf_printf(out, "waits for %s: %u of %u met from %s to before %s", parent, win->met,
		           win->total, lo, hi);
}

bool resolver_explain(struct resolver *r, struct inst_key key, struct buf *out)
{
	const struct rtask *t = resolver__task(r, key.task);

	CHECK(actor_here(r->me));
	for (uint32_t i = t ? t->waitings : SLAB_NONE; i != SLAB_NONE; i = waiting_at(r, i)->next) {
		const struct waiting *w = waiting_at(r, i);
		if (!inst_key_eq(w->key, key))
			continue;
		if (t->aside)
			return false;
		if (w->unread) {
			buf_puts(out, "its links are being counted: there are many dates in them");
			return true;
		}
		for (uint32_t k = w->edges; k != EDGE_END; k = edge_at(r, k)->of_waiting) {
			const struct edge *e = edge_at(r, k);
			const struct window *win = window_at(r, e->window);
			if (win->state != WS_MET && !e->passed) {
				explain_window(r, win, out);
				return true;
			}
		}
		return false;
	}
	return false;
}
