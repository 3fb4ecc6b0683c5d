/* Tasks by name, unfinished instances and outcomes, folded from the ledger's stream.
 *
 * An unfinished instance stands at the index that its slot has in the ledger, so a transition
 * finds it without a search; by_key is for those who know only its key. What has ended leaves, and
 * only its outcome stays, in the ranges of its task. A task is never taken out: a retired one is
 * found and said to be so. What stands in a chunk is always in by_key, in the list of its task and
 * in counts: put_inst() and its two helpers change all of them. The view is as old as what was
 * folded. */
#include "baseserver/model/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/pack.h"
#include "sched/name.h"
#include "sched/task.h"
#include "store/task_row.h"
#include "util/alloc.h"
#include "util/check.h"

enum { CHUNK = 1024 };

static struct cat_inst *catalog_at(const struct catalog *c, uint32_t index)
{
	CHECK(index / CHUNK < c->n_chunks);
	return &c->chunks[index / CHUNK][index % CHUNK];
}

static uint64_t inst_hash(const void *owner, uint32_t index)
{
	return inst_key_hash(catalog_at(owner, index)->key);
}

static uint32_t project_place(struct catalog *c, const char *task)
{
	size_t len = strcspn(task, "/");
	const struct cat_project *p = catalog_project(c, task, len);

	if (p)
		return (uint32_t)(p - c->projects);
	c->projects = mem_grow(c->projects, c->n_projects + 1, sizeof *c->projects);
	c->projects[c->n_projects] = (struct cat_project){ .name = mem_strn(task, len) };
	map_add(&c->by_project, map_text(c->projects[c->n_projects].name), (uint32_t)c->n_projects);
	return (uint32_t)c->n_projects++;
}

void catalog_init(struct catalog *c)
{
	*c = (struct catalog){ 0 };
	index_init(&c->by_key, inst_hash, c);
	map_init(&c->by_name);
	map_init(&c->by_project);
	project_place(c, "");
}

void catalog_done(struct catalog *c)
{
	for (size_t i = 0; i < c->tasks_cap; i++) {
		struct cat_task *t = c->tasks[i];
		if (!t)
			continue;
		task_unref(t->def);
		outcomes_done(&t->outcomes);
		free(t->children);
		free(t);
	}
	free(c->tasks);
	for (size_t i = 0; i < c->n_chunks; i++)
		free(c->chunks[i]);
	free(c->chunks);
	index_done(&c->by_key);
	map_done(&c->by_name);
	map_done(&c->by_project);
	for (size_t i = 0; i < c->n_projects; i++)
		free(c->projects[i].name);
	free(c->projects);
}

static struct cat_task *catalog_place(struct catalog *c, uint32_t id)
{
	if (id >= c->tasks_cap) {
		size_t cap = (size_t)id * 2 + 64;
		c->tasks = mem_grow(c->tasks, cap, sizeof *c->tasks);
		for (size_t i = c->tasks_cap; i < cap; i++)
			c->tasks[i] = NULL;
		c->tasks_cap = cap;
	}
	if (!c->tasks[id]) {
		c->tasks[id] = mem_new(sizeof *c->tasks[id]);
		c->tasks[id]->id = id;
		c->tasks[id]->live = SLAB_NONE;
		outcomes_init(&c->tasks[id]->outcomes);
	}
	return c->tasks[id];
}

static void child_remove(struct cat_task *p, uint32_t child)
{
	for (size_t i = 0; i < p->n_children; i++)
		if (p->children[i] == child) {
			p->children[i] = p->children[--p->n_children];
			return;
		}
}

static void child_add(struct cat_task *p, uint32_t child)
{
	for (size_t i = 0; i < p->n_children; i++)
		if (p->children[i] == child)
			return;
	p->children = mem_grow(p->children, p->n_children + 1, sizeof *p->children);
	p->children[p->n_children++] = child;
}

static bool is_aside(const struct cat_task *t)
{
	return t->def && t->row.quarantined_us && !catalog_retired(t);
}

static void put_task(struct catalog *c, const struct task *def, const struct store_task *row)
{
	struct cat_task *t = catalog_place(c, def->id);

	task_ref(def);
	CHECK(c->n_aside >= is_aside(t));
	c->n_aside -= is_aside(t);
	if (t->def) {
		if (plan_replans(t->def->plan, def->plan))
			outcomes_replan(&t->outcomes, t->def->plan, def->plan,
			                plan_since(def->plan));
		map_remove(&c->by_name, map_text(t->def->name), def->id);
		for (size_t i = 0; i < t->def->n_links; i++)
			child_remove(catalog_place(c, t->def->links[i].parent), def->id);
		CHECK(c->n_promised >= t->def->has_promise);
		c->n_promised -= t->def->has_promise;
		task_unref(t->def);
	} else {
		c->n_tasks++;
		if (t->live == SLAB_NONE) /* else they are counted where they came */
			t->project = project_place(c, def->name);
	}
	c->n_promised += def->has_promise;
	t->def = def;
	t->row = *row;
	c->n_aside += is_aside(t);
	task_row_words(&t->row, def);
	map_add(&c->by_name, map_text(def->name), def->id);
	for (size_t i = 0; i < def->n_links; i++)
		child_add(catalog_place(c, def->links[i].parent), def->id);
}

