/* When a task runs: its zone, span, cron, calendar and offset, made into a plan.
 *
 * The order matters: dates without an offset are read in the task's zone, so the zone is found
 * first. A task may run within the span of its workflow, not beyond it. Equal crons of a set share
 * one object, since thousands of tasks have a handful of them. A calendar may stand in the same set
 * of documents or be known already; a name that neither has is refused with the nearest one. */
#include "sched/calendar.h"
#include "sched/calendar_doc.h"
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/offset.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "sched/workflow_impl.h"
#include "util/check.h"
#include "util/err.h"

#include <stdlib.h>
#include <string.h>

static int time_wrong(struct wf_compiler *c, const struct wf_made *m, const struct yaml_node *n,
                      const char *key, const char *code, const char *text)
{
	return diag_error(c->d, wf__place(m, n, key), code, NULL, "%s", text);
}

static const char *zone_name(const struct wf_compiler *c, const char *said)
{
	return said ? said : c->world->timezone ? c->world->timezone : "UTC";
}

static bool make_zone(struct wf_compiler *c, struct wf_made *m)
{
	const struct wf_text *zone = &m->t->timezone;
	const char *name = zone_name(c, zone->text), *shared = zone_name(c, m->wf->shared_zone);
	struct err err = { 0 };

	m->tz = tz_utc();
	if (c->world->zone && c->world->zone(c->world->ctx, name, &m->tz, &err) < 0) {
		diag_error(c->d, wf__place(m, zone->node, "timezone"), "timezone",
		           "a name of the IANA list that this machine has, such as Europe/Berlin",
		           "%s", err.text);
		return false;
	}
	if (!c->world->zone && strcmp(name, "UTC") != 0) {
		time_wrong(c, m, zone->node, "timezone", "timezone", "only UTC is known here");
		return false;
	}
	/* Tasks with zones of their own share their workflow's runs. */
	m->run_tz = m->tz;
	if (c->world->zone && strcmp(name, shared) != 0)
		c->world->zone(c->world->ctx, shared, &m->run_tz, &err);
	return true;
}

static bool read_instant(struct wf_compiler *c, const struct wf_made *m, const struct wf_text *text,
                         const char *key, struct when *ret)
{
	char no_day[WHEN_TEXT];

	if (when_parse(text->text, WHEN_NO_NOW, ret))
		return true;
	diag_error(c->d, wf__place(m, text->node, key), "wrong_value", NULL,
	           "%s is '%.40s'%s, want 2026-03-01, 2026-03-01 02:30 or 2026-03-01T02:30:00Z",
	           key, text->text, when_no_day(text->text, no_day));
	return false;
}

static int64_t last_second(const struct wf_made *m, const struct when *at)
{
	return when_instant(at, m->tz, at->is_date);
}

/* A task may run within what its workflow says, not beyond. */
static bool make_span(struct wf_compiler *c, const struct wf_made *m, struct schedule *s)
{
	const struct wf_task *t = m->t, *base = &m->wf->base;
	struct when own, outer;

	s->start = m->known.start;
	if (t->start.node) {
		if (!read_instant(c, m, &t->start, "start_date", &own))
			return false;
		s->start = when_instant(&own, m->tz, false);
		if (base->start.node && !read_instant(c, m, &base->start, "start_date", &outer))
			return false;
		if (base->start.node && s->start < when_instant(&outer, m->tz, false))
			return time_wrong(
				       c, m, t->start.node, "start_date", "conflict",
				       "the start is before the workflow's; a task may only narrow "
				       "it") == 0;
	}
	s->end = PLAN_NEVER;
	if (t->end.node) {
		if (!read_instant(c, m, &t->end, "end_date", &own))
			return false;
		s->end = last_second(m, &own);
		if (base->end.node && !read_instant(c, m, &base->end, "end_date", &outer))
			return false;
		if (base->end.node && s->end > last_second(m, &outer))
			return time_wrong(c, m, t->end.node, "end_date", "conflict",
			                  "the end is after the workflow's; a task may only narrow "
			                  "it") == 0;
	}
	return true;
}

/* Many tasks have few crons: those that are the same are one. Takes `own`. */
static struct cron *shared_cron(struct wf_compiler *c, struct cron *own)
{
	uint64_t h = map_mix(cron_hash(own), 0);
	size_t where = 0;

	for (uint32_t i = map_first(&c->cron_index, h, &where); i != MAP_NONE;
	     i = map_next(&c->cron_index, h, &where)) {
		CHECK(i < c->n_crons);
		if (!cron_same(c->crons[i], own))
			continue;
		cron_free(own);
		return cron_ref(c->crons[i]);
	}
	map_add(&c->cron_index, h, (uint32_t)c->n_crons);
	CHECK(c->n_crons < c->n);
	c->crons[c->n_crons++] = own;
	return own;
}

/* `cycle: none` beside a cron, which counted for nothing before it was refused. */
static bool is_never(const struct wf_compiler *c, const struct wf_task *t)
{
	return t->cycle.node && t->cycle.unit == CU_NONE && !c->world->saved;
}

