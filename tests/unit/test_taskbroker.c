/* A whole broker machine — taskbroker, loaders, jobkeeper, shell runner — against a server
 * that does what a test wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <ev.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "tests/support/child.h"
#include "tests/support/fakeserver.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/fs.h"

#define PATIENCE_MS 30000

enum { STARTED = 1, ENDED = 3, KILL_ACK = 6 };
enum { READY = 1, REFUSED = 2, CRASHED = 3, QUARANTINED = 4, STOPPED = 5 };

static struct {
	struct fake fake;
	struct ev_loop *loop;
	struct child broker;
	char *dir;
	uint64_t token;
	uint32_t kind, state, count;
	const char *types;
} w;

static void broker_start(void)
{
	char *sets[] = {
		mem_fmt("server=127.0.0.1:%u", w.fake.port),
		mem_fmt("state_dir=%s/state", w.dir),
		mem_fmt("work_dir=%s/jobs", w.dir),
		build_path("runners"),
		mem_fmt("types=%s", w.types),
	};
	char *plugins = build_path("test/plugins");
	char *runners = mem_fmt("runners_dir=%s", strstr(w.types, "shell") ? sets[3] : plugins);

	child_start(&w.broker, "taskbroker", "--set", sets[0], "--set", sets[1], "--set", sets[2],
	            "--set", sets[4], "--set", runners, "--set", "name=b1", "--set",
	            "retry_min_ms=5", "--set", "retry_max_ms=50", "--set", "output_flush_ms=20",
	            "--set", "loader_restart_ms=10", "--set", "report_ms=50", "--set",
	            "load_max_percent=100000", "--set", "stop_ms=3000", "--set",
	            "jobs_as_root=true", (char *)NULL);
	for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
		free(sets[i]);
	free(plugins);
	free(runners);
}

static bool is_ready(struct fake *f)
{
	return f->session && f->credit > 0 && f->loads > 0;
}

static void start(const char *types)
{
	static const struct fake_welcome calm = { 1, 100, 20000, 1000 };

	children_clear();
	memset(&w, 0, sizeof w);
	w.types = types;
	w.dir = dir_make();
	w.loop = ev_loop_new(EVFLAG_NOENV);
	w.fake.welcome = calm;
	fake_open(&w.fake, w.loop);
	broker_start();
}

/* The pid that holds a lock file, 0: nobody. */
static pid_t holder(const char *name)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = mem_fmt("%s/state/%s", w.dir, name);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	pid_t pid = 0;

	free(path);
	if (fd < 0)
		return 0;
	if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
		pid = lock.l_pid;
	close(fd);
	return pid;
}

static bool is_our_keeper(const char *pid)
{
	char *path = mem_fmt("/proc/%s/cmdline", pid), *state = mem_fmt("%s/state", w.dir);
	struct buf text;
	bool is;

	buf_init(&text);
	is = fs_read(path, 65536, &text, NULL) == 0 && text.len > 10 &&
	     !memcmp(buf_at(&text), "jobkeeper", 10) &&
	     memmem(buf_at(&text), text.len, state, strlen(state));
	buf_done(&text);
	free(path);
	free(state);
	return is;
}

static pid_t keeper_pid(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid = 0;

	while (!pid && (entry = readdir(proc))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    is_our_keeper(entry->d_name))
			pid = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	closedir(proc);
	return pid;
}

static void end_keeper(pid_t pid)
{
	struct pollfd end = { .fd = pid > 0 ? pidfd_open(pid, 0) : -1, .events = POLLIN };

	if (end.fd < 0)
		return;
	pidfd_send_signal(end.fd, SIGTERM, NULL, 0);
	poll(&end, 1, 10000);
	close(end.fd);
}

/* The broker's end leaves the keeper: its end is the test's own business. */
static void end_all(void)
{
	pid_t keeper = keeper_pid();

	assert_int_equal(child_end(&w.broker, SIGTERM), 0);
	end_keeper(keeper);
	fake_close(&w.fake);
	ev_loop_destroy(w.loop);
	dir_remove(w.dir);
	free(w.dir);
}

