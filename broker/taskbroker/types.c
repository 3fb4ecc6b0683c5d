/* The life of one loader: started, heard, watched, ended.
 *
 * A loader is a process of ours, or one that an earlier broker started and this one met. While it
 * runs, a pidfd is on it, so that a signal reaches it and nobody else. What it says and that it
 * ended is noted here; what that means is judge.c's business (struct type_life), which version
 * follows which is lanes.c's.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/link/delegate.h"
#include "broker/link/lane.h"
#include "broker/taskbroker/broker.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#define OPEN_MS         10000 /* until a loader has to have said "ready" or "refused" */
#define CRASH_WINDOW_US (600 * US_PER_S)

/* --- the end of a loader ---------------------------------------------------------- */

void type_start(struct type *t, uint32_t in_ms)
{
	CHECK(!t->pid);
	ev_timer_stop(t->broker->loop, &t->start);
	ev_timer_set(&t->start, in_ms / 1000.0, 0.0);
	ev_timer_start(t->broker->loop, &t->start);
}

void type_start_later(struct type *t)
{
	const struct param_taskbroker *p = t->broker->settings;

	CHECK(t->pause_ms > 0);
	type_start(t, t->pause_ms);
	t->pause_ms *= 2;
	if (t->pause_ms > p->retry_max_ms)
		t->pause_ms = (uint32_t)p->retry_max_ms;
}

uint32_t type_count_crash(struct type *t)
{
	int64_t now_us = clock_mono_us(&clock_machine);
	uint32_t n = 0;

	t->crashes_us[t->n_crashes++ % CRASHES_KEPT] = now_us;
	for (uint32_t i = 0; i < t->n_crashes && i < CRASHES_KEPT; i++)
		n += now_us - t->crashes_us[i] < CRASH_WINDOW_US;
	return n;
}

static void close_status(struct type *t)
{
	ev_io_stop(t->broker->loop, &t->said);
	if (t->status_fd >= 0)
		close(t->status_fd);
	t->status_fd = -1;
	buf_clear(&t->status);
}

static void on_ended(struct ev_loop *loop, ev_io *w, int events)
{
	struct type *t = w->data;
	int status = 0;

	(void)events;
	CHECK(t->pid > 0 && t->pid_fd >= 0);
	if (t->status_fd >= 0)
		ev_invoke(loop, &t->said, EV_READ); /* its last words first */
	if (!t->is_met)
		waitpid(t->pid, &status, 0);
	ev_io_stop(loop, w);
	ev_timer_stop(loop, &t->late);
	ev_timer_stop(loop, &t->look);
	close_status(t);
	close(t->pid_fd);
	t->pid = 0;
	t->pid_fd = -1;
	t->in_process = 0;
	t->broker->life->ended(t, status);
}

static void on_late(struct ev_loop *loop, ev_timer *w, int events)
{
	struct type *t = w->data;

	(void)loop;
	(void)events;
	CHECK(t->pid > 0); /* its end stops the timer */
	if (t->state == TYPE_WAITING)
		snprintf(t->last_words, sizeof t->last_words,
		         "the runner's open() took longer than %d s", OPEN_MS / 1000);
	log_warn("broker.loader_late", "type=%s pid=%d", t->name, t->pid);
	pidfd_send_signal(t->pid_fd, SIGKILL, NULL, 0);
}

/* --- its words: "ready MAJOR MINOR VERSION", "refused WHY", "stuck WHY", "ending", "over"; and
 * again and again "alive MS", to be taken for frozen after so long a silence, and "jobs N", those
 * that the jobkeeper does not hold --- */

static void take_line(struct type *t, char *line)
{
	if (strncmp(line, "alive ", 6) == 0) {
		alive_watch(t, strtol(line + 6, NULL, 10));
		return;
	}
	if (strncmp(line, "refused ", 8) == 0) {
		ev_timer_stop(t->broker->loop, &t->late);
		type_say(t, TYPE_REFUSED, "%s", line + 8);
		return;
	}
	if (strncmp(line, "stuck ", 6) == 0) {
		snprintf(t->last_words, sizeof t->last_words, "%s", line + 6);
		return;
	}
	if (strncmp(line, "jobs ", 5) == 0) {
		t->in_process = (uint32_t)strtoul(line + 5, NULL, 10);
		return;
	}
	if (strcmp(line, "over") == 0) {
		t->is_over = t->is_retired;
		return;
	}
	if (strcmp(line, "ending") == 0) {
		t->is_ending = true;
		return;
	}
	/* NOLINTNEXTLINE(cert-err34-c): our own loader's words */
	if (sscanf(line, "ready %u %u %63[^\n]", &t->abi_major, &t->abi_minor, t->version) != 3)
		return;
	ev_timer_stop(t->broker->loop, &t->late);
	t->is_listening = true;
	t->broker->life->ready(t);
}

