/* Documents to one edit: read, compiled as one set, compared with what is in force. */
#include "baseserver/command/apply.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "baseserver/command/begin.h"
#include "baseserver/model/json_read.h"
#include "rt/manifests.h"
#include "sched/task.h"
#include "sched/window.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/yaml.h"

/* More of what changes is not told one by one: an answer is one frame. */
enum { CHANGES_BYTES_MAX = 3 << 20 };

static void make_world(struct apply *a)
{
	int64_t now = a->cmd->o.now_us / US_PER_S;
	struct commander *c = a->c;

	a->has_world = true;
	world_init(&a->world, &c->task_names, &c->workflow_names, &c->cat, &c->calendars,
	           c->set.timezone, true, now);
	a->world.scopes = &c->scopes;
	a->world.targets = &c->targets;
	a->world.set = a->set;
	a->world.w.types = manifests_types(c->types);
	a->world.w.infra_max = c->set.infra_max;
}

int apply_compile(struct apply *a)
{
	if (!a->compiler) {
		make_world(a);
		if (apply_resolve(a) < 0)
			return apply_refuse_diags(a);
		a->compiler = workflow_compile_begin(a->set, &a->world.w, &a->diags);
	}
	if (!workflow_compile_some(a->compiler, apply_enough, a))
		return 1;
	struct wf_compiler *compiler = a->compiler;
	a->compiler = NULL;
	if (workflow_compile_end(compiler, &a->tasks, &a->n) < 0)
		return apply_refuse_diags(a);
	apply_index(a);
	return 0;
}

/* --- what becomes different -------------------------------------------------------------- */

static void node_text(const struct yaml_node *n, struct buf *out, const char *key)
{
	struct buf text;

	if (!n) {
		put_null(out, key);
		return;
	}
	buf_init(&text);
	if (n->kind == YAML_SCALAR)
		buf_puts(&text, n->text);
	else
		yaml_print_json(n, &text);
	put_text(out, key, buf_str(&text));
	buf_done(&text);
}

static void field(const char *path, const struct yaml_node *was, const struct yaml_node *is,
                  struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "field", path);
	node_text(was, out, "before");
	node_text(is, out, "after");
	put_close(out, '}');
}

/* Keys of both maps, one after the other; maps within are compared key by key. */
static void fields(const char *prefix, const struct yaml_node *was, const struct yaml_node *is,
                   int depth, struct buf *out)
{
	for (int side = 0; side < 2; side++) {
		const struct yaml_node *m = side ? was : is, *other = side ? is : was;
		for (size_t i = 0; m && m->kind == YAML_MAP && i < m->n; i++) {
			const char *key = m->keys[i]->text;
			const struct yaml_node *here = m->items[i];
			const struct yaml_node *there = other && other->kind == YAML_MAP
			                                        ? yaml_get(other, key)
			                                        : NULL;
			if ((side && there) || (!prefix[0] && strcmp(key, "tasks") == 0) ||
			    (there && yaml_same(here, there)))
				continue;
			char *path = mem_fmt("%s%s%s", prefix, prefix[0] ? "." : "", key);
			if (there && depth < 2 && here->kind == YAML_MAP && there->kind == YAML_MAP)
				fields(path, there, here, depth + 1, out);
			else
				field(path, side ? here : there, side ? NULL : here, out);
			free(path);
		}
	}
}

void apply_change_begin(struct apply *a, const char *kind, const char *name, const char *what,
                        uint32_t version)
{
	struct buf *out = &a->changes;
	struct apply_totals *n = &a->totals;

	a->change_at = out->len;
	n->create += strcmp(what, "create") == 0;
	n->update += strcmp(what, "update") == 0;
	n->same += strcmp(what, "same") == 0;
	n->retire += strcmp(what, "retire") == 0;
	put_open(out, NULL, '{');
	put_text(out, "kind", kind);
	put_text(out, "name", name);
	put_text(out, "change", what);
	if (version)
		put_int(out, "version", version);
}

void apply_change_end(struct apply *a, const char *what, const char *prefix,
                      const struct yaml_node *was, const struct yaml_node *is)
{
	struct buf *out = &a->changes;

	put_open(out, "fields", '[');
	if (strcmp(what, "update") == 0)
		fields(prefix, was, is, prefix[0] ? 1 : 0, out);
	put_close(out, ']');
	put_close(out, '}');
	if (out->len <= CHANGES_BYTES_MAX)
		return;
	out->len = a->change_at;
	a->totals.left_out++;
}

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

