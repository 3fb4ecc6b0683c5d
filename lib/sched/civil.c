#include "sched/civil.h"
#include "util/check.h"

#define DAYS_400 146097 /* days of 400 years */

/* Years are counted from March, so that the leap day ends one; eras are 400 years. */
int64_t civil_to_day(int64_t year, int32_t month, int32_t day)
{
	int64_t y = year - (month <= 2);
	int64_t era = floor_div(y, 400);
	int64_t yoe = y - era * 400;
	int64_t doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	CHECK(month >= 1 && month <= 12);
	return era * DAYS_400 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

struct civil civil_of_day(int64_t day)
{
	int64_t z = day + 719468;
	int64_t era = floor_div(z, DAYS_400);
	int64_t doe = z - era * DAYS_400;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;
	struct civil c;

	c.day = (int32_t)(doy - (153 * mp + 2) / 5 + 1);
	c.month = (int32_t)(mp < 10 ? mp + 3 : mp - 9);
	c.year = era * 400 + yoe + (c.month <= 2);
	return c;
}

int32_t civil_month_days(int64_t year, int32_t month)
{
	CHECK(month >= 1 && month <= 12);
	if (month == 2)
		return 28 + (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
	return 30 + ((month + (month > 7)) & 1);
}

int64_t civil_month_first(int64_t index)
{
	return civil_to_day(floor_div(index, 12), (int32_t)floor_mod(index, 12) + 1, 1);
}

int64_t civil_month_index(int64_t day)
{
	struct civil c = civil_of_day(day);

	return c.year * 12 + c.month - 1;
}

int64_t civil_add_months(int64_t day, int64_t months)
{
	struct civil c = civil_of_day(day);
	int64_t index = c.year * 12 + c.month - 1 + months;
	int32_t last = civil_month_days(floor_div(index, 12), (int32_t)floor_mod(index, 12) + 1);

	return civil_month_first(index) + (c.day < last ? c.day : last) - 1;
}
