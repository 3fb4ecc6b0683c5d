/* Questions to the launcher, one after the other: the keeper waits for each answer, as it waits for
 * a child of its own to begin its program. The launcher's end of the pair closing is its end.
 */
#include "broker/keeper/launcher_ask.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <unistd.h>

#include "broker/keeper/launch_private.h"
#include "broker/keeper/rights.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "util/own.h"

static _Noreturn void be_launcher(int fd, const struct launcher_settings *s)
{
	struct err err = { 0 };
	int r;

	syscall(SYS_close_range, 3u, (unsigned)fd - 1, 0);
	syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0);
	r = launcher_run(fd, s, &err);
	if (r < 0)
		log_error("launcher.failed", "%s", err.text);
	_exit(r < 0 ? EX_OSERR : 0);
}

static int be_keeper(uid_t uid, gid_t gid, struct err *err)
{
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0 || !rights_drop() ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_sys(err, E_MACHINE, errno, "becoming user %u", (unsigned)uid);
	if (setresuid(0, 0, 0) == 0 || setresgid(0, 0, 0) == 0)
		return err_set(err, E_MACHINE, "rights were not given up");
	own_memory();
	return 0;
}

int launcher_fork(struct launcher_link *link, const struct launcher_settings *s, gid_t gid,
                  struct err *err)
{
	int pair[2], on = 1;

	if (s->keeper == 0 || s->keeper == geteuid())
		return err_set(err, E_MACHINE,
		               "the jobkeeper's user must be another than the "
		               "launcher's, and not root");
	/* Before the first question: each tells who asks. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		return err_sys(err, E_MACHINE, errno, "pair of sockets");
	link->pid = fork();
	if (link->pid < 0)
		return err_sys(err, E_MACHINE, errno, "launcher");
	if (link->pid == 0)
		be_launcher(pair[1], s);
	close(pair[1]);
	link->fd = pair[0];
	return be_keeper(s->keeper, gid, err);
}

static int link_gone(struct launcher_link *link, struct err *err)
{
	if (link->fd >= 0)
		log_error("keeper.launcher_gone",
		          "pid=%d: nothing starts, no job of another user "
		          "can be signalled",
		          (int)link->pid);
	link->fd = -1; /* open still: whoever watches it closes it */
	return err_set(err, E_MACHINE, "the launcher of jobs is gone");
}

static int launcher_ask(struct launcher_link *link, struct launcher_ask *ask, const int *fds,
                        size_t n_fds, struct launcher_answer *ret, struct err *err)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * LAUNCHER_FDS)];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec part = { ask, sizeof *ask };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	CHECK(n_fds <= LAUNCHER_FDS);
	ask->mark = LAUNCHER_MARK;
	if (n_fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(sizeof *fds * n_fds);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof *fds * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof *fds * n_fds);
	}
	if (link->fd < 0 || sendmsg(link->fd, &m, MSG_NOSIGNAL) < 0)
		return link_gone(link, err);
	do
		n = recv(link->fd, ret, sizeof *ret, 0);
	while (n < 0 && errno == EINTR);
	if (n != sizeof *ret || ret->mark != LAUNCHER_MARK || ret->token != ask->token)
		return link_gone(link, err);
	ret->text[sizeof ret->text - 1] = 0;
	return ret->code < 0 ? err_set(err, ret->code, "%s", ret->text) : 0;
}

int launcher_begin(struct launcher_link *link, struct err *err)
{
	struct launcher_ask ask = { .what = LAUNCHER_BEGIN };
	struct launcher_answer answer;

	return launcher_ask(link, &ask, NULL, 0, &answer, err);
}

static int who_set(struct launcher_ask *ask, const char *project, const char *wish, struct err *err)
{
	if (strlen(project) >= sizeof ask->project || strlen(wish) >= sizeof ask->wish)
		return err_set(err, E_INVALID, "name of the project or the user");
	snprintf(ask->project, sizeof ask->project, "%s", project);
	snprintf(ask->wish, sizeof ask->wish, "%s", wish);
	return 0;
}

int launcher_who(struct launcher_link *link, const char *project, const char *wish,
                 struct launcher_answer *ret, struct err *err)
{
	struct launcher_ask ask = { .what = LAUNCHER_WHO };
	int r = who_set(&ask, project, wish, err);

	return r < 0 ? r : launcher_ask(link, &ask, NULL, 0, ret, err);
}

/* --- starts --- */

static void words_add(struct buf *b, char *const *words, uint32_t *ret_n)
{
	for (*ret_n = 0; words[*ret_n]; ++*ret_n)
		buf_put(b, words[*ret_n], strlen(words[*ret_n]) + 1);
}

