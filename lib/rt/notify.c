#include "rt/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
	struct sockaddr_un to;
	socklen_t to_bytes; /* 0: nobody listens */
} manager;

void notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n = path ? strlen(path) : 0;

	if (n > 1 && n < sizeof manager.to.sun_path && (path[0] == '/' || path[0] == '@')) {
		manager.to.sun_family = AF_UNIX;
		memcpy(manager.to.sun_path, path, n);
		if (path[0] == '@')
			manager.to.sun_path[0] = 0; /* the abstract namespace */
		manager.to_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	}
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify_send(const char *state)
{
	if (!manager.to_bytes)
		return;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* A manager that does not listen is its own trouble: the daemon goes on. */
	while (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&manager.to,
	              manager.to_bytes) < 0 &&
	       errno == EINTR)
		;
	close(fd);
}
