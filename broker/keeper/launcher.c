/* The launcher's loop: one question, one answer; and the ends of what it started.
 *
 * It has a descriptor of each job's first process, which can never come to mean another one. As
 * long as one of a user's is open, that user has a job. A number of the map has nothing but jobs:
 * when its last one is over all that is left of it is killed, by a child that is that number and
 * has no rights; so are all numbers at the begin, and when the keeper is gone. Who sends a signal
 * must name a process of a user that has or had a job here.
 */
#include "broker/keeper/launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/keeper/launch_private.h"
#include "broker/keeper/rights.h"
#include "broker/keeper/tenant.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/param.h"

enum { FDS_FIXED = 4, SWEEPS = 50, DEPTH_MAX = 64, EVENTS = 64, UIDS_BYTES_MAX = 1 << 20 };
enum { TURN_MS = 30000, TURN_LOOK_MS = 10 };

/* A user that has or had a job here. */
struct known {
	uid_t uid;
	bool is_number; /* of the map: nobody else's */
	bool is_due;    /* its last job's first process has ended */
	size_t running;
};

struct launcher {
	const struct launcher_settings *s;
	int fd, epoll;
	int turn; /* locked as long as it lives; -1: not yet, or it gives no numbers */
	struct known *known;
	size_t n_known, cap_known;
	uid_t *uid_of; /* by descriptor of a process; 0: it is none */
	size_t n_uid_of;
};

struct question {
	struct launcher_ask ask;
	int fds[LAUNCHER_FDS];
	size_t n_fds;
};

/* --- before it begins -------------------------------------------------------------- */

static bool has_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct has[2] = { { 0 }, { 0 } };
	const uint32_t want = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_KILL;

	return syscall(SYS_capget, &head, has) == 0 && (has[0].effective & want) == want;
}

/* Only our group makes something in it; everybody may go through it, and list nothing. */
static int place_check(const char *path, struct err *err)
{
	struct stat st;
	int r = path[0] == '/' ? fs_mkdirs(path, 0731, err)
	                       : err_set(err, E_MACHINE, "'%.200s' is no absolute directory", path);

	if (r < 0)
		return r;
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_gid != getegid())
		return err_set(err, E_MACHINE,
		               "directory %.200s is not the launcher's own: chown %u:%u it", path,
		               (unsigned)geteuid(), (unsigned)getegid());
	if ((st.st_mode & 0777) != 0731 && chmod(path, 0731) < 0)
		return err_sys(err, E_MACHINE, errno, "%.200s", path);
	return 0;
}

int launcher_check(const struct launcher_settings *s, struct err *err)
{
	uint32_t first, last;
	int r;

	if (geteuid() == 0 || !has_rights())
		return err_set(err, E_MACHINE,
		               "it wants a user that is not root, with CAP_SETUID, CAP_SETGID and "
		               "CAP_KILL, as its service gives it");
	if (!s->lines_file[0] && !s->uids[0])
		return err_set(err, E_MACHINE,
		               "nothing says as whom jobs run: --job-uids, a number for each "
		               "project, or --job-users-file");
	if (s->uids[0] && !param_uids_parse(s->uids, &first, &last))
		return err_set(err, E_MACHINE, "job-uids is '%.64s', want FIRST-LAST, from %d on",
		               s->uids, JOB_UID_MIN);
	r = place_check(s->places, err);
	return r < 0 ? r : place_check(s->files, err);
}

/* --- acts of another user ---------------------------------------------------------- */

struct act {
	uid_t uid;
	gid_t gid;        /* an account's; 0: the number of its user */
	bool keeps_group; /* ours: it may remove what is in our places */
	void (*run)(const struct launcher *l, const struct act *a);
	uint64_t token;
	int rounds;
};

/* A child becomes that user, gives up all rights, and only then does it. */
static void act_as(const struct launcher *l, const struct act *a)
{
	uid_t uid = a->uid;
	gid_t gid = a->gid ? a->gid : uid;
	pid_t pid;

	CHECK(uid >= JOB_UID_MIN && uid <= INT32_MAX);
	pid = fork();
	if (pid < 0)
		log_warn("launcher.fork", "uid=%u errno=%d", (unsigned)uid, errno);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
		}
	if (pid != 0)
		return;
	if (setgroups(0, NULL) < 0 || (!a->keeps_group && setresgid(gid, gid, gid) < 0) ||
	    setresuid(uid, uid, uid) < 0 || !rights_drop() || getuid() != uid || geteuid() != uid ||
	    has_rights())
		_exit(1);
	a->run(l, a);
	_exit(0);
}

