/* People of an OpenID provider sign in: the server judges their ID tokens, a face only brings
 * them.
 *
 * A face that begins a sign-in is given a nonce, which the provider puts into the ID token. A
 * nonce is its second, a random part and a hash of both and of the face's name, under a key that
 * this process drew: it is known again without being kept, at that face alone, for NONCE_S. So
 * nobody fills memory by beginning, and a token that was overheard elsewhere, or before a restart,
 * is nothing. The nonce of a token that was good is kept as spent for as long as it would be
 * known: a token serves once. What a token says of a person is judged on a thread of its own
 * (baseserver/secret/outsiders.h), one face having so many under way at most.
 *
 * Then it is decided here who that is, as of people of a directory (sign_directory.c): a name
 * belongs to the subject that it first came from.
 * What is new of the person the server keeps by a command of its own, one at a time, so that two
 * who come in by one new name at once are not taken for one. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "baseserver/command/people.h"
#include "baseserver/command/sign_in_impl.h"
#include "baseserver/model/grants.h"
#include "baseserver/secret/outsiders.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"

enum {
	NONCE_S = 900, /* a face forgets who is on his way after ten minutes */
	NONCE_RANDOM = 12,
	NONCE_MAC = 16,
	NONCE_BYTES = 4 + NONCE_RANDOM + NONCE_MAC,
	NONCE_TEXT = 44,
	SPENT_MAX = 65536,
	ASKED_MAX = 128,
	EACH_MAX = 16, /* of one face, at the thread */
	ACCESS_MAX = 32768,
	GROUPS_KEPT = 64
};

struct nonce {
	unsigned char bytes[NONCE_BYTES];
};

/* Judged; who it is here is to be decided. */
struct arrival {
	struct sign_in *s; /* owned */
	struct vouched who;
	struct arrival *next;
};

struct outside {
	unsigned char key[crypto_generichash_KEYBYTES];
	struct spent {
		struct nonce nonce;
		int64_t until_s; /* mono */
	} * spent;
	size_t n_spent, cap;
	struct sign_in *asked[ASKED_MAX]; /* at the thread; borrowed */
	size_t n_asked;
	struct arrival *arrivals, *keeping; /* in order; the one that a command is under way for */
	bool is_told;
};

bool outside__judges(const struct commander *c)
{
	return c->set.outsiders;
}

/* --- nonces ---------------------------------------------------------------------------------- */

static int64_t now_s(const struct commander *c)
{
	return actor_mono_us(c->me) / US_PER_S;
}

static void nonce_mac(const struct outside *x, const struct nonce *n, const char *face,
                      unsigned char ret[NONCE_MAC])
{
	crypto_generichash_state st;

	crypto_generichash_init(&st, x->key, sizeof x->key, NONCE_MAC);
	crypto_generichash_update(&st, n->bytes, NONCE_BYTES - NONCE_MAC);
	crypto_generichash_update(&st, (const unsigned char *)face, strlen(face));
	crypto_generichash_final(&st, ret, NONCE_MAC);
}

