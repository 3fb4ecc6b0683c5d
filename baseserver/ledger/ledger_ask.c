/* One function per kind of proposal, chosen by a table. Each checks the proposal against
 * the instance as it is now; what it refuses changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger_impl.h"
#include "sched/attempt.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

struct asked {
	struct ledger *l;
	struct ltask *t;
	struct entry *e; /* NULL: no row */
	uint32_t index;
	struct proposal *p;
};

static uint64_t ask_change(struct asked *a, enum event ev, enum reason reason)
{
	return ledger__change(a->l, a->index, ev, reason, a->p);
}

/* The row, from history if it has ended. E_NOT_FOUND: there is none; others: nobody knows. */
static int ask_fetch(struct asked *a)
{
	int r = a->e ? 0 : ledger__fetch(a->l, a->p->key, &a->index);

	if (r == 0)
		a->e = table_at(&a->l->table, a->index);
	return r;
}

static int finished_before(const struct asked *a)
{
	int64_t at = a->p->key.run_date;
	const struct outcome_range *o = outcomes_find(&a->t->outcomes, at);
	struct instance was;

	if (a->p->key.part == 0 && !o)
		return E_NOT_FOUND;
	/* Between two dates of a range may be one that was not planned, or nothing. */
	bool sure = a->p->key.part == 0 &&
	            (at == o->lo || at == o->hi || !a->t->def || plan_has(a->t->def->plan, at));
	return sure ? 0 : ledger__find_done(a->l, a->p->key, &was);
}

/* The code for what is asked of a row that is not unfinished. */
static int not_open(const struct asked *a)
{
	int r = finished_before(a);

	return r == 0 ? E_CONFLICT : r;
}

/* False: it may be made. True: with this answer it is settled. */
static bool exists(const struct asked *a, int *ret_code)
{
	int r = a->e ? 0 : finished_before(a);

	if (r == E_NOT_FOUND)
		return false;
	*ret_code = r < 0 ? r : a->p->plan ? 0 : E_EXISTS;
	return true;
}

static void move_plan(struct asked *a)
{
	if (!a->p->plan || a->p->key.run_date <= a->t->row.planned_through)
		return;
	a->t->row.planned_through = a->p->key.run_date;
	ledger__touch_task(a->l, a->t);
}

static void add_row(struct asked *a)
{
	struct ledger *l = a->l;
	int64_t due_us = a->p->due * 1000000;

	CHECK(!a->e && a->t->row.id == a->p->key.task);
	a->e = table_add(&l->table, a->p->key, &a->index);
	struct instance *i = &a->e->inst;
	i->due = a->p->due;
	i->created_us = l->now_us;
	i->eff_due_us = due_us > l->now_us ? due_us : l->now_us;
	i->generation = 1;
	i->version = a->p->version ? a->p->version : a->t->row.version;
	i->flags = a->p->flags;
	i->origin = a->p->origin;
	i->priority = a->p->priority ? a->p->priority
	                             : (uint8_t)(a->t->def ? a->t->def->priority : 5);
}

/* Proposed before its task went out of force, or was planned anew. */
static bool out_of_force(const struct asked *a)
{
	return a->p->plan && (a->t->row.state != TS_ONLINE ||
	                      (a->t->def && !plan_has(a->t->def->plan, a->p->key.run_date)));
}

/* Test runs have the parts -1, -2 ...: the next one that is free. */
static void next_part(struct asked *a)
{
	while (a->p->key.part < 0 && (a->e || finished_before(a) == 0)) {
		a->p->key.part--;
		a->e = table_find(&a->l->table, a->p->key, &a->index);
	}
}

/* What came before it is killed, as many as the letter has room for. What ends at once leaves the
 * flow: first who, then the kills. */
static void ask_replace(const struct asked *a)
{
	struct ledger *l = a->l;
	uint32_t *older;
	size_t n = ledger__older(l, a->t, a->p->key.run_date, &older);

	for (size_t k = 0; k < n && l->flows.may_kill > 0; k++, l->flows.may_kill--) {
		struct proposal p = { .ask = ASK_KILL,
			              .key = table_at(&l->table, older[k])->inst.key,
			              .intent = KI_REPLACE,
			              .reason = RE_REPLACED,
			              .note = ledger__name_date(l, a->t, a->p->key) };
		uint64_t number;
		ledger__ask(l, &p, &number);
		free(p.note); /* nothing came of it */
	}
	free(older);
}

