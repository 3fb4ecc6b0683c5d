/* What a dry run tells of what depends on the chosen instances: how many there are of each task,
 * how many links away it is, and what a redo leaves as it is beyond its scope. Each is found in
 * pieces, a turn after the other (commander_down.c), then the answer is printed. */
#include <stdlib.h>

#include "baseserver/command/commander_impl.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/map.h"

struct tally_task *tally__task(struct tally *t, uint32_t task)
{
	/* Feeds go task by task: the last one is nearly always it. */
	for (size_t i = t->n_tasks; i > 0; i--)
		if (t->tasks[i - 1].task == task)
			return &t->tasks[i - 1];
	t->tasks = mem_grow(t->tasks, t->n_tasks + 1, sizeof *t->tasks);
	t->tasks[t->n_tasks] = (struct tally_task){ .task = task };
	return &t->tasks[t->n_tasks++];
}

/* Links away from what is chosen, task by task: breadth first, each task once. */
static void count_depths(const struct commander *c, struct tally *t)
{
	size_t *queue = mem_array(t->n_tasks + 1, sizeof *queue), n = 0;
	struct map place; /* task -> index */

	map_init(&place);
	for (size_t i = 0; i < t->n_tasks; i++) {
		map_add(&place, t->tasks[i].task, (uint32_t)i);
		if (t->tasks[i].count)
			queue[n++] = i;
	}
	size_t chosen = n;
	for (size_t i = 0; i < n; i++) {
		const struct tally_task *from = &t->tasks[queue[i]];
		const struct cat_task *p = catalog_task(&c->cat, from->task);
		int depth = i < chosen ? 0 : from->depth;

		for (size_t k = 0; p && k < p->n_children; k++) {
			uint32_t at = map_get(&place, p->children[k]);
			struct tally_task *to = at == MAP_NONE ? NULL : &t->tasks[at];
			if (!to || to->downstream == 0 || to->depth)
				continue;
			to->depth = depth + 1;
			if (to->count == 0)
				queue[n++] = at;
		}
	}
	map_done(&place);
	free(queue);
}

/* What is not chosen, but would see the chosen ones' work anew. */
static void take_downstream(struct commander *c, struct cmd *cmd, bool found)
{
	uint32_t task;
	size_t n;

	cmd->tally.too_deep = !found;
	for (size_t i = 0; found && (n = down__count(cmd->down, i, &task)) != SIZE_MAX; i++)
		if (n)
			tally__task(&cmd->tally, task)->downstream += (int64_t)n;
	count_depths(c, &cmd->tally);
}

/* What a redo leaves as it is because it lies beyond its scope: all less its own. */
static void take_outside(struct cmd *cmd, bool found, int sign)
{
	struct tally *t = &cmd->tally;
	uint32_t task;
	size_t n;

	for (size_t i = 0; found && (n = down__count(cmd->down, i, &task)) != SIZE_MAX; i++)
		t->outside += sign * (int64_t)n;
	t->is_outside_unknown = t->is_outside_unknown || !found;
}

static void answer_dry(struct commander *c, struct cmd *cmd)
{
	struct tally *t = &cmd->tally;
	struct buf out;

	if (t->is_outside_unknown) {
		t->outside = 0;
		t->too_deep = true;
	}
	for (size_t i = 0; i < cmd->o.sel.n_tasks && cmd->o.on_tasks; i++)
		tally__task(t, cmd->o.sel.tasks[i]);
	if (cmd->o.on_tasks)
		t->tasks_changed = (int64_t)cmd__tasks_changed(c, cmd);
	buf_init(&out);
	cmd__print_dry(c, cmd, &out);
	struct client_request *r = cmd->asked;
	cmd->asked = NULL;
	request_answer(r, 0, "", &out, stream_seen(c->in));
	cmd->phase = PH_OVER;
}

static bool is_wanted(const struct cmd *cmd, enum preview_step what)
{
	return what == PREVIEW_DOWNSTREAM ? cmd->ops->has_children && cmd->o.mode == REDO_SELF
	                                  : cmd->ops->has_scope && cmd->o.scope != SCOPE_ALL;
}

void cmd__preview(struct commander *c, struct cmd *cmd)
{
	size_t budget = c->slice;

	CHECK(cmd->dry && cmd->phase == PH_SURVEY && !cmd->feed);
	if (!cmd->preview)
		cmd->preview = PREVIEW_DOWNSTREAM;
	for (; cmd->preview < PREVIEW_OVER; cmd->preview++) {
		enum preview_step what = cmd->preview;
		bool is_own = what == PREVIEW_OWN ||
		              (what == PREVIEW_DOWNSTREAM && cmd->ops->has_scope);

		if (!is_wanted(cmd, what))
			continue;
		if (!cmd->down)
			cmd->down = down__open(c, &cmd->o, REDO_DOWNSTREAM,
			                       is_own ? cmd->o.scope : SCOPE_ALL);
		int r = down__step(cmd->down, &budget);
		if (r > 0) {
			actor_wake(c->me);
			return;
		}
		if (what == PREVIEW_DOWNSTREAM)
			take_downstream(c, cmd, r == 0);
		else
			take_outside(cmd, r == 0, what == PREVIEW_ALL ? 1 : -1);
		down__close(cmd->down);
		cmd->down = NULL;
	}
	answer_dry(c, cmd);
}
