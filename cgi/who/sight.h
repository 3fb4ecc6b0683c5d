/* sight.h — whose things a caller reads: some projects', where reading is bound as changing is.
 *
 * A call has one from when it is known who asks (NULL: everything). What keeps to it asks nobody:
 *
 *   routes.def    each row says how it is bound (enum scope): sight_check()
 *   the store     a reader shows what the call's sight sees (lib/store/read.h): disk.c
 *   the server    questions and answers, commands and their refusals: cgi/server/gate.h
 *   streams       events, command news and logs: net_tell.c, net_news.c, gate.h
 *   kept answers  are one sight's: fresh.c
 *
 * It never changes, and is held by the call, and by a stream for as long as that flows. */
#ifndef CGI_SIGHT_H
#define CGI_SIGHT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "store/read.h"

struct call;

struct sight {
	struct read_sight see; /* first: what a reader keeps to */
	_Atomic unsigned refs;
	char **names; /* see.projects */
	char *person; /* see.person: the person, or the token of nobody's */
	char *text;   /* two with the same text see the same */
};

/* Of who was authenticated just now into c->sight. */
void sight_take(struct call *c);
/* Of a route that asks by itself who it is: until then nothing. */
void sight_none(struct call *c);
struct sight *sight_ref(struct sight *s); /* NULL is fine */
void sight_unref(struct sight *s);        /* NULL is fine */

/* Does it see the project that a name begins with, or is? `s` NULL: yes. */
bool sight_covers(const struct sight *s, const char *name);
/* May the caller ask the call's route for what its path names? E_FORBIDDEN, E_NOT_FOUND. */
int sight_check(struct call *c);
/* The one answer for what is not there, or is another project's: it does not tell which. */
int sight_absent(struct call *c, const char *place);

#endif
