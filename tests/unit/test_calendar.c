/* sched/calendar, calendar_doc, and workflows that name calendars. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/calendar.h"
#include "sched/calendar_doc.h"
#include "sched/civil.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/buf.h"
#include "util/diag.h"

static struct diags d;
static struct workflow_set *set;

static int setup(void **state)
{
	(void)state;
	diags_init(&d);
	set = workflow_set_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	workflow_set_free(set);
	diags_done(&d);
	return 0;
}

static int read_text(const char *text)
{
	return workflow_set_read(set, text, strlen(text), "f.yaml", &d);
}

static const struct calendar *read_one(const char *text)
{
	if (read_text(text) < 0)
		fail_msg("%s: %s", text, d.items[0].message);
	return calendar_doc_days(workflow_set_calendar(set, workflow_set_calendars(set) - 1));
}

static bool allows(const struct calendar *c, int year, int month, int day)
{
	return calendar_allows(c, civil_to_day(year, month, day));
}

static void holidays_are_out_and_made_up_days_are_in(void **state)
{
	(void)state;
	const struct calendar *c = read_one("calendar: cn\ndescription: two weeks\n"
	                                    "weekends: [saturday, sun]\n"
	                                    "holidays: [2026-10-01..2026-10-07]\n"
	                                    "workdays: [{on: 2026-10-10, name: make-up}]\n");

	assert_true(allows(c, 2026, 9, 30));
	assert_false(allows(c, 2026, 10, 1));
	assert_false(allows(c, 2026, 10, 7));
	assert_true(allows(c, 2026, 10, 8));
	assert_true(allows(c, 2026, 10, 10));  /* a Saturday */
	assert_false(allows(c, 2026, 10, 11)); /* a Sunday */
	assert_int_equal(calendar_next(c, civil_to_day(2026, 10, 1)), civil_to_day(2026, 10, 8));
	assert_int_equal(calendar_prev(c, civil_to_day(2026, 10, 7)), civil_to_day(2026, 9, 30));
	const struct calendar_doc *doc = workflow_set_calendar(set, 0);
	assert_string_equal(calendar_doc_name(doc), "cn");
	assert_string_equal(calendar_doc_description(doc), "two weeks");
}

static void dates_without_a_year_come_each_year(void **state)
{
	(void)state;
	const struct calendar *c = read_one(
		"calendar: us\nyears: 2023..2025\nworking: [mon, tue, wed, thu, fri, sat, sun]\n"
		"holidays: [12-25, 02-28..02-29]\n");

	assert_false(allows(c, 2023, 12, 25));
	assert_false(allows(c, 2025, 12, 25));
	assert_true(allows(c, 2026, 12, 25));
	assert_false(allows(c, 2024, 2, 29));
	assert_false(allows(c, 2023, 2, 28));
	assert_true(allows(c, 2023, 3, 1));
}

static void lists_may_stand_by_year_also_as_json(void **state)
{
	(void)state;
	const struct calendar *c = read_one(
		"{\"calendar\": \"j\", \"weekends\": [], "
		"\"holidays\": {\"2026\": [\"01-01\", {\"on\": [\"10-01..10-02\"]}]}}");

	assert_false(allows(c, 2026, 1, 1));
	assert_true(allows(c, 2027, 1, 1));
	assert_false(allows(c, 2026, 10, 2));
}

static void dates_alone_are_all_there_is(void **state)
{
	(void)state;
	const struct calendar *c = read_one("calendar: quarter_ends\nyears: 2026\n"
	                                    "dates: [03-31, 06-30, 2027-09-30]\n");

	assert_true(allows(c, 2026, 3, 31));
	assert_false(allows(c, 2026, 4, 1));
	assert_int_equal(calendar_next(c, civil_to_day(2026, 7, 1)), civil_to_day(2027, 9, 30));
	assert_int_equal(calendar_next(c, civil_to_day(2027, 10, 1)), CALENDAR_NEVER);
	assert_int_equal(calendar_prev(c, civil_to_day(2026, 3, 30)), CALENDAR_BEFORE);
	assert_int_equal(calendar_prev(c, civil_to_day(2026, 12, 1)), civil_to_day(2026, 6, 30));
}

static void a_week_without_working_days_leaves_the_listed_ones(void **state)
{
	(void)state;
	const struct calendar *c = read_one("calendar: q\nworking: []\n"
	                                    "workdays: [2026-03-31]\nholidays: [2026-04-01]\n");

	assert_int_equal(calendar_next(c, civil_to_day(2026, 1, 1)), civil_to_day(2026, 3, 31));
	assert_int_equal(calendar_prev(c, civil_to_day(2027, 1, 1)), civil_to_day(2026, 3, 31));
	assert_int_equal(calendar_next(c, civil_to_day(2026, 4, 1)), CALENDAR_NEVER);
}

