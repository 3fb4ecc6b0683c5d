/* libcurl's home: pages of an OpenID provider, answers of a vault, objects of a store of objects.
 * What it is sent and told may be secret: nothing is logged, and the caller wipes its own. A
 * session keeps connections, and nothing else: each call sets all options anew. */
#include <curl/curl.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "fetch/fetch.h"
#include "util/buf.h"
#include "util/err.h"

struct taking {
	struct buf *to;
	size_t max;
	bool is_too_big;
};

static size_t curl_take(char *data, size_t size, size_t n, void *ctx)
{
	struct taking *t = ctx;

	if (t->to->len + size * n > t->max) {
		t->is_too_big = true;
		return 0;
	}
	buf_put(t->to, data, size * n);
	return size * n;
}

/* curl gives one line of a head in each call. A redirect or an interim answer sends a head of its
 * own first, which the real one replaces. */
static size_t curl_head(char *line, size_t size, size_t n, void *ctx)
{
	static const char name[] = "etag:";
	struct fetch_said *said = ctx;
	size_t bytes = size * n, at = sizeof name - 1;

	if (bytes > 5 && strncasecmp(line, "HTTP/", 5) == 0)
		said->etag[0] = '\0';
	if (bytes <= at || strncasecmp(line, name, at) != 0)
		return bytes;
	while (at < bytes && (line[at] == ' ' || line[at] == '"'))
		at++;
	size_t len = 0;
	while (at + len < bytes && !strchr("\"\r\n", line[at + len]))
		len++;
	if (len < sizeof said->etag) {
		memcpy(said->etag, line + at, len);
		said->etag[len] = '\0';
	}
	return bytes;
}

static int curl_stops(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return atomic_load((const atomic_bool *)ctx);
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	(void)ctx;
	(void)purpose;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* A line end in one would make more of it. */
static int headers_make(const struct fetch_ask *ask, struct curl_slist **ret, struct err *err)
{
	*ret = NULL;
	for (const char *const *h = ask->headers; h && *h; h++) {
		struct curl_slist *longer = strpbrk(*h, "\r\n") ? NULL
		                                                : curl_slist_append(*ret, *h);
		if (!longer) {
			curl_slist_free_all(*ret);
			return err_set(err, E_INVALID, "a header is not one line");
		}
		*ret = longer;
	}
	return 0;
}

static void set_method(CURL *easy, const struct fetch_ask *ask)
{
	if (!ask->method)
		return;
	if (strcmp(ask->method, "HEAD") == 0) {
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
		return;
	}
	if (ask->body) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)ask->body_bytes);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, ask->body);
	}
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, ask->method);
}

static void set_all(CURL *easy, const struct fetch_ask *ask, struct taking *t, char *error)
{
	curl_easy_setopt(easy, CURLOPT_URL, ask->url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L); /* what is fixed stays so */
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	if (ask->ca_file[0])
		curl_easy_setopt(easy, CURLOPT_CAINFO, ask->ca_file);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)ask->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, curl_take);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	if (ask->form)
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS, ask->form);
	set_method(easy, ask);
	if (ask->stop) {
		curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, curl_stops);
		curl_easy_setopt(easy, CURLOPT_XFERINFODATA, (void *)(uintptr_t)ask->stop);
	}
	if (ask->said) {
		*ask->said = (struct fetch_said){ .length = -1 };
		curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, curl_head);
		curl_easy_setopt(easy, CURLOPT_HEADERDATA, ask->said);
	}
	if (ask->user) {
		if (ask->sign)
			curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, ask->sign);
		else
			curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(easy, CURLOPT_USERNAME, ask->user);
		curl_easy_setopt(easy, CURLOPT_PASSWORD, ask->secret);
	}
	if (ask->bearer) {
		curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, ask->bearer);
	}
}

static int code_of(CURLcode code)
{
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		return E_TIMEOUT;
	case CURLE_ABORTED_BY_CALLBACK:
		return E_CLOSED;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		return E_AUTH;
	default:
		return E_IO;
	}
}

static void *session_open(void)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_easy_init() : NULL;
}

static void session_close(void *session)
{
	curl_easy_cleanup(session);
}

static int curl_fetch(const struct fetch_ask *ask, long *ret_status, struct buf *ret_body,
                      struct err *err)
{
	struct taking t = { ret_body, ask->max, false };
	char error[CURL_ERROR_SIZE] = "";
	struct curl_slist *headers;
	CURLcode code;
	int r = headers_make(ask, &headers, err);

	if (r < 0)
		return r;
	CURL *easy = ask->session ? ask->session : session_open();
	if (!easy) {
		curl_slist_free_all(headers);
		return err_set(err, E_NOMEM, "libcurl does not start");
	}
	if (ask->session)
		curl_easy_reset(easy); /* what it keeps are connections */
	set_all(easy, ask, &t, error);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	code = curl_easy_perform(easy);
	if (code == CURLE_OK)
		curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, ret_status);
	if (code == CURLE_OK && ask->said) {
		curl_off_t length = -1;
		curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
		ask->said->length = length;
	}
	if (ask->session)
		curl_easy_reset(easy); /* it points to nothing of this call, its secret is gone */
	else
		session_close(easy);
	curl_slist_free_all(headers);
	if (t.is_too_big)
		return err_set(err, E_TOO_BIG, "the answer has more than %zu bytes", ask->max);
	if (code != CURLE_OK)
		return err_set(err, code_of(code), "%.300s",
		               error[0] ? error : curl_easy_strerror(code));
	return 0;
}

extern const struct fetch_ops sirdar_fetch;
__attribute__((visibility("default"))) const struct fetch_ops sirdar_fetch = {
	.abi = FETCH_ABI,
	.ask_size = sizeof(struct fetch_ask),
	.fetch = curl_fetch,
	.session_open = session_open,
	.session_close = session_close,
};
