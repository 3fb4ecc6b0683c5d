/* The answers of etcd read into struct etcd_answer. Strict: what has the wrong kind, is no number
 * or no base64 is E_PROTOCOL; a refusal by etcd becomes the code of its gRPC number. 64-bit
 * numbers come as text, keys and values as base64, and what is zero is left out. Pure and fuzzed:
 * it reads bytes, never a connection. */
#include "etcd/hear.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/base64.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

/* gRPC's codes that mean something to us; what is not listed may pass. */
static const struct {
	int grpc, code;
} refusals[] = {
	{ 3, E_INVALID },  { 5, E_NOT_FOUND }, { 7, E_FORBIDDEN },    { 8, E_LIMIT },
	{ 9, E_CONFLICT }, { 11, E_STALE },    { 12, E_UNSUPPORTED }, { 16, E_AUTH },
};

static int refusal_of(int64_t grpc, const char *why)
{
	/* etcd says this one with the code of an argument that is wrong. */
	if (strstr(why, "authentication failed") || strstr(why, "user name is empty"))
		return E_AUTH;
	for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
		if (refusals[i].grpc == grpc)
			return refusals[i].code;
	return E_AGAIN;
}

/* A member that is a 64-bit number: as text, or (small ones, of other versions) as a number. */
static int number_of(const struct jval *o, const char *key, int64_t *ret, struct err *err)
{
	const struct jval *v = jv_get(o, key);
	char *end = NULL;

	*ret = 0;
	if (!v)
		return 0;
	if (jv_is(v, JV_NUMBER)) {
		*ret = jv_int(o, key, 0);
		return 0;
	}
	if (!jv_is(v, JV_TEXT) || !v->text[0])
		return err_set(err, E_PROTOCOL, "etcd: %s is no number", key);
	errno = 0;
	*ret = strtoll(v->text, &end, 10);
	if (*end || errno)
		return err_set(err, E_PROTOCOL, "etcd: %s is '%.40s', no number", key, v->text);
	return 0;
}

static int bytes_of(const struct jval *o, const char *key, char **ret, size_t *ret_n,
                    struct err *err)
{
	const struct jval *v = jv_get(o, key);

	if (v && !jv_is(v, JV_TEXT))
		return err_set(err, E_PROTOCOL, "etcd: %s is no text", key);
	if (base64_take(v ? v->text : "", ret, ret_n) < 0)
		return err_set(err, E_PROTOCOL, "etcd: %s is not base64", key);
	return 0;
}

static int kv_read(struct etcd_answer *a, const struct jval *o, bool is_deleted, struct err *err)
{
	struct etcd_kv *kv = &a->kvs[a->n];
	int r;

	if (!jv_is(o, JV_OBJECT))
		return err_set(err, E_PROTOCOL, "etcd: a key is no object");
	*kv = (struct etcd_kv){ .is_deleted = is_deleted };
	a->n++;
	if ((r = bytes_of(o, "key", &kv->key, &kv->key_len, err)) < 0 ||
	    (r = bytes_of(o, "value", &kv->value, &kv->value_len, err)) < 0 ||
	    (r = number_of(o, "create_revision", &kv->create_revision, err)) < 0 ||
	    (r = number_of(o, "mod_revision", &kv->mod_revision, err)) < 0 ||
	    (r = number_of(o, "lease", &kv->lease, err)) < 0)
		return r;
	return 0;
}

static int list_of(const struct jval *o, const char *key, const struct jval **ret, struct err *err)
{
	*ret = jv_get(o, key);
	if (*ret && !jv_is(*ret, JV_LIST))
		return err_set(err, E_PROTOCOL, "etcd: %s is no list", key);
	return 0;
}

static int kvs_read(struct etcd_answer *a, const struct jval *o, struct err *err)
{
	const struct jval *list = NULL;
	int r = list_of(o, "kvs", &list, err);

	if (r < 0 || !list || a->kvs)
		return r;
	a->kvs = mem_array(list->len + 1, sizeof *a->kvs);
	JV_EACH(item, list)
		if ((r = kv_read(a, item, false, err)) < 0)
			return r;
	return 0;
}

