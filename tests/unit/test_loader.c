/* The loader against a server that does what a test wants: in-process jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/child.h"
#include "tests/support/fakeserver.h"
#include "util/alloc.h"
#include "wire/session.h"

#define PATIENCE_MS 20000

enum {
	STARTED = 1,
	PROGRESS = 2,
	ENDED = 3,
	REJECTED = 4,
	KILL_ACK = 6,
	HANGED = 7,
	NOT_YET = 8,
	LOST = 9
};

struct world {
	struct fake fake;
	struct ev_loop *loop;
	struct child loader, keeper;
	char *dir, *plugin;
	bool has_keeper;
	uint64_t token; /* what wait_* functions look for */
	uint32_t kind, count;
};

static struct world w;
static const char *chunk_set = "output_chunk_bytes=65536";

static void loader_start(const char *slots)
{
	char *server = mem_fmt("server=127.0.0.1:%u", w.fake.port);
	char *state = mem_fmt("state_dir=%s", w.dir), *work = mem_fmt("work_dir=%s", w.dir);
	char line[300];

	child_start(&w.loader, "taskrunner-loader", "--set", server, "--set", state, "--set", work,
	            "--set", "jobs_as_root=true", "--set", "name=b1", "--set", "retry_min_ms=5",
	            "--set", "retry_max_ms=50", "--set", "output_flush_ms=20", "--set",
	            "stop_ms=2000", "--set", chunk_set, "--type", "t", "--slots", slots, "--plugin",
	            w.plugin, "--status-fd", "3", (char *)NULL);
	free(server);
	free(state);
	free(work);
	child_line(&w.loader, line, sizeof line);
	assert_true(strncmp(line, "ready 1 1 ", 10) == 0);
}

static void world_open(const char *plugin, struct fake_welcome welcome)
{
	children_clear();
	memset(&w, 0, sizeof w);
	w.dir = dir_make();
	w.plugin = build_path(plugin);
	w.loop = ev_loop_new(EVFLAG_NOENV);
	w.fake.welcome = welcome;
	fake_open(&w.fake, w.loop);
}

static void world_close(void)
{
	fake_close(&w.fake);
	ev_loop_destroy(w.loop);
	dir_remove(w.dir);
	free(w.dir);
	free(w.plugin);
}

static bool has_credit(struct fake *f)
{
	return f->session && f->credit > 0;
}

static bool has_report(struct fake *f)
{
	return fake_report(f, w.token, w.kind) != NULL;
}

static bool holds_nothing(struct fake *f)
{
	return f->n_held == 0 && f->beats > w.count;
}

static bool holds_it(struct fake *f)
{
	for (size_t i = 0; i < f->n_held; i++) {
		if (f->held[i] == w.token)
			return true;
	}
	return false;
}

static const struct fake_report *wait_report(uint64_t token, uint32_t kind)
{
	w.token = token;
	w.kind = kind;
	assert_true(fake_until(&w.fake, has_report, PATIENCE_MS));
	return fake_report(&w.fake, token, kind);
}

static void start(const char *plugin)
{
	static const struct fake_welcome calm = { 3, 50, 10000, 500 };

	world_open(plugin, calm);
	loader_start("4");
	assert_true(fake_until(&w.fake, has_credit, PATIENCE_MS));
}

static void end_well(void)
{
	assert_int_equal(child_end(&w.loader, SIGTERM), 0);
	world_close();
}

static uint32_t count_reports(uint64_t token, uint32_t kind)
{
	uint32_t n = 0;

	for (size_t i = 0; i < w.fake.n_reports; i++)
		n += w.fake.reports[i].token == token && w.fake.reports[i].kind == kind;
	return n;
}

#define PARAMS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void a_job_is_run_reported_and_let_go(void **state)
{
	(void)state;
	start("runners/noop.so");
	assert_string_equal(w.fake.hello_name, "b1");
	assert_string_equal(w.fake.hello_type, "t");
	assert_int_equal(w.fake.hello_role, 2);
	assert_int_equal(w.fake.credit, 4);
	fake_grant(&w.fake, 11, NULL);
	const struct fake_report *r = wait_report(11, ENDED);

	assert_int_equal(r->exit_code, 0);
	assert_int_equal(r->verdict, 0);
	w.count = w.fake.beats + 1;
	assert_true(fake_until(&w.fake, holds_nothing, PATIENCE_MS));
	assert_int_equal(w.fake.credit, 5); /* a running total: one done, four open */
	end_well();
}

