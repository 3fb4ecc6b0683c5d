/* The heap of plans: the next date of each online task, by the time when it is due.
 *
 * A task stands in the heap once, with its next date, or not at all: it has no further date, is
 * offline, or is held until TK_TURN. Dates are proposed in the order of the plan. `through` is the
 * last one proposed; an answer that refuses a date sets it back before that date. Dates that were
 * missed (nobody led, or this thread stood still) and that the catch-up mode does not run lie
 * before `keep_from` and are recorded as skipped; many of them are one proposal. */
#include "baseserver/plan/instantiator.h"

#include <inttypes.h>
#include <stdlib.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/outbox.h"
#include "baseserver/ledger/pack.h"
#include "rt/stream.h"
#include "sched/civil.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

#define OFFSET_SURE_S (20 * 366 * DAY_S) /* no date is due later after it, but of long cycles */
#define CLOCK_SET_S   (4 * 3600)
#include "util/clock.h"
#include "util/err.h"
#include "util/heap.h"
#include "util/log.h"
#include "util/map.h"

/* The wall clock may be set: due times are looked at again at least this often. */
#define WALL_RECHECK_US (10 * US_PER_S)
/* With dates that wait for room the clock is looked at as often: what is slow then is no stall. */
#define BUSY_RECHECK_US (US_PER_S / 2)
#define MISSED_US       (INSTANTIATOR_MISSED_AFTER_S * US_PER_S)

enum { BLOCK = 1024 };

struct planned {
	struct heap_node node;  /* wall us of `due` */
	const struct task *def; /* counted */
	int64_t next;           /* run_date to create next; due: the node's key */
	int64_t through;        /* last run_date proposed */
	int64_t keep_from;      /* catch-up: dates before it are recorded as skipped */
	int64_t judged_us;      /* by what was missed then (missed_until_us) */
	uint64_t held_by;       /* while is_held: what its overlap is judged with */
	bool online;
	bool is_held; /* the ledger will say when its next date is judged (TK_TURN) */
};

struct instantiator {
	struct actor *me;
	struct ledger *ledger;
	struct stream_reader *in;
	struct outbox out;
	/* By id, in blocks: a million of them are no million allocations. */
	struct planned **blocks;
	size_t n_blocks;
	struct heap times;
	struct map held;      /* held_by -> id */
	uint64_t turn_number; /* of the last TK_TURN */
	int64_t rows_max;     /* dates left out in one go that have rows */
	int64_t look_by_us;   /* mono: the clock is looked at by then, or this thread stood still */
	/* Wall: what came due between them was seen too late, in the last stall. */
	int64_t missed_from_us, missed_until_us;
};

static struct planned *instantiator_place(struct instantiator *in, uint32_t id)
{
	size_t block = id / BLOCK;

	if (block >= in->n_blocks) {
		in->blocks = mem_grow(in->blocks, block + 1, sizeof *in->blocks);
		while (in->n_blocks <= block)
			in->blocks[in->n_blocks++] = NULL;
	}
	if (!in->blocks[block]) {
		in->blocks[block] = mem_array(BLOCK, sizeof *in->blocks[block]);
		for (size_t i = 0; i < BLOCK; i++)
			heap_node_init(&in->blocks[block][i].node);
	}
	return &in->blocks[block][id % BLOCK];
}

static void arm(struct instantiator *in, struct planned *p)
{
	if (p->next == PLAN_NEVER) {
		heap_remove(&in->times, &p->node);
		return;
	}
	/* Of what comes due at once the earlier date is first: overlap is judged by order. */
	heap_remove(&in->times, &p->node);
	p->node.tie = (uint32_t)(floor_div(p->next, 4) + (INT64_C(1) << 31));
	heap_set(&in->times, &p->node, plan_due(p->def->plan, p->next) * US_PER_S);
}

/* As dates rise their due times do, but for some hours where a clock is set: by halves, the last
 * one from `lo` to `hi` that is due by `now`, then as far on as such hours reach. An offset may be
 * years of seconds. PLAN_BEFORE: none is. */
static int64_t last_due_between(const struct plan *plan, int64_t lo, int64_t hi, int64_t now)
{
	int64_t found = PLAN_BEFORE, last = hi;

	for (lo--; lo < hi;) {
		int64_t mid = lo + (hi - lo + 1) / 2, t = plan_prev(plan, mid + 1);

		if (t == PLAN_BEFORE || t <= lo) {
			lo = mid;
		} else if (plan_due(plan, t) <= now) {
			found = t;
			lo = mid;
		} else {
			hi = t - 1;
		}
	}
	if (found == PLAN_BEFORE)
		return found;
	return plan_prev(plan, (last - found < CLOCK_SET_S ? last : found + CLOCK_SET_S) + 1);
}

