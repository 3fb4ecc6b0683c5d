/* Settings out of files: places of errors, lists, what the command line overrides, and that
 * what is printed reads back the same. Single settings are in test_param.c. */
#include "util/param.h"

#include "util/buf.h"
#include "util/err.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct param_baseserver p;
static struct err err;

static int setup(void **state)
{
	(void)state;
	memset(&err, 0, sizeof err);
	param_init(&param_baseserver_table, &p);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	param_done(&param_baseserver_table, &p);
	return 0;
}

static int set(const char *assignment)
{
	return param_set(&param_baseserver_table, &p, assignment, &err);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int load_text(const char *text, char *path)
{
	memcpy(path, "/tmp/test_param.XXXXXX", sizeof "/tmp/test_param.XXXXXX");
	close(mkstemp(path));
	write_file(path, text, 0644);
	int r = param_load(&param_baseserver_table, &p, path, &err);
	unlink(path);
	return r;
}

static void file_errors_have_a_place(void **state)
{
	char path[48], want[200];

	(void)state;
	assert_int_equal(load_text("# sirdar\nworkers: 2\n\nkill_ms:   5\n", path), E_INVALID);
	snprintf(want, sizeof want, "kill_ms is '5', want 10..3600000 ms (%s:4:12)", path);
	assert_string_equal(err.text, want);
	assert_int_equal(load_text("worker: 2\n", path), E_INVALID);
	snprintf(want, sizeof want,
	         "baseserver has no setting 'worker', did you mean 'workers'? (%s:1:1)", path);
	assert_string_equal(err.text, want);
	assert_int_equal(load_text("catchup_max: 2\n", path), E_INVALID);
	assert_non_null(strstr(err.text, "'catchup_max' was removed in 0.1, take it out"));
	assert_int_equal(load_text("workers: {a: 1}\n", path), E_INVALID);
	assert_non_null(strstr(err.text, ":1:10"));
	assert_int_equal(load_text("- 1\n", path), E_INVALID);
	assert_int_equal(load_text("workers: [\n", path), E_INVALID);
	assert_int_equal(load_text("workers: 2\nworkers: 3\n", path), E_INVALID);
	assert_non_null(strstr(err.text, "workers is set twice"));
	assert_non_null(strstr(err.text, ":2:1"));
	assert_int_equal(load_text("workers: 2\n---\nworkers: 3\n", path), E_INVALID);
	assert_int_equal(load_text("listen: &a [x]\nstore: *a\n", path), E_INVALID);
	assert_int_equal(load_text("listen: [[x]]\n", path), E_INVALID);
	assert_int_equal(load_text("store: \"mem:\\0x\"\n", path), E_INVALID);
	assert_int_equal(param_load(&param_baseserver_table, &p, "/nonexistent/x", &err),
	                 E_NOT_FOUND);
}

static void empty_and_commented_files_are_all_defaults(void **state)
{
	char path[48];

	(void)state;
	assert_int_equal(load_text("", path), 0);
	assert_int_equal(load_text("# nothing\n\n", path), 0);
	assert_int_equal(load_text("---\n", path), 0);
	assert_int_equal(load_text("{}\n", path), 0);
	assert_int_equal(p.workers, 1);
}

static void file_lists_and_units_are_taken(void **state)
{
	char path[48];

	(void)state;
	assert_int_equal(load_text("listen: [\"127.0.0.1:1\", \"[::1]:2\"]\nlose_ms: 4m\n"
	                           "timezone: Asia/Shanghai\n",
	                           path),
	                 0);
	assert_int_equal(p.listen.n, 2);
	assert_string_equal(p.listen.items[1], "[::1]:2");
	assert_int_equal(p.lose_ms, 240000);
	assert_string_equal(p.timezone, "Asia/Shanghai");
}

static void what_is_printed_reads_back_the_same(void **state)
{
	char path[] = "/tmp/test_param.XXXXXX";
	struct param_baseserver again;
	struct buf restart;

	(void)state;
	buf_init(&restart);
	assert_int_equal(set("listen=127.0.0.1:1,[::1]:2"), 0);
	assert_int_equal(set("state_dir=/a \"b\"\\c: #d"), 0);
	assert_int_equal(set("retention_days=7"), 0);
	close(mkstemp(path));
	FILE *f = fopen(path, "w");
	param_print(&param_baseserver_table, &p, f);
	fclose(f);
	param_init(&param_baseserver_table, &again);
	assert_int_equal(param_load(&param_baseserver_table, &again, path, &err), 0);
	unlink(path);
	assert_int_equal(param_reload(&param_baseserver_table, &p, &again, &restart), 0);
	assert_int_equal(restart.len, 0);
	assert_string_equal(again.state_dir, "/a \"b\"\\c: #d");
	param_done(&param_baseserver_table, &again);
	buf_done(&restart);
}

static void command_line_overrides_the_file(void **state)
{
	char path[] = "/tmp/test_param.XXXXXX";
	const char *argv[] = {
		"baseserver", "-c", path, "--set", "workers=5", "rest", "--set", NULL
	};
	struct param_args args;
	struct param_baseserver q;
	int code = -1;

	(void)state;
	close(mkstemp(path));
	write_file(path, "workers: 2\nretention_days: 3\n", 0644);
	assert_true(param_main(&param_baseserver_table, &q,
	                       &(struct param_words){ 7, (char **)argv, NULL }, &args, &code));
	assert_int_equal(q.workers, 5);
	assert_int_equal(q.retention_days, 3);
	assert_string_equal(args.rest[0], "rest");
	unlink(path);
	param_args_done(&args);
	param_done(&param_baseserver_table, &q);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(file_errors_have_a_place),        T(empty_and_commented_files_are_all_defaults),
		T(file_lists_and_units_are_taken),  T(what_is_printed_reads_back_the_same),
		T(command_line_overrides_the_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
