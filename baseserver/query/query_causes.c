/* The query `causes` names the first causes why a workflow, or one run of it, is not done. It does
 * not list the instances that merely wait for them, it counts these.
 *
 * Its members (unfinished instances within the dates, and those that failed) are the first nodes of
 * a graph; whatever a node waits for is the next, across workflows and dates, as long as there is
 * room. What waits for nothing more is a root. Roots then travel back to whoever waits, so that
 * each member counts for its roots, ROOTS_MAX at most. No store is asked, and the room is bounded:
 * where it ends the answer says so (`cut`), and what was not followed is a root.
 */
#include <stdlib.h>
#include <string.h>

#include "baseserver/query/query_impl.h"
#include "sched/link.h"
#include "sched/name.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

enum {
	NODES_MAX = 5000,
	EDGES_MAX = 40000,
	DATES_MAX = 100000, /* of plans that are looked at */
	ROOTS_MAX = 4,      /* of one node */
	SHOWN_MAX = 20,     /* roots of an answer ... */
	NAMED_MAX = 10,     /* and of those that wait for one */
};

/* Worst first. */
enum kind { K_NONE, K_FAILED, K_OVER, K_FROZEN, K_RETRY, K_OFFLINE, K_WAITS, K_DUE, K_RUNS };

static const char *const kind_names[] = { "",        "failed", "over", "frozen", "retry",
	                                  "offline", "waits",  "due",  "runs" };

struct node {
	struct inst_key key;
	uint8_t kind; /* K_NONE: it waits for others */
	uint8_t state, reason;
	bool is_member;
	uint8_t n;                 /* roots */
	uint16_t roots[ROOTS_MAX]; /* places of nodes */
	uint32_t waiting;          /* members that wait for it */
};

struct edge {
	uint16_t from, to;
};

struct walk {
	const struct catalog *cat;
	struct node *nodes;
	struct edge *edges;
	size_t n, n_edges, looked;
	struct map by_key;
	int64_t from, to, now;
	const char *prefix; /* of its tasks: "p/w/" */
	bool is_cut;
};

/* MAP_NONE: there is no room. */
static uint32_t node_of(struct walk *w, struct inst_key key)
{
	uint64_t hash = map_mix(key.task, (uint64_t)key.run_date);
	size_t at;

	for (uint32_t i = map_first(&w->by_key, hash, &at); i != MAP_NONE;
	     i = map_next(&w->by_key, hash, &at))
		if (inst_key_eq(w->nodes[i].key, key))
			return i;
	if (w->n == NODES_MAX) {
		w->is_cut = true;
		return MAP_NONE;
	}
	map_add(&w->by_key, hash, (uint32_t)w->n);
	w->nodes[w->n] = (struct node){ .key = key };
	return (uint32_t)w->n++;
}

static bool edge_add(struct walk *w, uint32_t from, struct inst_key to)
{
	uint32_t parent = node_of(w, to);

	if (parent == MAP_NONE || w->n_edges == EDGES_MAX) {
		w->is_cut = true;
		return false;
	}
	w->edges[w->n_edges++] = (struct edge){ (uint16_t)from, (uint16_t)parent };
	return true;
}

/* --- what a node waits for ------------------------------------------------------------------ */

/* The open dates of a link; of a child that is over (`was`) those whose end skipped it. */
static size_t link_walk(struct walk *w, uint32_t from, const struct cat_task *t,
                        const struct task_link *l, bool was)
{
	const struct cat_task *p = catalog_task(w->cat, l->parent);
	const struct inst_key key = w->nodes[from].key;
	struct link_span spans[LINK_SPANS_MAX];
	size_t total = 0, open = 0, first = w->n_edges;

	if (!p)
		return 0;
	int n = link_spans_of_row(l, p->def->plan, t->def->plan, key.run_date, spans);
	const struct cat_inst *live = catalog_live(w->cat, key);
	const struct link_ask a = { w->cat, p, key.run_date, live && live->flags & IF_MEMBER };
	for (int i = 0; i < n; i++)
		for (int64_t d = query__link_next(&a, &spans[i], spans[i].lo - 1); d != PLAN_NEVER;
		     d = query__link_next(&a, &spans[i], d)) {
			const struct outcome_range *o = outcomes_find(&p->outcomes, d);
			const struct inst_key of = { d, p->id, 0 };
			if (w->looked++ > DATES_MAX) {
				w->is_cut = true;
				return w->n_edges - first;
			}
			if (d < plan_begin(p->def->plan) && !o && !catalog_live(w->cat, of))
				continue;
			total++;
			if (query__met(l, o) || (was && !o))
				continue;
			open++;
			if (!edge_add(w, from, of))
				return w->n_edges - first;
		}
	if (l->strategy == LS_ANY ? open < total
	                          : l->strategy == LS_AT_LEAST && total - open >= (size_t)l->n)
		w->n_edges = first;
	return w->n_edges - first;
}

