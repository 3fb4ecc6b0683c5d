/* A client of etcd over its JSON gateway: endpoints, login, keys, leases, watches. One request
 * goes to the endpoint in use; where that one does not serve, each of the others is tried once,
 * and the one that served is kept. A token that ran out is drawn anew and the request repeated
 * once.
 *
 * Every change may therefore reach etcd twice, so none may do harm the second time. A watch
 * belongs to one endpoint and ends when the client moves to another; its caller begins a new one
 * from the revision it has. Blocking: for a thread of its own. */
#include "etcd/etcd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcd/http.h"
#include "etcd/say.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/module.h"

enum { USER_BYTES_MAX = 1200, PAGE_KEYS = 1000, LINE_BYTES_MAX = ETCD_ANSWER_BYTES_MAX };

struct etcd {
	const struct http_ops *http;
	struct http *link;
	char **endpoints;
	size_t n, now;
	uint64_t moves; /* how often we went on to another endpoint */
	int64_t timeout_ms;
	char *user, *password; /* NULL: nobody, or the token is given */
	char *token;           /* NULL: none, or none yet */
	char cluster[24];
};

struct etcd_watch {
	struct etcd *etcd;
	struct http_stream *stream;
	struct buf lines;
	int64_t revision;
	uint64_t moves;
};

/* ---- opening ------------------------------------------------------------------------ */

static int endpoint_check(const char *url, struct err *err)
{
	const char *host = strncmp(url, "https://", 8) == 0  ? url + 8
	                   : strncmp(url, "http://", 7) == 0 ? url + 7
	                                                     : NULL;

	/* Anything else may hide a password, or a path to somewhere else. */
	if (!host || !*host || strpbrk(host, "/@?# \t\"\\"))
		return err_set(err, E_INVALID, "etcd: '%.100s' is no http[s]://HOST:PORT",
		               host && strchr(host, '@') ? "an address with a password" : url);
	return 0;
}

/* USER:PASSWORD, or :TOKEN. */
static int user_read(struct etcd *e, const char *path, struct err *err)
{
	struct buf text;
	int r;

	if (!path[0])
		return 0;
	buf_init(&text);
	r = fs_read_secret(path, USER_BYTES_MAX, &text, err);
	const char *line = buf_str(&text);
	size_t n = strcspn(line, "\r\n");
	const char *colon = memchr(line, ':', n);
	if (r == 0 && (!colon || colon + 1 == line + n))
		r = err_set(err, E_INVALID, "%s: want one line USER:PASSWORD, or :TOKEN", path);
	if (r == 0 && colon == line) {
		e->token = mem_strn(colon + 1, n - 1);
	} else if (r == 0) {
		e->user = mem_strn(line, (size_t)(colon - line));
		e->password = mem_strn(colon + 1, n - (size_t)(colon + 1 - line));
	}
	buf_done(&text);
	return r;
}

static int http_load(struct etcd *e, const char *ca_file, struct err *err)
{
	const void *found = NULL;
	int r = module_load(ETCD_HTTP_FILE, "the module for etcd", ETCD_HTTP_SYMBOL, &found, err);

	if (r < 0)
		return r;
	const struct http_ops *ops = found;
	if (ops->abi != ETCD_HTTP_ABI || ops->ask_size != sizeof(struct http_ask))
		return err_set(err, E_ABI,
		               ETCD_HTTP_FILE " was built for another version of Sirdar");
	e->http = ops;
	return ops->open(ca_file, &e->link, err);
}

int etcd_open(const struct etcd_settings *set, struct etcd **ret, struct err *err)
{
	struct etcd *e = mem_new(sizeof *e);
	int r = set->n ? 0 : err_set(err, E_INVALID, "etcd: no endpoint is set");

	e->timeout_ms = set->timeout_ms;
	e->endpoints = mem_array(set->n + 1, sizeof *e->endpoints);
	for (size_t i = 0; r == 0 && i < set->n; i++) {
		r = endpoint_check(set->endpoints[i], err);
		e->endpoints[e->n++] = mem_str(set->endpoints[i]);
	}
	if (r == 0)
		r = user_read(e, set->user_file, err);
	if (r == 0)
		r = http_load(e, set->ca_file, err);
	if (r < 0) {
		etcd_close(e);
		return r;
	}
	*ret = e;
	return 0;
}

static void etcd_forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

void etcd_close(struct etcd *e)
{
	if (!e)
		return;
	if (e->http)
		e->http->close(e->link);
	for (size_t i = 0; i < e->n; i++)
		free(e->endpoints[i]);
	free(e->endpoints);
	free(e->user);
	etcd_forget(e->password);
	etcd_forget(e->token);
	free(e);
}