static void printing_reads_back_the_same(void **state)
{
	(void)state;
	struct buf out;
	const struct calendar *a = read_one("calendar: x\nweekends: [sunday]\n"
	                                    "holidays: [{on: 2026-10-01..2026-10-03, name: "
	                                    "\"a: b\"}]\n");

	buf_init(&out);
	calendar_doc_print(workflow_set_calendar(set, 0), &out);
	struct workflow_set *other = workflow_set_new();
	assert_int_equal(workflow_set_read(other, buf_str(&out), out.len, "again", &d), 0);
	assert_true(calendar_same(a, calendar_doc_days(workflow_set_calendar(other, 0))));
	workflow_set_free(other);
	buf_done(&out);
}

static void the_same_is_told_from_what_differs(void **state)
{
	(void)state;
	const struct calendar *a = read_one(
		"calendar: a\nweekends: [sunday]\nholidays: [2026-10-01]");
	const struct calendar *b = read_one(
		"calendar: b\nweekends: [sunday]\nholidays: [2026-10-02]");
	const struct calendar *c = read_one(
		"calendar: c\nweekends: [sunday]\nworkdays: [2026-10-01]");
	const struct calendar *e = read_one(
		"calendar: e\nweekends: [monday]\nholidays: [2026-10-01]");
	const struct calendar *f = read_one("calendar: f\nweekends: [sunday]\n");
	const struct calendar *all = read_one("calendar: all\nweekends: []\n");

	assert_true(calendar_same(a, a));
	assert_false(calendar_same(a, b));
	assert_false(calendar_same(a, c));
	assert_false(calendar_same(a, e));
	assert_false(calendar_same(a, f));
	assert_false(calendar_same(a, NULL));
	assert_false(calendar_same(NULL, a));
	assert_true(calendar_same(all, NULL));
	assert_true(calendar_same(NULL, all));
}

/* text, what is wrong with it, where */
static const struct {
	const char *text, *code, *path;
	int line;
} mistakes[] = {
	{ "calendar: c\n", "missing_key", "", 1 },
	{ "calendar: [c]\nweekends: []\n", "wrong_value", "calendar", 1 },
	{ "calendar: 1c\nweekends: []\n", "wrong_name", "calendar", 1 },
	{ "calendar: c\nweekend: []\n", "unknown_key", "weekend", 2 },
	{ "calendar: c\nweekends: sunday\n", "wrong_value", "weekends", 2 },
	{ "calendar: c\nweekends: [sunnday]\n", "wrong_value", "weekends[0]", 2 },
	{ "calendar: c\nweekends: [[]]\n", "wrong_value", "weekends[0]", 2 },
	{ "calendar: c\nweekends: []\nworking: []\n", "conflict", "working", 3 },
	{ "calendar: c\nweekends: []\ndates: []\n", "conflict", "weekends", 2 },
	{ "calendar: c\ndescription: []\nweekends: []\n", "wrong_value", "description", 2 },
	{ "calendar: c\nweekends: []\nholidays: 2026-01-01\n", "wrong_value", "holidays", 3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-02-30]\n", "wrong_value", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-13-01]\n", "wrong_value", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-00-01]\n", "wrong_value", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-01-00]\n", "wrong_value", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [2026.01.01]\n", "wrong_value", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-01-01..]\n", "wrong_value", "holidays[0]",
	  3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-01-01..01-02]\n", "wrong_value",
	  "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-01-01 x]\n", "wrong_value", "holidays[0]",
	  3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-01-02..2026-01-01]\n", "wrong_value",
	  "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-01-02..2025-03-01]\n", "wrong_value",
	  "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [[]]\n", "wrong_value", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [~]\n", "wrong_value", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [12-25]\n", "missing_key", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [{name: x}]\n", "missing_key", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: [{on: 2026-01-01, nam: x}]\n", "unknown_key",
	  "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: {20266: []}\n", "wrong_value", "holidays", 3 },
	{ "calendar: c\nweekends: []\nholidays: {2026x: []}\n", "wrong_value", "holidays", 3 },
	{ "calendar: c\nweekends: []\nholidays: [0000-01-01]\n", "wrong_value", "holidays[0]", 3 },
	{ "calendar: c\nweekends: []\nyears: 0001..9999\nholidays: [01-01..12-31]\n", "limit", "",
	  1 },
	{ "calendar: c\nweekends: []\nholidays: {abcd: []}\n", "wrong_value", "holidays", 3 },
	{ "calendar: c\nweekends: []\nholidays: {0000: []}\n", "wrong_value", "holidays", 3 },
	{ "calendar: c\nweekends: []\nholidays: {2026: [2026-01-01]}\n", "wrong_value",
	  "holidays.2026[0]", 3 },
	{ "calendar: c\nweekends: []\nholidays: {2026: [02-29]}\n", "wrong_value",
	  "holidays.2026[0]", 3 },
	{ "calendar: c\nweekends: []\nyears: 2026..\n", "wrong_value", "years", 3 },
	{ "calendar: c\nweekends: []\nyears: 2027..2026\n", "wrong_value", "years", 3 },
	{ "calendar: c\nweekends: []\nyears: 0000\n", "wrong_value", "years", 3 },
	{ "calendar: c\nweekends: []\nyears: [2026]\n", "wrong_value", "years", 3 },
	{ "calendar: c\nweekends: []\nyears: 2026 \n  x\n", "wrong_value", "years", 3 },
	{ "calendar: c\nweekends: []\nholidays: [2026-01-01]\nworkdays: [2026-01-01]\n", "conflict",
	  "", 1 },
	{ "calendar: c\nweekends: []\nholidays: [0001-01-01..9999-01-01, "
	  "0001-01-01..9999-01-01]\n",
	  "limit", "", 1 },
};

