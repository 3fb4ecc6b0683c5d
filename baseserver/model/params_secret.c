/* Secrets of a job: told only to who asks with its lease. A job gets those that its own parameters
 * name, of target servers that are for its project.
 *
 * One that is sealed here is opened here. One that is kept outside is wished for, and the question
 * waits for the answer of the secrets' own thread (baseserver/secret). A job that is about to begin
 * is asked about, too: what its parameters of type `server` and those with names of secrets mean
 * must be at hand, else it does not begin. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/params_impl.h"
#include "baseserver/model/vault.h"
#include "baseserver/secret/secrets.h"
#include "sched/task.h"
#include "sched/type.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"

#define SECRET_RETRY_US ((int64_t)1000000) /* what is sealed may be opened by another key soon */

/* --- which ------------------------------------------------------------------------------- */

static bool names(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = text ? text : ""; *(at += strspn(at, TYPE_NAMES_APART));) {
		size_t word = strcspn(at, TYPE_NAMES_APART);
		if (word == n && memcmp(at, name, n) == 0)
			return true;
		at += word;
	}
	return false;
}

static bool any_names(const struct jval *values, const char *name)
{
	JV_EACH(c, values)
		if (c->kind == JV_TEXT && names(c->text, name))
			return true;
	return false;
}

static bool is_named(const struct view *v, const char *name)
{
	for (size_t i = 0; i < v->def->n_params; i++)
		if (names(v->def->params[i].value, name))
			return true;
	return any_names(v->over, name) || any_names(v->own, name);
}

static const char *param_value(const struct view *v, const char *name, size_t bytes)
{
	for (size_t i = 0; i < v->def->n_params; i++)
		if (strlen(v->def->params[i].name) == bytes &&
		    memcmp(v->def->params[i].name, name, bytes) == 0) {
			const char *over = view__over(v, v->def->params[i].name);
			return over ? over : v->def->params[i].value;
		}
	return NULL;
}

/* "P.SECRET" is of the server that the parameter P names; "NAME" is the password of that server,
 * "NAME.SECRET" another one of it. */
static const struct doc *target_whose(const struct view *v, const char *name,
                                      const char **ret_secret)
{
	const char *dot = strrchr(name, '.');
	const char *value = dot ? param_value(v, name, (size_t)(dot - name)) : NULL;
	const struct doc *t = value ? docs_find(&v->p->targets, value) : NULL;

	if (t) {
		*ret_secret = dot + 1;
		return t;
	}
	return is_named(v, name) ? targets_of_secret(&v->p->targets, name, ret_secret) : NULL;
}

/* --- where ------------------------------------------------------------------------------- */

/* Whoever is told the values is told this one: which peers were given it is kept. */
static void note_given(struct param_question *q, const struct doc *t, const char *secret)
{
	q->given = mem_grow(q->given, q->n_given + 1, sizeof *q->given);
	q->given[q->n_given++] = target_secret_shown(t->name, secret);
}

int secret__open(const struct view *v, struct param_question *q, const char *about,
                 const char *what, const char *sealed, const char *as)
{
	struct err err = { 0 };
	char *text = NULL;
	int r = vault_open(v->p->vault, about, sealed, &text, &err);

	if (r == 0 && as)
		view__add(q, as, text);
	vault_forget(text);
	if (r == 0)
		return 0;
	log_warn("secret.sealed", "of=\"%s\" task=%s text=\"%s\"", what, v->def->name, err.text);
	snprintf(q->text, sizeof q->text, "waits for %.190s: %.190s", what, err.text);
	q->wait_us = SECRET_RETRY_US;
	return E_SECRET;
}

static int open_sealed(const struct view *v, struct param_question *q, const struct doc *t,
                       const char *secret, const char *sealed, const char *as)
{
	char *what = mem_fmt("the secret %.60s of target server %.100s", secret, t->name);
	struct buf about;

	buf_init(&about);
	target_about(t->name, secret, &about);
	int r = secret__open(v, q, buf_str(&about), what, sealed, as);
	if (r == 0 && as)
		note_given(q, t, secret);
	buf_done(&about);
	free(what);
	return r;
}

void secret__wish(struct view *v, const char *what, const struct secret_ref *ref, const char *as)
{
	size_t n = v->n_wishes;

	v->wishes = mem_grow(v->wishes, n + 1, sizeof *v->wishes);
	v->wish_names = mem_grow(v->wish_names, n + 1, sizeof *v->wish_names);
	v->wishes[n] = (struct secret_wish){ .from = mem_str(ref->from),
		                             .path = mem_str(ref->path),
		                             .key = mem_str(ref->key),
		                             .what = mem_str(what) };
	v->wish_names[n] = as ? mem_str(as) : NULL;
	v->n_wishes++;
}