static void on_said(struct ev_loop *loop, ev_io *w, int events)
{
	struct type *t = w->data;
	CHECK(t->status_fd >= 0);
	ssize_t n = read(t->status_fd, buf_room(&t->status, 1024), 1024);

	(void)loop;
	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		close_status(t);
		return;
	}
	buf_added(&t->status, (size_t)n);
	alive_heard(t);
	char *newline;

	while ((newline = memchr(buf_at(&t->status), '\n', t->status.len))) {
		char *line = (char *)buf_at(&t->status);

		*newline = 0;
		take_line(t, line);
		buf_drop(&t->status, (size_t)(newline + 1 - line));
	}
	if (t->status.len > 4096)
		close_status(t);
}

/* --- starting --------------------------------------------------------------------- */

/* The kernel knows who holds the loader's lock: a pid that cannot be stale, looked at again
 * once a pidfd is on it. 0: nobody. */
static pid_t lock_holder(const struct type *t)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = lane_lock(t->broker->state_dir, t->name, t->lane);
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	pid_t pid = 0;

	free(path);
	if (fd < 0)
		return 0;
	if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
		pid = lock.l_pid;
	close(fd);
	return pid;
}

static void watch_pid(struct type *t)
{
	CHECK(t->pid > 0 && t->pid_fd >= 0);
	ev_io_set(&t->ended, t->pid_fd, EV_READ);
	ev_io_start(t->broker->loop, &t->ended);
}

static void late_in(struct type *t, int64_t ms)
{
	ev_timer_stop(t->broker->loop, &t->late);
	ev_timer_set(&t->late, (double)ms / 1000.0, 0.0);
	ev_timer_start(t->broker->loop, &t->late);
}

bool type_meet(struct type *t, int signal)
{
	CHECK(!t->pid);
	pid_t pid = lock_holder(t);
	int fd = pid > 1 ? pidfd_open(pid, 0) : -1;

	if (fd < 0)
		return false;
	if (lock_holder(t) != pid) {
		close(fd);
		return false;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	log_info("broker.loader_met", "type=%s pid=%d", t->name, pid);
	t->pid = pid;
	t->pid_fd = fd;
	t->is_met = t->is_listening = true;
	watch_pid(t);
	pidfd_send_signal(fd, signal, NULL, 0);
	return true;
}

/* A loader of an earlier broker: told to end (its processes are the jobkeeper's, its
 * in-process jobs get stop_ms), and followed by one of ours. */
static bool meet_former(struct type *t)
{
	CHECK(!t->is_retired);
	bool met = type_meet(t, SIGTERM);

	if (met)
		late_in(t, t->broker->settings->stop_ms + 2000);
	return met;
}

enum { WORDS_OWN = 30 }; /* besides those of --set that we were given */

struct words {
	char **items; /* NULL-ended; each its own */
	size_t n, cap;
};

static void add_word(struct words *w, char *owned)
{
	CHECK(w->n + 1 < w->cap);
	w->items[w->n++] = owned;
}

static void add_option(struct words *w, const char *option, char *owned)
{
	add_word(w, mem_str(option));
	add_word(w, owned);
}

static void loader_words(const struct type *t, struct words *w)
{
	const struct broker *b = t->broker;

	w->cap = WORDS_OWN + 2 * b->args->sets_n;
	w->items = mem_array(w->cap, sizeof *w->items);
	add_word(w, mem_str("taskrunner-loader"));
	if (b->args->config)
		add_option(w, "-c", mem_str(b->args->config));
	for (size_t i = 0; i < b->args->sets_n; i++)
		add_option(w, "--set", mem_str(b->args->sets[i]));
	/* Absolute, whatever the settings say. */
	add_option(w, "--set", mem_fmt("state_dir=%s", b->state_dir));
	add_option(w, "--type", mem_str(t->name));
	add_option(w, "--slots", mem_fmt("%u", t->slots ? t->slots : 1));
	add_option(w, "--lane", mem_fmt("%u", t->lane));
	if (t->is_heir) {
		add_option(w, "--heir-of", mem_str(t->version[0] ? t->version : "-"));
	} else if (t->wanted.version[0]) {
		add_option(w, "--plugin", version_path(t));
		add_option(w, "--version-wanted", mem_str(t->wanted.version));
		add_option(w, "--sha256", mem_str(t->wanted.sha256));
	}
	add_option(w, "--key-socket", delegate_socket(b->state_dir));
	add_option(w, "--status-fd", mem_str("3"));
}

static void words_free(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->items[i]);
	free(w->items);
}

