/* What happened since the cursor, and who is to be told of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/alerts.h"
#include "notifier/channels.h"
#include "notifier/devices.h"
#include "notifier/life.h"
#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/owners.h"
#include "notifier/rules.h"
#include "notifier/stored.h"
#include "sched/instance.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/failure.h"
#include "util/json_read.h"
#include "util/log.h"

enum { EVENTS_MAX = 500, WATCHES_MAX = 500 };

/* An event's own part of the row: texts are the reader's, so they are copied. */
struct news {
	struct read_event e;
	char note[400];
};

struct batch {
	struct news *items;
	size_t n;
};

static int take_event(void *ctx, const struct read_event *e)
{
	struct batch *b = ctx;
	struct news *to = &b->items[b->n++];

	to->e = *e;
	to->e.note = NULL;
	snprintf(to->note, sizeof to->note, "%s", e->note ? e->note : "");
	return 0;
}

/* -1: nobody wants to hear of it. Parts belong to their instance, test runs to nobody. */
static int what_of(const struct read_event *e)
{
	static const int of_event[EV_COUNT] = {
		[EV_FAIL_RETRY] = HP_RETRIED + 1,  [EV_DEAD_RETRY] = HP_RETRIED + 1,
		[EV_FAIL_FINAL] = HP_FAILED + 1,   [EV_DEAD_FINAL] = HP_FAILED + 1,
		[EV_DEAD_KILLED] = HP_KILLED + 1,  [EV_HANG] = HP_HANGED + 1,
		[EV_SKIP] = HP_SKIPPED + 1,        [EV_EXPIRE] = HP_SKIPPED + 1,
		[EV_SKIP_PARTS] = HP_SKIPPED + 1,  [EV_EXIT_OK] = HP_SUCCEEDED + 1,
		[EV_DRY] = HP_SUCCEEDED + 1,       [EV_FORCE] = HP_FORCED + 1,
		[EV_CREATE_FORCE] = HP_FORCED + 1,
	};

	if (e->key.part != 0 || e->event >= EV_COUNT)
		return -1;
	if (e->event == EV_PROMISE)
		return e->reason == RE_AT_RISK    ? HP_AT_RISK
		       : e->reason == RE_BREACHED ? HP_BREACHED
		                                  : -1;
	return of_event[e->event] - 1;
}

/* --- letters ------------------------------------------------------------------------- */

/* What makes it the same letter: what is told to whom, and when. */
static char *what_key(const struct alert *a)
{
	return a->number ? mem_fmt("%" PRIu64, a->number)
	       : a->what == HP_LATE
	               ? mem_fmt("late:%s@%" PRId64, a->task, a->run_date)
	               : mem_fmt("%s:%s@%" PRId64 ".%" PRIu32 ".%" PRIu32, happening_word(a->what),
	                         a->task, a->run_date, a->generation, a->attempt);
}

static char *key_of(const struct alert *a, const char *recipient)
{
	char *what = what_key(a);
	char *key = a->after_us ? mem_fmt("%s:%s+%" PRId64, what, recipient, a->after_us)
	                        : mem_fmt("%s:%s", what, recipient);

	free(what);
	return key;
}

int news_put(struct notifier *n, const struct notice *news, struct err *err)
{
	int64_t now_us = clock_wall_us(&clock_machine);
	struct buf body;

	buf_init(&body);
	alert_print(news->is, &body);
	struct outbox_letter l = { .key = news->key,
		                   .recipient = news->recipient,
		                   .alert = news->alert,
		                   .body = buf_str(&body),
		                   .made_us = now_us,
		                   .next_us = news->next_us
		                                      ? news->next_us
		                                      : now_us + n->param.group_ms * US_PER_MS };
	int r = outbox_put(n->outbox, &l, err);
	buf_done(&body);
	return r;
}

static int put_letter(struct notifier *n, const struct alert *a, const char *recipient,
                      struct err *err)
{
	char *what = what_key(a), *key = key_of(a, recipient);
	int64_t alert = 0;
	log_debug("alert.letter", "what=\"%s\" to=\"%s\"", what, recipient);
	int r = alerts_raise(n, what, a, &alert, err);

	if (r == 0)
		r = news_put(n,
		             &(struct notice){ key, alert, a, recipient,
		                               a->after_us ? a->at_us + a->after_us : 0 },
		             err);
	free(what);
	free(key);
	return r;
}

