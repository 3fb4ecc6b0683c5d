/* params_impl.h — the params actor's inside, shared by params*.c only. */
#ifndef BASESERVER_PARAMS_IMPL_H
#define BASESERVER_PARAMS_IMPL_H

#include "baseserver/model/params.h"
#include "baseserver/model/scopes.h"
#include "baseserver/model/targets.h"
#include "util/buf.h"

struct vault;

struct params {
	struct actor *me;
	struct ledger *ledger;
	struct stream_reader *in;
	const struct task **defs; /* by id, counted */
	size_t cap;
	struct docs scopes, targets;
	struct vault *vault;
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
};

/* params_view.c. Of this run, else of the instance; NULL: neither. */
const char *view__over(const struct view *v, const char *name);
void view__add(struct param_question *q, const char *name, const char *value);

/* params_target.c: target servers. */
/* "NAME.KEY" of ${server.NAME.KEY}; NULL: v->missing says why. Borrowed until the next call. */
const char *target__lookup(struct view *v, const char *name);
/* P.host and kin of each parameter P that is the name of one. errors  E_INVALID, in q->text */
int target__fill(struct view *v, struct param_question *q);
/* "secret.NAME" and "secret.P.password": added where the job may have it, else left out. */
void target__secret(struct view *v, struct param_question *q, const char *name);

#endif
