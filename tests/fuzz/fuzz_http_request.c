/* Requests to the HTTP face, from the request line on.
 *
 * Byte 0 chooses. Even: a whole request is built from what follows, so that most of them reach a
 * handler: method, route (of the table), its parameters, arguments, headers, body, each taken from
 * the input and each wrong now and then. Odd: bytes as they are; `@` in the place of a token is
 * one. */
#include "cgi/handlers/route.h"
#include "tests/fuzz/face.h"

struct input {
	const uint8_t *at;
	size_t left;
};

static unsigned take(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* Some bytes as they are, but for what would end the line: that is for the raw half. */
static void take_text(struct input *in, struct buf *out, size_t max, bool spaces)
{
	size_t n = take(in) % (max + 1);

	for (; n > 0 && in->left > 0; n--) {
		uint8_t c = (uint8_t)take(in);
		if (c >= 0x20 && (spaces || c != ' '))
			buf_put(out, &c, 1);
	}
}

#define PICK(in, list) ((list)[take(in) % (sizeof(list) / sizeof((list)[0]))])

static const char *const values[] = { "1.1772323200",
	                              "p%2Fw%2Ft",
	                              "p/w",
	                              "1",
	                              "0",
	                              "-1",
	                              "18446744073709551616",
	                              "2026-03-01",
	                              "2026-03-01T00:00:00Z",
	                              "Succ,Failed",
	                              "%00",
	                              "%2e%2e%2f",
	                              "%e4%bd%a0",
	                              "true",
	                              "" };

static void put_value(struct input *in, struct buf *out)
{
	if (take(in) & 1)
		buf_puts(out, PICK(in, values));
	else
		take_text(in, out, 40, false);
}

static void put_path(struct input *in, const char *pattern, struct buf *out)
{
	for (; *pattern; pattern++) {
		if (*pattern != '{') {
			buf_putc(out, *pattern);
			continue;
		}
		put_value(in, out);
		pattern = strchr(pattern, '}');
	}
}

static void put_arguments(struct input *in, struct buf *out)
{
	static const char *const names[] = {
		"limit", "cursor", "order",   "sort",   "fields",   "task",     "states", "from",
		"to",    "lines",  "bytes",   "offset", "name",     "workflow", "dates",  "q",
		"date",  "kind",   "project", "days",   "download", "version",  "token",  "page",
	};

	for (unsigned n = take(in) % 4, i = 0; i < n; i++) {
		buf_putc(out, i ? '&' : '?');
		if (take(in) % 8)
			buf_puts(out, PICK(in, names));
		else
			take_text(in, out, 12, false);
		buf_putc(out, '=');
		put_value(in, out);
	}
}

static void put_headers(struct input *in, const struct fuzz_face *f, struct buf *out)
{
	static const char *const names[] = {
		"If-None-Match", "If-Match",     "Last-Event-ID", "Origin",  "Cookie",
		"X-CSRF-Token",  "Accept",       "Expect",        "Range",   "Authorization",
		"traceparent",   "Content-Type", "X-Request-Id",  "Upgrade", "Forwarded",
	};
	static const char *const codings[] = { "gzip", "zstd", "gzip, zstd;q=0.1", "identity;q=0",
		                               "*;q=0" };
	unsigned which = take(in);

	if (which & 7)
		buf_printf(out, "Authorization: Bearer %s\r\n", f->token);
	if (which & 8)
		buf_printf(out, "Accept-Encoding: %s\r\n", PICK(in, codings));
	for (unsigned n = which >> 4 & 3; n > 0; n--) {
		buf_printf(out, "%s: ", PICK(in, names));
		take_text(in, out, 60, true);
		buf_puts(out, "\r\n");
	}
}

static void put_body(struct input *in, struct buf *out)
{
	static const char *const keys[] = {
		"kind", "args", "selection", "tasks", "from",    "to",         "documents", "text",
		"name", "role", "password",  "user",  "dry_run", "request_id", "projects",  "days",
	};

	if (take(in) & 1) {
		take_text(in, out, 250, true);
		return;
	}
	buf_putc(out, '{');
	for (unsigned n = take(in) % 5, i = 0; i < n; i++) {
		buf_printf(out, "%s\"%s\":", i ? "," : "", PICK(in, keys));
		if (take(in) % 4)
			buf_printf(out, "\"%s\"", PICK(in, values));
		else
			take_text(in, out, 60, true);
	}
	buf_putc(out, '}');
}

static void put_framed(struct input *in, const struct buf *body, struct buf *out)
{
	unsigned how = take(in) % 16;

	if (how == 0) { /* chunks */
		buf_puts(out, "Transfer-Encoding: chunked\r\n\r\n");
		if (body->len) {
			buf_printf(out, "%zx\r\n", body->len);
			buf_put(out, buf_at(body), body->len);
			buf_puts(out, "\r\n");
		}
		buf_puts(out, "0\r\n\r\n");
		return;
	}
	buf_printf(out, "Content-Length: %zu\r\n\r\n", how == 1 ? body->len / 2 : body->len);
	if (body->len)
		buf_put(out, buf_at(body), body->len);
}

static void build(struct input *in, const struct fuzz_face *f, struct buf *out)
{
	static const char *const methods[] = { "GET",  "POST",  "PUT",    "DELETE",
		                               "HEAD", "PATCH", "OPTIONS" };
	const struct route *r = &f->cgi.routes->items[take(in) % f->cgi.routes->n];
	unsigned off = take(in);
	struct buf body;

	buf_init(&body);
	buf_printf(out, "%s ", off % 8 ? r->method : PICK(in, methods));
	put_path(in, r->path, out);
	put_arguments(in, out);
	buf_puts(out, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
	put_headers(in, f, out);
	if (strcmp(r->method, "GET") != 0 || off % 16 == 1)
		put_body(in, &body);
	if (body.len)
		buf_puts(out, off & 16 ? "Content-Type: application/x-www-form-urlencoded\r\n"
		                       : "Content-Type: application/json\r\n");
	put_framed(in, &body, out);
	buf_done(&body);
}

static void raw(struct input *in, const struct fuzz_face *f, struct buf *out)
{
	for (size_t i = 0; i < in->left; i++) {
		if (in->at[i] == '@' && i > 7 && memcmp(in->at + i - 7, "Bearer ", 7) == 0)
			buf_puts(out, f->token);
		else
			buf_put(out, in->at + i, 1);
	}
}

/* 25 ms each for a password's hash; and a stream does not end. */
static bool is_slow(const struct buf *b)
{
	return memmem(buf_at(b), b->len, "login", 5) || memmem(buf_at(b), b->len, "events", 6) ||
	       memmem(buf_at(b), b->len, "follow", 6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct fuzz_face *f = fuzz_face();
	struct input in = { data + 1, bytes - 1 };
	struct buf b;

	if (bytes == 0)
		return 0;
	buf_init(&b);
	(data[0] & 1 ? raw : build)(&in, f, &b);
	if (b.len && (data[0] & 1 || !is_slow(&b)))
		fuzz_send(buf_at(&b), b.len);
	buf_done(&b);
	return 0;
}