static int on_create(struct asked *a, uint64_t *ret_number)
{
	if (out_of_force(a))
		return E_CONFLICT;
	if (a->p->plan && ledger__is_early(a->l, a->t, a->p, a->e != NULL, ret_number))
		return E_LIMIT;
	move_plan(a);
	next_part(a);
	int code;
	if (exists(a, &code))
		return code;
	if (!a->t->def || a->p->key.part > 0)
		return E_NOT_FOUND;
	bool overlaps = a->p->plan && ledger__overlaps(a->l, a->t, a->p);
	if (overlaps)
		a->p->note = ledger__overlap_note(a->l, a->t, a->p);
	add_row(a);
	if (overlaps) {
		*ret_number = ask_change(a, EV_CREATE_SKIP, RE_OVERLAP);
		return 0;
	}
	*ret_number = ask_change(a, a->p->key.part < 0 ? EV_CREATE_ROUGH : EV_CREATE,
	                         (enum reason)a->p->reason);
	if (a->p->plan)
		ask_replace(a);
	return 0;
}

static int on_skip_date(struct asked *a, uint64_t *ret_number)
{
	if (out_of_force(a))
		return E_CONFLICT;
	ledger__not_early(a->t, a->p);
	move_plan(a);
	int code;
	if (exists(a, &code))
		return code;
	add_row(a);
	*ret_number = ask_change(a, EV_CREATE_SKIP, (enum reason)a->p->reason);
	return 0;
}

static int on_leave_out(struct asked *a, uint64_t *ret_number)
{
	ledger__not_early(a->t, a->p);
	return ledger__leave_out(a->l, a->t, a->p, ret_number);
}

static int ask_step(struct asked *a, enum event ev, enum reason reason, uint64_t *ret_number)
{
	if (!a->e)
		return E_NOT_FOUND;
	if (fsm_next((enum state)a->e->inst.state, ev) == ST_NONE)
		return E_CONFLICT;
	*ret_number = ask_change(a, ev, reason);
	return 0;
}

static int on_force(struct asked *a, uint64_t *ret_number)
{
	int r = ask_fetch(a);

	if (r == E_NOT_FOUND) {
		if (a->p->key.part > 0)
			return E_NOT_FOUND;
		add_row(a);
		a->e->inst.flags |= IF_FORCED;
		*ret_number = ask_change(a, EV_CREATE_FORCE, RE_FORCED);
		return 0;
	}
	if (r < 0)
		return r;
	if (a->e->inst.state == ST_SUCC)
		return 0;
	if (fsm_next((enum state)a->e->inst.state, EV_FORCE) == ST_NONE)
		return E_CONFLICT;
	a->e->inst.flags |= IF_FORCED;
	a->e->inst.exit_code = 0;
	return ask_step(a, EV_FORCE, RE_FORCED, ret_number);
}

/* Does it succeed without a job? A test run tries its job all the same. What is frozen waits. */
static bool is_dry(const struct asked *a)
{
	const struct instance *i = &a->e->inst;

	return i->key.part == 0 && !a->t->row.frozen && !(i->flags & IF_FROZEN) &&
	       (i->flags & IF_DRY || (a->t->def && a->t->def->dry_run));
}

static int ask_dry(struct asked *a, uint64_t *ret_number)
{
	a->e->inst.flags |= IF_DRY;
	return ask_step(a, EV_DRY, RE_DRYRUN, ret_number);
}

static int on_satisfy(struct asked *a, uint64_t *ret_number)
{
	if (a->p->folded < a->t->barrier)
		return E_BARRIER;
	if (a->e && a->e->inst.state == ST_READY && ledger__awaits_turn(a->l, a->t, &a->e->inst)) {
		ledger__hold_turn(a->l, a->t, &a->e->inst);
		*ret_number = stream_last(a->l->stream);
		return E_LIMIT;
	}
	if (a->e && (a->p->dry || (a->e->inst.state == ST_READY && is_dry(a))))
		return ask_dry(a, ret_number);
	return ask_step(a, EV_SATISFY, RE_NONE, ret_number);
}

static int on_withdraw(struct asked *a, uint64_t *ret_number)
{
	return ask_step(a, EV_WITHDRAW, RE_PARENT, ret_number);
}

