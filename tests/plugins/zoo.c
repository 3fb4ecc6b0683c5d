/* A runner that does what no runner may; the parameter `do` says what, each word breaks one
 * promise of plugins-sdk/conformance/promises.def. Without it: nothing, and success. */
#include "sirdar/runner.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LATER_MS 200

static const struct runner_host *host;
static atomic_int count;

struct late {
	const struct runner_job *job;
	struct runner_result *result;
	atomic_int is_over;
};

static int zoo_open(const struct runner_host *lent, void **ret_self)
{
	host = lent;
	*ret_self = NULL;
	return 0;
}

static void zoo_close(void *self)
{
	(void)self;
}

static int is_to(const struct runner_job *job, const char *what)
{
	char word[32] = "";

	host->param(job, "do", word, sizeof word);
	return strcmp(word, what) == 0;
}

/* --- threads that outlive their job ------------------------------------------------- */

static void *stay(void *arg)
{
	(void)arg;
	for (;;)
		poll(NULL, 0, 60000);
	return NULL;
}

static void *write_late(void *arg)
{
	struct late *l = arg;

	poll(NULL, 0, LATER_MS);
	l->result->exit_code = 1;
	return NULL;
}

static void *log_late(void *arg)
{
	struct late *l = arg;

	poll(NULL, 0, LATER_MS);
	host->log(l->job, RUNNER_STDOUT, "late\n", 5);
	return NULL;
}

static void leave_thread(void *(*body)(void *), const struct runner_job *job,
                         struct runner_result *result)
{
	struct late *l = calloc(1, sizeof *l);
	pthread_t thread;

	l->job = job;
	l->result = result;
	pthread_create(&thread, NULL, body, l);
}

/* --- deeds --------------------------------------------------------------------------- */

static int do_exit(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	(void)result;
	exit(3);
}

static int do_abort(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	(void)result;
	abort();
}

static int do_segv(const struct runner_job *job, struct runner_result *result)
{
	volatile uintptr_t nowhere = 16;

	(void)job;
	(void)result;
	*(volatile int *)nowhere = 1;
	return 0;
}

static int do_hang(const struct runner_job *job, struct runner_result *result)
{
	(void)result;
	host->log(job, RUNNER_STDOUT, "inside\n", 7);
	stay(NULL);
	return 0;
}

static atomic_bool is_in_kill;

/* Ends when it is told to, but kill() itself does not come back. Not before kill() was entered: a
 * job that is over is not killed. */
static int do_hang_kill(const struct runner_job *job, struct runner_result *result)
{
	(void)result;
	host->log(job, RUNNER_STDOUT, "inside\n", 7);
	while (!atomic_load(&is_in_kill))
		poll(NULL, 0, 1);
	return 0;
}

static int do_leak(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	(void)result;
	void *volatile kept = malloc(4096);

	return kept ? 0 : -1;
}

static int do_descriptor(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	(void)result;
	return open("/dev/null", O_RDONLY | O_CLOEXEC) < 0 ? -1 : 0;
}

static int do_close(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	(void)result;
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	return 0;
}

static int do_thread(const struct runner_job *job, struct runner_result *result)
{
	leave_thread(stay, job, result);
	return 0;
}

static int do_late_write(const struct runner_job *job, struct runner_result *result)
{
	leave_thread(write_late, job, result);
	return 0;
}

static int do_late_log(const struct runner_job *job, struct runner_result *result)
{
	leave_thread(log_late, job, result);
	return 0;
}

static int do_answer(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	(void)result;
	return 7;
}

static int do_lie(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	(void)result;
	return RUNNER_PROCESS;
}

static int do_verdict(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	result->verdict = 99;
	return 0;
}

static int do_lines(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	result->verdict = RUNNER_FATAL;
	snprintf(result->text, sizeof result->text, "one\ntwo");
	return RUNNER_FAILED;
}

static int do_wipe(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	memset(result + 1, 0, result->size - sizeof *result);
	return 0;
}

static int do_write(const struct runner_job *job, struct runner_result *result)
{
	(void)result;
	((struct runner_job *)(uintptr_t)job)->attempt++;
	return 0;
}

static int do_beyond(const struct runner_job *job, struct runner_result *result)
{
	result->exit_code = (int32_t)((const volatile struct runner_job *)job)[1].size & 0;
	return 0;
}

static int do_copy(const struct runner_job *job, struct runner_result *result)
{
	struct runner_job copy = *job;

	(void)result;
	host->log(&copy, RUNNER_STDOUT, "x\n", 2);
	return 0;
}

static int do_twice(const struct runner_job *job, struct runner_result *result)
{
	const char *const argv[] = { "true", NULL };
	struct runner_process process = { .size = sizeof process, .argv = argv };

	(void)result;
	host->spawn(job, &process);
	host->spawn(job, &process);
	return RUNNER_PROCESS;
}

