/* wire/session: both ends on one loop, over socketpairs and over TLS on loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <ev.h>
#include <netinet/in.h>
#include <sirdar.pb-c.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/err.h"
#include "wire/frame.h"
#include "wire/identity.h"
#include "wire/session.h"

struct side;
typedef int (*heard_fn)(struct side *me, enum frame_kind kind, const void *message);

struct side {
	struct session *s;
	bool is_open, is_over, is_server;
	char identity[80];
	struct err err;
	size_t frames, bytes, drains;
	heard_fn heard;
	void (*opened)(struct side *me);
	void (*drained)(struct side *me);
	size_t to_send; /* credits left to send, see more_send */
};

static struct ev_loop *loop;
static struct side server, peer;
/* No test but those of a deadline may meet one, on however busy a machine. */
static const struct session_limits limits = { 120000, 0, 1 << 20 };
static uint8_t key[32] = "0123456789abcdef0123456789abcde";

static void on_open(void *ctx, struct session *s, const char *identity)
{
	struct side *me = ctx;

	assert_false(me->is_open);
	me->is_open = true;
	me->s = s;
	snprintf(me->identity, sizeof me->identity, "%s", identity);
	if (me->opened)
		me->opened(me);
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	struct side *me = ctx;

	assert_ptr_equal(s, me->s);
	assert_true(me->is_open && !me->is_over);
	me->frames++;
	return me->heard ? me->heard(me, kind, message) : 0;
}

static void on_drain(void *ctx, struct session *s)
{
	struct side *me = ctx;

	(void)s;
	me->drains++;
	if (me->drained)
		me->drained(me);
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct side *me = ctx;

	assert_ptr_equal(s, me->s);
	assert_false(me->is_over);
	me->is_over = true;
	me->err = *err;
	me->s = NULL;
}

static const struct session_ops ops = { on_open, on_frame, on_drain, on_end };

static int fds_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int fds_before;

static int setup(void **state)
{
	(void)state;
	memset(&server, 0, sizeof server);
	memset(&peer, 0, sizeof peer);
	server.is_server = true;
	fds_before = fds_open();
	loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOSIGMASK);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	session_drop(server.s);
	session_drop(peer.s);
	ev_loop_destroy(loop);
	return fds_open() == fds_before ? 0 : -1;
}

static void time_up(struct ev_loop *l, struct ev_timer *w, int events)
{
	(void)events;
	*(bool *)w->data = true;
	ev_break(l, EVBREAK_ALL);
}

/* Run the loop until *flag, ten seconds at most. */
static void run_until(const bool *flag)
{
	bool late = false;
	struct ev_timer t;

	ev_now_update(loop);
	ev_timer_init(&t, time_up, 120., 0.);
	t.data = &late;
	ev_timer_start(loop, &t);
	ev_invoke_pending(loop); /* or the first round would sleep after it */
	while (!*flag && !late)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &t);
	assert_false(late);
}

static void run_until_count(const size_t *count, size_t want)
{
	ev_invoke_pending(loop);
	bool done = *count >= want;

	for (int i = 0; !done && i < 10000000; i++) {
		ev_run(loop, EVRUN_ONCE);
		done = *count >= want;
	}
	assert_true(done);
}

/* --- pairs ------------------------------------------------------------------------ */

static int key_of(void *ctx, const char *identity, uint8_t ret_key[32])
{
	(void)ctx;
	if (strcmp(identity, "loader-1") != 0)
		return E_NOT_FOUND;
	memcpy(ret_key, key, 32);
	return 0;
}

static const struct session_door door = { .key = key_of };
/* The two ends of a TCP connection over loopback: a connecting session needs a port. */
static int port_open(uint16_t *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, bytes), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

#define OWNED(side, l) (&(struct session_owner){ loop, &ops, side, l })
static void server_take(int fd, const struct session_limits *l)
{
	session_accept(OWNED(&server, l), fd, &door, NULL, &server.s, NULL);
}