static void change(struct apply *a, const char *kind, const char *name, const char *what,
                   uint32_t version, const struct yaml_node *was, const struct yaml_node *is)
{
	apply_change_begin(a, kind, name, what, version);
	apply_change_end(a, what, "", was, is);
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

bool apply_replans(const struct apply *a, const struct task *t, const struct store_task *row)
{
	const struct cat_task *was = catalog_task(&a->c->cat, t->id);

	return was &&
	       (plan_since(t->plan) != plan_since(was->def->plan) || row->state != was->row.state);
}

void apply_put_plan(struct apply *a, const struct task *t, const struct store_task *row)
{
	const struct cat_task *was = catalog_task(&a->c->cat, t->id);
	bool is_new = !was || catalog_retired(was);
	struct buf *out = &a->changes;

	if (!is_new && was->row.state == TS_OVER && row->state == TS_ONLINE)
		put_bool(out, "online_again", true);
	if (!is_new && t->state == TS_ONLINE &&
	    (row->state == TS_OFFLINE || row->state == TS_DETACHED))
		put_bool(out, "stays_offline", true);
	begin_print(&a->c->cat, was, t->plan, row, a->cmd->o.now_us / US_PER_S, out);
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
                        bool is_new, bool differs, const struct yaml_node *was,
                        const struct yaml_node *is)
{
	const struct yaml_node *old = task_node(was, t->name), *now = task_node(is, t->name);
	bool as_was = old && now && yaml_same(old, now) && !uses_anew(now, was, is);
	const char *what = is_new ? "create" : differs && !as_was ? "update" : "same";

	if (row && strcmp(what, "same") == 0 && apply_replans(a, t, row))
		what = "update";
	apply_change_begin(a, "task", t->name, what, 0);
	if (row)
		apply_put_plan(a, t, row);
	apply_change_end(a, what, "", old, now);
}

/* --- rows ------------------------------------------------------------------------------- */

static int64_t cycle_seconds(const struct plan *plan)
{
	static const int64_t unit_s[] = { 0, 60, 3600, 86400, 604800, 2592000, 31536000, 0, 0 };

	return unit_s[plan_unit(plan)] * plan_step(plan);
}

static void fill_row(struct apply *a, struct task *t, struct store_task *row)
{
	const struct cat_task *was = catalog_task(&a->c->cat, t->id);
	const struct name *made = names_find(&a->world.new_tasks, t->name);
	const struct schedule *s = plan_schedule(t->plan);
	bool is_new = !was || catalog_retired(was);

	if (was)
		*row = was->row;
	else
		*row = (struct store_task){ .planned_through = INT64_MIN,
			                    .online_from = INT64_MIN };
	if (made)
		row->anchor = made->anchor;
	else if (!was)
		row->anchor = names_find(&a->c->task_names, t->name)->anchor;
	row->id = t->id;
	row->workflow_id = t->workflow_id;
	row->version = t->version;
	/* What a command changed stays, unless the document says something new. */
	if (is_new || was->def->state != t->state || commander_retires(a->c, t->id))
		row->state = (uint8_t)t->state;
	if (is_new || was->def->frozen != t->frozen)
		row->frozen = t->frozen;
	bool over = !is_new && row->state == TS_OVER && t->state == TS_ONLINE;
	if (begin_follow(was, t->plan, &a->cmd->o, over, row))
		begin_keep(a->e, t->id, t->name, t->plan, a->cmd->actor, a->cmd->o.now_us);
	row->name = t->name;
	row->type = t->type;
	row->owner = t->owner;
	row->title = t->title;
	row->workflow_title = t->workflow_title;
	row->priority = t->priority;
	row->cycle_s = cycle_seconds(t->plan);
	row->start_s = s->start;
	row->end_s = s->end;
}

static void add_links(struct edit *e, const struct task *t)
{
	for (size_t i = 0; i < t->n_links; i++) {
		const struct task_link *l = &t->links[i];
		struct buf window;
		e->links = mem_grow(e->links, e->n_links + 1, sizeof *e->links);
		struct store_link *sl = &e->links[e->n_links++];
		*sl = (struct store_link){ .from = l->parent,
			                   .to = t->id,
			                   .depend_type = link_depend_type(l),
			                   .on = (uint8_t)l->on,
			                   .strategy = (uint8_t)l->strategy,
			                   .n = l->n };
		if (!l->window)
			continue;
		buf_init(&window);
		window_print(l->window, &window);
		sl->window = mem_str(buf_str(&window));
		buf_done(&window);
	}
}

const struct store_task *apply_add_task(struct apply *a, struct task *t)
{
	struct edit *e = a->e;

	e->tasks = mem_grow(e->tasks, e->n_tasks + 1, sizeof *e->tasks);
	e->rows = mem_grow(e->rows, e->n_tasks + 1, sizeof *e->rows);
	e->tasks[e->n_tasks] = task_ref(t);
	struct store_task *row = &e->rows[e->n_tasks++];
	fill_row(a, t, row);
	add_links(e, t);
	return row;
}

void apply_add_doc(struct apply *a, const struct store_doc *d)
{
	struct edit *e = a->e;

	e->docs = mem_grow(e->docs, e->n_docs + 1, sizeof *e->docs);
	struct store_doc *own = &e->docs[e->n_docs++];
	*own = *d;
	own->name = mem_str(d->name);
	own->body = mem_strn(d->body, d->body_len);
	own->actor = mem_str(a->cmd->actor);
	own->at_us = a->cmd->o.now_us;
}

/* --- tasks that are no longer named ------------------------------------------------------- */

static int may_retire(struct apply *a, const struct cat_task *t)
{
	const struct task *child = apply_waits_for(a, t->id);

	if (child)
		return refuse(a->f, E_CONFLICT, "args.documents", NULL,
		              "%s needs %s, which is no longer in its workflow's document",
		              child->name, t->def->name);
	if (!a->cmd->o.retire)
		return refuse(a->f, E_CONFLICT, "args.documents", "retire: true",
		              "%s is in force and no longer in its workflow's document",
		              t->def->name);
	if (t->live != SLAB_NONE)
		return refuse(a->f, E_CONFLICT, "args.documents", "take it offline first",
		              "%s has unfinished instances", t->def->name);
	for (size_t i = 0; i < t->n_children; i++) {
		const struct cat_task *ch = catalog_task(&a->c->cat, t->children[i]);
		if (ch && ch->row.state == TS_ONLINE && !apply_owns(a, ch))
			return refuse(a->f, E_CONFLICT, "args.documents", NULL,
			              "%s is online and depends on %s", ch->def->name,
			              t->def->name);
	}
	return 0;
}

static int by_workflow(const void *a, const void *b)
{
	const struct leaving *x = a, *y = b;

	if (x->workflow != y->workflow)
		return x->workflow < y->workflow ? -1 : 1;
	return x->task < y->task ? -1 : x->task > y->task;
}

static void list_leaving(struct apply *a)
{
	const struct catalog *cat = &a->c->cat;

	for (size_t i = 0; i < cat->tasks_cap; i++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)i);
		if (!t || catalog_retired(t) || apply_in_set(a, t->id))
			continue;
		if ((a->n_leaving & (a->n_leaving - 1)) == 0)
			a->leaving = mem_grow(a->leaving, a->n_leaving ? a->n_leaving * 2 : 1,
			                      sizeof *a->leaving);
		a->leaving[a->n_leaving++] = (struct leaving){ t->row.workflow_id, t->id };
	}
	if (a->n_leaving)
		qsort(a->leaving, a->n_leaving, sizeof *a->leaving, by_workflow);
}

