/* wire/frame, wire/arena, util/utf8: what is accepted, what is refused, and how much
 * memory a peer can cause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sirdar.pb-c.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/utf8.h"
#include "wire/arena.h"
#include "wire/frame.h"

static int unpack(enum frame_kind kind, const void *body, size_t bytes, struct err *err)
{
	struct arena *a = arena_new(1 << 30);
	void *m = NULL;
	int rc = frame_unpack(kind, body, bytes, a, &m, err);

	assert_true(rc < 0 || m);
	arena_free(a);
	return rc;
}

static void a_frame_comes_back_as_it_was(void **state)
{
	Sirdar__Hello h = SIRDAR__HELLO__INIT, *back = NULL;
	char *groups[] = { (char *)"blue", (char *)"gr\xc3\xbcn" };
	struct frame_head head;
	struct err err = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b);
	h.name = (char *)"loader-1";
	h.groups = groups;
	h.n_groups = 2;
	h.incarnation = 77;
	assert_int_equal(frame_pack(&b, FR_HELLO, &h, &err), 0);
	assert_int_equal(frame_head_read(buf_at(&b), &head, &err), 0);
	assert_int_equal(head.kind, FR_HELLO);
	assert_int_equal(head.bytes + FRAME_HEAD_BYTES, b.len);
	struct arena *a = arena_new(1 << 20);
	assert_int_equal(frame_unpack(FR_HELLO, buf_at(&b) + FRAME_HEAD_BYTES, head.bytes, a,
	                              (void **)&back, &err),
	                 0);
	assert_string_equal(back->name, "loader-1");
	assert_int_equal(back->n_groups, 2);
	assert_string_equal(back->groups[1], "gr\xc3\xbcn");
	assert_int_equal(back->incarnation, 77);
	arena_free(a);
	buf_done(&b);
}

static void every_kind_has_a_name_a_limit_and_a_sender(void **state)
{
	(void)state;
#define FRAME(name, num, msg, who, max) \
	assert_string_equal(frame_name(num), #name); \
	assert_int_equal(frame_max(num), max); \
	assert_true(frame_from_peer(num) || frame_from_server(num));
#include "tbl/frame.def"
#undef FRAME
	assert_null(frame_name(0));
	assert_null(frame_name(65535));
	assert_int_equal(frame_max(9999), 0);
	assert_true(frame_from_peer(FR_HELLO) && !frame_from_server(FR_HELLO));
	assert_true(!frame_from_peer(FR_JOBS) && frame_from_server(FR_JOBS));
	assert_true(frame_from_peer(FR_PING) && frame_from_server(FR_PING));
}

static void a_head_with_junk_or_an_absurd_length_is_refused(void **state)
{
	struct frame_head h;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(frame_head_read((uint8_t[]){ 0, 0, 0, 1, 0, 200, 0, 0 }, &h, &err),
	                 E_PROTOCOL);
	assert_int_equal(frame_head_read((uint8_t[]){ 0, 0, 0, 1, 0, 1, 0, 1 }, &h, &err),
	                 E_PROTOCOL);
	assert_int_equal(frame_head_read((uint8_t[]){ 0, 8, 0, 0, 0, 1, 0, 0 }, &h, &err), 0);
	assert_int_equal(h.bytes, 524288);
	assert_int_equal(frame_head_read((uint8_t[]){ 0, 8, 0, 1, 0, 1, 0, 0 }, &h, &err),
	                 E_TOO_BIG);
	assert_non_null(strstr(err.text, "HELLO"));
	assert_non_null(strstr(err.text, "524289"));
	assert_non_null(strstr(err.text, "524288"));
	assert_int_equal(frame_head_read((uint8_t *)"\xff\xff\xff\xff\0\x10\0\0", &h, &err),
	                 E_TOO_BIG);
}

static void what_cannot_be_sent_leaves_the_queue_as_it_was(void **state)
{
	Sirdar__Refuse r = SIRDAR__REFUSE__INIT;
	struct err err = { 0 };
	struct buf b;
	char *big = calloc(1, 5001);

	(void)state;
	buf_init(&b);
	assert_int_equal(frame_pack(&b, FR_REFUSE, &r, &err), 0);
	size_t had = b.len;
	memset(big, 'a', 5000);
	r.text = big;
	assert_int_equal(frame_pack(&b, FR_REFUSE, &r, &err), E_TOO_BIG);
	r.text = (char *)"latin \xe9t\xe9";
	assert_int_equal(frame_pack(&b, FR_REFUSE, &r, &err), E_INVALID);
	assert_int_equal(err.code, E_INVALID);
	assert_int_equal(b.len, had);
	char text[] = "latin \xe9t\xe9";
	utf8_clean(text);
	assert_string_equal(text, "latin ?t?");
	r.text = text;
	assert_int_equal(frame_pack(&b, FR_REFUSE, &r, &err), 0);
	free(big);
	buf_done(&b);
}

static void strings_with_a_nul_or_bad_utf8_are_refused_at_any_depth(void **state)
{
	struct err err = { 0 };

	(void)state;
	/* Refuse.text is field 2, Jobs.job 1, Job.params 9, Param.value 2 */
	assert_int_equal(unpack(FR_REFUSE, "\x12\x02ok", 4, &err), 0);
	assert_int_equal(unpack(FR_REFUSE, "\x12\x02o\0", 4, &err), E_PROTOCOL);
	assert_non_null(strstr(err.text, "text"));
	assert_int_equal(unpack(FR_REFUSE, "\x12\x02\xc0\x80", 4, &err), E_PROTOCOL);
	assert_int_equal(unpack(FR_JOBS, "\x0a\x05\x4a\x03\x12\x01z", 7, &err), 0);
	assert_int_equal(unpack(FR_JOBS, "\x0a\x05\x4a\x03\x12\x01\xff", 7, &err), E_PROTOCOL);
	/* LogChunk.data is field 9: bytes, not text */
	assert_int_equal(unpack(FR_LOG_CHUNK, "\x4a\x02\xff\0", 4, &err), 0);
}

