/* People, their groups and their tokens: known by name, set, removed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { TOKENS_EACH_MAX = 100, TOKENS_MAX = 10000, DEVICES_EACH_MAX = 16 };

/* --- what is known ------------------------------------------------------------------- */

static struct known_person *find(const struct known_people *k, const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->items[i].name, name) == 0)
			return &k->items[i];
	return NULL;
}

struct known_person *person_known(struct commander *c, enum person_noun_id noun, const char *name)
{
	return find(&c->people[noun], name);
}

bool person_learn(struct commander *c, const struct store_doc *d)
{
	struct known_people *k = NULL;
	struct known_person *u;

	for (size_t i = 0; i < PERSON_NOUNS && !k; i++)
		if (person_nouns[i].doc == d->kind)
			k = &c->people[i];
	if (!k)
		return false;
	u = find(k, d->name);
	if (!u) {
		k->items = mem_grow(k->items, k->n + 1, sizeof *k->items);
		u = &k->items[k->n++];
		*u = (struct known_person){ .name = mem_str(d->name) };
	}
	free(u->body);
	/* What somebody has set for his browsers is his alone: the store keeps it. */
	u->body = d->kind == DOC_PREFS ? mem_str("{}") : mem_strn(d->body, d->body_len);
	u->id = d->id;
	u->version = d->version;
	u->retired = d->retired;
	if (d->id > k->last)
		k->last = d->id;
	return true;
}

void people_forget(struct commander *c)
{
	for (size_t i = 0; i < PERSON_NOUNS; i++) {
		for (size_t j = 0; j < c->people[i].n; j++) {
			free(c->people[i].items[j].name);
			free(c->people[i].items[j].body);
		}
		free(c->people[i].items);
	}
}

static int each_person(void *ctx, const struct store_doc *d)
{
	person_learn(ctx, d);
	return 0;
}

int people_load(struct commander *c, struct store *store, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < PERSON_NOUNS && r == 0; i++)
		r = store_load_docs(store, person_nouns[i].doc, each_person, c, err);
	return r;
}

/* --- the edit ------------------------------------------------------------------------ */

static bool list_same(const struct jval *a, const struct jval *b)
{
	a = a->first;
	b = b->first;
	while (a && b && strcmp(a->text, b->text) == 0) {
		a = a->next;
		b = b->next;
	}
	return !a && !b;
}

static bool value_same(const struct jval *a, const struct jval *b)
{
	if (!a || !b || a->kind != b->kind)
		return a == b;
	return a->kind == JV_TEXT    ? strcmp(a->text, b->text) == 0
	       : a->kind == JV_TRUTH ? a->truth == b->truth
	                             : list_same(a, b);
}

/* What is not said stays. ret_differs: anything did change. */
static void print_body(const struct person_noun *noun, const struct jval *args,
                       const struct jval *was, struct buf *out, bool *ret_differs)
{
	const struct jval *since = was ? jv_get(was, "since") : NULL;
	int64_t n = since ? since->number : 0;
	bool ends = false;

	*ret_differs = false;
	put_open(out, NULL, '{');
	for (size_t i = 0; i < noun->n_members; i++) {
		const struct person_member *m = &noun->members[i];
		const struct jval *now = jv_get(args, m->key);
		const struct jval *old = was ? jv_get(was, m->key) : NULL;
		const struct jval *v = now ? now : old;
		if (v)
			person_print(out, m->key, v, false);
		if (now && !value_same(now, old)) {
			*ret_differs = true;
			ends = ends || m->ends_sessions;
		}
	}
	put_int(out, "since", n + ends);
	put_close(out, '}');
}

void person_put(struct commander *c, const struct cmd *cmd, enum person_noun_id noun,
                const char *name, const char *body, bool retired)
{
	struct known_people *k = &c->people[noun];
	const struct known_person *was = find(k, name);
	struct edit *e = cmd->edit;

	e->docs = mem_grow(e->docs, e->n_docs + 1, sizeof *e->docs);
	e->docs[e->n_docs++] = (struct store_doc){ .kind = person_nouns[noun].doc,
		                                   .id = was ? was->id : ++k->last,
		                                   .version = was ? was->version + 1 : 1,
		                                   .retired = retired,
		                                   .name = mem_str(name),
		                                   .body = mem_str(body),
		                                   .body_len = strlen(body),
		                                   .actor = mem_str(cmd->actor),
		                                   .at_us = cmd->o.now_us };
}

