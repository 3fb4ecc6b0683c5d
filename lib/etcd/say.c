/* The bodies of requests to etcd's JSON gateway. They are built here and nowhere else: the gateway
 * ignores fields it does not know, so that a misspelt condition would always hold. Keys and values
 * go as base64, 64-bit numbers as text. Nothing is sent from here. */
#include "etcd/say.h"

#include <inttypes.h>
#include <string.h>

#include "etcd/base64.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/json_put.h"

static void field_bytes(struct buf *out, const char *name, const void *bytes, size_t n)
{
	struct buf text;

	buf_init(&text);
	base64_put(&text, bytes, n);
	put_text(out, name, buf_str(&text));
	buf_done(&text);
}

/* A double of a reader would not hold all of them. */
static void field_int64(struct buf *out, const char *name, int64_t value)
{
	struct buf text;

	buf_init(&text);
	buf_printf(&text, "%" PRId64, value);
	put_text(out, name, buf_str(&text));
	buf_done(&text);
}

static void field_key(struct buf *out, const char *key)
{
	field_bytes(out, "key", key, strlen(key));
}

/* The first key after all that begin with the prefix, whose last byte is not 0xff. */
static void field_prefix_end(struct buf *out, const char *prefix)
{
	struct buf end;

	buf_init(&end);
	buf_puts(&end, prefix);
	CHECK(end.len > 0 && end.data[end.from + end.len - 1] != 0xff);
	end.data[end.from + end.len - 1]++;
	field_bytes(out, "range_end", buf_at(&end), end.len);
	buf_done(&end);
}

void say_range_prefix(struct buf *out, const char *prefix, const char *from, int64_t limit,
                      int64_t revision)
{
	CHECK(limit > 0);
	put_open(out, NULL, '{');
	field_key(out, from ? from : prefix);
	field_prefix_end(out, prefix);
	field_int64(out, "limit", limit);
	field_int64(out, "revision", revision);
	put_close(out, '}');
}

void say_range(struct buf *out, const char *key)
{
	put_open(out, NULL, '{');
	field_key(out, key);
	put_close(out, '}');
}

static void put_fields(struct buf *out, const char *key, const char *value, int64_t lease)
{
	field_key(out, key);
	field_bytes(out, "value", value, strlen(value));
	field_int64(out, "lease", lease);
}

void say_put(struct buf *out, const char *key, const char *value, int64_t lease)
{
	put_open(out, NULL, '{');
	put_fields(out, key, value, lease);
	put_close(out, '}');
}

void say_delete(struct buf *out, const char *key)
{
	say_range(out, key);
}

/* compare: one condition on one key, EQUAL. */
static void say_compare(struct buf *out, const char *key, const char *target, const char *field,
                        int64_t value)
{
	put_open(out, "compare", '[');
	put_open(out, NULL, '{');
	field_key(out, key);
	put_text(out, "result", "EQUAL");
	put_text(out, "target", target);
	field_int64(out, field, value);
	put_close(out, '}');
	put_close(out, ']');
}

static void open_list_of_one(struct buf *out, const char *branch, const char *request)
{
	put_open(out, branch, '[');
	put_open(out, NULL, '{');
	put_open(out, request, '{');
}

static void close_list_of_one(struct buf *out)
{
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, ']');
}

static void close_with_range(struct buf *out, const char *key)
{
	close_list_of_one(out);
	open_list_of_one(out, "failure", "request_range");
	field_key(out, key);
	close_list_of_one(out);
	put_close(out, '}');
}

void say_create(struct buf *out, const char *key, const char *value, int64_t lease)
{
	put_open(out, NULL, '{');
	say_compare(out, key, "CREATE", "create_revision", 0);
	open_list_of_one(out, "success", "request_put");
	put_fields(out, key, value, lease);
	close_with_range(out, key);
}

void say_change_if(struct buf *out, const char *key, const char *value, int64_t mod_revision)
{
	put_open(out, NULL, '{');
	say_compare(out, key, "MOD", "mod_revision", mod_revision);
	open_list_of_one(out, "success", value ? "request_put" : "request_delete_range");
	if (value)
		put_fields(out, key, value, 0);
	else
		field_key(out, key);
	close_with_range(out, key);
}

void say_lease_grant(struct buf *out, int64_t ttl_s)
{
	CHECK(ttl_s > 0);
	put_open(out, NULL, '{');
	field_int64(out, "TTL", ttl_s);
	put_close(out, '}');
}

void say_lease(struct buf *out, int64_t lease)
{
	CHECK(lease != 0);
	put_open(out, NULL, '{');
	field_int64(out, "ID", lease);
	put_close(out, '}');
}

void say_watch(struct buf *out, const char *prefix, int64_t from_revision)
{
	put_open(out, NULL, '{');
	put_open(out, "create_request", '{');
	field_key(out, prefix);
	field_prefix_end(out, prefix);
	field_int64(out, "start_revision", from_revision);
	put_bool(out, "progress_notify", true);
	put_close(out, '}');
	put_close(out, '}');
}

void say_login(struct buf *out, const char *user, const char *password)
{
	put_open(out, NULL, '{');
	put_text(out, "name", user);
	put_text(out, "password", password);
	put_close(out, '}');
}
