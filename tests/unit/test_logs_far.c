/* lib/logs with a home, which is a folder here: what is read from there is what was written, by who
 * wrote it and by another; steps that a crash repeats; a cache too small; what does not read
 * back. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "logs/logs.h"
#include "tests/support/child.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"

enum { LOGS = 12, STEPS = 400, CACHE = 700000 };

static char *home;
static uint32_t seed;
static int64_t now_us;
static size_t flips; /* of what is fetched next */

static uint32_t any(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

struct side {
	char *dir, *cache;
	struct logs *logs;
};

static void side_open(struct side *s)
{
	struct logs_settings set = {
		.dir = s->dir, .segment_bytes = 300000, .cache_dir = s->cache, .cache_bytes = CACHE
	};
	struct err err = { 0 };

	logs_close(s->logs);
	if (logs_open(&set, &s->logs, &err) < 0)
		fail_msg("%s", err.text);
}

static void side_begin(struct side *s)
{
	*s = (struct side){ .dir = dir_make() };
	s->cache = mem_fmt("%s/cache", s->dir);
	side_open(s);
}

static void side_end(struct side *s)
{
	logs_close(s->logs);
	dir_remove(s->dir);
	free(s->dir);
	free(s->cache);
}

static int home_set(void **state)
{
	(void)state;
	home = dir_make();
	seed = 7;
	now_us = US_PER_S;
	flips = 0;
	return 0;
}

static int home_gone(void **state)
{
	(void)state;
	dir_remove(home);
	free(home);
	return 0;
}

/* --- the way there --- */

static char *home_path(const char *name, bool is_index)
{
	return mem_fmt("%s/%s.%s", home, name, is_index ? "idx" : "seg");
}

static void copy(const char *from, char *to)
{
	struct buf b;

	buf_init(&b);
	assert_int_equal(fs_read(from, 64 << 20, &b, NULL), 0);
	assert_int_equal(fs_write(to, buf_at(&b), b.len, 0600, NULL), 0);
	buf_done(&b);
	free(to);
}

/* Both files of one; false: there is none. */
static bool carry(struct side *s, bool tells)
{
	struct logs_ship ship;

	if (!logs_to_ship(s->logs, &ship))
		return false;
	copy(ship.seg_path, home_path(ship.name, false));
	copy(ship.idx_path, home_path(ship.name, true));
	if (tells)
		assert_int_equal(logs_shipped(s->logs, &ship, NULL), 0);
	return true;
}

/* What is missed, from the home. */
static void fetch(struct side *s)
{
	struct logs_miss m;

	assert_true(logs_miss(s->logs, &m));
	char *path = home_path(m.name, m.is_index);
	uint8_t *data = mem_new(m.n);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, data, m.n, (off_t)m.from), m.n);
	close(fd);
	for (size_t i = 0; flips && i < m.n; i++)
		data[i] ^= 0x55;
	flips -= flips > 0;
	assert_int_equal(logs_fetched(s->logs, &m, data), 0);
	free(data);
	free(path);
}

static void learn(struct side *s, const char *name)
{
	struct buf idx;
	struct stat st;
	size_t want = 64; /* less than a head: it says what it needs */
	int r;

	buf_init(&idx);
	char *i = home_path(name, true), *g = home_path(name, false);
	assert_int_equal(fs_read(i, 64 << 20, &idx, NULL), 0);
	assert_int_equal(stat(g, &st), 0);
	do {
		const struct logs_top t = { name, (uint64_t)st.st_size, idx.len, buf_at(&idx),
			                    want };
		r = logs_learn(s->logs, &t, &want, NULL);
	} while (r == E_AGAIN);
	assert_int_equal(r, 0);
	free(i);
	free(g);
	buf_done(&idx);
}

/* --- a model --- */

struct model {
	struct log_id id;
	struct buf text;
};

static void models_make(struct model *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		m[i].id = (struct log_id){ { 3600, 1 + (uint32_t)i, 0 }, 1, 1, 10 + i, 1 };
		buf_init(&m[i].text);
	}
}

static void models_free(struct model *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_done(&m[i].text);
}

/* No two bytes of it pack into one. */
static void grow(struct side *s, struct model *m)
{
	size_t n = 1 + any(30000), from = m->text.len;
	uint8_t *to = buf_room(&m->text, n);

	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)(' ' + any(90));
	buf_added(&m->text, n);
	struct log_piece p = { m->id, 7, from, buf_at(&m->text) + from, n, false, now_us };
	assert_int_equal(logs_append(s->logs, &p), 0);
	assert_int_equal(logs_commit(s->logs), 0);
	now_us += 30 * US_PER_S;
}

