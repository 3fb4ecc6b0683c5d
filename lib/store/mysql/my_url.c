/* mysql://USER@HOST[:PORT][,HOST...]/DATABASE?options, read into struct my_url. Parts may be
 * percent-coded. What is wrong is named with what is allowed. Off this machine TLS is verified
 * unless the url says otherwise, and a password never stands in the url: it has a file. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "store/mysql/mysql.h"
#include "util/alloc.h"
#include "util/err.h"

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The text with %XX undone; NULL when it is not well-formed. The caller's. */
static char *url_decode(const char *text, size_t len)
{
	char *out = mem_new(len + 1), *at = out;

	for (size_t i = 0; i < len; i++) {
		if (text[i] != '%') {
			*at++ = text[i];
			continue;
		}
		int hi = i + 2 < len ? nibble(text[i + 1]) : -1;
		int lo = i + 2 < len ? nibble(text[i + 2]) : -1;
		if (hi < 0 || lo < 0 || !(hi | lo)) { /* a NUL would end the text */
			free(out);
			return NULL;
		}
		*at++ = (char)(hi << 4 | lo);
		i += 2;
	}
	return out;
}

static int url_part(const char *name, const char *text, size_t len, char **ret, struct err *err)
{
	char *value = len ? url_decode(text, len) : NULL;

	if (!value)
		return err_set(err, E_INVALID,
		               "store url: %s '%.*s': want mysql://USER@HOST[:PORT]/DATABASE", name,
		               (int)(len < 80 ? len : 80), text);
	free(*ret);
	*ret = value;
	return 0;
}

static int number(const char *name, const char *text, unsigned lo, unsigned hi, unsigned *ret,
                  struct err *err)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || v < lo || v > hi)
		return err_set(err, E_INVALID, "store url: %s '%.40s': want a number from %u to %u",
		               name, text, lo, hi);
	*ret = (unsigned)v;
	return 0;
}

static int option_tls(struct my_url *u, const char *value, struct err *err)
{
	static const char *const names[] = { "off", "require", "verify" };

	for (int i = 0; i < 3; i++)
		if (strcmp(value, names[i]) == 0) {
			u->tls = (enum my_tls)i;
			return 0;
		}
	return err_set(err, E_INVALID, "store url: tls '%.40s': want verify, require or off",
	               value);
}

static int url_option(struct my_url *u, const char *name, char *value, struct err *err)
{
	struct {
		const char *name;
		char **to;
	} texts[] = {
		{ "socket", &u->socket },
		{ "password_file", &u->password_file },
		{ "ca", &u->ca },
	};

	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (strcmp(name, texts[i].name) == 0) {
			free(*texts[i].to);
			*texts[i].to = mem_str(value);
			return 0;
		}
	if (strcmp(name, "tls") == 0)
		return option_tls(u, value, err);
	if (strcmp(name, "rows") == 0) {
		u->is_plain = strcmp(value, "text") == 0;
		return u->is_plain || strcmp(value, "arrays") == 0
		               ? 0
		               : err_set(err, E_INVALID,
		                         "store url: rows '%.40s': want arrays or text", value);
	}
	if (strcmp(name, "timeout") == 0)
		return number("timeout (seconds)", value, 1, 600, &u->timeout_s, err);
	return err_set(err, E_INVALID,
	               "store url: no option '%.40s': there are socket, password_file, ca, tls, "
	               "timeout, rows",
	               name);
}

static int options(struct my_url *u, const char *text, struct err *err)
{
	int r = 0;

	while (*text && r == 0) {
		size_t len = strcspn(text, "&");
		const char *eq = memchr(text, '=', len);
		char *name = eq ? url_decode(text, (size_t)(eq - text)) : NULL;
		char *value = eq ? url_decode(eq + 1, len - (size_t)(eq + 1 - text)) : NULL;

		if (name && value)
			r = url_option(u, name, value, err);
		else
			r = err_set(err, E_INVALID, "store url: '%.*s': want name=value",
			            (int)(len < 80 ? len : 80), text);
		free(name);
		free(value);
		text += len + (text[len] == '&');
	}
	return r;
}

/* This machine, by a name that cannot mean another. */
static bool is_local(const struct my_url *u)
{
	for (size_t i = 0; i < u->n_hosts && !u->socket; i++) {
		const char *name = u->hosts[i].name;

		if (strcasecmp(name, "localhost") != 0 && strncmp(name, "127.", 4) != 0 &&
		    strcmp(name, "::1") != 0)
			return false;
	}
	return true;
}

static int host_and_port(struct my_host *u, const char *text, size_t len, struct err *err)
{
	const char *end = text + len, *colon = NULL, *close;
	char *port;
	int r;

	if (len && *text == '[' && (close = memchr(text, ']', len))) {
		r = url_part("host", text + 1, (size_t)(close - text - 1), &u->name, err);
		colon = close + 1 < end && close[1] == ':' ? close + 1 : NULL;
	} else {
		colon = memchr(text, ':', len);
		r = url_part("host", text, colon ? (size_t)(colon - text) : len, &u->name, err);
	}
	if (r < 0 || !colon)
		return r;
	port = mem_strn(colon + 1, (size_t)(end - colon - 1));
	r = number("port", port, 1, 65535, &u->port, err);
	free(port);
	return r;
}

/* HOST[:PORT][,HOST[:PORT]...] */
static int hosts(struct my_url *u, const char *text, size_t len, struct err *err)
{
	const char *end = text + len;
	int r = 0;

	do {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma ? comma : end;

		if (u->n_hosts == MY_HOSTS_MAX)
			return err_set(err, E_INVALID, "store url: more than %d hosts",
			               MY_HOSTS_MAX);
		u->hosts[u->n_hosts].port = 3306;
		r = host_and_port(&u->hosts[u->n_hosts++], text, (size_t)(stop - text), err);
		text = comma ? comma + 1 : NULL;
	} while (r == 0 && text);
	return r;
}

int my_url_parse(const char *rest, struct my_url *ret, struct err *err)
{
	struct my_url u = { .timeout_s = 10, .tls = MY_TLS_VERIFY };
	const char *at = strncmp(rest, "//", 2) == 0 ? rest + 2 : "";
	size_t authority = strcspn(at, "/?");
	const char *user_end = memchr(at, '@', authority);
	const char *base = at[authority] == '/' ? at + authority + 1 : "";
	size_t base_len = strcspn(base, "?");
	bool chosen = strstr(rest, "tls=") != NULL;
	int r = url_part("user", at, user_end ? (size_t)(user_end - at) : 0, &u.user, err);

	if (r == 0)
		r = hosts(&u, user_end + 1, authority - (size_t)(user_end + 1 - at), err);
	if (r == 0)
		r = url_part("database", base, base_len, &u.database, err);
	if (r == 0 && base[base_len] == '?')
		r = options(&u, base + base_len + 1, err);
	/* Off this machine nothing goes in the clear unless it is asked for by name. */
	if (r == 0 && !chosen && is_local(&u))
		u.tls = MY_TLS_OFF;
	if (r < 0) {
		my_url_done(&u);
		return r;
	}
	*ret = u;
	return 0;
}

void my_url_done(struct my_url *u)
{
	free(u->user);
	for (size_t i = 0; i < u->n_hosts; i++)
		free(u->hosts[i].name);
	free(u->database);
	free(u->socket);
	free(u->password_file);
	free(u->ca);
	*u = (struct my_url){ 0 };
}
