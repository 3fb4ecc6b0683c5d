/* Documents: which kind, defaults, tasks; sets of documents.
 *
 * A document is read in layers: a task says what it says over the defaults of its workflow, and
 * what it says replaces what it inherits of the same meaning (a cron replaces a cycle). The readers
 * of single values are workflow_read.c, those of lists workflow_lists.c; which key has which reader
 * is workflow_tables.c. A set holds several documents that are compiled together
 * (workflow_compile.c). Everything that was read lies in the document's pile and keeps its line, so
 * that later faults name places. */
#include "sched/calendar_doc.h"
#include "sched/workflow_impl.h"

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/pile.h"

#include <stdlib.h>
#include <string.h>

/* What a task says replaces what it inherited of the same meaning. */
static void drop_overruled(struct wf_task *t, const struct wf_task *from)
{
	bool cron = t->cron.node != from->cron.node, cycle = t->cycle.node != from->cycle.node;

	if (cron && !cycle)
		t->cycle = (struct wf_cycle){ 0 };
	if (cycle && !cron)
		t->cron = (struct wf_text){ 0 };
	if (t->machines.node != from->machines.node && t->group.node == from->group.node)
		t->group = (struct wf_text){ 0 };
	if (t->group.node != from->group.node && t->machines.node == from->machines.node)
		t->machines = (struct wf_texts){ 0 };
}

static void check_one(struct wf_reader *r, const struct wf_task *t)
{
	if (t->group.node && t->machines.node)
		diag_error(r->d, wf__here(r, t->machines.node), "conflict", NULL,
		           "`machines` stands instead of `group`; this task has both");
	if (t->on_server_lost.value && !t->on_lost.value)
		diag_error(r->d, wf__here(r, t->on_server_lost.node), "conflict",
		           "add on_lost: hold",
		           "on_server_lost: keep is not safe with on_lost: requeue");
	if (t->retry_cap_us.node && t->retry_delay_us.us > t->retry_cap_us.us)
		diag_error(r->d, wf__here(r, t->retry_cap_us.node), "conflict", NULL,
		           "the cap of retries is smaller than their delay");
}

/* `given`: what it inherits, said where that stands. */
static void check_overlap(struct wf_reader *r, const struct wf_task *t,
                          const struct yaml_node *given)
{
	bool one_by_one = t->serial.value != SERIAL_PARALLEL;

	if (!t->overlap.node || t->overlap.node == given)
		return;
	if (r->wf->overlap.node)
		diag_error(r->d, wf__here(r, t->overlap.node), "conflict",
		           "take one of the two out",
		           "the workflow's `overlap` judges its run as a whole; a task of it has "
		           "none of its own");
	else if (one_by_one && t->overlap.value != OVERLAP_ALLOW)
		diag_error(r->d, wf__here(r, t->overlap.node), "conflict",
		           "take one of the two out",
		           "`serial` and `overlap` both say what becomes of a date while another "
		           "is unfinished");
}

static void need_type(struct wf_reader *r, const struct wf_task *t, const struct yaml_node *n)
{
	if (n->kind == YAML_MAP && !t->type.node && !yaml_get(n, "type") && !yaml_get(n, "use"))
		diag_error(r->d, wf__here(r, n), "missing_key", "type: shell, for one",
		           "a task needs a `type`");
}

/* Read one task over what it inherits. `key`: where its name stands. */
static void read_task(struct wf_reader *r, const char *name, enum wf_table_id table,
                      const struct yaml_node *n, const struct wf_task *from)
{
	struct wf_task *t = &r->wf->items[r->wf->n];

	*t = *from;
	t->title = (struct wf_text){ 0 };
	t->node = n;
	wf__read_shared(r, n, t);
	wf__read_map(r, table, n, t);
	drop_overruled(t, from);
	need_type(r, t, n);
	check_one(r, t);
	check_overlap(r, t, t->serial.node == from->serial.node ? from->overlap.node : NULL);
	if (!name)
		name = t->step_name.text;
	if (!name)
		return; /* complained about */
	t->name = name;
	t->full = pile_fmt(r->pile, "%s/%s", r->wf->full, name);
	t->path = pile_str(r->pile, buf_str(&r->path));
	r->wf->n++;
}