static int do_share(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	result->exit_code = atomic_fetch_add(&count, 1);
	return 0;
}

static int do_umask(const struct runner_job *job, struct runner_result *result)
{
	(void)job;
	(void)result;
	umask(077);
	return 0;
}

static int do_signal(const struct runner_job *job, struct runner_result *result)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	(void)job;
	(void)result;
	return sigaction(SIGCHLD, &ignore, NULL);
}

static int do_fork(const struct runner_job *job, struct runner_result *result)
{
	pid_t pid = fork();

	(void)job;
	(void)result;
	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : 0;
}

/* A process that is left alone, so that finish() can be seen with RUNNER_JOB_LEFT. */
static int do_left(const struct runner_job *job, struct runner_result *result)
{
	char seconds[16] = "0";
	const char *const argv[] = { "sleep", seconds, NULL };
	struct runner_process process = { .size = sizeof process, .argv = argv };

	(void)result;
	host->param(job, "seconds", seconds, sizeof seconds);
	return host->spawn(job, &process) < 0 ? -1 : RUNNER_PROCESS;
}

static int do_flood(const struct runner_job *job, struct runner_result *result)
{
	static const char line[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab\n";

	(void)result;
	for (int i = 0; i < 1 << 20 && !host->cancelled(job); i++)
		host->log(job, RUNNER_STDOUT, line, sizeof line - 1);
	return 0;
}

static int do_outputs(const struct runner_job *job, struct runner_result *result)
{
	char name[16], *value = calloc(1, (1 << 20) + 1);
	int refused = 0;

	memset(value, 'z', 1 << 20);
	refused += host->output(job, "big", value) == RUNNER_E_LIMIT;
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "n%d", i);
		refused += host->output(job, name, "x") == RUNNER_E_LIMIT;
	}
	free(value);
	snprintf(result->text, sizeof result->text, "%d outputs were refused", refused);
	return 0;
}

static const struct {
	const char *word;
	int (*deed)(const struct runner_job *job, struct runner_result *result);
} deeds[] = {
	{ "exit", do_exit },
	{ "abort", do_abort },
	{ "segv", do_segv },
	{ "hang", do_hang },
	{ "hang_kill", do_hang_kill },
	{ "prepare_long", do_hang },
	{ "leak", do_leak },
	{ "descriptor", do_descriptor },
	{ "close", do_close },
	{ "thread", do_thread },
	{ "late_write", do_late_write },
	{ "late_log", do_late_log },
	{ "answer", do_answer },
	{ "lie", do_lie },
	{ "verdict", do_verdict },
	{ "lines", do_lines },
	{ "wipe", do_wipe },
	{ "write", do_write },
	{ "beyond", do_beyond },
	{ "copy", do_copy },
	{ "twice", do_twice },
	{ "share", do_share },
	{ "umask", do_umask },
	{ "signal", do_signal },
	{ "fork", do_fork },
	{ "left", do_left },
	{ "flood", do_flood },
	{ "outputs", do_outputs },
};

/* Is still in prepare() when it is told to stop; execute() would never end. */
static int zoo_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                       void **ret_state)
{
	(void)self;
	(void)result;
	*ret_state = NULL;
	if (!is_to(job, "prepare_long"))
		return RUNNER_DONE;
	host->log(job, RUNNER_STDOUT, "preparing\n", 10);
	while (!host->cancelled(job))
		poll(NULL, 0, 1);
	return RUNNER_DONE;
}

static int zoo_execute(void *self, void *state, const struct runner_job *job,
                       struct runner_result *result)
{
	char word[32] = "";

	(void)self;
	(void)state;
	if (host->param(job, "do", word, sizeof word) < 0)
		return RUNNER_DONE;
	for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
		if (strcmp(deeds[i].word, word) == 0)
			return deeds[i].deed(job, result);
	return RUNNER_DONE;
}

static void zoo_kill(void *self, void *state, const struct runner_job *job)
{
	(void)self;
	(void)state;
	if (!is_to(job, "hang_kill"))
		return;
	atomic_store(&is_in_kill, 1);
	stay(NULL);
}

static void zoo_finish(void *self, void *state, const struct runner_job *job,
                       struct runner_result *result)
{
	(void)self;
	(void)state;
	if (job->flags & RUNNER_JOB_LEFT && is_to(job, "left"))
		result->exit_code = 1;
}

static const struct runner_plugin plugin = {
	.size = sizeof plugin,
	.abi_major = RUNNER_ABI_MAJOR,
	.abi_minor = RUNNER_ABI_MINOR,
	.name = "zoo",
	.version = "1.0",
	.open = zoo_open,
	.close = zoo_close,
	.prepare = zoo_prepare,
	.execute = zoo_execute,
	.kill = zoo_kill,
	.finish = zoo_finish,
};

const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
