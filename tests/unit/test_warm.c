/* The picture of a server that waits, beside a cold load of the same store: mem and sqlite, or
 * MySQL (as test_store.c). */
#include "baseserver/ledger/ledger_table.h"
#include "baseserver/ledger/warm.h"
#include "store/mem.h"
#include "store/store_ops.h"
#include "tests/store/world.h"

enum { PLACES = 300, BATCH = 16, CHANGES = 40 };

/* A ledger's places, one row each or none. A place is another instance's once its last one
 * ended. */
struct rows {
	struct instance at[PLACES];
	bool is_live[PLACES];
	int64_t next_date;
};

static void begin_one(struct world *w, struct rows *rows, uint32_t slot, struct store_batch *b)
{
	struct instance *i = &rows->at[slot];

	*i = (struct instance){ .key = { rows->next_date++, 1, world_random(w, 8) == 0 },
		                .created_us = 1000,
		                .slot = slot,
		                .generation = 1,
		                .state = ST_READY };
	rows->is_live[slot] = true;
	world_change(w, i, EV_CREATE, ST_READY);
	((const struct instance **)b->live)[b->n_live++] = i;
}

static void go_on(struct world *w, struct rows *rows, uint32_t slot, struct store_batch *b)
{
	static const enum state next[] = { ST_DEPEND, ST_RUNNING, ST_FAILED, ST_SUCC };
	struct instance *i = &rows->at[slot];
	enum state to = next[world_random(w, 4)];

	world_change(w, i, EV_GRANT, to);
	if (state_final(to)) {
		rows->is_live[slot] = false;
		((const struct instance **)b->done)[b->n_done++] = i;
	} else {
		((const struct instance **)b->live)[b->n_live++] = i;
	}
}

/* A commit of up to CHANGES, each of another place. `grow`: of ten, how many begin something. */
static void change_some(struct world *w, struct rows *rows, uint32_t grow)
{
	const struct instance *live[CHANGES], *done[CHANGES];
	struct store_batch b = { .live = live, .done = done };
	bool touched[PLACES] = { 0 };
	struct err err = { 0 };

	for (uint32_t n = 1 + world_random(w, CHANGES); n > 0; n--) {
		uint32_t slot = world_random(w, PLACES);
		if (touched[slot])
			continue;
		touched[slot] = true;
		if (rows->is_live[slot])
			go_on(w, rows, slot, &b);
		else if (world_random(w, 10) < grow)
			begin_one(w, rows, slot, &b);
	}
	if (w->n_events)
		world_must(world_commit(w, &b, &err), &err);
}

static struct rows *rows_new(struct world *w)
{
	struct rows *rows = mem_new(sizeof *rows);

	for (int i = 0; i < 30; i++)
		change_some(w, rows, 9);
	return rows;
}

static void follow(struct world *w, struct warm *warm)
{
	struct err err = { 0 };

	world_must(warm_follow(warm, w->s, w->number, 0, &err), &err);
}

static void follow_all(struct world *w, struct warm *warm)
{
	do
		follow(w, warm);
	while (warm_number(warm) != w->number);
}

/* The store's rows and those of the picture are the same ones, field by field. */
static struct warm_figures give(struct world *w, struct warm *warm)
{
	struct warm_figures f = { 0 };
	struct err err = { 0 };
	struct table t;

	table_init(&t);
	world_must(warm_give(warm, w->s, &t, &f, &err), &err);
	struct seen *cold = world_live(w);
	assert_int_equal(t.len, cold->n);
	assert_int_equal(f.rows, cold->n);
	assert_int_equal(f.warm + f.caught_up, f.rows);
	for (size_t i = 0; i < cold->n; i++) {
		const struct instance *row = &cold->rows[i];
		uint32_t index = 0;

		struct entry *e = table_find(&t, row->key, &index);
		assert_non_null(e);
		assert_int_equal(index, row->slot);
		assert_int_equal(e->inst.slot, row->slot);
		same_instance(&e->inst, row);
	}
	assert_int_equal(warm_rows(warm), 0);
	free(cold);
	table_done(&t);
	warm_free(warm);
	return f;
}

static size_t count_live(const struct rows *rows, bool parts)
{
	size_t n = 0;

	for (size_t i = 0; i < PLACES; i++)
		n += rows->is_live[i] && (!parts || rows->at[i].key.part != 0);
	return n;
}

