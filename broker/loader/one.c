/* One attempt in a process of its own, of its project's user (sirdar/apart.h): `taskrunner-loader
 * --run-one TYPE PLUGIN [SHA256]`, started by the jobkeeper as any job is.
 *
 * Its job and what a host answers besides stand in two files of SIRDAR_FILES, which are gone once
 * they were read. The runner is called on the main thread; another waits for the signal by which
 * the jobkeeper stops jobs, and tells the runner. What is told goes to standard output, a line
 * each, as lines.c reads it; a line of the job's own log that would read so gets a blank before it.
 * No connection of the broker's is open here, and nothing of its settings is known.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sirdar.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/link/digest.h"
#include "broker/loader/apart.h"
#include "broker/loader/guest.h"
#include "broker/loader/job.h"
#include "broker/loader/lines.h"
#include "broker/loader/loader.h"
#include "broker/loader/plugin.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"

#define FILE_BYTES_MAX    (4u << 20) /* a start has 2 MiB */
#define PROGRESS_EVERY_US US_PER_S
/* Outputs, each byte of them escaped, and the end; half of what is kept, where that is little. */
#define WORDS_BYTES (2 * JOB_OUTPUT_BYTES_MAX + 4096)

/* One a process. */
static struct {
	struct job job;
	Sirdar__ParamGive *given;
	const char *path, *sha256;
	const struct runner_plugin *plugin;
	void *self, *state;

	pthread_mutex_t kill_mu; /* guards is_executing: kill() only while execute() runs */
	bool is_executing;
	pthread_mutex_t mu; /* guards what follows */
	pthread_cond_t cv;
	bool is_line_open, is_log_over;
	int64_t room;        /* bytes that its log may have still */
	int64_t progress_us; /* when it was last told */
} one;

#define HAS(plugin, member) RUNNER_HAS(plugin, struct runner_plugin, member)

/* --- what is told ------------------------------------------------------------------------ */

static void put(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t done = write(fd, text, n);

		if (done < 0 && errno != EINTR)
			return; /* the jobkeeper is gone, and with it this process */
		text += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
}

/* A line of its own, whatever the log ended with. Under one.mu. */
static void put_line(const struct buf *line)
{
	if (one.is_line_open)
		put(STDOUT_FILENO, "\n", 1);
	one.is_line_open = false;
	put(STDOUT_FILENO, (const char *)buf_at(line), line->len);
}

/* A line, or a piece of one. What the jobkeeper would not keep may not crowd out the last words. */
static void put_log(const char *text, size_t n, bool is_open)
{
	static const char rest[] = "\n(the rest of its log is not kept: output_bytes_max)\n";

	one.room -= (int64_t)n + 1;
	if (one.room < 0 && !one.is_log_over)
		put(STDOUT_FILENO, rest + !one.is_line_open, sizeof rest - 1 - !one.is_line_open);
	one.is_log_over |= one.room < 0;
	if (one.is_log_over) {
		one.is_line_open = false;
		return;
	}
	if (!one.is_line_open && lines_may_be_ours(text, n - !is_open))
		put(STDOUT_FILENO, " ", 1);
	put(STDOUT_FILENO, text, n);
	one.is_line_open = is_open;
}

static void one_log(const struct runner_job *pub, uint32_t stream, const char *text, uint64_t len)
{
	const char *end = text + len;

	(void)pub;
	pthread_mutex_lock(&one.mu);
	if (stream == RUNNER_STDERR)
		put(STDERR_FILENO, text, len);
	while (stream == RUNNER_STDOUT && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = newline ? (size_t)(newline + 1 - text) : (size_t)(end - text);

		put_log(text, n, !newline);
		text += n;
	}
	pthread_mutex_unlock(&one.mu);
}

static void one_progress(const struct runner_job *pub, uint32_t permille, const char *text)
{
	int64_t now_us = clock_steady_us();
	char much[40];
	struct buf line;

	(void)pub;
	buf_init(&line);
	pthread_mutex_lock(&one.mu);
	if (!one.is_log_over &&
	    (!one.progress_us || now_us - one.progress_us >= PROGRESS_EVERY_US)) {
		permille = permille < 1000 ? permille : 1000;
		text = text ? text : "";
		snprintf(much, sizeof much, LINES_PROGRESS "%u.%u ", permille / 10, permille % 10);
		buf_puts(&line, much);
		buf_put(&line, text, strcspn(text, "\r\n"));
		buf_putc(&line, '\n');
		put_line(&line);
		one.room -= (int64_t)line.len;
		one.progress_us = now_us;
	}
	pthread_mutex_unlock(&one.mu);
	buf_done(&line);
}

