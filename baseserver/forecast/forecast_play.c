/* The simulation played from how things are: once with usual durations, once with slow ones; then
 * what that means for promises, and as JSON.
 *
 * The play is lib/sched/simulate.h with today's instances as its beginning (state()). What runs
 * ends after its usual duration; what has run longer than that, after the slow one; what has run
 * longer than both ends nobody knows when. A promise is breached once its time has passed, at risk
 * if the slow play misses it or the usual one leaves less than its margin, else safe; its cause is
 * the root of the chain that it waits for. Days are those of each task's own zone. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/forecast/forecast.h"
#include "sched/civil.h"
#include "sched/label.h"
#include "sched/plan.h"
#include "sched/simulate.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

enum { DATES_MAX = 200000, PATH_MAX_LEN = 100 };

#define NEVER INT64_MAX

/* --- how it is now ------------------------------------------------------------------------- */

struct play {
	const struct forecast *f;
	bool is_slow;
};

static const struct outcome_range *over_of(const struct forecast_task *t, int64_t date)
{
	struct outcomes o = { t->over, t->n_over, t->n_over };

	return outcomes_find(&o, date);
}

/* What has run as long as usual will take as long as slow ones; beyond that nobody knows. */
static int64_t guess_end(const struct forecast *f, const struct forecast_task *t, int64_t since_us,
                         bool is_slow)
{
	int64_t took = f->now_us - since_us;

	return forecast_guess(f->now_us, since_us,
	                      is_slow || took >= t->usual_us ? t->slow_us : t->usual_us);
}

static void state_of_live(const struct play *p, const struct forecast_task *t,
                          const struct forecast_live *v, struct simulate_state *ret)
{
	bool holds = state_holds_slot((enum state)v->state);

	ret->at_us = p->f->now_us;
	if (v->state == ST_HANGED || (!holds && (v->flags & IF_FROZEN || t->is_frozen))) {
		ret->is = SIM_HELD;
	} else if (holds) {
		ret->is = SIM_RUNNING;
		ret->at_us = v->at_us;
		ret->until_us = guess_end(p->f, t, v->at_us, p->is_slow);
		ret->seat = v->seat;
	} else if (v->state == ST_FAILED || (v->state == ST_READY && v->flags & IF_LOOKS)) {
		ret->is = SIM_AGAIN;
		ret->at_us = v->at_us;
	} else if (v->state == ST_DEPEND || v->flags & IF_RUN_NOW) {
		ret->is = SIM_AGAIN;
	}
}

static void state_over(enum state st, enum reason re, struct simulate_state *ret)
{
	bool dead = st == ST_SKIPPED && (re == RE_LINK || re == RE_BRANCH || re == RE_PIPELINE);

	ret->is = dead ? SIM_OVER_DEAD : st == ST_STOP || st == ST_KILLED ? SIM_OVER_BAD : SIM_OVER;
	ret->at_us = NEVER; /* long ago */
}

static void state(void *ctx, uint32_t task, int64_t run_date, struct simulate_state *ret)
{
	const struct play *p = ctx;
	CHECK(task < p->f->n_tasks);
	const struct forecast_task *t = &p->f->tasks[task];
	struct inst_key key = { .run_date = run_date, .task = t->def->id };
	const struct forecast_live *v = forecast_live_of(p->f, key);
	const struct outcome_range *o = v ? NULL : over_of(t, run_date);

	if (v && state_final((enum state)v->state))
		state_over((enum state)v->state, (enum reason)v->reason, ret);
	else if (v)
		state_of_live(p, t, v, ret);
	else if (o)
		state_over((enum state)o->state, (enum reason)o->reason, ret);
	else if (run_date <= t->through)
		*ret = (struct simulate_state){ .is = SIM_OVER, .at_us = NEVER };
}

/* --- which dates --------------------------------------------------------------------------- */

