#include "etcd/say.h"

#include <inttypes.h>
#include <string.h>

#include "etcd/base64.h"
#include "util/buf.h"
#include "util/json.h"

static void field_bytes(struct json_out *j, const char *name, const void *bytes, size_t n)
{
	struct buf text;

	buf_init(&text);
	base64_put(&text, bytes, n);
	json_field_text(j, name, buf_str(&text));
	buf_done(&text);
}

/* A double of a reader would not hold all of them. */
static void field_int64(struct json_out *j, const char *name, int64_t value)
{
	struct buf text;

	buf_init(&text);
	buf_printf(&text, "%" PRId64, value);
	json_field_text(j, name, buf_str(&text));
	buf_done(&text);
}

static void field_key(struct json_out *j, const char *key)
{
	field_bytes(j, "key", key, strlen(key));
}

/* The first key after all that begin with the prefix, whose last byte is not 0xff. */
static void field_prefix_end(struct json_out *j, const char *prefix)
{
	struct buf end;

	buf_init(&end);
	buf_puts(&end, prefix);
	end.data[end.from + end.len - 1]++;
	field_bytes(j, "range_end", buf_at(&end), end.len);
	buf_done(&end);
}

static void begin(struct json_out *j, struct buf *out)
{
	json_out_start(j, out);
	json_open_object(j);
}

static void end(struct json_out *j)
{
	json_close_object(j);
	json_out_end(j);
}

static void open_in(struct json_out *j, const char *name)
{
	json_add_key(j, name);
	json_open_object(j);
}

void say_range_prefix(struct buf *out, const char *prefix, const char *from, int64_t limit,
                      int64_t revision)
{
	struct json_out j;

	begin(&j, out);
	field_key(&j, from ? from : prefix);
	field_prefix_end(&j, prefix);
	field_int64(&j, "limit", limit);
	field_int64(&j, "revision", revision);
	end(&j);
}

void say_range(struct buf *out, const char *key)
{
	struct json_out j;

	begin(&j, out);
	field_key(&j, key);
	end(&j);
}

static void put_fields(struct json_out *j, const char *key, const char *value, int64_t lease)
{
	field_key(j, key);
	field_bytes(j, "value", value, strlen(value));
	field_int64(j, "lease", lease);
}

void say_put(struct buf *out, const char *key, const char *value, int64_t lease)
{
	struct json_out j;

	begin(&j, out);
	put_fields(&j, key, value, lease);
	end(&j);
}

void say_delete(struct buf *out, const char *key)
{
	say_range(out, key);
}

/* compare: one condition on one key, EQUAL. */
static void compare(struct json_out *j, const char *key, const char *target, const char *field,
                    int64_t value)
{
	json_add_key(j, "compare");
	json_open_array(j);
	json_open_object(j);
	field_key(j, key);
	json_field_text(j, "result", "EQUAL");
	json_field_text(j, "target", target);
	field_int64(j, field, value);
	json_close_object(j);
	json_close_array(j);
}

static void open_list_of_one(struct json_out *j, const char *branch, const char *request)
{
	json_add_key(j, branch);
	json_open_array(j);
	json_open_object(j);
	open_in(j, request);
}

static void close_list_of_one(struct json_out *j)
{
	json_close_object(j);
	json_close_object(j);
	json_close_array(j);
}

static void close_with_range(struct json_out *j, const char *key)
{
	close_list_of_one(j);
	open_list_of_one(j, "failure", "request_range");
	field_key(j, key);
	close_list_of_one(j);
	end(j);
}

void say_create(struct buf *out, const char *key, const char *value, int64_t lease)
{
	struct json_out j;

	begin(&j, out);
	compare(&j, key, "CREATE", "create_revision", 0);
	open_list_of_one(&j, "success", "request_put");
	put_fields(&j, key, value, lease);
	close_with_range(&j, key);
}

void say_change_if(struct buf *out, const char *key, const char *value, int64_t mod_revision)
{
	struct json_out j;

	begin(&j, out);
	compare(&j, key, "MOD", "mod_revision", mod_revision);
	open_list_of_one(&j, "success", value ? "request_put" : "request_delete_range");
	if (value)
		put_fields(&j, key, value, 0);
	else
		field_key(&j, key);
	close_with_range(&j, key);
}

void say_lease_grant(struct buf *out, int64_t ttl_s)
{
	struct json_out j;

	begin(&j, out);
	field_int64(&j, "TTL", ttl_s);
	end(&j);
}

void say_lease(struct buf *out, int64_t lease)
{
	struct json_out j;

	begin(&j, out);
	field_int64(&j, "ID", lease);
	end(&j);
}

void say_watch(struct buf *out, const char *prefix, int64_t from_revision)
{
	struct json_out j;

	begin(&j, out);
	open_in(&j, "create_request");
	field_key(&j, prefix);
	field_prefix_end(&j, prefix);
	field_int64(&j, "start_revision", from_revision);
	json_field_truth(&j, "progress_notify", true);
	json_close_object(&j);
	end(&j);
}

void say_login(struct buf *out, const char *user, const char *password)
{
	struct json_out j;

	begin(&j, out);
	json_field_text(&j, "name", user);
	json_field_text(&j, "password", password);
	end(&j);
}
