/* main.c — jobkeeper: holds the users' processes of this machine. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/keeper/box.h"
#include "broker/keeper/delegate.h"
#include "broker/keeper/keeper.h"
#include "broker/keeper/launcher_ask.h"
#include "rt/notify.h"
#include "util/err.h"
#include "util/log.h"
#include "util/own.h"
#include "util/screen.h"

#define WATCH_TIMES 4.0 /* signs of life in the time after which it counts as frozen */

enum {
	OPT_CGROUP = 256,
	OPT_JOBS,
	OPT_OUTPUT,
	OPT_RATE,
	OPT_JOURNAL,
	OPT_HANG,
	OPT_FILES,
	OPT_HANDOVER,
	OPT_PROGRAM,
	OPT_FOREGROUND,
	OPT_LEVEL,
	OPT_LOG,
	OPT_USER,
	OPT_PEER,
	OPT_WORK,
	OPT_LINES,
	OPT_UIDS,
	OPT_UIDS_FILE,
	OPT_LAUNCHER
};

struct args {
	struct keeper_settings settings;
	const char *program, *log; /* log "": standard error */
	enum log_level level;
	int handover;
	const char *user, *peer; /* "": none */
	struct launcher_settings launcher;
};

/* libc's own, hidden it would be another. */
__attribute__((visibility("default")))
const char *argp_program_version = "jobkeeper " SIRDAR_VERSION;

static const struct argp_option options[] = {
	{ "state", 's', "DIR", 0, "Directory of the journal, the socket and the output of jobs",
	  0 },
	{ "foreground", OPT_FOREGROUND, NULL, 0, "Accepted; it never does otherwise", 0 },
	{ "cgroup", OPT_CGROUP, "auto|off|DIR", 0,
	  "Where job groups go (cgroup v2); auto: below ours", 0 },
	{ "jobs-max", OPT_JOBS, "N", 0, "Most jobs at once, 1..65536 (10000)", 0 },
	{ "output-max", OPT_OUTPUT, "BYTES", 0, "Kept of each output of a job (67108864)", 0 },
	{ "output-rate", OPT_RATE, "BYTES", 0,
	  "Kept of each output of a job in a second; 0: any (0)", 0 },
	{ "journal-bytes", OPT_JOURNAL, "BYTES", 0, "Size of the journal, 65536.. (4194304)", 0 },
	{ "hang-ms", OPT_HANG, "MS", 0, "A job not gone so long after SIGKILL is hanged (10000)",
	  0 },
	{ "files", OPT_FILES, "DIR", 0, "For files given to jobs; best in memory (DIR/files)", 0 },
	{ "log-level", OPT_LEVEL, "error|warn|info|debug", 0, "How much is written (info)", 0 },
	{ "log", OPT_LOG, "FILE", 0, "Where its log goes once it has begun (standard error)", 0 },
	{ "user", OPT_USER, "NAME|UID:GID", 0,
	  "Who the jobkeeper becomes, leaving a launcher that starts jobs as their projects' users",
	  1 },
	{ "peer", OPT_PEER, "NAME|UID:GID", 0, "Whose broker and loaders may ask, beside --user",
	  1 },
	{ "work", OPT_WORK, "DIR", 0, "Where each user has its directory (launcher)", 1 },
	{ "job-users-file", OPT_LINES, "FILE", 0,
	  "Lines `project: user ...`, root's, read at each start (launcher)", 1 },
	{ "job-uids", OPT_UIDS, "FIRST-LAST", 0,
	  "A number for each project without a line (launcher)", 1 },
	{ "job-uids-kept", OPT_UIDS_FILE, "FILE", 0,
	  "Which project has which number, in a directory of the launcher's own (launcher)", 1 },
	{ "launcher", OPT_LAUNCHER, "FD:PID", OPTION_HIDDEN, "From the former image", 0 },
	{ "program", OPT_PROGRAM, "FILE", OPTION_HIDDEN, "What an upgrade execs", 0 },
	{ "handover", OPT_HANDOVER, "FD", OPTION_HIDDEN, "From the former image", 0 },
	{ 0 },
};

