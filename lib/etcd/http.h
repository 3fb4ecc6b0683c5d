/* http.h — the way to etcd's gateway: libcurl, in a module of its own (etcd/http/), so that a
 * program that uses no etcd does not load it.
 *
 * One thread each, but for wake().
 */
#ifndef ETCD_HTTP_H
#define ETCD_HTTP_H

#include <stddef.h>
#include <stdint.h>

#define ETCD_HTTP_FILE   "etcd_http.so"
#define ETCD_HTTP_SYMBOL "sirdar_etcd_http"
#define ETCD_HTTP_ABI    1

struct buf;
struct err;
struct http;
struct http_stream;

/* Borrowed for the call. */
struct http_ask {
	const char *url, *body;
	const char *token;  /* sent as Authorization; NULL: none */
	int64_t timeout_ms; /* connecting and all; of a stream: until its headers are there */
};

struct http_ops {
	uint32_t abi;
	size_t ask_size; /* of struct http_ask */

	/* ca_file "": the machine's. errors  E_NOMEM */
	int (*open)(const char *ca_file, struct http **ret, struct err *err);
	void (*close)(struct http *h); /* NULL is fine; its streams are closed */
	/* POST; the whole answer is appended, whatever its status.
	 * errors  E_IO, E_TIMEOUT, E_AUTH the certificate is not to be trusted, E_CLOSED woken,
	 *         E_TOO_BIG the answer has more than max bytes */
	int (*post)(struct http *h, const struct http_ask *ask, size_t max, struct buf *ret_answer,
	            struct err *err);
	/* POST whose answer does not end. */
	int (*stream)(struct http *h, const struct http_ask *ask, struct http_stream **ret,
	              struct err *err);
	/* What has come meanwhile, or comes within wait_ms; 0 also when nothing did.
	 * errors  as post(); E_IO the stream is over */
	int (*wait)(struct http_stream *s, int64_t wait_ms, size_t max, struct buf *to,
	            struct err *err);
	void (*end)(struct http_stream *s); /* NULL is fine */
	/* Whoever waits returns: post() with E_CLOSED from now on, wait() at once. Thread: any. */
	void (*wake)(struct http *h, int is_over);
};

#endif
