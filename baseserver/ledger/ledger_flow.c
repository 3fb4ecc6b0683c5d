/* Overlap: what becomes of a date that comes due while an earlier one of it is unfinished (design:
 * SEMANTICS section 3). What is judged together is a flow: the dates of one task, or the runs of
 * one workflow. Only flows with an `overlap` other than allow are kept, with the rows of theirs
 * that are unfinished, run by run. Members of a backfill neither wait nor hold anybody. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger_impl.h"
#include "sched/label.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

struct flow_run {
	int64_t first;  /* task_run() of its rows */
	uint32_t *rows; /* places in the table */
	size_t n, cap;
	bool held; /* somebody of it was refused its turn */
};

struct flow {
	struct flow_run *runs; /* from `at` on, ascending; none is empty */
	size_t at, n, cap;
	bool asked; /* a date of it was refused: nobody knows how an earlier one ended */
	/* The last end of what ran when this server began, as its holder dates it, and its run. */
	int64_t ended_us, ended_first;
	struct inst_key ended;
};

static uint64_t key_of(const struct task *def)
{
	return def->overlap_run ? UINT64_C(1) << 32 | def->workflow_id : def->id;
}

static struct flow *flow_of(const struct ledger *l, const struct task *def)
{
	uint32_t i = def->overlap == OVERLAP_ALLOW ? MAP_NONE
	                                           : map_get(&l->flows.by_key, key_of(def));

	return i == MAP_NONE ? NULL : &l->flows.items[i];
}

static struct flow *flow_place(struct ledger *l, const struct task *def)
{
	struct flows *all = &l->flows;
	struct flow *f = flow_of(l, def);

	if (f)
		return f;
	all->items = mem_room(all->items, &all->cap, all->n + 1, sizeof *all->items);
	map_add(&all->by_key, key_of(def), (uint32_t)all->n);
	all->items[all->n] = (struct flow){ 0 };
	return &all->items[all->n++];
}

/* The first run of it that is not before `first`. */
static size_t run_from(const struct flow *f, int64_t first)
{
	size_t a = f->at, b = f->n;

	while (a < b) {
		size_t mid = a + (b - a) / 2;
		if (f->runs[mid].first < first)
			a = mid + 1;
		else
			b = mid;
	}
	return a;
}

static bool has_run(const struct flow *f, int64_t first)
{
	size_t i = f ? run_from(f, first) : 0;

	return f && i < f->n && f->runs[i].first == first;
}

static struct flow_run *run_place(struct flow *f, int64_t first)
{
	size_t i = run_from(f, first);

	CHECK(f->at <= f->n && f->n <= f->cap);
	if (has_run(f, first))
		return &f->runs[i];
	if (f->at > 0 && f->n == f->cap) {
		memmove(f->runs, f->runs + f->at, (f->n - f->at) * sizeof *f->runs);
		f->n -= f->at;
		i -= f->at;
		f->at = 0;
	}
	f->runs = mem_room(f->runs, &f->cap, f->n + 1, sizeof *f->runs);
	memmove(f->runs + i + 1, f->runs + i, (f->n - i) * sizeof *f->runs);
	f->n++;
	CHECK(i == f->at || f->runs[i - 1].first < first); /* run_from() */
	CHECK(i + 1 == f->n || first < f->runs[i + 1].first);
	f->runs[i] = (struct flow_run){ .first = first };
	return &f->runs[i];
}

static void row_add(struct ledger *l, const struct task *def, struct instance *i)
{
	struct flow_run *r = run_place(flow_place(l, def), task_run(def, i->key.run_date));

	CHECK(!(i->marks & EM_FLOW));
	r->rows = mem_room(r->rows, &r->cap, r->n + 1, sizeof *r->rows);
	r->rows[r->n++] = i->slot;
	i->marks |= EM_FLOW;
}

/* Those of the run that is the oldest now may go. */
static void tell_turn(struct ledger *l, const struct task *def, struct flow *f)
{
	struct flow_run *r = f->at < f->n ? &f->runs[f->at] : NULL;
	struct transition tr = { .kind = TK_TURN };

	if (!r || !r->held)
		return;
	CHECK(l->flows.n_held > 0);
	r->held = false;
	l->flows.n_held--;
	tr.inst.key = (struct inst_key){ r->first, def->overlap_run ? def->workflow_id : def->id,
		                         def->overlap_run };
	ledger__publish(l, &tr);
}

