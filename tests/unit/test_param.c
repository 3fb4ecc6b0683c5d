/* Settings one by one: defaults, units, ranges, and how a wrong value or name is refused with
 * what would be right; what may change while the program runs. Files of settings are in
 * test_param_file.c. */
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

static const struct param_table *const tables[] = { &param_baseserver_table, &param_cgi_table,
	                                            &param_taskbroker_table };

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

static void defaults_are_good_in_every_table(void **state)
{
	union {
		struct param_baseserver b;
		struct param_cgi c;
		struct param_taskbroker t;
	} any;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		param_init(tables[i], &any);
		assert_int_equal(param_check(tables[i], &any, &err), 0);
		param_done(tables[i], &any);
	}
	assert_int_equal(p.fence_ms, 150000);
	assert_int_equal(p.listen.n, 1);
	assert_string_equal(p.listen.items[0], "127.0.0.1:7420");
}

static void number_out_of_range_names_range_unit_and_place(void **state)
{
	(void)state;
	assert_int_equal(set("beat_ms=5"), E_INVALID);
	assert_string_equal(err.text, "beat_ms is '5', want 10..600000 ms (--set)");
	assert_int_equal(p.beat_ms, 10000);
	assert_int_equal(set("beat_ms=600001"), E_INVALID);
	assert_int_equal(set("beat_ms=600000"), 0);
	assert_int_equal(set("beat_ms=10"), 0);
	assert_int_equal(set("beat_ms=9"), E_INVALID);
	assert_int_equal(p.beat_ms, 10);
}

static void durations_and_sizes_take_units(void **state)
{
	(void)state;
	assert_int_equal(set("lose_ms=2h30m"), 0);
	assert_int_equal(p.lose_ms, 9000000);
	assert_int_equal(set("lose_ms=180000"), 0);
	assert_int_equal(p.lose_ms, 180000);
	assert_int_equal(set("log_job_bytes_max=10MiB"), 0);
	assert_int_equal(p.log_job_bytes_max, 10 << 20);
	assert_int_equal(set("log_job_bytes_max=64K"), 0);
	assert_int_equal(p.log_job_bytes_max, 64 << 10);
}

static void nonsense_is_no_number(void **state)
{
	static const char *const bad[] = { "",
		                           "x",
		                           "1x",
		                           "--1",
		                           "-",
		                           "1 s 2",
		                           "9223372036854775808",
		                           "99999999999999999w",
		                           "18014398509481984w1s" /* 2^64 + 1000 */,
		                           "1.5s",
		                           "0x10",
		                           "m",
		                           "5 5" };
	char text[80];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, "lose_ms=%s", bad[i]);
		assert_int_equal(set(text), E_INVALID);
	}
	assert_int_equal(set("workers=1K"), E_INVALID);
	assert_int_equal(p.lose_ms, 180000);
}

static void unknown_name_gets_the_nearest(void **state)
{
	(void)state;
	assert_int_equal(set("fence_mss=5"), E_INVALID);
	assert_non_null(strstr(err.text, "did you mean 'fence_ms'?"));
	assert_int_equal(set("zzzzzzzzzzz=5"), E_INVALID);
	assert_null(strstr(err.text, "did you mean"));
}

static void a_word_that_is_none_of_the_few_is_told_them(void **state)
{
	(void)state;
	assert_int_equal(set("log_level=verbose"), E_INVALID);
	assert_string_equal(err.text, "log_level is 'verbose', want error|warn|info|debug (--set)");
	assert_int_equal(set("log_level=loud"), 0); /* its length is right: the check refuses */
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), E_INVALID);
	assert_string_equal(err.text, "log_level is 'loud', want error, warn, info or debug");
	assert_int_equal(set("log_level=info"), 0);
	assert_int_equal(set("placement=many"), 0);
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), E_INVALID);
	assert_string_equal(err.text, "placement is 'many', want few or each");
}

