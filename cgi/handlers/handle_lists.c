/* Workflows, calendars, tasks, links: what stands in the store, page by page.
 *
 * A list is one read of the store on a reading thread (docs_work, tasks_work): it prints each row
 * as it comes and ends with the cursor of the next page. A document of one workflow carries its
 * version as an ETag, which a save sends back, so that nobody overwrites what somebody else saved.
 * Who reads some projects only gets the rows of these: the store filters, by the sight of the call.
 */
#include <stdio.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/list.h"
#include "cgi/server/names.h"
#include "cgi/server/show.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/diag.h"
#include "util/json_put.h"

struct query {
	struct list list;
	struct read_task_filter filter;
	char prefix[400];
	uint32_t version, id;
	bool children, plain, all; /* all: retired ones too */
	enum store_doc_kind kind;
	struct workflow_set *document; /* of one task; NULL: that of none */
};

static int doc_put(void *ctx, const struct store_doc *d)
{
	show_doc(&((struct call *)ctx)->out, d, false);
	return 0;
}

static int docs_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code;

	list_begin(c);
	code = read_docs(r, &(struct read_docs_of){ q->kind, q->all }, &q->list.page, doc_put, c,
	                 &c->err);
	list_end(c, &q->list);
	return code;
}

static int docs_get(struct call *c, enum store_doc_kind kind)
{
	static const char *const names[] = { "limit", "cursor", "order", "all", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);

	q->kind = kind;
	if (call_args_only(c, names) < 0 || list_args(c, &q->list, 100) < 0 ||
	    call_arg_bool(c, "all", &q->all) < 0)
		return c->err.code;
	return call_read(c, docs_work);
}

int workflows_get(struct call *c)
{
	return docs_get(c, DOC_WORKFLOW);
}

int calendars_get(struct call *c)
{
	return docs_get(c, DOC_CALENDAR);
}

/* --- one workflow, one calendar --- */

static int doc_whole(void *ctx, const struct store_doc *d)
{
	struct call *c = ctx;
	struct query *q = c->extra;

	q->id = d->id;
	snprintf(c->etag, sizeof c->etag, "\"%u\"", d->version);
	if (q->plain)
		buf_put(&c->out, d->body,
		        q->kind == DOC_WORKFLOW ? workflow_written(d->body, d->body_len)
		                                : d->body_len);
	else
		show_doc(&c->out, d, true);
	return 0;
}

static int doc_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code = read_doc(
		r, &(struct read_which){ q->kind, .name = c->params[0], .version = q->version },
		doc_whole, c, &c->err);

	if (code < 0 || q->plain)
		return code;
	c->out.len--; /* the versions go inside the object */
	put_open(&c->out, "versions", '[');
	code = read_doc_versions(r, q->kind, q->id, doc_put, c, &c->err);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return code;
}

static int document_done(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	return reply_bytes(c, MHD_HTTP_OK, "text/plain; charset=utf-8", buf_str(&c->out),
	                   c->out.len);
}

static int doc_get(struct call *c, enum store_doc_kind kind)
{
	static const char *const names[] = { "version", "format", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);
	const char *format = call_arg(c, "format");
	int64_t version;

	if (call_args_only(c, names) < 0 ||
	    call_arg_int(c, "version", 0, 0, UINT32_MAX, &version) < 0)
		return c->err.code;
	if (format && strcmp(format, "yaml") != 0 && strcmp(format, "json") != 0)
		return call_fail(c, E_INVALID, "format", "format wants json or yaml");
	q->kind = kind;
	q->version = (uint32_t)version;
	q->plain = format && format[0] == 'y';
	if (q->plain)
		c->then = document_done;
	return call_read(c, doc_work);
}

int workflow_get(struct call *c)
{
	return doc_get(c, DOC_WORKFLOW);
}

int calendar_get(struct call *c)
{
	return doc_get(c, DOC_CALENDAR);
}

/* --- parameters of projects and of all -------------------------------------------------------- */

struct scopes_put {
	uint32_t ids[READ_ROWS_MAX];
	size_t n;
};

static int scope_id(void *ctx, const struct store_doc *d)
{
	struct scopes_put *p = ctx;

	if (strncmp(d->name, "parameters", strlen("parameters")) == 0 && !d->retired)
		p->ids[p->n++] = d->id;
	return 0;
}

static int scope_put(void *ctx, const struct store_doc *d)
{
	struct workflow_set *set = workflow_set_new();
	struct store_doc own = *d;
	struct diags diags;

	diags_init(&diags);
	if (workflow_set_read(set, d->body, d->body_len, d->name, &diags) == 0 &&
	    workflow_set_scopes(set) > 0)
		own.title = workflow_scope_title(workflow_set_scope(set, 0));
	show_doc(&((struct call *)ctx)->out, &own, true);
	diags_done(&diags);
	workflow_set_free(set);
	return 0;
}

