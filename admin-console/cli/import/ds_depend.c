/* DEPENDENT tasks: links to tasks of other workflows, by windows. */
#include <string.h>

#include "admin-console/cli/import/ds.h"
#include "util/pile.h"

/* The manual has the same table; a test compares each window with what the range means. */
static const struct {
	const char *range, *window;
} ranges[] = {
	{ "currentHour", "[@hour, @hour+1h)" },
	{ "last1Hour", "[@hour-1h, @hour)" },
	{ "last2Hours", "[@hour-2h, @hour)" },
	{ "last3Hours", "[@hour-3h, @hour)" },
	{ "last24Hours", "[@day-1d+1h, @day+1h)" },
	{ "today", "[@day, @day+1d)" },
	{ "last1Days", "[@day-1d, @day)" },
	{ "last2Days", "[@day-2d, @day)" },
	{ "last3Days", "[@day-3d, @day)" },
	{ "last7Days", "[@day-7d, @day)" },
	{ "thisWeek", "[@week, @day+1d)" },
	{ "lastWeek", "[@week-1w, @week)" },
	{ "lastMonday", "[@week-7d, @week-6d)" },
	{ "lastTuesday", "[@week-6d, @week-5d)" },
	{ "lastWednesday", "[@week-5d, @week-4d)" },
	{ "lastThursday", "[@week-4d, @week-3d)" },
	{ "lastFriday", "[@week-3d, @week-2d)" },
	{ "lastSaturday", "[@week-2d, @week-1d)" },
	{ "lastSunday", "[@week-1d, @week)" },
	{ "thisMonth", "[@month, @day+1d)" },
	{ "thisMonthBegin", "[@month, @month+1d)" },
	{ "thisMonthEnd", "[@month+1M-1d, @month+1M)" },
	{ "lastMonth", "[@month-1M, @month)" },
	{ "lastMonthBegin", "[@month-1M, @month-1M+1d)" },
	{ "lastMonthEnd", "[@month-1d, @month)" },
};

/* NULL: unknown */
static const char *ds_window(const char *range)
{
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (strcmp(ranges[i].range, range) == 0)
			return ranges[i].window;
	return NULL;
}

/* Links of one item: to a task, or (code 0) to all with which its workflow ends. How many. */
static int put_item(struct ds *d, const char *where, const cJSON *item, struct buf *out)
{
	long long code = import_number(item, "definitionCode"),
		  task = import_number(item, "depTaskCode");
	const char *range = import_text(d->im, item, "dateValue"), *window = ds_window(range);
	const struct ds_flow *f = ds_flow_of(d, code);
	const cJSON *t;
	int n = 0;

	if (!f) {
		import_note(d->im, where,
		            "the dependency on definition %lld is left out: it is not in this file",
		            code);
		return 0;
	}
	if (!window) {
		import_note(d->im, where,
		            "the dependency on %s is left out: the range '%s' is unknown", f->name,
		            range);
		return 0;
	}
	cJSON_ArrayForEach(t, f->tasks) {
		long long its = import_number(t, "code");
		if (task > 0 ? its != task : !ds_is_leaf(f, its))
			continue;
		buf_printf(out, "      - {task: %s/%s, window: \"%s\"}\n", f->name,
		           ds_task_name(d, f, t), window);
		n++;
	}
	if (!n)
		import_note(d->im, where,
		            "the dependency on task %lld of %s is left out: it is not there", task,
		            f->name);
	return n;
}

static void put_helper(struct ds *d, const char *name, const char *needs, bool any)
{
	buf_printf(&d->im->out, "  %s:\n    type: noop\n%s    needs:\n%s", name,
	           any ? "    join: any\n" : "", needs);
}

static bool is_or(const cJSON *o)
{
	const cJSON *r = cJSON_GetObjectItemCaseSensitive(o, "relation");

	return cJSON_IsString(r) && strcmp(r->valuestring, "OR") == 0;
}

/* One group of items as links; where AND and OR mix, helper tasks stand for the inner ones. */
static int put_group(struct ds *d, const char *name, const char *where, cJSON *group,
                     struct buf *needs)
{
	cJSON *items = import_node(group, "dependItemList"), *item;
	int k = 0, total = 0;

	cJSON_ArrayForEach(item, items) {
		struct buf own;
		buf_init(&own);
		int n = put_item(d, where, item, &own);
		if (n > 1 && is_or(group)) {
			const char *helper = pile_fmt(d->im->pile, "%.48s.all_%d", name, ++k);
			put_helper(d, helper, buf_str(&own), false);
			buf_printf(needs, "      - {task: %s, depend: 1}\n", helper);
			n = 1;
		} else {
			buf_puts(needs, buf_str(&own));
		}
		total += n;
		buf_done(&own);
	}
	return total;
}

void ds_put_dependent(struct ds *d, const char *name, const char *where, cJSON *task,
                      const char *parents)
{
	cJSON *params = ds_params(task), *dependence = import_node(params, "dependence"), *group;
	cJSON *groups = dependence ? import_node(dependence, "dependTaskList") : NULL;
	bool outer_or = is_or(dependence);
	int n_groups = cJSON_GetArraySize(groups), k = 0;
	struct buf needs;
	bool any = false;

	buf_init(&needs);
	cJSON_ArrayForEach(group, groups) {
		struct buf own;
		buf_init(&own);
		int n = put_group(d, pile_fmt(d->im->pile, "%.40s.%d", name, ++k), where, group,
		                  &own);
		bool mixed = n > 1 &&
		             (is_or(group) ? n_groups > 1 || *parents : outer_or && n_groups > 1);
		if (mixed) {
			const char *helper = pile_fmt(d->im->pile, "%.48s.group_%d", name, k);
			put_helper(d, helper, buf_str(&own), is_or(group));
			buf_printf(&needs, "      - {task: %s, depend: 1}\n", helper);
		} else {
			buf_puts(&needs, buf_str(&own));
			any |= n > 1 && is_or(group);
		}
		buf_done(&own);
	}
	any |= outer_or && n_groups > 1;
	if (any && *parents) {
		const char *helper = pile_fmt(d->im->pile, "%.48s.any", name);
		put_helper(d, helper, buf_str(&needs), true);
		buf_clear(&needs);
		buf_printf(&needs, "      - {task: %s, depend: 1}\n", helper);
		any = false;
	}
	buf_printf(&d->im->out, "  %s:\n    type: noop\n%s", name, any ? "    join: any\n" : "");
	if (needs.len || *parents)
		buf_printf(&d->im->out, "    needs:\n%s%s", parents, buf_str(&needs));
	buf_done(&needs);
}
