/* A directory's settings are judged before anything is loaded (lib/directory rule 1). A module that
 * was built for another version is refused by its sizes. An empty password never gets there: a bind
 * without one is an anonymous one, and succeeds. */
#include "directory/directory.h"

#include <stdlib.h>
#include <string.h>

#include "directory/visit.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/module.h"
#include "util/url.h"

struct directory {
	struct directory_settings set;
	const struct directory_ops *ops;
	char *bind_secret; /* NULL: nobody searches but anonymous */
};

static int check_url(const struct directory_settings *s, struct err *err)
{
	bool plain = strncmp(s->url, "ldap://", 7) == 0;

	if (!plain && strncmp(s->url, "ldaps://", 8) != 0 && strncmp(s->url, "ldapi://", 8) != 0)
		return err_set(err, E_INVALID,
		               "ldap_url is '%s', want ldaps://, ldapi:// or ldap://", s->url);
	if (plain && !s->start_tls && !url_is_loopback(s->url))
		return err_set(err, E_FORBIDDEN,
		               "ldap_url is '%s', which is not loopback: passwords would go over "
		               "the wire; want ldaps:// or ldap_start_tls",
		               s->url);
	if (s->start_tls && !plain)
		return err_set(err, E_INVALID, "ldap_start_tls goes with ldap://, not with '%s'",
		               s->url);
	return 0;
}

static int check_settings(const struct directory_settings *s, struct err *err)
{
	int r = check_url(s, err);

	if (r < 0)
		return r;
	if (s->user_dn[0] == '\0' && s->base[0] == '\0')
		return err_set(err, E_INVALID, "ldap_url wants ldap_base, or ldap_user_dn");
	if (!strstr(s->user_dn[0] != '\0' ? s->user_dn : s->filter, "%u"))
		return err_set(err, E_INVALID, "%s has no %%u: everybody would be the same person",
		               s->user_dn[0] != '\0' ? "ldap_user_dn" : "ldap_filter");
	if ((s->bind_dn[0] != '\0') != (s->bind_secret_file[0] != '\0'))
		return err_set(err, E_INVALID,
		               "ldap_bind_dn and ldap_bind_secret_file go together");
	return 0;
}

int directory_open(const struct directory_settings *set, struct directory **ret, struct err *err)
{
	struct directory *d = mem_new(sizeof *d);
	const void *found = NULL;
	int r = check_settings(set, err);

	d->set = *set;
	if (r == 0)
		r = module_load(DIRECTORY_FILE, "the module for LDAP", DIRECTORY_SYMBOL, &found,
		                err);
	d->ops = found;
	if (r == 0 &&
	    (d->ops->abi != DIRECTORY_ABI || d->ops->ask_size != sizeof(struct directory_ask) ||
	     d->ops->answer_size != sizeof(struct directory_answer)))
		r = err_set(err, E_ABI, DIRECTORY_FILE " was built for another version of Sirdar");
	if (r == 0 && set->bind_dn[0] != '\0')
		r = fs_read_secret_line(set->bind_secret_file, &d->bind_secret, err);
	if (r < 0) {
		directory_close(d);
		return r;
	}
	*ret = d;
	return 0;
}

void directory_close(struct directory *d)
{
	if (!d)
		return;
	if (d->bind_secret)
		explicit_bzero(d->bind_secret, strlen(d->bind_secret));
	free(d->bind_secret);
	free(d);
}

int directory_sign_in(struct directory *d, const char *user, const char *password,
                      struct directory_answer *ret, struct err *err)
{
	struct directory_ask ask = { .set = d->set,
		                     .bind_secret = d->bind_secret ? d->bind_secret : "",
		                     .user = user,
		                     .password = password };

	if (password[0] == '\0')
		return err_set(err, E_AUTH, "wrong user or password");
	return d->ops->sign_in(&ask, ret, err);
}
