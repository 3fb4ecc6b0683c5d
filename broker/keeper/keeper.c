/* Life of one jobkeeper: its directory, its lock, its signals, its timers, and one round a turn.
 *
 * The lock on the state directory is taken before journal and socket are touched, and outlives an
 * upgrade: one keeper has both. All signals are blocked and read from a descriptor. A turn of the
 * loop ends in keeper_round() (keeper_round.c); on_mend() tries to replace a journal that could
 * not be written, on_poll() looks at jobs whose tree outlives their first process. keeper_stop()
 * kills all jobs; the round ends the loop when none is left.
 */
#include "broker/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "broker/keeper/box.h"
#include "broker/keeper/landlock.h"
#include "broker/keeper/service.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/own.h"

#define MEND_S 1.0
#define POLL_S 0.02

static void on_timer(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct keeper *k = w->data;
	uint64_t n;

	(void)loop;
	(void)events;
	if (read(k->timer_fd, &n, sizeof n) > 0)
		keeper_due_run(k);
}

static void on_signal(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct keeper *k = w->data;
	struct signalfd_siginfo info;
	bool ended = false;

	(void)loop;
	(void)events;
	while (read(k->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGCHLD)
			ended = true;
		else if (info.ssi_signo == SIGHUP && !k->upgrade_to)
			k->upgrade_to = mem_str(k->program);
		else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			keeper_stop(k);
	}
	if (ended)
		keeper_reap(k);
	keeper_wake(k);
}

static void upgrade(struct keeper *k)
{
	struct err err = { 0 };
	char *to = k->upgrade_to;

	k->upgrade_to = NULL;
	if (keeper_upgrade(k, to, &err) < 0)
		log_error("keeper.not_upgraded", "%s: going on as before", err.text);
	free(to);
}

/* What cannot be ended here the next keeper's launcher ends, or who looks after the service. */
static void launcher_send(void *ctx, int pid_fd, int sig)
{
	struct keeper *k = ctx;

	if (launcher_signal(&k->settings.launcher, pid_fd, sig))
		return;
	log_error("keeper.unable",
	          "running=%zu: a job must end and cannot be signalled; it ends "
	          "itself, and who begins it anew ends the jobs",
	          k->running);
	k->is_unable = true;
	ev_break(k->loop, EVBREAK_ALL);
}

/* Without it nothing starts. What runs is watched to its end; then the keeper ends. */
static void on_launcher(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct keeper *k = w->data;

	(void)events;
	if (launcher_is_there(&k->settings.launcher))
		return;
	ev_io_stop(loop, w);
	close(w->fd);
	k->is_unable = true;
	keeper_wake(k);
}

static int launcher_watch(struct keeper *k, bool is_new, struct err *err)
{
	ev_io_init(&k->launcher, on_launcher, k->settings.launcher.fd, EV_READ);
	k->launcher.data = k;
	ev_io_start(k->loop, &k->launcher);
	tree_send_by(launcher_send, k);
	return is_new ? launcher_begin(&k->settings.launcher, err) : 0;
}

static void on_round(struct ev_loop *loop, struct ev_prepare *w, int events)
{
	struct keeper *k = w->data;

	(void)loop;
	(void)events;
	if (keeper_round(k) && k->upgrade_to && !k->is_stopping)
		upgrade(k);
}

static void on_again(struct ev_loop *loop, struct ev_idle *w, int events)
{
	(void)loop;
	(void)w;
	(void)events;
}

static void on_mend(struct ev_loop *loop, struct ev_timer *w, int events)
{
	struct keeper *k = w->data;
	struct err err = { 0 };

	(void)loop;
	(void)events;
	if (k->journal.is_broken && journal_rewrite(&k->journal, (size_t)k->settings.journal_bytes,
	                                            keeper_journal_fill, k, &err) < 0)
		return;
	ev_timer_stop(k->loop, &k->mend);
	log_info("journal.mended", "bytes=%zu", k->journal.end);
	k->is_sync_due = true;
	keeper_wake(k);
}

