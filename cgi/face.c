/* libmicrohttpd's daemon, and the life of a call in it.
 *
 * A call begins with its request line. When its head is there, all that can be refused without the
 * body is refused: address, route, caller. Then the body is read and the handler runs. While a
 * call waits its connection is suspended, and only the actor that has it may write to it (cgi rule
 * 1). What http/ needs of the rooms above it is handed over in introduce().
 */
#include "cgi/face.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/guard.h"
#include "cgi/http/janitor.h"
#include "cgi/http/proxy.h"
#include "cgi/seeds/seed.h"
#include "cgi/server/disk.h"
#include "cgi/server/fresh.h"
#include "cgi/server/gate.h"
#include "cgi/server/net.h"
#include "cgi/who/auth.h"
#include "cgi/who/budget.h"
#include "cgi/who/factor.h"
#include "cgi/who/hash.h"
#include "cgi/who/people.h"
#include "cgi/who/sight.h"
#include "cgi/who/signs.h"
#include "cgi/who/ways.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/log.h"

#define CONNECTION_MEMORY ((size_t)12 * 1024) /* a head fits, with room for the answer's */
#define LISTEN_BACKLOG    256
/* No suite with CBC, and none with CCM's short tags: GCM and ChaCha20 are everywhere. */
#define TLS_PRIORITIES \
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:" \
	"+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM"
#define STOP_MS 1000
/* Descriptors besides those of connections: the store, the server, logs, what the library has. */
enum { FILES_OWN = 64, FILES_A_THREAD = 4 };

/* --- a call's life --- */

/* Unlike any other of any daemon: a random beginning, then a number. */
static void request_id_set(struct call *c)
{
	unsigned long long n = atomic_fetch_add(&c->cgi->requests, 1);

	snprintf(c->request_id, sizeof c->request_id, "%016llx%016llx",
	         (unsigned long long)c->cgi->nonce, n);
}

/* Called when the request line is read: the call begins. */
static void *target_seen(void *ctx, const char *target, struct MHD_Connection *conn)
{
	struct cgi *cgi = ctx;
	struct call *c = mem_new(sizeof *c);
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	c->cgi = cgi;
	c->conn = conn;
	c->watch = info ? info->socket_context : NULL;
	c->raw = mem_str(target);
	c->target = target;
	c->began_us = clock_mono_us(&clock_machine);
	c->actor = "";
	request_id_set(c);
	watch_set(c->watch, param_now(cgi->param.request_ms));
	atomic_fetch_add(&cgi->calls, 1);
	return c;
}

static void call_done(void *ctx, struct MHD_Connection *conn, void **con_cls,
                      enum MHD_RequestTerminationCode why)
{
	struct call *c = *con_cls;

	(void)ctx;
	(void)conn;
	(void)why;
	*con_cls = NULL;
	if (!c)
		return;
	CHECK(atomic_fetch_sub(&c->cgi->calls, 1) > 0);
	if (c->large)
		CHECK(atomic_fetch_sub(&c->cgi->large, 1) > 0);
	watch_set(c->watch, c->cgi->param.idle_ms + param_now(c->cgi->param.request_ms));
	auth_try_over(c->cgi->auth, c);
	budget_give(c);
	cJSON_Delete(c->json);
	buf_done(&c->body);
	buf_done(&c->out);
	buf_done(&c->details);
	for (size_t i = 0; i < c->n_normal; i++)
		free(c->normal[i]);
	free(c->normal);
	buf_done(&c->ask_args);
	if (c->extra && c->extra_done)
		c->extra_done(c->extra);
	buf_done(&c->ended);
	sodium_memzero(c->credential, sizeof c->credential);
	free(c->extra);
	sight_unref(c->sight);
	person_unref(c->person);
	token_unref(c->token);
	free(c->method);
	free(c->raw);
	free(c);
}

static void connection_seen(void *ctx, struct MHD_Connection *conn, void **socket_context,
                            enum MHD_ConnectionNotificationCode what)
{
	struct cgi *cgi = ctx;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		watch_close(*socket_context);
		*socket_context = NULL;
		return;
	}
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		conn, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (!info)
		return;
	*socket_context = watch_open(cgi->janitor, info->connect_fd);
	watch_set(*socket_context, param_now(cgi->param.request_ms));
}

