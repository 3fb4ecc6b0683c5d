/* The roster for those who ask: people, tokens and what maps to groups; read again when it
 * changed.
 *
 * A roster never changes. A newer one takes its place under a mutex, and a call keeps the person
 * and the token that it took until it is done with them. The documents are read in people_read.c,
 * on a thread that reads.
 */
#include "cgi/who/people.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cgi/who/people_impl.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

struct people {
	pthread_mutex_t mu;    /* guards all below */
	struct roster *roster; /* NULL: not read yet */
	uint64_t reads;        /* refreshes that have begun ... */
	uint64_t read;         /* ... and which of them read the roster */
	bool wanted;
};

struct people *people_new(void)
{
	struct people *p = mem_new(sizeof *p);

	p->wanted = true; /* as soon as there is a store */
	pthread_mutex_init(&p->mu, NULL);
	return p;
}

void people_free(struct people *p)
{
	if (!p)
		return;
	roster__unref(p->roster);
	pthread_mutex_destroy(&p->mu);
	free(p);
}

/* Held; NULL: not read yet. */
static struct roster *roster_now(struct people *p, bool want)
{
	struct roster *r;

	pthread_mutex_lock(&p->mu);
	r = p->roster;
	if (r)
		atomic_fetch_add(&r->refs, 1);
	p->wanted = p->wanted || want;
	pthread_mutex_unlock(&p->mu);
	return r;
}

static int changes_now(struct reader *r, uint64_t ret[ROSTER_KINDS], struct err *err)
{
	static const enum store_doc_kind kinds[ROSTER_KINDS] = { DOC_USER,    DOC_GROUP,
		                                                 DOC_TOKEN,   DOC_FACTOR,
		                                                 DOC_SESSION, DOC_SETTING };
	int code = 0;

	for (size_t i = 0; i < ROSTER_KINDS && code == 0; i++)
		code = read_doc_changes(r, kinds[i], &ret[i], err);
	return code;
}

static uint64_t read_begins(struct people *p)
{
	uint64_t n;

	pthread_mutex_lock(&p->mu);
	n = ++p->reads;
	pthread_mutex_unlock(&p->mu);
	return n;
}

int people_refresh(struct people *p, struct reader *r, struct err *err)
{
	uint64_t changes[ROSTER_KINDS] = { 0 };
	uint64_t mine = read_begins(p); /* before it looks: it sees all that was so by now */
	struct roster *old = roster_now(p, false), *fresh = NULL;
	const struct read_sight *sight = reader_see(r, NULL); /* whoever's call has it read */
	int code = changes_now(r, changes, err);
	bool same = old && memcmp(old->changes, changes, sizeof changes) == 0;

	roster__unref(old);
	if (code == 0 && !same)
		code = roster__read(r, &fresh, err);
	reader_see(r, sight);
	if (code < 0 || same)
		return code;
	CHECK(fresh && fresh->refs == 1); /* nobody has seen it: it never changes from now on */
	memcpy(fresh->changes, changes,
	       sizeof changes); /* of before: what came since is read again */
	pthread_mutex_lock(&p->mu);
	old = fresh;
	if (mine > p->read) { /* else one that began later is there already */
		p->read = mine;
		old = p->roster;
		p->roster = fresh;
	}
	pthread_mutex_unlock(&p->mu);
	roster__unref(old);
	return 0;
}

bool people_binds_reading(const struct person *p, const struct token *t)
{
	return p ? p->roster->binds_reading : t && t->roster->binds_reading;
}

bool people_binds_all(struct people *p)
{
	struct roster *r = roster_now(p, false);
	bool binds = !r || r->binds_reading;

	roster__unref(r);
	return binds;
}

static uint64_t reading_mark_of(const struct roster *r)
{
	enum { USERS, GROUPS, TOKENS, SETTINGS = 5 }; /* of changes_now() */

	return !r ? 0
	          : 1 + r->changes[USERS] + r->changes[GROUPS] + r->changes[TOKENS] +
	                       r->changes[SETTINGS];
}

uint64_t people_reading_mark(struct people *p)
{
	struct roster *r = roster_now(p, true);
	uint64_t mark = reading_mark_of(r);

	roster__unref(r);
	return mark;
}

uint64_t people_mark_of(const struct person *p, const struct token *t)
{
	return reading_mark_of(p ? p->roster : t ? t->roster : NULL);
}

bool people_wanted(struct people *p)
{
	bool wanted;

	pthread_mutex_lock(&p->mu);
	wanted = p->wanted;
	p->wanted = false;
	pthread_mutex_unlock(&p->mu);
	return wanted;
}

static int by_name(const void *name, const void *item)
{
	return strcmp(name, ((const struct person *)item)->name);
}

