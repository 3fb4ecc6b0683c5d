/* Documents to one set, before anything is compiled; and what is wrong with them, as JSON.
 *
 * Each text may hold several documents. Who read a document before editing it sends the version
 * that he saw: if there is a newer one, his is refused (REVISION) instead of undoing what somebody
 * else did. All that is wrong is collected, with file, line and column, so that one run shows all
 * of it; E_INVALID comes at the end. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "sched/calendar_doc.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/yaml.h"

/* --- refusals ------------------------------------------------------------------------ */

static void print_diag(const struct diag *d, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "file", d->at.file ? d->at.file : "");
	put_int(out, "line", d->at.line);
	put_int(out, "column", d->at.column);
	put_text(out, "path", d->at.path ? d->at.path : "");
	put_text(out, "code", d->code);
	put_text(out, "message", d->message);
	put_text(out, "hint", d->hint);
	put_close(out, '}');
}

void apply__print_diags(const struct diags *d, bool warnings, const char *key, struct buf *out)
{
	put_open(out, key, '[');
	for (size_t i = 0; d->items && i < d->n; i++)
		if (d->items[i].is_warning == warnings)
			print_diag(&d->items[i], out);
	put_close(out, ']');
}

int apply__refuse_diags(struct apply *a)
{
	const struct diag *first = NULL;
	struct buf body;

	for (size_t i = a->diags.n; i-- > 0;)
		if (!a->diags.items[i].is_warning)
			first = &a->diags.items[i];
	const char *place = a->cmd->o.draft || a->cmd->o.drawn ? "args.document" : "args.documents";
	int r = refuse(a->f, E_INVALID, place, first ? first->hint : NULL, "%s, line %d: %s%s",
	               first ? first->at.file : "", first ? first->at.line : 0,
	               first ? first->message : "not valid",
	               a->diags.errors > 1 ? " (and more)" : "");
	buf_init(&body);
	put_open(&body, NULL, '{');
	apply__print_diags(&a->diags, false, "errors", &body);
	put_close(&body, '}');
	a->f->json = mem_str(buf_str(&body));
	buf_done(&body);
	return r;
}

/* --- reading --------------------------------------------------------------------------- */

/* What a text has brought into the set. */
struct brought {
	size_t workflows, calendars, scopes;
};

static struct brought count_set(const struct workflow_set *set)
{
	return (struct brought){ workflow_set_count(set), workflow_set_calendars(set),
		                 workflow_set_scopes(set) };
}

static uint32_t version_of(const struct apply *a, const struct brought *was,
                           const struct brought *is, const char **ret_name)
{
	const struct doc *d;

	if (is->workflows > was->workflows) {
		*ret_name = workflow_name(workflow_set_at(a->set, was->workflows));
		d = docs_find(&a->c->documents.all, *ret_name);
		return d ? d->version : 0;
	}
	if (is->calendars > was->calendars) {
		*ret_name = calendar_doc_name(workflow_set_calendar(a->set, was->calendars));
		d = docs_find(&a->c->docs[DOC_CALENDAR], *ret_name);
		return d ? d->version : 0;
	}
	const struct workflow_scope *one = workflow_set_scope(a->set, was->scopes);
	const char *project = workflow_scope_project(one);
	*ret_name = *project ? project : "global";
	d = workflow_scope_pool(one) ? docs_find(&a->c->docs[DOC_POOL], workflow_scope_pool(one))
	                             : scopes_doc(&a->c->docs[DOC_SETTING], project);
	return d ? d->version : 0;
}

/* Who changed a document that he had read says which version that was: of two the later is
 * refused instead of undoing what the first did. */