static int retire(struct apply *a, const struct cat_task *t)
{
	struct edit *e = a->e;
	int r = may_retire(a, t);

	if (r < 0)
		return r;
	e->tasks = mem_grow(e->tasks, e->n_tasks + 1, sizeof *e->tasks);
	e->rows = mem_grow(e->rows, e->n_tasks + 1, sizeof *e->rows);
	e->tasks[e->n_tasks] = task_ref(t->def);
	e->rows[e->n_tasks] = t->row;
	e->rows[e->n_tasks++].state = TS_RETIRED;
	change(a, "task", t->def->name, "retire", 0, NULL, NULL);
	return 0;
}

static int retire_missing(struct apply *a, const char *workflow)
{
	const struct name *known = names_find(&a->c->workflow_names, workflow);
	size_t lo = 0, hi = a->n_leaving;
	int r = 0;

	while (known && lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (a->leaving[mid].workflow < known->id)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; known && r == 0 && lo < a->n_leaving && a->leaving[lo].workflow == known->id; lo++)
		r = retire(a, catalog_task(&a->c->cat, a->leaving[lo].task));
	return r;
}

/* --- one workflow ------------------------------------------------------------------------- */

static void take_tasks(struct apply *a, size_t first, size_t n, bool differs,
                       const struct yaml_node *was, const struct yaml_node *is)
{
	for (size_t i = first; i < first + n; i++) {
		struct task *t = a->tasks[i];
		const struct cat_task *now = catalog_task(&a->c->cat, t->id);
		bool is_new = !now || catalog_retired(now);
		if (!is_new && !differs)
			t->version = now->def->version; /* its document stays */
		const struct store_task *row = NULL;
		if (is_new || differs || apply_replanned(a, t) ||
		    begin_moves(now, t->plan, &a->cmd->o))
			row = apply_add_task(a, t);
		change_task(a, t, row, is_new, differs, was, is);
	}
}

