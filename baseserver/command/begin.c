/* When a plan begins, and how a new version follows the one in force. One rule decides: what
 * has come due stays as it was planned. So an edit follows from the first date that has not
 * come due, unless the person asks for an earlier one (`from`); a task that goes online again
 * follows from `from` and leaves out the dates that passed while it was offline; a new task
 * begins at its first date from then on. Nothing here is stored: the row and the past of the
 * plan go into the edit. */
#include "baseserver/command/begin.h"

#include <stdio.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/model/catalog.h"
#include "baseserver/plan/instantiator.h"
#include "sched/label.h"
#include "sched/plan.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"

enum { COUNT_MAX = 250000, WALK_MAX = 1000 };

/* Where a plan begins that goes into force at `from`: the first run_date not due before. Who says
 * "from 2026-03-01" means the instance of that midnight too. */
static int64_t begin_from(const struct plan *plan, int64_t from)
{
	int64_t t = plan_prev(plan, from < PLAN_NEVER ? from + 1 : from);

	while (t != PLAN_BEFORE && plan_due(plan, t) >= from)
		t = plan_prev(plan, t);
	return t == PLAN_BEFORE ? INT64_MIN + 1 : t + 1;
}

static int64_t asked_from(const struct plan *plan, const struct order *o)
{
	return begin_from(plan, order__from(o, plan_tz(plan)));
}

static bool is_known(const struct cat_task *was)
{
	return was && !catalog_retired(was);
}

static bool in_force(const struct cat_task *was)
{
	return is_known(was) && (was->row.state == TS_ONLINE || was->row.state == TS_OVER);
}

/* The first date from then on. A row that was never online begins at INT64_MIN. */
static int64_t next_from(const struct plan *plan, int64_t t)
{
	return plan_next(plan, t > INT64_MIN ? t - 1 : t);
}

/* The first date from then on; the instant itself when there is none. */
static int64_t date_from(const struct plan *plan, int64_t t)
{
	int64_t date = next_from(plan, t);

	return date == PLAN_NEVER ? t : date;
}

bool begin_moves(const struct cat_task *was, const struct plan *plan, const struct order *o)
{
	return o->has_from && in_force(was) &&
	       date_from(plan, asked_from(plan, o)) < plan_begin(was->def->plan);
}

static bool command_begin_follow(const struct cat_task *was, struct plan *plan, int64_t since)
{
	plan_follow(plan, was->def->plan, since, plan_versions(was->def->plan) + 1);
	return true;
}

/* Online again: dates that passed while it was offline were nobody's to make. */
static bool go_on(const struct cat_task *was, struct plan *plan, const struct order *o)
{
	int64_t through = was->row.planned_through, since = asked_from(plan, o);

	if (plan_same_dates(was->def->plan, plan) && since > through &&
	    plan_next(was->def->plan, through) >= since) {
		plan_take_past(plan, was->def->plan);
		return false;
	}
	command_begin_follow(was, plan, since);
	if (since > through + 1)
		plan_was_off(plan);
	return true;
}

/* What has come due stays as it was planned; an earlier `from` must be asked for. */
static bool edit(const struct cat_task *was, struct plan *plan, const struct order *o)
{
	if (!plan_same_dates(was->def->plan, plan) || begin_moves(was, plan, o))
		return command_begin_follow(was, plan,
		                            o->has_from ? asked_from(plan, o)
		                                        : was->row.planned_through + 1);
	plan_take_past(plan, was->def->plan);
	return false;
}

/* It is new, or nothing has come due by what it was: it begins. */
static bool command_begin_begin(const struct cat_task *was, struct plan *plan,
                                const struct order *o, struct store_task *row)
{
	row->online_from = date_from(plan, asked_from(plan, o));
	/* Dates that it had before it was retired, and now again. */
	return was && row->online_from <= was->row.planned_through &&
	       command_begin_follow(was, plan, row->online_from);
}

/* It begins with no date left: it is over before it begins. */
static bool has_none(const struct plan *plan, const struct store_task *row)
{
	return plan_unit(plan) != CU_NONE && next_from(plan, row->online_from) == PLAN_NEVER;
}

