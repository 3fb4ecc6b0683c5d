/* broker/link/machine: what is drawn holds for this directory and this boot, not for a copy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "broker/link/machine.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"

static char *dir_new(void)
{
	char *dir = mem_str("/tmp/sirdar-machine-XXXXXX");

	assert_non_null(mkdtemp(dir));
	return dir;
}

static void dir_free(char *dir)
{
	char *path = mem_fmt("%s/machine", dir);

	unlink(path);
	assert_int_equal(rmdir(dir), 0);
	free(path);
	free(dir);
}

static void rewrite(const char *dir, const char *text)
{
	char *path = mem_fmt("%s/machine", dir);
	FILE *f = fopen(path, "r+"); /* the same file, as a boot leaves it */

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	free(path);
}

static void its_loaders_and_the_next_broker_find_what_was_drawn(void **state)
{
	char first[MACHINE_HEX], again[MACHINE_HEX], *dir = dir_new(),
						     *path = mem_fmt("%s/machine", dir);
	struct err err = { 0 };
	struct stat st;

	(void)state;
	machine_read(dir, first);
	assert_string_equal(first, "");
	assert_int_equal(machine_draw(dir, first, &err), 0);
	assert_int_equal(strlen(first), MACHINE_HEX - 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	machine_read(dir, again);
	assert_string_equal(first, again);
	assert_int_equal(machine_draw(dir, again, &err), 0);
	assert_string_equal(first, again);
	free(path);
	dir_free(dir);
}

static void a_copy_of_the_directory_is_another_machine(void **state)
{
	char first[MACHINE_HEX], second[MACHINE_HEX], *dir = dir_new(), *copy = dir_new();
	char *from = mem_fmt("%s/machine", dir), *to = mem_fmt("%s/machine", copy);
	struct err err = { 0 };
	struct buf text;

	(void)state;
	assert_int_equal(machine_draw(dir, first, &err), 0);
	buf_init(&text);
	assert_int_equal(fs_read(from, 4096, &text, &err), 0);
	assert_int_equal(fs_write(to, buf_str(&text), text.len, 0600, &err), 0);
	machine_read(copy, second);
	assert_string_equal(second, "");
	assert_int_equal(machine_draw(copy, second, &err), 0);
	assert_string_not_equal(first, second);
	buf_done(&text);
	free(from);
	free(to);
	dir_free(dir);
	dir_free(copy);
}

static void after_a_boot_or_what_was_half_written_it_is_drawn_anew(void **state)
{
	char first[MACHINE_HEX], second[MACHINE_HEX], *dir = dir_new();
	struct err err = { 0 };

	(void)state;
	assert_int_equal(machine_draw(dir, first, &err), 0);
	rewrite(dir, "0123456789abcdef0123456789abcdef boot=another");
	machine_read(dir, second);
	assert_string_equal(second, "");
	assert_int_equal(machine_draw(dir, second, &err), 0);
	assert_string_not_equal(first, second);
	assert_string_not_equal(second, "");
	dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_loaders_and_the_next_broker_find_what_was_drawn),
		cmocka_unit_test(a_copy_of_the_directory_is_another_machine),
		cmocka_unit_test(after_a_boot_or_what_was_half_written_it_is_drawn_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
