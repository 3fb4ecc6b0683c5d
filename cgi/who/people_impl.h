/* people_impl.h — shared by people.c, people_read.c and grants.c only. */
#ifndef CGI_PEOPLE_IMPL_H
#define CGI_PEOPLE_IMPL_H

#include <stdatomic.h>

#include "cgi/who/people.h"

enum { ROSTER_KINDS = 6 };

/* A second factor that counts. */
struct factor {
	char name[USER_NAME_MAX]; /* the person's */
	int64_t mark;
};

/* Everybody as read at one time. Persons by name, tokens and sessions by hash, ascending. */
struct roster {
	_Atomic unsigned refs;
	uint64_t changes[ROSTER_KINDS];
	struct person *persons;
	struct group *groups;
	struct token *tokens;
	struct factor *factors;
	struct kept_session *sessions;
	size_t n_persons, n_groups, n_tokens, n_factors, n_sessions;
	bool binds_reading; /* the installation binds reading to projects */
};

int roster__read(struct reader *r, struct roster **ret, struct err *err);
void roster__unref(struct roster *r); /* NULL is fine */

struct cJSON;
/* An admin has all rights, and is bound to no project. */
void grant__read(const struct cJSON *root, enum role role, struct grant *ret);
void grant__done(struct grant *g);

#endif
