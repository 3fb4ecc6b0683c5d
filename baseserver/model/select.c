/* A selection: which tasks and dates a person means, read from JSON and checked.
 *
 * Names become numbers here, against the catalog; dates stay as they were written, because one
 * label is another instant in each task's zone (select_feed.c makes instants of them). `tasks`
 * ends up ascending with each once. A list of instances stands alone: it excludes every other key.
 * Every refusal says which item, and the nearest known word. The feed lists what is meant. */
#include "baseserver/model/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/args.h"
#include "baseserver/model/catalog.h"
#include "sched/civil.h"
#include "sched/label.h"
#include "sched/name.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_read.h"

/* Who writes a workflow's name where a task's is expected was told the nearest task, and acted on
 * that one. NULL: no task in force is of a workflow of this name. */
static const struct cat_task *task_of_workflow(const struct catalog *c, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < c->tasks_cap; i++) {
		const struct cat_task *t = catalog_task(c, (uint32_t)i);
		if (t && !catalog_retired(t) && catalog_in_workflow(t, name, len))
			return t;
	}
	return NULL;
}

/* A task by name, or a refusal that names the nearest. */
static int selection_task(const struct catalog *c, const char *name, const char *at,
                          const struct cat_task **ret, struct refusal *f)
{
	const struct cat_task *t = catalog_find(c, name);
	const char *names[257];
	size_t n = 0;

	if (t && !catalog_retired(t)) {
		*ret = t;
		return 0;
	}
	for (size_t i = 0; i < c->tasks_cap && n < 256; i++)
		if (c->tasks[i] && c->tasks[i]->def && !catalog_retired(c->tasks[i]) &&
		    !name_is_test(c->tasks[i]->def->name))
			names[n++] = c->tasks[i]->def->name;
	names[n] = NULL;
	t = task_of_workflow(c, name);
	if (t)
		return refuse(f, E_NOT_FOUND, at, t->def->name,
		              "%s: '%.200s' is a workflow, not a task; a task of it: %s", at, name,
		              t->def->name);
	const char *near = nearest_of(name, names);
	return refuse(f, E_NOT_FOUND, at, near, "%s: no task '%.200s'%s%s", at, name,
	              near ? ", is this meant: " : "", near ? near : "");
}

static void add_task(struct selection *s, uint32_t id)
{
	s->tasks = mem_grow(s->tasks, s->n_tasks + 1, sizeof *s->tasks);
	s->tasks[s->n_tasks++] = id;
}

static int add_workflow(const struct catalog *c, struct selection *s, const char *given, size_t len,
                        const char *at, struct refusal *f)
{
	size_t before = s->n_tasks;
	char *text = mem_strn(given, len), *nfc = name_nfc(text);
	const char *name = nfc ? nfc : text;

	len = strlen(name);
	for (size_t i = 0; i < c->tasks_cap; i++) {
		const struct cat_task *t = catalog_task(c, (uint32_t)i);
		if (t && !catalog_retired(t) && catalog_in_workflow(t, name, len))
			add_task(s, t->id);
	}
	int r = s->n_tasks > before
	                ? 0
	                : refuse(f, E_NOT_FOUND, at, NULL, "%s: no workflow '%s'", at, text);
	free(nfc);
	free(text);
	return r;
}

