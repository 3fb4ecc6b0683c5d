/* wire: sessions by raw public keys, both ends on one loop over loopback; what is signed by a pair;
 * the file of an identity. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ev.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/err.h"
#include "wire/identity.h"
#include "wire/pair.h"
#include "wire/session.h"

struct side {
	struct session *s;
	bool is_open, is_over;
	char identity[80];
	struct err err;
};

static struct ev_loop *loop;
static struct side server, peer;
/* No test may meet a deadline, on however busy a machine. */
static const struct session_limits limits = { 120000, 0, 1 << 20 };
static uint8_t key[32] = "0123456789abcdef0123456789abcde";
static struct session_door door;
static struct pair server_pair, peer_pair;

static void on_open(void *ctx, struct session *s, const char *identity)
{
	struct side *me = ctx;

	me->is_open = true;
	me->s = s;
	snprintf(me->identity, sizeof me->identity, "%s", identity);
}

static int on_frame(void *ctx, struct session *s, enum frame_kind kind, const void *message)
{
	(void)ctx, (void)s, (void)kind, (void)message;
	return 0;
}

static void on_end(void *ctx, struct session *s, const struct err *err)
{
	struct side *me = ctx;

	(void)s;
	me->is_over = true;
	me->err = *err;
	me->s = NULL;
}

static const struct session_ops ops = { .on_open = on_open,
	                                .on_frame = on_frame,
	                                .on_end = on_end };

static void run_until(const bool *flag)
{
	for (int i = 0; !*flag && i < 100000; i++)
		ev_run(loop, EVRUN_ONCE);
	assert_true(*flag);
}

static int key_of(void *ctx, const char *identity, uint8_t ret_key[32])
{
	(void)ctx;
	if (strcmp(identity, "loader-1") != 0)
		return E_NOT_FOUND;
	memcpy(ret_key, key, 32);
	return 0;
}

static int whose(void *ctx, const uint8_t known[32], char ret_name[SESSION_NAME_BYTES])
{
	(void)ctx;
	if (memcmp(known, peer_pair.key, 32) != 0)
		return E_NOT_FOUND;
	snprintf(ret_name, SESSION_NAME_BYTES, "etl-1");
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&server, 0, sizeof server);
	memset(&peer, 0, sizeof peer);
	door = (struct session_door){ key_of, whose, &server_pair };
	assert_int_equal(pair_draw(&server_pair, NULL), 0);
	assert_int_equal(pair_draw(&peer_pair, NULL), 0);
	loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOSIGMASK);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	session_drop(server.s);
	session_drop(peer.s);
	ev_loop_destroy(loop);
	return 0;
}

/* What the connection came to, where it was not refused at once. */
static int connect_as(const struct identity *self)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, bytes), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &bytes), 0);
	int r = session_connect(&(struct session_owner){ loop, &ops, &peer, &limits }, "127.0.0.1",
	                        ntohs(a.sin_port), self, &peer.s, NULL);
	if (r == 0)
		assert_int_equal(
			session_accept(&(struct session_owner){ loop, &ops, &server, &limits },
		                       accept4(fd, NULL, NULL, SOCK_CLOEXEC), &door, NULL,
		                       &server.s, NULL),
			0);
	close(fd);
	return r;
}

static struct identity paired(const struct pair *own, const struct pair *knows)
{
	struct identity self = { .name = "etl-1", .is_pair = true, .pair = *own };

	memcpy(self.servers.key[self.servers.n++], knows->key, 32);
	return self;
}

static void pairs_know_each_other_and_the_server_says_whose_a_key_is(void **state)
{
	struct identity self = paired(&peer_pair, &server_pair);
	uint8_t here[SESSION_PROOF_BYTES], there[SESSION_PROOF_BYTES];

	(void)state;
	assert_int_equal(connect_as(&self), 0);
	run_until(&server.is_open);
	run_until(&peer.is_open);
	assert_string_equal(server.identity, "etl-1");
	assert_int_equal(session_proof(server.s, here, NULL), 0);
	assert_int_equal(session_proof(peer.s, there, NULL), 0);
	assert_memory_equal(here, there, sizeof here);
}

static void who_has_a_key_that_both_have_still_comes_in(void **state)
{
	(void)state;
	struct identity self = { .name = "loader-1" };
	memcpy(self.key, key, sizeof self.key);
	assert_int_equal(connect_as(&self), 0);
	run_until(&server.is_open);
	assert_string_equal(server.identity, "loader-1");
}

static void a_public_key_that_is_nobodys_does_not_come_in(void **state)
{
	struct pair other;

	(void)state;
	assert_int_equal(pair_draw(&other, NULL), 0);
	struct identity self = paired(&other, &server_pair);
	assert_int_equal(connect_as(&self), 0);
	run_until(&server.is_over);
	run_until(&peer.is_over);
	assert_false(server.is_open);
	assert_int_equal(server.err.code, E_AUTH);
	assert_int_equal(peer.err.code, E_AUTH);
	assert_non_null(strstr(peer.err.text, "does not know the public key"));
}

