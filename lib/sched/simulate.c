/* Rows and edges of a simulation, and its results.
 *
 * A row is one instance: a task at one of its dates within the span. An edge says that a row
 * waits for another one; dates of a parent outside of the span have succeeded. Both are made before
 * anything is played (simulate_play.c), bounded by SIMULATE_ROWS_MAX and SIMULATE_EDGES_MAX: more
 * is refused with a hint to ask for less. simulate_edges() walks the same links without playing,
 * for who only wants to see them. */
#include "sched/label.h"
#include "sched/simulate_impl.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t *index_ids(const struct simulate_input *in)
{
	uint32_t *ids = mem_array(in->n * 2 + 1, sizeof *ids);

	for (size_t i = 0; i < in->n; i++) {
		ids[i * 2] = in->tasks[i]->id;
		ids[i * 2 + 1] = (uint32_t)i;
	}
	qsort(ids, in->n, 2 * sizeof *ids, by_id);
	return ids;
}

static int64_t index_of(const uint32_t *ids, size_t n, uint32_t id)
{
	const uint32_t *at = bsearch(&id, ids, n, 2 * sizeof *ids, by_id);

	return at ? (int64_t)at[1] : -1;
}

/* Index of a task id in the input, or -1. */
static int64_t sim_task_of(const struct sim *s, uint32_t id)
{
	return index_of(s->ids, s->in->n, id);
}

/* Dates of a plan: room that grows, and how many are in it. */
struct sim_room {
	int64_t *dates;
	size_t room, n;
};

/* Dates of the plan within the spans, at most `max`: E_LIMIT. */
static int sim_dates(const struct plan *plan, const struct link_span *spans, int n, size_t max,
                     struct sim_room *to)
{
	to->n = 0;
	CHECK(n >= 0 && n <= LINK_SPANS_MAX);
	for (int i = 0; i < n; i++) {
		int64_t t = plan_has(plan, spans[i].lo) ? spans[i].lo
		                                        : plan_next(plan, spans[i].lo);
		for (; t < spans[i].hi; t = plan_next(plan, t)) { /* PLAN_NEVER is not */
			if (to->n == max)
				return E_LIMIT;
			to->dates = mem_room(to->dates, &to->room, to->n + 1, sizeof *to->dates);
			to->dates[to->n++] = t;
		}
	}
	return 0;
}

static bool has_dates(const struct task *t)
{
	return t->state == TS_ONLINE;
}

static int load_rows(struct sim *s, struct err *err)
{
	struct sim_room at = { 0 };
	size_t rows_room = 0;
	int r = 0;

	for (size_t i = 0; i < s->in->n; i++) {
		struct sim_task *t = &s->tasks[i];
		t->def = s->in->tasks[i];
		t->first = t->end = s->n_rows;
		if (!has_dates(t->def))
			continue;
		r = sim_dates(t->def->plan, &s->in->spans[i], 1, SIMULATE_ROWS_MAX - s->n_rows,
		              &at);
		if (r < 0) {
			err_set(err, r, "more than %d instances; ask for a shorter span",
			        SIMULATE_ROWS_MAX);
			break;
		}
		s->rows = mem_room(s->rows, &rows_room, s->n_rows + at.n, sizeof *s->rows);
		for (size_t k = 0; k < at.n; k++) {
			s->rows[s->n_rows++] = (struct sim_row){
				.row = { .task = (uint32_t)i,
				         .run_date = at.dates[k],
				         .due = plan_due(t->def->plan, at.dates[k]),
				         .start_us = INT64_MAX,
				         .end_us = INT64_MAX,
				         .cause = SIMULATE_NOBODY },
				.cause = UINT32_MAX,
				.slot = s->n_slots,
			};
			s->n_slots += (uint32_t)t->def->n_links;
		}
		t->end = s->n_rows;
	}
	free(at.dates);
	return r;
}

