/* Which addresses a job may reach: the rules of the machine's egress file, the first that fits,
 * else everything that is not the public internet is refused. IPv4 within IPv6 is judged as what
 * it reaches; addresses that hand out credentials need a rule that names that one address. A file
 * that cannot be read whole refuses everything. */
#include "runners/common/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runners/common/run.h"
#include "sirdar/apart.h"

#define FILE_DEFAULT   "/etc/sirdar/egress.conf"
#define FILE_BYTES_MAX 65536
#define FILE_MARK      "#file " /* the first line of what guard_text() gives: where it is from */

/* What is not the public internet, after the IANA special-purpose registries. */
static const struct block {
	const char *address;
	unsigned bits;
	const char *what;
} blocks[] = {
	{ "::ffff:0.0.0.0", 104, "unspecified" },
	{ "::ffff:10.0.0.0", 104, "private" },
	{ "::ffff:100.64.0.0", 106, "private (carrier)" },
	{ "::ffff:127.0.0.0", 104, "loopback" },
	{ "::ffff:169.254.0.0", 112, "link-local" },
	{ "::ffff:172.16.0.0", 108, "private" },
	{ "::ffff:192.0.0.0", 120, "reserved" },
	{ "::ffff:192.0.2.0", 120, "reserved" },
	{ "::ffff:192.88.99.0", 120, "reserved" },
	{ "::ffff:192.168.0.0", 112, "private" },
	{ "::ffff:198.18.0.0", 111, "reserved" },
	{ "::ffff:198.51.100.0", 120, "reserved" },
	{ "::ffff:203.0.113.0", 120, "reserved" },
	{ "::ffff:224.0.0.0", 100, "multicast" },
	{ "::ffff:240.0.0.0", 100, "reserved" },
	{ "::1", 128, "loopback" },
	{ "64:ff9b:1::", 48, "private (translated)" },
	{ "100::", 64, "reserved" },
	{ "2001::", 23, "reserved" },
	{ "2001:db8::", 32, "reserved" },
	{ "2002::", 16, "reserved (6to4)" },
	{ "fc00::", 7, "private" },
	{ "fe80::", 10, "link-local" },
	{ "fec0::", 10, "private" },
	{ "ff00::", 8, "multicast" },
};

/* Where clouds hand out credentials: only a rule that names the one address allows these. */
static const char *const metadata[] = { "::ffff:169.254.169.254", "::ffff:169.254.170.2",
	                                "::ffff:100.100.100.200", "::ffff:168.63.129.16",
	                                "::ffff:192.0.0.192",     "fd00:ec2::254" };

static bool guard_within(const unsigned char *a, const unsigned char *net, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(a, net, whole) != 0)
		return false;
	return !rest || (a[whole] ^ net[whole]) >> (8 - rest) == 0;
}

static bool within_text(const unsigned char *a, const char *net, unsigned bits)
{
	unsigned char parsed[16];

	return inet_pton(AF_INET6, net, parsed) == 1 && guard_within(a, parsed, bits);
}

/* IPv4 that is spelt as IPv6 is judged as what it reaches. */
static void unwrap(unsigned char *a)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (within_text(a, "64:ff9b::", 96) ||
	    (within_text(a, "::", 96) && !within_text(a, "::1", 128)))
		memcpy(a, mapped, sizeof mapped);
}

static bool read_address(const struct sockaddr *to, unsigned char *ret, unsigned *ret_port)
{
	if (to->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, to, sizeof in);
		memset(ret, 0, 10);
		memset(ret + 10, 0xff, 2);
		memcpy(ret + 12, &in.sin_addr, 4);
		*ret_port = ntohs(in.sin_port);
		return true;
	}
	if (to->sa_family != AF_INET6)
		return false;
	struct sockaddr_in6 in6;

	memcpy(&in6, to, sizeof in6);
	memcpy(ret, &in6.sin6_addr, 16);
	*ret_port = ntohs(in6.sin6_port);
	unwrap(ret);
	return true;
}

static bool is_metadata(const unsigned char *a)
{
	for (size_t i = 0; i < sizeof metadata / sizeof *metadata; i++) {
		if (within_text(a, metadata[i], 128))
			return true;
	}
	return false;
}

