/* Second factors of people: a secret that makes codes (util/totp.h), and recovery codes.
 *
 * A document for each person, also for `admin`, who is no user here. factor-begin keeps a secret
 * that counts for nothing until factor-confirm shows a code of it; then each sign-in brings one,
 * judged and spent by factor-use in one durable edit: the step of the last one that was right is
 * kept, so no code is good twice, at whatever face and after whatever restart. The secret is
 * sealed where the server has keys; recovery codes are hashes, each goes when it was used. Nothing
 * of it is told, or recorded with a command.
 *
 * Wrong codes in a row make the next try of that person wait, wherever it comes from: only who has
 * the password comes so far. They are counted in memory; a restart forgives WRONG_FREE of them. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "baseserver/model/vault.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/totp.h"

enum {
	USER_MAX = 63,
	TEXT_MAX = 2000,
	CODES_MAX = 10,
	WRONG_FREE = 5,
	DELAY_S = 15,
	DELAY_MAX_S = 300,
};

struct factor_tries {
	char *user;
	int wrong;
	int64_t next_us; /* mono */
};

/* A factor as it is to be kept. */
struct next {
	const char *secret; /* sealed */
	bool active;
	int64_t since, step;
	const struct jval *codes; /* of before; and */
	const char *spent;        /* the hash of one that goes */
	const char *fresh;        /* instead of those: hashes with blanks between */
};

/* --- arguments ---------------------------------------------------------------------------- */

static int parse_text(const struct order *o, const char *key, bool needed, struct refusal *f)
{
	const char *text = NULL;
	char at[20];
	int r = arg_text(o->args, "args", key, TEXT_MAX, &text, f);

	snprintf(at, sizeof at, "args.%s", key);
	if (r == 0 && !text && needed)
		return refuse(f, E_INVALID, at, NULL, "%s: is missing", at);
	if (r == 0 && text && strcmp(text, ARGS_KEPT_OUT) == 0)
		return refuse(f, E_INVALID, at, NULL, "%s: it is not kept with a command", at);
	return r;
}

int factor_parse(struct order *o, struct refusal *f)
{
	unsigned char bytes[TOTP_SECRET_BYTES];
	bool begins = o->kind == CK_FACTOR_BEGIN;
	int r = arg_text(o->args, "args", "user", USER_MAX, &o->user, f);

	if (r == 0 && (!o->user || !person_name_ok(o->user)))
		return refuse(f, E_INVALID, "args.user", "letters, digits, . _ @ -",
		              "args.user: a person's name is expected");
	if (r == 0)
		r = parse_text(o, "secret", begins, f);
	if (r == 0)
		r = parse_text(o, "code", !begins && o->kind != CK_FACTOR_REMOVE, f);
	if (r == 0)
		r = parse_text(o, "codes", o->kind == CK_FACTOR_CONFIRM, f);
	if (r == 0 && begins && !totp_secret_bytes(jv_str(o->args, "secret"), bytes))
		return refuse(f, E_INVALID, "args.secret", NULL,
		              "args.secret: %d bytes in base32 are expected", TOTP_SECRET_BYTES);
	sodium_memzero(bytes, sizeof bytes);
	return r;
}

/* About himself; and without a code nobody takes away what guards him. */
bool own_factor(const struct commander *c, const struct order *o, const char *name)
{
	(void)c;
	return o->user && strcmp(o->user, name) == 0 &&
	       (o->kind != CK_FACTOR_REMOVE || jv_get(o->args, "code"));
}

/* --- tries ---------------------------------------------------------------------------------- */

static struct factor_tries *tries_of(struct commander *c, const char *user, bool make)
{
	for (size_t i = 0; i < c->n_factor_tries; i++)
		if (strcmp(c->factor_tries[i].user, user) == 0)
			return &c->factor_tries[i];
	if (!make) /* there are no more than people with a factor */
		return NULL;
	c->factor_tries = mem_grow(c->factor_tries, c->n_factor_tries + 1, sizeof *c->factor_tries);
	c->factor_tries[c->n_factor_tries] = (struct factor_tries){ .user = mem_str(user) };
	return &c->factor_tries[c->n_factor_tries++];
}

static void tries_forget(struct commander *c, const char *user)
{
	struct factor_tries *t = tries_of(c, user, false);

	if (!t)
		return;
	free(t->user);
	CHECK(c->n_factor_tries > 0);
	*t = c->factor_tries[--c->n_factor_tries];
}

void factors__forget(struct commander *c)
{
	for (size_t i = 0; i < c->n_factor_tries; i++)
		free(c->factor_tries[i].user);
	free(c->factor_tries);
}

