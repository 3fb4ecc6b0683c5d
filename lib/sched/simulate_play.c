/* The simulation itself: events in order of time, by the rules of the server.
 *
 * An end comes before what is due at the same moment, so that a slot that is freed is a slot to
 * take. What follows from an event (a row is skipped, a link is decided) becomes an event of its
 * own instead of a call, because chains may be as long as the history. A play may begin from how
 * things are now (a forecast): then rows that are over or run enter with what is known of them. At
 * the end every row that did not start says what it waits for. */
#include "sched/simulate_impl.h"
#include "util/alloc.h"
#include "util/check.h"

#include <stdlib.h>

/* --- events */

static bool play_before(const struct sim_event *a, const struct sim_event *b)
{
	if (a->at_us != b->at_us)
		return a->at_us < b->at_us;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	/* As the server has it: of what comes due at once the earlier date is first. */
	if (a->kind == EV_DUE && a->date != b->date)
		return a->date < b->date;
	return a->number < b->number;
}

static void play_push(struct sim *s, int64_t at_us, uint32_t kind, uint32_t row, uint32_t link)
{
	CHECK(kind <= EV_DUE);
	struct sim_event e = { at_us, kind, row, link, s->counter++, 0 };

	if (kind != EV_OTHER)
		e.date = s->rows[row].row.run_date;
	s->heap = mem_room(s->heap, &s->events_room, s->n_events + 1, sizeof *s->heap);
	size_t at = s->n_events++;
	for (; at && play_before(&e, &s->heap[(at - 1) / 2]); at = (at - 1) / 2)
		s->heap[at] = s->heap[(at - 1) / 2];
	s->heap[at] = e;
}

static struct sim_event pop(struct sim *s)
{
	CHECK(s->n_events > 0);
	CHECK(s->n_events > 0);
	struct sim_event top = s->heap[0], last = s->heap[--s->n_events];
	size_t at = 0;

	for (size_t child; (child = at * 2 + 1) < s->n_events; at = child) {
		if (child + 1 < s->n_events && play_before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!play_before(&s->heap[child], &last))
			break;
		s->heap[at] = s->heap[child];
	}
	s->heap[at] = last;
	return top;
}

/* --- starts */

static void start_all(struct sim *s)
{
	uint32_t row;

	while ((row = sim__next(s)) != UINT32_MAX) {
		struct sim_row *r = &s->rows[row];
		int64_t takes = s->in->durations_us ? s->in->durations_us[r->row.task] : 0;
		CHECK(r->phase == SIM_READY);
		r->phase = SIM_RUNS;
		r->row.start_us = s->now_us;
		play_push(s, s->now_us + takes, EV_END, row, 0);
	}
}

/* --- what becomes of a row */

/* What follows from it is an event of its own: chains may be long. */
static void play_skip(struct sim *s, uint32_t row, enum simulate_reason reason)
{
	CHECK(s->rows[row].phase != SIM_DONE && s->rows[row].phase != SIM_RUNS);
	s->rows[row].phase = SIM_SKIPS;
	s->rows[row].row.is_skipped = true;
	s->rows[row].row.reason = reason;
	s->rows[row].cause = s->actor;
	play_push(s, s->now_us, EV_SKIP, row, 0);
}

static uint32_t links_of(const struct sim *s, uint32_t row)
{
	CHECK(row < s->n_rows);
	return (uint32_t)s->tasks[s->rows[row].row.task].def->n_links;
}

static uint32_t join_of(const struct sim *s, uint32_t row)
{
	int32_t join = s->tasks[s->rows[row].row.task].def->join;

	return join ? (uint32_t)join : links_of(s, row);
}

/* The date before must have ended well or have been skipped, for whatever reason; whoever came
 * before that one does not matter. (design: SEMANTICS section 2, "Self-serialisation".) */
static bool has_turn(const struct sim *s, const struct sim_task *t, uint32_t row)
{
	const struct sim_row *before = row > t->first ? &s->rows[row - 1] : NULL;

	return t->def->serial != SERIAL_ORDERED || !before ||
	       (before->phase == SIM_DONE && (before->row.is_skipped || !before->row.is_bad));
}