static void tls_pair(const char *identity, const uint8_t k[32], const struct session_limits *l)
{
	struct identity self = { 0 };
	uint16_t port;
	int listener = port_open(&port);
	memcpy(self.name, identity, strlen(identity) + 1);
	memcpy(self.key, k, sizeof self.key);
	session_connect(OWNED(&peer, l), "127.0.0.1", port, &self, &peer.s, NULL);
	server_take(accept4(listener, NULL, NULL, SOCK_CLOEXEC), l);
	close(listener);
}

/* The server as a session, the peer as a bare socket: for what no peer of ours sends. */
static int tls_bare(const struct session_limits *l)
{
	uint16_t port;
	int listener = port_open(&port), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = { .sin_family = AF_INET,
		                 .sin_port = htons(port),
		                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	server_take(accept4(listener, NULL, NULL, SOCK_CLOEXEC), l);
	close(listener);
	return fd;
}

static int local_bare(const struct session_limits *l)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(session_local(OWNED(&server, l), fds[0], true, &server.s, NULL), 0);
	return fds[1];
}

static void local_pair(const struct session_limits *l)
{
	int fd = local_bare(l);

	assert_int_equal(session_local(OWNED(&peer, l), fd, false, &peer.s, NULL), 0);
}

static void hello_send(struct side *me)
{
	Sirdar__Hello h = SIRDAR__HELLO__INIT;

	h.name = (char *)"loader-1";
	assert_int_equal(session_send(me->s, FR_HELLO, &h, NULL), 0);
}

static int credit_send(struct side *me)
{
	Sirdar__Credit c = SIRDAR__CREDIT__INIT;

	c.limit = 7;
	return session_send(me->s, FR_CREDIT, &c, NULL);
}

static int orders_send(struct side *me)
{
	Sirdar__Orders o = SIRDAR__ORDERS__INIT;

	o.kind = (char *)"enable";
	o.text = (char *)"whatever is sent in the other direction";
	return session_send(me->s, FR_ORDERS, &o, NULL);
}

static void more_send(struct side *me)
{
	while (me->to_send > 0) {
		if ((me->is_server ? orders_send(me) : credit_send(me)) < 0)
			return;
		me->to_send--;
	}
}

/* The first exchange: HELLO, WELCOME; then both send what they have to. */
static int greet(struct side *me, enum frame_kind kind, const void *message)
{
	Sirdar__Welcome w = SIRDAR__WELCOME__INIT;

	(void)message;
	if (kind == FR_HELLO) {
		session_greeted(me->s);
		assert_int_equal(session_send(me->s, FR_WELCOME, &w, NULL), 0);
		more_send(me);
	} else if (kind == FR_WELCOME) {
		session_greeted(me->s);
		more_send(me);
	}
	return 0;
}

static void greet_both(void)
{
	server.heard = peer.heard = greet;
	peer.opened = hello_send;
}

/* --- tests ------------------------------------------------------------------------ */

static void the_right_key_opens_and_names_the_peer(void **state)
{
	(void)state;
	greet_both();
	tls_pair("loader-1", key, &limits);
	run_until_count(&peer.frames, 1);
	assert_string_equal(server.identity, "loader-1");
	assert_memory_equal(session_peer(server.s), "127.0.0.1:", 10);
	session_end(peer.s, 0, "enough");
	run_until(&peer.is_over);
	assert_true(server.is_over);
	assert_int_equal(server.err.code, 0);
	assert_string_equal(peer.err.text, "enough");
}

static void a_wrong_key_and_an_unknown_identity_look_the_same(void **state)
{
	struct err first_server, first_peer;
	uint8_t wrong[32] = { 1 };

	(void)state;
	tls_pair("loader-1", wrong, &limits);
	run_until(&server.is_over);
	run_until(&peer.is_over);
	first_server = server.err;
	first_peer = peer.err;
	assert_int_equal(first_server.code, E_AUTH);
	assert_int_equal(first_peer.code, E_AUTH);
	assert_false(server.is_open);
	memset(&server, 0, sizeof server);
	memset(&peer, 0, sizeof peer);
	tls_pair("loader-2", key, &limits);
	run_until(&server.is_over);
	run_until(&peer.is_over);
	assert_int_equal(server.err.code, first_server.code);
	/* Only the name that was offered differs. */
	char *offered = strstr(first_server.text, "'loader-1'");
	assert_non_null(offered);
	memcpy(offered, "'loader-2'", 10);
	assert_string_equal(server.err.text, first_server.text);
	assert_int_equal(peer.err.code, first_peer.code);
	offered = strstr(first_peer.text, "loader-1");
	assert_non_null(offered);
	memcpy(offered, "loader-2", 8);
	assert_string_equal(peer.err.text, first_peer.text);
}