static void on_poll(struct ev_loop *loop, struct ev_timer *w, int events)
{
	struct keeper *k = w->data;

	(void)loop;
	(void)events;
	tree_forget_scan(k->tree);
	k->is_strangers_known = false;
	for (size_t i = k->settling.n; i-- > 0;)
		keeper_settle(k, slab_at(&k->jobs, k->settling.jobs[i]));
	CHECK(k->settling.n <= k->running);
	if (k->settling.n == 0)
		ev_timer_stop(k->loop, &k->poll);
}

/* Handlers of a parent are gone after exec, but what it ignored stays ignored. */
static int signals_open(struct keeper *k, struct err *err)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t all;

	CHECK(k->signal_fd < 0 && k->timer_fd < 0 && k->null_fd < 0);

	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&all);
	sigaddset(&all, SIGCHLD);
	sigaddset(&all, SIGHUP);
	sigaddset(&all, SIGTERM);
	sigaddset(&all, SIGINT);
	k->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	k->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	k->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (k->signal_fd < 0 || k->timer_fd < 0 || k->null_fd < 0)
		return err_sys(err, E_LIMIT, errno, "descriptors");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_sys(err, E_UNSUPPORTED, errno, "subreaper");
	return 0;
}

static int lock_take(struct keeper *k, struct err *err)
{
	char *path = mem_fmt("%s/keeper.lock", k->settings.state_dir);
	int r = 0;

	CHECK(k->lock_fd < 0);

	k->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (k->lock_fd < 0)
		r = err_sys(err, E_IO, errno, "%s", path);
	else if (flock(k->lock_fd, LOCK_EX | LOCK_NB) < 0)
		r = err_set(err, E_BUSY, "another jobkeeper runs on %.300s", k->settings.state_dir);
	free(path);
	return r;
}

/* Where the groups of our jobs are, for whoever has to end what we left (remains.h). */
static void lock_note(const struct keeper *k)
{
	const char *place = tree_has_groups(k->tree) ? tree_dir(k->tree) : "off";

	if (ftruncate(k->lock_fd, 0) < 0 ||
	    pwrite(k->lock_fd, place, strlen(place), 0) != (ssize_t)strlen(place))
		log_warn("keeper.lock", "%s/keeper.lock does not take where our groups are",
		         k->settings.state_dir);
}

static int place_open(struct keeper *k, struct err *err)
{
	struct buf text;
	int r = fs_mkdirs(k->settings.state_dir, 0711, err);

	k->logs_dir = mem_fmt("%s/logs", k->settings.state_dir);
	k->files_dir = k->settings.files_dir ? mem_str(k->settings.files_dir)
	                                     : mem_fmt("%s/files", k->settings.state_dir);
	if (r == 0 && k->settings.separates) { /* shared as the directory it is in: own.h */
		mode_t old = umask(027);

		mkdir(k->logs_dir, 0750);
		umask(old);
	}
	if (r == 0)
		r = own_dir(k->logs_dir, k->settings.separates, err);
	/* Jobs of other users find their own directory in it, and cannot list it. */
	if (r == 0 && !k->settings.separates)
		r = fs_mkdirs(k->files_dir, 0711, err);
	buf_init(&text);
	if (r == 0)
		r = fs_read("/proc/sys/kernel/random/boot_id", 64, &text, err);
	if (r == 0)
		snprintf(k->boot_id, sizeof k->boot_id, "%.36s", buf_str(&text));
	buf_done(&text);
	if (r == 0 && getrandom(&k->incarnation, sizeof k->incarnation, 0) < 0)
		r = err_sys(err, E_IO, errno, "random");
	return r;
}

