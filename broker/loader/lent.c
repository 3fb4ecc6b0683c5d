/* Guests as processes of a project's user. The jobkeeper starts a stand-in (stand_in.c) under a
 * token of ours; it connects here, shows the ticket that it alone was given, gets the guest's
 * descriptors and becomes the guest.
 *
 *     runner's thread --asks--> table <--turns-- our thread --> jobkeeper
 *                               (mu)                  ^------- stand-in's connection
 *
 * A thread of its own has the loop: whoever waits for a start, or for the end of all guests when
 * the loader ends, never waits for the session thread. The keeper knows guests as jobs of a lane
 * that is nobody's (lane_of_guests): no server hears of them. Their lease is short and renewed
 * here; what a former loader left is killed when the keeper lists it.
 */
#include "broker/loader/lent.h"

#include <errno.h>
#include <ev.h>
#include <inttypes.h>
#include <keeper.pb-c.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "broker/keeper/client.h"
#include "broker/link/lane.h"
#include "broker/loader/guest.h"
#include "broker/loader/loader.h"
#include "broker/loader/policy.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { BACKLOG = 64, LINES_MAX = 64, NAME_BYTES = 32, WORDS_BEFORE = 4 };
#define LEASE_S 20.0
#define RENEW_S 4.0

/* Jobs of one project that name one user. Never freed before the loader: there are few. */
struct whose_guests {
	struct whose_guests *next;
	char *project, *wish;
};

enum lent_state {
	LENT_ASKED,   /* to be sent to the keeper */
	LENT_SENT,    /* no process yet, or it has not shown its ticket */
	LENT_RUNS,    /* it has its descriptors */
	LENT_REFUSED, /* `why` */
	LENT_OVER,    /* nothing is left of it */
};

struct lent_guest {
	struct lent_guest *next;
	uint64_t token;
	char ticket[TICKET_BYTES + 1];
	enum lent_state state;
	const Sirdar__KeeperStart *message; /* the asker's, until it is sent */
	const int *fds;                     /* the asker's, until they are handed over */
	pid_t pid;
	int line; /* the connection that showed its ticket; -1: none yet */
	bool is_to_end, is_end_sent, is_listed;
	bool is_left; /* who asked for it waits no more */
	int status, is_over_memory;
	char why[RUNNER_TEXT_BYTES];
};

/* A connection that has shown nothing yet. */
struct lent_line {
	ev_io io;
	struct lent *owner; /* NULL: free */
};

struct lent {
	struct loader *loader;
	struct guest_type *type;
	char *lane, name[NAME_BYTES];
	struct ev_loop *loop;
	pthread_t thread;
	ev_async bell;
	ev_io listener;
	ev_timer renew;
	struct keeper_client *keeper;
	bool is_known; /* what the keeper holds, since it is up */
	struct lent_line lines[LINES_MAX];

	pthread_mutex_t mu; /* guards what follows */
	pthread_cond_t news;
	struct lent_guest *guests;
	struct whose_guests *owners;
	bool is_closing;
};

/* --- for who starts guests ------------------------------------------------------------ */