static void read_tasks(struct wf_reader *r, const struct yaml_node *root)
{
	struct workflow *wf = r->wf;
	struct wf_task from = wf->base;
	const struct yaml_node *tasks = wf->tasks.node;

	if (wf->defaults.node) {
		size_t length = wf__push(r, "defaults");
		wf__read_map(r, WT_TASK, wf->defaults.node, &from);
		if (from.use.node)
			diag_error(r->d, wf__here(r, from.use.node), "conflict",
			           "say it in each task", "`defaults` cannot `use` a task");
		drop_overruled(&from, &wf->base);
		if (from.title.node)
			diag_error(r->d, wf__here(r, from.title.node), "conflict",
			           "give each task a title of its own",
			           "tasks do not share a title");
		check_overlap(r, &from, NULL);
		wf__pop(r, length);
	}
	wf->shared_cycle = from.cycle;
	wf->shared_zone = from.timezone.text;
	if (!wf__has_tasks(r, &wf->tasks, YAML_MAP, root, "tasks"))
		return;
	wf->items = pile_take(r->pile, tasks->n * sizeof *wf->items);
	size_t outer = wf__push(r, "tasks");
	for (size_t i = 0; i < tasks->n; i++) {
		size_t length = wf__push(r, tasks->keys[i]->text);
		const struct yaml_node *key = tasks->keys[i];
		char why[NAME_WHY_BYTES];
		if (name_wrong(key->text, why))
			wf__wrong_name(r, key, key->text, "the name of a task", why);
		else
			read_task(r, key->text, WT_TASK, tasks->items[i], &from);
		wf__pop(r, length);
	}
	wf__pop(r, outer);
}

static void check_step_names(struct wf_reader *r)
{
	const struct workflow *wf = r->wf;

	for (size_t i = 0; i < wf->n; i++) {
		const struct wf_text *name = &wf->items[i].step_name;
		bool taken = strcmp(name->text, "finished") == 0 ||
		             strcmp(name->text, "failed") == 0;
		for (size_t k = 0; k < i && !taken; k++)
			taken = strcmp(name->text, wf->items[k].name) == 0;
		if (taken)
			diag_error(r->d, wf__here(r, name->node), "duplicate_name", NULL,
			           "a step is called '%s' already, or that is a hook", name->text);
	}
}

static void read_hook(struct wf_reader *r, const char *name, const struct wf_text *hook)
{
	if (!hook->node)
		return;
	size_t length = wf__push(r, name);
	read_task(r, name, WT_HOOK, hook->node, &r->wf->base);
	wf__pop(r, length);
}

static void read_steps(struct wf_reader *r, const struct yaml_node *root)
{
	struct workflow *wf = r->wf;
	const struct yaml_node *steps = wf->tasks.node;

	if (!wf__has_tasks(r, &wf->tasks, YAML_LIST, root, "steps"))
		return;
	wf->base.is_step = true;
	wf->items = pile_take(r->pile, (steps->n + 2) * sizeof *wf->items);
	size_t outer = wf__push(r, "steps");
	for (size_t i = 0; i < steps->n; i++) {
		size_t length = wf__push_index(r, i);
		const struct yaml_node *n = steps->items[i];
		read_task(r, NULL, WT_STEP, n, &wf->base);
		if (n->kind == YAML_MAP && !wf__has_must(WT_STEP, n))
			diag_error(r->d, wf__here(r, n), "missing_key", NULL,
			           "a step needs a `name`");
		wf__pop(r, length);
	}
	check_step_names(r);
	wf__pop(r, outer);
	read_hook(r, "finished", &wf->finished);
	read_hook(r, "failed", &wf->failed);
}

