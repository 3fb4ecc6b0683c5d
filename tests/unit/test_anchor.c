/* The file beside a store, and a broker's of what it has seen: what stands in them is believed only
 * whole, whatever it is. */
#include "store/anchor.h"

#include "broker/link/impl.h"
#include "store/proof.h"
#include "util/err.h"
#include "util/fs.h"

#include <fcntl.h>
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

enum { LINE = 256 };

static char dir[64], path[80];
static struct err err;

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/test_anchor.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof path, "%s/" ANCHOR_FILE, dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	rmdir(path);
	return rmdir(dir);
}

static struct anchor at(uint64_t number)
{
	struct anchor a = { .epoch = 3, .seq = number + 1, .number = number, .by = "this server" };

	memset(a.id, 'a', 32);
	return a;
}

/* As a server leaves it: 40 in the first line, 41 in the second. */
static void write_both(void)
{
	struct anchor_file f;
	struct anchor one = at(40), two = at(41);

	assert_int_equal(anchor_open(dir, &f, &err), 0);
	assert_int_equal(anchor_write(&f, &one, &err), 0);
	assert_int_equal(anchor_write(&f, &two, &err), 0);
	anchor_close(&f);
}

static void put(const void *bytes, size_t n)
{
	assert_int_equal(fs_write(path, bytes, n, 0600, &err), 0);
}

static struct store_tip tip_at(uint64_t number)
{
	struct store_tip t = { .epoch = 3, .seq = number + 1, .number = number };

	memset(t.id, 'a', 32);
	memset(t.key, 'b', 32);
	return t;
}

static int check_at(uint64_t number)
{
	struct store_tip t = tip_at(number);

	return anchor_check(dir, "it", NULL, &t, &err);
}

static void the_newer_line_counts(void **state)
{
	struct anchor a;

	(void)state;
	write_both();
	assert_int_equal(anchor_read(dir, &a, &err), 0);
	assert_int_equal(a.number, 41);
	assert_string_equal(a.by, "this server");
	assert_int_equal(check_at(40), E_LOST);
	assert_non_null(strstr(err.text, "this server knew transition 41"));
}

static void a_line_that_is_torn_leaves_the_one_before(void **state)
{
	struct anchor a;

	(void)state;
	for (off_t size = LINE + 1; size < (off_t)2 * LINE; size++) {
		write_both();
		assert_int_equal(truncate(path, size), 0);
		assert_int_equal(anchor_read(dir, &a, &err), 0);
		assert_int_equal(a.number, 40);
	}
	assert_int_equal(check_at(39), E_LOST);
	assert_int_equal(truncate(path, LINE / 2), 0);
	assert_int_equal(anchor_read(dir, &a, &err), E_NOT_FOUND);
	assert_int_equal(check_at(1), 0);
}

static void a_bit_that_flipped_makes_a_line_none(void **state)
{
	struct anchor a;
	char bytes[2 * LINE];

	(void)state;
	write_both();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, bytes, sizeof bytes), sizeof bytes);
	close(fd);
	for (size_t i = 0; i < LINE - 8; i++) { /* what follows is white space */
		bytes[LINE + i] ^= 1;
		put(bytes, sizeof bytes);
		assert_int_equal(anchor_read(dir, &a, &err), 0);
		assert_int_equal(a.number, 40);
		bytes[LINE + i] ^= 1;
	}
}

static void garbage_is_no_anchor_and_stops_nobody(void **state)
{
	struct anchor a;
	unsigned char bytes[2 * LINE + 100];
	unsigned dice = 7;

	(void)state;
	for (int round = 0; round < 100; round++) {
		for (size_t i = 0; i < sizeof bytes; i++)
			bytes[i] = (unsigned char)((dice = dice * 1103515245 + 12345) >> 16);
		put(bytes, sizeof bytes - (size_t)round);
		assert_int_equal(anchor_read(dir, &a, &err), E_NOT_FOUND);
	}
	assert_int_equal(check_at(1), 0);
	memset(bytes, '9', sizeof bytes); /* no end to it */
	put(bytes, sizeof bytes);
	assert_int_equal(anchor_read(dir, &a, &err), E_NOT_FOUND);
	put("", 0);
	assert_int_equal(check_at(1), 0);
}

static void one_that_cannot_be_read_stops_nobody(void **state)
{
	struct anchor a;
	struct anchor_file f;

	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(anchor_read(dir, &a, &err), E_NOT_FOUND);
	assert_int_equal(check_at(1), 0);
	assert_int_equal(anchor_open(dir, &f, &err), E_IO);
	rmdir(path);
	assert_int_equal(symlink(ANCHOR_FILE, path), 0); /* to itself */
	assert_int_equal(anchor_read(dir, &a, &err), E_IO);
	assert_int_equal(check_at(1), 0);
}

