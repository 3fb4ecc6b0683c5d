/* The round, which is all that the main thread does: read what is new, say what is late, send
 * what is due, note what was answered, forget what is old, then sleep until the next of these.
 * Trouble with the store stops only the reading: it is tried again after a second, and what is
 * in the outbox is still sent. Trouble with the outbox ends the process, for without it an
 * alert could be lost or told for ever. */
#include "notifier/notifier.h"

#include <stdlib.h>

#include "notifier/alerts.h"
#include "notifier/channels.h"
#include "notifier/devices.h"
#include "notifier/outbox.h"
#include "notifier/owners.h"
#include "notifier/push.h"
#include "notifier/rules.h"
#include "notifier/sender.h"
#include "notifier/silences.h"
#include "notifier/stored.h"
#include "notifier/wake.h"
#include "notifier/webpush.h"
#include "store/read.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#define WAIT_MS_MAX    (60 * 1000)
#define FORGET_US      (3600 * US_PER_S)
#define STORE_PAUSE_MS 1000
#define NODES_MS       3000
#define GONE_US        (60 * US_PER_S)

void notifier_news(void *notifier)
{
	struct notifier *n = notifier;

	atomic_store(&n->has_news, true);
	sender_wake(n->sender);
}

uint64_t notifier_place(void *notifier)
{
	struct notifier *n = notifier;

	return (uint64_t)atomic_load(&n->cursor);
}

int notifier_reload(struct notifier *n, struct err *err)
{
	struct channels *now;
	int r = channels_read(n->param.channels_file, &now, err);

	if (r == E_NOT_FOUND && !n->channels) { /* documents of the server may be all there is */
		log_warn("channels.none", "file=%s text=\"%s\"", n->param.channels_file, err->text);
		now = channels_none();
		r = 0;
	}
	if (r < 0)
		return r;
	struct channels *before = n->channels;
	struct webpush_pair *pair = NULL;
	n->channels = now;
	channels_use(now, n->stored);
	r = n->outbox ? push_pair(n, &pair, err) : 0;
	if (r < 0) {
		n->channels = before;
		channels_free(now);
		return r;
	}
	channels_free(before);
	if (n->outbox) {
		webpush_pair_free(n->pair);
		n->pair = pair;
	}
	log_info("channels.read", "channels=%zu", channels_count(now));
	return 0;
}

int notifier_open(struct notifier *n, struct err *err)
{
	uint64_t number = 0;
	int64_t cursor = 0;
	int r = notifier_reload(n, err);

	if (r == 0)
		r = outbox_open(n->param.state_dir, &n->outbox, err);
	if (r == 0)
		r = push_pair(n, &n->pair, err);
	if (r == 0)
		r = reader_open(n->param.store, &n->reader, err);
	if (r == 0)
		r = outbox_cursor(n->outbox, &cursor, err);
	if (r == 0 && cursor < 0) { /* the very first start: nobody is told of the past */
		r = read_number(n->reader, &number, err);
		cursor = (int64_t)number;
		if (r == 0)
			r = outbox_move(n->outbox, number, err);
	}
	atomic_store(&n->cursor, cursor);
	n->began_us = clock_wall_us(&clock_machine);
	n->rules = rules_new(n->reader);
	n->silences = silences_new(n->reader);
	n->stored = r == 0 ? stored_new(n->reader) : NULL;
	if (r == 0)
		channels_use(n->channels, n->stored);
	n->devices = devices_new(n->reader, n->outbox);
	n->owners = owners_new(n->reader);
	atomic_store(&n->has_news, true);
	return r;
}

static void asks_free(struct ask *a)
{
	while (a) {
		struct ask *next = a->next;
		ask_free(a);
		a = next;
	}
}

void notifier_close(struct notifier *n)
{
	told_free(atomic_exchange(&n->answered, NULL));
	for (int i = 0; i < WAKE_FACTS; i++)
		free(atomic_exchange(&n->facts[i], NULL));
	say_free(atomic_exchange(&n->said, NULL));
	sender_free(n->sender);
	asks_free(atomic_exchange(&n->asks, NULL));
	asks_free(n->held);
	rules_free(n->rules);
	silences_free(n->silences);
	for (struct given *g = atomic_exchange(&n->given, NULL), *next; g; g = next) {
		next = g->next;
		given_free(g);
	}
	if (n->channels)
		channels_use(n->channels, NULL);
	stored_free(n->stored);
	devices_free(n->devices);
	owners_free(n->owners);
	webpush_pair_free(n->pair);
	reader_close(n->reader);
	outbox_close(n->outbox);
	channels_free(n->channels);
}

