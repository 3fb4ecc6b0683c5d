/* util/logrec: what goes in comes out, wherever the stream is cut; what is torn or false is passed
 * over; and a place is found as one who reads everything finds it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/buf.h"
#include "util/logrec.h"

static uint64_t seed;

static uint32_t drawn(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

/* Text in lines of about `line` bytes, some of it binary. */
static void draw(struct buf *to, size_t n, uint32_t line)
{
	buf_clear(to);
	for (size_t i = 0; i < n; i++)
		buf_putc(to, drawn(line) == 0 ? '\n'
		                              : (char)(drawn(50) ? 'a' + drawn(26) : drawn(256)));
}

struct all {
	struct buf out, want[LOGREC_STREAMS], got[LOGREC_STREAMS];
	struct logrec_place w;
};

static void all_done(struct all *a)
{
	buf_done(&a->out);
	for (unsigned s = 0; s < LOGREC_STREAMS; s++) {
		buf_done(&a->want[s]);
		buf_done(&a->got[s]);
	}
}

static void all_write(struct all *a, uint32_t records, uint32_t longest, uint32_t line)
{
	struct buf text = { 0 };
	int64_t ms = INT64_C(1764000000000);

	for (uint32_t i = 0; i < records; i++) {
		enum logrec_stream s = drawn(20) ? (drawn(2) ? LOGREC_OUT : LOGREC_ERR)
		                                 : LOGREC_OURS;
		ms += drawn(5) ? drawn(40) : drawn(100000);
		draw(&text, 1 + drawn(longest), line);
		logrec_put(&a->w, s, ms - drawn(3), buf_at(&text), text.len, &a->out);
		buf_put(&a->want[s], buf_at(&text), text.len);
	}
	buf_done(&text);
	assert_int_equal(a->w.at, a->out.len);
}

/* In pieces of about `piece` bytes, each only looked at as a whole. */
static struct logrec_reader all_read(struct all *a, uint32_t piece)
{
	struct logrec_reader r = { 0 };
	struct logrec rec;
	int64_t last = 0;
	size_t have = 0;

	for (unsigned s = 0; s < LOGREC_STREAMS; s++)
		buf_clear(&a->got[s]);
	while (r.place.at < a->out.len) {
		size_t k = logrec_next(&r, buf_at(&a->out) + r.place.at, have - r.place.at, &rec);
		if (k == 0) {
			assert_true(have < a->out.len);
			have += 1 + drawn(piece);
			have = have < a->out.len ? have : a->out.len;
			continue;
		}
		assert_false(rec.is_damaged);
		assert_true(r.place.time_ms >= last);
		last = r.place.time_ms;
		buf_put(&a->got[rec.stream], rec.data, rec.n);
	}
	return r;
}

static void same(const struct buf *a, const struct buf *b)
{
	assert_int_equal(a->len, b->len);
	assert_memory_equal(buf_at(a), buf_at(b), a->len);
}

static void what_goes_in_comes_out_wherever_it_is_cut(void **state)
{
	(void)state;
	for (seed = 1; seed < 60; seed++) {
		struct all a = { 0 };
		all_write(&a, 300, seed % 3 ? 200 : 40000, seed % 2 ? 60 : 3);
		struct logrec_reader r = all_read(&a, seed % 5 ? 3000 : 20);
		for (unsigned s = LOGREC_OUT; s < LOGREC_STREAMS; s++) {
			same(&a.want[s], &a.got[s]);
			assert_int_equal(r.place.bytes[s], a.w.bytes[s]);
			assert_int_equal(r.place.lines[s], a.w.lines[s]);
		}
		assert_int_equal(r.place.time_ms, a.w.time_ms);
		assert_int_equal(r.place.open, a.w.open);
		all_done(&a);
	}
}

static void a_block_needs_nothing_of_those_before_it(void **state)
{
	(void)state;
	struct all a = { 0 };
	struct logrec_place last = { 0 };

	seed = 7;
	all_write(&a, 4000, 300, 60);
	assert_true(a.out.len > 4 * LOGREC_BLOCK);
	all_read(&a, 100000);
	for (uint64_t at = 0; at < a.out.len; at += LOGREC_BLOCK) {
		struct logrec_place p;
		assert_true(logrec_header(at, buf_at(&a.out) + at, a.out.len - at, &p));
		assert_true(p.time_ms >= last.time_ms && p.bytes[1] >= last.bytes[1]);
		last = p;
		struct logrec_reader r = { .place.at = at };
		struct logrec rec;
		size_t k;
		while (r.place.at < a.out.len && (k = logrec_next(&r, buf_at(&a.out) + r.place.at,
		                                                  a.out.len - r.place.at, &rec)))
			assert_false(rec.is_damaged);
		assert_int_equal(r.place.bytes[LOGREC_OUT], a.w.bytes[LOGREC_OUT]);
		assert_int_equal(r.place.lines[LOGREC_ERR], a.w.lines[LOGREC_ERR]);
		assert_int_equal(r.place.time_ms, a.w.time_ms);
	}
	all_done(&a);
}

