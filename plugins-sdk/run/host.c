/* What a plugin may call, as a broker answers it. */
#include <stdio.h>
#include <string.h>

#include "broker/loader/guest.h"
#include "broker/loader/plugin.h"
#include "plugins-sdk/run/run.h"
#include "util/clock.h"
#include "util/yaml.h"

#define OUTPUT_BYTES_MAX 65536

static void host_log(const struct runner_job *pub, uint32_t stream, const char *text, uint64_t len)
{
	(void)pub;
	if (stream == RUNNER_STDOUT || stream == RUNNER_STDERR)
		fwrite(text, 1, len, stream == RUNNER_STDOUT ? stdout : stderr);
	fflush(stdout);
}

static void host_progress(const struct runner_job *pub, uint32_t permille, const char *text)
{
	(void)pub;
	fprintf(stderr, "# progress %u%s%s\n", permille > 1000 ? 1000 : permille, text ? " " : "",
	        text ? text : "");
}

static int64_t host_param(const struct runner_job *pub, const char *name, char *ret, uint64_t cap)
{
	const struct run *r = run_of(pub);
	const struct yaml_node *secret;

	for (size_t i = 0; i < r->n_params; i++)
		if (strcmp(r->params[i].name, name) == 0)
			return plugin_copy_out(r->params[i].value, ret, cap);
	if (strncmp(name, "secret.", 7) != 0 || !r->secrets)
		return RUNNER_E_NONE;
	if (pub->flags & RUNNER_JOB_INLINE)
		return RUNNER_E_STATE;
	secret = yaml_get(r->secrets, name + 7);
	return secret ? plugin_copy_out(secret->text, ret, cap) : RUNNER_E_NONE;
}

static int64_t host_param_name(const struct runner_job *pub, uint32_t i, char *ret, uint64_t cap)
{
	const struct run *r = run_of(pub);

	return i < r->n_params ? plugin_copy_out(r->params[i].name, ret, cap) : RUNNER_E_NONE;
}

static int host_output(const struct runner_job *pub, const char *name, const char *value)
{
	(void)pub;
	if (!name || !*name || !value)
		return RUNNER_E_INVALID;
	if (strlen(name) + strlen(value) > OUTPUT_BYTES_MAX)
		return RUNNER_E_LIMIT;
	fprintf(stderr, "# output %s=%s\n", name, value);
	return 0;
}

static int host_cancelled(const struct runner_job *pub)
{
	struct run *r = run_of(pub);

	pthread_mutex_lock(&r->mu);
	int is = r->is_cancelled;

	pthread_mutex_unlock(&r->mu);
	return is;
}

static int host_pause(const struct runner_job *pub, uint64_t ms)
{
	struct run *r = run_of(pub);
	int64_t until_us = clock_steady_us() +
	                   (int64_t)(ms < INT32_MAX ? ms : INT32_MAX) * US_PER_MS;
	struct timespec at = { .tv_sec = until_us / US_PER_S,
		               .tv_nsec = until_us % US_PER_S * 1000 };

	pthread_mutex_lock(&r->mu);
	while (!r->is_cancelled && clock_steady_us() < until_us)
		pthread_cond_clockwait(&r->cv, &r->mu, CLOCK_MONOTONIC, &at);
	int is = r->is_cancelled;

	pthread_mutex_unlock(&r->mu);
	return is;
}

static int host_spawn(const struct runner_job *pub, const struct runner_process *p)
{
	return run_spawn(run_of(pub), p);
}

static int host_process_wait(const struct runner_job *pub, struct runner_result *ret_result)
{
	struct run *r = run_of(pub);

	if (r->pid <= 0)
		return RUNNER_E_STATE;
	run_wait(r, ret_result);
	return 0;
}

static const void *host_extension(void *ctx, const char *id)
{
	return guest_extension(ctx, id);
}

void run_host(struct runner_host *ret_host, const struct guest_type *guest)
{
	*ret_host = (struct runner_host){ .size = sizeof *ret_host,
		                          .abi_minor = RUNNER_ABI_MINOR,
		                          .ctx = (void *)(uintptr_t)guest,
		                          PLUGIN_HOST_CALLS };
}