/* Beside the one of its name, if there is one: nobody is told of it, and it promises nothing. */
static void be_tried(struct wf_reader *r)
{
	struct workflow *wf = r->wf;

	wf->full = pile_fmt(r->pile, "%s%c%d", wf->full, NAME_TEST, (int)wf->test.value);
	wf->alerts = (struct wf_alerts){ 0 };
	wf->baselines = (struct wf_text){ 0 };
	wf->baseline_items = NULL;
	wf->n_baselines = 0;
}

/* The document that starts at `root`. Owns nothing; wf->items and kin are in wf->pile. */
static void wf_read_document(struct wf_reader *r, const struct yaml_node *root)
{
	struct workflow *wf = r->wf;
	const struct yaml_node *a = yaml_get(root, "workflow"), *b = yaml_get(root, "pipeline"),
			       *c = yaml_get(root, "library");
	int n = (a != NULL) + (b != NULL) + (c != NULL);

	if (root->kind != YAML_MAP) {
		wf__wrong(r, root, "a map that begins with `workflow: NAME`");
		return;
	}
	if (n != 1) {
		diag_error(r->d, wf__here(r, root), n ? "conflict" : "missing_key",
		           n ? NULL : "begin with `workflow: NAME`",
		           "a document is a `workflow`, a `pipeline`, a `library`, a `project` of "
		           "`parameters`, or `global`");
		return;
	}
	wf->is_pipeline = b != NULL;
	wf->is_library = c != NULL;
	wf->project = (struct wf_text){ .text = "default" };
	wf__read_map(r, b ? WT_PIPELINE : c ? WT_LIBRARY : WT_WORKFLOW, root, wf);
	if (!wf->name.node)
		return; /* complained about */
	wf->full = pile_fmt(r->pile, "%s/%s", wf->project.text, wf->name.text);
	if (wf->test.value)
		be_tried(r);
	if (wf->is_library)
		wf__read_library(r, root);
	else if (wf->is_pipeline)
		read_steps(r, root);
	else
		read_tasks(r, root);
	for (size_t i = 0; wf->test.value && i < wf->n; i++)
		wf->items[i].state = (struct wf_choice){ 0 }; /* a draft can be tried, too */
}

static void read_tree(struct workflow *wf, struct diags *d)
{
	struct wf_reader r = { .d = d, .wf = wf, .pile = wf->pile, .file = wf->file };

	wf->full = "";
	buf_init(&r.path);
	wf_read_document(&r, yaml_root(wf->doc));
	buf_done(&r.path);
}

void wf__read_again(struct workflow *wf, struct diags *d)
{
	*wf = (struct workflow){
		.doc = wf->doc, .pile = wf->pile, .file = wf->file, .binds = wf->binds
	};
	read_tree(wf, d);
}

/* Does nothing of these but unknown keys come after the first `n`? They change nothing that is
 * read. */
static bool only_keys(const struct diags *d, size_t n)
{
	for (size_t i = n; i < d->n; i++)
		if (!d->items[i].is_warning && strcmp(d->items[i].code, "unknown_key") != 0)
			return false;
	return d->dropped == 0;
}

/* Takes doc. NULL when there are errors; `keeps`: others than unknown keys. */
static struct workflow *read_workflow(struct yaml_doc *doc, const char *file, bool keeps,
                                      struct diags *d)
{
	size_t before = d->errors, found = d->n;
	struct workflow *wf = mem_new(sizeof *wf);

	wf->doc = doc;
	wf->pile = pile_new();
	wf->file = pile_str(wf->pile, file);
	wf__normal_names(doc);
	read_tree(wf, d);
	if (d->errors == before || (keeps && only_keys(d, found)))
		return wf;
	workflow_free(wf);
	return NULL;
}

void workflow_free(struct workflow *wf)
{
	if (!wf)
		return;
	yaml_free(wf->doc);
	pile_free(wf->pile);
	free(wf);
}

int workflow_parse(const char *text, size_t bytes, const char *file, struct diags *d,
                   struct workflow **ret_wf)
{
	struct yaml_doc **docs;
	struct workflow *wf = NULL;
	size_t n;

