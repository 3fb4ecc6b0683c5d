/* Where somebody has a role and a right: a person's own and his groups' grants together, each
 * only in its own projects (an operator of one project, a developer of another, is an operator
 * of one). */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/who/people_impl.h"
#include "util/alloc.h"
#include "util/json_in.h"
#include "util/json_put.h"

static const char *const rights[] = {
	[RIGHT_BACKFILL] = "backfill",
	[RIGHT_FORCE_SUCCESS] = "force-success",
	[RIGHT_UNSAFE] = "unsafe",
};

const char *right_name(enum right r)
{
	return rights[r];
}

void put_rights(struct buf *out, const char *key, unsigned bits)
{
	put_open(out, key, '[');
	for (unsigned r = RIGHT_BACKFILL; r <= RIGHT_LAST; r <<= 1)
		if (bits & r)
			put_text(out, NULL, right_name(r));
	put_close(out, ']');
}

static unsigned rights_of(const cJSON *list)
{
	unsigned bits = 0;
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
		for (unsigned r = RIGHT_BACKFILL; r <= RIGHT_LAST; r <<= 1)
			if (cJSON_IsString(v) && strcmp(v->valuestring, rights[r]) == 0)
				bits |= r;
	return bits;
}

void grant__read(const cJSON *root, enum role role, struct grant *ret)
{
	const cJSON *v;

	*ret = (struct grant){ .role = role };
	if (role == ROLE_ADMIN) {
		ret->rights = RIGHTS_ALL;
		ret->in.all = true;
		return;
	}
	ret->rights = rights_of(json_get(root, "rights"));
	cJSON_ArrayForEach(v, json_get(root, "projects")) {
		if (!cJSON_IsString(v))
			continue;
		ret->in.all = ret->in.all || strcmp(v->valuestring, "*") == 0;
		ret->in.names = mem_grow(ret->in.names, ret->in.n + 1, sizeof *ret->in.names);
		ret->in.names[ret->in.n++] = mem_str(v->valuestring);
	}
}

void grant__done(struct grant *g)
{
	for (size_t i = 0; i < g->in.n; i++)
		free(g->in.names[i]);
	free(g->in.names);
}

static bool grants_has(const struct projects *p, const char *name)
{
	bool found = p->all;

	for (size_t i = 0; i < p->n && !found; i++)
		found = strcmp(p->names[i], name) == 0;
	return found;
}

/* In this project (NULL: in all of them) he has the role and the rights. */
static bool may_in(const struct person *p, const char *name, enum role least, unsigned want)
{
	unsigned have = 0;
	bool role = false;

	for (size_t i = 0; i < p->n_grants; i++) {
		const struct grant *g = &p->grants[i];

		if (name ? !grants_has(&g->in, name) : !g->in.all)
			continue;
		role = role || g->role >= least;
		have |= g->rights;
	}
	return role && (have & want) == want;
}

static bool token_lets(const struct token *t, const char *name)
{
	return !t || (name ? grants_has(&t->grant.in, name) : t->grant.in.all);
}

/* Each name once. */
static void names_add(cJSON *list, const char *name)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
		if (strcmp(v->valuestring, name) == 0)
			return;
	cJSON_AddItemToArray(list, cJSON_CreateString(name));
}

static void add_where(cJSON *list, const struct projects *from, const struct person *p,
                      const struct token *t, enum role least, unsigned want)
{
	for (size_t i = 0; i < from->n; i++)
		if (strcmp(from->names[i], "*") != 0 && token_lets(t, from->names[i]) &&
		    (!p || may_in(p, from->names[i], least, want)))
			names_add(list, from->names[i]);
}

char *grants_within(const struct person *p, const struct token *t, enum role least, unsigned want)
{
	cJSON *list;
	char *text, *copy;

	if ((!p || may_in(p, NULL, least, want)) && token_lets(t, NULL))
		return NULL;
	list = cJSON_CreateArray();
	for (size_t i = 0; p && i < p->n_grants; i++)
		add_where(list, &p->grants[i].in, p, t, least, want);
	if (t)
		add_where(list, &t->grant.in, p, t, least, want);
	text = cJSON_PrintUnformatted(list);
	copy = mem_str(text);
	free(text);
	cJSON_Delete(list);
	return copy;
}

/* --- shown ------------------------------------------------------------------------------------ */

/* The highest role that he has there, and the rights. */
static void grant_put(const struct person *p, const struct token *t, const char *name,
                      struct buf *out)
{
	enum role role = ROLE_NONE;
	unsigned have = 0;

	for (enum role r = ROLE_ADMIN; p && r > ROLE_NONE && role == ROLE_NONE; r--)
		role = may_in(p, name, r, 0) ? r : ROLE_NONE;
	for (unsigned r = RIGHT_BACKFILL; p && r <= RIGHT_LAST; r <<= 1)
		have |= may_in(p, name, ROLE_VIEWER, r) ? r : 0;
	if (t) {
		role = !p || role > t->grant.role ? t->grant.role : role;
		have = p ? have & t->grant.rights : t->grant.rights;
	}
	if (role == ROLE_NONE)
		return;
	put_open(out, NULL, '{');
	put_text(out, "project", name);
	put_text(out, "role", role_name(role));
	put_rights(out, "rights", have);
	put_close(out, '}');
}

void grants_put(const struct person *p, const struct token *t, struct buf *out)
{
	char *within = grants_within(p, t, ROLE_VIEWER, 0);
	cJSON *list = within ? cJSON_Parse(within) : NULL;
	const cJSON *v;

	if (!within)
		grant_put(p, t, NULL, out);
	for (size_t i = 0; !within && p && i < p->n_grants; i++)
		for (size_t k = 0; k < p->grants[i].in.n; k++)
			if (strcmp(p->grants[i].in.names[k], "*") != 0)
				grant_put(p, t, p->grants[i].in.names[k], out);
	cJSON_ArrayForEach(v, list)
		grant_put(p, t, v->valuestring, out);
	cJSON_Delete(list);
	free(within);
}