static void run_kill_all(const struct launcher *l, const struct act *a)
{
	(void)l;
	/* Who may signal process 1 still has rights: kill(-1) would end the machine's processes. */
	if (getuid() != a->uid || kill(1, 0) == 0 || errno != EPERM)
		return;
	/* Once is enough for those that fork, too; more, to see that they are gone. */
	for (int i = 1; kill(-1, SIGKILL) == 0 && i < a->rounds; i++)
		poll(NULL, 0, 1);
}

/* All there is of a number of the map. */
static void sweep(const struct launcher *l, uid_t uid, int rounds)
{
	const struct act a = { .uid = uid, .run = run_kill_all, .rounds = rounds };

	act_as(l, &a);
}

static void run_end_left(const struct launcher *l, const struct act *a)
{
	launcher_left_end(l->s->state_dir, a->rounds);
}

/* Of all accounts that the map names, whoever's they were: nobody keeps which of them ran. */
static void accounts_end(const struct launcher *l)
{
	struct act a = { .run = run_end_left, .rounds = SWEEPS };
	struct buf users;
	struct err err;

	buf_init(&users);
	if (l->s->lines_file[0] && tenant_lines(l->s->lines_file, NULL, &users, &err) < 0)
		log_warn("launcher.left", "why=\"%s\"", err.text);
	char *at = (char *)(uintptr_t)buf_str(&users), *name;

	while ((name = strsep(&at, " \t\r")))
		if (name[0] && launcher_account(name, &a.uid, &a.gid, &err) == 0 &&
		    a.uid >= JOB_UID_MIN && a.gid >= JOB_UID_MIN && a.uid <= INT32_MAX)
			act_as(l, &a);
	buf_done(&users);
}

/* Nothing that the user put there leads out of it: no link is followed. */
static void remove_below(int at, const char *name, int depth)
{
	struct open_how how = {
		.flags = O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, at, name, &how, sizeof how);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, e->d_name, 0) < 0 && depth < DEPTH_MAX)
			remove_below(fd, e->d_name, depth + 1);
	}
	if (d)
		closedir(d);
	unlinkat(at, name, AT_REMOVEDIR);
}

static void run_clean(const struct launcher *l, const struct act *a)
{
	char name[32];
	/* It may be gone through and changed by our group, and listed by nobody. */
	int at = open(l->s->files, O_DIRECTORY | O_PATH | O_CLOEXEC);

	snprintf(name, sizeof name, "%016" PRIx64, a->token);
	remove_below(at, name, 0);
}

/* --- users and their processes ------------------------------------------------------ */

static struct known *known_find(const struct launcher *l, uid_t uid)
{
	for (size_t i = 0; i < l->n_known; i++)
		if (l->known[i].uid == uid)
			return &l->known[i];
	return NULL;
}

static struct known *known_take(struct launcher *l, uid_t uid)
{
	uint32_t first = 0, last = 0;
	struct known *k = known_find(l, uid);

	if (k)
		return k;
	l->known = mem_room(l->known, &l->cap_known, l->n_known + 1, sizeof *l->known);
	k = &l->known[l->n_known++];
	*k = (struct known){ .uid = uid };
	k->is_number = l->s->uids[0] && param_uids_parse(l->s->uids, &first, &last) &&
	               uid >= first && uid <= last;
	return k;
}

/* Its descriptor is ready when it has ended. */
static void process_note(struct launcher *l, pid_t pid, uid_t uid)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = pidfd_open(pid, 0);

	known_take(l, uid)->running++;
	if (fd < 0)
		return; /* then the user is never swept, which harms nobody */
	e.data.fd = fd;
	if ((size_t)fd >= l->n_uid_of) {
		size_t n = (size_t)fd * 2 + EVENTS;
		uid_t *more = mem_array(n, sizeof *more);

		if (l->n_uid_of)
			memcpy(more, l->uid_of, l->n_uid_of * sizeof *more);
		free(l->uid_of);
		l->uid_of = more;
		l->n_uid_of = n;
	}
	l->uid_of[fd] = uid;
	if (epoll_ctl(l->epoll, EPOLL_CTL_ADD, fd, &e) < 0)
		log_warn("launcher.watch", "pid=%d errno=%d", (int)pid, errno);
}

