/* sirdar-python-job SOCKET UID INTERPRETER WORD...: a Python job's process, as the jobkeeper
 * sees it. Has a warm interpreter fork for it and stands in for that process: passes signals on,
 * ends as it ends; when this one is killed, all of that is. Where there is no warm interpreter
 * (SOCKET is "-", or nobody answers, or another user does) it becomes INTERPRETER WORD... itself.
 *
 * sirdar-python-job --bound PROGRAM WORD...: becomes PROGRAM, which the filters of jobs stay on: of
 * a broker of root the interpreter, for all that it forks becomes other users.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker/keeper/rights.h"

#define ANSWER_MS  10000
#define FILES_WORD "$SIRDAR_FILES/"

static const int passed_on[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT };

/* A name of the abstract space, served by that user and nobody else. -1: it is not. */
static int reach(const char *name, uid_t uid)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = strlen(name);
	struct ucred peer;
	socklen_t bytes = sizeof peer;
	int fd;

	if (strcmp(name, "-") == 0 || len > sizeof to.sun_path - 1)
		return -1;
	memcpy(to.sun_path + 1, name, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&to,
	            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == uid)
		return fd;
	close(fd);
	return -1;
}

/* Hand over descriptors 0 to 2. Was it taken? */
static int hand_over(int fd)
{
	const int fds[3] = { 0, 1, 2 };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof fds)];
	} control;
	char byte = 'j';
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = { .msg_iov = &data,
		            .msg_iovlen = 1,
		            .msg_control = control.bytes,
		            .msg_controllen = sizeof control.bytes };
	struct cmsghdr *c;

	memset(&control, 0, sizeof control);
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fds);
	memcpy(CMSG_DATA(c), fds, sizeof fds);
	if (sendmsg(fd, &m, MSG_NOSIGNAL) != 1)
		return 0;
	struct pollfd answer = { .fd = fd, .events = POLLIN };

	/* Given up, the connection is closed: it does not begin without one. */
	if (poll(&answer, 1, ANSWER_MS) != 1 || read(fd, &byte, 1) != 1 || byte != '+') {
		close(fd);
		return 0;
	}
	return 1;
}

static int watch_signals(sigset_t *ret_before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
		sigaddset(&set, passed_on[i]);
	sigprocmask(SIG_BLOCK, &set, ret_before);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* As it ended, so do we. */
static int end_as(int status)
{
	const struct rlimit none = { 0, 0 };
	sigset_t all;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	kill(getpid(), WTERMSIG(status));
	return 128 + WTERMSIG(status); /* one that does not end anybody */
}

static int stand_in(int fd, int signals)
{
	struct pollfd both[] = { { .fd = fd, .events = POLLIN },
		                 { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo info;
	char line[16] = "";

	for (;;) {
		if (poll(both, 2, -1) < 0 && errno != EINTR)
			return 70;
		if (both[1].revents && read(signals, &info, sizeof info) == sizeof info) {
			unsigned char number = (unsigned char)info.ssi_signo;

			if (send(fd, &number, 1, MSG_NOSIGNAL) < 0)
				both[1].fd = -1;
		}
		if (both[0].revents)
			break;
	}
	if (read(fd, line, sizeof line - 1) <= 0) {
		fputs("sirdar: the job's warden is gone\n", stderr);
		return 70;
	}
	return end_as((int)strtol(line, NULL, 10));
}

static char *main_expanded(char *word, char **env)
{
	char *made;

	if (strncmp(word, FILES_WORD, sizeof FILES_WORD - 1) != 0)
		return word;
	while (*env && strncmp(*env, "SIRDAR_FILES=", 13) != 0)
		env++;
	if (!*env || asprintf(&made, "%s/%s", *env + 13, word + sizeof FILES_WORD - 1) < 0)
		return word;
	return made;
}

static int exec_bound(char **words)
{
	if (rights_bind_users() && rights_bind_job())
		execvp(words[0], words);
	return 126;
}

int main(int argc, char **argv, char **env)
{
	sigset_t before;

	if (argc > 2 && strcmp(argv[1], "--bound") == 0)
		return exec_bound(argv + 2);
	bool asks = argc == 2 && strcmp(argv[1], "--help") == 0;

	if (argc < 5) {
		fputs("usage: sirdar-python-job SOCKET UID INTERPRETER WORD...\n"
		      "Started by the runner `python`; SOCKET of a warm interpreter, or -.\n",
		      asks ? stdout : stderr);
		return asks ? 0 : 64;
	}
	int fd = reach(argv[1], (uid_t)strtoul(argv[2], NULL, 10));
	int signals = watch_signals(&before); /* none may come between */

	if (fd >= 0 && signals >= 0 && hand_over(fd))
		return stand_in(fd, signals);
	for (int i = 3; i < argc; i++)
		argv[i] = main_expanded(argv[i], env);
	sigprocmask(SIG_SETMASK, &before, NULL);
	setenv("PYTHONUNBUFFERED", "1", 0); /* a line is in the log when it is printed */
	execvp(argv[3], argv + 3);
	fprintf(stderr, "sirdar: %s cannot be executed: errno %d\n", argv[3], errno);
	return errno == ENOENT ? 127 : 126;
}
