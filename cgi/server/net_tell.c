/* Events to those who listen. When they are many, what came within a moment goes out together: the
 * scheduler's hand-over, which makes several events in a millisecond or two, is over by then, and
 * each of ten thousand connections is woken once. What a filter lets through is put together
 * once for all who have the same one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/cgi.h"
#include "cgi/http/feed.h"
#include "cgi/server/fresh.h"
#include "cgi/server/names.h"
#include "cgi/server/net_impl.h"
#include "cgi/server/show.h"
#include "cgi/who/sight.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

enum { FEW = 64, FILTERS = 8 };
#define TOGETHER_US (50 * US_PER_MS)
#define PENDING_MAX ((size_t)512 * 1024)

/* What one filter lets through of what is pending. */
struct picked {
	uint32_t task, states;
	const struct sight *sight;
	uint64_t first; /* number of the first */
	size_t n;
	struct buf text;
};

/* Of a task whose name is not known yet nobody can say whose it is: who reads some projects hears
 * of a gap instead (tell_unnamed()). */
static bool lets_through(uint32_t task, uint32_t states, const struct sight *sight,
                         const struct told_event *e)
{
	return (task == 0 || task == e->task) && (states == 0 || (e->state & states)) &&
	       (!sight || (e->project[0] != '\0' && sight_covers(sight, e->project)));
}

static bool is_same_sight(const struct sight *a, const struct sight *b)
{
	return a == b || (a && b && strcmp(a->text, b->text) == 0);
}

static struct picked *tell_pick(const struct net *n, struct picked *all, size_t *n_all,
                                const struct follower *f)
{
	const struct told *t = &n->told;

	for (size_t i = 0; i < *n_all; i++)
		if (all[i].task == f->task && all[i].states == f->states &&
		    is_same_sight(all[i].sight, f->sight))
			return &all[i];
	if (*n_all == FILTERS) /* the last place is for those of no use to others */
		buf_done(&all[--*n_all].text);
	CHECK(*n_all < FILTERS);
	struct picked *p = &all[(*n_all)++];
	*p = (struct picked){ .task = f->task, .states = f->states, .sight = f->sight };
	buf_init(&p->text);
	for (size_t i = 0; i < t->n; i++) {
		const struct told_event *e = &t->events[i];
		if (!lets_through(p->task, p->states, p->sight, e))
			continue;
		if (p->n++ == 0)
			p->first = e->number;
		CHECK(e->at + e->bytes <= t->text.len);
		buf_put(&p->text, buf_at(&t->text) + e->at, e->bytes);
	}
	return p;
}

static bool tell_put(struct follower *f, const void *data, size_t bytes)
{
	static const char gap[] = EVENT_GAP;

	if (f->gap)
		f->gap = !feed_put(f->feed, gap, sizeof gap - 1);
	if (!f->gap)
		f->gap = !feed_put(f->feed, data, bytes);
	return !f->gap;
}

/* Who began to listen in the middle has seen some of it. */
static size_t put_rest(const struct told *t, struct follower *f, size_t *lost)
{
	size_t sent = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct told_event *e = &t->events[i];
		if (e->number <= f->from || !lets_through(f->task, f->states, f->sight, e))
			continue;
		if (tell_put(f, buf_at(&t->text) + e->at, e->bytes))
			sent++;
		else
			(*lost)++;
	}
	return sent;
}

static void gap_say(struct follower *f)
{
	static const char text[] = EVENT_GAP;

	f->gap = !feed_put(f->feed, text, sizeof text - 1);
}

static bool has_unnamed(const struct told *t)
{
	bool has = false;

	for (size_t i = 0; i < t->n && !has; i++)
		has = t->events[i].project[0] == '\0';
	return has;
}

void net__tell(struct net *n)
{
	struct told *t = &n->told;
	struct picked all[FILTERS];
	size_t n_all = 0, sent = 0, lost = 0;

	if (t->n == 0)
		return;
	bool unnamed = has_unnamed(t);
	for (struct follower *f = n->followers; f; f = f->next) {
		if (f->log)
			continue;
		if (f->sight && unnamed)
			gap_say(f);
		const struct picked *p = tell_pick(n, all, &n_all, f);
		if (p->n == 0)
			continue;
		if (p->first <= f->from)
			sent += put_rest(t, f, &lost);
		else if (tell_put(f, buf_at(&p->text), p->text.len))
			sent += p->n;
		else
			lost += p->n;
		f->from = t->events[t->n - 1].number;
	}
	for (size_t i = 0; i < n_all; i++)
		buf_done(&all[i].text);
	t->n = 0;
	buf_clear(&t->text);
	atomic_fetch_add_explicit(&n->cgi->messages, sent, memory_order_relaxed);
	atomic_fetch_add_explicit(&n->cgi->gaps, lost, memory_order_relaxed);
}

static void tell_keep(struct net *n, const Sirdar__Event *e)
{
	struct told *t = &n->told;
	char name[NAMES_MAX];
	enum state to;

	t->events = mem_room(t->events, &t->cap, t->n + 1, sizeof *t->events);
	struct told_event *k = &t->events[t->n++];
	*k = (struct told_event){ .number = e->number, .task = e->task_id, .at = t->text.len };
	k->state = state_from_number(e->to, &to) ? 1u << to : 0;
	if (names_get(n->cgi->names, NAMES_TASK, e->task_id, name))
		snprintf(k->project, sizeof k->project, "%.*s", (int)strcspn(name, "/"), name);
	show_wire_event(&t->text, n->cgi->names, e);
	k->bytes = t->text.len - k->at;
	CHECK(k->bytes > 0); /* an event says something */
}

void net__followers_event(struct net *n, const Sirdar__Events *es)
{
	bool some = false;

	if (es->gap) {
		net__tell(n);
		fresh_lost(n->cgi->fresh);
	}
	for (struct follower *f = n->followers; f && !some; f = f->next)
		some = !f->log;
	for (struct follower *f = n->followers; f && es->gap; f = f->next)
		if (!f->log)
			gap_say(f);
	for (size_t i = 0; i < es->n_command; i++)
		net__news_take(n, es->command[i]);
	for (struct follower *f = n->followers; f && es->n_command; f = f->next)
		net__news_say(n, f);
	for (size_t i = 0; i < es->n_event; i++) {
		const Sirdar__Event *e = es->event[i];

		fresh_event(n->cgi->fresh, e->number,
		            (struct inst_key){
				    .run_date = e->run_date, .task = e->task_id, .part = e->part });
		if (some)
			tell_keep(n, e);
		n->seen = e->number > n->seen ? e->number : n->seen;
	}
	if (atomic_load(&n->cgi->streams) <= FEW || n->told.text.len > PENDING_MAX)
		net__tell(n);
	else if (n->told.n > 0)
		actor_alarm(n->me, actor_mono_us(n->me) + TOGETHER_US);
}

void net__told_done(struct told *t)
{
	free(t->events);
	buf_done(&t->text);
}