static size_t links_walk(struct walk *w, uint32_t from, const struct cat_task *t, bool was)
{
	size_t n = 0;

	for (size_t i = 0; i < t->def->n_links; i++)
		n += link_walk(w, from, t, &t->def->links[i], was);
	return n;
}

/* Each date waits for the one before it. */
static size_t turn_walk(struct walk *w, uint32_t from, const struct cat_task *t)
{
	const struct plan *plan = t->def->plan;
	int64_t before = plan_prev(plan, w->nodes[from].key.run_date);
	const struct inst_key of = { before, t->id, 0 };

	return t->def->serial == SERIAL_ORDERED && before >= plan_begin(plan) &&
	       catalog_live(w->cat, of) && edge_add(w, from, of);
}

static enum kind kind_of_live(struct walk *w, uint32_t at, const struct cat_task *t,
                              const struct cat_inst *i)
{
	if (state_holds_slot((enum state)i->state))
		return K_RUNS;
	if (t->row.frozen || i->flags & IF_FROZEN)
		return K_FROZEN;
	if (!task_starts(t->row.state))
		return K_OFFLINE;
	if (i->state == ST_FAILED)
		return K_RETRY;
	if (i->state != ST_READY || i->flags & IF_NO_LINKS)
		return K_WAITS;
	return links_walk(w, at, t, false) || turn_walk(w, at, t) ? K_NONE : K_WAITS;
}

static bool is_link_reason(uint8_t reason)
{
	return reason == RE_LINK || reason == RE_BRANCH || reason == RE_PIPELINE;
}

static enum kind kind_of_over(struct walk *w, uint32_t at, const struct cat_task *t,
                              const struct outcome_range *o)
{
	if (o->state == ST_STOP || o->state == ST_KILLED)
		return K_FAILED;
	return o->state == ST_SKIPPED && is_link_reason(o->reason) && links_walk(w, at, t, true)
	               ? K_NONE
	               : K_OVER;
}

static void node_walk(struct walk *w, uint32_t at)
{
	struct node *x = &w->nodes[at];
	const struct cat_task *t = catalog_task(w->cat, x->key.task);
	const struct cat_inst *live = catalog_live(w->cat, x->key);
	const struct outcome_range *o = t ? outcomes_find(&t->outcomes, x->key.run_date) : NULL;

	if (!t || (!live && !o)) {
		bool is_late = t && plan_due(t->def->plan, x->key.run_date) * US_PER_S <= w->now;
		x->kind = t && t->row.frozen                 ? K_FROZEN
		          : !t || !task_starts(t->row.state) ? K_OFFLINE
		          : is_late                          ? K_WAITS
		                                             : K_DUE;
		return;
	}
	x->state = live ? live->state : o->state;
	x->reason = live ? RE_NONE : o->reason;
	x->kind = (uint8_t)(live ? kind_of_live(w, at, t, live) : kind_of_over(w, at, t, o));
}

/* --- members -------------------------------------------------------------------------------- */

static void member_add(struct walk *w, struct inst_key key)
{
	uint32_t at = node_of(w, key);

	if (at != MAP_NONE)
		w->nodes[at].is_member = true;
}

/* The ends of a range have ended, also where the plan has no such date: of a task that runs when
 * somebody asks, or that was run beside its plan. */
static int64_t date_before(const struct plan *plan, const struct outcome_range *o, int64_t d)
{
	int64_t t = plan_prev(plan, d);

	return t > o->lo ? t : o->lo;
}

