/* The invariants (guides: reliability section 5), judged from outside: durable records as
 * they leave the server, and what the world saw of each process. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/pack.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sim.h"
#include "store/mem.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/map.h"

const char *broken;
static char words[600];

enum { ROWS = 8192, TOKENS = 65536 };

/* Grants that were on their way when the first one came back. */
enum { BACKS_MAX = 3 };

struct row {
	struct inst_key key;
	struct instance inst;
	uint64_t live_token;    /* 0: no lease */
	uint64_t running_token; /* the world's: a process of it runs */
	uint32_t bound_epoch;   /* of the server that granted it last */
	bool came_back;         /* unstarted, since it was last Ready */
	bool is_due_now;        /* somebody enqueued it before it was due */
	uint32_t back_session;  /* that sent it back last because it ends, and how often */
	uint32_t backs;
	int64_t back_us;
	bool in_range; /* left out with others: no row of its own */
	uint64_t made,
		begun; /* records: when it had none before; when it was last made or reopened */
};

struct seen_token {
	uint64_t token;
	struct inst_key key;
	bool started, ended;
	int exit_code;
	int64_t granted_at;
	int64_t ended_at;            /* wall, as its machine has it */
	int64_t heard_at, silent_us; /* the last list that named it; the longest time without one */
};

/* What the log says about each definition. */
static struct known {
	uint32_t version;
	uint8_t state;
	bool frozen;
	int64_t online_from;
	int64_t unplanned[PLANNED_US / MINUTE + 1]; /* due while it was offline: never planned */
	size_t n_unplanned;
} known[TASKS + 1];

static struct row rows[ROWS];
static uint32_t n_rows;
static struct map by_key, by_token;
static struct seen_token tokens[TOKENS];
static uint32_t n_tokens;
static int slots[TASKS + 1], workflow_slots;
static uint64_t last_number, last_token, taken_number;
static uint32_t last_epoch, newest_epoch;
static int64_t trouble_us;
static bool moved; /* definitions have, among what is replayed: nobody knows after which record */
static bool replaying; /* what was committed before a crash and shown to nobody */

void break_invariant(const char *which, const char *fmt, ...)
{
	va_list ap;

	if (broken)
		return;
	int n = snprintf(words, sizeof words, "%s at %.3f s: ", which, (double)now_us / 1e6);
	va_start(ap, fmt);
	vsnprintf(words + n, sizeof words - (size_t)n, fmt, ap);
	va_end(ap);
	broken = words;
	note("BROKEN %s", words);
}

void check_reset(void)
{
	broken = NULL;
	map_done(&by_key);
	map_done(&by_token);
	map_init(&by_key);
	map_init(&by_token);
	n_rows = n_tokens = 0;
	last_number = last_token = taken_number = 0;
	story_reset();
	looks_reset();
	last_epoch = newest_epoch = 0;
	workflow_slots = 0;
	trouble_us = INT64_MIN;
	memset(slots, 0, sizeof slots);
	memset(known, 0, sizeof known);
	for (int i = 0; i <= TASKS; i++)
		known[i].online_from = INT64_MIN;
	rules_reset();
	pools_reset();
	stats_reset();
	commands_reset();
	branch_reset();
	liveness_reset();
}

static struct row *row_of(struct inst_key key, bool make)
{
	uint64_t h = inst_key_hash(key);
	size_t at = 0;

	for (uint32_t v = map_first(&by_key, h, &at); v != MAP_NONE; v = map_next(&by_key, h, &at))
		if (inst_key_eq(rows[v].key, key))
			return &rows[v];
	if (!make)
		return NULL;
	if (n_rows == ROWS) {
		break_invariant("I1", "more rows than dates");
		return &rows[0];
	}
	rows[n_rows] = (struct row){ .key = key };
	map_add(&by_key, h, n_rows);
	return &rows[n_rows++];
}

static struct seen_token *token_of(uint64_t token)
{
	uint32_t at = map_get(&by_token, token);

	return at == MAP_NONE ? NULL : &tokens[at];
}

/* G1-2: by the definition in force, or what it was granted with before in its generation. A server
 * that has started since has no documents here to find that again: then the one in force. */