static bool has_log_end(struct fake *f)
{
	return f->log_ends > 0;
}

static void result_output_and_log_arrive(void **state)
{
	(void)state;
	start("runners/noop.so");
	fake_grant(&w.fake, 12,
	           PARAMS("exit", "3", "verdict", "fatal", "output", "rows=42", "text",
	                  "hello log\n"));
	const struct fake_report *r = wait_report(12, ENDED);

	assert_int_equal(r->exit_code, 3);
	assert_int_equal(r->verdict, 2);
	assert_string_equal(r->output, "rows=42");
	assert_true(fake_until(&w.fake, has_log_end, PATIENCE_MS));
	assert_string_equal(buf_str(&w.fake.log[1]), "hello log\n");
	fake_grant(&w.fake, 13, PARAMS("verdict", "not_yet", "retry_after_ms", "500"));
	wait_report(13, NOT_YET);
	end_well();
}

static void a_token_held_is_not_run_again(void **state)
{
	(void)state;
	start("runners/noop.so");
	fake_grant(&w.fake, 20, PARAMS("sleep_ms", "60000"));
	w.token = 20;
	assert_true(fake_until(&w.fake, holds_it, PATIENCE_MS));
	fake_grant(&w.fake, 20, PARAMS("exit", "9"));
	fake_kill(&w.fake, 20, 500000);
	wait_report(20, KILL_ACK);
	assert_int_equal(wait_report(20, ENDED)->exit_code, -15);
	fake_grant(&w.fake, 21, NULL);
	wait_report(21, ENDED);
	assert_int_equal(count_reports(20, ENDED), 1);
	end_well();
}

static bool was_greeted_again(struct fake *f)
{
	return f->hellos > w.count;
}

static bool has_two_hellos(struct fake *f)
{
	return f->hellos >= 2 && has_credit(f);
}

static bool is_told_twice(struct fake *f)
{
	(void)f;
	return count_reports(w.token, ENDED) >= 2;
}

static void an_end_is_told_until_it_is_acknowledged(void **state)
{
	(void)state;
	start("runners/noop.so");
	w.fake.mute_acks = true;
	fake_grant(&w.fake, 30, PARAMS("exit", "5"));
	uint32_t seq = wait_report(30, ENDED)->seq;

	fake_hang_up(&w.fake);
	assert_true(fake_until(&w.fake, has_two_hellos, PATIENCE_MS));
	assert_int_equal(w.fake.n_hello_held, 1); /* still held: nobody has taken its end */
	w.fake.mute_acks = false;
	w.token = 30;
	assert_true(fake_until(&w.fake, is_told_twice, PATIENCE_MS));
	assert_int_equal(fake_report(&w.fake, 30, ENDED)->seq, seq);
	w.count = w.fake.beats + 1;
	assert_true(fake_until(&w.fake, holds_nothing, PATIENCE_MS));
	end_well();
}

static void an_end_refused_for_now_is_told_again(void **state)
{
	(void)state;
	start("runners/noop.so");
	w.fake.ack_code = -10; /* AGAIN */
	fake_grant(&w.fake, 31, PARAMS("exit", "5"));
	wait_report(31, ENDED);
	w.token = 31;
	w.fake.ack_code = 0;
	assert_true(fake_until(&w.fake, is_told_twice, PATIENCE_MS));
	end_well();
}

static void a_kill_of_what_is_not_held_is_answered(void **state)
{
	(void)state;
	start("runners/noop.so");
	fake_kill(&w.fake, 99, 0);
	wait_report(99, LOST);
	end_well();
}

static bool is_down(struct fake *f)
{
	return !f->session;
}

static void orders_of_a_lower_epoch_are_refused(void **state)
{
	(void)state;
	start("runners/noop.so");
	w.fake.welcome.epoch = 2; /* it was welcomed by 3 */
	fake_grant(&w.fake, 40, NULL);
	assert_true(fake_until(&w.fake, is_down, PATIENCE_MS));
	assert_null(fake_report(&w.fake, 40, 0));
	/* nor does it obey a welcome of that epoch, until a higher one comes */
	w.fake.credit = 0;
	w.fake.welcome.epoch = 4;
	assert_true(fake_until(&w.fake, has_credit, PATIENCE_MS));
	end_well();
}

