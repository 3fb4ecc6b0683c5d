#include "baseserver/model/targets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_read.h"

const char *const targets_members[] = { "kind", "host", "port", "user", "database", NULL };

void targets_init(struct targets *t)
{
	*t = (struct targets){ 0 };
}

void targets_done(struct targets *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->items[i].name);
		jdoc_free(t->items[i].doc);
	}
	free(t->items);
}

static struct target *known(const struct targets *t, const char *name, size_t bytes)
{
	for (size_t i = 0; i < t->n; i++)
		if (strlen(t->items[i].name) == bytes && memcmp(t->items[i].name, name, bytes) == 0)
			return &t->items[i];
	return NULL;
}

int targets_put(struct targets *t, const struct store_doc *d)
{
	struct target *at = known(t, d->name, strlen(d->name));
	struct jdoc *doc = NULL;

	if (jdoc_parse(d->body, d->body_len, &doc, NULL) < 0)
		return E_CORRUPT;
	if (jdoc_root(doc)->kind != JV_OBJECT) {
		jdoc_free(doc);
		return E_CORRUPT;
	}
	if (!at) {
		t->items = mem_grow(t->items, t->n + 1, sizeof *t->items);
		at = &t->items[t->n++];
		*at = (struct target){ .name = mem_str(d->name) };
	}
	jdoc_free(at->doc);
	at->doc = doc;
	at->root = jdoc_root(doc);
	at->id = d->id;
	at->version = d->version;
	at->retired = d->retired;
	if (d->id > t->last_id)
		t->last_id = d->id;
	return 0;
}

struct loading {
	struct targets *t;
	struct err *err;
};

static int each_doc(void *ctx, const struct store_doc *d)
{
	struct loading *ld = ctx;
	int r = targets_put(ld->t, d);

	return r < 0 ? err_set(ld->err, r, "lb_server: the body of %s (id %u) does not read back",
	                       d->name, d->id)
	             : 0;
}

int targets_load(struct targets *t, struct store *store, struct err *err)
{
	struct loading ld = { t, err };

	return store_load_docs(store, DOC_SERVER, each_doc, &ld, err);
}

const struct target *targets_known(const struct targets *t, const char *name)
{
	return known(t, name, strlen(name));
}

const struct target *targets_find(const struct targets *t, const char *name)
{
	const struct target *at = targets_known(t, name);

	return at && !at->retired ? at : NULL;
}

const struct target *targets_split(const struct targets *t, const char *text, const char **ret_key)
{
	for (const char *dot = strchr(text, '.'); dot; dot = strchr(dot + 1, '.')) {
		const struct target *at = known(t, text, (size_t)(dot - text));
		if (at && !at->retired) {
			*ret_key = dot + 1;
			return at;
		}
	}
	return NULL;
}

static const struct jval *plain(const struct target *t, const char *key)
{
	const struct jval *extra = jv_get(t->root, "extra");

	if (strncmp(key, "extra.", 6) == 0)
		return extra && extra->kind == JV_OBJECT ? jv_get(extra, key + 6) : NULL;
	for (size_t i = 0; targets_members[i]; i++)
		if (strcmp(targets_members[i], key) == 0)
			return jv_get(t->root, key);
	return NULL;
}

bool target_value(const struct target *t, const char *key, struct buf *out)
{
	const struct jval *v = plain(t, key);

	if (v && v->kind == JV_TEXT)
		buf_puts(out, v->text);
	else if (v && v->kind == JV_NUMBER)
		buf_printf(out, "%" PRId64, v->number);
	else
		return false;
	return true;
}

const char *target_sealed(const struct target *t)
{
	const struct jval *v = jv_get(t->root, "sealed");

	return v && v->kind == JV_TEXT ? v->text : NULL;
}

bool target_allows(const struct target *t, const char *project)
{
	const struct jval *list = jv_get(t->root, "projects");

	if (!list || list->kind != JV_LIST || list->len == 0)
		return true;
	for (const struct jval *v = list->first; v; v = v->next)
		if (v->kind == JV_TEXT &&
		    (strcmp(v->text, "*") == 0 || strcmp(v->text, project) == 0))
			return true;
	return false;
}

const char *target_refusal(const struct targets *t, const char *project, const char *name,
                           bool secret)
{
	const struct target *at = targets_find(t, name);

	return !at                            ? "is unknown"
	       : !target_allows(at, project)  ? "is not for this project"
	       : secret && !target_sealed(at) ? "has no password"
	                                      : NULL;
}

void target_about(const char *name, struct buf *out)
{
	buf_printf(out, "server %s", name);
}