int64_t instantiator_last_due(const struct plan *plan, int64_t now)
{
	enum plan_shift shift = plan_schedule(plan)->shift;
	int64_t since = plan_since(plan);
	int64_t t = plan_prev(plan, now < PLAN_NEVER ? now + 1 : now);

	/* A calendar may move a date's due time past the next one's: then date by date; so are the
	 * dates of an earlier version. */
	if (t != PLAN_BEFORE && t >= since && plan_due(plan, t) > now && shift != SHIFT_NEXT &&
	    shift != SHIFT_PREVIOUS) {
		int64_t lo = t - OFFSET_SURE_S > since ? t - OFFSET_SURE_S : since;
		int64_t near = last_due_between(plan, lo, t, now);

		t = near != PLAN_BEFORE ? near : plan_prev(plan, lo);
	}
	while (t != PLAN_BEFORE && plan_due(plan, t) > now)
		t = plan_prev(plan, t);
	return t;
}

/* What of the dates missed is run at all. (design: SEMANTICS section 1, "Catch-up".) */
int64_t instantiator_keeps_from(const struct task *def, const struct plan *plan, int64_t from,
                                int64_t now)
{
	int64_t last = instantiator_last_due(plan, now);
	int64_t max = def->catchup_max;

	if (last == PLAN_BEFORE || last < from)
		return INT64_MIN;
	if (def->catchup == CATCHUP_NONE)
		return last + 1;
	if (def->catchup == CATCHUP_LATEST)
		max = 1;
	if (max <= 0)
		return INT64_MIN;
	int64_t t = last;
	for (int64_t i = 1; i < max && t != PLAN_BEFORE && t >= from; i++)
		t = plan_prev(plan, t);
	return t == PLAN_BEFORE ? INT64_MIN : t;
}

bool instantiator_leaves_out(const struct task *def, int64_t run_date, int64_t now)
{
	int64_t missed = now - INSTANTIATOR_MISSED_AFTER_S;

	return run_date < instantiator_keeps_from(def, def->plan, run_date, missed) &&
	       plan_due(def->plan, run_date) <= missed;
}

/* Only new tzdata can move what has come due off the plan: its version before an edit is kept.
 * The date nearest to it has the same label, which has its row. */
static int64_t same_label(const struct plan *plan, int64_t through)
{
	enum { HALF_DAY_S = 12 * 3600 };
	int64_t next = plan_next(plan, through);
	bool is_local = plan_unit(plan) >= CU_DAY && plan_unit(plan) <= CU_YEAR;

	if (!is_local || through == INT64_MIN || plan_has(plan, through))
		return through;
	return next < PLAN_NEVER && next - through < HALF_DAY_S ? next : through;
}

/* --- an earlier date ran when this server began, and nobody has said how that ended ----------- */

static uint64_t flow_key(uint32_t id, bool is_run)
{
	return (uint64_t)is_run << 32 | id;
}

static void instantiator_hold(struct instantiator *in, struct planned *p)
{
	const struct task *def = p->def;

	if (p->is_held)
		return;
	p->is_held = true;
	p->held_by = flow_key(def->overlap_run ? def->workflow_id : def->id, def->overlap_run);
	map_add(&in->held, p->held_by, def->id);
	heap_remove(&in->times, &p->node);
}

static void unhold(struct instantiator *in, struct planned *p, uint32_t id)
{
	if (p->is_held)
		CHECK(map_remove(&in->held, p->held_by, id));
	p->is_held = false;
}

static void turn_came(struct instantiator *in, const struct transition *tr)
{
	uint64_t key = flow_key(tr->inst.key.task, tr->inst.key.part != 0);

	in->turn_number = tr->number;
	for (uint32_t id; (id = map_get(&in->held, key)) != MAP_NONE;) {
		CHECK(instantiator_place(in, id)->is_held); /* else it would stay on the list */
		unhold(in, instantiator_place(in, id), id);
		arm(in, instantiator_place(in, id));
	}
}