static void check_version(const struct transition *tr, const struct row *r)
{
	const struct known *k = &known[tr->inst.key.task];
	bool was_spread = r->inst.flags & IF_SPREAD; /* then infra counts parts */
	bool bound = r->inst.flags & IF_OLD_BODY || r->inst.attempt ||
	             (r->inst.infra && !was_spread);
	bool same = tr->inst.version == r->inst.version;
	/* Forgotten while no instance was unfinished; the record says so. */
	bool gone = r->inst.flags & IF_OLD_BODY && !(tr->inst.flags & IF_OLD_BODY) && tr->note;

	if (replaying || tr->inst.key.part != 0 || (bound && same) ||
	    (tr->inst.version == k->version && (!bound || gone || tr->epoch != r->bound_epoch)))
		return;
	break_invariant("G1-2", "task %u granted by version %u of %u, before by %u",
	                tr->inst.key.task, tr->inst.version, k->version, r->inst.version);
}

static void check_gates(const struct transition *tr, const struct task *t)
{
	const struct known *k = &known[t->id];

	if (tr->inst.key.part < 0)
		return;
	const struct row *whole = row_of((struct inst_key){ tr->inst.key.run_date, t->id, 0 },
	                                 false);
	if (tr->inst.key.part > 0 &&
	    (!whole || whole->inst.state != ST_RUNNING || !(whole->inst.flags & IF_SPREAD)))
		break_invariant("I22", "part %d of task %u starts without the whole",
		                tr->inst.key.part, t->id);
	if (!replaying && (!task_starts(k->state) || k->frozen || (tr->inst.flags & IF_FROZEN)))
		break_invariant("G1-2", "task %u granted while it is offline or frozen", t->id);
	int cap = t->serial == SERIAL_UNORDERED ? 1 : t->concurrency;
	if (cap && slots[t->id] >= cap)
		break_invariant("I10", "task %u runs %d of %d and starts one more", t->id,
		                slots[t->id], cap);
	if (!replaying)
		pools_grant(t, slots);
	if (t->workflow_cap && workflow_slots >= t->workflow_cap)
		break_invariant("I10", "the workflow's quota is exceeded");
}

const struct instance *check_next(uint32_t *at)
{
	while (*at < n_rows && !rows[*at].inst.revision)
		++*at;
	return *at < n_rows ? &rows[(*at)++].inst : NULL;
}

int64_t check_ended_at(uint64_t token)
{
	const struct seen_token *k = token_of(token);

	return k && k->ended ? k->ended_at : INT64_MAX;
}

static void know_token(const struct instance *i)
{
	last_token = i->token > last_token ? i->token : last_token;
	if (n_tokens == TOKENS || !i->token || token_of(i->token))
		return;
	tokens[n_tokens] = (struct seen_token){
		.token = i->token, .key = i->key, .granted_at = now_us, .heard_at = now_us
	};
	map_add(&by_token, i->token, n_tokens++);
}

static void check_grant(const struct transition *tr, const struct row *r)
{
	const struct task *t = check_def_of(&tr->inst);
	bool unclear = replaying &&
	               (tr->inst.flags & IF_OLD_BODY || r->inst.attempt || r->inst.infra);

	if (r->live_token)
		break_invariant("I3", "a second live lease for task %u", t->id);
	if (tr->inst.token <= last_token)
		break_invariant("I3", "token %" PRIx64 " after %" PRIx64, tr->inst.token,
		                last_token);
	if (!replaying || !moved) {
		rules_grant(tr, r->came_back);
		parts_grant(tr, r->came_back);
		if (!unclear) /* edits of what was shown to nobody are not known */
			check_gates(tr, t);
	}
	check_version(tr, r);
	if (t->version == 1 && tr->inst.attempt > t->max_attempts)
		break_invariant("I19", "attempt %u of %d", tr->inst.attempt, t->max_attempts);
	know_token(&tr->inst);
}

/* I6: success only from an exit status that was seen; and what was seen is what stands. */
static void check_result(const struct transition *tr)
{
	if (tr->inst.flags & IF_SPREAD) {
		parts_whole(tr, replaying && moved);
		if (tr->event == EV_SPREAD && !(replaying && moved))
			rules_grant(tr, false);
		return;
	}
	const struct seen_token *k = token_of(tr->inst.token);

	if (tr->event == EV_EXIT_OK && (!k || !k->ended || k->exit_code != 0))
		break_invariant("I6", "success of task %u without an exit 0 under token %" PRIx64,
		                tr->inst.key.task, tr->inst.token);
	if (tr->event == EV_FAIL_RETRY && tr->reason == RE_LOST && k && k->ended &&
	    k->exit_code == 0 && k->granted_at > trouble_us && !swarm.slow_wire)
		break_invariant("I6", "the exit 0 of token %" PRIx64 " was lost for no reason",
		                tr->inst.token);
}

