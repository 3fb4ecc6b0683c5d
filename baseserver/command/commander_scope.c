/* What the resolver must know of a backfill whose members look at each other: its dates. */
#include <stdlib.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/plan/resolver.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

bool order__has_members(const struct order *o)
{
	if (o->members)
		return true;
	return o->kind == CK_BACKFILL &&
	       (o->dependencies == DEPEND_INSIDE ||
	        ((o->off_plan || o->before_begin) && o->dependencies == DEPEND_ALL));
}

/* Dates come ascending, task by task; neighbours on the plan become one range. */
static void add_date(struct scope_news *n, const struct item *it)
{
	struct pick *p = n->n ? &n->picks[n->n - 1] : NULL;
	int64_t t = it->key.run_date;

	if (!p || p->task != it->key.task) {
		n->picks = mem_grow(n->picks, n->n + 1, sizeof *n->picks);
		p = &n->picks[n->n++];
		*p = (struct pick){ .task = it->key.task };
	}
	struct pick_range *last = p->n ? &p->ranges[p->n - 1] : NULL;
	const struct plan *plan = it->task->def->plan;
	if (last && plan_has(plan, last->hi) && plan_next(plan, last->hi) == t) {
		last->hi = t;
		return;
	}
	p->ranges = mem_room(p->ranges, &p->cap, p->n + 1, sizeof *p->ranges);
	p->ranges[p->n++] = (struct pick_range){ t, t };
}

/* Keys in any order: sorted by a feed of one task's dates each would be; few, so by hand. */
static int by_key(const void *a, const void *b)
{
	const struct inst_key *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	return (x->run_date > y->run_date) - (x->run_date < y->run_date);
}

static void add_instances(const struct commander *c, const struct selection *s,
                          struct scope_news *n)
{
	struct inst_key *keys = mem_array(s->n_instances + 1, sizeof *keys);

	for (size_t i = 0; i < s->n_instances; i++)
		keys[i] = s->instances[i];
	qsort(keys, s->n_instances, sizeof *keys, by_key);
	for (size_t i = 0; i < s->n_instances; i++) {
		struct item it = { keys[i], catalog_task(&c->cat, keys[i].task), true };
		if (it.task && (i == 0 || !inst_key_eq(keys[i], keys[i - 1])))
			add_date(n, &it);
	}
	free(keys);
}

void order__tell_scope(struct commander *c, uint64_t command, const struct order *o, bool over)
{
	struct scope_news *n = mem_new(sizeof *n);
	struct item it;

	n->command = command;
	n->inside = o->dependencies == DEPEND_INSIDE;
	n->over = over;
	if (o->sel.has_instances) {
		add_instances(c, &o->sel, n);
	} else if (order__has_members(o)) {
		struct feed *f = feed_open(&c->cat, &o->sel, commander__sources(o), FEED_BY_TASK);
		size_t all = SIZE_MAX;
		CHECK(feed_ready(f, &all));
		while (feed_next(f, &it))
			if (it.task && (o->off_plan || !it.exact ||
			                plan_has(it.task->def->plan, it.key.run_date)))
				add_date(n, &it);
		feed_close(f);
	}
	if (resolver_tell(c->front->resolver, n) < 0)
		scope_news_free(n);
}

void cmd__tell_scope(struct commander *c, struct cmd *cmd)
{
	if (!order__has_members(&cmd->o) || cmd->scoped || !c->front || !c->front->resolver)
		return;
	cmd->scoped = true;
	order__tell_scope(c, cmd->id, &cmd->o, false);
}

void cmd__scope_over(struct commander *c, struct cmd *cmd)
{
	struct order nothing = { .kind = cmd->kind, .ops = cmd->ops };

	if (!cmd->scoped)
		return;
	cmd->scoped = false;
	order__tell_scope(c, cmd->id, &nothing, true);
}