static int on_skip(struct asked *a, uint64_t *ret_number)
{
	if ((a->p->reason == RE_LINK || a->p->reason == RE_PIPELINE) &&
	    a->p->folded < a->t->barrier)
		return E_BARRIER; /* the parent may have reopened */
	return ask_step(a, EV_SKIP, (enum reason)a->p->reason, ret_number);
}

static int on_expire(struct asked *a, uint64_t *ret_number)
{
	return ask_step(a, EV_EXPIRE, RE_EXPIRED, ret_number);
}

/* An earlier date was begun anew since it was satisfied: it waits once more. */
static int no_turn(struct asked *a, uint64_t *ret_number)
{
	ask_step(a, EV_WITHDRAW, RE_OVERLAP, ret_number);
	return E_REVISION;
}

static int on_grant(struct asked *a, uint64_t *ret_number)
{
	if (!a->e)
		return E_NOT_FOUND;
	struct instance *i = &a->e->inst;
	if (fsm_next((enum state)i->state, EV_GRANT) == ST_NONE)
		return E_CONFLICT;
	int r = ledger__gates_closed(a->l, a->t, i, a->p);
	if (r < 0)
		return r;
	if (ledger__awaits_turn(a->l, a->t, i))
		return no_turn(a, ret_number);
	if (is_dry(a)) { /* it was frozen, or saved anew, when its links were met */
		r = ask_dry(a, ret_number);
		return r < 0 ? r : E_CONFLICT;
	}
	if (i->flags & IF_SPREAD) { /* it was, by a former definition */
		i->flags &= (uint16_t)~IF_SPREAD;
		i->infra = 0;
	}
	if (!ledger__bind(a->l, a->t, i, a->p)) { /* it ran with that, or with nothing */
		r = ask_step(a, EV_KILL, RE_EDIT, ret_number);
		return r < 0 ? r : E_CONFLICT;
	}
	CHECK(a->l->next_token >> 40 == a->l->epoch); /* larger than those of all before */
	i->attempt++;
	i->token = a->l->next_token++;
	i->broker = a->p->broker;
	i->former = 0;
	i->grace_ms = 0;
	i->started_us = i->ended_us = 0;
	i->retry_at_us = 0;
	i->intent = KI_NONE;
	i->flags &= (uint16_t) ~(IF_STARTED | IF_PROBE);
	i->flags |= a->p->probe ? IF_PROBE : 0;
	i->exit_code = 0;
	return ask_step(a, EV_GRANT, RE_NONE, ret_number);
}

static int on_spread(struct asked *a, uint64_t *ret_number)
{
	const struct task *d = a->t->def;

	if (!a->e)
		return E_NOT_FOUND;
	if (a->p->folded < a->t->barrier)
		return E_BARRIER;
	const struct instance *i = &a->e->inst;
	if (i->state != ST_DEPEND || i->key.part != 0 || !d || !task_spreads(d) || d->n_machines ||
	    !task_starts(a->t->row.state) || a->t->row.frozen || i->flags & IF_FROZEN ||
	    a->p->n_brokers == 0)
		return E_CONFLICT;
	if (ledger__awaits_turn(a->l, a->t, i))
		return no_turn(a, ret_number);
	uint64_t next = stream_last(a->l->stream) + 1;
	int r = ledger__spread(a->l, a->index, a->p->brokers, a->p->n_brokers);
	if (r == 0)
		*ret_number = next;
	return r;
}

static bool stale(const struct asked *a)
{
	return !a->e || a->e->inst.token != a->p->token;
}

static int on_started(struct asked *a, uint64_t *ret_number)
{
	if (stale(a) || !state_holds_slot((enum state)a->e->inst.state))
		return E_STALE;
	struct instance *i = &a->e->inst;
	ledger__heard(a->l, a->t, i);
	if (i->flags & IF_STARTED)
		return 0;
	i->flags |= IF_STARTED;
	i->started_us = a->p->at_us ? a->p->at_us : a->l->now_us;
	return ask_step(a, EV_STARTED, RE_NONE, ret_number);
}

/* A job that is over before its start was told is reported once, by its end. */
static void ask_begun(struct instance *i, int64_t begun_us)
{
	if (i->flags & IF_STARTED || begun_us <= 0)
		return;
	i->flags |= IF_STARTED;
	i->started_us = begun_us;
}