/* I29: machines where nothing starts use nothing up: not beside others that are well, and not
 * alone until they are mended. */
static void check_infra(const struct transition *tr)
{
	if (swarm.sick && tr->to == ST_STOP && tr->reason == RE_INFRA)
		break_invariant("I29", "task %u at %" PRId64 " is used up by sick machines",
		                tr->inst.key.task, tr->inst.key.run_date);
}

void check_heard(uint64_t token)
{
	struct seen_token *k = token_of(token);

	if (!k)
		return;
	if (now_us - k->heard_at > k->silent_us)
		k->silent_us = now_us - k->heard_at;
	k->heard_at = now_us;
}

/* I27: nobody calls lost what runs and was named all the time. How late an actor acts on a list is
 * silence to it. */
static void check_lost(const struct transition *tr, const struct row *r)
{
	const struct seen_token *k = token_of(tr->inst.token);

	if (tr->reason != RE_LOST || !k || replaying || r->running_token != tr->inst.token)
		return;
	int64_t us = now_us - k->heard_at > k->silent_us ? now_us - k->heard_at : k->silent_us;
	if (us + swarm.lag_us + swarm.late_us + 2 * BEAT_US < LOSE_US)
		break_invariant("I27",
		                "task %u at %" PRId64 " runs, was heard of at least each %" PRId64
		                " ms, and is lost",
		                tr->inst.key.task, tr->inst.key.run_date, (int64_t)(us / MS));
}

static void check_intent(const struct transition *tr, const struct row *r)
{
	bool killing = tr->from == ST_WAITKILL || tr->from == ST_KILLING;

	if (killing && (tr->inst.state == ST_WAITKILL || tr->inst.state == ST_KILLING) &&
	    kill_rank(tr->inst.intent) < kill_rank(r->inst.intent))
		break_invariant("I13", "kill intent of task %u fell", tr->inst.key.task);
	if (killing && tr->inst.state == ST_RUNNING)
		break_invariant("I13", "a kill of task %u was forgotten", tr->inst.key.task);
	if (killing && tr->event == EV_STARTED && tr->inst.state != tr->from)
		break_invariant("I13", "a late start of task %u changed its state",
		                tr->inst.key.task);
	if (killing && r->inst.intent == KI_USER && !state_final((enum state)tr->to) &&
	    !state_holds_slot((enum state)tr->to))
		break_invariant("I13", "task %u was killed by a person and goes on",
		                tr->inst.key.task);
}

static bool unplanned(const struct known *k, int64_t date)
{
	for (size_t i = 0; i < k->n_unplanned; i++)
		if (k->unplanned[i] == date)
			return true;
	return false;
}

/* A version of the schedule begins at `from`: what has no row by now was never planned. */
static void forget_dates(const struct task *t, struct known *k, int64_t from)
{
	for (int64_t d = plan_next(t->plan, INT64_MIN + 1); d != PLAN_NEVER && d < from;
	     d = plan_next(t->plan, d))
		if (!row_of((struct inst_key){ d, t->id, 0 }, false) && !unplanned(k, d))
			k->unplanned[k->n_unplanned++] = d;
}

void check_task(const struct task *t, const struct store_task *row)
{
	struct known *k = &known[t->id];

	moved = moved || t->version != k->version;
	note("  task %u is at version %u, state %d, frozen %d", t->id, t->version, row->state,
	     row->frozen);
	if (t->version < k->version)
		break_invariant("P4", "the edit of task %u to version %u was undone: %u", t->id,
		                k->version, t->version);
	if (row->online_from > k->online_from)
		forget_dates(t, k, row->online_from);
	k->online_from = row->online_from;
	task_begins_at(t->id, row->online_from);
	k->version = t->version;
	k->state = row->state;
	k->frozen = row->frozen;
}