static int notifier_notifier_forget(struct notifier *n, int64_t now_us, struct err *err)
{
	if (now_us - n->forgot_us < FORGET_US)
		return 0;
	n->forgot_us = now_us;
	struct err ignored = { 0 };
	int r = outbox_begin(n->outbox, err);
	if (r < 0)
		return r;
	/* A store that cannot be read is looked at the next time. */
	alerts_sweep(n, now_us, &ignored);
	r = outbox_end(n->outbox, 0, err);
	return r == 0 ? outbox_forget(n->outbox, now_us - n->param.keep_ms * US_PER_MS, err) : r;
}

/* No event wakes us for them: only while somebody wants to hear of it. */
static int notifier_nodes(struct notifier *n, int64_t now_us, int64_t *wait_ms, struct err *err)
{
	if (!channels_node_recipient(n->channels, 0))
		return 0;
	*wait_ms = NODES_MS;
	if (now_us >= n->nodes_us && now_us - n->nodes_us < NODES_MS * US_PER_MS)
		return 0;
	n->nodes_us = now_us;
	return news_nodes(n, err);
}

/* Until the server does not have them any more: it, or we, may have been away. */
static void forget_gone(struct notifier *n, int64_t now_us)
{
	const struct device *d;
	struct err ignored = { 0 };

	if (!n->wake || !wake_is_up(n->wake) ||
	    (now_us >= n->gone_us && now_us - n->gone_us < GONE_US))
		return;
	n->gone_us = now_us;
	if (devices_refresh(n->devices, &ignored) < 0)
		return;
	for (size_t i = 0; (d = devices_at(n->devices, i)); i++)
		if (d->is_gone)
			wake_forget(n->wake, d->name);
}

void notifier_given(void *notifier, struct given *g)
{
	struct notifier *n = notifier;

	g->next = atomic_load(&n->given);
	while (!atomic_compare_exchange_weak(&n->given, &g->next, g))
		;
	sender_wake(n->sender);
}

/* Documents as they are now; secrets that they want are asked for. A store that cannot be read
 * leaves what there was. */
static void notifier_documents(struct notifier *n, int64_t now_us)
{
	struct err ignored = { 0 };

	stored_take(n->stored, atomic_exchange(&n->given, NULL), now_us);
	if (stored_refresh(n->stored, &ignored) < 0)
		log_warn("channels.unread", "why=\"%s\"", ignored.text);
	if (n->wake && wake_is_up(n->wake))
		stored_ask(n->stored, n->wake, now_us);
}

int notifier_round(struct notifier *n, int fd, struct err *err)
{
	int64_t now_us = clock_wall_us(&clock_machine), next_us = 0, wait_ms = WAIT_MS_MAX;
	struct err trouble = { 0 };
	bool leads = !n->wake || wake_is_up(n->wake);
	int r = 0;

	notifier_documents(n, now_us);
	if (atomic_exchange(&n->has_news, false))
		r = news_take(n, &trouble);
	if (r == 0 && leads) /* time without a leader makes nobody late */
		r = news_late(n, now_us, &trouble);
	if (r == 0)
		r = notifier_nodes(n, now_us, &wait_ms, &trouble);
	if (n->wake)
		wake_ask_facts(n->wake, channels_system_recipient(n->channels, NULL, 0) ||
		                                stored_watches(n->stored));
	if (r == 0)
		r = news_system(n, now_us, &trouble);
	if (r < 0) {
		log_warn("news.unread", "code=%s why=\"%s\"", err_name(r), trouble.text);
		atomic_store(&n->has_news, true);
		wait_ms = STORE_PAUSE_MS;
	}
	r = post_due(n, now_us, err);
	if (r == 0)
		r = told_send(n, now_us, &wait_ms, err);
	if (r == 0)
		r = alerts_say(n, now_us, &wait_ms, err);
	if (asked_answer(n, now_us) && wait_ms > STORE_PAUSE_MS)
		wait_ms = STORE_PAUSE_MS;
	forget_gone(n, now_us);
	if (r == 0)
		r = notifier_notifier_forget(n, now_us, err);
	if (r == 0)
		r = outbox_next(n->outbox, &next_us, err);
	if (r < 0)
		return r;
	if (next_us != INT64_MAX && (next_us - now_us) / US_PER_MS < wait_ms)
		wait_ms = next_us > now_us ? (next_us - now_us) / US_PER_MS + 1 : 1;
	/* What is due waits for a delivery to end, or for a server. */
	if (next_us <= now_us && sender_active(n->sender) >= (size_t)n->param.sends_max)
		wait_ms = WAIT_MS_MAX;
	else if (next_us <= now_us && (!leads || n->lacks_secrets))
		wait_ms = STORE_PAUSE_MS;
	return sender_wait(n->sender, fd, wait_ms, err);
}
