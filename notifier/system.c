/* The machines and the server itself: what they say of themselves every few seconds, and who is to
 * be told when it changes. What was told last is kept, so a restart tells nothing twice. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/alerts.h"
#include "notifier/channels.h"
#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/sender.h"
#include "notifier/stored.h"
#include "notifier/wake.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"

#define FINE "ok"

struct round {
	struct notifier *n;
	int64_t now_us;
	struct err *err;
};

static int system_put(struct round *rd, const struct alert *a, const char *to)
{
	char *what = mem_fmt("%s:%s@%" PRId64, happening_word(a->what), a->task, a->at_us);
	char *key = mem_fmt("%s:%s", what, to);
	int64_t alert = 0;
	int r = alerts_raise(rd->n, what, a, &alert, rd->err);

	if (r == 0)
		r = news_put(rd->n, &(struct notice){ key, alert, a, to, 0 }, rd->err);
	free(what);
	free(key);
	return r;
}

static int tell_named(struct round *rd, const struct alert *a, const char *named)
{
	char *to;
	int r = 0;

	for (size_t i = 0;
	     r == 0 && (to = recipients_at(rd->n, named, "", a->what, rd->now_us / US_PER_S, i));
	     i++) {
		r = system_put(rd, a, to);
		free(to);
	}
	return r;
}

/* By rules that are documents. */
static int tell_by_rules(struct round *rd, const struct alert *a)
{
	const struct stored_rule *rule;
	int r = 0;

	for (size_t i = 0; r == 0 && (rule = stored_rule_at(rd->n->stored, i)); i++)
		if (jv_has(rule->when, happening_word(a->what)))
			JV_EACH(v, rule->to)
				if (r == 0 && v->kind == JV_TEXT)
					r = tell_named(rd, a, v->text);
	return r;
}

static bool is_trouble(enum happening bad)
{
	return bad == HP_TROUBLE || bad == HP_DISK || bad == HP_PARTITION ||
	       bad == HP_PEER_MISBEHAVES || bad == HP_QUARANTINE || bad == HP_CROWDED;
}

/* `state` is FINE, or in words what is wrong. What is first seen is nobody's news (a broker that is
 * just coming looks like one that is lost), but for trouble of the server, and for a broker that
 * lies: its first word may be a lie. */
static int fact(struct round *rd, const char *subject, const char *state, enum happening bad,
                enum happening good)
{
	char was[OUTBOX_FACT_BYTES];
	struct outbox *o = rd->n->outbox;
	int r = outbox_fact(o, subject, was, rd->err);

	if (r < 0 || strncmp(was, state, sizeof was - 1) == 0)
		return r;
	r = outbox_end_subject(o, subject, rd->now_us, rd->err);
	bool is_fine = strcmp(state, FINE) == 0;
	struct alert a = { .what = is_fine ? good : bad,
		           .task = subject,
		           .title = "",
		           .reason = "",
		           .note = is_fine ? "" : state,
		           .label = "",
		           .run_date = rd->now_us / US_PER_S,
		           .at_us = rd->now_us };
	const char *word = happening_word(a.what), *to;
	for (size_t i = 0; r == 0 && (was[0] || (is_trouble(bad) && !is_fine)) &&
	                   (to = channels_system_recipient(rd->n->channels, word, i));
	     i++)
		r = system_put(rd, &a, to);
	if (r == 0 && (was[0] || (is_trouble(bad) && !is_fine)))
		r = tell_by_rules(rd, &a);
	return r == 0 ? outbox_put_fact(o, subject, state, rd->err) : r;
}

/* --- brokers and their plugins --------------------------------------------------------- */

static bool is_down(const char *state)
{
	return strcmp(state, "refused") == 0 || strcmp(state, "crashed") == 0 ||
	       strcmp(state, "quarantined") == 0;
}

static int plugin(struct round *rd, const char *broker, const struct jval *type)
{
	const char *state = jv_str(type, "state");
	char *subject = mem_fmt("plugin %s on %s", jv_str(type, "type"), broker);
	char *what = is_down(state) ? mem_fmt("%s: %s", state, jv_str(type, "text"))
	                            : mem_str(FINE);
	int r = fact(rd, subject, what, HP_PLUGIN_DOWN, HP_PLUGIN_BACK);

	free(what);
	free(subject);
	if (r < 0)
		return r;
	subject = mem_fmt("starts of %s on %s", jv_str(type, "type"), broker);
	const char *starts = jv_str(type, "starts");
	r = fact(rd, subject, starts[0] ? starts : FINE, HP_STARTS_FAIL, HP_MENDED);
	free(subject);
	return r;
}

/* However it is described meanwhile: one alert until it is over. */
static int one_fact(struct round *rd, const char *subject, const char *text, enum happening bad)
{
	char was[OUTBOX_FACT_BYTES];
	int r = outbox_fact(rd->n->outbox, subject, was, rd->err);
	bool is_told = was[0] && strcmp(was, FINE) != 0;

	if (r == 0 && !(is_told && text[0]))
		r = fact(rd, subject, text[0] ? text : FINE, bad, HP_MENDED);
	return r;
}

/* Another machine greets under its name and key; or it speaks of what others hold. */
static int trust(struct round *rd, const char *name, const struct jval *b)
{
	char *subject = mem_fmt("the name of broker %s", name);
	int r = one_fact(rd, subject, jv_str(b, "twin"), HP_BROKER_TWICE);

	free(subject);
	if (r < 0)
		return r;
	subject = mem_fmt("the word of broker %s", name);
	r = one_fact(rd, subject, jv_str(b, "misbehaves"), HP_PEER_MISBEHAVES);
	free(subject);
	return r;
}