static size_t lent_words(const char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

void lent_fill(const struct guest_type *t, const char *const *argv, const char *const *env,
               uint64_t token, const struct policy *policy, Sirdar__KeeperStart *m)
{
	m->token = token;
	m->argv = (char **)(uintptr_t)argv;
	m->n_argv = lent_words(argv);
	m->env = (char **)(uintptr_t)env;
	m->n_env = lent_words(env);
	m->cwd = (char *)(uintptr_t)t->about.directory;
	policy_put(policy, m);
	if (t->about.memory_bytes)
		m->memory_max_bytes = t->about.memory_bytes;
	if (t->processes)
		m->processes_max = t->processes;
	if (t->cpu_percent)
		m->cpu_percent_max = t->cpu_percent;
}

/* --- the table: lock held ------------------------------------------------------------- */

static struct lent_guest *lent_find(const struct lent *n, uint64_t token)
{
	struct lent_guest *g = n->guests;

	while (g && g->token != token)
		g = g->next;
	return g;
}

static void lent_over(struct lent *n, struct lent_guest *g, int status)
{
	if (g->line >= 0)
		close(g->line);
	g->line = -1;
	g->status = status;
	g->state = LENT_OVER;
	pthread_cond_broadcast(&n->news);
}

static void lent_refuse(struct lent *n, struct lent_guest *g, const char *why)
{
	snprintf(g->why, sizeof g->why, "%s", why);
	lent_over(n, g, 0);
	g->state = LENT_REFUSED;
}

static void lent_remove(struct lent *n, struct lent_guest *g)
{
	struct lent_guest **at = &n->guests;

	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	CHECK(g->line < 0);
	free(g);
}

static void lent_forget(const struct lent *n, uint64_t token)
{
	keeper_client_forget(n->keeper, &token, 1, NULL);
}

static void lent_kill(const struct lent *n, uint64_t token)
{
	keeper_client_kill(n->keeper, token, 0, 0, NULL);
}

/* --- the stand-in -------------------------------------------------------------------------- */

/* Both are known: the keeper's word which process it is, and a connection of that very process. */
static void hand_over(struct lent *n, struct lent_guest *g)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * STAND_IN_FDS)];
		struct cmsghdr align;
	} control = { { 0 } };
	char byte = 'g';
	struct iovec part = { &byte, 1 };
	struct msghdr m = { .msg_iov = &part,
		            .msg_iovlen = 1,
		            .msg_control = &control,
		            .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	struct ucred peer;
	socklen_t bytes = sizeof peer;

	if (g->state != LENT_SENT || !g->pid || g->line < 0)
		return;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof *g->fds * STAND_IN_FDS);
	memcpy(CMSG_DATA(c), g->fds, sizeof *g->fds * STAND_IN_FDS);
	if (getsockopt(g->line, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
	    peer.pid == g->pid && sendmsg(g->line, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) {
		g->state = LENT_RUNS;
		pthread_cond_broadcast(&n->news);
	}
	close(g->line);
	g->line = -1;
}

static void line_free(struct lent_line *line)
{
	ev_io_stop(line->owner->loop, &line->io);
	line->owner = NULL;
}

static void on_ticket(struct ev_loop *loop, ev_io *w, int events)
{
	struct lent_line *line = w->data;
	struct lent *n = line->owner;
	char ticket[TICKET_BYTES + 1] = { 0 };
	int fd = w->fd;
	ssize_t got = recv(fd, ticket, TICKET_BYTES, MSG_DONTWAIT);
	struct lent_guest *g;

	(void)loop;
	(void)events;
	line_free(line);
	pthread_mutex_lock(&n->mu);
	for (g = n->guests; g; g = g->next)
		if (got == TICKET_BYTES && g->state == LENT_SENT && g->line < 0 &&
		    memcmp(g->ticket, ticket, TICKET_BYTES) == 0)
			break;
	if (g) {
		g->line = fd;
		hand_over(n, g);
	} else {
		close(fd);
	}
	pthread_mutex_unlock(&n->mu);
}

/* Anybody may connect: who shows nothing is let go when places are wanted. */
static void on_line(struct ev_loop *loop, ev_io *w, int events)
{
	struct lent *n = w->data;
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	static unsigned last;
	struct lent_line *line = NULL;

	(void)events;
	if (fd < 0)
		return;
	for (unsigned i = 0; i < LINES_MAX && !line; i++)
		line = n->lines[i].owner ? NULL : &n->lines[i];
	if (!line) {
		line = &n->lines[last++ % LINES_MAX];
		close(line->io.fd);
		line_free(line);
	}
	line->owner = n;
	ev_io_init(&line->io, on_ticket, fd, EV_READ);
	line->io.data = line;
	ev_io_start(loop, &line->io);
}

/* The kernel picks a name that nobody has. */
static int lent_listen(struct lent *n, int *ret_fd, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof at.sun_family;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, bytes) < 0 || listen(fd, BACKLOG) < 0) {
		if (fd >= 0)
			close(fd);
		return err_sys(err, E_LIMIT, errno, "socket for guests");
	}
	bytes = sizeof at;
	getsockname(fd, (struct sockaddr *)&at, &bytes);
	size_t len = bytes - offsetof(struct sockaddr_un, sun_path) - 1;

	CHECK(len > 0 && len < sizeof n->name);
	memcpy(n->name, at.sun_path + 1, len);
	*ret_fd = fd;
	return 0;
}

