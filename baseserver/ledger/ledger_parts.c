/* Parts 1..N of an instance that is spread over brokers (design: SEMANTICS sections 3 and 6).
 *
 * Part 0 is the whole: while its parts run it is Running without a lease, and ends as the
 * worst of them. It is prepared (each part Ready), then spread, then driven: whatever changes
 * puts it on a list, and what the list says is done in the ledger's next turn, as far as the
 * ring has room and the store can be read. Each step looks at what is, so that it may be taken
 * again, and the list is made anew after a restart. */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "rt/actor.h"
#include "sched/task.h"
#include "util/check.h"
#include "util/log.h"

/* Answers of a step: 0; E_BUSY, the ring has no room; what the store said when it could not tell
 * whether there is a row. With those the step is taken again. */
enum { ROOM = 16 }; /* records that one step may write, with some to spare */
/* Of the list whose rows of history are asked for together, and how many rows at least end that:
 * nothing else is applied while one is read. */
enum { AHEAD = 64, ROWS_AHEAD = 256 };

enum verdict { NODE_OPEN, NODE_MET, NODE_DEAD };

static bool has_room(const struct ledger *l)
{
	return !l->down && stream_room(l->stream) > ROOM;
}

static uint64_t parts_change(struct ledger *l, uint32_t index, enum event ev, enum reason reason,
                             uint64_t cause)
{
	struct proposal p = { .cause = cause };

	return ledger__change(l, index, ev, reason, &p);
}

static bool is_over(const struct entry *e)
{
	return !e || state_final((enum state)e->inst.state);
}

/* --- a step of a pipeline follows the one before on the same node --- */

static bool has_nodes(const struct task *t)
{
	return t->n_links > 0 && t->links[0].by_node;
}

static bool ended_badly(uint8_t state)
{
	return state == ST_STOP || state == ST_KILLED;
}

/* Begun anew, and the part's former end is not taken back yet. */
static bool begins_anew(const struct entry *whole, uint8_t part_state)
{
	return !is_over(whole) && whole->inst.state != ST_RUNNING &&
	       whole->inst.state != ST_WAITKILL &&
	       (!(whole->inst.flags & IF_KEEP) ||
	        (whole->inst.flags & IF_MEND && ended_badly(part_state)));
}

/* How the parent ended on this node: *ret is its row, or state and reason of the whole's
 * outcome. E_NOT_FOUND: it has not. */
static int node_outcome(struct ledger *l, struct inst_key key, struct instance *ret)
{
	uint32_t index;
	const struct ltask *t = ledger__task_of(l, key.task);
	const struct entry *whole = table_find(&l->table, part_key(key, 0), &index);
	const struct entry *e = table_find(&l->table, key, &index);
	const struct outcome_range *o = t ? outcomes_find(&t->outcomes, key.run_date) : NULL;

	if (e && !is_over(e))
		return E_NOT_FOUND;
	int r = e ? 0 : ledger__find_done(l, key, ret);
	if (e)
		*ret = e->inst;
	if (r == E_NOT_FOUND && o) {
		*ret = (struct instance){ .state = o->state, .reason = o->reason };
		r = 0;
	}
	return r == 0 && begins_anew(whole, ret->state) ? E_NOT_FOUND : r;
}

/* Its step before has no such date, or had none yet: nothing to wait for. What a backfill has of
 * such dates has its row by now, parents first. */
static bool never_planned(const struct ledger *l, struct inst_key parent)
{
	const struct ltask *t = ledger__task_of(l, parent.task);
	uint32_t index;

	if (!t || !t->def)
		return false;
	return (parent.run_date < plan_begin(t->def->plan) ||
	        !plan_has(t->def->plan, parent.run_date)) &&
	       !table_find(&l->table, part_key(parent, 0), &index) &&
	       !outcomes_find(&t->outcomes, parent.run_date);
}

static int judge_link(struct ledger *l, const struct task_link *link, struct inst_key key,
                      enum verdict *ret)
{
	struct inst_key parent = { key.run_date, link->parent, key.part };
	struct instance was;
	int r = node_outcome(l, parent, &was);

