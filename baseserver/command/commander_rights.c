/* Who gives a command, and may he? What a face sends with it, the secret of a session or a token,
 * says who; what that person may is judged here, by the documents of people, groups and tokens as
 * they are now. So a face that is wrong, late or taken over gives nobody more than he has, and acts
 * for nobody whose credential it does not hold: a known name without one is refused.
 *
 * Whom the server has no document of, the face only asserts: its own `admin`, until the server has
 * a person of that name, a token of its machine, somebody for whom a directory vouches. How far
 * that goes, the document of the face says (enum asserts), and the audit names the face. Of
 * somebody for whom a directory vouches it goes to his own document, and to a role below an
 * administrator's unless the face asserts `admin`; where the server asks the directory
 * (sign_directory.c), or judges the provider's ID tokens (sign_outside.c), it goes nowhere. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "baseserver/model/front.h"
#include "baseserver/model/grants.h"
#include "baseserver/model/peers.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"

struct giver {
	const struct commander *c;
	const struct order *o;
	const char *actor, *face;
	const char *name;     /* without what stands before a colon or after a slash */
	struct grantee has;   /* neither person nor token: the face asserts him */
	enum asserts asserts; /* of the face */
	bool is_proven;       /* his password was right just now */
};

/* --- by what he is known ------------------------------------------------------------------- */

int rights__who(const struct commander *c, struct client_request *r, struct credential *ret,
                struct refusal *f)
{
	*ret = (struct credential){ 0 };
	if (!r->face || !r->credential)
		return 0;
	if (!credential_find(&c->credentials, c->docs, r->credential, actor_wall_us(c->me),
	                     actor_mono_us(c->me), ret))
		return refuse(f, E_AUTH, "credential", "sign in again",
		              "this session, or token, is not known, or no longer");
	free(r->actor);
	r->actor = !ret->token   ? mem_str(ret->user)
	           : *ret->user  ? mem_fmt("%s/%s", ret->user, ret->token)
	           : ret->is_app ? mem_fmt("app:%s", ret->token)
	                         : mem_fmt("token:%s", ret->token);
	return 0;
}

/* --- whom the server knows ---------------------------------------------------------------- */

static const struct jval *token_of(const struct giver *g, const char *name, const char *owner)
{
	const struct doc *d = docs_find(&g->c->docs[DOC_TOKEN], name);
	const struct jval *t = d ? doc_json(d) : NULL;

	if (!t || strcmp(jv_str(t, "owner"), owner) != 0 ||
	    token_over(t, actor_wall_us(g->c->me) / US_PER_S))
		return NULL;
	return t;
}

/* A person, or his token. */
static int know_person(struct giver *g, const char *token, struct refusal *f)
{
	const struct doc *d = docs_find(&g->c->docs[DOC_USER], g->name);

	g->has.person = d ? doc_json(d) : NULL;
	if (!g->has.person || jv_true(g->has.person, "disabled"))
		return refuse(f, E_FORBIDDEN, "actor", "sirdar user list",
		              "%s speaks for '%.64s', who is no user here, or may not sign in",
		              g->face, g->actor);
	g->has.token = token ? token_of(g, token, g->name) : NULL;
	if (token && !g->has.token)
		return refuse(f, E_FORBIDDEN, "actor", "sirdar token list",
		              "%s speaks for '%.128s', which is no token of his, or no longer",
		              g->face, g->actor);
	return 0;
}

/* --- whom the face asserts ----------------------------------------------------------------- */

static int asserted_no(const struct giver *g, struct refusal *f)
{
	return refuse(f, E_FORBIDDEN, "actor", "sign in as an administrator whom the server knows",
	              "%s may not be asked for by '%.64s', whom only the face %s knows: it asserts "
	              "%s",
	              command_kind_name(g->o->kind), g->actor, g->face, asserts_word(g->asserts));
}

static bool is_claim(const struct giver *g)
{
	return strncmp(g->actor, "ldap:", 5) == 0 || strncmp(g->actor, "oidc:", 5) == 0;
}

/* A group that a directory may say somebody is in: of that directory. */
static int claim_group(const struct giver *g, const char *source, const char *name,
                       struct refusal *f)
{
	const struct doc *d = docs_find(&g->c->docs[DOC_GROUP], name);

	if (!d || strcmp(jv_str(doc_json(d), "source"), source) != 0)
		return refuse(f, E_FORBIDDEN, "args.groups", "sirdar group list",
		              "args.groups: '%.64s' is no group of %s", name, source);
	if (g->asserts != ASSERTS_ADMIN && strcmp(jv_str(doc_json(d), "role"), "admin") == 0)
		return asserted_no(g, f);
	return 0;
}