static int may_try(struct commander *c, const char *user, struct refusal *f)
{
	const struct factor_tries *t = tries_of(c, user, false);
	int64_t wait = t ? t->next_us - actor_mono_us(c->me) : 0;

	if (wait <= 0)
		return 0;
	return refuse(f, E_LIMIT, "args.code", NULL, "too many wrong codes, wait %lld s",
	              (long long)(wait / US_PER_S + 1));
}

static int tried_wrong(struct commander *c, const char *user, struct refusal *f)
{
	struct factor_tries *t = tries_of(c, user, true);
	int more = ++t->wrong - WRONG_FREE;

	if (more >= 0)
		t->next_us = actor_mono_us(c->me) +
		             (more > 4 ? DELAY_MAX_S : DELAY_S << more) * US_PER_S;
	return refuse(f, E_AUTH, "args.code", "wait for the next code of the device",
	              "args.code: the code is wrong, or was used already");
}

/* --- sealed --------------------------------------------------------------------------------- */

static int factor_seal(struct commander *c, const char *user, const char *text, char **ret,
                       struct err *err)
{
	if (!vault_is_set(c->vault)) {
		*ret = mem_str(text);
		return 0;
	}
	char *about = mem_fmt("factor/%s", user);
	int r = vault_seal(c->vault, about, text, ret, err);
	free(about);
	return r;
}

static bool is_sealed(const char *secret)
{
	return strchr(secret, ':') != NULL;
}

static int factor_open(struct commander *c, const char *user, const char *secret, char **ret,
                       struct err *err)
{
	if (!is_sealed(secret)) {
		*ret = mem_str(secret);
		return 0;
	}
	char *about = mem_fmt("factor/%s", user);
	int r = vault_open(c->vault, about, secret, ret, err);
	free(about);
	return r;
}

/* --- what is kept --------------------------------------------------------------------------- */

static void codes_print(const struct next *n, struct buf *out)
{
	put_open(out, "codes", '[');
	for (const char *s = n->fresh; s && *s; s += strcspn(s, " "), s += strspn(s, " ")) {
		char *one = mem_strn(s, strcspn(s, " "));
		put_text(out, NULL, one);
		free(one);
	}
	if (!n->fresh)
		JV_EACH(v, n->codes)
			if (!n->spent || strcmp(v->text, n->spent) != 0)
				put_text(out, NULL, v->text);
	put_close(out, ']');
}

static void factor_put(struct commander *c, const struct cmd *cmd, const char *user,
                       const struct next *n)
{
	struct buf body;

	buf_init(&body);
	put_open(&body, NULL, '{');
	put_text(&body, "secret", n->secret);
	put_bool(&body, "active", n->active);
	put_int(&body, "since", n->since);
	put_int(&body, "step", n->step);
	codes_print(n, &body);
	put_close(&body, '}');
	stored__change(
		c, cmd, cmd->edit,
		&(struct store_doc){ .kind = DOC_FACTOR, .name = user, .body = buf_str(&body) });
	buf_done(&body);
}

static struct next next_of(const struct doc *d)
{
	const struct jval *was = doc_json(d);

	return (struct next){ .secret = jv_str(was, "secret"),
		              .active = jv_true(was, "active"),
		              .since = jv_int(was, "since", 0),
		              .step = jv_int(was, "step", 0),
		              .codes = jv_get(was, "codes") };
}

void factor__gone(struct commander *c, const struct cmd *cmd, const char *user)
{
	if (!docs_find(&c->docs[DOC_FACTOR], user))
		return;
	tries_forget(c, user);
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){
			       .kind = DOC_FACTOR, .name = user, .body = "{}", .retired = true });
}

/* --- judged --------------------------------------------------------------------------------- */

/* Right: n->step, or n->spent (in `hash`), is what it spends. */
static int judge_code(struct commander *c, const struct cmd *cmd, struct next *n,
                      char hash[TOTP_HASH_TEXT], struct refusal *f)
{
	const char *user = cmd->o.user, *code = jv_str(cmd->o.args, "code");
	unsigned char bytes[TOTP_SECRET_BYTES];
	struct err err = { 0 };
	char *text = NULL;
	int64_t step = -1;

	if (may_try(c, user, f) < 0)
		return f->code;
	if (factor_open(c, user, n->secret, &text, &err) < 0)
		return refuse(f, E_CONFLICT, "secrets_key_file", "the manual, Second factor", "%s",
		              err.text);
	if (totp_secret_bytes(text, bytes))
		step = totp_step(bytes, code, actor_wall_us(c->me) / US_PER_S, n->step);
	sodium_memzero(bytes, sizeof bytes);
	vault_forget(text);
	if (step >= 0)
		n->step = step;
	else if (totp_recovery_hash(code, hash) && jv_has(n->codes, hash))
		n->spent = hash;
	else
		return tried_wrong(c, user, f);
	tries_forget(c, user);
	return 0;
}

