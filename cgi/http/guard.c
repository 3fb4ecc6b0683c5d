/* What is refused by the head alone, before any handler runs: what two programs might read
 * differently (lengths, codings, hosts, header names, characters of the target), bodies that
 * are too large, and changes that another site's page sent with a person's cookie. It decides
 * by the request and the settings only, never by who asks: that is cgi/who. */
#include "cgi/http/guard.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "util/log.h"

struct seen {
	unsigned lengths, codings, hosts, cookies, authorizations;
	bool odd_name, odd_end;
	const char *from, *to; /* the head as it was read; NULL: it is not known where */
	const char *length;
};

static bool name_is_token(const char *p)
{
	if (*p == '\0')
		return false;
	for (; *p != '\0'; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9') || strchr("!#$%&'*+-.^_`|~", *p)))
			return false;
	return true;
}

static bool has_control(const char *p)
{
	for (; *p != '\0'; p++)
		if ((unsigned char)*p < 0x20 ? *p != '\t' : *p == 0x7f)
			return true;
	return false;
}

/* Does a line of the head end where its text ends, in CR LF? libmicrohttpd 0.9.75 takes a bare LF
 * and a NUL for an end too, and has no option against that: what stands before a NUL is all it
 * tells. But it cuts the lines where it read them, each byte of an end becomes a NUL: two of them
 * are a CR LF, and four, the empty line's too, end the head. A folded line, and what lies
 * elsewhere, has another end: refused. */
static bool end_is_odd(const struct seen *s, const char *text)
{
	size_t nuls = 0;

	if (!s->from)
		return false;
	if (text < s->from || text >= s->to)
		return true;
	for (text += strlen(text); text < s->to && *text == '\0'; text++)
		nuls++;
	return nuls != (text < s->to ? 2 : 4);
}

/* Another release keeps its lines otherwise; later ones have MHD_OPTION_CLIENT_DISCIPLINE_LVL. */
static bool lines_are_known(void)
{
	return strcmp(MHD_get_version(), "0.9.75") == 0;
}

static enum MHD_Result header_see(void *ctx, enum MHD_ValueKind kind, const char *key,
                                  const char *value)
{
	struct seen *s = ctx;

	(void)kind;
	if (strcasecmp(key, "Content-Length") == 0) {
		s->lengths++;
		s->length = value;
	}
	s->codings += strcasecmp(key, "Transfer-Encoding") == 0;
	s->hosts += strcasecmp(key, "Host") == 0;
	s->cookies += strcasecmp(key, "Cookie") == 0;
	s->authorizations += strcasecmp(key, "Authorization") == 0;
	s->odd_name |= !name_is_token(key);
	s->odd_name |= value && has_control(value);
	s->odd_end |= value && end_is_odd(s, value);
	return MHD_YES;
}

static bool digits_only(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n > 0 && n <= 15 && s[n] == '\0';
}

static int guard_refuse(struct call *c, int status, const char *place, const char *text)
{
	c->refused = true;
	c->error_status = status;
	log_debug("http.refused", "request=%s status=%d place=%s why=\"%s\"", c->request_id, status,
	          place, text);
	return call_fail(c, E_PROTOCOL, place, "%s", text);
}

static int guard_target(struct call *c)
{
	size_t n = strlen(c->raw);

	if (n > 4096)
		return guard_refuse(c, 414, "target",
		                    "the request target is longer than 4096 bytes");
	if (c->raw[0] != '/')
		return guard_refuse(c, 400, "target", "the request target does not begin with '/'");
	if (strstr(c->raw, "%00"))
		return guard_refuse(c, 400, "target", "NUL in the request target");
	for (const unsigned char *p = (const unsigned char *)c->raw; *p != '\0'; p++)
		if (*p <= 0x20 || *p >= 0x7f || *p == '\\' || *p == '#')
			return guard_refuse(c, 400, "target",
			                    "the address has a character that is sent as %XX only");
	return 0;
}

/* The request line: the method reaches to the target, that to the version, which ends the line. */
static int guard_line(struct call *c, const struct seen *s, const char *version)
{
	if (!s->from)
		return 0;
	if (c->target != s->from + strlen(s->from) + 1 || version != c->target + strlen(c->raw) + 1)
		return guard_refuse(c, 400, "target", "NUL or a second blank in the request line");
	if (end_is_odd(s, version))
		return guard_refuse(c, 400, "target", "a line of the head does not end with CR LF");
	return 0;
}

/* Where the head lies, if it is kept as we know it. Without a version there is no head. */
static void head_find(struct call *c, const char *method, const char *version, struct seen *s)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		c->conn, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	if (!lines_are_known() || !info || version[0] == '\0')
		return;
	s->from = method;
	s->to = version > method ? method + info->header_size : method; /* elsewhere: all is odd */
}

int guard_head(struct call *c, const char *method, const char *version)
{
	struct seen s = { 0 };
	int r = guard_target(c);

	head_find(c, method, version, &s);
	if (r == 0)
		r = guard_line(c, &s, version);
	if (r < 0)
		return r;
	MHD_get_connection_values(c->conn, MHD_HEADER_KIND, header_see, &s);
	if (s.odd_name)
		return guard_refuse(
			c, 400, "headers",
			"a header's name is not a token, or it holds control characters");
	if (s.odd_end)
		return guard_refuse(c, 400, "headers",
		                    "a header has a NUL, or does not end with CR LF");
	if (s.codings > 0)
		return guard_refuse(c, 400, "Transfer-Encoding",
		                    "transfer codings are not taken here");
	if (s.lengths > 1 || (s.lengths == 1 && !digits_only(s.length)))
		return guard_refuse(c, 400, "Content-Length",
		                    "want one Content-Length, a plain number");
	if (s.hosts != 1)
		return guard_refuse(c, 400, "Host", "want one Host header");
	if (s.cookies > 1 || s.authorizations > 1)
		return guard_refuse(c, 400, "headers", "Cookie or Authorization twice");
	return 0;
}

static long long length_of(struct call *c)
{
	const char *length = call_header(c, "Content-Length");

	return length ? strtoll(length, NULL, 10) : 0;
}

int guard_length(struct call *c)
{
	int64_t usual = param_now(c->cgi->param.request_bytes_max);
	int64_t large = param_now(c->cgi->param.apply_bytes_max);

	c->body_max = (size_t)(c->route->flags & RF_LARGE && large > usual ? large : usual);
	if (length_of(c) <= (long long)c->body_max)
		return 0;
	c->refused = true;
	return call_fail(c, E_TOO_BIG, "body", "the body is larger than %zu bytes", c->body_max);
}

int guard_large(struct call *c)
{
	unsigned most = (unsigned)param_now(c->cgi->param.applies_max);

	if (length_of(c) <= param_now(c->cgi->param.request_bytes_max))
		return 0;
	c->large = true; /* counted until the call is done, also when it is refused */
	if (atomic_fetch_add(&c->cgi->large, 1) < most)
		return 0;
	c->refused = true;
	c->retry_after_s = 1;
	return call_fail(c, E_BUSY, "body",
	                 "%u bodies of this size are being read already (applies_max)", most);
}

int guard_origin(struct call *c)
{
	const char *origin = call_header(c, "Origin");
	const char *site = call_header(c, "Sec-Fetch-Site");
	char want[320];

	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return call_fail(c, E_FORBIDDEN, "Sec-Fetch-Site",
		                 "the request comes from another site");
	if (!origin)
		return 0;
	snprintf(want, sizeof want, "%s://%s", c->https ? "https" : "http", c->host);
	if (strcmp(origin, want) == 0)
		return 0;
	/* A proxy that ends TLS makes the two differ: what the cgi took itself for is the clue. */
	snprintf(c->hint, sizeof c->hint,
	         "this is %.150s; behind a proxy that ends TLS: trusted_proxies", want);
	return call_fail(c, E_FORBIDDEN, "Origin", "the request comes from another site");
}

int guard_csrf(struct call *c, const char *csrf)
{
	const char *given = call_header(c, "X-CSRF-Token");

	if (guard_origin(c) < 0)
		return c->err.code;
	if (!given || strlen(given) != strlen(csrf) ||
	    sodium_memcmp(given, csrf, strlen(csrf)) != 0)
		return call_fail(c, E_FORBIDDEN, "X-CSRF-Token",
		                 "a change with a session cookie needs the session's CSRF token");
	return 0;
}
