/* The changes of an apply: each is a line of the answer and a part of the edit. Callers begin a
 * line, add what differs, and end it. Once the answer is full, further lines are only counted. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "baseserver/command/begin.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/window.h"
#include "store/task_row.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"
#include "util/yaml.h"

/* More of what changes is not told one by one: an answer is one frame. */
enum { CHANGES_BYTES_MAX = 3 << 20 };

/* --- told --------------------------------------------------------------------------------- */

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

static void change_field(const char *path, const struct yaml_node *was, const struct yaml_node *is,
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
				change_field(path, side ? here : there, side ? NULL : here, out);
			free(path);
		}
	}
}

void apply__change_begin(struct apply *a, const char *kind, const char *name, const char *what,
                         uint32_t version)
{
	struct buf *out = &a->changes;
	struct apply_totals *n = &a->totals;

	CHECK(out->len >= a->change_at); /* the one before has ended */
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

void apply__change_end(struct apply *a, const char *what, const char *prefix,
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
	CHECK(a->change_at < out->len);
	out->len = a->change_at;
	a->totals.left_out++;
}

void apply__change(struct apply *a, const char *kind, const char *name, const char *what,
                   uint32_t version)
{
	apply__change_begin(a, kind, name, what, version);
	apply__change_end(a, what, "", NULL, NULL);
}

bool apply__replans(const struct apply *a, const struct task *t, const struct store_task *row)
{
	const struct cat_task *was = catalog_task(&a->c->cat, t->id);

	return was &&
	       (plan_since(t->plan) != plan_since(was->def->plan) || row->state != was->row.state);
}

void apply__put_plan(struct apply *a, const struct task *t, const struct store_task *row)
{
	const struct cat_task *was = catalog_task(&a->c->cat, t->id);
	bool is_new = !was || catalog_retired(was);
	struct buf *out = &a->changes;

	if (!is_new && was->row.state == TS_OVER && row->state == TS_ONLINE)
		put_bool(out, "online_again", true);
	if (!is_new && t->state == TS_ONLINE &&
	    (row->state == TS_OFFLINE || row->state == TS_DETACHED))
		put_bool(out, "stays_offline", true);
	if (!is_new && was->row.state == TS_ONLINE && row->state == TS_DRAFT)
		put_bool(out, "out_of_force", true);
	begin_print(&a->c->cat, &(struct beginning){ was, t, t->plan, row },
	            a->cmd->o.now_us / US_PER_S, out);
}

/* --- kept --------------------------------------------------------------------------------- */

static int64_t cycle_seconds(const struct plan *plan)
{
	static const int64_t unit_s[] = { 0, 60, 3600, 86400, 604800, 2592000, 31536000, 0, 0 };

	return unit_s[plan_unit(plan)] * plan_step(plan);
}

/* A task that is added to a workflow in quarantine is in it, too. */
static int64_t aside_since(struct apply *a, uint32_t workflow)
{
	const struct catalog *cat = &a->c->cat;

	if (cat->n_aside == 0)
		return 0;
	for (size_t i = 0; i < cat->tasks_cap && a->aside_of != workflow; i++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)i);
		if (!t || t->row.workflow_id != workflow || catalog_retired(t))
			continue;
		a->aside_of = workflow;
		a->aside_us = t->row.quarantined_us;
	}
	return a->aside_of == workflow ? a->aside_us : 0;
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
	if (is_new)
		row->quarantined_us = aside_since(a, t->workflow_id);
	row->id = t->id;
	row->workflow_id = t->workflow_id;
	row->version = t->version;
	/* What a command changed stays, unless the document says something new. */
	if (is_new || was->def->state != t->state || commander__retires(a->c, t->id))
		row->state = (uint8_t)t->state;
	if (is_new || was->def->frozen != t->frozen)
		row->frozen = t->frozen;
	bool over = !is_new && row->state == TS_OVER && t->state == TS_ONLINE;
	if (a->cmd->ops->tries) {
		row->state = TS_OVER; /* its plan makes nothing; what its command makes starts */
		row->frozen = false;
	} else if (begin_follow(was, t->plan, &a->cmd->o, over, row))
		begin_keep(a->e, t->id, t->name, t->plan, a->cmd->actor, a->cmd->o.now_us);
	task_row_words(row, t);
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

const struct store_task *apply__add_task(struct apply *a, struct task *t)
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

void apply__retire_doc(struct apply *a, const struct doc *d)
{
	apply__add_doc(a, &(struct store_doc){ .kind = DOC_WORKFLOW,
	                                       .id = d->id,
	                                       .version = d->version + 1,
	                                       .retired = true,
	                                       .name = d->name,
	                                       .body = d->body,
	                                       .body_len = d->len });
}

void apply__add_doc(struct apply *a, const struct store_doc *d)
{
	struct store_doc own = *d;

	own.actor = a->cmd->actor;
	own.at_us = a->cmd->o.now_us;
	docs_add(a->e, &own);
}
