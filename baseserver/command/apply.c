/* Documents to one edit: read, compiled as one set, compared with what is in force.
 *
 * An apply has stages (AP_READ ... AP_TAKE and the rest), each of which may stop for the turn and
 * go on in the next, because a thousand documents take longer than others may wait. If something
 * that it was judged against changes in between, it begins again; one edit is under way at a time.
 * The comparison yields the lines that people see (apply_change.c) and the edit that the ledger
 * gets; a task whose document did not change keeps its version. Nothing is in force before the
 * edit is durable, and then all of it is. */
#include "baseserver/command/apply.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "baseserver/command/begin.h"
#include "baseserver/model/front.h"
#include "baseserver/model/trust.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/yaml.h"

/* --- what becomes different -------------------------------------------------------------- */

static void print_totals(struct apply *a)
{
	const struct apply_totals *n = &a->totals;
	struct buf *out = &a->changes;

	put_open(out, "totals", '{');
	put_int(out, "create", (int64_t)n->create);
	put_int(out, "update", (int64_t)n->update);
	put_int(out, "same", (int64_t)n->same);
	put_int(out, "retire", (int64_t)n->retire);
	put_close(out, '}');
	if (n->left_out)
		put_int(out, "changes_more", (int64_t)n->left_out);
}

static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

static const struct yaml_node *task_node(const struct yaml_node *root, const char *name)
{
	const struct yaml_node *tasks = root ? yaml_get(root, "tasks") : NULL;

	return tasks && tasks->kind == YAML_MAP ? yaml_get(tasks, last_part(name)) : NULL;
}

/* Does it use one of a library, and what its document uses is not what it was? */
static bool uses_anew(const struct yaml_node *task, const struct yaml_node *was,
                      const struct yaml_node *is)
{
	const struct yaml_node *old = yaml_get(was, "used"), *now = yaml_get(is, "used");

	return task->kind == YAML_MAP && yaml_get(task, "use") &&
	       (!old || !now || !yaml_same(old, now));
}

/* A task's own lines; without the prefix they would read like the workflow's. */
static void change_task(struct apply *a, const struct task *t, const struct store_task *row,
                        bool is_new, bool differs)
{
	const struct yaml_node *was = a->taking.old, *is = a->taking.now;
	const struct yaml_node *old = task_node(was, t->name), *now = task_node(is, t->name);
	bool as_was = old && now && yaml_same(old, now) && !uses_anew(now, was, is);
	const char *what = is_new ? "create" : differs && !as_was ? "update" : "same";

	if (row && strcmp(what, "same") == 0 && apply__replans(a, t, row))
		what = "update";
	apply__change_begin(a, "task", t->name, what, 0);
	if (row)
		apply__put_plan(a, t, row);
	apply__change_end(a, what, "", old, now);
}

/* --- rows ------------------------------------------------------------------------------- */

/* --- tasks that are no longer named ------------------------------------------------------- */

/* --- one workflow ------------------------------------------------------------------------- */

static void take_task(struct apply *a, size_t i, bool differs)
{
	struct task *t = a->tasks[i];
	const struct cat_task *now = catalog_task(&a->c->cat, t->id);
	bool is_new = !now || catalog_retired(now);
	const struct store_task *row = NULL;

	if (!is_new && !differs)
		t->version = now->def->version; /* its document stays */
	if (is_new || differs || apply__replanned(a, t) || begin_moves(now, t->plan, &a->cmd->o))
		row = apply__add_task(a, t);
	change_task(a, t, row, is_new, differs);
}

/* What is about to go when its last run has ended is wanted again: a version of its own. */
static bool comes_back(const struct apply *a, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		if (commander__retires(a->c, a->tasks[i]->id))
			return true;
	return false;
}

