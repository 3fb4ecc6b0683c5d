/* The jobkeeper's socket, as loaders and the taskbroker see it: connected, or tried again.
 *
 * A connection that ends is begun anew after a short pause: a local socket answers at once, or
 * nobody is there. What was asked in the former connection is asked again by its owner, after
 * on_up(). A keeper that holds its socket and says nothing ends connection after connection by
 * silence; only the second counts, because the first may be this process's own standstill.
 * Messages are passed on as they come: what a job is, this file does not know.
 */
#include "broker/keeper/client.h"

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "wire/session.h"

/* A local socket answers at once or nobody is there: tries are cheap. */
#define RETRY_MIN_S 0.02
#define RETRY_MAX_S 1.0

enum { HANDSHAKE_MS = 5000, QUEUE_BYTES = 16 * 1024 * 1024 };

struct keeper_client {
	struct ev_loop *loop;
	struct sockaddr_un at;
	char *who, *type;
	const struct keeper_client_ops *ops;
	void *ctx;
	struct session *session; /* NULL: none */
	bool is_up, must_separate, must_box, must_landlock;
	uint32_t silent_ms; /* nothing heard for so long ends a connection */
	uint32_t n_silent;  /* connections in a row that ended so, or found no room in its queue */
	int64_t silent_sum; /* ms of them, but for the first */
	int peer_fd;        /* of the process at the other end, or -1 */
	int away;           /* an errno: why nobody was found at the last try; 0: somebody was */
	struct ev_timer retry;
	double pause_s;
};

static void retry_set(struct keeper_client *k)
{
	CHECK(!k->session && !k->is_up);
	ev_now_update(k->loop);
	ev_timer_set(&k->retry, k->pause_s, 0.);
	ev_timer_start(k->loop, &k->retry);
	k->pause_s = k->pause_s * 2 < RETRY_MAX_S ? k->pause_s * 2 : RETRY_MAX_S;
}

/* The first of them may have ended because this process stood still itself. */
static void count_silent(struct keeper_client *k, int64_t ms)
{
	k->silent_sum = k->n_silent++ ? k->silent_sum + ms : 0;
}

static int client_send(struct keeper_client *k, enum frame_kind kind, const void *message,
                       struct err *err)
{
	if (!k->is_up)
		return err_set(err, E_CLOSED, "no connection to the jobkeeper");
	return session_send(k->session, kind, message, err);
}

#define TELL(call, message) ((call) ? (call)(k->ctx, (message)) : (void)0)

static int not_this_one(struct keeper_client *k, const char *why)
{
	struct err err = { 0 };
	int r = err_set(&err, E_MACHINE, "%s", why);

	TELL(k->ops->on_down, &err);
	return r;
}

static int welcomed(struct keeper_client *k, const Sirdar__KeeperWelcome *m)
{
	Sirdar__KeeperAttach attach = SIRDAR__KEEPER_ATTACH__INIT;

	if (k->is_up || m->protocol != 1)
		return E_PROTOCOL;
	if (k->must_separate && !m->separates)
		return not_this_one(k, "the jobkeeper there has no launcher: jobs would be its own "
		                       "user's; start it as its service does, with --user");
	if (k->must_landlock && !m->landlocks)
		return not_this_one(k, m->landlock_why[0]
		                               ? m->landlock_why
		                               : "isolation: landlock: the jobkeeper there is a "
		                                 "release older and has none; upgrade it");
	if (k->must_box && !m->boxes)
		return not_this_one(k, m->box_why[0] ? m->box_why
		                                     : "isolation: box: the jobkeeper there is a "
		                                       "release older and has none; upgrade it");
	k->is_up = true;
	k->pause_s = RETRY_MIN_S;
	attach.type = k->type;
	int r = session_send(k->session, FR_K_ATTACH, &attach, NULL);
	if (r == 0 && k->ops->on_up)
		k->ops->on_up(k->ctx, m);
	return r;
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct keeper_client *k = ctx;

	(void)s;
	k->n_silent = 0;
	if (kind == FR_K_WELCOME)
		return welcomed(k, message);
	if (!k->is_up)
		return E_PROTOCOL;
	switch ((int)kind) {
	case FR_K_HELD:
		TELL(k->ops->on_held, message);
		return 0;
	case FR_K_STARTED:
		TELL(k->ops->on_started, message);
		return 0;
	case FR_K_NOT_STARTED:
		TELL(k->ops->on_not_started, message);
		return 0;
	case FR_K_EXITED:
		TELL(k->ops->on_exited, message);
		return 0;
	case FR_K_KILL_STATE:
		TELL(k->ops->on_kill_state, message);
		return 0;
	default:
		return E_PROTOCOL;
	}
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct keeper_client *k = ctx;
	bool was_up = k->is_up;

	(void)s;
	k->session = NULL;
	k->is_up = false;
	if (err->code == E_TIMEOUT)
		count_silent(k, k->silent_ms);
	else
		k->n_silent = 0;
	retry_set(k);
	if (was_up)
		TELL(k->ops->on_down, err);
}

