/* The box of one job: namespaces of users, mounts, processes and System V IPC that this process
 * makes without a right of its own, for the kernel gives a user all rights over his own ones.
 *
 *     outer    whom the keeper started and watches; ends as the job ends
 *       `- init    process 1 in there, reaps; with its end the kernel kills all that is in it
 *            `- job    gives up the rights, is bound, becomes its program
 *
 * Its work directory, TMPDIR, /tmp, /var/tmp and /dev/shm are one place in memory that ends with
 * it; of the files that are given to jobs it has its own; /proc shows its own processes. The
 * network is the machine's (abstract sockets too), and so are all other files: those the user may
 * open, it opens. Where one step fails nothing is run: less than a box is never had.
 */
#include "broker/keeper/box.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/keeper/rights.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"

enum { NO_BOX = 125, NOT_EXECUTABLE = 126, NO_PROGRAM = 127, ENV_BYTES_MAX = 8 << 20 };

struct box {
	const char *place, *files; /* "": none */
	char cwd[PATH_MAX];
	char *env_text, **env, **paths, **argv;
	volatile int *status; /* of the job, as waitpid() has it; -1: not known */
};

static _Noreturn void box_fail(const char *what, const char *on)
{
	dprintf(STDERR_FILENO, "sirdar: isolation: box: %s %s: %s; the job was not begun\n", what,
	        on, strerrordesc_np(errno));
	_exit(NO_BOX);
}

static bool word_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_put = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	int errnum = errno;

	if (fd >= 0)
		close(fd);
	errno = errnum;
	return is_put;
}

/* --- the namespaces --- */

/* NULL: it is made; else what the kernel refuses (errno). Files of others are nobody's in there. */
static const char *namespaces_make(void)
{
	char map[64];
	unsigned uid = getuid(), gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC) < 0)
		return "namespaces of users";
	if (!word_put("/proc/self/setgroups", "deny"))
		return "/proc/self/setgroups";
	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	if (!word_put("/proc/self/uid_map", map))
		return "/proc/self/uid_map";
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	if (!word_put("/proc/self/gid_map", map))
		return "/proc/self/gid_map";
	/* Nobody of its user looks into it, whoever runs beside it. */
	prctl(PR_SET_DUMPABLE, 0);
	return NULL;
}

static void memory_mount(const char *at, const char *mode)
{
	if (mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV, mode) < 0)
		box_fail("memory at", at);
}

/* Where an earlier mount has hidden its name, that is made anew. */
static void bind_at(int fd, const char *at)
{
	char from[40];
	struct err err = { 0 };

	snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
	fs_mkdirs(at, 0711, &err);
	if (mount(from, at, NULL, MS_BIND, NULL) < 0)
		box_fail("directory", at);
}

static int directory_open(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		box_fail("directory", path);
	return fd;
}

/* All jobs' files are beside each other, in directories that are their user's. */
static void files_mount(const char *files)
{
	int fd = directory_open(files);
	char *above = mem_strn(files, (size_t)(strrchr(files, '/') - files));

	memory_mount(above, "mode=0711,size=64k");
	bind_at(fd, files);
	free(above);
	close(fd);
}

static void mounts_make(const struct box *b)
{
	static const char *const shared[] = { "/tmp", "/var/tmp", "/dev/shm" };
	struct stat st;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		box_fail("mounts of its own", "/");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		box_fail("processes of its own", "/proc");
	int files = b->files[0] ? directory_open(b->files) : -1;

	memory_mount(b->place, "mode=0700");
	int place = directory_open(b->place);

	if (mkdirat(place, "tmp", 0700) < 0)
		box_fail("directory", "tmp");
	int tmp = openat(place, "tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (stat(shared[i], &st) == 0)
			bind_at(tmp, shared[i]);
	if (access(b->place, F_OK) < 0)
		bind_at(place, b->place);
	if (b->files[0] && access(b->files, F_OK) < 0)
		bind_at(files, b->files); /* nothing else is where it was */
	else if (b->files[0])
		files_mount(b->files);
	if (stat("/dev/mqueue", &st) == 0)
		memory_mount("/dev/mqueue", "mode=0700,size=64k");
}

/* --- its three processes --- */

static _Noreturn void be_job(const struct box *b)
{
	sigset_t none;
	int errnum = ENOENT;

	if (!rights_drop() || !rights_bind_job())
		box_fail("rights", "of a job");
	if (setsid() < 0 || chdir(b->cwd) < 0)
		box_fail("directory", b->cwd);
	prctl(PR_SET_DUMPABLE, 1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (char **p = b->paths; *p; p++) {
		execve(*p, b->argv, b->env);
		if (errno != ENOENT && errno != ENOTDIR)
			errnum = errno;
	}
	dprintf(STDERR_FILENO, "sirdar: program %s: %s\n", b->argv[0], strerrordesc_np(errnum));
	_exit(errnum == ENOENT ? NO_PROGRAM : NOT_EXECUTABLE);
}

/* Process 1 is sent no signal from inside that it does not handle; from outside KILL alone. */
static _Noreturn void be_init(const struct box *b)
{
	int status;
	pid_t job, ended;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || chdir("/") < 0)
		box_fail("process", "1");
	mounts_make(b);
	job = fork();
	if (job == 0)
		be_job(b);
	if (job < 0)
		box_fail("process", "2");
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	free(b->env_text);
	do
		ended = waitpid(-1, &status, 0);
	while (ended != job && (ended > 0 || errno == EINTR));
	*b->status = status;
	_exit(0);
}

/* As the job ended, so does this one. */
static _Noreturn void end_as(int status)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };
	const struct rlimit no_core = { 0, 0 };
	sigset_t none;

	if (status >= 0 && WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	int number = status >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : SIGKILL;

	setrlimit(RLIMIT_CORE, &no_core);
	sigaction(number, &dfl, NULL);
	sigemptyset(&none);
	kill(getpid(), number);
	sigprocmask(SIG_SETMASK, &none, NULL);
	_exit(NO_BOX);
}