static void what_was_followed_is_what_a_cold_load_finds(void **state)
{
	struct world *w = *state;
	struct rows *rows = rows_new(w);

	for (int round = 0; round < 12; round++) {
		struct warm *warm = warm_new(BATCH);
		for (int i = 0; i < 60; i++) {
			if (world_random(w, 3))
				change_some(w, rows, (uint32_t)(1 + round % 9));
			if (world_random(w, 2))
				follow(w, warm);
		}
		give(w, warm);
	}
	free(rows);
}

static void who_followed_to_the_end_reads_nothing_again_but_parts(void **state)
{
	struct world *w = *state;
	struct rows *rows = rows_new(w);
	struct warm *warm = warm_new(BATCH);

	follow_all(w, warm);
	assert_true(warm_is_whole(warm));
	assert_int_equal(warm_rows(warm), count_live(rows, false));
	struct warm_figures f = give(w, warm);
	assert_int_equal(f.caught_up, count_live(rows, true));
	assert_int_equal(f.gone, 0);
	free(rows);
}

static void who_began_late_has_a_part_and_who_stood_still_an_old_one(void **state)
{
	struct world *w = *state;
	struct rows *rows = rows_new(w);
	struct warm *late = warm_new(BATCH), *never = warm_new(BATCH), *old = warm_new(BATCH);

	follow(w, late);
	assert_false(warm_is_whole(late));
	assert_int_equal(warm_number(late), 0);
	assert_int_equal(warm_rows(late), BATCH);
	struct warm_figures f = give(w, late);
	assert_in_range(f.warm, 1, BATCH);
	f = give(w, never);
	assert_int_equal(f.caught_up, f.rows);
	follow_all(w, old);
	uint64_t then = w->number;
	size_t were = warm_rows(old);
	for (int i = 0; i < 60; i++)
		change_some(w, rows, 2);
	assert_int_equal(warm_number(old), then);
	f = give(w, old);
	assert_in_range(f.gone, 1, were);
	assert_in_range(f.caught_up, 1, f.rows);
	free(rows);
}

static void a_picture_is_as_old_as_the_beginning_of_its_sweep(void **state)
{
	struct world *w = *state;
	struct rows *rows = rows_new(w);
	struct warm *warm = warm_new(BATCH);
	uint64_t began = w->number;

	follow(w, warm);
	change_some(w, rows, 5);
	while (!warm_is_whole(warm))
		follow(w, warm);
	assert_int_equal(warm_number(warm), began);
	follow_all(w, warm);
	give(w, warm);
	free(rows);
}

static void a_sweep_is_made_only_when_something_was_committed(void **state)
{
	struct world *w = *state;
	struct rows *rows = rows_new(w);
	struct warm *warm = warm_new(BATCH);

	follow_all(w, warm);
	store_close(w->s);
	w->s = NULL; /* whoever asks it now falls */
	follow(w, warm);
	world_open(w);
	for (int i = 0; i < 20; i++)
		change_some(w, rows, 3);
	follow_all(w, warm);
	struct warm_figures f = give(w, warm);
	assert_int_equal(f.caught_up, count_live(rows, true));
	free(rows);
}

/* As a part that runs does, when its whole is frozen. */
static void a_part_that_changed_without_a_number_is_read_again(void **state)
{
	struct world *w = *state;
	struct instance whole = world_instance(1, 3600, 0), part = world_instance(1, 3600, 1);
	const struct instance *live[] = { &part };
	struct store_batch b = { .live = live, .n_live = 1 };
	struct warm *warm = warm_new(BATCH);
	struct err err = { 0 };

	world_change(w, &whole, EV_CREATE, ST_READY);
	world_put(w, &whole);
	world_change(w, &part, EV_CREATE, ST_READY);
	world_put(w, &part);
	follow_all(w, warm);
	part.flags |= IF_FROZEN;
	world_must(world_commit(w, &b, &err), &err);
	struct warm_figures f = give(w, warm);
	assert_int_equal(f.warm, 1);
	assert_int_equal(f.caught_up, 1);
}

/* ---- a store that does not tell the truth, or nothing ---- */

enum lie { TRUTH, LOST_ROW, MORE_ROWS, OTHER_NUMBER, SILENT };

struct liar {
	struct store base;
	struct store_ops ops;
	struct store *real;
	enum lie lie;
	int (*each)(void *ctx, const struct instance *i);
	void *ctx;
	size_t n;
};

static int pass_on(void *ctx, const struct instance *i)
{
	struct liar *l = ctx;
	struct instance other = *i;

	if (l->n++ == 0 && l->lie == LOST_ROW)
		return 0;
	if (l->n == 1 && l->lie == MORE_ROWS) {
		other.slot = PLACES + 1;
		l->each(l->ctx, &other);
	}
	other = *i;
	if (l->n == 1 && l->lie == OTHER_NUMBER)
		other.last_number++;
	return l->each(l->ctx, &other);
}

