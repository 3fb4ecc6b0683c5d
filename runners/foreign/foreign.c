/* foreign.c — task types whose work is done by a program of another language: a process that
 * is started once, takes many jobs and speaks JSON Lines (plugins-sdk/FOREIGN.md). Which
 * program is said by the type's manifest.
 */
#include "foreign.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES    256
#define OPEN_MS       8000 /* the broker gives an open() ten seconds */
#define SECRETS_MAX   32
#define RUN_BYTES_MAX (16u << 20)

/* --- life ------------------------------------------------------------------------------ */

/* Until the first guest has said hello, or never will; one that is merely slow goes on. */
static int meet_first(struct foreign *f)
{
	uint32_t ms = f->about->start_ms + 500 < OPEN_MS ? f->about->start_ms + 500 : OPEN_MS;
	int64_t until = now_us() + ms * US_PER_MS;
	struct timespec at;
	int is_good;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += ms % 1000 * 1000000L;
	if (at.tv_nsec >= 1000000000L) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&f->mu);
	while (!f->has_met && now_us() < until)
		pthread_cond_clockwait(&f->first, &f->mu, CLOCK_MONOTONIC, &at);
	is_good = !f->has_met || !f->all.why[0];
	if (!is_good)
		f->about->refuse(f->about->ctx, f->all.why);
	pthread_mutex_unlock(&f->mu);
	return is_good ? 0 : -1;
}

static void foreign_close(void *self)
{
	struct foreign *f = self;

	pthread_mutex_lock(&f->mu);
	f->is_closing = 1;
	pthread_mutex_unlock(&f->mu);
	guests_wake(f);
	pthread_join(f->watch, NULL);
	close(f->wake_fd);
	for (struct owner *o = f->owners, *next; o != &f->all; o = next) {
		next = o->next;
		free(o);
	}
	pthread_cond_destroy(&f->first);
	pthread_mutex_destroy(&f->mu);
	free(f);
}

static int foreign_open(const struct runner_host *host, void **ret_self)
{
	const struct runner_guest *about = host->extension(host->ctx, RUNNER_GUEST_ID);
	struct foreign *f = about ? calloc(1, sizeof *f) : NULL;

	if (!f) /* `foreign` is no task type of its own: a manifest names it */
		return -1;
	f->host = host;
	f->about = about;
	f->all.concurrency = 1;
	f->owners = &f->all;
	f->waiting_tail = &f->waiting;
	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&f->mu, NULL);
	pthread_cond_init(&f->first, NULL);
	if (f->wake_fd < 0 || pthread_create(&f->watch, NULL, guests_watch, f) != 0) {
		about->refuse(about->ctx, "no thread, or no descriptor");
		free(f);
		return -1;
	}
	/* A process of one project says nothing of another's: there is none to be met yet. */
	if (!is_separated(about) && meet_first(f) < 0) {
		foreign_close(f);
		return -1;
	}
	*ret_self = f;
	return 0;
}

/* --- a job's parameters ------------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) static int foreign_refuse(struct runner_result *result,
                                                                uint32_t verdict, const char *fmt,
                                                                ...)
{
	va_list args;

	result->verdict = verdict;
	va_start(args, fmt);
	vsnprintf(result->text, sizeof result->text, fmt, args);
	va_end(args);
	return RUNNER_FAILED;
}

/* The value, the caller's to foreign_forget(); NULL if the job has none of that name. */
static char *param_copy(const struct foreign *f, const struct runner_job *job, const char *name)
{
	int64_t len = f->host->param(job, name, NULL, 0);
	char *value = len < 0 ? NULL : malloc((size_t)len + 1);

	if (value && f->host->param(job, name, value, (uint64_t)len + 1) != len) {
		free(value);
		return NULL;
	}
	return value;
}

static void foreign_forget(char *value)
{
	if (value)
		explicit_bzero(value, strlen(value));
	free(value);
}

static void put_pair(struct text *line, int *n, const char *name, const char *value)
{
	text_word(line, (*n)++ ? "," : "");
	text_json(line, name);
	text_word(line, ":");
	text_json(line, value);
}

