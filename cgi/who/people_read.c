/* Documents to a roster. Who does not read back may do nothing: named in the log, and not there. */
#include <cjson/cJSON.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/who/people_impl.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/log.h"

static void read_copy(char *ret, size_t size, const cJSON *root, const char *key)
{
	const char *text = json_text(root, key);

	snprintf(ret, size, "%s", text ? text : "");
}

static void names_read(const cJSON *list, char ***ret, size_t *ret_n)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, list) {
		if (!cJSON_IsString(v))
			continue;
		*ret = mem_grow(*ret, *ret_n + 1, sizeof **ret);
		(*ret)[(*ret_n)++] = mem_str(v->valuestring);
	}
}

static void names_done(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

/* "none" is the role of a person or group without a role of its own. */
static bool role_read(const cJSON *root, enum role *ret)
{
	const char *role = json_text(root, "role");

	*ret = ROLE_NONE;
	return role && (strcmp(role, "none") == 0 || role_from_name(role, ret));
}

static cJSON *body_read(const struct store_doc *d, const char *what, enum role *ret_role)
{
	cJSON *root = NULL;

	if (json_parse(d->body, d->body_len, &root, NULL) == 0 && role_read(root, ret_role) &&
	    strlen(d->name) < USER_NAME_MAX)
		return root;
	log_warn("people.ignored", "kind=%s name=%.64s why=\"its document does not read\"", what,
	         d->name);
	json_free(root);
	return NULL;
}

static int each_group(void *ctx, const struct store_doc *d)
{
	struct roster *r = ctx;
	struct group g = { 0 };
	enum role role;
	cJSON *root = body_read(d, "group", &role);

	if (!root)
		return 0;
	snprintf(g.name, sizeof g.name, "%s", d->name);
	grant__read(root, role, &g.grant);
	read_copy(g.source, sizeof g.source, root, "source");
	read_copy(g.external, sizeof g.external, root, "external");
	names_read(json_get(root, "members"), &g.members, &g.n_members);
	json_free(root);
	r->groups = mem_grow(r->groups, r->n_groups + 1, sizeof *r->groups);
	r->groups[r->n_groups++] = g;
	return 0;
}

static int each_person(void *ctx, const struct store_doc *d)
{
	struct roster *r = ctx;
	struct person p = { .roster = r };
	enum role role;
	cJSON *root = body_read(d, "user", &role);

	if (!root)
		return 0;
	snprintf(p.name, sizeof p.name, "%s", d->name);
	read_copy(p.secret, sizeof p.secret, root, "secret");
	read_copy(p.source, sizeof p.source, root, "source");
	read_copy(p.subject, sizeof p.subject, root, "subject");
	p.disabled = json_true(root, "disabled");
	p.since = json_int(root, "since", 0);
	p.grants = mem_new(sizeof *p.grants);
	p.n_grants = 1;
	grant__read(root, role, &p.grants[0]);
	names_read(json_get(root, "groups"), &p.given, &p.n_given);
	json_free(root);
	r->persons = mem_grow(r->persons, r->n_persons + 1, sizeof *r->persons);
	r->persons[r->n_persons++] = p;
	return 0;
}

static int each_token(void *ctx, const struct store_doc *d)
{
	struct roster *r = ctx;
	struct token t = { .roster = r };
	enum role role;
	cJSON *root = body_read(d, "token", &role);
	const char *hash = root ? json_text(root, "hash") : NULL;
	size_t n = 0;

	if (!hash ||
	    sodium_hex2bin(t.hash, sizeof t.hash, hash, strlen(hash), NULL, &n, NULL) != 0 ||
	    n != sizeof t.hash) {
		json_free(root);
		return 0;
	}
	snprintf(t.name, sizeof t.name, "%s", d->name);
	read_copy(t.owner, sizeof t.owner, root, "owner");
	snprintf(t.maker, sizeof t.maker, "%s", d->actor ? d->actor : "");
	t.is_app = json_true(root, "app");
	t.credentials = json_true(root, "credentials");
	t.created_s = json_int(root, "created", 0);
	t.expires_s = json_int(root, "expires", 0);
	grant__read(root, role, &t.grant);
	/* What a person's token does not say, it takes as he has it. */
	if (!json_get(root, "projects"))
		t.grant.in.all = true;
	if (!json_get(root, "rights") && t.owner[0] != '\0')
		t.grant.rights = RIGHTS_ALL;
	json_free(root);
	r->tokens = mem_grow(r->tokens, r->n_tokens + 1, sizeof *r->tokens);
	r->tokens[r->n_tokens++] = t;
	return 0;
}

/* One that does not read back is one all the same, and no session is by it. */
static int each_factor(void *ctx, const struct store_doc *d)
{
	struct roster *r = ctx;
	struct factor f = { .mark = -1 };
	cJSON *root = NULL;

	if (strlen(d->name) >= USER_NAME_MAX)
		return 0;
	snprintf(f.name, sizeof f.name, "%s", d->name);
	if (json_parse(d->body, d->body_len, &root, NULL) == 0)
		f.mark = json_true(root, "active") ? json_int(root, "since", -1) : 0;
	json_free(root);
	if (f.mark == 0) /* to be confirmed yet */
		return 0;
	r->factors = mem_grow(r->factors, r->n_factors + 1, sizeof *r->factors);
	r->factors[r->n_factors++] = f;
	return 0;
}

static void session_read(struct roster *r, const char *user, const cJSON *o)
{
	struct kept_session s = { .since = json_int(o, "since", 0),
		                  .factor = json_int(o, "factor", 0),
		                  .begun_s = json_int(o, "begun", 0),
		                  .expires_s = json_int(o, "expires", 0) };
	const char *hash = json_text(o, "hash");
	size_t n = 0;

	if (!hash ||
	    sodium_hex2bin(s.hash, sizeof s.hash, hash, strlen(hash), NULL, &n, NULL) != 0 ||
	    n != sizeof s.hash)
		return;
	snprintf(s.user, sizeof s.user, "%s", user);
	read_copy(s.id, sizeof s.id, o, "id");
	read_copy(s.via, sizeof s.via, o, "via");
	read_copy(s.address, sizeof s.address, o, "address");
	read_copy(s.agent, sizeof s.agent, o, "agent");
	r->sessions = mem_grow(r->sessions, r->n_sessions + 1, sizeof *r->sessions);
	r->sessions[r->n_sessions++] = s;
}

static int each_session(void *ctx, const struct store_doc *d)
{
	cJSON *root = NULL;
	const cJSON *o;

	if (strlen(d->name) >= USER_NAME_MAX || json_parse(d->body, d->body_len, &root, NULL) < 0)
		return 0;
	cJSON_ArrayForEach(o, json_get(root, "sessions"))
		session_read(ctx, d->name, o);
	json_free(root);
	return 0;
}

/* --- who is in which group --- */

static bool is_among(char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* A member by name; or told so by the directory that both are of. */
static bool read_belongs(const struct person *p, const struct group *g)
{
	return is_among(g->members, g->n_members, p->name) ||
	       (strcmp(g->source, p->source) == 0 && is_among(p->given, p->n_given, g->name));
}

static void projects_copy(const struct projects *from, struct projects *ret)
{
	*ret = (struct projects){ .all = from->all, .n = from->n };
	ret->names = mem_array(from->n > 0 ? from->n : 1, sizeof *ret->names);
	for (size_t i = 0; i < from->n; i++)
		ret->names[i] = mem_str(from->names[i]);
}

static void person_join(struct person *p, const struct roster *r)
{
	for (size_t i = 0; i < r->n_groups; i++) {
		const struct group *g = &r->groups[i];
		struct grant *more;

		if (!read_belongs(p, g))
			continue;
		p->groups = mem_grow(p->groups, p->n_groups + 1, sizeof *p->groups);
		p->groups[p->n_groups++] = g;
		p->grants = mem_grow(p->grants, p->n_grants + 1, sizeof *p->grants);
		more = &p->grants[p->n_grants++];
		*more = g->grant;
		projects_copy(&g->grant.in, &more->in);
	}
	CHECK(p->n_grants == p->n_groups + 1 && p->role == ROLE_NONE); /* one's own, and theirs */
	for (size_t i = 0; i < p->n_grants; i++) {
		if (p->grants[i].role > p->role)
			p->role = p->grants[i].role;
		p->rights |= p->grants[i].rights;
	}
	if (p->role == ROLE_ADMIN) /* nobody is an administrator of some projects */
		p->rights = RIGHTS_ALL;
}

static int person_order(const void *a, const void *b)
{
	return strcmp(((const struct person *)a)->name, ((const struct person *)b)->name);
}

static int token_order(const void *a, const void *b)
{
	return memcmp(((const struct token *)a)->hash, ((const struct token *)b)->hash,
	              TOKEN_HASH_BYTES);
}

static int session_order(const void *a, const void *b)
{
	return memcmp(((const struct kept_session *)a)->hash,
	              ((const struct kept_session *)b)->hash, TOKEN_HASH_BYTES);
}

/* commander_reading.c writes it. */
static int each_setting(void *ctx, const struct store_doc *d)
{
	struct roster *r = ctx;
	cJSON *root = NULL;

	if (strcmp(d->name, "reading") != 0)
		return 0;
	if (json_parse(d->body, d->body_len, &root, NULL) < 0)
		r->binds_reading = true; /* what does not read back lets nobody see more */
	else
		r->binds_reading = json_text(root, "reading") &&
		                   strcmp(json_text(root, "reading"), "project") == 0;
	json_free(root);
	return 0;
}

int roster__read(struct reader *reader, struct roster **ret, struct err *err)
{
	struct roster *r = mem_new(sizeof *r);
	int code = read_doc_bodies(reader, DOC_USER, each_person, r, err);

	atomic_init(&r->refs, 1);
	if (code == 0)
		code = read_doc_bodies(reader, DOC_GROUP, each_group, r, err);
	if (code == 0)
		code = read_doc_bodies(reader, DOC_TOKEN, each_token, r, err);
	if (code == 0)
		code = read_doc_bodies(reader, DOC_FACTOR, each_factor, r, err);
	if (code == 0)
		code = read_doc_bodies(reader, DOC_SESSION, each_session, r, err);
	if (code == 0)
		code = read_doc_bodies(reader, DOC_SETTING, each_setting, r, err);
	if (code < 0) {
		roster__unref(r);
		return code;
	}
	if (r->n_persons > 0)
		qsort(r->persons, r->n_persons, sizeof *r->persons, person_order);
	if (r->n_tokens > 0)
		qsort(r->tokens, r->n_tokens, sizeof *r->tokens, token_order);
	if (r->n_sessions > 0)
		qsort(r->sessions, r->n_sessions, sizeof *r->sessions, session_order);
	for (size_t i = 0; i < r->n_persons; i++)
		person_join(&r->persons[i], r);
	*ret = r;
	return 0;
}

static void person_done(struct person *p)
{
	sodium_memzero(p->secret, sizeof p->secret);
	for (size_t i = 0; i < p->n_grants; i++)
		grant__done(&p->grants[i]);
	names_done(p->given, p->n_given);
	free(p->grants);
	free(p->groups);
}

void roster__unref(struct roster *r)
{
	unsigned was = r ? atomic_fetch_sub(&r->refs, 1) : 0;

	CHECK(!r || was > 0);
	if (was != 1)
		return;
	for (size_t i = 0; i < r->n_persons; i++)
		person_done(&r->persons[i]);
	for (size_t i = 0; i < r->n_groups; i++) {
		grant__done(&r->groups[i].grant);
		names_done(r->groups[i].members, r->groups[i].n_members);
	}
	for (size_t i = 0; i < r->n_tokens; i++)
		grant__done(&r->tokens[i].grant);
	free(r->persons);
	free(r->groups);
	free(r->tokens);
	free(r->factors);
	free(r->sessions);
	free(r);
}