static int events_read(struct etcd_answer *a, const struct jval *o, struct err *err)
{
	const struct jval *list = NULL;
	int r = list_of(o, "events", &list, err);

	if (r < 0 || !list || a->kvs)
		return r;
	a->kvs = mem_array(list->len + 1, sizeof *a->kvs);
	JV_EACH(item, list) {
		const char *type = jv_text(item, "type");
		bool is_deleted = type && strcmp(type, "DELETE") == 0;
		if ((r = kv_read(a, jv_get(item, "kv"), is_deleted, err)) < 0)
			return r;
	}
	return 0;
}

/* The first range of a transaction's answers: what there was instead. */
static int responses_read(struct etcd_answer *a, const struct jval *o, struct err *err)
{
	const struct jval *list = NULL;
	int r = list_of(o, "responses", &list, err);

	JV_EACH(item, list) {
		const struct jval *range = jv_get(item, "response_range");
		if (r == 0 && jv_is(range, JV_OBJECT))
			r = kvs_read(a, range, err);
	}
	return r;
}

static int header_read(struct etcd_answer *a, const struct jval *o, struct err *err)
{
	const struct jval *h = jv_get(o, "header");

	if (!h)
		return 0;
	if (!jv_is(h, JV_OBJECT))
		return err_set(err, E_PROTOCOL, "etcd: the header is no object");
	snprintf(a->cluster, sizeof a->cluster, "%.20s", jv_str(h, "cluster_id"));
	return number_of(h, "revision", &a->revision, err);
}

/* {"error":TEXT,"code":N}, or in a stream {"error":{"grpc_code":N,"message":TEXT}}. */
static int error_read(const struct jval *root, struct err *err)
{
	const struct jval *e = jv_get(root, "error");
	const char *why = jv_is(e, JV_OBJECT) ? jv_text(e, "message") : jv_text(root, "error");
	int64_t grpc = jv_is(e, JV_OBJECT) ? jv_int(e, "grpc_code", 2) : jv_int(root, "code", 2);

	if (!e)
		return 0;
	why = why ? why : "no reason";
	return err_set(err, refusal_of(grpc, why), "etcd refuses: %.200s", why);
}

static int answer_read(struct etcd_answer *a, const struct jval *o, struct err *err)
{
	int r;

	if ((r = header_read(a, o, err)) < 0 || (r = kvs_read(a, o, err)) < 0 ||
	    (r = events_read(a, o, err)) < 0 || (r = responses_read(a, o, err)) < 0 ||
	    (r = number_of(o, "ID", &a->lease, err)) < 0 ||
	    (r = number_of(o, "TTL", &a->ttl_s, err)) < 0 ||
	    (r = number_of(o, "compact_revision", &a->compact_revision, err)) < 0)
		return r;
	a->more = jv_true(o, "more");
	a->succeeded = jv_true(o, "succeeded");
	a->created = jv_true(o, "created");
	a->canceled = jv_true(o, "canceled");
	a->is_progress = a->n == 0 && !a->created && !a->canceled;
	a->token = mem_str(jv_text(o, "token"));
	snprintf(a->why, sizeof a->why, "%.199s", jv_str(o, "cancel_reason"));
	return 0;
}

int etcd_hear(const char *text, size_t n, struct etcd_answer *ret, struct err *err)
{
	struct etcd_answer a = { .n = 0 };
	struct err where = { 0 };
	const struct jval *root = NULL;
	const struct jval *o;
	int r = jv_parse(text, n, &root, &where);

	if (r == E_NOMEM)
		return r;
	if (r < 0)
		return err_set(err, E_PROTOCOL, "this is no answer of etcd: %.200s", where.text);
	if (!jv_is(root, JV_OBJECT))
		r = err_set(err, E_PROTOCOL, "this is no answer of etcd: no object");
	if (r == 0)
		r = error_read(root, err);
	o = jv_get(root, "result"); /* of a stream */
	if (r == 0 && o && !jv_is(o, JV_OBJECT))
		r = err_set(err, E_PROTOCOL, "etcd: the result is no object");
	if (r == 0)
		r = answer_read(&a, o ? o : root, err);
	jv_free(root);
	if (r < 0)
		etcd_answer_done(&a);
	else
		*ret = a;
	return r;
}

void etcd_answer_done(struct etcd_answer *a)
{
	for (size_t i = 0; i < a->n; i++) {
		free(a->kvs[i].key);
		free(a->kvs[i].value);
	}
	free(a->kvs);
	free(a->token);
	*a = (struct etcd_answer){ .n = 0 };
}
