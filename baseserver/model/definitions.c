/* The tasks in force at a start, out of the stored documents.
 *
 * All documents of workflows are compiled as one set, with the numbers and anchors that the rows
 * of lb_task have; then each task gets its row, and the past of its plan (DOC_PLAN). A name keeps
 * its number whatever the document says, and a task without a row is E_CORRUPT: it would begin
 * anew under another number. Nothing is judged again that an apply judged: a stored calendar that
 * is missing leaves no date out. Retired tasks have a row and no definition here. */
#include "baseserver/model/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "baseserver/model/docs.h"
#include "baseserver/model/world.h"
#include "rt/manifests.h"
#include "rt/zones.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/workflow.h"
#include "store/store.h"
#include "store/task_row.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/log.h"

struct loading {
	struct names tasks, workflows;
	struct docs calendars;
	struct store_task *rows; /* without strings, but for `zone`, which is a zone's own name */
	size_t n_rows, cap;
	struct workflow_set *set;
	struct diags diags;
	struct err *err;
};

static int each_row(void *ctx, const struct store_task *row)
{
	struct loading *ld = ctx;
	const struct name *other = names_find(&ld->tasks, row->name);

	if (other)
		return err_set(ld->err, E_CORRUPT, "lb_task: task_id %u and %u are both %s",
		               other->id, row->id, row->name);
	names_put(&ld->tasks, row->name, row->id)->anchor = row->anchor;
	ld->rows = mem_room(ld->rows, &ld->cap, ld->n_rows + 1, sizeof *ld->rows);
	struct store_task *own = &ld->rows[ld->n_rows++];
	const struct tz *tz;
	*own = *row;
	own->zone = row->zone && row->zone[0] && zones_get(row->zone, &tz, NULL) == 0 ? tz_name(tz)
	                                                                              : "";
	return 0;
}

static int each_doc(void *ctx, const struct store_doc *d)
{
	struct loading *ld = ctx;

	names_put(&ld->workflows, d->name, d->id)->version = d->version;
	if (d->retired)
		return 0;
	size_t before = workflow_set_count(ld->set);
	if (workflow_set_read(ld->set, d->body, d->body_len, d->name, &ld->diags) < 0)
		return E_CORRUPT;
	if (workflow_set_count(ld->set) != before + 1)
		return err_set(ld->err, E_CORRUPT,
		               "lb_workflow: the body of %s (id %u, version %u) is no workflow",
		               d->name, d->id, d->version);
	return 0;
}

/* Every task by name, for what its plan was. */
struct placing {
	struct task **tasks; /* sorted by id while it lasts */
	size_t n;
	struct world *world;
	struct err *err;
};

static int by_id(const void *a, const void *b)
{
	uint32_t x = (*(struct task *const *)a)->id, y = (*(struct task *const *)b)->id;

	return (x > y) - (x < y);
}

static int each_past(void *ctx, const struct store_doc *d)
{
	struct placing *pl = ctx;
	struct task key = { .id = d->id }, *wanted = &key;
	struct task **at = bsearch(&wanted, pl->tasks, pl->n, sizeof wanted, by_id);

	if (!at) /* retired */
		return 0;
	return plan_past_parse((*at)->plan, d->body, (*at)->name, pl->world->w.zone, pl->world,
	                       pl->err);
}

static int load_pasts(struct store *store, struct task *const *tasks, size_t n, struct world *world,
                      struct err *err)
{
	struct placing pl = { mem_array(n + 1, sizeof *pl.tasks), n, world, err };

	for (size_t i = 0; i < n; i++)
		pl.tasks[i] = tasks[i];
	qsort(pl.tasks, n, sizeof *pl.tasks, by_id);
	int r = store_load_docs(store, DOC_PLAN, each_past, &pl, err);
	free(pl.tasks);
	return r;
}

static int definitions_say(struct loading *ld)
{
	const struct diag *first = ld->diags.n ? &ld->diags.items[0] : NULL;

	for (size_t i = 0; i < ld->diags.n && first->is_warning; i++)
		first = &ld->diags.items[i];
	if (!first)
		return err_set(ld->err, E_CORRUPT, "a stored document does not compile");
	return err_set(ld->err, E_CORRUPT, "the stored workflow %s, line %d: %s", first->at.file,
	               first->at.line, first->message);
}