static int check_version(struct apply *a, const struct jval *v, const struct brought *was)
{
	struct brought is = count_set(a->set);
	size_t n = is.workflows - was->workflows + is.calendars - was->calendars + is.scopes -
	           was->scopes;
	const char *name = "";
	int64_t expected = 0;
	int r = arg_number(v, "args.documents", (struct arg_range){ "version", 0, UINT32_MAX },
	                   &expected, a->f);

	if (r < 0 || !jv_get(v, "version") || a->diags.errors)
		return r;
	if (n != 1)
		return refuse(a->f, E_INVALID, "args.documents.version", "one document in the text",
		              "args.documents: version is said of a text with %zu documents", n);
	uint32_t now = version_of(a, was, &is, &name);
	if (now == expected)
		return 0;
	return refuse(a->f, E_CONFLICT, "args.documents.version", "read it again",
	              "%s was changed meanwhile: it is at version %u, not %u", name, now,
	              (uint32_t)expected);
}

static int read_one(struct apply *a, const struct jval *v)
{
	static const char *const keys[] = { "name", "text", "version", NULL };
	const char *name = "document", *text = NULL;
	int r = arg_object(v, "args.documents", keys, a->f);

	if (r == 0)
		r = arg_text(v, "args.documents", "name", 1000, &name, a->f);
	if (r == 0)
		r = arg_text(v, "args.documents", "text", YAML_BYTES_MAX, &text, a->f);
	if (r < 0)
		return r;
	if (!text)
		return refuse(a->f, E_INVALID, "args.documents", NULL,
		              "args.documents: text is missing");
	struct brought was = count_set(a->set);
	workflow_set_read(a->set, text, strlen(text), name, &a->diags);
	return check_version(a, v, &was);
}

/* Is it in force as it is? Then who saved it had the right. */
static bool is_stored(const struct apply *a, const struct workflow *wf)
{
	const struct doc *was = docs_find(&a->c->documents.all, workflow_name(wf));
	struct buf body;

	buf_init(&body);
	workflow_print(wf, &body);
	bool same = was && was->len == body.len && memcmp(was->body, buf_str(&body), body.len) == 0;
	buf_done(&body);
	return same;
}

/* Who tries a workflow says so by another command; the mark is none to be saved with. */
static int refuse_tests(const struct apply *a)
{
	for (size_t i = 0; i < workflow_set_count(a->set); i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		if (workflow_test(wf))
			return refuse(a->f, E_INVALID, "args.documents", "leave `test` out",
			              "%.300s: `test` is the server's mark of a workflow that is "
			              "only tried (`sirdar test-run --workflow`)",
			              workflow_name(wf));
	}
	return 0;
}

int apply__bind(struct apply *a)
{
	int r = a->diags.errors ? 0 : refuse_tests(a);

	for (size_t i = 0; r == 0 && a->diags.errors == 0 && i < workflow_set_count(a->set); i++) {
		workflow_bind(a->set, i);
		const struct workflow *wf = workflow_set_at(a->set, i);
		if (workflow_raw(wf) && !is_stored(a, wf))
			r = within__check_raw(&a->cmd->o, wf, a->f);
	}
	return r;
}

int apply__read(struct apply *a)
{
	const struct jval *list = a->cmd->o.documents;

	if (a->at == 0)
		a->next = jv_first(list);
	for (; a->next; a->next = a->next->next, a->at++) {
		int r = a->at && apply__enough(a) ? 1 : read_one(a, a->next);
		if (r)
			return r;
	}
	int r = apply__bind(a);
	if (r < 0)
		return r;
	for (size_t i = 0; a->cmd->o.as_draft && !a->diags.errors && i < workflow_set_count(a->set);
	     i++)
		workflow_make_draft(a->set, i, &a->diags);
	if (a->diags.errors == 0 && list && workflow_set_count(a->set) == 0 &&
	    workflow_set_calendars(a->set) == 0 && workflow_set_scopes(a->set) == 0)
		return refuse(a->f, E_INVALID, "args.documents", NULL,
		              "args.documents: there is no workflow and no calendar in them");
	return a->diags.errors ? apply__refuse_diags(a) : 0;
}