static void reads_all(struct side *s, const struct model *m)
{
	uint8_t *got = mem_new(m->text.len + 1);
	struct err err = { 0 };
	size_t bytes = 0, more = 1, fetches = 0;
	int r = 0;

	while (r == E_AGAIN || (r == 0 && more > 0)) {
		r = logs_read(s->logs, &m->id, bytes,
		              (struct log_room){ got + bytes, m->text.len + 1 - bytes }, &more,
		              &err);
		bytes += r == 0 ? more : 0;
		assert_true(++fetches < 10000);
		if (r == E_AGAIN)
			fetch(s);
	}
	if (r < 0)
		fail_msg("task %u: %s", m->id.key.task, err.text);
	assert_int_equal(bytes, m->text.len);
	assert_memory_equal(got, buf_at(&m->text), bytes);
	free(got);
}

static void lists(struct side *s, const struct model *m)
{
	struct log_facts *all;
	struct logs_miss none;
	size_t n = logs_of(s->logs, m->id.key, &all);

	for (int i = 0; i < 1000 && n == 0; i++) {
		free(all);
		fetch(s);
		n = logs_of(s->logs, m->id.key, &all);
	}
	assert_int_equal(n, 1);
	free(all);
	logs_miss(s->logs, &none);
}

/* --- what is shown --- */

/* Written, closed, carried and removed here in any order, with a start between any two steps. */
static void what_is_in_the_home_reads_as_it_was_written(void **state)
{
	struct model m[LOGS];
	struct side a;

	(void)state;
	models_make(m, LOGS);
	side_begin(&a);
	for (int i = 0; i < STEPS; i++) {
		uint32_t what = any(20);
		if (what == 0)
			side_open(&a);
		else if (what == 1)
			carry(&a, false); /* the server ends before it is told */
		else if (what < 6)
			carry(&a, true);
		else if (what < 8)
			logs_retain_here(a.logs, now_us - 60 * US_PER_S);
		else if (what < 10)
			logs_tend(a.logs, now_us + 3600 * US_PER_S);
		else
			grow(&a, &m[any(LOGS)]);
	}
	logs_tend(a.logs, now_us + 7200 * US_PER_S);
	while (carry(&a, true))
		;
	struct logs_waiting w;
	logs_waiting(a.logs, &w);
	assert_int_equal(w.segments, 0);
	assert_true(logs_retain_here(a.logs, now_us + US_PER_S) > 0);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < LOGS; i++) {
			lists(&a, &m[i]);
			reads_all(&a, &m[i]);
		}
		side_open(&a);
	}
	side_end(&a);
	models_free(m, LOGS);
}

static void others_read_it_and_go_on_where_it_ends(void **state)
{
	struct model m[3];
	struct side a, b;
	struct logs_ship ship;
	struct log_facts f;
	char names[64][LOGS_NAME_BYTES];
	size_t n = 0;

	(void)state;
	models_make(m, 3);
	side_begin(&a);
	side_begin(&b);
	for (int i = 0; i < 60; i++)
		grow(&a, &m[any(3)]);
	logs_tend(a.logs, now_us + 3600 * US_PER_S);
	while (logs_to_ship(a.logs, &ship)) {
		assert_true(n < 64);
		memcpy(names[n++], ship.name, sizeof names[0]);
		carry(&a, true);
	}
	assert_true(n > 2);
	logs_list_begin(b.logs);
	for (size_t i = 0; i < n; i++) {
		assert_false(logs_list_seen(b.logs, names[i], (uint64_t[2]){ 1, 1 }));
		learn(&b, names[i]);
	}
	logs_list_over(b.logs);
	side_open(&b); /* what it learned it knows */
	for (size_t i = 0; i < 3; i++) {
		int r;
		while ((r = logs_find(b.logs, &m[i].id, &f)) == E_AGAIN)
			fetch(&b);
		assert_int_equal(r, 0);
		assert_int_equal(f.bytes, m[i].text.len);
		grow(&b, &m[i]); /* its job prints on */
		reads_all(&b, &m[i]);
	}
	/* The first one sees what the second has shipped. */
	logs_tend(b.logs, now_us + 3600 * US_PER_S);
	assert_true(logs_to_ship(b.logs, &ship));
	carry(&b, true);
	learn(&a, ship.name);
	for (size_t i = 0; i < 3; i++)
		reads_all(&a, &m[i]);
	side_end(&a);
	side_end(&b);
	models_free(m, 3);
}

