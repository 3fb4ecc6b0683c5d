/* lib/logs: what is read is what was written, held against a model; ends torn at every byte, bytes
 * flipped, indexes lost, disks full. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "logs/block.h"
#include "logs/logs.h"
#include "tests/support/child.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"

enum { LOGS = 24, STEPS = 3000, MODEL_BYTES = 1 << 20 };

static char *dir;
static char told[4096];

static void on_told(void *ctx, const char *event, const char *text)
{
	size_t n = strlen(told);

	(void)ctx;
	snprintf(told + n, sizeof told - n, "%s %s\n", event, text);
}

static struct logs_settings settings(void)
{
	return (struct logs_settings){ .dir = dir, .told = on_told };
}

static struct logs *reopened(struct logs *l, const struct logs_settings *set)
{
	struct err err = { 0 };
	struct logs *again;

	logs_close(l);
	if (logs_open(set, &again, &err) < 0)
		fail_msg("%s", err.text);
	return again;
}

static int dir_set(void **state)
{
	(void)state;
	dir = dir_make();
	told[0] = '\0';
	return 0;
}

static int dir_gone(void **state)
{
	(void)state;
	dir_remove(dir);
	free(dir);
	return 0;
}

static struct log_id id_of(uint32_t task, uint64_t token, uint32_t stream)
{
	return (struct log_id){ { 3600 * (int64_t)task, task, 0 }, 1, 1, token, stream };
}

static int64_t now_us = US_PER_S;

static int add(struct logs *l, struct log_id id, uint64_t offset, const void *data, size_t n,
               bool is_end)
{
	struct log_piece p = { id, 7, offset, data, n, is_end, now_us };

	return logs_append(l, &p);
}

static void reads(struct logs *l, struct log_id id, const char *want, size_t n)
{
	uint8_t *got = mem_new(n + 100);
	struct err err = { 0 };
	size_t bytes;

	if (logs_read(l, &id, 0, (struct log_room){ got, n + 100 }, &bytes, &err) < 0)
		fail_msg("task %u: %s", id.key.task, err.text);
	assert_int_equal(bytes, n);
	assert_memory_equal(got, want, n);
	free(got);
}

/* --- against a model --- */

static uint32_t seed;