static void a_loader_started_anew_remembers_the_epoch(void **state)
{
	(void)state;
	start("runners/noop.so");
	assert_int_equal(child_end(&w.loader, SIGKILL), -SIGKILL);
	w.fake.welcome.epoch = 2;
	w.fake.credit = 0;

	loader_start("4");
	w.count = w.fake.hellos;
	assert_true(fake_until(&w.fake, was_greeted_again, PATIENCE_MS));
	assert_false(fake_until(&w.fake, has_credit, 300));
	w.fake.welcome.epoch = 3;
	assert_true(fake_until(&w.fake, has_credit, PATIENCE_MS));
	end_well();
}

static void a_job_past_the_fence_is_stopped(void **state)
{
	static const struct fake_welcome hasty = { 1, 50, 400, 2000 };

	(void)state;
	world_open("runners/noop.so", hasty);
	loader_start("4");
	assert_true(fake_until(&w.fake, has_credit, PATIENCE_MS));
	fake_grant(&w.fake, 50, PARAMS("sleep_ms", "60000"));
	w.token = 50;
	assert_true(fake_until(&w.fake, holds_it, PATIENCE_MS));
	w.fake.mute_beats = true;
	const struct fake_report *r = wait_report(50, ENDED);

	assert_int_equal(r->exit_code, -15);
	assert_int_equal(r->reason, 5); /* FENCED */
	end_well();
}

static void a_job_that_does_not_stop_at_the_fence_ends_the_process(void **state)
{
	static const struct fake_welcome hasty = { 1, 50, 400, 200 };

	(void)state;
	world_open("test/plugins/odd.so", hasty);
	child_start(&w.keeper, "jobkeeper", "--state", w.dir, (char *)NULL);
	loader_start("4");
	assert_true(fake_until(&w.fake, has_credit, PATIENCE_MS));
	fake_grant(&w.fake, 51, PARAMS("do", "stuck"));
	w.token = 51;
	assert_true(fake_until(&w.fake, holds_it, PATIENCE_MS));
	w.fake.mute_beats = true;
	assert_true(fake_until(&w.fake, is_down, PATIENCE_MS));
	assert_int_equal(child_end(&w.loader, 0), 75);
	assert_null(fake_report(&w.fake, 51, ENDED));
	assert_int_equal(child_end(&w.keeper, SIGTERM), 0);
	world_close();
}

static void a_job_the_server_does_not_know_is_stopped(void **state)
{
	(void)state;
	start("runners/noop.so");
	fake_grant(&w.fake, 60, PARAMS("sleep_ms", "60000"));
	w.token = 60;
	assert_true(fake_until(&w.fake, holds_it, PATIENCE_MS));
	w.fake.unknown = 60;
	assert_int_equal(wait_report(60, ENDED)->exit_code, -15);
	end_well();
}

static void more_than_the_slots_is_rejected(void **state)
{
	(void)state;
	start("runners/noop.so");
	for (uint64_t token = 70; token < 75; token++)
		fake_grant(&w.fake, token, PARAMS("sleep_ms", "60000"));
	wait_report(74, REJECTED);
	for (uint64_t token = 70; token < 74; token++)
		fake_kill(&w.fake, token, 500000);
	for (uint64_t token = 70; token < 74; token++)
		wait_report(token, ENDED);
	end_well();
}

static void a_stop_lets_in_process_jobs_end(void **state)
{
	(void)state;
	start("runners/noop.so");
	fake_grant(&w.fake, 80, PARAMS("sleep_ms", "300", "exit", "6"));
	w.token = 80;
	assert_true(fake_until(&w.fake, holds_it, PATIENCE_MS));
	kill(w.loader.pid, SIGTERM);
	assert_int_equal(wait_report(80, ENDED)->exit_code, 6);
	assert_true(fake_until(&w.fake, is_down, PATIENCE_MS));
	assert_int_equal(child_end(&w.loader, 0), 0);
	world_close();
}

