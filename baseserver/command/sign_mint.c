/* What comes of a sign-in that was right, however it was judged:
 *   - a session, answered when it is durable (commander_session.c), or
 *   - with `brief` a secret for two minutes, in memory, for what follows at once, or
 *   - with `session` nothing new: that session's person has proven himself for ten minutes.
 * And what comes of one that was not. A secret leaves once, in the answer; its hash is kept. */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/sign_in_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"

enum { LIFE_MAX_S = 90 * 86400 };
#define BRIEF_US  (120 * US_PER_S)
#define PROVEN_US (600 * US_PER_S)

void sign__free(struct sign_in *s)
{
	if (!s)
		return;
	if (s->code)
		sodium_memzero((char *)(uintptr_t)s->code, strlen(s->code));
	client_request_free(s->r);
	jv_free(s->args);
	sodium_memzero(s, sizeof *s);
	free(s);
}

void sign__wipe(struct sign_in *s)
{
	if (s->password)
		sodium_memzero((char *)(uintptr_t)s->password, strlen(s->password));
	s->password = NULL;
	sodium_memzero(s->r->args, s->r->args_len);
}

void sign__refuse(struct sign_in *s, struct refusal *f)
{
	struct client_request *r = s->r;

	sign__wipe(s);
	s->r = NULL;
	sign__free(s);
	request_refuse(r, f);
}

void sign__busy(struct sign_in *s)
{
	struct refusal f = { 0 };

	refuse(&f, E_BUSY, NULL, NULL, "too many sign-ins wait for their turn, try again");
	sign__refuse(s, &f);
}

static void sign_answer(struct sign_in *s, uint64_t number)
{
	struct client_request *r = s->r;
	struct buf body;

	buf_init(&body);
	put_open(&body, NULL, '{');
	if (s->secret[0])
		put_text(&body, "session", s->secret);
	put_text(&body, "user", s->user);
	put_text(&body, "via", s->via);
	put_int(&body, "since", s->since);
	put_int(&body, "factor", s->factor);
	put_close(&body, '}');
	s->r = NULL;
	sign__free(s);
	request_answer(r, 0, "", &body, number);
}

/* --- it is he ----------------------------------------------------------------------------- */

void sign__command(struct commander *c, struct sign_in *s, enum command_kind kind,
                   const char *actor, struct buf *args, void (*then)(struct letter *l, void *self))
{
	struct sign_ins *x = c->sign_ins;
	struct client_request *r = client_request_new(command_kind_name(kind), buf_str(args),
	                                              args->len);

	sodium_memzero((char *)(uintptr_t)buf_str(args), args->len);
	buf_done(args);
	r->actor = mem_str(actor);
	r->request_id = mem_fmt("sign-in-%016" PRIx64 "%016" PRIx64,
	                        (uint64_t)randombytes_random() << 32 | randombytes_random(),
	                        (uint64_t)randombytes_random() << 32 | randombytes_random());
	r->reply_to = c->me;
	r->answered = then;
	r->ctx = s;
	x->keeping = mem_room(x->keeping, &x->cap, x->n_keeping + 1, sizeof(struct sign_in *));
	x->keeping[x->n_keeping++] = s;
	int code = commander_command(c, r);
	if (code < 0) {
		r->code = code;
		snprintf(r->text, sizeof r->text, "%s", err_text(code));
		then(&r->letter, c);
	}
}

/* Whose command it was, which is answered. */
struct sign_in *sign__answered(struct commander *c, struct client_request *r)
{
	struct sign_ins *x = c->sign_ins;
	size_t at = 0;

	while (at < x->n_keeping && x->keeping[at] != r->ctx)
		at++;
	CHECK(at < x->n_keeping);
	x->keeping[at] = x->keeping[--x->n_keeping];
	sodium_memzero(r->args, r->args_len);
	return r->ctx;
}

static void session_kept(struct letter *l, void *self)
{
	struct commander *c = self;
	struct client_request *r = (struct client_request *)l;
	struct sign_in *s = sign__answered(c, r);

	if (r->code == 0) {
		log_info("sign-in.done", "user=%s via=%s face=%s", s->user, s->via, s->r->face);
		sign_answer(s, r->number);
	} else {
		struct refusal f = { 0 };

		refuse(&f, r->code, NULL, NULL, "%s", r->text);
		sign__refuse(s, &f);
	}
	client_request_free(r);
}

static void print_session(const struct commander *c, const struct sign_in *s, struct buf *out)
{
	int64_t life_s = jv_int(s->args, "life_s", 0);
	char hex[CREDENTIAL_HEX], id[SESSION_ID];
	unsigned char bytes[(SESSION_ID - 1) / 2];

	randombytes_buf(bytes, sizeof bytes);
	sodium_bin2hex(id, sizeof id, bytes, sizeof bytes);
	credential_hash(s->secret, hex);
	put_open(out, NULL, '{');
	put_text(out, "user", s->user);
	put_text(out, "session", id);
	put_text(out, "hash", hex);
	put_text(out, "via", s->via);
	put_text(out, "address", jv_str(s->args, "address"));
	put_text(out, "agent", jv_str(s->args, "agent"));
	put_text(out, "face", s->r->face);
	if (*s->name) /* judged here, by his ID token or by the directory */
		put_text(out, "issuer",
		         strcmp(s->via, "ldap") == 0 ? c->set.ldap_url : c->set.oidc_issuer);
	put_int(out, "since", s->since);
	put_int(out, "factor", s->factor);
	put_int(out, "expires",
	        actor_wall_us(c->me) / US_PER_S +
	                (life_s > 0 && life_s < LIFE_MAX_S ? life_s : LIFE_MAX_S));
	put_close(out, '}');
}

/* The command is in the audit, too. */
static void session_mint(struct commander *c, struct sign_in *s)
{
	struct buf args;

	buf_init(&args);
	print_session(c, s, &args);
	sign__command(c, s, CK_SESSION_BEGIN, s->user, &args, session_kept);
}

static void proof_keep(struct commander *c, const struct sign_in *s, const char *secret,
                       bool is_alone)
{
	struct proof p = { .since = s->since, .factor = s->factor, .is_alone = is_alone };

	credential_hash(secret, p.hash);
	snprintf(p.user, sizeof p.user, "%s", s->user);
	p.until_us = actor_mono_us(c->me) + (is_alone ? BRIEF_US : PROVEN_US);
	credential_prove(&c->credentials, &p);
}

void sign__right(struct commander *c, struct sign_in *s)
{
	struct credential has = { 0 };
	struct refusal f = { 0 };

	if (s->r->credential && *s->r->credential) {
		if (credential_find(&c->credentials, c->docs, s->r->credential,
		                    actor_wall_us(c->me), actor_mono_us(c->me), &has) &&
		    !has.token && strcmp(has.user, s->user) == 0) {
			proof_keep(c, s, s->r->credential, false);
			sign_answer(s, 0);
			return;
		}
		refuse(&f, E_AUTH, "session", "sign in again", "this session is over");
		sign__refuse(s, &f);
		return;
	}
	credential_new(s->secret);
	bool is_brief = jv_true(s->args, "brief");
	proof_keep(c, s, s->secret, is_brief);
	if (is_brief)
		sign_answer(s, 0);
	else
		session_mint(c, s);
}
