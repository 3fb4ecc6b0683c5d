/* wire/keys: which files are believed, and that adding to one is whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/err.h"
#include "wire/keys.h"

#define HEX32 "000102030405060708090a0b0c0d0e0f101112131415161718191a1B1C1D1E1F"

static char path[200];

static int setup(void **state)
{
	const char *dir = getenv("TMPDIR");

	(void)state;
	snprintf(path, sizeof path, "%s/sirdar-test-%d.keys", dir ? dir : "/tmp", (int)getpid());
	return 0;
}

static int teardown(void **state)
{
	char lock[220];

	(void)state;
	snprintf(lock, sizeof lock, "%s.lock", path);
	unlink(path);
	unlink(lock);
	return 0;
}

static void file_put(const char *text, size_t bytes, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, bytes), bytes);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void keys_are_found_by_name(void **state)
{
	static const char text[] = "# keys\n\nzeta:" HEX32 "\nalpha-1:" HEX32; /* no last newline */
	struct keys *k = NULL;
	uint8_t key[KEY_BYTES];
	struct err err = { 0 };

	(void)state;
	file_put(text, sizeof text - 1, 0600);
	assert_int_equal(keys_open(path, &k, &err), 0);
	assert_int_equal(keys_count(k), 2);
	assert_int_equal(keys_find(k, "alpha-1", key), 0);
	for (int i = 0; i < KEY_BYTES; i++)
		assert_int_equal(key[i], i);
	assert_int_equal(keys_find(k, "alpha", key), E_NOT_FOUND);
	assert_int_equal(keys_find(k, "", key), E_NOT_FOUND);
	keys_close(k);
	keys_close(NULL);
}

static void a_file_others_may_read_is_refused(void **state)
{
	struct keys *k = NULL;

	(void)state;
	assert_int_equal(keys_open(path, &k, NULL), E_NOT_FOUND);
	file_put("a:" HEX32 "\n", 67, 0640);
	assert_int_equal(keys_open(path, &k, NULL), E_FORBIDDEN);
	file_put("a:" HEX32 "\n", 67, 0604);
	assert_int_equal(keys_open(path, &k, NULL), E_FORBIDDEN);
	if (geteuid() == 0) {
		file_put("a:" HEX32 "\n", 67, 0600);
		assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
		assert_int_equal(keys_open(path, &k, NULL), E_FORBIDDEN);
	}
}

static void bad_lines_are_named_by_number_and_not_quoted(void **state)
{
	static const char *const bad[] = { "# x\nsecret",          "# x\na:" HEX32 "0",
		                           "# x\n:" HEX32,         "# x\na b:" HEX32,
		                           "# x\n../a:" HEX32,     "# x\na:g0" HEX32,
		                           "# x\na:" HEX32 ":",    "# x\na:" HEX32 ":king",
		                           "# x\na:" HEX32 "face", "# x\na:" HEX32 ":face:broker" };
	struct keys *k = NULL;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		err = (struct err){ 0 };
		file_put(bad[i], strlen(bad[i]), 0600);
		assert_int_equal(keys_open(path, &k, &err), E_INVALID);
		assert_non_null(strstr(err.text, ":2:"));
		assert_null(strstr(err.text, "secret"));
		assert_null(strstr(err.text, "0001"));
	}
	file_put("a:" HEX32 "\na:" HEX32 "\n", 134, 0600);
	assert_int_equal(keys_open(path, &k, &err), E_INVALID);
}

static void a_reload_that_fails_leaves_the_keys_as_they_were(void **state)
{
	struct keys *k = NULL;
	uint8_t key[KEY_BYTES];

	(void)state;
	file_put("a:" HEX32 "\n", 67, 0600);
	assert_int_equal(keys_open(path, &k, NULL), 0);
	file_put("b:" HEX32 "\n", 67, 0644);
	assert_int_equal(keys_reload(k, NULL), E_FORBIDDEN);
	assert_int_equal(keys_find(k, "a", key), 0);
	assert_int_equal(chmod(path, 0400), 0);
	assert_int_equal(keys_reload(k, NULL), 0);
	assert_int_equal(keys_find(k, "a", key), E_NOT_FOUND);
	assert_int_equal(keys_find(k, "b", key), 0);
	keys_close(k);
}