	if (yaml_read(text, bytes, file, d, &docs, &n) < 0)
		return E_INVALID;
	if (n == 1) {
		wf = read_workflow(docs[0], file, false, d);
	} else {
		diag_error(d, (struct place){ .file = file, .path = "" }, "documents", NULL,
		           "%zu documents where one is wanted", n);
		for (size_t i = 0; i < n; i++)
			yaml_free(docs[i]);
	}
	free(docs);
	if (!wf)
		return E_INVALID;
	*ret_wf = wf;
	return 0;
}

void workflow_print(const struct workflow *wf, struct buf *out)
{
	yaml_print(yaml_root(wf->doc), 0, out);
	if (wf->binds)
		buf_puts(out, WORKFLOW_BINDS);
}

void workflow_print_test(const struct workflow *wf, int place, struct buf *out)
{
	CHECK(!wf->test.value && !wf->is_library && place > 0 && place <= WORKFLOW_TESTS_MAX);
	yaml_print(yaml_root(wf->doc), 0, out);
	buf_printf(out, "test: %d\n", place);
	if (wf->binds)
		buf_puts(out, WORKFLOW_BINDS);
}

int workflow_test(const struct workflow *wf)
{
	return wf->test.value;
}

char *workflow_name_shown(const char *name)
{
	const char *mark = name_is_test(name) ? strchr(name, NAME_TEST) : NULL;

	return mark ? mem_fmt("%.*s%s", (int)(mark - name), name,
	                      mark + 1 + strspn(mark + 1, "0123456789"))
	            : mem_str(name);
}

void workflow_print_json(const struct workflow *wf, struct buf *out)
{
	yaml_print_json(yaml_root(wf->doc), out);
}

bool workflow_same(const struct workflow *a, const struct workflow *b)
{
	return yaml_same(yaml_root(a->doc), yaml_root(b->doc));
}

const char *workflow_name(const struct workflow *wf)
{
	return wf->full;
}

struct place workflow_place(const struct workflow *wf)
{
	return (struct place){ wf->file, wf->name.node->line, wf->name.node->column, "" };
}

bool workflow_is_library(const struct workflow *wf)
{
	return wf->is_library;
}

size_t workflow_tasks(const struct workflow *wf)
{
	return wf->n;
}

/* project/workflow/task */
static const char *workflow_task_name(const struct workflow *wf, size_t i)
{
	return wf->items[i].full;
}

const char *workflow_owner(const struct workflow *wf)
{
	return wf->base.owner.text ? wf->base.owner.text : "";
}

static bool workflow_says(const struct wf_texts *list, const char *word)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i].text, word) == 0)
			return true;
	return false;
}

/* `task` as a document of a project says it: workflow, or workflow/task; of a workflow: task. */
static bool is_of(const struct wf_texts *tasks, const char *task)
{
	const char *last = strrchr(task, '/'), *middle = strchr(task, '/');

	if (tasks->n == 0)
		return true;
	for (size_t i = 0; i < tasks->n; i++) {
		const char *one = tasks->items[i].text;
		size_t n = strlen(one);
		if (strcmp(one, last + 1) == 0 || strcmp(one, middle + 1) == 0 ||
		    (strncmp(one, middle + 1, n) == 0 && middle + 1 + n == last))
			return true;
	}
	return false;
}

const struct wf_alerts *workflow_alerts(const struct workflow *wf)
{
	return &wf->alerts;
}

const char *workflow_scope_silence(const struct workflow_scope *scope, const char *task,
                                   const char *word, int64_t at)
{
	for (size_t i = 0; i < scope->silences.n; i++) {
		const struct wf_silence *s = &scope->silences.items[i];
		if (at >= s->from_s && at < s->until_s && is_of(&s->tasks, task) &&
		    (s->when.n == 0 || workflow_says(&s->when, word)))
			return s->reason.text;
	}
	return NULL;
}

const struct wf_alerts *workflow_scope_alerts(const struct workflow_scope *s)
{
	return &s->alerts;
}