static void process_over(struct launcher *l, int fd)
{
	CHECK(l->uid_of && (size_t)fd < l->n_uid_of);
	struct known *k = known_find(l, l->uid_of[fd]);

	CHECK(k && k->running > 0);
	l->uid_of[fd] = 0;
	close(fd);
	k->is_due = --k->running == 0 && k->is_number;
}

/* Whom the keeper could find of them it has ended by now, with their grace. */
static void due_sweep(struct launcher *l)
{
	for (size_t i = 0; i < l->n_known; i++) {
		if (l->known[i].is_due && l->known[i].running == 0)
			sweep(l, l->known[i].uid, 1);
		l->known[i].is_due = false;
	}
}

static int do_clean(struct launcher *l, const struct question *q, struct launcher_answer *a,
                    struct err *err)
{
	char *path = mem_fmt("%s/%016" PRIx64, l->s->files, q->ask.token);
	struct stat st;
	bool is_there = lstat(path, &st) == 0;

	(void)a;
	(void)err;
	due_sweep(l);
	free(path);
	if (is_there && st.st_uid >= JOB_UID_MIN && st.st_uid <= INT32_MAX) {
		const struct act act = { .uid = st.st_uid,
			                 .keeps_group = true,
			                 .run = run_clean,
			                 .token = q->ask.token };

		act_as(l, &act);
	}
	return 0;
}

static void all_end(struct launcher *l)
{
	for (size_t fd = 0; l->uid_of && fd < l->n_uid_of; fd++)
		if (l->uid_of[fd])
			pidfd_send_signal((int)fd, SIGKILL, NULL, 0);
	for (size_t i = 0; i < l->n_known; i++)
		if (l->known[i].is_number)
			sweep(l, l->known[i].uid, SWEEPS);
	accounts_end(l);
}

/* A line of a file of /proc that begins so: its first number; -1: none. */
static long proc_number(const char *path, const char *begin)
{
	struct buf text;
	long number = -1;

	buf_init(&text);
	if (fs_read(path, 1 << 16, &text, NULL) == 0) {
		const char *at = strstr(buf_str(&text), begin);

		number = at ? strtol(at + strlen(begin), NULL, 10) : -1;
	}
	buf_done(&text);
	return number;
}

/* A number that came to mean another process meanwhile tells another user; the signal goes to the
 * process of the descriptor, and there is none then. */
static int do_signal(struct launcher *l, const struct question *q, struct launcher_answer *a,
                     struct err *err)
{
	char path[64];
	long pid, uid;

	(void)a;
	if (q->n_fds != 1)
		return err_set(err, E_PROTOCOL, "a signal wants a process");
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", q->fds[0]);
	pid = proc_number(path, "\nPid:");
	snprintf(path, sizeof path, "/proc/%ld/status", pid);
	uid = pid > 1 ? proc_number(path, "\nUid:") : -1;
	if (uid < JOB_UID_MIN || !known_find(l, (uid_t)uid))
		return err_set(err, E_FORBIDDEN, "process %ld of user %ld is no job's", pid, uid);
	if (pidfd_send_signal(q->fds[0], q->ask.signal, NULL, 0) < 0)
		return err_sys(err, E_NOT_FOUND, errno, "process %ld", pid);
	return 0;
}

/* A launcher whose keeper is gone kills all there is of its numbers before it ends: what its
 * follower starts must come after that. */
static int turn_take(struct launcher *l, struct err *err)
{
	char *path = mem_fmt("%s.lock", l->s->uids_file);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;

	for (int ms = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0; ms += TURN_LOOK_MS) {
		if (ms >= TURN_MS) {
			r = err_set(
				err, E_MACHINE,
				"another launcher holds %.200s still after %d s: end it, or give "
				"this one numbers and a --job-uids-kept of its own",
				path, TURN_MS / 1000);
			break;
		}
		poll(NULL, 0, TURN_LOOK_MS);
	}
	if (fd < 0)
		r = err_sys(err, E_MACHINE, errno, "%.200s", path);
	if (r < 0 && fd >= 0)
		close(fd);
	else
		l->turn = fd;
	free(path);
	return r;
}

