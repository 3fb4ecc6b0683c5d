/* Libraries: tasks written once. Others name one with `use` and say over it what they want
 * otherwise; what they say over is judged as their own.
 *
 * A document that uses some keeps what each of them said under `used`, so that a version of it
 * means the same for good. That is made here, when a document is applied, and never by people. */
#include "sched/workflow_impl.h"

#include "util/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

static struct place use_place(const struct workflow *wf, const struct wf_task *t)
{
	return (struct place){ wf->file, t->use.node->line, t->use.node->column, t->path };
}

void wf__check_uses(struct wf_compiler *c)
{
	for (size_t i = 0; i < c->n && c->d->errors == 0; i++) {
		const struct wf_made *m = &c->made[i];
		if (m->t->shared && !m->t->of_library)
			diag_error(c->d, use_place(m->wf, m->t), "unknown_library",
			           "give the file of the library as well",
			           "it is not known what '%s' says", m->t->shared);
	}
}

/* Is `shared` a task of that library? Its own name, or NULL. */
static const char *own_name(const char *shared, const char *library)
{
	size_t n = strlen(library);

	return strncmp(shared, library, n) == 0 && shared[n] == '/' ? shared + n + 1 : NULL;
}

static const struct yaml_node *task_of(const struct workflow *library, const char *name)
{
	const struct yaml_node *tasks = library->is_library ? library->tasks.node : NULL;

	return tasks && tasks->kind == YAML_MAP ? yaml_get(tasks, name) : NULL;
}

bool workflow_uses(const struct workflow *wf, const char *library)
{
	for (size_t i = 0; i < wf->n; i++)
		if (wf->items[i].shared && own_name(wf->items[i].shared, library))
			return true;
	return false;
}

const char *workflow_lacks(const struct workflow *wf, const struct workflow *library)
{
	for (size_t i = 0; i < wf->n; i++) {
		const char *shared = wf->items[i].shared;
		const char *name = shared ? own_name(shared, library->full) : NULL;
		if (name && !task_of(library, name))
			return shared;
	}
	return NULL;
}

bool workflow_outdated(const struct workflow *wf, const struct workflow *library)
{
	for (size_t i = 0; i < wf->n; i++) {
		const struct wf_task *t = &wf->items[i];
		const char *name = t->shared ? own_name(t->shared, library->full) : NULL;
		const struct yaml_node *is = name ? task_of(library, name) : NULL;
		if (name && (!is || !t->of_library || !yaml_same(is, t->of_library)))
			return true;
	}
	return false;
}

size_t workflow_written(const char *text, size_t n)
{
	const char *used = wf__stored_line(text, n, "used:");
	const char *values = wf__stored_line(text, n, WORKFLOW_BINDS);

	if (!used || (values && values < used))
		used = values;
	return used ? (size_t)(used - text) : n;
}

bool workflow_stored_uses(const char *text, size_t n)
{
	return wf__stored_line(text, n, "used:") != NULL;
}

bool workflow_stored_library(const char *text, size_t n)
{
	return wf__stored_line(text, n, "library:") != NULL;
}

/* --- resolving --------------------------------------------------------------------------- */

struct resolving {
	const struct workflow_set *set;
	const struct workflow *(*library)(void *ctx, const char *name);
	void *ctx;
	struct diags *d;
};

static const struct workflow *library_of(const struct resolving *x, const char *shared)
{
	const struct workflow *found = NULL;
	struct buf name;

	CHECK(strrchr(shared, '/'));
	buf_init(&name);
	buf_put(&name, shared, (size_t)(strrchr(shared, '/') - shared));
	size_t i = workflow_set_find(x->set, buf_str(&name));
	if (i < x->set->n)
		found = x->set->items[i];
	else if (x->library)
		found = x->library(x->ctx, buf_str(&name));
	buf_done(&name);
	return found;
}

