/* The birth of a job's process, from clone3() to the first instruction of its program.
 *
 * The child shares our memory or has a copy, until it execs: it makes system calls only, and
 * writes into `verdict` which step failed and why. CLONE_VFORK holds the parent until then, so
 * that one verdict serves all children. A process of another user never shares memory with us.
 * What fails before the program begins is the machine's failure where it may go well elsewhere
 * (of_machine()), and else the job's. Which environment, user and files the child has,
 * launch_new.c has decided.
 */
#include "broker/keeper/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/keeper/box.h"
#include "broker/keeper/landlock.h"
#include "broker/keeper/launch_private.h"
#include "broker/keeper/rights.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/sanitized.h"

/* The child of a clone with CLONE_VM writes over this process's memory: no sanitizer there. */
#define BARE __attribute__((no_sanitize("address", "undefined", "thread")))

/* What the child did and could not do, in memory that both see. */
struct verdict {
	volatile int64_t exec_us; /* wall, as its program began */
	volatile int step;        /* 0: exec happened */
	volatile int errnum;
};
enum step {
	STEP_NONE,
	STEP_SETUP,
	STEP_USER,
	STEP_LIMIT,
	STEP_CWD,
	STEP_EXEC,
	STEP_PLACE, /* errnum 0: it is not only the user's */
	STEP_FILES,
};

static struct verdict *verdict;

BARE static _Noreturn void child_fail(enum step step)
{
	verdict->errnum = errno;
	verdict->step = (int)step;
	_exit(127);
}

/* The user's directory, made by itself or before it: is it a directory, its own, and shut? */
BARE static bool place_is_own(const struct launch *l)
{
	struct stat st;

	if (lstat(l->place, &st) < 0)
		return false;
	/* What a job did to its own place must not look like a fault of the machine. The name
	 * stands in a directory that is ours, so nobody can put a link there meanwhile. */
	if (S_ISDIR(st.st_mode) && st.st_uid == l->uid && (st.st_mode & 07777) != 0700 &&
	    chmod(l->place, 0700) == 0)
		return true;
	errno = 0;
	return S_ISDIR(st.st_mode) && st.st_uid == l->uid && !(st.st_mode & 077);
}

BARE static bool file_make(int dir, const struct launch_file *f)
{
	int fd = openat(dir, f->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
	ssize_t n = fd < 0 ? -1 : write(fd, f->data, f->bytes);

	if (fd >= 0)
		close(fd);
	if (n >= 0 && n != (ssize_t)f->bytes)
		errno = ENOSPC;
	return n == (ssize_t)f->bytes;
}

/* As the user, but with the launcher's group, which alone may make something in the places: so
 * nobody has put anything there before. */
BARE static void child_makes(const struct launch *l)
{
	umask(077);
	if (l->place && mkdir(l->place, 0700) < 0 && errno != EEXIST)
		child_fail(STEP_PLACE);
	if (l->place && !place_is_own(l))
		child_fail(STEP_PLACE);
	if (l->files_n == 0)
		return;
	if (mkdir(l->files_at, 0700) < 0)
		child_fail(STEP_FILES);
	int dir = open(l->files_at, O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW | O_RDONLY);
	for (size_t i = 0; i < l->files_n; i++)
		if (dir < 0 || !file_make(dir, &l->files[i]))
			child_fail(STEP_FILES);
	close(dir);
}

BARE static void child_user(const struct launch *l)
{
	uid_t uid = l->uid;
	gid_t gid = l->gid;

	/* The raw calls: glibc's would signal "all threads" of memory that is not ours. The
	 * launcher's rights outlive the change of user, which is none from root; it is bound. */
	if (l->is_lent) {
		if (syscall(SYS_setresuid, uid, uid, uid) < 0)
			child_fail(STEP_USER);
		child_makes(l);
	} else if (!rights_bind_users()) {
		child_fail(STEP_USER);
	}
	if (syscall(SYS_setgroups, l->groups_n, l->groups) < 0 ||
	    syscall(SYS_setresgid, gid, gid, gid) < 0 ||
	    syscall(SYS_setresuid, uid, uid, uid) < 0 || !rights_drop() ||
	    (!l->box_words && !rights_bind_job())) /* a box binds its job, after its own mounts */
		child_fail(STEP_USER);
	/* Whatever was asked for: the program that begins here cannot be root. */
	if (syscall(SYS_getuid) != uid || syscall(SYS_geteuid) != uid ||
	    syscall(SYS_getegid) != gid || syscall(SYS_setresuid, 0, 0, 0) == 0) {
		errno = EPERM;
		child_fail(STEP_USER);
	}
}

/* What the box's own process must not take from the job goes beside it: its environment. */
BARE static _Noreturn void child_box(const struct launch *l)
{
	char *none[] = { NULL };
	int fd = memfd_create("environment", 0);

	for (char **e = l->env; fd >= 0 && *e; e++) {
		size_t n = strlen(*e) + 1;

		if (write(fd, *e, n) != (ssize_t)n)
			child_fail(STEP_SETUP);
	}
	if (fd < 0 || (fd != BOX_FD && dup2(fd, BOX_FD) < 0))
		child_fail(STEP_SETUP);
	verdict->exec_us = clock_wall_us(&clock_machine);
	execve(l->box_program, l->box_words, none);
	child_fail(STEP_SETUP);
}

BARE static _Noreturn void child_exec(const struct launch *l)
{
	int errnum = ENOENT;

	verdict->exec_us = clock_wall_us(&clock_machine);
	for (char **p = l->paths; *p; p++) {
		execve(*p, l->argv, l->env);
		if (errno != ENOENT && errno != ENOTDIR)
			errnum = errno;
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			break;
	}
	errno = errnum;
	child_fail(STEP_EXEC);
}

/* By clone() nobody is born in a group: it goes there itself, before anything else. */
BARE static void child_join(int cgroup)
{
	int fd = openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "0", 1) != 1)
		child_fail(STEP_SETUP);
}

