/* Plugins good and bad at the loader's door, and the shape of the ABI. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sirdar/runner.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/loader/plugin.h"
#include "tests/support/child.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"

/* Offsets are the contract: plugins built long ago read them. Only additions at the end. */
#define AT(type, member, offset) \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member " has moved")
#if UINTPTR_MAX == UINT64_MAX
AT(runner_plugin, size, 0);
AT(runner_plugin, abi_major, 4);
AT(runner_plugin, abi_minor, 8);
AT(runner_plugin, flags, 12);
AT(runner_plugin, name, 16);
AT(runner_plugin, version, 24);
AT(runner_plugin, open, 32);
AT(runner_plugin, close, 40);
AT(runner_plugin, prepare, 48);
AT(runner_plugin, execute, 56);
AT(runner_plugin, finish, 64);
AT(runner_plugin, kill, 72);
AT(runner_plugin, drain, 80);
_Static_assert(RUNNER_SIZE_1_0 == 88, "1.0 has 88 bytes");
AT(runner_host, size, 0);
AT(runner_host, abi_minor, 4);
AT(runner_host, ctx, 8);
AT(runner_host, log, 16);
AT(runner_host, progress, 24);
AT(runner_host, param, 32);
AT(runner_host, param_name, 40);
AT(runner_host, output, 48);
AT(runner_host, cancelled, 56);
AT(runner_host, pause, 64);
AT(runner_host, spawn, 72);
AT(runner_host, process_wait, 80);
AT(runner_host, extension, 88);
AT(runner_job, size, 0);
AT(runner_job, flags, 4);
AT(runner_job, token, 8);
AT(runner_job, run_date, 16);
AT(runner_job, due_us, 24);
AT(runner_job, budget_ms, 32);
AT(runner_job, grace_ms, 40);
AT(runner_job, task_id, 48);
AT(runner_job, part, 52);
AT(runner_job, generation, 56);
AT(runner_job, attempt, 60);
AT(runner_job, task_name, 64);
AT(runner_job, timezone, 72);
AT(runner_job, run_as, 80);
AT(runner_result, size, 0);
AT(runner_result, verdict, 4);
AT(runner_result, exit_code, 8);
AT(runner_result, retry_after_ms, 16);
AT(runner_result, text, 24);
AT(runner_process, size, 0);
AT(runner_process, n_files, 4);
AT(runner_process, argv, 8);
AT(runner_process, env, 16);
AT(runner_process, directory, 24);
AT(runner_process, run_as, 32);
AT(runner_process, files, 40);
AT(runner_file, name, 0);
AT(runner_file, data, 8);
AT(runner_file, len, 16);
#endif

static int map(const char *name, const struct runner_plugin **ret, struct err *err)
{
	char *file = mem_fmt("test/plugins/%s.so", name), *path = build_path(file);
	int r = plugin_map(path, ret, err);

	free(file);
	free(path);
	return r;
}

static void refused(const char *name, int code, const char *why)
{
	const struct runner_plugin *p = NULL;
	struct err err = { 0 };

	assert_int_equal(map(name, &p, &err), code);
	assert_null(p);
	if (!strstr(err.text, why))
		fail_msg("%s: want '%s' in '%s'", name, why, err.text);
}

static void bad_plugins_are_refused_with_the_reason(void **state)
{
	(void)state;
	refused("wrong_major", E_ABI, "speaks ABI 2, this broker 1");
	refused("short_struct", E_ABI, "struct of 64 bytes, 1.0 has 88");
	refused("missing_member", E_ABI, "required member `execute` is missing");
	refused("no_entry", E_ABI, "no symbol runner_entry");
	refused("null_entry", E_ABI, "runner_entry returned NULL");
	refused("missing_symbol", E_IO, "nobody_has_this");
	refused("is_not_there", E_NOT_FOUND, "is_not_there.so");
}

static void a_file_that_is_no_plugin_is_refused(void **state)
{
	char *dir = dir_make(), *path = mem_fmt("%s/x.so", dir);
	const struct runner_plugin *p;
	struct err err;

	(void)state;
	assert_int_equal(fs_write(path, "hello", 5, 0600, &err), 0);
	assert_int_equal(plugin_map(path, &p, &err), E_IO);
	assert_non_null(strstr(err.text, "x.so"));
	chmod(path, 0666);
	assert_int_equal(plugin_map(path, &p, &err), E_FORBIDDEN);
	assert_int_equal(plugin_map(dir, &p, &err), E_IO);
	dir_remove(dir);
	free(dir);
	free(path);
}

static void a_plugin_of_a_later_minor_is_taken(void **state)
{
	const struct runner_plugin *p = NULL;
	struct err err;

	(void)state;
	assert_int_equal(map("newer_minor", &p, &err), 0);
	assert_string_equal(p->version, "2");
}

static void an_open_that_fails_says_its_number(void **state)
{
	static const struct runner_host host = { .size = sizeof host };
	const struct runner_plugin *p = NULL;
	struct err err;
	void *self;

	(void)state;
	assert_int_equal(map("open_fails", &p, &err), 0);
	assert_int_equal(plugin_open(p, &host, &self, &err), E_ABI);
	assert_non_null(strstr(err.text, "open() answered -7"));
}

static void what_happens_to_the_file_later_does_not_matter(void **state)
{
	char *dir = dir_make(), *path = mem_fmt("%s/copy.so", dir);
	char *from = build_path("test/plugins/newer_minor.so");
	const struct runner_plugin *p = NULL;
	struct buf bytes;
	struct err err;

	(void)state;
	buf_init(&bytes);
	assert_int_equal(fs_read(from, 64u << 20, &bytes, &err), 0);
	assert_int_equal(fs_write(path, buf_at(&bytes), bytes.len, 0600, &err), 0);
	assert_int_equal(plugin_map(path, &p, &err), 0);
	assert_int_equal(truncate(path, 0), 0); /* the classic SIGBUS */
	assert_string_equal(p->name, "test");
	assert_non_null(p->execute);
	assert_int_equal(p->execute(NULL, NULL, NULL, NULL), RUNNER_DONE);
	buf_done(&bytes);
	dir_remove(dir);
	free(dir);
	free(path);
	free(from);
}

static void optional_members_are_asked_for(void **state)
{
	struct runner_plugin p = { .size = offsetof(struct runner_plugin, drain) };

	(void)state;
	p.drain = (void (*)(void *))(uintptr_t)1; /* beyond its size: not there */
	assert_false(RUNNER_HAS(&p, struct runner_plugin, drain));
	p.size = sizeof p;
	assert_true(RUNNER_HAS(&p, struct runner_plugin, drain));
	p.drain = NULL;
	assert_false(RUNNER_HAS(&p, struct runner_plugin, drain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_plugins_are_refused_with_the_reason),
		cmocka_unit_test(a_file_that_is_no_plugin_is_refused),
		cmocka_unit_test(a_plugin_of_a_later_minor_is_taken),
		cmocka_unit_test(an_open_that_fails_says_its_number),
		cmocka_unit_test(what_happens_to_the_file_later_does_not_matter),
		cmocka_unit_test(optional_members_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