static int on_ended(struct asked *a, uint64_t *ret_number)
{
	static const struct task nothing = { .max_attempts = 1 };

	if (stale(a))
		return E_STALE;
	struct instance *i = &a->e->inst;
	const struct task *body = ledger_body(a->l, i);
	struct attempt_verdict v = attempt_judge(body ? body : &nothing, i,
	                                         (enum attempt_end)a->p->end,
	                                         (enum reason)a->p->reason, a->p->wait_us);
	if (v.event == EV_NONE)
		return E_STALE;
	if (v.event == EV_EXIT_OK && !ledger__branch_ready(a->l, a->t, a->p))
		return E_AGAIN;
	if (!v.burns) {
		i->attempt = (uint16_t)(i->attempt > 0 ? i->attempt - 1 : 0);
		i->infra += v.infra;
	}
	ask_begun(i, a->p->begun_us);
	i->exit_code = a->p->exit_code;
	i->ended_us = a->p->at_us ? a->p->at_us : a->l->now_us;
	if (v.event == EV_LOOK) { /* nothing of it runs, and nothing has ended */
		i->started_us = i->ended_us = 0;
		i->flags &= (uint16_t)~IF_STARTED;
	}
	if (v.event == EV_FAIL_RETRY || v.event == EV_DEAD_RETRY || v.event == EV_LOOK)
		i->retry_at_us = a->l->now_us + v.retry_after_us;
	if (v.event == EV_DEAD_REDO) {
		ledger__take_next(a->l, i, a->p);
		ledger__reset_for_redo(a->l, i);
	}
	if (v.event != EV_EXIT_OK)
		return ask_step(a, v.event, v.reason, ret_number);
	if (a->p->branch && !a->p->note)
		a->p->note = ledger__branch_note(a->l, a->t, a->p->branch);
	int r = ask_step(a, v.event, v.reason, ret_number);
	if (r == 0)
		ledger__branch(a->l, a->t, a->p);
	return r;
}

static int on_kill(struct asked *a, uint64_t *ret_number)
{
	if (!a->e)
		return not_open(a);
	struct instance *i = &a->e->inst;
	bool started = state_holds_slot((enum state)i->state);
	if (!started && kill_rank(a->p->intent) < kill_rank(KI_REPLACE))
		return E_CONFLICT;
	if (started && a->p->grace_ms)
		i->grace_ms = a->p->grace_ms;
	if (i->state == ST_RUNNING || !started) {
		i->intent = started ? a->p->intent : KI_NONE;
		return ask_step(a, EV_KILL, (enum reason)a->p->reason, ret_number);
	}
	/* Being killed already: the intent only ever grows. */
	if (kill_rank(a->p->intent) <= kill_rank(i->intent))
		return 0;
	i->intent = a->p->intent;
	return ask_step(a, EV_INTENT, (enum reason)a->p->reason, ret_number);
}

static int on_kill_ack(struct asked *a, uint64_t *ret_number)
{
	if (stale(a))
		return E_STALE;
	ledger__heard(a->l, a->t, &a->e->inst);
	return a->e->inst.state == ST_KILLING ? 0 : ask_step(a, EV_KILL_ACK, RE_NONE, ret_number);
}

static int on_held(struct asked *a, uint64_t *ret_number)
{
	(void)ret_number;
	if (stale(a))
		return E_STALE;
	ledger__heard(a->l, a->t, &a->e->inst);
	return 0;
}

static int on_hang(struct asked *a, uint64_t *ret_number)
{
	if (stale(a))
		return E_STALE;
	return a->e->inst.state == ST_HANGED ? 0 : ask_step(a, EV_HANG, RE_UNKILLABLE, ret_number);
}

static int on_retry(struct asked *a, uint64_t *ret_number)
{
	bool looks = a->e && inst_looks_again(&a->e->inst);

	return ask_step(a, looks ? EV_SATISFY : EV_RETRY, RE_NONE, ret_number);
}

/* Replace the flags that a redo sets. A running attempt keeps its own; the new flags count from the
 * next grant. */
static void flags_asked(struct asked *a)
{
	struct instance *i = &a->e->inst;

	bool member = i->flags & IF_MEMBER;
	i->flags &= (uint16_t) ~(IF_OLD_BODY | IF_NO_LINKS | IF_MEMBER);
	i->flags |= a->p->flags;
	/* A run that a person began alone has no order to keep, also when it is redone. */
	if (!member && i->origin < OR_BACKFILL && a->p->origin < OR_BACKFILL)
		i->flags &= (uint16_t)~IF_MEMBER;
}

