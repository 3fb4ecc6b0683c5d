/* What a task takes from a library, as it is read: `use` names the library's task, and what that
 * one says is read before the task's own words, which go over it. A task of a library cannot `use`
 * another, so there is no chain to follow. What a library's task says is only known where the
 * document keeps it under `used` (workflow_library.c puts it there); until then nothing is
 * inherited.
 *
 * Also here: at which place of a document a value is wrong, for one that stands elsewhere. */
#include "sched/workflow_impl.h"

#include "util/pile.h"

#include <stdio.h>
#include <string.h>

/* LIBRARY/TASK, or PROJECT/LIBRARY/TASK. */
static bool is_reference(const char *text)
{
	struct buf part;
	size_t n = 0;
	bool good = true;

	buf_init(&part);
	for (; good; n++) {
		size_t len = strcspn(text, "/");
		buf_clear(&part);
		buf_put(&part, text, len);
		good = name_ok(buf_str(&part));
		if (!text[len])
			break;
		text += len + 1;
	}
	buf_done(&part);
	return good && (n == 1 || n == 2);
}

void wf_read_use(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                 void *field)
{
	if (n->kind == YAML_SCALAR && !yaml_is_null(n) && is_reference(n->text))
		*(struct wf_text *)field = (struct wf_text){ n->text, n };
	else
		wf__wrong(r, n, k->want);
}

void wf_read_used(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                  void *field)
{
	if (n->kind == YAML_LIST)
		wf_read_node(r, k, n, field);
	else
		wf__wrong(r, n, k->want);
}

static const struct yaml_node *shared_kept(const struct yaml_node *list, const char *shared)
{

	for (size_t i = 0; list && list->kind == YAML_LIST && i < list->n; i++) {
		const struct yaml_node *one = list->items[i];
		const struct yaml_node *is = one->kind == YAML_MAP ? yaml_get(one, "is") : NULL;
		if (is && is->kind == YAML_MAP && yaml_get(one, "task") &&
		    yaml_is(yaml_get(one, "task"), shared))
			return is;
	}
	return NULL;
}

const struct yaml_node *workflow_kept(const struct yaml_node *root, const struct yaml_node *task)
{
	const struct yaml_node *use = task->kind == YAML_MAP ? yaml_get(task, "use") : NULL;
	const struct yaml_node *project = yaml_get(root, "project");
	struct buf full;

	if (!use || use->kind != YAML_SCALAR || !is_reference(use->text))
		return NULL;
	buf_init(&full);
	if (!strchr(strchr(use->text, '/') + 1, '/'))
		buf_printf(&full, "%s/", project ? project->text : "default");
	buf_puts(&full, use->text);
	const struct yaml_node *is = shared_kept(yaml_get(root, "used"), buf_str(&full));
	buf_done(&full);
	return is;
}

static void read_kept(struct wf_reader *r, struct wf_task *t)
{
	size_t length = wf__push(r, "use");

	wf__read_map(r, WT_SHARED, t->of_library, t);
	if (t->retries.node) /* the same, as a task of a workflow says it */
		t->max_attempts = (struct wf_number){ t->retries.value + 1, t->retries.node };
	wf__pop(r, length);
}

void wf__read_shared(struct wf_reader *r, const struct yaml_node *n, struct wf_task *t)
{
	const struct yaml_node *use = n->kind == YAML_MAP ? yaml_get(n, "use") : NULL;

	if (!use || use->kind != YAML_SCALAR || !is_reference(use->text))
		return; /* its reader complains */
	bool is_full = strchr(strchr(use->text, '/') + 1, '/') != NULL;
	t->shared = is_full ? use->text
	                    : pile_fmt(r->pile, "%s/%s", r->wf->project.text, use->text);
	t->of_library = shared_kept(r->wf->used.node, t->shared);
	if (t->of_library)
		read_kept(r, t);
	if (yaml_get(n, "type"))
		diag_error(r->d, wf__here(r, yaml_get(n, "type")), "conflict", "take `type` out",
		           "'%s' says the type; a task that uses it cannot have another",
		           use->text);
}

/* One that could name another would have no end where two name each other. */
static void read_shared_task(struct wf_reader *r, const struct yaml_node *n)
{
	struct wf_task t = { 0 };

	if (n->kind == YAML_MAP && yaml_get(n, "use")) {
		diag_error(r->d, wf__here(r, yaml_get(n, "use")), "nested_use", "write it out",
		           "a task of a library cannot `use` another");
		return;
	}
	wf__read_map(r, WT_SHARED, n, &t);
	if (n->kind == YAML_MAP && !wf__has_must(WT_SHARED, n))
		diag_error(r->d, wf__here(r, n), "missing_key", "type: shell, for one",
		           "a task of a library needs a `type`");
}

static size_t tree_bytes(const struct yaml_node *n)
{
	size_t bytes = n->kind == YAML_SCALAR ? n->n + 1 : 1;

	for (size_t i = 0; n->kind != YAML_SCALAR && i < n->n; i++)
		bytes += tree_bytes(n->items[i]) + (n->kind == YAML_MAP ? n->keys[i]->n + 1 : 0);
	return bytes;
}

void wf__read_library(struct wf_reader *r, const struct yaml_node *root)
{
	const struct yaml_node *tasks = r->wf->tasks.node;
	char why[NAME_WHY_BYTES];

	if (!wf__has_tasks(r, &r->wf->tasks, YAML_MAP, root, "tasks"))
		return;
	r->wf->shared_bytes = pile_take(r->pile, tasks->n * sizeof *r->wf->shared_bytes);
	size_t outer = wf__push(r, "tasks");
	for (size_t i = 0; i < tasks->n; i++) {
		const struct yaml_node *key = tasks->keys[i];
		r->wf->shared_bytes[i] = tree_bytes(tasks->items[i]);
		size_t length = wf__push(r, key->text);
		if (name_wrong(key->text, why))
			wf__wrong_name(r, key, key->text, "the name of a task", why);
		else
			read_shared_task(r, tasks->items[i]);
		wf__pop(r, length);
	}
	wf__pop(r, outer);
}

/* Is a node one of this tree? */
static bool wf_contains(const struct yaml_node *tree, const struct yaml_node *n)
{
	for (size_t i = 0; tree != n && tree->kind != YAML_SCALAR && i < tree->n; i++)
		if (wf_contains(tree->items[i], n))
			return true;
	return tree == n;
}

/* --- places ------------------------------------------------------------------------------ */

struct place wf__place(const struct wf_made *m, const struct yaml_node *n, const char *key)
{
	static _Thread_local char path[400];
	const struct yaml_node *defaults = m->wf->defaults.node;
	const char *of = m->t->path;

	/* What a task inherits is wrong where it stands; needs are not inherited one by one. */
	if (n && key && !strchr(key, '[') && yaml_get(m->t->node, key) != n) {
		if (yaml_get(yaml_root(m->wf->doc), key) == n)
			of = "";
		else if (defaults && yaml_get(defaults, key) == n)
			of = "defaults";
	}
	if (!n)
		n = m->t->node;
	if (m->t->of_library && wf_contains(m->t->of_library, n))
		n = m->t->use.node; /* what it says stands elsewhere */
	snprintf(path, sizeof path, "%s%s%s", of, key && *of ? "." : "", key ? key : "");
	return (struct place){
		.file = m->wf->file, .line = n->line, .column = n->column, .path = path
	};
}