	if (r < 0) {
		*ret = r == E_NOT_FOUND && never_planned(l, parent) ? NODE_MET : NODE_OPEN;
		return r == E_NOT_FOUND ? 0 : r;
	}
	bool bad = ended_badly(was.state);
	bool left_out = was.state == ST_SKIPPED &&
	                (was.reason == RE_LINK || was.reason == RE_BRANCH ||
	                 was.reason == RE_PIPELINE);
	if (link->on == ON_DONE)
		*ret = NODE_MET;
	else if (link->on == ON_FAILURE)
		*ret = bad ? NODE_MET : NODE_DEAD;
	else
		*ret = bad || left_out ? NODE_DEAD : NODE_MET;
	return 0;
}

static int judge_part(struct ledger *l, const struct task *def, struct inst_key key,
                      enum verdict *ret)
{
	size_t n = def->n_links, met = 0, dead = 0;
	size_t need = def->join > 0 && (size_t)def->join < n ? (size_t)def->join : n;

	*ret = NODE_MET;
	if (!has_nodes(def))
		return 0;
	for (size_t i = 0; i < n; i++) {
		enum verdict v;
		int r = judge_link(l, &def->links[i], key, &v);
		if (r < 0)
			return r;
		met += v == NODE_MET;
		dead += v == NODE_DEAD;
	}
	*ret = dead > n - need ? NODE_DEAD : met >= need ? NODE_MET : NODE_OPEN;
	return 0;
}

int ledger__part_may_start(struct ledger *l, const struct instance *part)
{
	const struct ltask *t = ledger__task_of(l, part->key.task);
	uint32_t index;
	const struct entry *whole = table_find(&l->table, part_key(part->key, 0), &index);
	enum verdict v;

	CHECK(part->key.part > 0 && t && t->def);
	if (!whole || whole->inst.state != ST_RUNNING || !(whole->inst.flags & IF_SPREAD))
		return E_REVISION; /* ended in a moment */
	/* A retry does not ask again, nor does a further look. */
	if (part->attempt || part->infra || part->flags & IF_LOOKS ||
	    (whole && whole->inst.flags & IF_RUN_NOW))
		return 0;
	int r = judge_part(l, t->def, part->key, &v);
	return r < 0 ? r : v == NODE_MET ? 0 : E_REVISION;
}

/* --- prepare, spread --- */

static struct entry *part_new(struct ledger *l, const struct instance *whole, int32_t part,
                              uint32_t *ret_index)
{
	struct entry *e = table_add(&l->table, part_key(whole->key, part), ret_index);
	struct instance *i = &e->inst;

	CHECK(whole->key.part == 0 && part > 0);
	i->due = whole->due;
	i->eff_due_us = whole->eff_due_us;
	i->created_us = l->now_us;
	i->generation = 1;
	i->version = whole->version;
	i->origin = whole->origin;
	return e;
}

static bool parts_stays(const struct instance *whole, const struct instance *part)
{
	return whole->flags & IF_KEEP && !(whole->flags & IF_MEND && ended_badly(part->state));
}

/* Was there ever such a part? Only then history is asked. */
static int fetch_part(struct ledger *l, const struct instance *whole, int32_t part,
                      uint32_t *ret_index)
{
	struct inst_key key = part_key(whole->key, part);

	if (whole->generation > 1 || whole->flags & IF_SPREAD)
		return ledger__fetch(l, key, ret_index);
	return table_find(&l->table, key, ret_index) ? 0 : E_NOT_FOUND;
}

/* Those of history are asked for together, before anything is made of one. */
static int fetch_ahead(struct ledger *l, const struct instance *whole, size_t n)
{
	uint32_t index;

	if (whole->generation == 1 && !(whole->flags & IF_SPREAD))
		return 0;
	for (size_t k = 1; k <= n; k++) {
		struct inst_key key = part_key(whole->key, (int32_t)k);
		if (!table_find(&l->table, key, &index))
			ledger__knows_done(l, key);
	}
	return ledger_awaits_rows(l) ? E_AGAIN : 0;
}