/* Told at the end, all at once. */
static int one_output(const struct runner_job *pub, const char *name, const char *value)
{
	pthread_mutex_lock(&one.mu);
	int r = job_output(job_of(pub), name, value);
	pthread_mutex_unlock(&one.mu);
	return r;
}

static void put_outputs(struct buf *to)
{
	for (uint32_t i = 0; i < one.job.n_outputs; i++) {
		buf_puts(to, LINES_SET);
		lines_escape(to, one.job.outputs[i].name);
		buf_putc(to, '=');
		lines_escape(to, one.job.outputs[i].value);
		buf_putc(to, '\n');
	}
}

static int one_end(int answer, struct runner_result *r)
{
	char how[100];
	struct buf line;

	buf_init(&line);
	r->text[sizeof r->text - 1] = 0;
	result_set_text(r, r->text);
	put_outputs(&line);
	snprintf(how, sizeof how, LINES_END "%d %u %d %llu ", answer, r->verdict, r->exit_code,
	         (unsigned long long)r->retry_after_ms);
	buf_puts(&line, how);
	buf_puts(&line, r->text);
	buf_putc(&line, '\n');
	pthread_mutex_lock(&one.mu);
	put_line(&line);
	pthread_mutex_unlock(&one.mu);
	buf_done(&line);
	/* For whoever does not read the line. */
	return answer < 0 || r->exit_code < 0 ? EXIT_FAILURE : r->exit_code & 0xff;
}

/* --- what the plugin may ask ------------------------------------------------------------- */

static int64_t one_param(const struct runner_job *pub, const char *name, char *ret_value,
                         uint64_t cap)
{
	struct job *j = job_of(pub);
	bool is_ours = strncmp(name, "sirdar.", 7) == 0;
	const char *value = is_ours ? NULL : job_param(j, name);

	for (size_t i = 0; !value && i < one.given->n_params; i++)
		if (strcmp(one.given->params[i]->name, name) == 0)
			value = one.given->params[i]->value;
	if (value)
		return plugin_copy_out(value, ret_value, cap);
	return is_ours ? loader_param_own(j, name, ret_value, cap) : RUNNER_E_NONE;
}

static int64_t one_param_name(const struct runner_job *pub, uint32_t i, char *ret_name,
                              uint64_t cap)
{
	const struct job *j = job_of(pub);

	return i < j->n_params ? plugin_copy_out(j->params[2 * i], ret_name, cap) : RUNNER_E_NONE;
}

static int one_cancelled(const struct runner_job *pub)
{
	return atomic_load(&job_of(pub)->is_cancelled);
}

static int one_pause(const struct runner_job *pub, uint64_t ms)
{
	int64_t until_us = clock_steady_us() +
	                   (int64_t)(ms < INT32_MAX ? ms : INT32_MAX) * US_PER_MS;
	struct timespec at = { .tv_sec = until_us / US_PER_S,
		               .tv_nsec = until_us % US_PER_S * 1000 };

	pthread_mutex_lock(&one.mu);
	while (!one_cancelled(pub) && clock_steady_us() < until_us)
		pthread_cond_clockwait(&one.cv, &one.mu, CLOCK_MONOTONIC, &at);
	pthread_mutex_unlock(&one.mu);
	return one_cancelled(pub);
}

static int one_spawn(const struct runner_job *pub, const struct runner_process *process)
{
	(void)pub;
	(void)process;
	return RUNNER_E_STATE; /* this is the job's process */
}

static int one_process_wait(const struct runner_job *pub, struct runner_result *ret_result)
{
	(void)pub;
	(void)ret_result;
	return RUNNER_E_STATE;
}

/* Whose files the job may touch its user says, and there is no process apart from this one. */
static const void *one_extension(void *ctx, const char *id)
{
	(void)ctx;
	return guest_extension(NULL, id);
}

static const struct runner_host host = {
	.size = sizeof host,
	.abi_minor = RUNNER_ABI_MINOR,
	.log = one_log,
	.progress = one_progress,
	.param = one_param,
	.param_name = one_param_name,
	.output = one_output,
	.cancelled = one_cancelled,
	.pause = one_pause,
	.spawn = one_spawn,
	.process_wait = one_process_wait,
	.extension = one_extension,
};

/* --- the attempt -------------------------------------------------------------------------- */

static void *wait_for_stop(void *arg)
{
	const sigset_t *stops = arg;
	int number;

	while (sigwait(stops, &number) != 0)
		;
	pthread_mutex_lock(&one.mu);
	atomic_store(&one.job.is_cancelled, true);
	pthread_cond_broadcast(&one.cv);
	pthread_mutex_unlock(&one.mu);
	pthread_mutex_lock(&one.kill_mu);
	if (one.is_executing && HAS(one.plugin, kill))
		one.plugin->kill(one.self, one.state, &one.job.pub);
	pthread_mutex_unlock(&one.kill_mu);
	return NULL;
}

