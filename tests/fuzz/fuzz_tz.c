/* Zone files: no bytes fall, and any zone that reads turns labels and instants into each other
 * in order. */
#include "sched/civil.h"
#include "sched/plan.h"
#include "sched/tz.h"
#include "util/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void look(const struct tz *tz, int64_t t)
{
	struct tz_span span = tz_span_at(tz, t);
	size_t hint = 0;

	CHECK(span.from <= t && t < span.to);
	CHECK(span.offset == tz_offset(tz, t) && span.offset == tz_offset_hint(tz, t, &hint));
	CHECK(span.offset <= TZ_OFFSET_MAX && span.offset >= -TZ_OFFSET_MAX);
	int64_t label = tz_to_label(tz, t);
	CHECK(tz_first(tz, label) <= t);
	CHECK(tz_first(tz, tz_reached(tz, t)) <= t);
	struct tz_local local = tz_from_label(tz, label);
	CHECK(local.first <= local.last && tz_first(tz, label) == local.first);
	int64_t start = unit_floor(tz, CU_DAY, t), next = unit_next(tz, CU_DAY, t);
	CHECK(start <= t && t < next);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tz *tz;
	int64_t t = 0;

	if (tz_parse(data, bytes, "Fuzz/Zone", &tz, NULL) < 0)
		return 0;
	for (size_t i = 0; i < bytes && i < 4; i++)
		t = t << 8 | data[bytes - 1 - i];
	for (int i = 0; i < 40; i++) {
		look(tz, t);
		struct tz_span span = tz_span_at(tz, t);
		t = span.to < TIME_MAX && i % 3 ? span.to : t + i * INT64_C(7777777);
		if (t > TIME_MAX)
			break;
	}
	tz_free(tz);
	return 0;
}
