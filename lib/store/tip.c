/* Where a commit leaves the store: a count of commits, the last transition, and a CRC over all
 * events (their columns but the note). At a mark some 4,096 transitions back the sum stands too,
 * so that whoever opens the store reads the events behind it again and compares. It tells damage
 * and lost or foreign work, not an attacker. */
#include "store/tip.h"

#include <inttypes.h>

#include "sched/instance.h"
#include "store/store_impl.h"
#include "util/check.h"
#include "util/crc.h"
#include "util/err.h"

/* Transitions after which the mark follows: reading them again takes some milliseconds. */
enum { TAIL_MAX = 4096 };

static uint32_t chain_event(uint32_t chain, const struct transition *t)
{
	const int64_t columns[] = {
#define ECOL(column, value) (int64_t)(value),
#include "store/event_cols.def"
#undef ECOL
	};

	return crc32c_numbers(chain, columns, sizeof columns / sizeof columns[0]);
}

struct store_tip tip_next(const struct store_tip *was, const struct store_batch *b)
{
	struct store_tip t = *was;

	t.seq++;
	if (was->chain_number != was->number) { /* begins anew */
		t.mark_number = was->number;
		t.mark_chain = t.chain = 0;
	} else if (was->number - was->mark_number >= TAIL_MAX) {
		t.mark_number = was->number;
		t.mark_chain = was->chain;
	}
	for (size_t i = 0; i < b->n_events; i++)
		if (b->events[i]->kind == TK_INSTANCE)
			t.chain = chain_event(t.chain, b->events[i]);
	if (b->first && b->last >= b->first)
		t.number = b->last;
	CHECK(t.number >= was->number && t.seq > was->seq);
	t.chain_number = t.number;
	return t;
}

int store_read_tip(struct store *s, struct store_tip *ret, struct err *err)
{
	if (!s->ops->tip)
		return err_set(err, E_UNSUPPORTED, "this store ends with its process");
	return s->ops->tip(s, ret, err);
}

const struct store_tip *store_tip(const struct store *s)
{
	return &s->tip;
}

static int each_event(void *ctx, const int64_t *columns, size_t n)
{
	struct store_walk *w = ctx;

	CHECK(n > 0);
	if ((uint64_t)columns[0] > w->upto) {
		w->beyond = (uint64_t)columns[0];
		return 0;
	}
	w->chain = crc32c_numbers(w->chain, columns, n);
	w->rows++;
	return 0;
}

int store_chain(struct store *s, struct store_walk *w, struct err *err)
{
	return s->ops->events(s, w->after, w->upto, each_event, w, err);
}

int store_verify(struct store *s, const struct store_tip *t, struct err *err)
{
	struct store_walk w = { .upto = t->chain_number, .chain = t->mark_chain };

	if (t->chain_number > t->number)
		return err_set(err, E_DAMAGED,
		               "lb_leader is at %" PRIu64 ", its chain at %" PRIu64
		               ": they are not of one state of the database",
		               t->number, t->chain_number);
	int r = s->ops->events(s, t->mark_number, INT64_MAX, each_event, &w, err);
	if (r < 0)
		return r;
	if (w.beyond > t->number)
		return err_set(err, E_DAMAGED,
		               "lb_leader is at %" PRIu64 ", lb_task_event goes on to %" PRIu64
		               ": they are not of one state of the database",
		               t->number, w.beyond);
	/* None at all: retention, or somebody, has dropped their days. */
	if (w.rows && w.chain != t->chain)
		return err_set(err, E_DAMAGED,
		               "lb_task_event: the %" PRIu64 " events after number %" PRIu64
		               " are not those that were written (chain %08" PRIx32
		               ", written %08" PRIx32 ")",
		               w.rows, t->mark_number, w.chain, t->chain);
	return 0;
}

int store_inspect(struct store *s, int64_t limit_us, struct err *err)
{
	return s->ops->inspect ? s->ops->inspect(s, limit_us, err) : 0;
}

int store_scrub(struct store *s, struct store_scrub *at, int64_t limit_us, struct err *err)
{
	return s->ops->scrub ? s->ops->scrub(s, at, limit_us, err) : 0;
}
