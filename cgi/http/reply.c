/* Every answer leaves through reply_queue(), so that the headers that protect people are on
 * all of them. */
#include <stdio.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/fields.h"
#include "cgi/http/pack.h"
#include "cgi/http/traffic.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"

#define CSP \
	"default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; " \
	"form-action 'self'"

#define RETRY_AFTER_S 2 /* with 503, unless a handler knows better */

static void reply_header(struct MHD_Response *r, const char *name, const char *value)
{
	CHECK(MHD_add_response_header(r, name, value) == MHD_YES);
}

/* A browser keeps to https from then on, so nothing says it that came by http. */
static void reply_hsts(struct call *c, struct MHD_Response *r)
{
	int64_t age = param_now(c->cgi->param.hsts_max_age_s);
	char text[40];

	snprintf(text, sizeof text, "max-age=%lld", (long long)age);
	if (age > 0)
		reply_header(r, "Strict-Transport-Security", text);
}

int reply_queue(struct call *c, int status, struct MHD_Response *r)
{
	CHECK(!c->answered && !c->suspended && status >= 100 && status < 600);
	reply_header(r, "Content-Security-Policy", CSP);
	reply_header(r, "X-Content-Type-Options", "nosniff");
	reply_header(r, "X-Frame-Options", "DENY");
	reply_header(r, "Referrer-Policy", "no-referrer");
	reply_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	reply_header(r, "X-Request-Id", c->request_id);
	if (!MHD_get_response_header(r, "Cache-Control"))
		reply_header(r, "Cache-Control", "no-store");
	if (c->etag[0] != '\0')
		reply_header(r, "ETag", c->etag);
	if (c->https)
		reply_hsts(c, r);
	if (c->refused)
		reply_header(r, "Connection", "close");
	c->answered = true;
	traffic_count(c->cgi->traffic, c->route, status,
	              clock_mono_us(&clock_machine) - c->began_us);
	enum MHD_Result ok = MHD_queue_response(c->conn, (unsigned)status, r);
	MHD_destroy_response(r);
	return ok == MHD_YES ? 0 : E_PROTOCOL;
}

int reply_bytes(struct call *c, int status, const char *type, const char *data, size_t n)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(n, (void *)(uintptr_t)data,
	                                                         MHD_RESPMEM_MUST_COPY);

	CHECK(r);
	reply_header(r, "Content-Type", type);
	return reply_queue(c, status, r);
}

static int reply_empty(struct call *c, int status)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "",
	                                                         MHD_RESPMEM_PERSISTENT);

	CHECK(r);
	return reply_queue(c, status, r);
}

int reply_as_json(struct call *c, int status, struct MHD_Response *r)
{
	reply_header(r, "Content-Type", "application/json; charset=utf-8");
	if (c->number != 0) {
		char text[24];

		snprintf(text, sizeof text, "%llu", (unsigned long long)c->number);
		reply_header(r, "X-Sirdar-Number", text);
	}
	if (c->cookie[0] != '\0')
		reply_header(r, "Set-Cookie", c->cookie);
	return reply_queue(c, status, r);
}

struct MHD_Response *reply_packed(struct call *c, const void *p, size_t n)
{
	struct MHD_Response *r = NULL;
	struct buf packed;
	const char *coding;

	buf_init(&packed);
	coding = pack(call_header(c, "Accept-Encoding"), p, n, &packed);
	if (coding) {
		r = MHD_create_response_from_buffer(packed.len, (void *)(uintptr_t)buf_at(&packed),
		                                    MHD_RESPMEM_MUST_COPY);
		CHECK(r);
		reply_header(r, "Content-Encoding", coding);
		reply_header(r, "Vary", "Accept-Encoding");
	}
	buf_done(&packed);
	return r;
}

/* Is what the client has the version that there is? */
static bool is_known(struct call *c)
{
	const char *known = call_header(c, "If-None-Match");

	return c->etag[0] != '\0' && known && strcmp(c->method, "GET") == 0 &&
	       (strstr(known, c->etag) || strcmp(known, "*") == 0);
}

