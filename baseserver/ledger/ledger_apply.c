/* One change of one instance, in memory and as a record of the stream.
 *
 * Every change of a row passes ledger__change(), so that all that is derived from rows moves with
 * it: the task's outcomes, slots and count of unfinished rows, the pools, the flow that `overlap`
 * judges, the list of parts. The row and the record carry the same number; the row is marked for
 * the next commit. When a finished instance changes again, the barrier of its task and of the
 * children rises: the ledger returns proposals to start them that were made on older news. The
 * caller has made sure that the event is allowed; here that is a CHECK. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "sched/civil.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

static void count_slot(struct ltask *t, const struct instance *i, enum state from)
{
	int d = (int)inst_holds_slot(i, (enum state)i->state) - (int)inst_holds_slot(i, from);

	if (d != 0)
		ledger__count_slots(t, d);
}

/* Part 0 only: parts and test runs satisfy nobody. */
static void keep_outcome(struct ltask *t, const struct instance *i, enum state from)
{
	const struct plan *plan = t->def ? t->def->plan : NULL;

	if (i->key.part != 0)
		return;
	if (state_final((enum state)i->state))
		outcomes_set(&t->outcomes, plan, i->key.run_date, i->generation, i->state,
		             i->reason);
	else if (state_final(from))
		outcomes_clear(&t->outcomes, plan, i->key.run_date);
}

/* An instance belongs to the command that created, reopened or ended it. Commands that only change
 * how it waits (freeze, priority, run now) do not take it over: pause, cancel and parallel count on
 * this. */
static bool adopts(enum state from, enum state to, enum event ev, enum kill_intent intent)
{
	return from == ST_NONE || state_final(from) || state_final(to) || ev == EV_REDO ||
	       ((ev == EV_KILL || ev == EV_INTENT) && intent == KI_REDO);
}

/* Outputs count with success only, digests with what ended badly; parameters with whatever
 * (re)starts the instance. */
static bool takes_data(struct instance *i, enum state to, uint8_t kind)
{
	if (kind == ID_OUTPUTS)
		return to == ST_SUCC;
	if (kind == ID_FAILURE)
		return to == ST_FAILED || to == ST_STOP || to == ST_KILLED;
	if (kind == ID_NEXT)
		return true;
	i->flags |= IF_PARAMS;
	return true;
}

/* As ledger__fetch() made it, it has no row; from now on it has. */
static void take_from_range(struct ledger *l, struct instance *i)
{
	CHECK(i->marks & EM_HISTORY && i->key.part == 0);
	l->taken = mem_room(l->taken, &l->taken_cap, l->n_taken + 1, sizeof *l->taken);
	l->taken[l->n_taken++] = (struct store_taken){ .number = i->last_number, .dates = 1 };
	i->marks &= (uint8_t) ~(EM_RANGE | EM_HISTORY);
}

/* History has the first look of a sensor and its end; those between are counted. What people did
 * to it meanwhile, and what went wrong, it has all the same. */
static bool is_between_looks(const struct instance *i, enum event ev, const struct proposal *p)
{
	bool is_look = ev == EV_SATISFY || ev == EV_GRANT || ev == EV_STARTED || ev == EV_LOOK;

	return is_look && i->flags & IF_LOOKS && i->state != ST_HANGED &&
	       !(p && (p->data || p->cause));
}

/* Whether what follows is one more look, and where history goes on. */
static void follow_look(struct instance *i, const struct transition *tr)
{
	enum event ev = (enum event)tr->event;

	if (!tr->left_out)
		i->kept = 0;
	else if (!i->kept)
		i->kept = i->last_number;
	if (ev == EV_LOOK) {
		i->looks += i->looks < UINT32_MAX;
		i->flags |= IF_LOOKS;
	} else if (ev == EV_FAIL_RETRY || ev == EV_DEAD_RETRY || ev == EV_WITHDRAW ||
	           state_final((enum state)tr->to)) {
		i->flags &= (uint16_t)~IF_LOOKS;
	}
}

/* How often it looked, behind what else is told of its end. */
static char *looks_note(const struct ledger *l, const struct instance *i, enum event ev, char *note)
{
	uint32_t n = i->looks + (ev == EV_EXIT_OK || ev == EV_FAIL_FINAL);
	char at[WHEN_TEXT], until[WHEN_TEXT + 32] = "";

	when_print(floor_div(l->now_us, US_PER_S), at);
	if (ev != EV_EXIT_OK)
		snprintf(until, sizeof until, " until %s, never yet", at);
	char *all = mem_fmt("%s%slooked %" PRIu32 " time%s%s", note ? note : "", note ? "; " : "",
	                    n, n == 1 ? "" : "s", until);
	free(note);
	return all;
}

