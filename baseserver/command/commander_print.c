/* What clients get to see of a command (docs/protocol-json.md).
 *
 * cmd__print_dry() is the preview: how many instances in which state, whose, of which days, why
 * some would be refused, what depends on them and is not touched. Lists end at DRY_LIST_MAX and
 * DRY_TASKS_MAX; the totals are whole. A command at work is printed from `shown`, which is what is
 * durable of it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/civil.h"
#include "sched/label.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"

struct face cmd__face(const struct cmd *cmd)
{
	return (struct face){ .id = cmd->id,
		              .number = cmd->number,
		              .kind = cmd->kind,
		              .actor = cmd->actor,
		              .message = cmd->message,
		              .error = cmd->shown_error,
		              .changes = cmd->changes,
		              .created_us = cmd->created_us,
		              .shown = &cmd->shown };
}

void face_print(const struct face *f, struct buf *out)
{
	const struct shown *s = f->shown;

	put_open(out, NULL, '{');
	put_id(out, "command", f->id);
	put_text(out, "kind", command_kind_name(f->kind));
	put_text(out, "actor", f->actor);
	put_text(out, "state", command_state_name(s->state));
	put_bool(out, "dry_run", false);
	put_time_us(out, "created", f->created_us);
	put_time_us(out, "ended", s->ended_us);
	if (s->total < 0) /* not counted yet */
		put_null(out, "total");
	else
		put_int(out, "total", s->total);
	put_int(out, "done", s->done);
	put_int(out, "failed", s->failed);
	put_text(out, "message", f->message);
	put_text(out, "error", f->error);
	if (f->changes) /* members of its own */
		buf_printf(out, ",%s", f->changes);
	put_close(out, '}');
}

void print_instance_name(const struct commander *c, struct inst_key key, struct buf *out)
{
	const struct cat_task *t = catalog_task(&c->cat, key.task);
	struct buf id;

	buf_init(&id);
	buf_printf(&id, "%u.%" PRId64, key.task, key.run_date);
	if (key.part)
		buf_printf(&id, ".%d", key.part);
	put_text(out, "id", buf_str(&id));
	buf_done(&id);
	put_text(out, "task", t ? t->def->name : "");
	put_int(out, "task_id", key.task);
	put_time(out, "run_date", key.run_date);
	if (t)
		put_label(out, t->def->plan, key.run_date);
	put_int(out, "part", key.part);
}

static int most_first(const void *a, const void *b)
{
	const struct tally_task *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

static void print_task(const struct commander *c, const struct tally_task *t, bool downstream,
                       struct buf *out)
{
	const struct cat_task *ct = catalog_task(&c->cat, t->task);

	put_open(out, NULL, '{');
	put_text(out, "task", ct ? ct->def->name : "");
	put_text(out, "owner", ct && ct->def->owner ? ct->def->owner : "");
	put_int(out, "count", downstream ? t->downstream : t->count);
	if (downstream)
		put_int(out, "depth", t->depth);
	if (!downstream) {
		put_int(out, "new", t->made);
		put_int(out, "running", t->running);
	}
	put_close(out, '}');
}

static void print_items(const struct commander *c, const char *key, const struct tally_item *items,
                        size_t n, bool refused, struct buf *out)
{
	put_open(out, key, '[');
	for (size_t i = 0; i < n; i++) {
		put_open(out, NULL, '{');
		print_instance_name(c, items[i].key, out);
		if (refused) {
			put_text(out, "code", err_name(items[i].code));
			put_text(out, "message", items[i].text);
		} else {
			put_text(out, "state",
			         items[i].state ? state_name((enum state)items[i].state)
			                        : "planned");
		}
		put_close(out, '}');
	}
	put_close(out, ']');
}

/* A command without downstream of its own still says what would see its work anew. */
static void print_downstream(const struct commander *c, const struct cmd *cmd, struct buf *out)
{
	put_open(out, "downstream", '[');
	for (size_t i = 0; i < cmd->tally.n_tasks; i++)
		if (cmd->tally.tasks[i].downstream)
			print_task(c, &cmd->tally.tasks[i], true, out);
	put_close(out, ']');
}

/* Online children that would no longer wait for what goes offline. */
static void print_detached(const struct commander *c, const struct cmd *cmd, struct buf *out)
{
	const struct selection *s = &cmd->o.sel;

	put_open(out, "detached", '[');
	for (size_t i = 0; i < s->n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, s->tasks[i]);
		for (size_t k = 0; t && k < t->n_children; k++) {
			const struct cat_task *ch = catalog_task(&c->cat, t->children[k]);
			if (!ch || ch->row.state != TS_ONLINE || order__selects(&cmd->o, ch->id))
				continue;
			put_open(out, NULL, '{');
			put_text(out, "task", ch->def->name);
			put_text(out, "parent", t->def->name);
			put_close(out, '}');
		}
	}
	put_close(out, ']');
}

