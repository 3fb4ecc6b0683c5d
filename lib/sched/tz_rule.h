/* tz_rule.h — the POSIX rule in the footer of a zone: CET-1CEST,M3.5.0,M10.5.0/3. */
#ifndef SCHED_TZ_RULE_H
#define SCHED_TZ_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/tz.h"

/* The day and local time of a yearly change. */
struct tz_date {
	enum tz_date_kind { TD_MONTH, TD_JULIAN, TD_DAY } kind;
	int32_t month, week; /* TD_MONTH: the week-th (5: last) weekday of the month */
	int32_t day;         /* TD_MONTH: 0 Sunday..6; TD_JULIAN: no 29 Feb; TD_DAY: from 0 */
	int32_t time;        /* s, may be negative or longer than a day */
};

struct tz_rule {
	int32_t standard, summer; /* offsets, seconds east */
	bool has_summer;
	struct tz_date begin, end; /* of summer time */
};

bool tz_rule_parse(const char *text, struct tz_rule *ret_rule);
/* `t` within 2^50 of the epoch. */
struct tz_span tz_rule_span(const struct tz_rule *rule, int64_t t);

#endif
