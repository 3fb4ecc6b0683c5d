/* people.h — who may sign in, and what they may do: users, groups and tokens of the store, in
 * memory.
 *
 * Loaded on a thread that reads as one roster that never changes; asked on the HTTP and hash
 * threads, which hold what they got. What changed is seen at once when it changed through this
 * daemon, else within a second of being asked for.
 */
#ifndef CGI_PEOPLE_H
#define CGI_PEOPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgi/http/role.h"

#define USER_NAME_MAX    64 /* with the NUL */
#define TOKEN_HASH_BYTES 32

struct buf;
struct err;
struct people;
struct reader;
struct roster;

enum right {
	RIGHT_BACKFILL = 1,
	RIGHT_FORCE_SUCCESS = 2,
	RIGHT_UNSAFE = 4, /* to save a task with `raw` */
	RIGHT_LAST = RIGHT_UNSAFE,
	RIGHTS_ALL = 7
};

/* Projects that may be changed. */
struct projects {
	bool all;
	char **names; /* ascending */
	size_t n;
};

/* A role and rights in some projects: a person's own, or those of one group. */
struct grant {
	enum role role;
	unsigned rights; /* enum right; an admin has all */
	struct projects in;
};

struct person {
	struct roster *roster;
	char name[USER_NAME_MAX];
	enum role role; /* the highest of the grants; ROLE_NONE: none at all */
	bool disabled;
	unsigned rights;      /* of all grants together */
	int64_t since;        /* sessions from before another value are over */
	char secret[128];     /* argon2id; "": cannot sign in with a password of ours */
	char source[8];       /* local, ldap, oidc: who says that it is he */
	char subject[401];    /* as that one calls him; "": not known yet */
	struct grant *grants; /* n_grants; own first */
	const struct group **groups;
	size_t n_grants, n_groups;
	char **given; /* names of groups that his directory told, n_given */
	size_t n_given;
};

struct group {
	char name[USER_NAME_MAX];
	struct grant grant;
	char source[8];     /* of members: local, or also who the directory says */
	char external[401]; /* what the directory calls it; "": as here */
	char **members;
	size_t n_members;
};

struct token {
	struct roster *roster;
	char name[USER_NAME_MAX], owner[USER_NAME_MAX]; /* owner "": nobody's */
	char maker[136];                                /* the actor who made it */
	bool is_app;        /* the key of an app: no bearer token, and the other way round */
	bool credentials;   /* made by who has the server's machine: it changes credentials */
	struct grant grant; /* no more than this, and than the owner */
	unsigned char hash[TOKEN_HASH_BYTES];
	int64_t created_s, expires_s; /* expires 0: never */
};

/* A session that the server keeps: good at every face. */
struct kept_session {
	unsigned char hash[TOKEN_HASH_BYTES];
	char id[17], user[USER_NAME_MAX];
	char via[9], address[48], agent[200];
	int64_t since;              /* of the person */
	int64_t factor;             /* mark of the second factor that was shown; 0: none */
	int64_t begun_s, expires_s; /* wall */
};

struct people *people_new(void);
void people_free(struct people *p); /* NULL is fine */

/* Read them again if they changed. Thread: disk. */
int people_refresh(struct people *p, struct reader *r, struct err *err);
/* Somebody was asked for since the last call, or they were never read. Thread: disk. */
bool people_wanted(struct people *p);

/* 1: held until person_unref(); 0: there is none; E_AGAIN: they were not read yet. */
int people_find(struct people *p, const char *name, const struct person **ret);
void person_unref(const struct person *p); /* NULL is fine */
/* A directory, or a provider, says that it is he; he has no password here. */
bool person_is_outside(const struct person *p);
/* The same of a token by the hash of its secret, also one that is over. */
int people_token(struct people *p, const unsigned char hash[TOKEN_HASH_BYTES],
                 const struct token **ret);
void token_unref(const struct token *t); /* NULL is fine */

/* The second factor that this person, or admin, has confirmed: 1 with its mark, which is another
 * one after each; 0 none, E_AGAIN. */
int people_factor(struct people *p, const char *name, int64_t *ret_mark);
/* A session of a person as he is, by the hash of its secret: 1 with a copy, 0: none, E_AGAIN. */
int people_session(struct people *p, const unsigned char hash[TOKEN_HASH_BYTES],
                   struct kept_session *ret);
/* Each of this person's (NULL: everybody's), borrowed, as they were read. */
void people_sessions_each(struct people *p, const char *user,
                          void (*each)(void *ctx, const struct kept_session *s), void *ctx);

/* The group of ours that this source calls so: 1 with its name, 0 there is none, E_AGAIN. */
int people_mapped(struct people *p, const char *source, const char *external,
                  char ret[USER_NAME_MAX]);

/* Whose is what this source calls so? "": nobody's yet. */
void people_subject(struct people *p, const char *source, const char *subject,
                    char ret[USER_NAME_MAX]);

/* Does the installation bind reading to projects, as far as who this is was read with it? */
bool people_binds_reading(const struct person *p, const struct token *t); /* NULL is fine */
/* The same of nobody: before the people were read it does. */
bool people_binds_all(struct people *p);
/* Another number after each change of who may read what: of people, groups, tokens and the switch.
 * They are read again when that is asked. 0: they were not read yet. */
uint64_t people_reading_mark(struct people *p);
/* The one of when this person, or token, was read; 0: neither. */
uint64_t people_mark_of(const struct person *p, const struct token *t);
/* Where he has which role and rights: an item of a JSON list for each project. */
void grants_put(const struct person *p, const struct token *t, struct buf *out);

/* Where he has this role and these rights: a JSON list, the caller's; NULL: everywhere. With a
 * token (or NULL) no further than that; a token without a person: `p` NULL. */
char *grants_within(const struct person *p, const struct token *t, enum role least,
                    unsigned rights);

/* A token as lists show it. */
struct token_row {
	const char *name, *owner, *projects; /* owner NULL: nobody's; projects: JSON, NULL: all */
	const char *maker;                   /* NULL: not known */
	enum role role;
	unsigned rights;
	bool is_app, here_only;
	int64_t created_s, expires_s; /* expires_s 0: never */
};
void token_row_put(const struct token_row *t, struct buf *out);

/* Who belongs to a group, as a JSON list under `key`. */
void people_members_put(struct people *p, const char *group, const char *key, struct buf *out);
/* "groups", and "effective": {"role", "projects", "rights"} of a person. */
void people_effective_put(struct people *p, const char *name, struct buf *out);
/* Tokens (or apps alone) as items of a JSON list. `owner` NULL: everybody's. */
void people_tokens_put(struct people *p, const char *owner, bool apps, struct buf *out);
/* Whose is the token, or app, of this name? False: there is none. */
bool people_token_owner(struct people *p, const char *name, bool app, char ret[USER_NAME_MAX]);
/* Of admin's tokens, those of nobody that he made and that are no keys of apps, one: its name and
 * the beginning of its hash. False: there is none. */
bool people_token_of_admin(struct people *p, char ret_name[USER_NAME_MAX], char ret_mark[17]);
const char *right_name(enum right r);
void put_rights(struct buf *out, const char *key, unsigned rights);

#endif