static void every_mistake_is_told_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		assert_true(read_text(mistakes[i].text) < 0);
		if (strcmp(d.items[0].code, mistakes[i].code) != 0 ||
		    strcmp(d.items[0].at.path, mistakes[i].path) != 0 ||
		    d.items[0].at.line != mistakes[i].line)
			fail_msg("%s: line %d, %s: %s, %s", mistakes[i].text, d.items[0].at.line,
			         d.items[0].at.path, d.items[0].code, d.items[0].message);
		assert_int_equal(workflow_set_calendars(set), 0);
		diags_done(&d);
		diags_init(&d);
	}
}

static void what_is_said_twice_the_same_way_is_no_conflict(void **state)
{
	(void)state;
	const struct calendar *c = read_one("calendar: c\nweekends: []\n"
	                                    "holidays: [2026-01-01..2026-01-03, 2026-01-02]\n");

	assert_false(allows(c, 2026, 1, 2));
	c = read_one("calendar: leap\nweekends: []\nholidays: {2024: [02-29]}\n");
	assert_false(allows(c, 2024, 2, 29));
}

static void a_calendar_is_text_and_back(void **state)
{
	struct calendar *made, *back;
	struct buf out;

	(void)state;
	const struct calendar *c = read_one("calendar: c\nworking: [monday]\nyears: 2000..2060\n"
	                                    "holidays: [01-01, 05-01..05-03]\nworkdays: [12-31]\n");
	buf_init(&out);
	calendar_print(c, &out);
	assert_true(calendar_parse(buf_str(&out), &back));
	assert_true(calendar_same(c, back));
	calendar_free(back);
	assert_true(calendar_parse("", &back));
	assert_null(back);
	struct calendar_day *many = calloc(CALENDAR_DAYS_MAX + 1, sizeof *many);
	assert_non_null(many);
	assert_true(calendar_new(0, many, CALENDAR_DAYS_MAX + 1, &made, NULL) < 0);
	free(many);
	buf_done(&out);
}

static void a_description_has_a_limit(void **state)
{
	struct buf text;

	(void)state;
	buf_init(&text);
	buf_puts(&text, "calendar: c\nweekends: []\ndescription: ");
	for (int i = 0; i < 10001; i++)
		buf_putc(&text, 'x');
	assert_true(read_text(buf_str(&text)) < 0);
	assert_string_equal(d.items[0].at.path, "description");
	buf_done(&text);
}

static void one_name_stands_once(void **state)
{
	(void)state;
	assert_true(read_text("calendar: c\nweekends: []\n---\ncalendar: c\nweekends: []\n") < 0);
	assert_string_equal(d.items[0].code, "duplicate_name");
	assert_int_equal(d.items[0].at.line, 4);
}

/* --- tasks ---------------------------------------------------------------------------------- */

static const struct calendar *outside;

static const struct calendar *find(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "workdays") == 0 ? outside : NULL;
}

static void names(void *ctx, struct nearest *near)
{
	(void)ctx;
	nearest_try(near, "workdays");
}

