/* How far commands are, to those who listen to all events. Who begins gets what is kept: a command
 * that he asked about meanwhile may have ended before he was heard. What is lost is a gap, as of
 * events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/feed.h"
#include "cgi/server/net_impl.h"
#include "cgi/who/sight.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/json_put.h"

static size_t place_of(struct told_news *s, uint64_t id)
{
	size_t oldest = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->kept[i].id == id)
			return i;
		if (s->kept[i].at < s->kept[oldest].at)
			oldest = i;
	}
	return s->n < NEWS_KEPT ? s->n++ : oldest;
}

/* No id: an event's number is not of commands. */
static void news_print(const Sirdar__CommandNews *m, struct buf *out)
{
	buf_puts(out, "event: command\ndata: ");
	put_open(out, NULL, '{');
	put_id(out, "id", m->id);
	put_text(out, "state", m->state);
	put_int(out, "done", m->done);
	put_int(out, "failed", m->failed);
	if (m->total < 0) /* not counted yet */
		put_null(out, "total");
	else
		put_int(out, "total", m->total);
	buf_puts(out, "}\n\n");
}

void net__news_take(struct net *n, const Sirdar__CommandNews *m)
{
	struct told_news *s = &n->news;
	struct buf text;

	buf_init(&text);
	news_print(m, &text);
	if (text.len < sizeof s->kept[0].text) {
		size_t i = place_of(s, m->id);
		CHECK(i < s->n && s->n <= NEWS_KEPT);
		s->kept[i].id = m->id;
		s->kept[i].at = ++s->last;
		memcpy(s->kept[i].text, buf_str(&text), text.len + 1);
	}
	buf_done(&text);
}

/* Who reads some projects hears of their own commands: of others' their news does not say what they
 * touch. */
static bool is_told(const struct told_news *s, uint64_t id, const struct sight *sight)
{
	bool is_own = !sight;

	for (size_t i = 0; i < OWNED_KEPT && !is_own; i++)
		is_own = s->owners[i].id == id && strcmp(s->owners[i].person, sight->person) == 0;
	return is_own;
}

void net__news_say(struct net *n, struct follower *f)
{
	const struct told_news *s = &n->news;

	if (f->log || f->task != 0 || f->states != 0)
		return;
	for (size_t i = 0; i < s->n; i++) {
		const char *text = s->kept[i].text;
		if (s->kept[i].at > f->heard && is_told(s, s->kept[i].id, f->sight) &&
		    !feed_put(f->feed, text, strlen(text)))
			f->gap = true; /* said with the next event: then he asks */
	}
	f->heard = s->last;
}

void net__news_own(struct net *n, struct call *c)
{
	struct told_news *s = &n->news;
	const char *at = c->ask_dry ? NULL : strstr(buf_str(&c->out), "\"command\":\"");

	if (!at)
		return;
	struct told_owner *o = &s->owners[s->n_owners++ % OWNED_KEPT];
	o->id = strtoull(at + strlen("\"command\":\""), NULL, 10);
	snprintf(o->person, sizeof o->person, "%s", c->user[0] ? c->user : c->actor);
	/* Its news may have come before its answer. */
	for (size_t i = 0; i < s->n; i++)
		if (s->kept[i].id == o->id)
			s->kept[i].at = ++s->last;
	for (struct follower *f = n->followers; f; f = f->next)
		if (f->sight)
			net__news_say(n, f);
}