/* Without dates the last end of each task is looked at, so that old failures do not come up. */
static void failed_add(struct walk *w, const struct cat_task *t)
{
	const struct outcomes *all = &t->outcomes;

	for (size_t i = all->len; i-- > 0 && all->ranges[i].hi >= w->from;) {
		const struct outcome_range *o = &all->ranges[i];
		bool is_bad = o->state == ST_STOP || o->state == ST_KILLED;
		if (w->from == INT64_MIN && i + 1 < all->len)
			return;
		for (int64_t d = o->hi; is_bad && d >= w->from && w->looked++ < DATES_MAX;
		     d = date_before(t->def->plan, o, d)) {
			if (d < w->to)
				member_add(w, (struct inst_key){ d, t->id, 0 });
			if (w->from == INT64_MIN || d == o->lo)
				break;
		}
	}
}

static void members_find(struct walk *w)
{
	size_t n = strlen(w->prefix);

	for (uint32_t id = 0; id < w->cat->tasks_cap; id++) {
		const struct cat_task *t = catalog_task(w->cat, id);
		if (!t || !t->def || strncmp(t->def->name, w->prefix, n) != 0 ||
		    name_is_test(t->def->name))
			continue;
		/* No room is left: of a million that wait no further one is looked at. */
		for (uint32_t k = t->live; k != SLAB_NONE && !w->is_cut;
		     k = catalog_inst(w->cat, k)->next) {
			const struct inst_key key = catalog_inst(w->cat, k)->key;
			if (key.part == 0 && key.run_date >= w->from && key.run_date < w->to)
				member_add(w, key);
		}
		failed_add(w, t);
	}
}

/* --- roots ---------------------------------------------------------------------------------- */

static bool root_add(struct node *x, uint16_t root)
{
	for (uint8_t i = 0; i < x->n; i++)
		if (x->roots[i] == root)
			return false;
	if (x->n == ROOTS_MAX)
		return false;
	x->roots[x->n++] = root;
	return true;
}

static int worst_first(const void *a, const void *b)
{
	const struct node *x = *(const struct node *const *)a, *y = *(const struct node *const *)b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->waiting != y->waiting)
		return x->waiting > y->waiting ? -1 : 1;
	if (x->key.run_date != y->key.run_date)
		return x->key.run_date < y->key.run_date ? -1 : 1;
	return (x->key.task > y->key.task) - (x->key.task < y->key.task);
}

static int by_parent(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return (x->to > y->to) - (x->to < y->to);
}

/* To all that wait for it, directly or not; `first`: of each node's edges, in order of parents. */
static void root_spread(struct walk *w, uint16_t root, const uint32_t *first, uint16_t *queue)
{
	size_t n = 0;

	root_add(&w->nodes[root], root);
	queue[n++] = root;
	for (size_t done = 0; done < n; done++)
		for (uint32_t e = first[queue[done]]; e < first[queue[done] + 1]; e++)
			if (root_add(&w->nodes[w->edges[e].from], root))
				queue[n++] = w->edges[e].from;
}

/* Worst first, so that what fails has its place at whoever waits for many. *ret_n of them. */
static struct node **roots_find(struct walk *w, size_t *ret_n)
{
	struct node **roots = mem_array(w->n + 1, sizeof(struct node *));
	uint32_t *first = mem_array(w->n + 2, sizeof *first);
	uint16_t *queue = mem_array(w->n + 1, sizeof *queue);
	size_t n = 0;

	qsort(w->edges, w->n_edges, sizeof *w->edges, by_parent);
	for (size_t e = 0; e < w->n_edges; e++)
		first[w->edges[e].to + 1]++;
	for (size_t i = 0; i < w->n; i++)
		first[i + 1] += first[i];
	for (size_t i = 0; i < w->n; i++)
		if (w->nodes[i].kind != K_NONE)
			roots[n++] = &w->nodes[i];
	qsort(roots, n, sizeof(struct node *), worst_first);
	for (size_t i = 0; i < n; i++)
		root_spread(w, (uint16_t)(roots[i] - w->nodes), first, queue);
	for (size_t i = 0; i < w->n; i++)
		for (uint8_t r = 0; w->nodes[i].is_member && r < w->nodes[i].n; r++)
			if (w->nodes[i].roots[r] != i)
				w->nodes[w->nodes[i].roots[r]].waiting++;
	qsort(roots, n, sizeof(struct node *), worst_first);
	free(queue);
	free(first);
	*ret_n = n;
	return roots;
}

