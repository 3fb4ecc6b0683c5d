/* Which dates a plan may use: a set of weekdays, and listed dates that say otherwise. The list is
 * ascending, each date once, so that each is found by halves. A calendar is immutable and counted;
 * it may be used from any thread. It knows dates only: times and zones are the plan's. */
#include "sched/calendar.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sched/civil.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

struct calendar {
	_Atomic unsigned refs;
	uint8_t weekdays;
	size_t n;
	struct calendar_day days[]; /* ascending, each once */
};

static int by_day(const void *a, const void *b)
{
	const struct calendar_day *x = a, *y = b;

	return (x->day > y->day) - (x->day < y->day);
}

int calendar_new(uint8_t weekdays, const struct calendar_day *days, size_t n,
                 struct calendar **ret_calendar, struct err *err)
{
	if (n > CALENDAR_DAYS_MAX)
		return err_set(err, E_LIMIT, "a calendar of %zu dates; the limit is %d", n,
		               CALENDAR_DAYS_MAX);
	struct calendar *c = mem_new(sizeof *c + n * sizeof c->days[0]);
	atomic_init(&c->refs, 1);
	c->weekdays = weekdays & CALENDAR_ALL_WEEK;
	if (n)
		memcpy(c->days, days, n * sizeof *days);
	qsort(c->days, n, sizeof *c->days, by_day);
	for (size_t i = 0; i < n; i++) {
		struct calendar_day *last = c->n ? &c->days[c->n - 1] : NULL;
		if (!last || last->day != c->days[i].day) {
			c->days[c->n++] = c->days[i];
		} else if (last->allowed != c->days[i].allowed) {
			struct civil d = civil_of_day(last->day);
			free(c);
			return err_set(err, E_INVALID,
			               "the calendar both allows and denies %04d-%02d-%02d",
			               (int)d.year, d.month, d.day);
		}
	}
	CHECK(c->n <= n);
	*ret_calendar = c;
	return 0;
}

struct calendar *calendar_ref(const struct calendar *c)
{
	/* The count is not part of what is immutable. */
	struct calendar *own = (struct calendar *)(uintptr_t)c;

	CHECK(atomic_fetch_add_explicit(&own->refs, 1, memory_order_relaxed) > 0);
	return own;
}

void calendar_free(struct calendar *c)
{
	if (c && atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
		free(c);
}

/* Without what says nothing: no dates, every weekday. */
static bool is_plain(const struct calendar *c)
{
	return !c || (c->n == 0 && c->weekdays == CALENDAR_ALL_WEEK);
}

bool calendar_same(const struct calendar *a, const struct calendar *b)
{
	if (a == b || (is_plain(a) && is_plain(b)))
		return true;
	if (!a || !b || a->weekdays != b->weekdays || a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->days[i].day != b->days[i].day || a->days[i].allowed != b->days[i].allowed)
			return false;
	return true;
}

/* Index of the first listed date >= day. */
static size_t calendar_find(const struct calendar *c, int64_t day)
{
	size_t lo = 0, hi = c->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (c->days[mid].day < day)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool calendar_allows(const struct calendar *c, int64_t day)
{
	size_t i = calendar_find(c, day);

	if (i < c->n && c->days[i].day == day)
		return c->days[i].allowed;
	return c->weekdays >> (civil_weekday(day) - 1) & 1;
}

/* With a weekday allowed, each step but seven passes a listed date; without one only the
 * listed dates matter. */
int64_t calendar_next(const struct calendar *c, int64_t day)
{
	size_t i = calendar_find(c, day);

	for (; c->weekdays; day++) {
		bool listed = i < c->n && c->days[i].day == day;
		if (listed ? c->days[i].allowed : c->weekdays >> (civil_weekday(day) - 1) & 1)
			return day;
		i += listed;
	}
	for (; i < c->n; i++)
		if (c->days[i].allowed)
			return c->days[i].day;
	return CALENDAR_NEVER;
}

int64_t calendar_prev(const struct calendar *c, int64_t day)
{
	size_t i = calendar_find(c, day + 1); /* listed dates <= day are days[0 .. i) */

	for (; c->weekdays; day--) {
		bool listed = i > 0 && c->days[i - 1].day == day;
		if (listed ? c->days[i - 1].allowed : c->weekdays >> (civil_weekday(day) - 1) & 1)
			return day;
		i -= listed;
	}
	for (; i > 0; i--)
		if (c->days[i - 1].allowed)
			return c->days[i - 1].day;
	return CALENDAR_BEFORE;
}

void calendar_print(const struct calendar *c, struct buf *out)
{
	if (!c)
		return;
	buf_printf(out, "%d", c->weekdays);
	for (size_t i = 0; i < c->n; i++)
		buf_printf(out, " %c%d", c->days[i].allowed ? '+' : '~', c->days[i].day);
}

bool calendar_parse(const char *text, struct calendar **ret_calendar)
{
	struct calendar_day *days = NULL;
	size_t n = 0, cap = 0;
	char *end;
	long weekdays = strtol(text, &end, 10);
	bool good = end != text && weekdays >= 0 && weekdays <= CALENDAR_ALL_WEEK;

	*ret_calendar = NULL;
	if (!*text)
		return true;
	for (text = end; good && *text; text = end) {
		good = text[0] == ' ' && (text[1] == '+' || text[1] == '~');
		if (!good)
			break;
		long day = strtol(text + 2, &end, 10);
		good = end != text + 2;
		days = mem_room(days, &cap, n + 1, sizeof *days);
		days[n++] = (struct calendar_day){ (int32_t)day, text[1] == '+' };
	}
	good = good && calendar_new((uint8_t)weekdays, days, n, ret_calendar, NULL) == 0;
	free(days);
	return good;
}
