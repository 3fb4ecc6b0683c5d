/* The settings of the server, judged as a start judges them: by the very functions that take them,
 * and nothing is left behind. */
#include "baseserver/daemon_check.h"

#include "baseserver/lead/site.h"
#include "baseserver/secret/directories.h"
#include "baseserver/secret/outsiders.h"
#include "baseserver/secret/secrets.h"
#include "util/err.h"
#include "util/param.h"

int daemon_check(const struct param_baseserver *p, struct err *err)
{
	int r = site_check(p, err);

	if (r == 0)
		r = secrets_check(p, err);
	if (r == 0 && p->oidc_issuer[0])
		r = outsiders_check(p, err);
	if (r == 0 && p->ldap_url[0])
		r = directories_check(p, err);
	return r;
}