/* Of former launchers: nobody knows their processes any more, but by their numbers. */
static int do_begin(struct launcher *l, const struct question *q, struct launcher_answer *a,
                    struct err *err)
{
	uint32_t first, last;
	struct buf text;
	int r = 0;

	(void)q;
	(void)a;
	if (l->s->uids[0] && l->turn < 0)
		r = turn_take(l, err);
	if (r < 0)
		return r;
	buf_init(&text);
	if (l->s->uids[0] && param_uids_parse(l->s->uids, &first, &last) &&
	    access(l->s->uids_file, F_OK) == 0) {
		r = fs_read_trusted(l->s->uids_file, UIDS_BYTES_MAX, &text, err);
		char *at = r < 0 ? NULL : (char *)(uintptr_t)buf_str(&text), *line;

		while ((line = strsep(&at, "\n"))) {
			unsigned long uid = strtoul(line, NULL, 10);

			if (uid < first || uid > last)
				continue;
			known_take(l, (uid_t)uid);
			sweep(l, (uid_t)uid, SWEEPS);
		}
	}
	buf_done(&text);
	accounts_end(l);
	return r;
}

/* --- starts -------------------------------------------------------------------------- */

static void answer_user(const struct launcher *l, const struct launcher_user *u,
                        struct launcher_answer *a)
{
	a->uid = u->uid;
	memcpy(a->user, u->name, sizeof a->user);
	memcpy(a->home, u->home, sizeof a->home);
	memcpy(a->shell, u->shell, sizeof a->shell);
	snprintf(a->place, sizeof a->place, "%s/%s", l->s->places, u->name);
}

static int do_who(struct launcher *l, const struct question *q, struct launcher_answer *a,
                  struct err *err)
{
	struct launcher_user user;
	int r = launcher_user(l->s, q->ask.project, q->ask.wish, &user, err);

	if (r == 0)
		answer_user(l, &user, a);
	return r;
}

/* What is left of a parcel. */
struct parcel {
	char *at, *end;
	bool is_bad;
};

static char *parcel_word(struct parcel *p)
{
	char *word = p->at, *zero = memchr(word, 0, (size_t)(p->end - word));

	p->is_bad |= !zero;
	p->at = zero ? zero + 1 : p->end;
	return mem_str(zero ? word : "");
}

static char **parcel_words(struct parcel *p, size_t n)
{
	char **words;

	if (n > (size_t)(p->end - p->at)) { /* each has a zero at least */
		p->is_bad = true;
		n = 0;
	}
	words = mem_array(n + 1, sizeof *words);
	for (size_t i = 0; i < n; i++)
		words[i] = parcel_word(p);
	return words;
}

static void parcel_file(struct parcel *p, struct launch_file *to)
{
	uint64_t bytes = 0;

	to->name = parcel_word(p);
	if ((size_t)(p->end - p->at) >= sizeof bytes)
		memcpy(&bytes, p->at, sizeof bytes);
	p->is_bad |= (size_t)(p->end - p->at) < sizeof bytes || !fs_name_ok(to->name, 64);
	p->is_bad = p->is_bad || bytes > (size_t)(p->end - p->at) - sizeof bytes;
	if (p->is_bad)
		bytes = 0;
	else
		p->at += sizeof bytes;
	to->bytes = (size_t)bytes;
	to->data = mem_new((size_t)bytes + 1);
	memcpy(to->data, p->at, (size_t)bytes);
	p->at += bytes;
}

