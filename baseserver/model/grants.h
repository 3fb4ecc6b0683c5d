/* grants.h — what a person, or a token, may do, and in which projects.
 *
 * As the documents say it: a person's own role and rights and those of his groups, each in its own
 * projects only; a token takes from that and never adds. Plain data, borrowed; one actor's.
 */
#ifndef BASESERVER_GRANTS_H
#define BASESERVER_GRANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "baseserver/model/command.h"
#include "baseserver/model/docs.h"
#include "baseserver/model/peers.h"

struct grantee {
	const char *name;          /* the person's; "" of an app or token that is nobody's */
	const struct jval *person; /* NULL: nobody's */
	const struct jval *token;  /* NULL: the person himself */
	const struct docs *groups;
};

/* The highest role that he has anywhere; LEAST_COUNT: none. */
enum least grants_role(const struct grantee *g);
/* In this project (NULL: in all) he has a role of at least that and the right (NULL: none). */
bool grants_have(const struct grantee *g, const char *project, enum least least, const char *right);
/* Is it over? now_s: wall */
bool token_over(const struct jval *token, int64_t now_s);

/* Somebody who may sign in and is an administrator by the documents? */
bool grants_any_admin(const struct docs *people, const struct docs *groups);
/* Whom may this face assert? `docs` by their kind. Where nobody has said it: anybody, until the
 * server knows an administrator of its own, with a password that it judges itself, or has the
 * person `admin`; from then on those of directories alone. */
enum asserts grants_asserts(const struct docs *docs, const char *face);

#endif