/* Workflows of a pruned project that the documents do not name. */
static int prune(struct apply *a)
{
	for (size_t i = 0; i < a->c->documents.n; i++) {
		const struct document *d = &a->c->documents.items[i];
		if (d->retired || !apply_prunes(a, d->name) || apply_names(a, d->name))
			continue;
		int r = retire_missing(a, d->name);
		if (r == 0 && workflow_stored_library(d->body, d->len))
			r = apply_unused(a, d->name, "args.prune");
		if (r < 0)
			return r;
		apply_add_doc(a, &(struct store_doc){ .kind = DOC_WORKFLOW,
		                                      .id = d->id,
		                                      .version = d->version + 1,
		                                      .retired = true,
		                                      .name = d->name,
		                                      .body = d->body,
		                                      .body_len = d->len });
		change(a, "workflow", d->name, "retire", d->version + 1, NULL, NULL);
	}
	return 0;
}

/* What is about to go when its last run has ended is wanted again: a version of its own. */
static bool comes_back(const struct apply *a, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		if (commander_retires(a->c, a->tasks[i]->id))
			return true;
	return false;
}

/* `first`: of its tasks, the index. */
static int take_workflow(struct apply *a, const struct workflow *wf, size_t first)
{
	const char *name = workflow_name(wf);
	const struct document *was = documents_find(&a->c->documents, name);
	struct yaml_doc **old_docs, **new_docs;
	size_t n_old, n_new;
	struct buf body;
	uint32_t id, version;

	buf_init(&body);
	workflow_print(wf, &body);
	a->world.w.workflow(&a->world, name, &id, &version);
	bool differs = !was || was->len != body.len ||
	               memcmp(was->body, buf_str(&body), body.len) != 0 ||
	               comes_back(a, first, workflow_tasks(wf));
	const struct yaml_node *old = apply_root(was ? was->body : NULL, was ? was->len : 0,
	                                         &old_docs, &n_old);
	const struct yaml_node *now = apply_root(buf_str(&body), body.len, &new_docs, &n_new);
	change(a, workflow_is_library(wf) ? "library" : "workflow", name,
	       !was      ? "create"
	       : differs ? "update"
	                 : "same",
	       differs ? version : was->version, old, now);
	take_tasks(a, first, workflow_tasks(wf), differs, old, now);
	if (differs)
		apply_add_doc(a, &(struct store_doc){ .kind = DOC_WORKFLOW,
		                                      .id = id,
		                                      .version = version,
		                                      .name = name,
		                                      .body = buf_str(&body),
		                                      .body_len = body.len });
	int r = retire_missing(a, name);
	apply_free_docs(old_docs, n_old);
	apply_free_docs(new_docs, n_new);
	buf_done(&body);
	return r;
}

static int take_begin(struct apply *a)
{
	list_leaving(a);
	put_open(&a->changes, "changes", '[');
	int r = apply_calendars(a);
	return r < 0 ? r : apply_scopes(a);
}

static int take_workflows(struct apply *a)
{
	for (size_t n = 0; a->at < a->n_given; a->at++, n++) {
		if (n && apply_enough(a))
			return 1;
		const struct workflow *wf = workflow_set_at(a->set, a->at);
		int r = take_workflow(a, wf, a->first);
		if (r < 0)
			return r;
		a->first += workflow_tasks(wf);
	}
	return 0;
}

static int take_rest(struct apply *a)
{
	for (size_t i = a->n_given; i < workflow_set_count(a->set); i++) {
		size_t n = workflow_tasks(workflow_set_at(a->set, i));
		apply_replan(a, a->first, n);
		a->first += n;
	}
	int r = prune(a);
	if (r == 0)
		r = apply_retire_libraries(a);
	put_close(&a->changes, ']');
	print_totals(a);
	apply_print_diags(&a->diags, true, "warnings", &a->changes);
	return r < 0 ? r : apply_preview(a);
}

/* graph_tasks_max; a document of more than WORKFLOW_TASKS_MAX was not read at all. */
static int check_sizes(const struct apply *a)
{
	size_t max = a->c->set.tasks_max;

	for (size_t i = 0; i < a->n_given && max; i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		if (workflow_tasks(wf) > max)
			return refuse(a->f, E_INVALID, "args.documents", NULL,
			              "%s has %zu tasks, graph_tasks_max allows %zu",
			              workflow_name(wf), workflow_tasks(wf), max);
	}
	return 0;
}

