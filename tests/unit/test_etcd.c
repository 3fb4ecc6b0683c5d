/* What is said to etcd's JSON gateway and what it answers; with a server (SIRDAR_TEST_ETCD, started
 * by tests/etcd/run) the client's calls as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "etcd/base64.h"
#include "etcd/etcd.h"
#include "etcd/say.h"
#include "util/buf.h"
#include "util/err.h"

/* ---- text ---------------------------------------------------------------------------- */

static void bytes_of_any_length_go_to_base64_and_back(void **state)
{
	const char *text = "\x01\xff\x80 sirdar";
	struct buf out;
	char *bytes;
	size_t n;

	(void)state;
	for (size_t len = 0; len <= strlen(text); len++) {
		buf_init(&out);
		base64_put(&out, text, len);
		assert_int_equal(out.len, (len + 2) / 3 * 4);
		assert_int_equal(base64_take(buf_str(&out), &bytes, &n), 0);
		assert_int_equal(n, len);
		assert_memory_equal(bytes, text, len);
		free(bytes);
		buf_done(&out);
	}
	buf_init(&out);
	base64_put(&out, "foobar", 6);
	assert_string_equal(buf_str(&out), "Zm9vYmFy");
	buf_done(&out);
}

static void what_is_not_base64_is_refused(void **state)
{
	static const char *const bad[] = {
		"A", "AB", "ABC", "A===", "====", "AB=C", "AB\nC", "A-_="
	};
	char *bytes = NULL;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(base64_take(bad[i], &bytes, &n), E_INVALID);
}

static void a_creation_is_conditional_on_create_revision_zero(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out);
	say_create(&out, "k", "v", 7);
	assert_string_equal(buf_str(&out),
	                    "{\"compare\":[{\"key\":\"aw==\",\"result\":\"EQUAL\",\"target\":"
	                    "\"CREATE\",\"create_revision\":\"0\"}],\"success\":[{\"request_put\":"
	                    "{\"key\":\"aw==\",\"value\":\"dg==\",\"lease\":\"7\"}}],\"failure\":"
	                    "[{\"request_range\":{\"key\":\"aw==\"}}]}");
	buf_done(&out);
}

static void a_prefix_ends_before_its_next_sibling(void **state)
{
	struct buf out;

	(void)state;
	buf_init(&out);
	say_range_prefix(&out, "a/", NULL, 5, 9);
	assert_string_equal(buf_str(&out), "{\"key\":\"YS8=\",\"range_end\":\"YTA=\",\"limit\":"
	                                   "\"5\",\"revision\":\"9\"}");
	buf_done(&out);
}

static int hear(const char *text, struct etcd_answer *a, struct err *err)
{
	return etcd_hear(text, strlen(text), a, err);
}

static void what_the_gateway_leaves_out_is_zero(void **state)
{
	struct etcd_answer a;

	(void)state;
	assert_int_equal(hear("{\"header\":{\"cluster_id\":\"14841639068965178418\",\"revision\":"
	                      "\"9007199254740993\"},\"responses\":[{\"response_range\":{\"kvs\":"
	                      "[{\"key\":\"aw==\",\"mod_revision\":\"2\",\"lease\":"
	                      "\"2324035496088407301\"}]}}]}",
	                      &a, NULL),
	                 0);
	assert_false(a.succeeded);
	assert_string_equal(a.cluster, "14841639068965178418");
	assert_int_equal(a.revision, 9007199254740993); /* no double holds it */
	assert_int_equal(a.n, 1);
	assert_string_equal(a.kvs[0].key, "k");
	assert_string_equal(a.kvs[0].value, "");
	assert_int_equal(a.kvs[0].lease, 2324035496088407301);
	etcd_answer_done(&a);
	assert_int_equal(hear("{\"result\":{\"header\":{},\"ID\":\"7\"}}", &a, NULL), 0);
	assert_int_equal(a.ttl_s, 0); /* a dead lease's keep-alive */
	etcd_answer_done(&a);
}

