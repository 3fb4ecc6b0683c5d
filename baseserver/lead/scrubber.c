/* The scrubber: reads the whole store beside the work, once a day.
 *
 * An actor with a connection of its own reads in slices of three seconds, with a pause after each.
 * Damage ends the process: the ledger falls silent at once, a note in the state directory makes
 * the next start look at everything, and after fifteen seconds, in which health tells of it, the
 * ledger is told to end. What cannot be read now is read later. Figures may be asked for on any
 * thread. Nothing is mended here. */
#include "baseserver/lead/scrubber.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "baseserver/lead/site.h"
#include "baseserver/lead/soundness.h"
#include "baseserver/ledger/ledger.h"
#include "rt/actor.h"
#include "store/store.h"
#include "store/tip.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

/* A slice holds a snapshot, so that the log cannot be emptied meanwhile. The pause leaves the disk
 * to others. */
#define SLICE_US (3 * US_PER_S)
#define PAUSE_US (50 * US_PER_MS)
#define AGAIN_US (86400 * US_PER_S)
#define TELL_US  (15 * US_PER_S) /* until the process ends: who watches asks each few seconds */

struct scrubber {
	struct actor *me;
	const struct site *site;
	struct ledger *ledger;
	struct store *store;
	struct store_scrub at;
	struct err damage;
	_Atomic uint64_t done, of, partly;
	_Atomic bool is_over, is_damaged;
};

static void found(struct scrubber *s)
{
	log_error("store.damaged", "table=%s text=\"%s\"", s->at.table, s->damage.text);
	ledger_silence(s->ledger);
	soundness_note_damage(s->site, s->damage.text);
	atomic_store(&s->is_damaged, true);
	actor_alarm(s->me, actor_mono_us(s->me) + TELL_US);
}

static void scrubber_look(struct scrubber *s)
{
	struct err err = { 0 };
	int r = 0;

	CHECK(!atomic_load(&s->is_damaged)); /* nothing more is read of it */
	if (!s->store)
		r = store_open_standby(s->site->store_url, &s->store, &err);
	if (r == 0)
		r = store_scrub(s->store, &s->at, SLICE_US, &err);
	atomic_store(&s->done, s->at.done);
	atomic_store(&s->of, s->at.of);
	atomic_store(&s->partly, s->at.partly);
	if (r == E_DAMAGED) {
		s->damage = err;
		found(s);
	} else if (r == 0 || r == E_UNSUPPORTED) {
		atomic_store(&s->is_over, true);
		log_info("store.whole", "tables=%llu partly=%llu", (unsigned long long)s->at.done,
		         (unsigned long long)s->at.partly);
		store_close(s->store);
		s->store = NULL;
		s->at = (struct store_scrub){ 0 };
		actor_alarm(s->me, actor_mono_us(s->me) + AGAIN_US);
	} else { /* what cannot be read now is read later */
		actor_alarm(s->me, actor_mono_us(s->me) + PAUSE_US);
	}
}

static void on_alarm(void *self)
{
	struct scrubber *s = self;

	if (atomic_load(&s->is_damaged))
		ledger_damaged(s->ledger, &s->damage);
	else
		scrubber_look(s);
}

static int scrubber_init(void *self, struct actor *me, struct err *err)
{
	struct scrubber *s = self;

	(void)err;
	s->me = me;
	actor_alarm(me, actor_mono_us(me) + PAUSE_US);
	return 0;
}

static void scrubber_fini(void *self)
{
	struct scrubber *s = self;

	store_close(s->store);
	s->store = NULL;
}

static const struct actor_ops ops = { .name = "scrubber",
	                              .letters_max = 16,
	                              .init = scrubber_init,
	                              .alarm = on_alarm,
	                              .fini = scrubber_fini };

struct scrubber *scrubber_new(struct thread *th, const struct site *site, struct ledger *l)
{
	struct scrubber *s = mem_new(sizeof *s);

	s->site = site;
	s->ledger = l;
	s->me = actor_new(th, &ops, s);
	return s;
}

void scrubber_free(struct scrubber *s)
{
	free(s);
}

void scrubber_figures(const struct scrubber *s, struct scrubber_figures *ret)
{
	*ret = (struct scrubber_figures){ .done = atomic_load(&s->done),
		                          .of = atomic_load(&s->of),
		                          .partly = atomic_load(&s->partly),
		                          .is_over = atomic_load(&s->is_over),
		                          .is_damaged = atomic_load(&s->is_damaged) };
}
