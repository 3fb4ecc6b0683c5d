/* Letters that are due: grouped by recipient, sent, and what became of them written down. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/alerts.h"
#include "notifier/channels.h"
#include "notifier/devices.h"
#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/owners.h"
#include "notifier/post.h"
#include "notifier/post_impl.h"
#include "notifier/rules.h"
#include "notifier/sender.h"
#include "notifier/silences.h"
#include "sched/instance.h"
#include "sched/name.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"

enum { DUE_MAX = 2000, ID_BYTES = 33 };

/* --- who is still to be told -------------------------------------------------------- */

/* What cannot be read is told. */
static bool is_mended(struct notifier *n, const struct alert *a)
{
	struct inst_key key = { .task = a->task_id, .run_date = a->run_date };
	struct instance i;
	struct err ignored = { 0 };

	if (!a->after_us)
		return false;
	int r = read_instance(n->reader, key, &i, NULL, &ignored);
	return r == E_NOT_FOUND || (r == 0 && !alert_is_still_so(a, &i));
}

/* Why: the text of the silence that is on when it happens; of one made by command, also now. */
static const char *silence_of(struct notifier *n, const struct alert *a, int64_t now_us)
{
	const char *word = happening_word(a->what), *why;
	struct task_rules t;
	struct err ignored = { 0 };

	why = silences_find(n->silences, a->task, word, a->at_us / US_PER_S, now_us / US_PER_S);
	if (why || !a->task_id || rules_of(n->rules, a->task_id, &t, &ignored) < 0)
		return why;
	return rules_silence(&t, word, a->at_us / US_PER_S);
}

/* Why it reaches nobody: an owner without a way, a person whose devices take none. NULL: it may. */
static const char *refusal_of(struct notifier *n, const char *recipient, const struct alert *a,
                              int64_t now_us)
{
	const struct channel *c = NULL;
	const char *who = NULL;
	struct err ignored = { 0 };

	char project[NAME_BYTES_MAX + 1];
	snprintf(project, sizeof project, "%.*s", (int)strcspn(a->task, "/"), a->task);
	const char *why = recipients_refusal(n, recipient, a->task_id ? project : NULL, now_us);
	if (why)
		return why;
	if (owner_untold(recipient))
		return owners_refusal(n->owners, n->devices, owner_untold(recipient),
		                      happening_severity(a->what));
	if (channels_find(n->channels, recipient, now_us, &c, &who, &ignored) < 0 ||
	    c->type != CH_PUSH)
		return NULL;
	return devices_refusal(n->devices, who, happening_severity(a->what));
}

static enum letter_state fate_of(struct notifier *n, const struct parcel *p, const struct item *it,
                                 int64_t now_us, const char **ret_why)
{
	const struct alert *a = &it->alert;
	const char *why = silence_of(n, a, now_us);

	*ret_why = why ? why : "";
	if (why)
		return LETTER_SILENCED;
	why = refusal_of(n, p->recipient, a, now_us);
	*ret_why = why ? why : "";
	if (why)
		return LETTER_DROPPED;
	if (a->task_id && is_mended(n, a))
		return LETTER_MENDED;
	return a->after_us && alert_is_acked(n, it->of) ? LETTER_ACKED : LETTER_WAITS;
}

static const char *event_of(enum letter_state fate)
{
	return fate == LETTER_MENDED     ? "alert.mended"
	       : fate == LETTER_SILENCED ? "alert.silenced"
	       : fate == LETTER_DROPPED  ? "alert.dropped"
	                                 : "alert.acknowledged";
}

/* Those that nobody is to be told of leave the parcel. */
static int sift(struct notifier *n, struct parcel *p, int64_t now_us, struct err *err)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct item *it = &p->items[i];
		const char *why = "";
		enum letter_state fate = r < 0 ? LETTER_WAITS : fate_of(n, p, it, now_us, &why);
		if (fate == LETTER_WAITS) {
			p->items[kept++] = *it;
			continue;
		}
		log_info(event_of(fate), "recipient=%s task=%s event=%s why=\"%s\"", p->recipient,
		         it->alert.task, happening_word(it->alert.what), why);
		r = outbox_settle(n->outbox, it->id, &(struct settled){ fate, now_us, now_us, why },
		                  err);
		jv_free(it->json);
	}
	p->n = kept;
	return r;
}

/* --- afterwards ---------------------------------------------------------------------- */

void post_drop(void *delivery)
{
	struct parcel *p = delivery;
	struct parcel *whole = p->of;

	CHECK(!whole || whole->pending > 0);
	parcel__free(p);
	if (whole && --whole->pending == 0)
		parcel__free(whole);
}

