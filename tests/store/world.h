/* world.h — a store of either kind, made for one test and removed after it, and a small
 * ledger that makes correct batches for it. */
#ifndef TESTS_STORE_WORLD_H
#define TESTS_STORE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"
#include "util/alloc.h"
#include "util/err.h"

#define HELPER __attribute__((unused)) static

enum { WORLD_ROWS = 4096 };

struct world {
	struct store *s;
	char url[200], dir[64]; /* dir "": no files of its own */
	bool is_mem;
	uint32_t epoch;
	uint64_t number;
	struct transition events[WORLD_ROWS]; /* of the batch being made */
	const struct transition *event_list[WORLD_ROWS];
	size_t n_events;
	uint32_t seed;
};

HELPER uint32_t world_random(struct world *w, uint32_t n)
{
	w->seed = w->seed * 1664525u + 1013904223u;
	return (w->seed >> 8) % n;
}

HELPER void world_must(int r, const struct err *err)
{
	if (r < 0)
		fail_msg("%s", err->text);
}

HELPER void world_open(struct world *w)
{
	struct err err = { 0 };

	world_must(store_open(w->url, &w->s, &err), &err);
	world_must(store_take_epoch(w->s, "test", &w->epoch, &err), &err);
	world_must(store_position(w->s, &w->number, &w->epoch, &err), &err);
}

/* `base`: where the directory goes; NULL: a store in memory. */
HELPER struct world *world_new(const char *base)
{
	struct world *w = mem_new(sizeof *w);

	w->seed = 7;
	if (!base) {
		w->is_mem = true;
		snprintf(w->url, sizeof w->url, "mem:");
	} else {
		snprintf(w->dir, sizeof w->dir, "%s/sirdar-store-XXXXXX", base);
		assert_non_null(mkdtemp(w->dir));
		snprintf(w->url, sizeof w->url, "sqlite:%s", w->dir);
	}
	world_open(w);
	return w;
}

HELPER void world_path(const struct world *w, const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", w->dir, name);
}

HELPER void world_free(struct world *w)
{
	static const char *const files[] = { "sirdar.db",   "sirdar.db-wal", "sirdar.db-shm",
		                             "writer.lock", "fill",          "alive" };
	char path[128];

	store_close(w->s);
	for (size_t i = 0; i < sizeof files / sizeof files[0] && *w->dir; i++) {
		world_path(w, files[i], path);
		unlink(path);
	}
	if (*w->dir)
		rmdir(w->dir);
	free(w);
}

/* What another process would see: everything closed and opened again. (A store in memory
 * has nothing outside itself.) */
HELPER void world_reopen(struct world *w)
{
	if (w->is_mem)
		return;
	store_close(w->s);
	w->s = NULL;
	world_open(w);
}

HELPER int setup_mem(void **state)
{
	*state = world_new(NULL);
	return 0;
}

HELPER int setup_sqlite(void **state)
{
	*state = world_new("/tmp");
	return 0;
}

/* Databases made by whoever started the server, a new one for each test: the url has a %d for
 * their number. See tests/mysql/run. */
#define WORLD_MYSQL_ENV "SIRDAR_TEST_MYSQL"

HELPER const char *world_mysql(void)
{
	return getenv(WORLD_MYSQL_ENV);
}

HELPER void world_mysql_url(char *to, size_t cap)
{
	static int taken;
	const char *url = world_mysql(), *at = strstr(url, "%d");

	assert_non_null(at);
	snprintf(to, cap, "%.*s%d%s", (int)(at - url), url, taken++, at + 2);
}

HELPER int setup_mysql(void **state)
{
	struct world *w = mem_new(sizeof *w);

	w->seed = 7;
	world_mysql_url(w->url, sizeof w->url);
	world_open(w);
	*state = w;
	return 0;
}

HELPER int teardown(void **state)
{
	world_free(*state);
	return 0;
}

/* The same key has the same place, as in a ledger; no two keys share one. */
HELPER uint32_t world_slot(struct inst_key key)
{
	static struct inst_key known[8192];
	static uint32_t n;

	for (uint32_t i = 0; i < n; i++)
		if (inst_key_eq(known[i], key))
			return i;
	assert_true(n < 8192);
	known[n] = key;
	return n++;
}

HELPER struct instance world_instance(uint32_t task, int64_t run_date, int32_t part)
{
	return (struct instance){ .key = { .task = task, .run_date = run_date, .part = part },
		                  .due = run_date,
		                  .eff_due_us = run_date * 1000000,
		                  .created_us = 1000,
		                  .slot = world_slot((struct inst_key){
					  .task = task, .run_date = run_date, .part = part }),
		                  .generation = 1,
		                  .priority = 5,
		                  .state = ST_READY };
}

/* The instance makes one transition of the batch. */
HELPER void world_change(struct world *w, struct instance *i, enum event ev, enum state to)
{
	struct transition *t = &w->events[w->n_events];

	assert_true(w->n_events < WORLD_ROWS);
	*t = (struct transition){ .number = ++w->number,
		                  .prev = i->last_number,
		                  .at_us = (int64_t)w->number * 10,
		                  .kind = TK_INSTANCE,
		                  .epoch = w->epoch,
		                  .event = (uint8_t)ev,
		                  .from = i->last_number ? i->state : ST_NONE,
		                  .to = (uint8_t)to };
	i->last_number = t->number;
	i->revision++;
	i->state = (uint8_t)to;
	if (state_final(to))
		i->ended_us = t->at_us;
	t->inst = *i;
	w->event_list[w->n_events++] = t;
}

HELPER void world_fill(struct world *w, struct store_batch *b)
{
	b->epoch = w->epoch;
	b->events = w->event_list;
	b->n_events = w->n_events;
	b->first = w->number - w->n_events + 1;
	b->last = w->number;
}

/* Commit what world_change() made; the numbers stay used whatever comes of it. */
HELPER int world_commit(struct world *w, struct store_batch *b, struct err *err)
{
	world_fill(w, b);
	w->n_events = 0;
	return store_commit(w->s, b, err);
}

HELPER void world_put(struct world *w, const struct instance *i)
{
	bool final = state_final((enum state)i->state);
	struct store_batch b = { .live = &i, .n_live = !final, .done = &i, .n_done = final };
	struct err err = { 0 };

	world_must(world_commit(w, &b, &err), &err);
}

/* ---- what is in the store ---- */

struct seen {
	struct instance rows[WORLD_ROWS];
	size_t n;
};

HELPER int see_instance(void *ctx, const struct instance *i)
{
	struct seen *s = ctx;

	assert_true(s->n < WORLD_ROWS);
	s->rows[s->n++] = *i;
	return 0;
}

HELPER struct seen *world_live(struct world *w)
{
	struct seen *s = mem_new(sizeof *s);
	struct err err = { 0 };

	world_must(store_load_live(w->s, see_instance, s, &err), &err);
	return s;
}

HELPER void same_instance(const struct instance *a, const struct instance *b)
{
#define COL(column, member, lo, hi) assert_true((int64_t)a->member == (int64_t)b->member);
#include "store/instance_cols.def"
#undef COL
	assert_int_equal(a->state, b->state);
}

/* store_retain() that must succeed: how many rows went, or would go. */
HELPER size_t world_retain(struct world *w, int64_t before_us, size_t rows_max, bool dry_run)
{
	const struct store_retention ask = { before_us, rows_max, dry_run };
	struct err err = { 0 };
	size_t rows = 0;

	world_must(store_retain(w->s, w->epoch, &ask, &rows, &err), &err);
	return rows;
}

#endif