/* The row of a task at a date, or UINT32_MAX. */
static uint32_t row_of(const struct sim *s, const struct sim_task *t, int64_t date)
{
	uint32_t lo = t->first, hi = t->end;

	CHECK(t->first <= t->end && t->end <= s->n_rows);
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (s->rows[mid].row.run_date < date)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->end && s->rows[lo].row.run_date == date ? lo : UINT32_MAX;
}

static void add_edge(struct sim *s, uint32_t parent, uint32_t child, uint32_t slot)
{
	CHECK(parent < s->n_rows && child < s->n_rows &&
	      slot < s->tasks[s->rows[child].row.task].def->n_links);
	s->edges = mem_room(s->edges, &s->edges_room, s->n_edges + 1, sizeof *s->edges);
	s->edges[s->n_edges++] = (struct sim_edge){ parent, child, slot };
}

/* Which of the dates the strategy looks at, and how many of them it wants. */
static void pick_dates(const struct task_link *l, const int64_t **dates, size_t *n,
                       uint32_t *ret_want)
{
	size_t few = l->n > 0 && (size_t)l->n < *n ? (size_t)l->n : *n;

	*ret_want = (uint32_t)*n;
	if (l->strategy == LS_ANY)
		*ret_want = *n ? 1 : 0;
	if (l->strategy == LS_AT_LEAST)
		*ret_want = (uint32_t)few;
	if (l->strategy != LS_FIRST && l->strategy != LS_LAST)
		return;
	if (l->strategy == LS_LAST)
		*dates += *n - few;
	*n = few;
	*ret_want = (uint32_t)few;
}

/* One link of one row. Dates that are not simulated have succeeded. */
static int load_slot(struct sim *s, uint32_t child, size_t link, struct sim_room *at)
{
	CHECK(child < s->n_rows);
	const struct task *def = s->tasks[s->rows[child].row.task].def;
	const struct task_link *l = &def->links[link];
	struct sim_slot *slot = &s->slots[s->rows[child].slot + link];
	struct link_span spans[LINK_SPANS_MAX];
	int64_t parent = sim_task_of(s, l->parent);

	if (parent < 0 || s->tasks[parent].def->state == TS_DRAFT)
		return 0; /* wants nothing: met */
	const struct sim_task *p = &s->tasks[parent];
	int k = link_spans_of_row(l, p->def->plan, def->plan, s->rows[child].row.run_date, spans);
	int r = sim_dates(p->def->plan, spans, k, SIMULATE_EDGES_MAX - s->n_edges, at);
	if (r < 0)
		return r;
	const int64_t *dates = at->dates;
	size_t n = at->n;
	pick_dates(l, &dates, &n, &slot->want);
	slot->can = (uint32_t)n;
	CHECK(slot->want <= slot->can);
	for (size_t i = 0; i < n; i++) {
		uint32_t row = row_of(s, p, dates[i]);
		if (row != UINT32_MAX)
			add_edge(s, row, child, (uint32_t)link);
		else if (l->on == ON_FAILURE)
			slot->can--;
		else
			slot->met++;
	}
	return 0;
}

static int load_edges(struct sim *s, struct err *err)
{
	struct sim_room at = { 0 };
	int r = 0;

	s->slots = mem_array(s->n_slots + 1, sizeof *s->slots);
	for (uint32_t i = 0; i < s->n_rows && r == 0; i++)
		for (size_t k = 0; k < s->tasks[s->rows[i].row.task].def->n_links && r == 0; k++)
			r = load_slot(s, i, k, &at);
	free(at.dates);
	if (r < 0)
		return err_set(err, r, "more than %d edges; ask for a shorter span",
		               SIMULATE_EDGES_MAX);
	s->edge_at = mem_array(s->n_rows + 2, sizeof *s->edge_at);
	s->edge_by = mem_array(s->n_edges + 1, sizeof *s->edge_by);
	for (uint32_t i = 0; i < s->n_edges; i++)
		s->edge_at[s->edges[i].parent + 2]++;
	for (uint32_t v = 2; v < s->n_rows + 2; v++)
		s->edge_at[v] += s->edge_at[v - 1];
	for (uint32_t i = 0; i < s->n_edges; i++)
		s->edge_by[s->edge_at[s->edges[i].parent + 1]++] = i;
	CHECK(s->edge_at[s->n_rows] == s->n_edges);
	return 0;
}