/* --- what the keeper tells: our thread --- */

static void on_started(void *ctx, const Sirdar__KeeperStarted *m)
{
	struct lent *n = ctx;

	pthread_mutex_lock(&n->mu);
	struct lent_guest *g = lent_find(n, m->token);

	if (g && !g->pid) {
		g->pid = (pid_t)m->pid;
		hand_over(n, g);
	}
	pthread_mutex_unlock(&n->mu);
}

static void on_not_started(void *ctx, const Sirdar__KeeperNotStarted *m)
{
	struct lent *n = ctx;

	pthread_mutex_lock(&n->mu);
	struct lent_guest *g = lent_find(n, m->token);

	if (g && g->state < LENT_RUNS)
		lent_refuse(n, g, m->text);
	pthread_mutex_unlock(&n->mu);
	lent_forget(n, m->token);
}

static void on_exited(void *ctx, const Sirdar__KeeperExited *m)
{
	struct lent *n = ctx;
	int status = m->exit_code < 0 ? -m->exit_code : m->exit_code << 8;
	char why[80];

	pthread_mutex_lock(&n->mu);
	struct lent_guest *g = lent_find(n, m->token);

	if (g && g->state == LENT_RUNS) {
		g->is_over_memory = m->oom;
		lent_over(n, g, m->lost ? SIGKILL : status);
	} else if (g && g->state == LENT_SENT) {
		snprintf(why, sizeof why, "its process ended before it was the guest's: exit %d",
		         m->exit_code);
		lent_refuse(n, g, why);
	}
	pthread_mutex_unlock(&n->mu);
	lent_forget(n, m->token);
}

/* A guest that the keeper has no more, whose end was not told, is gone. */
static void after_list(struct lent *n)
{
	for (struct lent_guest *g = n->guests; g; g = g->next) {
		bool was_listed = g->is_listed;

		g->is_listed = g->is_end_sent = false;
		if (was_listed || g->state == LENT_ASKED || g->state > LENT_RUNS)
			continue;
		if (g->state == LENT_RUNS)
			lent_over(n, g, SIGKILL);
		else
			lent_refuse(n, g, "the jobkeeper was away when it was asked");
	}
	ev_async_send(n->loop, &n->bell);
}

static void on_down(void *ctx, const struct err *why)
{
	struct lent *n = ctx;

	(void)why;
	n->is_known = false;
}

static void on_held(void *ctx, const Sirdar__KeeperHeld *h)
{
	struct lent *n = ctx;

	pthread_mutex_lock(&n->mu);
	for (size_t i = 0; i < h->n_job; i++) {
		struct lent_guest *g = lent_find(n, h->job[i]->token);

		if (g)
			g->is_listed = true;
		else
			lent_kill(n, h->job[i]->token); /* a former loader's */
	}
	n->is_known |= h->last;
	if (h->last)
		after_list(n);
	pthread_mutex_unlock(&n->mu);
}

static const struct keeper_client_ops ops = {
	.on_down = on_down,
	.on_held = on_held,
	.on_started = on_started,
	.on_not_started = on_not_started,
	.on_exited = on_exited,
};

/* --- what the runner's thread asked for: our thread --- */

