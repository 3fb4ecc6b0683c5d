/* Time without a leader does not count (design: SEMANTICS section 1, effective due). What waited
 * through it is moved in memory, and stored with its next change; until then the gap is kept. */
#include <inttypes.h>
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/log.h"

enum { GAP_MIN_US = US_PER_S };

struct gaps {
	struct store_gap *items;
	size_t n;
};

/* The oldest of the rows' last changes: gaps before it are over for all. */
static uint64_t oldest_change(const struct ledger *l, uint64_t number)
{
	uint64_t oldest = number + 1;

	for (uint32_t i = 0; i < l->table.used; i++) {
		const struct instance *inst = &table_at(&l->table, i)->inst;
		if (inst->state != ST_NONE && inst->last_number < oldest)
			oldest = inst->last_number;
	}
	return oldest;
}

static int each_gap(void *ctx, const struct store_gap *g)
{
	struct gaps *all = ctx;

	all->items = mem_grow(all->items, all->n + 1, sizeof *all->items);
	all->items[all->n++] = *g;
	return 0;
}

static void gap_apply(struct ledger *l, const struct gaps *all)
{
	for (uint32_t i = 0; all->n > 0 && i < l->table.used; i++) {
		struct instance *inst = &table_at(&l->table, i)->inst;
		for (size_t k = 0; inst->state != ST_NONE && k < all->n; k++)
			store_gap_apply(&all->items[k], inst);
	}
}

int ledger__leave_gaps(struct ledger *l, struct err *err)
{
	struct store_lease life;
	struct gaps all = { 0 };
	int r = store_lease(l->store, &life, err);

	if (r < 0)
		return r;
	struct store_gap gap = { life.number, life.renewed_us, l->now_us };
	uint64_t oldest = oldest_change(l, life.number);
	if (life.renewed_us > 0 && gap.to_us - gap.from_us > GAP_MIN_US) {
		log_info("lead.gap", "number=%" PRIu64 " s=%lld", gap.number,
		         (long long)((gap.to_us - gap.from_us) / US_PER_S));
		r = store_add_gap(l->store, l->epoch, &gap, oldest, err);
	}
	if (r == 0)
		r = store_load_gaps(l->store, oldest, each_gap, &all, err);
	if (r == 0)
		gap_apply(l, &all);
	free(all.items);
	return r;
}
