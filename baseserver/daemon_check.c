/* The settings of the server, judged as a start judges them: by the very functions that take them,
 * and nothing is left behind. */
#include "baseserver/daemon_check.h"

#include "baseserver/secret/directories.h"
#include "baseserver/secret/outsiders.h"
#include "baseserver/secret/secrets.h"
#include "store/store.h"
#include "util/err.h"
#include "util/param.h"
#include "wire/keys.h"

int daemon_check(const struct param_baseserver *p, struct err *err)
{
	struct keys *keys = NULL;
	int r = store_check(p->store, err);

	if (r == 0)
		r = keys_open(p->keys_file, &keys, err);
	if (r == 0)
		keys_close(keys);
	if (r == 0)
		r = secrets_check(p, err);
	if (r == 0 && p->oidc_issuer[0])
		r = outsiders_check(p, err);
	if (r == 0 && p->ldap_url[0])
		r = directories_check(p, err);
	return r;
}
