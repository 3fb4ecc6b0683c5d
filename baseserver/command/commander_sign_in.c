/* Somebody signs in, at a face. A person's password is judged here, by the hash in his document, or
 * by the directory that he is of (sign_directory.c); of people of an OpenID provider the ID token
 * is (sign_outside.c). Of people of a directory, or a provider, that the server is told nothing of,
 * a face asserts that they are who they say, as far as its document lets it (enum asserts).
 *
 * A try with a password is booked before it is judged, and waits: one at a time is hashed, on a
 * thread of its own, in turns between faces, and within one between networks, so that whoever sends
 * many waits for himself. Of who has confirmed a second factor a code comes with the password: it
 * is spent (commander_factor.c) before anything is made, and without one nothing is. What comes of
 * a sign-in that was right, sign_mint.c makes. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "baseserver/command/sign_in_impl.h"
#include "baseserver/command/tries.h"
#include "baseserver/model/grants.h"
#include "baseserver/model/peers.h"
#include "baseserver/secret/passwords.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { WORDS_MAX = 8192 };

/* --- who it is ---------------------------------------------------------------------------- */

static const struct jval *person_of(const struct commander *c, const char *user)
{
	const struct doc *d = docs_find(&c->docs[DOC_USER], user);

	return d ? doc_json(d) : NULL;
}

static const char *source_of(const struct jval *person)
{
	const char *source = jv_str(person, "source");

	return *source ? source : "local";
}

static bool is_outside(const struct jval *person)
{
	return person && strcmp(source_of(person), "local") != 0;
}

/* No administrator, unless the document of the face says that it asserts those too. */
static int check_asserted(const struct commander *c, const struct sign_in *s, struct refusal *f)
{
	enum asserts asserts = grants_asserts(c->docs, s->r->face);
	struct grantee g = { .name = s->user,
		             .person = person_of(c, s->user),
		             .groups = &c->docs[DOC_GROUP] };

	if (!g.person || jv_true(g.person, "disabled") || strcmp(source_of(g.person), s->via) != 0)
		return refuse(f, E_FORBIDDEN, "user", "sirdar user show",
		              "'%.64s' is not a user of %s, or may not sign in", s->user, s->via);
	if (asserts == ASSERTS_NOBODY ||
	    (asserts != ASSERTS_ADMIN && grants_role(&g) == LEAST_ADMIN))
		return refuse(f, E_FORBIDDEN, "user", "sirdar peer show",
		              "the face %s may not assert that it is '%.64s': it asserts %s",
		              s->r->face, s->user, asserts_word(asserts));
	return 0;
}

/* --- a second factor ---------------------------------------------------------------------- */

static void try_over(struct commander *c, const struct sign_in *s, bool is_right)
{
	tries_over(c->sign_ins->tries, s->user, s->network, is_right, actor_mono_us(c->me));
}

/* It is spent, durably; nobody has seen a session yet. */
static void code_judged(struct letter *l, void *self)
{
	struct commander *c = self;
	struct client_request *r = (struct client_request *)l;
	struct sign_in *s = sign__answered(c, r);
	struct refusal f = { 0 };

	commander_fold(c);
	if (r->code == 0 || r->code == E_AUTH)
		try_over(c, s, r->code == 0);
	else
		tries_back(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));
	if (r->code == 0) {
		sign__right(c, s);
	} else {
		refuse(&f, r->code, "code",
		       r->code == E_AUTH ? "wait for the next code of the device" : NULL, "%s",
		       r->text);
		sign__refuse(s, &f);
	}
	client_request_free(r);
}

/* The password was right; until a code is, nothing was, so that nobody makes up for wrong codes
 * with a password that he knows. */
static void code_ask(struct commander *c, struct sign_in *s)
{
	struct refusal f = { 0 };
	struct buf args;

	if (s->r->credential && *s->r->credential) { /* that session began with a code */
		tries_back(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));
		sign__right(c, s);
		return;
	}
	if (!s->code || !*s->code) {
		tries_back(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));
		refuse(&f, E_FACTOR, "code", "six digits of the device, or a recovery code: `code`",
		       "the password is right; a code of the second factor is wanted too");
		sign__refuse(s, &f);
		return;
	}
	buf_init(&args);
	put_open(&args, NULL, '{');
	put_text(&args, "user", s->user);
	put_text(&args, "code", s->code);
	put_close(&args, '}');
	sign__command(c, s, CK_FACTOR_USE, s->user, &args, code_judged);
}

/* --- its turn ----------------------------------------------------------------------------- */

static void judge_next(struct commander *c);

static void password_judged(struct letter *l, void *self)
{
	struct commander *c = self;
	struct password_question *q = (struct password_question *)l;
	struct sign_in *s = c->sign_ins->passwords.judged;
	struct refusal f = { 0 };

	commander_fold(c);
	CHECK(s);
	c->sign_ins->passwords.judged = NULL;
	const struct jval *p = person_of(c, s->user);
	bool right = q->is_right && p && !jv_true(p, "disabled") && !is_outside(p) &&
	             jv_int(p, "since", 0) == s->since;
	free(q);
	s->factor = factor_marked(c->docs, s->user);
	if (right && s->factor != 0) {
		code_ask(c, s);
	} else if (right) {
		try_over(c, s, true);
		sign__right(c, s);
	} else {
		try_over(c, s, false);
		refuse(&f, E_AUTH, NULL, NULL, "wrong user or password");
		sign__refuse(s, &f);
	}
	judge_next(c);
}

static void question_discard(struct letter *l)
{
	struct password_question *q = (struct password_question *)l;

	sodium_memzero(q->password, sizeof q->password);
	free(q);
}