static uint32_t any(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

struct model {
	struct log_id id;
	uint8_t *data;
	size_t n, committed;
	bool is_ended;
};

static void grow(struct logs *l, struct model *m)
{
	size_t n = any(4) ? any(200) : any(200000);

	if (m->is_ended || m->n + n > MODEL_BYTES)
		return;
	bool is_end = any(40) == 0;
	bool is_text = any(2);
	for (size_t i = 0; i < n; i++)
		m->data[m->n + i] = (uint8_t)(is_text ? (uint32_t) "abc\n"[any(4)] : any(256));
	/* Now and then what was sent before comes again with it. */
	size_t again = any(5) == 0 && m->n ? any(m->n < 3000 ? (uint32_t)m->n : 3000) : 0;
	assert_int_equal(add(l, m->id, m->n - again, m->data + m->n - again, n + again, is_end), 0);
	m->n += n;
	m->is_ended = is_end;
}

static void compare(struct logs *l, struct model *m)
{
	struct log_facts f = { 0 };
	static uint8_t got[MODEL_BYTES];
	size_t bytes = 0;
	struct err err = { 0 };

	if (m->n == 0 && !m->is_ended)
		return;
	assert_int_equal(logs_find(l, &m->id, &f), 0);
	assert_int_equal(f.bytes, m->n);
	assert_int_equal(f.is_ended, m->is_ended);
	assert_int_equal(f.broker, 7);
	size_t from = m->n ? any((uint32_t)m->n) : 0, max = 1 + any(300000);
	if (logs_read(l, &m->id, from, (struct log_room){ got, max }, &bytes, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(bytes, m->n - from < max ? m->n - from : max);
	assert_memory_equal(got, m->data + from, bytes);
}

static void what_is_written_in_any_way_is_read_in_any_way(void **state)
{
	struct logs_settings set = settings();
	static struct model models[LOGS];
	struct logs *l = NULL;

	(void)state;
	set.segment_bytes = 300000;
	set.segment_logs = 60;
	for (seed = 1; seed < 4; seed++) {
		uint32_t s = seed;
		for (uint32_t i = 0; i < LOGS; i++)
			models[i] = (struct model){ .id = id_of(i / 3 + 1, 1000 * s + i, 1 + i % 3),
				                    .data = mem_new(MODEL_BYTES) };
		l = reopened(l, &set);
		for (int step = 0; step < STEPS; step++) {
			struct model *m = &models[any(LOGS)];
			uint32_t what = any(100);
			now_us = step * US_PER_S;
			if (what < 60)
				grow(l, m);
			else if (what < 90)
				compare(l, m);
			else if (what < 97)
				assert_int_equal(logs_commit(l), 0);
			else if (logs_commit(l) == 0)
				l = reopened(l, &set);
		}
		for (uint32_t i = 0; i < LOGS; i++) {
			compare(l, &models[i]);
			free(models[i].data);
		}
		assert_int_equal(logs_verify(l), 0);
		seed = s;
	}
	logs_close(l);
	assert_string_equal(told, "");
}

/* --- torn, flipped, lost --- */

static struct buf load(const char *name)
{
	char *path = mem_fmt("%s/%s", dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct buf b;
	ssize_t n;

	buf_init(&b);
	assert_true(fd >= 0);
	while ((n = read(fd, buf_room(&b, 65536), 65536)) > 0)
		buf_added(&b, (size_t)n);
	close(fd);
	free(path);
	return b;
}

static void store(const char *name, const void *data, size_t n)
{
	char *path = mem_fmt("%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), (ssize_t)n);
	close(fd);
	free(path);
}

static void drop(const char *name)
{
	char *path = mem_fmt("%s/%s", dir, name);

	unlink(path);
	free(path);
}

static void a_torn_end_is_cut_at_a_record_wherever_it_is(void **state)
{
	struct logs_settings set = settings();
	struct logs *l = reopened(NULL, &set);
	uint64_t ends[4];
	char line[64];

	(void)state;
	/* Four turns of one log; the file's length after each. */
	for (int i = 0; i < 4; i++) {
		int n = snprintf(line, sizeof line, "turn %d says something\n", i);
		assert_int_equal(add(l, id_of(1, 5, 1), (uint64_t)(n * i), line, (size_t)n, false),
		                 0);
		assert_int_equal(logs_commit(l), 0);
		struct logs_size all, old;
		logs_size(l, 0, &all, &old);
		ends[i] = all.bytes;
	}
	int each = snprintf(line, sizeof line, "turn %d says something\n", 0);
	logs_close(l);
	struct buf whole = load("00000001.seg");
	assert_int_equal(whole.len, ends[3]);
	for (size_t cut = whole.len; cut >= SEGMENT_HEAD_BYTES; cut--) {
		struct log_id id = id_of(1, 5, 1);
		struct log_facts f = { 0 };
		uint64_t turns = 0;
		while (turns < 4 && ends[turns] <= cut)
			turns++;
		drop("00000001.idx");
		store("00000001.seg", buf_at(&whole), cut);
		l = reopened(NULL, &set);
		int r = logs_find(l, &id, &f);
		assert_int_equal(r, turns ? 0 : E_NOT_FOUND);
		assert_int_equal(f.bytes, turns * (uint64_t)each);
		/* And it goes on. */
		assert_int_equal(add(l, id, f.bytes, "more", 4, true), 0);
		assert_int_equal(logs_commit(l), 0);
		l = reopened(l, &set);
		assert_int_equal(logs_find(l, &id, &f), 0);
		assert_int_equal(f.bytes, turns * (uint64_t)each + 4);
		assert_true(f.is_ended);
		logs_close(l);
		for (int n = 1; n < 4; n++) {
			char name[32];
			snprintf(name, sizeof name, "%08x.seg", n);
			drop(name);
			snprintf(name, sizeof name, "%08x.idx", n);
			drop(name);
		}
	}
	buf_done(&whole);
}

static void a_flipped_byte_is_found_and_told_and_harms_no_other_log(void **state)
{
	struct logs_settings set = settings();
	struct logs *l = reopened(NULL, &set);
	char text[400];

	(void)state;
	memset(text, 'x', sizeof text);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(add(l, id_of(i, i, 1), 0, text, sizeof text, true), 0);
		assert_int_equal(logs_commit(l), 0);
	}
	logs_close(l);
	l = reopened(NULL, &set); /* closes the segment */
	logs_close(l);
	struct buf whole = load("00000001.seg");
	size_t each = (whole.len - SEGMENT_HEAD_BYTES) / 3;
	for (size_t i = SEGMENT_HEAD_BYTES + each; i < SEGMENT_HEAD_BYTES + 2 * each; i++) {
		struct log_id id = id_of(2, 2, 1);
		uint8_t got[sizeof text];
		struct err err = { 0 };
		size_t bytes;
		((uint8_t *)buf_at(&whole))[i] ^= 4;
		store("00000001.seg", buf_at(&whole), whole.len);
		((uint8_t *)buf_at(&whole))[i] ^= 4;
		told[0] = '\0';
		l = reopened(NULL, &set);
		reads(l, id_of(1, 1, 1), text, sizeof text);
		reads(l, id_of(3, 3, 1), text, sizeof text);
		assert_int_equal(
			logs_read(l, &id, 0, (struct log_room){ got, sizeof got }, &bytes, &err),
			E_CORRUPT);
		assert_non_null(strstr(err.text, "segment 00000001"));
		assert_int_equal(logs_verify(l), 1);
		assert_non_null(strstr(told, "damaged"));
		logs_close(l);
		/* Without an index, too: the rest is found again. */
		drop("00000001.idx");
		told[0] = '\0';
		l = reopened(NULL, &set);
		reads(l, id_of(1, 1, 1), text, sizeof text);
		reads(l, id_of(3, 3, 1), text, sizeof text);
		assert_int_equal(
			logs_read(l, &id, 0, (struct log_room){ got, sizeof got }, &bytes, &err),
			E_NOT_FOUND);
		assert_non_null(strstr(told, "damaged"));
		logs_close(l);
		drop("00000001.idx");
		store("00000001.seg", buf_at(&whole), whole.len);
		l = reopened(NULL, &set);
		logs_close(l);
	}
	buf_done(&whole);
}

static void an_index_that_is_lost_or_damaged_anywhere_is_made_anew(void **state)
{
	struct logs_settings set = settings();
	struct logs *l = reopened(NULL, &set);
	char text[60];

	(void)state;
	memset(text, 'y', sizeof text);
	for (uint32_t i = 1; i <= 5; i++)
		assert_int_equal(add(l, id_of(i, i, 1), 0, text, i * 10, true), 0);
	assert_int_equal(logs_commit(l), 0);
	l = reopened(l, &set);
	logs_close(l);
	struct buf whole = load("00000001.idx");
	for (size_t i = 0; i <= whole.len; i++) {
		if (i < whole.len)
			((uint8_t *)buf_at(&whole))[i] ^= 16;
		store("00000001.idx", buf_at(&whole), i < whole.len ? whole.len : whole.len / 2);
		if (i < whole.len)
			((uint8_t *)buf_at(&whole))[i] ^= 16;
		l = reopened(NULL, &set);
		for (uint32_t n = 1; n <= 5; n++) {
			struct log_facts *all;
			reads(l, id_of(n, n, 1), text, n * 10);
			assert_int_equal(logs_of(l, id_of(n, n, 1).key, &all), 1);
			assert_int_equal(all->bytes, n * 10);
			free(all);
		}
		logs_close(l);
	}
	drop("00000001.idx");
	l = reopened(NULL, &set);
	reads(l, id_of(3, 3, 1), text, 30);
	logs_close(l);
	struct buf again = load("00000001.idx");
	assert_int_equal(again.len, whole.len);
	assert_memory_equal(buf_at(&again), buf_at(&whole), whole.len);
	buf_done(&again);
	buf_done(&whole);
}

static void a_full_disk_takes_back_a_turn_and_nothing_else(void **state)
{
	struct logs_settings set = settings();
	struct logs *l = reopened(NULL, &set);
	struct rlimit was, few;
	struct log_facts f = { 0 };
	struct log_id one = id_of(1, 1, 1), two = id_of(2, 2, 1);
	uint8_t *noise = mem_new(200000);

	(void)state;
	seed = 9;
	for (size_t i = 0; i < 200000; i++)
		noise[i] = (uint8_t)any(256);
	assert_int_equal(add(l, one, 0, "kept", 4, false), 0);
	assert_int_equal(logs_commit(l), 0);
	/* EFBIG instead of ENOSPC: no byte behind the limit. */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	few = was;
	few.rlim_cur = 50000;
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	assert_int_equal(sigaction(SIGXFSZ, &ignore, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	assert_int_equal(add(l, one, 4, noise, 100000, false), 0);
	int r = add(l, two, 0, noise, 200000, false);
	assert_true(r < 0 || logs_commit(l) < 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(logs_find(l, &one, &f), 0);
	assert_int_equal(f.bytes, 4);
	assert_int_equal(logs_find(l, &two, &f), E_NOT_FOUND);
	reads(l, one, "kept", 4);
	assert_int_equal(add(l, one, 4, " on", 3, true), 0);
	assert_int_equal(logs_commit(l), 0);
	l = reopened(l, &set);
	reads(l, one, "kept on", 7);
	assert_int_equal(logs_find(l, &two, &f), E_NOT_FOUND);
	logs_close(l);
	free(noise);
}

/* --- executions, lines, gaps, retention --- */

static void executions_of_an_attempt_are_apart(void **state)
{
	struct logs_settings set = settings();
	struct logs *l = reopened(NULL, &set);
	struct log_facts *all;

	(void)state;
	assert_int_equal(add(l, id_of(1, 10, 1), 0, "first", 5, false), 0);
	assert_int_equal(add(l, id_of(1, 11, 0), 0, NULL, 0, false), 0);
	assert_int_equal(add(l, id_of(1, 11, 1), 0, "second", 6, true), 0);
	assert_int_equal(add(l, id_of(1, 10, 1), 5, " late", 5, true), 0);
	assert_int_equal(logs_commit(l), 0);
	for (int pass = 0; pass < 2; pass++) {
		reads(l, id_of(1, 10, 1), "first late", 10);
		reads(l, id_of(1, 11, 1), "second", 6);
		assert_int_equal(logs_of(l, id_of(1, 0, 0).key, &all), 3);
		assert_int_equal(all[0].id.token, 10);
		assert_int_equal(all[1].id.token, 11);
		assert_int_equal(all[1].id.stream, 0);
		free(all);
		l = reopened(l, &set);
	}
	logs_close(l);
}

static void a_line_is_found_by_its_number_over_segments(void **state)
{
	struct logs_settings set = settings();
	struct log_id id = id_of(1, 1, 1);
	struct buf text;
	uint64_t at;

	(void)state;
	set.segment_bytes = 2000;
	struct logs *l = reopened(NULL, &set);
	buf_init(&text);
	for (int i = 0; i < 20000; i++)
		buf_printf(&text, "line %d\n", i);
	for (size_t done = 0, n; done < text.len; done += n) {
		n = text.len - done < 7001 ? text.len - done : 7001;
		assert_int_equal(add(l, id, done, buf_at(&text) + done, n, false), 0);
		assert_int_equal(logs_commit(l), 0);
	}
	for (uint32_t n = 0; n < 20000; n += 371) {
		uint8_t got[32] = { 0 };
		size_t bytes;
		assert_int_equal(logs_line(l, &id, n, &at, NULL), 0);
		assert_int_equal(logs_read(l, &id, at, (struct log_room){ got, sizeof got - 1 },
		                           &bytes, NULL),
		                 0);
		assert_int_equal(strtoul((char *)got + 5, NULL, 10), n);
	}
	assert_int_equal(logs_line(l, &id, 20001, &at, NULL), E_NOT_FOUND);
	buf_done(&text);
	logs_close(l);
}

static void what_is_missing_is_said_with_its_place(void **state)
{
	struct logs_settings set = settings();
	struct logs *l = reopened(NULL, &set);
	struct log_id id = id_of(1, 1, 1);
	uint8_t got[2000];
	size_t bytes;

	(void)state;
	assert_int_equal(add(l, id, 0, "before", 6, false), 0);
	assert_int_equal(add(l, id, 1006, "after", 5, true), 0);
	assert_int_equal(logs_commit(l), 0);
	assert_int_equal(logs_read(l, &id, 0, (struct log_room){ got, sizeof got }, &bytes, NULL),
	                 0);
	assert_int_equal(bytes, 1011);
	assert_memory_equal(got, "before\n[1000 bytes are missing, 6 to 1006]\n", 43);
	assert_memory_equal(got + 1006, "after", 5);
	logs_close(l);
}

static void retention_takes_segments_by_their_last_byte(void **state)
{
	struct logs_settings set = settings();
	struct logs *l = reopened(NULL, &set);
	struct logs_size all, old;

	(void)state;
	for (uint32_t hour = 0; hour < 48; hour++) {
		now_us = hour * 3600 * US_PER_S;
		assert_int_equal(add(l, id_of(1 + hour, 1 + hour, 1), 0, "x", 1, true), 0);
		assert_int_equal(logs_commit(l), 0);
	}
	logs_size(l, 24 * 3600 * US_PER_S, &all, &old);
	assert_int_equal(all.segments, 48);
	assert_int_equal(all.instances, 48);
	assert_int_equal(old.instances, 24);
	assert_true(old.bytes > 0 && old.bytes < all.bytes);
	assert_int_equal(logs_retain(l, 24 * 3600 * US_PER_S), 24);
	struct log_facts f;
	struct log_id gone = id_of(24, 24, 1), here = id_of(25, 25, 1);
	assert_int_equal(logs_find(l, &gone, &f), E_NOT_FOUND);
	assert_int_equal(logs_find(l, &here, &f), 0);
	/* The open one is closed when it is old, without another byte. */
	logs_tend(l, 49 * 3600 * US_PER_S);
	assert_int_equal(logs_retain(l, 50 * 3600 * US_PER_S), 24);
	logs_size(l, 0, &all, &old);
	assert_int_equal(all.segments, 0);
	l = reopened(l, &set);
	logs_size(l, 0, &all, &old);
	assert_int_equal(all.segments, 0);
	logs_close(l);
}

static void a_small_log_takes_less_than_200_bytes(void **state)
{
	struct logs_settings set = settings();
	struct logs *l = reopened(NULL, &set);
	struct logs_size all, old;

	(void)state;
	for (uint32_t i = 1; i <= 1000; i++) { /* each alone in its turn: the worst */
		assert_int_equal(add(l, id_of(i, i, 1), 0, "ok\n", 3, true), 0);
		assert_int_equal(logs_commit(l), 0);
	}
	l = reopened(l, &set);
	logs_size(l, 0, &all, &old);
	assert_int_equal(all.logs, 1000);
	assert_true(all.bytes < 200 * 1000);
	logs_close(l);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, dir_set, dir_gone)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ONE(what_is_written_in_any_way_is_read_in_any_way),
		ONE(a_torn_end_is_cut_at_a_record_wherever_it_is),
		ONE(a_flipped_byte_is_found_and_told_and_harms_no_other_log),
		ONE(an_index_that_is_lost_or_damaged_anywhere_is_made_anew),
		ONE(a_full_disk_takes_back_a_turn_and_nothing_else),
		ONE(executions_of_an_attempt_are_apart),
		ONE(a_line_is_found_by_its_number_over_segments),
		ONE(what_is_missing_is_said_with_its_place),
		ONE(retention_takes_segments_by_their_last_byte),
		ONE(a_small_log_takes_less_than_200_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
