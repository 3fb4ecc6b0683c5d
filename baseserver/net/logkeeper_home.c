/* What the logkeeper has carried to the home of logs, and fetched from there.
 *
 *   list (each LIST_EVERY) -> learn what is unknown, index by index -> remove orphans
 *        -> sweep uploads nobody goes on with -> remove what is overdue -> ship, one by one
 *
 * Nothing is shipped, and nothing goes, before the first list was read: the home says what it has.
 * One order is under way in each direction. What fails is tried again after a pause that doubles
 * up to PAUSE_MAX_US, all of it: a home that is away is away for everything. What waits meanwhile
 * stays where it is, up to wait_bytes_max, and is told: as figures, in health, in the log. */
#include "baseserver/net/logkeeper_home.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baseserver/model/front.h"
#include "baseserver/net/logkeeper_carrier.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { TOP_BYTES = 65536 };
#define PAUSE_US      (1 * US_PER_S)
#define PAUSE_MAX_US  (300 * US_PER_S)
#define LIST_EVERY_US (600 * US_PER_S)
/* An upload that began before that has nobody: one that is under way is younger. */
#define SWEEP_US  (86400 * US_PER_S)
#define ORPHAN_US (86400 * US_PER_S)

/* A segment as the home's list has it. */
struct listed {
	char name[LOGS_NAME_BYTES];
	uint64_t bytes[2]; /* of the segment, of the index; 0: it is not there */
	int64_t at_us;
};

struct keeper_home {
	struct keeper_home_start s;
	bool is_busy; /* an order to carry something there is under way */
	bool is_listing, is_known;
	struct listed *list;
	char after[HOME_AFTER_BYTES]; /* where its next page begins */
	size_t n, cap, next;          /* `next`: to be judged */
	size_t want;                  /* bytes of the next index that were asked for; 0: none yet */
	bool is_swept;
	int64_t list_us, pause_us, until_us; /* mono; pause 0: all is well */
	struct logs_miss missing;
	bool is_fetching;
	/* For others. */
	_Atomic uint64_t waiting, waiting_bytes, shipped, far, dropped, failures;
	_Atomic int64_t oldest_us;
	atomic_int code; /* below 0: it is away */
};

void keeper_home_figures(const struct keeper_home *h, struct log_home_figures *ret)
{
	*ret = (struct log_home_figures){ .is_set = true,
		                          .code = atomic_load(&h->code),
		                          .waiting = atomic_load(&h->waiting),
		                          .waiting_bytes = atomic_load(&h->waiting_bytes),
		                          .oldest_us = atomic_load(&h->oldest_us),
		                          .shipped = atomic_load(&h->shipped),
		                          .far = atomic_load(&h->far),
		                          .dropped = atomic_load(&h->dropped),
		                          .failures = atomic_load(&h->failures) };
}

static void home_show(struct keeper_home *h)
{
	struct logs_waiting w;
	struct logs_size all, old;

	logs_waiting(h->s.logs, &w);
	logs_size(h->s.logs, 0, &all, &old);
	atomic_store(&h->waiting, w.segments);
	atomic_store(&h->waiting_bytes, w.bytes);
	atomic_store(&h->oldest_us, w.oldest_us);
	atomic_store(&h->far, all.far);
}

/* --- when it is away --- */

static void went_well(struct keeper_home *h)
{
	if (h->pause_us)
		log_info("log.home_back", "home=%s", h->s.set->home);
	h->pause_us = h->until_us = 0;
	atomic_store(&h->code, 0);
}

static void went_wrong(struct keeper_home *h, const struct carry_order *o)
{
	static const char *const what[CARRY_COUNT] = { "ship", "read", "list", "remove", "sweep" };

	if (h->pause_us == 0)
		log_error("log.home_away", "home=%s what=%s code=%s text=\"%s\"", h->s.set->home,
		          what[o->what], err_name(o->code), o->text);
	else
		log_debug("log.home_away", "home=%s what=%s code=%s text=\"%s\"", h->s.set->home,
		          what[o->what], err_name(o->code), o->text);
	h->pause_us = !h->pause_us                     ? PAUSE_US
	              : h->pause_us < PAUSE_MAX_US / 2 ? 2 * h->pause_us
	                                               : PAUSE_MAX_US;
	h->until_us = actor_mono_us(h->s.me) + h->pause_us;
	if (h->pause_us > PAUSE_US) /* once is nothing to be told of */
		atomic_store(&h->code, o->code);
	atomic_fetch_add(&h->failures, 1);
	h->s.tend_by(h->s.ctx, h->until_us);
}

/* --- the list --- */