void etcd_stop(struct etcd *e)
{
	e->http->wake(e->link, 1);
}

const char *etcd_endpoint(const struct etcd *e)
{
	CHECK(e->now < e->n);
	return e->endpoints[e->now];
}

const char *etcd_cluster(const struct etcd *e)
{
	return e->cluster;
}

/* ---- one request -------------------------------------------------------------------- */

static int ask_here(struct etcd *e, const char *path, struct buf *body, struct etcd_answer *ret,
                    struct err *err)
{
	CHECK(e->now < e->n);
	char *url = mem_fmt("%s%s", e->endpoints[e->now], path);
	struct http_ask ask = { url, buf_str(body), e->token, e->timeout_ms };
	struct err why = { 0 };
	struct buf answer;

	buf_init(&answer);
	int r = e->http->post(e->link, &ask, ETCD_ANSWER_BYTES_MAX, &answer, &why);
	if (r == 0)
		r = etcd_hear((const char *)buf_at(&answer), answer.len, ret, &why);
	if (r == 0 && ret->cluster[0])
		memcpy(e->cluster, ret->cluster, sizeof e->cluster);
	buf_done(&answer);
	free(url);
	return r < 0 ? err_set(err, r, "%s: %.300s", e->endpoints[e->now], why.text) : 0;
}

static bool is_elsewhere(int code)
{
	return code == E_IO || code == E_TIMEOUT || code == E_AGAIN || code == E_PROTOCOL;
}

/* The error is that of the first: the others are mostly away for the same reason. */
static int ask_any(struct etcd *e, const char *path, struct buf *body, struct etcd_answer *ret,
                   struct err *err)
{
	struct err first = { 0 }, other = { 0 };
	int r = ask_here(e, path, body, ret, &first);

	for (size_t i = 1; i < e->n && r < 0 && is_elsewhere(r); i++) {
		e->now = (e->now + 1) % e->n;
		e->moves++;
		r = ask_here(e, path, body, ret, &other);
	}
	if (r < 0 && is_elsewhere(r) && e->n > 1)
		return err_set(err, r, "no endpoint of etcd serves; %.340s", first.text);
	return r < 0 ? err_set(err, r, "%s", other.code ? other.text : first.text) : 0;
}

static int etcd_login(struct etcd *e, struct err *err)
{
	struct etcd_answer a = { 0 };
	struct buf body;

	buf_init(&body);
	say_login(&body, e->user, e->password);
	etcd_forget(e->token);
	e->token = NULL;
	int r = ask_any(e, "/v3/auth/authenticate", &body, &a, err);
	if (r == 0 && !a.token)
		r = err_set(err, E_PROTOCOL, "%s gives no token", etcd_endpoint(e));
	if (r == 0)
		e->token = mem_str(a.token);
	if (body.len)
		explicit_bzero(body.data, body.cap);
	buf_done(&body);
	etcd_forget(a.token);
	a.token = NULL;
	etcd_answer_done(&a);
	return r < 0 ? err_wrap(err, r, "user of etcd") : 0;
}

/* Tokens of etcd run out: once more with a new one. */
static int etcd_ask(struct etcd *e, const char *path, struct buf *body, struct etcd_answer *ret,
                    struct err *err)
{
	int r = e->user && !e->token ? etcd_login(e, err) : 0;

	if (r == 0)
		r = ask_any(e, path, body, ret, err);
	if (r == E_AUTH && e->user) {
		r = etcd_login(e, err);
		if (r == 0)
			r = ask_any(e, path, body, ret, err);
	}
	buf_done(body);
	return r;
}

/* ---- keys --------------------------------------------------------------------------- */

int etcd_each(struct etcd *e, const char *prefix, int (*each)(void *ctx, const struct etcd_kv *kv),
              void *ctx, int64_t *ret_revision, struct err *err)
{
	int64_t revision = 0;
	char *from = NULL;
	bool more = true;
	int r = 0;

	while (r == 0 && more) {
		struct etcd_answer a = { 0 };
		struct buf body = { 0 };
		say_range_prefix(&body, prefix, from, PAGE_KEYS, revision);
		r = etcd_ask(e, "/v3/kv/range", &body, &a, err);
		if (r < 0)
			break;
		revision = revision ? revision : a.revision;
		for (size_t i = 0; r == 0 && i < a.n; i++)
			r = each(ctx, &a.kvs[i]);
		more = a.more && a.n > 0;
		/* On from the key after the last: that and a byte more. Keys hold no zero. */
		free(from);
		from = more ? mem_fmt("%s\x01", a.kvs[a.n - 1].key) : NULL;
		etcd_answer_done(&a);
	}
	free(from);
	if (r == 0)
		*ret_revision = revision;
	return r;
}

