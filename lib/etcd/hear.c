/* The answers of etcd read into struct etcd_answer. Strict: what has the wrong kind, is no number
 * or no base64 is E_PROTOCOL; a refusal by etcd becomes the code of its gRPC number. 64-bit
 * numbers come as text, keys and values as base64, and what is zero is left out. Pure and fuzzed:
 * it reads bytes, never a connection. */
#include "etcd/hear.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/base64.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"

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
static int number_of(const struct cJSON *o, const char *key, int64_t *ret, struct err *err)
{
	const struct cJSON *v = json_get(o, key);
	char *end = NULL;

	*ret = 0;
	if (!v)
		return 0;
	if (cJSON_IsNumber(v)) {
		*ret = json_int(o, key, 0);
		return 0;
	}
	if (!cJSON_IsString(v) || !v->valuestring[0])
		return err_set(err, E_PROTOCOL, "etcd: %s is no number", key);
	errno = 0;
	*ret = strtoll(v->valuestring, &end, 10);
	if (*end || errno)
		return err_set(err, E_PROTOCOL, "etcd: %s is '%.40s', no number", key,
		               v->valuestring);
	return 0;
}

static int bytes_of(const struct cJSON *o, const char *key, char **ret, size_t *ret_n,
                    struct err *err)
{
	const struct cJSON *v = json_get(o, key);

	if (v && !cJSON_IsString(v))
		return err_set(err, E_PROTOCOL, "etcd: %s is no text", key);
	if (base64_take(v ? v->valuestring : "", ret, ret_n) < 0)
		return err_set(err, E_PROTOCOL, "etcd: %s is not base64", key);
	return 0;
}

static int kv_read(struct etcd_answer *a, const struct cJSON *o, bool is_deleted, struct err *err)
{
	struct etcd_kv *kv = &a->kvs[a->n];
	int r;

	if (!cJSON_IsObject(o))
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

static int list_of(const struct cJSON *o, const char *key, const struct cJSON **ret,
                   struct err *err)
{
	*ret = json_get(o, key);
	if (*ret && !cJSON_IsArray(*ret))
		return err_set(err, E_PROTOCOL, "etcd: %s is no list", key);
	return 0;
}

static int kvs_read(struct etcd_answer *a, const struct cJSON *o, struct err *err)
{
	const struct cJSON *list = NULL, *item;
	int r = list_of(o, "kvs", &list, err);

	if (r < 0 || !list || a->kvs)
		return r;
	a->kvs = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *a->kvs);
	cJSON_ArrayForEach(item, list)
		if ((r = kv_read(a, item, false, err)) < 0)
			return r;
	return 0;
}

static int events_read(struct etcd_answer *a, const struct cJSON *o, struct err *err)
{
	const struct cJSON *list = NULL, *item;
	int r = list_of(o, "events", &list, err);

	if (r < 0 || !list || a->kvs)
		return r;
	a->kvs = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *a->kvs);
	cJSON_ArrayForEach(item, list) {
		const char *type = json_text(item, "type");
		bool is_deleted = type && strcmp(type, "DELETE") == 0;
		if ((r = kv_read(a, json_get(item, "kv"), is_deleted, err)) < 0)
			return r;
	}
	return 0;
}

/* The first range of a transaction's answers: what there was instead. */
static int responses_read(struct etcd_answer *a, const struct cJSON *o, struct err *err)
{
	const struct cJSON *list = NULL, *item, *range;
	int r = list_of(o, "responses", &list, err);

	cJSON_ArrayForEach(item, list) {
		range = json_get(item, "response_range");
		if (r == 0 && cJSON_IsObject(range))
			r = kvs_read(a, range, err);
	}
	return r;
}

static int header_read(struct etcd_answer *a, const struct cJSON *o, struct err *err)
{
	const struct cJSON *h = json_get(o, "header");
	const char *cluster = json_text(h, "cluster_id");

	if (!h)
		return 0;
	if (!cJSON_IsObject(h))
		return err_set(err, E_PROTOCOL, "etcd: the header is no object");
	snprintf(a->cluster, sizeof a->cluster, "%.20s", cluster ? cluster : "");
	return number_of(h, "revision", &a->revision, err);
}

/* {"error":TEXT,"code":N}, or in a stream {"error":{"grpc_code":N,"message":TEXT}}. */
static int error_read(const struct cJSON *root, struct err *err)
{
	const struct cJSON *e = json_get(root, "error");
	const char *why = cJSON_IsObject(e) ? json_text(e, "message") : json_text(root, "error");
	int64_t grpc = cJSON_IsObject(e) ? json_int(e, "grpc_code", 2) : json_int(root, "code", 2);

	if (!e)
		return 0;
	why = why ? why : "no reason";
	return err_set(err, refusal_of(grpc, why), "etcd refuses: %.200s", why);
}

static int answer_read(struct etcd_answer *a, const struct cJSON *o, struct err *err)
{
	const char *token = json_text(o, "token"), *why = json_text(o, "cancel_reason");
	int r;

	if ((r = header_read(a, o, err)) < 0 || (r = kvs_read(a, o, err)) < 0 ||
	    (r = events_read(a, o, err)) < 0 || (r = responses_read(a, o, err)) < 0 ||
	    (r = number_of(o, "ID", &a->lease, err)) < 0 ||
	    (r = number_of(o, "TTL", &a->ttl_s, err)) < 0 ||
	    (r = number_of(o, "compact_revision", &a->compact_revision, err)) < 0)
		return r;
	a->more = json_true(o, "more");
	a->succeeded = json_true(o, "succeeded");
	a->created = json_true(o, "created");
	a->canceled = json_true(o, "canceled");
	a->is_progress = a->n == 0 && !a->created && !a->canceled;
	a->token = mem_str(token);
	snprintf(a->why, sizeof a->why, "%.199s", why ? why : "");
	return 0;
}

int etcd_hear(const char *text, size_t n, struct etcd_answer *ret, struct err *err)
{
	struct etcd_answer a = { .n = 0 };
	struct err where = { 0 };
	struct cJSON *root = NULL;
	const struct cJSON *o;
	int r = json_parse(text, n, &root, &where);

	if (r == E_NOMEM)
		return r;
	if (r < 0)
		return err_set(err, E_PROTOCOL, "this is no answer of etcd: %.200s", where.text);
	if (!cJSON_IsObject(root))
		r = err_set(err, E_PROTOCOL, "this is no answer of etcd: no object");
	if (r == 0)
		r = error_read(root, err);
	o = json_get(root, "result"); /* of a stream */
	if (r == 0 && o && !cJSON_IsObject(o))
		r = err_set(err, E_PROTOCOL, "etcd: the result is no object");
	if (r == 0)
		r = answer_read(&a, o ? o : root, err);
	json_free(root);
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