static void bodies_cut_short_at_any_byte_never_unpack_past_their_end(void **state)
{
	static const char body[] = "\x0a\x0f\x52\x06"
				   "abcdef"
				   "\x4a\x05\x0a\x01k\x12\x00";
	char *copy;

	(void)state;
	for (size_t n = 0; n < sizeof body - 1; n++) {
		copy = malloc(n ? n : 1); /* exactly as long, for the sanitizer */
		memcpy(copy, body, n);
		int rc = unpack(FR_JOBS, copy, n, NULL);
		assert_true(n == 0 ? rc == 0 : rc == E_PROTOCOL);
		free(copy);
	}
	assert_int_equal(
		unpack(FR_REFUSE, "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, NULL),
		E_PROTOCOL);
	assert_int_equal(unpack(FR_REFUSE, "\x13\x14", 2, NULL), E_PROTOCOL); /* a group */
	/* field 0, plain and overlong; the largest field number, and one more */
	assert_int_equal(unpack(FR_REFUSE, "\x00\x00", 2, NULL), E_PROTOCOL);
	assert_int_equal(unpack(FR_REFUSE, "\x80\x00\x00", 3, NULL), E_PROTOCOL);
	assert_int_equal(unpack(FR_REFUSE, "\xf8\xff\xff\xff\x0f\x00", 6, NULL), 0);
	assert_int_equal(unpack(FR_REFUSE, "\x80\x80\x80\x80\x10\x00", 6, NULL), E_PROTOCOL);
}

static void a_body_cannot_unpack_to_more_than_its_allowance(void **state)
{
	enum { BYTES = 1 << 20 };
	uint8_t *body = malloc(BYTES);
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < BYTES; i += 2) { /* empty jobs: two bytes each */
		body[i] = 0x0a;
		body[i + 1] = 0;
	}
	assert_int_equal(unpack(FR_JOBS, body, BYTES, &err), E_TOO_BIG);
	for (int i = 0; i < BYTES; i += 2)
		body[i] = 0x78; /* unknown fields */
	assert_int_equal(unpack(FR_JOBS, body, BYTES, &err), E_TOO_BIG);
	free(body);
}

