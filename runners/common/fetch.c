/* One HTTP exchange with its redirects, over curl's multi interface, so that a job that is told to
 * stop does not wait for the server. The address of each connection is judged by the machine's
 * guard at the moment it is made: names, redirects and proxies do not get around it. Credentials
 * go only where the task sent them, never to another origin. */
#include "runners/common/fetch.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runners/common/guard.h"
#include "runners/common/run.h"

#define LOOK_MS           1000 /* between looks at whether to stop, should a wake be lost */
#define HEADERS_BYTES_MAX (256u << 10)
#define BUFFER_BYTES      16384l

struct fetcher {
	CURLM *multi;
	struct guard guard;
	char refused[400]; /* what the guard said last */
};

/* One exchange; lives on the stack. */
struct exchange {
	struct fetcher *f;
	const struct run *run;
	const struct fetch *what;
	struct answer *answer;
	const char *url;
	bool is_home; /* still where the task sent it: its credentials may go along */
	CURL *easy;
	struct curl_slist *headers;
	CURLcode code;
	char error[CURL_ERROR_SIZE];
};

int fetch_open(const struct runner_host *lent, void **ret_self)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? run_open(lent, ret_self) : -1;
}

struct fetcher *fetcher_new(void)
{
	struct fetcher *f = calloc(1, sizeof *f);

	if (f)
		f->multi = curl_multi_init();
	if (f && !f->multi) {
		free(f);
		return NULL;
	}
	return f;
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	curl_multi_cleanup(f->multi);
	free(f);
}

void fetch_wake(struct fetcher *f)
{
	curl_multi_wakeup(f->multi);
}

static const char *address_text(const struct sockaddr *a, char *ret, socklen_t cap)
{
	const void *at =
		a->sa_family == AF_INET6
			? (const void *)&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr
			: (const void *)&((const struct sockaddr_in *)(const void *)a)->sin_addr;

	return inet_ntop(a->sa_family, at, ret, cap) ? ret : "?";
}

/* The only way to a connection: the address is the one that will be connected to. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct fetcher *f = ctx;
	char text[64];
	const char *why = guard_refuses(&f->guard, &to->addr);

	(void)purpose;
	if (why) {
		address_text(&to->addr, text, sizeof text);
		/* The port of IPv6 lies where that of IPv4 does. */
		snprintf(f->refused, sizeof f->refused,
		         "%.46s is a%s %.30s address: wants \"allow %.46s %u\" in this machine's "
		         "egress file, %.100s",
		         text, strchr("aeiou", *why) ? "n" : "", why, text,
		         ntohs(((const struct sockaddr_in *)(const void *)&to->addr)->sin_port),
		         f->guard.file);
		return CURL_SOCKET_BAD;
	}
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static size_t take_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct text *body = ctx;

	text_add(body, bytes, size * n);
	return body->is_over ? 0 : size * n;
}

static size_t take_header(char *bytes, size_t size, size_t n, void *ctx)
{
	struct text *headers = ctx;

	if (n >= 5 && !memcmp(bytes, "HTTP/", 5))
		text_clear(headers); /* 100 Continue came before */
	text_add(headers, bytes, size * n);
	return headers->is_over ? 0 : size * n;
}

static void add_header(struct exchange *x, const char *line)
{
	struct curl_slist *longer = curl_slist_append(x->headers, line);

	if (longer)
		x->headers = longer;
}

/* What a stranger's server may see of the task's headers. */
static bool is_harmless(const char *header)
{
	return !strncasecmp(header, "Accept:", 7) || !strncasecmp(header, "Content-Type:", 13) ||
	       !strncasecmp(header, "User-Agent:", 11);
}

static void set_headers(struct exchange *x)
{
	add_header(x, "Expect:");
	for (const char *const *h = x->what->headers; h && *h; h++) {
		if (x->is_home || is_harmless(*h))
			add_header(x, *h);
	}
	curl_easy_setopt(x->easy, CURLOPT_HTTPHEADER, x->headers);
	if (!x->is_home)
		return;
	if (x->what->user) {
		curl_easy_setopt(x->easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		curl_easy_setopt(x->easy, CURLOPT_USERNAME, x->what->user);
		curl_easy_setopt(x->easy, CURLOPT_PASSWORD,
		                 x->what->password ? x->what->password : "");
	}
	if (x->what->bearer) {
		curl_easy_setopt(x->easy, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
		curl_easy_setopt(x->easy, CURLOPT_XOAUTH2_BEARER, x->what->bearer);
	}
}

static void set_method(struct exchange *x, const char *method)
{
	if (!strcmp(method, "HEAD"))
		curl_easy_setopt(x->easy, CURLOPT_NOBODY, 1l);
	else if (x->what->body && strcmp(method, "GET") != 0) {
		curl_easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE,
		                 (curl_off_t)x->what->body_bytes);
		curl_easy_setopt(x->easy, CURLOPT_POSTFIELDS, x->what->body);
		curl_easy_setopt(x->easy, CURLOPT_CUSTOMREQUEST, method);
	} else if (!strcmp(method, "POST") || !strcmp(method, "PUT") || !strcmp(method, "PATCH")) {
		curl_easy_setopt(x->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
		curl_easy_setopt(x->easy, CURLOPT_POSTFIELDS, "");
		curl_easy_setopt(x->easy, CURLOPT_CUSTOMREQUEST, method);
	} else {
		curl_easy_setopt(x->easy, CURLOPT_CUSTOMREQUEST, method);
	}
}

static void set_limits(struct exchange *x, int64_t left_ms)
{
	CURL *e = x->easy;

	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1l);
	curl_easy_setopt(e, CURLOPT_PROXY, ""); /* a proxy would hide the address from the guard */
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, x->f);
	curl_easy_setopt(e, CURLOPT_BUFFERSIZE, BUFFER_BYTES);
	curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES);
	curl_easy_setopt(e, CURLOPT_FORBID_REUSE, 1l);
	curl_easy_setopt(e, CURLOPT_DNS_CACHE_TIMEOUT, 0l);
	if (left_ms)
		curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)left_ms);
	if (x->what->connect_ms)
		curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)x->what->connect_ms);
	if (x->what->is_unverified) {
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 0l);
		curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 0l);
	}
	if (x->what->ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, x->what->ca_file);
}

