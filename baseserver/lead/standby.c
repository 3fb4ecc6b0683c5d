/* Waiting: a server watches the lease, and takes it when its holder shows no life.
 *
 * One loop on the main thread: open the store, look at the lease, take it if it is free, stand in
 * the election, tell peers who leads, show ourselves, read along (warm), sleep. The lease is free
 * when its signs have not changed for lease_ms of our own monotonic clock; a store that could not
 * be looked at begins that wait anew. Who is elected, who has the store's exclusive lock, or who
 * had the lease before this process, need not wait. Taking it is one compare-and-set, after
 * soundness_check(). On sqlite only the holder of the lock has `store`; the others read `beside`.
 * */
#include "baseserver/lead/standby.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "baseserver/lead/cluster.h"
#include "baseserver/lead/door.h"
#include "baseserver/lead/site.h"
#include "baseserver/lead/soundness.h"
#include "baseserver/ledger/warm.h"
#include "etcd/election.h"
#include "rt/notify.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"

/* How often the lease is looked at, how often we show ourselves: at least. */
#define LOOK_MS_MAX    500
#define SHOW_US_MAX    (3 * US_PER_S)
#define RETRY_MS_KNOWN 5000 /* a leader is there: peers need not ask here soon */
#define RETRY_MS_SOON  500

struct standby {
	struct site *site;
	struct store *store;     /* may take the lease; NULL: another has the sqlite file */
	struct store *beside;    /* sqlite: what is read meanwhile; may be NULL */
	struct warm *warm;       /* what is followed; NULL: not yet */
	struct door *door;       /* NULL: we have not had to wait yet */
	struct store_lease seen; /* as last read */
	bool have_seen, is_down;
	bool told_warm, is_stuck; /* both: so that it is said once */
	int64_t seen_us;          /* when it last changed, or we could not look */
	int64_t shown_us;         /* when we last showed ourselves */
	int64_t shy_until_us;
	char told[160]; /* the leader we said we wait for */
};

static int64_t look_ms(const struct standby *b)
{
	int64_t ms = b->site->p->lead_ms / 8;

	return ms > LOOK_MS_MAX ? LOOK_MS_MAX : ms;
}

/* ---- the store --------------------------------------------------------------------- */

/* sqlite: the lock of the directory decides, without waiting; meanwhile its file is read beside
 * the one that has it, if it can be. */
static int try_open(struct standby *b, struct err *err)
{
	const char *url = b->site->store_url;
	struct err why = { 0 };
	int r = E_BUSY;

	if (b->store)
		return 0;
	if (clock_now_us() >= b->shy_until_us)
		r = store_open(url, &b->store, err);
	if (r != E_BUSY)
		return r;
	if (!b->beside)
		r = store_open_standby(url, &b->beside, &why);
	return r == E_BUSY && !b->beside ? r : 0;
}

static bool same_sign(const struct store_lease *a, const struct store_lease *b)
{
	return a->epoch == b->epoch && a->beat == b->beat && a->number == b->number;
}

static void look_failed(struct standby *b, const struct err *err)
{
	if (!b->is_down)
		log_warn("standby.store-down", "text=\"%s\"", err->text);
	b->is_down = true;
	b->have_seen = false; /* what happens meanwhile is not seen: the wait begins anew */
}

/* 0: there is nothing to look at, 1: seen, negative. */
static int standby_look(struct standby *b, struct err *err)
{
	struct store_lease now;
	struct store *s = b->store ? b->store : b->beside;
	int r = s ? store_lease(s, &now, err) : 0;

	if (r < 0 || !s)
		return r;
	b->is_down = false;
	if (!b->have_seen || !same_sign(&now, &b->seen))
		b->seen_us = clock_now_us();
	log_debug("standby.look", "holder=\"%s\" lease_ms=%u unchanged_ms=%lld", now.who,
	          now.lease_ms, (long long)((clock_now_us() - b->seen_us) / US_PER_MS));
	b->seen = now;
	b->have_seen = true;
	return 1;
}

