/* The forecaster: plays what will happen, on a thread of its own, and follows promises.
 *
 * A letter comes with a copy of the situation (forecast_collect.c); usual and slow durations are
 * put to it, from the store's figures of thirty days, read again every ten minutes; it is played,
 * judged and sent back. Every baseline_every_ms the forecaster asks for a snapshot of all that is
 * promised, by itself: a promise that is no longer safe, or safe again, is told once, to the log
 * and to the instance's history. A promise whose instance ended too late stays breached; when it
 * ended is read once from the store. What it remembers is not durable, and nobody waits for it. */
#include "baseserver/forecast/forecaster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/civil.h"
#include "sched/label.h"
#include "sched/measure.h"
#include "sched/task.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { DAYS = 30, USUAL_PERMILLE = 500, SLOW_PERMILLE = 900 };
#define FRESH_US (10 * 60 * US_PER_S) /* durations change slowly */

/* How long a task takes, as far as it was measured. */
struct lasts {
	int64_t usual_us, slow_us, read_us; /* read: mono */
	uint64_t runs;
};

/* A promise that is not safe, or was not: so that each change is told once. */
struct known {
	struct inst_key key;
	enum promise_state state;
	bool told; /* to the instance's history: it has a row */
	bool seen;
};

/* When something promised ended, as the store has it. */
struct end {
	struct inst_key key;
	int64_t at_us;
};
enum { ENDS_MAX = 10000 };

struct forecaster {
	struct actor *me;
	struct forecast_source source; /* no snapshot: none */
	char *store_url;
	struct reader *reader; /* NULL: none yet, or never */
	int64_t every_us;
	struct map by_task; /* -> index of lasts */
	struct lasts *lasts;
	size_t n_lasts, lasts_cap;
	struct known *known;
	size_t n_known;
	struct map ended; /* hash of an instance that is over -> index of ends */
	struct end *ends;
	size_t n_ends;
	bool asked; /* a snapshot is on its way */
};

/* --- letters ------------------------------------------------------------------------------- */

static void forecaster_discard(struct letter *l)
{
	forecast_letter_free((struct forecast_letter *)l);
}

struct forecast_letter *forecast_letter_new(int64_t now_us)
{
	struct forecast_letter *l = mem_new(sizeof *l);

	l->letter.discard = forecaster_discard;
	forecast_init(&l->f, now_us);
	return l;
}

void forecast_letter_free(struct forecast_letter *l)
{
	if (!l)
		return;
	forecast_done(&l->f);
	free(l);
}

/* --- durations ----------------------------------------------------------------------------- */

static int each_stat(void *ctx, const struct store_stat *s)
{
	if (s->state == ST_SUCC && s->bucket != STORE_STAT_UNRUN)
		measure_add(ctx, s->bucket, s->count, s->sum_us);
	return 0;
}

static void read_lasts(struct forecaster *fc, uint32_t task, struct lasts *ret)
{
	struct measure *m = mem_new(sizeof *m);
	int32_t today = (int32_t)(actor_wall_us(fc->me) / US_PER_S / DAY_S);
	struct err err = { 0 };

	ret->read_us = actor_mono_us(fc->me);
	if (!fc->reader && reader_open(fc->store_url, &fc->reader, &err) < 0)
		fc->reader = NULL;
	if (fc->reader &&
	    read_stats(fc->reader, &(struct store_stat_days){ task, today - DAYS, today + 1 },
	               each_stat, m, &err) < 0)
		log_warn("forecast.stats", "task=%u text=\"%s\"", task, err.text);
	if (m->n) {
		ret->runs = m->n;
		ret->usual_us = measure_percentile(m, USUAL_PERMILLE);
		ret->slow_us = measure_percentile(m, SLOW_PERMILLE);
	}
	free(m);
}

static const struct lasts *lasts_of(struct forecaster *fc, uint32_t task)
{
	uint32_t at = map_get(&fc->by_task, task);

	if (at == MAP_NONE) {
		at = (uint32_t)fc->n_lasts;
		fc->lasts = mem_room(fc->lasts, &fc->lasts_cap, fc->n_lasts + 1, sizeof *fc->lasts);
		fc->lasts[fc->n_lasts++] = (struct lasts){ 0 };
		map_add(&fc->by_task, task, at);
	}
	CHECK(at < fc->n_lasts);
	struct lasts *l = &fc->lasts[at];
	if (l->read_us == 0 || actor_mono_us(fc->me) - l->read_us > FRESH_US)
		read_lasts(fc, task, l);
	return l;
}

/* --- kept too late ------------------------------------------------------------------------ */

static struct end *end_of(const struct forecaster *fc, struct inst_key key)
{
	uint32_t at = map_get(&fc->ended, inst_key_hash(key));

	CHECK(at == MAP_NONE || at < fc->n_ends);
	return at != MAP_NONE && inst_key_eq(fc->ends[at].key, key) ? &fc->ends[at] : NULL;
}

