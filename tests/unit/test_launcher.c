/* What the launcher answers to questions that no keeper asks: it is the wall where its keeper has
 * been taken over. Each test is a child that becomes the launcher's user with its capabilities. */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/keeper/launcher_ask.h"
#include "util/err.h"

enum { LAUNCH = 62011, KEEPER = 62012, DONE = 42 };

static char dir[] = "/tmp/launcher-XXXXXX", places[64], files[64], dir_kept[64], kept[96], uids[64];
static struct launcher_settings settings = { "",    uids,   kept,    places,
	                                     files, KEEPER, "/none", { "", 0 } };
static struct launcher_link keeper;

#define MUST(true_) ((true_) ? (void)0 : must(__LINE__, #true_))

static void must(int line, const char *what)
{
	fprintf(stderr, "# line %d: not %s\n", line, what);
	_exit(1);
}

static void become_launcher(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const uint32_t three = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_KILL;
	struct __user_cap_data_struct caps[2] = { { three, three, three }, { 0 } };

	MUST(prctl(PR_SET_KEEPCAPS, 1) == 0);
	MUST(setgroups(0, NULL) == 0 && setresgid(LAUNCH, LAUNCH, LAUNCH) == 0);
	MUST(setresuid(LAUNCH, LAUNCH, LAUNCH) == 0 && syscall(SYS_capset, &head, caps) == 0);
}

/* The answer to one packet; what it says first. */
static int answer(const void *packet, size_t bytes, const int *fds, size_t n_fds,
                  struct launcher_answer *ret)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * LAUNCHER_FDS)];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec part = { (void *)(uintptr_t)packet, bytes };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n_fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(sizeof *fds * n_fds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof *fds * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof *fds * n_fds);
	}
	MUST(sendmsg(keeper.fd, &m, MSG_NOSIGNAL) == (ssize_t)bytes);
	MUST(recv(keeper.fd, ret, sizeof *ret, 0) == sizeof *ret);
	return ret->code;
}

static struct launcher_ask ask_of(uint32_t what, const char *project, const char *wish)
{
	struct launcher_ask ask = { .mark = LAUNCHER_MARK, .what = what, .token = 7 };

	snprintf(ask.project, sizeof ask.project, "%s", project);
	snprintf(ask.wish, sizeof ask.wish, "%s", wish);
	return ask;
}

static int asked(const struct launcher_ask *ask, const int *fds, size_t n_fds)
{
	struct launcher_answer got;

	return answer(ask, sizeof *ask, fds, n_fds, &got);
}

/* A start whose parcel is these bytes. */
static int started(struct launcher_ask *ask, const char *parcel, size_t bytes,
                   struct launcher_answer *ret)
{
	int null = open("/dev/null", O_RDWR), memory = memfd_create("parcel", 0);
	const int fds[] = { memory, null, null, null };

	MUST(write(memory, parcel, bytes) == (ssize_t)bytes);
	int r = answer(ask, sizeof *ask, fds, 4, ret);
	close(memory);
	close(null);
	return r;
}

static void run_as_keeper(void (*body)(void))
{
	struct err err = { 0 };
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		become_launcher();
		MUST(launcher_check(&settings, &err) == 0);
		MUST(launcher_fork(&keeper, &settings, KEEPER, &err) == 0);
		MUST(launcher_begin(&keeper, &err) == 0);
		body();
		_exit(DONE);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), DONE);
}

/* A launcher has one thread. The thread sanitizer adds one, which keeps no capabilities; glibc
 * ends a process whose threads are not of one user. */
#ifdef __SANITIZE_THREAD__
#define THREADS_ADDED 1
#else
#define THREADS_ADDED 0
#endif

#define NEEDS_ROOT \
	if (geteuid() != 0 || THREADS_ADDED) { \
		print_message("needs root: capabilities; and no sanitizer's thread\n"); \
		skip(); \
	}

static void body_users(void)
{
	const char *const wishes[] = { "root", "0", "#0", "-1", "4294967295", "daemon", "nobody" };
	struct launcher_ask ask;

	for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
		ask = ask_of(LAUNCHER_WHO, "one", wishes[i]);
		MUST(asked(&ask, NULL, 0) == E_FORBIDDEN);
	}
	ask = ask_of(LAUNCHER_WHO, "", "");
	MUST(asked(&ask, NULL, 0) == E_NO_USER);
	memset(ask.project, 'x', sizeof ask.project); /* without an end */
	MUST(asked(&ask, NULL, 0) == E_PROTOCOL);
	ask = ask_of(LAUNCHER_WHO, "one", "");
	MUST(asked(&ask, NULL, 0) == 0);
}

static void a_keeper_that_lies_gets_no_user_but_its_projects(void **state)
{
	(void)state;
	NEEDS_ROOT
	run_as_keeper(body_users);
}

