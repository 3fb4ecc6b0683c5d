/* What a look into time costs: ns per zone lookup, cron fire, plan step, link. */
#include <stdio.h>
#include <time.h>

#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/link.h"
#include "sched/plan.h"
#include "sched/tz.h"

#define ROUNDS 1000000

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static volatile int64_t sink;

static const struct tz *zone(const char *name)
{
	const struct tz *tz = tz_utc();

	(void)zones_get(name, &tz, NULL);
	return tz;
}

static void bench_tz(const struct tz *tz)
{
	int64_t begin = INT64_C(1767225600), span = INT64_C(50) * 366 * DAY_S;
	double t0 = now_ns();

	for (int64_t i = 0; i < ROUNDS; i++)
		sink += tz_offset(tz, begin + i * 7919 % span);
	printf("tz_offset            %7.1f ns\n", (now_ns() - t0) / ROUNDS);
	t0 = now_ns();
	for (int64_t i = 0; i < ROUNDS; i++)
		sink += tz_first(tz, begin + i * 7919 % span);
	printf("tz_first             %7.1f ns\n", (now_ns() - t0) / ROUNDS);
}

static void bench_cron(const struct tz *tz, const char *text)
{
	struct cron *c;
	int64_t t = 1767225600;

	if (cron_parse(text, "p/w/t", &c, NULL) < 0)
		return;
	double t0 = now_ns();
	for (int64_t i = 0; i < ROUNDS; i++) {
		t = cron_next(c, tz, t);
		if (t > INT64_C(4102444800)) /* 2100 */
			t = 1767225600;
	}
	printf("cron_next %-20s %7.1f ns\n", text, (now_ns() - t0) / ROUNDS);
	sink += t;
	cron_free(c);
}

static void bench_plan(const struct tz *tz, enum cycle_unit unit)
{
	struct schedule s = { .unit = unit, .step = 1, .tz = tz, .end = PLAN_NEVER };
	struct task_link l = { .kind = LK_PREV, .prev = 1 };
	struct link_span spans[LINK_SPANS_MAX];
	struct plan *p;
	int64_t t = 1767225600;

	if (plan_new(&s, &p, NULL) < 0)
		return;
	double t0 = now_ns();
	for (int64_t i = 0; i < ROUNDS; i++) {
		t = plan_next(p, t);
		if (t > INT64_C(4102444800))
			t = 1767225600;
	}
	printf("plan_next %-10s %7.1f ns\n", unit_name(unit), (now_ns() - t0) / ROUNDS);
	t0 = now_ns();
	for (int64_t i = 0; i < ROUNDS / 10; i++)
		sink += link_spans(&l, p, p, t + i * 3600, spans);
	printf("link -1   %-10s %7.1f ns\n", unit_name(unit), (now_ns() - t0) / ROUNDS * 10);
	plan_free(p);
}

int main(void)
{
	const struct tz *tz = zone("Europe/Berlin");

	bench_tz(tz);
	bench_cron(tz, "30 2 * * *");
	bench_cron(tz, "*/5 * * * *");
	bench_cron(tz, "0 0 6 LW * ?");
	bench_cron(tz, "0 0 29 2 *");
	for (int u = CU_MINUTE; u <= CU_YEAR; u++)
		bench_plan(tz, (enum cycle_unit)u);
	return 0;
}