/* fetch_part() has been asked: if there is a row, it is in the table. */
static void ready_part(struct ledger *l, const struct instance *whole, int32_t part,
                       uint32_t broker)
{
	uint32_t index;
	struct entry *e = table_find(&l->table, part_key(whole->key, part), &index);
	bool is_new = !e;

	if (e && is_over(e) && parts_stays(whole, &e->inst)) {
		ledger__put_back(l, index);
		return;
	}
	if (is_new)
		e = part_new(l, whole, part, &index);
	struct instance *i = &e->inst;
	i->priority = whole->priority;
	const uint16_t same = IF_FROZEN | IF_OLD_BODY;
	i->flags = (uint16_t)((i->flags & ~same) | (whole->flags & (same | IF_PARAMS)));
	i->version = whole->version;
	bool is_redone = !is_new && is_over(e);
	if (is_redone)
		ledger__reset_for_redo(l, i);
	if (broker)
		i->broker = broker;
	if (is_new)
		parts_change(l, index, EV_CREATE, (enum reason)whole->reason, whole->cause);
	else if (is_redone)
		parts_change(l, index, EV_REDO, RE_REDO, whole->cause);
	else
		ledger__touch(l, index);
}

/* Made or reopened before the whole began (anew), which has fewer parts by now: of a former run, or
 * of a version that named more machines. */
static int leave_rest(struct ledger *l, const struct instance *whole, size_t n)
{
	int32_t had = whole->flags & IF_SPREAD ? whole->parts : 0;
	uint32_t at;

	for (int32_t k = (int32_t)n + 1;; k++) {
		const struct entry *e = table_find(&l->table, part_key(whole->key, k), &at);
		if (!e && k > had)
			return 0;
		if (!e || fsm_next((enum state)e->inst.state, EV_SKIP) == ST_NONE)
			continue;
		if (!has_room(l))
			return E_BUSY;
		parts_change(l, at, EV_SKIP, RE_EDIT, 0);
	}
}

static void parts_spread(struct ledger *l, uint32_t index, size_t n)
{
	struct instance *i = &table_at(&l->table, index)->inst;

	CHECK(i->key.part == 0 && n > 0 && n <= UINT16_MAX);
	i->flags = (uint16_t)((i->flags & ~(IF_KEEP | IF_MEND | IF_STARTED)) | IF_SPREAD);
	i->parts = (uint16_t)n;
	i->attempt = 1;
	i->token = 0;
	i->broker = 0;
	i->intent = KI_NONE;
	i->exit_code = 0;
	i->grace_ms = 0;
	i->started_us = l->now_us;
	i->ended_us = 0;
	if (!(i->flags & IF_OLD_BODY))
		i->version = ledger__task_of(l, i->key.task)->row.version;
	i->former = 0;
	ledger__change(l, index, EV_SPREAD, RE_NONE, NULL);
}

int ledger__spread(struct ledger *l, uint32_t index, const uint32_t *brokers, size_t n)
{
	struct instance *i = &table_at(&l->table, index)->inst;
	uint32_t at;
	size_t k = 0;

	CHECK(i->state == ST_DEPEND && i->key.part == 0);
	int r = fetch_ahead(l, i, n);

	if (r < 0)
		return r;
	/* All are in the table before one is changed. */
	for (; k < n && (r == 0 || r == E_NOT_FOUND); k++)
		r = fetch_part(l, i, (int32_t)k + 1, &at);
	if (r < 0 && r != E_NOT_FOUND) {
		while (k-- > 0)
			if (table_find(&l->table, part_key(i->key, (int32_t)k + 1), &at))
				ledger__put_back(l, at);
		return r;
	}
	leave_rest(l, i, n); /* what has no room here waits for the next spread */
	for (k = 0; k < n; k++)
		ready_part(l, i, (int32_t)k + 1, brokers[k]);
	parts_spread(l, index, n);
	return 0;
}

