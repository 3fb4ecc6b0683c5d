/* Where the threads of jobs connect to. The clients of databases have no hook for it, so this
 * program's symbols stand before libc's. A thread without a judge, as is each of the loader's own,
 * passes through. */
#include "broker/loader/dial.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static _Thread_local struct {
	int (*may)(void *ctx, const struct sockaddr *to, uint32_t len);
	void *ctx;
} judge;

static void set_judge(int (*may)(void *ctx, const struct sockaddr *to, uint32_t len), void *ctx)
{
	judge.may = may;
	judge.ctx = ctx;
}

const struct runner_dial dial_lent = { .size = sizeof dial_lent, .judge = set_judge };

static int is_refused(const struct sockaddr *to, socklen_t len)
{
	if (!judge.may || !to || judge.may(judge.ctx, to, len))
		return 0;
	errno = EACCES;
	return 1;
}

EXPORTED int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t len)
{
	return is_refused(to.__sockaddr__, len)
	               ? -1
	               : (int)syscall(SYS_connect, fd, to.__sockaddr__, len);
}

EXPORTED ssize_t sendto(int fd, const void *data, size_t n, int flags, __CONST_SOCKADDR_ARG to,
                        socklen_t len)
{
	return is_refused(to.__sockaddr__, len)
	               ? -1
	               : syscall(SYS_sendto, fd, data, n, flags, to.__sockaddr__, len);
}

EXPORTED ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	return is_refused(m->msg_name, m->msg_namelen) ? -1 : syscall(SYS_sendmsg, fd, m, flags);
}
