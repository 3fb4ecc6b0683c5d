/* One job, led through the plugin as a broker does, each answer looked at. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plugins-sdk/conformance/conformance.h"
#include "util/check.h"
#include "util/clock.h"

#define HAS(c, member)     RUNNER_HAS((c)->plugin, struct runner_plugin, member)
#define BLOCKED_US         (50 * US_PER_MS)
#define KILL_BLOCKED_US    US_PER_S
#define AFTER_FORCE_US     (5 * US_PER_S)
#define UNKNOWN_FLAG       (1u << 20)
#define FORGOTTEN_FLAGS(j) ((j)->is_newer ? UNKNOWN_FLAG : 0u)

struct led *led_new(struct check *c, const struct run *from)
{
	uint32_t at = atomic_fetch_add(&c->n_jobs, 1);

	CHECK(at < JOBS_MAX);
	struct led *j = &c->jobs[at];
	size_t more = c->is_newer ? NEWER_BYTES : 0;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	j->run = *from;
	pthread_mutex_init(&j->run.mu, NULL);
	pthread_cond_init(&j->run.cv, NULL);
	j->check = c;
	j->is_newer = c->is_newer;
	j->pages = guard_pages(GUARD_JOB_PAGES);
	j->result = guard_place(j->pages + 2 * page, sizeof *j->result + more);
	memset(j->result, 0, sizeof *j->result);
	memset((uint8_t *)j->result + sizeof *j->result, NEWER_POISON, more);
	j->result->size = (uint32_t)(sizeof *j->result + more);
	struct runner_job *job = guard_place(j->pages, sizeof *job + more);

	memset((uint8_t *)job + sizeof *job, NEWER_POISON, more);
	*job = from->pub;
	job->size = (uint32_t)(sizeof *job + more);
	job->token = at + 1;
	job->flags = FORGOTTEN_FLAGS(j);
	guard_protect(job, false);
	j->job = job;
	return j;
}

static void set_flags(struct led *j, uint32_t flags)
{
	guard_protect(j->job, true);
	j->job->flags = flags | FORGOTTEN_FLAGS(j);
	guard_protect(j->job, false);
	j->run.pub.flags = flags;
}

/* --- calls --- */

static void led_watch_result(struct led *j, enum call call)
{
	const struct runner_result *r = j->result;
	struct check *c = j->check;
	size_t more = j->is_newer ? NEWER_BYTES : 0;
	const uint8_t *past = (const uint8_t *)(r + 1);
	const char *name = call_name(call);

	seen(c, P_result);
	if (r->size != sizeof *r + more)
		broke(c, P_result, "%s(): changed the result's size to %u", name, r->size);
	if (r->verdict > RUNNER_NOT_YET)
		broke(c, P_result, "%s(): verdict %u is none", name, r->verdict);
	if (!memchr(r->text, 0, sizeof r->text))
		broke(c, P_result, "%s(): the text does not end in a NUL", name);
	else
		for (const char *p = r->text; *p; p++)
			if ((unsigned char)*p < 0x20 || *p == 0x7f) {
				broke(c, P_result,
				      "%s(): the text has the byte 0x%02x, want one line", name,
				      (unsigned char)*p);
				break;
			}
	for (size_t i = 0; i < more; i++)
		if (past[i] != NEWER_POISON) {
			broke(c, P_newer, "%s(): wrote to members it cannot know", name);
			break;
		}
}

static int led_prepare(struct led *j)
{
	struct check *c = j->check;
	bool is_inline = j->run.pub.flags & RUNNER_JOB_INLINE;
	int r;

	if (j->is_prepared || !HAS(c, prepare))
		return RUNNER_DONE;
	enter(c, CALL_PREPARE);
	r = c->plugin->prepare(c->self, j->job, j->result, &j->state);
	leave(c, CALL_PREPARE);
	seen(c, P_answers);
	if (r > 0 && !(r == RUNNER_THREAD && is_inline))
		broke(c, P_answers, "prepare() answered %d", r);
	j->is_prepared = r == RUNNER_DONE;
	led_watch_result(j, CALL_PREPARE);
	return r;
}

int led_execute(struct led *j)
{
	struct check *c = j->check;
	bool is_inline = j->run.pub.flags & RUNNER_JOB_INLINE;
	int r;

	enter(c, CALL_EXECUTE);
	r = c->plugin->execute(c->self, j->state, j->job, j->result);
	leave(c, CALL_EXECUTE);
	seen(c, P_answers);
	if (r == RUNNER_PROCESS && (!j->has_spawned || j->has_waited))
		broke(c, P_answers, "execute() answered RUNNER_PROCESS, but %s",
		      j->has_waited ? "waited for it" : "spawned none");
	else if (r == RUNNER_THREAD && !is_inline)
		broke(c, P_answers, "execute() answered RUNNER_THREAD on a thread");
	else if (r > RUNNER_THREAD)
		broke(c, P_answers, "execute() answered %d", r);
	led_watch_result(j, CALL_EXECUTE);
	return r;
}

void led_finish(struct led *j)
{
	struct check *c = j->check;

	if (!HAS(c, finish))
		return;
	if (j->is_left)
		set_flags(j, RUNNER_JOB_LEFT);
	enter(c, CALL_FINISH);
	c->plugin->finish(c->self, j->state, j->job, j->result);
	leave(c, CALL_FINISH);
	led_watch_result(j, CALL_FINISH);
}