/* Has anything changed for a row that waits? */
static void play_look(struct sim *s, uint32_t row)
{
	struct sim_row *r = &s->rows[row];
	struct sim_task *t = &s->tasks[r->row.task];

	if (r->phase != SIM_WAITS || !r->is_due)
		return;
	if (!r->is_free && r->dead > links_of(s, row) - join_of(s, row)) {
		play_skip(s, row, SIM_LINK);
		return;
	}
	if (!r->is_free &&
	    (r->met < join_of(s, row) || !has_turn(s, t, row) || !sim__has_turn(s, row)))
		return;
	if (t->def->frozen || t->is_closed)
		return;
	r->phase = SIM_READY;
	r->ready_us = s->now_us;
	r->cause = s->actor;
	sim__ready(s, row);
}

/* Is a link decided? */
static void play_settle(struct sim *s, uint32_t row, uint32_t link)
{
	struct sim_row *r = &s->rows[row];
	struct sim_slot *slot = &s->slots[r->slot + link];

	CHECK(link < links_of(s, row));
	if (slot->is_settled || (slot->met < slot->want && slot->can >= slot->want))
		return;
	CHECK(slot->met <= slot->can);
	slot->is_settled = true;
	if (slot->met >= slot->want)
		r->met++;
	else
		r->dead++;
}

/* Does a parent that ended so meet a link, or end its hopes? */
static bool meets(const struct sim_row *parent, enum link_on on)
{
	if (on == ON_DONE)
		return true;
	if (parent->row.is_skipped)
		return on != ON_FAILURE && parent->row.reason == SIM_OVERLAP;
	return parent->row.is_bad == (on == ON_FAILURE);
}

static void play_finish(struct sim *s, uint32_t row)
{
	struct sim_row *r = &s->rows[row];
	struct sim_task *t = &s->tasks[r->row.task];

	if (r->phase == SIM_DONE)
		return; /* it was replaced while it was to be skipped */
	r->phase = SIM_DONE;
	s->actor = r->row.was_over && !r->row.is_bad ? UINT32_MAX : row;
	sim__line_leave(s, row, play_look);
	for (uint32_t i = s->edge_at[row]; i < s->edge_at[row + 1]; i++) {
		const struct sim_edge *e = &s->edges[s->edge_by[i]];
		struct sim_row *child = &s->rows[e->child];
		struct sim_slot *slot = &s->slots[child->slot + e->slot];
		enum link_on on = s->tasks[child->row.task].def->links[e->slot].on;
		if (r->row.reason == SIM_REPLACED && on == ON_SUCCESS)
			continue; /* Killed: a redo may meet it yet */
		CHECK(slot->can > 0);
		if (meets(r, on))
			slot->met++;
		else
			slot->can--;
		play_settle(s, e->child, e->slot);
		play_look(s, e->child);
	}
	if (t->def->serial == SERIAL_ORDERED && row + 1 < t->end)
		play_look(s, row + 1);
	sim__mark(s, t);
}

/* It is killed, for the later one. */
static void play_replace(struct sim *s, uint32_t old, uint32_t by)
{
	struct sim_row *r = &s->rows[old];

	CHECK(old != by && old < s->n_rows);
	if (r->phase == SIM_RUNS)
		sim__free_slots(s, old);
	r->row.end_us = s->now_us;
	r->row.is_bad = true;
	r->row.is_skipped = false; /* as it may be about to, for one that was replaced before it */
	r->row.reason = SIM_REPLACED;
	r->cause = by;
	play_finish(s, old);
	s->actor = UINT32_MAX;
}

static void on_due(struct sim *s, uint32_t row)
{
	struct sim_row *r = &s->rows[row];
	const struct task *def = s->tasks[r->row.task].def;

	r->is_due = true;
	if (def->frozen)
		r->row.reason = SIM_FROZEN;
	enum sim_entry e = sim__line_enter(s, row, true);
	if (e == SIM_IS_LEFT_OUT) {
		play_skip(s, row, SIM_OVERLAP);
		return;
	}
	for (uint32_t old; e == SIM_REPLACES && (old = sim__line_older(s, row)) != UINT32_MAX;)
		play_replace(s, old, row);
	for (uint32_t i = 0; i < def->n_links; i++)
		if (def->links[i].pass_after_s && !s->slots[r->slot + i].is_settled)
			play_push(s, (r->row.due + def->links[i].pass_after_s) * 1000000, EV_PASS,
			          row, i);
	play_look(s, row);
}