static bool set_up(struct exchange *x, const char *method, int64_t left_ms)
{
	CURL *e = x->easy = curl_easy_init();

	if (!e)
		return false;
	text_clear(&x->answer->body);
	text_clear(&x->answer->headers);
	curl_easy_setopt(e, CURLOPT_URL, x->url);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, x->error);
	curl_easy_setopt(e, CURLOPT_USERAGENT, "sirdar/" SIRDAR_VERSION);
	curl_easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, &x->answer->body);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, &x->answer->headers);
	set_limits(x, left_ms);
	set_method(x, method);
	set_headers(x);
	return true;
}

/* Until it is over; false: told to stop. */
static bool fetch_drive(struct exchange *x)
{
	CURLM *multi = x->f->multi;
	int running = 1, left;

	x->code = CURLE_FAILED_INIT;
	if (curl_multi_add_handle(multi, x->easy) != CURLM_OK)
		return true;
	while (running && (x->what->is_last_word || !run_cancelled(x->run))) {
		if (curl_multi_perform(multi, &running) != CURLM_OK)
			break;
		if (running)
			curl_multi_poll(multi, NULL, 0, LOOK_MS, NULL);
	}
	for (CURLMsg *m; (m = curl_multi_info_read(multi, &left));) {
		if (m->msg == CURLMSG_DONE)
			x->code = m->data.result;
	}
	curl_multi_remove_handle(multi, x->easy);
	return !running;
}

/* What became of the exchange, for those who cannot read curl's numbers. */
static int fetch_judge(const struct exchange *x, char *why, size_t cap)
{
	char shown[200];

	fetch_show(x->url, shown, sizeof shown);
	if (x->code == CURLE_OK)
		return FETCH_OK;
	if (x->f->refused[0]) {
		snprintf(why, cap, "%.36s: %s", shown, x->f->refused);
		return FETCH_REFUSED;
	}
	if (x->answer->body.is_over || x->answer->headers.is_over) {
		snprintf(why, cap, "%.90s: the answer is longer than %zu bytes", shown,
		         x->what->answer_max);
		return FETCH_TOO_LONG;
	}
	if (x->code == CURLE_OPERATION_TIMEDOUT) {
		snprintf(why, cap, "%.90s: %.90s", shown, x->error[0] ? x->error : "timeout");
		return FETCH_LATE;
	}
	snprintf(why, cap, "%.90s: %.120s", shown,
	         x->error[0] ? x->error : curl_easy_strerror(x->code));
	return x->code == CURLE_URL_MALFORMAT || x->code == CURLE_UNSUPPORTED_PROTOCOL
	               ? FETCH_REFUSED
	               : FETCH_FAILED;
}

static char *part_of(CURLU *u, CURLUPart part)
{
	char *text = NULL;

	curl_url_get(u, part, &text, CURLU_DEFAULT_PORT);
	return text;
}

bool fetch_same_origin(const char *a, const char *b)
{
	static const CURLUPart parts[] = { CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT };
	CURLU *ua = curl_url(), *ub = curl_url();
	bool is = ua && ub && curl_url_set(ua, CURLUPART_URL, a, 0) == CURLUE_OK &&
	          curl_url_set(ub, CURLUPART_URL, b, 0) == CURLUE_OK;

	for (size_t i = 0; is && i < sizeof parts / sizeof *parts; i++) {
		char *pa = part_of(ua, parts[i]), *pb = part_of(ub, parts[i]);

		is = pa && pb && !strcasecmp(pa, pb);
		curl_free(pa);
		curl_free(pb);
	}
	curl_url_cleanup(ua);
	curl_url_cleanup(ub);
	return is;
}

