#include "baseserver/model/scopes.h"

#include <stdlib.h>
#include <string.h>

#include "sched/workflow.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"

static const char prefix[] = "parameters";

void scopes_init(struct scopes *s)
{
	*s = (struct scopes){ 0 };
}

void scopes_done(struct scopes *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->items[i].name);
		free(s->items[i].body);
		workflow_set_free(s->items[i].set);
	}
	free(s->items);
}

static struct scope_doc *find(const struct scopes *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->items[i].name, name) == 0)
			return &s->items[i];
	return NULL;
}

int scopes_put(struct scopes *s, const struct store_doc *d)
{
	struct scope_doc *at = find(s, d->name);
	struct workflow_set *set;
	struct diags diags;
	int r;

	if (d->id > s->last_id)
		s->last_id = d->id;
	if (strncmp(d->name, prefix, sizeof prefix - 1) != 0)
		return 0; /* another setting */
	diags_init(&diags);
	set = workflow_set_new();
	r = workflow_set_read(set, d->body, d->body_len, d->name, &diags);
	if (r == 0 && workflow_set_scopes(set) != 1)
		r = E_CORRUPT;
	diags_done(&diags);
	if (r < 0) {
		workflow_set_free(set);
		return E_CORRUPT;
	}
	if (!at) {
		s->items = mem_grow(s->items, s->n + 1, sizeof *s->items);
		at = &s->items[s->n++];
		*at = (struct scope_doc){ .name = mem_str(d->name) };
	}
	free(at->body);
	workflow_set_free(at->set);
	at->body = mem_strn(d->body, d->body_len);
	at->len = d->body_len;
	at->id = d->id;
	at->version = d->version;
	at->set = set;
	return 0;
}

struct loading {
	struct scopes *s;
	struct err *err;
};

static int each_doc(void *ctx, const struct store_doc *d)
{
	struct loading *ld = ctx;
	int r = scopes_put(ld->s, d);

	return r < 0 ? err_set(ld->err, r, "lb_setting: the body of %s (id %u) does not read back",
	                       d->name, d->id)
	             : 0;
}

int scopes_load(struct scopes *s, struct store *store, struct err *err)
{
	struct loading ld = { s, err };

	return store_load_docs(store, DOC_SETTING, each_doc, &ld, err);
}

void scope_doc_name(const char *project, struct buf *out)
{
	buf_printf(out, "%s%s%s", prefix, *project ? "/" : "", project);
}

const struct scope_doc *scopes_doc(const struct scopes *s, const char *project)
{
	struct buf name;

	buf_init(&name);
	scope_doc_name(project, &name);
	const struct scope_doc *d = find(s, buf_str(&name));
	buf_done(&name);
	return d;
}

static const char *value_in(const struct scopes *s, const char *project, const char *name)
{
	const struct scope_doc *d = scopes_doc(s, project);

	return d ? workflow_scope_value(workflow_set_scope(d->set, 0), name) : NULL;
}

const char *scopes_value(const struct scopes *s, const char *project, const char *name)
{
	const char *value = *project ? value_in(s, project, name) : NULL;

	return value ? value : value_in(s, "", name);
}
