/* `within`: the projects that a command keeps to.
 *
 * The HTTP face sets it for people whose rights end at some projects. It is an argument like
 * others, so it stands in the command's record and holds after a restart as well. Each kind of
 * command names in its row which function judges it: by the tasks that are selected, by the
 * documents of an apply once they are read, by what a silence covers. What belongs to no project
 * belongs to the whole installation, and is refused. One's own commands may be steered wherever
 * they are. */
#include <stdio.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/err.h"
#include "util/json_read.h"

enum { PROJECTS_MAX = 100 };

static int parse_projects(const struct order *o, const char *key, const char *at,
                          const struct jval **ret, struct refusal *f)
{
	int r = arg_list(o->args, "args", key, PROJECTS_MAX, ret, f);
	char why[NAME_WHY_BYTES];

	for (const struct jval *v = r == 0 && *ret ? (*ret)->first : NULL; v; v = v->next) {
		if (v->kind != JV_TEXT)
			return refuse(f, E_INVALID, at, "for example [\"retail\"]",
			              "%s: a project's name is expected, not %s", at,
			              jv_kind_name(v));
		if (name_wrong(v->text, why))
			return refuse_name(f, at, v->text, why);
	}
	return r;
}

const char *const order__faces_keys[] = { "within", "unsafe_within", "quota_within", NULL };

int order__parse_within(struct order *o, struct refusal *f)
{
	int r = parse_projects(o, "within", "args.within", &o->within, f);

	if (r == 0)
		r = parse_projects(o, "unsafe_within", "args.unsafe_within", &o->unsafe_within, f);
	if (r == 0)
		r = parse_projects(o, "quota_within", "args.quota_within", &o->quota_within, f);
	return r;
}

static bool lists_project(const struct jval *projects, const char *name)
{
	size_t n = strcspn(name, "/");

	if (!projects)
		return true;
	for (const struct jval *v = projects->first; v; v = v->next)
		if (v->len == n && memcmp(v->text, name, n) == 0)
			return true;
	return false;
}

/* `name`: a project, or what begins with one and a slash. */
bool within__covers(const struct order *o, const char *name)
{
	return lists_project(o->within, name);
}

int within__check_raw(const struct order *o, const struct workflow *wf, struct refusal *f)
{
	const char *raw = workflow_raw(wf);

	if (!raw || lists_project(o->unsafe_within, raw))
		return 0;
	return refuse(f, E_FORBIDDEN, "args.documents", "an administrator: --right unsafe",
	              "%.200s says `raw`, values become a part of its code: that needs the right "
	              "unsafe",
	              raw);
}

/* A quota is the same whether `quota-set` says it or a document. */
int within__check_quota(const struct order *o, const char *project, struct refusal *f)
{
	if (lists_project(o->quota_within, project))
		return 0;
	return refuse(f, E_FORBIDDEN, "args.documents", "an operator of the project",
	              "%.200s: this changes the project's quota, and that needs the role operator "
	              "there, as quota-set does",
	              project);
}

int within__refuse(const struct order *o, const char *place, const char *name, struct refusal *f)
{
	char projects[200] = "";
	size_t n = 0;

	for (const struct jval *v = o->within->first; v && n < sizeof projects; v = v->next)
		n += (size_t)snprintf(projects + n, sizeof projects - n, "%s%s", n ? ", " : "",
		                      v->text);
	return refuse(f, E_FORBIDDEN, place, projects,
	              "%.200s: its project is not among those you may change (%s)", name,
	              *projects ? projects : "none");
}

static int check_selected(const struct commander *c, const struct order *o, struct refusal *f)
{
	for (size_t i = 0; i < o->sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, o->sel.tasks[i]);
		if (!within__covers(o, t->def->name))
			return within__refuse(o, "args.selection", t->def->name, f);
	}
	for (size_t i = 0; i < o->sel.n_instances; i++) {
		const struct cat_task *t = catalog_task(&c->cat, o->sel.instances[i].task);
		if (t && !within__covers(o, t->def->name))
			return within__refuse(o, "args.selection", t->def->name, f);
	}
	return 0;
}

/* What has no project belongs to the whole installation. */
static int within_whole(const struct order *o, struct refusal *f)
{
	return refuse(f, E_FORBIDDEN, "args", "ask an administrator",
	              "%s acts on the whole installation, not on a project",
	              command_kind_name(o->kind));
}

/* By what it covers (silence__begin()), or is of (alert__ack()). */
int within_later(const struct order *o, struct refusal *f)
{
	(void)o;
	(void)f;
	return 0;
}

/* Its documents when they are read: within__check_set(). */
int within_apply(const struct order *o, struct refusal *f)
{
	return o->retired_calendars ? within_whole(o, f) : 0;
}

/* Without a project it is of the one project that they have. */
int within_probe(const struct order *o, struct refusal *f)
{
	if (!o->pool && o->within->len == 1)
		return 0;
	if (!o->pool)
		return refuse(f, E_INVALID, "args.project", "--project",
		              "args.project: is missing");
	return within__covers(o, o->pool) ? 0 : within__refuse(o, "args.project", o->pool, f);
}

int within_quota(const struct order *o, struct refusal *f)
{
	return within__covers(o, o->pool) ? 0 : within__refuse(o, "args.project", o->pool, f);
}

int within_silence(const struct order *o, struct refusal *f)
{
	if (!o->covers)
		return within_whole(o, f);
	return within__covers(o, o->covers) ? 0 : within__refuse(o, "args", o->covers, f);
}

int within__check(const struct commander *c, const struct order *o, struct refusal *f)
{
	if (!o->within)
		return 0;
	switch (command_acts_on(o->kind)) {
	case ON_TASKS:
	case ON_INSTANCES:
	case ON_EITHER:
		return check_selected(c, o, f);
	case ON_COMMANDS: /* by who gave them: commander_steer.c */
		return 0;
	default:
		return o->ops->within ? o->ops->within(o, f) : within_whole(o, f);
	}
}

int within__check_set(const struct order *o, const struct workflow_set *set, struct refusal *f)
{
	const char *at = "args.documents";

	if (!o->within)
		return 0;
	for (size_t i = 0; i < workflow_set_count(set); i++) {
		const char *name = workflow_name(workflow_set_at(set, i));
		if (!within__covers(o, name))
			return within__refuse(o, at, name, f);
	}
	if (workflow_set_calendars(set))
		return within__refuse(o, at, "a calendar", f);
	for (size_t i = 0; i < workflow_set_scopes(set); i++) {
		const struct workflow_scope *s = workflow_set_scope(set, i);
		if (workflow_scope_pool(s) || !*workflow_scope_project(s))
			return within__refuse(
				o, at, workflow_scope_pool(s) ? "a pool" : "what is global", f);
		if (!within__covers(o, workflow_scope_project(s)))
			return within__refuse(o, at, workflow_scope_project(s), f);
	}
	for (const struct jval *v = o->retired_libraries ? o->retired_libraries->first : NULL; v;
	     v = v->next)
		if (!within__covers(o, v->text))
			return within__refuse(o, "args.retire_libraries", v->text, f);
	for (const struct jval *v = o->prune ? o->prune->first : NULL; v; v = v->next)
		if (!within__covers(o, v->text))
			return within__refuse(o, "args.prune", v->text, f);
	return 0;
}

/* One's own commands: of the same person, by whichever token. */
bool within__own(const struct cmd *cmd, const char *actor)
{
	size_t n = strcspn(cmd->actor, "/");

	return !cmd->o.within || (strcspn(actor, "/") == n && memcmp(cmd->actor, actor, n) == 0);
}
