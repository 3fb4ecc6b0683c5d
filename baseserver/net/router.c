/* The router: listens, and gives each new connection to a worker.
 *
 * The worker is chosen by the caller's address, so that all sessions of a broker are one worker's,
 * which follows its load for all of them. A listener counts its connections, by address and in
 * all; a worker says when one is over, and only then the listener has room for another. Who it is,
 * and whether it may stay, is found out by the worker. */
#include "baseserver/net/router.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/net/worker.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "util/map.h"
#include "util/param.h"
#include "wire/listen.h"
#include "wire/net.h"

struct door {
	struct router *r;
	uint32_t index;
	struct listener *listener;
};

struct router {
	struct actor *me;
	struct router_settings set;
	struct worker **workers;
	size_t n_workers;
	struct door *doors;
	size_t n_doors;
};

struct released {
	struct letter letter;
	uint32_t door;
	uint64_t origin;
};

static void router_came(void *ctx, int fd, uint64_t origin, const char *peer)
{
	struct door *d = ctx;
	struct router *r = d->r;
	CHECK(d->index < r->n_doors);
	size_t at = (size_t)map_mix(origin, 0) % r->n_workers;

	log_debug("router.accept", "peer=%s worker=%zu", peer, at + 1);
	if (worker_accept(r->workers[at], fd, peer, r, d->index, origin) < 0) {
		log_warn("router.busy", "peer=%s", peer);
		listener_release(d->listener, origin);
	}
}

static int router_init(void *self, struct actor *me, struct err *err)
{
	struct router *r = self;
	struct listener_limits limits = { r->set.sessions_max, r->set.per_address_max };

	r->doors = mem_array(r->set.listen->n, sizeof *r->doors);
	for (size_t i = 0; i < r->set.listen->n; i++) {
		struct door *d = &r->doors[i];
		char host[256];
		uint16_t port = 0;
		*d = (struct door){ .r = r, .index = (uint32_t)i };
		int e = net_split_listen(r->set.listen->items[i], host, &port, err);
		if (e == 0)
			e = listener_tcp(
				&(struct listener_owner){ actor_loop(me), &limits, router_came, d },
				host, port, &d->listener, err);
		if (e < 0)
			return e;
		r->n_doors++;
		log_info("router.listen", "address=%s port=%u", host,
		         (unsigned)listener_port(d->listener));
	}
	return 0;
}

static void router_fini(void *self)
{
	struct router *r = self;

	for (size_t i = 0; i < r->n_doors; i++)
		listener_close(r->doors[i].listener);
	free(r->doors);
	r->doors = NULL;
	r->n_doors = 0;
}

static const struct actor_ops ops = {
	.name = "router", .letters_max = 65536, .init = router_init, .fini = router_fini
};

static void on_released(struct letter *l, void *self)
{
	struct router *r = self;
	struct released *m = (struct released *)l;

	if (m->door < r->n_doors)
		listener_release(r->doors[m->door].listener, m->origin);
	free(m);
}

void router_release(struct router *r, uint32_t door, uint64_t origin)
{
	struct released *m = mem_new(sizeof *m);

	m->door = door;
	m->origin = origin;
	m->letter = (struct letter){ .deliver = on_released, .discard = letter_free };
	if (actor_post_credit(r->me, &m->letter) < 0)
		free(m);
}

struct router *router_new(struct thread *th, const struct router_settings *set,
                          struct worker *const *workers, size_t n_workers)
{
	struct router *r = mem_new(sizeof *r);

	CHECK(n_workers > 0); /* each connection is somebody's */
	r->set = *set;
	r->workers = mem_array(n_workers, sizeof *r->workers);
	memcpy(r->workers, workers, n_workers * sizeof *workers);
	r->n_workers = n_workers;
	r->me = actor_new(th, &ops, r);
	return r;
}

void router_free(struct router *r)
{
	if (!r)
		return;
	free(r->workers);
	free(r);
}

struct actor *router_actor(struct router *r)
{
	return r->me;
}