void post_done(void *ctx, void *delivery, const char *error, int status)
{
	struct parcel *p = delivery;

	(void)ctx;
	if (p->of)
		push__part_end(p, error, status);
	else
		parcel__end(p, error);
}

/* --- beforehand ---------------------------------------------------------------------- */

struct due {
	struct notifier *notifier;
	struct parcel **parcels;
	size_t n;
};

static struct parcel *parcel_for(struct due *all, const char *recipient)
{
	struct parcel *last = all->n ? all->parcels[all->n - 1] : NULL;

	if (last && strcmp(last->recipient, recipient) == 0 &&
	    last->n < (size_t)all->notifier->param.group_max)
		return last;
	all->parcels = mem_grow(all->parcels, all->n + 1, sizeof *all->parcels);
	last = all->parcels[all->n++] = mem_new(sizeof *last);
	last->notifier = all->notifier;
	last->recipient = mem_str(recipient);
	return last;
}

static int take_due(void *ctx, const struct outbox_letter *l)
{
	struct due *all = ctx;
	struct parcel *p = parcel_for(all, l->recipient);

	CHECK(p->n < (size_t)all->notifier->param.group_max);
	p->items = mem_room(p->items, &p->cap, p->n + 1, sizeof *p->items);
	struct item *it = &p->items[p->n++];
	*it = (struct item){
		.id = l->id, .made_us = l->made_us, .tries = l->tries, .of = l->alert
	};
	if (jv_parse(l->body, strlen(l->body), &it->json, NULL) < 0)
		it->json = NULL;
	alert_read(it->json, &it->alert);
	return 0;
}

static int post_take(struct notifier *n, const struct parcel *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < p->n && r == 0; i++)
		r = outbox_take(n->outbox, p->items[i].id, err);
	return r;
}

/* Of these letters to this recipient: tried again it is the same message; the moments at which they
 * were made keep it apart from those of other outboxes. */
static void id_of(const struct parcel *p, char ret[ID_BYTES])
{
	unsigned char hash[(ID_BYTES - 1) / 2];
	crypto_generichash_state st;

	crypto_generichash_init(&st, NULL, 0, sizeof hash);
	crypto_generichash_update(&st, (const unsigned char *)p->recipient, strlen(p->recipient));
	for (size_t i = 0; i < p->n; i++) {
		const int64_t one[] = { p->items[i].id, p->items[i].made_us };

		crypto_generichash_update(&st, (const unsigned char *)one, sizeof one);
	}
	crypto_generichash_final(&st, hash, sizeof hash);
	sodium_bin2hex(ret, ID_BYTES, hash, sizeof hash);
}

/* Its channel's secrets are on their way: nothing is tried, and nothing is lost. */
static bool is_early(struct notifier *n, const struct parcel *p, int64_t now_us)
{
	const struct channel *c = NULL;
	const char *who = NULL;
	struct err ignored = { 0 };

	return channels_find(n->channels, p->recipient, now_us, &c, &who, &ignored) == 0 &&
	       c->lacks == CHANNEL_PENDING;
}

static void drop_early(struct notifier *n, struct due *all, int64_t now_us)
{
	size_t kept = 0;

	n->lacks_secrets = false;
	for (size_t i = 0; i < all->n; i++) {
		struct parcel *p = all->parcels[i];
		if (is_early(n, p, now_us)) {
			n->lacks_secrets = true;
			parcel__free(p);
		} else {
			all->parcels[kept++] = p;
		}
	}
	all->n = kept;
}

static void post_send(struct notifier *n, struct parcel *p, int64_t now_us)
{
	char id[ID_BYTES];

	CHECK(p->n > 0 && !p->of && !p->ask);
	const struct alert **alerts = mem_array(p->n, sizeof *alerts);
	struct payload_ask ask = { .console_url = n->param.console_url,
		                   .zh = n->param.language[0] == 'z',
		                   .alerts = alerts,
		                   .n = p->n,
		                   .now_us = now_us,
		                   .id = id };
	struct err err = { 0 };

	for (size_t i = 0; i < p->n; i++)
		alerts[i] = &p->items[i].alert;
	id_of(p, id);
	if (channels_find(n->channels, p->recipient, now_us, &ask.channel, &ask.who, &err) < 0) {
		parcel__end(p, err.text); /* tried again: the file may be mended */
	} else if (ask.channel->lacks) {
		snprintf(p->channel, sizeof p->channel, "%s", ask.channel->name);
		parcel__end(p, ask.channel->lacks);
	} else if (ask.channel->type == CH_PUSH) {
		snprintf(p->channel, sizeof p->channel, "%s", ask.channel->name);
		push__parcel(n, p, &ask, ask.who);
	} else {
		snprintf(p->channel, sizeof p->channel, "%s", ask.channel->name);
		sender_start(n->sender, &ask, p);
	}
	free(alerts);
}