static void a_plugin_refused_is_said_with_the_reason(void **state)
{
	static const struct fake_welcome calm = { 1, 50, 10000, 500 };
	char line[300];

	(void)state;
	world_open("test/plugins/wrong_major.so", calm);
	child_start(&w.loader, "taskrunner-loader", "--set", "state_dir=/tmp", "--type",
	            "refused-t", "--plugin", w.plugin, "--status-fd", "3", (char *)NULL);
	child_line(&w.loader, line, sizeof line);
	assert_true(strncmp(line, "refused ", 8) == 0);
	assert_non_null(strstr(line, "speaks ABI 2, this broker 1"));
	assert_int_equal(child_end(&w.loader, 0), 78);
	remove("/tmp/loader.refused-t.lock");
	world_close();
}

static void many_jobs_in_one_frame_all_end(void **state)
{
	/* Slow beats: an end is told again after three silent ones, and would be counted twice. */
	static const struct fake_welcome calm = { 1, 1000, 10000, 500 };

	(void)state;
	world_open("runners/noop.so", calm);
	loader_start("5000");
	assert_true(fake_until(&w.fake, has_credit, PATIENCE_MS));
	fake_grant_many(&w.fake, 1000, 5000);
	wait_report(5999, ENDED);
	w.count = w.fake.beats + 1;
	assert_true(fake_until(&w.fake, holds_nothing, PATIENCE_MS));
	assert_int_equal(w.fake.ended, 5000);
	assert_int_equal(w.fake.credit, 10000);
	end_well();
}

/* --- a runner with its own ways, and a keeper ------------------------------------- */

static void odd_start(void)
{
	static const struct fake_welcome calm = { 3, 50, 10000, 500 };

	world_open("test/plugins/odd.so", calm);
	child_start(&w.keeper, "jobkeeper", "--state", w.dir, (char *)NULL);
	loader_start("4");
	assert_true(fake_until(&w.fake, has_credit, PATIENCE_MS));
}

static void odd_end(void)
{
	assert_int_equal(child_end(&w.loader, SIGTERM), 0);
	assert_int_equal(child_end(&w.keeper, SIGTERM), 0);
	world_close();
}

static void prepare_can_end_a_job_in_one_clean_line(void **state)
{
	(void)state;
	odd_start();
	fake_grant(&w.fake, 90, PARAMS("do", "prepare"));
	const struct fake_report *r = wait_report(90, ENDED);

	assert_int_equal(r->verdict, 2);
	assert_string_equal(r->text, "not like");
	odd_end();
}

static void kill_reaches_the_runner(void **state)
{
	(void)state;
	odd_start();
	fake_grant(&w.fake, 91, PARAMS("do", "kill"));
	wait_report(91, STARTED);
	fake_kill(&w.fake, 91, 5000000);
	wait_report(91, KILL_ACK);
	assert_int_equal(wait_report(91, ENDED)->exit_code, 0); /* its own choice */
	odd_end();
}

static void a_job_that_ignores_its_kill_is_hanged(void **state)
{
	(void)state;
	odd_start();
	fake_grant(&w.fake, 92, PARAMS("do", "stuck"));
	wait_report(92, STARTED);
	fake_kill(&w.fake, 92, 100000);
	wait_report(92, HANGED);
	kill(w.loader.pid, SIGKILL);
	assert_int_equal(child_end(&w.loader, 0), -SIGKILL);
	assert_int_equal(child_end(&w.keeper, SIGTERM), 0);
	world_close();
}

static void a_secret_is_asked_of_the_server(void **state)
{
	(void)state;
	odd_start();
	fake_param(&w.fake, "s3cret");
	fake_grant(&w.fake, 93, PARAMS("do", "secret"));
	wait_report(93, ENDED);
	assert_true(fake_until(&w.fake, has_log_end, PATIENCE_MS));
	assert_string_equal(buf_str(&w.fake.log[2]), "******"); /* and it is hidden */
	fake_param(&w.fake, NULL);
	w.fake.log_ends = 0;
	buf_clear(&w.fake.log[2]);
	fake_grant(&w.fake, 94, PARAMS("do", "secret"));
	wait_report(94, ENDED);
	assert_true(fake_until(&w.fake, has_log_end, PATIENCE_MS));
	assert_string_equal(buf_str(&w.fake.log[2]), "none");
	odd_end();
}