/* NAME.seg, NAME.idx. */
static void list_thing(struct keeper_home *h, const struct home_thing *t)
{
	size_t n = strlen(t->name);
	bool is_index = n > 4 && strcmp(t->name + n - 4, ".idx") == 0;
	char name[LOGS_NAME_BYTES];

	if (n <= 4 || n - 4 >= sizeof name || (!is_index && strcmp(t->name + n - 4, ".seg") != 0))
		return;
	snprintf(name, sizeof name, "%.*s", (int)(n - 4), t->name);
	if (!logs_name_ok(name))
		return;
	/* By name: an index comes right before its segment, also over two pages. */
	struct listed *last = h->n ? &h->list[h->n - 1] : NULL;
	if (!last || strcmp(last->name, name) != 0) {
		h->list = mem_room(h->list, &h->cap, h->n + 1, sizeof *h->list);
		last = &h->list[h->n++];
		*last = (struct listed){ .at_us = t->at_us };
		memcpy(last->name, name, sizeof name);
	}
	last->bytes[is_index] = t->bytes;
	if (t->at_us > last->at_us)
		last->at_us = t->at_us;
}

static bool is_whole(const struct listed *i)
{
	return i->bytes[0] && i->bytes[1];
}

static void list_over(struct keeper_home *h)
{
	size_t unknown = 0;

	for (size_t i = 0; i < h->n; i++)
		if (!is_whole(&h->list[i]) ||
		    !logs_list_seen(h->s.logs, h->list[i].name, h->list[i].bytes))
			h->list[unknown++] = h->list[i];
	h->n = unknown;
	h->next = h->want = 0;
	logs_list_over(h->s.logs);
	h->is_listing = h->is_swept = false;
	h->list_us = actor_mono_us(h->s.me) + LIST_EVERY_US;
}

static void list_page(struct keeper_home *h, struct carry_order *o)
{
	for (size_t i = 0; i < o->n; i++)
		list_thing(h, &o->things[i]);
	memcpy(h->after, o->after, sizeof h->after);
	if (!o->has_more)
		list_over(h);
}

/* --- orders there --- */

static void on_carried(struct letter *l, void *self);
static void on_fetched(struct letter *l, void *self);

static bool give_order(struct keeper_home *h, struct carry_order *o, bool is_read)
{
	o->reply_to = h->s.me;
	o->answered = is_read ? on_fetched : on_carried;
	o->ctx = h;
	if (carrier_ask(is_read ? h->s.set->reads : h->s.set->ships, o) == 0)
		return true;
	carry_order_free(o);
	return false;
}

static struct carry_order *order_list(struct keeper_home *h)
{
	struct carry_order *o = carry_order_new(CARRY_LIST);

	if (!h->is_listing) {
		h->is_listing = true;
		h->n = h->next = 0;
		h->after[0] = '\0';
		logs_list_begin(h->s.logs);
	}
	memcpy(o->after, h->after, sizeof o->after);
	return o;
}

/* What the list has and we do not know: a whole segment is learned; half of one that nobody went on
 * with for a day is removed. */
static struct carry_order *order_judge(struct keeper_home *h)
{
	const struct listed *i = &h->list[h->next];

	if (is_whole(i)) {
		struct carry_order *o = carry_order_new(CARRY_RANGE);
		if (!h->want)
			h->want = TOP_BYTES;
		o->miss = (struct logs_miss){ .is_index = true, .n = h->want };
		memcpy(o->miss.name, i->name, sizeof o->miss.name);
		if (i->bytes[1] < o->miss.n)
			o->miss.n = (size_t)i->bytes[1];
		return o;
	}
	struct carry_order *o = carry_order_new(CARRY_REMOVE);
	snprintf(o->name, sizeof o->name, "%s", i->name);
	return o;
}

static bool is_left(const struct keeper_home *h, const struct listed *i)
{
	return is_whole(i) || (i->at_us && i->at_us < actor_wall_us(h->s.me) - ORPHAN_US);
}

static struct carry_order *next_order(struct keeper_home *h)
{
	struct carry_order *o;
	int64_t wall_us = actor_wall_us(h->s.me);

	if (h->is_listing || !h->is_known || actor_mono_us(h->s.me) >= h->list_us)
		return order_list(h);
	while (h->next < h->n && !is_left(h, &h->list[h->next]))
		h->next++;
	if (h->next < h->n)
		return order_judge(h);
	if (!h->is_swept) {
		o = carry_order_new(CARRY_SWEEP);
		o->before_us = wall_us - SWEEP_US;
		return o;
	}
	o = carry_order_new(CARRY_REMOVE);
	if (logs_overdue(h->s.logs, wall_us - h->s.set->retention_us, o->name))
		return o;
	o->what = CARRY_SHIP;
	if (logs_to_ship(h->s.logs, &o->ship))
		return o;
	carry_order_free(o);
	return NULL;
}

static void go_on(struct keeper_home *h)
{
	if (h->is_busy || actor_mono_us(h->s.me) < h->until_us)
		return;
	struct carry_order *o = next_order(h);
	h->is_busy = o && give_order(h, o, false);
}

/* --- answers from there --- */

