/* Times when nobody led do not count for what waited (design: SEMANTICS section 1, effective due):
 * the leader moves its rows in memory, who reads the store moves what it reads. */
#include <stdlib.h>

#include "store/read_impl.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

struct gaps {
	struct store_gap *items;
	size_t n;
};

static int gaps_load(struct reader *r, uint64_t number, struct gaps *all, struct err *err)
{
	struct rows *rows = NULL;
	struct buf q = { 0 };
	int code;

	read__put(r, &q,
	          "SELECT " GAP_COLUMNS " FROM lb_gap WHERE number >= ? ORDER BY number, to_us",
	          "i", (int64_t)number);
	code = read__query(r, "lb_gap", &q, &rows, err);
	if (code < 0)
		return code;
	while ((code = rows_step(rows, err)) > 0) {
		all->items = mem_grow(all->items, all->n + 1, sizeof *all->items);
		code = rows_gap(rows, &all->items[all->n], err);
		if (code < 0)
			break;
		all->n++;
	}
	rows_close(rows);
	return code;
}

static struct instance *row_at(struct instance *first, size_t k, size_t stride)
{
	return (struct instance *)(void *)((char *)first + k * stride);
}

int read__leave_gaps(struct reader *r, struct instance *first, size_t n, size_t stride,
                     struct err *err)
{
	uint64_t oldest = UINT64_MAX;
	struct gaps all = { 0 };
	int code;

	CHECK(n <= 1 || stride >= sizeof(struct instance));
	for (size_t k = 0; k < n; k++) {
		const struct instance *i = row_at(first, k, stride);
		if (store_gap_may_move(i) && i->last_number < oldest)
			oldest = i->last_number;
	}
	if (oldest == UINT64_MAX)
		return 0;
	code = gaps_load(r, oldest, &all, err);
	for (size_t k = 0; code == 0 && k < n; k++)
		for (size_t g = 0; g < all.n; g++)
			store_gap_apply(&all.items[g], row_at(first, k, stride));
	free(all.items);
	return code;
}