/* New connections end at once when the face stops. Not by MHD_quiesce_daemon(): it takes the
 * listener out of the threads' epoll sets while they do the same, and who is second aborts. */
static enum MHD_Result connection_let_in(void *ctx, const struct sockaddr *from, socklen_t n)
{
	const struct cgi *cgi = ctx;

	(void)from;
	(void)n;
	return atomic_load(&cgi->stopping) ? MHD_NO : MHD_YES;
}

/* --- one request --- */

static const struct sockaddr *peer_of(struct call *c)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c->conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return info ? info->client_addr : NULL;
}

static int route_set(struct call *c)
{
	const char *method = strcmp(c->method, "HEAD") == 0 ? "GET" : c->method;
	int r = route_find(c->cgi->routes, method, c->raw, &c->route, c->params, c->allow);

	if (r == E_UNSUPPORTED) {
		c->error_status = 405;
		return call_fail(c, r, "method", "%.20s is not a method of this path", c->method);
	}
	if (r == E_INVALID)
		return call_fail(c, r, "path", "the path has a broken or too long part");
	if (r < 0)
		return call_fail(c, r, "path", "there is nothing at this path");
	return 0;
}

static int body_check(struct call *c)
{
	const char *type = call_header(c, "Content-Type");

	static const char *const none[] = { NULL };

	if (c->route->flags & RF_SEED)
		return seed_body(c);
	if (strcmp(c->route->method, "GET") != 0 && call_args_only(c, none) < 0)
		return c->err.code;
	if (!(c->route->flags & RF_BODY)) {
		if (c->body.len == 0)
			return 0;
		return call_fail(c, E_INVALID, "body", "no body is wanted here");
	}
	if (!call_has_type(type, "application/json")) {
		c->error_status = 415;
		return call_fail(c, E_INVALID, "Content-Type", "want application/json");
	}
	return call_json(c);
}

/* Whom the audit is to know of: somebody known, who asked for what he may not. */
static int refuse_call(struct call *c)
{
	if (c->err.code == E_FORBIDDEN && c->actor[0] != '\0')
		signs_add(c, SIGN_DENIED, c->actor);
	return reply_error(c);
}

static int face_answer(struct call *c, int r)
{
	if (r < 0 && !c->answered)
		r = refuse_call(c);
	return r;
}

static int run_seen(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	return c->route->run(c);
}

/* Before the handler of an instance: is its task one that the caller reads? */
static int ask_whose(struct call *c)
{
	c->then = run_seen;
	return call_read(c, gate_instance);
}

/* All of the request is here. */
static int dispatch(struct call *c)
{
	int r = body_check(c);

	if (r == 0)
		r = c->sight && c->route->scope == SCOPE_INSTANCE ? ask_whose(c) : c->route->run(c);
	log_debug("http.dispatch", "request=%s method=%s path=%s code=%d", c->request_id,
	          c->route->method, c->route->path, r);
	return face_answer(c, r);
}

/* The wait is over. */
static int go_on(struct call *c)
{
	int (*then)(struct call *) = c->then;

	c->suspended = false;
	c->then = NULL;
	if (c->is_answered)
		c->cgi->shown(c);
	c->is_answered = false;
	if (then)
		return face_answer(c, then(c));
	if (c->err.code < 0)
		return face_answer(c, c->err.code);
	return face_answer(c, reply_json(c, c->status != 0 ? c->status : MHD_HTTP_OK));
}

/* The head is here: everything that can be refused without the body is refused now, so that
 * no one uploads for nothing. */
