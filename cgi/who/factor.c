/* Second factors, as a face sees them. */
#include "cgi/who/factor.h"

#include <stdio.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/people.h"
#include "util/err.h"

int factor_check(const struct param_cgi *p, struct err *err)
{
	const char *word = p->second_factor;

	if (strcmp(word, "optional") == 0 || strcmp(word, "admins") == 0 ||
	    strcmp(word, "all") == 0)
		return 0;
	return err_set(err, E_INVALID, "second_factor is '%.40s', want optional, admins or all",
	               word);
}

int64_t factor_mark(const struct cgi *cgi, const char *user, const struct person *p)
{
	int64_t mark = 0;

	if (p && person_is_outside(p))
		return 0;
	(void)people_factor(cgi->people, user, &mark);
	return mark;
}

bool factor_is_shown(const struct cgi *cgi, const char *user, const struct person *p, int64_t mark)
{
	int64_t now = 0;

	return (p && person_is_outside(p)) || people_factor(cgi->people, user, &now) == E_AGAIN ||
	       now == mark;
}

bool factor_is_missing(const struct cgi *cgi, const char *user, const struct person *p)
{
	const char *word = cgi->param.second_factor;
	int64_t mark;

	if (strcmp(word, "optional") == 0 || (p && person_is_outside(p)) ||
	    (strcmp(word, "admins") == 0 && p && p->role != ROLE_ADMIN))
		return false;
	/* While the people are not read yet, nobody knows. */
	return people_factor(cgi->people, user, &mark) == 0;
}

int factor_refuse_missing(struct call *c)
{
	snprintf(c->hint, sizeof c->hint,
	         "in the console: it asks for it after you signed in; or POST /api/v1/me/totp");
	return call_fail(c, E_FORBIDDEN, "second_factor",
	                 "%s has to set up a second factor first (second_factor: %s)",
	                 c->user[0] != '\0' ? c->user : c->actor, c->cgi->param.second_factor);
}