static int sim_load(struct sim *s, struct err *err)
{
	s->ids = index_ids(s->in);
	s->tasks = mem_array(s->in->n + 1, sizeof *s->tasks);
	sim__lines_make(s);
	int r = load_rows(s, err);
	if (r == 0)
		r = load_edges(s, err);
	if (r == 0)
		sim__gates_make(s);
	return r;
}

static void sim_done(struct sim *s)
{
	for (size_t i = 0; i < s->in->n; i++)
		free(s->tasks[i].ready);
	sim__gates_done(s);
	free(s->tasks);
	free(s->rows);
	free(s->slots);
	free(s->edges);
	free(s->edge_at);
	free(s->edge_by);
	free(s->ids);
	sim__lines_done(s);
	free(s->heap);
}

static int by_due(const void *a, const void *b)
{
	const struct simulate_row *x = a, *y = b;

	int order = (x->due > y->due) - (x->due < y->due);

	if (order == 0)
		order = (x->task > y->task) - (x->task < y->task);
	if (order == 0)
		order = (x->run_date > y->run_date) - (x->run_date < y->run_date);
	return order;
}

int simulate_run(const struct simulate_input *in, struct simulate_row **ret_rows, size_t *ret_n,
                 struct err *err)
{
	struct sim s = { .in = in };
	int r = sim_load(&s, err);

	if (r == 0) {
		sim__play(&s);
		struct simulate_row *rows = mem_array(s.n_rows + 1, sizeof *rows);
		for (uint32_t i = 0; i < s.n_rows; i++) {
			uint32_t cause = s.rows[i].cause;
			rows[i] = s.rows[i].row;
			if (cause == UINT32_MAX)
				continue;
			CHECK(cause < s.n_rows);
			rows[i].cause = s.rows[cause].row.task;
			rows[i].cause_date = s.rows[cause].row.run_date;
		}
		qsort(rows, s.n_rows, sizeof *rows, by_due);
		*ret_rows = rows;
		*ret_n = s.n_rows;
	}
	sim_done(&s);
	return r;
}

const char *simulate_reason_name(enum simulate_reason reason)
{
	static const char *const names[] = { "", "link", "overlap", "frozen", "replaced" };

	CHECK((size_t)reason < sizeof names / sizeof names[0]);
	return names[reason];
}

static void put_instant(struct buf *out, const char *key, int64_t t)
{
	char text[WHEN_TEXT];

	put_text(out, key, when_print(t, text));
}

static void put_instant_us(struct buf *out, const char *key, int64_t us)
{
	if (us == INT64_MAX)
		put_text(out, key, NULL);
	else
		put_instant(out, key, us / 1000000);
}

void simulate_json(const struct simulate_input *in, const struct simulate_row *rows, size_t n,
                   struct buf *out)
{
	put_open(out, NULL, '[');
	for (size_t i = 0; i < n; i++) {
		put_open(out, NULL, '{');
		put_text(out, "task", in->tasks[rows[i].task]->name);
		put_instant(out, "run_date", rows[i].run_date);
		put_label(out, in->tasks[rows[i].task]->plan, rows[i].run_date);
		put_instant(out, "due", rows[i].due);
		put_text(out, "state", rows[i].is_skipped ? "Skipped" : "planned");
		put_text(out, "reason", simulate_reason_name(rows[i].reason));
		if (in->durations_us) {
			put_instant_us(out, "start", rows[i].start_us);
			put_instant_us(out, "end", rows[i].end_us);
		}
		put_close(out, '}');
	}
	put_close(out, ']');
}

struct edge_walk {
	const struct simulate_input *in;
	const struct task *(*outside)(void *ctx, uint32_t id);
	void (*each)(void *ctx, const struct simulate_edge *e);
	void *ctx;
	uint32_t *ids;
	struct sim_room room;
	size_t total;
};