static int face_begin(struct call *c, const char *method, const char *version)
{
	int r;

	CHECK(!c->method);
	c->begun = true;
	c->method = mem_str(method);
	proxy_judge(c, peer_of(c));
	r = guard_head(c, method, version);
	if (r == 0)
		r = route_set(c);
	if (r == 0)
		r = guard_length(c);
	if (r == 0)
		r = auth_check(c->cgi->auth, c);
	if (r == 0)
		r = sight_check(c);
	if (r == 0)
		r = guard_large(c);
	if (r == 0)
		r = budget_large(c);
	if (r == 0)
		return 0;
	const char *length = call_header(c, "Content-Length");
	if (length && strcmp(length, "0") != 0)
		c->refused = true; /* the body stays unread: the connection cannot go on */
	return refuse_call(c);
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *conn, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_n, void **con_cls)
{
	struct call *c = *con_cls;
	int r;

	(void)ctx;
	(void)conn;
	(void)url;
	if (!c)
		return MHD_NO;
	if (!c->begun) {
		r = face_begin(c, method, version);
	} else if (*upload_n > 0) {
		if (c->body.len + *upload_n > c->body_max)
			return MHD_NO;
		buf_put(&c->body, upload, *upload_n);
		*upload_n = 0;
		r = 0;
	} else {
		watch_set(c->watch, 0);
		r = c->suspended ? go_on(c) : dispatch(c);
		if (c->answered && !c->streaming)
			watch_set(c->watch,
			          c->cgi->param.idle_ms + param_now(c->cgi->param.request_ms));
	}
	return r < 0 ? MHD_NO : MHD_YES;
}

/* --- the server --- */

/* "1.2.3.4:80", "[::1]:80", "localhost:80" */
static int address_parse(const char *text, struct sockaddr_storage *ret, struct err *err)
{
	char host[256];
	const char *colon = strrchr(text, ':');
	struct addrinfo want = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		                 .ai_socktype = SOCK_STREAM },
			*found = NULL;
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (!colon || n == 0 || n >= sizeof host)
		return err_set(err, E_INVALID, "listen is '%s', want address:port", text);
	snprintf(host, sizeof host, "%.*s", (int)n, text);
	if (host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		memmove(host, host + 1, n - 1);
	}
	if (strcmp(host, "localhost") == 0)
		snprintf(host, sizeof host, "127.0.0.1");
	if (getaddrinfo(host, colon + 1, &want, &found) != 0)
		return err_set(err, E_INVALID, "listen is '%s', want address:port", text);
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

static bool address_loopback(const struct sockaddr_storage *a)
{
	const struct in6_addr *six = &((const struct sockaddr_in6 *)a)->sin6_addr;

	if (a->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)a)->sin_addr.s_addr) >> 24 == 127;
	return memcmp(six, &in6addr_loopback, sizeof *six) == 0;
}

int face_check(const struct cgi *cgi, struct err *err)
{
	const struct param_cgi *p = &cgi->param;
	struct sockaddr_storage address = { 0 };
	struct proxies *proxies = NULL;
	int r = address_parse(p->listen, &address, err);

	if (r < 0)
		return r;
	if ((p->certificate_file[0] != '\0') != (p->certificate_key_file[0] != '\0'))
		return err_set(err, E_INVALID,
		               "certificate_file and certificate_key_file go together");
	if (!address_loopback(&address) && p->certificate_file[0] == '\0')
		return err_set(err, E_FORBIDDEN,
		               "listen is '%s', which is not loopback: that needs certificate_file "
		               "and certificate_key_file",
		               p->listen);
	r = factor_check(p, err);
	if (r < 0)
		return r;
	r = proxies_read(p, &proxies, err);
	if (r == 0)
		proxies_free(proxies);
	return r;
}

__attribute__((format(printf, 2, 0))) static void mhd_log(void *ctx, const char *fmt, va_list ap)
{
	char text[300];

	(void)ctx;
	vsnprintf(text, sizeof text, fmt, ap);
	text[strcspn(text, "\r\n")] = '\0';
	log_debug("http.library", "text=\"%s\"", text);
}

/* The library turns at full speed when a descriptor for a new connection is not to be had, so it
 * never gets that far: it stops to accept at its own limit, which leaves some for all else. */
static unsigned connections_of(const struct param_cgi *p)
{
	struct rlimit files = { 0 };
	rlim_t most = (rlim_t)p->connections_max;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return (unsigned)most;
	if (files.rlim_cur < files.rlim_max && files.rlim_cur < 2 * most + FILES_OWN) {
		struct rlimit more = files;
		more.rlim_cur = files.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &more) == 0)
			files = more;
	}
	rlim_t own = FILES_OWN + FILES_A_THREAD * (rlim_t)p->threads;
	rlim_t room = files.rlim_cur > own + p->threads ? files.rlim_cur - own : (rlim_t)p->threads;

	if (room >= most)
		return (unsigned)most;
	log_warn("http.few-files",
	         "connections=%llu connections_max=%llu files=%llu text=\"the limit of open files "
	         "lets in so many only: LimitNOFILE= of the service\"",
	         (unsigned long long)room, (unsigned long long)most,
	         (unsigned long long)files.rlim_cur);
	return (unsigned)room;
}