static void keeper_keeper_watch(struct keeper *k)
{
	CHECK(k->signal_fd >= 0 && k->timer_fd >= 0);
	ev_io_init(&k->signal, on_signal, k->signal_fd, EV_READ);
	ev_set_priority(&k->signal, 1);
	ev_io_init(&k->timer, on_timer, k->timer_fd, EV_READ);
	ev_set_priority(&k->timer, EV_MAXPRI); /* a lease's end comes before whatever else */
	ev_prepare_init(&k->round, on_round);
	ev_idle_init(&k->again, on_again);
	ev_init(&k->mend, on_mend);
	k->mend.repeat = MEND_S;
	ev_init(&k->poll, on_poll);
	k->poll.repeat = POLL_S;
	k->signal.data = k->timer.data = k->round.data = k->again.data = k;
	k->mend.data = k->poll.data = k;
	ev_io_start(k->loop, &k->signal);
	ev_io_start(k->loop, &k->timer);
	ev_prepare_start(k->loop, &k->round);
}

int keeper_open(struct keeper *k, struct ev_loop *loop, const struct keeper_settings *s,
                const char *program, int handover, struct err *err)
{
	int listen_fd = -1, r;
	char *journal = mem_fmt("%s/keeper.journal", s->state_dir);

	memset(k, 0, sizeof *k);
	k->loop = loop;
	k->settings = *s;
	k->program = mem_str(program);
	k->lock_fd = k->timer_fd = k->signal_fd = k->null_fd = -1;
	slab_init(&k->jobs, sizeof(struct job));
	map_init(&k->tokens);
	map_init(&k->pids);
	heap_init(&k->due);
	journal_init(&k->journal, journal);
	free(journal);
	r = place_open(k, err);
	if (r == 0)
		r = signals_open(k, err);
	if (r == 0 && handover < 0)
		r = lock_take(k, err);
	if (r < 0)
		return r;
	keeper_keeper_watch(k);
	k->outputs = outputs_new(loop, k->logs_dir, s->separates);
	outputs_set_limits(k->outputs, (uint64_t)s->output_bytes_max, (uint64_t)s->output_rate_max);
	r = tree_open(s->cgroup, s->state_dir, &k->tree, err);
	if (r < 0)
		return r;
	if (s->separates)
		r = launcher_watch(k, handover < 0, err);
	if (r < 0)
		return r;
	if (handover >= 0)
		r = keeper_handover_take(k, handover, &listen_fd, err);
	else
		keeper_load(k, &r, err);
	if (r == 0)
		r = service_open(k, listen_fd, &k->service, err);
	if (r < 0)
		return r;
	lock_note(k);
	box_check(&k->no_box);
	landlock_check(&k->no_landlock);
	keeper_reap(k); /* ends that came between the two images */
	return 0;
}

void keeper_close(struct keeper *k)
{
	service_close(k->service);
	for (uint32_t i = 0; k->loop && i < k->jobs.used; i++) {
		struct job *job = slab_at(&k->jobs, i);
		if (job->keeper)
			keeper_remove(k, job);
	}
	outputs_free(k->outputs);
	tree_close(k->tree);
	journal_done(&k->journal);
	heap_done(&k->due);
	map_done(&k->tokens);
	map_done(&k->pids);
	slab_done(&k->jobs);
	int fds[] = { k->null_fd, k->timer_fd, k->signal_fd, k->lock_fd };
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(k->starts.jobs);
	free(k->ends.jobs);
	free(k->settling.jobs);
	free(k->logs_dir);
	free(k->files_dir);
	free(k->program);
	free(k->upgrade_to);
	memset(k, 0, sizeof *k);
}

void keeper_stop(struct keeper *k)
{
	bool is_second = k->is_stopping;

	if (!is_second)
		log_info("keeper.stopping", "running=%zu", k->running);
	k->is_stopping = true;
	for (uint32_t i = 0; i < k->jobs.used; i++) {
		struct job *job = slab_at(&k->jobs, i);
		if (job->keeper && !job_is_over(job))
			keeper_kill(k, job, WHY_STOP, 0, is_second ? 0 : job->grace_us);
	}
	keeper_wake(k);
}
