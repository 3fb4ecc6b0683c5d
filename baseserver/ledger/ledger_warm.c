/* The picture of who waits, and its proof at the take-over.
 *
 * A standby follows the store: it scans the numbers of all live rows and reads those that changed
 * (warm_follow), a budgeted piece at a time. At a take-over it proves the picture before using it:
 * each row that a last scan finds is in the picture with the same number, and the picture has no
 * other (warm_prove). A picture that does not agree is thrown away and the ledger loads from the
 * store, which is slower and always right. */
#include "baseserver/ledger/warm.h"

#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"

struct stale {
	uint32_t slot;
	uint64_t number;
};

struct warm {
	struct table table;
	size_t batch;
	uint32_t at; /* where the sweep goes on */
	bool is_sweeping, is_whole;
	uint64_t began_at, number; /* the store's number when the sweep, the last one, began */
	struct stale *stale;       /* rows that differ, as the store has them */
	uint32_t *slots;           /* the same, for the store */
	size_t n_stale, cap;
	/* While rows are looked at or read. */
	size_t n_seen, n_gone, n_read, n_wrong;
	uint32_t next; /* up to here all slots are known */
	bool exact;    /* parts are read again, a row must be the one that was seen */
	bool is_over;
};

struct warm *warm_new(size_t batch)
{
	struct warm *w = mem_new(sizeof *w);

	table_init(&w->table);
	w->batch = batch;
	return w;
}

void warm_free(struct warm *w)
{
	if (!w)
		return;
	table_done(&w->table);
	free(w->stale);
	free(w->slots);
	free(w);
}

bool warm_is_whole(const struct warm *w)
{
	return w->is_whole;
}

uint64_t warm_number(const struct warm *w)
{
	return w->is_whole ? w->number : 0;
}

size_t warm_rows(const struct warm *w)
{
	return w->table.len;
}

static struct entry *entry_at(const struct warm *w, uint32_t slot)
{
	struct entry *e = slot < w->table.used ? table_at(&w->table, slot) : NULL;

	return e && e->inst.state != ST_NONE ? e : NULL;
}

/* Slots from w->next up to `slot` hold nothing in the store. */
static void skip_to(struct warm *w, uint32_t slot)
{
	uint32_t end = slot < w->table.used ? slot : w->table.used;

	for (; w->next < end; w->next++)
		if (entry_at(w, w->next)) {
			table_drop(&w->table, w->next);
			w->n_gone++;
		}
	w->next = slot;
}

static void push_stale(struct warm *w, uint32_t slot, uint64_t number)
{
	size_t cap = w->cap;

	w->stale = mem_room(w->stale, &cap, w->n_stale + 1, sizeof *w->stale);
	w->slots = mem_room(w->slots, &w->cap, w->n_stale + 1, sizeof *w->slots);
	w->stale[w->n_stale] = (struct stale){ slot, number };
	w->slots[w->n_stale++] = slot;
}

static int each_seen(void *ctx, uint32_t slot, uint64_t last_number)
{
	struct warm *w = ctx;

	skip_to(w, slot);
	const struct entry *e = entry_at(w, slot);
	bool is_same = e && e->inst.last_number == last_number;
	if (!is_same || (w->exact && e->inst.key.part != 0))
		push_stale(w, slot, last_number);
	w->n_seen++;
	w->next = slot + 1;
	return 0;
}

static int each_read(void *ctx, const struct instance *row)
{
	struct warm *w = ctx;
	const struct stale *as = w->stale;

	if (w->exact) { /* both ascend by slot */
		as += w->n_read;
		w->n_wrong += w->n_read >= w->n_stale || as->slot != row->slot ||
		              as->number != row->last_number;
	}
	w->n_read++;
	if (!table_restore(&w->table, row))
		w->n_wrong++;
	return 0;
}

static int read_stale(struct warm *w, struct store *s, struct err *err)
{
	for (size_t i = 0; i < w->n_stale; i++)
		if (entry_at(w, w->slots[i]))
			table_drop(&w->table, w->slots[i]);
	w->n_read = w->n_wrong = 0;
	return store_read_live(s, w->slots, w->n_stale, each_read, w, err);
}

/* The next `max` rows. */
static int warm_look(struct warm *w, struct store *s, size_t max, struct err *err)
{
	w->n_seen = w->n_gone = w->n_stale = 0;
	w->next = w->at;
	int r = store_scan_live(s, w->at, max, each_seen, w, err);
	if (r < 0)
		return r;
	w->is_over = w->n_seen < max;
	if (w->is_over)
		skip_to(w, w->table.used);
	w->at = w->is_over ? 0 : w->next;
	return read_stale(w, s, err);
}

int warm_follow(struct warm *w, struct store *s, uint64_t number, int64_t budget_us,
                struct err *err)
{
	int64_t end_us = clock_mono_us(&clock_machine) + budget_us;

	if (!w->is_sweeping) {
		if (w->is_whole && number == w->number)
			return 0;
		w->is_sweeping = true;
		w->began_at = number;
		w->at = 0;
	}
	do {
		int r = warm_look(w, s, w->batch, err);
		if (r < 0)
			return r;
		w->is_sweeping = !w->is_over;
	} while (w->is_sweeping && clock_mono_us(&clock_machine) < end_us);
	if (!w->is_sweeping) {
		w->is_whole = true;
		w->number = w->began_at;
	}
	return 0;
}

/* What the scan saw is there, all of it, and nothing else: each row that it found as it is in the
 * picture, and each that was read as it was seen. */
static int warm_prove(const struct warm *w, struct err *err)
{
	if (w->n_wrong || w->n_read != w->n_stale)
		return err_set(err, E_CONFLICT,
		               "of %zu rows that were seen, %zu were read and %zu are others",
		               w->n_stale, w->n_read, w->n_wrong);
	if (w->table.len != w->n_seen)
		return err_set(err, E_CONFLICT, "%zu rows were seen, %zu are in the picture",
		               w->n_seen, w->table.len);
	return 0;
}

int warm_give(struct warm *w, struct store *s, struct table *to, struct warm_figures *ret,
              struct err *err)
{
	w->exact = true;
	w->at = 0;
	int r = warm_look(w, s, SIZE_MAX, err);
	if (r == 0)
		r = warm_prove(w, err);
	if (r < 0)
		return r;
	*ret = (struct warm_figures){ .rows = w->n_seen,
		                      .warm = w->n_seen - w->n_stale,
		                      .caught_up = w->n_stale,
		                      .gone = w->n_gone };
	CHECK(ret->warm + ret->caught_up == w->table.len);
	table_move(to, &w->table);
	return 0;
}