const char *wf_alert_recipient(const struct wf_alerts *all, const char *task, const char *word,
                               size_t i, int64_t *ret_after_us)
{
	for (size_t k = 0; k < all->n; k++) {
		const struct wf_alert *a = &all->items[k];
		if (!workflow_says(&a->when, word) || !is_of(&a->tasks, task))
			continue;
		*ret_after_us = a->after_us.us;
		if (i < a->to.n)
			return a->to.items[i].text;
		i -= a->to.n;
	}
	return NULL;
}

const char *workflow_cron(const struct workflow *wf, const char *task)
{
	for (size_t i = 0; i < wf->n; i++)
		if (strcmp(workflow_task_name(wf, i), task) == 0)
			return wf->items[i].cron.text;
	return NULL;
}

int64_t workflow_late_after_us(const struct workflow *wf, const char *task)
{
	for (size_t i = 0; i < wf->n; i++)
		if (strcmp(workflow_task_name(wf, i), task) == 0)
			return wf->items[i].late_after_us.us;
	return 0;
}

int64_t workflow_long_after_us(const struct workflow *wf, const char *task)
{
	for (size_t i = 0; i < wf->n; i++)
		if (strcmp(workflow_task_name(wf, i), task) == 0)
			return wf->items[i].long_after_us.us;
	return 0;
}

const char *workflow_description(const struct workflow *wf)
{
	return wf->base.description.text ? wf->base.description.text : "";
}

struct workflow_set *workflow_set_new(void)
{
	struct workflow_set *set = mem_new(sizeof *set);

	map_init(&set->by_name);
	return set;
}

void workflow_set_keep(struct workflow_set *set)
{
	CHECK(set->n == 0 && !set->lacks);
	set->keeps = true;
}

bool workflow_set_is_whole(const struct workflow_set *set)
{
	return !set->lacks;
}

void workflow_set_free(struct workflow_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++)
		workflow_free(set->items[i]);
	map_done(&set->by_name);
	for (size_t i = 0; i < set->n_calendars; i++)
		calendar_doc_free(set->calendars[i]);
	free(set->calendars);
	for (size_t i = 0; i < set->n_scopes; i++)
		wf__scope_free(set->scopes[i]);
	free(set->scopes);
	free(set->items);
	free(set);
}

static void workflow_cut(struct workflow_set *set, size_t n, size_t n_calendars, size_t n_scopes)
{
	while (set->n > n) {
		struct workflow *wf = set->items[--set->n];
		map_remove(&set->by_name, map_text(wf->full), (uint32_t)set->n);
		workflow_free(wf);
	}
	while (set->n_calendars > n_calendars)
		calendar_doc_free(set->calendars[--set->n_calendars]);
	while (set->n_scopes > n_scopes)
		wf__scope_free(set->scopes[--set->n_scopes]);
}

/* Takes doc. */
static void add_calendar(struct workflow_set *set, struct yaml_doc *doc, const char *file,
                         struct diags *d)
{
	struct calendar_doc *c;

	if (calendar_doc_read(doc, file, d, &c) < 0)
		return;
	for (size_t i = 0; i < set->n_calendars; i++) {
		const struct calendar_doc *was = set->calendars[i];
		if (strcmp(calendar_doc_name(was), calendar_doc_name(c)) != 0)
			continue;
		diag_error(d, (struct place){ file, calendar_doc_line(c), 1, "calendar" },
		           "duplicate_name", NULL,
		           "calendar %s stands a second time; first in %s, line %d",
		           calendar_doc_name(c), calendar_doc_file(was), calendar_doc_line(was));
		calendar_doc_free(c);
		return;
	}
	set->calendars = mem_grow(set->calendars, set->n_calendars + 1, sizeof *set->calendars);
	set->calendars[set->n_calendars++] = c;
}