/* `owners: failed` in the channels file: a task's owner is told, by the ways he has. */
char *news_owner_recipient(const struct notifier *n, const struct task_rules *t,
                           enum happening what, size_t i)
{
	enum owners_when when = channels_owners(n->channels);
	bool is_told = what == HP_FAILED || what == HP_HANGED || what == HP_LATE ||
	               what == HP_BREACHED || (when == OWNERS_DONE && what != HP_RETRIED);

	if (when == OWNERS_NEVER || !is_told || !t->owner[0] || strpbrk(t->owner, "\r\n"))
		return NULL;
	return owners_recipient(n->owners, n->channels, n->devices, t->owner,
	                        happening_severity(what), i);
}

/* A letter to each who is meant. */
static int put_named(struct notifier *n, const struct task_rules *t, const struct alert *a,
                     const char *named, struct err *err)
{
	int64_t at_us = a->after_us ? a->at_us + a->after_us : clock_wall_us(&clock_machine);
	char *to;
	int r = 0;

	for (size_t i = 0;
	     r == 0 && (to = recipients_at(n, named, t->owner, a->what, at_us / US_PER_S, i));
	     i++) {
		r = put_letter(n, a, to, err);
		free(to);
	}
	return r;
}

/* By rules that are documents of their own. */
static int tell_by_rules(struct notifier *n, const struct task_rules *t, const struct alert *a,
                         struct err *err)
{
	const struct stored_rule *rule;
	struct alert one = *a;
	int r = 0;

	for (size_t i = 0; r == 0 && (rule = stored_rule_at(n->stored, i)); i++) {
		if (!stored_rule_is_of(rule, t->task, happening_word(a->what)))
			continue;
		one.after_us = rule->after_us;
		JV_EACH(v, rule->to)
			if (r == 0 && v->kind == JV_TEXT)
				r = put_named(n, t, &one, v->text, err);
	}
	return r;
}

static int news_tell(struct notifier *n, const struct task_rules *t, const struct alert *a,
                     struct err *err)
{
	const char *word = happening_word(a->what), *to;
	struct alert one = *a;
	int r = 0;

	for (size_t i = 0; r == 0 && (to = rules_recipient(t, word, i, &one.after_us, NULL)); i++)
		r = put_named(n, t, &one, to, err);
	if (r == 0)
		r = tell_by_rules(n, t, a, err);
	for (size_t i = 0; r == 0; i++) {
		char *owner = news_owner_recipient(n, t, a->what, i);
		if (!owner)
			break;
		r = put_letter(n, a, owner, err);
		free(owner);
	}
	return r;
}

/* --- events -------------------------------------------------------------------------- */

/* Late = not started `late_after` past its effective due (SEMANTICS 7). */
static int64_t late_from_us(const struct instance *i)
{
	int64_t due_us = i->due * US_PER_S;

	return i->eff_due_us > due_us ? i->eff_due_us : due_us;
}

static bool is_unstarted(const struct instance *i)
{
	return (i->state == ST_READY || i->state == ST_DEPEND) && !(i->flags & IF_LOOKS);
}

/* When it is too long in its state, by the task's rules; 0: never. */
static int64_t due_us(const struct instance *i, const struct task_rules *t, enum happening *ret)
{
	bool unstarted = is_unstarted(i);

	*ret = unstarted ? HP_LATE : HP_LONG;
	if (unstarted && t->late_after_us > 0)
		return late_from_us(i) + t->late_after_us;
	if (i->state == ST_RUNNING && i->started_us > 0 && t->long_after_us > 0)
		return i->started_us + t->long_after_us;
	/* Of the looks of a sensor no start is told: any of those to come may be long. */
	if (i->flags & IF_LOOKS && t->long_after_us > 0)
		return clock_wall_us(&clock_machine) + t->long_after_us;
	return 0;
}

/* It was made, redone or started: if it may get late or long, look again then. */
static int news_watch(struct notifier *n, const struct read_event *e, const struct task_rules *t,
                      struct err *err)
{
	struct instance i;
	enum happening what;
	int r;

	if (e->event == EV_STARTED ? t->long_after_us <= 0 : t->late_after_us <= 0)
		return 0;
	r = read_instance(n->reader, e->key, &i, NULL, err);
	if (r == E_NOT_FOUND)
		return 0; /* retention was faster */
	if (r < 0)
		return r;
	struct outbox_watch w = { .task = e->key.task,
		                  .run_date = e->key.run_date,
		                  .at_us = due_us(&i, t, &what) };
	return w.at_us > 0 ? outbox_put_watch(n->outbox, &w, err) : 0;
}