static void parcel_make(const struct launch *l, struct launcher_ask *ask, struct buf *b)
{
	const char *cwd = l->own_cwd ? "" : l->cwd; /* the launcher knows the place */

	buf_put(b, cwd, strlen(cwd) + 1);
	words_add(b, l->argv, &ask->n_argv);
	words_add(b, l->env, &ask->n_env);
	words_add(b, l->paths, &ask->n_paths);
	for (size_t i = 0; i < l->files_n; i++) {
		const uint64_t bytes = l->files[i].bytes;

		buf_put(b, l->files[i].name, strlen(l->files[i].name) + 1);
		buf_put(b, &bytes, sizeof bytes);
		buf_put(b, l->files[i].data, l->files[i].bytes);
	}
	ask->n_files = (uint32_t)l->files_n;
	ask->parcel_bytes = b->len;
}

static int parcel_write(const struct buf *b, int *ret_fd, struct err *err)
{
	int fd = memfd_create("start", MFD_CLOEXEC);
	size_t done = 0;
	ssize_t n = 1;

	while (fd >= 0 && done < b->len && (n = write(fd, buf_at(b) + done, b->len - done)) > 0)
		done += (size_t)n;
	if (fd >= 0 && done == b->len) {
		*ret_fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return err_sys(err, E_NOMEM, errno, "memory of a start");
}

static int start_fill(const struct launch *l, uint64_t token, struct launcher_ask *ask,
                      struct err *err)
{
	if (l->limits_n > LAUNCHER_LIMITS)
		return err_set(err, E_INVALID, "%zu limits, the most is %d", l->limits_n,
		               LAUNCHER_LIMITS);
	ask->token = token;
	ask->uid = l->uid;
	ask->umask = l->umask;
	ask->isolation = (l->box_words ? LAUNCHER_BOX : 0) |
	                 (l->is_landlocked ? LAUNCHER_LANDLOCK : 0);
	ask->n_limits = (uint32_t)l->limits_n;
	for (size_t i = 0; i < l->limits_n; i++) {
		ask->limits[i].resource = (uint64_t)l->limits[i].resource;
		ask->limits[i].soft = l->limits[i].value.soft;
		ask->limits[i].hard = l->limits[i].value.hard;
	}
	return who_set(ask, l->project, l->wish, err);
}

int launcher_start(struct launcher_link *link, const struct launch *l, const struct launch_fds *fds,
                   uint64_t token, struct launched *ret, struct err *err)
{
	struct launcher_ask ask = { .what = LAUNCHER_START };
	struct launcher_answer answer;
	int give[LAUNCHER_FDS] = { -1, fds->null, fds->out, fds->err };
	size_t n_give = 4;
	struct buf parcel;
	int r = start_fill(l, token, &ask, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < LAUNCH_JOINS; i++)
		if (fds->join[i] >= 0)
			give[n_give++] = fds->join[i];
	buf_init(&parcel);
	parcel_make(l, &ask, &parcel);
	if (parcel.len > LAUNCHER_PARCEL_MAX)
		r = err_set(err, E_INVALID, "a start of %zu bytes, the most is %d", parcel.len,
		            LAUNCHER_PARCEL_MAX);
	else
		r = parcel_write(&parcel, &give[0], err);
	if (r == 0) {
		r = launcher_ask(link, &ask, give, n_give, &answer, err);
		close(give[0]);
	}
	if (parcel.len)
		explicit_bzero((void *)(uintptr_t)buf_at(&parcel), parcel.len);
	buf_done(&parcel);
	if (r < 0)
		return r;
	CHECK(answer.pid > 0);
	*ret = (struct launched){ answer.pid, answer.started_us };
	return 0;
}

/* --- and the rest --- */

bool launcher_is_there(struct launcher_link *link)
{
	char byte;

	/* Nothing comes unasked: what is there to read is its end. */
	if (link->fd >= 0 && (recv(link->fd, &byte, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN))
		link_gone(link, NULL);
	return link->fd >= 0;
}

bool launcher_signal(struct launcher_link *link, int pid_fd, int sig)
{
	struct launcher_ask ask = { .what = LAUNCHER_SIGNAL, .signal = sig };
	struct launcher_answer answer;

	launcher_ask(link, &ask, &pid_fd, 1, &answer, NULL);
	return link->fd >= 0;
}

void launcher_clean(struct launcher_link *link, uint64_t token)
{
	struct launcher_ask ask = { .what = LAUNCHER_CLEAN, .token = token };
	struct launcher_answer answer;

	launcher_ask(link, &ask, NULL, 0, &answer, NULL);
}