static int64_t number_of(const struct known_person *u, const char *key)
{
	struct jdoc *doc = NULL;
	int64_t n = 0;

	if (jdoc_parse(u->body, strlen(u->body), &doc, NULL) < 0)
		return 0;
	const struct jval *v = jv_get(jdoc_root(doc), key);
	if (v && v->kind == JV_NUMBER)
		n = v->number;
	jdoc_free(doc);
	return n;
}

static bool is_of(const struct known_person *u, const char *key, const char *text)
{
	struct jdoc *doc = NULL;
	bool is = false;

	if (jdoc_parse(u->body, strlen(u->body), &doc, NULL) < 0)
		return false;
	const struct jval *v = jv_get(jdoc_root(doc), key);
	is = v ? v->kind == JV_TEXT && strcmp(v->text, text) == 0 : text[0] == '\0';
	jdoc_free(doc);
	return is;
}

static int check_new(const struct person_noun *noun, const struct jval *args, struct refusal *f)
{
	for (size_t i = 0; i < noun->n_members; i++) {
		const struct person_member *m = &noun->members[i];
		char at[40];

		if (!m->needed || jv_get(args, m->key))
			continue;
		snprintf(at, sizeof at, "args.%s", m->key);
		return refuse(f, E_INVALID, at,
		              m->as == AS_OWN_ROLE ? "viewer, developer, operator, admin" : NULL,
		              "%s: a new %s needs one", at, noun->word);
	}
	return 0;
}

/* Nothing is kept of who is gone; `since` goes on. */
static void add_gone(struct commander *c, const struct cmd *cmd, enum person_noun_id noun,
                     const struct known_person *u)
{
	char *gone = mem_fmt("{\"since\":%lld}", (long long)number_of(u, "since") + 1);

	person_put(c, cmd, noun, u->name, gone, true);
	free(gone);
}

static bool is_member(const struct jval *members, const char *name)
{
	for (const struct jval *v = members ? members->first : NULL; v; v = v->next)
		if (v->kind == JV_TEXT && strcmp(v->text, name) == 0)
			return true;
	return false;
}

static void print_without(struct buf *out, const struct jval *group, const char *name)
{
	put_open(out, NULL, '{');
	for (const struct jval *v = group->first; v; v = v->next) {
		if (strcmp(v->key, "members") != 0) {
			person_print(out, v->key, v, false);
			continue;
		}
		put_open(out, v->key, '[');
		for (const struct jval *m = v->first; m; m = m->next)
			if (m->kind == JV_TEXT && strcmp(m->text, name) != 0)
				put_text(out, NULL, m->text);
		put_close(out, ']');
	}
	put_close(out, '}');
}

static void leave_group(struct commander *c, const struct cmd *cmd, const struct known_person *g,
                        const char *name)
{
	struct jdoc *doc = NULL;
	struct buf body;

	if (jdoc_parse(g->body, strlen(g->body), &doc, NULL) < 0)
		return;
	buf_init(&body);
	if (is_member(jv_get(jdoc_root(doc), "members"), name)) {
		print_without(&body, jdoc_root(doc), name);
		person_put(c, cmd, NOUN_GROUP, g->name, buf_str(&body), false);
	}
	buf_done(&body);
	jdoc_free(doc);
}

/* One who is made anew under this name is in no group because of the former. */
static void leave_groups(struct commander *c, const struct cmd *cmd, const char *name)
{
	const struct known_people *k = &c->people[NOUN_GROUP];

	for (size_t i = 0; i < k->n; i++)
		if (!k->items[i].retired)
			leave_group(c, cmd, &k->items[i], name);
}

/* Nor has he his tokens and devices: they end with him, in the same edit. */
static void end_owned(struct commander *c, const struct cmd *cmd, enum person_noun_id noun,
                      const char *owner)
{
	const struct known_people *k = &c->people[noun];

	for (size_t i = 0; i < k->n; i++)
		if (!k->items[i].retired && is_of(&k->items[i], "owner", owner))
			add_gone(c, cmd, noun, &k->items[i]);
}

/* A browser that is known already, of whomever it was, takes no more room of his. */
static int check_devices(const struct commander *c, const struct cmd *cmd, struct refusal *f)
{
	const struct known_people *k = &c->people[NOUN_DEVICE];
	const struct jval *v = jv_get(cmd->o.args, "owner");
	size_t own = 0;

	for (size_t i = 0; v && i < k->n; i++)
		own += !k->items[i].retired && strcmp(k->items[i].name, cmd->o.user) != 0 &&
		       is_of(&k->items[i], "owner", v->text);
	return own < DEVICES_EACH_MAX
	               ? 0
	               : refuse(f, E_LIMIT, "args.device", "forget one that is not used",
	                        "args.device: %s has %zu devices, no more fit", v->text, own);
}

