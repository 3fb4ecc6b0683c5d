/* How far commands are, to the HTTP faces that subscribed: the last news of the last commands, each
 * replaced by the next. A state that is new leaves at once, progress a few times a second. Who
 * subscribes gets all that is kept: what ended while it was about to is among it. */
#include <stdlib.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/model/command.h"
#include "baseserver/model/front.h"
#include "baseserver/net/worker_client.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

enum { KEPT = 32 };
#define TOGETHER_US (200 * US_PER_MS)
#define LOOK_US     (20 * US_PER_MS)

struct news {
	struct {
		struct command_news now;
		uint64_t at; /* rises with each news */
	} kept[KEPT];
	size_t n;
	uint64_t last, floor; /* floor: newer news than this were not all kept */
	int64_t sent_us;      /* mono */
	bool hurry;           /* a state is new */
};

struct news_letter {
	struct letter letter;
	struct command_news now;
};

/* Its own place, a free one, or that of what was told longest ago. */
static size_t place_of(struct news *s, uint64_t id)
{
	size_t oldest = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->kept[i].now.id == id)
			return i;
		if (s->kept[i].at < s->kept[oldest].at)
			oldest = i;
	}
	if (s->n < KEPT)
		return s->n++;
	s->floor = s->kept[oldest].at;
	return oldest;
}

static void news_keep(struct news *s, const struct command_news *now)
{
	size_t i = place_of(s, now->id);

	CHECK(i < KEPT && s->n <= KEPT && s->floor <= s->last);
	if (s->kept[i].now.id != now->id || s->kept[i].now.state != now->state)
		s->hurry = true;
	s->kept[i].now = *now;
	s->kept[i].at = ++s->last;
}

static void on_news(struct letter *l, void *self)
{
	struct worker *w = self;

	if (!w->news)
		w->news = mem_new(sizeof *w->news);
	news_keep(w->news, &((struct news_letter *)l)->now);
	free(l); /* turn() follows */
}

void worker_news(struct worker *w, const struct command_news *n)
{
	struct news_letter *l = mem_new(sizeof *l);

	l->now = *n;
	l->letter = (struct letter){ .deliver = on_news, .discard = letter_free };
	if (actor_post_credit(w->me, &l->letter) < 0)
		free(l);
}

/* One that is too far behind has missed the end of some: it has to ask. */
static void send_news(struct conn *c, const struct news *s)
{
	Sirdar__CommandNews items[KEPT], *list[KEPT];
	Sirdar__Events m = SIRDAR__EVENTS__INIT;

	CHECK(c->heard <= s->last);
	m.gap = c->heard && c->heard < s->floor;
	for (size_t i = 0; i < s->n; i++) {
		const struct command_news *now = &s->kept[i].now;
		if (s->kept[i].at <= c->heard)
			continue;
		Sirdar__CommandNews *one = list[m.n_command] = &items[m.n_command];
		m.n_command++;
		sirdar__command_news__init(one);
		one->id = now->id;
		one->state = (char *)(uintptr_t)command_state_name(now->state);
		one->total = now->total;
		one->done = now->done;
		one->failed = now->failed;
	}
	m.command = list;
	if (m.n_command == 0 && !m.gap)
		return;
	if (session_send(c->session, FR_EVENTS, &m, NULL) == 0)
		c->heard = s->last;
	else
		actor_alarm(c->w->me, actor_mono_us(c->w->me) + TOGETHER_US);
}

static bool is_due(struct worker *w, struct news *s)
{
	int64_t now_us = actor_mono_us(w->me);

	if (!ledger_may_speak(w->peers.ledger, now_us)) {
		actor_alarm(w->me, now_us + TOGETHER_US);
		return false;
	}
	if (!s->hurry && now_us < s->sent_us + TOGETHER_US) {
		actor_alarm(w->me, now_us + LOOK_US); /* soon: others have no alarm but this one */
		return false;
	}
	s->sent_us = now_us;
	s->hurry = false;
	return true;
}

/* Commands are anybody's: nobody hears of them who keeps to some projects. */
static bool is_hearer(const struct conn *c)
{
	return c->subscribed && c->session && !c->is_notifier && !worker__is_bound(c);
}

void worker__news_flush(struct worker *w)
{
	struct news *s = w->news;
	bool behind = false, anew = false;

	for (const struct conn *c = w->conns; c && s; c = c->next) {
		bool hears = is_hearer(c);
		behind = behind || (hears && c->heard < s->last);
		anew = anew || (hears && c->heard == 0);
	}
	if (!behind)
		return;
	s->hurry = s->hurry || anew;
	if (!is_due(w, s))
		return;
	for (struct conn *c = w->conns; c; c = c->next)
		if (is_hearer(c))
			send_news(c, s);
}

void worker__news_free(struct worker *w)
{
	free(w->news);
	w->news = NULL;
}
