/* What jobs of an account left, where no group held them and keeper and launcher were both killed.
 *
 * An account may be a person's too, so that not all of it may be ended, as of a number: only who
 * has this keeper's mark in its environment (SIRDAR_KEEPER), and who is in a session of such. It is
 * done by the account itself, whose processes alone it can read and signal. A descriptor of the
 * process is had before the mark is looked at: a pid that came to mean another is not signalled.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "broker/keeper/launcher.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/fs.h"

enum { ENVIRON_BYTES_MAX = 1 << 20, ROUND_MS = 1 };

struct sessions {
	pid_t *all;
	size_t n, cap;
};

static bool has_mark(pid_t pid, const char *mark)
{
	char path[64];
	struct buf text;
	bool has = false;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	buf_init(&text);
	if (fs_read(path, ENVIRON_BYTES_MAX, &text, NULL) == 0) {
		const char *at = buf_str(&text), *end = at + text.len;

		for (; !has && at < end; at += strlen(at) + 1)
			has = strcmp(at, mark) == 0;
	}
	buf_done(&text);
	return has;
}

static bool is_in_session(const struct sessions *s, pid_t session)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->all[i] == session)
			return true;
	return false;
}

/* How many were ended. Their session is remembered for those who have no mark. */
static size_t end_marked(const char *mark, struct sessions *s)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
		int fd = pid > 1 && pid != getpid() ? pidfd_open(pid, 0) : -1;
		pid_t session = fd < 0 ? 0 : getsid(pid);

		if (fd < 0)
			continue;
		if (session > 0 && has_mark(pid, mark) && !is_in_session(s, session)) {
			s->all = mem_room(s->all, &s->cap, s->n + 1, sizeof *s->all);
			s->all[s->n++] = session;
		}
		if (session != getsid(0) && is_in_session(s, session))
			n += pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0;
		close(fd);
	}
	if (d)
		closedir(d);
	return n;
}

void launcher_left_end(const char *state_dir, int rounds)
{
	char *mark = mem_fmt("SIRDAR_KEEPER=%s", state_dir);
	struct sessions s = { 0 };

	for (int i = 0; i < rounds && end_marked(mark, &s); i++)
		poll(NULL, 0, ROUND_MS);
	free(s.all);
	free(mark);
}
