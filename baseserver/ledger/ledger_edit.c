/* Definitions and pools change: an edit goes into memory and into the stream.
 *
 * The commander and the maintainer make edits; ledger.c gives each a commit to itself, all or
 * nothing. An edit that was made from definitions older than those in force is returned before
 * anything is changed. Three things always follow the definition in force: the list of children by
 * parent, the slots of pools that running instances take, and the flows of `overlap`. Each edited
 * task raises its barrier: the ledger returns older proposals to start it or its children. The
 * former version stays in memory while instances of the task are unfinished (ledger_body.c). */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "baseserver/ledger/pack.h"
#include "sched/task.h"
#include "store/task_row.h"
#include "util/alloc.h"
#include "util/check.h"

static struct ltask *place_for(struct ledger *l, uint32_t id)
{
	if (id >= l->tasks_cap) {
		size_t cap = (size_t)id * 2 + 64;
		l->tasks = mem_grow(l->tasks, cap, sizeof *l->tasks);
		for (size_t i = l->tasks_cap; i < cap; i++)
			l->tasks[i] = NULL;
		l->tasks_cap = cap;
	}
	if (!l->tasks[id]) {
		l->tasks[id] = mem_new(sizeof *l->tasks[id]);
		outcomes_init(&l->tasks[id]->outcomes);
		l->tasks[id]->row.id = id;
		l->tasks[id]->row.planned_through = INT64_MIN;
	}
	return l->tasks[id];
}

static void child_remove(struct ltask *parent, uint32_t child)
{
	for (size_t i = 0; i < parent->n_children; i++)
		if (parent->children[i] == child) {
			parent->children[i] = parent->children[--parent->n_children];
			return;
		}
}

static void child_add(struct ltask *parent, uint32_t child)
{
	for (size_t i = 0; i < parent->n_children; i++)
		if (parent->children[i] == child)
			return;
	parent->children = mem_grow(parent->children, parent->n_children + 1,
	                            sizeof *parent->children);
	parent->children[parent->n_children++] = child;
}

static void unlink_parents(struct ledger *l, const struct task *d)
{
	for (size_t i = 0; d && i < d->n_links; i++) {
		struct ltask *p = ledger__task_of(l, d->links[i].parent);
		if (p)
			child_remove(p, d->id);
	}
}

/* Strings of a row live as long as the definition they come from. */
static void point_at_def(struct store_task *row, const struct task *d)
{
	task_row_words(row, d);
	row->priority = d->priority;
}

/* What runs takes what the new definition says: a pool may be over its size then. */
static void put_takes(struct ledger *l, struct ltask *t, const struct task *def)
{
	int32_t slots = t->slots;

	ledger__count_slots(t, -slots);
	free(t->takes);
	t->n_takes = pools_takes_of(&l->pools, def, &t->takes);
	ledger__count_slots(t, slots);
}

void ledger__put_task(struct ledger *l, struct task *def, const struct store_task *row)
{
	struct ltask *t = place_for(l, def->id);
	int64_t through = t->row.planned_through;

	CHECK(row->id == def->id && t->unfinished >= 0);
	bool was_known = t->def != NULL;
	int64_t since = plan_since(def->plan);
	if (was_known && plan_replans(t->def->plan, def->plan) &&
	    outcomes_replan(&t->outcomes, t->def->plan, def->plan, since))
		l->replanned = true;
	if (was_known && since != plan_since(t->def->plan)) {
		/* A version that was to begin earlier: what lies behind comes due by it. How far
		 * the plan has come is the ledger's to know, not the edit's. */
		if (since <= through)
			through = since > INT64_MIN ? since - 1 : INT64_MIN;
	}
	if (t->unfinished == 0)
		ledger__forget_versions(t);
	if (t->def && t->def->version != def->version && t->unfinished)
		ledger__keep_version(t, t->def);
	unlink_parents(l, t->def);
	put_takes(l, t, def);
	t->waits = false;
	ledger__flow_put(l, t->def, def);
	task_ref(def);
	if (t->def)
		task_unref(t->def);
	t->def = def;
	t->row = *row;
	if (was_known || through > t->row.planned_through)
		t->row.planned_through = through;
	point_at_def(&t->row, def);
	for (size_t i = 0; i < def->n_links; i++)
		child_add(place_for(l, def->links[i].parent), def->id);
}