static void body_forged(void)
{
	static const char parcel[] = "\0/bin/true\0/bin/true\0";
	struct launcher_ask ask = ask_of(LAUNCHER_START, "one", ""), who = ask;
	struct launcher_answer got;
	char packet[sizeof ask] = { 0 };

	/* Not one of its packets at all. */
	MUST(answer("x", 1, NULL, 0, &got) == E_PROTOCOL);
	MUST(answer(packet, sizeof packet, NULL, 0, &got) == E_PROTOCOL);
	MUST(answer(&ask, sizeof ask - 1, NULL, 0, &got) == E_PROTOCOL);
	who.what = 99;
	MUST(asked(&who, NULL, 0) == E_PROTOCOL);
	who = ask_of(LAUNCHER_WHO, "one", "");
	MUST(answer(&who, sizeof who, NULL, 0, &got) == 0);
	/* Starts that say more than they have. */
	MUST(asked(&ask, NULL, 0) == E_PROTOCOL);
	ask.n_argv = ask.n_paths = 1;
	ask.parcel_bytes = sizeof parcel - 1;
	ask.uid = 0;
	MUST(started(&ask, parcel, sizeof parcel - 1, &got) == E_AGAIN);
	ask.uid = who.uid = got.uid;
	MUST(started(&ask, parcel, sizeof parcel - 2, &got) == E_PROTOCOL);
	for (uint32_t n = 2; n > 1; n *= 2) {
		struct launcher_ask more = ask;

		more.n_argv = n;
		MUST(started(&more, parcel, sizeof parcel - 1, &got) == E_PROTOCOL);
		more = ask;
		more.n_files = n;
		MUST(started(&more, parcel, sizeof parcel - 1, &got) == E_PROTOCOL);
		more = ask;
		more.n_limits = n;
		MUST(n <= LAUNCHER_LIMITS ||
		     started(&more, parcel, sizeof parcel - 1, &got) == E_PROTOCOL);
		more = ask;
		more.parcel_bytes = (uint64_t)n << 24;
		MUST(started(&more, parcel, sizeof parcel - 1, &got) == E_PROTOCOL);
	}
	/* A file that leads out of its directory. */
	static const char out[] = "\0/bin/true\0/bin/true\0../x\0\1\0\0\0\0\0\0\0y";
	ask.n_files = 1;
	ask.parcel_bytes = sizeof out - 1;
	MUST(started(&ask, out, sizeof out - 1, &got) == E_PROTOCOL);
	/* And it goes on. */
	ask.n_files = 0;
	ask.parcel_bytes = sizeof parcel - 1;
	MUST(started(&ask, parcel, sizeof parcel - 1, &got) == 0 && got.pid > 1);
	MUST(waitpid(got.pid, NULL, 0) == got.pid);
}

static void forged_packets_are_refused_and_start_nothing(void **state)
{
	(void)state;
	NEEDS_ROOT
	run_as_keeper(body_forged);
}

static void body_signals(void)
{
	struct launcher_ask ask = ask_of(LAUNCHER_SIGNAL, "", "");
	const pid_t others[] = { 1, getppid(), keeper.pid, getpid() };

	ask.signal = SIGKILL;
	MUST(asked(&ask, NULL, 0) == E_PROTOCOL);
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		int fd = pidfd_open(others[i], 0);

		MUST(fd >= 0 && asked(&ask, &fd, 1) == E_FORBIDDEN);
		close(fd);
	}
	int null = open("/dev/null", O_RDONLY); /* no process at all */
	MUST(asked(&ask, &null, 1) == E_FORBIDDEN);
	MUST(kill(keeper.pid, 0) < 0);
}

static void signals_reach_nobody_but_users_of_jobs(void **state)
{
	(void)state;
	NEEDS_ROOT
	run_as_keeper(body_signals);
}

/* Whoever got the descriptor: his packets bear his own number. */
static void body_stranger(void)
{
	struct launcher_ask ask = ask_of(LAUNCHER_WHO, "one", "");
	struct launcher_answer got;
	int status = 0;
	pid_t job = fork();

	if (job == 0) {
		send(keeper.fd, &ask, sizeof ask, 0);
		_exit(0);
	}
	MUST(waitpid(job, &status, 0) == job && status == 0);
	ask.token = 8;
	MUST(answer(&ask, sizeof ask, NULL, 0, &got) == 0 && got.token == 8);
}

static void a_packet_of_a_job_is_not_answered(void **state)
{
	(void)state;
	NEEDS_ROOT
	run_as_keeper(body_stranger);
}

static int make_places(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return 0;
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	snprintf(places, sizeof places, "%s/jobs", dir);
	snprintf(files, sizeof files, "%s/files", dir);
	snprintf(dir_kept, sizeof dir_kept, "%s/kept", dir);
	snprintf(kept, sizeof kept, "%s/job_uids", dir_kept);
	int first = 2000000 + (getpid() & 0xfffff) * 16; /* nobody else's: they are swept */
	snprintf(uids, sizeof uids, "%d-%d", first, first + 3);
	const char *const all[] = { places, files, dir_kept };
	for (size_t i = 0; i < 3; i++)
		if (mkdir(all[i], 0700) < 0 || chown(all[i], LAUNCH, LAUNCH) < 0)
			return -1;
	return 0;
}

static int remove_places(void **state)
{
	char place[128], tmp[160];

	(void)state;
	snprintf(place, sizeof place, "%s/%ld", places, strtol(uids, NULL, 10));
	snprintf(tmp, sizeof tmp, "%s/tmp", place);
	unlink(kept);
	const char *const all[] = { tmp, place, places, files, dir_kept, dir };
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		rmdir(all[i]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_keeper_that_lies_gets_no_user_but_its_projects),
		cmocka_unit_test(forged_packets_are_refused_and_start_nothing),
		cmocka_unit_test(signals_reach_nobody_but_users_of_jobs),
		cmocka_unit_test(a_packet_of_a_job_is_not_answered),
	};

	return cmocka_run_group_tests(tests, make_places, remove_places);
}