void led_close(struct led *j)
{
	CHECK(!atomic_exchange(&j->is_finished, true));
	free(j->run.files_dir); /* else our own loss would count as the plugin's */
	j->run.files_dir = NULL;
	guard_close(j->pages, GUARD_JOB_PAGES);
	seen(j->check, P_freed);
	seen(j->check, P_lent);
}

/* --- on a thread --- */

static void set_over(struct run *r)
{
	pthread_mutex_lock(&r->mu);
	CHECK(!r->is_over && !r->is_executing);
	r->is_over = true;
	pthread_cond_broadcast(&r->cv);
	pthread_mutex_unlock(&r->mu);
}

static void *job_thread(void *arg)
{
	struct led *j = arg;
	struct run *r = &j->run;

	j->tid = gettid();
	if (j->answer != RUNNER_PROCESS) /* else it was started inline */
		j->answer = led_prepare(j);
	if (j->answer == RUNNER_DONE && run_may_execute(r)) {
		j->answer = led_execute(j);
		run_executed(r);
	}
	if (j->answer == RUNNER_PROCESS && r->pid > 0 && !j->is_left)
		run_wait(r, j->result);
	if (!j->is_left)
		led_finish(j);
	set_over(r);
	return NULL;
}

void led_start(struct led *j)
{
	CHECK(pthread_create(&j->thread, NULL, job_thread, j) == 0);
}

static bool led_within(struct led *j, int64_t us, bool inside)
{
	struct run *r = &j->run;
	int64_t until_us = clock_steady_us() + us;
	struct timespec at = { .tv_sec = until_us / US_PER_S,
		               .tv_nsec = until_us % US_PER_S * 1000 };

	pthread_mutex_lock(&r->mu);
	while (!r->is_over && !(inside && (r->is_executing || r->pid > 0)) &&
	       clock_steady_us() < until_us)
		pthread_cond_clockwait(&r->cv, &r->mu, CLOCK_MONOTONIC, &at);
	bool is = inside ? !r->is_over : r->is_over;

	pthread_mutex_unlock(&r->mu);
	return is;
}

bool led_is_inside(struct led *j, int64_t us)
{
	return led_within(j, us, true);
}

static bool led_over_within(struct led *j, int64_t us)
{
	return led_within(j, us, false);
}

static void led_stop(struct led *j)
{
	struct check *c = j->check;
	struct run *r = &j->run;
	int64_t began_us = clock_steady_us(), took_us;

	pthread_mutex_lock(&r->mu);
	r->is_cancelled = true;
	/* Under the lock: kill() comes only while execute() is inside, and may not block. */
	if (r->is_executing && HAS(c, kill)) {
		enter(c, CALL_KILL);
		c->plugin->kill(c->self, j->state, j->job);
		leave(c, CALL_KILL);
	}
	pthread_cond_broadcast(&r->cv);
	pthread_mutex_unlock(&r->mu);
	took_us = clock_steady_us() - began_us;
	if (took_us > KILL_BLOCKED_US)
		broke(c, P_kill, "kill() took %lld ms", (long long)(took_us / US_PER_MS));
	run_signal(r, SIGTERM);
}

/* A process that is deaf to TERM is not the plugin's fault. */
static bool ends_by_force(struct led *j)
{
	if (!j->has_spawned)
		return false;
	run_signal(&j->run, SIGKILL);
	return led_over_within(j, AFTER_FORCE_US);
}

void led_lead(struct led *j, int64_t us)
{
	struct check *c = j->check;
	int64_t grace_us = (int64_t)j->run.pub.grace_ms * US_PER_MS;

	CHECK(!atomic_load(&j->is_finished));
	if (!led_over_within(j, us)) {
		led_stop(j);
		seen(c, P_kill);
		if (!led_over_within(j, grace_us + 1) && !ends_by_force(j)) {
			broke(c, P_kill, "still inside %lld ms after it was told to stop",
			      (long long)j->run.pub.grace_ms);
			give_up(c);
		}
	}
	pthread_join(j->thread, NULL);
	seen(c, P_returns);
	seen(c, P_alive);
}

/* --- inline --- */

static long waits_of_thread(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

/* Whether the call gave the processor away for long, of its own will and outside of the host. */
static bool has_blocked(struct led *j, int (*call)(struct led *), int64_t *ret_us)
{
	int64_t began_us = clock_steady_us(), in_host_us = j->host_us;
	long waits = waits_of_thread();

	j->answer = call(j);
	*ret_us = clock_steady_us() - began_us - (j->host_us - in_host_us);
	return *ret_us > BLOCKED_US && waits_of_thread() > waits;
}

bool led_inline(struct led *j)
{
	int64_t us = 0;
	bool blocked;

	CHECK(j->check->plugin->flags & RUNNER_INLINE_OK);
	set_flags(j, RUNNER_JOB_INLINE);
	j->tid = gettid();
	blocked = has_blocked(j, led_prepare, &us);
	if (j->answer == RUNNER_DONE && has_blocked(j, led_execute, &us))
		blocked = true;
	set_flags(j, 0);
	return blocked;
}
