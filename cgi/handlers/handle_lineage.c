/* What feeds a workflow or a task, and what it feeds, level by level, across workflows, with how
 * the newest of each that has come due stands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/names.h"
#include "sched/task.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/map.h"

#define NODES_MAX 500
#define TASKS_MAX 3000             /* whose instances one answer looks at */
#define BOX_ABOVE (UINT32_MAX - 1) /* what is another project's, of which nothing is read: */
#define BOX_BELOW (UINT32_MAX - 2) /* one box above and one below, without a name */
#define LOOK_BACK 4                /* of a task's newest instances: dates to come are among them */

/* A task, or a workflow with all its tasks. */
struct node {
	uint32_t id;
	int level; /* below 0: it feeds the one that was asked for */
	char *name, *type;
	uint32_t tasks, states[ST_COUNT], forced;
	int64_t run_date, due_us; /* the newest run_date; the earliest due of what has not ended */
	bool closed;              /* its links were not followed */
	bool another;             /* a box: it is another project's */
};

struct edge {
	uint32_t from, to, n; /* nodes by id */
};

struct lineage {
	struct call *c;
	struct reader *r;
	bool by_task;
	int64_t up, down, now_us;
	struct node *nodes;
	size_t n_nodes, cap_nodes, todo;
	struct edge *edges;
	size_t n_edges, cap_edges, tasks;
	bool cut;
	/* while one is read */
	uint32_t wanted;
	char task_name[CALL_PARAM_BYTES], type[64], name[CALL_PARAM_BYTES];
	struct store_task task;
	struct instance last;
	bool have;
	uint32_t *ids;
	size_t n_ids, cap_ids;
	struct store_link *links; /* into every task that was read; one direction is read beside */
	size_t n_links, cap_links;
	struct map groups; /* task to node, drawn or not */
};

/* --- reading ---------------------------------------------------------------------------------- */

static int task_take(void *ctx, const struct store_task *t)
{
	struct lineage *l = ctx;

	l->task = *t;
	snprintf(l->task_name, sizeof l->task_name, "%s", t->name);
	snprintf(l->type, sizeof l->type, "%s", t->type ? t->type : "");
	return 0;
}

static int member_take(void *ctx, const struct store_task *t)
{
	struct lineage *l = ctx;

	if (t->workflow_id != l->wanted || t->state == TS_RETIRED)
		return 0;
	if (l->tasks == TASKS_MAX) {
		l->cut = true;
		return 0;
	}
	l->tasks++;
	if (map_get(&l->groups, t->id) == MAP_NONE)
		map_add(&l->groups, t->id, t->workflow_id);
	l->ids = mem_room(l->ids, &l->cap_ids, l->n_ids + 1, sizeof *l->ids);
	l->ids[l->n_ids++] = t->id;
	return 0;
}

static int doc_take(void *ctx, const struct store_doc *d)
{
	struct lineage *l = ctx;

	l->wanted = d->id;
	snprintf(l->name, sizeof l->name, "%s", d->name);
	return 0;
}

static int link_take(void *ctx, const struct store_link *k)
{
	struct lineage *l = ctx;

	l->links = mem_room(l->links, &l->cap_links, l->n_links + 1, sizeof *l->links);
	l->links[l->n_links] = *k;
	if (k->from == 0)
		l->links[l->n_links].from = BOX_ABOVE;
	if (k->to == 0)
		l->links[l->n_links].to = BOX_BELOW;
	l->n_links++;
	return 0;
}

/* The newest that has come due, else the nearest to come of those looked at. */
static int last_take(void *ctx, const struct instance *i)
{
	struct lineage *l = ctx;

	if (!l->have || l->last.eff_due_us > l->now_us)
		l->last = *i;
	l->have = true;
	return l->last.eff_due_us > l->now_us ? 0 : E_LIMIT;
}

static int members_read(struct lineage *l, uint32_t workflow)
{
	struct read_answer at = { 0 };
	int code = 0;

	l->wanted = workflow;
	l->n_ids = 0;
	do {
		struct read_task_filter f = { .workflow = workflow };
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .answer = &at };

		code = read_tasks(l->r, &f, &page, member_take, l, &l->c->err);
	} while (code == 0 && at.cursor[0] != '\0');
	return code;
}

/* --- nodes and edges -------------------------------------------------------------------------- */

static struct node *node_find(struct lineage *l, uint32_t id)
{
	for (size_t i = 0; i < l->n_nodes; i++)
		if (l->nodes[i].id == id)
			return &l->nodes[i];
	return NULL;
}

static void node_add(struct lineage *l, uint32_t id, const char *name, const char *type, int level)
{
	if (l->n_nodes == NODES_MAX) {
		l->cut = true;
		return;
	}
	l->nodes = mem_room(l->nodes, &l->cap_nodes, l->n_nodes + 1, sizeof *l->nodes);
	l->nodes[l->n_nodes++] = (struct node){
		.id = id, .level = level, .name = mem_str(name), .type = mem_str(type)
	};
}