/* Once more as it ran: with a definition that is still to be had, by the same kind of runner. */
static int old_body(const struct asked *a)
{
	const struct task *d = a->t->def, *was;

	bool bound = a->p->flags & IF_OLD_BODY || version_is_draft(a->e->inst.version);
	if (!bound || !d || a->e->inst.version == d->version)
		return 0;
	was = ledger__version(a->l, a->t, a->e->inst.version);
	if (!was && ledger_awaits_rows(a->l))
		return E_AGAIN;
	return !was ? E_BODY_GONE : strcmp(was->type, d->type) != 0 ? E_BODY_TYPE : 0;
}

static int redo_running(struct asked *a, uint64_t *ret_number)
{
	if (!a->p->kill_running)
		return E_CONFLICT;
	flags_asked(a);
	if (a->p->priority)
		a->e->inst.priority = a->p->priority;
	struct instance *i = &a->e->inst;
	bool dying = i->state == ST_WAITKILL || i->state == ST_KILLING;
	a->p->intent = KI_REDO;
	a->p->reason = RE_REDO;
	if (i->state == ST_RUNNING || (dying && kill_rank(i->intent) <= kill_rank(KI_REDO)))
		ledger__keep_next(a->l, i, a->p);
	if (dying && i->intent == KI_REDO && a->p->data) /* asked once more, with others */
		return ask_step(a, EV_INTENT, RE_REDO, ret_number);
	return on_kill(a, ret_number);
}

static int on_redo(struct asked *a, uint64_t *ret_number)
{
	int r = ask_fetch(a);

	if (r < 0)
		return r;
	struct instance *i = &a->e->inst;
	if (i->key.part > 0 && a->p->cause && i->cause == a->p->cause)
		return 0; /* this command began it anew with its whole; it may be over since */
	r = old_body(a);
	if (r < 0)
		return r;
	if (state_holds_slot((enum state)i->state))
		return redo_running(a, ret_number);
	bool waits = i->state == ST_READY && !inst_looks_again(i);
	if (waits || fsm_next((enum state)i->state, EV_REDO) == ST_NONE)
		return 0; /* unfinished and not running: it will run anyway */
	if (i->key.part > 0) {
		r = ledger__fetch_whole(a->l, i->key);
		if (r != 0)
			return r < 0 ? r : 0; /* it will run anyway, with all of them */
	}
	/* Another run of that date: what the one before was given goes. */
	if (a->p->data_kind == ID_OWN && !a->p->data && i->flags & IF_PARAMS)
		a->p->data = mem_str("{}");
	bool mend = a->p->mend && i->flags & IF_SPREAD;
	uint8_t former = state_final((enum state)i->state)
	                         ? instance_former_pack((enum state)i->state,
	                                                (enum reason)i->reason)
	                         : 0;
	struct instance was = *i;
	ledger__reset_for_redo(a->l, i);
	i->former = former;
	if (former) {
		i->started_us = was.started_us;
		i->ended_us = was.ended_us;
		i->exit_code = was.exit_code;
		i->former_attempt = was.attempt;
	}
	flags_asked(a);
	if (mend)
		i->flags |= IF_KEEP | IF_MEND;
	if (a->p->priority)
		i->priority = a->p->priority;
	r = ask_step(a, EV_REDO, RE_REDO, ret_number);
	if (r == 0 && i->key.part > 0)
		ledger__whole_again(a->l, i->key, a->p->cause);
	return r;
}

static int on_reopen(struct asked *a, uint64_t *ret_number)
{
	int r = ask_fetch(a);

	if (r < 0)
		return r;
	const struct instance *i = &a->e->inst;
	if (i->state != ST_SKIPPED || (i->reason != RE_LINK && i->reason != RE_PIPELINE))
		return E_CONFLICT; /* skipped for a reason of its own */
	ledger__reset_for_reopen(a->l, &a->e->inst);
	return ask_step(a, EV_REOPEN, RE_PARENT, ret_number);
}