/* In force when this was granted: of a replay only a first grant tells. */
const struct task *check_def_of(const struct instance *i)
{
	uint32_t version = known[i->key.task].version ? known[i->key.task].version : 1;

	return task_version(i->key.task, replaying && i->version > version ? i->version : version);
}

bool check_starts(uint32_t task)
{
	return task_starts(known[task].state);
}

const struct task *check_def(uint32_t id)
{
	return task_version(id, known[id].version ? known[id].version : 1);
}

static void check_order(const struct transition *tr)
{
	if (tr->number != last_number + 1)
		break_invariant("I16", "record %" PRIu64 " after %" PRIu64, tr->number,
		                last_number);
	last_number = tr->number;
	if (tr->epoch < last_epoch)
		break_invariant("I12", "epoch %u after %u", tr->epoch, last_epoch);
	last_epoch = tr->epoch;
	if (tr->epoch < newest_epoch && tr->number > taken_number)
		break_invariant("I12", "epoch %u wrote record %" PRIu64 " after epoch %u began",
		                tr->epoch, tr->number, newest_epoch);
}

static void check_edge(const struct transition *tr, const struct row *r)
{
	enum state from = r->inst.revision ? (enum state)r->inst.state : ST_NONE;

	if (from != tr->from)
		break_invariant("I9", "task %u says it comes from %s, it was %s", tr->inst.key.task,
		                state_name((enum state)tr->from), state_name(from));
	if (fsm_next((enum state)tr->from, (enum event)tr->event) != tr->to)
		break_invariant("I9", "no edge %s %s", state_name((enum state)tr->from),
		                event_name((enum event)tr->event));
}

/* I22: what came back untouched counts against nobody, and does not go to and fro. */
static void check_back(const struct transition *tr, struct row *r)
{
	if (tr->reason != RE_STOPPING && tr->reason != RE_UNSENT)
		return;
	if (tr->inst.infra != r->inst.infra)
		break_invariant("I22", "task %u came back untouched (%s), infra %u -> %u",
		                tr->inst.key.task, reason_name((enum reason)tr->reason),
		                r->inst.infra, tr->inst.infra);
	/* Excuse: the sorter has not come to the news of it yet. It reads one letter at a time in
	 * some seeds, and folds the records that came meanwhile. */
	bool is_behind = r->back_session == tr->session && threads_idle_us(AT_SORTER) < r->back_us;
	if (tr->reason != RE_STOPPING || is_behind)
		return;
	r->back_us = now_us;
	r->backs = r->back_session == tr->session ? r->backs + 1 : 1;
	r->back_session = tr->session;
	if (r->backs > BACKS_MAX)
		break_invariant("I22", "task %u went to session %u %u times, which is ending",
		                tr->inst.key.task, tr->session, r->backs);
}

/* C8: a redo that had to kill first begins with the parameters it was asked with. */
static void check_params(const struct transition *tr, const struct row *r)
{
	if (tr->event == EV_DEAD_REDO && r->inst.flags & IF_NEXT &&
	    (!tr->data || tr->data_kind != ID_PARAMS || !(tr->inst.flags & IF_PARAMS)))
		break_invariant("C8", "task %u runs again without its parameters",
		                tr->inst.key.task);
}

static void follow(const struct transition *tr, struct row *r)
{
	bool whole = tr->inst.flags & IF_SPREAD; /* its parts hold slots */
	int d = whole ? 0
	              : (int)state_holds_slot((enum state)tr->to) -
	                        (tr->from != ST_NONE && state_holds_slot((enum state)tr->from));

	slots[tr->inst.key.task] += d;
	workflow_slots += d;
	r->live_token = !whole && state_holds_slot((enum state)tr->to) ? tr->inst.token : 0;
	if (tr->from == ST_NONE)
		r->made = tr->number;
	if (tr->from == ST_NONE || tr->event == EV_REDO || tr->event == EV_REOPEN ||
	    tr->event == EV_DEAD_REDO)
		r->begun = tr->number;
	r->inst = tr->inst;
	r->in_range = tr->kind == TK_RANGE;
	if (tr->event == EV_GRANT)
		r->bound_epoch = tr->epoch;
	rules_follow(tr);
	stats_follow(tr);
}