static void nonce_draw(const struct commander *c, const struct outside *x, const char *face,
                       char ret[NONCE_TEXT])
{
	uint32_t at = (uint32_t)now_s(c);
	struct nonce n;

	memcpy(n.bytes, &at, sizeof at);
	randombytes_buf(n.bytes + 4, NONCE_RANDOM);
	nonce_mac(x, &n, face, n.bytes + 4 + NONCE_RANDOM);
	sodium_bin2base64(ret, NONCE_TEXT, n.bytes, NONCE_BYTES,
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

/* One that this process drew for this face, not long ago. */
static bool nonce_known(const struct commander *c, const struct outside *x, const char *face,
                        const char *text, struct nonce *ret)
{
	unsigned char mac[NONCE_MAC];
	size_t n = 0;
	uint32_t at;

	if (sodium_base642bin(ret->bytes, NONCE_BYTES, text, strlen(text), NULL, &n, NULL,
	                      sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
	    n != NONCE_BYTES)
		return false;
	nonce_mac(x, ret, face, mac);
	memcpy(&at, ret->bytes, sizeof at);
	return sodium_memcmp(mac, ret->bytes + NONCE_BYTES - NONCE_MAC, NONCE_MAC) == 0 &&
	       now_s(c) - (int64_t)at < NONCE_S;
}

static bool is_spent(const struct outside *x, const struct nonce *n)
{
	for (size_t i = 0; i < x->n_spent; i++)
		if (memcmp(&x->spent[i].nonce, n, sizeof *n) == 0)
			return true;
	return false;
}

/* False: so many were spent just now that no more fit. */
static bool nonce_spend(const struct commander *c, struct outside *x, const struct nonce *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->n_spent; i++)
		if (x->spent[i].until_s > now_s(c))
			x->spent[kept++] = x->spent[i];
	x->n_spent = kept;
	if (kept == SPENT_MAX)
		return false;
	x->spent = mem_room(x->spent, &x->cap, kept + 1, sizeof x->spent[0]);
	x->spent[x->n_spent++] = (struct spent){ *n, now_s(c) + NONCE_S };
	return true;
}

void outside__begin(struct commander *c, struct sign_in *s)
{
	struct client_request *r = s->r;
	char nonce[NONCE_TEXT];
	struct buf body;

	buf_init(&body);
	put_open(&body, NULL, '{');
	put_bool(&body, "judged", outside__judges(c));
	if (outside__judges(c)) {
		nonce_draw(c, c->sign_ins->outside, r->face, nonce);
		put_text(&body, "nonce", nonce);
		put_text(&body, "issuer", c->set.oidc_issuer);
		put_text(&body, "client_id", c->set.oidc_client);
	}
	put_close(&body, '}');
	s->r = NULL;
	sign__free(s);
	request_answer(r, 0, "", &body, 0);
}

/* --- who it is here -------------------------------------------------------------------------- */

static const struct jval *known_as(const struct commander *c, const char *name)
{
	const struct doc *d = docs_find(&c->docs[DOC_USER], name);

	return d ? doc_json(d) : NULL;
}

/* The name under which that subject of that source is known; NULL: under none. */
static const char *name_of(const struct commander *c, const char *source, const char *subject)
{
	const struct docs *people = &c->docs[DOC_USER];

	for (size_t i = 0; i < people->n; i++) {
		const struct jval *p = people->items[i].retired ? NULL
		                                                : doc_json(&people->items[i]);

		if (p && strcmp(jv_str(p, "source"), source) == 0 &&
		    strcmp(jv_str(p, "subject"), subject) == 0)
			return people->items[i].name;
	}
	return NULL;
}

static int check_name(const struct commander *c, const char *source, const struct vouched *who,
                      struct refusal *f)
{
	const struct jval *p = known_as(c, who->name);
	const char *other = name_of(c, source, who->subject), *subject = jv_str(p, "subject");

	if (!person_name_ok(who->name))
		return refuse(f, E_AUTH, NULL, "letters, digits, . _ @ -",
		              "the provider's token: '%.63s' is no name", who->name);
	if (strcmp(who->name, "admin") == 0)
		return refuse(f, E_FORBIDDEN, NULL, NULL, "admin is this Sirdar's own");
	if (other && strcmp(other, who->name) != 0)
		return refuse(f, E_FORBIDDEN, NULL, NULL, "this person is %s here", other);
	if (p && jv_true(p, "disabled"))
		return refuse(f, E_FORBIDDEN, NULL, NULL, "%s may not sign in", who->name);
	if (p && strcmp(jv_str(p, "source"), source) != 0)
		return refuse(f, E_FORBIDDEN, NULL, NULL,
		              "%s is a user of this Sirdar with a password here, not of %s",
		              who->name, source);
	if (*subject && strcmp(subject, who->subject) != 0)
		return refuse(f, E_FORBIDDEN, NULL,
		              strcmp(source, "ldap") == 0
		                      ? "an administrator, if it is the same person: sirdar user "
		                        "set NAME --source ldap"
		                      : "an administrator, if it is the same person: sirdar user "
		                        "set NAME --source oidc",
		              "the name %s was somebody else's", who->name);
	return 0;
}

/* Groups of ours that the provider's stand for. */
struct mapped {
	const char *names[GROUPS_KEPT]; /* borrowed of the documents */
	size_t n;
};

static const char *group_of(const struct commander *c, const char *source, const char *external)
{
	const struct docs *groups = &c->docs[DOC_GROUP];

	for (size_t i = 0; i < groups->n; i++) {
		const struct doc *d = &groups->items[i];
		const struct jval *g = d->retired ? NULL : doc_json(d);
		const char *called = *jv_str(g, "external") ? jv_str(g, "external") : d->name;

		if (g && strcmp(jv_str(g, "source"), source) == 0 &&
		    strcasecmp(called, external) == 0)
			return d->name;
	}
	return NULL;
}

static void groups_map(const struct commander *c, const char *source, const struct vouched *who,
                       struct mapped *ret)
{
	ret->n = 0;
	for (size_t i = 0; i < who->n_groups && ret->n < GROUPS_KEPT; i++) {
		const char *name = group_of(c, source, who->groups[i]);

		if (name)
			ret->names[ret->n++] = name;
	}
}

static bool groups_same(const struct jval *person, const struct mapped *m)
{
	const struct jval *list = jv_get(person, "groups");
	size_t n = 0;

	JV_EACH(v, list)
		n++;
	for (size_t i = 0; i < m->n; i++)
		if (!jv_has(list, m->names[i]))
			return false;
	return n == m->n;
}

/* role: of who comes for the first time; NULL: he is known. */
static void print_person(const char *source, const struct vouched *who, const struct mapped *m,
                         const char *role, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "user", who->name);
	put_text(out, "source", source);
	put_text(out, "subject", who->subject);
	put_open(out, "groups", '[');
	for (size_t i = 0; i < m->n; i++)
		put_text(out, NULL, m->names[i]);
	put_close(out, ']');
	if (role) {
		put_text(out, "role", role);
		put_text(out, "full_name", who->full_name);
		put_text(out, "mail", who->mail);
	}
	put_close(out, '}');
}

static int no_role(const char *name, struct refusal *f)
{
	return refuse(f, E_FORBIDDEN, NULL, "sirdar group add --source ldap|oidc --external",
	              "%s has no role here: an administrator gives one, or a group that has one",
	              name);
}

/* The server knows him as he is; he comes in if he is anything here. */
static void let_in(struct commander *c, struct sign_in *s)
{
	struct grantee g = { .name = s->user,
		             .person = known_as(c, s->user),
		             .groups = &c->docs[DOC_GROUP] };
	struct refusal f = { 0 };

	if (!g.person || jv_true(g.person, "disabled") ||
	    strcmp(jv_str(g.person, "source"), s->via) != 0)
		refuse(&f, E_FORBIDDEN, NULL, NULL, "%s may not sign in", s->user);
	else if (grants_role(&g) == LEAST_COUNT)
		no_role(s->user, &f);
	if (f.code < 0) {
		sign__refuse(s, &f);
		return;
	}
	s->since = jv_int(g.person, "since", 0);
	sign__right(c, s);
}

static void arrival_free(struct arrival *a)
{
	vouched_done(&a->who);
	free(a);
}

static void decide_all(struct commander *c);

static void person_kept(struct letter *l, void *self)
{
	struct commander *c = self;
	struct client_request *r = (struct client_request *)l;
	struct sign_in *s = sign__answered(c, r);
	struct outside *x = c->sign_ins->outside;
	struct refusal f = { 0 };

	commander_fold(c);
	CHECK(x->keeping && x->keeping->s == s);
	arrival_free(x->keeping);
	x->keeping = NULL;
	if (r->code == 0) {
		let_in(c, s);
	} else {
		refuse(&f, r->code, NULL, NULL, "%s", r->text);
		sign__refuse(s, &f);
	}
	client_request_free(r);
	decide_all(c);
}

/* a->s is taken. */
static void arrival_decide(struct commander *c, struct arrival *a)
{
	const struct jval *p = known_as(c, a->who.name);
	struct sign_in *s = a->s;
	const char *role = strcmp(s->via, "ldap") == 0 ? c->set.ldap_role : c->set.oidc_role;
	struct refusal f = { 0 };
	struct mapped m;
	struct buf args;
	int r = check_name(c, s->via, &a->who, &f);

	groups_map(c, s->via, &a->who, &m);
	if (r == 0 && !p && m.n == 0 && strcmp(role, "none") == 0)
		r = no_role(a->who.name, &f);
	if (r == 0)
		snprintf(s->name, sizeof s->name, "%s", a->who.name);
	s->user = s->name;
	if (r == 0 && !(p && *jv_str(p, "subject") && groups_same(p, &m))) {
		char actor[PERSON_NAME + sizeof "oidc:"];

		buf_init(&args);
		print_person(s->via, &a->who, &m, p ? NULL : role, &args);
		snprintf(actor, sizeof actor, "%s:%s", s->via, s->name);
		c->sign_ins->outside->keeping = a;
		sign__command(c, s, CK_USER_SET, actor, &args, person_kept);
		return;
	}
	arrival_free(a);
	if (r < 0)
		sign__refuse(s, &f);
	else
		let_in(c, s);
}

static void decide_all(struct commander *c)
{
	struct outside *x = c->sign_ins->outside;

	while (x->arrivals && !x->keeping) {
		struct arrival *a = x->arrivals;

		x->arrivals = a->next;
		arrival_decide(c, a);
	}
}

void outside__arrive(struct commander *c, struct sign_in *s, struct vouched *who)
{
	struct arrival *a = mem_new(sizeof *a), **at = &c->sign_ins->outside->arrivals;

	while (*at)
		at = &(*at)->next;
	*at = a;
	*a = (struct arrival){ .s = s, .who = *who };
	*who = (struct vouched){ 0 };
	decide_all(c);
}

/* --- its ID token ---------------------------------------------------------------------------- */

static size_t asked_of(const struct outside *x, const char *face)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n_asked; i++)
		n += strcmp(x->asked[i]->r->face, face) == 0;
	return n;
}