/* Takes doc. */
static void add_document(struct workflow_set *set, struct yaml_doc *doc, const char *file,
                         struct diags *d)
{
	if (wf__is_scope(yaml_root(doc))) {
		wf__add_scope(set, doc, file, d);
		return;
	}
	struct workflow *wf = read_workflow(doc, file, set->keeps, d);
	if (!wf)
		return;
	size_t first = workflow_set_find(set, wf->full);
	if (first < set->n) {
		const struct workflow *was = set->items[first];
		diag_error(d,
		           (struct place){ file, wf->name.node->line, wf->name.node->column, "" },
		           "duplicate_name", NULL, "%s stands a second time; first in %s, line %d",
		           wf->full, was->file, was->name.node->line);
		workflow_free(wf);
		return;
	}
	set->items = mem_room(set->items, &set->cap, set->n + 1, sizeof *set->items);
	map_add(&set->by_name, map_text(wf->full), (uint32_t)set->n);
	set->items[set->n++] = wf;
}

int workflow_set_read(struct workflow_set *set, const char *text, size_t bytes, const char *file,
                      struct diags *d)
{
	size_t errors = d->errors, before = set->n, calendars = set->n_calendars,
	       scopes = set->n_scopes, n;
	struct yaml_doc **docs;

	if (yaml_read(text, bytes, file, d, &docs, &n) < 0) {
		set->lacks = true;
		return E_INVALID;
	}
	for (size_t i = 0; i < n; i++)
		(calendar_doc_is(yaml_root(docs[i])) ? add_calendar : add_document)(set, docs[i],
		                                                                    file, d);
	free(docs);
	for (size_t i = before; i < set->n; i++)
		set->items[i]->binds = wf__stored_line(text, bytes, WORKFLOW_BINDS) != NULL;
	size_t added = set->n - before + set->n_calendars - calendars + set->n_scopes - scopes;
	set->lacks = set->lacks || added < n || (!set->keeps && d->errors > errors);
	if (d->errors == errors)
		return 0;
	if (!set->keeps)
		workflow_cut(set, before, calendars, scopes);
	return E_INVALID;
}

/* What a task says of itself goes over what its workflow says. */
static void drop_states(struct yaml_doc *doc, const struct yaml_node *of)
{
	if (!of || of->kind == YAML_SCALAR)
		return;
	for (size_t i = 0; i < of->n; i++)
		if (of->items[i]->kind == YAML_MAP && yaml_get(of->items[i], "state"))
			yaml_graft(doc, of->items[i], "state", NULL);
}

void workflow_make_draft(struct workflow_set *set, size_t i, struct diags *d)
{
	static const char text[] = "draft";
	struct workflow *wf = set->items[i];
	const struct yaml_node *root = yaml_root(wf->doc), *defaults = yaml_get(root, "defaults");
	struct yaml_doc **docs;
	size_t n;

	if (wf->is_library || yaml_read(text, sizeof text - 1, wf->file, d, &docs, &n) < 0)
		return;
	CHECK(n == 1);
	if (!yaml_get(root, "state") || !yaml_is(yaml_get(root, "state"), text))
		yaml_graft(wf->doc, root, "state", yaml_root(docs[0]));
	if (defaults && defaults->kind == YAML_MAP && yaml_get(defaults, "state"))
		yaml_graft(wf->doc, defaults, "state", NULL);
	drop_states(wf->doc, yaml_get(root, "tasks"));
	wf__read_again(wf, d);
	yaml_free(docs[0]);
	free(docs);
}

size_t workflow_set_count(const struct workflow_set *set)
{
	return set->n;
}

const struct workflow *workflow_set_at(const struct workflow_set *set, size_t i)
{
	return set->items[i];
}

size_t workflow_set_find(const struct workflow_set *set, const char *name)
{
	uint64_t key = map_text(name);
	size_t at = 0;
	uint32_t i = map_first(&set->by_name, key, &at);

	while (i != MAP_NONE && strcmp(set->items[i]->full, name) != 0)
		i = map_next(&set->by_name, key, &at);
	return i == MAP_NONE ? set->n : i;
}

size_t workflow_set_calendars(const struct workflow_set *set)
{
	return set->n_calendars;
}

const struct calendar_doc *workflow_set_calendar(const struct workflow_set *set, size_t i)
{
	return set->calendars[i];
}