/* How many parts there will be, where that is known without asking who is online. */
static size_t parts_known(const struct task *def, const struct instance *i)
{
	if (i->flags & IF_KEEP && i->flags & IF_SPREAD)
		return i->parts;
	return def && task_spreads(def) ? def->n_machines : 0;
}

static int parts_prepare(struct ledger *l, const struct ltask *t, uint32_t index)
{
	const struct instance *i = &table_at(&l->table, index)->inst;
	size_t n = parts_known(t->def, i);

	/* An earlier date was begun anew since it was satisfied: it waits once more. */
	if (n > 0 && ledger__awaits_turn(l, t, i)) {
		parts_change(l, index, EV_WITHDRAW, RE_OVERLAP, 0);
		return 0;
	}
	int r = fetch_ahead(l, i, n);

	if (r == 0 && n > 0)
		r = leave_rest(l, i, n);
	if (r < 0)
		return r;
	for (size_t k = 1; k <= n; k++) {
		uint32_t at;
		r = has_room(l) ? fetch_part(l, i, (int32_t)k, &at) : E_BUSY;
		if (r < 0 && r != E_NOT_FOUND)
			return r;
		ready_part(l, i, (int32_t)k, 0);
	}
	if (n > 0)
		parts_spread(l, index, n);
	return 0;
}

/* --- while they run --- */

static void kill_part(struct ledger *l, uint32_t index)
{
	struct instance *i = &table_at(&l->table, index)->inst;
	bool holds = state_holds_slot((enum state)i->state);

	if (i->state == ST_HANGED || (holds && i->state != ST_RUNNING && i->intent == KI_USER))
		return;
	i->intent = holds ? KI_USER : KI_NONE;
	parts_change(l, index, holds && i->state != ST_RUNNING ? EV_INTENT : EV_KILL, RE_USER, 0);
}

/* What is asked of the whole goes for each part. */
static void follow_whole(struct ledger *l, const struct instance *whole, uint32_t index)
{
	struct instance *i = &table_at(&l->table, index)->inst;

	if ((i->flags ^ whole->flags) & IF_FROZEN) {
		i->flags ^= IF_FROZEN;
		if (!(i->flags & IF_FROZEN) && i->eff_due_us < whole->eff_due_us)
			i->eff_due_us = whole->eff_due_us;
		parts_change(l, index, i->flags & IF_FROZEN ? EV_FREEZE : EV_UNFREEZE, RE_USER, 0);
	}
	if (i->priority != whole->priority) {
		i->priority = whole->priority;
		parts_change(l, index, EV_PRIORITY, RE_USER, 0);
	}
}

/* Its broker, or a machine that the definition still names. */
static bool has_home(const struct task *def, const struct instance *i)
{
	return def->n_machines ? (size_t)i->key.part <= def->n_machines : i->broker != 0;
}

static int move_part(struct ledger *l, const struct ltask *t, const struct instance *whole,
                     uint32_t index)
{
	struct instance *i = &table_at(&l->table, index)->inst;
	bool waits = !(i->flags & IF_LOOKS) &&
	             (i->state == ST_READY ||
	              (i->state == ST_DEPEND && i->attempt == 0 && i->infra == 0));

	bool gone = t->def && !has_home(t->def, i);
	if ((!task_starts(t->row.state) || gone) &&
	    fsm_next((enum state)i->state, EV_SKIP) != ST_NONE) {
		parts_change(l, index, EV_SKIP, gone ? RE_EDIT : RE_OFFLINE, 0);
		return 0;
	}
	if (!waits || !t->def)
		return 0;
	enum verdict v = NODE_MET;
	int r = whole->flags & IF_RUN_NOW ? 0 : judge_part(l, t->def, i->key, &v);
	if (r < 0)
		return r;
	if (v == NODE_DEAD)
		parts_change(l, index, EV_SKIP, t->def->fails_only ? RE_LINK : RE_PIPELINE, 0);
	else if (v == NODE_MET && i->state == ST_READY)
		parts_change(l, index, EV_SATISFY, RE_NONE, 0);
	else if (v == NODE_OPEN && i->state == ST_DEPEND)
		parts_change(l, index, EV_WITHDRAW, RE_PARENT, 0);
	return 0;
}

