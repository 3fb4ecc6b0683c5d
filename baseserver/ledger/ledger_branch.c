/* A branch (design: SEMANTICS section 6): the output `branch` of a success names the direct
 * children that go on; the others are Skipped(branch) in the same commit, also dates that are
 * not due yet. A child that was left out, and is chosen by a redo, is wanted again. A first success
 * has left out nobody: who is left out then is so by another branch, and stays. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/log.h"

enum { ROOM = 16, DATES_MAX = 20000 };

#define REACH_S (INT64_C(1100) * 86400) /* a window looks no further, in either direction */

static const char separators[] = "[]\", \t\n";

/* The name is the task's: task, workflow/task or project/workflow/task. */
static bool is_name_of(const char *full, const char *name, size_t len)
{
	size_t n = strlen(full);

	return len > 0 && len <= n && memcmp(full + n - len, name, len) == 0 &&
	       (len == n || full[n - len - 1] == '/');
}

static bool branch_names(const char *branch, const char *full)
{
	for (const char *at = branch + strspn(branch, separators); *at;) {
		size_t len = strcspn(at, separators);
		if (is_name_of(full, at, len))
			return true;
		at += len;
		at += strspn(at, separators);
	}
	return false;
}

static bool picks(const struct task_link *l, const struct plan *parent, const struct plan *child,
                  int64_t t, int64_t p)
{
	struct link_span spans[LINK_SPANS_MAX];
	int n = link_spans_ever(l, parent, child, t, spans);

	for (int i = 0; i < n; i++)
		if (p >= spans[i].lo && p < spans[i].hi)
			return true;
	return false;
}

/* The child's first date that may pick p. But for expressions, windows rise with their dates. */
static int64_t first_date(const struct task_link *l, const struct plan *parent,
                          const struct plan *child, int64_t p)
{
	int64_t a = p - REACH_S, b = p + REACH_S;
	struct link_span spans[LINK_SPANS_MAX];

	while (l->kind != LK_WINDOW && a < b) {
		int64_t mid = a + (b - a) / 2, t = plan_next(child, mid - 1);
		int n = t < p + REACH_S ? link_spans_ever(l, parent, child, t, spans) : 0;
		if (t < p + REACH_S &&
		    (n > 0 ? spans[n - 1].hi <= p : t <= p && l->kind == LK_PREV))
			a = t + 1;
		else
			b = mid;
	}
	return plan_next(child, l->kind == LK_WINDOW ? p - REACH_S / 24 : a - 1);
}

static void leave_out(struct ledger *l, const struct ltask *t, int64_t date, struct proposal *p)
{
	struct inst_key key = { date, t->def->id, 0 };
	uint32_t index;
	struct entry *e = table_find(&l->table, key, &index);
	struct proposal why = { .cause = p->cause };

	if (e && fsm_next((enum state)e->inst.state, EV_SKIP) != ST_NONE) {
		e->inst.left_by = p->key.task;
		ledger__change(l, index, EV_SKIP, RE_BRANCH, &why);
	} else if (!e && !outcomes_find(&t->outcomes, date)) {
		e = table_add(&l->table, key, &index);
		e->inst.due = plan_due(t->def->plan, date);
		e->inst.created_us = l->now_us;
		e->inst.eff_due_us = l->now_us;
		e->inst.generation = 1;
		e->inst.version = t->row.version;
		e->inst.priority = (uint8_t)t->def->priority;
		e->inst.left_by = p->key.task;
		ledger__change(l, index, EV_CREATE_SKIP, RE_BRANCH, &why);
	}
}

static bool was_by_branch(const struct instance *i)
{
	return i->former == instance_former_pack(ST_SKIPPED, RE_BRANCH);
}

/* A command began it anew: its cancel gives back a skip that ends when its links are met. */
static void forget_former(struct ledger *l, struct inst_key key, uint32_t parent)
{
	uint32_t index;
	struct entry *e = table_find(&l->table, key, &index);

	if (e && e->inst.left_by == parent && was_by_branch(&e->inst)) {
		e->inst.former = instance_former_pack(ST_SKIPPED, RE_LINK);
		e->inst.left_by = 0;
		ledger__change(l, index, EV_WANTED, RE_PARENT, NULL);
	}
}

static void take_in(struct ledger *l, const struct ltask *t, int64_t date, struct proposal *p)
{
	struct inst_key key = { date, t->def->id, 0 };
	const struct outcome_range *o = outcomes_find(&t->outcomes, date);
	struct proposal why = { .cause = p->cause };
	uint32_t index;

	if (!o) {
		forget_former(l, key, p->key.task);
		return;
	}
	if (o->state != ST_SKIPPED || o->reason != RE_BRANCH)
		return;
	int r = ledger__fetch(l, key, &index);
	if (r < 0) {
		log_error("branch.unread",
		          "task=%u run_date=%lld code=%s text=\"it stays left out\"", key.task,
		          (long long)date, err_name(r));
		return;
	}
	struct entry *e = table_at(&l->table, index);
	if (e->inst.left_by != p->key.task) {
		ledger__put_back(l, index); /* another branch did it */
		return;
	}
	ledger__reset_for_reopen(l, &e->inst);
	ledger__change(l, index, EV_REOPEN, RE_PARENT, &why);
}