static void run_remove(struct ledger *l, const struct task *def, struct flow *f, size_t i)
{
	CHECK(f->runs[i].n == 0 && l->flows.n_held >= f->runs[i].held);
	l->flows.n_held -= f->runs[i].held;
	free(f->runs[i].rows);
	if (i > f->at) {
		memmove(f->runs + i, f->runs + i + 1, (f->n - i - 1) * sizeof *f->runs);
		f->n--;
		return;
	}
	if (++f->at == f->n)
		f->at = f->n = 0;
	tell_turn(l, def, f);
}

static void row_remove(struct ledger *l, const struct task *def, struct instance *i)
{
	struct flow *f = flow_of(l, def);
	size_t at = f ? run_from(f, task_run(def, i->key.run_date)) : 0, k = 0;

	CHECK(f && at < f->n);
	struct flow_run *r = &f->runs[at];
	while (k < r->n && r->rows[k] != i->slot)
		k++;
	CHECK(k < r->n);
	r->rows[k] = r->rows[--r->n];
	i->marks &= (uint8_t)~EM_FLOW;
	if (r->n == 0)
		run_remove(l, def, f, at);
}

static bool flow_counts(const struct task *def, const struct instance *i)
{
	return def && def->overlap != OVERLAP_ALLOW && i->key.part == 0 && i->state != ST_NONE &&
	       !state_final((enum state)i->state) && i->origin < OR_BACKFILL &&
	       !(i->flags & IF_MEMBER);
}

/* --- after a start: what ran then may have ended long ago ------------------------------------ */

static bool has_unheard(const struct ledger *l, const struct flow *f, int64_t before)
{
	for (size_t i = f->at; i < f->n && f->runs[i].first < before; i++)
		for (size_t k = 0; k < f->runs[i].n; k++)
			if (table_at(&l->table, f->runs[i].rows[k])->inst.marks & EM_UNHEARD)
				return true;
	return false;
}

static void row_heard(struct ledger *l, const struct ltask *t, struct instance *i)
{
	struct flow *f = t->def ? flow_of(l, t->def) : NULL;
	struct transition tr = { .kind = TK_TURN };

	CHECK(i->marks & EM_UNHEARD && l->flows.n_unheard > 0);
	i->marks &= (uint8_t)~EM_UNHEARD;
	l->flows.n_unheard--;
	if (!f || !f->asked || has_unheard(l, f, INT64_MAX))
		return;
	CHECK(l->flows.n_asked > 0);
	f->asked = false;
	l->flows.n_asked--;
	tr.inst.key.task = t->def->overlap_run ? t->def->workflow_id : t->def->id;
	tr.inst.key.part = t->def->overlap_run;
	ledger__publish(l, &tr);
}

static struct entry *find_part(const struct ledger *l, const struct instance *i, int32_t part)
{
	uint32_t at;

	return table_find(&l->table, (struct inst_key){ i->key.run_date, i->key.task, part }, &at);
}

/* Where all parts are over it is the whole's end that tells: that is next. */
static void part_heard(struct ledger *l, const struct ltask *t, const struct instance *i)
{
	struct entry *whole = find_part(l, i, 0);
	bool runs = false;

	if (!whole || !(whole->inst.marks & EM_UNHEARD))
		return;
	for (int32_t k = 1; k <= whole->inst.parts; k++) {
		const struct entry *e = find_part(l, i, k);
		if (e && e->inst.marks & EM_UNHEARD)
			return;
		runs |= e && !state_final((enum state)e->inst.state);
	}
	if (runs)
		row_heard(l, t, &whole->inst);
}

void ledger__heard(struct ledger *l, const struct ltask *t, struct instance *i)
{
	if (!(i->marks & EM_UNHEARD))
		return;
	row_heard(l, t, i);
	if (i->key.part > 0)
		part_heard(l, t, i);
}

/* A clock that is ahead does not make it end later than now. */
static void note_end(struct ledger *l, const struct ltask *t, const struct instance *i)
{
	struct flow *f = t->def ? flow_of(l, t->def) : NULL;
	int64_t at_us = i->ended_us < l->now_us ? i->ended_us : l->now_us;

	if (!f || i->flags & IF_SPREAD || at_us <= f->ended_us)
		return;
	f->ended_us = at_us;
	f->ended_first = task_run(t->def, i->key.run_date);
	f->ended = i->key;
}