static int broker(struct round *rd, const struct jval *b)
{
	const char *name = jv_str(b, "name");
	bool online = jv_true(b, "online");
	char *subject = mem_fmt("broker %s", name);
	char *what = online ? mem_str(FINE) : mem_fmt("last heard of %s", jv_str(b, "last_heard"));
	int r = fact(rd, subject, what, HP_BROKER_LOST, HP_BROKER_BACK);

	free(what);
	free(subject);
	if (r == 0)
		r = trust(rd, name, b);
	if (online)
		JV_EACH(type, jv_get(b, "types"))
			if (r == 0)
				r = plugin(rd, name, type);
	return r;
}

static int brokers(struct round *rd, const struct jval *answer)
{
	int r = 0;

	JV_EACH(b, jv_get(answer, "brokers"))
		if (r == 0)
			r = broker(rd, b);
	return r;
}

/* --- the server ------------------------------------------------------------------------- */

/* Troubles with rules of their own: who looks after disks and databases may be somebody else. They
 * are the server's trouble all the same. */
static const struct {
	const char *kind, *subject, *says;
	enum happening bad;
} own[] = { { "disk", "the disk of the store", "less than 100 MiB are free", HP_DISK },
	    { "partition", "partitions of the days ahead",
	      "what ends then cannot be dropped as a day", HP_PARTITION } };

static int health(struct round *rd, const struct jval *answer)
{
	struct buf all;

	buf_init(&all);
	JV_EACH(p, jv_get(answer, "problems"))
		if (jv_is(p, JV_TEXT))
			buf_printf(&all, "%s%s", all.len ? "; " : "", p->text);
	int r = fact(rd, "server", all.len ? buf_str(&all) : FINE, HP_TROUBLE, HP_MENDED);
	for (size_t i = 0; r == 0 && i < sizeof own / sizeof own[0]; i++)
		r = fact(rd, own[i].subject,
		         jv_has(jv_get(answer, "kinds"), own[i].kind) ? own[i].says : FINE,
		         own[i].bad, HP_MENDED);
	const char *aside = jv_str(answer, "quarantine");
	if (r == 0 && jv_text(answer, "quarantine"))
		r = fact(rd, "workflows", aside[0] ? aside : FINE, HP_QUARANTINE, HP_MENDED);
	const char *crowded = jv_str(answer, "crowded");
	if (r == 0 && jv_text(answer, "crowded"))
		r = fact(rd, "projects", crowded[0] ? crowded : FINE, HP_CROWDED, HP_MENDED);
	buf_done(&all);
	return r;
}

/* Another epoch is another lead, of another server or of the same one after a restart. The first
 * one that is seen is nobody's news. The epoch is the last word of what is kept. */
static int leader(struct round *rd, const struct jval *answer)
{
	char was[OUTBOX_FACT_BYTES] = "", who[OUTBOX_FACT_BYTES] = "";
	struct outbox *o = rd->n->outbox;
	const char *name = jv_str(answer, "name");
	int64_t epoch = jv_int(answer, "epoch", 0);
	int r = outbox_fact(o, "leader", was, rd->err);

	if (r == 0)
		r = outbox_fact(o, "who leads", who, rd->err);
	if (r < 0 || (who[0] && !name[0])) /* it says its name in a moment */
		return r;
	const char *last = strrchr(was, ' ');
	bool is_same = name[0] && strcmp(who, name) == 0;
	char *what = mem_fmt("%s%s%s, epoch %" PRId64, name[0] ? "server " : "a server", name,
	                     !was[0]   ? " leads"
	                     : is_same ? " leads again after a restart"
	                               : " began to lead",
	                     epoch);
	if (!was[0])
		r = outbox_put_fact(o, "leader", what, rd->err);
	else if (strtoll(last ? last : was, NULL, 10) != epoch)
		r = fact(rd, "leader", what, HP_LEADER_CHANGED, HP_LEADER_CHANGED);
	free(what);
	return r == 0 && strcmp(who, name) != 0 ? outbox_put_fact(o, "who leads", name, rd->err)
	                                        : r;
}

static int (*const takers[WAKE_FACTS])(struct round *rd, const struct jval *answer) = {
	[WAKE_BROKERS] = brokers, [WAKE_HEALTH] = health, [WAKE_SERVER] = leader
};

void system_answer(void *notifier, enum wake_fact which, char *json)
{
	struct notifier *n = notifier;

	free(atomic_exchange(&n->facts[which], json));
	sender_wake(n->sender);
}

static int system_take(struct round *rd, enum wake_fact which)
{
	char *text = atomic_exchange(&rd->n->facts[which], NULL);
	const struct jval *answer = NULL;
	int r = 0;

	if (text && jv_parse(text, strlen(text), &answer, NULL) == 0)
		r = takers[which](rd, answer);
	jv_free(answer);
	free(text);
	return r;
}

int news_system(struct notifier *n, int64_t now_us, struct err *err)
{
	struct round rd = { n, now_us, err };
	bool any = false;

	for (int i = 0; i < WAKE_FACTS; i++)
		any |= atomic_load(&n->facts[i]) != NULL;
	if (!any)
		return 0;
	int r = outbox_begin(n->outbox, err);
	if (r < 0)
		return r;
	for (int i = 0; i < WAKE_FACTS && r == 0; i++)
		r = system_take(&rd, (enum wake_fact)i);
	return outbox_end(n->outbox, r, err);
}
