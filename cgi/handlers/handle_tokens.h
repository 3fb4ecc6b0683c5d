/* handle_tokens.h — tokens of people and keys of apps: made, for those handlers that do. */
#ifndef CGI_HANDLE_TOKENS_H
#define CGI_HANDLE_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "cgi/who/auth.h"

struct call;

struct token_new {
	char name[64], owner[64]; /* owner "": nobody's */
	char token[AUTH_TEXT_MAX];
	enum role role;
	int64_t since;       /* the owner's, when he was let in */
	int64_t days;        /* 0: until it is ended */
	bool is_app, as_app; /* as_app: asked for as one of /api/v1/apps */
	char *projects,
		*rights; /* JSON lists, freed by token_keep(); NULL: as the owner has them */
};

/* name, role and days of the body; `role` ROLE_NONE when it is not said. E_INVALID */
int token_members(struct call *c, struct token_new *t, bool name_required);
/* The server is told the hash of a fresh one; `then` finds it in t->token, known to every thread.
 * c->extra is `t`, or begins with it. */
int token_keep(struct call *c, struct token_new *t, int (*then)(struct call *c));

/* admin has a new password: the tokens that he made end, as a person's do; `then` goes on with
 * c->out empty. Keys of apps and tokens made on a machine stay. E_* with words for him: the
 * password is changed all the same. */
int tokens_of_admin_end(struct call *c, int (*then)(struct call *c));

#endif
