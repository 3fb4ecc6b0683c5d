/* The watch of a server that leads: who holds the lease, who stands by, and what the database's
 * clock says.
 *
 * An actor with a connection of its own looks every two seconds, or every five while nobody waits,
 * and sends the view to the commander. What cannot be read keeps the view as it was; a reader sees
 * its age by at_us. lead_step_down() may come from any thread: after half a second, in which its
 * command is answered, the process is asked to leave. It renews nothing: the ledger proves the
 * epoch. */
#include "baseserver/lead/lead.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "baseserver/command/commander.h"
#include "baseserver/lead/site.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"

/* At most; with a short lease its shares are shorter. */
#define LOOK_US  (2 * US_PER_S)
#define ALONE_US (5 * US_PER_S)  /* the same while nobody waits */
#define AGE_US   (15 * US_PER_S) /* a standby not heard for so long is not there */
#define LEAVE_US (500 * US_PER_MS)
#define OFF_US   (10 * US_PER_S)
#define ASK_US   (2 * US_PER_S) /* an answer that took longer tells nothing about the clock */

struct lead {
	struct actor *me;
	struct lead_settings set;
	struct store *store; /* NULL: not open */
	struct lead_view view;
	int64_t look_us, leave_us; /* when; leave 0: nobody asked */
	_Atomic bool has_standby, asked;
};

/* Who waits shows itself four times in a lease (standby.c). */
static int64_t at_most(const struct lead *l, int64_t most_us, int twelfths)
{
	CHECK(twelfths > 0);
	int64_t share_us = l->set.site->p->lead_ms * US_PER_MS * twelfths / 12;

	return share_us < most_us ? share_us : most_us;
}

static int each_node(void *ctx, const struct store_node *n)
{
	struct lead_view *v = ctx;

	CHECK(v->n <= LEAD_NODES_MAX);
	if (v->n < LEAD_NODES_MAX)
		v->nodes[v->n++] = *n;
	return 0;
}

bool lead_clock_is_off(const struct lead_view *v)
{
	return v->clock_off_us > OFF_US || v->clock_off_us < -OFF_US;
}

/* A figure that cannot be had stays as it was. */
static int64_t clock_off(const struct lead *l)
{
	int64_t began = actor_mono_us(l->me), theirs = 0;
	int r = store_now(l->store, &theirs, NULL);
	int64_t took = actor_mono_us(l->me) - began;

	if (r < 0 || took > ASK_US)
		return l->view.clock_off_us;
	return theirs - (actor_wall_us(l->me) - took / 2);
}

static void tell_clock(const struct lead_view *was, const struct lead_view *is)
{
	long long s = is->clock_off_us / US_PER_S;
	bool moved = llabs(is->clock_off_us - was->clock_off_us) > OFF_US;

	if (lead_clock_is_off(is) && moved)
		log_warn(
			"lead.clock",
			"off_s=%lld text=\"the database's clock is %lld s %s this server's: one of "
			"the two is wrong\"",
			s, s < 0 ? -s : s, s < 0 ? "behind" : "ahead of");
	else if (lead_clock_is_off(was) && !lead_clock_is_off(is))
		log_info("lead.clock", "off_s=%lld text=\"the clocks agree again\"", s);
}

/* What cannot be read keeps the view as it was, older. */
static void lead_look(struct lead *l, int64_t now)
{
	struct lead_view v = { .at_us = now };
	int r = 0;

	CHECK(now >= l->view.at_us); /* a view is never older than the one before */

	if (!l->store)
		r = store_open_standby(l->set.site->store_url, &l->store, NULL);
	if (r == 0)
		r = store_lease(l->store, &v.lease, NULL);
	if (r == 0)
		r = store_each_node(l->store, at_most(l, AGE_US, 24), each_node, &v, NULL);
	if (r < 0)
		return;
	if (v.n > 0 && !atomic_load(&l->has_standby))
		log_info("lead.standby", "name=\"%s\" address=%s", v.nodes[0].who,
		         v.nodes[0].address);
	else if (v.n == 0 && atomic_load(&l->has_standby))
		log_warn("lead.alone", "text=\"no standby is heard any more\"");
	atomic_store(&l->has_standby, v.n > 0);
	v.clock_off_us = clock_off(l);
	tell_clock(&l->view, &v);
	v.elects = l->set.site->p->etcd_lead      ? "etcd"
	           : store_is_exclusive(l->store) ? "lock"
	                                          : "lease";
	log_debug("lead.look", "holder=\"%s\" lease_ms=%u standbys=%zu elects=%s", v.lease.who,
	          v.lease.lease_ms, v.n, v.elects);
	l->view = v;
	commander_lead(l->set.commander, &v);
}

static void on_alarm(void *self)
{
	struct lead *l = self;
	int64_t now = actor_mono_us(l->me);

	if (l->leave_us && now >= l->leave_us) {
		l->leave_us = 0;
		l->set.leave(l->set.leave_ctx);
	}
	if (now >= l->look_us) {
		lead_look(l, now);
		l->look_us = now + (atomic_load(&l->has_standby) ? at_most(l, LOOK_US, 2)
		                                                 : at_most(l, ALONE_US, 5));
	}
	actor_alarm(l->me, l->leave_us && l->leave_us < l->look_us ? l->leave_us : l->look_us);
}

static void lead_turn(void *self)
{
	struct lead *l = self;

	CHECK(actor_here(l->me));
	if (atomic_exchange(&l->asked, false))
		l->leave_us = actor_mono_us(l->me) + LEAVE_US;
	on_alarm(l);
}

static int lead_init(void *self, struct actor *me, struct err *err)
{
	struct lead *l = self;

	(void)err;
	l->me = me;
	actor_alarm(me, actor_mono_us(me));
	return 0;
}

static void lead_fini(void *self)
{
	struct lead *l = self;

	store_close(l->store);
	l->store = NULL;
}

static const struct actor_ops ops = { .name = "lead",
	                              .letters_max = 16,
	                              .init = lead_init,
	                              .turn = lead_turn,
	                              .alarm = on_alarm,
	                              .fini = lead_fini };

struct lead *lead_new(struct thread *th, const struct lead_settings *set)
{
	struct lead *l = mem_new(sizeof *l);

	l->set = *set;
	l->me = actor_new(th, &ops, l);
	return l;
}

void lead_free(struct lead *l)
{
	free(l);
}

bool lead_has_standby(const struct lead *l)
{
	return l && atomic_load(&l->has_standby);
}

void lead_step_down(struct lead *l)
{
	atomic_store(&l->asked, true);
	actor_wake(l->me);
}
