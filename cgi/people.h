/* people.h — who may sign in, and what they may do: the users of the store, in memory.
 *
 * Loaded on the disk thread, asked on the HTTP and hash threads; has its own lock. What changed
 * is seen at once when it changed through this daemon, else within a second of being asked for.
 */
#ifndef CGI_PEOPLE_H
#define CGI_PEOPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgi/role.h"

#define USER_NAME_MAX 64 /* with the NUL */

struct err;
struct people;
struct reader;

enum right { RIGHT_BACKFILL = 1, RIGHT_FORCE_SUCCESS = 2, RIGHTS_ALL = 3 };

struct person {
	char name[USER_NAME_MAX];
	enum role role;
	bool disabled;
	unsigned rights;  /* enum right; an admin has all */
	int64_t since;    /* sessions from before another value are over */
	char secret[128]; /* argon2id; "": cannot sign in */
	char *within;     /* JSON list of projects; NULL: all */
};

struct people *people_new(void);
void people_free(struct people *p); /* NULL is fine */

/* Read them again if they changed. Thread: disk. */
int people_refresh(struct people *p, struct reader *r, struct err *err);
/* Somebody was asked for since the last call, or they were never read. Thread: disk. */
bool people_wanted(struct people *p);

/* 1: a copy, to be given to person_done(); 0: there is none; E_AGAIN: they were not read yet. */
int people_find(struct people *p, const char *name, struct person *ret);
void person_done(struct person *p);

const char *right_name(enum right r);

#endif