static void garbage_instead_of_tls_ends_the_session(void **state)
{
	int fd = tls_bare(&limits);

	(void)state;
	assert_int_equal(write(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27), 27);
	run_until(&server.is_over);
	assert_int_equal(server.err.code, E_PROTOCOL);
	assert_false(server.is_open);
	close(fd);
}

static void drip(struct ev_loop *l, struct ev_timer *w, int events)
{
	static const char hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
	static size_t at;

	(void)l;
	(void)events;
	if (send(*(int *)w->data, hello + at % (sizeof hello - 1), 1, MSG_NOSIGNAL) == 1)
		at++;
}

static void a_handshake_that_drips_meets_its_deadline(void **state)
{
	struct session_limits short_limits = { 150, 0, 1 << 20 };
	int fd = tls_bare(&short_limits);
	struct ev_timer t;

	(void)state;
	ev_timer_init(&t, drip, .02, .02);
	t.data = &fd;
	ev_timer_start(loop, &t);
	run_until(&server.is_over);
	ev_timer_stop(loop, &t);
	assert_int_equal(server.err.code, E_TIMEOUT);
	assert_non_null(strstr(server.err.text, "150 ms"));
	close(fd);
}

static void an_open_session_without_a_first_frame_meets_its_deadline(void **state)
{
	struct session_limits short_limits = { 100, 0, 1 << 20 };

	(void)state;
	/* A local session is open from its first moment; a handshake on a busy machine would meet
	 * this deadline itself. */
	int fd = local_bare(&short_limits);
	run_until(&server.is_over);
	assert_true(server.is_open);
	assert_int_equal(server.err.code, E_TIMEOUT);
	assert_non_null(strstr(server.err.text, "first frame"));
	close(fd);
}

static void nobody_at_the_port_is_reported_to_on_end(void **state)
{
	uint16_t port;

	(void)state;
	struct identity me = { .name = "loader-1" };
	close(port_open(&port));
	int rc = session_connect(OWNED(&peer, &limits), "localhost", port, &me, &peer.s, NULL);
	if (rc == 0)
		run_until(&peer.is_over);
	assert_int_equal(rc < 0 ? rc : peer.err.code, E_IO);
	rc = session_connect(OWNED(&peer, &limits), "no.such.name", 1, &me, &peer.s, NULL);
	assert_int_equal(rc, E_INVALID);
}

struct bytes_case {
	const char *bytes;
	size_t n;
	int code;
	const char *text;
};