static void judge_next(struct commander *c)
{
	struct sign_queue *x = &c->sign_ins->passwords;

	while (!x->judged && x->n) {
		struct password_question *q = mem_new(sizeof *q);
		struct sign_in *s = sign__take_next(x);
		const struct jval *p = person_of(c, s->user);

		q->reply_to = c->me;
		q->answered = password_judged;
		q->discard = question_discard;
		s->since = jv_int(p, "since", 0);
		if (p && !jv_true(p, "disabled") && !is_outside(p))
			snprintf(q->hash, sizeof q->hash, "%s", jv_str(p, "secret"));
		snprintf(q->password, sizeof q->password, "%s", s->password);
		sign__wipe(s);
		x->judged = s;
		if (passwords_ask(c->set.passwords, q) == 0)
			continue;
		question_discard(&q->letter);
		x->judged = NULL;
		sign__not_judged(c, s);
	}
}

/* --- it comes in -------------------------------------------------------------------------- */

static bool is_by_provider(const struct sign_in *s)
{
	return strcmp(s->via, "oidc") == 0;
}

static bool is_by_directory(const struct sign_in *s)
{
	return strcmp(s->via, "ldap") == 0;
}

static int sign_read(const struct commander *c, struct sign_in *s, struct refusal *f)
{
	static const char *const vias[] = { "password", "ldap", "oidc", NULL };
	int via = -1;
	struct err err = { 0 };

	if (jv_parse_args(s->r->args, s->r->args_len, &s->args, &err) < 0)
		return refuse(f, E_INVALID, NULL, NULL, "%s", err.text);
	s->password = jv_text(s->args, "password");
	s->code = jv_text(s->args, "code");
	if (arg_choice(s->args, "args", "via", vias, &via, f) < 0)
		return f->code;
	s->user = jv_str(s->args, "user");
	s->via = via < 0 ? "password" : vias[via];
	network_of(jv_str(s->args, "address"), 3, s->network);
	if (is_by_provider(s) && (outside__judges(c) || jv_true(s->args, "begin")))
		return 0; /* who it is, its ID token says */
	if (is_by_directory(s) && jv_true(s->args, "begin"))
		return 0;
	if (s->r->args_len > WORDS_MAX)
		return refuse(f, E_TOO_BIG, NULL, NULL,
		              "a sign-in without an ID token has %d bytes at most", WORDS_MAX);
	if (!*s->user || strlen(s->user) >= PERSON_NAME)
		return refuse(f, E_AUTH, NULL, NULL, "wrong user or password");
	if (strcmp(s->via, "password") != 0)
		return 0;
	if (!s->password || strlen(s->password) > PASSWORD_BYTES_MAX)
		return refuse(f, E_AUTH, NULL, NULL, "wrong user or password");
	return 0;
}

static int try_take(struct commander *c, struct sign_in *s, struct refusal *f)
{
	int64_t wait_us = tries_take(c->sign_ins->tries, s->user, s->network, actor_mono_us(c->me));

	s->is_booked = wait_us == 0;
	return s->is_booked ? 0
	                    : refuse(f, E_LIMIT, "login_tries_per_minute", NULL,
	                             "too many wrong passwords, wait %" PRId64 " s",
	                             (int64_t)(wait_us / US_PER_S + 1));
}

static void by_password(struct commander *c, struct sign_in *s)
{
	struct refusal f = { 0 };

	if (try_take(c, s, &f) < 0)
		sign__refuse(s, &f);
	else if (directory__may_know(c, s->user))
		directory__ask(c, s);
	else if (sign__wait(c, &c->sign_ins->passwords, s))
		judge_next(c);
}

static void by_assertion(struct commander *c, struct sign_in *s)
{
	struct refusal f = { 0 };

	if (check_asserted(c, s, &f) < 0) {
		sign__refuse(s, &f);
		return;
	}
	if (is_by_provider(s))
		outside__believed(c, s);
	else
		directory__believed(c, s);
	s->since = jv_int(person_of(c, s->user), "since", 0);
	sign__right(c, s);
}

static void on_sign_in(struct letter *l, void *self)
{
	struct commander *c = self;
	struct refusal f = { 0 };
	struct sign_in *s = mem_new(sizeof *s);

	commander_fold(c);
	s->r = (struct client_request *)l;
	CHECK(s->r->face);
	int code = sign_read(c, s, &f);
	if (code < 0)
		sign__refuse(s, &f);
	else if (strcmp(s->via, "password") == 0)
		by_password(c, s);
	else if (is_by_provider(s) && jv_true(s->args, "begin"))
		outside__begin(c, s);
	else if (is_by_provider(s) && outside__judges(c))
		outside__judge(c, s);
	else if (is_by_directory(s) && jv_true(s->args, "begin"))
		directory__begin(c, s);
	else if (is_by_directory(s) && directory__judges(c))
		directory__asserted(s);
	else
		by_assertion(c, s);
}

int commander_sign_in(struct commander *c, struct client_request *r)
{
	if (!c->set.passwords)
		return E_UNSUPPORTED;
	r->letter.deliver = on_sign_in;
	return actor_post(c->me, &r->letter);
}

/* --- life --------------------------------------------------------------------------------- */

void sign_ins__init(struct commander *c)
{
	c->sign_ins = mem_new(sizeof *c->sign_ins);
	c->sign_ins->tries = tries_new(c->set.login_tries);
	c->sign_ins->outside = outside__new();
}

void sign_ins__done(struct commander *c)
{
	struct sign_ins *x = c->sign_ins;

	if (!x)
		return;
	sign__queue_done(&x->passwords);
	sign__queue_done(&x->directory);
	for (size_t i = 0; i < x->n_keeping; i++)
		sign__free(x->keeping[i]);
	tries_free(x->tries);
	outside__free(x->outside);
	free(x->keeping);
	free(x);
}