/* The library divides the connections among its threads: each is to have some. */
static unsigned threads_of(const struct param_cgi *p, unsigned connections)
{
	int64_t most = connections / 8;

	return (unsigned)(p->threads < most ? p->threads : most > 0 ? most : 1);
}

/* What http/ is to use of the rooms above it. */
static void introduce(struct cgi *cgi)
{
	cgi->waiters[FOR_SERVER] = (struct waiter){ net_actor(cgi->net), net_ask };
	cgi->waiters[FOR_LOG] = (struct waiter){ net_actor(cgi->net), net_log };
	cgi->waiters[FOR_DISK] = (struct waiter){ .post = disk_post };
	cgi->waiters[FOR_HASH] = (struct waiter){ hash_actor(cgi->hash), hash_work };
	cgi->waiters[FOR_SEARCH] = (struct waiter){ hash_actor(cgi->search), hash_work };
	if (cgi->ways)
		cgi->waiters[FOR_WAY] = (struct waiter){ ways_actor(cgi->ways), hash_work };
	cgi->keep = fresh_keep;
	cgi->may_ask = gate_may_ask;
	cgi->shown = gate_shown;
	cgi->may_log = gate_may_log;
}

int face_start(struct cgi *cgi, struct err *err)
{
	const struct param_cgi *p = &cgi->param;
	struct sockaddr_storage address = { 0 };
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0,
		  (void *)(uintptr_t)(cgi->tls ? buf_str(&cgi->certificate) : NULL) },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0,
		  (void *)(uintptr_t)(cgi->tls ? buf_str(&cgi->certificate_key) : NULL) },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES },
		{ MHD_OPTION_END, 0, NULL },
	};
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
	                 MHD_USE_ERROR_LOG;
	int r = address_parse(p->listen, &address, err);

	introduce(cgi);
	randombytes_buf(&cgi->nonce, sizeof cgi->nonce);
	if (r == 0)
		r = proxies_read(p, &cgi->proxies, err);
	if (r < 0)
		return r;
	if (address.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	if (cgi->tls)
		flags |= MHD_USE_TLS;
	unsigned most = connections_of(p);
	/* STRICT_FOR_CLIENT 1 answers a request without Host twice (0.9.75); guard_head() once. */
	cgi->http = MHD_start_daemon(
		flags, 0, connection_let_in, cgi, handle, cgi, MHD_OPTION_EXTERNAL_LOGGER, mhd_log,
		NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
		MHD_OPTION_URI_LOG_CALLBACK, target_seen, cgi, MHD_OPTION_NOTIFY_COMPLETED,
		call_done, cgi, MHD_OPTION_NOTIFY_CONNECTION, connection_seen, cgi,
		MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		proxies_any(cgi->proxies) ? 0 : (unsigned)p->connections_per_address_max,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(p->idle_ms / 1000),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, MHD_OPTION_STRICT_FOR_CLIENT,
		0, MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)LISTEN_BACKLOG,
		MHD_OPTION_THREAD_POOL_SIZE, threads_of(p, most),
		MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u, MHD_OPTION_ARRAY, cgi->tls ? tls : &tls[3],
		MHD_OPTION_END);
	if (!cgi->http)
		return err_sys(err, E_IO, errno, "cannot listen on %s", p->listen);
	return 0;
}

static void face_end(struct cgi *cgi)
{
	atomic_store(&cgi->stopping, true);
	/* The calls that the actors gave back have their answers on the way: a moment for them. */
	for (int ms = 0; ms < STOP_MS && atomic_load(&cgi->calls) > 0; ms += 5)
		poll(NULL, 0, 5);
	MHD_stop_daemon(cgi->http);
	cgi->http = NULL;
}

void face_stop(struct cgi *cgi)
{
	if (cgi->http)
		face_end(cgi);
	proxies_free(cgi->proxies);
	cgi->proxies = NULL;
}
