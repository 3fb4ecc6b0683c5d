/* One machine a name: greetings are judged by the registrar's own code (registrar_machine.c), whose
 * actor and documents are not here. I28: a name is taken only from a machine that was silent. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/sort/broker.h"
#include "sim.h"
#include "util/err.h"

enum { SILENT_BEATS = 2 };

static struct broker names[BROKERS];
static int owner[BROKERS];             /* whose it is, by the world's own book: a place */
static int64_t heard_us[2 * MACHINES]; /* when something of that machine was taken, by place */

void names_reset(void)
{
	memset(names, 0, sizeof names);
	memset(heard_us, 0, sizeof heard_us);
	for (int b = 0; b < BROKERS; b++)
		owner[b] = b;
	liar_reset();
}

/* Which machine has a name is stored; who was heard when is not. */
void names_restarted(void)
{
	for (int b = 0; b < BROKERS; b++) {
		struct machine_of was = names[b].machine;
		memset(&names[b], 0, sizeof names[b]);
		memcpy(names[b].machine.nonce, was.nonce, sizeof was.nonce);
		names[b].machine.id = was.id;
		names[b].machine.since = was.since;
		snprintf(names[b].name, sizeof names[b].name, "b%d", b);
	}
	liar_restarted();
}

static void on_evict(struct letter *l, void *self)
{
	(void)self;
	worker_evicts(((struct evict *)l)->session);
	free(l);
}

static void greets(struct broker *b, const struct greeting *g)
{
	struct runner *run = &b->runners[0];

	if (g->role == 1) {
		b->session = g->session;
		b->worker = g->reply_to;
		b->evict = g->evict;
		return;
	}
	b->n_runners = 1;
	run->session = g->session;
	run->worker = g->reply_to;
	run->evict = g->evict;
}

/* Another machine than before has the name: the former one was not heard in two beats. */
static void check_taken(int name, int place)
{
	int64_t silent_us = now_us - heard_us[owner[name]];

	if (place == owner[name])
		return;
	note("the name b%d is machine %d's now, was %d's", name, place, owner[name]);
	if (heard_us[owner[name]] && silent_us < SILENT_BEATS * BEAT_US)
		break_invariant("I28",
		                "the name b%d is taken from a machine that was heard %" PRId64
		                " ms ago",
		                name, (int64_t)(silent_us / MS));
	owner[name] = place;
}

bool names_admit(int seat, uint32_t session, struct holder *ret_holder)
{
	int place = seat % MACHINES, name = place % BROKERS;
	struct greeting g = { .reply_to = worker_actor(), .evict = on_evict, .session = session };

	struct admit at = { actor_mono_us(worker_actor()), BEAT_US, server_ledger() };

	g.role = seat >= MACHINES ? 1 : 2;
	snprintf(g.machine, sizeof g.machine, "machine-%d", liar_number(place));
	snprintf(g.host, sizeof g.host, "host-%d", place);
	if (forged_admit(&names[name], at.now_us, &g) < 0)
		return false;
	if (machine_admit(&at, &names[name], &g) < 0)
		return false;
	liar_admitted(name);
	check_taken(name, place);
	greets(&names[name], &g);
	*ret_holder = g.holder;
	ret_holder->broker = (uint32_t)name + 1;
	return true;
}

void names_heard(int seat)
{
	int place = seat % MACHINES;

	if (!swarm.twins && !swarm.liar)
		return;
	machine_heard(&names[place % BROKERS], actor_mono_us(worker_actor()));
	heard_us[place] = now_us;
}

/* As the registrar does it (registrar.c: forged). */
void names_forged(int seat, const char *frame, uint32_t of)
{
	int name = seat % MACHINES % BROKERS;
	char other[16];

	snprintf(other, sizeof other, "b%u", of - 1);
	bool cut = forged_note(&names[name], frame, other, actor_mono_us(worker_actor()));
	liar_counted(name, cut);
	if (cut)
		broker_evict(&names[name], E_FORGED, "it lies");
}
