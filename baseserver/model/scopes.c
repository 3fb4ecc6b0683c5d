#include "baseserver/model/scopes.h"

#include <string.h>

#include "sched/workflow.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"

static const char prefix[] = "parameters";

int scope_read(const struct store_doc *d, void **ret_set, struct err *err)
{
	struct workflow_set *set;
	struct diags diags;

	if (strncmp(d->name, prefix, sizeof prefix - 1) != 0)
		return 0; /* another setting */
	diags_init(&diags);
	set = workflow_set_new();
	int r = workflow_set_read(set, d->body, d->body_len, d->name, &diags);
	diags_done(&diags);
	if (r == 0 && workflow_set_scopes(set) == 1) {
		*ret_set = set;
		return 0;
	}
	workflow_set_free(set);
	return err_set(err, E_CORRUPT, "lb_setting: the body of %s (id %u) does not read back",
	               d->name, d->id);
}

void scope_drop(void *set)
{
	workflow_set_free(set);
}

void scope_doc_name(const char *project, struct buf *out)
{
	buf_printf(out, "%s%s%s", prefix, *project ? "/" : "", project);
}

const struct doc *scopes_doc(const struct docs *scopes, const char *project)
{
	struct buf name;

	buf_init(&name);
	scope_doc_name(project, &name);
	const struct doc *d = docs_ever(scopes, buf_str(&name));
	buf_done(&name);
	return d;
}

const struct workflow_scope *scope_of(const struct doc *d)
{
	return d && d->means ? workflow_set_scope(d->means, 0) : NULL;
}

static const char *value_in(const struct docs *scopes, const char *project, const char *name)
{
	const struct workflow_scope *s = scope_of(scopes_doc(scopes, project));

	return s ? workflow_scope_value(s, name) : NULL;
}

const char *scopes_value(const struct docs *scopes, const char *project, const char *name)
{
	const char *value = *project ? value_in(scopes, project, name) : NULL;

	return value ? value : value_in(scopes, "", name);
}
