/* What the jobkeeper starts for a guest: it shows its ticket, is handed descriptors, and becomes
 * the guest.
 *
 * It runs as the project's user. The ticket is in its environment, which other users cannot read,
 * and is gone before the guest begins. Whom it shows the ticket must be the broker's user: the name
 * of the socket is one that anybody could take once the loader is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/loader/lent.h"

enum { FD_ABOVE = 10, WORDS_BEFORE = 4, NOT_BEGUN = 126 };

static bool is_served_by(int fd, uid_t uid)
{
	struct ucred peer;
	socklen_t bytes = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == uid;
}

static int loader_reach(const char *name, uid_t uid)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = strlen(name), before = offsetof(struct sockaddr_un, sun_path) + 1;
	int fd = n < sizeof to.sun_path ? socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) : -1;

	if (fd < 0)
		return -1;
	memcpy(to.sun_path + 1, name, n);
	if (connect(fd, (struct sockaddr *)&to, (socklen_t)(before + n)) == 0 &&
	    is_served_by(fd, uid))
		return fd;
	close(fd);
	return -1;
}

static int take_descriptors(int from, int ret_fds[STAND_IN_FDS])
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * STAND_IN_FDS)];
		struct cmsghdr align;
	} control = { { 0 } };
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr m = { .msg_iov = &part,
		            .msg_iovlen = 1,
		            .msg_control = &control,
		            .msg_controllen = sizeof control };
	ssize_t n;

	do
		n = recvmsg(from, &m, 0);
	while (n < 0 && errno == EINTR);
	struct cmsghdr *c = n == 1 ? CMSG_FIRSTHDR(&m) : NULL;

	if (!c || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof *ret_fds * STAND_IN_FDS))
		return -1;
	memcpy(ret_fds, CMSG_DATA(c), sizeof *ret_fds * STAND_IN_FDS);
	return 0;
}

/* From numbers that are in nobody's way. */
static int put_descriptors(int fds[STAND_IN_FDS])
{
	int r = 0;

	for (int i = 0; i < STAND_IN_FDS; i++)
		r |= fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FD_ABOVE);
	for (int i = 0; i < STAND_IN_FDS && r >= 0; i++)
		r |= dup2(fds[i], i);
	return r;
}

static int not_begun(const char *what)
{
	dprintf(STDERR_FILENO, "sirdar: %s: %s\n", what, strerrordesc_np(errno));
	return NOT_BEGUN;
}

/* Out of what the guest will have as its environment. */
static void ticket_drop(void)
{
	char **to = environ;

	for (char **from = environ; *from; from++)
		if (strncmp(*from, STAND_IN_TICKET "=", sizeof STAND_IN_TICKET) != 0)
			*to++ = *from;
	*to = NULL;
}

int stand_in_main(int argc, char **argv)
{
	const char *given = getenv(STAND_IN_TICKET);
	char ticket[TICKET_BYTES] = { 0 };
	int fds[STAND_IN_FDS];
	sigset_t none;

	if (argc <= WORDS_BEFORE || !given || strlen(given) != TICKET_BYTES) {
		fprintf(stderr, "taskrunner-loader: " STAND_IN_OPTION " is for jobkeepers\n");
		return EX_USAGE;
	}
	memcpy(ticket, given, TICKET_BYTES);
	int to = loader_reach(argv[2], (uid_t)strtoul(argv[3], NULL, 10));

	if (to < 0)
		return not_begun("its loader does not answer");
	if (send(to, ticket, sizeof ticket, MSG_NOSIGNAL) != (ssize_t)sizeof ticket ||
	    take_descriptors(to, fds) < 0 || put_descriptors(fds) < 0)
		return not_begun("its loader gives it no descriptors");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	ticket_drop();
	execve(argv[WORDS_BEFORE], argv + WORDS_BEFORE, environ);
	return not_begun(argv[WORDS_BEFORE]);
}
