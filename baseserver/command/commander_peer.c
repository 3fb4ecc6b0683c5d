/* Peers: what the owner of a key is and may be, and that it may not be here any more. What is kept
 * of one is a JSON document; the workers judge by it who greets and who stays
 * (baseserver/net/worker_peer.c). A document may come before its key and outlives it: a name that
 * was revoked does not come back by a new line of keys_file alone. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/model/front.h"
#include "baseserver/model/grants.h"
#include "baseserver/model/invites.h"
#include "baseserver/model/peers.h"
#include "sched/name.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { PEER_NAME_BYTES = 63, PEER_LIST_MAX = 100 };

static const char *const lists[] = { "groups", "types", "projects" };

/* --- arguments ----------------------------------------------------------------------- */

static int parse_words(const struct order *o, const char *key, struct refusal *f)
{
	const struct jval *list = NULL;
	int r = arg_list(o->args, "args", key, PEER_LIST_MAX, &list, f);
	char at[40], why[NAME_WHY_BYTES];

	snprintf(at, sizeof at, "args.%s", key);
	for (const struct jval *v = list ? list->first : NULL; v && r == 0; v = v->next)
		if (v->kind != JV_TEXT)
			r = refuse(f, E_INVALID, at, "for example [\"etl\"], or [] for any",
			           "%s: a name is expected, not %s", at, jv_kind_name(v));
		else if (word_wrong(v->text, why))
			r = refuse_name(f, at, v->text, why);
	return r;
}

static int parse_expires(struct order *o, struct refusal *f)
{
	const char *text = NULL, *at = "args.expires";
	struct when w;
	int r = arg_text(o->args, "args", "expires", 60, &text, f);

	o->until_us = -1;
	if (r < 0 || !text)
		return r;
	if (strcmp(text, "never") == 0)
		return o->until_us = 0;
	if (!when_parse(text, WHEN_NO_NOW, &w) || when_is_local(&w))
		return refuse(
			f, E_INVALID, at, "2027-03-01T00:00:00Z, or never",
			"%s: found %.60s: an instant is expected, in UTC or with an offset, or "
			"never",
			at, text);
	o->until_us = w.at * US_PER_S;
	return 0;
}

int peer_parse(struct order *o, struct refusal *f)
{
	static const char *const states[] = { "active", NULL };
	int state = 0, r = arg_text(o->args, "args", "peer", PEER_NAME_BYTES, &o->peer, f);

	if (r < 0)
		return r;
	if (!o->peer)
		return refuse(f, E_INVALID, "args.peer", "sirdar peer list",
		              "args.peer: is missing");
	if (!fs_name_ok(o->peer,
	                PEER_NAME_BYTES)) /* as key-add has it: hosts are called 10-0-0-5 */
		return refuse(f, E_INVALID, "args.peer", "A-Z a-z 0-9 . _ -, not . or - first",
		              "args.peer: '%.63s' is not a name of a key", o->peer);
	if (o->kind == CK_PEER_SET || o->kind == CK_PEER_REVOKE) {
		bool last_face;
		r = arg_truth(o->args, "args", "last_face", &last_face, f);
	}
	if (r < 0 || (o->kind != CK_PEER_SET && o->kind != CK_PEER_INVITE))
		return r;
	o->mode = -1;
	r = arg_choice(o->args, "args", "kind", peer_kind_words, &o->mode, f);
	if (r == 0)
		r = arg_choice(o->args, "args", "state", states, &state, f);
	o->asserts = -1;
	if (r == 0)
		r = arg_choice(o->args, "args", "asserts", asserts_words, &o->asserts, f);
	for (size_t i = 0; i < sizeof lists / sizeof lists[0] && r == 0; i++)
		r = parse_words(o, lists[i], f);
	return r < 0 ? r : parse_expires(o, f);
}

/* --- the edit ------------------------------------------------------------------------ */

struct sought {
	const char *name;
	bool found;
	enum peer_kind kind;
};

static void look_key(void *ctx, const char *name, enum peer_kind kind)
{
	struct sought *s = ctx;

	if (strcmp(s->name, name) == 0) {
		s->found = true;
		s->kind = kind;
	}
}

/* What keys_file, or its name alone, says of it. */
static struct sought key_of(const struct commander *c, const char *name)
{
	struct sought s = { .name = name };

	if (c->front && c->front->each_key)
		c->front->each_key(c->front->keys, look_key, &s);
	if (s.kind == PEER_NONE)
		s.kind = peer_kind_usual(name);
	return s;
}

struct peer peer__next(const struct commander *c, const struct order *o, bool *ret_has_shared)
{
	const struct peer *was = peers_find(&c->docs[DOC_PEER], o->peer);
	struct peer next = was ? *was : (struct peer){ .invite = "" };
	struct sought key = key_of(c, o->peer);

	next.root = NULL;
	if (!next.kind)
		next.kind = key.kind;
	*ret_has_shared = key.found;
	return next;
}