/* `missed`: dates due by then (s) are left to the catch-up mode. */
static void schedule(struct instantiator *in, const struct task *def, const struct store_task *row,
                     int64_t missed)
{
	int64_t through = same_label(def->plan, row->planned_through);
	struct planned *p = instantiator_place(in, def->id);

	CHECK(row->id == def->id);
	unhold(in, p, def->id);
	bool is_new_version = p->def && (plan_since(p->def->plan) != plan_since(def->plan) ||
	                                 plan_begin(p->def->plan) != plan_begin(def->plan));
	task_ref(def);
	task_unref(p->def);
	p->def = def;
	if (row->online_from > INT64_MIN && through < row->online_from - 1)
		through = row->online_from - 1;
	/* A new version counts from what the ledger has; what is under way by the old one is
	 * refused, or in both. */
	if (through < p->through && !is_new_version)
		through = p->through;
	p->through = through;
	p->online = row->state == TS_ONLINE && !row->quarantined_us;
	p->next = p->online ? plan_next(def->plan, through) : PLAN_NEVER;
	CHECK(p->next > p->through || p->next == PLAN_NEVER); /* no date twice */
	if (p->next != PLAN_NEVER)
		p->keep_from = instantiator_keeps_from(def, def->plan, p->next, missed);
	arm(in, p);
}

/* The next date is of a time when the task was offline: nobody made it then. */
static bool was_off(const struct planned *p)
{
	return p->next < plan_off_until(p->def->plan);
}

/* More dates than have rows of their own are left out in one go: one record for all of them. */
static bool leave_out(struct instantiator *in, struct planned *p)
{
	const struct plan *plan = p->def->plan;
	struct inst_key key = { p->next, p->def->id, 0 };
	bool off = was_off(p);
	int64_t until = off ? plan_off_until(plan) : p->keep_from;

	if (p->next >= until || plan_count(plan, p->next, until, in->rows_max + 1) <= in->rows_max)
		return false;
	struct proposal *q = outbox_add(&in->out, ASK_LEAVE_OUT, key);
	q->last = plan_prev(plan, until);
	CHECK(q->last >= key.run_date);
	q->reason = off ? RE_OFFLINE : RE_CATCHUP;
	q->due = plan_since(plan);
	p->through = q->last;
	p->next = plan_next(plan, q->last);
	arm(in, p);
	return true;
}

/* It came due while this thread stood still. */
static void judge_late(const struct instantiator *in, struct planned *p)
{
	int64_t due_us = p->node.key;

	if (due_us <= in->missed_from_us || due_us >= in->missed_until_us ||
	    p->judged_us >= in->missed_until_us)
		return;
	p->keep_from = instantiator_keeps_from(p->def, p->def->plan, p->next,
	                                       (in->missed_until_us - 1) / US_PER_S);
	p->judged_us = in->missed_until_us;
}

static void create(struct instantiator *in, struct planned *p)
{
	struct inst_key key = { p->next, p->def->id, 0 };
	CHECK(p->online && !p->is_held && p->next != PLAN_NEVER);
	judge_late(in, p);
	bool off = was_off(p), skip = off || p->next < p->keep_from;
	if (leave_out(in, p))
		return;
	struct proposal *q = outbox_add(&in->out, skip ? ASK_SKIP_DATE : ASK_CREATE, key);

	q->due = p->node.key / US_PER_S;
	q->origin = OR_CYCLE;
	q->reason = off ? RE_OFFLINE : skip ? RE_CATCHUP : RE_DUE;
	q->plan = true;
	log_debug("instantiator.create", "instance=%u.%" PRId64 " due=%" PRId64 " why=%s", key.task,
	          key.run_date, q->due, skip ? "missed" : "due");
	p->through = p->next;
	p->next = plan_next(p->def->plan, p->next);
	CHECK(p->next > p->through);
	arm(in, p);
}

static void instantiator_fold(struct instantiator *in)
{
	for (const struct transition *tr; (tr = stream_peek(in->in)); stream_next(in->in)) {
		const struct task_pack *p = tr->kind == TK_TASK ? tr->row : NULL;
		for (size_t i = 0; p && i < p->n; i++)
			schedule(in, p->items[i].def, &p->items[i].row,
			         actor_wall_us(in->me) / US_PER_S - INSTANTIATOR_MISSED_AFTER_S);
		if (tr->kind == TK_TURN)
			turn_came(in, tr);
	}
}

