/* fetch.h — one HTTP exchange, behind the machine's guard.
 *
 * The guard sees the address of every connection, also after redirects. Environment proxies are
 * not used. A fetcher is one job thread's, but for fetch_wake().
 */
#ifndef RUNNERS_FETCH_H
#define RUNNERS_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runners/common/text.h"

struct fetcher;
struct run;
struct runner_host;

/* How it went; negative numbers come with a sentence. */
enum {
	FETCH_OK = 0,
	FETCH_FAILED = -1,   /* no answer: connection, TLS, protocol */
	FETCH_REFUSED = -2,  /* the machine's guard, or a URL that is none */
	FETCH_TOO_LONG = -3, /* the answer */
	FETCH_LATE = -4,     /* a timeout */
	FETCH_STOPPED = -5,  /* the job was told to stop */
	FETCH_NO_POLICY = -6 /* the guard's file is wrong: nobody may connect */
};

/* Borrowed during the call. Zero means none, but where it says otherwise. */
struct fetch {
	const char *method, *url;
	const char *body;
	size_t body_bytes;
	const char *const *headers; /* "Name: value", ends with NULL */
	const char *user, *password, *bearer;
	const char *ca_file;
	bool is_last_word;  /* goes through although the job was told to stop */
	bool is_unverified; /* do not check the server's certificate */
	unsigned redirects_max;
	int64_t timeout_ms, connect_ms; /* 0: no limit */
	size_t answer_max;              /* bytes */
};

struct answer {
	long status;
	struct text body, headers; /* of the last exchange; headers as they came, by line */
	unsigned redirects;
	int64_t took_ms;
};

/* open() of a plugin that fetches. */
int fetch_open(const struct runner_host *lent, void **ret_self);

struct fetcher *fetcher_new(void); /* NULL: no memory */
void fetcher_free(struct fetcher *f);
/* Have a fetch that is under way look whether its job was told to stop. Any thread. */
void fetch_wake(struct fetcher *f);

/* *ret_answer is the caller's whatever the result: answer_done(). */
int fetch_run(struct fetcher *f, const struct run *r, const struct fetch *what,
              struct answer *ret_answer, char *ret_why, size_t why_bytes);
void answer_done(struct answer *a);

/* The verdict's sentence for a negative result of fetch_run(); answers what the plugin answers. */
int fetch_end(const struct run *r, int code, const char *why);

/* A header's value, trimmed; false: none. */
bool answer_header(const struct answer *a, const char *name, struct text *ret_value);

/* Scheme, host and port alike? */
bool fetch_same_origin(const char *a, const char *b);

/* A URL without user, password and query, for logs. */
void fetch_show(const char *url, char *ret, size_t cap);

#endif