const char *guard_refuses(const struct guard *g, const struct sockaddr *to)
{
	unsigned char a[16];
	unsigned port;

	if (!read_address(to, a, &port))
		return "not an internet";
	const bool is_secret = is_metadata(a);

	for (size_t i = 0; i < g->n; i++) {
		const struct guard_rule *rule = &g->rules[i];

		if (rule->path[0] || !guard_within(a, rule->address, rule->bits) ||
		    (rule->port && rule->port != port))
			continue;
		if (!rule->allows)
			return "denied";
		if (!is_secret || rule->bits == 128)
			return NULL;
	}
	if (is_secret)
		return "metadata";
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		if (within_text(a, blocks[i].address, blocks[i].bits))
			return blocks[i].what;
	}
	return NULL;
}

/* ADDRESS[/BITS] */
static bool parse_net(char *text, struct guard_rule *rule)
{
	char *slash = strchr(text, '/'), mapped[64];
	const bool is_4 = !strchr(text, ':');
	int64_t bits = is_4 ? 32 : 128;

	if (slash) {
		*slash = 0;
		if (!text_number(slash + 1, &bits) || bits < 0 || bits > (is_4 ? 32 : 128))
			return false;
	}
	snprintf(mapped, sizeof mapped, "%s%s", is_4 ? "::ffff:" : "", text);
	if (inet_pton(AF_INET6, mapped, rule->address) != 1)
		return false;
	rule->bits = (unsigned)bits + (is_4 ? 96 : 0);
	return true;
}

/* A folder is one for all that is in it. */
static bool is_under(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (!path[len] || path[len] == '/');
}

/* Names are looked up there, by libc and its modules. */
static const char *const resolvers[] = { "/run/systemd/resolve", "/run/systemd/userdb", "/run/nscd",
	                                 "/run/avahi-daemon", "/var/lib/sss/pipes" };

const char *guard_refuses_local(const struct guard *g, const char *path)
{
	/* One that is not there is judged by its name: connect() says the rest. */
	char *there = realpath(path, NULL);
	const char *real = there ? there : path, *why = "local socket";

	if (!there && (errno != ENOENT || strstr(path, "..")))
		return why;
	for (size_t i = 0; i < g->n; i++) {
		const struct guard_rule *rule = &g->rules[i];
		char *folder = rule->path[0] ? realpath(rule->path, NULL) : NULL;
		const bool fits = rule->path[0] && (is_under(real, rule->path) ||
		                                    (folder && is_under(real, folder)));

		free(folder);
		if (fits) {
			why = rule->allows ? NULL : "denied local socket";
			goto out;
		}
	}
	for (size_t i = 0; i < sizeof resolvers / sizeof *resolvers; i++) {
		if (is_under(real, resolvers[i]))
			why = NULL;
	}
out:
	free(there);
	return why;
}

/* `allow NET [PORT]`, `deny NET [PORT]`, `allow /PATH`, `deny /PATH`. NULL, or what is wrong. */
static const char *parse_line(struct guard *g, char *line)
{
	char *words[4] = { 0 };
	struct guard_rule rule = { 0 };
	int64_t port = 0;
	size_t n = 0;

	for (char *p = line; n < 4 && (words[n] = strsep(&p, " \t\r"), words[n]);)
		n += words[n][0] != 0;
	if (n == 0)
		return NULL;
	if (n < 2 || n > 3 || (strcmp(words[0], "allow") != 0 && strcmp(words[0], "deny") != 0))
		return "want allow or deny, an address[/bits], and perhaps a port";
	rule.allows = words[0][0] == 'a';
	if (words[1][0] == '/' && (n == 3 || strlen(words[1]) >= sizeof rule.path))
		return "that is no path of a local socket";
	if (words[1][0] == '/')
		snprintf(rule.path, sizeof rule.path, "%s", words[1]);
	else if (!parse_net(words[1], &rule))
		return "that is no address, or no length of a prefix";
	if (n == 3 && (!text_number(words[2], &port) || port < 1 || port > 65535))
		return "want a port from 1 to 65535";
	if (g->n == GUARD_RULES_MAX)
		return "too many rules";
	rule.port = (unsigned)port;
	g->rules[g->n++] = rule;
	return NULL;
}