int reply_json(struct call *c, int status)
{
	struct MHD_Response *r;

	if (fields_cut(c) < 0)
		return reply_error(c);
	if (c->fresh != FRESH_NO && c->number != 0)
		return c->cgi->keep(c);
	if (is_known(c))
		return reply_empty(c, MHD_HTTP_NOT_MODIFIED);
	r = reply_packed(c, buf_str(&c->out), c->out.len);
	if (!r)
		r = MHD_create_response_from_buffer(c->out.len, (void *)(uintptr_t)buf_str(&c->out),
		                                    MHD_RESPMEM_MUST_COPY);
	CHECK(r);
	return reply_as_json(c, status, r);
}

/* The one error shape. A list of errors that the server gave is passed on beside it. */
static void error_json(struct call *c, struct buf *b)
{
	put_open(b, NULL, '{');
	put_open(b, "error", '{');
	put_text(b, "code", err_name(c->err.code));
	put_text(b, "message", c->err.text);
	put_text(b, "place", c->place);
	put_text(b, "hint", c->hint);
	put_bool(b, "retry", err_retryable(c->err.code));
	put_text(b, "request_id", c->request_id);
	if (c->details.len > 0)
		put_raw(b, "details", buf_str(&c->details));
	put_close(b, '}');
	put_close(b, '}');
}

/* As text of a page: what came from outside stays text. */
static void put_html(struct buf *b, const char *text)
{
	static const char special[] = "&<>\"'";

	for (const char *p = text; *p != '\0'; p++)
		if (strchr(special, *p))
			buf_printf(b, "&#%d;", *p);
		else
			buf_putc(b, *p);
}

static void error_page(struct call *c, struct buf *b)
{
	buf_puts(b, "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>Sirdar</title>"
	            "<meta name=\"viewport\" content=\"width=device-width\">"
	            "<link rel=\"stylesheet\" href=\"/status.css\"><main><h1>You are not signed in "
	            "<span lang=\"zh-CN\">登录未成功</span></h1><p>");
	put_html(b, c->err.text);
	buf_puts(b, "</p><p>");
	put_html(b, c->hint);
	buf_puts(b, "</p><p><a href=\"/ui/\">Back <span lang=\"zh-CN\">返回</span></a></p><p>");
	buf_printf(b, "%s · ", err_name(c->err.code));
	put_html(b, c->request_id);
	buf_puts(b, "</p></main></html>\n");
}

/* What the route and who asks make of an error. Returns the content type. */
static const char *error_body(struct call *c, int *status)
{
	unsigned flags = c->route ? c->route->flags : 0;
	const char *wants = call_header(c, "Accept");

	if (flags & RF_SEED && c->cgi->words_of_seed(c, status))
		return "application/json; charset=utf-8";
	if (flags & RF_PLAIN) {
		buf_printf(&c->out, "%s\n", c->err.text);
		return "text/plain; charset=utf-8";
	}
	if (flags & RF_PAGE && wants && strstr(wants, "text/html")) {
		error_page(c, &c->out);
		return "text/html; charset=utf-8";
	}
	error_json(c, &c->out);
	return "application/json; charset=utf-8";
}

int reply_error(struct call *c)
{
	int status = c->error_status != 0 ? c->error_status : err_http(c->err.code);
	struct MHD_Response *r;
	const char *type;

	buf_clear(&c->out);
	type = error_body(c, &status);
	r = MHD_create_response_from_buffer(c->out.len, (void *)(uintptr_t)buf_str(&c->out),
	                                    MHD_RESPMEM_MUST_COPY);
	CHECK(r);
	reply_header(r, "Content-Type", type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED && c->allow[0] != '\0')
		reply_header(r, "Allow", c->allow);
	if ((status == MHD_HTTP_SERVICE_UNAVAILABLE || status == MHD_HTTP_TOO_MANY_REQUESTS) &&
	    c->retry_after_s == 0)
		c->retry_after_s = RETRY_AFTER_S;
	if (c->retry_after_s > 0) {
		char text[16];

		snprintf(text, sizeof text, "%d", c->retry_after_s);
		reply_header(r, "Retry-After", text);
	}
	if (c->err.code == E_AUTH)
		reply_header(r, "WWW-Authenticate", "Bearer realm=\"sirdar\"");
	atomic_fetch_add_explicit(&c->cgi->refusals, 1, memory_order_relaxed);
	return reply_queue(c, status, r);
}
