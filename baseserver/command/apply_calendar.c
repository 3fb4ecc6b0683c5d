/* Calendars among the documents: an edit of one is a schedule edit of every task that uses it. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "sched/calendar.h"
#include "sched/calendar_doc.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/yaml.h"

/* --- who uses them ---------------------------------------------------------------------- */

static bool uses(const struct cat_task *t, const char *calendar)
{
	return t && !catalog_retired(t) && strcmp(t->def->calendar_name, calendar) == 0;
}

static size_t users(const struct apply *a, const char *calendar)
{
	size_t n = 0;

	for (size_t i = 0; i < a->c->cat.tasks_cap; i++)
		n += uses(catalog_task(&a->c->cat, (uint32_t)i), calendar);
	return n;
}

/* The workflow of a task, from its document as it is stored. */
static void read_workflow_of(struct apply *a, const struct cat_task *t)
{
	const char *slash = strrchr(t->def->name, '/');
	char *name = mem_strn(t->def->name, slash ? (size_t)(slash - t->def->name) : 0);
	const struct doc *doc = docs_find(&a->c->documents.all, name);

	if (doc && !apply__has(a, name))
		workflow_set_read(a->set, doc->body, doc->len, doc->name, &a->diags);
	free(name);
}

int apply__dependents(struct apply *a)
{
	int r = apply__users(a);

	a->n_given = workflow_set_count(a->set);
	for (size_t i = 0; r == 0 && i < workflow_set_calendars(a->set); i++) {
		const struct calendar_doc *doc = workflow_set_calendar(a->set, i);
		const char *name = calendar_doc_name(doc);
		const struct calendar *was = calendars_days(&a->c->docs[DOC_CALENDAR], name);
		if (was && calendar_same(was, calendar_doc_days(doc)))
			continue;
		for (size_t k = 0; k < a->c->cat.tasks_cap; k++) {
			const struct cat_task *t = catalog_task(&a->c->cat, (uint32_t)k);
			/* What is tried keeps the dates that it began with. */
			if (uses(t, name) && !name_is_test(t->def->name))
				read_workflow_of(a, t);
		}
	}
	return r == 0 && a->diags.errors ? apply__refuse_diags(a) : r;
}

bool apply__replanned(const struct apply *a, const struct task *t)
{
	const struct cat_task *was = catalog_task(&a->c->cat, t->id);

	return was && strcmp(was->def->calendar_name, t->calendar_name) == 0 &&
	       !calendar_same(was->def->calendar, t->calendar);
}

void apply__replan(struct apply *a, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++) {
		struct task *t = a->tasks[i];
		const struct cat_task *was = catalog_task(&a->c->cat, t->id);
		if (!was || catalog_retired(was))
			continue;
		t->version = was->def->version; /* its document stays */
		if (!apply__replanned(a, t))
			continue;
		const struct store_task *row = apply__add_task(a, t);
		if (!a->cmd->o.has_from && row->state == was->row.state)
			continue; /* the calendar's own line tells of it */
		apply__change_begin(a, "task", t->name, "update", 0);
		apply__put_plan(a, t, row);
		apply__change_end(a, "", "", NULL, NULL);
	}
}

/* --- new versions ----------------------------------------------------------------------- */

static void add_version(struct apply *a, const char *name, const char *body, bool retired)
{
	stored__change(
		a->c, a->cmd, a->e,
		&(struct store_doc){
			.kind = DOC_CALENDAR, .name = name, .body = body, .retired = retired });
}

static void take_calendar(struct apply *a, const struct calendar_doc *doc)
{
	const char *name = calendar_doc_name(doc);
	const struct doc *was = docs_ever(&a->c->docs[DOC_CALENDAR], name);
	struct yaml_doc **old_docs, **new_docs;
	size_t n_old, n_new;
	struct buf body;

	buf_init(&body);
	calendar_doc_print(doc, &body);
	bool is_new = !was || was->retired;
	bool differs = is_new || was->len != body.len ||
	               memcmp(was->body, buf_str(&body), body.len) != 0;
	const char *what = is_new ? "create" : differs ? "update" : "same";
	const struct yaml_node *old = apply__root(is_new ? NULL : was->body, is_new ? 0 : was->len,
	                                          &old_docs, &n_old);
	const struct yaml_node *now = apply__root(buf_str(&body), body.len, &new_docs, &n_new);
	bool replans = differs &&
	               !calendar_same(is_new ? NULL : was->means, calendar_doc_days(doc));
	apply__change_begin(a, "calendar", name, what,
	                    (was ? was->version : 0) + (differs ? 1 : 0));
	/* How many tasks get new dates. */
	put_int(&a->changes, "tasks", replans ? (int64_t)users(a, name) : 0);
	apply__change_end(a, what, "", old, now);
	if (differs)
		add_version(a, name, buf_str(&body), false);
	apply__free_docs(old_docs, n_old);
	apply__free_docs(new_docs, n_new);
	buf_done(&body);
}

/* --- retiring --------------------------------------------------------------------------- */

/* Of a task of the documents its new definition counts. */
static const struct task *still_uses(const struct apply *a, const char *calendar)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->tasks[i]->calendar_name, calendar) == 0)
			return a->tasks[i];
	for (size_t i = 0; i < a->c->cat.tasks_cap; i++) {
		const struct cat_task *t = catalog_task(&a->c->cat, (uint32_t)i);
		if (uses(t, calendar) && !apply__in_set(a, t->id))
			return t->def;
	}
	return NULL;
}

static int retire_calendar(struct apply *a, const char *name)
{
	const char *at = "args.retire_calendars";
	const struct doc *was = docs_find(&a->c->docs[DOC_CALENDAR], name);
	const struct task *user = still_uses(a, name);

	if (!was) {
		struct nearest near = nearest_to(name);
		docs_nearest(&a->c->docs[DOC_CALENDAR], &near);
		return refuse(a->f, E_NOT_FOUND, at, nearest_name(&near),
		              "there is no calendar '%.80s'", name);
	}
	if (user)
		return refuse(a->f, E_CONFLICT, at, "take it out of the documents first",
		              "%zu tasks use calendar %s: %s", users(a, name), name, user->name);
	apply__change_begin(a, "calendar", name, "retire", was->version + 1);
	apply__change_end(a, "retire", "", NULL, NULL);
	add_version(a, name, was->body, true);
	return 0;
}

int apply__calendars(struct apply *a)
{
	const struct jval *gone = a->cmd->o.retired_calendars;
	int r = 0;

	for (size_t i = 0; i < workflow_set_calendars(a->set); i++)
		take_calendar(a, workflow_set_calendar(a->set, i));
	for (const struct jval *v = jv_first(gone); v && r == 0; v = v->next)
		r = retire_calendar(a, v->text);
	return r;
}
