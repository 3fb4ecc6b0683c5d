/* Those who listen: events to all who asked, logs to one each. One SUBSCRIBE serves every
 * follower of events; it begins with the first and ends with the last. */
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/cgi.h"
#include "cgi/http/feed.h"
#include "cgi/server/fresh.h"
#include "cgi/server/net.h"
#include "cgi/server/net_impl.h"
#include "cgi/who/people.h"
#include "cgi/who/sight.h"
#include "sched/instance.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/utf8.h"

#define LOG_PIECE 65536
#define MANY      1000

static void follower_free(struct follower *f)
{
	CHECK(atomic_fetch_sub(&f->net->cgi->streams, 1) > 0);
	feed_end(f->feed);
	sight_unref(f->sight);
	free(f);
}

static void subscribe(struct net *n, uint64_t from)
{
	Sirdar__Subscribe m = SIRDAR__SUBSCRIBE__INIT;

	m.from_number = from;
	if (client_send(n->client, FR_SUBSCRIBE, &m, NULL) == 0)
		n->subscribed = from != UINT64_MAX;
}

static void net_follow_say(struct follower *f, const char *text)
{
	feed_put(f->feed, text, strlen(text));
}

static void log_read_send(struct net *n, struct follower *f, bool cancel)
{
	Sirdar__LogRead m = SIRDAR__LOG_READ__INIT;
	Sirdar__Key key = SIRDAR__KEY__INIT;

	if (!client_is_up(n->client))
		return;
	if (!cancel)
		f->id = ++n->last_id;
	key.task_id = f->ask.key.task;
	key.run_date = f->ask.key.run_date;
	key.part = f->ask.key.part;
	m.id = f->id;
	m.key = &key;
	m.generation = f->ask.generation;
	m.attempt = f->ask.attempt;
	m.stream = f->ask.stream;
	m.offset = f->ask.offset;
	m.bytes_max = LOG_PIECE;
	m.follow = !cancel;
	m.cancel = cancel;
	client_send(n->client, FR_LOG_READ, &m, NULL);
}

/* A new listener of events. Numbers up to n->seen have gone by; who asks for earlier ones
 * makes the subscription begin again there, and the others drop what they have seen. */
static void follower_begin(struct net *n, struct follower *f)
{
	if (!client_is_up(n->client)) {
		net_follow_say(f, "event: down\ndata: {}\n\n");
		return;
	}
	if (f->log) {
		log_read_send(n, f, false);
		return;
	}
	if (!n->subscribed || (f->from != 0 && f->from < n->seen))
		subscribe(n, f->from);
	else if (f->from == 0)
		f->from = n->seen;
}

static void follow_take(struct letter *l, void *self)
{
	struct net *n = self;
	struct follower *f = (struct follower *)l;

	net__tell(n); /* what came before it began is not its */
	f->next = n->followers;
	n->followers = f;
	net_follow_say(f, "retry: 2000\n\n");
	net__news_say(n, f);
	follower_begin(n, f);
}

static void follow_discard(struct letter *l)
{
	follower_free((struct follower *)l);
}

static int net_follow_follow(struct net *n, struct follower *f)
{
	int r;

	CHECK(f->feed && !f->next);
	f->net = n;
	f->letter = (struct letter){ .deliver = follow_take, .discard = follow_discard };
	atomic_fetch_add(&n->cgi->streams, 1);
	r = actor_post(n->me, &f->letter);
	if (r < 0) {
		atomic_fetch_sub(&n->cgi->streams, 1);
		feed_end(f->feed);
		sight_unref(f->sight);
		free(f);
	}
	return r;
}

int net_follow_events(struct net *n, struct feed *feed, const struct follow *which)
{
	struct follower *f = mem_new(sizeof *f);

	f->feed = feed;
	f->from = which->from;
	f->task = which->task;
	f->states = which->states;
	f->sight = sight_ref(which->sight);
	f->mark = which->mark;
	return net_follow_follow(n, f);
}

int net_follow_log(struct net *n, struct feed *feed, const struct log_ask *ask)
{
	struct follower *f = mem_new(sizeof *f);

	f->feed = feed;
	f->log = true;
	f->ask = *ask;
	f->mark = ask->mark;
	return net_follow_follow(n, f);
}

/* --- logs --------------------------------------------------------------------------------- */

static struct follower *follower_of(struct net *n, uint64_t id)
{
	struct follower *f = n->followers;

	while (f && !(f->log && f->id == id))
		f = f->next;
	return f;
}