static void a_new_key_is_added_once_and_no_two_are_alike(void **state)
{
	uint8_t a[KEY_BYTES], b[KEY_BYTES], got[KEY_BYTES];
	struct keys *k = NULL;
	struct stat st;

	(void)state;
	assert_int_equal(keys_add(path, "broker-1", PEER_NONE, a, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(keys_add(path, "broker-2", PEER_BROKER, b, NULL), 0);
	assert_int_equal(keys_add(path, "broker-1", PEER_FACE, got, NULL), E_EXISTS);
	assert_int_equal(keys_add(path, "../x", PEER_FACE, got, NULL), E_INVALID);
	assert_memory_not_equal(a, b, KEY_BYTES);
	assert_int_equal(keys_open(path, &k, NULL), 0);
	assert_int_equal(keys_find(k, "broker-1", got), 0);
	assert_memory_equal(a, got, KEY_BYTES);
	assert_int_equal(keys_find(k, "broker-2", got), 0);
	assert_memory_equal(b, got, KEY_BYTES);
	keys_close(k);
}

enum { THREADS = 4, EACH = 20 };

static void *adds(void *arg)
{
	uint8_t key[KEY_BYTES];
	char name[32];

	for (int i = 0; i < EACH; i++) {
		snprintf(name, sizeof name, "t%d-%d", *(int *)arg, i);
		if (keys_add(path, name, PEER_BROKER, key, NULL) != 0)
			return arg;
	}
	return NULL;
}

static void those_who_add_at_the_same_time_lose_nothing(void **state)
{
	pthread_t threads[THREADS];
	int numbers[THREADS];
	struct keys *k = NULL;

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		numbers[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, adds, &numbers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		void *failed;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(keys_open(path, &k, NULL), 0);
	assert_int_equal(keys_count(k), THREADS * EACH);
	keys_close(k);
}

static void *looks_up(void *keys)
{
	uint8_t key[KEY_BYTES];
	void *wrong = NULL;

	for (int i = 0; i < 2000; i++)
		if (keys_find(keys, "zeta", key) < 0 || key[1] != 1)
			wrong = keys;
	return wrong;
}

static void sessions_find_their_keys_while_the_file_is_read_anew(void **state)
{
	static const char text[] = "alpha:" HEX32 "\nzeta:" HEX32 "\n";
	struct keys *k = NULL;
	pthread_t other;
	void *wrong;

	(void)state;
	file_put(text, sizeof text - 1, 0600);
	assert_int_equal(keys_open(path, &k, NULL), 0);
	assert_int_equal(pthread_create(&other, NULL, looks_up, k), 0);
	for (int i = 0; i < 200; i++)
		assert_int_equal(keys_reload(k, NULL), 0);
	pthread_join(other, &wrong);
	assert_null(wrong);
	keys_close(k);
}

static void kind_is(struct keys *k, const char *name, enum peer_kind kind)
{
	struct key_about about;

	assert_int_equal(keys_about(k, name, &about), 0);
	assert_int_equal(about.kind, kind);
}

static void a_key_may_have_a_kind_and_is_given_one_later(void **state)
{
	static const char text[] = "# first\na:" HEX32 "\n\nb:" HEX32 ":face\n# last";
	uint8_t was[KEY_BYTES], is[KEY_BYTES];
	struct keys *k = NULL;
	struct err err = { 0 };
	struct stat st;

	(void)state;
	file_put(text, sizeof text - 1, 0600);
	assert_int_equal(keys_open(path, &k, &err), 0);
	kind_is(k, "a", PEER_NONE);
	kind_is(k, "b", PEER_FACE);
	assert_int_equal(keys_find(k, "a", was), 0);
	assert_int_equal(keys_assign(path, "c", PEER_FACE, NULL), E_NOT_FOUND);
	assert_int_equal(keys_assign(path, "a", PEER_BROKER, NULL), 0);
	assert_int_equal(keys_assign(path, "b", PEER_CLIENT, NULL), 0);
	assert_int_equal(keys_reload(k, NULL), 0);
	kind_is(k, "a", PEER_BROKER);
	kind_is(k, "b", PEER_CLIENT);
	assert_int_equal(keys_find(k, "a", is), 0);
	assert_memory_equal(was, is, KEY_BYTES);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	file_put("a:" HEX32 "\nrubbish\n", 75, 0600); /* nothing is written over */
	assert_int_equal(keys_assign(path, "a", PEER_BROKER, NULL), E_INVALID);
	keys_close(k);
}

static uint32_t serial_of(struct keys *k, const char *name)
{
	struct key_about about = { 0 };

	keys_about(k, name, &about);
	return about.serial;
}

static void a_key_keeps_its_serial_until_it_is_replaced_or_taken_out(void **state)
{
	struct keys *k = NULL;

	(void)state;
	file_put("a:" HEX32 "\n", 67, 0600);
	assert_int_equal(keys_open(path, &k, NULL), 0);
	uint32_t first = serial_of(k, "a");
	assert_true(first > 0);
	file_put("a:" HEX32 ":face\nb:" HEX32 "\n", 139, 0600);
	assert_int_equal(keys_reload(k, NULL), 0);
	assert_int_equal(serial_of(k, "a"), first);
	assert_true(serial_of(k, "b") > first);
	file_put("a:ff0102030405060708090a0b0c0d0e0f101112131415161718191a1B1C1D1E1F\n", 67, 0600);
	assert_int_equal(keys_reload(k, NULL), 0);
	uint32_t other = serial_of(k, "a");
	assert_true(other > first);
	assert_int_equal(serial_of(k, "b"), 0);
	file_put("# none\n", 7, 0600);
	assert_int_equal(keys_reload(k, NULL), 0);
	file_put("a:" HEX32 "\n", 67, 0600);
	assert_int_equal(keys_reload(k, NULL), 0);
	assert_true(serial_of(k, "a") > other);
	keys_close(k);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(keys_are_found_by_name),
		TEST(a_file_others_may_read_is_refused),
		TEST(bad_lines_are_named_by_number_and_not_quoted),
		TEST(a_reload_that_fails_leaves_the_keys_as_they_were),
		TEST(a_new_key_is_added_once_and_no_two_are_alike),
		TEST(a_key_may_have_a_kind_and_is_given_one_later),
		TEST(a_key_keeps_its_serial_until_it_is_replaced_or_taken_out),
		TEST(sessions_find_their_keys_while_the_file_is_read_anew),
		TEST(those_who_add_at_the_same_time_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