static void asked_end(struct outside *x, const struct sign_in *s)
{
	size_t at = 0;

	while (at < x->n_asked && x->asked[at] != s)
		at++;
	CHECK(at < x->n_asked);
	x->asked[at] = x->asked[--x->n_asked];
}

static int judged_check(struct commander *c, const struct outsider_question *q, struct refusal *f)
{
	struct outside *x = c->sign_ins->outside;
	const struct sign_in *s = q->ctx;
	struct nonce n;

	if (q->code < 0)
		return refuse(f, q->code, "id_token", NULL, "%s", q->text);
	if (!nonce_known(c, x, s->r->face, q->nonce, &n) || is_spent(x, &n))
		return refuse(f, E_AUTH, "nonce", "begin again",
		              "this ID token has been used for a sign-in already");
	if (!nonce_spend(c, x, &n))
		return refuse(f, E_BUSY, NULL, NULL, "too many sign-ins just now, try again");
	return 0;
}

static void token_judged(struct letter *l, void *self)
{
	struct commander *c = self;
	struct outsider_question *q = (struct outsider_question *)l;
	struct outside *x = c->sign_ins->outside;
	struct sign_in *s = q->ctx;
	struct refusal f = { 0 };

	commander_fold(c);
	asked_end(x, s);
	if (judged_check(c, q, &f) < 0)
		sign__refuse(s, &f);
	else
		outside__arrive(c, s, &q->who);
	outsider_question_done(q);
	free(q);
}

