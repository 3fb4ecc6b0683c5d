/* A try is booked before it is judged, so that many at once are judged no more than one after the
 * other. The faces count too (cgi/who/auth_tries.c), by address besides; here it is counted over
 * all of them. */
#include "baseserver/command/tries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

enum { KEPT_TRIES = 2048, WHO = 120, DELAY_MAX_S = 300, DELAY_S = 15 };
#define QUIET_US (15 * 60 * US_PER_S)

struct tried {
	char who[WHO]; /* "": a free place */
	int wrong;     /* forgotten after a quiet time */
	int open;      /* booked, not judged yet */
	int64_t last_us, next_us;
};

struct tries {
	int64_t free_tries;
	struct tried kept[KEPT_TRIES];
};

struct tries *tries_new(int64_t free_tries)
{
	struct tries *t = mem_new(sizeof *t);

	t->free_tries = free_tries;
	return t;
}

void tries_free(struct tries *t)
{
	free(t);
}

/* With `make`, one in which nothing is under way gives way, the oldest. */
static struct tried *tried_of(struct tries *t, const char *user, const char *network,
                              int64_t now_us, bool make)
{
	struct tried *oldest = &t->kept[0];
	char who[WHO];

	snprintf(who, sizeof who, "%.48s %.64s", network, user);
	for (size_t i = 0; i < KEPT_TRIES; i++) {
		struct tried *one = &t->kept[i];

		if (strcmp(one->who, who) == 0) {
			if (now_us - one->last_us > QUIET_US)
				one->wrong = 0;
			return one;
		}
		if ((one->open == 0) > (oldest->open == 0) ||
		    ((one->open == 0) == (oldest->open == 0) && one->last_us < oldest->last_us))
			oldest = one;
	}
	if (!make)
		return NULL;
	*oldest = (struct tried){ .last_us = now_us };
	memcpy(oldest->who, who, sizeof who);
	return oldest;
}

int64_t tries_take(struct tries *t, const char *user, const char *network, int64_t now_us)
{
	struct tried *one = tried_of(t, user, network, now_us, true);

	if (one->next_us > now_us)
		return one->next_us - now_us;
	if (one->open > 0 && one->wrong + one->open >= t->free_tries)
		return US_PER_S;
	one->open++;
	return 0;
}

void tries_back(struct tries *t, const char *user, const char *network, int64_t now_us)
{
	struct tried *one = tried_of(t, user, network, now_us, false);

	if (one && one->open > 0)
		one->open--;
}

void tries_over(struct tries *t, const char *user, const char *network, bool is_right,
                int64_t now_us)
{
	struct tried *one = tried_of(t, user, network, now_us, !is_right);

	if (one && one->open > 0)
		one->open--;
	if (one && is_right) {
		one->wrong = 0;
		one->next_us = 0;
	}
	if (is_right)
		return;
	CHECK(one); /* it was made */
	one->wrong++;
	one->last_us = now_us;
	int64_t more = one->wrong - t->free_tries;
	if (more >= 0)
		one->next_us = now_us +
		               (more > 4 ? DELAY_MAX_S : (int64_t)DELAY_S << more) * US_PER_S;
}