void check_skipped_date(const struct transition *tr)
{
	struct row *r = row_of(tr->inst.key, true);

	check_edge(tr, r);
	looks_follow((uint32_t)(r - rows), tr, &r->inst);
	rules_skip(tr);
	follow(tr, r);
}

void check_record(const struct transition *tr)
{
	check_order(tr);
	story_follow(tr);
	promises_follow(tr);
	if (tr->kind == TK_TASK) {
		const struct task_pack *p = tr->row;
		for (size_t i = 0; i < p->n; i++)
			check_task(p->items[i].def, &p->items[i].row);
		moved = false; /* it stands in its place among the records */
	}
	if (tr->kind == TK_POOL)
		pools_follow(tr);
	if (tr->kind == TK_RANGE)
		ranges_follow(tr);
	if (tr->kind != TK_INSTANCE)
		return;
	struct row *r = row_of(tr->inst.key, true);
	note("  #%" PRIu64 " task %u @%" PRId64 "/%d %s -> %s (%s, %s) attempt %u token %" PRIx64,
	     tr->number, tr->inst.key.task, tr->inst.key.run_date % 100000, tr->inst.key.part,
	     state_name((enum state)tr->from), state_name((enum state)tr->to),
	     event_name((enum event)tr->event), reason_name((enum reason)tr->reason),
	     tr->inst.attempt, tr->inst.token);
	if (tr->cause)
		note("    by command %" PRIu64, tr->cause);
	check_edge(tr, r);
	looks_follow((uint32_t)(r - rows), tr, &r->inst);
	check_params(tr, r);
	if (!replaying || !moved)
		overlap_check(tr);
	if (tr->event == EV_GRANT)
		check_grant(tr, r);
	if (tr->event == EV_RETURN)
		check_back(tr, r);
	bool begins_anew = tr->event == EV_REDO || tr->event == EV_REOPEN;
	r->is_due_now = tr->event == EV_DUE_NOW || (r->is_due_now && !begins_anew);
	r->came_back = tr->to != ST_READY && (r->came_back || tr->event == EV_RETURN);
	branch_follow(tr, replaying && moved);
	if (tr->reason == RE_EXPIRED && tr->event == EV_EXPIRE && !(replaying && moved))
		rules_expire(tr);
	if (tr->to == ST_SKIPPED)
		rules_skip(tr);
	if (tr->to == ST_SKIPPED && !(replaying && moved))
		parts_skip(tr);
	check_result(tr);
	check_lost(tr, r);
	check_infra(tr);
	check_intent(tr, r);
	follow(tr, r);
}

/* Looks that were committed and shown to nobody: history has none of them, the row says what they
 * came to. */
static void bridge_looks(struct row *r, const struct instance *now, enum state to)
{
	struct transition tr = looks_bridge((uint32_t)(r - rows), &r->inst, now, to);

	know_token(&tr.inst);
	follow(&tr, r);
}

static int row_looked(void *ctx, const struct instance *i)
{
	struct row *r = row_of(i->key, true);

	(void)ctx;
	if (r->inst.revision != i->revision)
		bridge_looks(r, i, (enum state)i->state);
	return 0;
}

static int missed(void *ctx, const struct transition *tr)
{
	struct row *r = tr->kind == TK_INSTANCE ? row_of(tr->inst.key, true) : NULL;

	ranges_before(ctx, last_number, tr->number);
	if (tr->number <= last_number)
		return 0;
	if (r && r->inst.revision && r->inst.revision + 1 != tr->inst.revision)
		bridge_looks(r, &tr->inst, (enum state)tr->from);
	last_number = tr->number - 1; /* other kinds between are not kept as events */
	check_record(tr);
	return 0;
}

/* A commit whose answer was lost may be in without anyone having been told. */
void check_restart(struct store *s)
{
	uint64_t number;
	uint32_t epoch;

	replaying = true;
	store_mem_each_event(s, missed, s);
	store_load_live(s, row_looked, NULL, NULL);
	ranges_before(s, last_number, UINT64_MAX);
	branch_replayed();
	replaying = moved = false;
	if (store_position(s, &number, &epoch, NULL) == 0 && number >= last_number)
		last_number = number;
	else
		break_invariant("P4", "the store is at %" PRIu64 ", %" PRIu64 " was shown", number,
		                last_number);
	pools_restart(s);
	check_store(s);
}

