/* What a plugin may ask of its host (sirdar/runner.h): logs, progress, parameters, outputs,
 * processes.
 *
 * All of it runs on job threads. What the session thread is to do, it finds in its next round:
 * logs, starts and questions are left under l->mu, and the bell is rung. A job thread that asks
 * the server for a parameter waits here for it, or for its job to be cancelled, or for ASK_MS. A
 * start is copied as a whole, because the plugin's memory is only lent.
 */
#include <keeper.pb-c.h>
#include <sirdar.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/link/link.h"
#include "broker/loader/apart.h"
#include "broker/loader/guest.h"
#include "broker/loader/loader.h"
#include "broker/loader/plugin.h"
#include "broker/loader/policy.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "wire/trace.h"

#define ASK_MS 30000

/* A job thread that waits for a parameter; lives on its stack. */
struct ask {
	struct ask *next;
	uint64_t id;
	struct job *job;
	const char *name;
	char *value; /* owned */
	int code;
	bool is_sent, is_answered;
};

static void host_log(const struct runner_job *pub, uint32_t stream, const char *text, uint64_t len)
{
	struct job *j = job_of(pub);
	struct loader *l = j->loader;

	if ((stream != RUNNER_STDOUT && stream != RUNNER_STDERR) || !len || j->is_probe)
		return;

	pthread_mutex_lock(&l->mu);
	job_say(j, stream == RUNNER_STDERR ? LOG_ERR : LOG_OUT, text, len);
	bool first = !j->has_text && !l->texts;

	if (!j->has_text) {
		j->has_text = true;
		j->text_next = l->texts;
		l->texts = j;
	}
	pthread_mutex_unlock(&l->mu);
	atomic_store(&j->has_logged, true);
	atomic_store(&l->has_logs, true);
	if (first && !(pub->flags & RUNNER_JOB_INLINE))
		ev_async_send(l->loop, &l->bell);
}

static void host_progress(const struct runner_job *pub, uint32_t permille, const char *text)
{
	job_progress(job_of(pub), permille, text);
}

/* --- parameters the server keeps to itself --------------------------------------- */

static void wait_until(struct loader *l, struct job *j, int64_t until_us)
{
	struct timespec at = { .tv_sec = until_us / US_PER_S,
		               .tv_nsec = until_us % US_PER_S * 1000 };

	pthread_cond_clockwait(&j->cv, &l->mu, CLOCK_MONOTONIC, &at);
}

static void ask_remove(struct loader *l, struct ask *a)
{
	struct ask **at = &l->asks;

	while (*at != a) {
		CHECK(*at);
		at = &(*at)->next;
	}
	*at = a->next;
}

static int64_t ask_server(struct job *j, const char *name, char *ret_value, uint64_t cap)
{
	struct loader *l = j->loader;
	struct ask a = { .job = j, .name = name };
	int64_t until_us = clock_steady_us() + ASK_MS * US_PER_MS, r;

	CHECK(!(j->pub.flags & RUNNER_JOB_INLINE)); /* the session thread brings the answer */

	pthread_mutex_lock(&l->mu);
	a.id = ++l->ask_id;
	a.next = l->asks;
	l->asks = &a;
	pthread_mutex_unlock(&l->mu);
	atomic_store(&l->has_asks, true);
	ev_async_send(l->loop, &l->bell);
	pthread_mutex_lock(&l->mu);
	while (!a.is_answered && !atomic_load(&j->is_cancelled) && clock_steady_us() < until_us)
		wait_until(l, j, until_us);
	ask_remove(l, &a);
	if (a.is_answered && a.code >= 0 && a.value) {
		job_hide(j, a.value);
		if (l->is_apart)
			apart_keep(j, name, a.value);
	}
	pthread_mutex_unlock(&l->mu);
	if (!a.is_answered)
		return RUNNER_E_SYSTEM;
	r = a.code == E_SECRET       ? RUNNER_E_SYSTEM
	    : a.code < 0 || !a.value ? RUNNER_E_NONE
	                             : plugin_copy_out(a.value, ret_value, cap);
	if (a.value)
		explicit_bzero(a.value, strlen(a.value));
	free(a.value);
	return r;
}

void loader_send_asks(struct loader *l, bool again)
{
	if ((!again && !atomic_exchange(&l->has_asks, false)) || !l->link || !link_is_up(l->link))
		return;
	pthread_mutex_lock(&l->mu);
	for (struct ask *a = l->asks; a; a = a->next) {
		if (a->is_sent && !again)
			continue;
		Sirdar__ParamAsk m = SIRDAR__PARAM_ASK__INIT;
		char *name = (char *)a->name;

		m.id = a->id;
		m.token = a->job->pub.token;
		m.names = &name;
		m.n_names = 1;
		a->is_sent = link_send(l->link, FR_PARAM_ASK, &m, NULL) == 0;
	}
	pthread_mutex_unlock(&l->mu);
}

