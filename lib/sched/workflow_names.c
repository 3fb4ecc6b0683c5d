/* Names of a document in one form, and names that look alike.
 *
 * Wherever a document names a project, a workflow, a task or a step, the name is put into normal
 * form C in the tree itself, so that what is compared, stored and printed is the same. Two names
 * side by side (projects; workflows of one project; tasks of one workflow) that differ by no more
 * than case or by forms that normal form KC makes one are refused. Names that are in force
 * already stay: what a former release accepted is not refused when it is applied again. */
#include "sched/workflow_impl.h"

#include "util/pile.h"

#include <stdlib.h>
#include <string.h>

/* --- normal form ----------------------------------------------------------------------------- */

static void normal(struct yaml_doc *doc, const struct yaml_node *n)
{
	char *nfc = n && n->kind == YAML_SCALAR ? name_nfc(n->text) : NULL;

	if (nfc)
		yaml_rename(doc, n, nfc);
	free(nfc);
}

/* Names in a list, each alone or under `key` of a map. */
static void normal_list(struct yaml_doc *doc, const struct yaml_node *list, const char *key)
{
	for (size_t i = 0; list && list->kind == YAML_LIST && i < list->n; i++) {
		const struct yaml_node *n = list->items[i];
		normal(doc, n->kind == YAML_MAP ? yaml_get(n, key) : n);
	}
}

static const struct yaml_node *workflow_names_get(const struct yaml_node *n, const char *key)
{
	return n && n->kind == YAML_MAP ? yaml_get(n, key) : NULL;
}

/* Lists of names under `key` of each map of a list: `tasks` of alerts and of silences. */
static void normal_lists(struct yaml_doc *doc, const struct yaml_node *list, const char *key)
{
	for (size_t i = 0; list && list->kind == YAML_LIST && i < list->n; i++)
		normal_list(doc, workflow_names_get(list->items[i], key), "");
}

void wf__normal_names(struct yaml_doc *doc)
{
	static const char *const of_document[] = { "workflow", "pipeline", "library", "project" };
	static const char *const hooks[] = { "finished", "failed" };
	const struct yaml_node *root = yaml_root(doc), *tasks = workflow_names_get(root, "tasks");

	for (size_t i = 0; i < sizeof of_document / sizeof of_document[0]; i++)
		normal(doc, workflow_names_get(root, of_document[i]));
	for (size_t i = 0; tasks && tasks->kind == YAML_MAP && i < tasks->n; i++) {
		normal(doc, tasks->keys[i]);
		normal_list(doc, workflow_names_get(tasks->items[i], "needs"), "task");
		normal(doc, workflow_names_get(tasks->items[i], "use"));
	}
	normal_list(doc, workflow_names_get(workflow_names_get(root, "defaults"), "needs"), "task");
	normal_list(doc, workflow_names_get(root, "steps"), "name");
	normal_list(doc, workflow_names_get(root, "steps"), "use");
	for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++)
		normal(doc, workflow_names_get(workflow_names_get(root, hooks[i]), "use"));
	normal_list(doc, workflow_names_get(root, "baselines"), "task");
	normal_lists(doc, workflow_names_get(root, "alerts"), "tasks");
	normal_lists(doc, workflow_names_get(root, "silences"), "tasks");
}

/* --- names that look alike ------------------------------------------------------------------- */

/* One name with all above it: project, project/workflow or project/workflow/task. */
struct one {
	const char *full, *fold;
	const struct wf_made *m; /* of the workflow: its first task */
	size_t level;            /* how many / it has */
};

static int by_fold(const void *a, const void *b)
{
	const struct one *x = a, *y = b;
	int r = strcmp(x->fold, y->fold);

	return r ? r : strcmp(x->full, y->full);
}

static size_t stem(const char *full)
{
	const char *slash = strrchr(full, '/');

	return slash ? (size_t)(slash - full) : 0;
}

static bool stand_side_by_side(const struct one *a, const struct one *b)
{
	size_t n = stem(a->full);

	return a->level == b->level && n == stem(b->full) && strncmp(a->full, b->full, n) == 0;
}

static bool is_in_force(const struct wf_compiler *c, const struct one *o)
{
	if (o->level < 2)
		return o->m->version > 1;
	return c->world->task && c->world->task(c->world->ctx, o->full);
}

/* Where the name itself stands. */
static const struct yaml_node *node_of(const struct one *o)
{
	const struct workflow *wf = o->m->wf;
	const struct yaml_node *tasks = wf->tasks.node;

	if (o->level == 0 && wf->project.node)
		return wf->project.node;
	if (o->level < 2)
		return wf->name.node;
	for (size_t i = 0; tasks->kind == YAML_MAP && i < tasks->n; i++)
		if (strcmp(tasks->keys[i]->text, o->m->t->name) == 0)
			return tasks->keys[i];
	return o->m->t->step_name.node ? o->m->t->step_name.node : o->m->t->node;
}

static void names_refuse(struct wf_compiler *c, const struct one *o, const struct one *other)
{
	const struct yaml_node *n = node_of(o);
	struct place at = { o->m->wf->file, n->line, n->column, o->level < 2 ? "" : o->m->t->path };

	diag_error(c->d, at, "alike_name", "choose names that differ by more than case or width",
	           "'%s' and '%s' look the same", o->full, other->full);
}

static void workflow_names_add(struct wf_compiler *c, struct one *all, size_t *n, const char *full,
                               const struct wf_made *m, size_t level)
{
	char *fold = name_fold(full);

	all[(*n)++] = (struct one){ full, pile_str(c->pile, fold), m, level };
	free(fold);
}

void wf__check_alike(struct wf_compiler *c)
{
	struct one *all = pile_take(c->pile, (c->n + 2 * c->set->n) * sizeof *all + 1);
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct wf_made *m = &c->made[i];
		if (i == 0 || c->made[i - 1].wf != m->wf) {
			workflow_names_add(c, all, &n, m->wf->project.text, m, 0);
			workflow_names_add(c, all, &n, m->wf->full, m, 1);
		}
		workflow_names_add(c, all, &n, m->t->full, m, 2);
	}
	qsort(all, n, sizeof *all, by_fold);
	for (size_t i = 1; i < n; i++) {
		const struct one *o = &all[i], *other = &all[i - 1];
		if (strcmp(o->fold, other->fold) != 0 || strcmp(o->full, other->full) == 0 ||
		    !stand_side_by_side(o, other) || (is_in_force(c, o) && is_in_force(c, other)))
			continue;
		/* the later one of the text is the one to change */
		bool later = o->m >= other->m;
		names_refuse(c, later ? o : other, later ? other : o);
	}
}
