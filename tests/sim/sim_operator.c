/* People: commands on single instances, and edits of what is being run. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sim.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/check.h"

static struct proposal *propose_one(struct inst_key key, enum ask ask, struct proposals **ret)
{
	*ret = proposals_new(PR_COMMANDER, 1, worker_actor(), worker_answered);
	struct proposal *p = proposals_add(*ret, ask, key);
	p->reason = RE_USER;
	return p;
}

static void post(struct proposals *ps)
{
	if (ledger_propose(server_ledger(), ps) < 0)
		proposals_free(ps);
}

static void ask_one(struct inst_key key, enum ask ask, enum reason reason)
{
	struct proposals *ps;

	propose_one(key, ask, &ps)->reason = (uint8_t)reason;
	post(ps);
}

/* An instance of the recent past. False: the plan has not begun. */
bool operator_pick(struct inst_key *ret)
{
	uint32_t id = 1 + rnd(TASKS);
	int64_t date = plan_prev(task_now(id)->plan, wall_of(now_us) / SEC - (int64_t)rnd(600));

	*ret = (struct inst_key){ date, id, 0 };
	return date != PLAN_BEFORE && date >= plan_begin(task_now(id)->plan);
}

static void instance_command(void)
{
	static const enum ask asks[] = { ASK_KILL,     ASK_REDO,     ASK_FORCE,   ASK_FREEZE,
		                         ASK_UNFREEZE, ASK_PRIORITY, ASK_RUN_NOW, ASK_SKIP,
		                         ASK_REDO,     ASK_KILL };
	enum ask ask = asks[rnd(sizeof asks / sizeof asks[0])];
	struct proposals *ps;
	struct inst_key key;

	if (!operator_pick(&key))
		return;
	bool promise = ask == ASK_PRIORITY && key.run_date / 60 % 4 == 0; /* a forecast said so */
	bool told = ask == ASK_KILL && key.run_date / 60 % 3 == 0; /* who sends alerts says so */
	ask = promise ? ASK_PROMISE : told ? ASK_NOTIFIED : ask;
	struct proposal *p = propose_one(key, ask, &ps);
	p->token = told ? 1 + (uint64_t)(key.run_date / 180 % 2) : 0; /* of that generation */
	p->intent = KI_USER;
	p->reason = promise ? RE_AT_RISK : ask == ASK_SKIP ? RE_ASKED : RE_USER;
	p->priority = ask == ASK_PRIORITY || ask == ASK_PROMISE ? (uint8_t)(1 + rnd(10)) : 0;
	p->kill_running = chance(500);
	p->due = key.run_date;
	p->origin = OR_MANUAL;
	post(ps);
}

static void dry_run(void)
{
	struct proposals *ps;
	struct inst_key key;

	if (!operator_pick(&key))
		return;
	struct proposal *p = propose_one(key, ASK_SATISFY, &ps);
	p->dry = true;
	p->folded = UINT64_MAX; /* it runs nothing: no gate can be old */
	post(ps);
}

/* A test run of a draft: a part of its own, seen by no link and no plan. */
static void test_run(void)
{
	struct proposals *ps;
	struct inst_key key;

	if (!operator_pick(&key))
		return;
	key.part = -1 - (int32_t)rnd(2);
	struct proposal *p = propose_one(key, ASK_CREATE, &ps);
	p->due = wall_of(now_us) / SEC;
	p->origin = OR_MANUAL;
	post(ps);
	if (chance(300)) { /* at once: before it is granted */
		propose_one(key, ASK_KILL, &ps)->intent = KI_USER;
		post(ps);
	}
}

static void put_tasks(const struct task *const *tasks, size_t n, enum task_state state, bool frozen)
{
	struct edit *e = mem_new(sizeof *e);

	e->tasks = mem_array(n, sizeof *e->tasks);
	e->rows = mem_array(n, sizeof *e->rows);
	for (size_t k = 0; k < n; k++) {
		e->tasks[k] = task_ref(tasks[k]);
		e->rows[k] = (struct store_task){ .id = tasks[k]->id,
			                          .workflow_id = 1,
			                          .name = tasks[k]->name,
			                          .version = tasks[k]->version,
			                          .state = (uint8_t)state,
			                          .frozen = frozen,
			                          .planned_through = INT64_MIN,
			                          .online_from = plan_begin(tasks[k]->plan) };
	}
	e->n_tasks = n;
	if (ledger_edit(server_ledger(), e) < 0)
		edit_free(e);
}

