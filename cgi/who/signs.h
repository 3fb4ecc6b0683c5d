/* signs.h — who signed in, who tried to, and who was refused, on the way to the audit.
 *
 * What is alike (person, network, outcome) is one row with a count, until the net actor takes all
 * rows (cgi/server/net_signs.c). Bounded; what finds no room is counted. Thread: any.
 */
#ifndef CGI_SIGNS_H
#define CGI_SIGNS_H

#include <stdbool.h>

enum sign {
	SIGN_IN,     /* signed in */
	SIGN_WRONG,  /* a wrong password */
	SIGN_WAITS,  /* a try that was not judged: too many were wrong */
	SIGN_DENIED, /* known, and refused: 403 */
	SIGNS_N
};

struct buf;
struct call;
struct signs;

struct signs *signs_new(void);
void signs_free(struct signs *s); /* NULL is fine */

/* From where the call comes. A name that is nobody's here is not kept: people type passwords into
 * the wrong field. */
void signs_add(struct call *c, enum sign what, const char *who);

/* The arguments of the command that tells them, and no rows are left. False: there are none. */
bool signs_take(struct signs *s, struct buf *out);

#endif