static uint64_t lease_us(void)
{
	return (uint64_t)clock_mono_us(&clock_machine) + (uint64_t)(LEASE_S * US_PER_S);
}

static void send_start(struct lent *n, struct lent_guest *g)
{
	Sirdar__KeeperStart m = *g->message;
	struct err err = { 0 };

	m.deadline_us = lease_us();
	g->message = NULL;
	g->state = LENT_SENT;
	if (keeper_client_start(n->keeper, &m, &err) < 0)
		lent_refuse(n, g, err.text);
}

static void on_bell(struct ev_loop *loop, ev_async *w, int events)
{
	struct lent *n = w->data;

	(void)events;
	pthread_mutex_lock(&n->mu);
	for (struct lent_guest *g = n->guests, *next; g; g = next) {
		next = g->next;
		if (g->state == LENT_ASKED && n->is_known)
			send_start(n, g);
		if (g->is_to_end && !g->is_end_sent && (g->state <= LENT_RUNS || g->is_left)) {
			g->is_end_sent = keeper_client_is_up(n->keeper);
			lent_kill(n, g->token);
		}
		if (g->is_left) /* one whose kill did not go out is killed when it is listed */
			lent_remove(n, g);
	}
	bool is_closing = n->is_closing;

	pthread_mutex_unlock(&n->mu);
	if (is_closing)
		ev_break(loop, EVBREAK_ALL);
}

static void on_renew(struct ev_loop *loop, ev_timer *w, int events)
{
	struct lent *n = w->data;

	(void)loop;
	(void)events;
	if (keeper_client_is_up(n->keeper))
		keeper_client_renew(n->keeper, NULL, 0, lease_us(), NULL);
}

static void *lent_body(void *arg)
{
	struct lent *n = arg;

	ev_run(n->loop, 0);
	return NULL;
}

/* --- what the runner calls: its own threads --- */

static const void *lent_whose(void *ctx, const struct runner_job *pub)
{
	const struct guest_type *t = ctx;
	struct lent *n = t->lent;
	const struct job *j = job_of(pub);
	const char *wish = pub->run_as[0] ? pub->run_as : t->about.user;
	struct whose_guests *o;

	pthread_mutex_lock(&n->mu);
	for (o = n->owners; o; o = o->next)
		if (strcmp(o->project, j->project) == 0 && strcmp(o->wish, wish) == 0)
			break;
	if (!o) {
		o = mem_new(sizeof *o);
		*o = (struct whose_guests){ n->owners, mem_str(j->project), mem_str(wish) };
		n->owners = o;
	}
	pthread_mutex_unlock(&n->mu);
	return o;
}

static void ticket_make(struct lent_guest *g)
{
	uint8_t bytes[TICKET_BYTES / 2];

	CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
	CHECK(getrandom(&g->token, sizeof g->token, 0) == sizeof g->token);
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(g->ticket + 2 * i, 3, "%02x", bytes[i]);
}

/* The words of the stand-in, and what it needs in its environment. */
struct stand_in {
	char uid[16], *ticket;
	const char **argv, **env;
};

static const char **words_join(const char *const *before, size_t n_before, const char *const *after)
{
	size_t n = 0;

	while (after[n])
		n++;
	const char **all = mem_array(n_before + n + 1, sizeof *all);

	memcpy(all, before, n_before * sizeof *all);
	memcpy(all + n_before, after, n * sizeof *all);
	return all;
}

static void stand_in_fill(const struct lent *n, const struct lent_guest *g,
                          const struct runner_guest_start *s, struct stand_in *to)
{
	snprintf(to->uid, sizeof to->uid, "%u", (unsigned)geteuid());
	to->ticket = mem_fmt(STAND_IN_TICKET "=%s", g->ticket);
	const char *const argv[WORDS_BEFORE] = { n->loader->program, STAND_IN_OPTION, n->name,
		                                 to->uid };
	const char *const env[] = { to->ticket };

	to->argv = words_join(argv, WORDS_BEFORE, s->argv);
	to->env = words_join(env, 1, s->env);
}