static void print_states(const struct tally *t, struct buf *out)
{
	put_open(out, "states", '{');
	for (int st = 0; st < ST_COUNT; st++)
		if (t->states[st])
			put_int(out, st ? state_name((enum state)st) : "planned", t->states[st]);
	put_close(out, '}');
}

struct owner {
	const char *name;
	int64_t count;
};

static int by_name(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Whose instances they are. */
static void print_owners(const struct commander *c, const struct tally *t, struct buf *out)
{
	struct owner *all = mem_array(t->n_tasks + 1, sizeof *all);
	size_t n = 0;

	for (size_t i = 0; i < t->n_tasks; i++) {
		const struct cat_task *ct = catalog_task(&c->cat, t->tasks[i].task);
		if (ct && t->tasks[i].count)
			all[n++] = (struct owner){ ct->def->owner ? ct->def->owner : "",
				                   t->tasks[i].count };
	}
	qsort(all, n, sizeof *all, by_name);
	put_open(out, "owners", '[');
	for (size_t i = 0; i < n;) {
		int64_t count = 0;
		const char *name = all[i].name;
		for (; i < n && strcmp(all[i].name, name) == 0; i++)
			count += all[i].count;
		put_open(out, NULL, '{');
		put_text(out, "owner", name);
		put_int(out, "count", count);
		put_close(out, '}');
	}
	put_close(out, ']');
	free(all);
}

/* Why some would be refused, and how many for each reason. */
static void print_reasons(const struct tally *t, struct buf *out)
{
	put_int(out, "refusals", t->refusals);
	put_int(out, "unchanged", t->left);
	put_open(out, "reasons", '[');
	for (size_t i = 0; i < t->n_why; i++) {
		put_open(out, NULL, '{');
		put_text(out, "code", err_name(t->why[i].code));
		put_text(out, "message", t->why[i].text);
		put_int(out, "count", t->why[i].count);
		put_close(out, '}');
	}
	put_close(out, ']');
}

/* By day, so that people see which dates. */
static void print_days(const struct tally *t, struct buf *out)
{
	put_open(out, "days", '[');
	for (size_t i = 0; i < t->n_days && i < DRY_DAYS_MAX; i++) {
		const struct tally_day *d = &t->days[i];
		struct civil at = civil_of_day(d->day);
		char text[40];

		snprintf(text, sizeof text, "%04" PRId64 "-%02d-%02d", at.year, at.month, at.day);
		put_open(out, NULL, '{');
		put_text(out, "day", text);
		put_int(out, "count", d->count);
		put_int(out, "new", d->made);
		put_int(out, "refusals", d->refusals);
		put_int(out, "unchanged", d->left);
		put_close(out, '}');
	}
	put_close(out, ']');
	if (t->n_days > DRY_DAYS_MAX)
		put_int(out, "days_more", (int64_t)(t->n_days - DRY_DAYS_MAX));
}

void cmd__print_dry(struct commander *c, const struct cmd *cmd, struct buf *out)
{
	const struct tally *t = &cmd->tally;
	size_t shown = 0, with = 0;

	if (t->n_tasks)
		qsort(t->tasks, t->n_tasks, sizeof *t->tasks, most_first);
	put_open(out, NULL, '{');
	put_bool(out, "dry_run", true);
	put_text(out, "kind", command_kind_name(cmd->kind));
	put_int(out, "total", t->total);
	put_open(out, "tasks", '[');
	for (size_t i = 0; i < t->n_tasks; i++) {
		if (t->tasks[i].count == 0 && !cmd->o.on_tasks)
			continue;
		with++;
		if (shown < DRY_TASKS_MAX) {
			shown++;
			print_task(c, &t->tasks[i], false, out);
		}
	}
	put_close(out, ']');
	if (cmd->o.on_tasks)
		put_int(out, "tasks_changed", t->tasks_changed);
	if (with > shown)
		put_int(out, "tasks_more", (int64_t)(with - shown));
	print_states(t, out);
	print_days(t, out);
	print_owners(c, t, out);
	print_downstream(c, cmd, out);
	put_int(out, "outside_scope", t->outside);
	print_reasons(t, out);
	if (cmd->o.detach)
		print_detached(c, cmd, out);
	if (cmd->ops->print)
		cmd->ops->print(c, cmd, out);
	print_items(c, "refused", t->refused, t->n_refused, true, out);
	print_items(c, "sample", t->sample, t->n_sample, false, out);
	if (cmd->changes) {
		buf_printf(out, ",%s", cmd->changes);
	} else {
		put_open(out, "warnings", '[');
		if (t->too_deep)
			put_text(out, NULL, "more depends on these than is counted");
		strand__print(c, t, out);
		put_close(out, ']');
	}
	put_close(out, '}');
}