/* It ends before it was judged: nobody waits for the answer any more. */
static void token_discard(struct letter *l)
{
	struct outsider_question *q = (struct outsider_question *)l;

	sign__free(q->ctx);
	outsider_question_done(q);
	free(q);
}

static int check_brought(const struct commander *c, const struct outside *x,
                         const struct sign_in *s, struct refusal *f)
{
	const char *id = jv_str(s->args, "id_token"), *nonce = jv_str(s->args, "nonce");
	struct nonce n;

	if (!*id)
		return refuse(f, E_FORBIDDEN, "id_token", "upgrade sirdar-cgi",
		              "the server judges ID tokens (its oidc_issuer is set): without one "
		              "the word of the face %s lets nobody in",
		              s->r->face);
	if (strlen(id) > ID_TOKEN_MAX || strlen(jv_str(s->args, "access_token")) > ACCESS_MAX)
		return refuse(f, E_TOO_BIG, "id_token", NULL,
		              "an ID token has %d bytes at most, an access token %d", ID_TOKEN_MAX,
		              ACCESS_MAX);
	if (!nonce_known(c, x, s->r->face, nonce, &n))
		return refuse(f, E_AUTH, "nonce", "begin again",
		              "this sign-in was not begun here, or too long ago");
	if (is_spent(x, &n))
		return refuse(f, E_AUTH, "nonce", "begin again",
		              "this ID token has been used for a sign-in already");
	return 0;
}