/* The day that is shown, in the task's own zone; what came due earlier today is played too. */
static void set_day(struct forecast *f, size_t i)
{
	const struct tz *tz = plan_tz(f->tasks[i].def->plan);
	int64_t now = f->now_us / US_PER_S;

	f->day_lo[i] = unit_floor(tz, CU_DAY, f->has_day ? when_instant(&f->day, tz, false) : now);
	f->day_hi[i] = unit_next(tz, CU_DAY, f->day_lo[i]);
}

static int set_span(const struct forecast *f, size_t i, struct link_span *ret, struct err *err)
{
	const struct plan *plan = f->tasks[i].def->plan;
	int64_t now = f->now_us / US_PER_S, from = unit_floor(plan_tz(plan), CU_DAY, now);
	int n = 0;

	if (f->day_lo[i] < from)
		from = f->day_lo[i];
	*ret = (struct link_span){ f->day_hi[i], f->day_hi[i] };
	if (!f->tasks[i].is_online)
		return 0;
	for (int64_t p = plan_prev(plan, f->day_hi[i]); p != PLAN_BEFORE && n < DATES_MAX;
	     p = plan_prev(plan, p), n++) {
		int64_t due = plan_due(plan, p);
		if (due < from)
			break;
		ret->lo = p;
		if (due >= f->day_hi[i])
			ret->hi = p;
	}
	return n < DATES_MAX ? 0
	                     : err_set(err, E_LIMIT, "%s has more than %d dates to look at",
	                               f->tasks[i].def->name, DATES_MAX);
}

/* Also what is unfinished of earlier days. */
static void widen_spans(const struct forecast *f, struct link_span *spans)
{
	int64_t oldest = f->now_us / US_PER_S - FORECAST_DAYS_MAX * INT64_C(86400);

	for (size_t k = 0; k < f->n_lives; k++) {
		const struct inst_key *key = &f->lives[k].key;
		struct link_span *s = &spans[forecast_task_of(f, key->task) - f->tasks];
		if (key->run_date >= oldest && key->run_date < s->lo)
			s->lo = key->run_date;
	}
}

/* --- played -------------------------------------------------------------------------------- */

struct board {
	struct task **tasks;
	struct link_span *spans;
	struct simulate_gates gates;
};

static int forecast_play_play(const struct forecast *f, const struct board *b, bool is_slow,
                              struct simulate_row **ret_rows, size_t *ret_n, struct err *err)
{
	int64_t *durations = mem_array(f->n_tasks + 1, sizeof *durations);
	struct play p = { f, is_slow };
	struct simulate_input in = { .tasks = b->tasks,
		                     .n = f->n_tasks,
		                     .spans = b->spans,
		                     .durations_us = durations,
		                     .state = state,
		                     .ctx = &p,
		                     .now_us = f->now_us,
		                     .gates = f->has_gates ? &b->gates : NULL };

	for (size_t i = 0; i < f->n_tasks; i++)
		durations[i] = is_slow ? f->tasks[i].slow_us : f->tasks[i].usual_us;
	int r = simulate_run(&in, ret_rows, ret_n, err);
	free(durations);
	return r;
}

/* The server's word on what is in force, over that of the documents. */
static struct task *copies_of(const struct forecast *f, struct task **list)
{
	struct task *copies = mem_array(f->n_tasks + 1, sizeof *copies);

	for (size_t i = 0; i < f->n_tasks; i++) {
		memcpy(&copies[i], f->tasks[i].def, sizeof copies[i]);
		copies[i].state = f->tasks[i].is_online ? TS_ONLINE : TS_OFFLINE;
		copies[i].frozen = f->tasks[i].is_frozen;
		list[i] = &copies[i];
	}
	return copies;
}

static void judge_promises(struct forecast *f);