bool ledger__edit_is_current(const struct ledger *l, struct edit *e)
{
	for (size_t i = 0; i < e->n_tasks; i++) {
		const struct ltask *t = ledger__task_of(l, e->tasks[i]->id);
		if (!t || !t->def)
			continue;
		if (e->tasks[i]->version < t->def->version)
			return false;
		/* More came due by the old plan than the new version knew of. */
		int64_t since = plan_since(e->tasks[i]->plan);
		if (since > e->rows[i].planned_through && since <= t->row.planned_through &&
		    since != plan_since(t->def->plan)) {
			e->rows[i].planned_through = t->row.planned_through;
			return false;
		}
	}
	return true;
}

/* A pool that was set or removed. Shrinking below what is taken only stops new starts. */
static uint64_t apply_pool(struct ledger *l, const struct store_doc *d, uint64_t cause)
{
	int32_t size = pool_size_unset(d->name);

	if (!d->retired)
		CHECK(pool_parse(d->body, d->body_len, &size));
	pools_get(&l->pools, d->name)->size = size;
	struct transition tr = { .kind = TK_POOL,
		                 .row = pool_change_new(d->name, size),
		                 .cause = cause };
	return ledger__publish(l, &tr);
}

/* Dates that steps after it wait for may be none of its plan any more, or be so now. */
static bool dates_change(const struct ltask *t, const struct task *def)
{
	return t && t->def &&
	       (plan_begin(t->def->plan) != plan_begin(def->plan) ||
	        !plan_same_dates(t->def->plan, def->plan));
}

/* One after the other into memory; what the others learn of them goes into a pack. */
static uint64_t apply_tasks(struct ledger *l, const struct edit *e, size_t from, size_t to)
{
	struct task_pack *p = pack_new(to - from);

	CHECK(from < to && to <= e->n_tasks);
	for (size_t i = from; i < to; i++) {
		struct ltask *t = ledger__task_of(l, e->tasks[i]->id);
		p->items[i - from].def = task_ref(e->tasks[i]);
		bool spreads = task_spreads(e->tasks[i]) || (t && t->def && task_spreads(t->def));
		bool replans = spreads && dates_change(t, e->tasks[i]);
		ledger__put_task(l, e->tasks[i], &e->rows[i]);
		t = ledger__task_of(l, e->tasks[i]->id);
		ledger__touch_task(l, t);
		ledger__branch_parents(l, t);
		p->items[i - from].row = t->row;
		if (spreads)
			ledger__list_parts(l, t->row.id);
		if (replans)
			ledger__parts_left_out(l, t);
	}
	struct transition tr = { .kind = TK_TASK, .row = p, .cause = e->cause };
	tr.inst.key.task = e->tasks[from]->id;
	uint64_t number = ledger__publish(l, &tr);
	for (size_t i = from; i < to; i++)
		ledger__raise_barrier(l, ledger__task_of(l, e->tasks[i]->id), number);
	return number;
}

size_t ledger_edit_records(const struct edit *e)
{
	size_t n = (e->n_tasks + PACK_TASKS_MAX - 1) / PACK_TASKS_MAX;

	for (size_t i = 0; i < e->n_docs; i++)
		n += e->docs[i].kind == DOC_POOL;
	return n;
}

void ledger__apply_edit(struct ledger *l, struct edit *e)
{
	uint64_t number = 0;

	CHECK(stream_room(l->stream) > ledger_edit_records(e)); /* all of it, or nothing */
	for (size_t i = 0; i < e->n_tasks; i += PACK_TASKS_MAX)
		number = apply_tasks(
			l, e, i, e->n_tasks - i < PACK_TASKS_MAX ? e->n_tasks : i + PACK_TASKS_MAX);
	ledger__flows_build(l);
	for (size_t i = 0; i < e->n_docs; i++)
		if (e->docs[i].kind == DOC_POOL)
			number = apply_pool(l, &e->docs[i], e->cause);
	e->number = number ? number : stream_last(l->stream);
	e->code = 0;
}
