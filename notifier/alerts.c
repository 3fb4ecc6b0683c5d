/* What people are told of, apart from the letters that tell it: raised with its first letter, open
 * until what it is of is mended, said to the server with what became of its letters. */
#include "notifier/alerts.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/owners.h"
#include "notifier/sender.h"
#include "notifier/wake.h"
#include "sched/instance.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { SWEEP_MAX = 500, SAY_MAX = 100, LETTERS_MAX = 50, SAY_BYTES = 700000 };
#define AGAIN_MS 1000

/* --- raised and mended --------------------------------------------------------------- */

int alerts_raise(struct notifier *n, const char *key, const struct alert *a, int64_t *ret_id,
                 struct err *err)
{
	struct alert once = *a;
	struct buf body;

	once.after_us = 0; /* of a letter, not of what it is about */
	buf_init(&body);
	alert_print(&once, &body);
	struct outbox_alert row = { .id = clock_wall_us(&clock_machine) << 8 |
		                          randombytes_uniform(256),
		                    .key = key,
		                    .word = happening_word(a->what),
		                    .subject = a->task,
		                    .task = a->task_id,
		                    .run_date = a->run_date,
		                    .since_us = a->at_us,
		                    .ended_us = happening_lasts(a->what) ? 0 : a->at_us,
		                    .body = buf_str(&body) };
	int r = outbox_raise(n->outbox, &row, ret_id, err);
	buf_done(&body);
	return r;
}

bool alert_is_still_so(const struct alert *a, const struct instance *i)
{
	enum state st = (enum state)i->state;

	if (i->generation != a->generation)
		return false;
	switch (a->what) {
	case HP_LATE:
		return (st == ST_READY || st == ST_DEPEND) && !(i->flags & IF_LOOKS);
	case HP_LONG:
		return st == ST_RUNNING && i->attempt == a->attempt;
	case HP_HANGED:
		return st == ST_HANGED;
	case HP_RETRIED:
	case HP_AT_RISK:
	case HP_BREACHED:
		return !state_final(st);
	case HP_SUCCEEDED:
	case HP_FORCED:
		return st == ST_SUCC;
	default:
		return state_final(st) && st != ST_SUCC;
	}
}

struct open_one {
	int64_t id;
	const struct jval *json;
	struct alert alert;
};

struct open_list {
	struct open_one items[SWEEP_MAX];
	size_t n;
};

static int take_open(void *ctx, const struct outbox_alert *a)
{
	struct open_list *all = ctx;
	struct open_one *to = &all->items[all->n++];

	to->id = a->id;
	to->json = NULL;
	jv_parse(a->body, strlen(a->body), &to->json, NULL);
	alert_read(to->json, &to->alert);
	return all->n == SWEEP_MAX ? 1 : 0;
}

static void open_done(struct open_list *all)
{
	for (size_t i = 0; i < all->n; i++)
		jv_free(all->items[i].json);
	free(all);
}

/* A promise that is kept again, or broken at last, is at risk no more. */
static bool is_promised(const struct alert *a, const struct read_event *e)
{
	if (!e || e->event != EV_PROMISE)
		return false;
	return e->reason == RE_BREACHED  ? a->what == HP_AT_RISK
	       : e->reason == RE_AT_RISK ? a->what == HP_BREACHED
	                                 : a->what == HP_AT_RISK || a->what == HP_BREACHED;
}

/* e: what happened to it just now, or NULL. */
static int end_if_mended(struct notifier *n, const struct open_one *o, const struct read_event *e,
                         int64_t now_us, struct err *err)
{
	struct inst_key key = { .task = o->alert.task_id, .run_date = o->alert.run_date };
	struct instance i;
	int r = read_instance(n->reader, key, &i, NULL, err);

	if (r < 0 && r != E_NOT_FOUND)
		return r;
	if (r == 0 && alert_is_still_so(&o->alert, &i) && !is_promised(&o->alert, e))
		return 0;
	return outbox_end_alert(n->outbox, o->id, now_us, err);
}

