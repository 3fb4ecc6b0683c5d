/* A label is printed from the coarsest form down: the first form whose span begins at this very
 * instant in the zone is the label, so that reading it back gives the instant again. */
#include "sched/label.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sched/cron.h"
#include "sched/cycle.h"
#include "sched/plan.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"

enum label_grain label_grain(const struct plan *p)
{
	static const enum label_grain grains[] = { [CU_DAY] = LABEL_DAY,
		                                   [CU_WEEK] = LABEL_WEEK,
		                                   [CU_MONTH] = LABEL_MONTH,
		                                   [CU_YEAR] = LABEL_YEAR };

	const struct cron *cron = plan_schedule(p)->cron;

	if (cron && cron_unit(cron) == CU_FIRE) /* a minute may hold several */
		return LABEL_SECOND;
	/* A cron fires at clock times, also where links count it by the day. */
	if (cron || !unit_is_long(plan_unit(p)))
		return LABEL_CLOCK;
	return grains[plan_unit(p)];
}

/* The Thursday of a week decides its year (ISO 8601). */
static void print_week(int64_t day, char ret[static LABEL_TEXT])
{
	int64_t monday = civil_monday(day);
	struct civil c = civil_of_day(monday + 3);
	int64_t first = civil_monday(civil_to_day(c.year, 1, 4));

	CHECK(monday >= first);
	snprintf(ret, LABEL_TEXT, "%04d-W%02d", (int)c.year, (int)((monday - first) / 7 + 1));
}

/* The span of this grain that holds `day`, when it begins with it. */
static bool print_date(enum label_grain grain, int64_t day, char ret[static LABEL_TEXT])
{
	struct civil c = civil_of_day(day);

	if (grain == LABEL_YEAR && c.month == 1 && c.day == 1)
		snprintf(ret, LABEL_TEXT, "%04d", (int)c.year);
	else if (grain == LABEL_MONTH && c.day == 1)
		snprintf(ret, LABEL_TEXT, "%04d-%02d", (int)c.year, c.month);
	else if (grain == LABEL_WEEK && civil_monday(day) == day)
		print_week(day, ret);
	else if (grain == LABEL_DAY)
		snprintf(ret, LABEL_TEXT, "%04d-%02d-%02d", (int)c.year, c.month, c.day);
	else
		return false;
	return true;
}

static void print_clock(const struct tz *tz, int64_t t, bool to_second, char ret[static LABEL_TEXT])
{
	int64_t label = tz_to_label(tz, t), s = floor_mod(label, DAY_S);
	struct civil c = civil_of_day(floor_div(label, DAY_S));
	struct tz_local both = tz_from_label(tz, label);
	const char *which = both.kind != TZ_TWICE ? "" : t == both.first ? " (1)" : " (2)";
	char second[8] = "";

	CHECK(both.kind != TZ_GAP);
	if (to_second || s % 60)
		snprintf(second, sizeof second, ":%02d", (int)(s % 60));
	snprintf(ret, LABEL_TEXT, "%04d-%02d-%02d %02d:%02d%s%s", (int)c.year, c.month, c.day,
	         (int)(s / 3600), (int)(s / 60 % 60), second, which);
}

const char *label_print(const struct tz *tz, enum label_grain grain, int64_t run_date,
                        char ret[static LABEL_TEXT])
{
	CHECK((unsigned)grain < LABEL_GRAINS);
	if (run_date < TIME_MIN || run_date > TIME_MAX) {
		snprintf(ret, LABEL_TEXT, "never");
		return ret;
	}
	int64_t day = local_day(tz, run_date);
	bool begins = tz_first(tz, day * DAY_S) == run_date;

	if (grain == LABEL_CLOCK || grain == LABEL_SECOND || !begins ||
	    (!print_date(grain, day, ret) && !print_date(LABEL_DAY, day, ret)))
		print_clock(tz, run_date, grain == LABEL_SECOND, ret);
	return ret;
}

const char *label_of(const struct plan *p, int64_t run_date, char ret[static LABEL_TEXT])
{
	return label_print(plan_tz(p), label_grain(p), run_date, ret);
}

void put_label(struct buf *b, const struct plan *p, int64_t run_date)
{
	char text[LABEL_TEXT];

	put_text(b, "label", label_of(p, run_date, text));
}

static void put_part(struct buf *b, const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/";

	for (; *text; text++)
		if (strchr(plain, *text))
			buf_putc(b, *text);
		else
			buf_printf(b, "%%%02X", (unsigned char)*text);
}

void label_path(struct buf *b, const char *task, const char *label, unsigned generation,
                unsigned attempt)
{
	buf_puts(b, "/p/");
	put_part(b, task);
	buf_putc(b, '/');
	put_part(b, label);
	if (generation)
		buf_printf(b, "?run=%u", generation);
	if (attempt)
		buf_printf(b, "%cattempt=%u", generation ? '&' : '?', attempt);
}

size_t label_dates(const struct plan *p, const struct when *w, int64_t ret[static 2])
{
	int64_t at[2], hi = when_instant(w, plan_tz(p), true);
	size_t n = when_readings(w, plan_tz(p), at);

	ret[0] = at[0];
	ret[1] = at[1];
	if (n == 2 && plan_has(p, at[0]) != plan_has(p, at[1])) {
		ret[0] = at[plan_has(p, at[1])];
		return 1;
	}
	if (n != 1 || w->kind == WHEN_INSTANT)
		return n;
	int64_t first = plan_next(p, at[0] - 1);
	if (first > hi)
		return 1;
	ret[0] = first;
	ret[1] = plan_next(p, first);
	return ret[1] <= hi ? 2 : 1;
}

void label_unclear(const struct plan *p, const char *task, const char *text, const struct when *w,
                   const int64_t *dates, struct err *err)
{
	char one[LABEL_TEXT], two[LABEL_TEXT], at_one[WHEN_TEXT], at_two[WHEN_TEXT];

	if (!dates)
		err_set(err, E_INVALID, "the clock of %s shows '%.60s' %s", tz_name(plan_tz(p)),
		        text, w->copy ? "at most once" : "never, for it is set forward then");
	else
		err_set(err, E_INVALID,
		        "'%.60s' means more than one instance of %.200s in %s: %s, which is %s, "
		        "and %s, which is %s; say which",
		        text, task, tz_name(plan_tz(p)), label_of(p, dates[0], one),
		        when_print(dates[0], at_one), label_of(p, dates[1], two),
		        when_print(dates[1], at_two));
}
