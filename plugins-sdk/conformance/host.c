/* What the plugin calls: each call is looked at, then answered as sirdar-runner-run does. */
#include <string.h>
#include <unistd.h>

#include "broker/loader/guest.h"
#include "broker/loader/plugin.h"
#include "plugins-sdk/conformance/conformance.h"
#include "util/check.h"
#include "util/clock.h"

#define PAUSE_MS_MAX 5 /* jobs that need not be patient are not slow either */

static struct check *checked; /* the host's functions are given a job only */
static int context;           /* its address is host.ctx */

/* NULL: unknown; finished ones too */
static struct led *host_led(const struct runner_job *job)
{
	uint32_t n = atomic_load(&checked->n_jobs);

	for (uint32_t i = 0; i < n && i < JOBS_MAX; i++)
		if (checked->jobs[i].job == job)
			return &checked->jobs[i];
	return NULL;
}

/* The job of a call, or NULL and the finding. */
static struct led *job_of_call(const struct runner_job *job, const char *function)
{
	struct led *j = host_led(job);

	seen(checked, P_calls);
	seen(checked, P_freed);
	if (!j)
		broke(checked, P_calls, "%s(): its job is none; hand the pointer back as it is",
		      function);
	else if (atomic_load(&j->is_finished))
		broke(checked, P_freed, "%s() was called after finish() had returned", function);
	else
		return j;
	return NULL;
}

static bool is_job_thread(void)
{
	pid_t me = gettid();
	uint32_t n = atomic_load(&checked->n_jobs);

	if (me == checked->control)
		return true;
	for (uint32_t i = 0; i < n && i < JOBS_MAX; i++)
		if (checked->jobs[i].tid == me)
			return true;
	return false;
}

/* Of a function marked [job]; `waits`: it may block. */
static struct led *job_of_job_call(const struct runner_job *job, const char *function, bool waits)
{
	struct led *j = job_of_call(job, function);

	if (j && !is_job_thread())
		broke(checked, P_calls, "%s() was called on a thread of the plugin's own",
		      function);
	if (j && waits && j->run.pub.flags & RUNNER_JOB_INLINE) {
		broke(checked, P_inline, "%s() was called inline: it waits", function);
		return NULL;
	}
	return j;
}

static void host_log(const struct runner_job *job, uint32_t stream, const char *text, uint64_t len)
{
	if (!job_of_call(job, "log"))
		return;
	if (stream != RUNNER_STDOUT && stream != RUNNER_STDERR)
		broke(checked, P_calls, "log(): stream %u", stream);
	if (!text && len)
		broke(checked, P_calls, "log(): no text of %llu bytes", (unsigned long long)len);
	for (uint64_t i = 0; text && i < len; i++)
		(void)((const volatile char *)text)[i]; /* all of it is there */
}

static void host_progress(const struct runner_job *job, uint32_t permille, const char *text)
{
	if (job_of_call(job, "progress") && permille > 1000)
		broke(checked, P_calls, "progress(): %u permille", permille);
	if (text)
		(void)strlen(text);
}

static int64_t host_param(const struct runner_job *job, const char *name, char *ret, uint64_t cap)
{
	struct led *j = job_of_call(job, "param");

	if (j && !name)
		broke(checked, P_calls, "param(): no name");
	return j && name ? checked->base.param(&j->run.pub, name, ret, cap) : RUNNER_E_INVALID;
}

static int64_t host_param_name(const struct runner_job *job, uint32_t i, char *ret, uint64_t cap)
{
	struct led *j = job_of_call(job, "param_name");

	return j ? checked->base.param_name(&j->run.pub, i, ret, cap) : RUNNER_E_INVALID;
}

static int host_output(const struct runner_job *job, const char *name, const char *value)
{
	struct led *j = job_of_job_call(job, "output", false);

	if (j && (!name || !*name || !value))
		broke(checked, P_calls, "output(): no name or no value");
	return j ? checked->base.output(&j->run.pub, name, value) : RUNNER_E_INVALID;
}

static int host_cancelled(const struct runner_job *job)
{
	struct led *j = job_of_call(job, "cancelled");

	return j ? checked->base.cancelled(&j->run.pub) : 1;
}

static int host_pause(const struct runner_job *job, uint64_t ms)
{
	struct led *j = job_of_job_call(job, "pause", true);

	if (!j)
		return 1;
	return checked->base.pause(&j->run.pub,
	                           j->is_patient || ms < PAUSE_MS_MAX ? ms : PAUSE_MS_MAX);
}

static bool is_process_right(const struct led *j, const struct runner_process *p)
{
	const size_t least = offsetof(struct runner_process, files) + sizeof p->files;
	struct check *c = checked;

	if (c->plugin->flags & RUNNER_NO_PROCESS)
		broke(c, P_calls, "spawn(): the plugin says RUNNER_NO_PROCESS");
	else if (j->has_spawned)
		broke(c, P_calls, "spawn(): a second time for the same job");
	else if (!p || p->size < least)
		broke(c, P_calls, "spawn(): the process's size is %u, want %zu", p ? p->size : 0,
		      least);
	else if (!p->argv || !p->argv[0])
		broke(c, P_calls, "spawn(): no argv");
	else
		return true;
	return false;
}

static int host_spawn(const struct runner_job *job, const struct runner_process *p)
{
	struct led *j = job_of_job_call(job, "spawn", false);
	int64_t began_us = clock_steady_us();
	int code;

	if (!j || !is_process_right(j, p))
		return RUNNER_E_INVALID;
	code = checked->base.spawn(&j->run.pub, p);
	j->has_spawned = code == 0;
	j->host_us += clock_steady_us() - began_us;
	return code;
}

static int host_process_wait(const struct runner_job *job, struct runner_result *ret_result)
{
	struct led *j = job_of_job_call(job, "process_wait", true);

	if (!j)
		return RUNNER_E_STATE;
	if (!j->has_spawned || j->has_waited) {
		broke(checked, P_calls, "process_wait(): there is no process");
		return RUNNER_E_STATE;
	}
	if (!ret_result || !ret_result->size) {
		broke(checked, P_calls, "process_wait(): the result's size is to be set");
		return RUNNER_E_INVALID;
	}
	j->has_waited = true;
	return checked->base.process_wait(&j->run.pub, ret_result);
}

static const void *host_extension(void *ctx, const char *id)
{
	if (ctx != &context || !id)
		broke(checked, P_calls, "extension(): %s",
		      id ? "its ctx is not the host's" : "no name");
	if (!checked->is_open)
		broke(checked, P_calls, "extension() was called before open() or after close()");
	return id ? guest_extension(NULL, id) : NULL;
}

void host_open(struct check *c, bool newer)
{
	size_t more = newer ? NEWER_BYTES : 0;

	CHECK(!c->is_open); /* a plugin that is open has the former one */
	checked = c;
	c->is_newer = newer;
	run_host(&c->base, NULL);
	c->host_pages = guard_pages(2);
	c->host = guard_place(c->host_pages, sizeof *c->host + more);
	memset((uint8_t *)c->host + sizeof *c->host, NEWER_POISON, more);
	*c->host = (struct runner_host){ .size = (uint32_t)(sizeof *c->host + more),
		                         .abi_minor = RUNNER_ABI_MINOR + (newer ? 3 : 0),
		                         .ctx = &context,
		                         PLUGIN_HOST_CALLS };
	guard_protect(c->host, false);
}