static void log_show(struct follower *f, const Sirdar__LogData *d, struct buf *out)
{
	struct buf text;
	size_t keep;

	buf_init(&text);
	buf_put(&text, f->carry, f->carry_n);
	buf_put(&text, d->data.data, d->data.len);
	keep = d->end ? 0 : utf8_unfinished(buf_at(&text), text.len);
	CHECK(keep < sizeof f->carry && keep <= text.len); /* less than a character */
	memcpy(f->carry, buf_at(&text) + text.len - keep, keep);
	f->carry_n = keep;
	buf_printf(out, "event: %s\nid: %" PRIu64 "\ndata: ", d->end ? "end" : "log",
	           d->offset + d->data.len - keep);
	put_open(out, NULL, '{');
	put_int(out, "generation", d->generation);
	put_int(out, "attempt", d->attempt);
	put_id(out, "offset", d->offset);
	put_bytes(out, "text", buf_at(&text), text.len - keep);
	buf_puts(out, "}\n\n");
	buf_done(&text);
}

void net__followers_log(struct net *n, const Sirdar__LogData *d)
{
	struct follower *f = follower_of(n, d->id);
	struct buf b;

	if (!f)
		return;
	if (d->code == E_NOT_FOUND) { /* nothing printed yet: asked again with the next beat */
		f->id = 0;
		return;
	}
	buf_init(&b);
	if (d->code < 0) {
		buf_printf(&b, "event: error\ndata: {\"code\":\"%s\"}\n\n", err_name(d->code));
	} else {
		log_show(f, d, &b);
		f->ask.offset = d->offset + d->data.len;
		f->ask.generation = d->generation;
		f->ask.attempt = d->attempt;
	}
	/* A reader too slow for its log reads the rest again from where it is. */
	if (!feed_put(f->feed, buf_at(&b), b.len))
		f->gap = true;
	buf_done(&b);
	if (d->code >= 0 && !d->end && !f->gap)
		return;
	for (struct follower **p = &n->followers; *p; p = &(*p)->next) {
		if (*p != f)
			continue;
		*p = f->next;
		if (f->gap && !d->end)
			log_read_send(n, f, true);
		follower_free(f);
		return;
	}
}

/* --- the session comes and goes --- */

void net__followers_up(struct net *n)
{
	uint64_t from = UINT64_MAX;
	bool any = false;

	for (struct follower *f = n->followers; f; f = f->next) {
		net_follow_say(f, "event: up\ndata: {}\n\n");
		if (f->log) {
			f->carry_n = 0;
			log_read_send(n, f, false);
			continue;
		}
		any = true;
		if (f->from != 0 && f->from < from)
			from = f->from;
	}
	if (any)
		subscribe(n, from != UINT64_MAX ? from : 0);
}

void net__followers_down(struct net *n)
{
	net__tell(n);
	for (struct follower *f = n->followers; f; f = f->next)
		net_follow_say(f, "event: down\ndata: {}\n\n");
}

/* What one may read has changed since one began to listen: the stream ends, and begins again with
 * what it may carry by now. A browser does that by itself, from the last event it had. */
static bool is_outdated(const struct follower *f, uint64_t mark, bool binds)
{
	return binds && mark != 0 && f->mark != 0 && f->mark != mark;
}

void net__followers_beat(struct net *n)
{
	int64_t now = actor_mono_us(n->me);
	struct follower **p = &n->followers;
	uint64_t mark = n->followers ? people_reading_mark(n->cgi->people) : 0;
	bool events = false, binds = mark != 0 && people_binds_all(n->cgi->people);
	size_t gone = 0;

	while (*p) {
		struct follower *f = *p;

		if (feed_gone(f->feed) || is_outdated(f, mark, binds)) {
			*p = f->next;
			if (f->log)
				log_read_send(n, f, true);
			follower_free(f);
			gone++;
			continue;
		}
		if (feed_idle(f->feed, now, BEAT_US))
			net_follow_say(f, ": alive\n\n");
		if (f->log && f->id == 0)
			log_read_send(n, f, false);
		events |= !f->log;
		p = &f->next;
	}
	if (gone >= MANY) /* their memory goes back to the machine */
		malloc_trim(0);
	if (!events && n->subscribed && client_is_up(n->client) &&
	    fresh_want(n->cgi->fresh, now) == 0) {
		fresh_lost(n->cgi->fresh);
		subscribe(n, UINT64_MAX);
	}
}

/* From the number that its first answer had, also for those who follow already: they pass over
 * what they have seen. */
void net__followers_fresh(struct net *n)
{
	uint64_t want = fresh_want(n->cgi->fresh, actor_mono_us(n->me));

	if (want == 0 || !client_is_up(n->client) || fresh_is_live(n->cgi->fresh))
		return;
	subscribe(n, want);
	if (n->subscribed)
		fresh_live(n->cgi->fresh, want);
}

void net__followers_end(struct net *n)
{
	while (n->followers) {
		struct follower *f = n->followers;

		n->followers = f->next;
		follower_free(f);
	}
}