static bool has_report(struct fake *f)
{
	return fake_report(f, w.token, w.kind) != NULL;
}

static const struct fake_report *wait_report(uint64_t token, uint32_t kind)
{
	w.token = token;
	w.kind = kind;
	assert_true(fake_until(&w.fake, has_report, PATIENCE_MS));
	return fake_report(&w.fake, token, kind);
}

static bool has_logs_ended(struct fake *f)
{
	return f->log_ends >= w.count;
}

static void wait_logs(uint32_t ends)
{
	w.count = ends;
	assert_true(fake_until(&w.fake, has_logs_ended, PATIENCE_MS));
}

static bool has_state(struct fake *f)
{
	return f->state == w.state;
}

static void wait_state(uint32_t state)
{
	w.state = state;
	assert_true(fake_until(&w.fake, has_state, PATIENCE_MS));
}

#define PARAMS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void assert_log(int stream, const char *want)
{
	assert_string_equal(buf_str(&w.fake.log[stream]), want);
}

/* --- the shell runner ------------------------------------------------------------- */

static void shell_start(void)
{
	start("shell:4");
	assert_true(fake_until(&w.fake, is_ready, PATIENCE_MS));
}

static void a_script_runs_and_its_output_and_exit_arrive(void **state)
{
	(void)state;
	shell_start();
	fake_grant(&w.fake, 1,
	           PARAMS("script", "echo out; echo err >&2; echo '::output rows=7'; exit 3"));
	const struct fake_report *r = wait_report(1, ENDED);

	assert_int_equal(r->exit_code, 3);
	assert_string_equal(r->output, "rows=7");
	wait_logs(2);
	assert_log(1, "out\n::output rows=7\n");
	assert_log(2, "err\n");
	end_all();
}

static void the_attempt_is_told_to_the_script(void **state)
{
	(void)state;
	shell_start();
	fake_grant(&w.fake, 2,
	           PARAMS("script",
	                  "echo $SIRDAR_FENCE_TOKEN $SIRDAR_RUN_DATE $SIRDAR_TASK "
	                  "$SIRDAR_ATTEMPT $SIRDAR_BIZ_DATE $city $SIRDAR_PARAM_a_b $MORE; pwd",
	                  "biz_date", "2026-03-01", "city", "Ulm", "a-b", "dash", "environment",
	                  "MORE=yes\n"));
	wait_report(2, ENDED);
	wait_logs(1);
	char *want = mem_fmt("2 1772323200 p/w/t 1 2026-03-01 Ulm dash yes\n%s/jobs\n", w.dir);

	assert_log(1, want);
	free(want);
	end_all();
}

static void parameters_are_never_read_as_shell(void **state)
{
	(void)state;
	shell_start();
	fake_grant(
		&w.fake, 3,
		PARAMS("script", "printf '%s\\n' \"$evil\"", "evil", "$(echo no) `echo no`; 'x"));
	wait_report(3, ENDED);
	wait_logs(1);
	assert_log(1, "$(echo no) `echo no`; 'x\n");
	end_all();
}

static void a_list_and_a_plain_command_need_no_shell(void **state)
{
	(void)state;
	shell_start();
	fake_grant(&w.fake, 4, PARAMS("argv", "[\"/bin/echo\", \"$HOME \\u00e9\", \"a\\\"b\"]"));
	wait_report(4, ENDED);
	wait_logs(1);
	assert_log(1, "$HOME \xc3\xa9 a\"b\n");
	buf_clear(&w.fake.log[1]);
	w.fake.log_ends = 0;
	fake_grant(&w.fake, 5, PARAMS("command", "readlink /proc/self/exe"));
	wait_report(5, ENDED);
	wait_logs(1);
	assert_non_null(strstr(buf_str(&w.fake.log[1]), "readlink"));
	end_all();
}

static void a_first_line_names_the_interpreter(void **state)
{
	(void)state;
	shell_start();
	fake_grant(&w.fake, 6, PARAMS("script", "#!/usr/bin/env bash\na=(x y); echo ${a[1]}\n"));
	wait_report(6, ENDED);
	wait_logs(1);
	assert_log(1, "y\n");
	end_all();
}

