#include "baseserver/model/calendars.h"

#include <stdlib.h>
#include <string.h>

#include "sched/calendar.h"
#include "sched/calendar_doc.h"
#include "sched/workflow.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/diag.h"
#include "util/err.h"

void calendars_init(struct calendars *c)
{
	*c = (struct calendars){ 0 };
}

void calendars_done(struct calendars *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->items[i].name);
		free(c->items[i].body);
		calendar_free(c->items[i].days);
	}
	free(c->items);
	*c = (struct calendars){ 0 };
}

static struct calendar *read_days(const struct store_doc *d, struct err *err)
{
	struct workflow_set *set = workflow_set_new();
	struct calendar *days = NULL;
	struct diags diags;

	diags_init(&diags);
	int r = workflow_set_read(set, d->body, d->body_len, d->name, &diags);
	if (r == 0 && workflow_set_calendars(set) == 1)
		days = calendar_ref(calendar_doc_days(workflow_set_calendar(set, 0)));
	else
		err_set(err, E_CORRUPT, "the stored calendar %s, line %d: %s", d->name,
		        diags.n ? diags.items[0].at.line : 0,
		        diags.n ? diags.items[0].message : "is none");
	workflow_set_free(set);
	diags_done(&diags);
	return days;
}

static struct known_calendar *find(const struct calendars *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->items[i].name, name) == 0)
			return &c->items[i];
	return NULL;
}

int calendars_put(struct calendars *c, const struct store_doc *d, struct err *err)
{
	struct known_calendar *at = find(c, d->name);
	struct calendar *days = read_days(d, err);

	if (!days)
		return E_CORRUPT;
	if (!at) {
		c->items = mem_grow(c->items, c->n + 1, sizeof *c->items);
		at = &c->items[c->n++];
		*at = (struct known_calendar){ .name = mem_str(d->name) };
	}
	free(at->body);
	calendar_free(at->days);
	at->body = mem_strn(d->body, d->body_len);
	at->len = d->body_len;
	at->id = d->id;
	at->version = d->version;
	at->retired = d->retired;
	at->days = days;
	if (d->id > c->last_id)
		c->last_id = d->id;
	return 0;
}

const struct known_calendar *calendars_find(const struct calendars *c, const char *name)
{
	return find(c, name);
}

const struct calendar *calendars_days(const struct calendars *c, const char *name)
{
	const struct known_calendar *at = find(c, name);

	return at && !at->retired ? at->days : NULL;
}

void calendars_nearest(const struct calendars *c, struct nearest *near)
{
	for (size_t i = 0; i < c->n; i++)
		if (!c->items[i].retired)
			nearest_try(near, c->items[i].name);
}
