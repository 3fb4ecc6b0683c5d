/* The cgroup that the launcher lends to its keeper, on directories that look like one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/keeper/delegate.h"

enum { LENT = 62013 };

static const char *const doors[] = { "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control",
	                             "" };
enum { DOORS = sizeof doors / sizeof doors[0] };
static char dir[] = "/tmp/delegate-XXXXXX", path[sizeof dir + 32];

static const char *door(size_t i)
{
	snprintf(path, sizeof path, "%s%s", dir, doors[i]);
	return path;
}

static bool is_lent(void)
{
	struct stat st;

	for (size_t i = 0; i < DOORS; i++)
		if (stat(door(i), &st) < 0 || st.st_gid != LENT || !(st.st_mode & 0020))
			return false;
	return true;
}

/* As systemd does with each command of a unit that it runs. */
static void take_back(void)
{
	for (size_t i = 0; i < DOORS; i++) {
		assert_int_equal(chown(door(i), geteuid(), getegid()), 0);
		assert_int_equal(chmod(door(i), doors[i][0] ? 0644 : 0755), 0);
	}
}

static int begin(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i + 1 < DOORS; i++)
		close(open(door(i), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (size_t i = 0; i < DOORS; i++)
		remove(door(i));
	return 0;
}

static void what_is_lent_and_taken_back_is_lent_again(void **state)
{
	struct delegate_lent lent;

	(void)state;
	if (geteuid() != 0)
		skip(); /* files are given to a group that one is in */
	delegate_lend(dir, LENT, &lent);
	assert_true(is_lent());
	take_back();
	assert_false(is_lent());
	delegate_lend_again(&lent);
	assert_true(is_lent());
	delegate_lend_again(&lent);
	assert_true(is_lent());
}

static void what_was_never_lent_stays_as_it_is(void **state)
{
	struct delegate_lent lent;

	(void)state;
	take_back();
	delegate_lend("off", LENT, &lent);
	delegate_lend_again(&lent);
	assert_false(is_lent());
	delegate_lend("/nowhere", LENT, &lent);
	assert_string_equal(lent.dir, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_lent_and_taken_back_is_lent_again, begin,
		                                NULL),
		cmocka_unit_test_setup_teardown(what_was_never_lent_stays_as_it_is, NULL, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