static void a_watch_tells_puts_from_deletes_and_says_why_it_ends(void **state)
{
	struct etcd_answer a;

	(void)state;
	assert_int_equal(hear("{\"result\":{\"header\":{\"revision\":\"5\"},\"events\":[{\"kv\":"
	                      "{\"key\":\"aw==\",\"value\":\"dg==\",\"mod_revision\":\"4\"}},"
	                      "{\"type\":\"DELETE\",\"kv\":{\"key\":\"aw==\",\"mod_revision\":"
	                      "\"5\"}}]}}",
	                      &a, NULL),
	                 0);
	assert_int_equal(a.n, 2);
	assert_false(a.kvs[0].is_deleted);
	assert_string_equal(a.kvs[0].value, "v");
	assert_true(a.kvs[1].is_deleted);
	assert_false(a.is_progress);
	etcd_answer_done(&a);
	assert_int_equal(
		hear("{\"result\":{\"created\":true,\"canceled\":true,"
	             "\"compact_revision\":\"12\",\"cancel_reason\":\"etcdserver: mvcc\"}}",
	             &a, NULL),
		0);
	assert_true(a.canceled);
	assert_int_equal(a.compact_revision, 12);
	assert_string_equal(a.why, "etcdserver: mvcc");
	etcd_answer_done(&a);
}

static void refusals_have_the_code_of_their_cause(void **state)
{
	static const struct {
		const char *text;
		int code;
	} cases[] = {
		{ "{\"error\":\"etcdserver: invalid auth token\",\"code\":16}", E_AUTH },
		{ "{\"error\":\"etcdserver: authentication failed, invalid user ID or password\","
		  "\"code\":3}",
		  E_AUTH },
		{ "{\"error\":\"etcdserver: permission denied\",\"code\":7}", E_FORBIDDEN },
		{ "{\"error\":\"etcdserver: requested lease not found\",\"code\":5}", E_NOT_FOUND },
		{ "{\"error\":\"etcdserver: request timed out\",\"code\":14}", E_AGAIN },
		{ "{\"error\":{\"grpc_code\":11,\"message\":\"compacted\"}}", E_STALE },
		{ "{\"error\":7}", E_AGAIN },
		{ "<html>not etcd</html>", E_PROTOCOL },
		{ "", E_PROTOCOL },
		{ "[]", E_PROTOCOL },
		{ "{\"result\":[]}", E_PROTOCOL },
		{ "{\"header\":7}", E_PROTOCOL },
		{ "{\"kvs\":{}}", E_PROTOCOL },
		{ "{\"kvs\":[7]}", E_PROTOCOL },
		{ "{\"kvs\":[{\"key\":\"a\"}]}", E_PROTOCOL },
		{ "{\"kvs\":[{\"key\":7}]}", E_PROTOCOL },
		{ "{\"kvs\":[{\"mod_revision\":\"99999999999999999999\"}]}", E_PROTOCOL },
		{ "{\"events\":[{}]}", E_PROTOCOL },
		{ "{\"TTL\":\"\"}", E_PROTOCOL },
		{ "{\"ID\":{}}", E_PROTOCOL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etcd_answer a = { 0 };
		struct err err = { 0 };
		int r = hear(cases[i].text, &a, &err);
		if (r != cases[i].code)
			print_error("%s: %d\n", cases[i].text, r);
		assert_int_equal(r, cases[i].code);
		assert_true(err.text[0] != 0);
	}
}

/* ---- opening -------------------------------------------------------------------------- */

static int open_one(const char *url, const char *user_file, struct etcd **ret, struct err *err)
{
	char *endpoints[] = { (char *)(uintptr_t)url };
	struct etcd_settings set = { endpoints, 1, user_file, "", 2000 };

	return etcd_open(&set, ret, err);
}

static void addresses_that_hide_a_password_or_lead_elsewhere_are_refused(void **state)
{
	static const char *const bad[] = {
		"127.0.0.1:2379", "ftp://a:1",           "http://",
		"http://a/b",     "http://u:secret@a:1", "http://a:1?x"
	};
	struct etcd *e;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct err err = { 0 };
		assert_int_equal(open_one(bad[i], "", &e, &err), E_INVALID);
		assert_null(strstr(err.text, "secret"));
	}
}