/* All that the link asks for lies before the parent's first date: it is passed over. */
static bool lies_before(const struct task_link *l, const struct plan *parent, int64_t t,
                        const struct link_span *spans, int n)
{
	int64_t first = plan_first(parent);

	if (l->kind == LK_PREV || n == 0)
		return n == 0 && first != PLAN_NEVER && (l->kind == LK_PREV || t < first);
	return first != PLAN_NEVER && spans[n - 1].hi <= first;
}

static int walk_link(struct edge_walk *w, uint32_t child, int64_t date, uint32_t link)
{
	const struct task *def = w->in->tasks[child];
	const struct task_link *l = &def->links[link];
	struct link_span spans[LINK_SPANS_MAX];
	int64_t at = index_of(w->ids, w->in->n, l->parent);
	const struct task *parent = at >= 0      ? w->in->tasks[at]
	                            : w->outside ? w->outside(w->ctx, l->parent)
	                                         : NULL;
	struct simulate_edge e = { .child = child,
		                   .link = link,
		                   .run_date = date,
		                   .note = "",
		                   .parent = parent ? parent->name : "",
		                   .plan = parent ? parent->plan : NULL };

	if (!parent || parent->state == TS_DRAFT) {
		e.note = parent ? "link not in force: the parent is a draft" : "unknown parent";
	} else {
		int n = link_spans_of_row(l, parent->plan, def->plan, date, spans);
		int r = sim_dates(parent->plan, spans, n, SIMULATE_EDGES_MAX - w->total, &w->room);
		if (r < 0)
			return r;
		e.dates = w->room.dates;
		e.n_dates = w->room.n;
		w->total += e.n_dates;
		if (!e.n_dates)
			e.note = lies_before(l, parent->plan, date, spans, n)
			                 ? "before its begin"
			                 : "no instance in window";
	}
	w->each(w->ctx, &e);
	return 0;
}

int simulate_edges(const struct simulate_input *in,
                   const struct task *(*outside)(void *ctx, uint32_t id),
                   void (*each)(void *ctx, const struct simulate_edge *e), void *ctx,
                   struct err *err)
{
	struct edge_walk w = { .in = in, .outside = outside, .each = each, .ctx = ctx };
	size_t rows = 0;
	int r = 0;

	w.ids = index_ids(in);
	for (uint32_t i = 0; i < in->n && r == 0; i++) {
		const struct task *t = in->tasks[i];
		if (!has_dates(t) || !t->n_links)
			continue;
		int64_t date = plan_has(t->plan, in->spans[i].lo)
		                       ? in->spans[i].lo
		                       : plan_next(t->plan, in->spans[i].lo);
		for (; date < in->spans[i].hi && r == 0; date = plan_next(t->plan, date)) {
			r = ++rows > SIMULATE_ROWS_MAX ? E_LIMIT : 0;
			for (uint32_t k = 0; k < t->n_links && r == 0; k++)
				r = walk_link(&w, i, date, k);
		}
	}
	free(w.ids);
	free(w.room.dates);
	return r < 0 ? err_set(err, r, "more than %d edges; ask for a shorter span",
	                       SIMULATE_EDGES_MAX)
	             : 0;
}

void simulate_edge_json(const struct simulate_input *in, const struct simulate_edge *e,
                        struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "child", in->tasks[e->child]->name);
	put_instant(out, "run_date", e->run_date);
	put_label(out, in->tasks[e->child]->plan, e->run_date);
	put_int(out, "link", e->link);
	put_open(out, "parents", '[');
	for (size_t i = 0; i < e->n_dates; i++) {
		put_open(out, NULL, '{');
		put_text(out, "parent", e->parent);
		put_instant(out, "run_date", e->dates[i]);
		put_label(out, e->plan, e->dates[i]);
		put_close(out, '}');
	}
	put_close(out, ']');
	put_text(out, "note", e->note);
	put_close(out, '}');
}
