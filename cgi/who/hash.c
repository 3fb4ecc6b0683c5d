/* Work that takes tens of milliseconds, in turns: calls wait in lanes, one for each network in
 * which somebody tries a password and one for each person who is signed in, and each turn takes
 * from the next lane. So whoever sends many waits for himself. A lane is short; when all places are
 * taken, the last of the longest lane gives its place to a call whose lane is shorter. */
#include "cgi/who/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/network.h"

enum {
	WAITING_MAX = 256, /* 25 ms each: who is beyond is told to try again */
	LANE_MAX = 16,
	LANE_BYTES = 136,
	POSTED_MAX = 4096 /* on their way to a lane, or to a refusal */
};

struct lane {
	char of[LANE_BYTES];
	struct call *first;
	size_t n;
};

struct hash {
	struct actor *me;
	struct actor_ops ops;
	struct lane lanes[WAITING_MAX]; /* those in which somebody waits come first */
	size_t n_lanes, n, next;
};

/* --- lanes ------------------------------------------------------------------------------- */

/* Who makes it do the work. Of a try only the network is known: names cost nothing. */
static void lane_name(const struct call *c, char ret[LANE_BYTES])
{
	char at[NETWORK_TEXT];

	network_of(c->address, 3, at);
	if (c->actor[0] != '\0')
		snprintf(ret, LANE_BYTES, "%.130s", c->actor);
	else
		snprintf(ret, LANE_BYTES, "n %s", at);
}

static struct lane *lane_of(struct hash *h, const char *of)
{
	for (size_t i = 0; i < h->n_lanes; i++)
		if (strcmp(h->lanes[i].of, of) == 0)
			return &h->lanes[i];
	return NULL;
}

static struct lane *longest(struct hash *h)
{
	struct lane *l = &h->lanes[0];

	for (size_t i = 1; i < h->n_lanes; i++)
		l = h->lanes[i].n > l->n ? &h->lanes[i] : l;
	return l;
}

/* The order of turns is kept: lanes after it move up. */
static void lane_drop(struct hash *h, struct lane *l)
{
	size_t at = (size_t)(l - h->lanes);

	CHECK(at < h->n_lanes && l->n == 0 && !l->first);
	memmove(l, l + 1, (h->n_lanes - at - 1) * sizeof *l);
	h->n_lanes--;
	h->next -= h->next > at;
}

static struct call *take_at(struct hash *h, struct lane *l, size_t at)
{
	struct call **p = &l->first, *c;

	CHECK(at < l->n);
	while (at-- > 0)
		p = &(*p)->next;
	c = *p;
	*p = c->next;
	c->next = NULL;
	l->n--;
	h->n--;
	if (l->n == 0)
		lane_drop(h, l);
	return c;
}

static void refuse_busy(struct call *c)
{
	err_set(&c->err, E_BUSY, "too many requests wait already");
	call_resume(c);
}

static void lane_add(struct hash *h, struct call *c)
{
	char of[LANE_BYTES];
	struct lane *l, *most;
	struct call **end;

	lane_name(c, of);
	l = lane_of(h, of);
	most = h->n == WAITING_MAX ? longest(h) : NULL;
	if ((l && l->n == LANE_MAX) || (most && most->n <= (l ? l->n : 0) + 1)) {
		refuse_busy(c);
		return;
	}
	if (most) { /* two or more are in it: it stays */
		refuse_busy(take_at(h, most, most->n - 1));
		l = lane_of(h, of);
	}
	if (!l) {
		CHECK(h->n_lanes < WAITING_MAX);
		l = &h->lanes[h->n_lanes++];
		*l = (struct lane){ 0 };
		memcpy(l->of, of, sizeof l->of);
	}
	for (end = &l->first; *end; end = &(*end)->next)
		;
	c->next = NULL;
	*end = c;
	l->n++;
	h->n++;
}

/* --- the actor --------------------------------------------------------------------------- */

static void hash_do(struct call *c)
{
	int r = 0;

	CHECK(c->work && c->suspended); /* nobody else touches it */
	if (c->deadline_us <= clock_mono_us(&clock_machine))
		err_set(&c->err, E_TIMEOUT, "too many requests wait before this one");
	else
		r = c->work(c, NULL);
	if (r < 0 && c->err.code == 0)
		err_set(&c->err, r, "%s", err_text(r));
	call_resume(c);
}

void hash_work(struct letter *l, void *self)
{
	lane_add(self, (struct call *)l);
}

/* One, and what came meanwhile finds its lane before the next. */
static void hash_turn(void *self)
{
	struct hash *h = self;

	if (h->n == 0)
		return;
	if (h->next >= h->n_lanes)
		h->next = 0;
	struct lane *l = &h->lanes[h->next];
	bool stays = l->n > 1;
	struct call *c = take_at(h, l, 0);
	h->next += stays;
	hash_do(c);
	actor_wake(h->me);
}

/* The thread ends: who waits is told. */
static void hash_fini(void *self)
{
	struct hash *h = self;

	while (h->n > 0) {
		struct call *c = take_at(h, &h->lanes[0], 0);

		c->letter.discard(&c->letter);
	}
}

struct hash *hash_new(struct thread *th, const char *name)
{
	struct hash *h = mem_new(sizeof *h);

	h->ops = (struct actor_ops){
		.name = name, .letters_max = POSTED_MAX, .turn = hash_turn, .fini = hash_fini
	};
	h->me = actor_new(th, &h->ops, h);
	return h;
}

void hash_free(struct hash *h)
{
	free(h);
}

struct actor *hash_actor(struct hash *h)
{
	return h->me;
}