/* What its broker found, if it is of that very attempt; else what its end says. */
struct told_failure {
	uint64_t token;
	const struct jval *json; /* NULL: nothing was found */
};

static int take_failure(void *ctx, const char *body)
{
	struct told_failure *t = ctx;
	char token[24];

	snprintf(token, sizeof token, "%" PRIu64, t->token);
	if (jv_parse(body, strlen(body), &t->json, NULL) == 0 &&
	    strcmp(jv_str(t->json, "token"), token) == 0)
		return 0;
	jv_free(t->json);
	t->json = NULL;
	return 0;
}

static int news_tell_failure(struct notifier *n, const struct read_event *e,
                             const struct task_rules *t, struct alert *a, struct err *err)
{
	struct instance at = { .last_number = e->number };
	struct told_failure told = { .token = e->token };
	struct failure guess;
	int r = read_failure(n->reader, &at, take_failure, &told, err);

	if (r < 0 && r != E_NOT_FOUND)
		return r;
	failure_guess(e->reason, e->exit_code, &guess);
	a->failure = told.json ? (struct alert_failure){ jv_str(told.json, "class"),
		                                         jv_str(told.json, "exit"),
		                                         jv_str(told.json, "line") }
	                       : (struct alert_failure){ failure_name(guess.class), guess.exit,
		                                         guess.line };
	r = news_tell(n, t, a, err);
	jv_free(told.json);
	return r;
}

static int take_one(struct notifier *n, const struct news *news, struct err *err)
{
	const struct read_event *e = &news->e;
	bool begins = e->key.part == 0 &&
	              (e->event == EV_CREATE || e->event == EV_REDO || e->event == EV_STARTED);
	int what = what_of(e), r = e->key.part == 0 ? alerts_look(n, e, err) : 0;
	struct task_rules t;
	char label[LABEL_TEXT];

	if (r < 0 || (what < 0 && !begins))
		return r;
	r = rules_of(n->rules, e->key.task, &t, err);
	if (r == E_NOT_FOUND)
		return 0;
	if (r < 0)
		return r;
	if (begins)
		return news_watch(n, e, &t, err);
	struct alert a = { .what = (enum happening)what,
		           .task = t.task,
		           .title = t.title,
		           .task_id = e->key.task,
		           .reason = reason_text((enum reason)e->reason),
		           .note = news->note,
		           .run_date = e->key.run_date,
		           .label = rules_label(&t, e->key.run_date, label),
		           .at_us = e->at_us,
		           .number = e->number,
		           .generation = e->generation,
		           .attempt = e->attempt,
		           .exit_code = e->exit_code };
	bool failed = what == HP_FAILED || what == HP_RETRIED || what == HP_KILLED;
	return failed ? news_tell_failure(n, e, &t, &a, err) : news_tell(n, &t, &a, err);
}

static int take_batch(struct notifier *n, const struct batch *b, struct err *err)
{
	int r = outbox_begin(n->outbox, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < b->n && r == 0; i++)
		r = take_one(n, &b->items[i], err);
	if (r == 0)
		r = outbox_move(n->outbox, b->items[b->n - 1].e.number, err);
	r = outbox_end(n->outbox, r, err);
	if (r == 0)
		n->cursor = (int64_t)b->items[b->n - 1].e.number;
	return r;
}

static int keep_place(struct notifier *n, const char *life, uint64_t cursor, bool went,
                      struct err *err)
{
	int64_t now_us = clock_wall_us(&clock_machine);
	char text[OUTBOX_FACT_BYTES], time[WHEN_TEXT];
	int r = outbox_begin(n->outbox, err);

	if (r < 0)
		return r;
	r = outbox_put_fact(n->outbox, NEWS_LIFE, life, err);
	if (r == 0 && went) {
		when_print(now_us / US_PER_S, time);
		snprintf(text, sizeof text,
		         "at %s the store had another past than what was read up to event %lld: "
		         "went on after event %" PRIu64,
		         time, (long long)n->cursor, cursor);
		log_warn("news.past", "was=%lld cursor=%" PRIu64 " text=\"%s\"",
		         (long long)n->cursor, cursor, text);
		r = outbox_put_fact(n->outbox, NEWS_WENT, text, err);
	}
	if (r == 0 && went)
		r = outbox_part(n->outbox, now_us, err);
	if (r == 0)
		r = outbox_move(n->outbox, cursor, err);
	r = outbox_end(n->outbox, r, err);
	if (r == 0)
		n->cursor = (int64_t)cursor;
	return r;
}