static void a_password_that_others_may_read_or_that_is_none_is_refused(void **state)
{
	char path[] = "/tmp/sirdar-etcd-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");
	struct err err = { 0 };
	struct etcd *e = NULL;

	(void)state;
	fputs("nobody\n", f);
	fclose(f);
	assert_int_equal(open_one("http://127.0.0.1:1", path, &e, &err), E_INVALID);
	assert_non_null(strstr(err.text, "USER:PASSWORD"));
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(open_one("http://127.0.0.1:1", path, &e, &err), E_FORBIDDEN);
	remove(path);
	assert_int_equal(open_one("http://127.0.0.1:1", path, &e, &err), E_NOT_FOUND);
}

static void nobody_who_listens_is_one_clear_error(void **state)
{
	struct etcd_answer a;
	struct etcd *e = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(open_one("http://127.0.0.1:1", "", &e, &err), 0);
	assert_int_equal(etcd_get(e, "k", &a, &err), E_IO);
	assert_non_null(strstr(err.text, "http://127.0.0.1:1"));
	etcd_stop(e);
	assert_int_equal(etcd_get(e, "k", &a, &err), E_CLOSED);
	etcd_close(e);
}

/* ---- with a server --------------------------------------------------------------------- */

static struct etcd *server(void)
{
	const char *url = getenv("SIRDAR_TEST_ETCD");
	char *endpoints[] = { (char *)(uintptr_t) "http://127.0.0.1:1", (char *)(uintptr_t)url };
	struct etcd_settings set = { endpoints, 2, "", "", 5000 };
	struct etcd *e = NULL;
	struct err err = { 0 };

	if (!url)
		skip();
	if (etcd_open(&set, &e, &err) < 0)
		fail_msg("%s", err.text);
	return e;
}

static int count(void *ctx, const struct etcd_kv *kv)
{
	(void)kv;
	++*(int *)ctx;
	return 0;
}

static void keys_are_put_listed_page_by_page_and_deleted(void **state)
{
	struct etcd *e = server();
	struct etcd_answer a;
	char key[40];
	int64_t revision;
	int n = 0;

	(void)state;
	for (int i = 0; i < 1101; i++) {
		snprintf(key, sizeof key, "/pages/%d", i);
		assert_int_equal(etcd_put(e, key, "v", 0, NULL), 0);
	}
	assert_int_equal(etcd_each(e, "/pages/", count, &n, &revision, NULL), 0);
	assert_int_equal(n, 1101);
	assert_true(revision > 1101);
	assert_int_equal(etcd_delete(e, "/pages/7", NULL), 0);
	assert_int_equal(etcd_get(e, "/pages/7", &a, NULL), E_NOT_FOUND);
	assert_int_equal(etcd_get(e, "/pages/8", &a, NULL), 0);
	assert_int_equal(etcd_delete_if(e, "/pages/8", a.kvs[0].mod_revision + 1, NULL), 0);
	etcd_answer_done(&a);
	assert_int_equal(etcd_get(e, "/pages/8", &a, NULL), 0); /* was written since: stays */
	assert_int_equal(etcd_delete_if(e, "/pages/8", a.kvs[0].mod_revision, NULL), 0);
	etcd_answer_done(&a);
	assert_int_equal(etcd_get(e, "/pages/8", &a, NULL), E_NOT_FOUND);
	etcd_close(e);
}

static void a_key_is_changed_only_at_the_revision_that_is_named(void **state)
{
	struct etcd *e = server();
	struct etcd_answer a = { 0 };

	(void)state;
	assert_int_equal(etcd_change_if(e, "/if", "one", 0, &a, NULL), 0);
	assert_true(a.succeeded);
	int64_t first = a.revision;
	etcd_answer_done(&a);
	assert_int_equal(etcd_change_if(e, "/if", "two", 0, &a, NULL), 0);
	assert_false(a.succeeded);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.kvs[0].value, "one");
	assert_true(a.kvs[0].mod_revision == first);
	etcd_answer_done(&a);
	assert_int_equal(etcd_change_if(e, "/if", NULL, first, &a, NULL), 0);
	assert_true(a.succeeded);
	etcd_answer_done(&a);
	assert_int_equal(etcd_change_if(e, "/if", "three", first, &a, NULL), 0);
	assert_false(a.succeeded);
	assert_int_equal(a.n, 0);
	etcd_answer_done(&a);
	etcd_close(e);
}