bool begin_follow(const struct cat_task *was, struct plan *plan, const struct order *o, bool over,
                  struct store_task *row)
{
	bool has_come = is_known(was) && was->row.planned_through != INT64_MIN, follows = false;
	bool goes_on = in_force(was) && plan_same_dates(was->def->plan, plan);

	if (over && !has_come)
		row->state = TS_ONLINE; /* over before it began: judged below */
	if (has_come || begin_moves(was, plan, o))
		follows = row->state == TS_ONLINE && !in_force(was) ? go_on(was, plan, o)
		                                                    : edit(was, plan, o);
	else if (row->state == TS_ONLINE && !goes_on)
		follows = command_begin_begin(was, plan, o, row);
	if (over && has_come &&
	    (plan_since(plan) <= was->row.planned_through ||
	     plan_next(plan, was->row.planned_through) != PLAN_NEVER))
		row->state = TS_ONLINE;
	if (follows && row->state == TS_ONLINE && plan_since(plan) < row->online_from)
		row->online_from = date_from(plan, plan_since(plan));
	if (row->state == TS_ONLINE && !has_come && has_none(plan, row))
		row->state = TS_OVER;
	plan_begin_at(plan, row->online_from);
	return follows;
}

void begin_keep(struct edit *e, uint32_t task, const char *name, const struct plan *plan,
                const char *actor, int64_t now_us)
{
	struct buf text;

	buf_init(&text);
	plan_past_print(plan, &text);
	docs_add(e, &(struct store_doc){ .kind = DOC_PLAN,
	                                 .id = task,
	                                 .version = 1,
	                                 .name = name,
	                                 .body = buf_str(&text),
	                                 .body_len = text.len,
	                                 .actor = actor,
	                                 .at_us = now_us });
	buf_done(&text);
}

/* --- preview -------------------------------------------------------------------------------- */

/* Between two dates of a range may be one that was not planned. */
static bool has_row(const struct catalog *cat, const struct cat_task *was, int64_t t)
{
	if (!was)
		return false;
	return (plan_has(was->def->plan, t) && outcomes_find(&was->outcomes, t)) ||
	       catalog_live(cat, (struct inst_key){ t, was->id, 0 });
}

/* The first date that is not settled yet, as the instantiator will see it. */
static int64_t open_from(const struct cat_task *was, const struct plan *plan,
                         const struct store_task *row)
{
	int64_t from = row->online_from, since = plan_since(plan);
	int64_t through = was && !catalog_retired(was) ? was->row.planned_through : INT64_MIN;

	if (through != INT64_MIN && through + 1 > from)
		from = through + 1;
	if (was && since != plan_since(was->def->plan) && since < from)
		from = since > row->online_from ? since : row->online_from;
	return plan_off_until(plan) > from ? plan_off_until(plan) : from;
}

struct due_now {
	int64_t keep; /* catch-up leaves out what is before */
	int64_t n, left_out, first, last;
};

/* All dates from there on that have come due, with a row or without. */
static void count_rest(const struct plan *plan, int64_t next, int64_t now, struct due_now *ret)
{
	ret->first = ret->n ? ret->first : next;
	ret->last = instantiator_last_due(plan, now);
	ret->n += plan_count_all(plan, next, ret->last);
	if (ret->keep > next)
		ret->left_out += plan_count_all(plan, next, ret->keep - 1);
}

/* Dates from `next` on that have come due and have no row. Of a task without any row they are not
 * walked over, and of others no more than COUNT_MAX: there may be millions. */
static void count_due(const struct catalog *cat, const struct cat_task *was,
                      const struct plan *plan, int64_t next, int64_t now, struct due_now *ret)
{
	bool has_rows = was && (was->live != SLAB_NONE || was->outcomes.len > 0);

	if (!has_rows && plan_about(plan, next, now) > WALK_MAX) {
		count_rest(plan, next, now, ret);
		return;
	}
	for (; next != PLAN_NEVER && plan_due(plan, next) <= now && ret->n < COUNT_MAX;
	     next = plan_next(plan, next)) {
		if (has_row(cat, was, next))
			continue;
		ret->first = ret->n++ ? ret->first : next;
		ret->last = next;
		ret->left_out += next < ret->keep;
	}
	if (next != PLAN_NEVER && plan_due(plan, next) <= now)
		count_rest(plan, next, now, ret);
}