static void on_open(void *ctx, struct session *session, const char *identity)
{
	(void)ctx;
	(void)session;
	(void)identity;
}

static const struct session_ops ops_of_session = { .on_open = on_open,
	                                           .on_frame = on_frame,
	                                           .on_end = on_end };

static int client_greet(struct keeper_client *k)
{
	Sirdar__KeeperHello hello = SIRDAR__KEEPER_HELLO__INIT;

	session_greeted(k->session); /* this socket has greeting frames of its own */
	hello.protocol = 1;
	hello.who = k->who;
	hello.type = k->type;
	hello.software = (char *)SIRDAR_VERSION;
	return session_send(k->session, FR_K_HELLO, &hello, NULL);
}

/* Who listens, by a descriptor that cannot come to mean another. A pid that was given to another
 * meanwhile belongs to nobody who would hold this connection open. */
static void note_peer(struct keeper_client *k, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	if (k->peer_fd >= 0)
		close(k->peer_fd);
	k->peer_fd = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0
	                     ? pidfd_open(peer.pid, 0)
	                     : -1;
}

static void try_now(struct ev_loop *loop, struct ev_timer *w, int events)
{
	struct keeper_client *k = w->data;
	const struct session_limits limits = { HANDSHAKE_MS, k->silent_ms, QUEUE_BYTES };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)loop;
	(void)events;
	CHECK(!k->session);
	k->away = 0;
	if (fd < 0 || connect(fd, (struct sockaddr *)&k->at, sizeof k->at) < 0) {
		k->away = errno;
		if (errno == EAGAIN) /* it takes nobody in: those who came before wait still */
			count_silent(k, (int64_t)(k->pause_s * 1000.));
		else
			k->n_silent = 0;
		if (fd >= 0)
			close(fd);
		retry_set(k);
		return;
	}
	note_peer(k, fd);
	if (session_local(&(struct session_owner){ k->loop, &ops_of_session, k, &limits }, fd,
	                  false, &k->session, NULL) < 0) {
		k->session = NULL;
		retry_set(k);
		return;
	}
	if (client_greet(k) < 0)
		session_end(k->session, E_CLOSED, "greeting");
}

int keeper_client_open(struct ev_loop *loop, const struct keeper_client_settings *set,
                       struct keeper_client **ret_client, struct err *err)
{
	struct keeper_client *k;