/* ---- who leads --------------------------------------------------------------------- */

static bool is_free(const struct standby *b)
{
	const struct store_lease *l = &b->seen;

	if (cluster_election(b->site->cluster))
		return election_holds(cluster_election(b->site->cluster));
	if (store_is_exclusive(b->store) || l->lease_ms == 0)
		return true;
	/* We had it before we died; the address, because a state directory may have been copied. */
	bool is_ours = strcmp(l->who, b->site->who) == 0 &&
	               strcmp(l->address, b->site->address) == 0;
	return is_ours || clock_now_us() - b->seen_us > (int64_t)l->lease_ms * US_PER_MS;
}

/* Who is elected in etcd has nobody to wait for: the former leader knows that he is not. One that
 * could not take the store does not stand. */
static void standby_stand(const struct standby *b)
{
	struct election *e = cluster_election(b->site->cluster);

	if (e)
		election_want(e, b->store && !b->is_down && clock_now_us() >= b->shy_until_us);
}

/* 1: we lead, 0: not yet; negative: never on this store. */
static int try_take(struct standby *b, struct err *ret_err)
{
	struct site *s = b->site;
	struct store_lease mine = { .lease_ms = (uint32_t)s->p->lead_ms };
	struct err err = { 0 };

	if (!b->store || clock_now_us() < b->shy_until_us || !is_free(b))
		return 0;
	CHECK(b->have_seen); /* free is judged by what was seen */
	int sound = soundness_check(s, b->store, ret_err);
	if (soundness_exit(sound))
		return sound;
	if (sound < 0) {
		look_failed(b, ret_err);
		return 0;
	}
	memcpy(mine.who, s->who, sizeof mine.who);
	memcpy(mine.address, s->address, sizeof mine.address);
	int64_t still_us = clock_now_us() - b->seen_us;
	int r = store_take_lease(b->store, &b->seen, &mine, &s->epoch, &err);
	if (r == 0) {
		log_info("lead.taken", "epoch=%u after=\"%s\" still_ms=%lld", s->epoch, b->seen.who,
		         (long long)(still_us / US_PER_MS));
		return 1;
	}
	if (r != E_CONFLICT)
		look_failed(b, &err);
	return 0;
}

static const char *leader_address(const struct standby *b)
{
	bool known = b->have_seen && b->seen.lease_ms && strcmp(b->seen.who, b->site->who) != 0;

	return known ? b->seen.address : "";
}

/* Peers come back when there may be news, not before. */
static uint32_t retry_ms(const struct standby *b)
{
	CHECK(b->store || b->beside);
	int64_t left_ms = b->seen.lease_ms - (clock_now_us() - b->seen_us) / US_PER_MS;

	if (!leader_address(b)[0] || left_ms <= 0)
		return RETRY_MS_SOON;
	if (store_is_exclusive(b->store ? b->store : b->beside))
		return 2 * RETRY_MS_SOON;
	return (uint32_t)(left_ms < RETRY_MS_KNOWN ? left_ms + RETRY_MS_SOON : RETRY_MS_KNOWN);
}

static int wait_aloud(struct standby *b, struct err *err)
{
	const struct store_lease *l = &b->seen;
	int r = 0;

	if (!b->door) {
		r = door_open(b->site->p, b->site->keys, &b->site->own, &b->door, err);
		notify_send("READY=1\nSTATUS=standby");
	}
	if (r < 0)
		return r;
	if (!b->told[0] || (b->have_seen && strcmp(b->told, l->who) != 0)) {
		log_info("standby.waits", "name=%s leader=\"%s\" address=%s epoch=%u", b->site->who,
		         b->have_seen ? l->who : "?", b->have_seen ? l->address : "?",
		         b->have_seen ? l->epoch : 0);
		snprintf(b->told, sizeof b->told, "%s", b->have_seen ? l->who : "?");
	}
	if (b->store || b->beside)
		door_tell(b->door, leader_address(b), retry_ms(b));
	return 0;
}