void check_start(uint64_t token, struct inst_key key)
{
	struct row *r = row_of(key, true);
	struct seen_token *k = token_of(token);

	note("  world: start task %u @%" PRId64 " token %" PRIx64, key.task, key.run_date % 100000,
	     token);
	if (!k) {
		break_invariant("I4", "a start without a committed grant: token %" PRIx64, token);
		return;
	}
	if (k->started)
		break_invariant("I4", "token %" PRIx64 " starts twice", token);
	k->started = true;
	if (r->running_token)
		break_invariant(
			"I5", "task %u at %" PRId64 " runs twice: tokens %" PRIx64 " and %" PRIx64,
			key.task, key.run_date, r->running_token, token);
	r->running_token = token;
}

void check_end(uint64_t token, struct inst_key key, int exit_code)
{
	struct row *r = row_of(key, true);
	struct seen_token *k = token_of(token);

	note("  world: end task %u @%" PRId64 " token %" PRIx64 " exit %d", key.task,
	     key.run_date % 100000, token, exit_code);
	if (r->running_token == token)
		r->running_token = 0;
	if (k) {
		k->ended = true;
		k->ended_at = wall_of(now_us);
		k->exit_code = exit_code;
	}
}

bool check_find(struct inst_key key, struct instance *ret)
{
	const struct row *r = row_of(key, false);

	if (!r || !r->inst.revision)
		return false;
	*ret = r->inst;
	return true;
}

bool check_is_due_now(struct inst_key key)
{
	const struct row *r = row_of(key, false);

	return r && r->is_due_now;
}

bool check_was_there(struct inst_key key, struct inst_key when)
{
	const struct row *r = row_of(key, false), *w = row_of(when, false);

	return r && w && r->made < w->begun;
}

bool check_runs(struct inst_key key)
{
	const struct row *r = row_of(key, false);

	return r && r->running_token;
}

/* An acknowledged end must be in the log by now: the token is nobody's lease any more. */
void check_acked(uint64_t token, int code)
{
	const struct seen_token *k = token_of(token);
	const struct row *r = k ? row_of(k->key, false) : NULL;

	/* Excuse: its record is durable, and waits for the right to lead to be proven anew. */
	if (worker_behind())
		return;
	/* Excuse: it was refused. Granted in a former server's time, before another machine had the
	 * name for a while: nobody knows whose it is, and it is lost in time. Or the liar's, who
	 * has another number by now. */
	if (code == E_STALE && (swarm.twins || (r && liar_has(r->inst.broker))))
		return;
	if (r && r->live_token == token && r->inst.state != ST_HANGED)
		break_invariant("P4",
		                "the end of token %" PRIx64 " was acknowledged before it was kept",
		                token);
}

void check_trouble(void)
{
	trouble_us = now_us;
}

void check_epoch_taken(uint32_t epoch)
{
	uint32_t in_store;

	newest_epoch = epoch;
	if (store_position(server_store(), &taken_number, &in_store, NULL) < 0)
		break_invariant("I12", "the store does not say its position");
}

static void compare(const struct instance *i)
{
	const struct row *r = row_of(i->key, false);

	if (!r || r->inst.state != i->state || r->inst.revision != i->revision ||
	    r->inst.token != i->token || r->inst.generation != i->generation)
		break_invariant("I16", "the row of task %u at %" PRId64 " is not what the log says",
		                i->key.task, i->key.run_date);
}

static int compare_live(void *ctx, const struct instance *i)
{
	++*(size_t *)ctx;
	compare(i);
	return 0;
}

void check_store(struct store *s)
{
	size_t live = 0, want = 0, done = 0;
	struct instance i;

	if (store_load_live(s, compare_live, &live, NULL) < 0)
		break_invariant("I20", "the store does not load");
	for (uint32_t at = 0; at < n_rows; at++) {
		const struct row *r = &rows[at];
		bool is_final = r->inst.revision && state_final((enum state)r->inst.state);
		want += r->inst.revision && !is_final;
		done += is_final && !r->in_range;
		if (r->in_range)
			ranges_see(s, &r->inst);
		if (!is_final || r->in_range)
			continue;
		if (store_find_done(s, r->key, &i, NULL) < 0)
			break_invariant("I16", "task %u at %" PRId64 " ended and is not in history",
			                r->key.task, r->key.run_date);
		else
			compare(&i);
	}
	stats_check(s);
	ranges_check(s);
	if (live != want)
		break_invariant("I16", "%zu live rows, the log says %zu", live, want);
	if (store_mem_count_done(s) != done)
		break_invariant("I16", "%zu rows of history, the log says %zu",
		                store_mem_count_done(s), done);
}

