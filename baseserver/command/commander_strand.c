/* What a redo would strand: an instance that begins anew waits for its links again. Where one of
 * them names a date that failed, or never ran and does not come by itself, and that is not run
 * anew beside it, the instance would wait for good. A dry run says so, as far as it looks: the
 * first dates of each link, of so many instances.
 *
 * Parents are fed before their children, so what is run anew beside an instance is known when the
 * instance is judged; what a command leaves as it is does not count. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "rt/actor.h"
#include "sched/label.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/clock.h"
#include "util/json_put.h"

enum { DATES_LOOKED_AT = 64, CHOSEN_MAX = 100000 };

/* (design: SEMANTICS section 2.) Of one that has ended. */
static bool strand_meets(const struct task_link *l, const struct outcome_range *o)
{
	if (l->on == ON_DONE)
		return true;
	if (l->on == ON_FAILURE)
		return o->state == ST_STOP || o->state == ST_KILLED;
	return o->state == ST_SUCC || (o->state == ST_SKIPPED && o->reason != RE_LINK &&
	                               o->reason != RE_BRANCH && o->reason != RE_PIPELINE);
}

/* Will the parent's date be met, today or when it has come due? */
static bool comes(const struct commander *c, const struct tally *t, const struct task_link *link,
                  const struct cat_task *p, int64_t date)
{
	const struct inst_key key = { date, p->id, 0 };
	const struct outcome_range *o = outcomes_find(&p->outcomes, date);

	if (keyset_has(&t->chosen, key) || catalog_live(&c->cat, key))
		return true;
	if (o)
		return strand_meets(link, o);
	return plan_due(p->def->plan, date) > actor_wall_us(c->me) / US_PER_S;
}

/* The first date that does not come; false: each does, or only a part of them is needed. */
static bool first_missing(const struct commander *c, const struct tally *t, const struct item *it,
                          const struct task_link *link, int64_t *ret)
{
	const struct cat_task *p = catalog_task(&c->cat, link->parent);
	struct link_span spans[LINK_SPANS_MAX];
	int left = DATES_LOOKED_AT;

	if (!p || catalog_retired(p) || link->strategy != LS_ALL || link->pass_after_s > 0)
		return false;
	int n = link_spans(link, p->def->plan, it->task->def->plan, it->key.run_date, spans);
	for (int i = 0; i < n; i++)
		for (int64_t at = plan_next(p->def->plan, spans[i].lo - 1);
		     at < spans[i].hi && left > 0; at = plan_next(p->def->plan, at), left--)
			if (!comes(c, t, link, p, at)) {
				*ret = at;
				return true;
			}
	return false;
}

void strand__look(const struct commander *c, const struct item *it, const struct verdict *v,
                  struct tally *t)
{
	const struct task *def = it->task->def;
	int64_t date;

	if (t->chosen.n < CHOSEN_MAX)
		keyset_add(&t->chosen, it->key);
	if (v->flags & (IF_MEMBER | IF_NO_LINKS) || def->join > 0 || t->chosen.n >= CHOSEN_MAX)
		return;
	for (size_t k = 0; k < def->n_links; k++) {
		if (!first_missing(c, t, it, &def->links[k], &date))
			continue;
		if (t->stranded++ == 0)
			t->strand = (struct tally_strand){ it->key,
				                           { date, def->links[k].parent, 0 } };
		return;
	}
}

void strand__print(const struct commander *c, const struct tally *t, struct buf *out)
{
	const struct cat_task *child = catalog_task(&c->cat, t->strand.child.task);
	const struct cat_task *parent = catalog_task(&c->cat, t->strand.parent.task);
	char waits[LABEL_TEXT], missing[LABEL_TEXT];
	struct buf text;

	if (t->stranded == 0 || !child || !parent)
		return;
	const struct outcome_range *o = outcomes_find(&parent->outcomes, t->strand.parent.run_date);
	label_of(child->def->plan, t->strand.child.run_date, waits);
	label_of(parent->def->plan, t->strand.parent.run_date, missing);
	buf_init(&text);
	buf_printf(&text,
	           "%lld of these would wait for what does not come: %s %s waits for %s %s, which "
	           "%s and is not redone with it. Redo that too, or choose dependencies: inside "
	           "(wait only for what is redone here) or ignore",
	           (long long)t->stranded, child->def->name, waits, parent->def->name, missing,
	           o ? "failed" : "never ran");
	put_text(out, NULL, buf_str(&text));
	buf_done(&text);
}