static void what_cannot_run_is_fatal_with_the_reason(void **state)
{
	(void)state;
	shell_start();
	fake_grant(&w.fake, 7, PARAMS("command", "no-such-program-anywhere"));
	const struct fake_report *r = wait_report(7, ENDED);

	assert_int_equal(r->exit_code, 127);
	assert_int_equal(r->verdict, 2);
	fake_grant(&w.fake, 8, PARAMS("command", "true", "script", "true"));
	r = wait_report(8, ENDED);
	assert_int_equal(r->verdict, 2);
	assert_non_null(strstr(r->text, "exactly one of"));
	fake_grant(&w.fake, 9, PARAMS("command", "true", "user", "nobody"));
	r = wait_report(9, ENDED);
	assert_non_null(strstr(r->text, "may not run jobs as"));
	assert_int_equal(r->verdict, 2);
	end_all();
}

static void a_kill_ends_the_whole_tree(void **state)
{
	(void)state;
	shell_start();
	fake_grant(&w.fake, 10,
	           PARAMS("script", "trap '' TERM; (trap '' TERM; sleep 1000) & sleep 1000"));
	wait_report(10, STARTED);
	fake_kill(&w.fake, 10, 100000);
	wait_report(10, KILL_ACK);
	const struct fake_report *r = wait_report(10, ENDED);

	assert_true(r->exit_code == -9 || r->exit_code == -15);
	end_all();
}

/* --- deaths ----------------------------------------------------------------------- */

static bool has_begun(struct fake *f)
{
	return f->log[1].len > 0;
}

/* A job that goes on until a file appears, and has said so. */
static void long_job(uint64_t token)
{
	fake_grant(&w.fake, token,
	           PARAMS("script", "echo began; while [ ! -e go ]; do sleep 0.02; "
	                            "done; echo over; exit 5"));
	wait_report(token, STARTED);
	assert_true(fake_until(&w.fake, has_begun, PATIENCE_MS));
}

static void let_go(void)
{
	char *path = mem_fmt("%s/jobs/go", w.dir);

	assert_int_equal(fs_write(path, "", 0, 0600, NULL), 0);
	free(path);
}

static bool is_held_again(struct fake *f)
{
	return f->session && f->hellos >= w.count && f->n_hello_held == 1;
}

static void finish_long_job(uint64_t token)
{
	let_go();
	assert_int_equal(wait_report(token, ENDED)->exit_code, 5);
	wait_logs(1);
	assert_log(1, "began\nover\n");
}

static void a_loader_killed_is_replaced_and_finds_its_job(void **state)
{
	(void)state;
	shell_start();
	long_job(20);
	w.count = w.fake.hellos + 1;
	kill(holder("loader.shell.lock"), SIGKILL);
	assert_true(fake_until(&w.fake, is_held_again, PATIENCE_MS));
	finish_long_job(20);
	end_all();
}

static void a_broker_killed_leaves_jobs_alone_and_the_next_takes_over(void **state)
{
	(void)state;
	shell_start();
	long_job(21);
	pid_t keeper = keeper_pid();

	assert_true(keeper > 0);
	assert_int_equal(child_end(&w.broker, SIGKILL), -SIGKILL);
	pid_t old = holder("loader.shell.lock");

	assert_true(old > 0); /* it goes on without its broker */
	w.count = w.fake.hellos + 1;
	broker_start();
	assert_true(fake_until(&w.fake, is_held_again, PATIENCE_MS));
	assert_int_not_equal(holder("loader.shell.lock"), old);
	assert_int_equal(kill(keeper, 0), 0);
	finish_long_job(21);
	end_all();
}