int guard_parse(struct guard *g, char *text, const char *name, char *ret_why, size_t why_bytes)
{
	g->n = 0;
	for (unsigned number = 1; text; number++) {
		char *line = strsep(&text, "\n");

		line[strcspn(line, "#")] = 0;
		const char *wrong = parse_line(g, line);

		if (wrong) {
			snprintf(ret_why, why_bytes, "%s:%u: %s", name, number, wrong);
			g->n = 0;
			return -1;
		}
	}
	return 0;
}

static int read_whole(int fd, char *buffer, size_t cap)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, buffer + len, cap - 1 - len)) > 0)
		len += (size_t)n;
	buffer[len] = 0;
	return n < 0 || len == cap - 1 ? -1 : 0;
}

static bool others_may_write(const char *at)
{
	struct stat st;

	if (lstat(at, &st) < 0 || (st.st_uid != 0 && st.st_uid != geteuid()))
		return true;
	if (S_ISLNK(st.st_mode) || (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX)))
		return false;
	return st.st_mode & S_IWOTH ||
	       (st.st_mode & S_IWGRP && (st.st_gid != getegid() || geteuid() == 0));
}

/* The rule of lib/util/trust.h, which no plugin may include. True: `path` ends with the fault. */
static bool way_is_open(char *path)
{
	for (char *at = path; *at;) {
		at += strspn(at, "/");
		at += strcspn(at, "/");
		char was = *at;

		*at = 0;
		if (others_may_write(path))
			return true;
		*at = was;
	}
	return false;
}

/* As it is named and as it is: a link is a way of its own. */
static bool is_open(const char *path, char *ret_why, size_t why_bytes)
{
	char *ways[] = { strdup(path), realpath(path, NULL) };
	bool is = !ways[0] || !ways[1];

	for (size_t i = 0; i < 2 && !is; i++) {
		is = way_is_open(ways[i]);
		if (is)
			snprintf(ret_why, why_bytes,
			         "%s: others may write it, or it is a stranger's (chown root, "
			         "chmod go-w)",
			         ways[i]);
	}
	free(ways[0]);
	free(ways[1]);
	return is;
}

int guard_text(char **ret_text, char *ret_why, size_t why_bytes)
{
	const char *named = getenv("SIRDAR_EGRESS"), *path = named ? named : FILE_DEFAULT;
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = -1;
	size_t head = strlen(FILE_MARK) + strlen(path) + 1;
	char *text = calloc(1, head + FILE_BYTES_MAX);

	if (text) /* with its NUL, which what is read replaces */
		snprintf(text, head + 1, FILE_MARK "%s\n", path);
	snprintf(ret_why, why_bytes, "%s: cannot be read", path);
	if (fd < 0 && errno == ENOENT && !named && text) {
		r = 0;
	} else if (fd >= 0 && !is_open(path, ret_why, why_bytes)) {
		r = text ? read_whole(fd, text + head, FILE_BYTES_MAX) : -1;
		if (r < 0)
			snprintf(ret_why, why_bytes, "%s: cannot be read whole, or is too long",
			         path);
	}
	if (fd >= 0)
		close(fd);
	if (r < 0)
		free(text), text = NULL;
	*ret_text = text;
	return r;
}

int guard_read(struct guard *g, const struct run *r, char *ret_why, size_t why_bytes)
{
	char *text = run_param(r, RUNNER_APART_EGRESS);
	int code = text ? 0 : guard_text(&text, ret_why, why_bytes);
	bool is_marked = text && strncmp(text, FILE_MARK, strlen(FILE_MARK)) == 0;
	const char *said = is_marked ? text + strlen(FILE_MARK) : FILE_DEFAULT;
	size_t length = strcspn(said, "\n");

	snprintf(g->file, sizeof g->file, "%.*s", (int)length, said);
	g->n = 0;
	if (code == 0)
		code = guard_parse(g,
		                   is_marked ? text + strlen(FILE_MARK) + length +
		                                       (said[length] == '\n')
		                             : text,
		                   g->file, ret_why, why_bytes);
	free(text);
	return code;
}
