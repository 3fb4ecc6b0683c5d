/* taskbroker — one a machine: registers it, reports its load, keeps its loaders and its
 * jobkeeper alive. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/taskbroker/broker.h"
#include "etcd/member.h"
#include "rt/notify.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/screen.h"

struct process {
	struct param_taskbroker settings;
	struct param_args args;
	struct broker broker;
	bool with_jobs;
	ev_io signals;
};

/* One broker a state directory. */
static int lock_state(const char *dir, struct err *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char *path = mem_fmt("%s/taskbroker.lock", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = 0;

	if (fd < 0)
		r = err_sys(err, E_IO, errno, "%s", path);
	else if (fcntl(fd, F_SETLK, &lock) < 0)
		r = err_set(err, E_BUSY, "%s: another taskbroker runs here", path);
	free(path);
	return r; /* held until the process ends */
}

static void reload(struct process *p)
{
	struct param_taskbroker fresh;
	struct buf restart;
	enum log_level level;
	struct err err;

	memset(&fresh, 0, sizeof fresh);
	buf_init(&restart);
	if (param_again(&param_taskbroker_table, &fresh, &p->args, &err) < 0) {
		log_warn("broker.reload", "why=\"%s\"", err.text);
	} else {
		bool again = link_differs(&p->settings, &fresh);
		size_t n = param_reload(&param_taskbroker_table, &p->settings, &fresh, &restart);

		log_info("broker.reload", "settings=%zu need_restart=\"%s\"", n, buf_str(&restart));
		if (log_level_parse(p->settings.log_level, &level) == 0)
			log_level_set(level);
		broker_reload(&p->broker);
		if (again)
			link_again(p->broker.link);
	}
	param_done(&param_taskbroker_table, &fresh);
	buf_done(&restart);
}

static void on_signal(struct ev_loop *loop, ev_io *w, int events)
{
	struct process *p = w->data;
	struct signalfd_siginfo info;

	(void)loop;
	(void)events;
	while (read(w->fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGHUP)
			reload(p);
		else
			broker_stop(&p->broker, p->with_jobs);
	}
}

static int watch_signals(struct process *p, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGPIPE);
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);

	if (fd < 0)
		return err_sys(err, E_IO, errno, "signalfd");
	ev_io_init(&p->signals, on_signal, fd, EV_READ);
	p->signals.data = p;
	ev_io_start(p->broker.loop, &p->signals);
	return 0;
}

/* Our other programs are where this one is. */
static int find_places(struct broker *b, struct err *err)
{
	char self[PATH_MAX] = "", state[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n <= 0)
		return err_sys(err, E_IO, errno, "/proc/self/exe");
	b->bin_dir = mem_str(dirname(self));
	int r = fs_mkdirs(b->settings->state_dir, 0700, err);

	if (r == 0)
		r = fs_mkdirs(b->settings->work_dir, 0755, err);
	if (r == 0 && !realpath(b->settings->state_dir, state))
		r = err_sys(err, E_IO, errno, "%s", b->settings->state_dir);
	if (r == 0)
		b->state_dir = mem_str(state);
	return r;
}

static void on_member(void *ctx, const struct err *err)
{
	(void)ctx;
	if (err)
		log_warn("etcd.unregistered", "code=%s text=\"%s\"", err_name(err->code),
		         err->text);
	else
		log_info("etcd.registered", "text=\"this node is in the registry\"");
}

/* On a thread of its own: etcd may be slow, the broker may not. */
static int join(struct broker *b, struct err *err)
{
	const struct param_taskbroker *p = b->settings;
	char host[256] = "";
	struct member_settings set = {
		.etcd = { p->etcd.items, p->etcd.n, p->etcd_user_file, p->etcd_ca_file,
		          p->etcd_timeout_ms },
		.prefix = p->etcd_prefix,
		.ttl_ms = p->etcd_ttl_ms,
		.state_dir = b->state_dir,
		.name = p->name[0] ? p->name : host,
		.address = host,
		.mode = "taskbroker",
		.status = "online",
		.description = p->etcd_description,
		.told = on_member,
	};

	if (p->etcd.n == 0)
		return 0;
	if (gethostname(host, sizeof host - 1) < 0)
		snprintf(host, sizeof host, "localhost");
	return member_open(&set, &b->member, err);
}

static int run(struct process *p)
{
	struct broker *b = &p->broker;
	enum log_level level = LOG_INFO;
	struct err err = { 0 };

	log_level_parse(p->settings.log_level, &level);
	log_open("taskbroker", level);
	notify_open();
	b->settings = &p->settings;
	b->args = &p->args;
	b->loop = ev_loop_new(EVFLAG_NOSIGMASK | EVFLAG_NOENV);
	int r = b->loop ? find_places(b, &err) : err_set(&err, E_NOMEM, "no event loop");

	if (r == 0)
		r = lock_state(b->state_dir, &err);
	if (r == 0)
		r = watch_signals(p, &err);
	if (r < 0)
		goto out;
	r = broker_open(b, &err);
	if (r == 0)
		r = join(b, &err);
	if (r == 0)
		ev_run(b->loop, 0);
	member_close(b->member);
	broker_close(b);
out:
	if (r < 0)
		log_error("broker.end", "code=%s why=\"%s\"", err_name(r), err.text);
	free(b->state_dir);
	free(b->bin_dir);
	if (b->loop)
		ev_loop_destroy(b->loop);
	return r == 0 ? EX_OK : r == E_BUSY ? EX_TEMPFAIL : EX_CONFIG;
}

static bool take_flag(int *argc, char **argv, const char *name)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], name) != 0)
			continue;
		memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof *argv);
		--*argc;
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	struct process *p = mem_new(sizeof *p);
	int code = EX_USAGE;

	screen_open();
	mallopt(M_ARENA_MAX, 1);
	p->with_jobs = take_flag(&argc, argv, "--with-jobs");
	if (param_main(&param_taskbroker_table, &p->settings, argc, argv,
	               "[--with-jobs]  (end the jobs too when told to end)", &p->args, &code))
		code = run(p);
	param_args_done(&p->args);
	param_done(&param_taskbroker_table, &p->settings);
	free(p);
	return code;
}