static void put_task(const struct task *t, enum task_state state, bool frozen)
{
	put_tasks(&t, 1, state, frozen);
}

/* A pipeline is edited as a whole: one document. */
static void edit_flow(void)
{
	const struct task *tasks[TASKS];
	size_t n = 0;

	flow_edit();
	for (uint32_t id = 1; id <= TASKS; id++) {
		tasks[n] = flow_has(id) ? task_edit(id) : NULL;
		n += tasks[n] != NULL;
	}
	if (n)
		put_tasks(tasks, n, TS_ONLINE, chance(100));
}

struct skipping {
	uint32_t task;
};

static void skip_offline(void *ctx, const struct instance *i, uint32_t slot)
{
	const struct skipping *s = ctx;

	(void)slot;
	if (i->key.task == s->task && !state_holds_slot((enum state)i->state))
		ask_one(i->key, ASK_SKIP, RE_OFFLINE);
}

static void edit_command(void)
{
	uint32_t id = 1 + rnd(TASKS);
	struct skipping skip = { id };
	const struct task *t = task_now(id);

	if (chance(500)) {
		t = flow_has(id) ? NULL : task_edit(id);
		if (!t && flow_has(id))
			edit_flow();
		if (t)
			put_task(t, TS_ONLINE, chance(100));
	} else if (chance(600)) {
		put_task(t, TS_ONLINE, chance(500));
	} else {
		put_task(t, TS_OFFLINE, false);
		ledger_each_instance(server_ledger(), skip_offline, &skip);
	}
}

static void declare_hanged(void *ctx, const struct instance *i, uint32_t slot)
{
	(void)ctx;
	(void)slot;
	/* People look first whether it is really gone. */
	if (i->state == ST_HANGED && !check_runs(i->key) && (healing || chance(300)))
		ask_one(i->key, ASK_DECLARE, RE_USER);
}

void operator_acts(void)
{
	if (!server_up())
		return;
	if (swarm.edits && chance(swarm.commands ? 100 : 250))
		edit_command();
	else if (swarm.edits && chance(80))
		pools_act();
	else if (swarm.commands && chance(600))
		commands_act();
	else if (chance(60))
		dry_run();
	else if (chance(60))
		test_run();
	else if (chance(80))
		ledger_each_instance(server_ledger(), declare_hanged, NULL);
	else
		instance_command();
	server_run();
}

struct moment {
	struct inst_key key;
	enum ask ask;
};

static void act_at_once(void *a, uint64_t unused)
{
	struct moment *m = a;
	struct proposals *ps;

	(void)unused;
	if (server_up()) {
		propose_one(m->key, m->ask, &ps)->kill_running = true;
		post(ps);
	}
	free(m);
}

/* The worst moment for a redo: while others act on what has just happened. */
void operator_sees(const struct transition *tr)
{
	bool bad = tr->to == ST_STOP || tr->to == ST_KILLED;
	bool is_moment = state_final((enum state)tr->to) || tr->event == EV_KILL ||
	                 (swarm.spreads && tr->event == EV_SPREAD);

	if (healing || !is_moment || tr->inst.key.part != 0 || !chance(swarm.hasty))
		return;
	struct moment *m = mem_new(sizeof *m);
	*m = (struct moment){ tr->inst.key, swarm.forces && bad ? ASK_FORCE : ASK_REDO };
	later_owned((int64_t)rnd(chance(700) ? 3 : 100) * MS, act_at_once, m);
}

static void mend_instance(void *ctx, const struct instance *i, uint32_t slot)
{
	if (i->flags & IF_FROZEN)
		ask_one(i->key, ASK_UNFREEZE, RE_USER);
	declare_hanged(ctx, i, slot);
}

static void mend_task(void *ctx, const struct ledger_task *t)
{
	(void)ctx;
	if (t->row->state == TS_ONLINE && !t->row->frozen)
		return;
	if (check_first_gap(t->row->id) == PLAN_NEVER && check_unfinished(false) == 0)
		return; /* its plan is over */
	put_task(t->def, TS_ONLINE, false);
}

void operator_mends(void)
{
	if (!server_up())
		return;
	ledger_each_instance(server_ledger(), mend_instance, NULL);
	ledger_each_task(server_ledger(), mend_task, NULL);
	commands_mend();
	server_run();
}