static void put_params(const struct foreign *f, const struct runner_job *job, struct text *line)
{
	char name[NAME_BYTES];
	int n = 0;

	text_word(line, ",\"params\":{");
	for (uint32_t i = 0;; i++) {
		int64_t len = f->host->param_name(job, i, name, sizeof name);

		if (len < 0)
			break;
		char *value = len < (int64_t)sizeof name ? param_copy(f, job, name) : NULL;

		if (value)
			put_pair(line, &n, name, value);
		foreign_forget(value);
	}
	for (const char *const *server = f->about->servers; *server; server++) {
		static const char *const parts[] = { "kind", "host", "port", "user", "database" };

		for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
			snprintf(name, sizeof name, "%s.%s", *server, parts[i]);
			char *value = param_copy(f, job, name);

			if (value)
				put_pair(line, &n, name, value);
			foreign_forget(value);
		}
	}
	text_word(line, "}");
}

/* A parameter whose value is names of secrets, between spaces or commas. 0, or RUNNER_FAILED. */
static int put_secrets_of(const struct foreign *f, const struct runner_job *job, char *names,
                          struct text *line, int *n, struct runner_result *result)
{
	char *rest = names;
	char asked[NAME_BYTES];
	const char *name;

	while ((name = strsep(&rest, " ,\t\n"))) {
		if (!*name)
			continue;
		snprintf(asked, sizeof asked, "secret.%s", name);
		char *value = *n < SECRETS_MAX ? param_copy(f, job, asked) : NULL;

		if (!value)
			return foreign_refuse(result, RUNNER_FATAL,
			                      "the secret '%.100s' is not given to this task",
			                      name);
		put_pair(line, n, name, value);
		foreign_forget(value);
	}
	return 0;
}

static int put_secrets(const struct foreign *f, const struct runner_job *job, struct text *line,
                       struct runner_result *result)
{
	char asked[NAME_BYTES];
	int n = 0, r = 0;

	text_word(line, ",\"secrets\":{");
	for (size_t i = 0; f->about->secrets[i] && r == 0; i++) {
		char *names = param_copy(f, job, f->about->secrets[i]);

		if (names)
			r = put_secrets_of(f, job, names, line, &n, result);
		free(names);
	}
	for (size_t i = 0; f->about->servers[i] && r == 0; i++) {
		snprintf(asked, sizeof asked, "secret.%s.password", f->about->servers[i]);
		char *server = param_copy(f, job, f->about->servers[i]);
		char *value = server && *server ? param_copy(f, job, asked) : NULL;

		if (value) /* a server may have none */
			put_pair(line, &n, asked + sizeof "secret." - 1, value);
		foreign_forget(value);
		free(server);
	}
	text_word(line, "}");
	return r;
}

/* What its work is called elsewhere, if it does any there. */
static void put_work(const struct foreign *f, const struct runner_job *job, struct text *line)
{
	char work[80], again[8];

	if (f->host->param(job, "sirdar.work_id", work, sizeof work) <= 0)
		return;
	text_field(line, "work_id", work);
	if (f->host->param(job, "sirdar.work_again", again, sizeof again) > 0)
		text_word(line, ",\"work_again\":true");
}

static int make_line(const struct foreign *f, struct call *c)
{
	const struct runner_job *job = c->job;
	struct text *line = &c->line;
	char token[24], parent[64];

	text_word(line, "{\"op\":\"run\"");
	text_number(line, "job", (int64_t)c->id);
	text_field(line, "type", f->about->type);
	text_field(line, "task", job->task_name);
	text_number(line, "task_id", job->task_id);
	/* A text: as a number it would lose digits in many languages. */
	snprintf(token, sizeof token, "%llu", (unsigned long long)job->token);
	text_field(line, "token", token);
	text_number(line, "run_date", job->run_date);
	text_number(line, "due_us", job->due_us);
	text_number(line, "part", job->part);
	text_number(line, "generation", job->generation);
	text_number(line, "attempt", job->attempt);
	text_number(line, "budget_ms", (int64_t)job->budget_ms);
	text_number(line, "grace_ms", (int64_t)job->grace_ms);
	text_field(line, "timezone", job->timezone);
	if (f->host->param(job, "sirdar.traceparent", parent, sizeof parent) > 0)
		text_field(line, "traceparent", parent);
	put_work(f, job, line);
	put_params(f, job, line);
	if (put_secrets(f, job, line, c->result) < 0)
		return RUNNER_FAILED;
	text_word(line, "}\n");
	if (line->is_short)
		return foreign_refuse(c->result, RUNNER_INFRA, "out of memory");
	if (line->len > RUN_BYTES_MAX)
		return foreign_refuse(c->result, RUNNER_FATAL,
		                      "its parameters are more than 16 MiB");
	return 0;
}

/* --- a job --------------------------------------------------------------------------------- */

