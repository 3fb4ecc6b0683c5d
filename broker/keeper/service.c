/* The keeper's socket: who talks on it, and what each asks.
 *
 * A peer greets first, any other frame ends it; then it attaches to a type and asks. A loader's
 * greeting drops its predecessors of the same type, unread (broker/keeper rule 8). A request is a
 * row of `requests`; the keeper does the work. What peers are told is in service_tell.c.
 */
#include "broker/keeper/service_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"
#include "wire/session.h"

enum { BACKLOG = 64, CONNS_MAX = 1024, HELD_A_FRAME = 1024 };

#define LOADER "loader" /* as KeeperHello.who */

static const struct session_limits limits = { .handshake_ms = 5000,
	                                      .queue_bytes = 16 * 1024 * 1024 };

/* --- requests --- */

static bool is_told(const struct keeper *k, const struct job *job)
{
	for (size_t i = 0; i < k->ends.n; i++)
		if (k->ends.jobs[i] == job->at)
			return false;
	return job_is_over(job);
}

static void conn_free(struct conn *c);

/* A loader greets only after its predecessor has ended: what that one asked for and nobody has
 * read yet is void. Read later, a start would run a job that is not in its successor's list. The
 * type is HELLO's: nobody starts anything before the answer to it, but ATTACH may be unread. */
static void drop_predecessors(struct conn *c)
{
	for (struct conn *old = c->service->conns, *next; old; old = next) {
		next = old->next;
		if (old == c || strcmp(old->who, LOADER) != 0 || strcmp(old->type, c->type) != 0)
			continue;
		log_info("peer.followed", "who=%s type=%s: another loader of its type greets",
		         old->who, old->type);
		session_drop(old->session);
		conn_free(old);
	}
}

static int do_hello(struct conn *c, const void *message)
{
	const Sirdar__KeeperHello *m = message;
	Sirdar__KeeperWelcome w = SIRDAR__KEEPER_WELCOME__INIT;
	struct keeper *k = c->service->k;

	if (m->protocol != 1)
		return E_VERSION;
	free(c->who);
	c->who = mem_str(m->who);
	free(c->type);
	c->type = mem_str(m->type);
	if (strcmp(c->who, LOADER) == 0)
		drop_predecessors(c);
	w.protocol = 1;
	w.boot_id = k->boot_id;
	w.incarnation = k->incarnation;
	w.software = (char *)SIRDAR_VERSION;
	w.jobs_max = (uint32_t)k->settings.jobs_max;
	w.running = (uint32_t)k->running;
	w.logs_dir = k->logs_dir;
	w.output_bytes_max = outputs_bytes_max(k->outputs);
	w.cgroup = tree_has_groups(k->tree);
	w.keeps_proofs = true;
	w.records = true;
	w.separates = k->settings.separates;
	w.boxes = !k->no_box.code;
	w.box_why = k->no_box.text;
	w.landlocks = !k->no_landlock.code;
	w.landlock_why = k->no_landlock.text;
	service__send(c, FR_K_WELCOME, &w);
	return 0;
}

static void send_held(struct conn *c, uint64_t id, const char *type)
{
	struct keeper *k = c->service->k;
	Sirdar__KeeperHeld held = SIRDAR__KEEPER_HELD__INIT;
	Sirdar__KeeperJob *jobs = mem_array(HELD_A_FRAME, sizeof *jobs);
	Sirdar__KeeperJob **list = mem_array(HELD_A_FRAME, sizeof *list);

	held.id = id;
	held.job = list;
	for (uint32_t i = 0; i < k->jobs.used; i++) {
		const struct job *job = slab_at(&k->jobs, i);
		if (!job->keeper || (type[0] && strcmp(type, job->type) != 0))
			continue;
		if (held.n_job == HELD_A_FRAME) {
			service__send(c, FR_K_HELD, &held);
			held.n_job = 0;
		}
		CHECK(held.n_job < HELD_A_FRAME);
		list[held.n_job] = &jobs[held.n_job];
		job_message(job, &jobs[held.n_job++]);
	}
	held.last = true;
	service__send(c, FR_K_HELD, &held);
	free(list);
	free(jobs);
}

static int do_attach(struct conn *c, const void *message)
{
	const Sirdar__KeeperAttach *m = message;
	struct keeper *k = c->service->k;

	free(c->type);
	c->type = mem_str(m->type);
	c->is_attached = true;
	send_held(c, 0, c->type);
	for (uint32_t i = 0; i < k->jobs.used; i++) {
		const struct job *job = slab_at(&k->jobs, i);
		if (job->keeper && service__wants(c, job) && is_told(k, job))
			service__send_over(c, job);
	}
	return 0;
}

