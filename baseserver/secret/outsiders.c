/* ID tokens are judged here, one after the other. Who may ask, and whether a nonce was drawn and is
 * not spent, is the asker's to say (baseserver/command/sign_outside.c). */
#include "baseserver/secret/outsiders.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openid/jwt.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/param.h"

_Static_assert(ID_TOKEN_MAX == JWT_BYTES_MAX, "what is taken is judged");

struct outsiders {
	struct actor *me;
	struct provider *provider;
};

static void text_wipe(char **text)
{
	if (*text)
		sodium_memzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

void outsider_question_done(struct outsider_question *q)
{
	text_wipe(&q->id_token);
	text_wipe(&q->access_token);
	text_wipe(&q->nonce);
	vouched_done(&q->who);
}

static void on_question(struct letter *l, void *self)
{
	struct outsider_question *q = (struct outsider_question *)l;
	struct outsiders *o = self;
	struct brought shown = { q->id_token, q->access_token, q->nonce };
	struct err err = { 0 };

	q->code = provider_judge(o->provider, &shown, &q->who, &err);
	snprintf(q->text, sizeof q->text, "%s", err.text);
	text_wipe(&q->id_token);
	text_wipe(&q->access_token);
	q->letter.deliver = q->answered;
	if (actor_post_credit(q->reply_to, &q->letter) < 0)
		q->discard(&q->letter);
}

int outsiders_ask(struct outsiders *o, struct outsider_question *q)
{
	CHECK(q->id_token && q->access_token && q->nonce);
	q->letter = (struct letter){ .deliver = on_question, .discard = q->discard };
	return actor_post(o->me, &q->letter);
}

static const struct actor_ops ops = { .name = "outsiders", .letters_max = 256 };

static int provider_new(const struct param_baseserver *p, struct provider **ret, struct err *err)
{
	struct provider_settings set = { p->oidc_issuer,     p->oidc_client_id,
		                         p->oidc_user_claim, p->oidc_groups_claim,
		                         p->oidc_ca_file,    p->oidc_skew_ms,
		                         p->oidc_timeout_ms };

	return provider_open(&set, ret, err);
}

int outsiders_check(const struct param_baseserver *p, struct err *err)
{
	struct provider *provider = NULL;
	int r = provider_new(p, &provider, err);

	provider_close(provider);
	return r;
}

int outsiders_new(struct thread *th, const struct param_baseserver *p, struct outsiders **ret,
                  struct err *err)
{
	struct provider *provider = NULL;
	int r = provider_new(p, &provider, err);

	if (r < 0)
		return r;
	CHECK(sodium_init() >= 0);
	*ret = mem_new(sizeof **ret);
	(*ret)->provider = provider;
	(*ret)->me = actor_new(th, &ops, *ret);
	return 0;
}

void outsiders_free(struct outsiders *o)
{
	if (!o)
		return;
	provider_close(o->provider);
	free(o);
}