static void take_workflow(struct apply *a, const struct workflow *wf)
{
	const char *name = workflow_name(wf);
	const struct doc *was = docs_find(&a->c->documents.all, name);
	struct taking *k = &a->taking;

	k->on = true;
	buf_init(&k->body);
	workflow_print(wf, &k->body);
	a->world.w.workflow(&a->world, name, &k->id, &k->version);
	bool differs = !was || was->len != k->body.len ||
	               memcmp(was->body, buf_str(&k->body), k->body.len) != 0 ||
	               comes_back(a, a->first, workflow_tasks(wf));
	a->differs[a->at] = differs;
	k->old = apply__root(was ? was->body : NULL, was ? was->len : 0, &k->old_docs, &k->n_old);
	k->now = apply__root(buf_str(&k->body), k->body.len, &k->new_docs, &k->n_new);
	const char *what = !was ? "create" : differs ? "update" : "same";
	apply__change_begin(a, workflow_is_library(wf) ? "library" : "workflow", name, what,
	                    differs ? k->version : was->version);
	apply__change_end(a, what, "", k->old, k->now);
}

/* 1: it goes on */
static int take_tasks(struct apply *a, const struct workflow *wf)
{
	struct taking *k = &a->taking;
	const char *name = workflow_name(wf);
	bool differs = a->differs[a->at];

	for (; k->task < workflow_tasks(wf); k->task++) {
		if (k->task && apply__enough(a))
			return 1;
		take_task(a, a->first + k->task, differs);
	}
	if (differs)
		apply__add_doc(a, &(struct store_doc){ .kind = DOC_WORKFLOW,
		                                       .id = k->id,
		                                       .version = k->version,
		                                       .name = name,
		                                       .body = buf_str(&k->body),
		                                       .body_len = k->body.len });
	apply__taken(a);
	return apply__retire_missing(a, name);
}

static int take_begin(struct apply *a)
{
	apply__list_leaving(a);
	put_open(&a->changes, "changes", '[');
	int r = apply__calendars(a);
	return r < 0 ? r : apply__scopes(a);
}

static int take_workflows(struct apply *a)
{
	if (!a->differs)
		a->differs = mem_array(a->n_given + 1, sizeof *a->differs);
	for (size_t n = 0; a->at < a->n_given; a->at++, n++) {
		if (n && apply__enough(a))
			return 1;
		const struct workflow *wf = workflow_set_at(a->set, a->at);
		if (!a->taking.on)
			take_workflow(a, wf);
		int r = take_tasks(a, wf);
		if (r)
			return r;
		a->first += workflow_tasks(wf);
	}
	return 0;
}

/* Once for each project, when its first work comes: later `why` says it. */
static void warn_untrusted(struct apply *a)
{
	const struct commander *c = a->c;
	const char *told = "";

	for (size_t i = 0; c->front && i < a->n_given; i++) {
		const char *name = workflow_name(workflow_set_at(a->set, i));
		int n = (int)strcspn(name, "/");
		char *project = mem_strn(name, (size_t)n);
		bool is_new = !documents_has_project(&c->documents, project) &&
		              strncmp(told, name, (size_t)n + 1) != 0;
		if (is_new && !trust_of(&c->docs[DOC_TRUST], name, !c->front->asks_trust)) {
			diag_warning(&a->diags, workflow_place(workflow_set_at(a->set, i)),
			             "untrusted_project", NULL,
			             "project %s is new and not trusted: only machines that give "
			             "projects users of their own take its jobs; if others shall, "
			             "an administrator: sirdar project trust %s",
			             project, project);
			told = name;
		}
		free(project);
	}
}

static int take_rest(struct apply *a)
{
	for (size_t i = a->n_given; i < workflow_set_count(a->set); i++) {
		size_t n = workflow_tasks(workflow_set_at(a->set, i));
		apply__replan(a, a->first, n);
		a->first += n;
	}
	CHECK(a->first == a->n); /* each task was one of its workflow's */
	int r = apply__prune(a);
	if (r == 0)
		r = apply__retire_libraries(a);
	put_close(&a->changes, ']');
	print_totals(a);
	if (a->cmd->dry)
		apply__print_cost(a, &a->changes);
	warn_untrusted(a);
	apply__print_diags(&a->diags, true, "warnings", &a->changes);
	return r < 0 ? r : apply__preview(a);
}

/* --- the whole, piece by piece ------------------------------------------------------------ */

enum { SLICE_US = 10 * US_PER_MS, PAUSE_US = 500, TELL_US = 300 * US_PER_MS };