static void refuse_use(const struct resolving *x, const struct workflow *wf,
                       const struct wf_task *t, const struct workflow *library)
{
	struct nearest near = nearest_to(strrchr(t->shared, '/') + 1);
	char hint[NEAREST_HINT_BYTES];
	const char *said = NULL;

	if (!library) {
		diag_error(x->d, use_place(wf, t), "unknown_library",
		           x->library ? NULL : "give the file it is in as well",
		           "there is no library '%.*s'", (int)(strrchr(t->shared, '/') - t->shared),
		           t->shared);
		return;
	}
	if (!library->is_library) {
		diag_error(x->d, use_place(wf, t), "unknown_library", NULL,
		           "%s is a %s; only tasks of a `library` can be used", library->full,
		           workflow_kind(library));
		return;
	}
	for (size_t i = 0; library->tasks.node && i < library->tasks.node->n; i++)
		nearest_try(&near, library->tasks.node->keys[i]->text);
	said = nearest_hint(&near, hint);
	diag_error(x->d, use_place(wf, t), "unknown_task", said, "the library %s has no task '%s'",
	           library->full, strrchr(t->shared, '/') + 1);
}

static bool is_first(const struct workflow *wf, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (wf->items[k].shared && strcmp(wf->items[k].shared, wf->items[i].shared) == 0)
			return false;
	return true;
}

static void put_use(const struct resolving *x, const struct workflow *wf, const struct wf_task *t,
                    struct buf *out)
{
	const struct workflow *library = library_of(x, t->shared);
	const struct yaml_node *is = library ? task_of(library, strrchr(t->shared, '/') + 1) : NULL;

	if (!library && !x->library)
		is = t->of_library;
	if (!is) {
		refuse_use(x, wf, t, library);
		return;
	}
	buf_puts(out, "- task: ");
	yaml_print_text(t->shared, false, out);
	buf_puts(out, "\n  is:\n    ");
	yaml_print(is, 4, out);
}

static void library_resolve(const struct resolving *x, struct workflow *wf)
{
	size_t errors = x->d->errors, n = 0;
	struct yaml_doc **docs = NULL;
	struct buf used;

	buf_init(&used);
	for (size_t i = 0; i < wf->n; i++)
		if (wf->items[i].shared && is_first(wf, i))
			put_use(x, wf, &wf->items[i], &used);
	if (x->d->errors == errors && (used.len || wf->used.node) &&
	    yaml_read(buf_str(&used), used.len, wf->file, x->d, &docs, &n) == 0) {
		yaml_graft(wf->doc, yaml_root(wf->doc), "used", n ? yaml_root(docs[0]) : NULL);
		wf__read_again(wf, x->d);
	}
	for (size_t i = 0; i < n; i++)
		yaml_free(docs[i]);
	free(docs);
	buf_done(&used);
}

static size_t shared_bytes(const struct workflow *library, const char *name)
{
	const struct yaml_node *is = task_of(library, name);
	size_t i = 0;

	while (is && library->tasks.node->items[i] != is) {
		i++;
		CHECK(i < library->tasks.node->n);
	}
	return is ? library->shared_bytes[i] : 0;
}

void workflow_set_expand(const struct workflow_set *set, const struct workflow *wf,
                         const struct workflow *(*library)(void *ctx, const char *name),
                         void (*each)(void *ctx, const struct workflow *library, size_t bytes),
                         void *ctx)
{
	const struct resolving x = { set, library, ctx, NULL };
	const struct workflow *of = NULL;

	for (size_t i = 0; i < wf->n; i++) {
		const char *shared = wf->items[i].shared;
		const char *name = shared && of ? own_name(shared, of->full) : NULL;
		if (!shared)
			continue;
		if (!name) /* mostly it is that of the task before */
			of = library_of(&x, shared);
		size_t bytes = of ? shared_bytes(of, strrchr(shared, '/') + 1) : 0;
		if (bytes)
			each(ctx, of, is_first(wf, i) ? 2 * bytes : bytes);
	}
}

int workflow_set_resolve(struct workflow_set *set,
                         const struct workflow *(*library)(void *ctx, const char *name), void *ctx,
                         struct diags *d)
{
	const struct resolving x = { set, library, ctx, d };
	size_t errors = d->errors;

	for (size_t i = 0; i < set->n; i++)
		if (!set->items[i]->is_library)
			library_resolve(&x, set->items[i]);
	return d->errors == errors ? 0 : E_INVALID;
}