int loader_take_params(struct loader *l, const Sirdar__ParamGive *m)
{
	pthread_mutex_lock(&l->mu);
	for (struct ask *a = l->asks; a; a = a->next) {
		if (a->id != m->id || a->is_answered)
			continue;
		a->code = m->code;
		if (m->code == E_SECRET && !a->job->no_secret)
			a->job->no_secret = mem_str(m->text);
		if (m->n_params)
			a->value = mem_str(m->params[0]->value);
		a->is_answered = true;
		pthread_cond_broadcast(&a->job->cv);
		break;
	}
	pthread_mutex_unlock(&l->mu);
	return 0;
}

static void traced(const struct runner_job *p, char ret[TRACE_PARENT_MAX])
{
	const struct trace_of of = { p->task_name, p->run_date, p->part, p->generation, p->token };

	trace_parent(&of, ret);
}

int64_t loader_param_own(const struct job *j, const char *name, char *ret_value, uint64_t cap)
{
	char parent[TRACE_PARENT_MAX], work[JOB_WORK_BYTES];

	if (!strcmp(name, "sirdar.traceparent")) {
		traced(&j->pub, parent);
		return plugin_copy_out(parent, ret_value, cap);
	}
	if (!strcmp(name, "sirdar.work_again"))
		return plugin_copy_out(j->is_again ? "1" : "", ret_value, cap);
	if (strcmp(name, "sirdar.work_id") != 0 || !j->created_us)
		return RUNNER_E_NONE;
	job_work_id(j, work);
	return plugin_copy_out(work, ret_value, cap);
}

static int64_t host_param(const struct runner_job *pub, const char *name, char *ret_value,
                          uint64_t cap)
{
	struct job *j = job_of(pub);
	const char *value = job_param(j, name);

	if (!strncmp(name, "sirdar.", 7))
		return loader_param_own(j, name, ret_value, cap);
	if (value)
		return plugin_copy_out(value, ret_value, cap);
	if (strncmp(name, "secret.", 7) != 0 || j->is_probe)
		return RUNNER_E_NONE;
	return pub->flags & RUNNER_JOB_INLINE ? RUNNER_E_STATE
	                                      : ask_server(j, name, ret_value, cap);
}

static int64_t host_param_name(const struct runner_job *pub, uint32_t i, char *ret_name,
                               uint64_t cap)
{
	struct job *j = job_of(pub);

	return i < j->n_params ? plugin_copy_out(j->params[2 * i], ret_name, cap) : RUNNER_E_NONE;
}

static int host_output(const struct runner_job *pub, const char *name, const char *value)
{
	struct job *j = job_of(pub);

	pthread_mutex_lock(&j->loader->mu);
	int r = job_output(j, name, value);
	pthread_mutex_unlock(&j->loader->mu);
	return r;
}

static int host_cancelled(const struct runner_job *pub)
{
	return atomic_load(&job_of(pub)->is_cancelled);
}

static int host_pause(const struct runner_job *pub, uint64_t ms)
{
	struct job *j = job_of(pub);
	struct loader *l = j->loader;
	int64_t until_us = clock_steady_us() +
	                   (int64_t)(ms < INT32_MAX ? ms : INT32_MAX) * US_PER_MS;

	pthread_mutex_lock(&l->mu);
	while (!atomic_load(&j->is_cancelled) && clock_steady_us() < until_us)
		wait_until(l, j, until_us);
	pthread_mutex_unlock(&l->mu);
	return atomic_load(&j->is_cancelled);
}

/* --- processes -------------------------------------------------------------------- */

static int spawn_refused(struct job *j, int code, const char *why)
{
	result_set_text(&j->result, why);
	j->result.verdict = code == RUNNER_E_INVALID ? RUNNER_FATAL : RUNNER_INFRA;
	return code;
}

#define ENV_FIXED 16