int forecast_play(struct forecast *f, struct err *err)
{
	struct board b = { .spans = mem_array(f->n_tasks + 1, sizeof *b.spans),
		           .tasks = mem_array(f->n_tasks + 1, sizeof(struct task *)) };
	struct task *copies = copies_of(f, b.tasks);
	size_t n = 0;
	int r = 0;

	f->day_lo = mem_array(f->n_tasks + 1, sizeof *f->day_lo);
	f->day_hi = mem_array(f->n_tasks + 1, sizeof *f->day_hi);
	forecast_gates_make(f, &b.gates);
	for (size_t i = 0; i < f->n_tasks && r == 0; i++) {
		set_day(f, i);
		r = set_span(f, i, &b.spans[i], err);
	}
	if (r == 0) {
		widen_spans(f, b.spans);
		r = forecast_play_play(f, &b, false, &f->rows, &f->n_rows, err);
	}
	if (r == 0)
		r = forecast_play_play(f, &b, true, &f->slow, &n, err);
	CHECK(r < 0 || n == f->n_rows); /* the same instances in the same order */
	if (r == 0)
		judge_promises(f);
	forecast_gates_done(&b.gates);
	free(copies);
	free(b.tasks);
	free(b.spans);
	return r;
}

/* --- promises ------------------------------------------------------------------------------ */

static const struct simulate_row *row_at(const struct forecast *f, uint32_t task, int64_t date)
{
	int64_t due = plan_due(f->tasks[task].def->plan, date);
	size_t lo = 0, hi = f->n_rows; /* rows are in order of due, task, date */

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct simulate_row *r = &f->rows[mid];
		bool less = r->due != due     ? r->due < due
		            : r->task != task ? r->task < task
		                              : r->run_date < date;
		if (less)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < f->n_rows ? &f->rows[lo] : NULL;
}

static const struct simulate_row *cause_of(const struct forecast *f, const struct simulate_row *r)
{
	return r->cause == SIMULATE_NOBODY ? NULL : row_at(f, r->cause, r->cause_date);
}

static struct inst_key key_of(const struct forecast *f, const struct simulate_row *r)
{
	return (struct inst_key){ r->run_date, f->tasks[r->task].def->id, 0 };
}

/* Where the chain of what it waits for begins. */
static const struct simulate_row *root_of(const struct forecast *f, const struct simulate_row *r)
{
	const struct simulate_row *up;

	for (int n = 0; n < PATH_MAX_LEN && (up = cause_of(f, r)); n++)
		r = up;
	return r;
}

/* It has got as far as to its gates, and one of them never opens. */
static bool is_shut(const struct forecast *f, const struct simulate_row *r)
{
	const struct forecast_live *v = forecast_live_of(f, key_of(f, r));
	const struct forecast_task *t = &f->tasks[r->task];

	return f->has_gates && t->asks.is_closed && r->start_us == NEVER && !r->was_over &&
	       !r->is_skipped && !t->is_frozen &&
	       !(v && (v->flags & IF_FROZEN || state_holds_slot((enum state)v->state)));
}

static bool cannot_start(const struct forecast *f, const struct simulate_row *r,
                         struct why_line *ret)
{
	const struct simulate_row *root = r->start_us == NEVER ? root_of(f, r) : r;
	char at[LABEL_TEXT];

	if (r->start_us != NEVER || r->is_skipped || r->was_over || !is_shut(f, root))
		return false;
	if (root == r)
		return forecast_shut(f, r->task, ret);
	label_of(f->tasks[root->task].def->plan, root->run_date, at);
	why_set(ret, WHY_LINK_SHUT);
	why_text(ret, "task", "%s", f->tasks[root->task].def->name);
	why_text(ret, "date", "%s", at);
	return true;
}

bool forecast_cannot_start(const struct forecast *f, struct inst_key key, struct why_line *ret)
{
	uint32_t task = map_get(&f->by_id, key.task);
	const struct simulate_row *r = task == MAP_NONE ? NULL : row_at(f, task, key.run_date);

	return r && r->task == task && r->run_date == key.run_date && cannot_start(f, r, ret);
}