static void a_task_keeps_its_calendar_when_the_documents_are_gone(void **state)
{
	(void)state;
	struct workflow_world world = { 0 };
	struct task **tasks;
	size_t n;

	read_text("calendar: c\nweekends: [saturday, sunday]\n---\nworkflow: w\ncalendar: c\n"
	          "start_date: 2026-06-01\ntasks:\n  a: {type: t, cycle: day}\n");
	assert_int_equal(workflow_compile(set, &world, &d, &tasks, &n), 0);
	workflow_set_free(set);
	set = workflow_set_new();
	assert_string_equal(tasks[0]->calendar_name, "c");
	/* from Friday to Monday */
	assert_int_equal(plan_next(tasks[0]->plan, civil_to_day(2026, 6, 5) * DAY_S),
	                 civil_to_day(2026, 6, 8) * DAY_S);
	task_unref(tasks[0]);
	free(tasks);
}

static void an_unknown_calendar_is_refused_with_the_nearest(void **state)
{
	(void)state;
	struct workflow_world world = { .calendar = find, .calendar_names = names };
	struct task **tasks;
	size_t n;

	read_text("workflow: w\ntasks:\n  a: {type: t, cycle: day, calendar: workday}\n");
	assert_true(workflow_compile(set, &world, &d, &tasks, &n) < 0);
	assert_string_equal(d.items[0].code, "unknown_calendar");
	assert_string_equal(d.items[0].hint, "did you mean 'workdays'?");
	assert_int_equal(d.items[0].at.line, 3);
	assert_string_equal(d.items[0].at.path, "tasks.a.calendar");
}

static void among_files_the_nearest_is_one_of_them(void **state)
{
	(void)state;
	struct workflow_world world = { 0 };
	struct task **tasks;
	size_t n;

	read_text("calendar: holidays\nweekends: []\n---\n"
	          "workflow: w\ntasks:\n  a: {type: t, cycle: day, calendar: holiday}\n"
	          "  b: {type: t, cycle: day, calendar: xyzzy}\n");
	assert_true(workflow_compile(set, &world, &d, &tasks, &n) < 0);
	assert_int_equal(d.errors, 2);
	assert_string_equal(d.items[0].hint, "did you mean 'holidays'?");
	assert_string_equal(d.items[1].hint, "");
}

static void without_any_calendar_a_name_is_taken_with_a_warning(void **state)
{
	(void)state;
	struct workflow_world world = { 0 };
	struct task **tasks;
	size_t n;

	read_text("workflow: w\ntasks:\n  a: {type: t, cycle: day, calendar: c}\n");
	assert_int_equal(workflow_compile(set, &world, &d, &tasks, &n), 0);
	assert_int_equal(d.n, 1);
	assert_true(d.items[0].is_warning);
	assert_string_equal(d.items[0].code, "unknown_calendar");
	task_unref(tasks[0]);
	free(tasks);
}

static void a_calendar_from_outside_is_shared(void **state)
{
	(void)state;
	struct workflow_world world = { .calendar = find };
	struct calendar *c;
	struct task **tasks;
	size_t n;

	assert_int_equal(calendar_new(CALENDAR_WORKWEEK, NULL, 0, &c, NULL), 0);
	outside = c;
	read_text("workflow: w\ntasks:\n  a: {type: t, cycle: day, calendar: workdays}\n"
	          "  b: {type: t, cycle: day, calendar: workdays}\n");
	assert_int_equal(workflow_compile(set, &world, &d, &tasks, &n), 0);
	calendar_free(c);
	assert_ptr_equal(tasks[0]->calendar, tasks[1]->calendar);
	assert_true(calendar_allows(tasks[1]->calendar, civil_to_day(2026, 6, 1)));
	for (size_t i = 0; i < n; i++)
		task_unref(tasks[i]);
	free(tasks);
}

static void a_workflow_without_its_name_is_no_calendar(void **state)
{
	(void)state;
	assert_true(read_text("calendar: c\ntasks:\n  a: {type: t, cycle: day}\n") < 0);
	assert_string_equal(d.items[0].hint, "begin with `workflow: NAME`");
	calendar_free(NULL);
	calendar_doc_free(NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(holidays_are_out_and_made_up_days_are_in),
		T(dates_without_a_year_come_each_year),
		T(lists_may_stand_by_year_also_as_json),
		T(dates_alone_are_all_there_is),
		T(a_week_without_working_days_leaves_the_listed_ones),
		T(printing_reads_back_the_same),
		T(the_same_is_told_from_what_differs),
		T(every_mistake_is_told_with_its_place),
		T(what_is_said_twice_the_same_way_is_no_conflict),
		T(a_calendar_is_text_and_back),
		T(a_description_has_a_limit),
		T(one_name_stands_once),
		T(a_task_keeps_its_calendar_when_the_documents_are_gone),
		T(an_unknown_calendar_is_refused_with_the_nearest),
		T(among_files_the_nearest_is_one_of_them),
		T(without_any_calendar_a_name_is_taken_with_a_warning),
		T(a_calendar_from_outside_is_shared),
		T(a_workflow_without_its_name_is_no_calendar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