static void ends_forget(struct forecaster *fc)
{
	map_done(&fc->ended);
	map_init(&fc->ended);
	fc->n_ends = 0;
}

/* Read once: what is over has its row. 0: nobody knows. */
static int64_t read_end(struct forecaster *fc, struct inst_key key)
{
	struct end *known = end_of(fc, key);
	struct instance i;
	uint64_t number;

	if (known)
		return known->at_us;
	if (!fc->reader || read_instance(fc->reader, key, &i, &number, NULL) < 0 ||
	    !state_final((enum state)i.state))
		return 0;
	if (fc->n_ends >= ENDS_MAX || map_get(&fc->ended, inst_key_hash(key)) != MAP_NONE)
		ends_forget(fc);
	CHECK(fc->n_ends < ENDS_MAX);
	fc->ends = mem_grow(fc->ends, fc->n_ends + 1, sizeof *fc->ends);
	fc->ends[fc->n_ends] = (struct end){ key, i.ended_us };
	map_add(&fc->ended, inst_key_hash(key), (uint32_t)fc->n_ends++);
	return i.ended_us;
}

/* What is done, but was not by the time that was promised, stays breached. */
static void judge_ended(struct forecaster *fc, struct promise *p)
{
	int64_t by_us = p->committed * US_PER_S;

	if (!p->is_over) {
		if (end_of(fc, p->key)) /* a redo: it will end anew */
			ends_forget(fc);
		return;
	}
	int64_t ended_us = actor_wall_us(fc->me) > by_us ? read_end(fc, p->key) : 0;
	if (ended_us <= by_us)
		return;
	p->state = PROMISE_BREACHED;
	p->expected_us = p->expected_slow_us = ended_us;
	p->cause = p->key;
}

/* --- playing ------------------------------------------------------------------------------- */

static void forecast_forecaster_play(struct forecaster *fc, struct forecast_letter *l)
{
	struct err err = { 0 };

	if (l->f.n_tasks > FORECAST_TASKS_MAX) {
		l->code = E_LIMIT;
		snprintf(l->text, sizeof l->text, "%zu tasks are concerned, at most %d",
		         l->f.n_tasks, FORECAST_TASKS_MAX);
		return;
	}
	for (size_t i = 0; i < l->f.n_tasks; i++) {
		struct forecast_task *t = &l->f.tasks[i];
		const struct lasts *known = lasts_of(fc, t->def->id);
		t->usual_us = known->usual_us;
		t->slow_us = known->slow_us;
		t->runs = known->runs;
	}
	l->code = forecast_play(&l->f, &err);
	log_debug("forecaster.play", "tasks=%zu promises=%zu code=%d", l->f.n_tasks,
	          l->f.n_promises, l->code);
	for (size_t i = 0; i < l->f.n_promises && l->code == 0; i++)
		judge_ended(fc, &l->f.promises[i]);
	memcpy(l->text, err.text, sizeof l->text - 1);
}

static void on_play(struct letter *letter, void *self)
{
	struct forecast_letter *l = (struct forecast_letter *)letter;

	forecast_forecaster_play(self, l);
	letter->deliver = l->answered;
	if (actor_post_credit(l->reply_to, letter) < 0)
		letter->discard(letter);
}

int forecaster_play(struct forecaster *fc, struct forecast_letter *l)
{
	l->letter.deliver = on_play;
	return actor_post(fc->me, &l->letter);
}

/* --- promises ------------------------------------------------------------------------------ */

static struct known *known_of(struct forecaster *fc, struct inst_key key)
{
	for (size_t i = 0; i < fc->n_known; i++)
		if (inst_key_eq(fc->known[i].key, key))
			return &fc->known[i];
	return NULL;
}

static const char *name_of(const struct forecast *f, uint32_t task)
{
	return forecast_task_of(f, task)->def->name;
}

static void tell_log(const struct forecast *f, const struct promise *p)
{
	char committed[WHEN_TEXT], expected[WHEN_TEXT] = "never";
	char label[LABEL_TEXT], cause[LABEL_TEXT];

	when_print(p->committed, committed);
	label_of(forecast_task_of(f, p->key.task)->def->plan, p->key.run_date, label);
	label_of(forecast_task_of(f, p->cause.task)->def->plan, p->cause.run_date, cause);
	if (p->expected_us != INT64_MAX)
		when_print(p->expected_us / US_PER_S, expected);
	if (p->state == PROMISE_SAFE)
		log_info("baseline.safe", "task=%s label=\"%s\" committed=%s expected=%s",
		         name_of(f, p->key.task), label, committed, expected);
	else
		log_warn(
			p->state == PROMISE_BREACHED ? "baseline.breached" : "baseline.at_risk",
			"task=%s label=\"%s\" committed=%s expected=%s cause=%s cause_label=\"%s\"",
			name_of(f, p->key.task), label, committed, expected,
			name_of(f, p->cause.task), cause);
}