static void a_runner_can_wait_for_its_process(void **state)
{
	(void)state;
	odd_start();
	fake_grant(&w.fake, 95, PARAMS("do", "wait"));
	assert_int_equal(wait_report(95, ENDED)->exit_code, 14);
	assert_true(fake_until(&w.fake, has_log_end, PATIENCE_MS));
	assert_string_equal(buf_str(&w.fake.log[1]), "waited\n");
	fake_grant(&w.fake, 96, PARAMS("do", "process"));
	const struct fake_report *r = wait_report(96, ENDED);

	assert_int_equal(r->verdict, 3);
	assert_string_equal(r->text, "the runner started no process");
	odd_end();
}

static void a_wordy_job_is_cut_not_the_loader(void **state)
{
	(void)state;
	odd_start();
	fake_grant(&w.fake, 97, PARAMS("do", "wordy"));
	const struct fake_report *r = wait_report(97, PROGRESS);

	assert_int_equal(r->progress, 500);
	assert_string_equal(r->text, "half");
	fake_kill(&w.fake, 97, 5000000);
	wait_report(97, ENDED);
	assert_true(fake_until(&w.fake, has_log_end, PATIENCE_MS));
	assert_true(w.fake.log[1].len > 10 && w.fake.log[1].len <= 65536);
	odd_end();
}

static void output_is_shipped_in_pieces_of_output_chunk_bytes(void **state)
{
	static const char *const sets[] = { "output_chunk_bytes=1024", "output_chunk_bytes=5000" };
	static const size_t bytes[] = { 1024, 5000 };
	const char *was = chunk_set;

	(void)state;
	for (int i = 0; i < 2; i++) {
		chunk_set = sets[i];
		odd_start();
		fake_grant(&w.fake, 98, PARAMS("do", "wordy"));
		wait_report(98, PROGRESS);
		fake_kill(&w.fake, 98, 5000000);
		assert_true(fake_until(&w.fake, has_log_end, PATIENCE_MS));
		assert_int_equal(w.fake.chunk_most, bytes[i]);
		odd_end();
	}
	chunk_set = was;
}

static void a_job_that_kills_the_loader_is_not_held_by_the_next(void **state)
{
	(void)state;
	odd_start();
	fake_grant(&w.fake, 98, PARAMS("do", "crash"));
	assert_true(fake_until(&w.fake, is_down, PATIENCE_MS));
	assert_int_equal(child_end(&w.loader, 0), -SIGKILL);
	w.fake.credit = 0;
	loader_start("4");
	assert_true(fake_until(&w.fake, has_credit, PATIENCE_MS));
	assert_int_equal(w.fake.n_hello_held, 0);
	odd_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_run_reported_and_let_go),
		cmocka_unit_test(result_output_and_log_arrive),
		cmocka_unit_test(a_token_held_is_not_run_again),
		cmocka_unit_test(an_end_is_told_until_it_is_acknowledged),
		cmocka_unit_test(an_end_refused_for_now_is_told_again),
		cmocka_unit_test(a_kill_of_what_is_not_held_is_answered),
		cmocka_unit_test(orders_of_a_lower_epoch_are_refused),
		cmocka_unit_test(a_loader_started_anew_remembers_the_epoch),
		cmocka_unit_test(a_job_past_the_fence_is_stopped),
		cmocka_unit_test(a_job_that_does_not_stop_at_the_fence_ends_the_process),
		cmocka_unit_test(a_job_the_server_does_not_know_is_stopped),
		cmocka_unit_test(more_than_the_slots_is_rejected),
		cmocka_unit_test(a_stop_lets_in_process_jobs_end),
		cmocka_unit_test(a_plugin_refused_is_said_with_the_reason),
		cmocka_unit_test(many_jobs_in_one_frame_all_end),
		cmocka_unit_test(prepare_can_end_a_job_in_one_clean_line),
		cmocka_unit_test(kill_reaches_the_runner),
		cmocka_unit_test(a_job_that_ignores_its_kill_is_hanged),
		cmocka_unit_test(a_secret_is_asked_of_the_server),
		cmocka_unit_test(a_runner_can_wait_for_its_process),
		cmocka_unit_test(a_wordy_job_is_cut_not_the_loader),
		cmocka_unit_test(output_is_shipped_in_pieces_of_output_chunk_bytes),
		cmocka_unit_test(a_job_that_kills_the_loader_is_not_held_by_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
