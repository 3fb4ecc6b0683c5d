/* How many frames go through one TLS session on loopback, and how many sessions can be
 * opened in a second; one thread for each side.
 *
 *   bench_wire [SECONDS]     for each measurement; default 3 */
#include <ev.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sirdar.pb-c.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "wire/identity.h"
#include "wire/listen.h"
#include "wire/session.h"

enum { BATCH = 32, IDLE_SESSIONS = 500 };

static const struct session_limits limits = { 10000, 0, 1 << 20 };

/* The server: greets, counts reports, lives on its own thread until the flag. */
struct server {
	struct ev_loop *loop;
	struct listener *listener;
	struct ev_async stop;
	atomic_ullong frames, reports, opened;
};

static int key_find(void *ctx, const char *identity, uint8_t ret_key[32])
{
	(void)ctx;
	(void)identity;
	memset(ret_key, 7, 32);
	return 0;
}

static void server_open(void *ctx, struct session *s, const char *identity)
{
	struct server *v = ctx;

	(void)s;
	(void)identity;
	atomic_fetch_add(&v->opened, 1);
}

static int server_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct server *v = ctx;
	Sirdar__Welcome w = SIRDAR__WELCOME__INIT;

	if (kind == FR_HELLO) {
		session_greeted(s);
		return session_send(s, FR_WELCOME, &w, NULL);
	}
	if (kind == FR_REPORTS) {
		atomic_fetch_add(&v->frames, 1);
		atomic_fetch_add(&v->reports, ((const Sirdar__Reports *)message)->n_report);
	}
	return 0;
}

static void nothing_left(void *ctx, struct session *s, const struct err *err)
{
	(void)ctx;
	(void)s;
	(void)err;
}

static void came(void *ctx, int fd, uint64_t origin, const char *peer)
{
	static const struct session_ops ops = { server_open, server_frame, NULL, nothing_left };
	static const struct session_door door = { .key = key_find };
	struct server *v = ctx;
	struct session *s;

	(void)peer;
	listener_release(v->listener, origin);
	CHECK(session_accept(&(struct session_owner){ v->loop, &ops, v, &limits }, fd, &door, NULL,
	                     &s, NULL) == 0);
}

static void stop_asked(struct ev_loop *loop, struct ev_async *w, int events)
{
	(void)w;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

static void *server_run(void *ctx)
{
	struct server *v = ctx;

	ev_run(v->loop, 0);
	return NULL;
}

/* --- the peer --------------------------------------------------------------------- */

struct peer {
	struct ev_loop *loop;
	struct server *server;
	Sirdar__Reports *batch; /* of `in_batch` reports to a frame, `frames_each` a turn */
	size_t turn_frames;
	int64_t until_us;
	uint64_t opened, sent;
	bool again; /* open the next as soon as one is open */
	uint16_t port;
};

static int64_t now_us(void)
{
	return clock_mono_us(&clock_machine);
}

static void peer_push(struct peer *p, struct session *s)
{
	while (now_us() < p->until_us)
		for (size_t i = 0; i < p->turn_frames; i++, p->sent++)
			if (session_send(s, FR_REPORTS, p->batch, NULL) < 0)
				return; /* on_drain follows */
	ev_break(p->loop, EVBREAK_ALL);
}

static void peer_connect(struct peer *p);

static void peer_open(void *ctx, struct session *s, const char *identity)
{
	struct peer *p = ctx;
	Sirdar__Hello h = SIRDAR__HELLO__INIT;

	(void)identity;
	p->opened++;
	if (!p->again) {
		session_send(s, FR_HELLO, &h, NULL);
		return;
	}
	session_drop(s);
	if (now_us() < p->until_us)
		peer_connect(p);
	else
		ev_break(p->loop, EVBREAK_ALL);
}

static int peer_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct peer *p = ctx;

	(void)message;
	if (kind != FR_WELCOME)
		return 0;
	session_greeted(s);
	if (p->batch)
		peer_push(p, s);
	else if (p->opened == IDLE_SESSIONS)
		ev_break(p->loop, EVBREAK_ALL);
	return 0;
}

static void peer_drain(void *ctx, struct session *s)
{
	peer_push(ctx, s);
}

static void peer_end(void *ctx, struct session *s, const struct err *err)
{
	(void)ctx;
	(void)s;
	fprintf(stderr, "bench_wire: %s\n", err->text);
	exit(1);
}

static void peer_connect(struct peer *p)
{
	static const struct session_ops ops = { peer_open, peer_frame, peer_drain, peer_end };
	struct identity self = { .name = "loader-1" };
	struct session *s;
	struct err err = { 0 };

	memset(self.key, 7, sizeof self.key);
	if (session_connect(&(struct session_owner){ p->loop, &ops, p, &limits }, "127.0.0.1",
	                    p->port, &self, &s, &err) < 0)
		peer_end(p, NULL, &err);
}

