/* A set of documents into tasks: plans first, then links between them, then what must hold of the
 * whole.
 *
 * The order follows from what each step needs: a link can be judged only when both plans are
 * there, and cycles only when all links are. It works in pieces (workflow_compile_some), since a
 * thread that serves others compiles large sets; a piece is one task or one of the steps over all
 * of them. Faults are collected and do not stop it; tasks come out only if there was none. */
#include "sched/calendar.h"
#include "sched/cron.h"
#include "sched/task.h"
#include "sched/window.h"
#include "sched/workflow_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/pile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_full_name(const void *a, const void *b)
{
	return strcmp((*(struct wf_made *const *)a)->t->full,
	              (*(struct wf_made *const *)b)->t->full);
}

static void list_tasks(struct wf_compiler *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->set->n; i++)
		c->n += c->set->items[i]->n;
	c->made = pile_take(c->pile, c->n * sizeof *c->made + 1);
	c->by_name = pile_take(c->pile, c->n * sizeof *c->by_name + 1);
	c->crons = pile_take(c->pile, c->n * sizeof *c->crons + 1);
	for (size_t i = 0; i < c->set->n; i++) {
		const struct workflow *wf = c->set->items[i];
		uint32_t id = (uint32_t)i + 1, version = 1;
		if (c->world->workflow)
			c->world->workflow(c->world->ctx, wf->full, &id, &version);
		for (size_t k = 0; k < wf->n; k++, n++) {
			c->made[n] = (struct wf_made){
				.wf = wf,
				.t = &wf->items[k],
				.workflow_id = id,
				.version = version,
				.infra_max = c->world->infra_max ? c->world->infra_max
				                                 : INFRA_MAX_DEFAULT,
			};
			c->by_name[n] = &c->made[n];
		}
	}
	CHECK(n == c->n);
	qsort(c->by_name, c->n, sizeof *c->by_name, by_full_name);
}

static void check_baselines(struct wf_compiler *c)
{
	for (size_t i = 0; i < c->set->n; i++) {
		const struct workflow *wf = c->set->items[i];
		for (size_t k = 0; k < wf->n_baselines; k++) {
			const struct wf_text *task = &wf->baseline_items[k].task;
			if (strchr(task->text, '/'))
				continue;
			char *full = mem_fmt("%s/%s", wf->full, task->text);
			char path[60];
			snprintf(path, sizeof path, "baselines[%zu].task", k);
			if (!wf__find(c, full))
				diag_error(c->d,
				           (struct place){ wf->file, task->node->line,
				                           task->node->column, path },
				           "unknown_task", NULL, "there is no task '%s'", full);
			free(full);
		}
	}
}

static void check_alert_tasks(struct wf_compiler *c, const struct workflow *wf, size_t k)
{
	const struct wf_texts *tasks = &wf->alerts.items[k].tasks;

	for (size_t i = 0; i < tasks->n; i++) {
		const struct wf_text *task = &tasks->items[i];
		char *full = mem_fmt("%s/%s", wf->full, task->text);
		char path[60];
		snprintf(path, sizeof path, "alerts[%zu].tasks[%zu]", k, i);
		if (!wf__find(c, full))
			diag_error(c->d,
			           (struct place){ wf->file, task->node->line, task->node->column,
			                           path },
			           "unknown_task", "a task of this document, by its own name",
			           "there is no task '%s'", full);
		free(full);
	}
}

static void check_alerts(struct wf_compiler *c)
{
	for (size_t i = 0; i < c->set->n; i++)
		for (size_t k = 0; k < c->set->items[i]->alerts.n; k++)
			check_alert_tasks(c, c->set->items[i], k);
}

static void check_set(struct wf_compiler *c)
{
	wf__check_scopes(c);
	if (!c->world->saved)
		wf__check_alike(c);
	check_baselines(c);
	check_alerts(c);
}