size_t check_unfinished(bool print)
{
	size_t n = 0;

	for (uint32_t i = 0; i < n_rows; i++) {
		const struct row *r = &rows[i];
		if (!r->inst.revision || state_final((enum state)r->inst.state) ||
		    rules_may_wait(&r->inst))
			continue;
		n++;
		if (print)
			note("unfinished: task %u @%" PRId64 "/%d %s token %" PRIx64, r->key.task,
			     r->key.run_date % 100000, r->key.part,
			     state_name((enum state)r->inst.state), r->inst.token);
	}
	return n;
}

/* Gates 1, 2, 6 to 10, as far as the world tells: what is kept for somebody else is not looked
 * into, so pools count as closed while anything is taken of them. */
static bool gates_open(const struct instance *i, const struct task *t)
{
	const struct known *k = &known[t->id];
	int cap = t->serial == SERIAL_UNORDERED ? 1 : t->concurrency, room = 0;

	if (k->state != TS_ONLINE || k->frozen || i->flags & IF_FROZEN || i->key.part < 0 ||
	    i->origin == OR_BACKFILL || server_due(i) > wall_of(now_us) || swarm.wall_jumps)
		return false;
	if (i->state == ST_READY)
		return true;
	for (int b = 0; b < BROKERS; b++)
		room += broker_has_room(b);
	return room >= (t->dispatch == DISPATCH_BROADCAST || i->key.part ? BROKERS : 1) &&
	       (!cap || slots[t->id] < cap) && pools_free(t, slots) &&
	       (!t->workflow_cap || workflow_slots < t->workflow_cap);
}

void check_each_unfinished(void (*each)(const struct tended *t))
{
	for (uint32_t at = 0; at < n_rows && !broken; at++) {
		const struct row *r = &rows[at];
		const struct instance *i = &r->inst;
		if (!i->revision || state_final((enum state)i->state))
			continue;
		struct tended t = { .inst = i, .at = at, .runs = r->running_token != 0 };
		if (i->state == ST_READY || i->state == ST_DEPEND)
			t.may_move = gates_open(i, check_def(i->key.task)) && rules_open(i);
		each(&t);
	}
}

/* The first planned date that is due and has no row, or PLAN_NEVER. */
int64_t check_first_gap(uint32_t id)
{
	const struct task *t = task_now(id);
	int64_t end = wall_of(now_us) / SEC;

	for (int64_t d = plan_next(t->plan, INT64_MIN + 1); d != PLAN_NEVER && d < end;
	     d = plan_next(t->plan, d))
		if (!row_of((struct inst_key){ d, t->id, 0 }, false) && !unplanned(&known[id], d))
			return d;
	return PLAN_NEVER;
}

/* I17, I2, I16: faults are off and time has passed: all due work is done. */
void check_quiet(struct store *s)
{
	size_t n = check_unfinished(true);

	if (n)
		break_invariant("I17", "%zu instances never came to an end", n);
	n = commands_pending(true);
	if (n)
		break_invariant("C0", "%zu commands never came to an end", n);
	for (uint32_t id = 1; id <= TASKS; id++)
		if (check_first_gap(id) != PLAN_NEVER)
			break_invariant("I2", "task %u has no row at %" PRId64, id,
			                check_first_gap(id));
	for (uint32_t i = 0; i < n_rows; i++) {
		const struct instance *inst = &rows[i].inst;
		if (rows[i].running_token)
			break_invariant("I15", "a process of task %u runs on", rows[i].key.task);
		if (inst->revision && inst->state == ST_SKIPPED &&
		    (inst->reason == RE_LINK || inst->reason == RE_PIPELINE) &&
		    !rules_skip_stands(inst))
			break_invariant("I17",
			                "task %u at %" PRId64
			                " was skipped for a parent that reopened",
			                inst->key.task, inst->key.run_date);
		if (inst->revision) {
			parts_quiet(inst);
			branch_quiet(inst);
		}
	}
	check_store(s);
}
