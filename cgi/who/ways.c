/* The ways in beside a password here: an LDAP directory, an OpenID provider, their thread.
 *
 * Settings are judged before anything is loaded: what would send a password in the clear beyond
 * loopback refuses the start (cgi/who rule 16). A module that was built for another version is
 * refused by its sizes. The directory is asked here; the provider is in oidc.c; who an outsider
 * is, is decided in outsider.c.
 */
#include "cgi/who/ways.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/cgi.h"
#include "cgi/who/directory.h"
#include "cgi/who/hash.h"
#include "cgi/who/oidc.h"
#include "cgi/who/outsider.h"
#include "rt/thread.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/module.h"
#include "util/url.h"

struct ways {
	struct cgi *cgi;
	struct thread *thread;
	struct hash *actor;
	const struct directory_ops *directory; /* NULL: none */
	char *bind_secret;
	struct oidc *oidc; /* NULL: none */
};

/* --- settings --- */

static int role_check(const char *setting, const char *role, struct err *err)
{
	enum role r;

	if (strcmp(role, "none") == 0 || (role_from_name(role, &r) && r < ROLE_ADMIN))
		return 0;
	return err_set(err, E_INVALID, "%s is '%s', want none, viewer, developer or operator",
	               setting, role);
}

static int ldap_check(const struct param_cgi *p, struct err *err)
{
	bool plain = strncmp(p->ldap_url, "ldap://", 7) == 0;

	if (!plain && strncmp(p->ldap_url, "ldaps://", 8) != 0 &&
	    strncmp(p->ldap_url, "ldapi://", 8) != 0)
		return err_set(err, E_INVALID,
		               "ldap_url is '%s', want ldaps://, ldapi:// or ldap://", p->ldap_url);
	if (plain && !p->ldap_start_tls && !url_is_loopback(p->ldap_url))
		return err_set(err, E_FORBIDDEN,
		               "ldap_url is '%s', which is not loopback: passwords would go over "
		               "the wire; want ldaps:// or ldap_start_tls",
		               p->ldap_url);
	if (p->ldap_start_tls && !plain)
		return err_set(err, E_INVALID, "ldap_start_tls goes with ldap://, not with '%s'",
		               p->ldap_url);
	if (p->ldap_user_dn[0] == '\0' && p->ldap_base[0] == '\0')
		return err_set(err, E_INVALID, "ldap_url wants ldap_base, or ldap_user_dn");
	if (!strstr(p->ldap_user_dn[0] != '\0' ? p->ldap_user_dn : p->ldap_filter, "%u"))
		return err_set(err, E_INVALID, "%s has no %%u: everybody would be the same person",
		               p->ldap_user_dn[0] != '\0' ? "ldap_user_dn" : "ldap_filter");
	if ((p->ldap_bind_dn[0] != '\0') != (p->ldap_bind_secret_file[0] != '\0'))
		return err_set(err, E_INVALID,
		               "ldap_bind_dn and ldap_bind_secret_file go together");
	return role_check("ldap_role", p->ldap_role, err);
}

static int ldap_open(struct ways *w, struct err *err)
{
	const struct param_cgi *p = &w->cgi->param;
	const void *found = NULL;
	int r = ldap_check(p, err);

	if (r == 0)
		r = module_load(DIRECTORY_FILE, "the module for LDAP", DIRECTORY_SYMBOL, &found,
		                err);
	if (r < 0)
		return r;
	w->directory = found;
	if (w->directory->abi != DIRECTORY_ABI ||
	    w->directory->ask_size != sizeof(struct directory_ask) ||
	    w->directory->answer_size != sizeof(struct directory_answer))
		return err_set(err, E_ABI,
		               DIRECTORY_FILE " was built for another version of Sirdar");
	return p->ldap_bind_dn[0] != '\0'
	               ? secret_line(p->ldap_bind_secret_file, &w->bind_secret, err)
	               : 0;
}

int ways_open(struct cgi *cgi, struct ways **ret, struct err *err)
{
	const struct param_cgi *p = &cgi->param;
	struct ways *w;
	int r = 0;

	*ret = NULL;
	if (p->ldap_url[0] == '\0' && p->oidc_issuer[0] == '\0')
		return 0;
	*ret = w = mem_new(sizeof *w);
	w->cgi = cgi;
	if (p->ldap_url[0] != '\0')
		r = ldap_open(w, err);
	if (r == 0 && p->oidc_issuer[0] != '\0') {
		r = role_check("oidc_role", p->oidc_role, err);
		if (r == 0)
			r = oidc_open(cgi, &w->oidc, err);
	}
	if (r < 0)
		return r;
	w->thread = thread_new("ways", &clock_machine);
	w->actor = hash_new(w->thread, "ways");
	return thread_start(w->thread, err);
}

void ways_stop(struct ways *w)
{
	if (w && w->thread)
		thread_stop(w->thread);
}

void ways_close(struct ways *w)
{
	if (!w)
		return;
	thread_free(w->thread);
	hash_free(w->actor);
	oidc_close(w->oidc);
	if (w->bind_secret)
		sodium_memzero(w->bind_secret, strlen(w->bind_secret));
	free(w->bind_secret);
	free(w);
}

struct actor *ways_actor(struct ways *w)
{
	return hash_actor(w->actor);
}

bool ways_has_ldap(const struct ways *w)
{
	return w && w->directory;
}

struct oidc *ways_oidc(struct ways *w)
{
	return w ? w->oidc : NULL;
}

/* --- the directory --- */

struct told {
	struct cgi *cgi;
	struct outsider *to;
};

static void on_group(void *ctx, const char *dn)
{
	struct told *t = ctx;

	outsider_group(t->cgi, t->to, dn);
}

int ways_ldap(struct ways *w, const char *user, const char *password, struct outsider *ret,
              struct err *err)
{
	const struct param_cgi *p = &w->cgi->param;
	struct directory_ask ask = {
		.url = p->ldap_url,
		.ca_file = p->ldap_ca_file,
		.start_tls = p->ldap_start_tls,
		.bind_dn = p->ldap_bind_dn,
		.bind_secret = w->bind_secret ? w->bind_secret : "",
		.user_dn = p->ldap_user_dn,
		.base = p->ldap_base,
		.filter = p->ldap_filter,
		.group_base = p->ldap_group_base,
		.group_filter = p->ldap_group_filter,
		.group_attribute = p->ldap_group_attribute,
		.name_attribute = p->ldap_name_attribute,
		.mail_attribute = p->ldap_mail_attribute,
		.timeout_ms = p->ldap_timeout_ms,
		.user = user,
		.password = password,
	};
	struct told told = { w->cgi, ret };
	struct directory_answer answer = { .ctx = &told, .group = on_group };
	int r;

	*ret = (struct outsider){ .source = "ldap" };
	if (password[0] == '\0')
		return err_set(err, E_AUTH, "wrong user or password");
	r = w->directory->sign_in(&ask, &answer, err);
	if (r < 0 && r != E_AUTH)
		log_warn("ldap.failed", "code=%s why=\"%s\"", err_name(r), err->text);
	if (r < 0)
		return r;
	snprintf(ret->name, sizeof ret->name, "%s", user);
	snprintf(ret->subject, sizeof ret->subject, "%s", answer.subject);
	snprintf(ret->full_name, sizeof ret->full_name, "%s", answer.full_name);
	snprintf(ret->mail, sizeof ret->mail, "%s", answer.mail);
	return 0;
}