static void what_breaks_the_protocol_ends_the_session_and_says_why(void **state)
{
	static const struct bytes_case cases[] = {
		{ "\xff\xff\xff\xff\0\x01\0\0", 8, E_TOO_BIG, "HELLO of 4294967295" },
		{ "\0\0\0\1\3\xe7\0\0", 8, E_PROTOCOL, "kind 999" },
		{ "\0\0\0\0\0\x0e\0\0", 8, E_PROTOCOL, "JOBS of 0 bytes is not for a server" },
		{ "\0\0\0\0\0\x0a\0\0", 8, E_PROTOCOL, "CREDIT of 0 bytes came before" },
		{ "\0\0\0\0\0\4\0\0", 8, E_PROTOCOL, "PING of 0 bytes came before" },
		{ "\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0", 16, E_PROTOCOL,
		  "HELLO of 0 bytes came a second" },
		{ "\0\0\0\2\0\1\0\0\x22", 9, E_PROTOCOL, "HELLO: 1 of 2 bytes" },
		{ "\0\0\0", 3, E_PROTOCOL, "head: 3 of 8" },
		{ "\0\0\0\3\0\1\0\0\x22\1\xff", 11, E_PROTOCOL, "HELLO: Hello.name is not text" },
		{ "", 0, 0, "closed" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		memset(&server, 0, sizeof server);
		int fd = local_bare(&limits);
		assert_int_equal(write(fd, cases[i].bytes, cases[i].n), cases[i].n);
		shutdown(fd, SHUT_WR);
		run_until(&server.is_over);
		assert_int_equal(server.err.code, cases[i].code);
		if (!strstr(server.err.text, cases[i].text))
			fail_msg("case %zu: %s", i, server.err.text);
		close(fd);
	}
}

/* HELLO and three CREDITs as bytes. */
static void four_frames(struct buf *b)
{
	Sirdar__Hello h = SIRDAR__HELLO__INIT;
	Sirdar__Credit c = SIRDAR__CREDIT__INIT;

	buf_init(b);
	h.name = (char *)"loader-1";
	c.limit = 300;
	assert_int_equal(frame_pack(b, FR_HELLO, &h, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(frame_pack(b, FR_CREDIT, &c, NULL), 0);
}

static void frames_split_at_any_byte_arrive_whole(void **state)
{
	struct buf b;

	(void)state;
	four_frames(&b);
	for (size_t cut = 1; cut < b.len; cut++) {
		memset(&server, 0, sizeof server);
		server.is_server = true;
		server.heard = greet;
		int fd = local_bare(&limits);
		assert_int_equal(write(fd, buf_at(&b), cut), cut);
		ev_run(loop, EVRUN_NOWAIT);
		ev_run(loop, EVRUN_NOWAIT);
		assert_int_equal(write(fd, buf_at(&b) + cut, b.len - cut), b.len - cut);
		run_until_count(&server.frames, 4);
		close(fd);
		run_until(&server.is_over);
	}
	buf_done(&b);
}

static void coalesced_frames_arrive_one_by_one(void **state)
{
	struct buf b;

	(void)state;
	four_frames(&b);
	server.heard = greet;
	int fd = local_bare(&limits);
	assert_int_equal(write(fd, buf_at(&b), b.len), b.len);
	run_until_count(&server.frames, 4);
	close(fd);
	run_until(&server.is_over);
	buf_done(&b);
}

static void storm(size_t each)
{
	server.drained = peer.drained = more_send;
	server.to_send = peer.to_send = each;
	greet_both();
}

static void a_hundred_thousand_frames_go_both_ways_over_tls(void **state)
{
	enum { EACH = 100000 };

	(void)state;
	storm(EACH);
	tls_pair("loader-1", key, &limits);
	run_until_count(&server.frames, EACH + 1);
	run_until_count(&peer.frames, EACH + 1);
	assert_int_equal(session_queued(server.s), 0);
	assert_int_equal(session_queued(peer.s), 0);
	assert_true(server.drains > 0); /* it did run into the queue's end */
}

static void a_hundred_thousand_frames_go_both_ways_over_a_local_socket(void **state)
{
	enum { EACH = 100000 };

	(void)state;
	storm(EACH);
	local_pair(&limits);
	run_until_count(&server.frames, EACH + 1);
	run_until_count(&peer.frames, EACH + 1);
}

static int echo_big(struct side *me, enum frame_kind kind, const void *message)
{
	const Sirdar__Command *c = message;

	if (kind != FR_COMMAND)
		return greet(me, kind, message);
	me->bytes = c->args.len;
	return c->args.data[c->args.len - 1] == 0x5a ? 0 : E_INVALID;
}

static void a_frame_as_large_as_its_kind_allows_arrives(void **state)
{
	Sirdar__Command c = SIRDAR__COMMAND__INIT;
	enum { BYTES = 4194304 - 5 };
	struct err err = { 0 };

	(void)state;
	greet_both();
	server.heard = echo_big;
	tls_pair("loader-1", key, &limits);
	run_until_count(&peer.frames, 1);
	c.args.len = BYTES;
	c.args.data = malloc(BYTES + 1);
	memset(c.args.data, 0x5a, BYTES + 1);
	assert_int_equal(session_send(peer.s, FR_COMMAND, &c, &err), 0);
	run_until_count(&server.bytes, BYTES);
	c.args.len = BYTES + 1;
	assert_int_equal(session_send(peer.s, FR_COMMAND, &c, &err), E_TOO_BIG);
	assert_int_equal(session_queued(peer.s), 0);
	free(c.args.data);
}

static void a_full_queue_says_busy_and_later_drained(void **state)
{
	struct session_limits small = { 120000, 0, 2000 };
	size_t sent = 0;

	(void)state;
	greet_both();
	local_pair(&small);
	run_until_count(&peer.frames, 1);
	while (credit_send(&peer) == 0)
		sent++;
	assert_in_range(sent, 100, 2000 / FRAME_HEAD_BYTES);
	assert_true(session_queued(peer.s) <= 2000);
	assert_int_equal(credit_send(&peer), E_BUSY);
	run_until_count(&peer.drains, 1);
	run_until_count(&server.frames, sent + 1);
	assert_int_equal(peer.drains, 1);
	assert_int_equal(credit_send(&peer), 0);
}

static void a_peer_that_does_not_read_costs_no_more_than_the_queue(void **state)
{
	struct session_limits small = { 120000, 0, 100000 };

	(void)state;
	server.heard = greet;
	int fd = local_bare(&small);
	assert_int_equal(write(fd, "\0\0\0\0\0\1\0\0", 8), 8);
	run_until_count(&server.frames, 1);
	for (int i = 0; i < 200000; i++) {
		if (orders_send(&server) < 0)
			ev_run(loop, EVRUN_NOWAIT);
		assert_true(session_queued(server.s) <= 100000);
	}
	assert_int_equal(orders_send(&server), E_BUSY);
	assert_false(server.is_over);
	close(fd);
	run_until(&server.is_over);
}

static int drop_self(struct side *me, enum frame_kind kind, const void *message)
{
	(void)kind;
	(void)message;
	struct session *s = me->s;
	session_greeted(s); /* the frames behind it would be welcome */
	me->s = NULL;
	session_drop(s);
	assert_int_equal(session_send(s, FR_WELCOME, &(Sirdar__Welcome)SIRDAR__WELCOME__INIT, NULL),
	                 E_CLOSED);
	return 0;
}

static void a_session_dropped_in_its_own_callback_hears_no_more(void **state)
{
	struct buf b;

	(void)state;
	four_frames(&b);
	server.heard = drop_self;
	int fd = local_bare(&limits);
	assert_int_equal(write(fd, buf_at(&b), b.len), b.len);
	run_until_count(&server.frames, 1);
	ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(server.frames, 1);
	assert_false(server.is_over);
	close(fd);
	buf_done(&b);
}

static void drop_in_open(struct side *me)
{
	struct session *s = me->s;

	me->s = NULL;
	session_drop(s);
}

static void a_session_dropped_in_on_open_is_gone(void **state)
{
	(void)state;
	server.opened = drop_in_open;
	tls_pair("loader-1", key, &limits);
	run_until(&peer.is_over);
	assert_false(server.is_over);
	assert_int_equal(peer.err.code, E_CLOSED);
}

static int refuse(struct side *me, enum frame_kind kind, const void *message)
{
	Sirdar__Refuse r = SIRDAR__REFUSE__INIT;

	(void)kind;
	(void)message;
	r.code = E_VERSION;
	r.text = (char *)"too old";
	assert_int_equal(session_send(me->s, FR_REFUSE, &r, NULL), 0);
	session_end(me->s, E_VERSION, "peer is too old");
	assert_int_equal(session_send(me->s, FR_REFUSE, &r, NULL), E_CLOSED);
	return 0;
}

static int hear_refuse(struct side *me, enum frame_kind kind, const void *message)
{
	const Sirdar__Refuse *r = message;

	me->bytes = kind == FR_REFUSE && strcmp(r->text, "too old") == 0;
	return 0;
}

static void what_was_queued_before_the_end_still_arrives(void **state)
{
	(void)state;
	server.heard = refuse;
	peer.heard = hear_refuse;
	peer.opened = hello_send;
	tls_pair("loader-1", key, &limits);
	run_until(&peer.is_over);
	run_until(&server.is_over);
	assert_int_equal(peer.bytes, 1);
	assert_int_equal(peer.err.code, 0);
	assert_int_equal(server.err.code, E_VERSION);
	assert_string_equal(server.err.text, "peer is too old");
}

static int fail_in_frame(struct side *me, enum frame_kind kind, const void *message)
{
	(void)me;
	(void)message;
	return kind == FR_HELLO ? E_FORBIDDEN : 0;
}

static void a_negative_answer_of_on_frame_ends_with_that_code(void **state)
{
	(void)state;
	server.heard = fail_in_frame;
	peer.opened = hello_send;
	local_pair(&limits);
	run_until(&server.is_over);
	assert_int_equal(server.err.code, E_FORBIDDEN);
	run_until(&peer.is_over);
}

static void an_end_that_the_peer_does_not_answer_comes_within_its_time(void **state)
{
	int fd = local_bare(&limits);

	(void)state;
	run_until(&server.is_open);
	session_end(server.s, E_CLOSED, NULL);
	session_end(server.s, E_BUSY, "the first counts");
	assert_false(server.is_over);
	run_until(&server.is_over);
	assert_int_equal(server.err.code, E_CLOSED);
	close(fd);
}

static void a_silent_peer_is_found_out_a_living_one_is_not(void **state)
{
	struct session_limits idle = { 120000, 1500, 1 << 20 };
	bool never = false;
	struct ev_timer t;

	(void)state;
	greet_both();
	tls_pair("loader-1", key, &idle);
	run_until_count(&peer.frames, 1);
	ev_timer_init(&t, time_up, 4.5, 0.);
	t.data = &never;
	ev_timer_start(loop, &t);
	ev_run(loop, 0);
	assert_false(server.is_over || peer.is_over);
	assert_int_equal(peer.frames, 1); /* PING and PONG stay inside */
	session_drop(peer.s);
	session_drop(server.s);
	memset(&server, 0, sizeof server);
	server.heard = greet;
	peer.s = NULL;
	int fd = local_bare(&idle);
	assert_int_equal(write(fd, "\0\0\0\0\0\1\0\0", 8), 8);
	run_until(&server.is_over);
	assert_int_equal(server.err.code, E_TIMEOUT);
	close(fd);
}

static void a_peer_killed_in_the_middle_of_a_frame_is_reported(void **state)
{
	struct buf b;

	(void)state;
	greet_both();
	tls_pair("loader-1", key, &limits);
	run_until_count(&peer.frames, 1);
	session_drop(peer.s); /* what the kernel does for a killed process */
	peer.s = NULL;
	run_until(&server.is_over);
	assert_int_equal(server.err.code, E_CLOSED);
	memset(&server, 0, sizeof server);
	four_frames(&b);
	int fd = local_bare(&limits);
	assert_int_equal(write(fd, buf_at(&b), 12), 12);
	close(fd);
	run_until(&server.is_over);
	assert_int_equal(server.err.code, E_PROTOCOL);
	assert_non_null(strstr(server.err.text, "HELLO: 4 of"));
	buf_done(&b);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_right_key_opens_and_names_the_peer),
		TEST(a_wrong_key_and_an_unknown_identity_look_the_same),
		TEST(garbage_instead_of_tls_ends_the_session),
		TEST(a_handshake_that_drips_meets_its_deadline),
		TEST(an_open_session_without_a_first_frame_meets_its_deadline),
		TEST(nobody_at_the_port_is_reported_to_on_end),
		TEST(what_breaks_the_protocol_ends_the_session_and_says_why),
		TEST(frames_split_at_any_byte_arrive_whole),
		TEST(coalesced_frames_arrive_one_by_one),
		TEST(a_hundred_thousand_frames_go_both_ways_over_tls),
		TEST(a_hundred_thousand_frames_go_both_ways_over_a_local_socket),
		TEST(a_frame_as_large_as_its_kind_allows_arrives),
		TEST(a_full_queue_says_busy_and_later_drained),
		TEST(a_peer_that_does_not_read_costs_no_more_than_the_queue),
		TEST(a_session_dropped_in_its_own_callback_hears_no_more),
		TEST(a_session_dropped_in_on_open_is_gone),
		TEST(what_was_queued_before_the_end_still_arrives),
		TEST(a_negative_answer_of_on_frame_ends_with_that_code),
		TEST(an_end_that_the_peer_does_not_answer_comes_within_its_time),
		TEST(a_silent_peer_is_found_out_a_living_one_is_not),
		TEST(a_peer_killed_in_the_middle_of_a_frame_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