static void one_task(struct wf_compiler *c, struct wf_made *m)
{
	CHECK(c->at < c->n);
	switch (c->phase) {
	case CP_PLANS:
		wf__make_plan(c, m);
		break;
	case CP_LINKS:
		(m->t->is_step ? wf__make_steps : wf__make_links)(c, m);
		break;
	case CP_MACROS:
		wf__check_macros(c, m);
		break;
	case CP_TYPES:
		wf__check_type(c, m);
		break;
	default:
		c->tasks[c->at] = m->task = wf__pack(m);
	}
}

/* A piece: one task, or what is done with all of them. */
static void compile_piece(struct wf_compiler *c)
{
	bool each = c->phase == CP_PLANS || c->phase == CP_LINKS || c->phase == CP_MACROS ||
	            c->phase == CP_TYPES || c->phase == CP_PACK;

	CHECK(c->phase < CP_OVER);
	if (each && c->at < c->n) {
		one_task(c, &c->made[c->at]);
		c->at++;
		return;
	}
	if (c->phase == CP_LIST) {
		c->errors = c->d->errors;
		c->pile = pile_new();
		map_init(&c->cron_index);
		list_tasks(c);
		wf__check_uses(c);
	} else if (c->phase == CP_SET) {
		check_set(c);
	} else if (c->phase == CP_CIRCLES && c->d->errors == c->errors) {
		if (!wf__check_cycles(c))
			return;
	} else if (c->phase == CP_PREPARED) {
		c->tasks = mem_array(c->n + 1, sizeof *c->tasks);
	}
	c->at = 0;
	c->phase++;
}

int wf__prepare(struct wf_compiler *c)
{
	while (c->phase < CP_PREPARED)
		compile_piece(c);
	return c->d->errors == c->errors ? 0 : E_INVALID;
}

void wf__compiler_done(struct wf_compiler *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct wf_made *m = &c->made[i];
		free(m->inputs);
		if (m->task)
			continue; /* all of it is the task's */
		for (size_t k = 0; k < m->n_links; k++)
			window_free((struct window_expr *)(uintptr_t)m->links[k].window);
		plan_free(m->plan);
		cron_free(m->cron);
		calendar_free(m->calendar);
	}
	wf__web_free(c);
	map_done(&c->cron_index);
	pile_free(c->pile);
}

struct wf_compiler *workflow_compile_begin(const struct workflow_set *set,
                                           const struct workflow_world *world, struct diags *d)
{
	struct wf_compiler *c = mem_new(sizeof *c);

	*c = (struct wf_compiler){ .set = set, .world = world, .d = d };
	return c;
}

bool workflow_compile_some(struct wf_compiler *c, bool (*enough)(void *ctx), void *ctx)
{
	for (size_t n = 1; c->phase < CP_OVER; n++) {
		if (c->phase == CP_PREPARED && c->d->errors != c->errors)
			return true;
		compile_piece(c);
		if ((n % 32 == 0 || c->web) && enough && enough(ctx))
			return c->phase == CP_OVER;
	}
	return true;
}

int workflow_compile_end(struct wf_compiler *c, struct task ***ret_tasks, size_t *ret_n)
{
	int r = c->phase == CP_OVER ? 0 : E_INVALID;

	if (r == 0) {
		CHECK(c->tasks && c->d->errors == c->errors);
		*ret_tasks = c->tasks;
		*ret_n = c->n;
		c->tasks = NULL;
	}
	for (size_t i = 0; c->tasks && i < c->n; i++)
		if (c->tasks[i])
			task_unref(c->tasks[i]);
	free(c->tasks);
	if (c->phase != CP_LIST)
		wf__compiler_done(c);
	free(c);
	return r;
}

int workflow_compile(const struct workflow_set *set, const struct workflow_world *world,
                     struct diags *d, struct task ***ret_tasks, size_t *ret_n)
{
	struct wf_compiler *c = workflow_compile_begin(set, world, d);

	workflow_compile_some(c, NULL, NULL);
	return workflow_compile_end(c, ret_tasks, ret_n);
}
