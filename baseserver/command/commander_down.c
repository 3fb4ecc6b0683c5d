/* What depends on the chosen instances: links are followed on plans, and only dates that
 * have a row count, for the rest has not begun. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

enum { DOWN_DATES_MAX = 1000000, DOWN_RANGES_MAX = 20000 };

/* Dates of one task, ascending. */
struct dates_of {
	uint32_t task;
	int64_t *at;
	size_t n, cap;
	bool chosen, queued;
};

struct closure {
	const struct commander *c;
	const struct order *o;
	struct dates_of *sets;
	size_t n, total;
};

static struct dates_of *set_of(struct closure *cl, uint32_t task)
{
	for (size_t i = 0; i < cl->n; i++)
		if (cl->sets[i].task == task)
			return &cl->sets[i];
	cl->sets = mem_grow(cl->sets, cl->n + 1, sizeof *cl->sets);
	cl->sets[cl->n] = (struct dates_of){ .task = task };
	return &cl->sets[cl->n++];
}

static size_t first_from(const struct dates_of *d, int64_t t)
{
	size_t lo = 0, hi = d->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (d->at[mid] < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool set_add(struct closure *cl, struct dates_of *d, int64_t t)
{
	size_t i = first_from(d, t);

	if (i < d->n && d->at[i] == t)
		return false;
	d->at = mem_room(d->at, &d->cap, d->n + 1, sizeof *d->at);
	memmove(d->at + i + 1, d->at + i, (d->n - i) * sizeof *d->at);
	d->at[i] = t;
	d->n++;
	cl->total++;
	CHECK(i == 0 || d->at[i - 1] < t); /* first_from() */
	CHECK(i + 1 == d->n || t < d->at[i + 1]);
	return true;
}

static bool in_scope(const struct closure *cl, const struct cat_task *a, const struct cat_task *b)
{
	size_t n = strcspn(a->def->name, "/");

	if (cl->o->scope == SCOPE_WORKFLOW)
		return a->row.workflow_id == b->row.workflow_id;
	return cl->o->scope == SCOPE_ALL ||
	       (strncmp(a->def->name, b->def->name, n) == 0 && b->def->name[n] == '/');
}

static bool picks_any(const struct dates_of *parent, const struct link_span *spans, int n)
{
	for (int k = 0; k < n; k++) {
		size_t i = first_from(parent, spans[k].lo);
		if (i < parent->n && parent->at[i] < spans[k].hi)
			return true;
	}
	return false;
}

/* The child's rows that the link joins to a date of the parent's set. */
static bool down_follow(struct closure *cl, size_t parent, uint32_t child,
                        const struct task_link *l)
{
	const struct cat_task *p = catalog_task(&cl->c->cat, cl->sets[parent].task);
	const struct cat_task *ch = catalog_task(&cl->c->cat, child);
	int64_t lead = link_lead(l, p->def->plan, ch->def->plan);
	struct selection sel = { .tasks = &child, .n_tasks = 1 };
	struct link_span spans[LINK_SPANS_MAX];
	struct item it;
	bool changed = false;

	set_of(cl, child);
	struct dates_of *d = set_of(cl, child), *from = &cl->sets[parent];
	if (lead > -(INT64_C(1) << 40) && lead < INT64_C(1) << 40) {
		sel.has_from = true;
		sel.from.at = from->at[0] - lead;
	}
	struct feed *f = feed_open(&cl->c->cat, &sel, FEED_LIVE | FEED_DONE, FEED_BY_TASK);
	while (cl->total <= DOWN_DATES_MAX && feed_next(f, &it)) {
		int n = link_spans_ever(l, p->def->plan, ch->def->plan, it.key.run_date, spans);
		if (n > 0 && spans[0].lo > from->at[from->n - 1])
			break; /* windows move with the child: the rest is later still */
		if (n > 0 && picks_any(from, spans, n))
			changed = set_add(cl, d, it.key.run_date) || changed;
	}
	feed_close(f);
	return changed;
}

static void down_spread(struct closure *cl, size_t at)
{
	const struct cat_task *p = catalog_task(&cl->c->cat, cl->sets[at].task);

	for (size_t i = 0; i < p->n_children; i++) {
		const struct cat_task *ch = catalog_task(&cl->c->cat, p->children[i]);
		if (!ch || catalog_retired(ch) || !in_scope(cl, p, ch))
			continue;
		bool changed = false;
		for (size_t k = 0; k < ch->def->n_links; k++)
			if (ch->def->links[k].parent == p->id)
				changed = down_follow(cl, at, ch->id, &ch->def->links[k]) ||
				          changed;
		if (changed && ch != p)
			set_of(cl, ch->id)->queued = true;
	}
}

static void down_choose(struct closure *cl)
{
	struct feed *f = feed_open(&cl->c->cat, &cl->o->sel, commander__sources(cl->o),
	                           FEED_BY_TASK);
	struct item it;

	while (cl->total <= DOWN_DATES_MAX && feed_next(f, &it)) {
		if (!it.task || it.key.part != 0)
			continue;
		struct dates_of *d = set_of(cl, it.key.task);
		set_add(cl, d, it.key.run_date);
		d->chosen = d->queued = true;
	}
	feed_close(f);
}

static void close_over(struct closure *cl)
{
	for (bool any = true; any && cl->total <= DOWN_DATES_MAX;) {
		any = false;
		for (size_t i = 0; i < cl->n; i++) {
			if (!cl->sets[i].queued || cl->sets[i].n == 0)
				continue;
			cl->sets[i].queued = false;
			any = true;
			down_spread(cl, i);
		}
	}
}

/* Neighbours on the plan become one range. */
static size_t to_pick(const struct closure *cl, const struct dates_of *d, struct pick *p)
{
	const struct plan *plan = catalog_task(&cl->c->cat, d->task)->def->plan;

	*p = (struct pick){ .task = d->task, .downstream = !d->chosen };
	for (size_t i = 0; i < d->n; i++) {
		struct pick_range *last = p->n ? &p->ranges[p->n - 1] : NULL;
		if (last && plan_has(plan, last->hi) && plan_next(plan, last->hi) == d->at[i]) {
			last->hi = d->at[i];
			continue;
		}
		p->ranges = mem_room(p->ranges, &p->cap, p->n + 1, sizeof *p->ranges);
		p->ranges[p->n++] = (struct pick_range){ d->at[i], d->at[i] };
	}
	return p->n;
}

/* Both ascend: one pass, for they may be a million. */
static void dates_without(struct dates_of *d, const struct dates_of *less)
{
	size_t kept = 0, k = 0;

	for (size_t i = 0; i < d->n; i++) {
		while (k < less->n && less->at[k] < d->at[i])
			k++;
		if (k == less->n || less->at[k] != d->at[i])
			d->at[kept++] = d->at[i];
	}
	d->n = kept;
}

static void drop_chosen(struct closure *cl)
{
	struct closure own = { .c = cl->c, .o = cl->o };

	down_choose(&own);
	for (size_t i = 0; i < own.n; i++) {
		struct dates_of *d = set_of(cl, own.sets[i].task);
		dates_without(d, &own.sets[i]);
		d->chosen = false;
		free(own.sets[i].at);
	}
	free(own.sets);
}

static bool have_children(const struct commander *c, const struct selection *sel)
{
	for (size_t i = 0; i < sel->n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, sel->tasks[i]);
		if (t && t->n_children)
			return true;
	}
	return sel->n_tasks == 0; /* all tasks */
}

int commander__downstream(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	struct closure cl = { .c = c, .o = &cmd->o };
	size_t ranges = 0;

	if (cmd->o.mode != REDO_DOWNSTREAM || have_children(c, &cmd->o.sel)) {
		down_choose(&cl);
		close_over(&cl);
	}
	bool too_many = cl.total > DOWN_DATES_MAX;
	if (!too_many && cmd->o.mode == REDO_DOWNSTREAM)
		drop_chosen(&cl);
	cmd->picks = mem_array(cl.n + 1, sizeof *cmd->picks);
	for (size_t i = 0; i < cl.n; i++) {
		if (cl.sets[i].n && !too_many)
			ranges += to_pick(&cl, &cl.sets[i], &cmd->picks[cmd->n_picks++]);
		free(cl.sets[i].at);
	}
	free(cl.sets);
	if (too_many || ranges > DOWN_RANGES_MAX)
		return refuse(f, E_LIMIT, "args.selection", "a narrower selection",
		              "more than %d instances, or %d stretches of them, at once",
		              DOWN_DATES_MAX, DOWN_RANGES_MAX);
	return 0;
}

void picks__free(struct pick *picks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(picks[i].ranges);
	free(picks);
}

/* "17:1772323200-1772406000,...;18d:..." : d for downstream */
void picks__print(const struct cmd *cmd, struct buf *out)
{
	for (size_t i = 0; i < cmd->n_picks; i++) {
		const struct pick *p = &cmd->picks[i];
		buf_printf(out, "%s%u%s:", i ? ";" : "", p->task, p->downstream ? "d" : "");
		for (size_t k = 0; k < p->n; k++)
			buf_printf(out, "%s%" PRId64 "_%" PRId64, k ? "," : "", p->ranges[k].lo,
			           p->ranges[k].hi);
	}
}

static const char *parse_pick(struct pick *p, const char *at)
{
	int64_t task;

	if (!number_next(&at, &task))
		return NULL;
	p->task = (uint32_t)task;
	if (*at == 'd') {
		p->downstream = true;
		at++;
	}
	do {
		struct pick_range r;
		at++;
		if (!number_next(&at, &r.lo) || *at++ != '_' || !number_next(&at, &r.hi))
			return NULL;
		p->ranges = mem_room(p->ranges, &p->cap, p->n + 1, sizeof *p->ranges);
		p->ranges[p->n++] = r;
	} while (*at == ',');
	return at;
}

bool picks__parse(struct cmd *cmd, const char *text)
{
	for (const char *at = text; at && *at;) {
		cmd->picks = mem_grow(cmd->picks, cmd->n_picks + 1, sizeof *cmd->picks);
		struct pick *p = &cmd->picks[cmd->n_picks++];
		*p = (struct pick){ 0 };
		at = parse_pick(p, at);
		if (!at)
			return false;
		if (*at == ';')
			at++;
	}
	return true;
}