static int64_t main_number(struct argp_state *state, const char *what, const char *text,
                           int64_t min, int64_t max)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || !*text || *end || n < min || n > max)
		argp_error(state, "%s is '%s', want %lld..%lld", what, text, (long long)min,
		           (long long)max);
	return n;
}

static error_t launcher_option(int key, char *arg, struct args *a)
{
	const struct {
		int key;
		const char **to;
	} words[] = {
		{ OPT_USER, &a->user },
		{ OPT_PEER, &a->peer },
		{ OPT_WORK, &a->launcher.places },
		{ OPT_LINES, &a->launcher.lines_file },
		{ OPT_UIDS, &a->launcher.uids },
		{ OPT_UIDS_FILE, &a->launcher.uids_file },
	};

	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (words[i].key == key) {
			*words[i].to = arg;
			return 0;
		}
	return ARGP_ERR_UNKNOWN;
}

static void launcher_options_check(const struct args *a, struct argp_state *state)
{
	if (a->user[0] && (!a->launcher.places[0] || !a->settings.files_dir ||
	                   (a->launcher.uids[0] && !a->launcher.uids_file[0])))
		argp_error(state, "--user wants --work and --files too, and --job-uids wants "
		                  "--job-uids-kept");
}

static error_t main_option(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	struct keeper_settings *s = &a->settings;

	switch (key) {
	case 's':
		s->state_dir = arg;
		break;
	case OPT_FOREGROUND:
		break;
	case OPT_CGROUP:
		s->cgroup = arg;
		break;
	case OPT_JOBS:
		s->jobs_max = main_number(state, "jobs-max", arg, 1, 65536);
		break;
	case OPT_OUTPUT:
		s->output_bytes_max = main_number(state, "output-max", arg, 0, INT64_MAX);
		break;
	case OPT_RATE:
		s->output_rate_max = main_number(state, "output-rate", arg, 0, INT64_MAX / 4);
		break;
	case OPT_JOURNAL:
		s->journal_bytes = main_number(state, "journal-bytes", arg, 65536, 1 << 30);
		break;
	case OPT_HANG:
		s->hang_ms = main_number(state, "hang-ms", arg, 1, 3600000);
		break;
	case OPT_FILES:
		s->files_dir = arg;
		break;
	case OPT_PROGRAM:
		a->program = arg;
		break;
	case OPT_HANDOVER:
		a->handover = (int)main_number(state, "handover", arg, 3, INT_MAX);
		break;
	case OPT_LEVEL:
		if (log_level_parse(arg, &a->level) < 0)
			argp_error(state, "log-level is '%s', want error, warn, info or debug",
			           arg);
		break;
	case OPT_LOG:
		a->log = arg;
		break;
	case OPT_LAUNCHER:
		s->launcher.fd = (int)strtol(arg, &arg, 10);
		s->separates = *arg == ':';
		s->launcher.pid = s->separates ? (pid_t)strtol(arg + 1, NULL, 10) : 0;
		break;
	case ARGP_KEY_END:
		if (!s->state_dir || s->state_dir[0] != '/')
			argp_error(state, "--state wants an absolute directory");
		launcher_options_check(a, state);
		break;
	default:
		return launcher_option(key, arg, a);
	}
	return 0;
}

/* Descriptors 0 to 2 are never a job's pipe; as many others as the machine gives. */
static void descriptors_open(void)
{
	struct rlimit most;
	int fd;

	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= 2)
		fcntl(fd, F_SETFD, 0);
	if (fd > 2)
		close(fd);
	if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
		most.rlim_cur = most.rlim_max;
		setrlimit(RLIMIT_NOFILE, &most);
	}
}

/* What our starter gave us is let go: its reader waits for the last who holds it. Where the file
 * cannot be had nothing is written any more. */
