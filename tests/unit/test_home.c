/* lib/home: a thing is there when the place has shown it, whatever the place answers before;
 * addresses and secrets of another form are refused. The place is a bucket that can lie. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "fetch/fetch.h"
#include "home/home.h"
#include "home/s3.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"

static struct {
	struct buf parts, thing;
	bool is_there, is_begun;
	size_t asked, aborted, read_back;
	/* Lies. */
	bool has_other_etag, flips, cuts, fails_to_join;
	long status; /* of everything; 0: none */
} at;

static const char *header(const struct fetch_ask *ask, const char *name)
{
	for (const char *const *h = ask->headers; *h; h++)
		if (strncmp(*h, name, strlen(name)) == 0)
			return *h + strlen(name);
	return NULL;
}

static void say_etag(const struct fetch_ask *ask, const struct buf *of)
{
	uint8_t sum[MD5_BYTES];
	char text[MD5_TEXT];

	if (!ask->said)
		return;
	assert_true(md5_bytes(buf_at(of), of->len, sum));
	md5_text(sum, text);
	ask->said->length = (int64_t)of->len;
	snprintf(ask->said->etag, sizeof ask->said->etag, "%s",
	         at.has_other_etag ? "encrypted" : text);
}

static void take_put(const struct fetch_ask *ask)
{
	bool is_part = strstr(ask->url, "partNumber=") != NULL;
	struct buf *to = is_part ? &at.parts : &at.thing;
	char sum[SHA256_TEXT];

	sha256_text(ask->body, ask->body_bytes, sum);
	assert_string_equal(header(ask, "x-amz-content-sha256: "), sum);
	if (!is_part)
		buf_clear(to);
	buf_put(to, ask->body, ask->body_bytes - (at.cuts && ask->body_bytes > 0));
	if (at.flips)
		((uint8_t *)(uintptr_t)buf_at(to))[0] ^= 1;
	at.is_there |= !is_part;
	struct buf part;
	buf_init(&part);
	buf_put(&part, ask->body, ask->body_bytes);
	bool was = at.has_other_etag;
	at.has_other_etag = false;
	say_etag(ask, &part);
	at.has_other_etag = was;
	buf_done(&part);
}

static void take_post(const struct fetch_ask *ask, struct buf *body)
{
	if (strstr(ask->url, "?uploads=")) {
		at.is_begun = true;
		buf_puts(body, "<X><UploadId>a/b&amp;c</UploadId></X>");
	} else if (at.fails_to_join) {
		buf_puts(body, "<Error><Code>InternalError</Code></Error>");
	} else {
		assert_non_null(strstr(ask->url, "?uploadId=a%2Fb%26c"));
		buf_clear(&at.thing);
		buf_put(&at.thing, buf_at(&at.parts), at.parts.len);
		at.is_there = true;
		at.is_begun = false;
	}
}

static void take_get(const struct fetch_ask *ask, struct buf *body)
{
	size_t from = 0, to = 0;

	assert_int_equal(sscanf(header(ask, "Range: bytes="), "%zu-%zu", &from, &to),
	                 2); /* NOLINT */
	if (to >= at.thing.len)
		to = at.thing.len - 1;
	buf_put(body, buf_at(&at.thing) + from, to + 1 - from);
	at.read_back++;
}

static int lie_fetch(const struct fetch_ask *ask, long *ret_status, struct buf *ret_body,
                     struct err *err)
{
	(void)err;
	at.asked++;
	assert_string_equal(ask->sign, "aws:amz:us-east-1:s3");
	assert_string_equal(ask->user, "KEY");
	assert_string_equal(ask->secret, "SECRET");
	*ret_status = at.status ? at.status : 200;
	if (at.status)
		return 0;
	if (strcmp(ask->method, "PUT") == 0)
		take_put(ask);
	else if (strcmp(ask->method, "POST") == 0)
		take_post(ask, ret_body);
	else if (strcmp(ask->method, "HEAD") == 0)
		say_etag(ask, &at.thing);
	else if (strcmp(ask->method, "DELETE") == 0)
		at.aborted += at.is_begun;
	else
		take_get(ask, ret_body);
	return 0;
}

static void *lie_open(void)
{
	return mem_new(1);
}

static const struct fetch_ops lies = { FETCH_ABI, sizeof(struct fetch_ask), lie_fetch, lie_open,
	                               free };

static int begin(void **state)
{
	const struct home_settings set = { "s3:https://store.example/bucket/pre/fix", "", 1000,
		                           &lies, NULL };
	struct home *h = NULL;

	buf_done(&at.parts);
	buf_done(&at.thing);
	memset(&at, 0, sizeof at);
	assert_int_equal(home_open(&set, &h, NULL), 0);
	assert_int_equal(home_secret_set(h, "KEY:SECRET", NULL), 0);
	*state = h;
	return 0;
}

static int end(void **state)
{
	home_close(*state);
	buf_done(&at.parts);
	buf_done(&at.thing);
	return 0;
}