static void one_of_two_makes_a_key_and_a_lost_answer_is_found_again(void **state)
{
	struct etcd *e = server();
	int64_t mine = 0, other = 0, ttl = 0, revision = 0, again = 0;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(etcd_lease_grant(e, 60, &mine, &ttl, NULL), 0);
	assert_int_equal(etcd_lease_grant(e, 60, &other, &ttl, NULL), 0);
	assert_true(ttl >= 60);
	assert_int_equal(etcd_create(e, "/leader", "me", mine, &revision, NULL), 0);
	assert_int_equal(etcd_create(e, "/leader", "me", mine, &again, NULL), 0);
	assert_int_equal(revision, again);
	assert_int_equal(etcd_create(e, "/leader", "you", other, &again, &err), E_EXISTS);
	assert_int_equal(etcd_lease_keep(e, mine, &ttl, NULL), 0);
	assert_int_equal(etcd_lease_revoke(e, mine, NULL), 0);
	assert_int_equal(etcd_lease_keep(e, mine, &ttl, NULL), E_STALE);
	assert_int_equal(etcd_put(e, "/x", "v", mine, NULL), E_NOT_FOUND);
	assert_int_equal(etcd_create(e, "/leader", "you", other, &again, &err), 0);
	assert_true(again > revision); /* the fence grows */
	assert_int_equal(etcd_lease_revoke(e, other, NULL), 0);
	etcd_close(e);
}

static void changes_are_seen_in_order_and_a_compacted_past_is_said(void **state)
{
	struct etcd *e = server();
	struct etcd_watch *w = NULL;
	struct etcd_answer a;
	int64_t from;
	int n = 0, r = 0;

	(void)state;
	assert_int_equal(etcd_put(e, "/watched/1", "v", 0, NULL), 0);
	assert_int_equal(etcd_get(e, "/watched/1", &a, NULL), 0);
	from = a.kvs[0].mod_revision;
	etcd_answer_done(&a);
	assert_int_equal(etcd_watch(e, "/watched/", from, &w, NULL), 0);
	assert_int_equal(etcd_put(e, "/watched/2", "v", 0, NULL), 0);
	assert_int_equal(etcd_put(e, "/beside", "v", 0, NULL), 0);
	assert_int_equal(etcd_delete(e, "/watched/2", NULL), 0);
	for (int i = 0; i < 600 && n < 3 && r == 0; i++)
		r = etcd_watch_wait(w, 100, count, &n, NULL);
	assert_int_equal(r, 0);
	assert_int_equal(n, 3);
	assert_int_equal(etcd_watch_revision(w), from + 4);
	etcd_watch_end(w);
	/* tests/etcd/run has compacted up to here. */
	assert_int_equal(etcd_watch(e, "/watched/", 1, &w, NULL), 0);
	for (int i = 0; i < 600 && r == 0; i++)
		r = etcd_watch_wait(w, 100, count, &n, NULL);
	assert_int_equal(r, E_STALE);
	etcd_watch_end(w);
	etcd_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_any_length_go_to_base64_and_back),
		cmocka_unit_test(what_is_not_base64_is_refused),
		cmocka_unit_test(a_creation_is_conditional_on_create_revision_zero),
		cmocka_unit_test(a_prefix_ends_before_its_next_sibling),
		cmocka_unit_test(what_the_gateway_leaves_out_is_zero),
		cmocka_unit_test(a_watch_tells_puts_from_deletes_and_says_why_it_ends),
		cmocka_unit_test(refusals_have_the_code_of_their_cause),
		cmocka_unit_test(addresses_that_hide_a_password_or_lead_elsewhere_are_refused),
		cmocka_unit_test(a_password_that_others_may_read_or_that_is_none_is_refused),
		cmocka_unit_test(nobody_who_listens_is_one_clear_error),
		cmocka_unit_test(keys_are_put_listed_page_by_page_and_deleted),
		cmocka_unit_test(a_key_is_changed_only_at_the_revision_that_is_named),
		cmocka_unit_test(one_of_two_makes_a_key_and_a_lost_answer_is_found_again),
		cmocka_unit_test(changes_are_seen_in_order_and_a_compacted_past_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