static _Noreturn void be_outer(const struct box *b, pid_t init)
{
	int status = 0;

	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (waitpid(init, &status, 0) < 0 && errno == EINTR)
		;
	/* Before the job there is init's own word. */
	end_as(*b->status >= 0 || !WIFEXITED(status) ? *b->status : status);
}

/* --- the words --- */

static char **env_read(struct box *b, int fd)
{
	struct stat st;
	size_t n = 0, at = 0;

	if (fstat(fd, &st) < 0 || st.st_size > ENV_BYTES_MAX)
		box_fail("environment", "of the job");
	b->env_text = mem_new((size_t)st.st_size + 1);
	if (pread(fd, b->env_text, (size_t)st.st_size, 0) != st.st_size)
		box_fail("environment", "of the job");
	close(fd);
	for (off_t i = 0; i < st.st_size; i++)
		n += b->env_text[i] == 0;
	char **env = mem_array(n + 1, sizeof *env);

	for (size_t i = 0; i < n; i++) {
		env[i] = b->env_text + at;
		at += strlen(env[i]) + 1;
	}
	return env;
}

int box_main(int argc, char **argv)
{
	struct box b = { .status = MAP_FAILED };
	size_t n_paths = argc > BOX_WORDS ? strtoul(argv[5], NULL, 10) : 0;
	sigset_t all;

	if (n_paths == 0 || (size_t)argc <= BOX_WORDS + n_paths || argv[3][0] != '/') {
		fprintf(stderr, "jobkeeper: " BOX_OPTION " is for jobkeepers\n");
		return NO_BOX;
	}
	b.place = argv[3];
	b.files = argv[4];
	b.env = env_read(&b, (int)strtol(argv[2], NULL, 10));
	b.paths = mem_array(n_paths + 1, sizeof *b.paths);
	memcpy(b.paths, argv + BOX_WORDS, n_paths * sizeof *b.paths);
	b.argv = argv + BOX_WORDS + n_paths;
	b.status = mmap(NULL, sizeof *b.status, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	                -1, 0);
	if (b.status == MAP_FAILED || !getcwd(b.cwd, sizeof b.cwd))
		box_fail("directory", "of the job");
	*b.status = -1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	const char *refused = namespaces_make();
	pid_t init = refused ? -1 : fork();

	if (init < 0)
		box_fail(refused ? refused : "process", "of its own");
	if (init == 0)
		be_init(&b);
	be_outer(&b, init);
}

/* --- can it be had? --- */

/* As a user without rights, who has memory of his own that may be looked into. */
static _Noreturn void check_child(int to)
{
	const uid_t nobody = 65534;
	const char *refused = NULL;

	if (geteuid() == 0 &&
	    (setresgid(nobody, nobody, nobody) < 0 || setresuid(nobody, nobody, nobody) < 0))
		refused = "another user";
	prctl(PR_SET_DUMPABLE, 1);
	if (!refused)
		refused = namespaces_make();
	pid_t init = refused ? 0 : fork();

	if (!refused && init == 0) {
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0)
			refused = "mounts";
		else if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
			refused = "a /proc of its own";
	}
	if (refused)
		dprintf(to, "%s: %s", refused, strerrordesc_np(errno));
	if (init > 0)
		waitpid(init, NULL, 0);
	_exit(0);
}

int box_check(struct err *err)
{
	int pair[2];
	char why[160] = { 0 };
	size_t len = 0;
	ssize_t n;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(err, E_LIMIT, errno, "pipe");
	pid_t pid = fork();

	if (pid == 0)
		check_child(pair[1]);
	close(pair[1]);
	while (pid > 0 && len < sizeof why - 1 &&
	       (n = read(pair[0], why + len, sizeof why - 1 - len)) > 0)
		len += (size_t)n;
	close(pair[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (pid > 0 && len == 0)
		return 0;
	return err_set(err, E_MACHINE,
	               "isolation: box: the kernel refuses %s; allow namespaces of users "
	               "(user.max_user_namespaces, and in a container an unmasked /proc), or take "
	               "isolation out",
	               len ? why : "a process");
}
