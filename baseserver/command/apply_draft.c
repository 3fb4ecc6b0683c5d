/* A test run of what is drawn: judged as apply judges it, and kept beside the versions (DOC_DRAFT)
 * before its instance is made. Nothing of it comes into force: the edit has no task. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "store/store.h"
#include "util/err.h"
#include "util/yaml.h"

/* --- the question ------------------------------------------------------------------------- */

int order__parse_draft(struct order *o, struct refusal *f)
{
	int r = arg_text(o->args, "args", "document", YAML_BYTES_MAX, &o->draft, f);

	return r == 0 && o->draft && !o->draft[0]
	               ? refuse(f, E_INVALID, "args.document", "the workflow's YAML",
	                        "args.document: is empty")
	               : r;
}

int order__check_draft(const struct order *o, int r, struct refusal *f)
{
	const struct selection *s = &o->sel;

	if (r == E_NOT_FOUND) {
		char was[sizeof f->text];
		memcpy(was, f->text, sizeof was);
		return refuse(f, r, "args.selection", "save the workflow once, as a draft too",
		              "%.300s; a task that was never saved cannot be tested yet", was);
	}
	if (r < 0)
		return r;
	if (s->n_tasks != 1 || s->has_instances)
		return refuse(f, E_INVALID, "args.selection",
		              "for example {\"tasks\": [\"p/w/load\"]}",
		              "args.selection: with a document exactly one task is expected");
	if (s->has_from || s->has_to || s->has_states || s->n_dates > 1)
		return refuse(f, E_INVALID, "args.selection.dates", "for example [\"2026-03-01\"]",
		              "args.selection: with a document one date, or none, is expected");
	return 0;
}

/* --- the judgement ------------------------------------------------------------------------ */

static int read_draft(struct apply *a)
{
	const char *text = a->cmd->o.draft;

	workflow_set_read(a->set, text, strlen(text), "document", &a->diags);
	a->n_given = workflow_set_count(a->set);
	int r = apply__bind(a);
	if (r < 0 || a->diags.errors)
		return r < 0 ? r : apply__refuse_diags(a);
	if (a->n_given != 1 || workflow_set_calendars(a->set) || workflow_set_scopes(a->set))
		return refuse(a->f, E_INVALID, "args.document", NULL,
		              "args.document: one workflow is expected and nothing else, found "
		              "%zu of them",
		              a->n_given);
	return apply__expand(a);
}

static int check_task(const struct apply *a)
{
	const struct cat_task *saved = catalog_task(&a->c->cat, a->cmd->o.sel.tasks[0]);
	const struct task *drawn = NULL;

	for (size_t i = 0; i < a->n; i++)
		if (saved && a->tasks[i]->id == saved->id)
			drawn = a->tasks[i];
	if (!drawn)
		return refuse(a->f, E_INVALID, "args.selection", NULL,
		              "args.selection: %s is not in the document",
		              saved ? saved->def->name : "the task");
	if (strcmp(drawn->type, saved->def->type) != 0)
		return refuse(a->f, E_CONFLICT, "args.document", "save it, then test it",
		              "%s is of type %s as drawn, but saved as %s: another type can be "
		              "tested only when it is saved",
		              drawn->name, drawn->type, saved->def->type);
	return 0;
}

static int draft_keep(struct apply *a)
{
	const struct workflow *wf = workflow_set_at(a->set, 0);
	const struct doc *was = docs_ever(&a->c->documents.all, workflow_name(wf));
	struct buf body;

	if (!was)
		return refuse(a->f, E_NOT_FOUND, "args.document", "save it once",
		              "%s was never saved", workflow_name(wf));
	uint32_t last = documents_note(&a->c->documents, was)->draft;
	a->cmd->draft = (last ? last : VERSION_DRAFT) + 1;
	buf_init(&body);
	workflow_print(wf, &body);
	apply__add_doc(a, &(struct store_doc){ .kind = DOC_DRAFT,
	                                       .id = was->id,
	                                       .version = a->cmd->draft,
	                                       .name = was->name,
	                                       .body = buf_str(&body),
	                                       .body_len = body.len });
	buf_done(&body);
	return 0;
}

static int draft_judge(struct apply *a)
{
	int r = read_draft(a);

	if (r == 0)
		r = within__check_set(&a->cmd->o, a->set, a->f);
	touch__set(a->cmd, a->set);
	if (r < 0)
		return r;
	r = apply__compile(a);
	if (r == 0)
		r = pools__check(a->c, a->set, a->tasks, a->n, a->f);
	if (r == 0)
		r = check_task(a);
	if (r == 0)
		r = draft_keep(a);
	return r;
}

int draft__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	struct apply *a = apply__new(c, cmd);
	int r = 0;

	f->json = NULL;
	a->f = f;
	a->sliced = false;
	if (cmd->settled.n == 0) /* else: after a restart its instance is there, with its draft */
		r = draft_judge(a);
	if (r == 0 && !cmd->dry) {
		cmd->edit = a->e;
		a->e = NULL;
	}
	apply__free(a);
	return r;
}

/* --- what is kept ------------------------------------------------------------------------- */

void draft__learn(struct commander *c, const struct store_doc *d)
{
	const struct doc *of = docs_ever(&c->documents.all, d->name);
	struct document_note *note = of ? documents_note(&c->documents, of) : NULL;

	if (note && d->version > note->draft)
		note->draft = d->version;
}

static int each_draft(void *ctx, const struct store_doc *d)
{
	draft__learn(ctx, d);
	return 0;
}

int drafts__load(struct commander *c, struct store *store, struct err *err)
{
	return store_load_docs(store, DOC_DRAFT, each_draft, c, err);
}