static int claim_person(const struct giver *g, const char *source, struct refusal *f)
{
	const struct doc *d = docs_find(&g->c->docs[DOC_USER], g->name);
	const struct jval *was = d ? doc_json(d) : NULL;
	const char *subject = jv_str(was, "subject");

	if (d && (strcmp(jv_str(was, "source"), source) != 0 || jv_true(was, "disabled")))
		return refuse(f, E_FORBIDDEN, "actor", "sirdar user show",
		              "'%.64s' is not a user of %s, or may not sign in", g->name, source);
	if (*subject && strcmp(subject, jv_str(g->o->args, "subject")) != 0)
		return refuse(f, E_FORBIDDEN, "args.subject", "sirdar user set --source",
		              "args.subject: the name %.64s was somebody else's", g->name);
	if (d && jv_get(g->o->args, "role"))
		return refuse(f, E_FORBIDDEN, "args.role", NULL, "args.role: %.64s has one already",
		              g->name);
	return 0;
}

/* A directory vouches for him: what it says is who he is, and in which of its groups. */
static int judge_claim(const struct giver *g, struct refusal *f)
{
	static const char *const says[] = { "user", "source",    "subject", "groups",
		                            "role", "full_name", "mail",    NULL };
	char source[5] = "";

	memcpy(source, g->actor, sizeof source - 1);
	if (g->c->set.outsiders && strcmp(source, "oidc") == 0)
		return refuse(f, E_FORBIDDEN, "actor", "upgrade sirdar-cgi",
		              "the server judges ID tokens (its oidc_issuer is set): the word of "
		              "the face %s about '%.64s' counts for nothing",
		              g->face, g->actor);
	if (g->c->set.directories && strcmp(source, "ldap") == 0)
		return refuse(f, E_FORBIDDEN, "actor", "upgrade sirdar-cgi",
		              "the server asks the directory (its ldap_url is set): the word of "
		              "the face %s about '%.64s' counts for nothing",
		              g->face, g->actor);
	if (g->o->kind != CK_USER_SET || strcmp(g->o->user, g->name) != 0 ||
	    strcmp(jv_str(g->o->args, "source"), source) != 0 || g->asserts == ASSERTS_NOBODY)
		return asserted_no(g, f);
	int r = arg_object(g->o->args, "args", says, f);
	if (r == 0)
		r = claim_person(g, source, f);
	if (r == 0 && g->asserts != ASSERTS_ADMIN &&
	    strcmp(jv_str(g->o->args, "role"), "admin") == 0)
		r = asserted_no(g, f);
	for (const struct jval *v = jv_first(jv_get(g->o->args, "groups")); v && r == 0;
	     v = v->next)
		r = claim_group(g, source, v->text, f);
	return r;
}

static int judge_asserted(const struct giver *g, struct refusal *f)
{
	bool app = strncmp(g->actor, "app:", 4) == 0;

	if (is_claim(g))
		return judge_claim(g, f);
	/* What `admin` of a face sets for himself is no one else's: no user has that name here. */
	if (g->asserts == ASSERTS_DIRECTORY && g->o->ops->own == own_web &&
	    strcmp(g->actor, "admin") == 0 && own_web(g->c, g->o, "admin"))
		return 0;
	if (g->asserts == ASSERTS_NOBODY || g->asserts == ASSERTS_DIRECTORY ||
	    (g->o->ops->about_access && (g->asserts != ASSERTS_ADMIN || app)))
		return asserted_no(g, f);
	return 0;
}

/* --- what he may ----------------------------------------------------------------------------- */

/* What the role alone does not allow. */
static const char *right_of(enum command_kind kind)
{
	return kind == CK_BACKFILL || kind == CK_FORCE_SUCCESS ? command_kind_name(kind) : NULL;
}

static int judge_projects(const struct giver *g, const struct jval *in, const char *at,
                          enum least least, const char *right, struct refusal *f)
{
	if (!in && grants_have(&g->has, NULL, least, right))
		return 0;
	if (!in)
		return refuse(f, E_FORBIDDEN, at, "for example [\"retail\"]",
		              "%s: '%.64s' acts in some projects only, which of them is missing",
		              at, g->actor);
	JV_EACH(v, in)
		if (!grants_have(&g->has, v->text, least, right))
			return refuse(f, E_FORBIDDEN, at, NULL,
			              "%s: '%.64s' may not ask for %s%s%s in %.100s", at, g->actor,
			              command_kind_name(g->o->kind),
			              right ? " with the right " : "", right ? right : "", v->text);
	return 0;
}

