/* Edges: one between each waiting instance and the window of each of its links. An instance counts
 * which of these are met and dead; here the counts follow the windows, and the time after which an
 * open link counts as met (`pass_after`). */
#include "baseserver/plan/resolver_impl.h"
#include "sched/task.h"
#include "util/check.h"
#include "util/clock.h"

/* d +1: the window of one of its links is in state s now; -1: it was. */
static void count_link(const struct resolver *r, struct waiting *w, const struct window *win,
                       enum window_state s, int d)
{
	if (win->link == resolver__task(r, win->child)->def->n_links)
		w->waits_turn = d > 0 && s != WS_MET;
	else if (s == WS_MET)
		w->met = (w->met + (unsigned)d) & LINK_MASK;
	else if (s == WS_DEAD)
		w->dead = (w->dead + (unsigned)d) & LINK_MASK;
	CHECK(w->met + w->dead <= w->n_links);
}

void resolver__timer_set(struct resolver *r, uint32_t waiting, int64_t wall_us)
{
	uint32_t t = map_get(&r->timer_of, waiting);

	if (t == MAP_NONE) {
		t = slab_take(&r->timers);
		struct timer *made = slab_at(&r->timers, t);
		heap_node_init(&made->node);
		made->waiting = waiting;
		map_add(&r->timer_of, waiting, t);
	}
	CHECK(((struct timer *)slab_at(&r->timers, t))->waiting == waiting);
	heap_set(&r->times, &((struct timer *)slab_at(&r->timers, t))->node, wall_us);
}

void resolver__timer_clear(struct resolver *r, uint32_t waiting)
{
	uint32_t t = map_get(&r->timer_of, waiting);

	if (t == MAP_NONE)
		return;
	CHECK(((struct timer *)slab_at(&r->timers, t))->waiting == waiting);
	heap_remove(&r->times, &((struct timer *)slab_at(&r->timers, t))->node);
	map_remove(&r->timer_of, waiting, t);
	slab_give(&r->timers, t);
}

void resolver__window_changed(struct resolver *r, uint32_t window, enum window_state was)
{
	const struct window *win = window_at(r, window);

	for (uint32_t i = win->edges; i != SLAB_NONE; i = edge_at(r, i)->next) {
		struct edge *e = edge_at(r, i);
		CHECK(e->window == window);
		if (e->passed)
			continue;
		struct waiting *w = waiting_at(r, e->waiting);
		count_link(r, w, win, was, -1);
		count_link(r, w, win, (enum window_state)win->state, 1);
		resolver__want(r, e->waiting);
		struct task_link l;
		/* Its time may have come while it was dead. */
		if (was == WS_DEAD && win->state == WS_OPEN && w->due &&
		    resolver__link(r, win->child, win->link, &l) && l.pass_after_s)
			resolver__timer_set(r, e->waiting, w->eff_due_us);
	}
}

void resolver__edge_add(struct resolver *r, uint32_t waiting, uint32_t window)
{
	uint32_t i = slab_take(&r->edges);
	struct edge *e = edge_at(r, i);
	struct waiting *w = waiting_at(r, waiting);
	struct window *win = window_at(r, window);

	CHECK(win->child == w->key.task && win->total > 0);
	*e = (struct edge){ .waiting = waiting,
		            .window = window,
		            .prev = SLAB_NONE,
		            .next = win->edges,
		            .of_waiting = w->edges & EDGE_END };
	if (win->edges != SLAB_NONE)
		edge_at(r, win->edges)->prev = i;
	win->edges = i;
	w->edges = i;
	count_link(r, w, win, (enum window_state)win->state, 1);
}

/* pass_after: past its time an open link counts as met. */
void resolver__look_at_passes(struct resolver *r, uint32_t waiting, int64_t now)
{
	struct waiting *w = waiting_at(r, waiting);
	int64_t next = INT64_MAX;

	for (uint32_t i = w->edges; i != EDGE_END; i = edge_at(r, i)->of_waiting) {
		struct edge *e = edge_at(r, i);
		const struct window *win = window_at(r, e->window);
		struct task_link l;
		if (e->passed || !resolver__link(r, win->child, win->link, &l) ||
		    l.pass_after_s == 0 || l.on == ON_FAILURE)
			continue;
		int64_t at = w->eff_due_us + l.pass_after_s * US_PER_S;
		/* What is met when its time comes stays so when it is taken back later. */
		if (at <= now && win->state != WS_DEAD) {
			e->passed = 1;
			if (win->state == WS_OPEN)
				count_link(r, w, win, WS_MET, 1);
		} else if (at > now && at < next) {
			next = at;
		}
	}
	if (next != INT64_MAX)
		resolver__timer_set(r, waiting, next);
}
