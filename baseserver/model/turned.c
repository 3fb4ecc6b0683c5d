/* One lock guards the table: workers write it when they send somebody away, the query thread reads
 * it when a person asks. */
#include "baseserver/model/turned.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"

struct turned {
	pthread_mutex_t mu;
	struct turned_row rows[TURNED_MAX];
};

struct turned *turned_new(void)
{
	struct turned *t = mem_new(sizeof *t);

	pthread_mutex_init(&t->mu, NULL);
	return t;
}

void turned_free(struct turned *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->mu);
	free(t);
}

static void address_of(const char *peer, char ret[64])
{
	const char *colon = strrchr(peer, ':');

	snprintf(ret, 64, "%.*s", colon ? (int)(colon - peer) : 63, peer);
}

/* Its row, else the place of the one that was not seen for longest. */
static struct turned_row *place_of(struct turned *t, const char *name, const char *address)
{
	struct turned_row *oldest = &t->rows[0];

	for (size_t i = 0; i < TURNED_MAX; i++) {
		struct turned_row *r = &t->rows[i];

		if (r->last_us && strcmp(r->name, name) == 0 && strcmp(r->address, address) == 0)
			return r;
		oldest = r->last_us < oldest->last_us ? r : oldest;
	}
	*oldest = (struct turned_row){ 0 };
	return oldest;
}

void turned_note(struct turned *t, const char *name, const char *peer, int code, const char *why,
                 int64_t now_us)
{
	char address[64];

	if (!t)
		return;
	CHECK(code < 0 && now_us > 0);
	address_of(peer, address);
	pthread_mutex_lock(&t->mu);
	struct turned_row *r = place_of(t, name, address);
	snprintf(r->name, sizeof r->name, "%s", name);
	snprintf(r->address, sizeof r->address, "%s", address);
	snprintf(r->why, sizeof r->why, "%s", why);
	r->code = code;
	r->times++;
	r->first_us = r->first_us ? r->first_us : now_us;
	r->last_us = now_us;
	pthread_mutex_unlock(&t->mu);
}

void turned_over(struct turned *t, const char *name, const char *peer)
{
	char address[64];

	if (!t)
		return;
	address_of(peer, address);
	pthread_mutex_lock(&t->mu);
	for (size_t i = 0; i < TURNED_MAX; i++)
		if (strcmp(t->rows[i].name, name) == 0 && strcmp(t->rows[i].address, address) == 0)
			t->rows[i] = (struct turned_row){ 0 };
	pthread_mutex_unlock(&t->mu);
}

static int later_first(const void *x, const void *y)
{
	const struct turned_row *a = x, *b = y;

	return (a->last_us < b->last_us) - (a->last_us > b->last_us);
}

int turned_copy(struct turned *t, struct turned_row ret[TURNED_MAX])
{
	int n = 0;

	if (!t)
		return 0;
	pthread_mutex_lock(&t->mu);
	for (size_t i = 0; i < TURNED_MAX; i++)
		if (t->rows[i].last_us)
			ret[n++] = t->rows[i];
	pthread_mutex_unlock(&t->mu);
	qsort(ret, (size_t)n, sizeof ret[0], later_first);
	return n;
}