int alerts_look(struct notifier *n, const struct read_event *e, struct err *err)
{
	struct open_list *all = mem_new(sizeof *all);
	int r = outbox_open_of(n->outbox, e->key.task, e->key.run_date, take_open, all, err);

	for (size_t i = 0; r >= 0 && i < all->n; i++) {
		int one = end_if_mended(n, &all->items[i], e, e->at_us, err);
		r = one < 0 ? one : r;
	}
	open_done(all);
	return r < 0 ? r : 0;
}

int alerts_sweep(struct notifier *n, int64_t now_us, struct err *err)
{
	int64_t after = 0;
	int r;

	do {
		struct open_list *all = mem_new(sizeof *all);
		r = outbox_open_all(n->outbox, after, SWEEP_MAX, take_open, all, err);
		for (size_t i = 0; r >= 0 && i < all->n; i++) {
			int one = end_if_mended(n, &all->items[i], NULL, now_us, err);
			after = all->items[i].id;
			r = one < 0 ? one : r;
		}
		open_done(all);
	} while (r > 0); /* it stopped because it was full */
	return r;
}

struct acked {
	bool is;
};

static int take_acked(void *ctx, const struct store_alert *a)
{
	((struct acked *)ctx)->is = a->acked_us > 0;
	return 0;
}

bool alert_is_acked(struct notifier *n, int64_t id)
{
	struct acked a = { false };
	struct err ignored = { 0 };

	return id && read_alert(n->reader, (uint64_t)id, take_acked, &a, &ignored) == 0 && a.is;
}

/* --- said to the server --------------------------------------------------------------- */

static const char *const fates[] = {
	[LETTER_WAITS] = "waiting",      [LETTER_SENT] = "sent",
	[LETTER_GIVEN_UP] = "given_up",  [LETTER_UNDER_WAY] = "waiting",
	[LETTER_MENDED] = "mended",      [LETTER_SILENCED] = "silenced",
	[LETTER_ACKED] = "acknowledged", [LETTER_DROPPED] = "dropped",
};

struct told_of {
	struct buf *out;
	char silenced[400];
};

/* "webhook:team" is the channel team; of mail and of push there is one. */
static const char *channel_of(const char *recipient)
{
	const char *colon = strchr(recipient, ':');

	if (!colon || owner_untold(recipient) ||
	    strncmp(recipient, "oncall:", strlen("oncall:")) == 0)
		return NULL;
	return strncmp(recipient, "mail:", strlen("mail:")) == 0   ? "mail"
	       : strncmp(recipient, "push:", strlen("push:")) == 0 ? "push"
	                                                           : colon + 1;
}

static int print_fate(void *ctx, const struct outbox_fate *f)
{
	struct told_of *t = ctx;
	bool waits = f->state == LETTER_WAITS || f->state == LETTER_UNDER_WAY;

	put_open(t->out, NULL, '{');
	put_text(t->out, "to", f->recipient);
	put_text(t->out, "channel", channel_of(f->recipient));
	put_text(t->out, "state",
	         (size_t)f->state < sizeof fates / sizeof fates[0] ? fates[f->state] : "waiting");
	put_int(t->out, "at_us", waits ? 0 : f->ended_us);
	put_int(t->out, "next_us", waits ? f->next_us : 0);
	put_int(t->out, "tries", f->tries);
	put_text(t->out, "error", f->error[0] && f->state != LETTER_SILENCED ? f->error : NULL);
	put_close(t->out, '}');
	if (f->state == LETTER_SILENCED && !t->silenced[0])
		snprintf(t->silenced, sizeof t->silenced, "%s",
		         f->error[0] ? f->error : "silenced");
	return 0;
}

static int print_body(struct notifier *n, const struct outbox_alert *a, struct buf *out,
                      struct err *err)
{
	struct told_of told = { .out = out };
	const struct jval *json = NULL;
	struct alert alert;

