/* One way of three steps in /tmp, spoilt step by step. Other users and groups only where it runs as
 * root. */
#include "util/trust.h"

#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define STRANGER 65534

static char top[] = "/tmp/test_trust.XXXXXX";
static struct err err;

/* top/a/b/f, all of it good. */
static char *at(const char *name)
{
	return mem_fmt("%s/%s", top, name);
}

static void mode(const char *name, mode_t m)
{
	char *path = at(name);

	assert_int_equal(chmod(path, m), 0);
	free(path);
}

static int setup(void **state)
{
	char *dir, *file;
	int r;

	(void)state;
	if (!mkdtemp(top))
		return -1;
	dir = at("a/b");
	file = at("a/b/f");
	r = fs_mkdirs(dir, 0755, &err);
	if (r == 0)
		r = fs_write(file, "x", 1, 0644, &err);
	free(dir);
	free(file);
	return r;
}

static int teardown(void **state)
{
	static const char *const names[] = { "a/b/f", "a/b/l", "a/b/loop", "l", "d", NULL };

	(void)state;
	for (size_t i = 0; names[i]; i++) {
		char *path = at(names[i]);

		unlink(path);
		free(path);
	}
	for (const char *const *d = (const char *const[]){ "a/b", "a", "", NULL }; *d; d++) {
		char *path = at(*d);

		rmdir(path);
		free(path);
	}
	memcpy(top, "/tmp/test_trust.XXXXXX", sizeof top);
	return 0;
}

static void refused(const char *name, const char *of, const char *why)
{
	char *path = at(name), *named = at(of);

	err.text[0] = 0;
	assert_int_equal(trust_check(path, &err), E_FORBIDDEN);
	if (!strstr(err.text, named) || !strstr(err.text, why))
		fail_msg("'%s' names not '%s' and '%s'", err.text, named, why);
	free(path);
	free(named);
}

static void taken(const char *name)
{
	char *path = at(name);

	if (trust_check(path, &err) < 0)
		fail_msg("%s", err.text);
	free(path);
}

static void a_file_that_only_its_owner_may_change_is_taken(void **state)
{
	char here[4096];

	(void)state;
	taken("a/b/f");
	taken("a/./b/../b//f");
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(top), 0);
	assert_int_equal(trust_check("a/b/f", &err), 0);
	assert_int_equal(chdir(here), 0);
}

static void what_others_may_write_is_refused_wherever_on_the_way_it_stands(void **state)
{
	(void)state;
	mode("a/b/f", 0646);
	refused("a/b/f", "a/b/f", "chmod go-w");
	mode("a/b/f", 0644);
	mode("a/b", 0757);
	refused("a/b/f", "a/b:", "anyone may write this directory");
	mode("a/b", 0755);
	mode("a", 0777);
	refused("a/b/f", "a:", "anyone may write this directory, mode 0777");
	mode("a", 01777);
	taken("a/b/f"); /* nobody moves there what is another's */
}

static void what_a_group_of_others_may_write_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip(); /* a group of one's own is none of others */
	mode("a/b/f", 0664);
	refused("a/b/f", "a/b/f", "chmod g-w");
	mode("a/b/f", 0644);
	mode("a", 0775);
	refused("a/b/f", "a:", "may write this directory");
}

static void what_belongs_to_a_stranger_is_refused(void **state)
{
	static const char *const parts[] = { "a/b/f", "a/b", "a" };

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < 3; i++) {
		char *path = at(parts[i]);

		assert_int_equal(chown(path, STRANGER, 0), 0);
		refused("a/b/f", parts[i], "belongs to user 65534");
		assert_int_equal(chown(path, 0, 0), 0);
		free(path);
	}
	taken("a/b/f");
	mode("a", 01777); /* there one may lie in wait for a name */
	char *b = at("a/b");
	assert_int_equal(chown(b, STRANGER, 0), 0);
	refused("a/b/f", "a/b", "belongs to user 65534");
	free(b);
}

static void a_link_is_judged_and_so_is_what_it_leads_to(void **state)
{
	char *dir_link = at("d"), *link = at("l"), *to = at("a/b/f");

	(void)state;
	assert_int_equal(symlink(to, link), 0);
	assert_int_equal(symlink("a", dir_link), 0);
	taken("l");
	taken("d/b/f");
	mode("a/b", 0777);
	refused("l", "a/b:", "anyone may write this directory");
	refused("d/b/f", "a/b:", "anyone may write this directory");
	mode("a/b", 0755);
	if (geteuid() == 0) {
		assert_int_equal(lchown(dir_link, STRANGER, 0), 0);
		refused("d/b/f", "d:", "this link belongs to user 65534");
	}
	free(dir_link);
	free(link);
	free(to);
}

static void links_in_a_circle_end(void **state)
{
	char *loop = at("a/b/loop");

	(void)state;
	assert_int_equal(symlink("loop", loop), 0);
	assert_int_equal(trust_check(loop, &err), E_INVALID);
	free(loop);
	loop = at("a/b/none");
	assert_int_equal(trust_check(loop, &err), E_NOT_FOUND);
	free(loop);
}

static void secrets_and_settings_are_read_over_a_good_way_only(void **state)
{
	char *file = at("a/b/f");
	struct buf text;

	(void)state;
	buf_init(&text);
	mode("a/b/f", 0600);
	mode("a", 0777);
	assert_int_equal(fs_read_secret(file, 10, &text, &err), E_FORBIDDEN);
	assert_int_equal(fs_secret_check(file, &err), E_FORBIDDEN);
	assert_int_equal(fs_read_trusted(file, 10, &text, &err), E_FORBIDDEN);
	assert_int_equal(text.len, 0);
	mode("a", 0755);
	assert_int_equal(fs_read_secret(file, 10, &text, &err), 0);
	assert_int_equal(fs_read_trusted(file, 10, &text, &err), 0);
	buf_done(&text);
	free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(a_file_that_only_its_owner_may_change_is_taken),
		T(what_others_may_write_is_refused_wherever_on_the_way_it_stands),
		T(what_a_group_of_others_may_write_is_refused),
		T(what_belongs_to_a_stranger_is_refused),
		T(a_link_is_judged_and_so_is_what_it_leads_to),
		T(links_in_a_circle_end),
		T(secrets_and_settings_are_read_over_a_good_way_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