void ledger__flow_changed(struct ledger *l, const struct ltask *t, struct instance *i)
{
	bool is = flow_counts(t->def, i), was = i->marks & EM_FLOW;
	bool runs = state_holds_slot((enum state)i->state) && i->state != ST_HANGED;

	if (i->marks & EM_UNHEARD && state_final((enum state)i->state))
		note_end(l, t, i);
	if (is && !was)
		row_add(l, t->def, i);
	else if (was && !is)
		row_remove(l, t->def, i);
	if (!runs)
		ledger__heard(l, t, i);
}

static void mark_unheard(struct ledger *l, struct instance *i)
{
	i->marks |= EM_UNHEARD;
	l->flows.n_unheard++;
}

void ledger__flows_restore(struct ledger *l)
{
	for (uint32_t k = 0; k < l->table.used; k++) {
		struct instance *i = &table_at(&l->table, k)->inst;
		struct entry *whole = i->key.part > 0 ? find_part(l, i, 0) : NULL;
		if (i->key.part < 0 || i->state == ST_HANGED ||
		    !inst_holds_slot(i, (enum state)i->state))
			continue;
		mark_unheard(l, i);
		if (whole && !(whole->inst.marks & EM_UNHEARD))
			mark_unheard(l, &whole->inst);
	}
}

static bool is_unheard(struct ledger *l, const struct ltask *t, const struct proposal *p)
{
	const struct task *def = t->def;
	struct flow *f = def ? flow_of(l, def) : NULL;

	if (!f || (def->overlap != OVERLAP_SKIP && def->overlap != OVERLAP_REPLACE))
		return false;
	int64_t first = task_run(def, p->key.run_date);
	if (l->flows.n_unheard == 0 || has_run(f, first) || !has_unheard(l, f, first))
		return false;
	l->flows.n_asked += !f->asked;
	f->asked = true;
	return true;
}

bool ledger__is_early(struct ledger *l, struct ltask *t, const struct proposal *p, bool is_made,
                      uint64_t *ret_number)
{
	if (t->waits && p->key.run_date > t->waits_at)
		return true; /* one before it is to be asked for again first: at once */
	t->waits = !is_made && is_unheard(l, t, p);
	t->waits_at = p->key.run_date;
	if (t->waits)
		*ret_number = stream_last(l->stream);
	return t->waits;
}

void ledger__not_early(struct ltask *t, const struct proposal *p)
{
	t->waits = t->waits && p->key.run_date > t->waits_at;
}

/* --- what is asked ------------------------------------------------------------------------- */

/* A person's run of it begins at once, and what has begun is not judged again. */
bool ledger__awaits_turn(const struct ledger *l, const struct ltask *t, const struct instance *i)
{
	const struct task *def = t->def;
	const struct flow *f = def && def->overlap >= OVERLAP_QUEUE ? flow_of(l, def) : NULL;
	bool begun = i->flags & IF_LOOKS ||
	             (i->state != ST_READY && !(i->flags & IF_SPREAD) && (i->attempt || i->infra));

	if (!f || f->at == f->n || i->key.part != 0 || i->origin != OR_CYCLE || begun ||
	    i->flags & (IF_MEMBER | IF_NO_LINKS | IF_RUN_NOW))
		return false;
	return f->runs[f->at].first < task_run(def, i->key.run_date);
}

void ledger__hold_turn(struct ledger *l, const struct ltask *t, const struct instance *i)
{
	struct flow_run *r = run_place(flow_place(l, t->def), task_run(t->def, i->key.run_date));

	CHECK(r->n > 0); /* i is one of them */
	l->flows.n_held += !r->held;
	r->held = true;
}