/* What every process is told about its attempt. */
static size_t fixed_env(const struct job *j, char **ret_env)
{
	const struct runner_job *p = &j->pub;
	const char *biz_date = job_param(j, "biz_date");
	char parent[TRACE_PARENT_MAX], work[JOB_WORK_BYTES];
	size_t n = 0;

	job_work_id(j, work);
	ret_env[n++] = mem_fmt("SIRDAR_WORK_ID=%s", work);
	if (j->is_again)
		ret_env[n++] = mem_str("SIRDAR_WORK_AGAIN=1");
	ret_env[n++] = mem_fmt("SIRDAR_FENCE_TOKEN=%llu", (unsigned long long)p->token);
	ret_env[n++] = mem_fmt("SIRDAR_RUN_DATE=%lld", (long long)p->run_date);
	ret_env[n++] = mem_fmt("SIRDAR_TASK=%s", p->task_name);
	ret_env[n++] = mem_fmt("SIRDAR_TASK_ID=%u", p->task_id);
	ret_env[n++] = mem_fmt("SIRDAR_PART=%d", p->part);
	ret_env[n++] = mem_fmt("SIRDAR_GENERATION=%u", p->generation);
	ret_env[n++] = mem_fmt("SIRDAR_ATTEMPT=%u", p->attempt);
	ret_env[n++] = mem_fmt("SIRDAR_TYPE=%s", j->loader->type);
	traced(p, parent);
	ret_env[n++] = mem_fmt("TRACEPARENT=%s", parent);
	if (p->timezone[0])
		ret_env[n++] = mem_fmt("SIRDAR_TIMEZONE=%s", p->timezone);
	if (biz_date)
		ret_env[n++] = mem_fmt("SIRDAR_BIZ_DATE=%s", biz_date);
	CHECK(n <= ENV_FIXED);
	return n;
}

static size_t host_count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* The message as one tree of its own: the plugin's memory is only lent. */
static struct start *start_copy(const Sirdar__KeeperStart *m)
{
	size_t bytes = sirdar__keeper_start__get_packed_size(m);
	uint8_t *packed = mem_new(bytes + 1);
	struct start *s = mem_new(sizeof *s);

	sirdar__keeper_start__pack(m, packed);
	s->message = sirdar__keeper_start__unpack(NULL, bytes, packed);
	explicit_bzero(packed, bytes);
	free(packed);
	if (!s->message) {
		free(s);
		return NULL;
	}
	return s;
}

static void fill_files(const struct runner_process *process, Sirdar__KeeperFile *files,
                       Sirdar__KeeperFile **pointers)
{
	for (uint32_t i = 0; i < process->n_files; i++) {
		sirdar__keeper_file__init(&files[i]);
		files[i].name = (char *)process->files[i].name;
		files[i].content.data = (uint8_t *)(uintptr_t)process->files[i].data;
		files[i].content.len = process->files[i].len;
		pointers[i] = &files[i];
	}
}

static int start_make(struct job *j, const struct runner_process *process,
                      const struct policy *policy)
{
	Sirdar__KeeperStart m = SIRDAR__KEEPER_START__INIT;
	size_t n_env = host_count(process->env);
	char **env = mem_array(n_env + ENV_FIXED, sizeof *env);
	Sirdar__KeeperFile *files = mem_array(process->n_files + 1, sizeof *files);
	Sirdar__KeeperFile **pointers = mem_array(process->n_files + 1, sizeof *pointers);
	char *begins = mem_fmt("attempt %u, started on %s", j->pub.attempt, j->loader->name);
	size_t n_fixed;

	for (size_t i = 0; i < n_env; i++)
		env[i] = (char *)process->env[i];
	n_fixed = fixed_env(j, env + n_env); /* last: nothing overrides them */
	fill_files(process, files, pointers);
	m.token = j->pub.token;
	m.type = j->loader->lane;
	m.task_id = j->pub.task_id;
	m.run_date = j->pub.run_date;
	m.part = j->pub.part;
	m.generation = j->pub.generation;
	m.attempt = j->pub.attempt;
	m.argv = (char **)(uintptr_t)process->argv;
	m.n_argv = host_count(process->argv);
	m.env = env;
	m.n_env = n_env + n_fixed;
	m.cwd = process->directory ? (char *)process->directory : j->loader->settings->work_dir;
	m.own_cwd = !process->directory;
	m.begins = begins;
	policy_put(policy, &m);
	m.lease_proof = LEASE_PROOF_PUT(&j->proof);
	m.grace_us = j->pub.grace_ms * US_PER_MS;
	m.server_lost_keep = j->keep_on_server_lost;
	m.file = pointers;
	m.n_file = process->n_files;
	m.n_secret = mask_count(j->mask);
	m.secret = mem_array(m.n_secret + 1, sizeof *m.secret);
	for (size_t i = 0; i < m.n_secret; i++)
		m.secret[i].data = (uint8_t *)(uintptr_t)mask_value(j->mask, i, &m.secret[i].len);
	j->start = start_copy(&m);
	free(m.secret);
	free(begins);
	for (size_t i = 0; i < n_fixed; i++)
		free(env[n_env + i]);
	free(env);
	free(files);
	free(pointers);
	return j->start ? 0 : RUNNER_E_SYSTEM;
}

