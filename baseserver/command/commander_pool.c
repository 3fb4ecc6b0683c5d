/* Pools and quotas of projects: set, removed, looked up when documents name them.
 *
 * A quota is a pool whose name begins with `project:`; both are one document each, with a size. A
 * pool that a task takes slots of must be there and large enough for it: an apply is judged against
 * the sizes as they will be after it (size_of), for the same apply may set them. What a command
 * sets stands in the project's document too, so that `export` and `diff` show what is in force. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/pools.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/diag.h"
#include "util/err.h"

/* --- arguments ----------------------------------------------------------------------- */

enum { LONG_NAME_MAX = 1000 }; /* bytes to look at: the judge says how many are too many */

static int parse_name(struct order *o, const char *key, struct refusal *f)
{
	bool is_project = strcmp(key, "project") == 0;
	char place[40], why[NAME_WHY_BYTES];
	int r = arg_text(o->args, "args", key, LONG_NAME_MAX, &o->pool, f);

	snprintf(place, sizeof place, "args.%s", key);
	if (r == 0 && !o->pool)
		return refuse(f, E_INVALID, place, NULL, "%s: is missing", place);
	if (r == 0 && (is_project ? name_wrong : word_wrong)(o->pool, why))
		return refuse_name(f, place, o->pool, why);
	return r;
}

int order__parse_pool(struct order *o, struct refusal *f)
{
	bool quota = o->kind == CK_QUOTA_SET;
	bool sized = quota || o->kind == CK_POOL_SET;
	bool pool = o->kind == CK_POOL_SET || o->kind == CK_POOL_REMOVE;
	const char *key = quota ? "running" : "size";
	int r = parse_name(o, pool ? "pool" : "project", f);

	o->size = -1;
	if (r < 0 || !sized)
		return r;
	r = arg_number(o->args, "args", (struct arg_range){ key, quota ? 0 : 1, POOL_SLOTS_MAX },
	               &o->size, f);
	if (r == 0 && o->size < 0)
		return refuse(f, E_INVALID, quota ? "args.running" : "args.size",
		              quota ? "0 for no quota, or 1 to 1000000" : "1 to 1000000",
		              "args.%s: is missing", key);
	return r;
}

/* --- looked up ----------------------------------------------------------------------- */

static int unknown_pool(const struct commander *c, const char *name, const char *place,
                        const char *who, struct refusal *f)
{
	const struct docs *pools = &c->docs[DOC_POOL];
	const char **names = mem_array(pools->n + 1, sizeof *names);
	size_t n = 0;

	for (size_t i = 0; i < pools->n; i++)
		if (!pools->items[i].retired && !strchr(pools->items[i].name, ':'))
			names[n++] = pools->items[i].name;
	const char *near = nearest_of(name, names);
	int r = refuse(f, who[0] ? E_INVALID : E_NOT_FOUND, place,
	               near ? near : "sirdar pool set NAME SLOTS",
	               "%s%sthere is no pool '%.64s'%s%s", who, who[0] ? ": " : "", name,
	               near ? ", is this meant: " : "", near ? near : "");
	free(names);
	return r;
}

static int32_t pool_size(const struct doc *d)
{
	int32_t size = 0;

	if (d)
		pool_parse(d->body, d->len, &size);
	return size;
}

/* Its size after this apply; 0: there is none. */
static int32_t size_of(const struct commander *c, const struct workflow_set *set, const char *name)
{
	for (size_t i = 0; i < workflow_set_scopes(set); i++) {
		const struct workflow_scope *s = workflow_set_scope(set, i);
		const char *pool = workflow_scope_pool(s);
		if (pool && strcmp(pool, name) == 0)
			return workflow_scope_slots(s);
	}
	return pool_size(docs_find(&c->docs[DOC_POOL], name));
}

int pools__check(const struct commander *c, const struct workflow_set *set,
                 struct task *const *tasks, size_t n, struct refusal *f)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < tasks[i]->n_pools; k++) {
			const struct task_pool *want = &tasks[i]->pools[k];
			if (strncmp(want->name, POOL_SERVER, strlen(POOL_SERVER)) == 0)
				continue; /* looked up when it was compiled */
			int32_t size = size_of(c, set, want->name);
			if (size == 0)
				return unknown_pool(c, want->name, "args.documents", tasks[i]->name,
				                    f);
			if (want->slots > size)
				return refuse(f, E_INVALID, "args.documents", NULL,
				              "%s takes %" PRId32 " slots of pool %s, which has "
				              "%" PRId32,
				              tasks[i]->name, want->slots, want->name, size);
		}
	return 0;
}

/* --- the edit ------------------------------------------------------------------------ */

bool pool__change(struct commander *c, const struct cmd *cmd, const char *name, int32_t size,
                  struct edit *e)
{
	const struct doc *was = docs_find(&c->docs[DOC_POOL], name);
	struct buf body;

	if (size == POOL_NONE ? !was : was && pool_size(was) == size)
		return false;
	buf_init(&body);
	pool_print(size, &body);
	stored__change(c, cmd, e,
	               &(struct store_doc){ .kind = DOC_POOL,
	                                    .name = name,
	                                    .body = buf_str(&body),
	                                    .retired = size == POOL_NONE });
	buf_done(&body);
	return true;
}

/* What a command sets stands in the project's document too: export and diff show it. */
static void change_document(struct commander *c, const struct cmd *cmd, int32_t running,
                            struct edit *e)
{
	const struct workflow_scope *old = scope_of(scopes_doc(&c->docs[DOC_SETTING], cmd->o.pool));
	struct workflow_set *set = workflow_set_new();
	struct buf text, name, body;
	struct diags d;

	buf_init(&text);
	buf_init(&name);
	buf_init(&body);
	diags_init(&d);
	workflow_scope_print_with(old, cmd->o.pool, running, NULL, &text);
	scope_doc_name(cmd->o.pool, &name);
	if ((old || running) && workflow_set_read(set, buf_str(&text), text.len, "", &d) == 0) {
		workflow_scope_print(workflow_set_scope(set, 0), &body);
		stored__change(c, cmd, e,
		               &(struct store_doc){ .kind = DOC_SETTING,
		                                    .name = buf_str(&name),
		                                    .body = buf_str(&body) });
	}
	diags_done(&d);
	buf_done(&text);
	buf_done(&name);
	buf_done(&body);
	workflow_set_free(set);
}

int pool__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	bool quota = cmd->kind == CK_QUOTA_SET;
	bool remove = cmd->kind == CK_POOL_REMOVE || (quota && cmd->o.size == 0);
	char name[sizeof POOL_PROJECT + POOL_NAME_MAX];

	snprintf(name, sizeof name, "%s%s", quota ? POOL_PROJECT : "", cmd->o.pool);
	if (cmd->kind == CK_POOL_REMOVE && !docs_find(&c->docs[DOC_POOL], name))
		return unknown_pool(c, name, "args.pool", "", f);
	int r = cmd->kind == CK_POOL_REMOVE ? stored__unused(c, DOC_POOL, name, f)
	        : quota && !remove          ? project__alike(c, cmd->o.pool, "args.project", f)
	                                    : 0;
	if (r < 0)
		return r;
	cmd->edit = mem_new(sizeof *cmd->edit);
	if (pool__change(c, cmd, name, remove ? POOL_NONE : (int32_t)cmd->o.size, cmd->edit) &&
	    quota)
		change_document(c, cmd, (int32_t)cmd->o.size, cmd->edit);
	return 0;
}
