/* Tries with a password, and how long those that were wrong make the next ones wait.
 *
 * Counted for a person in a network (/24, /64), and for an address whoever is tried: never for a
 * person alone, or any stranger could keep him out. A try is booked before its password is hashed,
 * so that many at once are judged no more than one after the other; what became of it is told
 * afterwards, and the end of a call takes back what nobody judged. a->mu guards all.
 */
#include <stdio.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/limit.h"
#include "cgi/who/auth_impl.h"
#include "cgi/who/signs.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/network.h"

#define QUIET_US    (15 * 60 * US_PER_S)
#define DELAY_MAX_S 300

enum { BOTH = 2 };

/* The entry of `who`; with `make`, one in which nothing is under way gives way, the oldest. */
static struct tries *tries_of(struct auth *a, const char *who, int64_t now, bool make)
{
	struct tries *oldest = &a->tries[0];

	for (size_t i = 0; i < TRIES_MAX; i++) {
		struct tries *t = &a->tries[i];

		if (strcmp(t->who, who) == 0) {
			if (now - t->last_us > QUIET_US)
				t->wrong = 0;
			return t;
		}
		if ((t->open == 0) > (oldest->open == 0) ||
		    ((t->open == 0) == (oldest->open == 0) && t->last_us < oldest->last_us))
			oldest = t;
	}
	if (!make)
		return NULL;
	*oldest = (struct tries){ .last_us = now };
	snprintf(oldest->who, sizeof oldest->who, "%s", who);
	return oldest;
}

static void names_of(const struct call *c, const char *user, char ret[BOTH][TRIES_WHO])
{
	char at[NETWORK_TEXT];

	network_of(c->address, 4, at);
	snprintf(ret[0], TRIES_WHO, "a %s", at);
	network_of(c->address, 3, at);
	snprintf(ret[1], TRIES_WHO, "n %s %.63s", at, user);
}

/* How long until it may be tried; with what is under way counted as wrong. */
static int64_t wait_of(const struct tries *t, int64_t now, int free_tries)
{
	if (!t)
		return 0;
	if (t->next_us > now)
		return t->next_us - now;
	return t->open > 0 && t->wrong + t->open >= free_tries ? 1 : 0;
}

int auth_may_try(struct auth *a, struct call *c, const char *user)
{
	int free_tries = (int)param_now(a->cgi->param.login_tries_per_minute);
	int64_t now = clock_mono_us(&clock_machine), wait = 0;
	char who[BOTH][TRIES_WHO];

	CHECK(c->tries[0] == '\0'); /* one try a call */
	names_of(c, user, who);
	pthread_mutex_lock(&a->mu);
	for (int i = 0; i < BOTH; i++) {
		int64_t one = wait_of(tries_of(a, who[i], now, false), now, free_tries);

		wait = one > wait ? one : wait;
	}
	for (int i = 0; i < BOTH && wait == 0; i++)
		tries_of(a, who[i], now, true)->open++;
	pthread_mutex_unlock(&a->mu);
	if (wait == 0) {
		snprintf(c->tries, sizeof c->tries, "%s", user);
		return 0;
	}
	signs_add(c, SIGN_WAITS, user);
	wait = wait / US_PER_S + 1;
	return limit_refuse(c, LIMIT_TRIES, free_tries, wait,
	                    "too many wrong passwords, wait %lld s", (long long)wait);
}

/* His right password ends his own delay; for the address it makes up for one that was wrong. */
static void judged(struct tries *t, bool right, bool of_person, int64_t now, int free_tries)
{
	if (right) {
		t->wrong = of_person || t->wrong == 0 ? 0 : t->wrong - 1;
		t->next_us = of_person ? 0 : t->next_us;
		return;
	}
	t->wrong++;
	t->last_us = now;
	if (t->wrong >= free_tries) {
		int more = t->wrong - free_tries;

		t->next_us = now + (more > 4 ? DELAY_MAX_S : 15LL << more) * US_PER_S;
	}
}

static void tried(struct auth *a, struct call *c, bool is_judged, bool right)
{
	int64_t now = clock_mono_us(&clock_machine);
	int free_tries = (int)param_now(a->cgi->param.login_tries_per_minute);
	char who[BOTH][TRIES_WHO];

	if (c->tries[0] == '\0')
		return;
	names_of(c, c->tries, who);
	c->tries[0] = '\0';
	pthread_mutex_lock(&a->mu);
	for (int i = 0; i < BOTH; i++) {
		struct tries *t = tries_of(a, who[i], now, is_judged && !right);

		if (t && t->open > 0)
			t->open--;
		if (t && is_judged)
			judged(t, right, i == 1, now, free_tries);
	}
	pthread_mutex_unlock(&a->mu);
}

void auth_tried(struct auth *a, struct call *c, bool right)
{
	if (right)
		log_info("password.right", "user=%s address=%s", c->tries, c->address);
	else
		signs_add(c, SIGN_WRONG, c->tries);
	tried(a, c, true, right);
	if (!right)
		log_warn("login.wrong", "address=%s", c->address);
}

void auth_try_over(struct auth *a, struct call *c)
{
	tried(a, c, false, false);
}