static void that_of_another_store_is_refused_with_both_names(void **state)
{
	struct store_tip t = tip_at(50);

	(void)state;
	write_both();
	memset(t.id, 'c', 32);
	assert_int_equal(anchor_check(dir, "it", NULL, &t, &err), E_STRANGER);
	assert_non_null(strstr(err.text, "it is the store cccccccc"));
	assert_non_null(strstr(err.text, "knows aaaaaaaa"));
}

static void a_full_disk_leaves_what_it_said(void **state)
{
	struct anchor a = at(41), read;
	struct anchor_file full = { .fd = open("/dev/full", O_RDWR | O_CLOEXEC) };

	(void)state;
	write_both();
	assert_int_equal(anchor_write(&full, &a, &err), E_FULL);
	anchor_close(&full);
	assert_int_equal(anchor_read(dir, &read, &err), 0);
	assert_int_equal(read.number, 41);
}

static void what_a_broker_has_seen_reads_back(void **state)
{
	struct link_seen s = { .epoch = UINT32_MAX, .number = UINT64_MAX }, got;

	(void)state;
	memset(s.store_id, 'e', 64);
	memset(s.proof, 'f', 32);
	link_seen_write(path, &s);
	link_seen_read(path, &got);
	assert_memory_equal(&got, &s, sizeof s);
	s.proof[0] = 0; /* of a server that proves nothing */
	link_seen_write(path, &s);
	link_seen_read(path, &got);
	assert_string_equal(got.store_id, s.store_id);
	assert_int_equal(got.number, s.number);
	assert_string_equal(got.proof, "");
}

static void half_of_what_it_has_seen_claims_no_more_than_it_says(void **state)
{
	static const char whole[] = "7 abc 1234 0123456789abcdef0123456789abcdef\n";
	struct link_seen got;

	(void)state;
	for (size_t n = 0; n < sizeof whole - 1; n++) {
		put(whole, n);
		link_seen_read(path, &got);
		assert_int_equal(got.epoch, n ? 7 : 0);
		assert_true(got.number <= 1234);
		assert_string_equal(got.store_id, n > 6 ? "abc" : "");
		assert_string_equal(got.proof,
		                    n + 2 < sizeof whole ? "" : "0123456789abcdef0123456789abcdef");
	}
	put("7 \xff\x1b[2J 12", 9);
	link_seen_read(path, &got);
	assert_string_equal(got.store_id, "");
	put("\0\0\0", 3);
	link_seen_read(path, &got);
	assert_int_equal(got.epoch, 0);
}

static void a_proof_holds_for_what_was_told_alone(void **state)
{
	struct store_tip t = tip_at(9), other = tip_at(9);
	char proof[PROOF_HEX];

	(void)state;
	proof_make(&t, 3, 8, proof);
	assert_int_equal(strlen(proof), PROOF_HEX - 1);
	assert_true(proof_holds(&t, 3, 8, proof));
	assert_false(proof_holds(&t, 3, 9, proof));
	assert_false(proof_holds(&t, 4, 8, proof));
	assert_false(proof_holds(&t, 38, 0, proof));
	assert_false(proof_holds(&t, 3, 8, ""));
	other.key[5] = 'x';
	assert_false(proof_holds(&other, 3, 8, proof));
	other = t;
	other.id[5] = 'x';
	assert_false(proof_holds(&other, 3, 8, proof));
	proof[7] ^= 1;
	assert_false(proof_holds(&t, 3, 8, proof));
}

static void a_store_without_a_key_proves_and_believes_nothing(void **state)
{
	struct store_tip t = { .id = "a" };
	char proof[PROOF_HEX];

	(void)state;
	proof_make(&t, 3, 8, proof);
	assert_string_equal(proof, "");
	assert_false(proof_holds(&t, 3, 8, ""));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(the_newer_line_counts),
		T(a_line_that_is_torn_leaves_the_one_before),
		T(a_bit_that_flipped_makes_a_line_none),
		T(garbage_is_no_anchor_and_stops_nobody),
		T(one_that_cannot_be_read_stops_nobody),
		T(that_of_another_store_is_refused_with_both_names),
		T(a_full_disk_leaves_what_it_said),
		T(what_a_broker_has_seen_reads_back),
		T(half_of_what_it_has_seen_claims_no_more_than_it_says),
		cmocka_unit_test(a_proof_holds_for_what_was_told_alone),
		cmocka_unit_test(a_store_without_a_key_proves_and_believes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