static void on_pass(struct sim *s, uint32_t row, uint32_t link)
{
	CHECK(link < links_of(s, row));
	struct sim_slot *slot = &s->slots[s->rows[row].slot + link];

	if (slot->is_settled)
		return;
	slot->is_settled = true;
	s->rows[row].met++;
	play_look(s, row);
}

static void on_end(struct sim *s, uint32_t row)
{
	struct sim_row *r = &s->rows[row];

	if (r->phase != SIM_RUNS)
		return; /* it was replaced */
	r->row.end_us = s->now_us;
	sim__free_slots(s, row);
	play_finish(s, row);
}

/* --- from how it is now -------------------------------------------------------------------- */

static void begin_over(struct sim *s, uint32_t row, const struct simulate_state *st)
{
	struct sim_row *r = &s->rows[row];

	r->row.was_over = true;
	r->row.is_bad = st->is != SIM_OVER;
	r->row.is_skipped = st->is == SIM_OVER_DEAD;
	r->row.reason = st->is == SIM_OVER_DEAD ? SIM_LINK : SIM_NONE;
	r->phase = SIM_SKIPS; /* nothing that happens changes it */
	r->row.end_us = st->at_us;
	play_push(s, s->in->now_us, EV_KNOWN, row, 0);
}

static void begin_running(struct sim *s, uint32_t row, const struct simulate_state *st)
{
	struct sim_row *r = &s->rows[row];

	r->seat = st->seat;
	sim__hold(s, row);
	r->phase = SIM_RUNS;
	r->row.was_running = true;
	sim__line_enter(s, row, false);
	r->row.start_us = st->at_us;
	play_push(s, st->until_us > s->in->now_us ? st->until_us : s->in->now_us, EV_END, row, 0);
}

static void play_begin(struct sim *s, uint32_t row)
{
	struct sim_row *r = &s->rows[row];
	struct simulate_state st = { .is = SIM_AHEAD };
	int64_t at = r->row.due * 1000000;

	if (s->in->state)
		s->in->state(s->in->ctx, r->row.task, r->row.run_date, &st);
	if (st.is >= SIM_OVER) {
		begin_over(s, row, &st);
	} else if (st.is == SIM_RUNNING) {
		begin_running(s, row, &st);
	} else if (st.is != SIM_HELD) {
		r->is_free = st.is == SIM_AGAIN;
		at = st.is == SIM_AGAIN ? st.at_us : at;
		play_push(s, s->in->state && at < s->in->now_us ? s->in->now_us : at, EV_DUE, row,
		          0);
	} else {
		sim__line_enter(s, row, false);
	}
}

/* What never starts waits for one that never ends; what was skipped as soon as it was due had lost
 * its parent before. */
static void blame_waiting(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_edges; i++) {
		struct sim_row *child = &s->rows[s->edges[i].child];
		const struct sim_row *parent = &s->rows[s->edges[i].parent];
		if (child->phase == SIM_WAITS && parent->phase != SIM_DONE)
			child->cause = s->edges[i].parent;
		if (child->row.is_skipped && !child->row.was_over && child->cause == UINT32_MAX &&
		    (parent->row.is_bad || parent->row.is_skipped))
			child->cause = s->edges[i].parent;
	}
}

void sim__play(struct sim *s)
{
	for (uint32_t i = 0; i < s->n_rows; i++) {
		play_begin(s, i);
		for (uint32_t k = 0; k < links_of(s, i); k++)
			play_settle(s, i, k);
	}
	for (uint32_t i = 0; s->in->gates && i < s->in->gates->n_others; i++) {
		int64_t until = s->in->gates->others[i].until_us;
		play_push(s, until > s->in->now_us ? until : s->in->now_us, EV_OTHER, i, 0);
	}
	while (s->n_events) {
		struct sim_event e = pop(s);
		s->now_us = e.at_us;
		s->actor = UINT32_MAX;
		if (e.kind == EV_SKIP || e.kind == EV_KNOWN)
			play_finish(s, e.row);
		else if (e.kind == EV_END)
			on_end(s, e.row);
		else if (e.kind == EV_OTHER)
			sim__free_other(s, e.row);
		else if (e.kind == EV_PASS)
			on_pass(s, e.row, e.link);
		else
			on_due(s, e.row);
		/* Those of one moment compete with each other. */
		if (!s->n_events || s->heap[0].at_us > s->now_us)
			start_all(s);
	}
	if (s->in->state)
		blame_waiting(s);
}