/* What became of the others of its run: the first of them to come due decides for all. */
static bool is_left_out(const struct ledger *l, const struct task *def, int64_t run_date)
{
	int64_t first = task_run(def, run_date), end = task_run_end(def, run_date);
	size_t at = 0;

	for (uint32_t v = map_first(&l->flows.tasks, def->workflow_id, &at); v != MAP_NONE;
	     v = map_next(&l->flows.tasks, def->workflow_id, &at)) {
		const struct ltask *s = ledger__task_of(l, v);
		if (!s || !s->def || plan_next(s->def->plan, first - 1) >= end)
			continue;
		for (size_t k = outcomes_from(&s->outcomes, first);
		     k < s->outcomes.len && s->outcomes.ranges[k].lo < end; k++) {
			const struct outcome_range *o = &s->outcomes.ranges[k];
			if ((o->state == ST_SKIPPED && o->reason == RE_OVERLAP) ||
			    (o->state == ST_KILLED && o->reason == RE_REPLACED))
				return true;
		}
	}
	return false;
}

/* Has another of its run ended in a way of its own? Then the run goes on. */
static bool is_begun(const struct ledger *l, const struct task *def, int64_t run_date)
{
	int64_t first = task_run(def, run_date), end = task_run_end(def, run_date);
	size_t at = 0;

	for (uint32_t v = map_first(&l->flows.tasks, def->workflow_id, &at); v != MAP_NONE;
	     v = map_next(&l->flows.tasks, def->workflow_id, &at)) {
		const struct ltask *s = ledger__task_of(l, v);
		int64_t d = s && s->def ? plan_next(s->def->plan, first - 1) : PLAN_NEVER;
		for (; d < end; d = plan_next(s->def->plan, d)) {
			const struct outcome_range *o = outcomes_find(&s->outcomes, d);
			if (o && (o->state != ST_SKIPPED || o->reason != RE_CATCHUP))
				return true;
		}
	}
	return false;
}

bool ledger__overlaps(const struct ledger *l, const struct ltask *t, const struct proposal *p)
{
	const struct task *def = t->def;
	int64_t run_date = p->key.run_date;
	const struct flow *f = def ? flow_of(l, def) : NULL;

	if (!def || (def->overlap != OVERLAP_SKIP && def->overlap != OVERLAP_REPLACE))
		return false;
	int64_t first = task_run(def, run_date);
	if (has_run(f, first))
		return false;
	if (def->overlap_run && is_left_out(l, def, run_date))
		return true;
	if (def->overlap == OVERLAP_REPLACE || (def->overlap_run && is_begun(l, def, run_date)))
		return false;
	if (!f)
		return false;
	/* It came due before the end of what ran at the start, and is judged after it. */
	if (f->ended_first < first && p->due * US_PER_S < f->ended_us)
		return true;
	return f->at < f->n && f->runs[f->at].first < first;
}

/* Its label, with its task where that is another. */
char *ledger__name_date(const struct ledger *l, const struct ltask *t, struct inst_key key)
{
	const struct ltask *of = ledger__task_of(l, key.task);
	bool other = of != t && of && of->def;
	char at[LABEL_TEXT];

	if (of && of->def)
		label_of(of->def->plan, key.run_date, at);
	else
		when_print(key.run_date, at);
	return mem_fmt("%s%s%s", at, other ? " of " : "", other ? of->def->name : "");
}

char *ledger__overlap_note(const struct ledger *l, const struct ltask *t, const struct proposal *p)
{
	const struct flow *f = flow_of(l, t->def);
	int64_t first = task_run(t->def, p->key.run_date);
	char *date, *note, at[WHEN_TEXT];

	if (f && f->at < f->n && f->runs[f->at].first < first) {
		const struct instance *i = &table_at(&l->table, f->runs[f->at].rows[0])->inst;
		date = ledger__name_date(l, t, i->key);
		note = mem_fmt("%s was %s", date, state_word((enum state)i->state));
	} else if (f && f->ended_first < first && p->due * US_PER_S < f->ended_us) {
		when_print_us(f->ended_us, at);
		date = ledger__name_date(l, t, f->ended);
		note = mem_fmt("%s ran until %s", date, at);
	} else {
		return mem_str("the others of its run are left out");
	}
	free(date);
	return note;
}

/* --- replace ------------------------------------------------------------------------------- */

