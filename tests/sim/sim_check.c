/* The invariants (guides: reliability section 5), judged from outside: durable records as
 * they leave the server, and what the world saw of each process. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sched/outcome.h"
#include "sched/task.h"
#include "sim.h"
#include "store/mem.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/map.h"

const char *broken;
static char words[600];

enum { ROWS = 8192, TOKENS = 65536 };

struct row {
	struct inst_key key;
	struct instance inst;
	uint64_t live_token;   /* 0: no lease */
	uint64_t running_token; /* the world's: a process of it runs */
	uint64_t running_token2;
};

struct seen_token {
	uint64_t token;
	struct inst_key key;
	bool started, ended, acked, settled;
	int exit_code;
	int64_t granted_at;
};

static struct row rows[ROWS];
static uint32_t n_rows;
static struct map by_key, by_token;
static struct seen_token tokens[TOKENS];
static uint32_t n_tokens;
static struct task *tasks[TASKS];
static size_t n_tasks;
static struct outcomes outcomes[TASKS + 1];
static int slots[TASKS + 1], workflow_slots;
static uint64_t last_number, last_token;
static uint32_t last_epoch;
static uint64_t seen[ST_COUNT][EV_COUNT];

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

void check_reset(struct task *const *ts, size_t n)
{
	broken = NULL;
	map_done(&by_key);
	map_done(&by_token);
	map_init(&by_key);
	map_init(&by_token);
	n_rows = n_tokens = 0;
	last_number = last_token = 0;
	last_epoch = 0;
	workflow_slots = 0;
	memset(slots, 0, sizeof slots);
	n_tasks = n;
	for (size_t i = 0; i < n; i++) {
		tasks[i] = ts[i];
		outcomes_done(&outcomes[i + 1]);
	}
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

static bool meets(const struct task_link *l, const struct outcome_range *o, bool turn)
{
	if (!o)
		return false;
	if (turn)
		return o->state == ST_SUCC || o->state == ST_SKIPPED;
	if (l->on == ON_DONE)
		return true;
	return o->state == ST_SUCC || (o->state == ST_SKIPPED && o->reason != RE_LINK &&
	                               o->reason != RE_BRANCH && o->reason != RE_PIPELINE);
}

static void check_link(const struct task *t, const struct task_link *l, int64_t run_date, bool turn)
{
	struct link_span spans[LINK_SPANS_MAX];
	const struct task *p = tasks[l->parent - 1];
	int n = link_spans(l, p->plan, t->plan, run_date, spans);
	int met = 0, total = 0;

	for (int i = 0; i < n; i++)
		for (int64_t d = plan_next(p->plan, spans[i].lo - 1); d < spans[i].hi;
		     d = plan_next(p->plan, d)) {
			total++;
			met += meets(l, outcomes_find(&outcomes[p->id], d), turn);
		}
	if (total && (l->strategy == LS_ANY ? met == 0 : met < total))
		break_invariant("I8", "task %u at %" PRId64 " granted with %d of %d of task %u", t->id,
		                run_date, met, total, p->id);
}

/* I8: judged by brute force on the committed prefix. Retries do not ask again. */
static void check_dependencies(const struct transition *tr)
{
	const struct task *t = tasks[tr->inst.key.task - 1];

	if (tr->inst.attempt != 1 || tr->inst.infra || (tr->inst.flags & IF_RUN_NOW))
		return;
	for (size_t i = 0; i < t->n_links; i++)
		check_link(t, &t->links[i], tr->inst.key.run_date, false);
	if (t->serial == SERIAL_ORDERED) {
		struct task_link turn = { .parent = t->id, .kind = LK_PREV, .prev = 1 };
		check_link(t, &turn, tr->inst.key.run_date, true);
	}
}

static void check_grant(const struct transition *tr, struct row *r)
{
	const struct task *t = tasks[tr->inst.key.task - 1];

	if (r->live_token)
		break_invariant("I3", "a second live lease for task %u", t->id);
	if (tr->inst.token <= last_token)
		break_invariant("I3", "token %" PRIx64 " after %" PRIx64, tr->inst.token, last_token);
	last_token = tr->inst.token;
	check_dependencies(tr);
	if (t->concurrency && slots[t->id] >= t->concurrency)
		break_invariant("I10", "task %u runs %d of %d and starts one more", t->id,
		                slots[t->id], t->concurrency);
	if (t->workflow_cap && workflow_slots >= t->workflow_cap)
		break_invariant("I10", "the workflow's quota is exceeded");
	if (tr->inst.attempt > t->max_attempts)
		break_invariant("I19", "attempt %u of %d", tr->inst.attempt, t->max_attempts);
	if (n_tokens < TOKENS) {
		tokens[n_tokens] = (struct seen_token){ .token = tr->inst.token,
			.key = tr->inst.key, .granted_at = now_us };
		map_add(&by_token, tr->inst.token, n_tokens++);
	}
}

/* I6: success only from an exit status that was seen; and what was seen is what stands. */
static void check_success(const struct transition *tr)
{
	const struct seen_token *k = token_of(tr->inst.token);

	if (tr->event != EV_EXIT_OK)
		return;
	if (!k || !k->ended || k->exit_code != 0)
		break_invariant("I6", "success of task %u without an exit 0 under token %" PRIx64,
		                tr->inst.key.task, tr->inst.token);
}

static void check_intent(const struct transition *tr, const struct row *r)
{
	bool killing = tr->from == ST_WAITKILL || tr->from == ST_KILLING;

	if (killing && (tr->inst.state == ST_WAITKILL || tr->inst.state == ST_KILLING) &&
	    tr->inst.intent < r->inst.intent)
		break_invariant("I13", "kill intent of task %u fell", tr->inst.key.task);
	if (killing && tr->inst.state == ST_RUNNING)
		break_invariant("I13", "a kill of task %u was forgotten", tr->inst.key.task);
	if (killing && tr->event == EV_STARTED && tr->inst.state != tr->from)
		break_invariant("I13", "a late start of task %u changed its state", tr->inst.key.task);
}

static int missed(void *ctx, const struct transition *tr)
{
	(void)ctx;
	if (tr->number <= last_number)
		return 0;
	last_number = tr->number - 1; /* other kinds between are not kept as events */
	check_record(tr);
	return 0;
}

/* A commit whose answer was lost may be in without anyone having been told. */
void check_restart(struct store *s)
{
	uint64_t number;
	uint32_t epoch;

	store_mem_each_event(s, missed, NULL);
	if (store_position(s, &number, &epoch, NULL) == 0 && number >= last_number)
		last_number = number;
	else
		break_invariant("P4", "the store is at %" PRIu64 ", %" PRIu64 " was shown", number,
		                last_number);
}

void check_record(const struct transition *tr)
{
	if (tr->number != last_number + 1)
		break_invariant("I16", "record %" PRIu64 " after %" PRIu64, tr->number, last_number);
	last_number = tr->number;
	if (tr->epoch < last_epoch)
		break_invariant("I12", "epoch %u after %u", tr->epoch, last_epoch);
	last_epoch = tr->epoch;
	if (tr->kind != TK_INSTANCE)
		return;
	struct row *r = row_of(tr->inst.key, true);
	enum state from = r->inst.revision ? (enum state)r->inst.state : ST_NONE;
	note("  #%" PRIu64 " task %u @%" PRId64 " %s -> %s (%s) attempt %u token %" PRIx64, tr->number,
	     tr->inst.key.task, tr->inst.key.run_date % 100000, state_name((enum state)tr->from),
	     state_name((enum state)tr->to), event_name((enum event)tr->event), tr->inst.attempt,
	     tr->inst.token);
	if (from != tr->from)
		break_invariant("I9", "task %u says it comes from %s, it was %s", tr->inst.key.task,
		                state_name((enum state)tr->from), state_name(from));
	if (fsm_next((enum state)tr->from, (enum event)tr->event) != tr->to)
		break_invariant("I9", "no edge %s %s", state_name((enum state)tr->from),
		                event_name((enum event)tr->event));
	seen[tr->from][tr->event]++;
	if (tr->event == EV_GRANT)
		check_grant(tr, r);
	check_success(tr);
	check_intent(tr, r);
	int d = (int)state_holds_slot((enum state)tr->to) - (int)state_holds_slot((enum state)tr->from);
	slots[tr->inst.key.task] += d;
	workflow_slots += d;
	r->live_token = state_holds_slot((enum state)tr->to) ? tr->inst.token : 0;
	r->inst = tr->inst;
	if (state_final((enum state)tr->to))
		outcomes_set(&outcomes[tr->inst.key.task], tasks[tr->inst.key.task - 1]->plan,
		             tr->inst.key.run_date, tr->inst.generation, tr->to, tr->reason);
	else if (state_final((enum state)tr->from))
		outcomes_clear(&outcomes[tr->inst.key.task], tasks[tr->inst.key.task - 1]->plan,
		               tr->inst.key.run_date);
}

void check_start(uint64_t token, struct inst_key key)
{
	struct row *r = row_of(key, true);
	struct seen_token *k = token_of(token);

	note("  world: start task %u @%" PRId64 " token %" PRIx64, key.task, key.run_date % 100000, token);
	if (!k) {
		break_invariant("I4", "a start without a committed grant: token %" PRIx64, token);
		return;
	}
	if (k->started)
		break_invariant("I4", "token %" PRIx64 " starts twice", token);
	k->started = true;
	if (r->running_token)
		break_invariant("I5", "task %u at %" PRId64 " runs twice: tokens %" PRIx64 " and %" PRIx64,
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
		k->exit_code = exit_code;
	}
}

/* An acknowledged end must be in the log by now: the token is nobody's lease any more. */
void check_acked(uint64_t token)
{
	struct seen_token *k = token_of(token);
	const struct row *r = k ? row_of(k->key, false) : NULL;

	if (r && r->live_token == token)
		break_invariant("P4", "the end of token %" PRIx64 " was acknowledged before it was kept",
		                token);
}

static int compare_live(void *ctx, const struct instance *i)
{
	size_t *n = ctx;
	const struct row *r = row_of(i->key, false);

	++*n;
	if (!r || r->inst.state != i->state || r->inst.revision != i->revision ||
	    r->inst.token != i->token)
		break_invariant("I16", "the live row of task %u at %" PRId64 " is not what the log says",
		                i->key.task, i->key.run_date);
	return 0;
}

void check_store(struct store *s)
{
	size_t live = 0, want = 0;

	if (store_load_live(s, compare_live, &live, NULL) < 0)
		break_invariant("I20", "the store does not load");
	for (uint32_t i = 0; i < n_rows; i++)
		want += rows[i].inst.revision && !state_final((enum state)rows[i].inst.state);
	if (live != want)
		break_invariant("I16", "%zu live rows, the log says %zu", live, want);
}

static bool may_wait(const struct row *r)
{
	const struct task *t = tasks[r->key.task - 1];

	/* It waits for a parent that ended badly, or for one that does. */
	if (r->inst.state == ST_HANGED)
		return true;
	if (r->inst.state != ST_READY)
		return false;
	for (size_t i = 0; i <= t->n_links; i++) {
		struct link_span spans[LINK_SPANS_MAX];
		struct task_link turn = { .parent = t->id, .kind = LK_PREV, .prev = 1 };
		const struct task_link *l = i < t->n_links ? &t->links[i] : &turn;
		const struct task *p = tasks[l->parent - 1];
		if (i == t->n_links && t->serial != SERIAL_ORDERED)
			continue;
		int n = link_spans(l, p->plan, t->plan, r->key.run_date, spans);
		for (int k = 0; k < n; k++)
			for (int64_t d = plan_next(p->plan, spans[k].lo - 1); d < spans[k].hi;
			     d = plan_next(p->plan, d))
				if (!meets(l, outcomes_find(&outcomes[p->id], d), i == t->n_links))
					return true;
	}
	return false;
}

size_t check_unfinished(bool print)
{
	size_t n = 0;

	for (uint32_t i = 0; i < n_rows; i++) {
		const struct row *r = &rows[i];
		if (!r->inst.revision || state_final((enum state)r->inst.state) || may_wait(r))
			continue;
		n++;
		if (print)
			note("unfinished: task %u @%" PRId64 " %s token %" PRIx64, r->key.task,
			     r->key.run_date % 100000, state_name((enum state)r->inst.state),
			     r->inst.token);
	}
	return n;
}

/* I17, I2, I6 backwards: faults are off and time has passed: all due work is done. */
void check_quiet(bool faults_off)
{
	if (!faults_off)
		return;
	size_t n = check_unfinished(true);
	if (n)
		break_invariant("I17", "%zu instances never came to an end", n);
	for (size_t i = 0; i < n_tasks; i++) {
		int64_t end = wall_of(now_us) / SEC;
		for (int64_t d = plan_next(tasks[i]->plan, INT64_MIN + 1); d != PLAN_NEVER && d < end;
		     d = plan_next(tasks[i]->plan, d))
			if (!row_of((struct inst_key){ d, tasks[i]->id, 0 }, false))
				break_invariant("I2", "task %u has no row at %" PRId64, tasks[i]->id, d);
	}
	for (uint32_t i = 0; i < n_tokens; i++)
		if (tokens[i].ended && !tokens[i].acked) {
			const struct row *r = row_of(tokens[i].key, false);
			if (r && r->live_token == tokens[i].token && r->inst.state != ST_HANGED)
				break_invariant("I6", "the end of token %" PRIx64 " was lost",
				                tokens[i].token);
		}
}

void check_coverage(uint64_t counts[ST_COUNT][EV_COUNT])
{
	for (int s = 0; s < ST_COUNT; s++)
		for (int e = 0; e < EV_COUNT; e++)
			counts[s][e] += seen[s][e];
	memset(seen, 0, sizeof seen);
}