struct tally {
	size_t succeeded, skipped, killed, stopped;
	int32_t exit_code;
	uint8_t stop_reason, skip_reason;
};

static void count_part(struct tally *c, const struct instance *i)
{
	c->succeeded += i->state == ST_SUCC;
	c->killed += i->state == ST_KILLED;
	if (i->state == ST_STOP && c->stopped++ == 0) {
		c->exit_code = i->exit_code;
		c->stop_reason = i->reason;
	}
	if (i->state == ST_SKIPPED && c->skipped++ == 0)
		c->skip_reason = i->reason;
}

static void end_killed(struct ledger *l, uint32_t index, const struct tally *c)
{
	struct instance *i = &table_at(&l->table, index)->inst;

	if (i->intent == KI_REDO) {
		struct proposal again = { 0 };
		ledger__take_next(l, i, &again);
		ledger__reset_for_redo(l, i);
		ledger__change(l, index, EV_DEAD_REDO, RE_REDO, &again);
		free(again.data);
	} else if (c->succeeded == i->parts) {
		ledger__change(l, index, EV_EXIT_OK, RE_EXIT, NULL);
	} else {
		enum reason why = i->intent == KI_REPLACE ? RE_REPLACED : RE_USER;
		ledger__change(l, index, EV_DEAD_KILLED, why, NULL);
	}
}

/* All are over: the whole ends as the worst of them. */
static int parts_gather(struct ledger *l, uint32_t index)
{
	struct instance *i = &table_at(&l->table, index)->inst, part;
	struct tally c = { 0 };
	uint32_t at;

	if (fetch_ahead(l, i, i->parts) < 0)
		return E_AGAIN;
	for (int32_t k = 1; k <= i->parts; k++) {
		const struct entry *e = table_find(&l->table, part_key(i->key, k), &at);
		int r = e ? 0 : ledger__find_done(l, part_key(i->key, k), &part);
		if (r < 0 && r != E_NOT_FOUND)
			return r;
		if (r == 0)
			count_part(&c, e ? &e->inst : &part);
	}
	i->exit_code = c.exit_code;
	if (i->state == ST_WAITKILL) {
		end_killed(l, index, &c);
	} else if (c.stopped) {
		ledger__change(l, index, EV_FAIL_FINAL, (enum reason)c.stop_reason, NULL);
	} else if (c.killed) {
		i->intent = KI_USER;
		ledger__change(l, index, EV_KILL, RE_USER, NULL);
		ledger__change(l, index, EV_DEAD_KILLED, RE_USER, NULL);
	} else if (c.skipped) {
		ledger__change(l, index, EV_SKIP_PARTS, (enum reason)c.skip_reason, NULL);
	} else {
		ledger__change(l, index, EV_EXIT_OK, RE_EXIT, NULL);
	}
	return 0;
}

static int parts_drive(struct ledger *l, const struct ltask *t, uint32_t index)
{
	struct instance *whole = &table_at(&l->table, index)->inst;
	size_t live = 0;
	uint32_t at;

	CHECK(whole->flags & IF_SPREAD && whole->key.part == 0); /* it has `parts` */
	for (int32_t k = 1; k <= whole->parts; k++) {
		const struct entry *e = table_find(&l->table, part_key(whole->key, k), &at);
		if (is_over(e))
			continue;
		if (!has_room(l))
			return E_BUSY;
		if (whole->state == ST_WAITKILL)
			kill_part(l, at);
		else
			follow_whole(l, whole, at);
		int r = whole->state != ST_WAITKILL ? move_part(l, t, whole, at) : 0;
		if (r < 0)
			return r;
		live += !is_over(e);
	}
	return live == 0 ? parts_gather(l, index) : 0;
}

/* --- once the whole is over --- */

