/* Sights: made of a person's grants, or a token's, when the installation binds reading to
 * projects.
 *
 * * The switch is a document that the roster carries, so that who a person is and whether reading
 * is bound are of one moment. Who is an administrator, or may read in all projects, has none; nor
 * has a token that somebody made on this machine, where all is read anyway. */
#include "cgi/who/sight.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/people.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/json_in.h"

bool sight_covers(const struct sight *s, const char *name)
{
	size_t n = strcspn(name, "/");
	bool found = !s;

	for (size_t i = 0; s && i < s->see.n && !found; i++)
		found = strlen(s->names[i]) == n && memcmp(s->names[i], name, n) == 0;
	return found;
}

/* --- what only a document's body says -------------------------------------------------------- */

static bool lists_mine(const struct sight *s, const cJSON *projects)
{
	const cJSON *v;

	if (cJSON_GetArraySize(projects) == 0)
		return true; /* for the jobs of all */
	cJSON_ArrayForEach(v, projects)
		if (cJSON_IsString(v) &&
		    (strcmp(v->valuestring, "*") == 0 || sight_covers(s, v->valuestring)))
			return true;
	return false;
}

static bool sees_body(const struct sight *s, const struct store_doc *d, const cJSON *body)
{
	if (d->kind == DOC_SERVER)
		return lists_mine(s, json_get(body, "projects"));
	if (d->kind == DOC_CHANNEL || d->kind == DOC_ONCALL)
		return cJSON_GetArraySize(json_get(body, "projects")) == 0 ||
		       lists_mine(s, json_get(body, "projects"));
	if (d->kind == DOC_RULE) {
		const char *covers = json_text(body, "covers");
		return !covers || *covers == '\0' || sight_covers(s, covers);
	}
	if (d->kind == DOC_SILENCE) {
		const char *covers = json_text(body, "covers");
		return covers && *covers != '\0' && sight_covers(s, covers);
	}
	const char *owner = d->kind == DOC_DEVICE ? json_text(body, "owner") : d->name;
	return owner && s->person[0] != '\0' && strcmp(owner, s->person) == 0;
}

static bool sight_sees(const struct read_sight *see, const struct store_doc *d)
{
	cJSON *body = NULL;
	bool sees = json_parse(d->body, d->body_len, &body, NULL) == 0 &&
	            sees_body((const struct sight *)see, d, body);

	json_free(body);
	return sees;
}

/* --- life ------------------------------------------------------------------------------------- */

static struct sight *sight_new(const char *list, const char *person)
{
	struct sight *s = mem_new(sizeof *s);
	cJSON *names = cJSON_Parse(list);
	const cJSON *v;

	atomic_init(&s->refs, 1);
	cJSON_ArrayForEach(v, names) {
		s->names = mem_grow(s->names, s->see.n + 1, sizeof *s->names);
		s->names[s->see.n++] = mem_str(v->valuestring);
	}
	cJSON_Delete(names);
	s->person = mem_str(person);
	s->text = mem_fmt("%s %s", person, list);
	s->see.projects = s->names;
	s->see.person = s->person;
	s->see.sees = sight_sees;
	return s;
}

struct sight *sight_ref(struct sight *s)
{
	if (s)
		atomic_fetch_add(&s->refs, 1);
	return s;
}

void sight_unref(struct sight *s)
{
	unsigned was = s ? atomic_fetch_sub(&s->refs, 1) : 0;

	CHECK(!s || was > 0);
	if (was != 1)
		return;
	for (size_t i = 0; i < s->see.n; i++)
		free(s->names[i]);
	free(s->names);
	free(s->person);
	free(s->text);
	free(s);
}

void sight_take(struct call *c)
{
	char *within = people_binds_reading(c->person, c->token)
	                       ? grants_within(c->person, c->token, ROLE_VIEWER, 0)
	                       : NULL;

	sight_unref(c->sight);
	c->sight = within ? sight_new(within, c->user[0] != '\0' ? c->user : c->actor_text) : NULL;
	free(within);
}

void sight_none(struct call *c)
{
	sight_unref(c->sight);
	c->sight = sight_new("[]", "");
}

/* --- the route's word --------------------------------------------------------------------- */

int sight_absent(struct call *c, const char *place)
{
	snprintf(c->hint, sizeof c->hint,
	         "an administrator lets people read more projects: sirdar user set, sirdar group "
	         "set");
	return call_fail(c, E_NOT_FOUND, place,
	                 "there is no such thing in the projects that %s reads", c->actor);
}

int sight_check(struct call *c)
{
	if (!c->sight)
		return 0;
	if (c->route->scope == SCOPE_NAMED && !sight_covers(c->sight, c->params[0]))
		return sight_absent(c, "path");
	if (c->route->scope != SCOPE_WHOLE)
		return 0;
	snprintf(c->hint, sizeof c->hint,
	         "an administrator: sirdar user set %.64s --project '*', or a group that has it",
	         c->user[0] != '\0' ? c->user : "NAME");
	return call_fail(c, E_FORBIDDEN, "",
	                 "this tells of the whole installation, and %s reads some projects only",
	                 c->actor);
}