/* --- the whole, piece by piece ------------------------------------------------------------ */

enum { SLICE_US = 10 * US_PER_MS, PAUSE_US = 500, TELL_US = 300 * US_PER_MS };

/* How many of the documents are judged, kept a few times a second: so it can be followed. */
static void tell(struct apply *a)
{
	struct cmd *cmd = a->cmd;
	int64_t now_us = actor_mono_us(a->c->me);

	if (!a->sliced || !args_are_brief(cmd->args) || cmd->dry || now_us < a->tell_us)
		return;
	a->tell_us = now_us + TELL_US;
	cmd->state = CS_RUNNING;
	cmd->total = cmd->o.documents ? (int64_t)cmd->o.documents->len : 0;
	cmd->done = a->stage < AP_TAKE ? 0 : (int64_t)a->at;
	cmd->apply_told = true;
	cmd_record(a->c, cmd, NULL, 0);
}

static struct apply *apply_new(struct commander *c, struct cmd *cmd)
{
	struct apply *a = mem_new(sizeof *a);

	*a = (struct apply){ .c = c, .cmd = cmd, .set = workflow_set_new() };
	a->e = mem_new(sizeof *a->e);
	a->sliced = args_are_brief(cmd->args) && cmd->tries == 0;
	diags_init(&a->diags);
	buf_init(&a->changes);
	map_init(&a->index);
	map_init(&a->waited);
	map_init(&a->by_library);
	return a;
}

void apply_drop(struct cmd *cmd)
{
	struct apply *a = cmd->apply;

	if (!a)
		return;
	cmd->apply = NULL;
	if (a->c->judged == cmd)
		a->c->judged = NULL;
	if (a->compiler)
		workflow_compile_end(a->compiler, &a->tasks, &a->n);
	if (a->has_world)
		world_done(&a->world);
	for (size_t i = 0; i < a->n; i++)
		task_unref(a->tasks[i]);
	free(a->tasks);
	free(a->leaving);
	map_done(&a->index);
	map_done(&a->waited);
	workflow_set_free(a->set);
	apply_libraries_done(a);
	diags_done(&a->diags);
	edit_free(a->e);
	buf_done(&a->changes);
	free(a);
}

static int judge(struct apply *a)
{
	int r = apply_alike(a);

	if (r == 0)
		r = pools_check(a->c, a->set, a->tasks, a->n, a->f);
	return r == 0 ? take_begin(a) : r;
}

static int read(struct apply *a)
{
	int r = apply_read(a);

	if (r == 0)
		r = within_check_set(&a->cmd->o, a->set, a->f);
	return r == 0 ? check_sizes(a) : r;
}

/* 0: the stage is over */
static int work(struct apply *a)
{
	switch (a->stage) {
	case AP_READ:
		return read(a);
	case AP_COMPILE:
		return apply_compile(a);
	case AP_JUDGE:
		return judge(a);
	case AP_TAKE:
		return take_workflows(a);
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
		int r = work(a);
		if (r)
			return r;
		a->at = 0;
		a->stage++;
		if (a->stage <= AP_REST && apply_enough(a))
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
			return may_retire((struct apply *)(uintptr_t)a, t);
	}
	return 0;
}

int apply_begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	f->json = NULL;
	if (!cmd->apply) {
		cmd->apply = apply_new(c, cmd);
		if (!cmd->dry) /* what it is judged by stays meanwhile */
			c->judged = cmd;
	}
	struct apply *a = cmd->apply;
	a->f = f;
	a->until_us = actor_mono_us(c->me) + SLICE_US;
	int r = stages(a);
	if (r == 2) { /* tasks that are over went offline: once more, and without a pause */
		cmd->tries++;
		apply_drop(cmd);
		return apply_begin(c, cmd, f);
	}
	if (r == 1) {
		tell(a);
		commander_alarm(c, actor_mono_us(c->me) + PAUSE_US);
		return 1;
	}
	if (r == 0 && a->sliced)
		r = retired_are_still(a);
	if (r < 0 && apply_preview_errors(a))
		r = 0;
	if (r == 0) {
		cmd->edit = a->e;
		a->e = NULL;
		free(cmd->changes);
		cmd->changes = mem_str(buf_str(&a->changes));
		cmd->done = cmd->recorded ? cmd->total : cmd->done;
	}
	apply_drop(cmd);
	actor_wake(c->me); /* edits may have waited for it */
	return r;
}
