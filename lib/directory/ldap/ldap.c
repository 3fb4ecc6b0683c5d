/* libldap's home: is he who he says, and to which groups does he belong? */
#include <lber.h>
#include <ldap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "directory/escape.h"
#include "directory/visit.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"

enum { GROUPS_MAX = 1000 };

struct visit {
	const struct directory_ask *ask;
	struct directory_answer *ret;
	LDAP *ld;
	struct err *err;
};

static struct timeval wait_of(const struct visit *v)
{
	return (struct timeval){ .tv_sec = v->ask->set.timeout_ms / 1000,
		                 .tv_usec = v->ask->set.timeout_ms % 1000 * 1000 };
}

static int away(struct visit *v, const char *what, int code)
{
	char *more = NULL;
	int r;

	ldap_get_option(v->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &more);
	r = err_set(v->err, code == LDAP_TIMEOUT ? E_TIMEOUT : E_AGAIN,
	            "the directory %.100s: %s: %s%s%.100s", v->ask->set.url, what,
	            ldap_err2string(code), more && *more ? ", " : "", more ? more : "");
	ldap_memfree(more);
	return r;
}

static int ldap_refused(struct visit *v)
{
	return err_set(v->err, E_AUTH, "wrong user or password");
}

/* The result of what was asked; libldap's own calls that wait have no bound of time. */
static int result_of(struct visit *v, int asked, int id)
{
	struct timeval wait = wait_of(v);
	LDAPMessage *m = NULL;
	int code = LDAP_OTHER, r;

	if (asked != LDAP_SUCCESS)
		return asked;
	r = ldap_result(v->ld, id, LDAP_MSG_ALL, &wait, &m);
	if (r <= 0) {
		ldap_msgfree(m);
		return r == 0 ? LDAP_TIMEOUT : LDAP_SERVER_DOWN;
	}
	r = ldap_parse_result(v->ld, m, &code, NULL, NULL, NULL, NULL, 1);
	return r == LDAP_SUCCESS ? code : r;
}

static int set_options(struct visit *v)
{
	struct timeval wait = wait_of(v);
	int version = LDAP_VERSION3, demand = LDAP_OPT_X_TLS_DEMAND, is_client = 0;
	int id = 0, r;

	ldap_set_option(v->ld, LDAP_OPT_PROTOCOL_VERSION, &version);
	ldap_set_option(v->ld, LDAP_OPT_REFERRALS, LDAP_OPT_OFF);
	ldap_set_option(v->ld, LDAP_OPT_NETWORK_TIMEOUT, &wait);
	ldap_set_option(v->ld, LDAP_OPT_TIMEOUT, &wait);
	ldap_set_option(v->ld, LDAP_OPT_X_TLS_REQUIRE_CERT, &demand);
	if (v->ask->set.ca_file[0])
		ldap_set_option(v->ld, LDAP_OPT_X_TLS_CACERTFILE, v->ask->set.ca_file);
	ldap_set_option(v->ld, LDAP_OPT_X_TLS_NEWCTX, &is_client);
	if (!v->ask->set.start_tls)
		return 0;
	r = ldap_start_tls(v->ld, NULL, NULL, &id);
	r = result_of(v, r, id);
	if (r == LDAP_SUCCESS)
		r = ldap_install_tls(v->ld);
	return r == LDAP_SUCCESS ? 0 : away(v, "StartTLS", r);
}

static int bind_as(struct visit *v, const char *dn, const char *secret)
{
	struct berval cred = { .bv_len = strlen(secret), .bv_val = (char *)(uintptr_t)secret };

	int id = 0, r = ldap_sasl_bind(v->ld, dn, LDAP_SASL_SIMPLE, &cred, NULL, NULL, &id);

	return result_of(v, r, id);
}

/* `%u` and `%d` of a pattern, escaped. */
static char *ldap_fill(const char *pattern, const char *user, const char *dn)
{
	struct buf out;
	char *text;

	buf_init(&out);
	for (const char *p = pattern; *p; p++) {
		if (p[0] == '%' && (p[1] == 'u' || p[1] == 'd')) {
			escape_ldap(&out, p[1] == 'u' ? user : dn);
			p++;
		} else {
			buf_put(&out, p, 1);
		}
	}
	text = mem_str(buf_str(&out));
	buf_done(&out);
	return text;
}

static void first_value(struct visit *v, LDAPMessage *entry, const char *attribute, char *ret,
                        size_t size)
{
	struct berval **values = attribute[0] ? ldap_get_values_len(v->ld, entry, attribute) : NULL;

	if (values && values[0] && values[0]->bv_len < size) {
		memcpy(ret, values[0]->bv_val, values[0]->bv_len);
		ret[values[0]->bv_len] = '\0';
	}
	ldap_value_free_len(values);
}

static void groups_of_entry(struct visit *v, LDAPMessage *entry)
{
	struct berval **values = v->ask->set.group_attribute[0]
	                                 ? ldap_get_values_len(v->ld, entry,
	                                                       v->ask->set.group_attribute)
	                                 : NULL;

	for (size_t i = 0; values && values[i] && i < GROUPS_MAX; i++) {
		char *dn = mem_strn(values[i]->bv_val, values[i]->bv_len);
		v->ret->group(v->ret->ctx, dn);
		free(dn);
	}
	ldap_value_free_len(values);
}

