/* A workflow that is tried as it is drawn: to one edit, stage by stage, as an apply is judged.
 *
 * It is read under the name that people gave it, and saved under one that no name can be, in the
 * first place of that workflow that nobody tries (sched/workflow.h). With `up_to` only what that
 * task waits for, step by step, is saved with it. Its tasks get the state TS_OVER: their plans make
 * nothing, and a command's instances of them start. Whether all of it can be run, for which dates,
 * and whether somebody tries too much already is judged before anything is saved. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/apply_impl.h"
#include "sched/task.h"
#include "sched/when.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/yaml.h"

/* --- the question -------------------------------------------------------------------------- */

int trial_parse(struct order *o, struct refusal *f)
{
	int r;

	if ((r = arg_text(o->args, "args", "document", YAML_BYTES_MAX, &o->drawn, f)) < 0 ||
	    (r = arg_text(o->args, "args", "date", 60, &o->date, f)) < 0 ||
	    (r = arg_text(o->args, "args", "up_to", 700, &o->up_to, f)) < 0)
		return r;
	o->members = true;
	return 0;
}

static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

int trial_resolve(const struct commander *c, struct order *o, struct refusal *f)
{
	char no_day[WHEN_TEXT];
	struct when w;

	(void)c;
	if (o->date && !when_parse(o->date, o->now_us / US_PER_S, &w))
		return refuse(f, E_INVALID, "args.date", "for example 2026-03-01",
		              "args.date: '%.60s' is no date%s", o->date,
		              when_no_day(o->date, no_day));
	if (o->up_to && !name_ok(last_part(o->up_to)))
		return refuse(f, E_INVALID, "args.up_to", NULL,
		              "args.up_to: '%.200s' is no task's name", o->up_to);
	return o->drawn && o->drawn[0] ? 0
	                               : refuse(f, E_INVALID, "args.document",
	                                        "the workflow's YAML", "args.document: is missing");
}

/* --- room ---------------------------------------------------------------------------------- */

static bool is_held(const struct apply *a, const char *tried)
{
	const struct commander *c = a->c;

	for (size_t i = 0; i < c->n_cmds; i++) {
		const struct cmd *other = c->cmds[i];
		if (other != a->cmd && other->tried && other->phase != PH_OVER &&
		    strcmp(other->tried, tried) == 0)
			return true;
	}
	return docs_find(&c->documents.all, tried) != NULL; /* it has not quite gone */
}

static int refuse_many(struct refusal *f, const char *setting, const char *who, int length,
                       size_t n, size_t max)
{
	return refuse(f, E_LIMIT, setting, "sirdar command list --open",
	              "%.*s has %zu test runs of drawn workflows that are not over, %s allows %zu: "
	              "wait for one, or cancel one",
	              length, who, n, setting, max);
}

static int check_room(const struct apply *a, const char *name)
{
	const struct commander *c = a->c;
	size_t length = strcspn(name, "/") + 1, own = 0, all = 0;

	for (size_t i = 0; i < c->n_cmds; i++) {
		const struct cmd *other = c->cmds[i];
		if (other == a->cmd || !other->tried || other->phase == PH_OVER || other->forget)
			continue;
		own += quota__same_person(other->actor, a->cmd->actor);
		all += strncmp(other->tried, name, length) == 0;
	}
	if (c->set.tests_person && own >= c->set.tests_person)
		return refuse_many(a->f, "person_tests_max", a->cmd->actor,
		                   (int)strcspn(a->cmd->actor, "/"), own, c->set.tests_person);
	if (c->set.tests_project && all >= c->set.tests_project)
		return refuse_many(a->f, "project_tests_max", name, (int)length - 1, all,
		                   c->set.tests_project);
	return 0;
}

/* The first free place; the command has it from now on. */
static int take_place(struct apply *a, const char *name, int *ret_place)
{
	for (int place = 1; place <= WORKFLOW_TESTS_MAX; place++) {
		char *tried = mem_fmt("%s%c%d", name, NAME_TEST, place);
		if (is_held(a, tried)) {
			free(tried);
			continue;
		}
		free(a->cmd->tried);
		a->cmd->tried = tried;
		*ret_place = place;
		return 0;
	}
	return refuse_many(a->f, "args.document", name, (int)strlen(name), WORKFLOW_TESTS_MAX,
	                   WORKFLOW_TESTS_MAX);
}

/* --- read ---------------------------------------------------------------------------------- */

/* As it was drawn: into a->set, under its own name. */
static int read_drawn(struct apply *a)
{
	const char *text = a->cmd->o.drawn;

	workflow_set_read(a->set, text, strlen(text), "document", &a->diags);
	a->n_given = workflow_set_count(a->set);
	if (a->diags.errors)
		return apply__refuse_diags(a);
	if (a->n_given != 1 || workflow_set_calendars(a->set) || workflow_set_scopes(a->set) ||
	    workflow_is_library(workflow_set_at(a->set, 0)))
		return refuse(a->f, E_INVALID, "args.document", "one workflow or pipeline",
		              "args.document: one workflow is expected and nothing else, found %zu "
		              "of them",
		              a->n_given);
	int r = apply__bind(a);
	if (r == 0)
		r = within__check_set(&a->cmd->o, a->set, a->f);
	touch__set(a->cmd, a->set);
	return r;
}

/* The same, as it is tried. */
static int read_tried(struct apply *a)
{
	const struct workflow *wf = workflow_set_at(a->set, 0);
	struct workflow_set *tried = workflow_set_new();
	struct buf text;
	int place = 0, r = check_room(a, workflow_name(wf));

	if (r == 0)
		r = take_place(a, workflow_name(wf), &place);
	buf_init(&text);
	if (r == 0) {
		workflow_print_test(wf, place, &text);
		r = workflow_set_read(tried, buf_str(&text), text.len, "document", &a->diags);
		CHECK(r == 0 && workflow_set_count(tried) == 1); /* it was read before */
	}
	buf_done(&text);
	if (r < 0) {
		workflow_set_free(tried);
		return r;
	}
	workflow_set_free(a->set);
	a->set = tried;
	return 0;
}