/* What a child needs to know of its birth. */
struct birth {
	const struct launch *l;
	const struct launch_fds *fds;
	pid_t parent;
	int cgroup; /* to be joined; -1: none, or born in it */
};

/* Between birth and exec: system calls only. All signals are blocked, none is handled. */
BARE static _Noreturn void child_main(const struct birth *b)
{
	const struct launch *l = b->l;
	const struct launch_fds *fds = b->fds;
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t none = { 0 };

	if (b->cgroup >= 0)
		child_join(b->cgroup);
	for (size_t i = 0; i < LAUNCH_JOINS; i++)
		if (fds->join[i] >= 0 && write(fds->join[i], "0", 1) != 1)
			child_fail(STEP_SETUP);
	for (int i = 0; i < fds->n_more; i++)
		if (dup2(fds->more[i], 3 + i) < 0)
			child_fail(STEP_SETUP);
	if (setsid() < 0 || dup2(fds->null, 0) < 0 || dup2(fds->out, 1) < 0 ||
	    dup2(fds->err, 2) < 0 ||
	    syscall(SYS_close_range, 3u + (unsigned)fds->n_more, ~0u, 0) < 0 ||
	    sigaction(SIGPIPE, &sa, NULL) < 0)
		child_fail(STEP_SETUP);
	for (size_t i = 0; i < l->limits_n; i++)
		if (syscall(SYS_prlimit64, 0, l->limits[i].resource, &l->limits[i].value, NULL) < 0)
			child_fail(STEP_LIMIT);
	if (l->is_other_user)
		child_user(l);
	umask(l->umask);
	/* After the change of user, which clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != b->parent)
		child_fail(STEP_SETUP);
	if (l->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		child_fail(STEP_SETUP);
	if (l->is_landlocked && !landlock_bind())
		child_fail(STEP_SETUP);
	/* By the user itself, whose directory it is in: it may have put a link there. */
	if (l->place && chdir(l->place) == 0)
		mkdir(LAUNCH_TMP, 0700);
	if (chdir(l->cwd) < 0)
		child_fail(STEP_CWD);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
	if (l->box_words)
		child_box(l);
	child_exec(l);
}

/* clone3(args, bytes) or clone(flags, stack): what either takes beyond that is 0. */
struct call {
	long number, first, second;
};

#if defined(__x86_64__) && !defined(SANITIZED)
#define HAVE_SHARED_CLONE 1
/* The child runs on this very stack until it execs, and never returns from child_main():
 * it only writes below this frame, where nothing of the parent's is alive. glibc's wrapper
 * has its return address there, hence the bare instruction. */
BARE __attribute__((noinline)) static long clone_shared(const struct call *c, const struct birth *b)
{
	register long tid __asm__("r10") = 0, tls __asm__("r8") = 0;
	long r = c->number;

	__asm__ volatile("syscall"
	                 : "+a"(r)
	                 : "D"(c->first), "S"(c->second), "d"(0L), "r"(tid), "r"(tls)
	                 : "rcx", "r11", "memory");
	if (r == 0)
		child_main(b);
	return r;
}
#endif

BARE __attribute__((noinline)) static long clone_copied(const struct call *c, const struct birth *b)
{
	long r = syscall(c->number, c->first, c->second, 0L, 0L, 0L);

	if (r == 0)
		child_main(b);
	return r < 0 ? -errno : r;
}

static long birth_give(const struct call *c, const struct birth *b)
{
#ifdef HAVE_SHARED_CLONE
	if (!b->l->is_other_user)
		return clone_shared(c, b);
#endif
	return clone_copied(c, b);
}