/* The clock as this round finds it. That this thread stood still is told by the time that passed,
 * not by the wall clock: that may be set. What is late to be made, but was seen in time, is not
 * missed. */
static void instantiator_see(struct instantiator *in)
{
	int64_t late_us = actor_mono_us(in->me) - in->look_by_us;
	int64_t now = actor_wall_us(in->me);

	if (late_us <= MISSED_US)
		return;
	in->missed_from_us = now - late_us;
	in->missed_until_us = now - MISSED_US;
}

static void look_again(struct instantiator *in, int64_t wait_us)
{
	in->look_by_us = actor_mono_us(in->me) + wait_us;
	actor_alarm(in->me, in->look_by_us);
}

static void create_due(struct instantiator *in)
{
	int64_t now = actor_wall_us(in->me);
	struct heap_node *top;

	while ((top = heap_top(&in->times)) && top->key <= now) {
		if (outbox_room(&in->out) == 0)
			return look_again(in, BUSY_RECHECK_US); /* or the letter of answers */
		create(in, (struct planned *)top);
	}
	if (top) {
		int64_t wait = top->key - now;
		return look_again(in, wait < WALL_RECHECK_US ? wait : WALL_RECHECK_US);
	}
	in->look_by_us = INT64_MAX;
	actor_alarm(in->me, ALARM_OFF);
}

static void instantiator_turn(void *self)
{
	struct instantiator *in = self;

	instantiator_see(in);
	instantiator_fold(in);
	create_due(in);
	outbox_flush(&in->out);
}

/* The task was taken offline or planned anew meanwhile, or nobody knows yet what the date is to be
 * judged by: it is not made. */
static void instantiator_refused(struct instantiator *in, const struct answer *a)
{
	struct planned *p = instantiator_place(in, a->key.task);

	if (!p->def || a->key.run_date > p->through)
		return;
	p->through = a->key.run_date - 1;
	if (!p->online)
		return;
	p->next = plan_next(p->def->plan, p->through);
	/* Its turn may have come, and been folded, before this answer was read. */
	if (a->code == E_LIMIT && a->number >= in->turn_number)
		instantiator_hold(in, p);
	else if (!p->is_held)
		arm(in, p);
}

static void instantiator_answered(struct letter *letter, void *self)
{
	struct instantiator *in = self;
	struct answers *as = (struct answers *)letter;

	outbox_settled(&in->out, as);
	for (size_t i = 0; i < as->n; i++)
		if (as->a[i].code == E_CONFLICT || as->a[i].code == E_LIMIT)
			instantiator_refused(in, &as->a[i]);
	free(as);
}

static const struct actor_ops ops = { .name = "instantiator",
	                              .letters_max = 65536,
	                              .turn = instantiator_turn };

static void load_task(void *ctx, const struct ledger_task *t)
{
	struct instantiator *in = ctx;

	/* What came due while nobody led was missed, however short that was. */
	schedule(in, t->def, t->row, actor_wall_us(in->me) / US_PER_S);
}

struct instantiator *instantiator_new(struct thread *th, struct ledger *ledger)
{
	struct instantiator *in = mem_new(sizeof *in);

	in->ledger = ledger;
	in->rows_max = INSTANTIATOR_ROWS_MAX;
	heap_init(&in->times);
	map_init(&in->held);
	in->me = actor_new(th, &ops, in);
	in->look_by_us = actor_mono_us(in->me);
	in->missed_from_us = in->missed_until_us = INT64_MIN;
	in->in = stream_reader_new(ledger_stream(ledger), STREAM_INNER, in->me);
	in->out = (struct outbox){ .ledger = ledger,
		                   .me = in->me,
		                   .from = PR_INSTANTIATOR,
		                   .answered = instantiator_answered };
	ledger_each_task(ledger, load_task, in);
	return in;
}

void instantiator_free(struct instantiator *in)
{
	if (!in)
		return;
	for (size_t b = 0; b < in->n_blocks; b++) {
		for (size_t i = 0; in->blocks[b] && i < BLOCK; i++)
			task_unref(in->blocks[b][i].def);
		free(in->blocks[b]);
	}
	heap_done(&in->times);
	map_done(&in->held);
	outbox_done(&in->out);
	free(in->blocks);
	free(in);
}

void instantiator_set_rows_max(struct instantiator *in, int64_t dates)
{
	in->rows_max = dates;
}

size_t instantiator_scheduled(const struct instantiator *in)
{
	return in->times.len;
}
