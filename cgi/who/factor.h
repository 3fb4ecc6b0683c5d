/* factor.h — second factors, as a face sees them: who has one, who has to have one.
 *
 * Codes are judged by the server (the command factor-use). Here a factor is a mark, of the roster:
 * a session carries the mark of the one that it has shown, and is over as soon as its person has
 * another, or none any more. Directories and providers have their own.
 */
#ifndef CGI_FACTOR_H
#define CGI_FACTOR_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct cgi;
struct err;
struct param_cgi;
struct person;

/* Is `second_factor` one of its words? E_INVALID */
int factor_check(const struct param_cgi *p, struct err *err);
/* Of who signs in with a password of ours; `p` NULL: admin. 0: none, or not read yet. */
int64_t factor_mark(const struct cgi *cgi, const char *user, const struct person *p);
/* Is it the one with this mark (0: he needs none)? Not read yet: yes. */
bool factor_is_shown(const struct cgi *cgi, const char *user, const struct person *p, int64_t mark);
/* He has none, and `second_factor` wants one of him. */
bool factor_is_missing(const struct cgi *cgi, const char *user, const struct person *p);
/* E_FORBIDDEN, and what to do about it. */
int factor_refuse_missing(struct call *c);

#endif