static int add_name(const struct catalog *c, struct selection *s, const struct jval *v,
                    const char *at, struct refusal *f)
{
	const struct cat_task *t = NULL;

	if (v->kind != JV_TEXT)
		return refuse(f, E_INVALID, at, NULL, "%s: a task's name is expected, not %s", at,
		              jv_kind_name(v));
	if (v->len > 2 && strcmp(v->text + v->len - 2, "/*") == 0)
		return add_workflow(c, s, v->text, v->len - 2, at, f);
	if (!catalog_find(c, v->text) && task_of_workflow(c, v->text))
		return refuse(f, E_NOT_FOUND, at, NULL,
		              "%s: '%.200s' is a workflow, not a task; all its tasks: %.200s/*", at,
		              v->text, v->text);
	int r = selection_task(c, v->text, at, &t, f);
	if (r == 0 && t)
		add_task(s, t->id);
	return r;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort_tasks(struct selection *s)
{
	size_t n = 0;

	if (s->n_tasks)
		qsort(s->tasks, s->n_tasks, sizeof *s->tasks, by_id);
	for (size_t i = 0; i < s->n_tasks; i++)
		if (n == 0 || s->tasks[n - 1] != s->tasks[i])
			s->tasks[n++] = s->tasks[i];
	s->n_tasks = n;
}

static int parse_tasks(const struct catalog *c, const struct jval *v, struct selection *s,
                       struct refusal *f)
{
	const struct jval *list = NULL;
	const char *workflow = NULL;
	char at[64];
	size_t i = 0;
	int r = arg_list(v, "args.selection", "tasks", SELECT_LIST_MAX, &list, f);

	if (r == 0)
		r = arg_text(v, "args.selection", "workflow", 256, &workflow, f);
	for (const struct jval *t = jv_first(list); t && r == 0; t = t->next) {
		snprintf(at, sizeof at, "args.selection.tasks.%zu", i++);
		r = add_name(c, s, t, at, f);
	}
	if (r == 0 && workflow)
		r = add_workflow(c, s, workflow, strlen(workflow), "args.selection.workflow", f);
	sort_tasks(s);
	return r;
}

static int no_date(const struct jval *v, const char *at, struct refusal *f)
{
	const char *text = v->kind == JV_TEXT ? v->text : jv_kind_name(v);
	char no_day[WHEN_TEXT];

	return refuse(f, E_INVALID, at,
	              "for example 2026-03-01, 2026-03-01 02:30, 2026-W09, 2026-03, "
	              "2026-03-01T02:30:00Z, "
	              "yesterday, -3d",
	              "%s: '%.60s' is no date%s", at, text, when_no_day(text, no_day));
}

static int parse_when(const struct jval *v, int64_t now, const char *at, struct when *ret,
                      struct refusal *f)
{
	return v->kind == JV_TEXT && when_parse(v->text, now, ret) ? 0 : no_date(v, at, f);
}

static int parse_span(const struct jval *v, int64_t now, const char *at, struct when_span *ret,
                      struct refusal *f)
{
	if (v->kind != JV_TEXT || !when_range(v->text, now, ret))
		return no_date(v, at, f);
	return when_is_after(&ret->from, &ret->to)
	               ? refuse(f, E_INVALID, at, NULL, "%s: '%.60s' ends before it begins", at,
	                        v->text)
	               : 0;
}

static int parse_dates(const struct jval *v, int64_t now, struct selection *s, struct refusal *f)
{
	const struct jval *from = jv_get(v, "from"), *to = jv_get(v, "to"), *list = NULL;
	char at[64];
	int r = arg_list(v, "args.selection", "dates", SELECT_LIST_MAX, &list, f);

	s->has_from = from != NULL;
	s->has_to = to != NULL;
	if (r == 0 && from)
		r = parse_when(from, now, "args.selection.from", &s->from, f);
	if (r == 0 && to)
		r = parse_when(to, now, "args.selection.to", &s->to, f);
	if (r == 0 && from && to && when_is_after(&s->from, &s->to))
		r = refuse(f, E_INVALID, "args.selection.from", NULL,
		           "args.selection.from: %.60s is after to, %.60s", from->text, to->text);
	if (r < 0 || !list)
		return r;
	s->has_dates = true;
	s->dates = mem_array(list->len + 1, sizeof *s->dates);
	for (const struct jval *d = list->first; d && r == 0; d = d->next) {
		CHECK(s->n_dates < list->len);
		snprintf(at, sizeof at, "args.selection.dates.%zu", s->n_dates);
		r = parse_span(d, now, at, &s->dates[s->n_dates++], f);
	}
	return r;
}

static const char *const day_names[] = { "monday",   "tuesday", "wednesday", "thursday", "friday",
	                                 "saturday", "sunday",  "last",      NULL };

/* A weekday's name, "last", or a day of the month. */
static bool parse_day(const struct jval *d, struct selection *s)
{
	if (d->kind == JV_NUMBER && d->number >= 1 && d->number <= 31) {
		s->month_days |= 1u << d->number;
		return true;
	}
	for (unsigned i = 0; d->kind == JV_TEXT && day_names[i]; i++) {
		if (strcmp(day_names[i], d->text) != 0)
			continue;
		if (i < 7)
			s->weekdays |= 1u << i;
		else
			s->month_days |= 1;
		return true;
	}
	return false;
}

static int parse_every(const struct jval *v, struct selection *s, struct refusal *f)
{
	const struct jval *list = NULL;
	char at[64];
	size_t i = 0;
	int r = arg_list(v, "args.selection", "every", 40, &list, f);

	if (r < 0 || !list)
		return r;
	if (!s->has_from || !s->has_to)
		return refuse(
			f, E_INVALID, "args.selection.every", "from and to",
			"args.selection.every: picks days of a range, from and to are missing");
	if (list->len == 0)
		return refuse(f, E_INVALID, "args.selection.every",
		              "for example [\"monday\"], [1, \"last\"]",
		              "args.selection.every: is empty");
	for (const struct jval *d = list->first; d; d = d->next, i++) {
		if (parse_day(d, s))
			continue;
		snprintf(at, sizeof at, "args.selection.every.%zu", i);
		const char *near = d->kind == JV_TEXT ? nearest_of(d->text, day_names) : NULL;
		return refuse(f, E_INVALID, at, "monday to sunday, 1 to 31, last",
		              "%s: '%.60s' is neither a weekday nor a day of the month%s%s", at,
		              d->kind == JV_TEXT ? d->text : jv_kind_name(d),
		              near ? ", is this meant: " : "", near ? near : "");
	}
	return 0;
}

static int parse_states(const struct jval *v, struct selection *s, struct refusal *f)
{
	const struct jval *list = NULL;
	const char *names[ST_COUNT];
	char at[64];
	size_t i = 0;
	int r = arg_list(v, "args.selection", "states", ST_COUNT, &list, f);

	if (r < 0 || !list)
		return r;
	for (int k = 1; k < ST_COUNT; k++)
		names[k - 1] = state_name((enum state)k);
	names[ST_COUNT - 1] = NULL;
	s->has_states = true;
	for (const struct jval *t = list->first; t; t = t->next) {
		enum state st;
		snprintf(at, sizeof at, "args.selection.states.%zu", i++);
		if (t->kind != JV_TEXT || !state_from_name(t->text, &st)) {
			const char *near = t->kind == JV_TEXT ? nearest_of(t->text, names) : NULL;
			return refuse(f, E_INVALID, at, near, "%s: '%.60s' is no state%s%s", at,
			              t->kind == JV_TEXT ? t->text : jv_kind_name(t),
			              near ? ", is this meant: " : "", near ? near : "");
		}
		s->states |= 1u << st;
	}
	return 0;
}

bool number_next(const char **text, int64_t *ret)
{
	char *end = NULL;

	errno = 0;
	*ret = strtoll(*text, &end, 10);
	if (end == *text || errno)
		return false;
	*text = end;
	return true;
}

bool selection_id(const char *text, struct inst_key *ret)
{
	int64_t task, date, part = 0;

	if (strlen(text) > 60 || strspn(text, "0123456789.-") != strlen(text))
		return false;
	if (!number_next(&text, &task) || *text++ != '.' || !number_next(&text, &date))
		return false;
	if (*text == '.') {
		text++;
		if (!number_next(&text, &part))
			return false;
	}
	if (*text || task < 1 || task > UINT32_MAX || part < INT32_MIN || part > INT32_MAX)
		return false;
	*ret = (struct inst_key){ date, (uint32_t)task, (int32_t)part };
	return true;
}

bool select_date_counts(const struct catalog *c, const struct cat_task *t, int64_t date)
{
	return plan_has(t->def->plan, date) || outcomes_find(&t->outcomes, date) ||
	       catalog_live(c, (struct inst_key){ date, t->id, 0 });
}

struct said_date {
	const struct when *w;
	const char *text, *place; /* as it was said, and where */
};

/* The one date that the words name. What is there off the plan is meant before what is planned. */
static int one_date(const struct catalog *c, const struct cat_task *t, const struct said_date *d,
                    int64_t *ret, struct refusal *f)
{
	const struct when *w = d->w;
	const char *place = d->place;
	const struct plan *plan = t->def->plan;
	int64_t at[2], dates[2];
	char one[LABEL_TEXT];
	struct err err = { 0 };
	size_t n = label_dates(plan, w, dates);

	if (n != 1) {
		label_unclear(plan, t->def->name, d->text, w, n ? dates : NULL, &err);
		return refuse(f, E_INVALID, place, n ? label_of(plan, dates[0], one) : NULL,
		              "%s: %s", place, err.text);
	}
	*ret = dates[0];
	if (when_readings(w, plan_tz(plan), at) == 1 && select_date_counts(c, t, at[0]))
		*ret = at[0];
	return 0;
}

static int named_instance(const struct catalog *c, const struct jval *v, int64_t now,
                          const char *at, struct inst_key *ret, struct refusal *f)
{
	const struct jval *name = jv_get(v, "task"), *date = jv_get(v, "run_date");
	const struct cat_task *t = NULL;
	struct when w = { 0 };
	int64_t part = 0;
	char place[160];

	if (!name || name->kind != JV_TEXT || !date)
		return refuse(f, E_INVALID, at,
		              "{\"id\": ...} or {\"task\": ..., \"run_date\": ...}",
		              "%s: id, or task and run_date, are expected", at);
	int r = arg_number(v, at, (struct arg_range){ "part", -1000000, 1000000 }, &part, f);
	snprintf(place, sizeof place, "%s.task", at);
	if (r == 0)
		r = selection_task(c, name->text, place, &t, f);
	snprintf(place, sizeof place, "%s.run_date", at);
	if (r == 0)
		r = parse_when(date, now, place, &w, f);
	if (r < 0 || !t)
		return r;
	*ret = (struct inst_key){ .task = t->id, .part = (int32_t)part };
	return one_date(c, t, &(struct said_date){ &w, date->text, place }, &ret->run_date, f);
}

int selection_instance(const struct catalog *c, const struct jval *v, int64_t now, const char *at,
                       struct inst_key *ret, struct refusal *f)
{
	static const char *const keys[] = { "id", "task", "run_date", "part", NULL };
	char place[160];
	int r = arg_object(v, at, keys, f);

	if (r < 0)
		return r;
	const struct jval *id = jv_get(v, "id");
	if (!id)
		return named_instance(c, v, now, at, ret, f);
	snprintf(place, sizeof place, "%s.id", at);
	if (id->kind != JV_TEXT || !selection_id(id->text, ret))
		return refuse(f, E_INVALID, place, "TASKID.RUNDATE or TASKID.RUNDATE.PART",
		              "%s: '%.60s' is no instance's id", place,
		              id->kind == JV_TEXT ? id->text : jv_kind_name(id));
	const struct cat_task *t = catalog_task(c, ret->task);
	if (!t || catalog_retired(t))
		return refuse(f, E_NOT_FOUND, place, NULL, "%s: no task has the id %u", place,
		              ret->task);
	return 0;
}

static int parse_instances(const struct catalog *c, const struct jval *v, int64_t now,
                           struct selection *s, struct refusal *f)
{
	const struct jval *list = NULL;
	char at[64];
	int r = arg_list(v, "args.selection", "instances", SELECT_LIST_MAX, &list, f);

	if (r < 0 || !list)
		return r;
	for (const struct jval *o = v->first; o; o = o->next)
		if (strcmp(o->key, "instances") != 0 && o->kind != JV_NULL)
			return refuse(
				f, E_INVALID, "args.selection.instances", NULL,
				"args.selection: instances excludes every other key, %s is there",
				o->key);
	s->has_instances = true;
	s->instances = mem_array(list->len + 1, sizeof *s->instances);
	for (const struct jval *o = list->first; o && r == 0; o = o->next) {
		CHECK(s->n_instances < list->len);
		snprintf(at, sizeof at, "args.selection.instances.%zu", s->n_instances);
		r = selection_instance(c, o, now, at, &s->instances[s->n_instances++], f);
	}
	return r;
}

int selection_parse(const struct catalog *c, const struct jval *v, int64_t now,
                    struct selection *ret, struct refusal *f)
{
	static const char *const keys[] = { "tasks",  "workflow",  "from",  "to", "dates",
		                            "states", "instances", "every", NULL };
	int r = 0;

	*ret = (struct selection){ 0 };
	if (!v)
		return 0;
	r = arg_object(v, "args.selection", keys, f);
	if (r == 0)
		r = parse_instances(c, v, now, ret, f);
	if (r == 0)
		r = parse_tasks(c, v, ret, f);
	if (r == 0)
		r = parse_dates(v, now, ret, f);
	if (r == 0)
		r = parse_every(v, ret, f);
	if (r == 0)
		r = parse_states(v, ret, f);
	if (r < 0)
		selection_done(ret);
	return r;
}

void selection_done(struct selection *s)
{
	free(s->tasks);
	free(s->dates);
	free(s->instances);
	*s = (struct selection){ 0 };
}

bool selection_has_dates(const struct selection *s)
{
	return s->has_from || s->has_to || s->has_dates;
}
