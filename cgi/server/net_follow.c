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

#define LOG_PIECE  65536
#define MANY       1000
#define ABSENT_MAX 10 /* beats, of a second: so long a machine may take to send it */

static void follower_free(struct follower *f)
{
	CHECK(atomic_fetch_sub(&f->net->cgi->streams, 1) > 0);
	feed_end(f->feed);
	sight_unref(f->sight);
	buf_done(&f->pending);
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

static void log_send(struct net *n, struct follower *f, Sirdar__LogRead *m)
{
	Sirdar__Key key = SIRDAR__KEY__INIT;

	key.task_id = f->ask.key.task;
	key.run_date = f->ask.key.run_date;
	key.part = f->ask.key.part;
	m->id = f->id;
	m->key = &key;
	client_send(n->client, FR_LOG_READ, m, NULL);
	m->key = NULL;
}

/* From where it was found to be, whenever there is more. */
static void log_follow(struct net *n, struct follower *f)
{
	const struct log_ask *a = &f->ask;
	bool is_stream = a->read.phase == LOGREAD_STREAM;
	Sirdar__LogRead m = SIRDAR__LOG_READ__INIT;

	f->is_found = true;
	f->id = ++n->last_id;
	m.stream = is_stream ? a->ret_stream : LOG_OF_records;
	m.offset = is_stream ? a->offset : a->read.at.place.at;
	m.generation = a->read.generation ? a->read.generation : a->generation;
	m.attempt = a->read.generation ? a->read.attempt : a->attempt;
	m.execution = a->execution;
	m.bytes_max = LOG_PIECE;
	m.follow = true;
	log_send(n, f, &m);
}

/* A question of those by which a place is found; in records it is then. */
static void log_find(struct net *n, struct follower *f, Sirdar__LogRead *m)
{
	if (f->ask.read.phase == LOGREAD_RECORDS) {
		log_follow(n, f);
		return;
	}
	f->id = ++n->last_id;
	log_send(n, f, m);
}

static void log_cancel(struct net *n, const struct follower *f)
{
	Sirdar__LogRead m = SIRDAR__LOG_READ__INIT;
	Sirdar__Key key = SIRDAR__KEY__INIT;

	m.id = f->id;
	m.key = &key;
	m.cancel = true;
	client_send(n->client, FR_LOG_READ, &m, NULL);
}

static void log_read_send(struct net *n, struct follower *f, bool cancel)
{
	Sirdar__LogRead m = SIRDAR__LOG_READ__INIT;

	if (!client_is_up(n->client))
		return;
	if (cancel) {
		log_cancel(n, f);
		return;
	}
	f->is_found = false;
	f->ask.bytes_max = UINT32_MAX;
	buf_clear(&f->pending);
	log_read_begin(&f->ask, net__has_records(n), &m);
	log_find(n, f, &m);
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
	f->session = which->session;
	return net_follow_follow(n, f);
}

int net_follow_log(struct net *n, struct feed *feed, const struct log_ask *ask)
{
	struct follower *f = mem_new(sizeof *f);

	f->feed = feed;
	f->log = true;
	f->ask = *ask;
	f->mark = ask->mark;
	f->session = ask->session;
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

/* n bytes that begin at `offset`; who goes on there has all up to `next`. */
struct log_part {
	const uint8_t *p;
	size_t n;
	uint64_t offset, next;
	bool is_end;
};

static void log_show(struct follower *f, const struct log_part *d, struct buf *out)
{
	struct buf text;
	size_t keep;

	buf_init(&text);
	buf_put(&text, f->carry, f->carry_n);
	buf_put(&text, d->p, d->n);
	keep = d->is_end ? 0 : utf8_unfinished(buf_at(&text), text.len);
	CHECK(keep < sizeof f->carry && keep <= text.len); /* less than a character */
	memcpy(f->carry, buf_at(&text) + text.len - keep, keep);
	f->carry_n = keep;
	/* A place in the records is between two of them. */
	uint64_t back = f->ask.ret_stream == LOG_MERGED ? 0 : keep;
	buf_printf(out, "event: %s\nid: %" PRIu64 "\ndata: ", d->is_end ? "end" : "log",
	           d->next - back);
	put_open(out, NULL, '{');
	put_int(out, "generation", f->ask.ret_generation);
	put_int(out, "attempt", f->ask.ret_attempt);
	put_id(out, "offset", d->offset);
	put_bytes(out, "text", buf_at(&text), text.len - keep);
	buf_puts(out, "}\n\n");
	buf_done(&text);
}

static void log_over(struct net *n, struct follower *f)
{
	struct follower **p = &n->followers;

	while (*p != f)
		p = &(*p)->next;
	*p = f->next;
	follower_free(f);
}

/* A reader too slow for its log reads the rest again from where it is. */
static void log_tell(struct net *n, struct follower *f, const struct log_part *part)
{
	struct buf b;

	buf_init(&b);
	log_show(f, part, &b);
	f->ask.offset = part->next;
	f->ask.since_ms = 0;
	f->ask.generation = f->ask.ret_generation;
	f->ask.attempt = f->ask.ret_attempt;
	f->gap |= !feed_put(f->feed, buf_at(&b), b.len);
	buf_done(&b);
	if (f->gap && !part->is_end)
		log_cancel(n, f);
	if (f->gap || part->is_end)
		log_over(n, f);
	else if (!f->is_found)
		log_follow(n, f);
}

static void log_fail(struct net *n, struct follower *f, int code)
{
	struct buf b;

	if (code == E_NOT_FOUND && !f->ask.read.has_end &&
	    (!f->ask.is_over || ++f->absent < ABSENT_MAX)) {
		f->id = 0; /* nothing printed yet: asked again with the next beat */
		return;
	}
	buf_init(&b);
	if (code == E_NOT_FOUND)
		buf_puts(&b, "event: end\ndata: {\"text\":\"\"}\n\n");
	else
		buf_printf(&b, "event: error\ndata: {\"code\":\"%s\"}\n\n", err_name(code));
	f->gap = !feed_put(f->feed, buf_at(&b), b.len);
	buf_done(&b);
	if (f->gap || code == E_NOT_FOUND)
		log_over(n, f);
}

/* Where to begin is looked for, and may come with what stands there. */
static void log_found(struct net *n, struct follower *f, const Sirdar__LogData *d)
{
	Sirdar__LogRead m = SIRDAR__LOG_READ__INIT;
	struct log_ask *a = &f->ask;
	struct buf out;
	int code;

	buf_init(&out);
	if (log_read_take(a, d, &out, &m, &code) == LOGREAD_MORE)
		log_find(n, f, &m);
	else if (code < 0)
		log_fail(n, f, code);
	else
		log_tell(n, f,
		         &(struct log_part){ buf_at(&out), out.len, a->ret_offset, a->ret_next,
		                             a->ret_end });
	buf_done(&out);
}

/* The log of another execution begins anew, at its beginning. */
static void log_records(struct net *n, struct follower *f, const Sirdar__LogData *d)
{
	struct log_ask *a = &f->ask;
	struct buf out;

	if (d->offset != a->read.at.place.at + f->pending.len) {
		buf_clear(&f->pending);
		a->read.at = (struct logrec_reader){ .place.at = d->offset };
		a->offset = 0;
	}
	buf_init(&out);
	buf_put(&f->pending, d->data.data, d->data.len);
	log_read_show(a, &f->pending, d->end, &out);
	if (out.len || d->end)
		log_tell(n, f,
		         &(struct log_part){ buf_at(&out), out.len, a->ret_offset, a->ret_next,
		                             d->end });
	buf_done(&out);
}

void net__followers_log(struct net *n, const Sirdar__LogData *d)
{
	struct follower *f = follower_of(n, d->id);

	if (!f)
		return;
	if (f->is_found && d->code < 0) {
		log_fail(n, f, d->code);
		return;
	}
	if (!f->is_found) {
		log_found(n, f, d);
		return;
	}
	f->ask.ret_generation = d->generation;
	f->ask.ret_attempt = d->attempt;
	if (f->ask.read.phase == LOGREAD_STREAM)
		log_tell(n, f,
		         &(struct log_part){ d->data.data, d->data.len, d->offset,
		                             d->offset + d->data.len, d->end });
	else
		log_records(n, f, d);
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

/* People, groups or tokens have changed since one began to listen, or one's session has ended: the
 * stream ends. Who may still come begins it again, with what it may carry by now: a browser does
 * that by itself, from the last event it had. Else a stream would outlive what let it in. */
static bool is_outdated(struct net *n, const struct follower *f, uint64_t mark)
{
	return (mark != 0 && f->mark != 0 && f->mark != mark) ||
	       auth_session_ended(n->cgi->auth, &f->session);
}

void net__followers_beat(struct net *n)
{
	int64_t now = actor_mono_us(n->me);
	struct follower **p = &n->followers;
	uint64_t mark = n->followers ? people_reading_mark(n->cgi->people) : 0;
	bool events = false;
	size_t gone = 0;

	while (*p) {
		struct follower *f = *p;

		if (feed_gone(f->feed) || is_outdated(n, f, mark)) {
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
