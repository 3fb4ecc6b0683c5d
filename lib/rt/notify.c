#include "rt/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
	struct sockaddr_un to;
	socklen_t to_bytes; /* 0: nobody listens */
	char path[sizeof((struct sockaddr_un *)0)->sun_path];
	char watch_us[24]; /* "": nobody watches */
} manager;

void notify_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	const char *watch = getenv("WATCHDOG_USEC");
	size_t n = path ? strlen(path) : 0;

	if (n > 1 && n < sizeof manager.to.sun_path && (path[0] == '/' || path[0] == '@')) {
		manager.to.sun_family = AF_UNIX;
		memcpy(manager.to.sun_path, path, n);
		if (path[0] == '@')
			manager.to.sun_path[0] = 0; /* the abstract namespace */
		manager.to_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
		memcpy(manager.path, path, n + 1);
		snprintf(manager.watch_us, sizeof manager.watch_us, "%s", watch ? watch : "");
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

double notify_watch_s(void)
{
	return strtod(manager.watch_us, NULL) / 1e6;
}

static void say_watch(const char *us)
{
	char state[48];

	snprintf(state, sizeof state, "WATCHDOG_USEC=%s", us);
	if (manager.watch_us[0])
		notify_send(state);
}

void notify_hand_on(void)
{
	say_watch("0");
	if (manager.to_bytes)
		setenv("NOTIFY_SOCKET", manager.path, 1);
	if (manager.watch_us[0])
		setenv("WATCHDOG_USEC", manager.watch_us, 1);
}

void notify_watched(void)
{
	say_watch(manager.watch_us);
}