int post_due(struct notifier *n, int64_t now_us, struct err *err)
{
	struct due all = { .notifier = n };
	size_t room, i;
	int r = 0;

	if (sender_active(n->sender) >= (size_t)n->param.sends_max)
		return 0;
	room = (size_t)n->param.sends_max - sender_active(n->sender);
	r = outbox_due(n->outbox, now_us, DUE_MAX, take_due, &all, err);
	struct err ignored = { 0 };
	drop_early(n, &all, now_us);
	if (all.n > 0) { /* a store that cannot be read silences nothing */
		rules_refresh(n->rules, &ignored);
		silences_refresh(n->silences, &ignored);
		devices_refresh(n->devices, &ignored);
		owners_refresh(n->owners, &ignored);
	}
	if (r == 0 && all.n > 0)
		r = outbox_begin(n->outbox, err);
	for (i = 0; r == 0 && i < all.n && i < room; i++) {
		r = sift(n, all.parcels[i], now_us, err);
		if (r == 0)
			r = post_take(n, all.parcels[i], err);
	}
	if (all.n > 0)
		r = outbox_end(n->outbox, r, err);
	for (i = 0; i < all.n; i++) {
		if (r == 0 && i < room && all.parcels[i]->n > 0)
			post_send(n, all.parcels[i], now_us);
		else
			parcel__free(all.parcels[i]);
	}
	free(all.parcels);
	return r;
}

/* --- a test -------------------------------------------------------------------------- */

struct probe {
	bool over;
	char error[400];
};

void post_probed(void *ctx, void *delivery, const char *error, int status)
{
	struct probe *p = delivery;

	(void)ctx;
	(void)status;
	p->over = true;
	snprintf(p->error, sizeof p->error, "%s", error ? error : "");
}

/* Each test is another message. */
static void test_id(char ret[ID_BYTES])
{
	unsigned char bytes[(ID_BYTES - 1) / 2];

	randombytes_buf(bytes, sizeof bytes);
	sodium_bin2hex(ret, ID_BYTES, bytes, sizeof bytes);
}

static struct alert test_alert(int64_t now_us)
{
	return (struct alert){ .what = HP_TEST,
		               .task = "sirdar",
		               .title = "",
		               .reason = "",
		               .note = "",
		               .label = "",
		               .run_date = now_us / US_PER_S,
		               .at_us = now_us };
}

static void ask_begin(struct notifier *n, struct ask *a, const struct channel *c, const char *who,
                      const struct device *d)
{
	int64_t now_us = clock_wall_us(&clock_machine);
	struct alert test = test_alert(now_us);
	char id[ID_BYTES];
	const struct alert *alerts[] = { &test };
	struct payload_ask ask = { .channel = c,
		                   .who = who,
		                   .console_url = n->param.console_url,
		                   .zh = n->param.language[0] == 'z',
		                   .alerts = alerts,
		                   .n = 1,
		                   .now_us = now_us,
		                   .id = id };
	struct parcel *p = mem_new(sizeof *p);

	test_id(id);
	a->sent_us = now_us;
	p->notifier = n;
	p->ask = a;
	if (d)
		push__one(n, p, &ask, d);
	else if (c->type == CH_PUSH)
		push__parcel(n, p, &ask, who);
	else
		sender_start(n->sender, &ask, p);
}

void post_ask(struct notifier *n, struct ask *a, const struct channel *c, const char *who)
{
	ask_begin(n, a, c, who, NULL);
}

void post_ask_device(struct notifier *n, struct ask *a, const struct channel *c,
                     const struct device *d)
{
	ask_begin(n, a, c, "", d);
}

int post_test(struct notifier *n, const char *recipient, struct err *err)
{
	int64_t now_us = clock_wall_us(&clock_machine);
	struct alert a = test_alert(now_us);
	char id[ID_BYTES];
	const struct alert *alerts[] = { &a };
	struct payload_ask ask = { .console_url = n->param.console_url,
		                   .zh = n->param.language[0] == 'z',
		                   .alerts = alerts,
		                   .n = 1,
		                   .now_us = now_us,
		                   .id = id };
	struct probe probe = { 0 };
	int r = channels_find(n->channels, recipient, now_us, &ask.channel, &ask.who, err);

	if (r == 0 && ask.channel->type == CH_PUSH)
		r = err_set(
			err, E_UNSUPPORTED,
			"which devices somebody has the server knows: sirdar channel test push");
	if (r < 0)
		return r;
	test_id(id);
	sender_start(n->sender, &ask, &probe);
	while (r == 0 && !probe.over)
		r = sender_wait(n->sender, -1, 1000, err);
	return r == 0 && probe.error[0] ? err_set(err, E_IO, "%s: %s", recipient, probe.error) : r;
}
