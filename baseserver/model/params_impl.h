/* params_impl.h — the params actor's inside, shared by params*.c only. */
#ifndef BASESERVER_PARAMS_IMPL_H
#define BASESERVER_PARAMS_IMPL_H

#include "baseserver/model/params.h"
#include "baseserver/model/scopes.h"
#include "baseserver/model/targets.h"
#include "util/buf.h"

struct secret_question;
struct secret_wish;
struct secrets;
struct vault;
struct wanted;

struct params {
	struct actor *me;
	struct ledger *ledger;
	struct stream_reader *in;
	const struct task **defs; /* by id, counted */
	size_t cap;
	struct docs scopes, targets, channels;
	struct vault *vault;
	struct secrets *secrets; /* from outside */
};

/* All that a name is looked up in. */
struct view {
	const struct params *p;
	const struct param_question *q;
	const struct task *def;
	char project[80];
	const struct jval *over, *own; /* parameters of this run, of the instance; or NULL */
	const struct jval **outputs;   /* one per input of def, or NULL */
	struct buf member;             /* a target server's, as text: the last that was looked up */
	char missing[300];
	struct bound {
		char *name;
		size_t at; /* of its row in the question's values */
	} * bound;         /* values bound to code: CODE_VALUE N is the Nth */
	size_t n_bound;
	/* Secrets from outside that it wants, and the name that each is told by; NULL: it is to be
	 * had when the job asks. */
	struct secret_wish *wishes;
	char **wish_names;
	size_t n_wishes;
};

/* params_view.c. Of this run, else of the instance; NULL: neither. */
const char *view__over(const struct view *v, const char *name);
void view__add(struct param_question *q, const char *name, const char *value);
void params__answer(struct param_question *q);

/* params_target.c: target servers. */
/* "NAME.KEY" of ${server.NAME.KEY}; NULL: v->missing says why. Borrowed until the next call. */
const char *target__lookup(struct view *v, const char *name);
/* P.host and kin of each parameter P that is the name of one. errors  E_INVALID, in q->text */
int target__fill(struct view *v, struct param_question *q);
/* Of no job: the server q->target as parameter `server`, and its password. errors  as
 * target__fill() and secret__named() */
int target__probe(struct view *v, struct param_question *q);

/* params_channel.c: the secrets of q->channel. errors  E_NOT_FOUND, E_SECRET */
int channel__fill(struct view *v, struct param_question *q);

/* params_secret.c */
/* One that is sealed here, told as `as`, or only to be had (NULL). `about`: what it is sealed for.
 * `what`: by what it is named to people. errors  E_SECRET, in q->text */
int secret__open(const struct view *v, struct param_question *q, const char *about,
                 const char *what, const char *sealed, const char *as);
/* One that is kept outside is wished for. */
void secret__wish(struct view *v, const char *what, const struct secret_ref *ref, const char *as);
/* A secret of a target server is told as `as`, or wished for; `as` NULL: it is only to be had. What
 * it has not, or the project may not use, is left out. errors  as secret__named() */
int secret__have(struct view *v, struct param_question *q, const struct doc *t, const char *name,
                 const char *as);
/* "secret.NAME" and "secret.P.password": added, or wished for, where the job may have it, else left
 * out. errors  E_SECRET it does not open, in q->text */
int secret__named(struct view *v, struct param_question *q, const char *name);
/* A job is about to begin: all that it will ask for is to be had, or is wished for. errors  as
 * secret__named() */
int secret__ahead(struct view *v, struct param_question *q);
/* What v wishes, as a question of its own; v has no wishes then. */
struct wanted *secret__take(struct view *v, struct param_question *q);
/* Ask for it; the answer goes to who asked. Owns w, and the question in it. */
void secret__ask(struct params *p, struct wanted *w);
void secret__forget_wishes(struct view *v);

#endif