static void output_leave(const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0) {
		log_warn("keeper.log", "%s: errno %d, nothing is logged from here on", to, errno);
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return;
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

/* What the keeper ignores its jobs would ignore. glibc's posix_spawn leaves its own two signals
 * (32, 33) ignored in every child, and its sigaction() refuses to touch them: hence the raw call;
 * a kernel's action of zeros is SIG_DFL. */
static void signals_reset(void)
{
	static const unsigned long dfl[16];

	for (int sig = 1; sig < _NSIG; sig++)
		syscall(SYS_rt_sigaction, sig, dfl, NULL, _NSIG / 8);
}

/* Before anything is opened: what has rights reads nothing but its own questions. */
static int launcher_leave(struct args *a, struct err *err)
{
	struct launcher_settings *l = &a->launcher;
	gid_t gid, ignored;
	int r = 0;

	if (a->peer[0])
		r = launcher_account(a->peer, &a->settings.peer, &ignored, err);
	if (r < 0 || !a->user[0])
		return r;
	r = launcher_account(a->user, &l->keeper, &gid, err);
	l->files = a->settings.files_dir;
	l->state_dir = a->settings.state_dir;
	if (r == 0)
		r = launcher_check(l, err);
	if (r < 0)
		return r;
	if (setgroups(1, &gid) == 0)
		delegate_lend(a->settings.cgroup, gid, &l->lent);
	a->settings.separates = true;
	return launcher_fork(&a->settings.launcher, l, gid, err);
}

static void on_watch(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop;
	(void)w;
	(void)events;
	notify_send("WATCHDOG=1");
}

/* Of a service of its own nobody here could end one that is frozen: it is another's user. */
static void watch_begin(struct ev_loop *loop)
{
	static ev_timer watch;
	double every_s = notify_watch_s() / WATCH_TIMES;

	if (every_s <= 0)
		return;
	notify_watched();
	ev_timer_init(&watch, on_watch, 0.0, every_s);
	ev_timer_start(loop, &watch);
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, main_option,
		                          NULL,    "Holds the processes of this machine's jobs.",
		                          NULL,    NULL,
		                          NULL };
	struct args a = {
		.settings = { .cgroup = "auto",
		              .jobs_max = 10000,
		              .hang_ms = 10000,
		              .output_bytes_max = 64 << 20,
		              .launcher = { .fd = -1 },
		              .journal_bytes = 4 << 20 },
		.level = LOG_INFO,
		.user = "",
		.peer = "",
		.launcher = { .lines_file = "", .uids = "", .uids_file = "", .places = "" },
		.handover = -1
	};
	char self[PATH_MAX];
	static struct keeper k;
	struct err err = { 0 };
	int r;

	screen_open();
	if (argc > 1 && strcmp(argv[1], BOX_OPTION) == 0)
		return box_main(argc, argv);
	own_memory();
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	signals_reset();
	log_open("jobkeeper", a.level);
	notify_open();
	descriptors_open();
	mallopt(M_TRIM_THRESHOLD, 256 * 1024);
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n > 0 ? n : 0] = 0;
	delegate_step_aside(a.settings.cgroup);
	r = launcher_leave(&a, &err);
	struct ev_loop *loop = r == 0 ? ev_loop_new(EVFLAG_AUTO | EVFLAG_NOSIGMASK) : NULL;
	if (r == 0)
		r = loop ? keeper_open(&k, loop, &a.settings, a.program ? a.program : self,
		                       a.handover, &err)
		         : err_set(&err, E_LIMIT, "no event loop");
	if (r == 0) {
		if (a.log && a.log[0])
			output_leave(a.log);
		log_info("keeper.ready", "state=%s cgroup=%s held=%zu limits: %s",
		         a.settings.state_dir, tree_has_groups(k.tree) ? tree_dir(k.tree) : "off",
		         k.jobs.len, tree_limits(k.tree));
		notify_send("READY=1");
		watch_begin(loop);
		ev_run(loop, 0);
		log_info("keeper.stopped", "held=%zu", k.jobs.len);
	} else {
		log_error("keeper.failed", "%s", err.text);
	}
	bool is_unable = k.is_unable;
	if (loop) {
		keeper_close(&k);
		ev_loop_destroy(loop);
	}
	return is_unable ? EX_UNAVAILABLE : r == 0 ? 0 : r == E_INVALID ? EX_CONFIG : EX_OSERR;
}
