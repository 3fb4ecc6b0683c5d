/* What documents need to know from outside while they are compiled: zones, calendars, tasks of
 * other workflows, numbers, parameters and target servers.
 *
 * It answers from what is in force. A name that is known keeps its number; a new one gets the next
 * free one, in new_tasks or new_workflows, so that documents that are refused use none up. At a
 * save every name must be there; what is stored already was judged then, and no name of it is
 * doubted again (`is_save` false). Nothing here changes what is in force. */
#include "baseserver/model/world.h"

#include <string.h>

#include "baseserver/model/calendars.h"
#include "baseserver/model/catalog.h"
#include "baseserver/model/peers.h"
#include "baseserver/model/scopes.h"
#include "baseserver/model/targets.h"
#include "rt/zones.h"
#include "sched/calendar.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "util/check.h"
#include "util/log.h"

static int world_zone(void *ctx, const char *name, const struct tz **ret_tz, struct err *err)
{
	(void)ctx;
	return zones_get(name, ret_tz, err);
}

static const struct task *world_task(void *ctx, const char *name)
{
	const struct world *w = ctx;
	const struct cat_task *t = w->cat ? catalog_find(w->cat, name) : NULL;

	return t && !catalog_retired(t) ? t->def : NULL;
}

static const struct task *task_by_id(void *ctx, uint32_t id)
{
	const struct world *w = ctx;
	const struct cat_task *t = w->cat ? catalog_task(w->cat, id) : NULL;

	return t && !catalog_retired(t) ? t->def : NULL;
}

/* What was saved is taken as it is: a server that does not start helps nobody. */
static const struct calendar *calendar(void *ctx, const char *name)
{
	struct world *w = ctx;
	const struct calendar *days = calendars_days(w->calendars, name);

	if (days || w->is_save)
		return days;
	log_warn("calendar.missing", "calendar=%s leaves no date out", name);
	if (!w->every_day)
		calendar_new(CALENDAR_ALL_WEEK, NULL, 0, &w->every_day, NULL);
	return w->every_day;
}

static void calendar_names(void *ctx, struct nearest *near)
{
	const struct world *w = ctx;

	docs_nearest(w->calendars, near);
}

/* Asked twice: first for the number and a start to fall back on, then with the start that
 * counts, for the anchor. */
static void world_known(void *ctx, const char *name, struct workflow_start *start)
{
	struct world *w = ctx;
	const struct name *n = names_find(w->tasks, name);

	if (n) {
		start->id = n->id;
		start->start = n->anchor;
		start->anchor = n->anchor;
		return;
	}
	struct name *made = names_find(&w->new_tasks, name);
	if (!made) {
		uint32_t last = w->tasks->last_id;
		if (w->new_tasks.last_id > last)
			last = w->new_tasks.last_id;
		made = names_put(&w->new_tasks, name, last + 1);
	}
	start->id = made->id;
	made->anchor = start->anchor;
}

static void workflow(void *ctx, const char *name, uint32_t *ret_id, uint32_t *ret_version)
{
	struct world *w = ctx;
	const struct name *n = names_find(w->workflows, name);

	if (n) {
		*ret_id = n->id;
		*ret_version = n->version + (w->is_save ? 1 : 0);
		return;
	}
	struct name *made = names_find(&w->new_workflows, name);
	if (!made) {
		uint32_t last = w->workflows->last_id;
		if (w->new_workflows.last_id > last)
			last = w->new_workflows.last_id;
		made = names_put(&w->new_workflows, name, last + 1);
		made->version = 1;
	}
	*ret_id = made->id;
	*ret_version = made->version;
}

/* "NAME.KEY"; of an `extra` any key will do: it may come yet. */
static bool has_member(const struct docs *t, const char *project, const char *name)
{
	const char *key = "";
	const struct doc *at = targets_split(t, name, &key);

	if (!at || !target_allows(at, project))
		return false;
	for (size_t i = 0; targets_members[i]; i++)
		if (strcmp(targets_members[i], key) == 0)
			return true;
	return strncmp(key, "extra.", 6) == 0;
}

static const char *server(void *ctx, const char *project, const char *name, bool secret)
{
	const struct world *w = ctx;

	return w->is_save && w->targets ? target_refusal(w->targets, project, name, secret) : NULL;
}

/* A stored document was judged when it was saved: no name of it is doubted again. */
static bool world_parameter(void *ctx, const char *project, const char *name)
{
	const struct world *w = ctx;

	if (!w->is_save)
		return true;
	if (strncmp(name, "server.", 7) == 0)
		return w->targets && has_member(w->targets, project, name + 7);
	for (int all = 0; w->scopes && all < 2; all++) {
		const char *of = all ? "" : project;
		bool is_new = false;
		for (size_t i = 0; w->set && i < workflow_set_scopes(w->set); i++)
			is_new |= strcmp(workflow_scope_project(workflow_set_scope(w->set, i)),
			                 of) == 0;
		const struct doc *d = is_new ? NULL : scopes_doc(w->scopes, of);
		if (d && workflow_scope_value(scope_of(d), name))
			return true;
	}
	return false;
}

static bool was_there(const struct world *w, enum roster is, const char *name)
{
	for (size_t i = 0; i < w->n_roster; i++)
		if (w->roster[i].is == is && strcmp(w->roster[i].name, name) == 0)
			return true;
	return false;
}

/* While no broker has come since the start nobody knows; one that has a document is to come. */
static bool world_machine(void *ctx, const char *name, bool group)
{
	const struct world *w = ctx;
	const struct peer *p = w->peers && !group ? peers_find(w->peers, name) : NULL;
	bool any = false;

	for (size_t i = 0; i < w->n_roster && !any; i++)
		any = w->roster[i].is == ROSTER_MACHINE;
	return !any || was_there(w, group ? ROSTER_GROUP : ROSTER_MACHINE, name) ||
	       (p && p->kind == PEER_BROKER);
}

/* A type that a task in force has was accepted once. */
bool world_runs(const struct world *w, const char *type)
{
	if (was_there(w, ROSTER_TYPE, type))
		return true;
	for (size_t i = 0; w->cat && i < w->cat->tasks_cap; i++) {
		const struct cat_task *t = catalog_task(w->cat, (uint32_t)i);
		if (t && !catalog_retired(t) && t->row.state != TS_DRAFT &&
		    strcmp(t->def->type, type) == 0)
			return true;
	}
	return false;
}

static bool runs(void *ctx, const char *type)
{
	return world_runs(ctx, type);
}

void world_init(struct world *w, const char *timezone, int64_t now)
{
	const struct tz *tz = NULL;

	CHECK(w->tasks && w->workflows && w->calendars);
	names_init(&w->new_tasks);
	names_init(&w->new_workflows);
	if (zones_get(timezone ? timezone : "UTC", &tz, NULL) < 0)
		tz = tz_utc();
	w->w = (struct workflow_world){ .ctx = w,
		                        .timezone = timezone ? timezone : "UTC",
		                        .start = unit_floor(tz, CU_DAY, now),
		                        .zone = world_zone,
		                        .calendar = calendar,
		                        .calendar_names = calendar_names,
		                        .task = world_task,
		                        .task_by_id = task_by_id,
		                        .known = world_known,
		                        .workflow = workflow,
		                        .parameter = world_parameter,
		                        .server = server,
		                        .runs = runs,
		                        .machine = world_machine,
		                        .saved = !w->is_save };
}

void world_done(struct world *w)
{
	names_done(&w->new_tasks);
	names_done(&w->new_workflows);
	calendar_free(w->every_day);
}