/* A failure shows at the next look. */
static void standby_show(struct standby *b)
{
	struct store *s = b->store ? b->store : b->beside;
	struct store_node n = { .number = b->warm ? warm_number(b->warm) : 0 };
	int64_t every_us = b->site->p->lead_ms * US_PER_MS / 4;

	if (every_us > SHOW_US_MAX)
		every_us = SHOW_US_MAX;
	if (!s || !b->have_seen || clock_now_us() - b->shown_us < every_us)
		return;
	memcpy(n.who, b->site->who, sizeof n.who);
	memcpy(n.address, b->site->address, sizeof n.address);
	store_show_node(s, &n, NULL);
	b->shown_us = clock_now_us();
}

/* ---- following --------------------------------------------------------------------- */

/* A share of the time between two looks, so that the leader's store hardly feels it: a fifth until
 * all has been read once, then a twentieth. */
static int64_t follow_us(const struct standby *b, int64_t look_us)
{
	return warm_is_whole(b->warm) ? look_us / 20 : look_us / 5;
}

/* A failure makes the picture older, no more; the next look tells of a store that is away. */
static void standby_follow(struct standby *b)
{
	struct store *s = b->store ? b->store : b->beside;
	struct err err = { 0 };

	if (!s || !b->have_seen || b->is_down)
		return;
	if (!b->warm)
		b->warm = warm_new(WARM_BATCH);
	int r = warm_follow(b->warm, s, b->seen.number, follow_us(b, look_ms(b) * US_PER_MS), &err);
	if (r < 0 && !b->is_stuck)
		log_warn("standby.behind", "text=\"%s\"", err.text);
	b->is_stuck = r < 0;
	if (warm_is_whole(b->warm) && !b->told_warm) {
		log_info("standby.warm", "rows=%zu number=%llu", warm_rows(b->warm),
		         (unsigned long long)warm_number(b->warm));
		b->told_warm = true;
	}
}

/* ---- waiting ----------------------------------------------------------------------- */

static int sleep_a_little(const struct standby *b)
{
	struct timespec t = { 0, (long)(look_ms(b) * 1000000) };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	int sig = sigtimedwait(&set, NULL, &t);
	if (sig == SIGHUP)
		b->site->reload(b->site->reload_ctx);
	notify_send("WATCHDOG=1");
	return sig == SIGTERM || sig == SIGINT ? STANDBY_STOPPED : STANDBY_LEADS;
}

static int wait_for_it(struct standby *b, struct err *err)
{
	for (;;) {
		int r = try_open(b, err);
		if (r == 0)
			r = standby_look(b, err);
		/* At the start what is wrong is said; later it may pass. */
		if (r < 0 && (!b->door || soundness_exit(r)))
			return r;
		if (r < 0)
			look_failed(b, err);
		else if (r > 0 && (r = try_take(b, err)) != 0)
			return r < 0 ? r : STANDBY_LEADS;
		standby_stand(b);
		r = wait_aloud(b, err);
		if (r < 0)
			return r;
		standby_show(b);
		standby_follow(b);
		if (sleep_a_little(b) == STANDBY_STOPPED)
			return STANDBY_STOPPED;
	}
}

int standby_wait(struct site *s, int64_t shy_ms, struct err *err)
{
	struct standby b = { .site = s, .shy_until_us = clock_now_us() + shy_ms * US_PER_MS };
	int r;

	if (shy_ms == 0)
		b.shy_until_us = 0;
	r = wait_for_it(&b, err);
	door_close(b.door);
	store_close(b.beside);
	if (r == STANDBY_LEADS) {
		CHECK(b.store);
		s->store = b.store;
		s->warm = b.warm;
	} else {
		store_close(b.store);
		warm_free(b.warm);
	}
	return r;
}