/* Only ask for the row that take_in() will need. */
static void look_ahead(struct ledger *l, const struct ltask *t, int64_t date, struct proposal *p)
{
	struct inst_key key = { date, t->def->id, 0 };
	const struct outcome_range *o = outcomes_find(&t->outcomes, date);
	uint32_t index;

	(void)p;
	if (o && o->state == ST_SKIPPED && o->reason == RE_BRANCH &&
	    !table_find(&l->table, key, &index))
		ledger__ask_row(l, key);
}

static void pass_over(struct ledger *l, const struct ltask *t, int64_t date, struct proposal *p)
{
	(void)l;
	(void)t;
	(void)date;
	(void)p;
}

typedef void act_fn(struct ledger *l, const struct ltask *t, int64_t date, struct proposal *p);

/* What is done with a date of a child that is chosen, and of one that is not. */
struct branching {
	act_fn *chosen, *others;
};

static void follow_link(struct ledger *l, const struct ltask *parent, const struct ltask *child,
                        const struct task_link *link, struct proposal *p,
                        const struct branching *acts)
{
	const struct plan *pp = parent->def->plan, *cp = child->def->plan;
	int64_t at = p->key.run_date;
	bool chosen = !p->branch || branch_names(p->branch, child->def->name), met = false;
	int64_t t = first_date(link, pp, cp, at);

	for (int n = 0; n < DATES_MAX && t <= at + REACH_S; n++, t = plan_next(cp, t)) {
		if (!picks(link, pp, cp, t, at)) {
			if (met && link->kind != LK_WINDOW)
				return;
			if (t > at && link->kind != LK_WINDOW && link->kind != LK_PREV)
				return;
			continue;
		}
		met = true;
		if (stream_room(l->stream) <= ROOM && acts->others == leave_out) {
			log_error("branch.full", "task=%u text=\"children are left undecided\"",
			          child->def->id);
			return;
		}
		(chosen ? acts->chosen : acts->others)(l, child, t, p);
	}
}

static void branch(struct ledger *l, const struct ltask *t, struct proposal *p,
                   const struct branching *acts)
{
	for (size_t k = 0; k < t->n_children; k++) {
		const struct ltask *c = ledger__task_of(l, t->children[k]);
		if (!c || !c->def || c == t || c->row.state == TS_DRAFT ||
		    c->row.state == TS_RETIRED)
			continue;
		for (size_t i = 0; i < c->def->n_links; i++)
			if (c->def->links[i].parent == t->row.id && !c->def->links[i].by_node)
				follow_link(l, t, c, &c->def->links[i], p, acts);
	}
}

static bool was_left_out(const struct ltask *t)
{
	for (size_t i = 0; i < t->outcomes.len; i++)
		if (t->outcomes.ranges[i].state == ST_SKIPPED &&
		    t->outcomes.ranges[i].reason == RE_BRANCH)
			return true;
	return false;
}

void ledger__branch_parents(struct ledger *l, const struct ltask *t)
{
	if (!t->def || !was_left_out(t))
		return;
	for (size_t k = 0; k < t->def->n_links; k++) {
		struct ltask *p = ledger__task_of(l, t->def->links[k].parent);
		if (p)
			p->branched = true;
	}
}

void ledger__branches_restore(struct ledger *l)
{
	for (size_t i = 0; i < l->tasks_cap; i++)
		if (l->tasks[i])
			ledger__branch_parents(l, l->tasks[i]);
	for (uint32_t k = 0; k < l->table.used; k++) {
		const struct instance *i = &table_at(&l->table, k)->inst;
		struct ltask *p = i->state != ST_NONE && was_by_branch(i)
		                          ? ledger__task_of(l, i->left_by)
		                          : NULL;
		if (p)
			p->branched = true;
	}
}

static bool branches(const struct ltask *t, const struct proposal *p)
{
	return p->key.part == 0 && t->def && (p->branch || t->branched) &&
	       plan_has(t->def->plan, p->key.run_date);
}

static bool is_redone(const struct ledger *l, const struct proposal *p)
{
	uint32_t index;
	const struct entry *e = table_find(&l->table, p->key, &index);

	return e && e->inst.generation > 1;
}

void ledger__branch(struct ledger *l, struct ltask *t, struct proposal *p)
{
	static const struct branching first = { pass_over, leave_out },
				      again = { take_in, leave_out };

	if (!branches(t, p))
		return;
	t->branched = true;
	branch(l, t, p, is_redone(l, p) ? &again : &first);
}

bool ledger__branch_ready(struct ledger *l, struct ltask *t, struct proposal *p)
{
	static const struct branching acts = { look_ahead, pass_over };

	if (branches(t, p) && is_redone(l, p))
		branch(l, t, p, &acts);
	return !ledger_awaits_rows(l);
}

static bool is_child(const struct ledger *l, const struct ltask *t, const char *name, size_t len)
{
	for (size_t k = 0; k < t->n_children; k++) {
		const struct ltask *c = ledger__task_of(l, t->children[k]);
		if (c && c->def && is_name_of(c->def->name, name, len))
			return true;
	}
	return false;
}

char *ledger__branch_note(const struct ledger *l, const struct ltask *t, const char *branch)
{
	for (const char *at = branch + strspn(branch, separators); *at;) {
		size_t len = strcspn(at, separators);
		if (!is_child(l, t, at, len))
			return mem_fmt("branch: '%.*s' is no direct child of this task",
			               len < 80 ? (int)len : 80, at);
		at += len;
		at += strspn(at, separators);
	}
	return NULL;
}