/* A store that was put back has fewer events than were read: waiting for the next one would be
 * waiting for as many as were lost. */
static int take_place(struct notifier *n, struct err *err)
{
	char was[OUTBOX_FACT_BYTES], now[READ_LIFE_MAX];
	uint64_t cursor = (uint64_t)n->cursor;
	int r = outbox_fact(n->outbox, NEWS_LIFE, was, err);

	if (r == 0)
		r = life_look(n->reader, was, now, &cursor, err);
	if (r < 0 || (r == 0 && strcmp(was, now) == 0))
		return r;
	return keep_place(n, now, cursor, r > 0, err);
}

int news_take(struct notifier *n, struct err *err)
{
	struct batch b = { .items = mem_array(EVENTS_MAX, sizeof *b.items) };
	int r = take_place(n, err);

	if (r == 0)
		r = rules_refresh(n->rules, err);
	if (r == 0)
		r = devices_refresh(n->devices, err);
	if (r == 0)
		r = owners_refresh(n->owners, err);
	if (r < 0) {
		free(b.items);
		return r;
	}
	do {
		b.n = 0;
		r = read_events_after(n->reader,
		                      &(struct read_tail){ (uint64_t)n->cursor, EVENTS_MAX },
		                      take_event, &b, NULL, err);
		if (r == 0 && b.n > 0)
			r = take_batch(n, &b, err);
	} while (r == 0 && b.n == EVENTS_MAX);
	free(b.items);
	return r;
}

/* --- lateness ------------------------------------------------------------------------ */

struct watches {
	struct outbox_watch items[WATCHES_MAX];
	size_t n;
};

static int take_watch(void *ctx, const struct outbox_watch *w)
{
	struct watches *all = ctx;

	all->items[all->n++] = *w;
	return 0;
}

static int tell_long(struct notifier *n, const struct outbox_watch *w, enum happening what,
                     const struct task_rules *t, const struct instance *i, struct err *err)
{
	char label[LABEL_TEXT];
	struct alert a = { .what = what,
		           .task = t->task,
		           .title = t->title,
		           .task_id = w->task,
		           .reason = "",
		           .note = state_name((enum state)i->state),
		           .run_date = w->run_date,
		           .label = rules_label(t, w->run_date, label),
		           .at_us = w->at_us,
		           .generation = i->generation,
		           .attempt = i->attempt };

	return news_tell(n, t, &a, err);
}

static int news_look(struct notifier *n, const struct outbox_watch *w, int64_t now_us,
                     struct err *err)
{
	struct inst_key key = { .task = w->task, .run_date = w->run_date };
	struct task_rules t = { 0 };
	enum happening what;
	struct instance i;
	int r = read_instance(n->reader, key, &i, NULL, err);

	if (r == 0)
		r = rules_of(n->rules, w->task, &t, err);
	if (r == 0) {
		struct outbox_watch next = *w;
		next.at_us = due_us(&i, &t, &what);
		/* Unfrozen, edited or started meanwhile: its time counts from then. */
		if (next.at_us > now_us)
			return outbox_put_watch(n->outbox, &next, err);
		if (next.at_us > 0)
			r = tell_long(n, w, what, &t, &i, err);
	}
	if (r == 0 || r == E_NOT_FOUND)
		r = outbox_drop_watch(n->outbox, w, err);
	return r;
}

int news_late(struct notifier *n, int64_t now_us, struct err *err)
{
	struct watches all = { .n = 0 };
	int r = outbox_watches_due(n->outbox, now_us, WATCHES_MAX, take_watch, &all, err);

	if (r < 0 || all.n == 0)
		return r;
	r = rules_refresh(n->rules, err);
	if (r == 0)
		r = devices_refresh(n->devices, err);
	if (r == 0)
		r = owners_refresh(n->owners, err);
	if (r == 0)
		r = outbox_begin(n->outbox, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < all.n && r == 0; i++)
		r = news_look(n, &all.items[i], now_us, err);
	return outbox_end(n->outbox, r, err);
}