static bool make_cron(struct wf_compiler *c, struct wf_made *m, struct schedule *s)
{
	const struct wf_task *t = m->t;
	struct err err = { 0 };

	s->unit = t->cycle.node ? t->cycle.unit : CU_NONE;
	s->step = t->cycle.node ? t->cycle.step : 1;
	if (!t->cron.node) {
		if (t->cycle.node)
			return true;
		diag_error(c->d, wf__place(m, t->node, NULL), "missing_key", "cycle: day, for one",
		           "a task needs a `cycle` or a `cron`");
		return false;
	}
	if (s->step != 1 || s->unit == CU_ONCE || is_never(c, t)) {
		time_wrong(c, m, t->cycle.node, "cycle", "conflict",
		           "the cron says when it runs; beside it a cycle names the unit of its "
		           "periods "
		           "alone, minute to year");
		return false;
	}
	if (cron_parse(t->cron.text, t->full, &m->cron, &err) < 0) {
		time_wrong(c, m, t->cron.node, "cron", "cron", err.text);
		return false;
	}
	m->cron = shared_cron(c, m->cron);
	s->cron = m->cron;
	return true;
}

static const struct calendar *in_set(const struct workflow_set *set, const char *name)
{
	for (size_t i = 0; i < set->n_calendars; i++)
		if (strcmp(calendar_doc_name(set->calendars[i]), name) == 0)
			return calendar_doc_days(set->calendars[i]);
	return NULL;
}

static const char *near_calendar(const struct wf_compiler *c, const char *name,
                                 char hint[NEAREST_HINT_BYTES])
{
	struct nearest near = nearest_to(name);

	for (size_t i = 0; i < c->set->n_calendars; i++)
		nearest_try(&near, calendar_doc_name(c->set->calendars[i]));
	if (c->world->calendar_names)
		c->world->calendar_names(c->world->ctx, &near);
	return nearest_hint(&near, hint);
}

static bool make_calendar(struct wf_compiler *c, struct wf_made *m, struct schedule *s)
{
	const struct wf_task *t = m->t;

	s->calendar_on_due = t->calendar_on.value;
	s->shift = (enum plan_shift)t->shift.value;
	if (!t->calendar.node)
		return true;
	const struct calendar *found = in_set(c->set, t->calendar.text);
	if (!found && c->world->calendar)
		found = c->world->calendar(c->world->ctx, t->calendar.text);
	if (found) {
		s->calendar = m->calendar = calendar_ref(found);
		return true;
	}
	if (!c->world->calendar && c->set->n_calendars == 0) {
		diag_warning(c->d, wf__place(m, t->calendar.node, "calendar"), "unknown_calendar",
		             NULL, "calendar '%s' is not among the files: no date is left out",
		             t->calendar.text);
		return true;
	}
	char hint[NEAREST_HINT_BYTES];
	diag_error(c->d, wf__place(m, t->calendar.node, "calendar"), "unknown_calendar",
	           near_calendar(c, t->calendar.text, hint), "there is no calendar '%s'",
	           t->calendar.text);
	return false;
}

static bool make_offset(struct wf_compiler *c, const struct wf_made *m, struct schedule *s)
{
	struct err err = { 0 };

	s->fire = m->t->fire.value ? FIRE_END : FIRE_START;
	if (!m->t->offset.node || offset_parse(m->t->offset.text, &s->offset, &err) == 0)
		return true;
	time_wrong(c, m, m->t->offset.node, "offset", "offset", err.text);
	return false;
}

bool wf__make_plan(struct wf_compiler *c, struct wf_made *m)
{
	struct schedule s = { 0 };
	struct err err = { 0 };

	CHECK(m >= c->made && m < c->made + c->n);
	if (!make_zone(c, m))
		return false;
	s.tz = m->tz;
	m->known = (struct workflow_start){ .id = (uint32_t)(m - c->made) + 1,
		                            .start = c->world->start };
	if (c->world->known)
		c->world->known(c->world->ctx, m->t->full, &m->known);
	/* All of them, so that one look shows all that is wrong. */
	bool good = make_span(c, m, &s);
	good = make_cron(c, m, &s) && good;
	good = make_calendar(c, m, &s) && good;
	good = make_offset(c, m, &s) && good;
	if (!good)
		return false;
	s.anchor = s.start;
	m->known.anchor = s.start;
	if (c->world->known) {
		struct workflow_start again = { .start = s.start,
			                        .anchor = s.start,
			                        .id = m->known.id };
		c->world->known(c->world->ctx, m->t->full, &again);
		m->known = again;
		s.anchor = again.anchor;
	}
	if (plan_new(&s, &m->plan, &err) == 0)
		return true;
	const struct yaml_node *n = m->t->cron.node ? m->t->cron.node : m->t->cycle.node;
	time_wrong(c, m, n, m->t->cron.node ? "cron" : "cycle", "schedule", err.text);
	return false;
}