static int ldap_search(struct visit *v, const char *base, int scope, const char *filter, int max,
                       LDAPMessage **ret)
{
	char *attributes[] = { (char *)(uintptr_t)v->ask->set.group_attribute,
		               (char *)(uintptr_t)v->ask->set.name_attribute,
		               (char *)(uintptr_t)v->ask->set.mail_attribute,
		               (char *)(uintptr_t) "entryUUID", NULL };
	struct timeval wait = wait_of(v);

	for (size_t i = 0; attributes[i]; i++)
		if (!attributes[i][0])
			attributes[i] = (char *)(uintptr_t)LDAP_NO_ATTRS;
	return ldap_search_ext_s(v->ld, base, scope, filter, attributes, 0, NULL, NULL, &wait, max,
	                         ret);
}

/* The one entry of this name; none, or several: not he. */
static int find_dn(struct visit *v, char **ret_dn)
{
	char *filter = ldap_fill(v->ask->set.filter, v->ask->user, ""), *dn = NULL;
	LDAPMessage *found = NULL;
	int r = ldap_search(v, v->ask->set.base, LDAP_SCOPE_SUBTREE, filter, 2, &found);

	free(filter);
	if (r != LDAP_SUCCESS && r != LDAP_SIZELIMIT_EXCEEDED && r != LDAP_NO_SUCH_OBJECT) {
		ldap_msgfree(found);
		return away(v, "search", r);
	}
	if (r == LDAP_SUCCESS && ldap_count_entries(v->ld, found) == 1)
		dn = ldap_get_dn(v->ld, ldap_first_entry(v->ld, found));
	ldap_msgfree(found);
	if (!dn)
		return ldap_refused(v);
	*ret_dn = mem_str(dn);
	ldap_memfree(dn);
	return 0;
}

/* What his entry says; as himself, for he may read it. */
static int read_entry(struct visit *v, const char *dn)
{
	LDAPMessage *found = NULL, *entry;
	int r = ldap_search(v, dn, LDAP_SCOPE_BASE, "(objectClass=*)", 1, &found);

	entry = r == LDAP_SUCCESS ? ldap_first_entry(v->ld, found) : NULL;
	snprintf(v->ret->subject, sizeof v->ret->subject, "%.400s", dn);
	if (entry) {
		first_value(v, entry, "entryUUID", v->ret->subject, sizeof v->ret->subject);
		first_value(v, entry, v->ask->set.name_attribute, v->ret->full_name,
		            sizeof v->ret->full_name);
		first_value(v, entry, v->ask->set.mail_attribute, v->ret->mail,
		            sizeof v->ret->mail);
		groups_of_entry(v, entry);
	}
	ldap_msgfree(found);
	return entry ? 0 : away(v, "reading the person's entry", r);
}

static int read_groups(struct visit *v, const char *dn)
{
	LDAPMessage *found = NULL;
	char *filter;
	int r;

	if (!v->ask->set.group_base[0])
		return 0;
	filter = ldap_fill(v->ask->set.group_filter, v->ask->user, dn);
	r = ldap_search(v, v->ask->set.group_base, LDAP_SCOPE_SUBTREE, filter, GROUPS_MAX, &found);
	free(filter);
	if (r != LDAP_SUCCESS) {
		ldap_msgfree(found);
		return away(v, "search of groups", r);
	}
	for (LDAPMessage *e = ldap_first_entry(v->ld, found); e; e = ldap_next_entry(v->ld, e)) {
		char *group = ldap_get_dn(v->ld, e);
		if (group)
			v->ret->group(v->ret->ctx, group);
		ldap_memfree(group);
	}
	ldap_msgfree(found);
	return 0;
}

static int visit(struct visit *v)
{
	const struct directory_ask *ask = v->ask;
	char *dn = NULL;
	int r = set_options(v);

	if (r < 0)
		return r;
	if (ask->set.user_dn[0]) {
		dn = ldap_fill(ask->set.user_dn, ask->user, "");
	} else {
		int code = bind_as(v, ask->set.bind_dn, ask->bind_secret);
		r = code == LDAP_SUCCESS ? find_dn(v, &dn) : away(v, "bind of who searches", code);
	}
	if (r == 0) {
		int code = bind_as(v, dn, ask->password);
		r = code == LDAP_SUCCESS ? 0
		    : code == LDAP_INVALID_CREDENTIALS || code == LDAP_NO_SUCH_OBJECT ||
		                    code == LDAP_INVALID_DN_SYNTAX ||
		                    code == LDAP_UNWILLING_TO_PERFORM
		            ? ldap_refused(v)
		            : away(v, "bind", code);
	}
	if (r == 0)
		r = read_entry(v, dn);
	/* Groups are searched for as who searched for him, where there is one. */
	if (r == 0 && ask->set.group_base[0] && ask->set.bind_dn[0] &&
	    bind_as(v, ask->set.bind_dn, ask->bind_secret) != LDAP_SUCCESS)
		r = err_set(v->err, E_AGAIN, "the directory takes its searcher no longer");
	if (r == 0)
		r = read_groups(v, dn);
	free(dn);
	return r;
}

static int sign_in(const struct directory_ask *ask, struct directory_answer *ret, struct err *err)
{
	struct visit v = { .ask = ask, .ret = ret, .err = err };
	int r;

	/* A bind with an empty password is an anonymous one, and succeeds. */
	if (!ask->password[0])
		return err_set(err, E_AUTH, "wrong user or password");
	if (ldap_initialize(&v.ld, ask->set.url) != LDAP_SUCCESS)
		return err_set(err, E_INVALID, "ldap_url: '%.200s' is no address of a directory",
		               ask->set.url);
	r = visit(&v);
	ldap_unbind_ext_s(v.ld, NULL, NULL);
	return r;
}

extern const struct directory_ops sirdar_ldap;
__attribute__((visibility("default"))) const struct directory_ops sirdar_ldap = {
	.abi = DIRECTORY_ABI,
	.ask_size = sizeof(struct directory_ask),
	.answer_size = sizeof(struct directory_answer),
	.sign_in = sign_in,
};