static void what_does_not_read_back_is_fetched_again_and_then_refused(void **state)
{
	struct model m[1];
	struct side a;
	uint8_t got[16];
	size_t bytes;
	int r;

	(void)state;
	models_make(m, 1);
	side_begin(&a);
	for (int i = 0; i < 4; i++)
		grow(&a, &m[0]);
	logs_tend(a.logs, now_us + 3600 * US_PER_S);
	assert_true(carry(&a, true));
	logs_retain_here(a.logs, now_us + US_PER_S);
	flips = 1;
	reads_all(&a, &m[0]);
	side_open(&a);
	flips = 1000;
	for (int i = 0; i < 100; i++) {
		r = logs_read(a.logs, &m[0].id, 0, (struct log_room){ got, sizeof got }, &bytes,
		              NULL);
		if (r != E_AGAIN)
			break;
		fetch(&a);
	}
	assert_int_equal(r, E_CORRUPT);
	side_end(&a);
	models_free(m, 1);
}

static void what_waits_and_what_stays_is_bounded(void **state)
{
	struct model m[1];
	struct side a;
	struct logs_waiting w;
	char name[LOGS_NAME_BYTES];
	struct logs_size all, old;

	(void)state;
	models_make(m, 1);
	side_begin(&a);
	for (int i = 0; i < 100; i++)
		grow(&a, &m[0]);
	logs_waiting(a.logs, &w);
	assert_true(w.segments > 3 && w.oldest_us > 0 && w.oldest_us < now_us);
	assert_true(logs_drop_waiting(a.logs, w.bytes / 2) > 0);
	logs_waiting(a.logs, &w);
	assert_int_equal(logs_drop_waiting(a.logs, w.bytes), 0);
	logs_tend(a.logs, now_us + 3600 * US_PER_S);
	while (carry(&a, true))
		;
	/* Only what is in the home goes here; only what is old goes there. */
	assert_false(logs_overdue(a.logs, US_PER_S, name));
	assert_int_equal(logs_retain(a.logs, now_us + US_PER_S), 0);
	size_t gone = 0;
	while (logs_overdue(a.logs, now_us + US_PER_S, name)) {
		assert_true(logs_name_ok(name));
		logs_gone(a.logs, name);
		gone++;
	}
	assert_true(gone > 1);
	side_open(&a);
	logs_size(a.logs, 0, &all, &old);
	assert_int_equal(all.segments, 0);
	side_end(&a);
	models_free(m, 1);
}

static void what_the_home_lost_is_shipped_again_if_it_is_here(void **state)
{
	struct model m[1];
	struct side a;
	struct logs_ship ship, again;
	struct log_facts f;

	(void)state;
	models_make(m, 1);
	side_begin(&a);
	grow(&a, &m[0]);
	logs_tend(a.logs, now_us + 3600 * US_PER_S);
	assert_true(logs_to_ship(a.logs, &ship));
	assert_true(carry(&a, true));
	/* Whole, cut, not there at all. */
	const uint64_t all[2] = { ship.seg_bytes, ship.idx_bytes };
	const uint64_t cut[2] = { ship.seg_bytes - 1, ship.idx_bytes };
	logs_list_begin(a.logs);
	assert_true(logs_list_seen(a.logs, ship.name, all));
	logs_list_over(a.logs);
	assert_false(logs_to_ship(a.logs, &again));
	logs_list_begin(a.logs);
	assert_true(logs_list_seen(a.logs, ship.name, cut));
	logs_list_over(a.logs);
	assert_true(carry(&a, true));
	logs_list_begin(a.logs);
	logs_list_over(a.logs);
	assert_true(carry(&a, true));
	logs_retain_here(a.logs, now_us + US_PER_S);
	logs_list_begin(a.logs);
	logs_list_over(a.logs);
	assert_int_equal(logs_find(a.logs, &m[0].id, &f), E_NOT_FOUND);
	side_end(&a);
	models_free(m, 1);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, home_set, home_gone)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ONE(what_is_in_the_home_reads_as_it_was_written),
		ONE(others_read_it_and_go_on_where_it_ends),
		ONE(what_does_not_read_back_is_fetched_again_and_then_refused),
		ONE(what_waits_and_what_stays_is_bounded),
		ONE(what_the_home_lost_is_shipped_again_if_it_is_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
