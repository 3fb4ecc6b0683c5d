/* libcurl's home: requests to etcd's gateway. */
#include <curl/curl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "etcd/http.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"

#define POLL_MS     1000
#define ALIVE_IDLE  10L /* s */
#define ALIVE_EVERY 5L

struct http {
	char *ca_file;
	CURLM *multi; /* keeps connections open between requests */
	atomic_bool is_over;
};

/* One transfer. */
struct http_stream {
	struct http *http;
	CURL *easy;
	struct curl_slist *headers;
	struct buf *to; /* where what comes goes; may change between waits */
	struct buf own; /* of a stream: what came before somebody asked */
	size_t max;
	bool is_done, is_too_big;
	CURLcode code;
	char error[CURL_ERROR_SIZE];
};

static int http_open(const char *ca_file, struct http **ret, struct err *err)
{
	struct http *h = mem_new(sizeof *h);

	/* Threads of one process may come here at once: this libcurl's start is safe then. */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(h->multi = curl_multi_init())) {
		free(h);
		return err_set(err, E_NOMEM, "libcurl does not start");
	}
	h->ca_file = mem_str(ca_file);
	*ret = h;
	return 0;
}

static void http_close(struct http *h)
{
	if (!h)
		return;
	curl_multi_cleanup(h->multi);
	free(h->ca_file);
	free(h);
}

static size_t http_curl_take(char *data, size_t size, size_t n, void *ctx)
{
	struct http_stream *s = ctx;

	if (s->to->len + size * n > s->max) {
		s->is_too_big = true;
		return 0;
	}
	buf_put(s->to, data, size * n);
	return size * n;
}

/* Jobs and other programs do not inherit it. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	(void)ctx;
	(void)purpose;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static void set_head(struct http_stream *s, const char *token)
{
	char line[1100];

	s->headers = curl_slist_append(s->headers, "Content-Type: application/json");
	s->headers = curl_slist_append(s->headers, "Expect:");
	if (token) {
		snprintf(line, sizeof line, "Authorization: %.1000s", token);
		s->headers = curl_slist_append(s->headers, line);
	}
	curl_easy_setopt(s->easy, CURLOPT_HTTPHEADER, s->headers);
}

static void transfer_free(struct http_stream *s)
{
	if (!s)
		return;
	if (s->easy) {
		curl_multi_remove_handle(s->http->multi, s->easy);
		curl_easy_cleanup(s->easy);
	}
	curl_slist_free_all(s->headers);
	buf_done(&s->own);
	free(s);
}

static struct http_stream *transfer_new(struct http *h, const struct http_ask *ask, size_t max)
{
	struct http_stream *s = mem_new(sizeof *s);

	s->http = h;
	s->max = max;
	buf_init(&s->own);
	s->to = &s->own;
	s->easy = curl_easy_init();
	if (!s->easy) {
		free(s);
		return NULL;
	}
	set_head(s, ask->token);
	curl_easy_setopt(s->easy, CURLOPT_URL, ask->url);
	curl_easy_setopt(s->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(s->easy, CURLOPT_FOLLOWLOCATION, 0L); /* the token stays where it is */
	curl_easy_setopt(s->easy, CURLOPT_PROXY, "");
	curl_easy_setopt(s->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(s->easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(s->easy, CURLOPT_SSL_VERIFYHOST, 2L);
	if (h->ca_file[0])
		curl_easy_setopt(s->easy, CURLOPT_CAINFO, h->ca_file);
	curl_easy_setopt(s->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(s->easy, CURLOPT_TCP_KEEPIDLE, ALIVE_IDLE);
	curl_easy_setopt(s->easy, CURLOPT_TCP_KEEPINTVL, ALIVE_EVERY);
	curl_easy_setopt(s->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)ask->timeout_ms);
	curl_easy_setopt(s->easy, CURLOPT_ERRORBUFFER, s->error);
	curl_easy_setopt(s->easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(s->easy, CURLOPT_WRITEFUNCTION, http_curl_take);
	curl_easy_setopt(s->easy, CURLOPT_WRITEDATA, s);
	curl_easy_setopt(s->easy, CURLOPT_PRIVATE, s);
	curl_easy_setopt(s->easy, CURLOPT_POST, 1L);
	curl_easy_setopt(s->easy, CURLOPT_COPYPOSTFIELDS, ask->body);
	curl_multi_add_handle(h->multi, s->easy);
	return s;
}

static void collect(struct http *h)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(h->multi, &left))) {
		struct http_stream *s = NULL;
		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&s);
		s->is_done = true;
		s->code = m->data.result;
	}
}