static enum event restores(enum state st)
{
	return st == ST_SUCC     ? EV_RESTORE_SUCC
	       : st == ST_STOP   ? EV_RESTORE_STOP
	       : st == ST_KILLED ? EV_RESTORE_KILLED
	                         : EV_RESTORE_SKIPPED;
}

static int on_cancel(struct asked *a, uint64_t *ret_number)
{
	enum state st;
	enum reason re;

	if (!a->e)
		return E_NOT_FOUND;
	if (!a->e->inst.former)
		return ask_step(a, EV_SKIP, RE_CANCELLED, ret_number);
	instance_former(a->e->inst.former, &st, &re);
	a->e->inst.former = 0;
	a->e->inst.attempt = (uint16_t)a->e->inst.former_attempt;
	a->e->inst.retry_at_us = 0;
	return ask_step(a, restores(st), re, ret_number);
}

static int on_declare(struct asked *a, uint64_t *ret_number)
{
	return ask_step(a, EV_DECLARE, RE_USER, ret_number);
}

static int on_freeze(struct asked *a, uint64_t *ret_number)
{
	bool freeze = a->p->ask == ASK_FREEZE;

	if (!a->e || state_final((enum state)a->e->inst.state))
		return not_open(a);
	if (a->p->key.part > 0)
		return E_CONFLICT; /* as the whole */
	struct instance *i = &a->e->inst;
	if (((i->flags & IF_FROZEN) != 0) == freeze)
		return 0;
	i->flags ^= IF_FROZEN;
	if (!freeze && i->eff_due_us < a->l->now_us)
		i->eff_due_us = a->l->now_us;
	return ask_step(a, freeze ? EV_FREEZE : EV_UNFREEZE, RE_USER, ret_number);
}

/* Before the edit that unfreezes its task, so that nothing starts meanwhile. What people asked for,
 * and what has begun, is not left out. (design: SEMANTICS sections 1 and 3, "Freeze".) */
static int on_thaw(struct asked *a, uint64_t *ret_number)
{
	struct instance *i = a->e ? &a->e->inst : NULL;

	if (!i || state_final((enum state)i->state))
		return not_open(a);
	if ((i->state != ST_READY && i->state != ST_DEPEND) || !a->t->row.frozen || i->key.part ||
	    i->flags & IF_LOOKS)
		return 0;
	bool own = i->flags & IF_FROZEN;
	i->flags &= (uint16_t)~IF_FROZEN;
	if (a->p->reason == RE_CATCHUP && i->origin == OR_CYCLE && i->generation == 1 &&
	    i->attempt == 0 && !(i->flags & IF_RUN_NOW))
		return ask_step(a, EV_SKIP, RE_CATCHUP, ret_number);
	if (i->eff_due_us >= a->l->now_us && !own)
		return 0;
	if (i->eff_due_us < a->l->now_us)
		i->eff_due_us = a->l->now_us;
	return ask_step(a, EV_UNFREEZE, RE_USER, ret_number);
}

static int on_priority(struct asked *a, uint64_t *ret_number)
{
	if (a->p->priority < 1 || a->p->priority > 10)
		return E_INVALID;
	if (!a->e || state_final((enum state)a->e->inst.state))
		return not_open(a);
	if (a->p->key.part > 0)
		return E_CONFLICT; /* as the whole */
	if (a->e->inst.priority == a->p->priority)
		return 0;
	a->e->inst.priority = a->p->priority;
	return ask_step(a, EV_PRIORITY, RE_USER, ret_number);
}

static int on_due(struct asked *a, uint64_t *ret_number)
{
	if (!a->e || state_final((enum state)a->e->inst.state))
		return not_open(a);
	if (a->e->inst.state != ST_READY || a->e->inst.eff_due_us <= a->l->now_us)
		return 0;
	a->e->inst.eff_due_us = a->l->now_us;
	return ask_step(a, EV_DUE_NOW, RE_USER, ret_number);
}

static int on_promise(struct asked *a, uint64_t *ret_number)
{
	if (!a->e || state_final((enum state)a->e->inst.state))
		return not_open(a);
	return ask_step(a, EV_PROMISE, (enum reason)a->p->reason, ret_number);
}

