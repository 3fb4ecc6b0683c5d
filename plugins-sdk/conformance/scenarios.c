/* What is done with a plugin. Each is run in a process of its own. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins-sdk/conformance/conformance.h"
#include "util/check.h"
#include "util/clock.h"

#define HAS(c, member) RUNNER_HAS((c)->plugin, struct runner_plugin, member)
#define INLINE_TRIES   3
#define LEAK_BYTES     8 /* a job, in each round */

/* --- open and close --- */

static void open_plugin(struct check *c)
{
	int code;

	CHECK(!c->is_open);
	c->before = traces_now();
	c->is_open = true;
	enter(c, CALL_OPEN);
	code = c->plugin->open(c->host, &c->self);
	leave(c, CALL_OPEN);
	seen(c, P_open);
	if (code < 0) {
		broke(c, P_open, "open() answered %d", code);
		give_up(c);
	}
}

static void close_plugin(struct check *c)
{
	CHECK(c->is_open);
	if (HAS(c, drain)) {
		enter(c, CALL_DRAIN);
		c->plugin->drain(c->self);
		leave(c, CALL_DRAIN);
	}
	enter(c, CALL_CLOSE);
	c->plugin->close(c->self);
	leave(c, CALL_CLOSE);
	c->is_open = false;
	traces_compare(c);
	children_compare(c);
	manners_compare(c);
}

static void open_and_close(struct check *c)
{
	for (int i = 0; i < 2; i++) {
		open_plugin(c);
		close_plugin(c);
	}
}

/* --- one job --- */

static int64_t budget_us(const struct check *c, const struct run *job)
{
	int64_t us = (int64_t)job->pub.budget_ms * US_PER_MS;

	return us ? us : c->plan->limit_s * US_PER_S / 2;
}

static struct led *lead_one(struct check *c, const struct run *job)
{
	struct led *j = led_new(c, job);

	led_start(j);
	led_lead(j, budget_us(c, job));
	return j;
}

static void alone(struct check *c)
{
	struct led *j;

	open_plugin(c);
	j = lead_one(c, &c->plan->job);
	c->report->exit_code = j->result->exit_code;
	c->report->verdict = j->result->verdict;
	c->report->is_known = true;
	c->report->has_process = j->has_spawned;
	led_close(j);
	close_plugin(c);
}

static bool is_as_alone(const struct check *c, const struct led *j)
{
	return !c->report->is_known || (j->result->exit_code == c->report->exit_code &&
	                                j->result->verdict == c->report->verdict);
}

static void without_parameters(struct check *c)
{
	struct run bare = c->plan->job;
	struct led *j;

	bare.n_params = 0;
	bare.secrets = NULL;
	open_plugin(c);
	j = lead_one(c, &bare);
	seen(c, P_params);
	if (j->answer < 0 && !j->result->text[0])
		broke(c, P_params, "it answered %d and says nothing", j->answer);
	led_close(j);
	close_plugin(c);
}

/* --- inline --- */

static void called_inline(struct check *c)
{
	int blocked = 0;

	if (!(c->plugin->flags & RUNNER_INLINE_OK))
		return;
	open_plugin(c);
	for (int i = 0; i < INLINE_TRIES; i++) {
		struct led *j = led_new(c, &c->plan->job);

		blocked += led_inline(j);
		if (j->answer == RUNNER_THREAD || j->answer == RUNNER_PROCESS) {
			led_start(j);
			led_lead(j, budget_us(c, &c->plan->job));
		} else {
			led_finish(j);
		}
		led_close(j);
	}
	seen(c, P_inline);
	if (blocked == INLINE_TRIES) /* one alone may have been the machine */
		broke(c, P_inline, "the call blocked each of %d times", blocked);
	close_plugin(c);
}

/* --- told to stop, many, again and again --- */

/* A job that is inside, or NULL: it ends by itself too soon. */
static struct led *one_inside(struct check *c)
{
	struct led *j = led_new(c, &c->plan->longer);

	j->is_patient = true;
	led_start(j);
	if (led_is_inside(j, budget_us(c, &c->plan->longer)))
		return j;
	led_lead(j, 1);
	led_close(j);
	return NULL;
}

static void told_to_stop(struct check *c)
{
	struct led *j;

	open_plugin(c);
	j = one_inside(c);
	if (j) {
		led_lead(j, 1); /* at once */
		led_close(j);
	}
	close_plugin(c);
}

static void many(struct check *c, size_t n, struct led **jobs)
{
	for (size_t i = 0; i < n; i++)
		jobs[i] = led_new(c, &c->plan->job);
	for (size_t i = 0; i < n; i++)
		led_start(jobs[i]);
	for (size_t i = 0; i < n; i++)
		led_lead(jobs[i], budget_us(c, &c->plan->job));
}