static void a_port_that_cannot_be_is_refused(void **state)
{
	static const char *const bad[] = { "127.0.0.1:99999", "127.0.0.1:65536", "127.0.0.1:",
		                           "127.0.0.1",       "127.0.0.1:-1",    ":7420",
		                           "127.0.0.1:x" };
	char text[80];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		snprintf(text, sizeof text, "listen=%s", bad[i]);
		assert_int_equal(set(text), 0);
		assert_int_equal(param_check(&param_baseserver_table, &p, &err), E_INVALID);
		assert_non_null(strstr(err.text, "want ADDRESS:PORT with a port of 0 to 65535"));
	}
	assert_int_equal(set("listen=127.0.0.1:65535,[::1]:0"), 0);
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), 0);
	struct param_cgi face;
	param_init(&param_cgi_table, &face);
	assert_int_equal(param_set(&param_cgi_table, &face, "listen=127.0.0.1:99999", &err), 0);
	assert_int_equal(param_check(&param_cgi_table, &face, &err), E_INVALID);
	assert_non_null(strstr(err.text, "want ADDRESS:PORT"));
	param_done(&param_cgi_table, &face);
}

static void a_pause_is_not_longer_than_its_longest(void **state)
{
	(void)state;
	assert_int_equal(set("start_pause_ms=60001"), 0);
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), E_INVALID);
	assert_non_null(strstr(err.text, "start_pause_ms 60001 must be at most start_pause_max_ms"
	                                 " 60000"));
	assert_int_equal(set("start_pause_ms=60000"), 0);
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), 0);
}

static void equal_timeouts_are_refused_by_name(void **state)
{
	(void)state;
	assert_int_equal(set("lose_ms=165s"), 0);
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), E_INVALID);
	assert_non_null(
		strstr(err.text, "fence_ms 150000 + kill_ms 15000 must be less than lose_ms"));
	assert_int_equal(set("lose_ms=165001"), 0);
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), 0);
}

/* Who has no key that the server knows gets nothing, wherever it listens. */
static void other_than_loopback_needs_no_file_of_keys(void **state)
{
	static const char *const at[] = { "0.0.0.0:7420", "[::]:7420", "192.0.2.1:7420",
		                          "localhost:7420", "[::1]:7420" };
	char text[80];

	(void)state;
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
		snprintf(text, sizeof text, "listen=%s", at[i]);
		assert_int_equal(set(text), 0);
		assert_int_equal(param_check(&param_baseserver_table, &p, &err), 0);
	}
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void secrets_others_can_read_are_refused(void **state)
{
	char path[] = "/tmp/test_param.XXXXXX", text[80];

	(void)state;
	close(mkstemp(path));
	snprintf(text, sizeof text, "keys_file=%s", path);
	assert_int_equal(set(text), 0);
	write_file(path, "b1:00\n", 0640);
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), E_FORBIDDEN);
	assert_non_null(strstr(err.text, "keys_file: "));
	write_file(path, "b1:00\n", 0600);
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), 0);
	unlink(path);
	/* One that is not there yet gives nothing away; key-add makes it, who needs it says so. */
	assert_int_equal(param_check(&param_baseserver_table, &p, &err), 0);
}

static void reload_takes_what_may_and_names_the_rest(void **state)
{
	struct param_baseserver fresh;
	struct buf restart;

	(void)state;
	buf_init(&restart);
	param_init(&param_baseserver_table, &fresh);
	assert_int_equal(param_set(&param_baseserver_table, &fresh, "log_level=debug", &err), 0);
	assert_int_equal(param_set(&param_baseserver_table, &fresh, "workers=3", &err), 0);
	assert_int_equal(param_set(&param_baseserver_table, &fresh, "store=mem:", &err), 0);
	assert_int_equal(param_reload(&param_baseserver_table, &p, &fresh, &restart), 1);
	assert_string_equal(buf_str(&restart), "store, workers");
	assert_string_equal(p.log_level, "debug");
	assert_int_equal(p.workers, 1);
	param_done(&param_baseserver_table, &fresh);
	buf_done(&restart);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		T(defaults_are_good_in_every_table),
		T(number_out_of_range_names_range_unit_and_place),
		T(durations_and_sizes_take_units),
		T(nonsense_is_no_number),
		T(unknown_name_gets_the_nearest),
		T(a_word_that_is_none_of_the_few_is_told_them),
		T(a_port_that_cannot_be_is_refused),
		T(a_pause_is_not_longer_than_its_longest),
		T(equal_timeouts_are_refused_by_name),
		T(other_than_loopback_needs_no_file_of_keys),
		T(secrets_others_can_read_are_refused),
		T(reload_takes_what_may_and_names_the_rest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