/* False: it was told to stop before. */
static bool one_executes(bool is)
{
	pthread_mutex_lock(&one.kill_mu);
	bool may = !is || !one_cancelled(&one.job.pub);

	CHECK(one.is_executing != is);
	one.is_executing = is && may;
	pthread_mutex_unlock(&one.kill_mu);
	return may;
}

static int one_run(struct runner_result *result)
{
	struct job *j = &one.job;
	int r = RUNNER_DONE;

	if (HAS(one.plugin, prepare))
		r = one.plugin->prepare(one.self, &j->pub, result, &one.state);
	if (r == RUNNER_DONE && one_executes(true)) {
		r = one.plugin->execute(one.self, one.state, &j->pub, result);
		one_executes(false);
	} else if (r == RUNNER_DONE) {
		result->exit_code = -SIGTERM;
		result_set_text(result, "killed before it began");
	}
	if (HAS(one.plugin, finish))
		one.plugin->finish(one.self, one.state, &j->pub, result);
	return r;
}

/* Read, and gone from then on. */
static void *one_take(const char *dir, const char *name, const ProtobufCMessageDescriptor *of,
                      struct err *err)
{
	char *path = mem_fmt("%s/%s", dir, name);
	ProtobufCMessage *m = NULL;
	struct buf text;

	buf_init(&text);
	if (fs_read(path, FILE_BYTES_MAX, &text, err) == 0) {
		m = protobuf_c_message_unpack(of, NULL, text.len, buf_at(&text));
		explicit_bzero((void *)(uintptr_t)buf_at(&text), text.len);
		if (!m)
			err_set(err, E_INVALID, "%s is cut off", path);
	}
	unlink(path);
	buf_done(&text);
	free(path);
	return m;
}

static void room_find(void)
{
	int64_t kept = 0;

	for (size_t i = 0; i < one.given->n_params; i++)
		if (strcmp(one.given->params[i]->name, APART_ROOM) == 0)
			kept = strtoll(one.given->params[i]->value, NULL, 10);
	one.room = kept - (WORDS_BYTES < kept / 2 ? WORDS_BYTES : kept / 2);
}

static int one_take_all(struct err *err)
{
	const char *dir = getenv("SIRDAR_FILES");
	Sirdar__Job *grant = one_take(dir ? dir : "", APART_JOB, &sirdar__job__descriptor, err);

	one.given = one_take(dir ? dir : "", APART_GIVEN, &sirdar__param_give__descriptor, err);
	if (grant && one.given) {
		job_fill(&one.job, grant);
		room_find();
	}
	int r = grant && one.given ? 0 : E_INVALID;

	if (grant)
		sirdar__job__free_unpacked(grant, NULL);
	return r;
}

static int one_judge(void *ctx, int fd, struct err *err)
{
	char is[DIGEST_HEX];
	int r = digest_fd(fd, is, err);

	(void)ctx;
	if (r < 0 || strcmp(is, one.sha256) == 0)
		return r;
	return err_set(err, E_FORBIDDEN, "%s has the sha256 %s, registered is %s", one.path, is,
	               one.sha256);
}

static int one_load(struct err *err)
{
	int r = plugin_map_judged(one.path, one.sha256 ? one_judge : NULL, NULL, &one.plugin, err);

	return r < 0 ? r : plugin_open(one.plugin, &host, &one.self, err);
}

int one_main(int argc, char **argv)
{
	static sigset_t stops;
	struct runner_result result = { .size = sizeof result };
	struct err err = { 0 };
	pthread_t watch;

	if (argc < 4 || !getenv("SIRDAR_FILES")) {
		fprintf(stderr, "taskrunner-loader: " APART_OPTION
		                " is for jobkeepers: an attempt is expected in SIRDAR_FILES\n");
		return EX_USAGE;
	}
	one.path = argv[3];
	one.sha256 = argc > 4 ? argv[4] : NULL;
	pthread_mutex_init(&one.mu, NULL);
	pthread_mutex_init(&one.kill_mu, NULL);
	pthread_cond_init(&one.cv, NULL);
	sigemptyset(&stops);
	sigaddset(&stops, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &stops, NULL);
	if (one_take_all(&err) < 0 || one_load(&err) < 0) {
		result.verdict = RUNNER_INFRA;
		result.exit_code = 1;
		result_set_text(&result, err.text);
		return one_end(RUNNER_FAILED, &result);
	}
	int r = pthread_create(&watch, NULL, wait_for_stop, &stops);

	CHECK(r == 0);
	r = one_run(&result);
	one.plugin->close(one.self);
	/* The watch may be inside: only the process's end is safe. */
	_exit(one_end(r, &result));
}