static uint64_t seek(const struct all *a, enum logrec_by by, unsigned streams, uint64_t most,
                     unsigned *ret_tries)
{
	struct logrec_seek s;
	struct logrec_place p;
	uint64_t at;

	logrec_seek_begin(&s, by, streams, most, &a->w);
	while (logrec_seek_next(&s, &at)) {
		bool fits = logrec_header(at, buf_at(&a->out) + at, a->out.len - at, &p);
		logrec_seek_take(&s, at, fits ? &p : NULL);
	}
	*ret_tries = s.tries;
	return logrec_seek_found(&s);
}

static void a_place_is_found_by_few_headers(void **state)
{
	(void)state;
	struct all a = { 0 };
	unsigned most_tries = 0;

	seed = 11;
	all_write(&a, 30000, 1000, 60);
	for (int i = 0; i < 2000; i++) {
		enum logrec_by by = (enum logrec_by)drawn(3);
		unsigned streams = 2 + drawn(7) * 2, tries;
		uint64_t end = logrec_measure(&a.w, by, streams);
		uint64_t begin = by == LOGREC_BY_TIME ? UINT64_C(1764000000000) : 0;
		uint64_t most = begin + (uint64_t)((double)(end - begin) * drawn(1000) / 990.0);
		uint64_t want = 0;
		for (uint64_t at = LOGREC_BLOCK; at < a.out.len; at += LOGREC_BLOCK) {
			struct logrec_place p;
			logrec_header(at, buf_at(&a.out) + at, a.out.len - at, &p);
			if (logrec_measure(&p, by, streams) <= most)
				want = at;
		}
		assert_int_equal(seek(&a, by, streams, most, &tries), want);
		most_tries = tries > most_tries ? tries : most_tries;
	}
	assert_true(most_tries <= 20);
	all_done(&a);
}

static void a_torn_end_is_not_there_yet(void **state)
{
	(void)state;
	struct all a = { 0 };

	seed = 3;
	all_write(&a, 40, 100, 60);
	for (size_t n = 0; n <= a.out.len; n++) {
		size_t whole = logrec_whole(0, buf_at(&a.out), n);
		assert_true(whole <= n);
		assert_true(n < a.out.len || whole == n);
	}
	all_done(&a);
}

/* Whatever stands there: all of it is passed, and what lies in whole blocks is found again. */
static void what_is_false_is_passed_over_up_to_the_next_block(void **state)
{
	(void)state;
	for (seed = 1; seed < 200; seed++) {
		struct all a = { 0 };
		all_write(&a, 1500, 200, 60);
		assert_true(a.out.len > 2 * LOGREC_BLOCK);
		for (unsigned i = 0; i < 1 + drawn(50); i++)
			((uint8_t *)(uintptr_t)buf_at(
				&a.out))[drawn(LOGREC_BLOCK)] = (uint8_t)drawn(256);
		struct logrec_reader r = { 0 };
		struct logrec rec;
		size_t k;
		while (r.place.at < a.out.len && (k = logrec_next(&r, buf_at(&a.out) + r.place.at,
		                                                  a.out.len - r.place.at, &rec)))
			assert_true(rec.n <= LOGREC_BLOCK);
		assert_int_equal(r.place.at, a.out.len);
		assert_int_equal(r.place.bytes[LOGREC_OUT], a.w.bytes[LOGREC_OUT]);
		all_done(&a);
	}
}

static void text_costs_no_more_than_three_bytes_in_a_hundred(void **state)
{
	(void)state;
	static const char line[] = "2026-11-24 05:46:11,120 INFO  loader: 4711 rows of "
				   "harbour.tides were read, 12 are new, 0 are gone\n";
	struct {
		const char *what;
		int64_t every_ms;
		size_t at_once;
	} ways[] = {
		{ "a line each 5 ms", 5, 1 },
		{ "a line each 100 ms", 100, 1 },
		{ "a line a minute", 60000, 1 },
		{ "100 lines at once", 50, 100 },
	};

	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		struct logrec_place w = { 0 };
		struct buf out = { 0 }, text = { 0 };
		for (size_t k = 0; k < ways[i].at_once; k++)
			buf_puts(&text, line);
		size_t n = 0;
		for (int64_t ms = 1; n < 4u << 20; n += text.len, ms += ways[i].every_ms)
			logrec_put(&w, LOGREC_OUT, ms, buf_at(&text), text.len, &out);
		double more = 100.0 * (double)(out.len - n) / (double)n;
		print_message("# %s of %zu bytes: %.2f %% more\n", ways[i].what, sizeof line - 1,
		              more);
		assert_true(more <= (ways[i].every_ms < 60000 ? 3.0 : 4.2));
		buf_done(&out);
		buf_done(&text);
	}
}

static void line_ends_are_counted(void **state)
{
	(void)state;
	struct buf b = { 0 };

	for (seed = 1; seed < 400; seed++) {
		draw(&b, drawn(100), 3);
		size_t n = 0;
		for (size_t i = 0; i < b.len; i++)
			n += buf_at(&b)[i] == '\n';
		assert_int_equal(logrec_lines(buf_at(&b), b.len), n);
	}
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_in_comes_out_wherever_it_is_cut),
		cmocka_unit_test(a_block_needs_nothing_of_those_before_it),
		cmocka_unit_test(a_place_is_found_by_few_headers),
		cmocka_unit_test(a_torn_end_is_not_there_yet),
		cmocka_unit_test(what_is_false_is_passed_over_up_to_the_next_block),
		cmocka_unit_test(text_costs_no_more_than_three_bytes_in_a_hundred),
		cmocka_unit_test(line_ends_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