static void stand_in_done(struct stand_in *s)
{
	explicit_bzero(s->ticket, strlen(s->ticket));
	free(s->ticket);
	free(s->argv);
	free(s->env);
}

/* A start has as long as the guest has until its hello. Lock held. */
static int wait_for_start(struct lent *n, struct lent_guest *g, char *ret_why, uint64_t cap)
{
	int64_t until_us = clock_steady_us() + (n->type->about.start_ms + 1000) * US_PER_MS;
	const struct timespec at = { .tv_sec = until_us / US_PER_S,
		                     .tv_nsec = until_us % US_PER_S * 1000 };

	while (g->state < LENT_RUNS &&
	       pthread_cond_clockwait(&n->news, &n->mu, CLOCK_MONOTONIC, &at) == 0)
		;
	if (g->state >= LENT_RUNS && g->state != LENT_REFUSED)
		return 0;
	snprintf(ret_why, cap, "%s",
	         g->state == LENT_REFUSED ? g->why : "the jobkeeper does not answer in time");
	g->is_to_end = g->state == LENT_SENT;
	if (g->state < LENT_RUNS)
		lent_refuse(n, g, "");
	g->is_left = true;
	ev_async_send(n->loop, &n->bell);
	return -1;
}

/* `g` has what is asked for: its message and descriptors. */
static int start_ask(struct lent *n, struct lent_guest *g, struct runner_guest_process *ret,
                     char *ret_why, uint64_t cap)
{
	CHECK(g->message && g->fds);
	pthread_mutex_lock(&n->mu);
	g->next = n->guests;
	n->guests = g;
	ev_async_send(n->loop, &n->bell);
	int r = wait_for_start(n, g, ret_why, cap);

	if (r == 0) {
		g->fds = NULL;
		ret->token = g->token;
		ret->pid = ret->session = g->pid;
	}
	pthread_mutex_unlock(&n->mu);
	return r;
}

static int lent_start(void *ctx, const struct runner_guest_start *s,
                      struct runner_guest_process *ret, char *ret_why, uint64_t cap)
{
	struct guest_type *t = ctx;
	struct lent *n = t->lent;
	const struct whose_guests *o = s->whose;
	Sirdar__KeeperStart m = SIRDAR__KEEPER_START__INIT;
	struct policy *policy;
	struct stand_in words;
	struct err err = { 0 };

	CHECK(o && s->n_fds == STAND_IN_FDS);
	if (policy_take(n->loader, o->project, o->wish, &policy, &err) < 0) {
		snprintf(ret_why, cap, "%s", err.text);
		return -1;
	}
	struct lent_guest *g = mem_new(sizeof *g);

	g->line = -1;
	ticket_make(g);
	stand_in_fill(n, g, s, &words);
	lent_fill(t, words.argv, words.env, g->token, policy, &m);
	m.type = n->lane;
	m.fence_kill_us = 1;
	m.box = false; /* it is of all jobs of its project */
	g->message = &m;
	g->fds = s->fds;
	int r = start_ask(n, g, ret, ret_why, cap);

	stand_in_done(&words);
	policy_free(policy);
	return r;
}

static void lent_force(void *ctx, const struct runner_guest_process *p)
{
	struct lent *n = ((const struct guest_type *)ctx)->lent;

	pthread_mutex_lock(&n->mu);
	struct lent_guest *g = lent_find(n, p->token);

	if (g && !g->is_to_end) {
		g->is_to_end = true;
		ev_async_send(n->loop, &n->bell);
	}
	pthread_mutex_unlock(&n->mu);
}