static void take_from_proposal(struct instance *i, struct proposal *p, struct transition *tr)
{
	enum state from = (enum state)tr->from, to = (enum state)tr->to;

	tr->note = p->note;
	p->note = NULL;
	if (p->data && takes_data(i, to, p->data_kind)) {
		tr->data = p->data;
		tr->data_kind = p->data_kind == ID_PARAMS && from == ST_NONE ? ID_OWN
		                                                             : p->data_kind;
		p->data = NULL;
	}
	tr->session = p->session;
	tr->lane = p->lane;
	tr->machine = p->machine;
	tr->keeps_proofs = p->keeps_proofs;
	tr->ref = p->body ? task_ref(p->body) : NULL;
	tr->cause = p->cause;
	if (p->cause && adopts(from, to, (enum event)tr->event, (enum kill_intent)i->intent))
		i->cause = p->cause;
}

uint64_t ledger__change(struct ledger *l, uint32_t index, enum event ev, enum reason reason,
                        struct proposal *p)
{
	struct instance *i = &table_at(&l->table, index)->inst;
	enum state from = (enum state)i->state, to = fsm_next(from, ev);
	struct ltask *t = ledger__task_of(l, i->key.task);
	struct transition tr = { .kind = TK_INSTANCE,
		                 .event = (uint8_t)ev,
		                 .from = (uint8_t)from,
		                 .to = (uint8_t)to,
		                 .reason = (uint8_t)reason,
		                 .prev = inst_chain(i),
		                 .left_out = is_between_looks(i, ev, p),
		                 .slot = index };

	CHECK(t && to != ST_NONE && i->slot == index);
	CHECK(ev != EV_GRANT || i->token); /* its fence */
	if (i->marks & EM_RANGE)
		take_from_range(l, i);
	if (i->former && to != ST_READY && to != ST_DEPEND) { /* it goes another way */
		*i = instance_now(i);
		i->former = 0;
	}
	follow_look(i, &tr);
	i->state = (uint8_t)to;
	i->revision++;
	if (to != from || ev == EV_REDO) {
		i->reason = (uint8_t)reason;
		i->flags &= (uint16_t)~IF_NOTIFIED;
	}
	if (p)
		take_from_proposal(i, p, &tr);
	if (state_final(to) && !state_final(from) && i->ended_us == 0)
		i->ended_us = l->now_us;
	if (state_final(to) && !state_final(from) && i->looks)
		tr.note = looks_note(l, i, ev, tr.note);
	i->last_number = stream_last(l->stream) + 1;
	count_slot(t, i, from);
	if (i->key.part == 0)
		t->unfinished += (int)!state_final(to) -
		                 (int)(from != ST_NONE && !state_final(from));
	CHECK(t->unfinished >= 0);
	keep_outcome(t, i, from);
	tr.inst = *i;
	tr.inst.marks = 0;
	ledger__touch(l, index);
	uint64_t number = ledger__publish(l, &tr);
	ledger__measure(l, i, ev, reason);
	ledger__flow_changed(l, t, i);
	if (ev == EV_NOTIFIED) /* nothing came of it for anybody */
		return number;
	if (i->key.part > 0 || (t->def && task_spreads(t->def)) || i->flags & IF_SPREAD)
		ledger__parts_changed(l, t, i, from);
	/* A redo takes back what a parent gave, as does a forced failure: no child starts on
	 * old news. */
	if (state_final(from) && i->key.part == 0)
		ledger__raise_barrier(l, t, number);
	return number;
}

/* Reopened: not before it is due at all. (design: SEMANTICS section 1, "Effective due".) */
static void due_again(const struct ledger *l, struct instance *i)
{
	i->eff_due_us = l->now_us > i->due * 1000000 ? l->now_us : i->due * 1000000;
}

/* Run at once, then skipped: it waits for its links like any other. */
void ledger__reset_for_reopen(const struct ledger *l, struct instance *i)
{
	CHECK(i->state == ST_SKIPPED);
	i->ended_us = 0;
	/* Skipped while a retry was due: it begins anew, with what is in force. */
	i->attempt = 0;
	i->looks = 0;
	if (!(i->flags & IF_SPREAD))
		i->infra = 0;
	i->flags &= (uint16_t) ~(IF_RUN_NOW | IF_LOOKS);
	due_again(l, i);
}

void ledger__reset_for_redo(struct ledger *l, struct instance *i)
{
	i->generation++;
	i->attempt = 0;
	i->looks = 0;
	if (!(i->flags & IF_SPREAD))
		i->infra = 0;
	i->exit_code = 0;
	i->started_us = i->ended_us = i->retry_at_us = 0;
	i->intent = KI_NONE;
	i->flags &= (uint16_t) ~(IF_FORCED | IF_DRY | IF_RUN_NOW | IF_STARTED | IF_KEEP | IF_MEND |
	                         IF_NEXT | IF_LOOKS);
	due_again(l, i);
}