static int host_spawn(const struct runner_job *pub, const struct runner_process *process)
{
	struct job *j = job_of(pub);
	struct policy *policy;
	struct err err = { 0 };

	if (j->start || j->is_probe || atomic_load(&j->is_cancelled))
		return RUNNER_E_STATE;
	if (process->size < sizeof *process || !process->argv || !process->argv[0])
		return spawn_refused(j, RUNNER_E_INVALID, "no command to start");
	if (!j->loader->keeper)
		return spawn_refused(j, RUNNER_E_INVALID,
		                     "this runner promised to start no process");
	int r = policy_take(j->loader, j->project, process->run_as ? process->run_as : pub->run_as,
	                    &policy, &err);
	if (r < 0) {
		j->unplaced = r == E_NOT_FOUND ? REASON_NO_USER
		              : r == E_MACHINE ? REASON_NOSTART
		                               : REASON_NONE;
		return spawn_refused(j, j->unplaced ? RUNNER_E_SYSTEM : RUNNER_E_INVALID, err.text);
	}
	r = start_make(j, process, policy);
	policy_free(policy);
	return r;
}

static int host_process_wait(const struct runner_job *pub, struct runner_result *ret_result)
{
	struct job *j = job_of(pub);
	struct loader *l = j->loader;

	if (!j->start)
		return RUNNER_E_STATE;
	pthread_mutex_lock(&l->mu);
	j->start_next = l->starts;
	l->starts = j;
	atomic_store(&l->has_starts, true);
	ev_async_send(l->loop, &l->bell);
	while (!j->process_over)
		pthread_cond_wait(&j->cv, &l->mu);
	uint32_t size = ret_result->size;

	memcpy(ret_result, &j->process_result,
	       size < sizeof *ret_result ? size : sizeof *ret_result);
	ret_result->size = size;
	pthread_mutex_unlock(&l->mu);
	return 0;
}

void loader_take_starts(struct loader *l)
{
	struct job *j, *next;

	if (!atomic_exchange(&l->has_starts, false))
		return;
	pthread_mutex_lock(&l->mu);
	j = l->starts;
	l->starts = NULL;
	pthread_mutex_unlock(&l->mu);
	for (; j; j = next) {
		next = j->start_next;
		CHECK(j->start && j->phase == JOB_QUEUED);
		j->is_waited = true;
		loader_start_process(l, j);
	}
}

static const void *host_extension(void *ctx, const char *id)
{
	struct loader *l = ctx;

	if (strcmp(id, RUNNER_KEPT_ID) == 0)
		return &l->kept;
	if (strcmp(id, RUNNER_APART_ID) == 0)
		return apart_extension(l);
	return guest_extension(l->guest, id);
}

/* Copies: job threads read them while settings are read again. */
static void keep_from_jobs(struct loader *l, const char *settings_file)
{
	const struct param_taskbroker *s = l->settings;
	const char *const egress = getenv("SIRDAR_EGRESS");
	const char *const paths[KEPT_MAX] = {
		"/etc/sirdar", "/run/sirdar", s->state_dir,      s->runners_dir,
		s->files_dir,  s->key_file,   s->etcd_user_file, s->etcd_ca_file,
		settings_file, egress,        s->keeper_dir,
	};

	for (size_t i = 0; i < KEPT_MAX; i++) {
		if (paths[i] && paths[i][0])
			l->kept_paths[l->kept.n++] = mem_str(paths[i]);
	}
	l->kept.size = sizeof l->kept;
	l->kept.is_root = geteuid() == 0 && !s->jobs_as_root;
	l->kept.is_boxed = strcmp(s->isolation, "uid") != 0;
	l->kept.paths = (const char *const *)l->kept_paths;
}

void loader_host_done(struct loader *l)
{
	for (size_t i = 0; i < l->kept.n; i++)
		free(l->kept_paths[i]);
	apart_done(l);
}

void loader_host_init(struct loader *l, const char *settings_file)
{
	pthread_mutex_init(&l->mu, NULL);
	pthread_mutex_init(&l->kill_mu, NULL);
	keep_from_jobs(l, settings_file);
	apart_init(l);
	l->host = (struct runner_host){
		.size = sizeof l->host,
		.abi_minor = RUNNER_ABI_MINOR,
		.ctx = l,
		PLUGIN_HOST_CALLS,
	};
}
