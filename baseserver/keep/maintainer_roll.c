/* Did we stand still ourselves? Whoever brings lists of what is held is called once a beat and
 * answers when its thread comes to it. An answer more than two beats after the one before: it
 * stood, or we did, and signs of life wait where nobody read them. The clocks begin anew then,
 * and nobody is judged by a silence that some ear may not have listened through. */
#include <stdlib.h>

#include "baseserver/keep/maintainer_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/log.h"

enum { BEATS_STOOD = 2 };

struct ear {
	struct actor *actor;
	int64_t asked_us; /* mono: of the last call that it answered */
	int64_t back_us;  /* when that answer came */
	bool is_out;      /* a call is on its way */
};

struct call {
	struct letter letter;
	struct maintainer *m;
	size_t ear;
	int64_t asked_us;
};

void maintainer_listens(struct maintainer *m, struct actor *ear)
{
	m->ears = mem_grow(m->ears, m->n_ears + 1, sizeof *m->ears);
	m->ears[m->n_ears++] = (struct ear){ .actor = ear,
		                             .back_us = actor_mono_us(m->me),
		                             .is_out = false };
}

static void came_back(struct letter *l, void *self)
{
	struct maintainer *m = self;
	struct call *c = (struct call *)l;
	CHECK(c->ear < m->n_ears && m->ears[c->ear].is_out);
	struct ear *e = &m->ears[c->ear];
	int64_t now = actor_mono_us(m->me), stood_us = now - e->back_us;

	if (stood_us > BEATS_STOOD * m->set.beat_us) {
		log_warn("server.stood",
		         "actor=%s ms=%lld text=\"the clocks of leases begin anew\"",
		         actor_name(e->actor), (long long)(stood_us / US_PER_MS));
		m->anew_us = now;
	}
	e->asked_us = c->asked_us;
	e->back_us = now;
	e->is_out = false;
	free(c);
}

/* On the ear's own thread: that it gets here is the answer. */
static void roll_answer(struct letter *l, void *self)
{
	struct call *c = (struct call *)l;

	(void)self;
	l->deliver = came_back;
	if (actor_post_credit(c->m->me, l) < 0)
		free(c);
}

int64_t maintainer__call(struct maintainer *m)
{
	int64_t now = actor_mono_us(m->me);

	if (!m->n_ears)
		return ALARM_OFF;
	if (now < m->call_us)
		return m->call_us;
	for (size_t i = 0; i < m->n_ears; i++) {
		struct ear *e = &m->ears[i];
		if (e->is_out)
			continue;
		struct call *c = mem_new(sizeof *c);
		c->m = m;
		c->ear = i;
		c->asked_us = now;
		c->letter.deliver = roll_answer;
		c->letter.discard = (void (*)(struct letter *))free;
		e->is_out = actor_post_credit(e->actor, &c->letter) == 0;
		if (!e->is_out)
			free(c);
	}
	m->call_us = now + m->set.beat_us;
	return m->call_us;
}

bool maintainer__may_judge(struct maintainer *m, int64_t due_us)
{
	for (size_t i = 0; i < m->n_ears; i++)
		if (m->ears[i].asked_us < due_us) {
			m->call_us = 0;
			return false;
		}
	return true;
}