int etcd_get(struct etcd *e, const char *key, struct etcd_answer *ret, struct err *err)
{
	struct buf body = { 0 };
	int r;

	say_range(&body, key);
	r = etcd_ask(e, "/v3/kv/range", &body, ret, err);
	if (r == 0 && ret->n == 0) {
		etcd_answer_done(ret);
		r = err_set(err, E_NOT_FOUND, "etcd has no key %s", key);
	}
	return r;
}

int etcd_revision(struct etcd *e, int64_t *ret_revision, struct err *err)
{
	struct etcd_answer a = { 0 };
	struct buf body = { 0 };
	int r;

	say_range(&body, "/");
	r = etcd_ask(e, "/v3/kv/range", &body, &a, err);
	*ret_revision = a.revision;
	etcd_answer_done(&a);
	return r;
}

/* Of a request whose answer says no more than that it is done. */
static int etcd_done(struct etcd *e, const char *path, struct buf *body, struct err *err)
{
	struct etcd_answer a = { 0 };
	int r = etcd_ask(e, path, body, &a, err);

	etcd_answer_done(&a);
	return r;
}

int etcd_put(struct etcd *e, const char *key, const char *value, int64_t lease, struct err *err)
{
	struct buf body = { 0 };

	say_put(&body, key, value, lease);
	return etcd_done(e, "/v3/kv/put", &body, err);
}

int etcd_delete(struct etcd *e, const char *key, struct err *err)
{
	struct buf body = { 0 };

	say_delete(&body, key);
	return etcd_done(e, "/v3/kv/deleterange", &body, err);
}

int etcd_change_if(struct etcd *e, const char *key, const char *value, int64_t mod_revision,
                   struct etcd_answer *ret, struct err *err)
{
	struct buf body = { 0 };

	say_change_if(&body, key, value, mod_revision);
	return etcd_ask(e, "/v3/kv/txn", &body, ret, err);
}

int etcd_delete_if(struct etcd *e, const char *key, int64_t mod_revision, struct err *err)
{
	struct etcd_answer a = { 0 };
	int r = etcd_change_if(e, key, NULL, mod_revision, &a, err);

	etcd_answer_done(&a);
	return r;
}

int etcd_create(struct etcd *e, const char *key, const char *value, int64_t lease,
                int64_t *ret_revision, struct err *err)
{
	struct etcd_answer a = { 0 };
	struct buf body = { 0 };
	int r;

	say_create(&body, key, value, lease);
	r = etcd_ask(e, "/v3/kv/txn", &body, &a, err);
	if (r < 0)
		return r;
	if (a.succeeded)
		*ret_revision = a.revision;
	/* Ours from a try whose answer was lost: nobody else has our lease. */
	else if (a.n == 1 && lease && a.kvs[0].lease == lease)
		*ret_revision = a.kvs[0].create_revision;
	else
		r = err_set(err, E_EXISTS, "etcd: %s is there: %.200s", key,
		            a.n ? a.kvs[0].value : "");
	etcd_answer_done(&a);
	return r;
}

/* ---- leases ------------------------------------------------------------------------- */

int etcd_lease_grant(struct etcd *e, int64_t ttl_s, int64_t *ret_lease, int64_t *ret_ttl_s,
                     struct err *err)
{
	struct etcd_answer a = { 0 };
	struct buf body = { 0 };
	int r;

	say_lease_grant(&body, ttl_s);
	r = etcd_ask(e, "/v3/lease/grant", &body, &a, err);
	if (r == 0 && (a.lease == 0 || a.ttl_s <= 0))
		r = err_set(err, E_PROTOCOL, "%s gives no lease", etcd_endpoint(e));
	if (r == 0) {
		*ret_lease = a.lease;
		*ret_ttl_s = a.ttl_s;
	}
	etcd_answer_done(&a);
	return r;
}

int etcd_lease_keep(struct etcd *e, int64_t lease, int64_t *ret_ttl_s, struct err *err)
{
	struct etcd_answer a = { 0 };
	struct buf body = { 0 };
	int r;

	say_lease(&body, lease);
	r = etcd_ask(e, "/v3/lease/keepalive", &body, &a, err);
	if (r == E_NOT_FOUND || (r == 0 && a.ttl_s <= 0))
		r = err_set(err, E_STALE, "the lease in etcd has run out");
	if (r == 0)
		*ret_ttl_s = a.ttl_s;
	etcd_answer_done(&a);
	return r;
}