void peer__put(struct commander *c, struct cmd *cmd, const struct peer *next)
{
	struct buf body;

	buf_init(&body);
	peer_print(next, &body);
	cmd->edit = mem_new(sizeof *cmd->edit);
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){
			       .kind = DOC_PEER, .name = cmd->o.peer, .body = buf_str(&body) });
	buf_done(&body);
}

/* Bounds that nobody would keep are not taken. */
static int check_bounds(const struct peer *next, struct refusal *f)
{
	const struct jval *all[] = { next->groups, next->types, next->projects };
	bool machine = next->kind == PEER_BROKER;
	char at[40];

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		bool fits = i < 2 ? machine : next->kind != PEER_NOTIFIER;
		if (fits || !all[i] || !all[i]->len)
			continue;
		snprintf(at, sizeof at, "args.%s", lists[i]);
		return refuse(f, E_INVALID, at,
		              "an empty list: --group '', --type '' or --project ''",
		              "%s: a %s has none: groups and types bound a broker, projects whose "
		              "jobs a broker is given, or what a face or a client may have changed",
		              at, peer_kind_name(next->kind));
	}
	return 0;
}

int peer__bound(const struct order *o, struct peer *next, struct refusal *f)
{
	const struct jval **all[] = { &next->groups, &next->types, &next->projects };

	if (o->mode >= 0)
		next->kind = (enum peer_kind)(o->mode + 1);
	if (next->kind == PEER_NONE)
		return refuse(f, E_INVALID, "args.kind", PEER_KINDS,
		              "args.kind: is missing: nobody has said what '%s' is", o->peer);
	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		const struct jval *now = jv_get(o->args, lists[i]);
		if (now)
			*all[i] = now;
	}
	if (o->until_us > 0 && o->until_us <= o->now_us)
		return refuse(f, E_INVALID, "args.expires", "sirdar peer revoke NAME",
		              "args.expires: %.60s is past: to let '%s' in no more, revoke it",
		              jv_str(o->args, "expires"), o->peer);
	if (o->until_us >= 0)
		next->expires_us = o->until_us;
	return check_bounds(next, f);
}

/* Who only a face knows is an administrator until somebody is one by the documents. */
static int take_asserts(const struct commander *c, const struct order *o, struct peer *next,
                        struct refusal *f)
{
	if (o->asserts < 0)
		return 0;
	next->asserts = (enum asserts)(o->asserts + ASSERTS_ADMIN);
	if (next->kind != PEER_FACE)
		return refuse(f, E_INVALID, "args.asserts", "--kind face",
		              "args.asserts: a %s speaks for nobody", peer_kind_name(next->kind));
	if (next->asserts == ASSERTS_ADMIN ||
	    grants_any_admin(&c->docs[DOC_USER], &c->docs[DOC_GROUP]))
		return 0;
	return refuse(f, E_CONFLICT, "args.asserts", "sirdar user set NAME --role admin",
	              "args.asserts: the server knows no other administrator than who faces say is "
	              "one: make a user with that role and a password first");
}

/* --- the last face ---------------------------------------------------------------------- */

static bool is_face_in(const struct commander *c, const struct peer *p, bool has_shared)
{
	return p && p->kind == PEER_FACE && p->state == PEER_ACTIVE && (p->n_keys || has_shared) &&
	       (!p->expires_us || p->expires_us > actor_wall_us(c->me));
}

struct faces {
	const struct commander *c;
	const char *but;
	bool any;
};

/* Those that keys_file has; of one with a document that decides. */
static void look_face(void *ctx, const char *name, enum peer_kind kind)
{
	struct faces *s = ctx;
	const struct peer *p = peers_find(&s->c->docs[DOC_PEER], name);
	struct peer filed = p ? *p : (struct peer){ .state = PEER_ACTIVE };

	if (!filed.kind)
		filed.kind = kind ? kind : peer_kind_usual(name);
	s->any |= strcmp(name, s->but) != 0 && is_face_in(s->c, &filed, true);
}

static bool any_face_but(const struct commander *c, const char *name)
{
	struct faces s = { .c = c, .but = name };
	const struct docs *docs = &c->docs[DOC_PEER];

	for (size_t i = 0; i < docs->n; i++)
		s.any |= strcmp(docs->items[i].name, name) != 0 &&
		         is_face_in(c, docs->items[i].means, false);
	if (c->front && c->front->each_key)
		c->front->each_key(c->front->keys, look_face, &s);
	return s.any;
}

/* Commands of people come through a face: who shuts out the last one shuts himself out. */
static int keep_a_face(const struct commander *c, const struct order *o, const struct peer *was,
                       const struct peer *next, bool has_shared, struct refusal *f)
{
	if (jv_true(o->args, "last_face") || !is_face_in(c, was, has_shared) ||
	    is_face_in(c, next, has_shared) || any_face_but(c, o->peer))
		return 0;
	return refuse(f, E_CONFLICT, "args.last_face", "true",
	              "no face is let in after '%s': nobody could sign in any more. First another "
	              "one, `sirdar peer invite NAME --kind face`; or --yes",
	              o->peer);
}

/* A key that was revoked may be in strange hands: nobody lets it in again who has not named it. A
 * shared one has no fingerprint: who may write keys_file changes it there. */