static int begin_secret(struct commander *c, struct cmd *cmd, const struct doc *was,
                        struct refusal *f)
{
	const char *user = cmd->o.user;
	const struct doc *u = docs_find(&c->docs[DOC_USER], user);
	const char *source = u ? jv_str(doc_json(u), "source") : "";
	struct err err = { 0 };
	char *sealed = NULL;

	if (!u && strcmp(user, "admin") != 0)
		return stored__missing(DOC_USER, user, f);
	if (strcmp(source, "ldap") == 0 || strcmp(source, "oidc") == 0)
		return refuse(f, E_CONFLICT, "args.user", NULL,
		              "args.user: how %.64s signs in is kept by %s, not here", user,
		              source);
	if (was && jv_true(doc_json(was), "active"))
		return refuse(f, E_CONFLICT, "args.user", "remove it first",
		              "args.user: %.64s has a second factor already", user);
	if (factor_seal(c, user, jv_str(cmd->o.args, "secret"), &sealed, &err) < 0)
		return refuse(f, E_CONFLICT, "secrets_key_file", "the manual, Second factor", "%s",
		              err.text);
	cmd->edit = mem_new(sizeof *cmd->edit);
	factor_put(c, cmd, user, &(struct next){ .secret = sealed });
	free(sealed);
	return 0;
}

/* Confirmed, used or removed: there is one, and the code is of it. */
static int begin_code(struct commander *c, struct cmd *cmd, const struct doc *was,
                      struct refusal *f)
{
	bool confirms = cmd->kind == CK_FACTOR_CONFIRM, removes = cmd->kind == CK_FACTOR_REMOVE;
	struct next n = next_of(was);
	char hash[TOTP_HASH_TEXT];

	if (!removes && n.active == confirms)
		return refuse(f, E_CONFLICT, "args.user", confirms ? NULL : "confirm it first",
		              "args.user: the second factor of %.64s is %s", cmd->o.user,
		              confirms ? "confirmed already" : "not confirmed yet");
	if ((!removes || jv_get(cmd->o.args, "code")) && judge_code(c, cmd, &n, hash, f) < 0)
		return f->code;
	cmd->edit = mem_new(sizeof *cmd->edit);
	if (removes) {
		factor__gone(c, cmd, cmd->o.user);
		sessions__renew(c, cmd, "factor", 0);
		return 0;
	}
	if (confirms) {
		n.active = true;
		n.since = was->version + 1; /* the one that this makes: never again the same */
		n.fresh = jv_str(cmd->o.args, "codes");
		sessions__renew(c, cmd, "factor", n.since);
	}
	factor_put(c, cmd, cmd->o.user, &n);
	return 0;
}

int factor__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct doc *was = docs_find(&c->docs[DOC_FACTOR], cmd->o.user);

	if (cmd->dry) /* it would judge codes and spend none */
		return refuse(f, E_INVALID, "dry_run", NULL, "dry_run: not of a second factor");
	if (cmd->kind == CK_FACTOR_BEGIN)
		return begin_secret(c, cmd, was, f);
	return was ? begin_code(c, cmd, was, f) : stored__missing(DOC_FACTOR, cmd->o.user, f);
}

/* --- keys changed --------------------------------------------------------------------------- */

static int seal_again(struct commander *c, const struct cmd *cmd, const struct doc *d,
                      struct err *err)
{
	struct next n = next_of(d);
	char *text = NULL, *sealed = NULL;
	bool current = false;
	int r = is_sealed(n.secret) ? vault_is_current(c->vault, n.secret, &current, err) : 0;

	if (r < 0 || current)
		return r;
	r = factor_open(c, d->name, n.secret, &text, err);
	if (r == 0)
		r = factor_seal(c, d->name, text, &sealed, err);
	if (r == 0) {
		n.secret = sealed;
		factor_put(c, cmd, d->name, &n);
	}
	vault_forget(text);
	free(sealed);
	return r;
}

int factors__seal_again(struct commander *c, const struct cmd *cmd, struct err *err)
{
	const struct docs *k = &c->docs[DOC_FACTOR];
	int r = 0;

	for (size_t i = 0; i < k->n && r == 0; i++)
		if (!k->items[i].retired)
			r = seal_again(c, cmd, &k->items[i], err);
	return r;
}