int etcd_lease_revoke(struct etcd *e, int64_t lease, struct err *err)
{
	struct buf body = { 0 };

	say_lease(&body, lease);
	return etcd_done(e, "/v3/lease/revoke", &body, err);
}

/* ---- watches ------------------------------------------------------------------------ */

static int watch_here(struct etcd_watch *w, const char *prefix, struct err *err)
{
	struct etcd *e = w->etcd;
	char *url = mem_fmt("%s/v3/watch", etcd_endpoint(e));
	struct err why = { 0 };
	struct buf body;

	buf_init(&body);
	say_watch(&body, prefix, w->revision);
	struct http_ask ask_it = { url, buf_str(&body), e->token, e->timeout_ms };
	int r = e->http->stream(e->link, &ask_it, &w->stream, &why);
	buf_done(&body);
	free(url);
	w->moves = e->moves;
	return r < 0 ? err_set(err, r, "%s: %.300s", etcd_endpoint(e), why.text) : 0;
}

int etcd_watch(struct etcd *e, const char *prefix, int64_t from_revision, struct etcd_watch **ret,
               struct err *err)
{
	struct etcd_watch *w = mem_new(sizeof *w);
	int r = e->user && !e->token ? etcd_login(e, err) : 0;

	w->etcd = e;
	w->revision = from_revision;
	buf_init(&w->lines);
	for (size_t i = 0; r == 0 && i < e->n; i++) {
		r = watch_here(w, prefix, err);
		if (r == 0 || !is_elsewhere(r) || i + 1 == e->n)
			break;
		e->now = (e->now + 1) % e->n;
		e->moves++;
		r = 0;
	}
	if (r < 0) {
		etcd_watch_end(w);
		return r;
	}
	*ret = w;
	return 0;
}

static int take_line(struct etcd_watch *w, const char *line, size_t n,
                     int (*each)(void *ctx, const struct etcd_kv *kv), void *ctx, struct err *err)
{
	struct etcd_answer a = { 0 };
	int r = etcd_hear(line, n, &a, err);

	if (r == 0 && a.canceled)
		r = a.compact_revision > 0 ? err_set(err, E_STALE, "etcd: compacted up to %lld",
		                                     (long long)a.compact_revision)
		    : strstr(a.why, "permission") ? err_set(err, E_FORBIDDEN, "etcd: %s", a.why)
		                                  : err_set(err, E_IO, "etcd ended the watch: %s",
		                                            a.why[0] ? a.why : "no reason");
	for (size_t i = 0; r == 0 && i < a.n; i++)
		r = each(ctx, &a.kvs[i]);
	if (r == 0 && a.n > 0)
		w->revision = a.kvs[a.n - 1].mod_revision + 1;
	else if (r == 0 && a.is_progress && a.revision >= w->revision)
		w->revision = a.revision + 1;
	etcd_answer_done(&a);
	return r;
}

int etcd_watch_wait(struct etcd_watch *w, int64_t wait_ms,
                    int (*each)(void *ctx, const struct etcd_kv *kv), void *ctx, struct err *err)
{
	struct etcd *e = w->etcd;
	int r;

	if (w->moves != e->moves)
		return err_set(err, E_IO, "the endpoint of the watch does not serve any more");
	r = e->http->wait(w->stream, wait_ms, LINE_BYTES_MAX, &w->lines, err);
	while (r == 0 && w->lines.len > 0) {
		const char *at = (const char *)buf_at(&w->lines);
		const char *end = memchr(at, '\n', w->lines.len);
		if (!end && w->lines.len > LINE_BYTES_MAX)
			r = err_set(err, E_TOO_BIG, "etcd: a line of a watch has no end");
		if (!end)
			break;
		r = take_line(w, at, (size_t)(end - at), each, ctx, err);
		buf_drop(&w->lines, (size_t)(end - at) + 1);
	}
	/* A new one is needed. */
	if (r == E_AUTH && e->user) {
		etcd_forget(e->token);
		e->token = NULL;
		r = E_IO;
	}
	return r;
}

int64_t etcd_watch_revision(const struct etcd_watch *w)
{
	return w->revision;
}

void etcd_watch_end(struct etcd_watch *w)
{
	if (!w)
		return;
	w->etcd->http->end(w->stream);
	buf_done(&w->lines);
	free(w);
}
