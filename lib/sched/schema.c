/* A schema is one object: definitions of every table, of names and of task types, and at its top a
 * reference to the one that was asked for. What only one table has besides its keys (a task has a
 * type or uses another) is a row of `besides`. */
#include "sched/schema_impl.h"

#include "sched/type.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"

#include <stdio.h>
#include <string.h>

/* Which document it is, told from a key that it has; in the order in which the reader asks. */
static const char *const told_by[] = { "workflow", "pipeline", "library", "target",
	                               "calendar", "global",   "pool",    "project" };
enum { DOCUMENTS = sizeof told_by / sizeof *told_by };

const char *const schema_kinds[] = { "document", "workflow", "pipeline", "library", "project",
	                             "pool",     "global",   "calendar", "target",  NULL };

/* --- what a table has besides its keys -------------------------------------------------------- */

static void put_any(struct buf *out, const char *key, const char *one, const char *other)
{
	put_open(out, key, '[');
	schema__put_required(out, NULL, one);
	schema__put_required(out, NULL, other);
	put_close(out, ']');
}

/* Where `defaults` say neither, each task says one of the two. */
static void unless_shared(struct buf *out, const char *one, const char *other)
{
	put_open(out, NULL, '{');
	put_open(out, "if", '{');
	schema__put_words(out, "required", "defaults");
	put_open(out, "properties", '{');
	put_open(out, "defaults", '{');
	put_any(out, "anyOf", one, other);
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, '}');
	put_open(out, "else", '{');
	put_open(out, "properties", '{');
	put_open(out, "tasks", '{');
	put_open(out, "additionalProperties", '{');
	put_any(out, "anyOf", one, other);
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, '}');
	put_close(out, '}');
}

static void of_workflow(struct buf *out)
{
	put_open(out, "allOf", '[');
	unless_shared(out, "type", "use");
	unless_shared(out, "cycle", "cron");
	put_close(out, ']');
}

static void of_pipeline(struct buf *out)
{
	put_any(out, "anyOf", "cycle", "cron");
}

/* The type of one that uses a task is that one's. */
static void of_task(struct buf *out)
{
	put_open(out, "not", '{');
	schema__put_words(out, "required", "type|use");
	put_close(out, '}');
	put_open(out, "allOf", '[');
	schema__put_ref(out, NULL, "typed");
	put_close(out, ']');
}

static void of_step(struct buf *out)
{
	put_any(out, "anyOf", "type", "use");
	of_task(out);
}

static void of_project(struct buf *out)
{
	put_open(out, "anyOf", '[');
	for (size_t i = 0; wf_of_projects[i]; i++)
		schema__put_required(out, NULL, wf_of_projects[i]);
	put_close(out, ']');
}

static void (*const besides[WT_COUNT])(struct buf *out) = {
	[WT_WORKFLOW] = of_workflow, [WT_PIPELINE] = of_pipeline, [WT_TASK] = of_task,
	[WT_STEP] = of_step,         [WT_HOOK] = of_step,         [WT_PROJECT] = of_project,
};

/* --- definitions ------------------------------------------------------------------------------ */

static void put_table(struct buf *out, size_t id)
{
	const struct wf_table *t = &wf_tables[id];

	put_open(out, t->id, '{');
	put_text(out, "type", "object");
	schema__put_words(out, "required", t->must);
	put_open(out, "properties", '{');
	for (size_t i = 0; i < t->n; i++)
		schema__key(&t->keys[i], out);
	put_close(out, '}');
	put_bool(out, "additionalProperties", false);
	if (besides[id])
		besides[id](out);
	put_close(out, '}');
}

static void put_name(struct buf *out, const char *key, const char *pattern)
{
	put_open(out, key, '{');
	schema__pattern(out, pattern);
	put_int(out, "maxLength", WORKFLOW_NAME_MAX);
	put_close(out, '}');
}

static void put_values(struct buf *out)
{
	put_open(out, "value", '{');
	put_open(out, "not", '{');
	put_text(out, "type", "null");
	put_close(out, '}');
	put_close(out, '}');
	put_open(out, "values", '{');
	put_text(out, "type", "object");
	put_int(out, "maxProperties", WORKFLOW_PARAMS_MAX);
	schema__put_ref(out, "propertyNames", "word");
	schema__put_ref(out, "additionalProperties", "value");
	put_close(out, '}');
}

/* The first of the documents whose key is there; of none a workflow that says no name. */
static void put_document(struct buf *out)
{
	put_open(out, "document", '{');
	put_text(out, "type", "object");
	put_open(out, "properties", '{');
	for (size_t i = 0; i < DOCUMENTS; i++)
		put_raw(out, told_by[i], "true");
	put_close(out, '}');
	for (size_t i = 0; i < DOCUMENTS; i++) {
		schema__put_required(out, "if", told_by[i]);
		schema__put_ref(out, "then", told_by[i]);
		put_open(out, "else", '{');
	}
	schema__ref(out, wf_tables[WT_WORKFLOW].id);
	for (size_t i = 0; i <= DOCUMENTS; i++)
		put_close(out, '}');
}

static void put_definitions(const struct type_set *types, struct buf *out)
{
	put_open(out, "$defs", '{');
	put_document(out);
	for (size_t i = 0; i < WT_COUNT; i++)
		put_table(out, i);
	schema__calendar(out);
	schema__target(out);
	put_name(out, "name", "^" NAME_PATTERN "$");
	put_name(out, "word", "^" WORD_PATTERN "$");
	put_values(out);
	schema__types(types, out);
	put_close(out, '}');
}

int schema_print(const char *kind, const struct type_set *types, struct buf *out)
{
	char title[80];
	size_t i = 0;

	while (schema_kinds[i] && strcmp(schema_kinds[i], kind) != 0)
		i++;
	if (!schema_kinds[i])
		return E_NOT_FOUND;
	snprintf(title, sizeof title, "Sirdar: %s", kind);
	put_open(out, NULL, '{');
	put_text(out, "$schema", "https://json-schema.org/draft/2020-12/schema");
	put_text(out, "title", title);
	schema__ref(out, kind);
	put_definitions(types, out);
	put_close(out, '}');
	return 0;
}