static void a_stop_of_the_broker_leaves_jobs_alone(void **state)
{
	(void)state;
	shell_start();
	long_job(22);
	pid_t keeper = keeper_pid();

	assert_int_equal(child_end(&w.broker, SIGTERM), 0);
	assert_int_equal(holder("loader.shell.lock"), 0);
	assert_int_equal(kill(keeper, 0), 0);
	w.count = w.fake.hellos + 1;
	broker_start();
	assert_true(fake_until(&w.fake, is_held_again, PATIENCE_MS));
	finish_long_job(22);
	end_all();
}

static void a_keeper_killed_is_replaced_and_its_job_is_lost(void **state)
{
	(void)state;
	shell_start();
	long_job(23);
	kill(keeper_pid(), SIGKILL);
	wait_report(23, 9);
	fake_grant(&w.fake, 24, PARAMS("script", "exit 4"));
	assert_int_equal(wait_report(24, ENDED)->exit_code, 4);
	end_all();
}

/* --- runners that are no good ----------------------------------------------------- */

static void a_bad_plugin_is_shown_refused_and_not_tried_again(void **state)
{
	(void)state;
	start("missing_member:2");
	wait_state(REFUSED);
	assert_non_null(strstr(w.fake.state_text, "required member `execute` is missing"));
	fake_order(&w.fake, "enable", "missing_member"); /* until asked */
	w.fake.state = 0;
	wait_state(REFUSED);
	end_all();
}

static void a_runner_that_crashes_again_and_again_is_quarantined(void **state)
{
	(void)state;
	start("open_crashes:2");
	wait_state(QUARANTINED);
	assert_non_null(strstr(w.fake.state_text, "SIGKILL"));
	end_all();
}

static void a_type_is_disabled_and_enabled_by_order(void **state)
{
	(void)state;
	shell_start();
	fake_order(&w.fake, "disable", "shell");
	wait_state(STOPPED);
	w.fake.credit = 0; /* the new loader may be here before the broker says that it is ready */
	fake_order(&w.fake, "enable", "shell");
	wait_state(READY);
	assert_true(fake_until(&w.fake, is_ready, PATIENCE_MS));
	end_all();
}

/* --- footprint -------------------------------------------------------------------- */

static long rss_kb(pid_t pid)
{
	char path[64];
	struct buf text;
	const char *at;
	long kb = 0;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	buf_init(&text);
	if (fs_read(path, 65536, &text, NULL) == 0 && (at = strstr(buf_str(&text), "VmRSS:")))
		kb = strtol(at + 6, NULL, 10);
	buf_done(&text);
	return kb;
}

static void an_idle_machine_takes_little_memory(void **state)
{
	(void)state;
	shell_start();
	long broker = rss_kb(w.broker.pid), loader = rss_kb(holder("loader.shell.lock"));
	long keeper = rss_kb(keeper_pid());

	print_message("RSS: taskbroker %ld KB, loader %ld KB, jobkeeper %ld KB\n", broker, loader,
	              keeper);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	assert_true(broker + loader + keeper <= 15 * 1024);
#endif
	end_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_script_runs_and_its_output_and_exit_arrive),
		cmocka_unit_test(the_attempt_is_told_to_the_script),
		cmocka_unit_test(parameters_are_never_read_as_shell),
		cmocka_unit_test(a_list_and_a_plain_command_need_no_shell),
		cmocka_unit_test(a_first_line_names_the_interpreter),
		cmocka_unit_test(what_cannot_run_is_fatal_with_the_reason),
		cmocka_unit_test(a_kill_ends_the_whole_tree),
		cmocka_unit_test(a_loader_killed_is_replaced_and_finds_its_job),
		cmocka_unit_test(a_broker_killed_leaves_jobs_alone_and_the_next_takes_over),
		cmocka_unit_test(a_stop_of_the_broker_leaves_jobs_alone),
		cmocka_unit_test(a_keeper_killed_is_replaced_and_its_job_is_lost),
		cmocka_unit_test(a_bad_plugin_is_shown_refused_and_not_tried_again),
		cmocka_unit_test(a_runner_that_crashes_again_and_again_is_quarantined),
		cmocka_unit_test(a_type_is_disabled_and_enabled_by_order),
		cmocka_unit_test(an_idle_machine_takes_little_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