static void end_preferences(struct commander *c, const struct cmd *cmd, const char *name)
{
	const struct known_person *u = find(&c->people[NOUN_PREFERENCES], name);

	if (u && !u->retired)
		add_gone(c, cmd, NOUN_PREFERENCES, u);
}

/* Those that are over make room for a new one. */
static int check_tokens(struct commander *c, const struct cmd *cmd, struct refusal *f)
{
	const struct known_people *k = &c->people[NOUN_TOKEN];
	const struct jval *v = jv_get(cmd->o.args, "owner");
	const char *owner = v ? v->text : "";
	size_t own = 0, all = 0;

	for (size_t i = 0; i < k->n; i++) {
		const struct known_person *t = &k->items[i];
		int64_t expires = t->retired ? 0 : number_of(t, "expires");

		if (t->retired)
			continue;
		if (expires && expires <= cmd->o.now_us / US_PER_S &&
		    strcmp(t->name, cmd->o.user) != 0) {
			add_gone(c, cmd, NOUN_TOKEN, t);
			continue;
		}
		all++;
		own += is_of(t, "owner", owner);
	}
	if (all >= TOKENS_MAX || (owner[0] && own >= TOKENS_EACH_MAX))
		return refuse(f, E_LIMIT, "args.token", "remove some that are not used",
		              "args.token: there are %zu tokens%s%s, no more fit",
		              all >= TOKENS_MAX ? all : own, owner[0] ? " of " : "", owner);
	return 0;
}

static int remove_one(struct commander *c, struct cmd *cmd, enum person_noun_id id,
                      const struct known_person *was, struct refusal *f)
{
	const char *word = person_nouns[id].word;
	char at[40];

	snprintf(at, sizeof at, "args.%s", word);
	if (!was || was->retired)
		return refuse(f, E_NOT_FOUND, at,
		              id == NOUN_USER    ? "sirdar user list"
		              : id == NOUN_GROUP ? "sirdar group list"
		              : id == NOUN_TOKEN ? "sirdar app list"
		                                 : NULL,
		              "%s: there is no %s '%.64s'", at, word, cmd->o.user);
	cmd->edit = mem_new(sizeof *cmd->edit);
	add_gone(c, cmd, id, was);
	if (id == NOUN_USER) {
		end_owned(c, cmd, NOUN_TOKEN, cmd->o.user);
		end_owned(c, cmd, NOUN_DEVICE, cmd->o.user);
		leave_groups(c, cmd, cmd->o.user);
		end_preferences(c, cmd, cmd->o.user);
	}
	return 0;
}

int person_begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	enum person_noun_id id = person_noun_of(cmd->kind);
	const struct person_noun *noun = &person_nouns[id];
	const struct known_person *was = find(&c->people[id], cmd->o.user);
	bool is = was && !was->retired, differs;
	struct jdoc *doc = NULL;
	struct buf body;

	if (cmd->kind == CK_USER_REMOVE || cmd->kind == CK_GROUP_REMOVE ||
	    cmd->kind == CK_TOKEN_REMOVE || cmd->kind == CK_DEVICE_REMOVE)
		return remove_one(c, cmd, id, was, f);
	if (is && id == NOUN_TOKEN)
		return refuse(f, E_EXISTS, "args.token", NULL,
		              "args.token: there is a token '%.64s' already", cmd->o.user);
	if (!is && check_new(noun, cmd->o.args, f) < 0)
		return f->code;
	cmd->edit = mem_new(sizeof *cmd->edit);
	if ((id == NOUN_TOKEN && check_tokens(c, cmd, f) < 0) ||
	    (id == NOUN_DEVICE && check_devices(c, cmd, f) < 0)) {
		edit_free(cmd->edit);
		cmd->edit = NULL;
		return f->code;
	}
	if (was && jdoc_parse(was->body, strlen(was->body), &doc, NULL) < 0)
		doc = NULL;
	buf_init(&body);
	print_body(noun, cmd->o.args, doc ? jdoc_root(doc) : NULL, &body, &differs);
	if (differs || !is)
		person_put(c, cmd, id, cmd->o.user, buf_str(&body), false);
	buf_done(&body);
	jdoc_free(doc);
	return 0;
}
