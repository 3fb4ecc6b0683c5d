/* The stored documents that commands change, by kind.
 *
 * The commander keeps every kind of doc_kinds by name: it loads them at its start, learns what an
 * edit made durable, and gives an edit their next versions. A row of `kinds` says how a refusal
 * names a kind and which tasks depend on a document; as long as one does, the document stays. The
 * file of a kind (commander_pool.c, commander_target.c and so on) judges what a command says of
 * it, and command.def who may send the command. Documents of workflows have more to them:
 * documents.h.
 *
 *  */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/model/reading.h"
#include "sched/macro.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

/* --- what depends on one ---------------------------------------------------------------- */

static bool takes_pool(const struct task *def, const char *name)
{
	for (size_t i = 0; i < def->n_pools; i++)
		if (strcmp(def->pools[i].name, name) == 0)
			return true;
	return false;
}

struct using
{
	const char *name;
	bool found;
};

static bool not_this(void *ctx, const char *name)
{
	struct using *u = ctx;
	size_t n = strlen(u->name);

	if (strncmp(name, "server.", 7) == 0 && strncmp(name + 7, u->name, n) == 0 &&
	    name[7 + n] == '.')
		u->found = true;
	return true;
}

static bool uses_server(const struct task *def, const char *name)
{
	struct using u = { .name = name };
	char *pool = mem_fmt(TASK_SERVER_POOL "%s", name);
	bool takes = takes_pool(def, pool);

	free(pool);
	for (size_t i = 0; i < def->n_params && def->asks && !takes && !u.found; i++)
		macro_check(def->params[i].value, not_this, NULL, &u, NULL);
	return takes || u.found;
}

/* --- the kinds -------------------------------------------------------------------------- */

static const struct {
	const char *arg;  /* the argument that names one */
	const char *word; /* for people */
	const char *list; /* what shows them; NULL: nothing does */
	bool (*uses)(const struct task *def, const char *name); /* NULL: no task depends on one */
	const char *does;                                       /* such a task, for people */
} kinds[DOC_END] = {
	[DOC_POOL] = { "pool", "pool", "sirdar pool set NAME SLOTS", takes_pool,
	               "takes slots of pool" },
	[DOC_SERVER] = { "server", "target server", "sirdar target list", uses_server,
	                 "uses the target server" },
	[DOC_USER] = { "user", "user", "sirdar user list" },
	[DOC_GROUP] = { "group", "group", "sirdar group list" },
	[DOC_TOKEN] = { "token", "token", "sirdar app list" },
	[DOC_DEVICE] = { "device", "device" },
	[DOC_CHANNEL] = { "channel", "channel", "sirdar channel list" },
	[DOC_ONCALL] = { "oncall", "on-call list", "sirdar oncall list" },
	[DOC_RULE] = { "rule", "rule", "sirdar rule list" },
	[DOC_FACTOR] = { "user", "second factor of", "sirdar user list" },
};

int stored__missing(enum store_doc_kind kind, const char *name, struct refusal *f)
{
	char at[40];

	CHECK(kinds[kind].arg);
	snprintf(at, sizeof at, "args.%s", kinds[kind].arg);
	return refuse(f, E_NOT_FOUND, at, kinds[kind].list, "%s: there is no %s '%.64s'", at,
	              kinds[kind].word, name);
}

int stored__hidden(const struct commander *c, enum store_doc_kind kind, const struct cmd *cmd,
                   bool removes, int r, struct refusal *f)
{
	char at[40];

	if (r == 0 || !reading_is_bound(&c->docs[DOC_SETTING]))
		return r;
	if (removes)
		return stored__missing(kind, cmd->o.told, f);
	snprintf(at, sizeof at, "args.%s", kinds[kind].arg);
	return refuse(f, E_EXISTS, at, "choose another", "%s: the name '%.64s' is taken", at,
	              cmd->o.told);
}

int stored__unused(const struct commander *c, enum store_doc_kind kind, const char *name,
                   struct refusal *f)
{
	char at[40];

	CHECK(kinds[kind].uses);
	snprintf(at, sizeof at, "args.%s", kinds[kind].arg);
	for (size_t i = 0; i < c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&c->cat, (uint32_t)i);
		if (t && !catalog_retired(t) && kinds[kind].uses(t->def, name))
			return refuse(f, E_CONFLICT, at, "change the task first", "%s %s %s",
			              t->def->name, kinds[kind].does, name);
	}
	return 0;
}

/* --- kept ------------------------------------------------------------------------------- */

void stored__init(struct commander *c)
{
	credentials_init(&c->credentials);
	for (int k = 0; k < DOC_END; k++)
		if (doc_kinds[k].kind)
			docs_init(&c->docs[k], &doc_kinds[k]);
}

void stored__done(struct commander *c)
{
	for (int k = 0; k < DOC_END; k++)
		if (doc_kinds[k].kind)
			docs_done(&c->docs[k]);
	credentials_done(&c->credentials);
}

int stored__load(struct commander *c, struct store *store, struct err *err)
{
	int r = 0;

	for (int k = 0; k < DOC_END && r == 0; k++)
		if (doc_kinds[k].kind)
			r = docs_load(&c->docs[k], store, err);
	for (int k = 0; k < DOC_END && r == 0; k++)
		for (size_t i = 0; i < c->docs[k].n; i++)
			credentials_doc(&c->credentials, &c->docs[k], &c->docs[k].items[i], true);
	return r;
}

void stored__learn(struct commander *c, const struct store_doc *d)
{
	/* The commander printed it, or another actor that keeps its own: not this kind. */
	struct docs *ds = &c->docs[d->kind];

	if (!doc_kinds[d->kind].kind)
		return;
	const struct doc *was = docs_ever(ds, d->name);
	if (was)
		credentials_doc(&c->credentials, ds, was, false);
	CHECK(docs_learn(ds, d, NULL) == 0);
	credentials_doc(&c->credentials, ds, docs_ever(ds, d->name), true);
}

void stored__change(struct commander *c, const struct cmd *cmd, struct edit *e,
                    const struct store_doc *d)
{
	struct store_doc next = *d;

	CHECK(doc_kinds[d->kind].kind);
	next.body_len = d->body_len ? d->body_len : strlen(d->body);
	next.actor = cmd->actor;
	next.at_us = cmd->o.now_us;
	docs_change(&c->docs[d->kind], e, next);
}
