/* What sessions say they hold: leases renewed, grants sent again, attempts lost.
 *
 * A loader lists the tokens of its jobs at its greeting and with each beat. A job on the list has
 * its lease renewed. A job that is missing was never received (then its grant is sent again), or
 * it was there once and is gone (then the attempt is lost). A list speaks of its own machine, type
 * and lane only; whose a job is after a restart nobody knows before somebody lists it. Silence of a
 * whole session is not judged here but by the lease's time (maintainer.c: look_running). */
#include <stdlib.h>
#include <string.h>

#include "baseserver/keep/maintainer_impl.h"
#include "baseserver/ledger/letters.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"

/* Two loaders of a type are on one machine while a version follows another: each list speaks of
 * its own lane. After a restart nobody knows whose a job is before one lists it; only who is
 * alone there can say that none has it. */
static bool same_lane(const struct watch *w, const struct held_news *n)
{
	return w->lane == n->lane || (w->lane == LANE_UNKNOWN && !n->others);
}

/* Of another machine that has the name, or had it, a list says nothing: neither that it is there,
 * nor by its silence that it is not. The one that holds it may be cut off only, and run it until
 * its fence: its own list tells, or its lease runs out. */
static bool is_own(const struct watch *w, const struct held_news *n)
{
	return holder_has(&n->holder, w->machine, w->inst.broker, w->inst.token);
}

static bool same_holder(const struct maintainer *m, const struct watch *w,
                        const struct held_news *n)
{
	const struct task *d = maintainer__def(m, w->inst.key.task);

	return state_holds_slot((enum state)w->inst.state) && w->inst.broker == n->broker && d &&
	       is_own(w, n) && strcmp(d->type, n->type) == 0 && same_lane(w, n);
}

static void heard(struct maintainer *m, const struct held_news *n, uint64_t token, int64_t now)
{
	uint32_t index = map_get(&m->by_token, token);

	if (index == MAP_NONE)
		return;
	struct watch *w = watch_at(m, index);
	if (!is_own(w, n))
		return;
	w->machine = n->holder.machine;
	w->lose_us = now + m->set.lose_us;
	if (n->loader) {
		w->session = n->session;
		w->lane = n->lane;
		w->present = true;
		w->gone = false;
		w->absent = 0;
	}
	heap_set(&m->times, &w->node, watch__next_look(m, w));
}

static int token_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of one worker, whose sessions have rising numbers of 24 bits (worker.c: place_conn). */
static inline bool is_older(uint32_t a, uint32_t b)
{
	return a >> 24 == b >> 24 && (int32_t)((a - b) << 8) < 0;
}

/* (design: SEMANTICS section 3, "Leases".) Granted and absent twice: sent again. Once
 * present and now absent: lost. Another process answers: what it does not list died with
 * the former one. So did what a former server granted and nobody has listed since: whom that was
 * sent to is not known, and it may have run there. */
static bool held_absent(struct maintainer *m, struct watch *w, const struct held_news *n)
{
	bool moved = w->session != n->session;

	if (is_older(n->session, w->session))
		return false; /* granted, or heard of, in a later one */
	w->session = n->session;
	/* What was granted to this very session came after its greeting. */
	if (w->gone || w->present || w->lane == LANE_UNKNOWN || (n->hello && n->fresh && moved)) {
		w->gone = true;
		if (outbox_room(&m->out) > 0 && !w->asked)
			maintainer__lose(m, w);
		return false;
	}
	if (++w->absent < 2 && !moved)
		return false;
	w->absent = 0;
	return true;
}

static void send_again(const struct maintainer *m, const struct held_news *n,
                       const struct instance *insts, size_t count)
{
	CHECK(count > 0 && n->loader);
	struct resend *r = mem_new(sizeof *r + count * sizeof r->inst[0]);

	r->made_us = actor_mono_us(m->me);
	r->session = n->session;
	r->n = count;
	memcpy(r->inst, insts, count * sizeof r->inst[0]);
	r->letter.discard = (void (*)(struct letter *))free;
	r->letter.deliver = n->resend;
	if (actor_post_credit(n->worker, &r->letter) < 0)
		free(r);
}

static void on_held(struct letter *letter, void *self)
{
	struct maintainer *m = self;
	struct held_news *n = (struct held_news *)letter;
	int64_t now = actor_mono_us(m->me);
	struct instance *again = NULL;
	size_t n_again = 0;

	CHECK(actor_here(m->me));
	maintainer__fold(m); /* grants that this list may already hold */
	for (size_t i = 0; i < n->n; i++)
		heard(m, n, n->tokens[i], now);
	qsort(n->tokens, n->n, sizeof n->tokens[0], token_order);
	for (uint32_t i = 0; n->loader && i < m->watches.used; i++) {
		struct watch *w = watch_at(m, i);
		if (watch__of_slot(m, w->slot) != i || !same_holder(m, w, n))
			continue;
		bool listed = bsearch(&w->inst.token, n->tokens, n->n, sizeof n->tokens[0],
		                      token_order) != NULL;
		/* A kill is told until it is acknowledged: a full queue may have swallowed it. */
		bool kill = listed && w->inst.state != ST_RUNNING &&
		            (n->hello || w->inst.state == ST_WAITKILL);
		bool resend = !listed && held_absent(m, w, n);
		/* A grant sent again begins anew: its holder counts from this session's proofs.
		 * A kill sent again renews nothing: what never arrived is lost in time. */
		bool renew = resend && w->inst.state == ST_RUNNING;
		if (renew) {
			w->lose_us = now + m->set.lose_us;
			heap_set(&m->times, &w->node, watch__next_look(m, w));
		}
		if (kill || resend) {
			again = mem_grow(again, n_again + 1, sizeof *again);
			again[n_again++] = w->inst;
		}
	}
	if (n_again)
		send_again(m, n, again, n_again);
	free(again);
	free(n);
}

int maintainer_held(struct maintainer *m, struct held_news *n)
{
	n->letter.deliver = on_held;
	n->letter.discard = (void (*)(struct letter *))free;
	return actor_post_credit(m->me, &n->letter);
}
