/* Cron expressions: whatever parses fires forward and back, in step, in zones with changes. */
#include <string.h>

#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/plan.h"
#include "sched/tz.h"
#include "util/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const char *const names[] = { "UTC", "Europe/Berlin", "Australia/Lord_Howe",
	                             "Pacific/Apia" };

static void walk(const struct cron *c, const struct tz *tz, int64_t t)
{
	for (int i = 0; i < 4; i++) {
		int64_t next = cron_next(c, tz, t);
		CHECK(next > t);
		if (next == PLAN_NEVER)
			return;
		/* What lies before the next one fires not after t. */
		int64_t prev = cron_prev(c, tz, next);
		CHECK(prev == PLAN_BEFORE || prev <= t);
		CHECK(cron_prev(c, tz, next + 1) == next);
		t = next;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char text[CRON_TEXT_MAX + 2];
	struct cron *c;
	int64_t at = 0;

	if (bytes < 4)
		return 0;
	for (int i = 0; i < 4; i++)
		at = at << 8 | data[i];
	data += 4;
	bytes -= 4;
	if (bytes >= sizeof text)
		bytes = sizeof text - 1;
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	if (cron_parse(text, "p/w/t", &c, NULL) < 0)
		return 0;
	enum cycle_unit unit = cron_unit(c);
	CHECK(unit >= CU_MINUTE && unit <= CU_FIRE);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct tz *tz = tz_utc();
		(void)zones_get(names[i], &tz, NULL);
		walk(c, tz, at);
		walk(c, tz, TIME_MAX - at);
	}
	struct cron *again;
	CHECK(cron_parse(cron_text(c), "p/w/t", &again, NULL) == 0);
	CHECK(cron_same(c, again) && cron_hash(c) == cron_hash(again));
	cron_free(again);
	cron_free(c);
	return 0;
}
