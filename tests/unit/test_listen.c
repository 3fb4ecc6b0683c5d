/* wire/listen and wire/net: who gets in, how many, and what is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/err.h"
#include "wire/listen.h"
#include "wire/net.h"

enum { MOST = 16 };

static struct ev_loop *loop;
static int fds[MOST], fds_count, calls[MOST], calls_count;
static uint64_t origins[MOST];
static char last_peer[64], path[200];

static void came(void *ctx, int fd, uint64_t origin, const char *peer)
{
	(void)ctx;
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	origins[fds_count] = origin;
	fds[fds_count++] = fd;
	snprintf(last_peer, sizeof last_peer, "%s", peer);
}

static int setup(void **state)
{
	const char *dir = getenv("TMPDIR");

	(void)state;
	snprintf(path, sizeof path, "%s/sirdar-test-%d.sock", dir ? dir : "/tmp", (int)getpid());
	loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOSIGMASK);
	fds_count = calls_count = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	while (fds_count > 0)
		close(fds[--fds_count]);
	while (calls_count > 0)
		close(calls[--calls_count]);
	unlink(path);
	ev_loop_destroy(loop);
	return 0;
}

static void call(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		                 .sin_port = htons(port),
		                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	calls[calls_count++] = fd;
}

static void call_local(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%.107s", path);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	calls[calls_count++] = fd;
}

static void run_until_counted(struct listener *l, uint64_t accepted, uint64_t refused)
{
	struct listener_counts c = { 0 };

	while (c.accepted < accepted || c.refused < refused) {
		ev_run(loop, EVRUN_ONCE);
		listener_counts(l, &c);
	}
	assert_int_equal(c.accepted, accepted);
	assert_int_equal(c.refused, refused);
}

static void a_caller_is_handed_out_with_its_address(void **state)
{
	struct listener_limits none = { 0 };
	struct listener *l, *second;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(listener_tcp(&(struct listener_owner){ loop, &none, came, NULL }, NULL, 0,
	                              &l, NULL),
	                 0);
	assert_int_equal(listener_tcp(&(struct listener_owner){ loop, &none, came, NULL },
	                              "127.0.0.1", listener_port(l), &second, &err),
	                 E_EXISTS);
	assert_int_equal(listener_tcp(&(struct listener_owner){ loop, &none, came, NULL },
	                              "nowhere.example", 1, &second, &err),
	                 E_INVALID);
	call(listener_port(l));
	run_until_counted(l, 1, 0);
	assert_memory_equal(last_peer, "127.0.0.1:", 10);
	listener_close(l);
	listener_close(NULL);
}

static void callers_over_a_limit_are_closed_until_one_is_released(void **state)
{
	struct listener_limits two = { .per_origin_max = 2 }, one = { .total_max = 1 };
	struct listener *l;
	char c;

	(void)state;
	assert_int_equal(
		listener_tcp(&(struct listener_owner){ loop, &two, came, NULL }, NULL, 0, &l, NULL),
		0);
	for (int i = 0; i < 3; i++)
		call(listener_port(l));
	run_until_counted(l, 2, 1);
	assert_int_equal(read(calls[2], &c, 1), 0);
	listener_release(l, origins[0]);
	call(listener_port(l));
	run_until_counted(l, 3, 1);
	listener_close(l);
	assert_int_equal(
		listener_tcp(&(struct listener_owner){ loop, &one, came, NULL }, NULL, 0, &l, NULL),
		0);
	call(listener_port(l));
	call(listener_port(l));
	run_until_counted(l, 1, 1);
	listener_release(l, origins[0]);
	call(listener_port(l));
	run_until_counted(l, 2, 1);
	listener_close(l);
}

static void without_descriptors_it_pauses_instead_of_spinning(void **state)
{
	struct listener_limits none = { 0 };
	struct listener_counts c;
	struct rlimit was, tight;
	struct listener *l;

	(void)state;
	assert_int_equal(listener_tcp(&(struct listener_owner){ loop, &none, came, NULL }, NULL, 0,
	                              &l, NULL),
	                 0);
	ev_run(loop, EVRUN_NOWAIT); /* the loop's own descriptors are there */
	call(listener_port(l));
	int next = dup(0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	tight = was;
	tight.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	double began = ev_time();
	do {
		ev_run(loop, EVRUN_ONCE);
		listener_counts(l, &c);
	} while (c.pauses < 3);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_true(ev_time() - began > .15); /* two pauses lie between three */
	run_until_counted(l, 1, 0);
	listener_close(l);
}

static void a_local_socket_is_for_its_user_alone_and_removed(void **state)
{
	struct listener_limits none = { 0 };
	struct listener *l, *second;
	struct err err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(
		listener_local(&(struct listener_owner){ loop, &none, came, NULL }, path, &l, &err),
		0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	call_local();
	run_until_counted(l, 1, 0);
	assert_string_equal(last_peer, "local");
	assert_int_equal(listener_local(&(struct listener_owner){ loop, &none, came, NULL }, path,
	                                &second, &err),
	                 E_EXISTS);
	assert_non_null(strstr(err.text, "answers"));
	listener_close(l);
	assert_int_equal(stat(path, &st), -1);
}

static void a_socket_left_behind_is_replaced_a_file_is_not(void **state)
{
	struct listener_limits none = { 0 };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct listener *l;
	struct err err = { 0 };

	(void)state;
	snprintf(a.sun_path, sizeof a.sun_path, "%.107s", path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	close(fd);
	assert_int_equal(
		listener_local(&(struct listener_owner){ loop, &none, came, NULL }, path, &l, &err),
		0);
	/* Somebody else's by now: not ours to remove. */
	assert_int_equal(unlink(path), 0);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	listener_close(l);
	assert_int_equal(
		listener_local(&(struct listener_owner){ loop, &none, came, NULL }, path, &l, &err),
		E_EXISTS);
	assert_non_null(strstr(err.text, "no socket"));
	char longer[300];
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	assert_int_equal(listener_local(&(struct listener_owner){ loop, &none, came, NULL }, longer,
	                                &l, &err),
	                 E_INVALID);
}

static void addresses_have_a_text_and_names_are_not_asked_for(void **state)
{
	char text[NET_TEXT_BYTES];
	struct net_address a;

	(void)state;
	assert_int_equal(net_parse("::1", 4711, &a, NULL), 0);
	net_text(&a, text);
	assert_string_equal(text, "[::1]:4711");
	assert_int_equal(net_parse("localhost", 80, &a, NULL), 0);
	net_text(&a, text);
	assert_string_equal(text, "127.0.0.1:80");
	assert_int_equal(net_parse("example.org", 80, &a, NULL), E_INVALID);
	assert_int_equal(net_resolve("localhost", text, NULL), 0);
	assert_int_equal(net_parse(text, 80, &a, NULL), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_caller_is_handed_out_with_its_address),
		TEST(callers_over_a_limit_are_closed_until_one_is_released),
		TEST(without_descriptors_it_pauses_instead_of_spinning),
		TEST(a_local_socket_is_for_its_user_alone_and_removed),
		TEST(a_socket_left_behind_is_replaced_a_file_is_not),
		TEST(addresses_have_a_text_and_names_are_not_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