static const struct store_task *row_of(const struct loading *ld, uint32_t id)
{
	size_t lo = 0, hi = ld->n_rows; /* rows come in order of id */

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (ld->rows[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < ld->n_rows && ld->rows[lo].id == id ? &ld->rows[lo] : NULL;
}

/* Tasks with their rows; retired ones go. One without a row would begin anew under another id. */
static int pair(const struct loading *ld, struct task **tasks, size_t n, struct definitions *ret)
{
	int r = 0;

	ret->tasks = tasks;
	ret->rows = mem_array(n + 1, sizeof *ret->rows);
	for (size_t i = 0; i < n; i++) {
		const struct store_task *row = row_of(ld, tasks[i]->id);
		if (!row && r == 0)
			r = err_set(ld->err, E_CORRUPT,
			            "lb_task has no row of %s, which lb_workflow has",
			            tasks[i]->name);
		if (!row || row->state == TS_RETIRED) {
			task_unref(tasks[i]);
			continue;
		}
		CHECK(ret->n <= i); /* tasks move down in the array they came in */
		struct store_task *own = &ret->rows[ret->n];
		*own = *row;
		task_row_words(own, tasks[i]);
		/* Of an earlier release, or the zone of who says none became another. */
		own->stale = strcmp(own->zone, row->zone) != 0 || own->grain != row->grain;
		plan_begin_at(tasks[i]->plan, row->online_from);
		ret->tasks[ret->n++] = tasks[i];
	}
	return r;
}

/* Saved by a release that made values a part of the code: they run on so, and people are told. */
static void tell_splices(const struct loading *ld)
{
	for (size_t i = 0; i < workflow_set_count(ld->set); i++) {
		const struct workflow *wf = workflow_set_at(ld->set, i);
		const char *first = NULL;
		size_t n = 0;
		for (size_t k = 0; k < workflow_tasks(wf); k++)
			if (workflow_splices(wf, k) && n++ == 0)
				first = workflow_splices(wf, k);
		if (first)
			log_warn("workflow.unsafe_splices", "workflow=%s tasks=%zu first=%s",
			         workflow_name(wf), n, first);
	}
}

int definitions_load(struct store *store, const char *timezone, const char *types_dir,
                     int infra_max, struct definitions *ret, struct err *err)
{
	struct loading ld = { .set = workflow_set_new(), .err = err };
	struct manifests *types = manifests_new(types_dir ? types_dir : "");
	struct task **tasks;
	struct world world;
	size_t n;

	*ret = (struct definitions){ 0 };
	names_init(&ld.tasks);
	names_init(&ld.workflows);
	docs_init(&ld.calendars, &doc_kinds[DOC_CALENDAR]);
	diags_init(&ld.diags);
	int r = store_load_tasks(store, each_row, &ld, err);
	if (r == 0)
		r = docs_load(&ld.calendars, store, err);
	if (r == 0)
		r = store_load_docs(store, DOC_WORKFLOW, each_doc, &ld, err);
	world = (struct world){ .tasks = &ld.tasks,
		                .workflows = &ld.workflows,
		                .calendars = &ld.calendars };
	world_init(&world, timezone, 0);
	world.w.types = manifests_types(types);
	world.w.infra_max = infra_max;
	if (r == 0 && workflow_compile(ld.set, &world.w, &ld.diags, &tasks, &n) == 0) {
		tell_splices(&ld);
		r = load_pasts(store, tasks, n, &world, err);
		int paired = pair(&ld, tasks, n, ret);
		r = r < 0 ? r : paired;
		if (r < 0)
			definitions_done(ret);
	} else if (r == 0 || ld.diags.errors)
		r = definitions_say(&ld);
	world_done(&world);
	manifests_free(types);
	workflow_set_free(ld.set);
	diags_done(&ld.diags);
	names_done(&ld.tasks);
	names_done(&ld.workflows);
	docs_done(&ld.calendars);
	free(ld.rows);
	return r;
}

void definitions_done(struct definitions *d)
{
	for (size_t i = 0; i < d->n; i++)
		task_unref(d->tasks[i]);
	free(d->tasks);
	free(d->rows);
	*d = (struct definitions){ 0 };
}

char *definitions_put_aside(struct definitions *d, uint32_t workflow, int64_t since_us)
{
	const char *task = NULL;

	for (size_t i = 0; i < d->n; i++) {
		if (d->rows[i].workflow_id != workflow)
			continue;
		d->rows[i].quarantined_us = since_us;
		task = d->rows[i].name;
	}
	return task ? mem_strn(task, (size_t)(strrchr(task, '/') - task)) : NULL;
}