static void full_batches_of_small_things_fit_their_allowance(void **state)
{
	enum { N = 20000 };
	Sirdar__ReportAcks acks = SIRDAR__REPORT_ACKS__INIT;
	Sirdar__ReportAck *one = calloc(N, sizeof *one), **list = calloc(N, sizeof *list);
	struct err err = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b);
	for (int i = 0; i < N; i++) {
		sirdar__report_ack__init(&one[i]);
		one[i].token = (uint64_t)i + 1;
		one[i].seq = 1;
		list[i] = &one[i];
	}
	acks.n_ack = N;
	acks.ack = list;
	assert_int_equal(frame_pack(&b, FR_REPORT_ACKS, &acks, &err), 0);
	assert_int_equal(unpack(FR_REPORT_ACKS, buf_at(&b) + 8, b.len - 8, &err), 0);
	free(one);
	free(list);
	buf_done(&b);
}

static void an_arena_stops_at_its_cap_and_starts_anew(void **state)
{
	struct arena *a = arena_new(100000);
	size_t got = 0;

	(void)state;
	assert_null(arena_take(a, 100001));
	assert_null(arena_take(a, SIZE_MAX));
	for (int round = 0; round < 3; round++) {
		got = 0;
		for (void *p; (p = arena_take(a, 100)); got += 112) {
			assert_int_equal((uintptr_t)p % 16, 0);
			memset(p, 0x5a, 100);
		}
		assert_in_range(got, 90000, 100000);
		arena_reset(a);
	}
	assert_non_null(arena_take(a, 0));
	assert_non_null(arena_take(a, 90000));
	arena_reset(a);
	assert_non_null(arena_take(a, 90000));
	arena_free(a);
	arena_free(NULL);
}

static void text_is_utf8_as_the_standard_has_it(void **state)
{
	static const char *const good[] = { "",
		                            "plain ascii, long enough",
		                            "\x7f",
		                            "\xc2\x80",
		                            "\xe0\xa0\x80",
		                            "\xed\x9f\xbf",
		                            "\xee\x80\x80",
		                            "\xf0\x90\x80\x80",
		                            "\xf4\x8f\xbf\xbf" };
	static const char *const bad[] = { "\x80",
		                           "\xc1\xbf",
		                           "\xc3",
		                           "\xe0\x9f\xbf",
		                           "\xed\xa0\x80",
		                           "\xf0\x8f\xbf\xbf",
		                           "\xf4\x90\x80\x80",
		                           "\xf5\x80\x80\x80",
		                           "\xe2\x82",
		                           "ascii 12\xff" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(utf8_is_text((const uint8_t *)good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(utf8_is_text((const uint8_t *)bad[i], strlen(bad[i])));
	for (size_t i = 0; i < 24; i++) { /* a NUL anywhere */
		char text[24];
		memset(text, 'x', sizeof text);
		text[i] = 0;
		assert_false(utf8_is_text((const uint8_t *)text, sizeof text));
	}
	/* what a cut leaves of a character is told; what no character begins with is not */
	assert_int_equal(utf8_unfinished((const uint8_t *)"a\xf0\x9f\x98", 4), 3);
	assert_int_equal(utf8_unfinished((const uint8_t *)"a\xe5\xa4", 3), 2);
	assert_int_equal(utf8_unfinished((const uint8_t *)"a\xe5\xa4\xb1", 4), 0);
	assert_int_equal(utf8_unfinished((const uint8_t *)"a\xe0\x80", 3), 0);
	assert_int_equal(utf8_unfinished((const uint8_t *)"\xff", 1), 0);
	utf8_clean(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_comes_back_as_it_was),
		cmocka_unit_test(every_kind_has_a_name_a_limit_and_a_sender),
		cmocka_unit_test(a_head_with_junk_or_an_absurd_length_is_refused),
		cmocka_unit_test(what_cannot_be_sent_leaves_the_queue_as_it_was),
		cmocka_unit_test(strings_with_a_nul_or_bad_utf8_are_refused_at_any_depth),
		cmocka_unit_test(bodies_cut_short_at_any_byte_never_unpack_past_their_end),
		cmocka_unit_test(a_body_cannot_unpack_to_more_than_its_allowance),
		cmocka_unit_test(full_batches_of_small_things_fit_their_allowance),
		cmocka_unit_test(an_arena_stops_at_its_cap_and_starts_anew),
		cmocka_unit_test(text_is_utf8_as_the_standard_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
