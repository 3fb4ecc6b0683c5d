/* Who leads, as etcd sees it: a key that is made by transaction and lives as long as our lease. An
 * actor of its own thread stands for the key while it is wanted, keeps the lease alive five times
 * within its length, and looks each time whether the key is still the one it made.
 *
 * How long the key is surely ours is counted from when the request was sent, less a tenth of the
 * lease: it never ends later here than in etcd. Other threads read that instant and nothing else.
 * The election decides no lead by itself: the store's epoch does. */
#include "etcd/election.h"

#include <stdlib.h>

#include "rt/actor.h"
#include "rt/thread.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

/* How often the key is looked for; how many keep-alives fit into a lease. */
enum { LOOK_MS = 500, KEEPS = 5, MARGIN = 10 };

struct election {
	struct thread *thread;
	struct actor *me;
	struct etcd *etcd;
	char *key, *value;
	int64_t ttl_ms, lease; /* lease 0: none */
	_Atomic int64_t until_us, revision;
	atomic_bool wanted;
	bool is_away;
	void (*told)(void *ctx, enum election_news news, const char *text);
	void *ctx;
};

/* asked_us: when that was sent which made the lease last ttl_s. */
static void sure_from(struct election *e, int64_t asked_us, int64_t ttl_s)
{
	int64_t ttl_us = ttl_s * US_PER_S;

	CHECK(ttl_s > 0);
	atomic_store(&e->until_us, asked_us + ttl_us - ttl_us / MARGIN);
}

static void election_drop(struct election *e)
{
	if (e->lease)
		etcd_lease_revoke(e->etcd, e->lease, NULL); /* unheard: it runs out */
	e->lease = 0;
}

static void election_lose(struct election *e, enum election_news news, const char *why)
{
	CHECK(actor_here(e->me));
	atomic_store(&e->until_us, 0);
	atomic_store(&e->revision, 0);
	e->told(e->ctx, news, why);
	election_drop(e);
}

/* ---- standing for it ---------------------------------------------------------------- */

static int election_stand(struct election *e, struct err *err)
{
	struct etcd_answer a = { 0 };
	int64_t asked_us = clock_now_us(), ttl_s = 0, revision = 0;
	int r = e->lease ? E_NOT_FOUND : etcd_get(e->etcd, e->key, &a, err);

	CHECK(actor_here(e->me));
	if (r == 0)
		etcd_answer_done(&a);
	if (r != E_NOT_FOUND)
		return r; /* another has it, or nobody knows */
	/* One whose answer was lost runs out unused; one we have may be in the key already. */
	if (!e->lease)
		r = etcd_lease_grant(e->etcd, (e->ttl_ms + 999) / 1000, &e->lease, &ttl_s, err);
	else
		r = etcd_lease_keep(e->etcd, e->lease, &ttl_s, err);
	if (r == 0)
		r = etcd_create(e->etcd, e->key, e->value, e->lease, &revision, err);
	if (r == E_EXISTS || r == E_STALE || r == E_NOT_FOUND) {
		election_drop(e);
		return 0;
	}
	if (r < 0)
		return r;
	sure_from(e, asked_us, ttl_s);
	atomic_store(&e->revision, revision);
	e->told(e->ctx, ELECTION_WON, "");
	return 0;
}

/* ---- having it ---------------------------------------------------------------------- */

/* Whether the key still is the one we made. */
static int election_look(struct election *e, struct err *err)
{
	struct etcd_answer a = { 0 };
	int r = etcd_get(e->etcd, e->key, &a, err);

	if (r == 0 && a.kvs[0].create_revision != atomic_load(&e->revision))
		r = err_set(err, E_STALE, "the key in etcd is another's: %.200s", a.kvs[0].value);
	etcd_answer_done(&a);
	return r == E_NOT_FOUND ? err_set(err, E_STALE, "the key in etcd is gone") : r;
}

static int election_keep(struct election *e, struct err *err)
{
	int64_t asked_us = clock_now_us(), ttl_s = 0;
	int r = etcd_lease_keep(e->etcd, e->lease, &ttl_s, err);

	CHECK(actor_here(e->me));
	CHECK(e->lease != 0);
	if (r == 0)
		r = election_look(e, err);
	if (r == 0)
		sure_from(e, asked_us, ttl_s);
	if (r != E_STALE)
		return r;
	election_lose(e, ELECTION_LOST, err->text);
	return 0;
}

/* ---- the actor ---------------------------------------------------------------------- */

static void on_alarm(void *self)
{
	struct election *e = self;
	bool wanted = atomic_load(&e->wanted), has = atomic_load(&e->revision) != 0;
	int64_t began_us = clock_now_us(), ms = LOOK_MS;
	struct err err = { 0 };
	int r = 0;

	CHECK(actor_here(e->me));
	if (has && !wanted)
		election_lose(e, ELECTION_GIVEN, "");
	else if (has)
		r = election_keep(e, &err);
	else if (wanted)
		r = election_stand(e, &err);
	else
		election_drop(e);
	if (r < 0 && !e->is_away)
		e->told(e->ctx, ELECTION_AWAY, err.text);
	else if (r == 0 && e->is_away && (has || wanted))
		e->told(e->ctx, ELECTION_BACK, "");
	e->is_away = r < 0;
	if (atomic_load(&e->revision) != 0 && r == 0)
		ms = e->ttl_ms / KEEPS;
	actor_alarm(e->me, began_us + ms * US_PER_MS);
}

static int election_init(void *self, struct actor *me, struct err *err)
{
	struct election *e = self;

	(void)err;
	e->me = me;
	actor_alarm(me, actor_mono_us(me));
	return 0;
}

static void election_fini(void *self)
{
	struct election *e = self;

	atomic_store(&e->until_us, 0);
	if (!e->is_away)
		election_drop(e);
}

static const struct actor_ops ops = { .name = "election",
	                              .letters_max = 4,
	                              .init = election_init,
	                              .turn = on_alarm,
	                              .alarm = on_alarm,
	                              .fini = election_fini };

int election_open(const struct election_settings *set, struct election **ret, struct err *err)
{
	struct election *e = mem_new(sizeof *e);
	int r = etcd_open(&set->etcd, &e->etcd, err);

	e->key = mem_fmt("%s/leader", set->prefix);
	e->value = mem_str(set->value);
	e->ttl_ms = set->ttl_ms;
	e->told = set->told;
	e->ctx = set->ctx;
	if (r == 0) {
		e->thread = thread_new("etcd-lead", &clock_machine);
		e->me = actor_new(e->thread, &ops, e);
		r = thread_start(e->thread, err);
	}
	if (r < 0) {
		election_close(e);
		return r;
	}
	*ret = e;
	return 0;
}

void election_close(struct election *e)
{
	if (!e)
		return;
	thread_stop(e->thread);
	thread_free(e->thread);
	etcd_close(e->etcd);
	free(e->key);
	free(e->value);
	free(e);
}

void election_want(struct election *e, bool wanted)
{
	if (atomic_exchange(&e->wanted, wanted) != wanted)
		actor_wake(e->me);
}

const _Atomic int64_t *election_until_us(const struct election *e)
{
	return &e->until_us;
}

bool election_holds(const struct election *e)
{
	return clock_now_us() < atomic_load(&e->until_us);
}

int64_t election_revision(const struct election *e)
{
	return atomic_load(&e->revision);
}