static bool is_there(const struct catalog *c, uint32_t slot)
{
	size_t chunk = slot / CHUNK;

	return chunk < c->n_chunks && c->chunks[chunk] && catalog_at(c, slot)->state != ST_NONE;
}

/* As inst_looks_again(). */
static bool cat_looks(uint8_t state, uint16_t flags)
{
	return state == ST_READY && flags & IF_LOOKS;
}

static void remove_inst(struct catalog *c, uint32_t index)
{
	struct cat_inst *i = catalog_at(c, index);
	struct cat_task *t = catalog_place(c, i->key.task);

	CHECK(i->state != ST_NONE && c->counts[i->state] > 0);
	CHECK(i->prev != SLAB_NONE || t->live == index);
	if (i->prev == SLAB_NONE)
		t->live = i->next;
	else
		catalog_at(c, i->prev)->next = i->next;
	if (i->next != SLAB_NONE)
		catalog_at(c, i->next)->prev = i->prev;
	c->counts[i->state]--;
	CHECK(c->looking >= cat_looks(i->state, i->flags));
	c->looking -= cat_looks(i->state, i->flags);
	CHECK(c->projects[t->project].unfinished > 0);
	c->projects[t->project].unfinished--;
	index_remove(&c->by_key, index);
	i->state = ST_NONE;
}

static void chunk_ready(struct catalog *c, size_t chunk)
{
	if (chunk >= c->n_chunks) {
		size_t n = chunk + chunk / 4 + 16;
		c->chunks = mem_grow(c->chunks, n, sizeof *c->chunks);
		for (size_t i = c->n_chunks; i < n; i++)
			c->chunks[i] = NULL;
		c->n_chunks = n;
	}
	if (!c->chunks[chunk])
		c->chunks[chunk] = mem_array(CHUNK, sizeof **c->chunks);
}

static void add_inst(struct catalog *c, struct inst_key key, uint32_t index)
{
	struct cat_task *t = catalog_place(c, key.task);

	chunk_ready(c, index / CHUNK);
	*catalog_at(c, index) = (struct cat_inst){ .key = key, .next = t->live, .prev = SLAB_NONE };
	if (t->live != SLAB_NONE)
		catalog_at(c, t->live)->prev = index;
	t->live = index;
	c->counts[ST_NONE]++;
	c->projects[t->project].unfinished++;
	index_add(&c->by_key, index);
}

static void put_inst(struct catalog *c, const struct instance *image, uint32_t slot)
{
	bool there = is_there(c, slot);

	if (state_final((enum state)image->state)) {
		if (there)
			remove_inst(c, slot);
		return;
	}
	if (!there)
		add_inst(c, image->key, slot);
	struct cat_inst *i = catalog_at(c, slot);
	CHECK(inst_key_eq(i->key, image->key)); /* a slot is free before another has it */
	CHECK(image->state != ST_NONE && c->counts[i->state] > 0);
	c->counts[i->state]--;
	c->counts[image->state]++;
	CHECK(c->looking >= cat_looks(i->state, i->flags));
	c->looking -= cat_looks(i->state, i->flags);
	c->looking += inst_looks_again(image);
	i->state = image->state;
	i->flags = image->flags;
	i->priority = image->priority;
	i->cause = image->cause;
}

static void put_outcome(struct catalog *c, const struct transition *tr)
{
	const struct instance *i = &tr->inst;
	struct cat_task *t = catalog_place(c, i->key.task);
	const struct plan *plan = t->def ? t->def->plan : NULL;

	if (i->key.part != 0)
		return;
	if (state_final((enum state)i->state))
		outcomes_set(&t->outcomes, plan, i->key.run_date, i->generation, i->state,
		             i->reason);
	else if (tr->from != ST_NONE && state_final((enum state)tr->from))
		outcomes_clear(&t->outcomes, plan, i->key.run_date);
}

