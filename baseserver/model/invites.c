/* A list under a lock: the commander adds and ends, workers look up while a handshake goes on. */
#include "baseserver/model/invites.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

struct invite {
	char id[20], peer[64];
	uint8_t secret[INVITE_SECRET_BYTES];
	int64_t until_us;
};

struct invites {
	pthread_mutex_t mu;
	struct invite items[INVITES_MAX]; /* the oldest first */
	size_t n;
};

struct invites *invites_new(void)
{
	struct invites *v = mem_new(sizeof *v);

	pthread_mutex_init(&v->mu, NULL);
	return v;
}

void invites_free(struct invites *v)
{
	if (!v)
		return;
	pthread_mutex_destroy(&v->mu);
	explicit_bzero(v->items, sizeof v->items);
	free(v);
}

static void take_out(struct invites *v, size_t i)
{
	memmove(&v->items[i], &v->items[i + 1], (v->n - i - 1) * sizeof *v->items);
	CHECK(v->n > 0);
	explicit_bzero(&v->items[--v->n], sizeof *v->items);
}

static void take_out_of(struct invites *v, const char *peer)
{
	for (size_t i = v->n; i > 0; i--)
		if (strcmp(v->items[i - 1].peer, peer) == 0)
			take_out(v, i - 1);
}

void invites_add(struct invites *v, const char *id, const char *secret, const char *peer,
                 int64_t until_us)
{
	pthread_mutex_lock(&v->mu);
	take_out_of(v, peer);
	if (v->n == INVITES_MAX)
		take_out(v, 0);
	struct invite *i = &v->items[v->n++];
	snprintf(i->id, sizeof i->id, "%s", id);
	snprintf(i->peer, sizeof i->peer, "%s", peer);
	memcpy(i->secret, secret, sizeof i->secret);
	i->until_us = until_us;
	pthread_mutex_unlock(&v->mu);
}

void invites_end(struct invites *v, const char *peer)
{
	pthread_mutex_lock(&v->mu);
	take_out_of(v, peer);
	pthread_mutex_unlock(&v->mu);
}

int invites_find(struct invites *v, const char *id, int64_t now_us,
                 uint8_t ret_key[INVITE_SECRET_BYTES])
{
	int r = E_NOT_FOUND;

	pthread_mutex_lock(&v->mu);
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->items[i].id, id) == 0 && now_us < v->items[i].until_us) {
			memcpy(ret_key, v->items[i].secret, INVITE_SECRET_BYTES);
			r = 0;
		}
	pthread_mutex_unlock(&v->mu);
	return r;
}