static void give_outputs(const struct foreign *f, struct call *c)
{
	static const char lost[] = "sirdar: an output was refused: its name, or its size\n";
	const char *at = c->outputs.at, *end = at + c->outputs.len;

	while (at < end) {
		const char *name = at, *value = name + strlen(name) + 1;

		if (f->host->output(c->job, name, value) < 0)
			f->host->log(c->job, RUNNER_STDERR, lost, sizeof lost - 1);
		at = value + strlen(value) + 1;
	}
	text_done(&c->outputs);
}

static int foreign_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                           void **ret_state)
{
	const struct foreign *f = self;
	const char *user = RUNNER_HAS(f->about, struct runner_guest, user) ? f->about->user : "";
	struct call *c;

	if (!is_separated(f->about) && job->run_as[0] && strcmp(job->run_as, user) != 0)
		return foreign_refuse(result, RUNNER_FATAL,
		                      "run_as is '%.60s': jobs of this type share a process, which "
		                      "runs as %s",
		                      job->run_as, user[0] ? user : "the broker's own user");
	c = calloc(1, sizeof *c);
	if (!c)
		return foreign_refuse(result, RUNNER_INFRA, "out of memory");
	c->job = job;
	pthread_cond_init(&c->over, NULL);
	*ret_state = c;
	return RUNNER_DONE;
}

/* Lock held. NULL: out of memory. */
static struct owner *owner_of(struct foreign *f, const struct runner_job *job)
{
	const void *whose = is_separated(f->about) ? f->about->whose(f->about->ctx, job) : NULL;
	struct owner *o = f->owners;

	while (o && o->whose != whose)
		o = o->next;
	if (o)
		return o;
	o = calloc(1, sizeof *o);
	if (!o)
		return NULL;
	o->whose = whose;
	o->concurrency = 1;
	o->next = f->owners;
	f->owners = o;
	return o;
}

static int foreign_execute(void *self, void *state, const struct runner_job *job,
                           struct runner_result *result)
{
	struct foreign *f = self;
	struct call *c = state;

	c->result = result;
	pthread_mutex_lock(&f->mu);
	c->id = ++f->last_id;
	c->owner = owner_of(f, job);
	pthread_mutex_unlock(&f->mu);
	if (!c->owner)
		return foreign_refuse(result, RUNNER_INFRA, "out of memory");
	int r = make_line(f, c);

	pthread_mutex_lock(&f->mu);
	if (r == 0 && f->host->cancelled(job)) {
		result->exit_code = -SIGTERM;
	} else if (r == 0) {
		c->since_us = now_us();
		*f->waiting_tail = c;
		f->waiting_tail = &c->next;
		guests_place(f);
		while (!c->is_over)
			pthread_cond_wait(&c->over, &f->mu);
	}
	pthread_mutex_unlock(&f->mu);
	give_outputs(f, c);
	return r;
}

static void foreign_kill(void *self, void *state, const struct runner_job *job)
{
	struct foreign *f = self;
	struct call *c = state;
	char line[64];

	pthread_mutex_lock(&f->mu);
	if (c->guest) {
		snprintf(line, sizeof line, "{\"op\":\"kill\",\"job\":%llu}\n",
		         (unsigned long long)c->id);
		c->force_us = now_us() + (int64_t)job->grace_ms * US_PER_MS + 1;
		guest_tell(c->guest, line, strlen(line));
		guests_wake(f);
	} else if (c->since_us && !c->is_over) {
		call_withdraw(f, c);
		c->result->exit_code = -SIGTERM;
		snprintf(c->result->text, sizeof c->result->text, "killed before it began");
		call_over(c);
	}
	pthread_mutex_unlock(&f->mu);
}

static void foreign_finish(void *self, void *state, const struct runner_job *job,
                           struct runner_result *result)
{
	struct call *c = state;

	(void)self;
	(void)job;
	(void)result;
	if (!c)
		return;
	text_done(&c->line);
	text_done(&c->outputs);
	pthread_cond_destroy(&c->over);
	free(c);
}

static const struct runner_plugin plugin = {
	.size = sizeof plugin,
	.abi_major = RUNNER_ABI_MAJOR,
	.abi_minor = RUNNER_ABI_MINOR,
	.flags = RUNNER_NO_PROCESS,
	.name = "foreign",
	.version = "1.0",
	.open = foreign_open,
	.close = foreign_close,
	.prepare = foreign_prepare,
	.execute = foreign_execute,
	.finish = foreign_finish,
	.kill = foreign_kill,
};

const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