/* Those there are, and itself, whom another of the same letter may replace. */
static size_t count_older(const struct ledger *l, const struct proposal *p)
{
	const struct ltask *t = ledger__task_of(l, p->key.task);
	const struct task *def = t ? t->def : NULL;
	size_t n = 1;

	if (!def || p->ask != ASK_CREATE || !p->plan || def->overlap != OVERLAP_REPLACE)
		return 0;
	const struct flow *f = flow_of(l, def);
	for (size_t i = f ? f->at : 0;
	     f && i < f->n && f->runs[i].first < task_run(def, p->key.run_date); i++)
		n += f->runs[i].n;
	return n;
}

size_t ledger__may_replace(struct ledger *l, const struct proposals *ps)
{
	size_t n = 0, max = l->set.ring_slots / 4;

	for (size_t i = 0; i < ps->n && n < max; i++)
		n += count_older(l, &ps->p[i]);
	l->flows.may_kill = n < max ? n : max;
	return l->flows.may_kill;
}

size_t ledger__older(const struct ledger *l, const struct ltask *t, int64_t run_date,
                     uint32_t **ret_rows)
{
	const struct task *def = t->def;
	const struct flow *f = def->overlap == OVERLAP_REPLACE ? flow_of(l, def) : NULL;
	size_t n = 0, cap = 0;
	uint32_t *older = NULL;

	for (size_t i = f ? f->at : 0; f && i < f->n && f->runs[i].first < task_run(def, run_date);
	     i++)
		for (size_t k = 0; k < f->runs[i].n; k++) {
			older = mem_room(older, &cap, n + 1, sizeof *older);
			older[n++] = f->runs[i].rows[k];
		}
	*ret_rows = older;
	return n;
}

/* --- definitions --------------------------------------------------------------------------- */

static bool same_flow(const struct task *a, const struct task *b)
{
	enum task_overlap was = a ? a->overlap : OVERLAP_ALLOW;

	if (was == OVERLAP_ALLOW && b->overlap == OVERLAP_ALLOW)
		return true;
	return a && was != OVERLAP_ALLOW && b->overlap != OVERLAP_ALLOW &&
	       a->overlap_run == b->overlap_run && a->run_tz == b->run_tz &&
	       a->run_unit == b->run_unit && a->run_step == b->run_step;
}

void ledger__flow_put(struct ledger *l, const struct task *was, const struct task *def)
{
	size_t at = 0;

	if (!same_flow(was, def))
		l->flows.is_stale = true;
	if (!def->overlap_run)
		return;
	for (uint32_t v = map_first(&l->flows.tasks, def->workflow_id, &at); v != MAP_NONE;
	     v = map_next(&l->flows.tasks, def->workflow_id, &at))
		if (v == def->id)
			return;
	map_add(&l->flows.tasks, def->workflow_id, def->id);
}

static void drop_all(struct flows *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct flow *f = &all->items[i];
		for (size_t k = f->at; k < f->n; k++)
			free(f->runs[k].rows);
		free(f->runs);
	}
	free(all->items);
	map_done(&all->by_key);
	map_init(&all->by_key);
	all->items = NULL;
	all->n = all->cap = all->n_held = all->n_asked = 0;
}

void ledger__flows_build(struct ledger *l)
{
	struct flows *all = &l->flows;

	if (!all->is_stale)
		return;
	all->is_stale = false;
	drop_all(all);
	for (uint32_t k = 0; k < l->table.used; k++) {
		struct instance *i = &table_at(&l->table, k)->inst;
		const struct ltask *t = i->state == ST_NONE ? NULL
		                                            : ledger__task_of(l, i->key.task);
		if (!t)
			continue;
		i->marks &= (uint8_t)~EM_FLOW;
		if (flow_counts(t->def, i))
			row_add(l, t->def, i);
	}
	/* Who was refused by then is not known any more: all are told. */
	for (size_t i = 0; i < all->n; i++)
		for (size_t k = all->items[i].at; k < all->items[i].n; k++) {
			all->items[i].runs[k].held = true;
			all->n_held++;
		}
	for (size_t i = 0; all->n_unheard > 0 && i < all->n; i++) {
		all->items[i].asked = true;
		all->n_asked++;
	}
}

void ledger__flows_init(struct ledger *l)
{
	map_init(&l->flows.by_key);
	map_init(&l->flows.tasks);
}

void ledger__flows_done(struct ledger *l)
{
	drop_all(&l->flows);
	map_done(&l->flows.by_key);
	map_done(&l->flows.tasks);
}