/* A copy: what the keeper changes after this is not seen. */
static char *parcel_read(const struct question *q)
{
	size_t want = q->ask.parcel_bytes, have = 0;
	char *text = mem_new(want + 1);

	while (have < want) {
		ssize_t n = pread(q->fds[0], text + have, want - have, (off_t)have);
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	if (have == want)
		return text;
	free(text);
	return NULL;
}

static struct launch *launch_from(const struct launcher *l, const struct question *q,
                                  const struct launcher_user *u, char *text)
{
	const struct launcher_ask *ask = &q->ask;
	struct parcel p = { .at = text, .end = text + ask->parcel_bytes };
	struct launch *to = mem_new(sizeof *to);

	to->is_other_user = to->is_lent = to->no_new_privs = true;
	to->uid = u->uid;
	to->gid = u->gid;
	to->user = mem_str(u->name);
	to->groups = mem_array(u->groups_n + 1, sizeof *to->groups);
	memcpy(to->groups, u->groups, u->groups_n * sizeof *to->groups);
	to->groups_n = u->groups_n;
	to->umask = ask->umask & 0777;
	to->is_landlocked = ask->isolation & LAUNCHER_LANDLOCK;
	to->place = mem_fmt("%s/%s", l->s->places, u->name);
	to->files_at = mem_fmt("%s/%016" PRIx64, l->s->files, ask->token);
	to->cwd = parcel_word(&p);
	if (!to->cwd[0]) {
		free(to->cwd);
		to->cwd = mem_str(to->place);
		to->own_cwd = true;
	}
	to->argv = parcel_words(&p, ask->n_argv);
	to->env = parcel_words(&p, ask->n_env);
	to->paths = parcel_words(&p, ask->n_paths);
	to->files = mem_array(ask->n_files + 1, sizeof *to->files);
	while (to->files_n < ask->n_files && !p.is_bad)
		parcel_file(&p, &to->files[to->files_n++]);
	to->limits = mem_array(LAUNCHER_LIMITS, sizeof *to->limits);
	for (; to->limits_n < ask->n_limits; to->limits_n++) {
		to->limits[to->limits_n].resource = (int)ask->limits[to->limits_n].resource;
		to->limits[to->limits_n].value.soft = ask->limits[to->limits_n].soft;
		to->limits[to->limits_n].value.hard = ask->limits[to->limits_n].hard;
	}
	if (!p.is_bad && to->argv[0] && to->cwd[0] == '/')
		return to;
	launch_free(to);
	return NULL;
}

static int start_run(struct launcher *l, const struct question *q, const struct launch *launch,
                     struct launcher_answer *a, struct err *err)
{
	struct launch_fds fds = {
		q->fds[1], q->fds[2], q->fds[3], -1, { -1, -1, -1, -1 }, { 0 }, 0
	};
	pid_t pid = 0;

	for (size_t i = FDS_FIXED; i < q->n_fds; i++)
		fds.join[i - FDS_FIXED] = q->fds[i];
	int r = launch_run(launch, &fds, &pid, &a->started_us, err);
	if (r < 0)
		return r;
	a->pid = pid;
	process_note(l, pid, launch->uid);
	return 0;
}

static int do_start(struct launcher *l, const struct question *q, struct launcher_answer *a,
                    struct err *err)
{
	const struct launcher_ask *ask = &q->ask;
	struct launcher_user user;
	struct launch *launch = NULL;
	char *text;
	int r;

	if (q->n_fds < FDS_FIXED || q->n_fds > FDS_FIXED + LAUNCH_JOINS ||
	    ask->n_limits > LAUNCHER_LIMITS || ask->n_files > LAUNCHER_FILES_MAX ||
	    ask->parcel_bytes > LAUNCHER_PARCEL_MAX)
		return err_set(err, E_PROTOCOL, "a start that is none");
	r = launcher_user(l->s, ask->project, ask->wish, &user, err);
	if (r < 0)
		return r;
	answer_user(l, &user, a);
	if (user.uid != ask->uid)
		return err_set(err, E_AGAIN, "the map of users was changed meanwhile");
	delegate_lend_again(&l->s->lent);
	text = parcel_read(q);
	if (text)
		launch = launch_from(l, q, &user, text);
	if (launch && ask->isolation & LAUNCHER_BOX)
		r = launch_box(launch, err);
	if (launch && r == 0)
		r = start_run(l, q, launch, a, err);
	else if (!launch)
		r = err_set(err, E_PROTOCOL, "this request to start does not read");
	launch_free(launch);
	if (text)
		explicit_bzero(text, ask->parcel_bytes);
	free(text);
	return r;
}

/* --- questions ------------------------------------------------------------------------ */

static const struct {
	enum launcher_what what;
	int (*run)(struct launcher *l, const struct question *q, struct launcher_answer *a,
	           struct err *err);
} acts[] = {
	{ LAUNCHER_BEGIN, do_begin },   { LAUNCHER_WHO, do_who },     { LAUNCHER_START, do_start },
	{ LAUNCHER_SIGNAL, do_signal }, { LAUNCHER_CLEAN, do_clean },
};

/* Whoever sent it, it has descriptors that are ours to close. */
static bool question_take(const struct launcher *l, struct msghdr *m, struct question *q)
{
	struct ucred who = { .pid = 0 };

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS)
			memcpy(&who, CMSG_DATA(c), sizeof who);
		if (c->cmsg_type != SCM_RIGHTS)
			continue;
		q->n_fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof *q->fds;
		CHECK(q->n_fds <= LAUNCHER_FDS);
		memcpy(q->fds, CMSG_DATA(c), q->n_fds * sizeof *q->fds);
	}
	if (who.pid == getppid() && who.uid == l->s->keeper)
		return true;
	log_error("launcher.stranger", "pid=%d uid=%u: it is not the keeper; it is not answered",
	          (int)who.pid, (unsigned)who.uid);
	return false;
}

