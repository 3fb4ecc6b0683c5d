/* A purse for each person who asks, and for each app: a person's tokens and sessions share one,
 * from however many addresses they come. It counts requests and time of reading the store since its
 * window began, requests that are being answered, and streams; what is over its limit is refused
 * before anything is done for it. A purse in which nothing is booked and whose window is over is
 * forgotten when another of its bucket is made, so there are no more of them than of people. b->mu
 * guards all.
 */
#include "cgi/who/budget.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/limit.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/map.h"

#define BUCKETS          256
#define SEARCH_WINDOW_US (60 * US_PER_S)
#define RESERVE          8 /* of events_max, the eighth part is for who has no stream yet */

struct purse {
	struct purse *next; /* in its bucket */
	char who[136];
	bool is_app;
	int64_t began_us;             /* monotonic: of the window */
	int64_t requests, reading_us; /* in it */
	int64_t running, streams, large;
	int64_t search_us;                    /* monotonic: of the minute of searches */
	int64_t search_bytes, search_time_us; /* in it */
};

struct budget {
	pthread_mutex_t mu;
	struct purse *buckets[BUCKETS];
	int64_t streams; /* of all */
};

struct budget *budget_new(void)
{
	struct budget *b = mem_new(sizeof *b);

	pthread_mutex_init(&b->mu, NULL);
	return b;
}

void budget_free(struct budget *b)
{
	if (!b)
		return;
	for (int i = 0; i < BUCKETS; i++) {
		while (b->buckets[i]) {
			struct purse *p = b->buckets[i];

			b->buckets[i] = p->next;
			free(p);
		}
	}
	pthread_mutex_destroy(&b->mu);
	free(b);
}

static bool is_over(const struct purse *p, int64_t now, int64_t window)
{
	return p->running == 0 && p->streams == 0 && now - p->began_us >= window &&
	       now - p->search_us >= SEARCH_WINDOW_US;
}

/* The caller's. Locked. */
static struct purse *purse_of(struct budget *b, const struct call *c, int64_t now, int64_t window)
{
	bool is_app = c->via && strcmp(c->via, "app") == 0;
	const char *who = !is_app && c->user[0] != '\0' ? c->user : c->actor_text;
	struct purse **at = &b->buckets[map_text(who) % BUCKETS], *p;

	while ((p = *at)) {
		if (p->is_app == is_app && strcmp(p->who, who) == 0)
			return p;
		if (is_over(p, now, window)) {
			*at = p->next;
			free(p);
		} else {
			at = &p->next;
		}
	}
	*at = p = mem_new(sizeof *p);
	snprintf(p->who, sizeof p->who, "%s", who);
	p->is_app = is_app;
	p->began_us = now;
	p->search_us = now - SEARCH_WINDOW_US;
	return p;
}

/* Of the settings, what holds for this purse. */
static int64_t requests_most(const struct purse *p, const struct param_cgi *set)
{
	return p->is_app ? param_now(set->app_requests_max) : param_now(set->person_requests_max);
}

static int64_t running_most(const struct purse *p, const struct param_cgi *set)
{
	return p->is_app ? param_now(set->app_running_max) : param_now(set->person_running_max);
}

int budget_take(struct call *c)
{
	const struct param_cgi *set = &c->cgi->param;
	int64_t window = param_now(set->person_window_ms) * US_PER_MS;
	int64_t now = clock_mono_us(&clock_machine), requests, running, wait;
	struct budget *b = c->cgi->budget;
	bool is_app, many, busy;

	if (c->purse)
		return 0;
	pthread_mutex_lock(&b->mu);
	struct purse *p = purse_of(b, c, now, window);
	if (now - p->began_us >= window) {
		p->began_us = now;
		p->requests = p->reading_us = 0;
	}
	is_app = p->is_app;
	wait = (p->began_us + window - now) / US_PER_S + 1;
	requests = requests_most(p, set);
	running = running_most(p, set);
	many = p->requests >= requests;
	busy = p->running >= running;
	if (!many && !busy) {
		p->requests++;
		p->running++;
		c->purse = p;
	}
	pthread_mutex_unlock(&b->mu);
	if (many)
		return limit_refuse(c, is_app ? LIMIT_APP_REQUESTS : LIMIT_PERSON_REQUESTS,
		                    requests, wait, "too many requests of %s, wait %lld s",
		                    c->actor_text, (long long)wait);
	if (busy)
		return limit_refuse(c, is_app ? LIMIT_APP_RUNNING : LIMIT_PERSON_RUNNING, running,
		                    0, "too many requests of %s are being answered, wait for one",
		                    c->actor_text);
	return 0;
}