static long child_make(const struct launch *l, const struct launch_fds *fds)
{
	struct clone_args args = { .flags = CLONE_VFORK, .exit_signal = SIGCHLD };
	struct birth birth = { l, fds, l->is_lent ? getppid() : getpid(), -1 };

#ifdef HAVE_SHARED_CLONE
	/* Another user's process must never share memory with us, not even for a moment. */
	if (!l->is_other_user)
		args.flags |= CLONE_VM;
#endif
	/* Its end is told as ours would be. */
	if (l->is_lent) {
		args.flags |= CLONE_PARENT;
		args.exit_signal = 0;
	}
	struct call old = { SYS_clone, (long)(args.flags | SIGCHLD), 0 };

	if (fds->cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)fds->cgroup;
	}
	long r = birth_give(&(struct call){ SYS_clone3, (long)&args, sizeof args }, &birth);

	if (r != -ENOSYS)
		return r;
	/* A filter of system calls cannot read flags behind a pointer: who forbids some of them,
	 * as systemd does in RestrictNamespaces=, says that there is no clone3. */
	birth.cgroup = fds->cgroup;
	return birth_give(&old, &birth);
}

/* What failed is not the job's: elsewhere it may go well. */
static int of_machine(int errnum)
{
	int code = err_of_errno(errnum);

	return err_retryable(code) ? code : E_MACHINE;
}

static int verdict_error(const struct launch *l, int errnum, enum step step, struct err *err)
{
	CHECK(step != STEP_NONE);
	switch (step) {
	case STEP_USER:
		return err_sys(err, of_machine(errnum), errnum, "user %.64s", l->user);
	case STEP_LIMIT:
		return err_sys(err, of_machine(errnum), errnum, "resource limits");
	case STEP_CWD:
		return err_sys(err, l->own_cwd ? of_machine(errnum) : err_of_errno(errnum), errnum,
		               "directory %.200s", l->cwd);
	case STEP_PLACE:
		if (errnum)
			return err_sys(err, of_machine(errnum), errnum, "directory %.200s",
			               l->place);
		return err_set(
			err, E_MACHINE,
			"directory %.200s is not only user %u's: chown %u and chmod 700 it, or "
			"move it away",
			l->place, (unsigned)l->uid, (unsigned)l->uid);
	case STEP_FILES:
		return err_sys(err, errnum == ENOSPC ? E_FULL : of_machine(errnum), errnum,
		               "file of the job");
	case STEP_EXEC:
		return err_sys(err, err_of_errno(errnum), errnum, "program %.200s", l->argv[0]);
	default:
		return err_sys(err, E_IO, errnum, "set-up of the process");
	}
}

/* A directory of the user's own, in one that is ours. One that is another's was not made here. */
static int place_make(const struct launch *l, struct err *err)
{
	if (!l->place || l->is_lent)
		return 0;
	if (mkdir(l->place, 0700) == 0 && chown(l->place, l->uid, l->gid) < 0)
		rmdir(l->place);
	return place_is_own(l) ? 0 : verdict_error(l, errno, STEP_PLACE, err);
}

static int files_make(const struct launch *l, struct err *err)
{
	if (l->files_n == 0 || l->is_lent)
		return 0;
	if (mkdir(l->files_at, 0700) < 0 && errno != EEXIST)
		return err_sys(err, of_machine(errno), errno, "%s", l->files_at);
	for (size_t i = 0; i < l->files_n; i++) {
		char *path = mem_fmt("%s/%s", l->files_at, l->files[i].name);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
		ssize_t n = fd < 0 ? -1 : write(fd, l->files[i].data, l->files[i].bytes);
		bool ok = n == (ssize_t)l->files[i].bytes &&
		          (!l->is_other_user || fchown(fd, l->uid, l->gid) == 0);
		int r = ok ? 0
		           : err_sys(err, n >= 0 ? E_FULL : of_machine(errno),
		                     n >= 0 ? ENOSPC : errno, "file of the job");
		if (fd >= 0)
			close(fd);
		free(path);
		if (r < 0)
			return r;
	}
	if (l->is_other_user && chown(l->files_at, l->uid, l->gid) < 0)
		return err_sys(err, of_machine(errno), errno, "%s", l->files_at);
	return 0;
}

int launch_run(const struct launch *l, const struct launch_fds *fds, pid_t *ret_pid,
               int64_t *ret_started_us, struct err *err)
{
	if (!verdict) {
		void *p = mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE,
		               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return err_sys(err, E_NOMEM, errno, "memory");
		verdict = p;
	}
	CHECK(fds->n_more <= LAUNCH_MORE && !(fds->n_more && l->box_words));
	int r = place_make(l, err);
	if (r == 0)
		r = files_make(l, err);
	if (r < 0)
		return r;
	verdict->step = STEP_NONE;
	long pid = child_make(l, fds);
	if (pid < 0)
		return err_sys(err, of_machine((int)-pid), (int)-pid, "no new process");
	if (verdict->step == STEP_NONE) {
		*ret_pid = (pid_t)pid;
		*ret_started_us = verdict->exec_us;
		return 0;
	}
	if (!l->is_lent)
		waitpid((pid_t)pid, NULL, 0);
	return verdict_error(l, verdict->errnum, (enum step)verdict->step, err);
}
