/* What the ways in share: who an outsider is here.
 *
 * A name belongs to the source and the subject it first came from (cgi/who rule 9). This file
 * decides and makes the arguments of the command; it sends nothing: the handlers tell the server.
 */
#include "cgi/who/outsider.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "util/err.h"

/* --- who comes in --- */

void outsider_group(struct cgi *cgi, struct outsider *o, const char *external)
{
	if (o->n_groups < OUTSIDER_GROUPS_MAX &&
	    people_mapped(cgi->people, o->source, external, o->groups[o->n_groups]) == 1)
		o->n_groups++;
}

static bool same_groups(const struct person *p, const struct outsider *o)
{
	size_t found = 0;

	for (size_t i = 0; i < o->n_groups; i++)
		for (size_t j = 0; j < p->n_given; j++)
			found += strcmp(o->groups[i], p->given[j]) == 0;
	return found == o->n_groups && p->n_given == o->n_groups;
}

static const char *first_role(const struct cgi *cgi, const struct outsider *o)
{
	return strcmp(o->source, "ldap") == 0 ? cgi->param.ldap_role : cgi->param.oidc_role;
}

static int check_known(struct call *c, const struct outsider *o, const struct person *p)
{
	if (p->disabled)
		return call_fail(c, E_FORBIDDEN, "", "%s may not sign in", o->name);
	if (strcmp(p->source, o->source) != 0)
		return call_fail(c, E_FORBIDDEN, "",
		                 "%s is a user of this Sirdar with a password here, not of %s",
		                 o->name, o->source);
	if (p->subject[0] != '\0' && strcmp(p->subject, o->subject) != 0) {
		snprintf(c->hint, sizeof c->hint,
		         "an administrator, if it is the same person: sirdar user set %s --source "
		         "%s",
		         o->name, o->source);
		return call_fail(c, E_FORBIDDEN, "", "the name %s was somebody else's", o->name);
	}
	return 0;
}

static cJSON *changes_of(const struct cgi *cgi, const struct outsider *o, bool is_new)
{
	cJSON *args = cJSON_CreateObject(), *groups;

	cJSON_AddStringToObject(args, "user", o->name);
	cJSON_AddStringToObject(args, "source", o->source);
	cJSON_AddStringToObject(args, "subject", o->subject);
	groups = cJSON_AddArrayToObject(args, "groups");
	for (size_t i = 0; i < o->n_groups; i++)
		cJSON_AddItemToArray(groups, cJSON_CreateString(o->groups[i]));
	if (is_new) {
		cJSON_AddStringToObject(args, "role", first_role(cgi, o));
		cJSON_AddStringToObject(args, "full_name", o->full_name);
		cJSON_AddStringToObject(args, "mail", o->mail);
	}
	return args;
}

int outsider_admit(struct call *c, const struct outsider *o, cJSON **ret_changes)
{
	const struct person *p = NULL;
	int known = people_find(c->cgi->people, o->name, &p);
	char other[USER_NAME_MAX];
	bool same = false;
	int r = 0;

	*ret_changes = NULL;
	people_subject(c->cgi->people, o->source, o->subject, other);
	if (known == E_AGAIN)
		return call_fail(c, E_AGAIN, "", "the users are still being read, try again");
	if (strcmp(o->name, "admin") == 0)
		return call_fail(c, E_FORBIDDEN, "", "admin is this Sirdar's own");
	/* A directory takes other spellings of a name, too: one person is one user. */
	if (other[0] != '\0' && strcmp(other, o->name) != 0)
		r = call_fail(c, E_FORBIDDEN, "", "this person is %s here", other);
	else if (p) {
		r = check_known(c, o, p);
		same = p->subject[0] != '\0' && same_groups(p, o);
	} else if (o->n_groups == 0 && strcmp(first_role(c->cgi, o), "none") == 0) {
		r = call_fail(c, E_FORBIDDEN, "",
		              "%s has no role here: an administrator gives one, or a group that "
		              "has one",
		              o->name);
	}
	person_unref(p);
	if (r < 0)
		return r;
	snprintf(c->actor_text, sizeof c->actor_text, "%s:%s", o->source, o->name);
	c->actor = c->actor_text;
	if (!same)
		*ret_changes = changes_of(c->cgi, o, known == 0);
	return 0;
}
