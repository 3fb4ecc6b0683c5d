/* fetch.h — one page of another server: libcurl, in a module of its own, so that a daemon that asks
 * nobody does not load it.
 */
#ifndef FETCH_FETCH_H
#define FETCH_FETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FETCH_FILE   "fetch.so"
#define FETCH_SYMBOL "sirdar_fetch"
#define FETCH_ABI    4

struct buf;
struct err;

/* What the head of an answer said. */
struct fetch_said {
	char etag[96];  /* without its quotes; "": none, or a longer one */
	int64_t length; /* Content-Length; -1: none */
};

/* Borrowed for the call. */
struct fetch_ask {
	const char *url, *ca_file;  /* ca_file "": the machine's */
	const char *form;           /* POSTed; NULL: GET */
	const char *user, *secret;  /* Basic; NULL: none. Already encoded for a form */
	const char *bearer;         /* a token; NULL: none */
	const char *const *headers; /* lines `Name: value`, NULL-ended; NULL: none */
	int64_t timeout_ms;
	size_t max;         /* bytes of the answer */
	const char *method; /* NULL: GET, POST with a form; HEAD has no answer but its head */
	const void *body;   /* sent with `method`; NULL: none */
	size_t body_bytes;
	const char *sign; /* user and secret sign the question, as SigV4: `aws:amz:REGION:s3` */
	void *session;    /* of session_open(): connections are kept; NULL: a new one */
	const atomic_bool
		*stop; /* true: the call ends soon, with E_CLOSED; NULL: nobody stops it */
	struct fetch_said *said; /* filled in; NULL: nobody asks */
};

struct fetch_ops {
	uint32_t abi;
	size_t ask_size;
	/* Blocks. Redirections are not followed.
	 * errors  E_IO, E_TIMEOUT, E_TOO_BIG, E_AUTH the certificate is not to be trusted,
	 *         E_INVALID a header that is more than a line, E_CLOSED */
	int (*fetch)(const struct fetch_ask *ask, long *ret_status, struct buf *ret_body,
	             struct err *err);
	/* Connections that calls of one thread keep between them. NULL: libcurl does not start. */
	void *(*session_open)(void);
	void (*session_close)(void *session); /* NULL is fine */
};

#endif