static void end_part(struct ledger *l, const struct instance *whole, uint32_t index)
{
	static const uint8_t by_state[ST_COUNT] = { [ST_SUCC] = EV_FORCE, [ST_KILLED] = EV_KILL };
	struct instance *i = &table_at(&l->table, index)->inst;
	enum event ev = by_state[whole->state] ? (enum event)by_state[whole->state] : EV_SKIP;

	if (state_holds_slot((enum state)i->state) || fsm_next((enum state)i->state, ev) == ST_NONE)
		return;
	if (ev == EV_FORCE)
		i->flags |= IF_FORCED;
	parts_change(l, index, ev, (enum reason)whole->reason, whole->cause);
}

static int clear_up(struct ledger *l, const struct task *def, const struct instance *whole)
{
	bool forced = whole->state == ST_SUCC && whole->flags & IF_FORCED;
	size_t n = whole->flags & IF_SPREAD   ? whole->parts
	           : def && task_spreads(def) ? def->n_machines
	                                      : 0;
	uint32_t at;

	if (forced && fetch_ahead(l, whole, n) < 0)
		return E_AGAIN;
	for (size_t k = 1; k <= n; k++) {
		struct inst_key key = part_key(whole->key, (int32_t)k);
		if (!has_room(l))
			return E_BUSY;
		int r = forced                            ? ledger__fetch(l, key, &at)
		        : table_find(&l->table, key, &at) ? 0
		                                          : E_NOT_FOUND;
		if (r == E_NOT_FOUND)
			continue;
		if (r < 0)
			return r;
		const struct entry *e = table_at(&l->table, at);
		if (forced ? e->inst.state != ST_SUCC : !is_over(e))
			end_part(l, whole, at);
		ledger__put_back(l, at);
	}
	return 0;
}

/* --- the list --- */

/* A whole that begins anew takes its parts with it, save those that it keeps; and it may have fewer
 * nodes by then. */
int ledger__fetch_whole(struct ledger *l, struct inst_key key)
{
	uint32_t index;
	int r = ledger__fetch(l, part_key(key, 0), &index);

	CHECK(key.part > 0);
	if (r < 0)
		return r;
	const struct entry *e = table_at(&l->table, index);
	const struct instance *i = &e->inst;
	if (!is_over(e) && i->state != ST_RUNNING && i->state != ST_WAITKILL &&
	    !(i->flags & IF_KEEP))
		return 1;
	if (i->flags & IF_SPREAD && key.part <= i->parts)
		return 0;
	ledger__put_back(l, index);
	return E_NOT_FOUND;
}

void ledger__whole_again(struct ledger *l, struct inst_key key, uint64_t cause)
{
	uint32_t index;
	struct entry *e = table_find(&l->table, part_key(key, 0), &index);

	if (!e || !is_over(e))
		return;
	struct instance *i = &e->inst;
	bool skipped = i->state == ST_SKIPPED;
	if (skipped)
		ledger__reset_for_reopen(l, i);
	else
		ledger__reset_for_redo(l, i);
	i->former = 0;
	i->flags = (uint16_t)((i->flags & ~IF_MEND) | IF_KEEP);
	parts_change(l, index, skipped ? EV_REOPEN : EV_REDO, RE_PARENT, cause);
}

static int reopen_part(struct ledger *l, const struct ltask *t, uint32_t index)
{
	struct instance *i = &table_at(&l->table, index)->inst;
	enum verdict v;

	if (i->state != ST_SKIPPED || (i->reason != RE_PIPELINE && i->reason != RE_LINK))
		return 0;
	int r = judge_part(l, t->def, i->key, &v);
	if (r == 0 && v != NODE_DEAD)
		r = ledger__fetch_whole(l, i->key);
	if (r != 0 || v == NODE_DEAD)
		return r == E_NOT_FOUND || r > 0 ? 0 : r;
	ledger__reset_for_reopen(l, i);
	parts_change(l, index, EV_REOPEN, RE_PARENT, 0);
	ledger__whole_again(l, i->key, 0);
	return 0;
}