static int lying_read(struct store *s, const uint32_t *slots, size_t n,
                      int (*each)(void *ctx, const struct instance *i), void *ctx, struct err *err)
{
	struct liar *l = (struct liar *)s;

	if (l->lie == SILENT)
		return err_set(err, E_AGAIN, "no answer");
	l->n = 0;
	l->each = each;
	l->ctx = ctx;
	return store_read_live(l->real, slots, n, pass_on, l, err);
}

static int lying_scan(struct store *s, uint32_t from, size_t max,
                      int (*each)(void *ctx, uint32_t slot, uint64_t last_number), void *ctx,
                      struct err *err)
{
	struct liar *l = (struct liar *)s;

	return l->lie == SILENT ? err_set(err, E_AGAIN, "no answer")
	                        : store_scan_live(l->real, from, max, each, ctx, err);
}

static void what_cannot_be_proven_is_refused(void **state)
{
	struct world *w = *state;
	struct rows *rows = rows_new(w);
	struct liar l = { .ops = { .scan_live = lying_scan, .read_live = lying_read },
		          .real = w->s };

	l.base.ops = &l.ops;
	for (enum lie lie = LOST_ROW; lie <= SILENT; lie++) {
		struct warm *warm = warm_new(BATCH);
		struct warm_figures f;
		struct err err = { 0 };
		struct table t;

		follow_all(w, warm);
		for (int i = 0; i < 5; i++)
			change_some(w, rows, 5);
		table_init(&t);
		l.lie = lie;
		assert_int_equal(warm_give(warm, &l.base, &t, &f, &err),
		                 lie == SILENT ? E_AGAIN : E_CONFLICT);
		assert_int_equal(t.len, 0);
		table_done(&t);
		warm_free(warm);
	}
	free(rows);
}

static void a_store_that_was_away_only_makes_the_picture_older(void **state)
{
	struct world *w = *state;
	struct rows *rows = rows_new(w);
	struct warm *warm = warm_new(BATCH);
	struct liar l = { .ops = { .scan_live = lying_scan, .read_live = lying_read },
		          .real = w->s };

	l.base.ops = &l.ops;
	follow_all(w, warm);
	for (int i = 0; i < 60; i++) {
		struct err err = { 0 };

		change_some(w, rows, 5);
		l.lie = world_random(w, 2) ? SILENT : TRUTH;
		int r = warm_follow(warm, &l.base, w->number, 0, &err);
		assert_int_equal(r, l.lie == SILENT ? E_AGAIN : 0);
	}
	give(w, warm);
	free(rows);
}

#define EACH(f) \
	{ "mem: " #f, f, setup_mem, teardown, NULL }, \
	{ \
		"sqlite: " #f, f, setup_sqlite, teardown, NULL \
	}
#define SQLITE(f) \
	{ \
		"sqlite: " #f, f, setup_sqlite, teardown, NULL \
	}
#define MYSQL(f) \
	{ \
		"mysql: " #f, f, setup_mysql, teardown, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(what_was_followed_is_what_a_cold_load_finds),
		EACH(who_followed_to_the_end_reads_nothing_again_but_parts),
		EACH(a_picture_is_as_old_as_the_beginning_of_its_sweep),
		EACH(who_began_late_has_a_part_and_who_stood_still_an_old_one),
		SQLITE(a_sweep_is_made_only_when_something_was_committed),
		EACH(a_part_that_changed_without_a_number_is_read_again),
		EACH(what_cannot_be_proven_is_refused),
		EACH(a_store_that_was_away_only_makes_the_picture_older),
	};
	const struct CMUnitTest tests_of_mysql[] = {
		MYSQL(what_was_followed_is_what_a_cold_load_finds),
		MYSQL(who_followed_to_the_end_reads_nothing_again_but_parts),
		MYSQL(a_picture_is_as_old_as_the_beginning_of_its_sweep),
		MYSQL(who_began_late_has_a_part_and_who_stood_still_an_old_one),
		MYSQL(a_sweep_is_made_only_when_something_was_committed),
		MYSQL(a_part_that_changed_without_a_number_is_read_again),
		MYSQL(what_cannot_be_proven_is_refused),
		MYSQL(a_store_that_was_away_only_makes_the_picture_older),
	};

	return world_mysql() ? cmocka_run_group_tests(tests_of_mysql, NULL, NULL)
	                     : cmocka_run_group_tests(tests, NULL, NULL);
}