int budget_may_read(struct call *c, int64_t *ret_spent_us)
{
	const struct param_cgi *set = &c->cgi->param;
	struct purse *p = c->purse;
	int64_t most, wait;

	*ret_spent_us = 0;
	if (!p)
		return 0;
	pthread_mutex_lock(&c->cgi->budget->mu);
	*ret_spent_us = p->reading_us;
	wait = p->began_us + param_now(set->person_window_ms) * US_PER_MS -
	       clock_mono_us(&clock_machine);
	pthread_mutex_unlock(&c->cgi->budget->mu);
	most = p->is_app ? param_now(set->app_reading_ms) : param_now(set->person_reading_ms);
	if (*ret_spent_us < most * US_PER_MS || wait <= 0)
		return 0;
	wait = wait / US_PER_S + 1;
	return limit_refuse(c, p->is_app ? LIMIT_APP_READING : LIMIT_PERSON_READING, most, wait,
	                    "what %s asked for took too long to read, wait %lld s", c->actor_text,
	                    (long long)wait);
}

int64_t budget_read(struct call *c, int64_t us)
{
	int64_t spent;

	if (!c->purse)
		return 0;
	CHECK(us >= 0);
	pthread_mutex_lock(&c->cgi->budget->mu);
	spent = c->purse->reading_us += us;
	pthread_mutex_unlock(&c->cgi->budget->mu);
	return spent;
}

int budget_search(struct call *c, int64_t bytes, int64_t us)
{
	const struct param_cgi *set = &c->cgi->param;
	int64_t most = param_now(set->person_search_bytes);
	int64_t most_ms = param_now(set->person_search_ms), now, wait;
	struct purse *p = c->purse;
	bool is_much, is_long;

	if (!p)
		return 0;
	CHECK(bytes >= 0 && us >= 0);
	pthread_mutex_lock(&c->cgi->budget->mu);
	now = clock_mono_us(&clock_machine);
	if (now - p->search_us >= SEARCH_WINDOW_US) {
		p->search_us = now;
		p->search_bytes = p->search_time_us = 0;
	}
	p->search_bytes += bytes;
	p->search_time_us += us;
	is_much = p->search_bytes >= most;
	is_long = p->search_time_us >= most_ms * US_PER_MS;
	wait = (p->search_us + SEARCH_WINDOW_US - now) / US_PER_S + 1;
	pthread_mutex_unlock(&c->cgi->budget->mu);
	if (is_much)
		return limit_refuse(c, LIMIT_PERSON_SEARCH_BYTES, most, wait,
		                    "%s has looked through as much of logs as a minute may, wait "
		                    "%lld s",
		                    c->actor_text, (long long)wait);
	if (is_long)
		return limit_refuse(c, LIMIT_PERSON_SEARCH, most_ms, wait,
		                    "searches of %s took as long as a minute may, wait %lld s",
		                    c->actor_text, (long long)wait);
	return 0;
}

int budget_may_search(struct call *c)
{
	return budget_search(c, 0, 0);
}

int budget_stream(struct call *c)
{
	struct budget *b = c->cgi->budget;
	struct purse *p = c->purse;
	int64_t most = param_now(c->cgi->param.person_streams_max);
	int64_t all = param_now(c->cgi->param.events_max);
	bool many, full;

	CHECK(p && !c->is_stream);
	pthread_mutex_lock(&b->mu);
	many = p->streams >= most;
	full = b->streams >= all - (p->streams > 0 ? all / RESERVE : 0);
	if (!many && !full) {
		CHECK(p->running > 0);
		p->running--;
		p->streams++;
		b->streams++;
		c->is_stream = true;
	}
	pthread_mutex_unlock(&b->mu);
	if (many)
		return limit_refuse(c, LIMIT_PERSON_STREAMS, most, 0,
		                    "%s has too many streams open, close one", c->actor_text);
	if (full)
		return limit_refuse(c, LIMIT_EVENTS, all, 0, "too many streams are open");
	return 0;
}

/* Half of them, so that the other half is somebody else's. */
int budget_large(struct call *c)
{
	struct budget *b = c->cgi->budget;
	struct purse *p = c->purse;
	int64_t most = param_now(c->cgi->param.applies_max);

	most = most > 1 ? most / 2 : 1;
	if (!c->large || !p)
		return 0;
	pthread_mutex_lock(&b->mu);
	c->is_large = p->large < most;
	p->large += c->is_large;
	pthread_mutex_unlock(&b->mu);
	if (c->is_large)
		return 0;
	c->refused = true;
	return limit_refuse(c, LIMIT_APPLIES, most, 0,
	                    "%s has %lld large bodies under way, half of applies_max, wait for one",
	                    c->actor_text, (long long)most);
}

void budget_give(struct call *c)
{
	struct budget *b = c->cgi->budget;
	struct purse *p = c->purse;

	if (!p)
		return;
	pthread_mutex_lock(&b->mu);
	CHECK(c->is_stream ? p->streams > 0 && b->streams > 0 : p->running > 0);
	p->running -= !c->is_stream;
	CHECK(p->large >= c->is_large);
	p->large -= c->is_large;
	p->streams -= c->is_stream;
	b->streams -= c->is_stream;
	pthread_mutex_unlock(&b->mu);
	c->purse = NULL;
}