static void add_wish(struct view *v, const struct doc *t, const char *secret,
                     const struct secret_ref *ref, const char *as)
{
	char *what = mem_fmt("the secret %.60s of target server %.100s", secret, t->name);

	secret__wish(v, what, ref, as);
	free(what);
}

int secret__have(struct view *v, struct param_question *q, const struct doc *t, const char *name,
                 const char *as)
{
	struct target_secret secret;

	if (!t || !target_allows(t, v->project) || !target_secret(t, name, &secret))
		return 0;
	if (secret.sealed)
		return open_sealed(v, q, t, name, secret.sealed, as);
	add_wish(v, t, name, &secret.ref, as);
	if (as)
		note_given(q, t, name);
	return 0;
}

int secret__named(struct view *v, struct param_question *q, const char *name)
{
	const char *secret = TARGET_PASSWORD;
	const struct doc *t = target_whose(v, name + strlen("secret."), &secret);

	return secret__have(v, q, t, secret, name);
}

/* Names of secrets, as the type means them. */
static int have_words(struct view *v, struct param_question *q, const char *text)
{
	size_t n;
	int r = 0;

	for (const char *at = text; r == 0 && *(at += strspn(at, TYPE_NAMES_APART)); at += n) {
		n = strcspn(at, TYPE_NAMES_APART);
		char *name = mem_strn(at, n);
		const char *secret = TARGET_PASSWORD;
		const struct doc *t = target_whose(v, name, &secret);
		r = secret__have(v, q, t, secret, NULL);
		free(name);
	}
	return r;
}

int secret__ahead(struct view *v, struct param_question *q)
{
	int r = 0;

	for (size_t i = 0; i < v->def->n_params && r == 0; i++) {
		const struct task_param *p = &v->def->params[i];
		const char *over = view__over(v, p->name), *value = over ? over : p->value;

		if (p->server)
			r = secret__have(v, q, docs_find(&v->p->targets, value), TARGET_PASSWORD,
			                 NULL);
		else if (p->secret)
			r = have_words(v, q, value);
	}
	return r;
}

/* --- from outside ------------------------------------------------------------------------ */

/* The answer finds its way back by this. */
struct wanted {
	struct secret_question ask;
	struct param_question *q;
	char **names; /* one a wish */
};

static void wanted_free(struct wanted *w)
{
	for (size_t i = 0; i < w->ask.n; i++)
		free(w->names[i]);
	free(w->names);
	secret_question_done(&w->ask);
	free(w);
}

static void wanted_discard(struct letter *l)
{
	struct wanted *w = (struct wanted *)l;

	param_question_free(w->q);
	wanted_free(w);
}

static void on_secrets(struct letter *l, void *self)
{
	struct wanted *w = (struct wanted *)l;
	struct param_question *q = w->q;

	(void)self;
	q->code = w->ask.code;
	q->wait_us = w->ask.wait_us;
	if (q->code < 0)
		snprintf(q->text, sizeof q->text, "%s", w->ask.text);
	for (size_t i = 0; i < w->ask.n && q->code == 0; i++)
		if (w->names[i])
			view__add(q, w->names[i], w->ask.wishes[i].value);
	wanted_free(w);
	params__answer(q);
}

struct wanted *secret__take(struct view *v, struct param_question *q)
{
	struct wanted *w = mem_new(sizeof *w);

	CHECK(v->n_wishes > 0 && q->code == 0);
	w->q = q;
	w->names = v->wish_names;
	w->ask = (struct secret_question){ .answered = on_secrets,
		                           .discard = wanted_discard,
		                           .wishes = v->wishes,
		                           .n = v->n_wishes,
		                           .is_ahead = !q->names || !q->names[0] };
	v->wishes = NULL;
	v->wish_names = NULL;
	v->n_wishes = 0;
	return w;
}

void secret__ask(struct params *p, struct wanted *w)
{
	struct param_question *q = w->q;

	w->ask.reply_to = p->me;
	if (secrets_ask(p->secrets, &w->ask) == 0)
		return;
	q->code = E_BUSY;
	wanted_free(w);
	params__answer(q);
}

void secret__forget_wishes(struct view *v)
{
	struct secret_question none = { .wishes = v->wishes, .n = v->n_wishes };

	for (size_t i = 0; i < v->n_wishes; i++)
		free(v->wish_names[i]);
	free(v->wish_names);
	secret_question_done(&none);
	v->wishes = NULL;
	v->wish_names = NULL;
	v->n_wishes = 0;
}