static int let_in_again(const struct order *o, struct peer *next, struct refusal *f)
{
	const char *named = jv_str(o->args, "fingerprint");
	char key[PAIR_TEXT];

	if (!jv_get(o->args, "state"))
		return 0;
	if (next->state > PEER_REVOKED)
		return refuse(f, E_CONFLICT, "args.state", "sirdar peer approve NAME",
		              "args.state: '%s' waits for its key, or for somebody who approves of "
		              "it",
		              o->peer);
	if (next->state == PEER_REVOKED && next->n_keys) {
		pair_text(next->keys[0], key);
		if (!named || strcmp(named, key) != 0)
			return refuse(f, E_CONFLICT, "args.fingerprint", key,
			              "args.fingerprint: '%s' was revoked, and its former key, %s, "
			              "would be let in again: name it if it is in nobody else's "
			              "hands, or give the peer a new one, `sirdar peer invite %s`",
			              o->peer, key, o->peer);
	}
	next->state = PEER_ACTIVE;
	return 0;
}

int peer__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct order *o = &cmd->o;
	bool is_new = !peers_find(&c->docs[DOC_PEER], o->peer), has_shared = false;
	struct peer next = peer__next(c, o, &has_shared), was = next;

	if (o->kind == CK_PEER_REVOKE) {
		if (is_new && !has_shared)
			return refuse(f, E_NOT_FOUND, "args.peer", "sirdar peer list",
			              "args.peer: there is neither a key nor a document of '%s'",
			              o->peer);
		next.state = PEER_REVOKED;
		next.has_asked = false;
		next.invite = "";
		int kept = keep_a_face(c, o, &was, &next, has_shared, f);
		if (kept == 0)
			peer__put(c, cmd, &next);
		return kept;
	}
	int r = peer__bound(o, &next, f);
	if (r == 0)
		r = take_asserts(c, o, &next, f);
	if (r == 0)
		r = let_in_again(o, &next, f);
	if (r == 0)
		r = keep_a_face(c, o, &was, &next, has_shared, f);
	if (r == 0)
		peer__put(c, cmd, &next);
	return r;
}

void peer__tell(const struct commander *c, const struct store_doc *d)
{
	const struct peer *p = peers_find(&c->docs[DOC_PEER], d->name);

	for (size_t i = 0; c->front && c->front->peer && i < c->front->n_workers; i++)
		c->front->peer(c->front->workers[i], d);
	if (c->front && c->front->invites && !(p && p->invite[0]))
		invites_end(c->front->invites, d->name);
}

/* --- projects of a client ------------------------------------------------------------- */

static bool is_line(const char *lines, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = lines; *at; at += strcspn(at, "\n") + 1)
		if (strncmp(at, word, n) == 0 && at[n] == '\n')
			return true;
	return false;
}

/* It says itself which of them it means: so that the record of its command says it, too. */
int peer__within(const struct order *o, const char *projects, struct refusal *f)
{
	if (!projects)
		return 0;
	if (!o->within)
		return refuse(f, E_FORBIDDEN, "args.within", "for example [\"retail\"]",
		              "args.within: this peer acts on some projects only, which of them is "
		              "missing");
	JV_EACH(v, o->within)
		if (!is_line(projects, v->text))
			return refuse(f, E_FORBIDDEN, "args.within", NULL,
			              "args.within: %.100s is not among the projects of this peer",
			              v->text);
	return 0;
}

/* Of a project that is not among the lines; what is no name is somebody else's to refuse. */
static bool is_others(const struct jval *name, const char *lines)
{
	char project[NAME_BYTES_MAX + 1];
	size_t n = name && name->kind == JV_TEXT ? strcspn(name->text, "/") : 0;

	if (n == 0)
		return false;
	snprintf(project, sizeof project, "%.*s", (int)n, name->text);
	return !is_line(lines, project);
}

static bool selects_others(const struct jval *selection, const char *lines)
{
	if (is_others(jv_get(selection, "workflow"), lines))
		return true;
	JV_EACH(v, jv_get(selection, "tasks"))
		if (is_others(v, lines))
			return true;
	JV_EACH(v, jv_get(selection, "instances"))
		if (v->kind == JV_OBJECT && is_others(jv_get(v, "task"), lines))
			return true;
	return false;
}

/* What is others' is answered as what is not there: a refusal's words would tell a peer that keeps
 * to some projects which tasks the others have. */
int peer__own_only(const struct client_request *r, int code, struct refusal *f)
{
	bool is_at = strncmp(f->place, "args.selection", strlen("args.selection")) == 0;
	const struct jval *args = NULL;

	if (!r->projects || jv_parse_args(r->args, r->args_len, &args, NULL) < 0)
		return code;
	bool others = selects_others(jv_get(args, "selection"), r->projects);
	jv_free(args);
	if (!others && code != E_NOT_FOUND && !(code == E_FORBIDDEN && is_at))
		return code;
	free(f->json);
	*f = (struct refusal){ 0 };
	return refuse(f, E_NOT_FOUND, "args.selection", NULL,
	              "args.selection: there is no such thing in the projects of this peer");
}
