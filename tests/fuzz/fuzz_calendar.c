/* Calendars: documents are judged without falling; what is good answers in order, prints and
 * reads back the same, and a plan on it goes on. */
#include <stdlib.h>

#include "sched/calendar.h"
#include "sched/calendar_doc.h"
#include "sched/civil.h"
#include "sched/plan.h"
#include "sched/tz.h"
#include "sched/workflow.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void walk(const struct calendar *c)
{
	static const enum plan_shift shifts[] = { SHIFT_NONE, SHIFT_NEXT, SHIFT_PREVIOUS,
		                                  SHIFT_DROP };
	int64_t from = civil_to_day(2026, 1, 1), day = calendar_next(c, from);

	CHECK(day >= from && (day == CALENDAR_NEVER || calendar_allows(c, day)));
	if (day != CALENDAR_NEVER)
		CHECK(calendar_prev(c, day) == day);
	CHECK(calendar_prev(c, from) <= from);
	for (size_t i = 0; i < 4; i++) {
		struct schedule s = { .unit = i ? CU_MONTH : CU_DAY,
			              .step = 1,
			              .tz = tz_utc(),
			              .end = PLAN_NEVER,
			              .calendar = c,
			              .shift = shifts[i],
			              .calendar_on_due = i & 1 };
		struct plan *p;
		CHECK(plan_new(&s, &p, NULL) == 0);
		int64_t t = from * DAY_S, next = plan_next(p, t);
		CHECK(next > t);
		if (next != PLAN_NEVER)
			CHECK(plan_has(p, next) && plan_prev(p, next + 1) == next);
		plan_free(p);
	}
}

static void same_again(const struct calendar_doc *doc)
{
	struct workflow_set *again = workflow_set_new();
	struct calendar *parsed;
	struct diags d;
	struct buf text;

	diags_init(&d);
	buf_init(&text);
	calendar_doc_print(doc, &text);
	CHECK(workflow_set_read(again, buf_str(&text), text.len, "again", &d) == 0);
	CHECK(calendar_same(calendar_doc_days(doc),
	                    calendar_doc_days(workflow_set_calendar(again, 0))));
	buf_clear(&text);
	calendar_print(calendar_doc_days(doc), &text);
	CHECK(calendar_parse(buf_str(&text), &parsed));
	CHECK(calendar_same(calendar_doc_days(doc), parsed));
	calendar_free(parsed);
	workflow_set_free(again);
	buf_done(&text);
	diags_done(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct workflow_set *set = workflow_set_new();
	struct diags d;

	diags_init(&d);
	if (bytes <= 4096 && workflow_set_read(set, (const char *)data, bytes, "fuzz", &d) == 0)
		for (size_t i = 0; i < workflow_set_calendars(set); i++) {
			walk(calendar_doc_days(workflow_set_calendar(set, i)));
			same_again(workflow_set_calendar(set, i));
		}
	workflow_set_free(set);
	diags_done(&d);
	return 0;
}