/* False: it needs more of the index. */
static bool learned(struct keeper_home *h, const struct carry_order *o)
{
	const struct listed *i = &h->list[h->next];
	const struct logs_top t = { i->name, i->bytes[0], i->bytes[1], buf_at(&o->data),
		                    o->data.len };
	struct err err = { 0 };
	size_t want = 0;
	int r = logs_learn(h->s.logs, &t, &want, &err);

	if (r == E_AGAIN && want > h->want) {
		h->want = want;
		return false;
	}
	if (r < 0)
		log_error("log.home_unread", "name=%s code=%s text=\"%s\"", i->name, err_name(r),
		          err.text);
	return true;
}

static void listed_judged(struct keeper_home *h)
{
	h->next++;
	h->want = 0;
}

static void carried_ship(struct keeper_home *h, const struct carry_order *o)
{
	struct err err = { 0 };
	int r = logs_shipped(h->s.logs, &o->ship, &err);

	if (r == 0)
		atomic_fetch_add(&h->shipped, 1);
	if (r == 0)
		log_info("log.shipped", "name=%s bytes=%" PRIu64, o->ship.name,
		         o->ship.seg_bytes + o->ship.idx_bytes);
	else
		log_error("log.unshipped", "name=%s code=%s text=\"%s\"", o->ship.name, err_name(r),
		          err.text);
}

static void carried(struct keeper_home *h, struct carry_order *o)
{
	switch (o->what) {
	case CARRY_LIST:
		h->is_known = true;
		list_page(h, o);
		break;
	case CARRY_RANGE:
		if (learned(h, o))
			listed_judged(h);
		break;
	case CARRY_REMOVE:
		if (h->next < h->n)
			listed_judged(h);
		else
			logs_gone(h->s.logs, o->name);
		break;
	case CARRY_SWEEP:
		h->is_swept = true;
		if (o->swept)
			log_info("log.home_swept", "uploads=%zu", o->swept);
		break;
	default:
		carried_ship(h, o);
	}
}

/* What is answered about one thing alone does not stop the rest. */
static bool is_of_one(struct keeper_home *h, const struct carry_order *o)
{
	bool is_judged = h->next < h->n && (o->what == CARRY_RANGE || o->what == CARRY_REMOVE);

	if (o->what == CARRY_SWEEP && o->code == E_UNSUPPORTED) {
		h->is_swept = true;
		return true;
	}
	if (is_judged && (o->code == E_NOT_FOUND || o->code == E_CORRUPT)) {
		listed_judged(h);
		return true;
	}
	/* It went meanwhile: retention, or the bound of what waits. */
	return o->what == CARRY_SHIP && o->code == E_NOT_FOUND &&
	       access(o->ship.seg_path, R_OK) < 0;
}

static void on_carried(struct letter *l, void *self)
{
	struct carry_order *o = (struct carry_order *)l;
	struct keeper_home *h = o->ctx;

	(void)self;
	h->is_busy = false;
	if (o->code == 0)
		carried(h, o);
	if (o->code == 0 || is_of_one(h, o))
		went_well(h);
	else
		went_wrong(h, o);
	if (o->code < 0 && o->what == CARRY_LIST)
		h->is_listing = false;
	carry_order_free(o);
	home_show(h);
	go_on(h);
}

/* --- what is read --- */

static void on_fetched(struct letter *l, void *self)
{
	struct carry_order *o = (struct carry_order *)l;
	struct keeper_home *h = o->ctx;
	int r = o->code;

	(void)self;
	h->is_fetching = false;
	if (r == 0)
		r = logs_fetched(h->s.logs, &o->miss, buf_at(&o->data));
	if (r == E_NOT_FOUND && o->code == 0)
		r = 0; /* the segment went: who asks finds that out */
	if (r < 0 && o->code < 0)
		log_warn("log.home_unread", "name=%s code=%s text=\"%s\"", o->miss.name,
		         err_name(r), o->text);
	h->s.fetched(h->s.ctx, r, o->text);
	carry_order_free(o);
}

bool keeper_home_miss(struct keeper_home *h)
{
	struct logs_miss m;

	if (!logs_miss(h->s.logs, &m))
		return false;
	if (!h->is_fetching) {
		struct carry_order *o = carry_order_new(CARRY_RANGE);
		o->miss = m;
		h->is_fetching = give_order(h, o, true);
	}
	return true;
}

/* --- time --- */

void keeper_home_tend(struct keeper_home *h)
{
	int64_t wall_us = actor_wall_us(h->s.me);

	logs_retain_here(h->s.logs, wall_us - h->s.set->here_us);
	size_t dropped = logs_drop_waiting(h->s.logs, h->s.set->wait_bytes_max);
	if (dropped) {
		atomic_fetch_add(&h->dropped, dropped);
		log_error("log.home_dropped",
		          "segments=%zu text=\"logs that the home did not take are lost: more than "
		          "log_home_wait_bytes_max waited\"",
		          dropped);
	}
	home_show(h);
	go_on(h);
}

struct keeper_home *keeper_home_new(const struct keeper_home_start *s)
{
	struct keeper_home *h = mem_new(sizeof *h);

	h->s = *s;
	home_show(h);
	return h;
}

void keeper_home_free(struct keeper_home *h)
{
	if (!h)
		return;
	free(h->list);
	free(h);
}
