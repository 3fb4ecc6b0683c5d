#include "baseserver/model/calendars.h"

#include "sched/calendar.h"
#include "sched/calendar_doc.h"
#include "sched/workflow.h"
#include "util/diag.h"
#include "util/err.h"

int calendar_read(const struct store_doc *d, void **ret_days, struct err *err)
{
	struct workflow_set *set = workflow_set_new();
	struct diags diags;

	diags_init(&diags);
	int r = workflow_set_read(set, d->body, d->body_len, d->name, &diags);
	if (r == 0 && workflow_set_calendars(set) == 1)
		*ret_days = calendar_ref(calendar_doc_days(workflow_set_calendar(set, 0)));
	else
		r = err_set(err, E_CORRUPT, "the stored calendar %s, line %d: %s", d->name,
		            diags.n ? diags.items[0].at.line : 0,
		            diags.n ? diags.items[0].message : "is none");
	workflow_set_free(set);
	diags_done(&diags);
	return r;
}

void calendar_drop(void *days)
{
	calendar_free(days);
}

const struct calendar *calendars_days(const struct docs *calendars, const char *name)
{
	const struct doc *d = docs_find(calendars, name);

	return d ? d->means : NULL;
}
