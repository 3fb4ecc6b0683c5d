/* How far commands are, to those who listen to all events. Who begins gets what is kept: a command
 * that he asked about meanwhile may have ended before he was heard. What is lost is a gap, as of
 * events. */
#include <string.h>

#include "cgi/http/feed.h"
#include "cgi/server/net_impl.h"
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

void net__news_say(struct net *n, struct follower *f)
{
	const struct told_news *s = &n->news;

	if (f->log || f->task != 0 || f->states != 0)
		return;
	for (size_t i = 0; i < s->n; i++) {
		const char *text = s->kept[i].text;
		if (s->kept[i].at > f->heard && !feed_put(f->feed, text, strlen(text)))
			f->gap = true; /* said with the next event: then he asks */
	}
	f->heard = s->last;
}