static int want_proof(const struct giver *g, struct refusal *f)
{
	return refuse(f, E_PROOF, "credential", "POST /api/v1/session/proof, or sign in again",
	              "what lets others in changes for who has shown the password within ten "
	              "minutes: '%.64s' is to show it once more",
	              g->actor);
}

/* What is his own: whoever has only his open session gets nothing of it that outlives that session,
 * and no administrator's password. */
static int judge_own(const struct giver *g, struct refusal *f)
{
	if (g->is_proven)
		return 0;
	if (g->o->kind == CK_TOKEN_SET)
		return want_proof(g, f);
	if (!jv_get(g->o->args, "secret"))
		return 0;
	return refuse(f, E_AUTH, "credential", "sign in again",
	              "a password, or second factor, changes for who has shown the password within "
	              "ten minutes");
}

/* Whoever may not set a priority does not start something with one either: the command wants the
 * role that `priority` wants. */
static int judge_priority(const struct giver *g, enum least role, enum least *least,
                          struct refusal *f)
{
	enum least wants = command_least(CK_PRIORITY);

	if (!g->o->priority || *least >= wants)
		return 0;
	*least = wants;
	return role != LEAST_COUNT && role >= wants
	               ? 0
	               : refuse(f, E_FORBIDDEN, "args.priority", "leave the priority out",
	                        "a priority needs the role %s, '%.128s' has %s", least_name(wants),
	                        g->actor, role == LEAST_COUNT ? "none" : least_name(role));
}

/* Of other commands: whoever is no operator of all projects says of which he is one, and steers his
 * own alone (within__own()); what he gave with more than he has now is not his to steer. */
static int judge_steering(const struct giver *g, enum least role, struct refusal *f)
{
	const struct cmd *at = commander__find(g->c, g->o->command);

	if (at && role < LEAST_OPERATOR && role < command_least(at->kind))
		return refuse(f, E_FORBIDDEN, "kind", "an operator of all projects",
		              "command %llu is a %s, which needs the role %s, '%.128s' has %s",
		              (unsigned long long)at->id, command_kind_name(at->kind),
		              least_name(command_least(at->kind)), g->actor, least_name(role));
	return judge_projects(g, g->o->within, "args.within", LEAST_OPERATOR, NULL, f);
}

static int judge_known(const struct giver *g, struct refusal *f)
{
	const struct order *o = g->o;
	const char *kind = command_kind_name(o->kind), *right = right_of(o->kind);
	enum least role = grants_role(&g->has), least = command_least(o->kind);

	bool opens = jv_true(g->has.token, "credentials"); /* made by who has the machine */
	if (g->has.token && o->ops->about_access && !opens)
		return refuse(f, E_FORBIDDEN, "actor", "sign in with your password",
		              "a token changes no password, person, token or secret; %.128s is one",
		              g->actor);
	if (g->has.person && o->ops->own && o->ops->own(g->c, o, g->name))
		return judge_own(g, f);
	if (role == LEAST_COUNT || role < least)
		return refuse(f, E_FORBIDDEN, "kind", NULL, "%s needs the role %s, '%.128s' has %s",
		              kind, least_name(least), g->actor,
		              role == LEAST_COUNT ? "none" : least_name(role));
	if (judge_priority(g, role, &least, f) < 0)
		return f->code;
	if (o->ops->wants_admin && o->ops->wants_admin(o) && role != LEAST_ADMIN)
		return refuse(f, E_FORBIDDEN, "args", "ask an administrator",
		              "only an administrator says where a secret is kept outside");
	if (command_acts_on(o->kind) == ON_COMMANDS)
		return judge_steering(g, role, f);
	int r = judge_projects(g, o->within, "args.within", least, right, f);
	if (r == 0 && o->ops->about_access && !g->is_proven && !opens)
		r = want_proof(g, f);
	if (r < 0 || !(o->documents || o->draft))
		return r;
	r = judge_projects(g, o->unsafe_within, "args.unsafe_within", least, "unsafe", f);
	if (r == 0)
		r = judge_projects(g, o->quota_within, "args.quota_within",
		                   command_least(CK_QUOTA_SET), NULL, f);
	return r;
}