/* How many of the documents are judged, kept a few times a second: so it can be followed. */
static void apply_tell(struct apply *a)
{
	struct cmd *cmd = a->cmd;
	int64_t now_us = actor_mono_us(a->c->me);

	if (!a->sliced || !args__are_brief(cmd->args) || cmd->dry || now_us < a->tell_us)
		return;
	a->tell_us = now_us + TELL_US;
	cmd->state = CS_RUNNING;
	cmd->total = cmd->o.documents ? (int64_t)cmd->o.documents->len : 0;
	cmd->done = a->stage < AP_TAKE ? 0 : (int64_t)a->at;
	cmd->apply_told = true;
	cmd__record(a->c, cmd, NULL, 0);
}

static int apply_judge(struct apply *a)
{
	int r = apply__alike(a);

	if (r == 0)
		r = pools__check(a->c, a->set, a->tasks, a->n, a->f);
	return r == 0 ? take_begin(a) : r;
}

static int read(struct apply *a)
{
	int r = apply__read(a);

	if (r == 0)
		r = apply__dependents(a);
	if (r == 0)
		r = within__check_set(&a->cmd->o, a->set, a->f);
	touch__set(a->cmd, a->set);
	return r == 0 ? apply__sizes(a) : r;
}

/* 0: the stage is over */
static int apply_work(struct apply *a)
{
	if (a->cmd->ops->tries)
		return trial__work(a);
	switch (a->stage) {
	case AP_READ:
		return read(a);
	case AP_COMPILE:
		return apply__compile(a);
	case AP_JUDGE:
		return apply_judge(a);
	case AP_TAKE:
		return take_workflows(a);
	case AP_COST:
		return apply__cost(a);
	default:
		return take_rest(a);
	}
}

/* From here on it is judged by what is in force now; 1: enough for this turn, 2: that changed. */
static int stages(struct apply *a)
{
	while (a->stage <= AP_REST) {
		if (a->stage == AP_COMPILE && !a->compiler)
			a->saw = a->c->changes;
		else if (a->stage >= AP_COMPILE && a->saw != a->c->changes)
			return 2;
		int r = apply_work(a);
		if (r)
			return r;
		a->at = 0;
		a->stage++;
		if (a->stage <= AP_REST && apply__enough(a))
			return 1;
	}
	return 0;
}

/* Something that was to go has begun again meanwhile? */
static int retired_are_still(const struct apply *a)
{
	for (size_t i = 0; i < a->e->n_tasks; i++) {
		const struct cat_task *t = catalog_task(&a->c->cat, a->e->tasks[i]->id);
		if (t && a->e->rows[i].state == TS_RETIRED && t->live != SLAB_NONE)
			return apply__may_retire((struct apply *)(uintptr_t)a, t);
	}
	return 0;
}

int apply__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	f->json = NULL;
	if (!cmd->apply) {
		cmd->apply = apply__new(c, cmd);
		CHECK(cmd->dry || !c->judged);
		if (!cmd->dry) /* what it is judged by stays meanwhile */
			c->judged = cmd;
	}
	struct apply *a = cmd->apply;
	a->f = f;
	a->until_us = actor_mono_us(c->me) + SLICE_US;
	int r = stages(a);
	if (r == 2) { /* tasks that are over went offline: once more, and without a pause */
		cmd->tries++;
		apply__drop(cmd);
		return apply__begin(c, cmd, f);
	}
	if (r == 1) {
		apply_tell(a);
		commander_alarm(c, actor_mono_us(c->me) + PAUSE_US);
		return 1;
	}
	if (r == 0 && a->sliced)
		r = retired_are_still(a);
	if (r < 0 && apply__preview_errors(a))
		r = 0;
	if (r == 0) {
		CHECK(!cmd->edit);
		cmd->edit = a->e;
		a->e = NULL;
		free(cmd->changes);
		cmd->changes = mem_str(buf_str(&a->changes));
		cmd->done = cmd->recorded ? cmd->total : cmd->done;
	}
	apply__drop(cmd);
	actor_wake(c->me); /* edits may have waited for it */
	return r;
}