/* A file of so many bytes is put; what the last step said. */
static int put(struct home *h, size_t n)
{
	int fd = memfd_create("thing", MFD_CLOEXEC), r;
	uint8_t *data = mem_new(n);

	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	assert_int_equal(write(fd, data, n), n);
	struct home_put p = { .name = "a.seg", .fd = fd, .bytes = n };
	do
		r = home_put_step(h, &p, NULL);
	while (r == HOME_MORE);
	home_put_done(h, &p);
	if (r == 0) {
		assert_int_equal(at.thing.len, n);
		assert_memory_equal(buf_at(&at.thing), data, n);
	}
	close(fd);
	free(data);
	return r;
}

enum { SMALL = 1000, LARGE = 2 * PIECE_BYTES + 5 };

static void what_was_sent_is_there_whole_or_in_parts(void **state)
{
	assert_int_equal(put(*state, SMALL), 0);
	assert_int_equal(at.asked, 2);
	assert_int_equal(put(*state, LARGE), 0);
	assert_int_equal(at.asked, 2 + 1 + 3 + 1 + 1);
	assert_int_equal(at.read_back, 0);
}

static void an_etag_that_is_no_checksum_is_read_back(void **state)
{
	at.has_other_etag = true;
	assert_int_equal(put(*state, SMALL), 0);
	assert_int_equal(at.read_back, 1);
	assert_int_equal(put(*state, LARGE), 0);
	assert_int_equal(at.read_back, 1 + 3);
}

static void what_is_there_and_is_something_else_is_found(void **state)
{
	for (int other = 0; other < 2; other++)
		for (int large = 0; large < 2; large++) {
			at.has_other_etag = other;
			at.flips = true;
			at.cuts = false;
			buf_clear(&at.parts);
			assert_int_equal(put(*state, large ? LARGE : SMALL), E_CORRUPT);
			at.flips = false;
			at.cuts = true;
			buf_clear(&at.parts);
			assert_int_equal(put(*state, large ? LARGE : SMALL), E_CORRUPT);
		}
}

static void an_upload_that_fails_is_taken_back(void **state)
{
	at.fails_to_join = true;
	assert_int_equal(put(*state, LARGE), E_IO);
	assert_int_equal(at.aborted, 1);
	assert_false(at.is_there);
}

static void a_refusal_says_what_it_is(void **state)
{
	static const struct {
		long status;
		int code;
	} all[] = { { 403, E_FORBIDDEN }, { 404, E_NOT_FOUND }, { 301, E_INVALID },
		    { 503, E_IO },        { 429, E_IO },        { 501, E_UNSUPPORTED } };

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		at.status = all[i].status;
		assert_int_equal(put(*state, SMALL), all[i].code);
	}
	assert_int_equal(home_remove(*state, "a.seg", NULL), E_UNSUPPORTED);
	at.status = 404;
	assert_int_equal(home_remove(*state, "a.seg", NULL), 0);
}

static void addresses_and_secrets_of_another_form_are_refused(void **state)
{
	static const char *const good[] = { "s3:https://h/b", "s3:https://h:9000/b/p/q?region=eu-1",
		                            "s3:http://127.0.0.1:1/b" };
	static const char *const bad[] = { "s3:https://h",       "s3:https://h/",
		                           "s3:https://h/b/",    "s3:https://h/b//c",
		                           "s3:https://h/../c",  "s3:https://u:p@h/b",
		                           "s3:http://h/b",      "s3:https://h/b?region=",
		                           "s3:https://h/b?a=b", "ftp://h/b",
		                           "https://h/b",        "s3:https://h/b c" };
	static const char *const no[] = { "", "KEY", ":S", "K:", "K:S\n", "K::T" };

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_int_equal(home_check(good[i], NULL), 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (home_check(bad[i], NULL) != E_INVALID)
			fail_msg("%s", bad[i]);
	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
		assert_int_equal(home_secret_set(*state, no[i], NULL), E_INVALID);
	assert_int_equal(home_secret_set(*state, "K:S:TOKEN:x", NULL), 0);
}

static void times_and_texts_of_answers_are_read(void **state)
{
	static const char x[] = "<A><K>a&amp;b</K></A><A><K>c</K></A>";
	const char *p = x, *found;
	char text[8];
	size_t n;

	(void)state;
	assert_true(xml_next(&p, x + strlen(x), "A", &found, &n));
	assert_true(xml_text(found, n, "K", text, sizeof text));
	assert_string_equal(text, "a&b");
	assert_true(xml_next(&p, x + strlen(x), "A", &found, &n));
	assert_false(xml_text(found, n, "L", text, sizeof text));
	assert_false(xml_next(&p, x + strlen(x), "A", &found, &n));
	assert_int_equal(xml_time_us("1970-01-02T00:00:01.000Z"), 86401 * INT64_C(1000000));
	assert_int_equal(xml_time_us("1970-13-02T00:00:01Z"), 0);
	assert_int_equal(xml_time_us("soon"), 0);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ONE(what_was_sent_is_there_whole_or_in_parts),
		ONE(an_etag_that_is_no_checksum_is_read_back),
		ONE(what_is_there_and_is_something_else_is_found),
		ONE(an_upload_that_fails_is_taken_back),
		ONE(a_refusal_says_what_it_is),
		ONE(addresses_and_secrets_of_another_form_are_refused),
		ONE(times_and_texts_of_answers_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