/* What whoever has the server's machine says, and nobody else: a person `admin` ends what faces
 * have of theirs, which might be all that lets anybody in. */
static int judge_of_socket(const struct commander *c, const struct order *o, struct refusal *f)
{
	if (o->kind == CK_TOKEN_SET && jv_get(o->args, "credentials"))
		return refuse(f, E_FORBIDDEN, "args.credentials",
		              "baseserver -c FILE admin token NAME, where the server runs",
		              "args.credentials: a token that changes credentials is made over the "
		              "server's own socket alone");
	if (o->kind == CK_USER_SET && strcmp(o->user, "admin") == 0 &&
	    !docs_find(&c->docs[DOC_USER], "admin"))
		return refuse(
			f, E_CONFLICT, "args.user",
			"baseserver -c FILE admin password admin, where the server runs",
			"args.user: admin is the cgi's own yet; over its own socket the server "
			"takes him over");
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------- */

int rights__judge(const struct commander *c, const struct client_request *r, const struct order *o,
                  const struct credential *has, char **ret_by, struct refusal *f)
{
	const char *colon = strchr(r->actor, ':'), *slash = strchr(r->actor, '/');
	const char *bare = colon ? colon + 1 : r->actor;
	struct giver g = {
		.c = c, .o = o, .actor = r->actor, .face = r->face, .is_proven = has->is_proven
	};
	int code = 0;

	*ret_by = NULL;
	if (!r->by_socket && judge_of_socket(c, o, f) < 0)
		return f->code;
	if (!r->face) /* it acts under its own name: baseserver/net/worker_peer.c */
		return 0;
	g.asserts = grants_asserts(c->docs, r->face);
	char *name = mem_strn(bare, slash > bare ? (size_t)(slash - bare) : strlen(bare));
	g.name = name;
	g.has = (struct grantee){ .name = g.name, .groups = &c->docs[DOC_GROUP] };
	bool nobodys = strncmp(r->actor, "token:", 6) == 0 || strncmp(r->actor, "app:", 4) == 0;
	if (nobodys)
		g.has.token = token_of(&g, bare, "");
	else if (!is_claim(&g) &&
	         (strcmp(r->actor, "admin") != 0 || docs_find(&c->docs[DOC_USER], "admin")))
		code = know_person(&g, slash ? slash + 1 : NULL, f);
	bool known = g.has.person || g.has.token;
	if (code == 0 && known && !r->credential)
		code = refuse(f, E_AUTH, "credential", "upgrade it, or sign in again",
		              "%s speaks for '%.128s' without his session or token", r->face,
		              r->actor);
	if (code == 0)
		code = known ? judge_known(&g, f) : judge_asserted(&g, f);
	if (code == 0)
		*ret_by = mem_fmt("\"%s\":\"%s\"", known ? "face" : "asserted_by", r->face);
	free(name);
	return code;
}

/* --- what a person may ask about himself ------------------------------------------------------ */

static bool only(const struct jval *args, const char *const *keys)
{
	struct refusal f = { 0 };
	bool is = arg_object(args, "args", keys, &f) == 0;

	return is;
}

/* His password, which the face verified: he was let in by the one that is in force. */
bool own_person(const struct commander *c, const struct order *o, const char *name)
{
	static const char *const own[] = { "user", "secret", "mail", "since", "message", NULL };
	int64_t since;
	struct refusal f = { 0 };

	(void)c;
	return o->user && strcmp(o->user, name) == 0 && only(o->args, own) &&
	       person_since(o, &since, &f) == 0 && since >= 0;
}

/* A token, or a browser: what is made for him, or is his already. */
bool own_thing(const struct commander *c, const struct order *o, const char *name)
{
	const struct doc *d = docs_find(&c->docs[person_kind_of(o->kind)], o->user);
	bool makes = o->kind == CK_TOKEN_SET || o->kind == CK_DEVICE_SET;

	return strcmp(jv_str(makes ? o->args : d ? doc_json(d) : NULL, "owner"), name) == 0;
}

bool own_web(const struct commander *c, const struct order *o, const char *name)
{
	(void)c;
	return o->user && strcmp(o->user, name) == 0;
}

/* An alert about a task of his, wherever that is. */
bool own_alert(const struct commander *c, const struct order *o, const char *name)
{
	const char *subject = alert__subject(c, o->alert);
	const struct cat_task *t = subject ? catalog_find(&c->cat, subject) : NULL;

	return t && t->def->owner && strcmp(t->def->owner, name) == 0;
}
