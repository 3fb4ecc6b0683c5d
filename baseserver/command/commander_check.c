/* May the tasks be put in force or offline, run, or retire? Before anything is recorded. */
#include "baseserver/command/commander_impl.h"
#include "baseserver/model/world.h"
#include "rt/manifests.h"
#include "sched/task.h"
#include "sched/type.h"
#include "util/err.h"

/* An online child that stays behind would wait for good. */
static int check_children(const struct commander *c, const struct order *o, struct refusal *f)
{
	for (size_t i = 0; i < o->sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, o->sel.tasks[i]);
		for (size_t k = 0; k < t->n_children; k++) {
			const struct cat_task *ch = catalog_task(&c->cat, t->children[k]);
			if (!ch || ch->row.state != TS_ONLINE || order__selects(o, ch->id))
				continue;
			return refuse(
				f, E_CONFLICT, "args.selection", "take it offline too, or detach",
				"%s is online and depends on %s", ch->def->name, t->def->name);
		}
	}
	return 0;
}

static int check_running(const struct commander *c, const struct order *o, struct refusal *f)
{
	for (size_t i = 0; i < o->sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, o->sel.tasks[i]);
		for (uint32_t k = t->live; k != SLAB_NONE; k = catalog_inst(&c->cat, k)->next)
			if (state_holds_slot((enum state)catalog_inst(&c->cat, k)->state))
				return refuse(f, E_CONFLICT, "args.selection", "kill it, or wait",
				              "an instance of %s runs", t->def->name);
	}
	return 0;
}

/* A draft may name a type that is to come; in force it would wait for it without a word. */
int check_types(const struct commander *c, const struct order *o, struct refusal *f)
{
	const struct type_set *types = manifests_types(c->types);
	const struct world w = { .cat = &c->cat, .roster = c->roster, .n_roster = c->n_roster };

	for (size_t i = 0; type_set_count(types) && i < o->sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, o->sel.tasks[i]);
		if (!t || t->row.state != TS_DRAFT || type_set_find(types, t->def->type) ||
		    world_runs(&w, t->def->type))
			continue;
		return refuse(f, E_INVALID, "args.selection",
		              "`sirdar type list` has those there are",
		              "%s is a draft of a task type '%s' that is not there", t->def->name,
		              t->def->type);
	}
	return 0;
}

int check_offline(const struct commander *c, const struct order *o, struct refusal *f)
{
	return o->detach ? 0 : check_children(c, o, f);
}

int check_retire(const struct commander *c, const struct order *o, struct refusal *f)
{
	int r = check_offline(c, o, f);

	return r < 0 || o->let_end ? r : check_running(c, o, f);
}