static void put_range(struct catalog *c, const struct transition *tr)
{
	struct cat_task *t = catalog_place(c, tr->inst.key.task);
	const struct date_range *r = tr->row;
	struct outcome_range o = { r->lo, r->hi, 1, tr->to, tr->reason, { 0 } };

	CHECK(r->lo <= r->hi && state_final((enum state)tr->to));
	outcomes_fill(&t->outcomes, t->def->plan, &o, r->open, r->n_open);
	if (r->hi > t->row.planned_through)
		t->row.planned_through = r->hi;
}

void catalog_fold(struct catalog *c, const struct transition *tr)
{
	if (tr->kind == TK_TASK) {
		const struct task_pack *p = tr->row;
		for (size_t i = 0; i < p->n; i++)
			put_task(c, p->items[i].def, &p->items[i].row);
	} else if (tr->kind == TK_RANGE) {
		put_range(c, tr);
	} else if (tr->kind == TK_INSTANCE) {
		put_inst(c, &tr->inst, tr->slot);
		put_outcome(c, tr);
		struct cat_task *t = catalog_place(c, tr->inst.key.task);
		if (transition_is_planned(tr) && tr->inst.key.run_date > t->row.planned_through)
			t->row.planned_through = tr->inst.key.run_date;
	}
}

void catalog_planned(struct catalog *c, uint32_t task, int64_t through)
{
	struct cat_task *t = task < c->tasks_cap ? c->tasks[task] : NULL;

	if (t && through > t->row.planned_through)
		t->row.planned_through = through;
}

static void restore_task(void *ctx, const struct ledger_task *lt)
{
	struct catalog *c = ctx;

	put_task(c, lt->def, lt->row);
	struct cat_task *t = catalog_place(c, lt->def->id);
	for (size_t i = 0; i < lt->outcomes->len; i++)
		outcomes_put(&t->outcomes, &lt->outcomes->ranges[i]);
}

static void restore_instance(void *ctx, const struct instance *i, uint32_t slot)
{
	put_inst(ctx, i, slot);
}

void catalog_restore(struct catalog *c, const struct ledger *l)
{
	ledger_each_task(l, restore_task, c);
	ledger_each_instance(l, restore_instance, c);
}

const struct cat_task *catalog_task(const struct catalog *c, uint32_t id)
{
	const struct cat_task *t = id < c->tasks_cap ? c->tasks[id] : NULL;

	return t && t->def ? t : NULL;
}

static const struct cat_task *model_catalog_find(const struct catalog *c, const char *name)
{
	uint64_t h = map_text(name);
	size_t where = 0;

	for (uint32_t id = map_first(&c->by_name, h, &where); id != MAP_NONE;
	     id = map_next(&c->by_name, h, &where)) {
		CHECK(id < c->tasks_cap && c->tasks[id]->id == id);
		if (strcmp(c->tasks[id]->def->name, name) == 0)
			return c->tasks[id];
	}
	return NULL;
}

const struct cat_task *catalog_find(const struct catalog *c, const char *name)
{
	const struct cat_task *t = model_catalog_find(c, name);
	char *nfc = t ? NULL : name_nfc(name); /* names are kept so; who asks may write another */

	if (nfc)
		t = model_catalog_find(c, nfc);
	free(nfc);
	return t;
}

const struct cat_inst *catalog_live(const struct catalog *c, struct inst_key key)
{
	uint64_t h = inst_key_hash(key);
	size_t where = 0;

	for (uint32_t i = index_first(&c->by_key, h, &where); i != INDEX_NONE;
	     i = index_next(&c->by_key, &where))
		if (inst_key_eq(catalog_at(c, i)->key, key))
			return catalog_at(c, i);
	return NULL;
}

const struct cat_inst *catalog_inst(const struct catalog *c, uint32_t index)
{
	return is_there(c, index) ? catalog_at(c, index) : NULL;
}

uint32_t catalog_slots(const struct catalog *c)
{
	return (uint32_t)(c->n_chunks * CHUNK);
}

const struct cat_project *catalog_project(const struct catalog *c, const char *name, size_t len)
{
	char *text = mem_strn(name, len);
	const struct cat_project *found = NULL;
	size_t at;

	for (uint32_t i = map_first(&c->by_project, map_text(text), &at); i != MAP_NONE && !found;
	     i = map_next(&c->by_project, map_text(text), &at))
		if (strcmp(c->projects[i].name, text) == 0)
			found = &c->projects[i];
	free(text);
	return found;
}

bool catalog_retired(const struct cat_task *t)
{
	return t->row.state == TS_RETIRED;
}

bool catalog_in_workflow(const struct cat_task *t, const char *workflow, size_t len)
{
	return strncmp(t->def->name, workflow, len) == 0 && t->def->name[len] == '/' &&
	       !strchr(t->def->name + len + 1, '/');
}