/* The item, which then holds the roster; NULL: there is none, and the roster is let go. */
static const void *item_of(struct roster *r, const void *key, const void *items, size_t n,
                           size_t size, int (*order)(const void *key, const void *item))
{
	const void *found = n > 0 ? bsearch(key, items, n, size, order) : NULL;

	if (!found)
		roster__unref(r);
	return found;
}

int people_find(struct people *p, const char *name, const struct person **ret)
{
	struct roster *r = roster_now(p, true);

	*ret = NULL;
	if (!r)
		return E_AGAIN;
	*ret = item_of(r, name, r->persons, r->n_persons, sizeof *r->persons, by_name);
	return *ret != NULL;
}

bool person_is_outside(const struct person *p)
{
	return strcmp(p->source, "ldap") == 0 || strcmp(p->source, "oidc") == 0;
}

void person_unref(const struct person *p)
{
	if (p)
		roster__unref(p->roster);
}

static int by_hash(const void *hash, const void *item)
{
	return memcmp(hash, ((const struct token *)item)->hash, TOKEN_HASH_BYTES);
}

int people_token(struct people *p, const unsigned char hash[TOKEN_HASH_BYTES],
                 const struct token **ret)
{
	struct roster *r = roster_now(p, true);

	*ret = NULL;
	if (!r)
		return E_AGAIN;
	*ret = item_of(r, hash, r->tokens, r->n_tokens, sizeof *r->tokens, by_hash);
	return *ret != NULL;
}

void token_unref(const struct token *t)
{
	if (t)
		roster__unref(t->roster);
}

/* 0: he has none. */
static int64_t mark_of(const struct roster *r, const char *name)
{
	for (size_t i = 0; i < r->n_factors; i++)
		if (strcmp(r->factors[i].name, name) == 0)
			return r->factors[i].mark;
	return 0;
}

int people_factor(struct people *p, const char *name, int64_t *ret_mark)
{
	struct roster *r = roster_now(p, true);
	int found = !r ? E_AGAIN : 0;

	*ret_mark = r ? mark_of(r, name) : 0;
	if (*ret_mark != 0)
		found = 1;
	roster__unref(r);
	return found;
}

/* Of somebody who was changed since, or has another second factor, it lets nobody in. */
static bool session_holds(const struct roster *r, const struct kept_session *s)
{
	const struct person *p = r->n_persons > 0 ? bsearch(s->user, r->persons, r->n_persons,
	                                                    sizeof *r->persons, by_name)
	                                          : NULL;

	return p && !p->disabled && p->since == s->since &&
	       (person_is_outside(p) || mark_of(r, s->user) == s->factor) &&
	       clock_wall_us(&clock_machine) / US_PER_S < s->expires_s;
}

static int by_session(const void *hash, const void *item)
{
	return memcmp(hash, ((const struct kept_session *)item)->hash, TOKEN_HASH_BYTES);
}

int people_session(struct people *p, const unsigned char hash[TOKEN_HASH_BYTES],
                   struct kept_session *ret)
{
	struct roster *r = roster_now(p, true);
	const struct kept_session *s;

	if (!r)
		return E_AGAIN;
	s = r->n_sessions > 0
	            ? bsearch(hash, r->sessions, r->n_sessions, sizeof *r->sessions, by_session)
	            : NULL;
	bool is = s && session_holds(r, s);
	if (is)
		*ret = *s;
	roster__unref(r);
	return is;
}

void people_sessions_each(struct people *p, const char *user,
                          void (*each)(void *ctx, const struct kept_session *s), void *ctx)
{
	struct roster *r = roster_now(p, true);

	for (size_t i = 0; r && i < r->n_sessions; i++)
		if ((!user || strcmp(r->sessions[i].user, user) == 0) &&
		    session_holds(r, &r->sessions[i]))
			each(ctx, &r->sessions[i]);
	roster__unref(r);
}

int people_mapped(struct people *p, const char *source, const char *external,
                  char ret[USER_NAME_MAX])
{
	struct roster *r = roster_now(p, false);
	int found = !r ? E_AGAIN : 0;

	for (size_t i = 0; r && i < r->n_groups && found == 0; i++) {
		const struct group *g = &r->groups[i];
		const char *called = g->external[0] != '\0' ? g->external : g->name;

		if (strcmp(g->source, source) != 0 || strcasecmp(called, external) != 0)
			continue;
		memcpy(ret, g->name, USER_NAME_MAX);
		found = 1;
	}
	roster__unref(r);
	return found;
}

void people_subject(struct people *p, const char *source, const char *subject,
                    char ret[USER_NAME_MAX])
{
	struct roster *r = roster_now(p, false);

	ret[0] = '\0';
	for (size_t i = 0; r && i < r->n_persons; i++)
		if (strcmp(r->persons[i].source, source) == 0 &&
		    strcmp(r->persons[i].subject, subject) == 0)
			memcpy(ret, r->persons[i].name, USER_NAME_MAX);
	roster__unref(r);
}