static void edge_count(struct lineage *l, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < l->n_edges; i++) {
		if (l->edges[i].from == from && l->edges[i].to == to) {
			l->edges[i].n++;
			return;
		}
	}
	l->edges = mem_room(l->edges, &l->cap_edges, l->n_edges + 1, sizeof *l->edges);
	l->edges[l->n_edges++] = (struct edge){ from, to, 1 };
}

/* Which node a task belongs to; 0: the task is not there. */
static int group_of(struct lineage *l, uint32_t task, uint32_t *ret)
{
	uint32_t known = map_get(&l->groups, task);
	int code;

	*ret = known;
	if (known != MAP_NONE)
		return 0;
	*ret = 0;
	code = read_task(l->r, NULL, task, task_take, l, &l->c->err);
	if (code == 0) {
		*ret = l->by_task ? task : l->task.workflow_id;
		map_add(&l->groups, task, *ret);
	} else if (code == E_NOT_FOUND) {
		l->c->err = (struct err){ 0 };
		code = 0;
	}
	return code;
}

static bool is_box(uint32_t id)
{
	return id == BOX_ABOVE || id == BOX_BELOW;
}

static void box_add(struct lineage *l, uint32_t id, int level)
{
	size_t n = l->n_nodes;

	node_add(l, id, "", "", level);
	if (l->n_nodes == n)
		return;
	l->nodes[n].another = l->nodes[n].closed = true;
	map_add(&l->groups, id, id);
}

/* The node of the task at a link's other end, made when `level` is drawn. */
static int end_take(struct lineage *l, size_t at, uint32_t task, int level)
{
	uint32_t id = task;
	int code = is_box(task) ? 0 : group_of(l, task, &id);

	if (code < 0 || id == 0 || node_find(l, id))
		return code;
	if (level < -l->up || level > l->down) {
		l->nodes[at].closed = true;
		return 0;
	}
	if (is_box(id)) {
		box_add(l, id, level);
		return 0;
	}
	if (l->by_task) {
		code = read_task(l->r, NULL, id, task_take, l, &l->c->err);
		if (code == 0)
			node_add(l, id, l->task_name, l->type, level);
		return code;
	}
	code = read_doc(l->r, &(struct read_which){ DOC_WORKFLOW, .id = id }, doc_take, l,
	                &l->c->err);
	if (code == 0)
		node_add(l, id, l->name, "", level);
	return code;
}

/* Levels grow outwards only: what is above is followed upwards, what is below downwards. The links
 * into each task are kept, for they are all the edges there are. */
static int links_follow(struct lineage *l, size_t at, bool children)
{
	int code = 0, level = l->nodes[at].level;
	size_t from = l->n_links;

	for (size_t i = 0; i < l->n_ids && code == 0; i++)
		code = read_links(l->r, l->ids[i], children, link_take, l, &l->c->err);
	for (size_t i = from; i < l->n_links && code == 0; i++) {
		if (children) {
			code = end_take(l, at, l->links[i].to, level + 1);
			if (l->links[i].to == BOX_BELOW && node_find(l, BOX_BELOW))
				edge_count(l, map_get(&l->groups, l->links[i].from), BOX_BELOW);
		} else if (level <= 0)
			code = end_take(l, at, l->links[i].from, level - 1);
	}
	if (children)
		l->n_links = from;
	return code;
}

static void edges_make(struct lineage *l)
{
	for (size_t i = 0; i < l->n_links; i++) {
		uint32_t from = map_get(&l->groups, l->links[i].from);
		uint32_t to = map_get(&l->groups, l->links[i].to);

		if (from != MAP_NONE && to != MAP_NONE && from != to && node_find(l, from) &&
		    node_find(l, to))
			edge_count(l, from, to);
	}
}

static int task_look(struct lineage *l, struct node *n, uint32_t task)
{
	struct read_filter f = { .tasks = &task, .n_tasks = 1 };
	struct read_page page = { .limit = LOOK_BACK, .descending = true };
	const struct instance *i = &l->last;
	int code;

	n->tasks++;
	l->have = false;
	code = read_instances(l->r, &f, &page, last_take, l, &l->c->err);
	if (code < 0 && code != E_LIMIT)
		return code;
	l->c->err = (struct err){ 0 };
	if (!l->have)
		return 0;
	n->states[i->state]++;
	n->forced += (i->flags & IF_FORCED) != 0;
	if (n->run_date == 0 || i->key.run_date > n->run_date)
		n->run_date = i->key.run_date;
	if (!state_final((enum state)i->state) && i->eff_due_us != 0 &&
	    (n->due_us == 0 || i->eff_due_us < n->due_us))
		n->due_us = i->eff_due_us;
	return 0;
}

