/* Slots kept free for who starts little. An end and the start that follows from it come one after
 * the other, and between them a project with many jobs ready would take every slot: the start then
 * waits for a whole round of that project's jobs.
 *
 * Each class keeps an eighth of its slots, whoever waits, for projects that hold fewer than that,
 * and only beside them: while a project of which nothing was left waiting after its start, and
 * which held no more than that then, started there in the last minute. Who has no such neighbour is
 * kept from nothing. What is kept has no order by priority with those who may not have it. */
#include <string.h>

#include "baseserver/model/why.h"
#include "baseserver/sort/sorter_impl.h"
#include "sched/task.h"
#include "util/check.h"

enum { KEPT_SHARE = 8, SELDOM_US = 60 * 1000 * 1000 };

static uint64_t kept_of(const struct klass *k)
{
	return k->slots / KEPT_SHARE;
}

static bool is_small(const struct klass *k, const struct party *p)
{
	return p->holds < (int64_t)kept_of(k);
}

static bool is_recent(const struct sorter *s, const struct seldom *m)
{
	return m->at_us && s->mono_us - m->at_us < SELDOM_US;
}

/* Has another project than this one started little there, in the last minute? */
static bool has_seldom_beside(const struct sorter *s, const struct klass *k, uint32_t project)
{
	const struct seldom *m = k->seldom[0].project != project ? &k->seldom[0] : &k->seldom[1];

	return is_recent(s, m);
}

bool sorter__keeps(const struct sorter *s, const struct klass *k)
{
	return k->open > 0 && k->open <= kept_of(k) && is_recent(s, &k->seldom[0]);
}

bool sorter__kept_from(const struct sorter *s, const struct klass *k, const struct party *p)
{
	return sorter__keeps(s, k) && !is_small(k, p) && has_seldom_beside(s, k, p->project);
}

/* What is kept is a few slots, which are open for a short time: all projects of the class are
 * looked at. */
void sorter__kept_bar(const struct sorter *s, const struct klass *k, struct bar *bar)
{
	for (size_t i = 0; i < k->lanes.n_parties; i++)
		if (k->lanes.parties[i]->some && !sorter__kept_from(s, k, k->lanes.parties[i]))
			sorter__party_bar(s, k->lanes.parties[i], bar);
}

struct lane *sorter__kept_next(const struct sorter *s, const struct klass *k, const struct bar *bar)
{
	const struct party *best = NULL;

	for (size_t i = 0; i < k->lanes.n_parties; i++) {
		const struct party *p = k->lanes.parties[i];
		if (p->some >> bar->priority == 0 || sorter__kept_from(s, k, p))
			continue;
		if (!best || p->turn < best->turn)
			best = p;
	}
	return best ? sorter__first_of_party(s, best) : NULL;
}

static void note(struct klass *k, uint32_t project, int64_t now_us)
{
	if (k->seldom[0].project != project)
		k->seldom[1] = k->seldom[0];
	k->seldom[0] = (struct seldom){ project, now_us };
}

void sorter__kept_note(struct sorter *s, const struct lane *l, const struct seat *seat)
{
	const struct queue *q = l->queue;

	CHECK(l->klass && l->party);
	if (l->party->some || l->party->holds > (int64_t)kept_of(l->klass))
		return;
	for (size_t i = 0; i < s->n_classes; i++) {
		struct klass *k = s->classes[i];
		if (sorter__reaches(seat, k) && sorter__bound_allows(seat, k))
			note(k, q->project, s->mono_us);
	}
}

int64_t sorter__kept_until(const struct sorter *s)
{
	int64_t until = INT64_MAX;

	for (const struct klass *k = s->startable; k; k = k->next)
		for (int i = 0; i < 2 && sorter__keeps(s, k); i++)
			if (is_recent(s, &k->seldom[i]) && k->seldom[i].at_us + SELDOM_US < until)
				until = k->seldom[i].at_us + SELDOM_US;
	return until;
}

bool sorter__kept_explain(const struct sorter *s, const struct lane *l, struct why_line *w)
{
	const char *task = l->queue->def->name;

	if (!l->open || !sorter__kept_from(s, l->klass, l->party))
		return false;
	why_set(w, WHY_SLOTS_KEPT);
	why_text(w, "type", "%s", l->klass->type);
	why_number(w, "slots", (int64_t)l->klass->slots);
	why_number(w, "kept", (int64_t)kept_of(l->klass));
	why_number(w, "running", l->party->holds);
	why_text(w, "project", "%.*s", (int)strcspn(task, "/"), task);
	return true;
}
