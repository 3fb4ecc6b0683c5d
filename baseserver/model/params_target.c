/* Target servers of a job: what is plain travels with it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/params_impl.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

const char *target__lookup(struct view *v, const char *name)
{
	const char *key = "";
	const struct doc *t = targets_split(&v->p->targets, name, &key);
	const char *why = !t                              ? "there is no such target server"
	                  : !target_allows(t, v->project) ? "it is not for this project"
	                                                  : "it has none";

	buf_clear(&v->member);
	if (t && target_allows(t, v->project) && target_value(t, key, &v->member))
		return buf_str(&v->member);
	snprintf(v->missing, sizeof v->missing, "${server.%.150s}: %s", name, why);
	return NULL;
}

static void add_member(struct view *v, struct param_question *q, const char *param,
                       const struct doc *t, const char *key)
{
	char *name;

	buf_clear(&v->member);
	if (!target_value(t, key, &v->member))
		return;
	name = mem_fmt("%s.%s", param, key);
	view__add(q, name, buf_str(&v->member));
	free(name);
}

static void add_members(struct view *v, struct param_question *q, const char *param,
                        const struct doc *t)
{
	for (size_t i = 0; targets_members[i]; i++)
		add_member(v, q, param, t, targets_members[i]);
	JV_EACH(m, jv_get(doc_json(t), "extra")) {
		char *key = mem_fmt("extra.%s", m->key);
		add_member(v, q, param, t, key);
		free(key);
	}
}

int target__fill(struct view *v, struct param_question *q)
{
	const struct task *def = v->def;

	for (size_t i = 0; i < def->n_params; i++) {
		if (!def->params[i].server)
			continue;
		const char *over = view__over(v, def->params[i].name);
		const char *name = over ? over : def->params[i].value;
		const char *why = target_refusal(&v->p->targets, v->project, name, false);
		if (why) {
			snprintf(q->text, sizeof q->text,
			         "parameter %.60s: the target server '%.80s' %s",
			         def->params[i].name, name, why);
			return E_INVALID;
		}
		add_members(v, q, def->params[i].name, docs_find(&v->p->targets, name));
	}
	return 0;
}

int target__probe(struct view *v, struct param_question *q)
{
	const struct doc *t = docs_find(&v->p->targets, q->target);
	const char *why = target_refusal(&v->p->targets, v->project, q->target, false);

	if (why) {
		snprintf(q->text, sizeof q->text, "the target server '%.80s' %s", q->target, why);
		return E_INVALID;
	}
	view__add(q, "server", q->target);
	add_members(v, q, "server", t);
	return secret__have(v, q, t, TARGET_PASSWORD, "secret.server." TARGET_PASSWORD);
}