void fetch_show(const char *url, char *ret, size_t cap)
{
	const char *host = strstr(url, "://");
	size_t scheme = host ? (size_t)(host + 3 - url) : 0, len = strcspn(url, "?#");
	const char *rest = url + scheme, *at = memchr(rest, '@', strcspn(rest, "/?#"));

	if (at)
		rest = at + 1;
	snprintf(ret, cap, "%.*s%.*s", (int)scheme, url,
	         (int)(len > (size_t)(rest - url) ? len - (size_t)(rest - url) : 0), rest);
}

/* As browsers do: 303, and 301 and 302 to a POST, become a GET without a body. */
static void change_method(struct fetch *what, long status)
{
	if (status == 307 || status == 308 || !strcmp(what->method, "HEAD"))
		return;
	if (status == 303 || !strcmp(what->method, "POST")) {
		what->method = "GET";
		what->body = NULL;
	}
}

/* Where the answer sends us; NULL: nowhere. The caller's. */
static char *next_url(const struct exchange *x)
{
	char *url = NULL;

	if (x->answer->status < 301 || x->answer->status > 308 || x->answer->status == 304)
		return NULL;
	curl_easy_getinfo(x->easy, CURLINFO_REDIRECT_URL, &url);
	return url ? strdup(url) : NULL;
}

static void clean(struct exchange *x)
{
	curl_easy_cleanup(x->easy);
	curl_slist_free_all(x->headers);
	x->easy = NULL;
	x->headers = NULL;
}

/* One exchange; *ret_next is where it sends us, or NULL. */
static int fetch_exchange(struct exchange *x, int64_t end_ms, char **ret_next, char *why,
                          size_t cap)
{
	int64_t left_ms = end_ms ? end_ms - run_now_ms() : 0;

	*ret_next = NULL;
	x->error[0] = x->f->refused[0] = 0;
	if (end_ms && left_ms <= 0) {
		snprintf(why, cap, "no time is left after %u redirects", x->answer->redirects);
		return FETCH_LATE;
	}
	if (!set_up(x, x->what->method, left_ms)) {
		snprintf(why, cap, "out of memory");
		return FETCH_FAILED;
	}
	bool is_over = fetch_drive(x);
	int code = is_over ? fetch_judge(x, why, cap) : FETCH_STOPPED;

	if (code == FETCH_OK) {
		curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->answer->status);
		*ret_next = next_url(x);
	}
	clean(x);
	return code;
}

static int fetch_follow(struct exchange *x, struct fetch *what, int64_t end_ms, char *why,
                        size_t cap)
{
	char *here = NULL, *next;
	int code = fetch_exchange(x, end_ms, &next, why, cap);

	while (code == FETCH_OK && next && x->answer->redirects < what->redirects_max) {
		x->answer->redirects++;
		if (!strncasecmp(x->url, "https:", 6) && !strncasecmp(next, "http:", 5)) {
			snprintf(why, cap, "a redirect leaves https for http");
			code = FETCH_REFUSED;
			break;
		}
		x->is_home = x->is_home && fetch_same_origin(x->url, next);
		change_method(what, x->answer->status);
		free(here);
		x->url = here = next;
		code = fetch_exchange(x, end_ms, &next, why, cap);
	}
	if (code == FETCH_OK && next && what->redirects_max) {
		snprintf(why, cap, "more than %u redirects", what->redirects_max);
		code = FETCH_REFUSED;
	}
	free(next);
	free(here);
	return code;
}

int fetch_run(struct fetcher *f, const struct run *r, const struct fetch *what,
              struct answer *ret_answer, char *ret_why, size_t why_bytes)
{
	struct fetch now = *what;
	struct exchange x = { .f = f,
		              .run = r,
		              .what = &now,
		              .answer = ret_answer,
		              .url = what->url,
		              .is_home = true };
	int64_t began_ms = run_now_ms();

	*ret_answer = (struct answer){ .body = { .max = what->answer_max },
		                       .headers = { .max = HEADERS_BYTES_MAX } };
	if (guard_read(&f->guard, r, ret_why, why_bytes) < 0)
		return FETCH_NO_POLICY;
	int code = fetch_follow(&x, &now, what->timeout_ms ? began_ms + what->timeout_ms : 0,
	                        ret_why, why_bytes);

	ret_answer->took_ms = run_now_ms() - began_ms;
	return code;
}

void answer_done(struct answer *a)
{
	text_done(&a->body);
	text_done(&a->headers);
}

int fetch_end(const struct run *r, int code, const char *why)
{
	if (code == FETCH_STOPPED)
		return run_stopped(r);
	if (code == FETCH_NO_POLICY)
		return run_end(r, RUNNER_INFRA, "%s", why);
	return run_end(r, code == FETCH_REFUSED ? RUNNER_FATAL : RUNNER_RETRYABLE, "%s", why);
}

bool answer_header(const struct answer *a, const char *name, struct text *ret_value)
{
	size_t len = strlen(name);

	for (const char *line = text_str(&a->headers); *line;) {
		size_t n = strcspn(line, "\r\n");

		if (n > len && line[len] == ':' && !strncasecmp(line, name, len)) {
			const char *value = line + len + 1;
			size_t skip = strspn(value, " \t");

			text_add(ret_value, value + skip, n - len - 1 - skip);
			return true;
		}
		line += n + strspn(line + n, "\r\n");
	}
	return false;
}
