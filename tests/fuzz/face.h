/* face.h — the HTTP face for fuzz targets: started once, without a server and a store, asked
 * over loopback.
 *
 * What a handler takes is what is tried: routes, guards, arguments, bodies, who asks. What then
 * waits for a server ends as 503. An answer must come, be whole, and be no other 5xx. */
#ifndef FUZZ_FACE_H
#define FUZZ_FACE_H

#include <arpa/inet.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgi/face.h"
#include "cgi/handlers/route.h"
#include "cgi/http/cgi.h"
#include "cgi/http/janitor.h"
#include "cgi/http/traffic.h"
#include "cgi/seeds/seed_routes.h"
#include "cgi/server/disk.h"
#include "cgi/server/fresh.h"
#include "cgi/server/names.h"
#include "cgi/server/net.h"
#include "cgi/who/auth.h"
#include "cgi/who/budget.h"
#include "cgi/who/hash.h"
#include "cgi/who/people.h"
#include "cgi/who/signs.h"
#include "rt/thread.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_read.h"
#include "util/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

struct fuzz_face {
	struct cgi cgi;
	uint16_t port;
	char token[AUTH_TEXT_MAX], app[AUTH_TEXT_MAX];
	struct param_args args;
};

static inline uint16_t fuzz_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &n) == 0);
	close(fd);
	return ntohs(a.sin_port);
}

static inline void fuzz_settings(struct fuzz_face *f, char *dir)
{
	char listen[60], state[80], store[80];
	char *argv[] = { (char[]){ "fuzz" },
		         (char[]){ "--set" },
		         listen,
		         (char[]){ "--set" },
		         state,
		         (char[]){ "--set" },
		         store,
		         (char[]){ "--set" },
		         (char[]){ "server=127.0.0.1:1" },
		         (char[]){ "--set" },
		         (char[]){ "web_dir=" },
		         (char[]){ "--set" },
		         (char[]){ "chin_project=chin" },
		         (char[]){ "--set" },
		         (char[]){ "jarvis2_project=jarvis" },
		         (char[]){ "--set" },
		         (char[]){ "crontab_project=cron" },
		         (char[]){ "--set" },
		         (char[]){ "ects_project=ects" },
		         (char[]){ "--set" },
		         (char[]){ "threads=2" },
		         (char[]){ "--set" },
		         (char[]){ "trusted_proxies=127.0.0.0/8" },
		         (char[]){ "--set" },
		         (char[]){ "trusted_proxies_header=forwarded" },
		         (char[]){ "--set" },
		         (char[]){ "person_requests_max=1000000000" },
		         (char[]){ "--set" },
		         (char[]){ "app_requests_max=1000000000" },
		         NULL };
	int code = 0;

	snprintf(listen, sizeof listen, "listen=127.0.0.1:%u", f->port);
	snprintf(state, sizeof state, "state_dir=%s/cgi", dir);
	snprintf(store, sizeof store, "store=sqlite:%s/none", dir);
	CHECK(param_main(&param_cgi_table, &f->cgi.param,
	                 &(struct param_words){ (int)(sizeof argv / sizeof argv[0]) - 1, argv, "" },
	                 &f->args, &code));
}

/* There is no server: the face has an `admin` of its own, as earlier releases drew, or tokens of
 * its files let nobody in. */
static inline void fuzz_admin(const char *state_dir)
{
	char path[120], hash[crypto_pwhash_STRBYTES];
	struct err err = { 0 };

	snprintf(path, sizeof path, "%s/password", state_dir);
	CHECK(crypto_pwhash_str(hash, "fuzz", 4, crypto_pwhash_OPSLIMIT_MIN,
	                        crypto_pwhash_MEMLIMIT_MIN) == 0);
	CHECK(mkdir(state_dir, 0700) == 0);
	CHECK(fs_write(path, hash, strlen(hash), 0600, &err) == 0);
}

