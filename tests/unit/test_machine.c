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
	char *path = mem_fmt("%s/machine", dir), *card = mem_fmt("%s/machine.card", dir);

	unlink(path);
	unlink(card);
	assert_int_equal(rmdir(dir), 0);
	free(path);
	free(card);
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
	struct machine first, again;
	char *dir = dir_new(), *path = mem_fmt("%s/machine", dir);
	struct err err = { 0 };
	struct stat st;

	(void)state;
	machine_read(dir, &first);
	assert_string_equal(first.drawn, "");
	assert_int_equal(machine_draw(dir, &first, &err), 0);
	assert_int_equal(strlen(first.drawn), MACHINE_HEX - 1);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	machine_read(dir, &again);
	assert_string_equal(first.drawn, again.drawn);
	assert_int_equal(machine_draw(dir, &again, &err), 0);
	assert_string_equal(first.drawn, again.drawn);
	free(path);
	dir_free(dir);
}

static void a_copy_of_the_directory_is_another_machine(void **state)
{
	struct machine first, second;
	char *dir = dir_new(), *copy = dir_new();
	char *from = mem_fmt("%s/machine", dir), *to = mem_fmt("%s/machine", copy);
	struct err err = { 0 };
	struct buf text;

	(void)state;
	assert_int_equal(machine_draw(dir, &first, &err), 0);
	buf_init(&text);
	assert_int_equal(fs_read(from, 4096, &text, &err), 0);
	assert_int_equal(fs_write(to, buf_str(&text), text.len, 0600, &err), 0);
	machine_read(copy, &second);
	assert_string_equal(second.drawn, "");
	assert_int_equal(machine_draw(copy, &second, &err), 0);
	assert_string_not_equal(first.drawn, second.drawn);
	assert_string_equal(second.former, "");
	buf_done(&text);
	free(from);
	free(to);
	dir_free(dir);
	dir_free(copy);
}

static void after_a_boot_or_what_was_half_written_it_is_drawn_anew(void **state)
{
	struct machine first, second;
	char *dir = dir_new();
	struct err err = { 0 };

	(void)state;
	assert_int_equal(machine_draw(dir, &first, &err), 0);
	rewrite(dir, "0123456789abcdef0123456789abcdef boot=another");
	machine_read(dir, &second);
	assert_string_equal(second.drawn, "");
	assert_int_equal(machine_draw(dir, &second, &err), 0);
	assert_string_not_equal(first.drawn, second.drawn);
	assert_string_not_equal(second.drawn, "");
	assert_string_equal(second.former, "");
	dir_free(dir);
}

static char *text_of(const char *dir, const char *name)
{
	char *path = mem_fmt("%s/%s", dir, name);
	struct buf text;

	buf_init(&text);
	assert_int_equal(fs_read(path, 4096, &text, NULL), 0);
	char *ret = mem_str(buf_str(&text));
	buf_done(&text);
	free(path);
	return ret;
}

/* The same file after another boot: its text names one that is over. */
static void boot(const char *dir)
{
	char *text = text_of(dir, "machine"), *at = strstr(text, "boot=");

	assert_non_null(at);
	at[5] = at[5] == '0' ? '1' : '0';
	rewrite(dir, text);
	free(text);
}

static bool has_card(const char *dir)
{
	char *text = text_of(dir, "machine.card");
	bool has = !strstr(text, " none ");

	free(text);
	return has;
}

static void a_booted_machine_says_what_it_was_and_one_on_another_card_does_not(void **state)
{
	struct machine first, second, third, again;
	char *dir = dir_new(), *card = mem_fmt("%s/machine.card", dir);
	struct err err = { 0 };

	(void)state;
	assert_int_equal(machine_draw(dir, &first, &err), 0);
	boot(dir);
	assert_int_equal(machine_draw(dir, &second, &err), 0);
	assert_string_not_equal(first.drawn, second.drawn);
	assert_string_equal(second.former, has_card(dir) ? first.drawn : "");
	machine_read(dir, &again);
	assert_string_equal(again.former, second.former);
	assert_int_equal(machine_draw(dir, &again, &err), 0); /* its broker starts again */
	assert_string_equal(again.drawn, second.drawn);
	assert_string_equal(again.former, second.former);
	boot(dir);
	char *other = mem_fmt("%s 02:00:00:00:00:01 \n", second.drawn);
	assert_int_equal(fs_write(card, other, strlen(other), 0600, &err), 0);
	assert_int_equal(machine_draw(dir, &third, &err), 0);
	assert_string_equal(third.former, "");
	boot(dir);
	unlink(card); /* drawn by an earlier version: nobody can tell */
	assert_int_equal(machine_draw(dir, &again, &err), 0);
	assert_string_equal(again.former, "");
	free(other);
	free(card);
	dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_loaders_and_the_next_broker_find_what_was_drawn),
		cmocka_unit_test(a_copy_of_the_directory_is_another_machine),
		cmocka_unit_test(after_a_boot_or_what_was_half_written_it_is_drawn_anew),
		cmocka_unit_test(
			a_booted_machine_says_what_it_was_and_one_on_another_card_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
