/* Files: written whole or not at all, with their mode; secrets are read only from files that
 * nobody else can read, and a pipe in their place does not block. */
#include "util/fs.h"

#include "util/buf.h"
#include "util/err.h"

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

static char dir[64];
static struct err err;

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/test_fs.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof path, "%s/f", dir);
	unlink(path);
	snprintf(path, sizeof path, "%s/a/b/c", dir);
	rmdir(path);
	snprintf(path, sizeof path, "%s/a/b", dir);
	rmdir(path);
	snprintf(path, sizeof path, "%s/a", dir);
	rmdir(path);
	return rmdir(dir); /* fails when something was left beside */
}

static void a_written_file_reads_back_with_its_mode(void **state)
{
	char path[128];
	struct stat st;
	struct buf text;

	(void)state;
	buf_init(&text);
	snprintf(path, sizeof path, "%s/f", dir);
	assert_int_equal(fs_write(path, "one", 3, 0640, &err), 0);
	assert_int_equal(fs_write(path, "second", 6, 0600, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(fs_read(path, 6, &text, &err), 0);
	assert_string_equal(buf_str(&text), "second");
	buf_clear(&text);
	assert_int_equal(fs_read(path, 5, &text, &err), E_TOO_BIG);
	buf_done(&text);
}

static void a_failed_write_leaves_nothing_beside(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof path, "%s/a", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(fs_write(path, "x", 1, 0600, &err) < 0); /* a directory is in its place */
	snprintf(path, sizeof path, "%s/none/f", dir);
	assert_int_equal(fs_write(path, "x", 1, 0600, &err), E_NOT_FOUND);
}

static void secrets_are_read_only_from_private_files(void **state)
{
	static const mode_t open_modes[] = { 0640, 0604, 0660, 0610 };
	char path[128];
	struct buf text;

	(void)state;
	buf_init(&text);
	snprintf(path, sizeof path, "%s/f", dir);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(fs_write(path, "key", 3, open_modes[i], &err), 0);
		assert_int_equal(fs_read_secret(path, 100, &text, &err), E_FORBIDDEN);
		assert_int_equal(text.len, 0);
	}
	assert_int_equal(fs_write(path, "key", 3, 0400, &err), 0);
	assert_int_equal(fs_read_secret(path, 100, &text, &err), 0);
	assert_int_equal(text.len, 3);
	assert_int_equal(fs_read_secret(dir, 100, &text, &err), E_FORBIDDEN);
	buf_done(&text);
}

static void a_pipe_in_the_place_of_a_secret_does_not_hold_us_up(void **state)
{
	char path[128];
	struct buf text;

	(void)state;
	buf_init(&text);
	snprintf(path, sizeof path, "%s/f", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(fs_read_secret(path, 100, &text, &err), E_FORBIDDEN);
	buf_done(&text);
}

static void directories_are_made_with_those_above(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof path, "%s/a/b//c/", dir);
	assert_int_equal(fs_mkdirs(path, 0700, &err), 0);
	assert_int_equal(fs_mkdirs(path, 0700, &err), 0);
	snprintf(path, sizeof path, "%s/f", dir);
	assert_int_equal(fs_write(path, "x", 1, 0600, &err), 0);
	assert_int_equal(fs_mkdirs(path, 0700, &err), E_EXISTS);
	snprintf(path, sizeof path, "%s/f/g", dir);
	assert_true(fs_mkdirs(path, 0700, &err) < 0);
}

static void names_that_could_leave_a_directory_are_not_ok(void **state)
{
	static const char *const bad[] = { "",     ".",        "..",         "a/b",
		                           "/",    "-rf",      ".hidden",    "a b",
		                           "a\nb", "\xc3\xa4", "12345678901" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_false(fs_name_ok(bad[i], 10));
	assert_true(fs_name_ok("shell_2.so", 10));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_written_file_reads_back_with_its_mode),
		T(a_failed_write_leaves_nothing_beside),
		T(secrets_are_read_only_from_private_files),
		T(a_pipe_in_the_place_of_a_secret_does_not_hold_us_up),
		T(directories_are_made_with_those_above),
		T(names_that_could_leave_a_directory_are_not_ok),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
