/* Target servers of a job: what is plain travels with it, a password only to who asks. A job gets
 * the secrets that its own parameters name, of servers that are for its project. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/params_impl.h"
#include "baseserver/model/vault.h"
#include "sched/task.h"
#include "sched/type.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"

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

/* --- secrets ---------------------------------------------------------------------------- */

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

/* "P.password" is of the server that the parameter P names, "NAME" of that server. */
static const struct doc *target_whose(const struct view *v, const char *name)
{
	static const char end[] = ".password";
	size_t n = strlen(name), m = sizeof end - 1;
	const char *value = NULL;

	if (n > m && strcmp(name + n - m, end) == 0)
		value = param_value(v, name, n - m);
	if (value && docs_find(&v->p->targets, value))
		return docs_find(&v->p->targets, value);
	return is_named(v, name) ? docs_find(&v->p->targets, name) : NULL;
}

void target__secret(struct view *v, struct param_question *q, const char *name)
{
	const struct doc *t = target_whose(v, name + strlen("secret."));
	struct err err = { 0 };
	struct buf about;
	char *text = NULL;

	if (!t || !target_allows(t, v->project) || !target_sealed(t))
		return;
	buf_init(&about);
	target_about(t->name, &about);
	if (vault_open(v->p->vault, buf_str(&about), target_sealed(t), &text, &err) == 0) {
		view__add(q, name, text);
		q->given = mem_grow(q->given, q->n_given + 1, sizeof *q->given);
		q->given[q->n_given++] = mem_str(t->name);
	} else {
		log_warn("secret.sealed", "server=%s task=%s text=\"%s\"", t->name, v->def->name,
		         err.text);
	}
	vault_forget(text);
	buf_done(&about);
}
