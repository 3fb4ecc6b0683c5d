/* One request to the server of a state directory, over its socket: a session of one frame and its
 * answer. */
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sirdar.pb-c.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "baseserver/lead/admin.h"
#include "util/buf.h"
#include "util/err.h"
#include "wire/session.h"

enum { QUEUE_BYTES = 131072, HANDSHAKE_MS = 10000 };
/* The server has ended it by then and said so. */
enum { IDLE_MS = ADMIN_ANSWER_MS + 10000 };

struct asking {
	struct ev_loop *loop;
	bool is_answered;
	int code;
	struct buf *body;
	struct err *err;
};

static void on_open(void *ctx, struct session *s, const char *identity)
{
	(void)ctx, (void)s, (void)identity;
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct asking *a = ctx;
	const Sirdar__Answer *m = message;

	if (kind != FR_ANSWER)
		return E_PROTOCOL;
	a->is_answered = true;
	a->code = m->code;
	if (m->code < 0)
		err_set(a->err, m->code, "%s", m->text[0] ? m->text : err_text(m->code));
	else
		buf_put(a->body, m->body.data, m->body.len);
	session_end(s, 0, NULL);
	return 0;
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct asking *a = ctx;

	(void)s;
	bool is_slow = err->code == E_TIMEOUT;
	if (!a->is_answered)
		a->code = err_set(a->err, is_slow ? E_TIMEOUT : E_CLOSED,
		                  "the server ended the connection without an answer%s%s; what was "
		                  "asked for may be done: look before you ask again",
		                  err->text[0] ? ": " : "", err->text);
	ev_break(a->loop, EVBREAK_ALL);
}

static int no_server(const char *state_dir, int errnum, struct err *err)
{
	struct stat st;

	if (errnum == EACCES || errnum == EPERM)
		return err_set(err, E_FORBIDDEN,
		               "user %u may not use %.200s/" ADMIN_SOCKET
		               ": root and the server's own user%s may",
		               geteuid(), state_dir, stat(state_dir, &st) == 0 ? "" : ", alone,");
	if (errnum == ENOENT || errnum == ECONNREFUSED)
		return err_set(err, E_CLOSED,
		               "no server answers at %.200s/" ADMIN_SOCKET
		               ": it does not run here, or it says in its log (admin.closed) "
		               "why the socket is not there",
		               state_dir);
	return err_sys(err, err_of_errno(errnum), errnum, "%.200s/" ADMIN_SOCKET, state_dir);
}

static int admin_connect(const char *state_dir, int *ret_fd, struct err *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	char path[ADMIN_PATH_BYTES];
	struct err why = { 0 };
	int dir = -1;

	if (admin_path(state_dir, path, &dir, &why) < 0)
		return no_server(state_dir, errno, err);
	snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? err_sys(err, E_IO, errno, "socket")
	        : connect(fd, (const struct sockaddr *)&to, sizeof to) < 0
	                ? no_server(state_dir, errno, err)
	                : 0;
	close(dir);
	if (r < 0 && fd >= 0)
		close(fd);
	else
		*ret_fd = fd;
	return r;
}

static int admin_send(struct session *s, bool is_query, const char *kind, const struct buf *args,
                      struct err *err)
{
	Sirdar__Command command = SIRDAR__COMMAND__INIT;
	Sirdar__Query query = SIRDAR__QUERY__INIT;
	ProtobufCBinaryData text = { args->len, (uint8_t *)(uintptr_t)buf_at(args) };
	uint64_t drawn[2];
	char id[2 * 16 + 1];

	if (is_query) {
		query.kind = (char *)(uintptr_t)kind;
		query.args = text;
		return session_send(s, FR_QUERY, &query, err);
	}
	if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
		return err_sys(err, E_IO, errno, "getrandom");
	snprintf(id, sizeof id, "%016" PRIx64 "%016" PRIx64, drawn[0], drawn[1]);
	command.kind = (char *)(uintptr_t)kind;
	command.request_id = id;
	command.args = text;
	return session_send(s, FR_COMMAND, &command, err);
}

int admin_ask(const char *state_dir, bool is_query, const char *kind, const struct buf *args,
              struct buf *ret_body, struct err *err)
{
	static const struct session_ops ops = { .on_open = on_open,
		                                .on_frame = on_frame,
		                                .on_end = on_end };
	static const struct session_limits limits = { HANDSHAKE_MS, IDLE_MS, QUEUE_BYTES };
	struct asking a = { .body = ret_body, .err = err };
	struct session *s = NULL;
	int fd = -1, r = admin_connect(state_dir, &fd, err);

	if (r < 0)
		return r;
	a.loop = ev_loop_new(EVFLAG_AUTO);
	if (!a.loop) {
		close(fd);
		return err_set(err, E_NOMEM, "no event loop");
	}
	r = session_local(&(struct session_owner){ a.loop, &ops, &a, &limits }, fd, false, &s, err);
	if (r == 0) {
		session_greeted(s);
		r = admin_send(s, is_query, kind, args, err);
		if (r < 0)
			session_drop(s);
	}
	if (r == 0) {
		ev_run(a.loop, 0);
		r = a.code;
	}
	ev_loop_destroy(a.loop);
	return r;
}