static void waiting_print(const struct query *q, const struct walk *w, size_t root, struct buf *out)
{
	size_t shown = 0;

	put_open(out, "waiting", '[');
	for (size_t i = 0; i < w->n && shown < NAMED_MAX; i++) {
		const struct node *x = &w->nodes[i];
		bool waits = false;
		for (uint8_t r = 0; x->is_member && i != root && r < x->n; r++)
			waits = waits || x->roots[r] == root;
		if (!waits)
			continue;
		shown++;
		put_open(out, NULL, '{');
		print_instance_name(q->c, x->key, out);
		put_close(out, '}');
	}
	put_close(out, ']');
}

static void root_print(const struct query *q, const struct walk *w, const struct node *x)
{
	const struct cat_task *t = catalog_task(w->cat, x->key.task);
	struct buf *out = (struct buf *)&q->out;

	put_open(out, NULL, '{');
	print_instance_name(q->c, x->key, out);
	put_text(out, "kind", kind_names[x->kind]);
	put_text(out, "state", x->state ? state_name((enum state)x->state) : "planned");
	put_text(out, "reason", reason_name((enum reason)x->reason));
	put_bool(out, "foreign", !t || strncmp(t->def->name, w->prefix, strlen(w->prefix)) != 0);
	put_bool(out, "member", x->is_member);
	put_int(out, "waits", x->waiting);
	waiting_print(q, w, (size_t)(x - w->nodes), out);
	put_close(out, '}');
}

static void walk_print(struct query *q, struct walk *w)
{
	size_t n, members = 0;
	struct node **roots = roots_find(w, &n);

	for (size_t i = 0; i < w->n; i++)
		members += w->nodes[i].is_member;
	put_open(&q->out, NULL, '{');
	put_int(&q->out, "members", (int64_t)members);
	put_bool(&q->out, "cut", w->is_cut);
	put_int(&q->out, "root_count", (int64_t)n);
	put_open(&q->out, "roots", '[');
	for (size_t i = 0, shown = 0; i < n && shown < SHOWN_MAX; i++)
		if (query__sees_task(q, roots[i]->key.task)) {
			root_print(q, w, roots[i]);
			shown++;
		}
	put_close(&q->out, ']');
	put_close(&q->out, '}');
	free(roots);
}

int query__causes(struct query *q, const struct jval *args, struct refusal *f)
{
	static const char *const keys[] = { "workflow", "from", "to", NULL };
	const char *name = NULL;
	struct walk w = { .cat = commander_catalog(q->c),
		          .from = INT64_MIN,
		          .to = INT64_MAX,
		          .now = actor_wall_us(commander_actor(q->c)) };
	int r = arg_object(args, "args", keys, f);

	if (r == 0)
		r = arg_text(args, "args", "workflow", 300, &name, f);
	if (r == 0)
		r = arg_number(args, "args", (struct arg_range){ "from", INT64_MIN, INT64_MAX },
		               &w.from, f);
	if (r == 0)
		r = arg_number(args, "args", (struct arg_range){ "to", INT64_MIN, INT64_MAX },
		               &w.to, f);
	if (r < 0)
		return r;
	if (!name)
		return refuse(f, E_INVALID, "args.workflow", "for example \"project/workflow\"",
		              "args.workflow: is missing");
	char *prefix = mem_fmt("%s/", name);
	w.prefix = prefix;
	w.nodes = mem_array(NODES_MAX, sizeof *w.nodes);
	w.edges = mem_array(EDGES_MAX, sizeof *w.edges);
	map_init(&w.by_key);
	if (query__sees(q, name)) /* else it has none */
		members_find(&w);
	for (uint32_t i = 0; i < w.n; i++)
		node_walk(&w, i);
	walk_print(q, &w);
	map_done(&w.by_key);
	free(w.nodes);
	free(w.edges);
	free(prefix);
	return 0;
}
