/* An apply comes, is compiled as one set, and goes: what of it is under way. */
#include <stdlib.h>

#include "baseserver/command/apply_impl.h"
#include "rt/manifests.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

struct apply *apply__new(struct commander *c, struct cmd *cmd)
{
	struct apply *a = mem_new(sizeof *a);

	*a = (struct apply){ .c = c, .cmd = cmd, .set = workflow_set_new() };
	a->e = mem_new(sizeof *a->e);
	a->sliced = cmd->tries == 0;
	diags_init(&a->diags);
	buf_init(&a->changes);
	map_init(&a->index);
	map_init(&a->waited);
	map_init(&a->by_library);
	return a;
}

static void make_world(struct apply *a)
{
	int64_t now = a->cmd->o.now_us / US_PER_S;
	struct commander *c = a->c;

	CHECK(!a->has_world && !a->index.used);
	a->has_world = true;
	a->world = (struct world){ .tasks = &c->task_names,
		                   .workflows = &c->workflow_names,
		                   .cat = &c->cat,
		                   .calendars = &c->docs[DOC_CALENDAR],
		                   .scopes = &c->docs[DOC_SETTING],
		                   .targets = &c->docs[DOC_SERVER],
		                   .set = a->set,
		                   .peers = &c->docs[DOC_PEER],
		                   .roster = c->roster,
		                   .n_roster = c->n_roster,
		                   .is_save = true };
	world_init(&a->world, c->set.timezone, now);
	a->world.w.types = manifests_types(c->types);
	a->world.w.infra_max = c->set.infra_max;
}

void apply__taken(struct apply *a)
{
	struct taking *k = &a->taking;

	if (!k->on)
		return;
	apply__free_docs(k->old_docs, k->n_old);
	apply__free_docs(k->new_docs, k->n_new);
	buf_done(&k->body);
	*k = (struct taking){ 0 };
}

void apply__free(struct apply *a)
{
	if (!a)
		return;
	if (a->compiler)
		workflow_compile_end(a->compiler, &a->tasks, &a->n);
	if (a->has_world)
		world_done(&a->world);
	for (size_t i = 0; i < a->n; i++)
		task_unref(a->tasks[i]);
	for (size_t i = 0; i < a->n_libraries; i++)
		workflow_free(a->libraries[i]);
	free(a->tasks);
	free(a->leaving);
	free(a->leaves);
	apply__cost_free(a);
	apply__taken(a);
	free(a->libraries);
	free(a->expanded);
	map_done(&a->index);
	map_done(&a->waited);
	map_done(&a->by_library);
	workflow_set_free(a->set);
	diags_done(&a->diags);
	edit_free(a->e);
	buf_done(&a->changes);
	free(a);
}

void apply__drop(struct cmd *cmd)
{
	struct apply *a = cmd->apply;

	cmd->apply = NULL;
	CHECK(!a || a->cmd == cmd);
	if (a && a->c->judged == cmd)
		a->c->judged = NULL;
	apply__free(a);
}

int apply__sizes(const struct apply *a)
{
	size_t max = a->c->set.tasks_max;

	for (size_t i = 0; i < a->n_given && max; i++) {
		const struct workflow *wf = workflow_set_at(a->set, i);
		if (workflow_tasks(wf) > max)
			return refuse(a->f, E_INVALID, "args.documents", NULL,
			              "%s has %zu tasks, graph_tasks_max allows %zu; divide it",
			              workflow_name(wf), workflow_tasks(wf), max);
	}
	return 0;
}

int apply__compile(struct apply *a)
{
	if (!a->compiler) {
		make_world(a);
		if (apply__resolve(a) < 0)
			return apply__refuse_diags(a);
		a->compiler = workflow_compile_begin(a->set, &a->world.w, &a->diags);
	}
	if (!workflow_compile_some(a->compiler, apply__enough, a))
		return 1;
	struct wf_compiler *compiler = a->compiler;
	a->compiler = NULL;
	if (workflow_compile_end(compiler, &a->tasks, &a->n) < 0)
		return apply__refuse_diags(a);
	apply__index(a);
	return 0;
}