static int parameters_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	struct scopes_put p = { .n = 0 };
	int code = read_docs(r, &(struct read_docs_of){ DOC_SETTING }, &q->list.page, scope_id, &p,
	                     &c->err);

	list_begin(c);
	for (size_t i = 0; i < p.n && code == 0; i++)
		code = read_doc(r, &(struct read_which){ DOC_SETTING, .id = p.ids[i] }, scope_put,
		                c, &c->err);
	list_end(c, &q->list);
	return code;
}

int parameters_get(struct call *c)
{
	static const char *const names[] = { "limit", "cursor", "order", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);

	if (call_args_only(c, names) < 0 || list_args(c, &q->list, READ_ROWS_MAX) < 0)
		return c->err.code;
	return call_read(c, parameters_work);
}

/* --- tasks ------------------------------------------------------------------------------------ */

static int task_put(void *ctx, const struct store_task *t)
{
	struct call *c = ctx;

	show_task(&c->out, t, ((struct query *)c->extra)->document);
	return 0;
}

static int tasks_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code;

	list_begin(c);
	code = read_tasks(r, &q->filter, &q->list.page, task_put, c, &c->err);
	list_end(c, &q->list);
	return code;
}

static int task_states(struct call *c, uint32_t *ret)
{
	const char *v = call_arg(c, "states");

	*ret = 0;
	for (; v && *v != '\0'; v += *v == ',') {
		size_t n = strcspn(v, ",");
		uint8_t st = 0;

		while (st < 4 && (strlen(task_state_name(st)) != n ||
		                  strncmp(task_state_name(st), v, n) != 0))
			st++;
		if (st == 4)
			return call_fail(c, E_INVALID, "states",
			                 "want draft, online, offline or retired");
		*ret |= 1u << st;
		v += n;
	}
	return 0;
}

int tasks_get(struct call *c)
{
	static const char *const names[] = { "limit",  "cursor",      "order", "prefix",
		                             "states", "workflow_id", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);
	const char *prefix = call_arg(c, "prefix");
	int64_t workflow;

	if (call_args_only(c, names) < 0 || list_args(c, &q->list, 100) < 0 ||
	    task_states(c, &q->filter.states) < 0 ||
	    call_arg_int(c, "workflow_id", 0, 0, UINT32_MAX, &workflow) < 0)
		return c->err.code;
	if (prefix && strlen(prefix) >= sizeof q->prefix)
		return call_fail(c, E_INVALID, "prefix", "prefix is too long");
	snprintf(q->prefix, sizeof q->prefix, "%s", prefix ? prefix : "");
	q->filter.prefix = q->prefix;
	q->filter.workflow = (uint32_t)workflow;
	return call_read(c, tasks_work);
}

static int task_id_take(void *ctx, const struct store_task *t)
{
	struct call *c = ctx;

	names_set_task(c->cgi->names, t);
	((struct query *)c->extra)->id = t->id;
	return 0;
}

static int flow_take(void *ctx, const struct store_doc *d)
{
	struct query *q = ctx;

	q->document = q->document ? q->document : show_flow(d);
	return 0;
}

/* With the cron, which its workflow's document has and its row has not. */
static int task_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	struct err none = { 0 };
	const char *end = strrchr(c->params[0], '/');

	snprintf(q->prefix, sizeof q->prefix, "%.*s", end ? (int)(end - c->params[0]) : 0,
	         c->params[0]);
	read_doc(r, &(struct read_which){ DOC_WORKFLOW, .name = q->prefix }, flow_take, q, &none);
	int code = read_task(r, c->params[0], 0, task_put, c, &c->err);
	workflow_set_free(q->document);
	q->document = NULL;
	return code;
}

int task_get(struct call *c)
{
	static const char *const names[] = { NULL };

	if (call_args_only(c, names) < 0)
		return c->err.code;
	c->extra = mem_new(sizeof(struct query));
	return call_read(c, task_work);
}

static int link_put(void *ctx, const struct store_link *l)
{
	struct call *c = ctx;

	show_link(&c->out, c->cgi->names, l);
	return 0;
}

static int links_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	int code = read_task(r, c->params[0], 0, task_id_take, c, &c->err);

	put_open(&c->out, NULL, '{');
	put_open(&c->out, "parents", '[');
	if (code == 0)
		code = read_links(r, q->id, false, link_put, c, &c->err);
	put_close(&c->out, ']');
	put_open(&c->out, "children", '[');
	if (code == 0)
		code = read_links(r, q->id, true, link_put, c, &c->err);
	put_close(&c->out, ']');
	put_close(&c->out, '}');
	return code;
}

int links_get(struct call *c)
{
	static const char *const names[] = { NULL };

	c->extra = mem_new(sizeof(struct query));
	if (call_args_only(c, names) < 0)
		return c->err.code;
	c->names = true;
	return call_read(c, links_work);
}