/* He has the public half, as everybody may. */
static void a_public_key_without_its_private_half_does_not_come_in(void **state)
{
	struct pair forged;

	(void)state;
	assert_int_equal(pair_draw(&forged, NULL), 0);
	memcpy(forged.key, peer_pair.key, sizeof forged.key);
	struct identity self = paired(&forged, &server_pair);
	if (connect_as(&self) < 0)
		return; /* its own library refuses it */
	run_until(&server.is_over);
	assert_false(server.is_open);
	run_until(&peer.is_over);
}

static void a_peer_greets_no_server_whose_key_it_does_not_know(void **state)
{
	struct pair other;

	(void)state;
	assert_int_equal(pair_draw(&other, NULL), 0);
	struct identity self = paired(&peer_pair, &other);
	assert_int_equal(connect_as(&self), 0);
	run_until(&peer.is_over);
	run_until(&server.is_over);
	assert_false(peer.is_open || server.is_open);
	assert_int_equal(peer.err.code, E_AUTH);
	assert_non_null(strstr(peer.err.text, "the server's key"));
}

static void a_server_without_a_pair_is_greeted_by_no_pair(void **state)
{
	struct identity self = paired(&peer_pair, &server_pair);

	(void)state;
	door.own = NULL;
	assert_int_equal(connect_as(&self), 0);
	run_until(&server.is_over);
	run_until(&peer.is_over);
	assert_false(peer.is_open || server.is_open);
}

static void what_a_pair_signed_is_its_own_and_no_others(void **state)
{
	uint8_t sign[PAIR_SIGN_BYTES], again[PAIR_BYTES];
	char digits[PAIR_TEXT];
	struct pair same;

	(void)state;
	assert_int_equal(pair_sign(&peer_pair, "text", 4, sign, NULL), 0);
	assert_true(pair_signed(peer_pair.key, "text", 4, sign, sizeof sign));
	assert_false(pair_signed(peer_pair.key, "texT", 4, sign, sizeof sign));
	assert_false(pair_signed(peer_pair.key, "text", 4, sign, sizeof sign - 1));
	assert_false(pair_signed(server_pair.key, "text", 4, sign, sizeof sign));
	pair_text(peer_pair.key, digits);
	assert_true(pair_parse(digits, again));
	assert_memory_equal(again, peer_pair.key, sizeof again);
	digits[PAIR_TEXT - 2] = 'g';
	assert_false(pair_parse(digits, again));
	assert_false(pair_parse("00", again));
	assert_int_equal(pair_of(peer_pair.secret, &same, NULL), 0);
	assert_memory_equal(same.key, peer_pair.key, sizeof same.key);
}

static void an_identity_is_read_as_it_was_written_and_not_if_a_line_is_wrong(void **state)
{
	const char *dir = getenv("TMPDIR");
	char path[200];
	struct identity self = paired(&peer_pair, &server_pair), back;
	struct err err = { 0 };

	(void)state;
	snprintf(path, sizeof path, "%s/sirdar-identity-%d", dir ? dir : "/tmp", (int)getpid());
	self.has_next = true;
	assert_int_equal(pair_draw(&self.next, NULL), 0);
	assert_int_equal(identity_write(path, &self, NULL), 0);
	assert_int_equal(identity_read(path, "other", &back, NULL), 0);
	assert_string_equal(back.name, "etl-1");
	assert_true(back.is_pair && back.has_next && pins_same(&back.servers, &self.servers));
	assert_memory_equal(&back.pair, &self.pair, sizeof self.pair);
	assert_memory_equal(&back.next, &self.next, sizeof self.next);
	FILE *f = fopen(path, "a");
	fputs("key 00\n", f);
	fclose(f);
	assert_int_equal(identity_read(path, "etl-1", &back, &err), E_INVALID);
	assert_non_null(strstr(err.text, ":5:"));
	f = fopen(path, "w");
	fprintf(f, "loader-1:%064d\n", 7);
	fclose(f);
	assert_int_equal(identity_read(path, "loader-1", &back, NULL), 0);
	assert_false(back.is_pair);
	assert_int_equal(identity_read(path, "other", &back, NULL), E_NOT_FOUND);
	unlink(path);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(pairs_know_each_other_and_the_server_says_whose_a_key_is),
		TEST(who_has_a_key_that_both_have_still_comes_in),
		TEST(a_public_key_that_is_nobodys_does_not_come_in),
		TEST(a_public_key_without_its_private_half_does_not_come_in),
		TEST(a_peer_greets_no_server_whose_key_it_does_not_know),
		TEST(a_server_without_a_pair_is_greeted_by_no_pair),
		TEST(what_a_pair_signed_is_its_own_and_no_others),
		TEST(an_identity_is_read_as_it_was_written_and_not_if_a_line_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
