/* People, their groups and their tokens: known by name, set, removed.
 *
 * What a command does not say stays as it was. Whoever is removed takes along what was his in the
 * same edit: membership of groups, tokens, devices, preferences; so who is made anew under the name
 * inherits nothing. `since` is the moment from which sessions and commands count: a password that
 * changes moves it, and a command of somebody who came in by the old one is refused even if a face
 * had let him in a moment before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "baseserver/ledger/ledger.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { TOKENS_EACH_MAX = 100, TOKENS_MAX = 10000, DEVICES_EACH_MAX = 16 };
enum { SINCE_MADE = 1 }; /* of who was made with a password; each change of it counts on */

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

/* What is not said stays. ret_differs: anything did change. The `since` from now on, where sessions
 * end by it; else -1. */
static int64_t print_body(const struct person_noun *noun, const struct jval *args,
                          const struct jval *was, struct buf *out, bool *ret_differs)
{
	int64_t n = jv_int(was, "since", 0);
	bool ends = false;

	*ret_differs = false;
	put_open(out, NULL, '{');
	for (size_t i = 0; i < noun->n_members; i++) {
		const struct person_member *m = &noun->members[i];
		const struct jval *now = jv_get(args, m->key);
		const struct jval *old = jv_get(was, m->key);
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
	return ends ? n + ends : -1;
}

static void people_put(struct commander *c, const struct cmd *cmd, enum store_doc_kind kind,
                       const char *name, const char *body)
{
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){ .kind = kind, .name = name, .body = body });
}

/* Without an owner it is the installation's: "". */
static bool is_owned(const struct doc *u, const char *owner)
{
	const struct jval *v = jv_get(doc_json(u), "owner");

	return v ? v->kind == JV_TEXT && strcmp(v->text, owner) == 0 : u->means && !owner[0];
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
static void add_gone(struct commander *c, const struct cmd *cmd, enum store_doc_kind kind,
                     const struct doc *u)
{
	char *gone = mem_fmt("{\"since\":%lld}", (long long)jv_int(doc_json(u), "since", 0) + 1);

	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){
			       .kind = kind, .name = u->name, .body = gone, .retired = true });
	free(gone);
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

static void leave_group(struct commander *c, const struct cmd *cmd, const struct doc *g,
                        const char *name)
{
	struct buf body;

	if (!jv_has(jv_get(doc_json(g), "members"), name))
		return;
	buf_init(&body);
	print_without(&body, doc_json(g), name);
	people_put(c, cmd, DOC_GROUP, g->name, buf_str(&body));
	buf_done(&body);
}

/* One who is made anew under this name is in no group because of the former. */
static void leave_groups(struct commander *c, const struct cmd *cmd, const char *name)
{
	const struct docs *k = &c->docs[DOC_GROUP];

	for (size_t i = 0; i < k->n; i++)
		if (!k->items[i].retired)
			leave_group(c, cmd, &k->items[i], name);
}

/* Nor has he his tokens and devices: they end with him, in the same edit. */
static void end_owned(struct commander *c, const struct cmd *cmd, enum store_doc_kind kind,
                      const char *owner)
{
	const struct docs *k = &c->docs[kind];

	for (size_t i = 0; i < k->n; i++)
		if (!k->items[i].retired && is_owned(&k->items[i], owner))
			add_gone(c, cmd, kind, &k->items[i]);
}

/* A browser that is known already, of whomever it was, takes no more room of his. */
static int check_devices(const struct commander *c, const struct cmd *cmd, struct refusal *f)
{
	const struct docs *k = &c->docs[DOC_DEVICE];
	const struct jval *v = jv_get(cmd->o.args, "owner");
	size_t own = 0;

	for (size_t i = 0; v && i < k->n; i++)
		own += !k->items[i].retired && strcmp(k->items[i].name, cmd->o.user) != 0 &&
		       is_owned(&k->items[i], v->text);
	return own < DEVICES_EACH_MAX
	               ? 0
	               : refuse(f, E_LIMIT, "args.device", "forget one that is not used",
	                        "args.device: %s has %zu devices, no more fit", v->text, own);
}

/* What stands under his own name. */
static void end_kept(struct commander *c, const struct cmd *cmd, enum store_doc_kind kind,
                     const char *name)
{
	const struct doc *u = docs_find(&c->docs[kind], name);

	if (u)
		add_gone(c, cmd, kind, u);
}

/* Those that are over make room for a new one. */
static int check_tokens(struct commander *c, const struct cmd *cmd, struct refusal *f)
{
	const struct docs *k = &c->docs[DOC_TOKEN];
	const struct jval *v = jv_get(cmd->o.args, "owner");
	const char *owner = v ? v->text : "";
	size_t own = 0, all = 0;

	for (size_t i = 0; i < k->n; i++) {
		const struct doc *t = &k->items[i];
		int64_t expires = t->retired ? 0 : jv_int(doc_json(t), "expires", 0);

		if (t->retired)
			continue;
		if (expires && expires <= cmd->o.now_us / US_PER_S &&
		    strcmp(t->name, cmd->o.user) != 0) {
			add_gone(c, cmd, DOC_TOKEN, t);
			continue;
		}
		all++;
		own += is_owned(t, owner);
	}
	if (all >= TOKENS_MAX || (owner[0] && own >= TOKENS_EACH_MAX))
		return refuse(f, E_LIMIT, "args.token", "remove some that are not used",
		              "args.token: there are %zu tokens%s%s, no more fit",
		              all >= TOKENS_MAX ? all : own, owner[0] ? " of " : "", owner);
	return 0;
}

