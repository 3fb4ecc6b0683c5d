/* `projects`: which are trusted, and who said so; those with tasks in force and those with a mark.
 * Their jobs go where the sorter lets them (baseserver/sort/sorter_bound.c). `quotas`: what they
 * have of what is bounded; the commander counts what is unfinished, the sorter what runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/pools.h"
#include "baseserver/model/front.h"
#include "baseserver/model/trust.h"
#include "baseserver/query/query_impl.h"
#include "baseserver/sort/sorter.h"
#include "sched/name.h"
#include "sched/task.h"
#include "util/alloc.h"
#include "util/json_put.h"

struct project_row {
	char *name;
	size_t tasks;
};

struct project_list {
	struct project_row *items;
	size_t n, cap;
	struct map by_name;
};

static struct project_row *project_get(struct project_list *l, char *name)
{
	uint64_t key = map_text(name);
	size_t at = 0;
	uint32_t i = map_first(&l->by_name, key, &at);

	while (i != MAP_NONE && strcmp(l->items[i].name, name) != 0)
		i = map_next(&l->by_name, key, &at);
	if (i != MAP_NONE) {
		free(name);
		return &l->items[i];
	}
	map_add(&l->by_name, key, (uint32_t)l->n);
	l->items = mem_room(l->items, &l->cap, l->n + 1, sizeof *l->items);
	l->items[l->n] = (struct project_row){ name, 0 };
	return &l->items[l->n++];
}

static void project_collect(const struct commander *c, struct project_list *l)
{
	const struct docs *trusts = commander_docs(c, DOC_TRUST);
	const struct catalog *cat = commander_catalog(c);

	for (size_t i = 0; i < cat->tasks_cap; i++) {
		const struct cat_task *t = catalog_task(cat, (uint32_t)i);
		if (t && !catalog_retired(t) && !name_is_test(t->def->name))
			project_get(l, mem_strn(t->def->name, strcspn(t->def->name, "/")))->tasks++;
	}
	for (size_t i = 0; i < trusts->n; i++)
		if (!trusts->items[i].retired)
			project_get(l, mem_str(trusts->items[i].name));
}

static int by_project(const void *a, const void *b)
{
	const struct project_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static bool unsaid_is_trusted(const struct commander *c)
{
	const struct front *f = commander_front(c);

	return !f || !f->asks_trust;
}

void query__projects(struct query *q)
{
	const struct docs *trusts = commander_docs(q->c, DOC_TRUST);
	bool unsaid = unsaid_is_trusted(q->c);
	struct project_list l = { 0 };
	struct buf *out = &q->out;

	map_init(&l.by_name);
	project_collect(q->c, &l);
	if (l.n)
		qsort(l.items, l.n, sizeof *l.items, by_project);
	put_open(out, NULL, '{');
	put_bool(out, "trust_new_projects", unsaid);
	put_open(out, "projects", '[');
	for (size_t i = 0; i < l.n; i++) {
		const struct doc *d = docs_find(trusts, l.items[i].name);
		put_open(out, NULL, '{');
		put_text(out, "project", l.items[i].name);
		put_bool(out, "trusted", trust_of(trusts, l.items[i].name, unsaid));
		put_text(out, "by",
		         !d                    ? "setting"
		         : trust_is_unasked(d) ? "upgrade"
		                               : "administrator");
		put_int(out, "tasks", (int64_t)l.items[i].tasks);
		put_close(out, '}');
		free(l.items[i].name);
	}
	put_close(out, ']');
	put_close(out, '}');
	free(l.items);
	map_done(&l.by_name);
}

void query__unasked(const struct commander *c, struct buf *out)
{
	const struct docs *trusts = commander_docs(c, DOC_TRUST);

	for (size_t i = 0; i < trusts->n; i++)
		if (trust_is_unasked(&trusts->items[i]))
			buf_printf(out, "%s%s", out->len ? " " : "", trusts->items[i].name);
}

/* --- quotas ----------------------------------------------------------------------------- */

/* As it travels to the sorter. */
struct quota_row {
	char name[256];
	int64_t tasks, unfinished, running, waiting, max; /* max: POOL_NONE no limit */
};

void query__quotas_begin(struct query *q)
{
	struct project_list l = { 0 };

	map_init(&l.by_name);
	project_collect(q->c, &l);
	if (l.n)
		qsort(l.items, l.n, sizeof *l.items, by_project);
	for (size_t i = 0; i < l.n; i++) {
		const char *name = l.items[i].name;
		bool sees = query__sees(q, name);
		const struct cat_project *p = catalog_project(commander_catalog(q->c), name,
		                                              strlen(name));
		struct quota_row row = { .tasks = (int64_t)l.items[i].tasks,
			                 .unfinished = p ? (int64_t)p->unfinished : 0,
			                 .max = POOL_NONE };

		snprintf(row.name, sizeof row.name, "%s", name);
		if (sees)
			buf_put(&q->resolver, &row, sizeof row);
		free(l.items[i].name);
	}
	free(l.items);
	map_done(&l.by_name);
	put_open(&q->out, NULL, '{');
	commander_print_quotas(q->c, query__sees_all(q), &q->out);
}

struct quota_rows {
	struct quota_row *items;
	size_t n;
};

static int by_quota(const void *name, const void *row)
{
	return strcmp(name, ((const struct quota_row *)row)->name);
}

static void quota_fill(void *ctx, const struct sorter_pool *p)
{
	const struct quota_rows *rows = ctx;
	size_t n = strlen(POOL_PROJECT);

	if (strncmp(p->name, POOL_PROJECT, n) != 0 || rows->n == 0)
		return;
	struct quota_row *row = bsearch(p->name + n, rows->items, rows->n, sizeof *rows->items,
	                                by_quota);
	if (!row)
		return;
	row->running = p->taken;
	row->waiting = (int64_t)p->waiting;
	row->max = p->size;
}

void query__quotas(struct query *q, const struct sorter *s)
{
	struct quota_rows rows = { .n = q->resolver.len / sizeof(struct quota_row) };
	struct buf *out = &q->out;

	rows.items = mem_array(rows.n ? rows.n : 1, sizeof *rows.items);
	if (rows.n)
		memcpy(rows.items, buf_at(&q->resolver), rows.n * sizeof *rows.items);
	sorter_each_pool(s, quota_fill, &rows);
	put_open(out, "projects", '[');
	for (size_t i = 0; i < rows.n; i++) {
		const struct quota_row *r = &rows.items[i];

		put_open(out, NULL, '{');
		put_text(out, "project", r->name);
		put_int(out, "tasks", r->tasks);
		put_int(out, "unfinished", r->unfinished);
		put_int(out, "running", r->running);
		if (r->max == POOL_NONE)
			put_null(out, "running_max");
		else
			put_int(out, "running_max", r->max);
		put_int(out, "waiting", r->waiting);
		put_close(out, '}');
	}
	put_close(out, ']');
	put_close(out, '}');
	free(rows.items);
}