/* The first such time of the day at or after it is due. */
static int64_t committed_at(const struct task *d, int64_t due)
{
	const struct tz *tz = plan_tz(d->plan);
	int64_t label = tz_to_label(tz, due);
	int64_t at = floor_div(label, DAY_S) * DAY_S + d->promised_s;

	return tz_first(tz, at < label ? at + DAY_S : at);
}

static enum promise_state play_judge(const struct forecast *f, const struct promise *p)
{
	int64_t by_us = p->committed * US_PER_S;

	if (p->is_over)
		return PROMISE_SAFE;
	if (f->now_us >= by_us)
		return PROMISE_BREACHED;
	if (p->expected_us == NEVER || p->expected_us + p->margin_us > by_us ||
	    p->expected_slow_us > by_us)
		return PROMISE_AT_RISK;
	return PROMISE_SAFE;
}

static bool is_shown(const struct forecast *f, const struct simulate_row *r)
{
	return f->tasks[r->task].is_asked && r->due < f->day_hi[r->task] &&
	       (r->due >= f->day_lo[r->task] || (!r->was_over && !f->has_day));
}

/* Due before the task went online, and nobody asked for it: no promise is about it. */
static bool never_comes(const struct forecast *f, const struct simulate_row *r)
{
	const struct forecast_task *t = &f->tasks[r->task];
	struct inst_key key = { r->run_date, t->def->id, 0 };

	return r->run_date <= t->through && !forecast_live_of(f, key) && !over_of(t, r->run_date);
}

static void judge_promises(struct forecast *f)
{
	for (size_t i = 0; i < f->n_rows; i++) {
		const struct simulate_row *r = &f->rows[i];
		const struct task *d = f->tasks[r->task].def;
		if (!d->has_promise || !is_shown(f, r) || never_comes(f, r))
			continue;
		f->promises = mem_room(f->promises, &f->promises_cap, f->n_promises + 1,
		                       sizeof *f->promises);
		struct promise *p = &f->promises[f->n_promises++];
		*p = (struct promise){ .key = { r->run_date, d->id, 0 },
			               .committed = committed_at(d, r->due),
			               .margin_us = d->margin_us,
			               .expected_us = r->end_us,
			               .expected_slow_us = f->slow[i].end_us,
			               .is_over = r->was_over && !r->is_bad };
		p->is_live = forecast_live_of(f, p->key) != NULL;
		p->cause = key_of(f, root_of(f, r));
		p->state = play_judge(f, p);
	}
}