static void watch_loader(struct type *t, int status_fd)
{
	CHECK(t->status_fd < 0 && status_fd >= 0);
	t->status_fd = status_fd;
	ev_io_set(&t->said, t->status_fd, EV_READ);
	ev_io_start(t->broker->loop, &t->said);
	watch_pid(t);
	late_in(t, OPEN_MS);
}

static void start_loader(struct type *t)
{
	char *path = mem_fmt("%s/taskrunner-loader", t->broker->bin_dir);
	struct words words = { NULL, 0, 0 };
	int pipe_fds[2] = { -1, -1 };
	struct err err;

	CHECK(!t->pid && t->pid_fd < 0);
	loader_words(t, &words);
	if (!t->is_retired && !t->is_heir) {
		t->state = TYPE_WAITING;
		t->text[0] = 0;
	}
	t->last_words[0] = 0;
	t->is_ending = t->is_listening = t->is_over = false;
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0 ||
	    spawn_program(path, words.items, pipe_fds[1], &t->pid, &t->pid_fd, &err) < 0) {
		log_error("broker.loader_start", "type=%s why=\"%s\"", t->name,
		          pipe_fds[0] < 0 ? "no pipe" : err.text);
		if (pipe_fds[0] >= 0)
			close(pipe_fds[0]);
		type_start_later(t);
	} else {
		watch_loader(t, pipe_fds[0]);
	}
	if (pipe_fds[1] >= 0)
		close(pipe_fds[1]);
	words_free(&words);
	free(path);
}

static void on_start(struct ev_loop *loop, ev_timer *w, int events)
{
	struct type *t = w->data;

	(void)loop;
	(void)events;
	if (t->pid || t->broker->is_stopping || ((t->is_disabled || t->is_unwanted) && !t->is_heir))
		return;
	if (t->is_retired ? !type_meet(t, SIGUSR1) : !meet_former(t))
		start_loader(t);
}

/* --- orders ----------------------------------------------------------------------- */

void type_enable(struct type *t)
{
	t->is_disabled = false;
	t->n_crashes = 0;
	t->pause_ms = (uint32_t)t->broker->settings->loader_restart_ms;
	if (t->pid && t->is_heir) /* it makes room, and leaves its processes to who follows */
		pidfd_send_signal(t->pid_fd, SIGTERM, NULL, 0);
	else if (t->pid && t->state != TYPE_STOPPED)
		return;
	t->is_heir = t->is_heir && t->pid;
	if (t->pid)
		t->is_again = true;
	else
		type_start(t, 0);
}

void type_stop(struct type *t, const char *why)
{
	ev_timer_stop(t->broker->loop, &t->start);
	t->is_disabled = true;
	type_say(t, TYPE_STOPPED, "%s", why);
	if (!t->pid)
		return;
	pidfd_send_signal(t->pid_fd, SIGTERM, NULL, 0);
	late_in(t, t->broker->settings->stop_ms + 2000);
}

/* --- made and gone ---------------------------------------------------------------- */

struct type *type_make(struct broker *b, const char *name)
{
	struct type *t = mem_new(sizeof *t);

	t->broker = b;
	t->name = mem_str(name);
	t->pid_fd = t->status_fd = -1;
	t->pause_ms = (uint32_t)b->settings->loader_restart_ms;
	buf_init(&t->status);
	ev_init(&t->ended, on_ended);
	ev_init(&t->said, on_said);
	ev_init(&t->start, on_start);
	ev_init(&t->late, on_late);
	alive_init(t);
	t->ended.data = t->said.data = t->start.data = t->late.data = t;
	t->next = b->types;
	b->types = t;
	return t;
}

void type_free(struct type *t)
{
	struct broker *b = t->broker;

	struct type **at = &b->types;

	while (*at != t) {
		CHECK(*at);
		at = &(*at)->next;
	}
	*at = t->next;
	ev_io_stop(b->loop, &t->ended);
	ev_timer_stop(b->loop, &t->start);
	ev_timer_stop(b->loop, &t->late);
	ev_timer_stop(b->loop, &t->look);
	close_status(t);
	buf_done(&t->status);
	if (t->pid_fd >= 0)
		close(t->pid_fd);
	free(t->name);
	free(t);
}