static int do_list(struct conn *c, const void *message)
{
	const Sirdar__KeeperList *m = message;

	send_held(c, m->id, m->type);
	return 0;
}

static int do_start(struct conn *c, const void *message)
{
	const Sirdar__KeeperStart *m = message;
	struct keeper *k = c->service->k;
	struct err err = { 0 };
	struct job *job;

	if (keeper_start(k, m, &job, &err) < 0) {
		log_warn("job.refused", "token=%016" PRIx64 ": %s", m->token, err.text);
		service__send_not_started(c, m->token, err.code, err.text);
		return 0;
	}
	if (job->state == JOB_STARTING) /* told when it is */
		return 0;
	if (job->state != JOB_NOT_STARTED)
		service__send_started(c, job);
	if (is_told(k, job))
		service__send_over(c, job);
	return 0;
}

static int do_kill(struct conn *c, const void *message)
{
	const Sirdar__KeeperKill *m = message;
	struct keeper *k = c->service->k;
	struct job *job = keeper_find(k, m->token);
	bool is_killing = job && keeper_kill(k, job, WHY_ASKED, m->intent, m->grace_us);

	service__send_kill_state(c, m->token, !is_killing ? 3 : job->is_hang_told ? 2 : 1);
	return 0;
}

static int do_renew(struct conn *c, const void *message)
{
	const Sirdar__KeeperRenew *m = message;
	struct keeper *k = c->service->k;

	for (size_t i = 0; i < m->n_token; i++) {
		struct job *job = keeper_find(k, m->token[i]);
		if (job)
			keeper_renew(k, job, m->deadline_us);
	}
	for (uint32_t i = 0; m->all && i < k->jobs.used; i++) {
		struct job *job = slab_at(&k->jobs, i);
		if (job->keeper && (!m->type[0] || strcmp(m->type, job->type) == 0))
			keeper_renew(k, job, m->deadline_us);
	}
	return 0;
}

static int do_forget(struct conn *c, const void *message)
{
	const Sirdar__KeeperForget *m = message;

	for (size_t i = 0; i < m->n_token; i++)
		keeper_forget(c->service->k, m->token[i]);
	return 0;
}

static int do_settings(struct conn *c, const void *message)
{
	const Sirdar__KeeperSettings *m = message;
	struct keeper *k = c->service->k;
	enum log_level level;

	if (m->jobs_max)
		k->settings.jobs_max = m->jobs_max;
	if (m->output_bytes_max && m->output_bytes_max <= INT64_MAX)
		k->settings.output_bytes_max = (int64_t)m->output_bytes_max;
	if (m->output_rate_max)
		k->settings.output_rate_max = m->output_rate_max > 0 ? m->output_rate_max : 0;
	outputs_set_limits(k->outputs, (uint64_t)k->settings.output_bytes_max,
	                   (uint64_t)k->settings.output_rate_max);
	if (log_level_parse(m->log_level, &level) == 0)
		log_level_set(level);
	log_info("keeper.settings",
	         "jobs_max=%" PRId64 " output_max=%" PRId64 " output_rate=%" PRId64,
	         k->settings.jobs_max, k->settings.output_bytes_max, k->settings.output_rate_max);
	return 0;
}

static int do_upgrade(struct conn *c, const void *message)
{
	const Sirdar__KeeperUpgrade *m = message;
	struct keeper *k = c->service->k;

	/* Its launcher believes it: what it execs is not for a peer of another user to say. */
	if (!k->upgrade_to)
		k->upgrade_to = mem_str(m->path[0] && !k->settings.separates ? m->path
		                                                             : k->program);
	keeper_wake(k);
	return 0;
}

static const struct {
	enum frame_kind kind;
	int (*run)(struct conn *c, const void *message);
} requests[] = {
	{ FR_K_HELLO, do_hello },   { FR_K_ATTACH, do_attach },   { FR_K_LIST, do_list },
	{ FR_K_START, do_start },   { FR_K_KILL, do_kill },       { FR_K_RENEW, do_renew },
	{ FR_K_FORGET, do_forget }, { FR_K_UPGRADE, do_upgrade }, { FR_K_SETTINGS, do_settings },
};