static const char *promise_state_name(enum promise_state s)
{
	static const char *const names[] = { "safe", "at_risk", "breached" };

	CHECK((size_t)s < sizeof names / sizeof names[0]);
	return names[s];
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void print_instant(struct buf *out, const char *key, int64_t us)
{
	if (us == NEVER)
		put_null(out, key);
	else
		put_time(out, key, us / US_PER_S);
}

static void print_key(const struct forecast *f, struct inst_key key, struct buf *out)
{
	const struct task *d = forecast_task_of(f, key.task)->def;
	char id[64];

	snprintf(id, sizeof id, "%" PRIu32 ".%" PRId64, key.task, key.run_date);
	put_text(out, "id", id);
	put_text(out, "task", d->name);
	put_int(out, "task_id", key.task);
	put_time(out, "run_date", key.run_date);
	put_label(out, d->plan, key.run_date);
	put_int(out, "part", 0);
}

static void print_cause(const struct forecast *f, struct inst_key key, struct buf *out)
{
	const struct forecast_live *v = forecast_live_of(f, key);
	const struct forecast_task *t = forecast_task_of(f, key.task);
	const struct outcome_range *o = v ? NULL : over_of(t, key.run_date);

	put_open(out, "cause", '{');
	print_key(f, key, out);
	put_text(out, "state",
	         v   ? state_name((enum state)v->state)
	         : o ? state_name((enum state)o->state)
	             : "planned");
	put_close(out, '}');
}

static void print_cannot_start(const struct forecast *f, struct inst_key key, struct buf *out)
{
	struct why_line w = { 0 };

	if (!forecast_cannot_start(f, key, &w)) {
		put_null(out, "cannot_start");
		return;
	}
	put_open(out, "cannot_start", '{');
	why_print(&w, out);
	put_close(out, '}');
}

static const char *confidence(uint64_t runs)
{
	return runs == 0 ? "none" : runs < 5 ? "low" : runs < 30 ? "fair" : "good";
}

static void print_row(const struct forecast *f, size_t i, struct buf *out)
{
	CHECK(i < f->n_rows);
	const struct simulate_row *r = &f->rows[i];
	const struct forecast_task *t = &f->tasks[r->task];
	struct inst_key key = key_of(f, r);
	const struct forecast_live *v = forecast_live_of(f, key);

	put_open(out, NULL, '{');
	print_key(f, key, out);
	put_text(out, "state", v ? state_name((enum state)v->state) : "planned");
	put_time(out, "due", r->due);
	print_instant(out, "start", r->start_us);
	print_instant(out, "end", r->end_us);
	print_instant(out, "start_slow", f->slow[i].start_us);
	print_instant(out, "end_slow", f->slow[i].end_us);
	put_text(out, "skipped", r->is_skipped ? simulate_reason_name(r->reason) : "");
	put_int(out, "runs", (int64_t)t->runs);
	put_text(out, "confidence", confidence(t->runs));
	print_cannot_start(f, key, out);
	const struct simulate_row *up = cause_of(f, r);
	if (up)
		print_cause(f, key_of(f, up), out);
	else
		put_null(out, "cause");
	put_close(out, '}');
}

/* What ends last of all that is shown, and back along what each waited for. */
static void print_path(const struct forecast *f, struct buf *out)
{
	const struct simulate_row *last = NULL;

	for (size_t i = 0; i < f->n_rows; i++)
		if (is_shown(f, &f->rows[i]) && !f->rows[i].was_over && !f->rows[i].is_skipped &&
		    (!last || f->rows[i].end_us > last->end_us))
			last = &f->rows[i];
	put_open(out, "critical_path", '[');
	for (int n = 0; n < PATH_MAX_LEN && last; n++, last = cause_of(f, last))
		print_row(f, (size_t)(last - f->rows), out);
	put_close(out, ']');
}

static void print_promises(const struct forecast *f, struct buf *out)
{
	put_open(out, "baselines", '[');
	for (size_t i = 0; i < f->n_promises; i++) {
		const struct promise *p = &f->promises[i];
		put_open(out, NULL, '{');
		print_key(f, p->key, out);
		put_text(out, "state", promise_state_name(p->state));
		put_time(out, "committed", p->committed);
		put_int(out, "margin_s", p->margin_us / US_PER_S);
		put_bool(out, "over", p->is_over);
		print_instant(out, "expected", p->expected_us);
		print_instant(out, "expected_slow", p->expected_slow_us);
		print_cannot_start(f, p->cause, out);
		if (p->state == PROMISE_SAFE)
			put_null(out, "cause");
		else
			print_cause(f, p->cause, out);
		put_close(out, '}');
	}
	put_close(out, ']');
}

void forecast_print(const struct forecast *f, struct buf *out)
{
	size_t shown = 0, more = 0;

	put_open(out, NULL, '{');
	put_time_us(out, "now", f->now_us);
	if (!f->only_promised) {
		put_open(out, "instances", '[');
		for (size_t i = 0; i < f->n_rows; i++) {
			if (!is_shown(f, &f->rows[i]) || f->rows[i].was_over)
				continue;
			if (shown++ < FORECAST_ROWS_MAX)
				print_row(f, i, out);
			else
				more++;
		}
		put_close(out, ']');
		put_int(out, "instances_more", (int64_t)more);
		print_path(f, out);
	}
	print_promises(f, out);
	put_close(out, '}');
}
