/* Whose request it is, when it comes through others.
 *
 * Each proxy adds, at the right end, where its own request came from. So the list is read from the
 * right, for as long as who added the entry is a trusted proxy: the first that is none is the
 * client, and whatever stands left of it is what he says himself. Scheme and host are those that
 * the outermost trusted proxy was asked by. What does not read ends the walk. Only the one header
 * that trusted_proxies_header names is looked at: a proxy writes one kind, and passes on the other
 * as a client made it up.
 */
#include "cgi/http/proxy.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "util/alloc.h"
#include "util/check.h"

enum { BITS = 128, BITS_V4 = 96, HOPS_MAX = 32 };

/* IPv4 as it stands in IPv6: ::ffff:a.b.c.d. */
struct at {
	unsigned char b[16];
};

struct network {
	struct at at;
	int bits;
};

struct proxies {
	struct network *networks;
	size_t n;
	bool forwarded; /* RFC 7239, not X-Forwarded-* */
};

/* A part of a header, not terminated. */
struct part {
	const char *p;
	size_t n;
};

struct parts {
	struct part items[HOPS_MAX]; /* the last ones */
	size_t n;
};

/* --- addresses --- */

static const unsigned char v4[BITS_V4 / 8] = { [10] = 0xff, [11] = 0xff };

static bool at_parse(const char *text, struct at *ret)
{
	if (inet_pton(AF_INET6, text, ret->b) == 1)
		return true;
	memcpy(ret->b, v4, sizeof v4);
	return inet_pton(AF_INET, text, ret->b + sizeof v4) == 1;
}

static void at_print(const struct at *at, char ret[INET6_ADDRSTRLEN])
{
	bool is_v4 = memcmp(at->b, v4, sizeof v4) == 0;

	inet_ntop(is_v4 ? AF_INET : AF_INET6, is_v4 ? at->b + sizeof v4 : at->b, ret,
	          INET6_ADDRSTRLEN);
}

static void at_masked(struct at *at, int bits)
{
	for (int i = 0; i < 16; i++) {
		int kept = bits - i * 8;

		if (kept < 8)
			at->b[i] &= (unsigned char)(kept <= 0 ? 0 : 0xff << (8 - kept));
	}
}