static int node_read(struct lineage *l, size_t at)
{
	int level = l->nodes[at].level, code = 0;

	if (l->by_task) {
		l->ids = mem_room(l->ids, &l->cap_ids, 1, sizeof *l->ids);
		l->ids[0] = l->nodes[at].id;
		l->n_ids = 1;
		if (map_get(&l->groups, l->ids[0]) == MAP_NONE)
			map_add(&l->groups, l->ids[0], l->ids[0]);
	} else {
		code = members_read(l, l->nodes[at].id);
	}
	for (size_t i = 0; i < l->n_ids && code == 0; i++)
		code = task_look(l, &l->nodes[at], l->ids[i]);
	if (code == 0)
		code = links_follow(l, at, false);
	if (code == 0 && level >= 0)
		code = links_follow(l, at, true);
	return code;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void node_put(const struct lineage *l, const struct node *n)
{
	struct buf *b = &l->c->out;
	char label[LABEL_TEXT];

	put_open(b, NULL, '{');
	put_text(b, "name", n->name);
	put_int(b, "id", n->id);
	put_int(b, "level", n->level);
	put_text(b, "type", n->type);
	put_int(b, "tasks", n->tasks);
	put_int(b, "forced", n->forced);
	put_open(b, "states", '{');
	for (int st = 0; st < ST_COUNT; st++)
		if (n->states[st] > 0)
			put_int(b, state_name((enum state)st), n->states[st]);
	put_close(b, '}');
	if (n->run_date != 0)
		put_time(b, "run_date", n->run_date);
	else
		put_null(b, "run_date");
	if (n->run_date != 0 && l->by_task) {
		names_label(l->c->cgi->names, n->id, 0, n->run_date, label);
		put_text(b, "label", label);
	}
	put_time_us(b, "due", n->due_us);
	put_bool(b, "closed", n->closed);
	put_bool(b, "another", n->another);
	put_close(b, '}');
}

static void lineage_put(struct call *c, const struct lineage *l)
{
	struct buf *b = &c->out;

	put_open(b, NULL, '{');
	put_text(b, "of", c->params[0]);
	put_text(b, "by", l->by_task ? "task" : "workflow");
	put_open(b, "nodes", '[');
	for (size_t i = 0; i < l->n_nodes; i++)
		node_put(l, &l->nodes[i]);
	put_close(b, ']');
	put_open(b, "links", '[');
	for (size_t i = 0; i < l->n_edges; i++) {
		put_open(b, NULL, '{');
		put_int(b, "from", l->edges[i].from);
		put_int(b, "to", l->edges[i].to);
		put_int(b, "count", l->edges[i].n);
		put_close(b, '}');
	}
	put_close(b, ']');
	put_bool(b, "cut", l->cut);
	put_close(b, '}');
}

static int start_read(struct lineage *l)
{
	struct call *c = l->c;
	int code;

	if (l->by_task) {
		code = read_task(l->r, c->params[0], 0, task_take, l, &c->err);
		if (code == 0)
			node_add(l, l->task.id, l->task_name, l->type, 0);
	} else {
		code = read_doc(l->r, &(struct read_which){ DOC_WORKFLOW, .name = c->params[0] },
		                doc_take, l, &c->err);
		if (code == 0)
			node_add(l, l->wanted, l->name, "", 0);
	}
	return code;
}

static void lineage_done(struct lineage *l)
{
	for (size_t i = 0; i < l->n_nodes; i++) {
		free(l->nodes[i].name);
		free(l->nodes[i].type);
	}
	free(l->nodes);
	free(l->edges);
	free(l->ids);
	free(l->links);
	map_done(&l->groups);
}

static int lineage_work(struct call *c, struct reader *r)
{
	struct lineage *l = c->extra;
	int code;

	l->c = c;
	l->r = r;
	map_init(&l->groups);
	l->now_us = clock_wall_us(&clock_machine);
	code = start_read(l);
	for (; code == 0 && l->todo < l->n_nodes; l->todo++)
		code = l->nodes[l->todo].another ? 0 : node_read(l, l->todo);
	if (code == 0) {
		edges_make(l);
		lineage_put(c, l);
	}
	lineage_done(l);
	return code;
}

int lineage_get(struct call *c)
{
	static const char *const names[] = { "up", "down", NULL };
	struct lineage *l = c->extra = mem_new(sizeof *l);
	const char *slash = strchr(c->params[0], '/');

	l->by_task = slash && strchr(slash + 1, '/');
	if (call_args_only(c, names) < 0 || call_arg_int(c, "up", 2, 0, 20, &l->up) < 0 ||
	    call_arg_int(c, "down", 2, 0, 20, &l->down) < 0)
		return c->err.code;
	return call_read(c, lineage_work);
}
