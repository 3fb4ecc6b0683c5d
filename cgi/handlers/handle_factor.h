/* handle_factor.h — a code of a second factor, for those handlers that ask for one. */
#ifndef CGI_HANDLE_FACTOR_H
#define CGI_HANDLE_FACTOR_H

#define FACTOR_CODE_MAX 40 /* bytes of a code, or of a recovery code, with the NUL */

struct call;

/* The server judges the code of c->actor, once: then c->err is 0, E_AUTH, E_LIMIT or why it could
 * not. "" is no try: E_FACTOR. The try that auth_may_try() booked is told. */
int factor_use(struct call *c, const char *user, const char *code, int (*then)(struct call *c));

#endif