/* The step before begins anew on this node: what was skipped for it is wanted again. */
static int parts_reopen(struct ledger *l, struct inst_key key)
{
	const struct ltask *t = ledger__task_of(l, key.task);
	uint32_t index;

	if (!t || !t->def)
		return 0;
	int r = ledger__fetch(l, key, &index);
	if (r == E_NOT_FOUND)
		return 0;
	if (r < 0)
		return r;
	r = reopen_part(l, t, index);
	ledger__put_back(l, index);
	return r;
}

static int parts_settle(struct ledger *l, struct inst_key key)
{
	const struct ltask *t = ledger__task_of(l, key.task);
	uint32_t index;
	struct entry *e = table_find(&l->table, key, &index);
	struct instance was;

	if (!t)
		return 0;
	if (e)
		e->inst.marks &= (uint8_t)~EM_LISTED;
	if (is_over(e)) {
		int r = e ? 0 : ledger__find_done(l, key, &was);
		if (e)
			was = e->inst;
		return r == E_NOT_FOUND ? 0 : r < 0 ? r : clear_up(l, t->def, &was);
	}
	int r = 0;
	if (e->inst.state == ST_DEPEND)
		r = parts_prepare(l, t, index);
	else if (e->inst.flags & IF_SPREAD && state_holds_slot((enum state)e->inst.state))
		r = parts_drive(l, t, index);
	return r;
}

/* The store cannot be read: once more in a while. */
static void try_later(struct ledger *l, int code)
{
	if (!l->unread)
		log_warn("ledger.store-unread", "code=%s parts=%zu", err_name(code),
		         l->parts.n - l->parts.at);
	l->unread = true;
	actor_alarm(l->me, actor_mono_us(l->me) + l->set.retry_us);
}

static void ask_for(struct ledger *l, struct inst_key key)
{
	uint32_t index;

	if (!table_find(&l->table, key, &index))
		ledger__ask_row(l, key);
}

/* What judge_part() will look at. */
static void ask_parents(struct ledger *l, struct inst_key part)
{
	const struct ltask *t = ledger__task_of(l, part.task);

	if (!t || !t->def || !has_nodes(t->def))
		return;
	for (size_t i = 0; i < t->def->n_links; i++)
		ask_for(l, (struct inst_key){ part.run_date, t->def->links[i].parent, part.part });
}

/* What parts_drive() will judge. */
static void ask_of_parts(struct ledger *l, const struct instance *whole)
{
	uint32_t at;

	for (int32_t k = 1; k <= whole->parts && whole->flags & IF_SPREAD; k++) {
		const struct entry *e = table_find(&l->table, part_key(whole->key, k), &at);
		if (e && (e->inst.state == ST_READY || e->inst.state == ST_DEPEND))
			ask_parents(l, e->inst.key);
	}
}

/* The first of the list waits for a row: so will most that come after it, and each for what it
 * follows. One read for all: a store that is slow is slow for each. */
static void ask_ahead(struct ledger *l)
{
	const struct parts_list *p = &l->parts;
	uint32_t index;

	for (size_t i = p->at; i < p->n && i - p->at < AHEAD && l->wanted.n < ROWS_AHEAD; i++) {
		const struct entry *e = table_find(&l->table, p->keys[i], &index);
		if (!e)
			ledger__ask_row(l, p->keys[i]);
		if (p->keys[i].part > 0)
			ask_parents(l, p->keys[i]);
		else if (e)
			ask_of_parts(l, &e->inst);
	}
}

void ledger__work_parts(struct ledger *l)
{
	struct parts_list *p = &l->parts;
	int r = 0;

	CHECK(p->at <= p->n);
	while (p->at < p->n && has_room(l)) {
		struct inst_key key = p->keys[p->at];
		r = key.part ? parts_reopen(l, key) : parts_settle(l, key);
		if (r < 0)
			break;
		l->unread = false;
		p->at++;
	}
	if (r < 0 && ledger_awaits_rows(l))
		ask_ahead(l);
	else if (r < 0 && r != E_BUSY)
		try_later(l, r);
	if (p->at < p->n)
		return;
	p->at = p->n = 0;
}
