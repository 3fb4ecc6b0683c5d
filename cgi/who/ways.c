/* The ways in beside a password here: an LDAP directory, an OpenID provider, their thread.
 *
 * The directory is asked here for one release more, where the server's ldap_url is empty
 * (cgi/who rule 16); the provider is in oidc.c; who an outsider is, is decided in outsider.c.
 */
#include "cgi/who/ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/cgi.h"
#include "cgi/who/hash.h"
#include "cgi/who/oidc.h"
#include "cgi/who/outsider.h"
#include "directory/directory.h"
#include "rt/thread.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

struct ways {
	struct cgi *cgi;
	struct thread *thread;
	struct hash *actor;
	struct directory *directory; /* NULL: none */
	struct oidc *oidc;           /* NULL: none */
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

static int ldap_open(struct ways *w, struct err *err)
{
	const struct param_cgi *p = &w->cgi->param;
	const struct directory_settings set = {
		.url = p->ldap_url,
		.ca_file = p->ldap_ca_file,
		.start_tls = p->ldap_start_tls,
		.bind_dn = p->ldap_bind_dn,
		.bind_secret_file = p->ldap_bind_secret_file,
		.user_dn = p->ldap_user_dn,
		.base = p->ldap_base,
		.filter = p->ldap_filter,
		.group_base = p->ldap_group_base,
		.group_filter = p->ldap_group_filter,
		.group_attribute = p->ldap_group_attribute,
		.name_attribute = p->ldap_name_attribute,
		.mail_attribute = p->ldap_mail_attribute,
		.timeout_ms = p->ldap_timeout_ms,
	};
	int r = role_check("ldap_role", p->ldap_role, err);

	return r == 0 ? directory_open(&set, &w->directory, err) : r;
}

/* *ret: NULL where there is no such way; without its thread. */
static int ways_read(struct cgi *cgi, struct ways **ret, struct err *err)
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
	return r;
}

int ways_check(struct cgi *cgi, struct err *err)
{
	struct ways *w = NULL;
	int r = ways_read(cgi, &w, err);

	ways_close(w);
	return r;
}

int ways_open(struct cgi *cgi, struct ways **ret, struct err *err)
{
	int r = ways_read(cgi, ret, err);
	struct ways *w = *ret;

	if (r < 0 || !w)
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
	directory_close(w->directory);
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
	struct told told = { w->cgi, ret };
	struct directory_answer answer = { .ctx = &told, .group = on_group };
	int r;

	*ret = (struct outsider){ .source = "ldap" };
	r = directory_sign_in(w->directory, user, password, &answer, err);
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