static int trial_read(struct apply *a)
{
	int r = read_drawn(a);

	if (r == 0)
		r = read_tried(a);
	if (r == 0)
		r = apply__expand(a);
	return r == 0 ? apply__sizes(a) : r;
}

/* --- what of it is run --------------------------------------------------------------------- */

/* Among its tasks; a->n: it is none of them. */
static size_t place_of(const struct apply *a, uint32_t task)
{
	uint32_t i = map_get(&a->index, task);

	return i == MAP_NONE ? a->n : i;
}

/* The others are left out, and go nowhere: no task that stays waits for one of them. */
static int keep_up_to(struct apply *a)
{
	const char *wanted = last_part(a->cmd->o.up_to);
	bool *keep = mem_array(a->n + 1, sizeof *keep);
	size_t *todo = mem_array(a->n + 1, sizeof *todo), n = 0, kept = 0, at = 0;

	while (at < a->n && strcmp(last_part(a->tasks[at]->name), wanted) != 0)
		at++;
	if (at < a->n) {
		keep[at] = true;
		todo[n++] = at;
	}
	while (n > 0) {
		const struct task *t = a->tasks[todo[--n]];
		for (size_t k = 0; k < t->n_links; k++) {
			at = place_of(a, t->links[k].parent);
			if (at == a->n || keep[at])
				continue;
			keep[at] = true;
			todo[n++] = at;
		}
	}
	for (size_t i = 0; i < a->n; i++)
		kept += keep[i];
	for (size_t i = 0; i < a->n && kept; i++)
		a->leaves[i] = !keep[i];
	free(keep);
	free(todo);
	return kept ? 0
	            : refuse(a->f, E_NOT_FOUND, "args.up_to", NULL,
	                     "args.up_to: '%.200s' is no task of the document", wanted);
}

/* Its tasks that are run, in their order; the caller's array. */
static const struct task **members_of(const struct apply *a, size_t *ret_n)
{
	const struct task **all = mem_array(a->n + 1, sizeof *all);

	*ret_n = 0;
	for (size_t i = 0; i < a->n; i++)
		if (!a->leaves[i])
			all[(*ret_n)++] = a->tasks[i];
	return all;
}

/* For the answer: what is run. */
static void print_trial(struct apply *a, const struct task *const *tasks, size_t n)
{
	struct buf *out = &a->changes;
	char *shown = workflow_name_shown(a->cmd->tried);

	put_open(out, "trial", '{');
	put_text(out, "workflow", shown);
	put_text(out, "name", a->cmd->tried);
	put_open(out, "tasks", '[');
	for (size_t i = 0; i < n && i < DRY_TASKS_MAX; i++)
		put_text(out, NULL, last_part(tasks[i]->name));
	put_close(out, ']');
	put_int(out, "n_tasks", (int64_t)n);
	put_close(out, '}');
	start__print_dates(&a->cmd->o, tasks, n, out);
	free(shown);
}

static int trial_judge(struct apply *a)
{
	struct order *o = &a->cmd->o;
	size_t n;
	int r = pools__check(a->c, a->set, a->tasks, a->n, a->f);

	free(a->leaves);
	a->leaves = mem_array(a->n + 1, sizeof *a->leaves);
	if (r == 0 && o->up_to)
		r = keep_up_to(a);
	if (r < 0)
		return r;
	const struct task **members = members_of(a, &n);
	selection_done(&o->sel);
	o->sel = (struct selection){ 0 };
	r = params__check(a->c, o, members, n, a->f);
	if (r == 0)
		r = start__dates(o, members, n, a->f);
	if (r == 0)
		print_trial(a, members, n);
	if (r == 0 && a->cmd->dry)
		a->cmd->tally.total = (int64_t)o->sel.n_instances;
	free(members);
	/* Once it is saved they are chosen anew, from what is saved then (trial_chosen()). */
	if (r < 0 || !a->cmd->dry) {
		selection_done(&o->sel);
		o->sel = (struct selection){ 0 };
	}
	return r;
}

/* --- the edit ------------------------------------------------------------------------------ */

static int trial_take(struct apply *a)
{
	const struct workflow *wf = workflow_set_at(a->set, 0);
	uint32_t id = 0, version = 0;
	struct buf body;

	a->world.w.workflow(&a->world, workflow_name(wf), &id, &version);
	for (size_t i = 0; i < a->n; i++)
		if (!a->leaves[i])
			apply__add_task(a, a->tasks[i]);
	buf_init(&body);
	workflow_print(wf, &body);
	apply__add_doc(a, &(struct store_doc){ .kind = DOC_WORKFLOW,
	                                       .id = id,
	                                       .version = version,
	                                       .name = workflow_name(wf),
	                                       .body = buf_str(&body),
	                                       .body_len = body.len });
	buf_done(&body);
	a->differs = mem_array(2, sizeof *a->differs);
	a->differs[0] = true; /* for what it costs */
	return 0;
}

int trial__work(struct apply *a)
{
	switch (a->stage) {
	case AP_READ:
		return trial_read(a);
	case AP_COMPILE:
		return apply__compile(a);
	case AP_JUDGE:
		return trial_judge(a);
	case AP_TAKE:
		return trial_take(a);
	case AP_COST:
		return apply__cost(a);
	default:
		apply__print_diags(&a->diags, true, "warnings", &a->changes);
		return 0;
	}
}
