/* guard.h — which addresses jobs of this machine may connect to.
 *
 * Private, loopback, link-local, reserved and metadata addresses and local sockets are refused
 * unless the machine's own file allows them; a task cannot. The file is $SIRDAR_EGRESS of the
 * broker's environment, else /etc/sirdar/egress.conf; runners/http/README.md has its form. Asked
 * with the address itself, at connect time: names, redirects and changing DNS answers make no
 * difference.
 */
#ifndef RUNNERS_GUARD_H
#define RUNNERS_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define GUARD_RULES_MAX 256

struct run;
struct sockaddr;

/* IPv4 is kept as ::ffff:a.b.c.d. */
struct guard_rule {
	char path[108]; /* of a local socket, or a folder of them; "": an address */
	unsigned char address[16];
	unsigned bits;
	unsigned port; /* 0: any */
	bool allows;
};

struct guard {
	struct guard_rule rules[GUARD_RULES_MAX];
	size_t n;
	char file[200]; /* where the rules are, for refusals */
};

/* Read the machine's file, or what the host says of it to a process of the job's own (apart.h); no
 * file at the usual place is an empty one.
 * -1: it is not right, *ret_why says where; nothing is allowed then. */
int guard_read(struct guard *g, const struct run *r, char *ret_why, size_t why_bytes);
/* The file's text alone, not judged, below a line that says which file it is; the caller's. */
int guard_text(char **ret_text, char *ret_why, size_t why_bytes);
/* The lines of such a file. `name` is for *ret_why. */
int guard_parse(struct guard *g, char *text, const char *name, char *ret_why, size_t why_bytes);

/* NULL: it may be connected to; else what kind of address it is. */
const char *guard_refuses(const struct guard *g, const struct sockaddr *to);
/* The same of a local socket, by where its path really leads. */
const char *guard_refuses_local(const struct guard *g, const char *path);

#endif