/* They are in what came and in what was read of it. */
static void brought_wipe(struct sign_in *s)
{
	static const char *const keys[] = { "id_token", "access_token" };

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const char *text = jv_text(s->args, keys[i]);

		if (text)
			sodium_memzero((char *)(uintptr_t)text, strlen(text));
	}
	sodium_memzero(s->r->args, s->r->args_len);
}

void outside__judge(struct commander *c, struct sign_in *s)
{
	struct outside *x = c->sign_ins->outside;
	struct outsider_question *q;
	struct refusal f = { 0 };

	if (check_brought(c, x, s, &f) < 0) {
		sign__refuse(s, &f);
		return;
	}
	if (x->n_asked == ASKED_MAX || asked_of(x, s->r->face) >= EACH_MAX) {
		sign__busy(s);
		return;
	}
	q = mem_new(sizeof *q);
	q->reply_to = c->me;
	q->answered = token_judged;
	q->discard = token_discard;
	q->id_token = mem_str(jv_str(s->args, "id_token"));
	q->access_token = mem_str(jv_str(s->args, "access_token"));
	q->nonce = mem_str(jv_str(s->args, "nonce"));
	q->ctx = s;
	brought_wipe(s);
	x->asked[x->n_asked++] = s;
	if (outsiders_ask(c->set.outsiders, q) == 0)
		return;
	asked_end(x, s);
	outsider_question_done(q);
	free(q);
	sign__busy(s);
}

/* --- where the server judges none ------------------------------------------------------------- */

static bool has_some(const struct docs *ds, const char *source)
{
	for (size_t i = 0; i < ds->n; i++)
		if (!ds->items[i].retired &&
		    strcmp(jv_str(doc_json(&ds->items[i]), "source"), source) == 0)
			return true;
	return false;
}

static bool knows_some(const struct commander *c, const char *source)
{
	return has_some(&c->docs[DOC_USER], source) || has_some(&c->docs[DOC_GROUP], source);
}

void outside__look(struct commander *c)
{
	if (!c->set.directories && knows_some(c, "ldap"))
		log_warn("ldap.believed",
		         "there are people or groups of a directory, and ldap_url is empty: "
		         "whatever face says that somebody is one of them is believed. Set "
		         "ldap_url at the server, which asks the directory then");
	if (!outside__judges(c) && knows_some(c, "oidc"))
		log_warn("oidc.believed",
		         "there are people or groups of an OpenID provider, and oidc_issuer is "
		         "empty: the server believes any face that says who somebody is. Set "
		         "oidc_issuer and oidc_client_id at the server: then it judges ID tokens "
		         "itself");
}

void outside__believed(struct commander *c, const struct sign_in *s)
{
	struct outside *x = c->sign_ins->outside;

	if (!x->is_told)
		log_warn(
			"oidc.believed",
			"face=%s user=%s the server believes the face that this is a person of the "
			"provider: set oidc_issuer and oidc_client_id, then it judges ID tokens "
			"itself",
			s->r->face, s->user);
	x->is_told = true;
}

/* --- life ------------------------------------------------------------------------------------ */

struct outside *outside__new(void)
{
	struct outside *x = mem_new(sizeof *x);

	CHECK(sodium_init() >= 0);
	crypto_generichash_keygen(x->key);
	return x;
}

/* Those at the thread are discarded with their questions, the one that is being kept with its
 * command. */
void outside__free(struct outside *x)
{
	if (!x)
		return;
	while (x->arrivals) {
		struct arrival *a = x->arrivals;

		x->arrivals = a->next;
		sign__free(a->s);
		arrival_free(a);
	}
	if (x->keeping)
		arrival_free(x->keeping);
	sodium_memzero(x->key, sizeof x->key);
	free(x->spent);
	free(x);
}