static int on_frame(void *ctx, struct session *session, enum frame_kind kind, const void *message)
{
	struct conn *c = ctx;

	(void)session;
	if (!c->who[0] && kind != FR_K_HELLO)
		return E_PROTOCOL;
	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
		if (requests[i].kind == kind)
			return requests[i].run(c, message);
	return E_PROTOCOL;
}

/* --- connections --- */

static void conn_free(struct conn *c)
{
	struct service *s = c->service;

	struct conn **p = &s->conns;

	while (*p != c) {
		CHECK(*p);
		p = &(*p)->next;
	}
	*p = c->next;
	CHECK(s->conns_n > 0);
	s->conns_n--;
	free(c->who);
	free(c->type);
	free(c);
}

static void on_end(void *ctx, struct session *session, const struct err *err)
{
	struct conn *c = ctx;

	(void)session;
	log_info("peer.gone", "who=%s type=%s: %s", c->who, c->type,
	         err->code ? err->text : "closed");
	conn_free(c);
}

static void on_open(void *ctx, struct session *session, const char *identity)
{
	(void)ctx;
	(void)session;
	(void)identity;
}

static const struct session_ops conn_ops = { .on_open = on_open,
	                                     .on_frame = on_frame,
	                                     .on_end = on_end };

static void conn_new(struct service *s, int fd)
{
	struct conn *c = mem_new(sizeof *c);
	struct err err = { 0 };

	c->service = s;
	c->who = mem_str("");
	c->type = mem_str("");
	c->next = s->conns;
	s->conns = c;
	s->conns_n++;
	CHECK(s->conns_n <= CONNS_MAX);
	if (session_local(&(struct session_owner){ s->k->loop, &conn_ops, c, &limits }, fd, true,
	                  &c->session, &err) < 0) {
		log_warn("peer.refused", "%s", err.text);
		conn_free(c);
		return;
	}
	session_greeted(c->session); /* our own greeting frames, and only our own user's peers */
}

/* Root, our own user, and the broker's: no job, where jobs are others. */
static bool is_welcome(const struct keeper *k, int fd)
{
	struct ucred who;
	socklen_t size = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
		return false;
	if (who.uid == 0 || who.uid == geteuid() ||
	    (k->settings.peer && who.uid == k->settings.peer))
		return true;
	log_warn("peer.stranger", "pid=%d uid=%u: it is not the broker's", (int)who.pid,
	         (unsigned)who.uid);
	return false;
}

static void on_accept(struct ev_loop *loop, struct ev_io *w, int events)
{
	struct service *s = w->data;
	int fd;

	(void)loop;
	(void)events;
	while ((fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (s->conns_n < CONNS_MAX && is_welcome(s->k, fd))
			conn_new(s, fd);
		else
			close(fd);
	}
}

static int socket_make(const char *state_dir, bool is_shared, int *ret_fd, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd;

	if ((size_t)snprintf(at.sun_path, sizeof at.sun_path, "%s/keeper.sock", state_dir) >=
	    sizeof at.sun_path)
		return err_set(err, E_INVALID, "state directory's path too long for a socket");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, E_LIMIT, errno, "socket");
	unlink(at.sun_path); /* the lock is ours: whoever made it is gone */
	mode_t old = umask(is_shared ? 0117 : 0177);
	int r = bind(fd, (struct sockaddr *)&at, sizeof at);
	umask(old);
	if (r < 0 || listen(fd, BACKLOG) < 0) {
		r = err_sys(err, E_IO, errno, "%s", at.sun_path);
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int service_open(struct keeper *k, int listen_fd, struct service **ret_service, struct err *err)
{
	int r = listen_fd < 0
	                ? socket_make(k->settings.state_dir, k->settings.peer != 0, &listen_fd, err)
	                : 0;
	struct service *s;

	if (r < 0)
		return r;
	CHECK(listen_fd >= 0 && !k->service);
	s = mem_new(sizeof *s);
	s->k = k;
	ev_io_init(&s->listener, on_accept, listen_fd, EV_READ);
	s->listener.data = s;
	ev_io_start(k->loop, &s->listener);
	*ret_service = s;
	return 0;
}

void service_close(struct service *s)
{
	if (!s)
		return;
	for (struct conn *c = s->conns, *next; c; c = next) {
		next = c->next;
		session_drop(c->session);
		conn_free(c);
	}
	ev_io_stop(s->k->loop, &s->listener);
	close(s->listener.fd);
	free(s);
}
