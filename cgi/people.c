#include "cgi/people.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/log.h"

struct people {
	pthread_mutex_t mu; /* guards all below */
	struct person *items;
	size_t n;
	uint64_t changes;
	bool loaded, wanted;
};

static const char *const rights[] = {
	[RIGHT_BACKFILL] = "backfill", [RIGHT_FORCE_SUCCESS] = "force-success"
};

const char *right_name(enum right r)
{
	return rights[r];
}

struct people *people_new(void)
{
	struct people *p = mem_new(sizeof(*p));

	pthread_mutex_init(&p->mu, NULL);
	return p;
}

static void persons_free(struct person *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		person_done(&items[i]);
	free(items);
}

void people_free(struct people *p)
{
	if (p == NULL)
		return;
	persons_free(p->items, p->n);
	pthread_mutex_destroy(&p->mu);
	free(p);
}

void person_done(struct person *p)
{
	sodium_memzero(p->secret, sizeof(p->secret));
	free(p->within);
	p->within = NULL;
}

/* --- reading ----------------------------------------------------------------------------- */

/* "*" is all; an admin's end nowhere. */
static char *within_of(const cJSON *projects, enum role role)
{
	const cJSON *v;
	char *text, *copy;

	if (role == ROLE_ADMIN)
		return NULL;
	cJSON_ArrayForEach(v, projects)
	{
		if (cJSON_IsString(v) && strcmp(v->valuestring, "*") == 0)
			return NULL;
	}
	text = projects != NULL ? cJSON_PrintUnformatted(projects) : NULL;
	copy = mem_str(text != NULL ? text : "[]");
	free(text);
	return copy;
}

static unsigned rights_of(const cJSON *list, enum role role)
{
	unsigned bits = role == ROLE_ADMIN ? RIGHTS_ALL : 0;
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		for (unsigned r = RIGHT_BACKFILL; r <= RIGHT_FORCE_SUCCESS; r <<= 1)
			if (cJSON_IsString(v) && strcmp(v->valuestring, rights[r]) == 0)
				bits |= r;
	}
	return bits;
}

struct reading {
	struct person *items;
	size_t n;
};

/* Who does not read back may do nothing: named in the log, and not there. */
static int each_person(void *ctx, const struct store_doc *d)
{
	struct reading *g = ctx;
	struct person p = { 0 };
	cJSON *root = NULL;
	const char *role, *secret;

	if (json_parse(d->body, d->body_len, &root, NULL) < 0 ||
	    (role = json_text(root, "role")) == NULL || !role_from_name(role, &p.role) ||
	    strlen(d->name) >= sizeof(p.name)) {
		log_warn("user.ignored", "name=%.64s why=\"lb_user: its document does not read\"",
		         d->name);
		json_free(root);
		return 0;
	}
	snprintf(p.name, sizeof(p.name), "%s", d->name);
	secret = json_text(root, "secret");
	snprintf(p.secret, sizeof(p.secret), "%s", secret != NULL ? secret : "");
	p.disabled = json_true(root, "disabled");
	p.since = json_int(root, "since", 0);
	p.rights = rights_of(json_get(root, "rights"), p.role);
	p.within = within_of(json_get(root, "projects"), p.role);
	json_free(root);
	g->items = mem_grow(g->items, g->n + 1, sizeof(*g->items));
	g->items[g->n++] = p;
	return 0;
}

int people_refresh(struct people *p, struct reader *r, struct err *err)
{
	struct reading got = { 0 };
	uint64_t changes = 0;
	bool same;
	int code = read_doc_changes(r, DOC_USER, &changes, err);

	if (code < 0)
		return code;
	pthread_mutex_lock(&p->mu);
	same = p->loaded && p->changes == changes;
	pthread_mutex_unlock(&p->mu);
	if (same)
		return 0;
	code = read_doc_bodies(r, DOC_USER, each_person, &got, err);
	if (code < 0) {
		persons_free(got.items, got.n);
		return code;
	}
	pthread_mutex_lock(&p->mu);
	struct reading old = { p->items, p->n };
	p->items = got.items;
	p->n = got.n;
	p->changes = changes; /* of before: what came since is read again */
	p->loaded = true;
	pthread_mutex_unlock(&p->mu);
	persons_free(old.items, old.n);
	return 0;
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

int people_find(struct people *p, const char *name, struct person *ret)
{
	int found = 0;

	pthread_mutex_lock(&p->mu);
	p->wanted = true;
	for (size_t i = 0; i < p->n && found == 0; i++) {
		if (strcmp(p->items[i].name, name) != 0)
			continue;
		*ret = p->items[i];
		ret->within = ret->within != NULL ? mem_str(ret->within) : NULL;
		found = 1;
	}
	if (!p->loaded)
		found = E_AGAIN;
	pthread_mutex_unlock(&p->mu);
	return found;
}
