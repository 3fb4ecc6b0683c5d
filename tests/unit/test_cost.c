/* sched/cost: what a document costs, told from its text; the limits that a server has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sched/cost.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/workflow.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/param.h"

enum { NOW = 1790000000 };

struct made {
	struct task **tasks;
	size_t n;
};

static const struct task *parent(void *ctx, uint32_t id)
{
	const struct made *m = ctx;

	return m->tasks[id - 1];
}

/* A document of a (with this cycle) and b, which needs it so. */
static struct cost cost_of(const char *a, const char *b, const char *need, const char *limited,
                           bool *ret_within)
{
	struct workflow_set *set = workflow_set_new();
	struct workflow_world world = { 0 };
	struct cost cost = { 0 };
	struct diags d;
	struct made m;
	struct buf text, why;

	diags_init(&d);
	buf_init(&text);
	buf_init(&why);
	buf_printf(&text,
	           "project: p\nworkflow: w\ndefaults: {type: t, start_date: 2020-01-01}\n"
	           "tasks:\n  a: {%s}\n  b: {%s, needs: [{task: a, %s}]}\n",
	           a, b, need);
	assert_int_equal(workflow_set_read(set, buf_str(&text), text.len, "x.yaml", &d), 0);
	assert_int_equal(workflow_compile(set, &world, &d, &m.tasks, &m.n), 0);
	for (size_t i = 0; i < m.n; i++)
		cost_add(&cost, m.tasks[i], NOW, parent, &m);
	bool within = cost_within(&cost, &cost_limits_default, "p/w", parent, &m, &why);
	if (limited)
		assert_non_null(strstr(buf_str(&why), limited));
	if (ret_within)
		*ret_within = within;
	for (size_t i = 0; i < m.n; i++)
		task_unref(m.tasks[i]);
	free(m.tasks);
	workflow_set_free(set);
	diags_done(&d);
	buf_done(&text);
	buf_done(&why);
	return cost;
}

static int64_t widest(const char *a, const char *b, const char *need)
{
	return cost_of(a, b, need, NULL, NULL).widest;
}

static void near(int64_t is, int64_t want)
{
	assert_in_range(is, want - want / 50 - 1, want + want / 50 + 1);
}

static void a_need_costs_the_dates_that_it_looks_at(void **state)
{
	(void)state;
	assert_int_equal(widest("cycle: day", "cycle: day", "depend: 1"), 1);
	assert_int_equal(widest("cycle: minute", "cycle: day", "depend: 2"), 1440);
	assert_int_equal(widest("cycle: day", "cycle: minute", "depend: 3"), 1);
	assert_int_equal(widest("cycle: minute", "cycle: minute", "depend: -700"), 700);
	near(widest("cron: \"*/5 * * * *\"", "cycle: day", "window: \"[@day-10d, @day)\""), 2880);
	near(widest("cycle: day", "cycle: month", "window: \"[@year-1y, @year)\""), 365);
	near(widest("cron: \"*/10 8-17 * * MON-FRI\"", "cycle: day",
	            "window: \"[@day-70d, @day)\""),
	     3000);
	near(widest("cron: \"0 0 1 1 *\"", "cycle: day", "window: \"[@day-2000d, @day)\""), 5);
	assert_int_equal(widest("cycle: minute", "cycle: day",
	                        "window: \"[@day-9d, @day)\", strategy: last 5"),
	                 5);
}

static void a_window_that_grows_is_taken_at_its_widest(void **state)
{
	(void)state;
	near(widest("cycle: hour", "cycle: hour", "window: \"[@year, t)\""), 8760);
	assert_int_equal(widest("cycle: hour", "cron: \"0 0 1 1 *\"", "window: \"[@year, t)\""), 1);
}

/* A start in time to come, an end soon after: the window is as wide as its plan lets it be. */
static void a_plan_that_has_only_begun_costs_what_it_will_cost(void **state)
{
	const char *window = "window: \"[@day-300d, @day)\"";

	(void)state;
	for (int year = 2026; year < 2030; year++) {
		char minute[80];
		snprintf(minute, sizeof minute, "cycle: minute, start_date: %d-12-31", year);
		struct cost c = cost_of(minute, minute, window, "window_dates_max", NULL);
		near(c.widest, 432000);
		assert_true(c.year > INT64_C(432000) * 500000);
	}
	near(widest("cycle: minute, start_date: 2026-12-01, end_date: 2026-12-10",
	            "cycle: day, start_date: 2026-12-01, end_date: 2026-12-10", window),
	     9 * 1440);
	near(widest("cycle: day, start_date: 2026-12-31", "cycle: day, start_date: 2026-12-31",
	            "window: \"[@year-5y, @year)\""),
	     5 * 365);
}

/* The child is old by then: what it looks at is as wide as the parent lets it be. */
static void a_parent_that_begins_in_a_far_year_costs_what_it_will_cost(void **state)
{
	const char *window = "window: \"[@day-300d, @day)\"";

	(void)state;
	near(widest("cycle: minute, start_date: 2060-01-01", "cycle: day", window), 432000);
	near(widest("cycle: minute, start_date: 2060-01-01, end_date: 2060-03-01", "cycle: day",
	            window),
	     60 * 1440);
	near(widest("cron: \"0 * * * * ? 2070\", start_date: 2060-01-01", "cycle: day", window),
	     432000);
	near(widest("cron: \"0 * * * * ? 2070\"", "cron: \"0 0 0 1 * ? 2070\"", window), 432000);
}

static void what_is_past_a_limit_is_named(void **state)
{
	bool within;

	(void)state;
	cost_of("cycle: minute", "cycle: day", "window: \"[@day-34d, @day)\"", NULL, &within);
	assert_true(within);
	cost_of("cycle: minute", "cycle: day", "window: \"[@day-35d, @day)\"",
	        "p/w/b needs p/w/a, window [@day-35d, @day): one date looks at about 50400 dates, "
	        "window_dates_max allows 50000",
	        &within);
	assert_false(within);
	struct cost c = cost_of("cycle: minute", "cron: \"* * * * * *\"",
	                        "window: \"[@day-30d, @day)\"", NULL, &within);
	assert_true(within && c.year > 0);
}

static void a_server_without_settings_has_the_limits_that_check_tells(void **state)
{
	const struct cost_limits *l = &cost_limits_default;
	const struct {
		const char *name;
		int64_t is;
	} rows[] = { { "window_dates_max", l->window },
		     { "project_dates_max", l->project },
		     { "document_year_max", l->year },
		     { "document_parts_max", l->parts } };
	size_t seen = 0;

	(void)state;
	for (size_t i = 0; i < param_baseserver_table.rows_n; i++)
		for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
			const struct param_row *p = &param_baseserver_table.rows[i];
			if (!p->name || strcmp(p->name, rows[k].name) != 0)
				continue;
			assert_int_equal(p->number, rows[k].is);
			seen++;
		}
	assert_int_equal(seen, sizeof rows / sizeof rows[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_need_costs_the_dates_that_it_looks_at),
		cmocka_unit_test(a_plan_that_has_only_begun_costs_what_it_will_cost),
		cmocka_unit_test(a_window_that_grows_is_taken_at_its_widest),
		cmocka_unit_test(a_parent_that_begins_in_a_far_year_costs_what_it_will_cost),
		cmocka_unit_test(what_is_past_a_limit_is_named),
		cmocka_unit_test(a_server_without_settings_has_the_limits_that_check_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
