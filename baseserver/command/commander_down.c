/* What depends on the chosen instances: links are followed on plans, and only dates that
 * have a row count, for the rest has not begun. The walk is in pieces: down__step() looks at a
 * bounded number of dates and goes on in a later turn, so that others on the thread have theirs.
 * A pass follows one link from one task's dates to one child's, in ascending order. Its end merges
 * the dates it found into the child's; the pass itself sees them before, for a task may link to
 * itself. Definitions may change between two pieces: each piece looks them up anew. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

enum { DOWN_DATES_MAX = 1000000, DOWN_RANGES_MAX = 20000 };

/* Ascending. */
struct date_list {
	int64_t *at;
	size_t n, cap;
};

/* Dates of one task. */
struct dates_of {
	uint32_t task;
	struct date_list all, found; /* found: by the pass under way */
	size_t n_chosen;             /* how many there were when the chosen ones were in */
	int64_t *chosen;             /* these, where they are to be left out at the end */
	bool is_chosen, is_queued;
};

enum down_phase { DOWN_CHOOSE, DOWN_SPREAD, DOWN_LEAVE_OUT, DOWN_FOUND };

struct closure {
	const struct commander *c;
	const struct order *o;
	int scope;
	bool leaves_chosen_out;
	enum down_phase phase;
	struct dates_of *sets;
	size_t n, total;
	struct feed *feed; /* of the pass under way; NULL: none is */
	/* Where it is: links of a child of the task of a set. */
	size_t at, child, link;
	bool is_spreading, has_changed; /* has_changed: the child's dates */
	struct selection sel;           /* of the feed: the child */
	uint32_t sel_task;
	/* Of down__picks(). */
	struct pick *picks;
	size_t n_picks, pick_set, pick_date, ranges;
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

static size_t first_from(const struct date_list *d, int64_t t)
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

static bool is_within(const struct date_list *d, int64_t lo, int64_t hi)
{
	size_t i = first_from(d, lo);

	return i < d->n && d->at[i] < hi;
}

/* A pass goes forward. */
static bool set_add(struct closure *cl, struct dates_of *d, int64_t t)
{
	struct date_list *l = &d->found;

	if (is_within(&d->all, t, t + 1) || (l->n && l->at[l->n - 1] == t))
		return false;
	CHECK(l->n == 0 || l->at[l->n - 1] < t);
	l->at = mem_room(l->at, &l->cap, l->n + 1, sizeof *l->at);
	l->at[l->n++] = t;
	cl->total++;
	return true;
}

/* What the pass found: from the end on, so that nothing is moved twice. */
static void set_merge(struct dates_of *d)
{
	size_t a = d->all.n, b = d->found.n, to = a + b;

	if (b == 0)
		return;
	d->all.at = mem_room(d->all.at, &d->all.cap, to, sizeof *d->all.at);
	d->all.n = to;
	while (b > 0) {
		bool old = a > 0 && d->all.at[a - 1] > d->found.at[b - 1];
		d->all.at[--to] = old ? d->all.at[--a] : d->found.at[--b];
	}
	free(d->found.at);
	d->found = (struct date_list){ 0 };
}

static bool in_scope(const struct closure *cl, const struct cat_task *a, const struct cat_task *b)
{
	size_t n = strcspn(a->def->name, "/");

	if (cl->scope == SCOPE_WORKFLOW)
		return a->row.workflow_id == b->row.workflow_id;
	return cl->scope == SCOPE_ALL ||
	       (strncmp(a->def->name, b->def->name, n) == 0 && b->def->name[n] == '/');
}

static bool picks_any(const struct dates_of *parent, const struct link_span *spans, int n)
{
	for (int k = 0; k < n; k++)
		if (is_within(&parent->all, spans[k].lo, spans[k].hi) ||
		    is_within(&parent->found, spans[k].lo, spans[k].hi))
			return true;
	return false;
}

static int64_t last_of(const struct dates_of *d)
{
	int64_t last = d->all.at[d->all.n - 1];

	return d->found.n && d->found.at[d->found.n - 1] > last ? d->found.at[d->found.n - 1]
	                                                        : last;
}

/* The link that the pass follows; NULL: it is there no more. */
static const struct task_link *link_now(const struct closure *cl, const struct cat_task **ret_p,
                                        const struct cat_task **ret_child)
{
	const struct cat_task *p = catalog_task(&cl->c->cat, cl->sets[cl->at].task);
	const struct cat_task *ch = catalog_task(&cl->c->cat, cl->sel_task);

	*ret_p = p;
	*ret_child = ch;
	if (!p || !ch || cl->link >= ch->def->n_links)
		return NULL;
	return ch->def->links[cl->link].parent == p->id ? &ch->def->links[cl->link] : NULL;
}

/* The child's rows that the link joins to a date of the parent's set: some of them. */
static bool follow_some(struct closure *cl, size_t *budget)
{
	const struct cat_task *p, *ch;
	const struct task_link *l = link_now(cl, &p, &ch);
	struct dates_of *d = set_of(cl, cl->sel_task), *from = &cl->sets[cl->at];
	struct link_span spans[LINK_SPANS_MAX];
	struct item it;

	if (l && !feed_ready(cl->feed, budget))
		return true;
	for (; l && *budget > 0 && cl->total <= DOWN_DATES_MAX; (*budget)--) {
		if (!feed_next(cl->feed, &it))
			return false;
		int n = link_spans_ever(l, p->def->plan, ch->def->plan, it.key.run_date, spans);
		if (n > 0 && spans[0].lo > last_of(from))
			return false; /* windows move with the child: the rest is later still */
		if (n > 0 && picks_any(from, spans, n) && set_add(cl, d, it.key.run_date))
			cl->has_changed = true;
	}
	return l && cl->total <= DOWN_DATES_MAX;
}

static void pass_begin(struct closure *cl, const struct cat_task *p, const struct cat_task *ch)
{
	int64_t lead = link_lead(&ch->def->links[cl->link], p->def->plan, ch->def->plan);

	set_of(cl, ch->id);
	cl->sel_task = ch->id;
	cl->sel = (struct selection){ .tasks = &cl->sel_task, .n_tasks = 1 };
	if (lead > -(INT64_C(1) << 40) && lead < INT64_C(1) << 40) {
		cl->sel.has_from = true;
		cl->sel.from.at = cl->sets[cl->at].all.at[0] - lead;
	}
	cl->feed = feed_open(&cl->c->cat, &cl->sel, FEED_LIVE | FEED_DONE, FEED_BY_TASK);
}

/* The next link of the next child of the task that spreads; false: there is none. */
static bool link_next(struct closure *cl)
{
	const struct cat_task *p = catalog_task(&cl->c->cat, cl->sets[cl->at].task);

	for (; p && cl->child < p->n_children; cl->child++, cl->link = 0) {
		const struct cat_task *ch = catalog_task(&cl->c->cat, p->children[cl->child]);
		if (!ch || catalog_retired(ch) || !in_scope(cl, p, ch) ||
		    name_is_test(ch->def->name))
			continue;
		for (; cl->link < ch->def->n_links; cl->link++) {
			if (ch->def->links[cl->link].parent != p->id)
				continue;
			pass_begin(cl, p, ch);
			return true;
		}
		if (cl->has_changed && ch != p)
			set_of(cl, ch->id)->is_queued = true;
		cl->has_changed = false;
	}
	return false;
}

/* The next task whose dates are to be followed, after the one that was; false: all were. */
static bool spread_next(struct closure *cl)
{
	for (size_t i = 1; i <= cl->n; i++) {
		struct dates_of *d = &cl->sets[(cl->at + i) % cl->n];

		if (!d->is_queued || d->all.n == 0)
			continue;
		d->is_queued = false;
		cl->at = (cl->at + i) % cl->n;
		cl->child = cl->link = 0;
		cl->has_changed = false;
		return true;
	}
	return false;
}

static bool spread_some(struct closure *cl, size_t *budget)
{
	while (*budget > 0 && cl->total <= DOWN_DATES_MAX) {
		(*budget)--;
		if (cl->feed) {
			if (follow_some(cl, budget))
				continue;
			feed_close(cl->feed);
			cl->feed = NULL;
			set_merge(set_of(cl, cl->sel_task));
			cl->link++;
		} else if (!cl->is_spreading || !link_next(cl)) {
			cl->is_spreading = spread_next(cl);
			if (!cl->is_spreading)
				return false;
		}
	}
	return cl->total <= DOWN_DATES_MAX;
}

static void chosen_end(struct closure *cl)
{
	for (size_t i = 0; i < cl->n; i++) {
		struct dates_of *d = &cl->sets[i];

		set_merge(d);
		d->n_chosen = d->all.n;
		if (!cl->leaves_chosen_out)
			continue;
		d->chosen = mem_array(d->n_chosen + 1, sizeof *d->chosen);
		memcpy(d->chosen, d->all.at, d->n_chosen * sizeof *d->chosen);
	}
}

/* Instances that were named come in any order; they are few. */
static void choose_add(struct closure *cl, struct dates_of *d, int64_t t)
{
	struct date_list *l = &d->found;
	size_t i = first_from(l, t);

	if (i < l->n && l->at[i] == t)
		return;
	l->at = mem_room(l->at, &l->cap, l->n + 1, sizeof *l->at);
	memmove(l->at + i + 1, l->at + i, (l->n - i) * sizeof *l->at);
	l->at[i] = t;
	l->n++;
	cl->total++;
}

static bool choose_some(struct closure *cl, size_t *budget)
{
	struct item it;

	if (!cl->feed)
		cl->feed = feed_open(&cl->c->cat, &cl->o->sel, commander__sources(cl->o),
		                     FEED_BY_TASK);
	if (!feed_ready(cl->feed, budget))
		return true;
	for (; *budget > 0 && cl->total <= DOWN_DATES_MAX; (*budget)--) {
		if (!feed_next(cl->feed, &it)) {
			feed_close(cl->feed);
			cl->feed = NULL;
			chosen_end(cl);
			return false;
		}
		if (!it.task || it.key.part != 0)
			continue;
		struct dates_of *d = set_of(cl, it.key.task);
		choose_add(cl, d, it.key.run_date);
		d->is_chosen = d->is_queued = true;
	}
	return true;
}

/* Both ascend: one pass, for they may be a million. */
static void leave_out(struct dates_of *d)
{
	size_t kept = 0, k = 0;

	for (size_t i = 0; i < d->all.n; i++) {
		while (k < d->n_chosen && d->chosen[k] < d->all.at[i])
			k++;
		if (k == d->n_chosen || d->chosen[k] != d->all.at[i])
			d->all.at[kept++] = d->all.at[i];
	}
	d->all.n = kept;
	d->is_chosen = false;
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

struct closure *down__open(const struct commander *c, const struct order *o, int mode, int scope)
{
	struct closure *cl = mem_new(sizeof *cl);

	cl->c = c;
	cl->o = o;
	cl->scope = scope;
	cl->leaves_chosen_out = mode == REDO_DOWNSTREAM;
	if (cl->leaves_chosen_out && !have_children(c, &o->sel))
		cl->phase = DOWN_FOUND;
	return cl;
}

void down__close(struct closure *cl)
{
	if (!cl)
		return;
	feed_close(cl->feed);
	for (size_t i = 0; i < cl->n; i++) {
		free(cl->sets[i].all.at);
		free(cl->sets[i].found.at);
		free(cl->sets[i].chosen);
	}
	free(cl->sets);
	picks__free(cl->picks, cl->n_picks);
	free(cl);
}

int down__step(struct closure *cl, size_t *budget)
{
	if (cl->phase == DOWN_CHOOSE && !choose_some(cl, budget)) {
		cl->phase = DOWN_SPREAD;
		cl->at = cl->n ? cl->n - 1 : 0; /* spread_next() begins after it, with the first */
	}
	if (cl->phase == DOWN_SPREAD && !spread_some(cl, budget)) {
		cl->phase = cl->leaves_chosen_out ? DOWN_LEAVE_OUT : DOWN_FOUND;
		cl->at = 0;
	}
	if (cl->total > DOWN_DATES_MAX)
		return E_LIMIT;
	for (; cl->phase == DOWN_LEAVE_OUT && *budget > 0; cl->at++) {
		if (cl->at == cl->n) {
			cl->phase = DOWN_FOUND;
			break;
		}
		struct dates_of *d = &cl->sets[cl->at];
		if (d->n_chosen)
			leave_out(d);
		*budget -= *budget > d->all.n / 64 ? d->all.n / 64 : *budget;
	}
	return cl->phase == DOWN_FOUND ? 0 : 1;
}

size_t down__count(const struct closure *cl, size_t i, uint32_t *ret_task)
{
	CHECK(cl->phase == DOWN_FOUND);
	if (i >= cl->n)
		return SIZE_MAX;
	*ret_task = cl->sets[i].task;
	return cl->sets[i].all.n;
}

/* Neighbours on the plan become one range. */
static void pick_add(struct closure *cl, struct pick *p, const struct plan *plan, int64_t at)
{
	struct pick_range *last = p->n ? &p->ranges[p->n - 1] : NULL;

	if (last && plan_has(plan, last->hi) && plan_next(plan, last->hi) == at) {
		last->hi = at;
		return;
	}
	p->ranges = mem_room(p->ranges, &p->cap, p->n + 1, sizeof *p->ranges);
	p->ranges[p->n++] = (struct pick_range){ at, at };
	cl->ranges++;
}

static void pick_some(struct closure *cl, const struct dates_of *d, size_t *budget)
{
	const struct plan *plan = catalog_task(&cl->c->cat, d->task)->def->plan;

	if (cl->pick_date == 0)
		cl->picks[cl->n_picks++] = (struct pick){ .task = d->task,
			                                  .downstream = !d->is_chosen };
	for (; cl->pick_date<d->all.n && * budget> 0; (*budget)--)
		pick_add(cl, &cl->picks[cl->n_picks - 1], plan, d->all.at[cl->pick_date++]);
	if (cl->pick_date < d->all.n)
		return;
	cl->pick_date = 0;
	cl->pick_set++;
}

int down__picks(struct closure *cl, size_t *budget, struct pick **ret_picks, size_t *ret_n)
{
	CHECK(cl->phase == DOWN_FOUND);
	if (!cl->picks)
		cl->picks = mem_array(cl->n + 1, sizeof *cl->picks);
	while (cl->pick_set < cl->n) {
		const struct dates_of *d = &cl->sets[cl->pick_set];

		if (cl->ranges > DOWN_RANGES_MAX)
			return E_LIMIT;
		if (*budget == 0)
			return 1;
		if (d->all.n)
			pick_some(cl, d, budget);
		else
			cl->pick_set++;
	}
	if (cl->ranges > DOWN_RANGES_MAX)
		return E_LIMIT;
	*ret_picks = cl->picks;
	*ret_n = cl->n_picks;
	cl->picks = NULL;
	cl->n_picks = 0;
	return 0;
}

int down__refuse(struct refusal *f)
{
	return refuse(f, E_LIMIT, "args.selection", "a narrower selection",
	              "more than %d instances, or %d stretches of them, at once", DOWN_DATES_MAX,
	              DOWN_RANGES_MAX);
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