/* --- shown --- */

void people_members_put(struct people *p, const char *group, const char *key, struct buf *out)
{
	struct roster *r = roster_now(p, false);

	put_open(out, key, '[');
	for (size_t i = 0; r && i < r->n_persons; i++)
		for (size_t j = 0; j < r->persons[i].n_groups; j++)
			if (strcmp(r->persons[i].groups[j]->name, group) == 0)
				put_text(out, NULL, r->persons[i].name);
	put_close(out, ']');
	roster__unref(r);
}

void people_effective_put(struct people *p, const char *name, struct buf *out)
{
	const struct person *who = NULL;
	char *within = NULL;

	people_find(p, name, &who);
	put_open(out, "groups", '[');
	for (size_t i = 0; who && i < who->n_groups; i++)
		put_text(out, NULL, who->groups[i]->name);
	put_close(out, ']');
	put_open(out, "effective", '{');
	put_text(out, "role", who && who->role != ROLE_NONE ? role_name(who->role) : "none");
	within = who ? grants_within(who, NULL, ROLE_NONE, 0) : mem_str("[]");
	put_raw(out, "projects", within ? within : "null");
	put_rights(out, "rights", who ? who->rights : 0);
	put_close(out, '}');
	free(within);
	person_unref(who);
}

void token_row_put(const struct token_row *t, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "name", t->name);
	put_text(out, "user", t->owner);
	put_text(out, "made_by", t->maker);
	put_text(out, "role", role_name(t->role));
	put_raw(out, "projects", t->projects ? t->projects : "null");
	put_rights(out, "rights", t->rights);
	put_bool(out, "app", t->is_app);
	put_bool(out, "here_only", t->here_only);
	put_time(out, "created", t->created_s);
	if (t->expires_s != 0)
		put_time(out, "expires", t->expires_s);
	else
		put_null(out, "expires");
	put_close(out, '}');
}

static const struct person *owner_of(const struct roster *r, const struct token *t)
{
	for (size_t i = 0; t->owner[0] && i < r->n_persons; i++)
		if (strcmp(r->persons[i].name, t->owner) == 0)
			return &r->persons[i];
	return NULL;
}

/* What it may: of a person's never more than the person may. */
static void token_put(const struct token *t, const struct person *owner, struct buf *out)
{
	char *in = grants_within(owner, t, ROLE_NONE, 0);
	enum role role = owner && owner->role < t->grant.role ? owner->role : t->grant.role;

	token_row_put(
		&(struct token_row){ .name = t->name,
	                             .owner = t->owner[0] != '\0' ? t->owner : NULL,
	                             .maker = t->maker,
	                             .projects = in,
	                             .role = role,
	                             .rights = t->grant.rights & (owner ? owner->rights : ~0u),
	                             .is_app = t->is_app,
	                             .created_s = t->created_s,
	                             .expires_s = t->expires_s },
		out);
	free(in);
}

/* A person's key of a program is one of his tokens; an app is nobody's. */
static bool is_app_of_nobody(const struct token *t)
{
	return t->is_app && t->owner[0] == '\0';
}

void people_tokens_put(struct people *p, const char *owner, bool apps, struct buf *out)
{
	struct roster *r = roster_now(p, false);

	for (size_t i = 0; r && i < r->n_tokens; i++)
		if (is_app_of_nobody(&r->tokens[i]) == apps &&
		    (!owner || strcmp(r->tokens[i].owner, owner) == 0))
			token_put(&r->tokens[i], owner_of(r, &r->tokens[i]), out);
	roster__unref(r);
}

bool people_token_of_admin(struct people *p, char ret_name[USER_NAME_MAX], char ret_mark[17])
{
	struct roster *r = roster_now(p, false);
	bool found = false;

	for (size_t i = 0; r && i < r->n_tokens && !found; i++) {
		const struct token *t = &r->tokens[i];

		if (t->owner[0] != '\0' || t->is_app || strcmp(t->maker, "admin") != 0)
			continue;
		memcpy(ret_name, t->name, USER_NAME_MAX);
		sodium_bin2hex(ret_mark, 17, t->hash, 8);
		found = true;
	}
	roster__unref(r);
	return found;
}

bool people_token_owner(struct people *p, const char *name, bool app, char ret[USER_NAME_MAX])
{
	struct roster *r = roster_now(p, false);
	bool found = false;

	for (size_t i = 0; r && i < r->n_tokens && !found; i++) {
		const struct token *t = &r->tokens[i];

		if (strcmp(t->name, name) != 0 || is_app_of_nobody(t) != app)
			continue;
		memcpy(ret, t->owner, USER_NAME_MAX);
		found = true;
	}
	roster__unref(r);
	return found;
}
