/* Grants, summed up where they are asked about: a person's own and those of each group he is in.
 * The HTTP faces come to the same sums (cgi/who/grants.c), to say beforehand what is refused. */
#include "baseserver/model/grants.h"

#include <string.h>

#include "util/json_read.h"

/* An administrator is one everywhere, with all rights. */
static enum least role_of(const struct jval *grant)
{
	const char *word = jv_str(grant, "role");

	for (int l = 0; l < LEAST_COUNT; l++)
		if (strcmp(word, least_name((enum least)l)) == 0)
			return (enum least)l;
	return LEAST_COUNT;
}

static bool reaches(enum least role, enum least least)
{
	return role != LEAST_COUNT && role >= least;
}

static bool lists(const struct jval *projects, const char *project)
{
	return jv_has(projects, "*") || (project && jv_has(projects, project));
}

/* --- a person ---------------------------------------------------------------------------- */

/* A member by name; or told so by the directory that both are of. */
static bool is_in(const struct grantee *g, const struct doc *group)
{
	const struct jval *body = doc_json(group);

	return jv_has(jv_get(body, "members"), g->name) ||
	       (strcmp(jv_str(body, "source"), jv_str(g->person, "source")) == 0 &&
	        jv_has(jv_get(g->person, "groups"), group->name));
}

struct sum {
	bool role, right;
};

static void sum_add(struct sum *s, const struct jval *grant, const char *project, enum least least,
                    const char *right)
{
	enum least role = role_of(grant);

	if (role != LEAST_ADMIN && !lists(jv_get(grant, "projects"), project))
		return;
	s->role = s->role || reaches(role, least);
	s->right = s->right || role == LEAST_ADMIN || jv_has(jv_get(grant, "rights"), right);
}

static bool person_has(const struct grantee *g, const char *project, enum least least,
                       const char *right)
{
	struct sum s = { .right = !right };

	sum_add(&s, g->person, project, least, right ? right : "");
	for (size_t i = 0; i < g->groups->n; i++) {
		const struct doc *group = &g->groups->items[i];
		if (!group->retired && is_in(g, group))
			sum_add(&s, doc_json(group), project, least, right ? right : "");
	}
	return s.role && s.right;
}

static enum least person_role(const struct grantee *g)
{
	enum least best = role_of(g->person);

	for (size_t i = 0; i < g->groups->n; i++) {
		const struct doc *group = &g->groups->items[i];
		enum least role = group->retired || !is_in(g, group) ? LEAST_COUNT
		                                                     : role_of(doc_json(group));
		if (role != LEAST_COUNT && (best == LEAST_COUNT || role > best))
			best = role;
	}
	return best;
}

/* --- a token ------------------------------------------------------------------------------ */

/* What a person's token does not say, it takes as he has it. */
static bool token_lets(const struct jval *t, const char *project, const char *right)
{
	const struct jval *projects = jv_get(t, "projects"), *rights = jv_get(t, "rights");

	if (role_of(t) == LEAST_ADMIN)
		return true;
	if (projects && !lists(projects, project))
		return false;
	return !right || (!rights && *jv_str(t, "owner")) || jv_has(rights, right);
}

bool token_over(const struct jval *token, int64_t now_s)
{
	int64_t expires = jv_int(token, "expires", 0);

	return expires && expires <= now_s;
}

/* --- both --------------------------------------------------------------------------------- */

enum least grants_role(const struct grantee *g)
{
	enum least of_token = g->token ? role_of(g->token) : LEAST_ADMIN;
	enum least own = g->person ? person_role(g) : LEAST_ADMIN;

	if (own == LEAST_COUNT || of_token == LEAST_COUNT)
		return LEAST_COUNT;
	return own < of_token ? own : of_token;
}

bool grants_have(const struct grantee *g, const char *project, enum least least, const char *right)
{
	return (!g->person || person_has(g, project, least, right)) &&
	       (!g->token ||
	        (reaches(role_of(g->token), least) && token_lets(g->token, project, right)));
}

/* own: with a password that is kept here, not elsewhere. */
static bool is_admin(const struct doc *u, const struct docs *groups, bool own)
{
	const struct grantee g = { u->name, u->retired ? NULL : doc_json(u), NULL, groups };
	const char *source = jv_str(g.person, "source");
	bool is_own = (!*source || strcmp(source, "local") == 0) && jv_text(g.person, "secret");

	return g.person && !jv_true(g.person, "disabled") &&
	       (is_own ||
	        (!own && (jv_text(g.person, "secret") || *jv_str(g.person, "subject")))) &&
	       grants_role(&g) == LEAST_ADMIN;
}

static bool any_admin(const struct docs *people, const struct docs *groups, bool own)
{
	for (size_t i = 0; i < people->n; i++)
		if (is_admin(&people->items[i], groups, own))
			return true;
	return false;
}

bool grants_any_admin(const struct docs *people, const struct docs *groups)
{
	return any_admin(people, groups, false);
}

enum asserts grants_asserts(const struct docs *docs, const char *face)
{
	const struct peer *p = peers_find(&docs[DOC_PEER], face);

	if (p && p->asserts != ASSERTS_UNSAID)
		return p->asserts;
	return docs_find(&docs[DOC_USER], "admin") ||
	                       any_admin(&docs[DOC_USER], &docs[DOC_GROUP], true)
	               ? ASSERTS_DIRECTORY
	               : ASSERTS_ADMIN;
}