static int lent_ended(void *ctx, const struct runner_guest_process *p, int *ret_status,
                      int *ret_is_over_memory)
{
	struct lent *n = ((const struct guest_type *)ctx)->lent;
	int r = -1;

	pthread_mutex_lock(&n->mu);
	struct lent_guest *g = lent_find(n, p->token);

	CHECK(g);
	if (g->state == LENT_OVER) {
		*ret_status = g->status;
		*ret_is_over_memory = g->is_over_memory;
		lent_remove(n, g);
		r = 0;
	}
	pthread_mutex_unlock(&n->mu);
	return r;
}

/* --- life --- */

static int lent_open_keeper(struct lent *n, struct err *err)
{
	const struct param_taskbroker *p = n->loader->settings;
	bool is_others = p->keeper_dir[0];
	char *path = mem_fmt("%s/keeper.sock", is_others ? p->keeper_dir : p->state_dir);
	/* In a box nobody else's jobs have room: a guest is of all jobs of its project. */
	const char *isolation = strcmp(p->isolation, "box") == 0 ? "uid" : p->isolation;
	const struct keeper_client_settings set = {
		path, isolation, is_others, "loader", n->lane, p->loader_silent_ms, &ops, n,
	};
	int r = keeper_client_open(n->loop, &set, &n->keeper, err);

	free(path);
	return r;
}

/* Signals are for the session thread. */
static int lent_begin(struct lent *n, struct err *err)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&n->thread, NULL, lent_body, n);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r ? err_sys(err, E_LIMIT, r, "thread") : 0;
}

static void lent_watch(struct lent *n, int listener)
{
	ev_async_init(&n->bell, on_bell);
	ev_io_init(&n->listener, on_line, listener, EV_READ);
	ev_timer_init(&n->renew, on_renew, RENEW_S, RENEW_S);
	n->bell.data = n->listener.data = n->renew.data = n;
	ev_async_start(n->loop, &n->bell);
	ev_io_start(n->loop, &n->listener);
	ev_timer_start(n->loop, &n->renew);
}

int lent_open(struct loader *l, struct guest_type *t, struct err *err)
{
	struct lent *n = mem_new(sizeof *n);
	int listener, r;

	n->loader = l;
	n->type = t;
	n->lane = lane_of_guests(l->lane);
	pthread_mutex_init(&n->mu, NULL);
	pthread_cond_init(&n->news, NULL);
	t->lent = n;
	n->loop = ev_loop_new(EVFLAG_NOSIGMASK | EVFLAG_NOENV);
	if (!n->loop)
		return err_set(err, E_LIMIT, "no event loop");
	r = lent_listen(n, &listener, err);
	if (r < 0)
		return r;
	lent_watch(n, listener);
	r = lent_open_keeper(n, err);
	if (r == 0)
		r = lent_begin(n, err);
	if (r < 0)
		return r;
	t->about.whose = lent_whose;
	t->about.start = lent_start;
	t->about.force = lent_force;
	t->about.ended = lent_ended;
	return 0;
}

static void lent_end(struct lent *n)
{
	pthread_mutex_lock(&n->mu);
	n->is_closing = true;
	ev_async_send(n->loop, &n->bell);
	pthread_mutex_unlock(&n->mu);
	pthread_join(n->thread, NULL);
}

void lent_close(struct lent *n)
{
	if (n->type->about.whose)
		lent_end(n);
	keeper_client_close(n->keeper);
	for (size_t i = 0; i < LINES_MAX; i++)
		if (n->lines[i].owner)
			close(n->lines[i].io.fd);
	if (n->loop && n->listener.data)
		close(n->listener.fd);
	if (n->loop)
		ev_loop_destroy(n->loop);
	while (n->guests) {
		n->guests->line = n->guests->line >= 0 ? close(n->guests->line), -1 : -1;
		lent_remove(n, n->guests);
	}
	for (struct whose_guests *o = n->owners, *next; o; o = next) {
		next = o->next;
		free(o->project);
		free(o->wish);
		free(o);
	}
	pthread_cond_destroy(&n->news);
	pthread_mutex_destroy(&n->mu);
	free(n->lane);
	free(n);
}