static void put_date(struct buf *out, const struct plan *plan, const char *key, int64_t date)
{
	char label_key[32], label[LABEL_TEXT];

	snprintf(label_key, sizeof label_key, "%s_label", key);
	put_time(out, key, date);
	put_text(out, label_key, label_of(plan, date, label));
}

/* The first date from `next` on that comes due from now on; what is due by now is told besides. */
static int64_t fires_first(const struct plan *plan, int64_t next, int64_t now)
{
	if (next == PLAN_NEVER || plan_due(plan, next) > now)
		return next;
	return plan_next(plan, instantiator_last_due(plan, now));
}

/* Did it come due otherwise before, or not at all? */
static bool fires_anew(const struct cat_task *was, const struct plan *plan, int64_t first,
                       int64_t now)
{
	if (!in_force(was) || was->row.state != TS_ONLINE)
		return true;
	const struct plan *old = was->def->plan;
	int64_t before = fires_first(old, plan_next(old, instantiator_last_due(old, now)), now);
	return before != first || plan_due(old, before) != plan_due(plan, first);
}

static void put_fires(struct buf *out, const struct cat_task *was, const struct plan *plan,
                      int64_t next, int64_t now)
{
	int64_t first = fires_first(plan, next, now);

	if (first == PLAN_NEVER)
		return;
	int64_t due = plan_due(plan, first);
	char local[LABEL_TEXT];

	put_date(out, plan, "fires", first);
	put_time(out, "fires_due", due);
	put_text(out, "fires_local", label_print(plan_tz(plan), LABEL_CLOCK, due, local));
	put_text(out, "zone", tz_name(plan_tz(plan)));
	put_bool(out, "fires_anew", fires_anew(was, plan, first, now));
}

void begin_print(const struct catalog *cat, const struct beginning *of, int64_t now,
                 struct buf *out)
{
	const struct cat_task *was = of->was;
	const struct plan *plan = of->plan;
	int64_t next = next_from(plan, open_from(was, plan, of->row));
	int64_t keep = instantiator_keeps_from(of->def, plan, next,
	                                       now - INSTANTIATOR_MISSED_AFTER_S);

	if (of->row->state != TS_ONLINE && of->row->state != TS_OVER)
		return;
	if (next == PLAN_NEVER && plan_unit(plan) != CU_NONE)
		put_bool(out, "no_dates", true);
	if (!in_force(was) && next != PLAN_NEVER)
		put_date(out, plan, "begins", next);
	if (of->row->state == TS_ONLINE && of->row->frozen)
		put_bool(out, "frozen", true);
	else if (of->row->state == TS_ONLINE)
		put_fires(out, was, plan, next, now);
	struct due_now due = { .keep = keep };
	if (next != PLAN_NEVER && plan_due(plan, next) <= now)
		count_due(cat, was, plan, next, now, &due);
	if (due.n == 0)
		return;
	put_int(out, "run_dates", due.n);
	put_int(out, "left_out", due.left_out);
	put_date(out, plan, "first", due.first);
	put_date(out, plan, "last", due.last);
}

void cmd_print_online(const struct commander *c, const struct cmd *cmd, struct buf *out)
{
	put_open(out, "online", '[');
	for (size_t i = 0; i < cmd->o.sel.n_tasks; i++) {
		const struct cat_task *t = catalog_task(&c->cat, cmd->o.sel.tasks[i]);
		struct store_task row = t->row;
		struct plan *plan;
		if (row.state == TS_ONLINE && !begin_moves(t, t->def->plan, &cmd->o))
			continue;
		row.state = TS_ONLINE;
		CHECK(plan_new(plan_schedule(t->def->plan), &plan, NULL) == 0);
		begin_follow(t, plan, &cmd->o, false, &row);
		put_open(out, NULL, '{');
		put_text(out, "task", t->def->name);
		begin_print(&c->cat, &(struct beginning){ t, t->def, plan, &row },
		            cmd->o.now_us / US_PER_S, out);
		put_close(out, '}');
		plan_free(plan);
	}
	put_close(out, ']');
}