static void perform(struct http *h)
{
	int running = 0;

	curl_multi_perform(h->multi, &running);
	collect(h);
}

/*
 * One round of all transfers: what is ready now, after waiting for it up to wait_ms. Nothing is
 * waited for when `s` has moved in the first step already: its answer would lie there meanwhile.
 */
static void curl_turn(struct http_stream *s, int64_t wait_ms)
{
	struct http *h = s->http;
	size_t had = s->to->len;

	perform(h);
	if (wait_ms <= 0 || s->is_done || s->to->len != had)
		return;
	curl_multi_poll(h->multi, NULL, 0, (int)(wait_ms < POLL_MS ? wait_ms : POLL_MS), NULL);
	perform(h);
}

static int curl_failed(const struct http_stream *s, struct err *err)
{
	const char *why = s->error[0] ? s->error : curl_easy_strerror(s->code);

	if (s->is_too_big)
		return err_set(err, E_TOO_BIG, "the answer has more than %zu bytes", s->max);
	switch (s->code) {
	case CURLE_OK:
		return 0;
	case CURLE_OPERATION_TIMEDOUT:
		return err_set(err, E_TIMEOUT, "%.300s", why);
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		return err_set(err, E_AUTH, "%.300s", why);
	default:
		return err_set(err, E_IO, "%.300s", why);
	}
}

static int http_post(struct http *h, const struct http_ask *ask, size_t max, struct buf *ret_answer,
                     struct err *err)
{
	struct http_stream *s = transfer_new(h, ask, max);
	int r = 0;

	if (!s)
		return err_set(err, E_NOMEM, "libcurl does not start");
	s->to = ret_answer;
	curl_easy_setopt(s->easy, CURLOPT_TIMEOUT_MS, (long)ask->timeout_ms);
	while (!s->is_done && !atomic_load(&h->is_over))
		curl_turn(s, POLL_MS);
	r = s->is_done ? curl_failed(s, err) : err_set(err, E_CLOSED, "shutting down");
	transfer_free(s);
	return r;
}

static int http_stream(struct http *h, const struct http_ask *ask, struct http_stream **ret,
                       struct err *err)
{
	struct http_stream *s = transfer_new(h, ask, SIZE_MAX / 2);
	int64_t end_us = clock_steady_us() + ask->timeout_ms * US_PER_MS;
	long status = 0;

	if (!s)
		return err_set(err, E_NOMEM, "libcurl does not start");
	/* The gateway sends its headers with the first line, which comes at once. */
	while (!s->is_done && status == 0 && !atomic_load(&h->is_over) &&
	       clock_steady_us() < end_us) {
		curl_turn(s, (end_us - clock_steady_us()) / US_PER_MS + 1);
		curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	}
	if (status != 0) {
		*ret = s;
		return 0;
	}
	int r = atomic_load(&h->is_over) ? err_set(err, E_CLOSED, "shutting down")
	        : s->is_done             ? curl_failed(s, err)
	                                 : err_set(err, E_TIMEOUT, "no answer to a watch");
	if (r == 0)
		r = err_set(err, E_IO, "the watch ended before it began");
	transfer_free(s);
	return r;
}

static int http_wait(struct http_stream *s, int64_t wait_ms, size_t max, struct buf *to,
                     struct err *err)
{
	int r = 0;

	s->max = max;
	if (s->own.len == 0 && !s->is_done)
		curl_turn(s, wait_ms);
	buf_put(to, buf_at(&s->own), s->own.len);
	if (s->is_done && s->own.len == 0)
		r = s->code == CURLE_OK && !s->is_too_big
		            ? err_set(err, E_IO, "the watch has ended")
		            : curl_failed(s, err);
	buf_clear(&s->own);
	return r;
}

static void http_wake(struct http *h, int is_over)
{
	if (is_over)
		atomic_store(&h->is_over, true);
	curl_multi_wakeup(h->multi);
}

extern const struct http_ops sirdar_etcd_http;
__attribute__((visibility("default"))) const struct http_ops sirdar_etcd_http = {
	.abi = ETCD_HTTP_ABI,
	.ask_size = sizeof(struct http_ask),
	.open = http_open,
	.close = http_close,
	.post = http_post,
	.stream = http_stream,
	.wait = http_wait,
	.end = transfer_free,
	.wake = http_wake,
};