static void question_answer(struct launcher *l, const struct question *q, ssize_t bytes)
{
	struct launcher_answer a = { .mark = LAUNCHER_MARK, .token = q->ask.token };
	const struct launcher_ask *ask = &q->ask;
	struct err err = { 0 };
	int r = E_PROTOCOL;

	err_set(&err, r, "a question that is none");
	if (bytes == sizeof *ask && ask->mark == LAUNCHER_MARK &&
	    memchr(ask->project, 0, sizeof ask->project) && memchr(ask->wish, 0, sizeof ask->wish))
		for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
			if (acts[i].what == ask->what)
				r = acts[i].run(l, q, &a, &err);
	a.code = r;
	if (r < 0) {
		snprintf(a.text, sizeof a.text, "%s", err.text);
		if (r == E_PROTOCOL || r == E_FORBIDDEN)
			log_warn("launcher.refused", "what=%u: %s", ask->what, err.text);
	}
	send(l->fd, &a, sizeof a, MSG_NOSIGNAL);
}

/* False: the keeper is gone. */
static bool question_read(struct launcher *l)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * LAUNCHER_FDS) +
		           CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct question q = { .n_fds = 0 };
	struct iovec part = { &q.ask, sizeof q.ask };
	struct msghdr m = { .msg_iov = &part,
		            .msg_iovlen = 1,
		            .msg_control = &control,
		            .msg_controllen = sizeof control };
	ssize_t n = recvmsg(l->fd, &m, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n < 0 && errno == EINTR;
	if (question_take(l, &m, &q))
		question_answer(l, &q, m.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ? 0 : n);
	for (size_t i = 0; i < q.n_fds; i++)
		close(q.fds[i]);
	return true;
}

static int launcher_open(struct launcher *l, struct err *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = l->fd };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "sirdar-launch");
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0 || epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->fd, &e) < 0)
		return err_sys(err, E_MACHINE, errno, "launcher");
	if (!rights_bind_users() || setresuid(0, 0, 0) == 0)
		return err_sys(err, E_MACHINE, errno, "filter of system calls");
	return 0;
}

int launcher_run(int fd, const struct launcher_settings *s, struct err *err)
{
	struct launcher l = { .s = s, .fd = fd, .epoll = -1, .turn = -1 };
	struct epoll_event events[EVENTS];
	int r = launcher_open(&l, err);
	bool is_on = r == 0;

	while (is_on) {
		int n = epoll_wait(l.epoll, events, EVENTS, -1);

		/* What the keeper asks, it asks after the ends that it has seen. */
		for (int i = 0; i < n; i++)
			if (events[i].data.fd != fd)
				process_over(&l, events[i].data.fd);
		for (int i = 0; i < n; i++)
			if (events[i].data.fd == fd)
				is_on = question_read(&l);
	}
	if (r == 0)
		all_end(&l);
	free(l.known);
	free(l.uid_of);
	if (l.epoll >= 0)
		close(l.epoll);
	if (l.turn >= 0)
		close(l.turn);
	return r;
}