static void many_at_a_time(struct check *c)
{
	struct led *jobs[PARALLEL];

	open_plugin(c);
	many(c, PARALLEL, jobs);
	seen(c, P_parallel);
	for (size_t i = 0; i < PARALLEL; i++) {
		if (!is_as_alone(c, jobs[i]))
			broke(c, P_parallel, "one of %d: exit code %d, verdict %u; alone %d and %u",
			      PARALLEL, jobs[i]->result->exit_code, jobs[i]->result->verdict,
			      c->report->exit_code, c->report->verdict);
		led_close(jobs[i]);
	}
	close_plugin(c);
}

/* Once may be a cache, and a pool may grow; each time is a leak. */
struct growth {
	size_t heap, threads, descriptors;
	int rounds_heap, rounds_threads, rounds_descriptors;
};

static void scenarios_grow(struct growth *g)
{
	struct traces t = traces_now();
	size_t heap = traces_heap_bytes();

	g->rounds_heap += heap >= g->heap + (size_t)ROUND_JOBS * LEAK_BYTES;
	g->rounds_threads += t.threads >= g->threads + ROUND_JOBS / 2;
	g->rounds_descriptors += t.descriptors >= g->descriptors + ROUND_JOBS / 2;
	g->heap = heap;
	g->threads = t.threads;
	g->descriptors = t.descriptors;
}

static void again_and_again(struct check *c)
{
	struct led *jobs[ROUND_JOBS];
	struct growth g = { 0 };

	open_plugin(c);
	for (int round = 0; round <= ROUNDS; round++) {
		many(c, ROUND_JOBS, jobs);
		for (size_t i = 0; i < ROUND_JOBS; i++)
			led_close(jobs[i]);
		if (round == 0) /* the first fills the caches */
			scenarios_grow(&g), memset(&g.rounds_heap, 0, 3 * sizeof g.rounds_heap);
		else
			scenarios_grow(&g);
	}
	seen(c, P_memory);
	if (g.rounds_heap == ROUNDS)
		broke(c, P_memory, "more memory after each of %d rounds of %d jobs", ROUNDS,
		      ROUND_JOBS);
	if (g.rounds_threads == ROUNDS)
		broke(c, P_threads, "more threads after each of %d rounds of %d jobs", ROUNDS,
		      ROUND_JOBS);
	if (g.rounds_descriptors == ROUNDS)
		broke(c, P_descriptors, "more descriptors after each of %d rounds of %d jobs",
		      ROUNDS, ROUND_JOBS);
	close_plugin(c);
}

/* --- a newer host, drain, jobs that are left --- */

static void newer_host(struct check *c)
{
	struct led *j;

	host_open(c, true);
	open_plugin(c);
	j = lead_one(c, &c->plan->job);
	seen(c, P_newer);
	if (!is_as_alone(c, j))
		broke(c, P_newer, "exit code %d, verdict %u; with a host of 1.0 %d and %u",
		      j->result->exit_code, j->result->verdict, c->report->exit_code,
		      c->report->verdict);
	led_close(j);
	close_plugin(c);
}

static void scenarios_drained(struct check *c)
{
	struct led *j;

	if (!HAS(c, drain))
		return;
	open_plugin(c);
	j = one_inside(c);
	if (j) {
		enter(c, CALL_DRAIN);
		c->plugin->drain(c->self);
		leave(c, CALL_DRAIN);
		led_lead(j, 1);
		led_close(j);
		seen(c, P_drain);
	}
	enter(c, CALL_CLOSE);
	c->plugin->close(c->self);
	leave(c, CALL_CLOSE);
	traces_compare(c);
}

static bool is_alive(pid_t pid)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid;
}

static void broker_ends(struct check *c)
{
	struct runner_result kept;
	struct led *j;

	if (!c->report->has_process)
		return;
	open_plugin(c);
	j = led_new(c, &c->plan->longer);
	j->is_left = true;
	j->is_patient = true;
	led_start(j);
	led_lead(j, budget_us(c, &c->plan->longer));
	if (j->answer == RUNNER_PROCESS && is_alive(j->run.pid)) {
		memcpy(&kept, j->result, sizeof kept);
		led_finish(j);
		seen(c, P_left);
		if (!is_alive(j->run.pid))
			broke(c, P_left, "its process is gone");
		if (memcmp(&kept, j->result, sizeof kept) != 0)
			broke(c, P_left, "the result was changed");
	} else {
		j->is_left = false;
		led_finish(j);
	}
	if (j->run.pid > 0) {
		run_signal(&j->run, SIGKILL);
		run_wait(&j->run, j->result);
	}
	led_close(j);
	close_plugin(c);
}

const struct scenario scenarios[] = {
	{ "open and close", open_and_close, false },   { "one job", alone, false },
	{ "no parameters", without_parameters, true }, { "inline", called_inline, true },
	{ "told to stop", told_to_stop, true },        { "many at a time", many_at_a_time, true },
	{ "again and again", again_and_again, true },  { "a newer host", newer_host, true },
	{ "drain", scenarios_drained, true },          { "the broker ends", broker_ends, true },
};
const size_t n_scenarios = sizeof scenarios / sizeof *scenarios;