static int remove_one(struct commander *c, struct cmd *cmd, enum store_doc_kind kind,
                      struct refusal *f)
{
	const struct doc *was = docs_find(&c->docs[kind], cmd->o.user);

	if (!was)
		return stored__missing(kind, cmd->o.user, f);
	cmd->edit = mem_new(sizeof *cmd->edit);
	add_gone(c, cmd, kind, was);
	if (kind == DOC_USER) {
		end_owned(c, cmd, DOC_TOKEN, cmd->o.user);
		end_owned(c, cmd, DOC_DEVICE, cmd->o.user);
		leave_groups(c, cmd, cmd->o.user);
		end_kept(c, cmd, DOC_PREFS, cmd->o.user);
		end_kept(c, cmd, DOC_SESSION, cmd->o.user);
		factor__gone(c, cmd, cmd->o.user);
	}
	return 0;
}

/* Somebody may have changed the password after the face verified it. Whoever came in by the old one
 * commands nothing more. */
static int check_since(const struct commander *c, const struct cmd *cmd, struct refusal *f)
{
	const struct jval *owner = jv_get(cmd->o.args, "owner");
	const char *name = cmd->kind == CK_USER_SET ? cmd->o.user : owner ? owner->text : "";
	const struct doc *u = docs_find(&c->docs[DOC_USER], name);
	int64_t since;

	if (person_since(&cmd->o, &since, f) < 0)
		return f->code;
	if (since < 0 || (u && jv_int(doc_json(u), "since", 0) == since))
		return 0;
	return refuse(f, E_CONFLICT, "args.since", "sign in again",
	              "args.since: the password, the role or another credential of '%.64s' was "
	              "changed meanwhile",
	              name);
}

int person__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	enum store_doc_kind kind = person_kind_of(cmd->kind);
	const struct person_noun *noun = &person_nouns[kind];
	const struct doc *was = docs_ever(&c->docs[kind], cmd->o.user);
	bool is = was && !was->retired, differs;
	struct buf body;

	if (cmd->kind == CK_USER_REMOVE || cmd->kind == CK_GROUP_REMOVE ||
	    cmd->kind == CK_TOKEN_REMOVE || cmd->kind == CK_DEVICE_REMOVE)
		return remove_one(c, cmd, kind, f);
	if (check_since(c, cmd, f) < 0)
		return f->code;
	if (is && kind == DOC_TOKEN)
		return refuse(f, E_EXISTS, "args.token", NULL,
		              "args.token: there is a token '%.64s' already", cmd->o.user);
	if (!is && check_new(noun, cmd->o.args, f) < 0)
		return f->code;
	cmd->edit = mem_new(sizeof *cmd->edit);
	if ((kind == DOC_TOKEN && check_tokens(c, cmd, f) < 0) ||
	    (kind == DOC_DEVICE && check_devices(c, cmd, f) < 0)) {
		edit_free(cmd->edit);
		cmd->edit = NULL;
		return f->code;
	}
	buf_init(&body);
	int64_t since = print_body(noun, cmd->o.args, was ? doc_json(was) : NULL, &body, &differs);
	if (differs || !is)
		people_put(c, cmd, kind, cmd->o.user, buf_str(&body));
	if (kind == DOC_USER && since >= 0)
		sessions__renew(c, cmd, "since", since);
	/* Whoever knew the old password may have made them. */
	if (kind == DOC_USER && is && jv_get(cmd->o.args, "secret"))
		end_owned(c, cmd, DOC_TOKEN, cmd->o.user);
	buf_done(&body);
	return 0;
}

/* --- the first administrator ------------------------------------------------------------- */

bool commander_is_new(const struct commander *c)
{
	bool is = c->last_id == 0 && c->documents.all.n == 0 && ledger_tell(c->ledger).number == 0;

	for (int k = 0; k < DOC_END; k++)
		is = is && c->docs[k].n == 0;
	return is;
}

bool commander_admin(const struct commander *c, bool *ret_is_first)
{
	const struct doc *d = docs_find(&c->docs[DOC_USER], "admin");

	*ret_is_first = d && jv_int(doc_json(d), "since", 0) == SINCE_MADE;
	return d != NULL;
}

void person_tell(const struct commander *c, const char *user)
{
	bool is_first;

	if (c->front && c->front->first_over && strcmp(user, "admin") == 0 &&
	    commander_admin(c, &is_first) && !is_first)
		c->front->first_over(c->front->admin);
}
