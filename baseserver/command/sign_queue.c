/* Whose turn is it? Who signs in waits for a thread that judges one at a time: by faces, and within
 * one by networks (a lane), so that whoever sends many waits for himself. There is room for so many
 * of a lane and so many in all; where that is full, whoever has most gives a place to who has
 * less. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/sign_in_impl.h"
#include "baseserver/command/tries.h"
#include "util/check.h"
#include "util/map.h"

enum { LANE_MAX = 16, LANE_TEXT = 136 };

static void lane_of(const struct sign_in *s, char ret[LANE_TEXT])
{
	snprintf(ret, LANE_TEXT, "%.80s %s", s->r->face, s->network);
}

static uint64_t *turn_of(struct sign_queue *x, const char *text)
{
	return &x->turns[map_text(text) % TURNS];
}

static bool same_lane(const struct sign_in *a, const struct sign_in *b)
{
	return strcmp(a->r->face, b->r->face) == 0 && strcmp(a->network, b->network) == 0;
}

/* How many wait of its face, and of its lane. */
struct length {
	size_t face, lane;
};

static struct length length_of(const struct sign_queue *x, const struct sign_in *s)
{
	struct length n = { 0, 0 };

	for (size_t i = 0; i < x->n; i++) {
		n.face += strcmp(x->waiting[i]->r->face, s->r->face) == 0;
		n.lane += same_lane(x->waiting[i], s);
	}
	return n;
}

static struct sign_in *take_at(struct sign_queue *x, size_t at)
{
	struct sign_in *s = x->waiting[at];

	CHECK(at < x->n);
	x->n--;
	memmove(&x->waiting[at], &x->waiting[at + 1], (x->n - at) * sizeof x->waiting[0]);
	return s;
}

/* The face, and in it the lane, that has waited for its turn for longest. A lane that never had one
 * has waited since it came: else networks that are invented would always come first. */
struct sign_in *sign__take_next(struct sign_queue *x)
{
	uint64_t best[2] = { UINT64_MAX, UINT64_MAX };
	char lane[LANE_TEXT];
	size_t at = 0;

	for (size_t i = 0; i < x->n; i++) {
		lane_of(x->waiting[i], lane);
		uint64_t face = *turn_of(x, x->waiting[i]->r->face), of = *turn_of(x, lane);
		of = of > x->waiting[i]->came ? of : x->waiting[i]->came;
		if (face > best[0] || (face == best[0] && of >= best[1]))
			continue;
		best[0] = face;
		best[1] = of;
		at = i;
	}
	struct sign_in *s = take_at(x, at);
	lane_of(s, lane);
	*turn_of(x, s->r->face) = *turn_of(x, lane) = ++x->turn;
	return s;
}

/* The last of the longest lane, of the face of which most wait: it gives its place to one whose
 * face, or in it whose lane, is shorter. */
static size_t longest_last(const struct sign_queue *x, struct length *ret)
{
	size_t at = 0;

	*ret = (struct length){ 0, 0 };
	for (size_t i = 0; i < x->n; i++) {
		struct length n = length_of(x, x->waiting[i]);

		if (n.face < ret->face || (n.face == ret->face && n.lane < ret->lane))
			continue;
		*ret = n;
		at = i;
	}
	return at;
}

void sign__not_judged(struct commander *c, struct sign_in *s)
{
	if (s->is_booked)
		tries_back(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));
	sign__busy(s);
}

bool sign__wait(struct commander *c, struct sign_queue *x, struct sign_in *s)
{
	struct length own = length_of(x, s), longest;

	if (own.lane >= LANE_MAX) {
		sign__not_judged(c, s);
		return false;
	}
	if (x->n == WAITING_MAX) {
		size_t at = longest_last(x, &longest);
		bool is_shorter = own.face + 1 < longest.face ||
		                  (own.face == longest.face && own.lane + 1 < longest.lane);
		struct sign_in *gives = is_shorter ? take_at(x, at) : s;

		sign__not_judged(c, gives);
		if (gives == s)
			return false;
	}
	s->came = x->turn;
	x->waiting[x->n++] = s;
	return true;
}

void sign__queue_done(struct sign_queue *x)
{
	for (size_t i = 0; i < x->n; i++)
		sign__free(x->waiting[i]);
	sign__free(x->judged);
}