/* Of an end that holds no more nobody needs to know that somebody was told of it. */
static int on_notified(struct asked *a, uint64_t *ret_number)
{
	int r = ask_fetch(a);

	if (r < 0)
		return r;
	struct instance *i = &a->e->inst;
	if (!state_final((enum state)i->state) || i->generation != a->p->token)
		return E_STALE;
	if (i->flags & IF_NOTIFIED)
		return 0;
	i->flags |= IF_NOTIFIED;
	return ask_step(a, EV_NOTIFIED, RE_NONE, ret_number);
}

static int on_run_now(struct asked *a, uint64_t *ret_number)
{
	int r = ask_fetch(a);

	if (r == E_NOT_FOUND)
		r = on_create(a, ret_number);
	else if (r == 0 && state_final((enum state)a->e->inst.state))
		r = on_redo(a, ret_number);
	if (r < 0)
		return r;
	if (a->e->inst.state != ST_READY)
		return state_holds_slot((enum state)a->e->inst.state) ? E_CONFLICT : 0;
	a->e->inst.flags |= IF_RUN_NOW;
	if (is_dry(a))
		return ask_dry(a, ret_number);
	return ask_step(a, EV_SATISFY, RE_USER, ret_number);
}

static int (*const asks[ASK_COUNT])(struct asked *a, uint64_t *ret_number) = {
	[ASK_CREATE] = on_create,
	[ASK_SKIP_DATE] = on_skip_date,
	[ASK_FORCE] = on_force,
	[ASK_SATISFY] = on_satisfy,
	[ASK_WITHDRAW] = on_withdraw,
	[ASK_SKIP] = on_skip,
	[ASK_EXPIRE] = on_expire,
	[ASK_GRANT] = on_grant,
	[ASK_STARTED] = on_started,
	[ASK_ENDED] = on_ended,
	[ASK_KILL] = on_kill,
	[ASK_KILL_ACK] = on_kill_ack,
	[ASK_HANG] = on_hang,
	[ASK_RETRY] = on_retry,
	[ASK_REDO] = on_redo,
	[ASK_REOPEN] = on_reopen,
	[ASK_DECLARE] = on_declare,
	[ASK_FREEZE] = on_freeze,
	[ASK_UNFREEZE] = on_freeze,
	[ASK_PRIORITY] = on_priority,
	[ASK_RUN_NOW] = on_run_now,
	[ASK_CANCEL] = on_cancel,
	[ASK_SPREAD] = on_spread,
	[ASK_PROMISE] = on_promise,
	[ASK_LEAVE_OUT] = on_leave_out,
	[ASK_THAW] = on_thaw,
	[ASK_NOTIFIED] = on_notified,
	[ASK_HELD] = on_held,
	[ASK_DUE] = on_due,
};

/* The resolver's mark says that who may not start is out of Depend by then. So where it was
 * refused for being behind, its word is good for that much: it waits, and is judged anew. */
static bool must_wait(const struct asked *a, int code)
{
	const struct instance *i = a->e ? &a->e->inst : NULL;
	bool by_link = a->p->ask == ASK_WITHDRAW ||
	               (a->p->ask == ASK_SKIP &&
	                (a->p->reason == RE_LINK || a->p->reason == RE_PIPELINE));

	return (code == E_REVISION || code == E_BARRIER) && by_link && i && i->key.part == 0 &&
	       i->state == ST_DEPEND && i->attempt == 0 && i->infra == 0 &&
	       !(i->flags & (IF_RUN_NOW | IF_LOOKS));
}

int ledger__ask(struct ledger *l, struct proposal *p, uint64_t *ret_number)
{
	struct asked a = { .l = l, .p = p, .index = MAP_NONE };

	CHECK(p->ask < ASK_COUNT);
	a.t = ledger__task_of(l, p->key.task);
	if (!a.t)
		return E_NOT_FOUND;
	a.e = table_find(&l->table, p->key, &a.index);
	if (p->revision && (!a.e || a.e->inst.revision != p->revision))
		return must_wait(&a, E_REVISION) ? on_withdraw(&a, ret_number) : E_REVISION;
	if (a.e && (p->ask == ASK_GRANT || p->ask == ASK_ENDED) &&
	    !ledger__version_ready(l, a.t, &a.e->inst))
		return E_AGAIN;
	int r = asks[p->ask](&a, ret_number);
	if (must_wait(&a, r))
		r = on_withdraw(&a, ret_number);
	CHECK(r <= 0);
	if (a.e)
		ledger__put_back(l, a.index); /* nothing came of what ask_fetch() brought in */
	return r;
}