	if (strlen(set->path) >= sizeof k->at.sun_path)
		return err_set(err, E_INVALID, "path too long for a socket: %.200s", set->path);
	CHECK(set->ops && set->silent_ms > 0);
	k = mem_new(sizeof *k);
	k->loop = loop;
	k->at.sun_family = AF_UNIX;
	memcpy(k->at.sun_path, set->path, strlen(set->path) + 1);
	k->who = mem_str(set->who);
	k->type = mem_str(set->type);
	k->ops = set->ops;
	k->ctx = set->ctx;
	k->pause_s = RETRY_MIN_S;
	k->silent_ms = (uint32_t)set->silent_ms;
	k->must_separate = set->must_separate;
	CHECK(set->isolation);
	k->must_box = strcmp(set->isolation, "box") == 0;
	k->must_landlock = strcmp(set->isolation, "landlock") == 0;
	k->peer_fd = -1;
	ev_timer_init(&k->retry, try_now, 0., 0.);
	k->retry.data = k;
	ev_timer_start(loop, &k->retry);
	*ret_client = k;
	return 0;
}

void keeper_client_close(struct keeper_client *k)
{
	if (!k)
		return;
	ev_timer_stop(k->loop, &k->retry);
	session_drop(k->session);
	if (k->peer_fd >= 0)
		close(k->peer_fd);
	free(k->who);
	free(k->type);
	free(k);
}

int keeper_client_away(const struct keeper_client *k)
{
	return k->away;
}

bool keeper_client_is_up(const struct keeper_client *k)
{
	return k->is_up;
}

int keeper_client_peer(const struct keeper_client *k)
{
	return k->peer_fd < 0 ? -1 : fcntl(k->peer_fd, F_DUPFD_CLOEXEC, 3);
}

void keeper_client_limit(struct keeper_client *k, int64_t silent_ms)
{
	k->silent_ms = (uint32_t)silent_ms;
}

bool keeper_client_end_frozen(struct keeper_client *k, int64_t after_ms)
{
	if (k->n_silent < 2 || k->silent_sum < after_ms)
		return false;
	return pidfd_send_signal(k->peer_fd, SIGKILL, NULL, 0) == 0;
}

int keeper_client_start(struct keeper_client *k, const Sirdar__KeeperStart *m, struct err *err)
{
	return client_send(k, FR_K_START, m, err);
}

int keeper_client_kill(struct keeper_client *k, uint64_t token, uint64_t grace_us, uint32_t intent,
                       struct err *err)
{
	Sirdar__KeeperKill m = SIRDAR__KEEPER_KILL__INIT;

	m.token = token;
	m.grace_us = grace_us;
	m.intent = intent;
	return client_send(k, FR_K_KILL, &m, err);
}

int keeper_client_forget(struct keeper_client *k, const uint64_t *tokens, size_t n, struct err *err)
{
	Sirdar__KeeperForget m = SIRDAR__KEEPER_FORGET__INIT;

	CHECK(tokens && n > 0);
	m.token = (uint64_t *)tokens;
	m.n_token = n;
	return client_send(k, FR_K_FORGET, &m, err);
}

int keeper_client_renew(struct keeper_client *k, const uint64_t *tokens, size_t n,
                        uint64_t deadline_us, struct err *err)
{
	Sirdar__KeeperRenew m = SIRDAR__KEEPER_RENEW__INIT;

	CHECK(tokens || n == 0); /* NULL is all of them */
	m.token = (uint64_t *)tokens;
	m.n_token = tokens ? n : 0;
	m.all = !tokens;
	m.type = k->type;
	m.deadline_us = deadline_us;
	return client_send(k, FR_K_RENEW, &m, err);
}

int keeper_client_list(struct keeper_client *k, uint64_t id, struct err *err)
{
	Sirdar__KeeperList m = SIRDAR__KEEPER_LIST__INIT;

	m.id = id;
	m.type = k->type;
	return client_send(k, FR_K_LIST, &m, err);
}

int keeper_client_upgrade(struct keeper_client *k, const char *path, struct err *err)
{
	Sirdar__KeeperUpgrade m = SIRDAR__KEEPER_UPGRADE__INIT;

	m.path = (char *)path;
	return client_send(k, FR_K_UPGRADE, &m, err);
}

int keeper_client_settings(struct keeper_client *k, const Sirdar__KeeperSettings *m,
                           struct err *err)
{
	return client_send(k, FR_K_SETTINGS, m, err);
}