static Sirdar__Reports *batch_new(size_t n)
{
	Sirdar__Reports *b = mem_new(sizeof *b);

	sirdar__reports__init(b);
	b->n_report = n;
	b->report = mem_array(n, sizeof *b->report);
	for (size_t i = 0; i < n; i++) {
		Sirdar__Report *r = b->report[i] = mem_new(sizeof *r);
		sirdar__report__init(r);
		r->token = 0x1234567890abcdefULL + i;
		r->seq = 3;
		r->kind = 3;
		r->started_us = 1735689600000000 + (int64_t)i;
		r->ended_us = r->started_us + 5000000;
		r->cpu_us = 123456;
		r->rss_max_bytes = 7 << 20;
		r->pid = 4242;
		r->text = (char *)"ended with status 0";
	}
	return b;
}

static void reports_free(Sirdar__Reports *b)
{
	for (size_t i = 0; i < b->n_report; i++)
		free(b->report[i]);
	free(b->report);
	free(b);
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static long rss_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long size = 0, pages = 0;

	if (f && fscanf(f, "%ld %ld", &size, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void frames_measure(struct server *v, uint16_t port, size_t in_batch, double seconds)
{
	struct peer p = { .loop = ev_loop_new(EVFLAG_NOSIGMASK), .server = v, .port = port };
	unsigned long long had_frames = v->frames, had_reports = v->reports;
	size_t bytes;

	p.batch = batch_new(in_batch);
	p.turn_frames = BATCH;
	bytes = sirdar__reports__get_packed_size(p.batch);
	int64_t began = now_us();
	double cpu = cpu_s();
	p.until_us = began + (int64_t)(seconds * 1e6);
	peer_connect(&p);
	ev_run(p.loop, 0);
	while (v->frames - had_frames < p.sent) /* what is under way counts, and takes time */
		ev_run(p.loop, EVRUN_NOWAIT);
	double took = (double)(now_us() - began) / 1e6, frames = (double)(v->frames - had_frames);
	printf("frames of %zu report%s (%zu bytes), %d to a turn: %.0f frames/s, %.0f reports/s, "
	       "%.0f MB/s, %.2f us of CPU a frame\n",
	       in_batch, in_batch == 1 ? "" : "s", bytes, BATCH, frames / took,
	       (double)(v->reports - had_reports) / took, frames * (double)bytes / took / 1e6,
	       (cpu_s() - cpu) * 1e6 / frames);
	reports_free(p.batch);
	ev_loop_destroy(p.loop);
}

static void handshakes_measure(struct server *v, uint16_t port, double seconds)
{
	struct peer p = {
		.loop = ev_loop_new(EVFLAG_NOSIGMASK), .server = v, .port = port, .again = true
	};
	int64_t began = now_us();
	double cpu = cpu_s();

	p.until_us = began + (int64_t)(seconds * 1e6);
	for (int i = 0; i < 4; i++) /* so that neither side waits for the other */
		peer_connect(&p);
	ev_run(p.loop, 0);
	printf("handshakes: %.0f/s, %.0f us of CPU each (both sides)\n",
	       (double)p.opened * 1e6 / (double)(now_us() - began),
	       (cpu_s() - cpu) * 1e6 / (double)p.opened);
	ev_loop_destroy(p.loop);
}

static void idle_measure(struct server *v, uint16_t port)
{
	struct peer p = { .loop = ev_loop_new(EVFLAG_NOSIGMASK), .server = v, .port = port };
	long had = rss_kb();

	for (int i = 0; i < IDLE_SESSIONS; i++)
		peer_connect(&p);
	ev_run(p.loop, 0);
	printf("idle session: %.1f KB (one side)\n", (double)(rss_kb() - had) / IDLE_SESSIONS / 2);
	ev_loop_destroy(p.loop);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 3;
	struct server v = { .loop = ev_loop_new(EVFLAG_NOSIGMASK) };
	struct listener_limits none = { 0 };
	struct rlimit files;
	pthread_t thread;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	CHECK(listener_tcp(&(struct listener_owner){ v.loop, &none, came, &v }, NULL, 0,
	                   &v.listener, NULL) == 0);
	uint16_t port = listener_port(v.listener);
	ev_async_init(&v.stop, stop_asked);
	ev_async_start(v.loop, &v.stop);
	CHECK(pthread_create(&thread, NULL, server_run, &v) == 0);
	idle_measure(&v, port);
	frames_measure(&v, port, 1, seconds);
	frames_measure(&v, port, BATCH, seconds);
	handshakes_measure(&v, port, seconds);
	ev_async_send(v.loop, &v.stop);
	pthread_join(thread, NULL);
	return 0;
}