static inline void fuzz_actors(struct cgi *cgi)
{
	struct err err = { 0 };

	fuzz_admin(cgi->param.state_dir);
	cgi->fresh = fresh_new();
	cgi->names = names_new();
	cgi->routes = routes_new();
	seeds_register(cgi);
	cgi->traffic = traffic_new(cgi->routes->items, cgi->routes->n);
	cgi->people = people_new();
	cgi->budget = budget_new();
	cgi->signs = signs_new();
	CHECK(auth_open(cgi, &cgi->auth, &err) == 0);
	cgi->net_thread = thread_new("net", &clock_machine);
	cgi->hash_thread = thread_new("hash", &clock_machine);
	cgi->search_thread = thread_new("search", &clock_machine);
	cgi->janitor = janitor_new(cgi->net_thread, (int)cgi->param.connections_max);
	cgi->disk = disk_new(cgi);
	cgi->hash = hash_new(cgi->hash_thread, "hash");
	cgi->search = hash_new(cgi->search_thread, "search");
	CHECK(net_new(cgi->net_thread, cgi, &cgi->net, &err) == 0);
	CHECK(thread_start(cgi->net_thread, &err) == 0 && disk_start(cgi->disk, &err) == 0 &&
	      thread_start(cgi->hash_thread, &err) == 0 &&
	      thread_start(cgi->search_thread, &err) == 0 && face_start(cgi, &err) == 0);
}

/* The one of this process; it ends with it. */
static inline struct fuzz_face *fuzz_face(void)
{
	static struct fuzz_face *face;
	char dir[] = "build/fuzz/face-XXXXXX";
	struct err err = { 0 };

	if (face)
		return face;
	CHECK(sodium_init() >= 0 && mkdtemp(dir));
	log_open("fuzz", LOG_ERROR);
	face = calloc(1, sizeof *face);
	CHECK(face);
	face->port = fuzz_port();
	fuzz_settings(face, dir);
	fuzz_actors(&face->cgi);
	CHECK(auth_token_make(face->cgi.param.state_dir,
	                      &(struct token_made){ "fuzz", ROLE_ADMIN, 0, false }, face->token,
	                      &err) == 0);
	CHECK(auth_token_make(face->cgi.param.state_dir,
	                      &(struct token_made){ "app", ROLE_ADMIN, 0, true }, face->app,
	                      &err) == 0);
	CHECK(auth_tokens_load(face->cgi.auth, &err) == 0);
	return face;
}

/* The status of each answer, and JSON where it says so. */
static inline void fuzz_judge(struct buf *answer)
{
	const char *text = buf_str(answer), *body = strstr(text, "\r\n\r\n");
	const char *length = strstr(text, "Content-Length: ");
	int status;

	if (answer->len == 0 || strncmp(text, "HTTP/1.", 7) != 0)
		return; /* cut off, as it may be */
	status = (int)strtol(text + 9, NULL, 10);
	/* 505: the library's own, of a version that is none */
	CHECK(status >= 100 && (status < 500 || (status >= 503 && status <= 505)));
	if (!body || !length || length > body || !strstr(text, "application/json") ||
	    strstr(text, "application/json") > body || strstr(text, "Content-Encoding"))
		return;
	body += 4;
	size_t n = strtoul(length + 16, NULL, 10), left = answer->len - (size_t)(body - text);
	if (n > 0 && left >= n) /* of HEAD there is none */
		CHECK(json_check(body, n, NULL) == 0);
}

/* Send it all, and read until the other side is done; it is asked to close. */
static inline void fuzz_send(const void *data, size_t bytes)
{
	const struct timeval limit = { .tv_usec = 20000 };
	struct sockaddr_in a = { .sin_family = AF_INET,
		                 .sin_port = htons(fuzz_face()->port),
		                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct linger now = { .l_onoff = 1 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct buf answer;
	ssize_t n;

	CHECK(fd >= 0);
	buf_init(&answer);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now); /* no port waits for its end */
	if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
	    send(fd, data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes) {
		shutdown(fd, SHUT_WR);
		while (answer.len < 1 << 20 &&
		       (n = recv(fd, buf_room(&answer, 16384), 16384, 0)) > 0)
			buf_added(&answer, (size_t)n);
		fuzz_judge(&answer);
	}
	close(fd);
	buf_done(&answer);
}

/* A whole request around what is tried; NULL: no such header. */
static inline void fuzz_request(const char *method, const void *target, size_t target_n,
                                const char *headers, const char *type, const void *body,
                                size_t body_n)
{
	struct buf b;

	buf_init(&b);
	buf_printf(&b, "%s ", method);
	buf_put(&b, target, target_n);
	buf_printf(&b, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s", headers);
	if (type)
		buf_printf(&b, "Content-Type: %s\r\nContent-Length: %zu\r\n", type, body_n);
	buf_puts(&b, "\r\n");
	buf_put(&b, body, body_n);
	fuzz_send(buf_at(&b), b.len);
	buf_done(&b);
}

#endif