	jv_parse(a->body, strlen(a->body), &json, NULL);
	alert_read(json, &alert);
	put_open(out, NULL, '{');
	put_text(out, "reason", alert.reason[0] ? alert.reason : NULL);
	put_text(out, "note", alert.note[0] ? alert.note : NULL);
	put_open(out, "told", '[');
	int r = outbox_letters_of(n->outbox, a->id, LETTERS_MAX, print_fate, &told, err);
	put_close(out, ']');
	put_text(out, "silenced", told.silenced[0] ? told.silenced : NULL);
	put_close(out, '}');
	jv_free(json);
	return r;
}

struct saying {
	struct notifier *n;
	struct say *say;
	struct buf out;
	struct err *err;
	int code;
};

static void print_row(const struct outbox_alert *a, const char *body, struct buf *out)
{
	int what = happening_from_word(a->word);
	const struct jval *json = NULL;
	struct alert alert;

	jv_parse(a->body, strlen(a->body), &json, NULL);
	alert_read(json, &alert);
	put_open(out, NULL, '{');
	put_id(out, "id", (uint64_t)a->id);
	put_text(out, "kind", a->word);
	put_int(out, "severity", what < 0 ? 0 : happening_severity((enum happening)what));
	put_text(out, "subject", a->subject);
	put_int(out, "task", a->task);
	put_int(out, "run_date", a->run_date);
	put_int(out, "generation", alert.generation);
	put_int(out, "attempt", alert.attempt);
	put_int(out, "since_us", a->since_us);
	put_int(out, "ended_us", a->ended_us);
	put_text(out, "body", body);
	put_close(out, '}');
	jv_free(json);
}

static int say_one(void *ctx, const struct outbox_alert *a)
{
	struct saying *s = ctx;
	struct buf body;

	buf_init(&body);
	s->code = print_body(s->n, a, &body, s->err);
	if (s->code == 0) {
		print_row(a, buf_str(&body), &s->out);
		s->say->items[s->say->n].id = a->id;
		s->say->items[s->say->n++].change = a->change;
	}
	buf_done(&body);
	return s->code < 0 ? s->code : s->out.len > SAY_BYTES ? 1 : 0;
}

void alerts_said(void *notifier, struct say *s)
{
	struct notifier *n = notifier;

	say_free(atomic_exchange(&n->said, s));
	sender_wake(n->sender);
}

static int alerts_settle(struct notifier *n, const struct say *s, int64_t now_us, struct err *err)
{
	int r;

	if (s->code < 0 && s->code != E_INVALID) {
		n->say_us = now_us + AGAIN_MS * US_PER_MS;
		return 0;
	}
	/* What the server does not take it never will: its log says what. */
	r = outbox_begin(n->outbox, err);
	for (size_t i = 0; i < s->n && r == 0; i++)
		r = outbox_said(n->outbox, s->items[i].id, s->items[i].change, err);
	return outbox_end(n->outbox, r, err);
}

int alerts_say(struct notifier *n, int64_t now_us, int64_t *wait_ms, struct err *err)
{
	struct say *s = atomic_exchange(&n->said, NULL);
	int r = 0;

	if (s) {
		n->is_saying = false;
		r = alerts_settle(n, s, now_us, err);
		say_free(s);
	}
	if (r < 0 || n->is_saying || !n->wake)
		return r;
	if (now_us < n->say_us && n->say_us - now_us <= AGAIN_MS * US_PER_MS) {
		*wait_ms = *wait_ms < AGAIN_MS ? *wait_ms : AGAIN_MS;
		return 0;
	}
	struct saying one = { .n = n,
		              .say = mem_new(sizeof *s + SAY_MAX * sizeof s->items[0]),
		              .err = err };
	buf_init(&one.out);
	put_open(&one.out, NULL, '{');
	put_open(&one.out, "alerts", '[');
	r = outbox_unsaid(n->outbox, SAY_MAX, say_one, &one, err);
	put_close(&one.out, ']');
	put_close(&one.out, '}');
	n->is_saying = r >= 0 && one.say->n > 0;
	if (n->is_saying) {
		one.say->json = mem_str(buf_str(&one.out));
		wake_say(n->wake, one.say);
	} else {
		say_free(one.say);
	}
	buf_done(&one.out);
	return r < 0 ? r : 0;
}