static char *note_of(const struct forecast *f, const struct promise *p)
{
	char committed[WHEN_TEXT], expected[WHEN_TEXT] = "never", cause[LABEL_TEXT];

	when_print(p->committed, committed);
	label_of(forecast_task_of(f, p->cause.task)->def->plan, p->cause.run_date, cause);
	if (p->expected_us != INT64_MAX)
		when_print(p->expected_us / US_PER_S, expected);
	if (p->state == PROMISE_SAFE)
		return mem_fmt("baseline %s: safe again, expected %s", committed, expected);
	struct why_line w = { 0 };
	struct buf shut;
	buf_init(&shut);
	if (forecast_cannot_start(f, p->cause, &w)) {
		buf_puts(&shut, ", which cannot start: ");
		why_print_line(&w, &shut);
	}
	char *note = mem_fmt("baseline %s: %s, expected %s, because of %s %s%s", committed,
	                     p->state == PROMISE_BREACHED ? "breached" : "at risk", expected,
	                     name_of(f, p->cause.task), cause, buf_str(&shut));
	buf_done(&shut);
	return note;
}

/* A promise is safe until the forecast says otherwise; each change is told once. */
static void forecaster_follow(struct forecaster *fc, const struct forecast *f,
                              const struct promise *p)
{
	struct known *k = known_of(fc, p->key);

	if (!k && p->state == PROMISE_SAFE)
		return;
	if (!k) {
		fc->known = mem_grow(fc->known, fc->n_known + 1, sizeof *fc->known);
		k = &fc->known[fc->n_known++];
		*k = (struct known){ .key = p->key, .state = PROMISE_SAFE, .told = true };
	}
	CHECK(!k->seen); /* a promise stands in a forecast once */
	k->seen = true;
	if (k->state != p->state) {
		k->state = p->state;
		k->told = p->is_over; /* its end tells enough */
		tell_log(f, p);
	}
	if (k->told || !p->is_live)
		return;
	k->told = true;
	fc->source.tell(fc->source.ctx, p->key, p->state, note_of(f, p));
}

static void on_snapshot(struct letter *letter, void *self)
{
	struct forecaster *fc = self;
	struct forecast_letter *l = (struct forecast_letter *)letter;
	size_t n = 0;

	CHECK(fc->asked);
	fc->asked = false;
	forecast_forecaster_play(fc, l);
	if (l->code < 0)
		log_warn("forecast.failed", "text=\"%s\"", l->text);
	for (size_t i = 0; i < fc->n_known; i++)
		fc->known[i].seen = false;
	for (size_t i = 0; i < l->f.n_promises && l->code == 0; i++)
		forecaster_follow(fc, &l->f, &l->f.promises[i]);
	for (size_t i = 0; i < fc->n_known; i++)
		if (fc->known[i].seen || l->code < 0)
			fc->known[n++] = fc->known[i];
	fc->n_known = n;
	forecast_letter_free(l);
}

static void on_alarm(void *self)
{
	struct forecaster *fc = self;

	actor_alarm(fc->me, actor_mono_us(fc->me) + fc->every_us);
	if (fc->asked || !fc->source.snapshot)
		return;
	struct forecast_letter *l = forecast_letter_new(actor_wall_us(fc->me));
	l->reply_to = fc->me;
	l->answered = on_snapshot;
	fc->asked = true;
	if (fc->source.snapshot(fc->source.ctx, l) < 0) {
		fc->asked = false;
		forecast_letter_free(l);
	}
}

/* --- life ---------------------------------------------------------------------------------- */

static int forecaster_init(void *self, struct actor *me, struct err *err)
{
	struct forecaster *fc = self;

	(void)err;
	if (fc->every_us)
		actor_alarm(me, actor_mono_us(me) + fc->every_us);
	return 0;
}

static const struct actor_ops ops = {
	.name = "forecaster", .letters_max = 256, .init = forecaster_init, .alarm = on_alarm
};

struct forecaster *forecaster_new(struct thread *th, const char *store_url, int64_t every_us)
{
	struct forecaster *fc = mem_new(sizeof *fc);

	fc->store_url = mem_str(store_url);
	fc->every_us = every_us;
	map_init(&fc->by_task);
	map_init(&fc->ended);
	fc->me = actor_new(th, &ops, fc);
	return fc;
}

void forecaster_free(struct forecaster *fc)
{
	if (!fc)
		return;
	reader_close(fc->reader);
	map_done(&fc->by_task);
	map_done(&fc->ended);
	free(fc->ends);
	free(fc->lasts);
	free(fc->known);
	free(fc->store_url);
	free(fc);
}

void forecaster_set_source(struct forecaster *fc, const struct forecast_source *source)
{
	fc->source = *source;
}