static bool at_of(const struct sockaddr *a, struct at *ret)
{
	char text[INET6_ADDRSTRLEN];
	const void *bytes = a && a->sa_family == AF_INET
	                            ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
	                    : a && a->sa_family == AF_INET6
	                            ? (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr
	                            : NULL;

	return bytes && inet_ntop(a->sa_family, bytes, text, sizeof text) && at_parse(text, ret);
}

/* "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80". */
static bool hop_parse(struct part p, struct at *ret)
{
	char text[64];
	size_t n;

	if (p.n == 0 || p.n >= sizeof text)
		return false;
	memcpy(text, p.p, p.n);
	text[p.n] = '\0';
	if (text[0] == '[') {
		n = strcspn(text + 1, "]");
		if (text[n + 1] != ']' || (text[n + 2] != '\0' && text[n + 2] != ':'))
			return false;
		memmove(text, text + 1, n);
		text[n] = '\0';
	} else if (strchr(text, '.') && strchr(text, ':') == strrchr(text, ':')) {
		text[strcspn(text, ":")] = '\0';
	}
	return at_parse(text, ret);
}

/* --- the setting --- */

static int network_read(const char *text, struct network *ret, struct err *err)
{
	char address[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t n = slash ? (size_t)(slash - text) : strlen(text);
	char *end = NULL;
	struct at whole;

	if (n >= sizeof address)
		n = 0;
	snprintf(address, sizeof address, "%.*s", (int)n, text);
	if (!at_parse(address, &ret->at))
		return err_set(err, E_INVALID,
		               "trusted_proxies has '%.80s', want an address or a network "
		               "(192.0.2.7, 10.0.0.0/8, fd00::/8)",
		               text);
	int most = strchr(address, ':') ? BITS : BITS - BITS_V4;
	long bits = slash ? strtol(slash + 1, &end, 10) : most;
	if (slash && (slash[1] < '0' || slash[1] > '9' || *end != '\0' || bits > most))
		return err_set(err, E_INVALID, "trusted_proxies has '%.80s', want /0 to /%d", text,
		               most);
	ret->bits = (int)bits + BITS - most;
	whole = ret->at;
	at_masked(&ret->at, ret->bits);
	if (memcmp(&whole, &ret->at, sizeof whole) != 0) {
		at_print(&ret->at, address);
		return err_set(err, E_INVALID, "trusted_proxies has '%.80s': its network is %s/%ld",
		               text, address, bits);
	}
	return 0;
}

int proxies_read(const struct param_cgi *p, struct proxies **ret, struct err *err)
{
	struct proxies *all = mem_new(sizeof *all);
	int r = 0;

	all->n = p->trusted_proxies.n;
	all->networks = mem_array(all->n > 0 ? all->n : 1, sizeof *all->networks);
	all->forwarded = strcmp(p->trusted_proxies_header, "forwarded") == 0;
	if (!all->forwarded && strcmp(p->trusted_proxies_header, "x-forwarded") != 0)
		r = err_set(err, E_INVALID,
		            "trusted_proxies_header is '%.40s', want x-forwarded or forwarded",
		            p->trusted_proxies_header);
	for (size_t i = 0; i < all->n && r == 0; i++)
		r = network_read(p->trusted_proxies.items[i], &all->networks[i], err);
	if (r < 0) {
		proxies_free(all);
		return r;
	}
	*ret = all;
	return 0;
}

void proxies_free(struct proxies *p)
{
	if (!p)
		return;
	free(p->networks);
	free(p);
}

bool proxies_any(const struct proxies *p)
{
	return p->n > 0;
}

static bool is_trusted(const struct proxies *p, const struct at *at)
{
	for (size_t i = 0; i < p->n; i++) {
		struct at masked = *at;

		at_masked(&masked, p->networks[i].bits);
		if (memcmp(&masked, &p->networks[i].at, sizeof masked) == 0)
			return true;
	}
	return false;
}

/* --- headers --- */

static struct part part_trimmed(const char *p, size_t n)
{
	for (; n > 0 && (*p == ' ' || *p == '\t'); p++)
		n--;
	while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t'))
		n--;
	return (struct part){ p, n };
}

/* Where the part ends that begins here: at `sep`, but not in a quoted string. NULL: such a string
 * has no end, so that nobody can tell who wrote what. */
static const char *part_end(const char *p, const char *end, char sep, bool quotes)
{
	bool within = false;

	for (; p < end && (within || *p != sep); p++) {
		if (quotes && *p == '"')
			within = !within;
		else if (within && *p == '\\' && p + 1 < end)
			p++;
	}
	return within ? NULL : p;
}

/* False: it does not read. */
static bool parts_of(struct part whole, char sep, bool quotes, struct parts *ret)
{
	const char *p = whole.p, *end = whole.p + whole.n;

	ret->n = 0;
	while (p <= end) {
		const char *to = part_end(p, end, sep, quotes);

		if (!to)
			return false;
		if (ret->n == HOPS_MAX)
			memmove(&ret->items[0], &ret->items[1], --ret->n * sizeof ret->items[0]);
		ret->items[ret->n++] = part_trimmed(p, (size_t)(to - p));
		p = to + 1;
	}
	return true;
}

struct gather {
	const char *name;
	struct buf *out;
};

static enum MHD_Result line_gather(void *ctx, enum MHD_ValueKind kind, const char *key,
                                   const char *value)
{
	const struct gather *g = ctx;

	(void)kind;
	if (value && strcasecmp(key, g->name) == 0) {
		if (g->out->len > 0)
			buf_putc(g->out, ',');
		buf_puts(g->out, value);
	}
	return MHD_YES;
}

/* All lines of this name, in their order, as one list. False: none, or it does not read. */
static bool list_of(struct call *c, const char *name, bool quotes, struct buf *text,
                    struct parts *ret)
{
	struct gather g = { name, text };

	buf_clear(text);
	ret->n = 0;
	MHD_get_connection_values(c->conn, MHD_HEADER_KIND, line_gather, &g);
	return text->len > 0 &&
	       parts_of((struct part){ buf_str(text), text->len }, ',', quotes, ret);
}

static void scheme_take(struct call *c, struct part p)
{
	if (p.n == 5 && strncasecmp(p.p, "https", 5) == 0)
		c->https = true;
	else if (p.n == 4 && strncasecmp(p.p, "http", 4) == 0)
		c->https = false;
}

static void host_take(struct call *c, struct part p)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		".-_:[]";

	if (p.n == 0 || p.n >= sizeof c->host)
		return;
	for (size_t i = 0; i < p.n; i++)
		if (!strchr(allowed, p.p[i]))
			return;
	memcpy(c->host, p.p, p.n);
	c->host[p.n] = '\0';
}

/* From the right to who is no proxy of ours. Returns how many entries were walked, at least one. */
static size_t walk(const struct proxies *p, const struct parts *hops, struct at *at)
{
	size_t walked = 0;

	while (walked < hops->n && is_trusted(p, at) &&
	       hop_parse(hops->items[hops->n - 1 - walked], at))
		walked++;
	return walked > 0 ? walked : 1;
}

/* What goes with the hop that many from the right; a proxy that sets one value means all. */
static struct part with_hop(const struct parts *said, size_t walked)
{
	CHECK(said->n > 0 && walked > 0);
	return said->items[said->n > walked ? said->n - walked : 0];
}

static void x_forwarded(struct call *c, struct at *at)
{
	struct parts said;
	struct buf text;

	buf_init(&text);
	list_of(c, "X-Forwarded-For", false, &text, &said);
	size_t walked = walk(c->cgi->proxies, &said, at);
	if (list_of(c, "X-Forwarded-Proto", false, &text, &said))
		scheme_take(c, with_hop(&said, walked));
	if (list_of(c, "X-Forwarded-Host", false, &text, &said))
		host_take(c, with_hop(&said, walked));
	buf_done(&text);
}

/* The value of a pair of an element, without its quotes: into ret. */
static struct part pair_of(const struct parts *pairs, const char *name, char *ret, size_t size)
{
	size_t wanted = strlen(name), n = 0;

	for (size_t i = 0; i < pairs->n; i++) {
		struct part p = pairs->items[i];

		if (p.n <= wanted || p.p[wanted] != '=' || strncasecmp(p.p, name, wanted) != 0)
			continue;
		for (size_t k = wanted + 1; k < p.n && n + 1 < size; k++) {
			if (p.p[k] == '"')
				continue;
			k += p.p[k] == '\\' && k + 1 < p.n;
			ret[n++] = p.p[k];
		}
		break;
	}
	CHECK(n < size);
	return (struct part){ ret, n };
}

static void forwarded(struct call *c, struct at *at)
{
	char value[sizeof c->host] = "";
	struct parts hops, pairs;
	struct buf text;
	bool on;

	buf_init(&text);
	on = list_of(c, "Forwarded", true, &text, &hops);
	for (size_t i = hops.n; on && i > 0 && is_trusted(c->cgi->proxies, at); i--) {
		on = parts_of(hops.items[i - 1], ';', true, &pairs) &&
		     hop_parse(pair_of(&pairs, "for", value, sizeof value), at);
		scheme_take(c, pair_of(&pairs, "proto", value, sizeof value));
		host_take(c, pair_of(&pairs, "host", value, sizeof value));
	}
	buf_done(&text);
}

void proxy_judge(struct call *c, const struct sockaddr *peer)
{
	const struct proxies *p = c->cgi->proxies;
	const char *host = call_header(c, "Host");
	struct at at;

	snprintf(c->host, sizeof c->host, "%s", host ? host : "");
	snprintf(c->address, sizeof c->address, "?");
	c->https = c->cgi->tls;
	if (!at_of(peer, &at))
		return;
	if (is_trusted(p, &at) && p->forwarded)
		forwarded(c, &at);
	else if (is_trusted(p, &at))
		x_forwarded(c, &at);
	at_print(&at, c->address);
}
