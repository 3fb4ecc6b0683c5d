/* fetch.h — one page of another server: libcurl, in a module of its own, so that a daemon that asks
 * nobody does not load it.
 */
#ifndef FETCH_FETCH_H
#define FETCH_FETCH_H

#include <stddef.h>
#include <stdint.h>

#define FETCH_FILE   "fetch.so"
#define FETCH_SYMBOL "sirdar_fetch"
#define FETCH_ABI    3

struct buf;
struct err;

/* Borrowed for the call. */
struct fetch_ask {
	const char *url, *ca_file;  /* ca_file "": the machine's */
	const char *form;           /* POSTed; NULL: GET */
	const char *user, *secret;  /* Basic; NULL: none. Already encoded for a form */
	const char *bearer;         /* a token; NULL: none */
	const char *const *headers; /* lines `Name: value`, NULL-ended; NULL: none */
	int64_t timeout_ms;
	size_t max; /* bytes of the answer */
};

struct fetch_ops {
	uint32_t abi;
	size_t ask_size;
	/* Blocks. Redirections are not followed.
	 * errors  E_IO, E_TIMEOUT, E_TOO_BIG, E_AUTH the certificate is not to be trusted,
	 *         E_INVALID a header that is more than a line */
	int (*fetch)(const struct fetch_ask *ask, long *ret_status, struct buf *ret_body,
	             struct err *err);
};

#endif
