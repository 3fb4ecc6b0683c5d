/* What the document of a target server says: its plain members, whose it is, its sealed secrets.
 *
 * A name may have dots, so "NAME.KEY" is split at the first dot before which a server in force
 * stands. Without `projects`, or with "*" among them, a server is for every project. A secret
 * leaves this file only sealed; params_target.c opens it for the holder of a lease. */
#include "baseserver/model/targets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_read.h"

const char *const targets_members[] = { "kind", "host", "port", "user", "database", NULL };

const struct doc *targets_split(const struct docs *t, const char *text, const char **ret_key)
{
	const struct doc *found = NULL;

	for (const char *dot = strchr(text, '.'); dot && !found; dot = strchr(dot + 1, '.')) {
		char *name = mem_strn(text, (size_t)(dot - text));
		found = docs_find(t, name);
		free(name);
		if (found)
			*ret_key = dot + 1;
	}
	return found;
}

static const struct jval *targets_plain(const struct doc *t, const char *key)
{
	if (strncmp(key, "extra.", 6) == 0)
		return jv_get(jv_get(doc_json(t), "extra"), key + 6);
	for (size_t i = 0; targets_members[i]; i++)
		if (strcmp(targets_members[i], key) == 0)
			return jv_get(doc_json(t), key);
	return NULL;
}

bool target_value(const struct doc *t, const char *key, struct buf *out)
{
	const struct jval *v = targets_plain(t, key);

	if (v && v->kind == JV_TEXT)
		buf_puts(out, v->text);
	else if (v && v->kind == JV_NUMBER)
		buf_printf(out, "%" PRId64, v->number);
	else
		return false;
	return true;
}

static bool is_password(const char *secret)
{
	return strcmp(secret, TARGET_PASSWORD) == 0;
}

static bool target_ref(const struct jval *v, struct secret_ref *ret)
{
	*ret = (struct secret_ref){ jv_str(v, "from"), jv_str(v, "path"), jv_str(v, "key") };
	return jv_is(v, JV_OBJECT);
}

bool target_secret(const struct doc *t, const char *name, struct target_secret *ret)
{
	const struct jval *json = doc_json(t), *from = jv_get(json, "secrets");

	*ret = (struct target_secret){ 0 };
	if (is_password(name)) {
		ret->sealed = jv_text(json, "sealed");
		from = json;
	} else {
		ret->sealed = jv_text(from, name);
	}
	return ret->sealed || target_ref(jv_get(from, name), &ret->ref);
}

const struct doc *targets_of_secret(const struct docs *t, const char *text, const char **ret_name)
{
	const struct doc *whole = docs_find(t, text);

	*ret_name = TARGET_PASSWORD;
	return whole ? whole : targets_split(t, text, ret_name);
}

bool target_allows(const struct doc *t, const char *project)
{
	const struct jval *list = jv_get(doc_json(t), "projects");

	return !jv_is(list, JV_LIST) || list->len == 0 || jv_has(list, "*") ||
	       jv_has(list, project);
}

const char *target_refusal(const struct docs *t, const char *project, const char *name, bool secret)
{
	const char *which = TARGET_PASSWORD;
	const struct doc *at = secret ? targets_of_secret(t, name, &which) : docs_find(t, name);
	struct target_secret has;

	if (!at)
		return "is unknown";
	if (!target_allows(at, project))
		return "is not for this project";
	if (!secret || target_secret(at, which, &has))
		return NULL;
	return is_password(which) ? "has no password" : "has no secret of that name";
}

void target_about(const char *name, const char *secret, struct buf *out)
{
	buf_printf(out, "server %s", name);
	if (!is_password(secret))
		buf_printf(out, " secret %s", secret);
}

char *target_secret_shown(const char *name, const char *secret)
{
	return is_password(secret) ? mem_str(name) : mem_fmt("%s.%s", name, secret);
}
