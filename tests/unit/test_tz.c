/* sched/tz and rt/zones: offsets, gaps and repeats, hostile files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/tz.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"

static const struct tz *zone(const char *name)
{
	const struct tz *tz = NULL;
	struct err err;

	assert_int_equal(zones_get(name, &tz, &err), 0);
	return tz;
}

static int64_t label(int y, int mo, int d, int h, int mi)
{
	return civil_to_day(y, mo, d) * DAY_S + h * 3600 + mi * 60;
}

static void offsets_follow_the_zone_now_and_far_ahead(void **state)
{
	(void)state;
	assert_int_equal(tz_offset(zone("Asia/Shanghai"), label(2026, 1, 1, 0, 0)), 8 * 3600);
	assert_int_equal(tz_offset(zone("Europe/Berlin"), label(2026, 7, 1, 0, 0)), 7200);
	assert_int_equal(tz_offset(zone("Europe/Berlin"), label(2026, 1, 1, 0, 0)), 3600);
	assert_int_equal(tz_offset(zone("Europe/Berlin"), label(2090, 7, 1, 0, 0)), 7200);
	assert_int_equal(tz_offset(zone("Europe/Berlin"), label(5090, 7, 1, 0, 0)), 7200);
	assert_int_equal(tz_offset(zone("Europe/Dublin"), label(2500, 1, 1, 0, 0)), 0);
	assert_int_equal(tz_offset(zone("Europe/Dublin"), label(2500, 7, 1, 0, 0)), 3600);
	assert_int_equal(tz_offset(zone("America/Sao_Paulo"), label(2500, 1, 1, 0, 0)), -3 * 3600);
	assert_int_equal(tz_offset(zone("UTC"), INT64_MAX), 0);
}

static void a_gap_ends_where_the_clock_lands(void **state)
{
	const struct tz *tz = zone("Europe/Berlin");
	struct tz_local l = tz_from_label(tz, label(2026, 3, 29, 2, 30));

	(void)state;
	assert_int_equal(l.kind, TZ_GAP);
	assert_int_equal(l.first, label(2026, 3, 29, 1, 0));
	assert_int_equal(tz_from_label(tz, label(2026, 3, 29, 3, 0)).kind, TZ_ONCE);
	assert_int_equal(tz_first(tz, label(2026, 3, 29, 3, 0)), label(2026, 3, 29, 1, 0));
}

static void a_repeated_label_has_two_instants(void **state)
{
	const struct tz *tz = zone("Europe/Berlin");
	struct tz_local l = tz_from_label(tz, label(2026, 10, 25, 2, 30));

	(void)state;
	assert_int_equal(l.kind, TZ_TWICE);
	assert_int_equal(l.first, label(2026, 10, 25, 0, 30));
	assert_int_equal(l.last, label(2026, 10, 25, 1, 30));
}

static void a_date_that_was_left_out_has_no_instant(void **state)
{
	const struct tz *tz = zone("Pacific/Apia");
	struct tz_local l = tz_from_label(tz, label(2011, 12, 30, 12, 0));

	(void)state;
	assert_int_equal(l.kind, TZ_GAP);
	assert_int_equal(tz_to_label(tz, l.first), label(2011, 12, 31, 0, 0));
}

static void first_and_reached_undo_each_other(void **state)
{
	static const char *const names[] = { "Europe/Berlin", "America/St_Johns", "Pacific/Apia",
		                             "Australia/Lord_Howe", "Pacific/Kwajalein" };

	(void)state;
	for (size_t z = 0; z < sizeof names / sizeof names[0]; z++) {
		const struct tz *tz = zone(names[z]);
		for (int64_t t = label(1968, 1, 1, 0, 0); t < label(2012, 2, 1, 0, 0); t += 5417) {
			int64_t l = tz_reached(tz, t);
			assert_true(tz_first(tz, l) <= t);
			assert_true(tz_first(tz, l + 1) > t);
			assert_true(l >= tz_to_label(tz, t));
		}
	}
}

static void extreme_instants_are_answered(void **state)
{
	static const int64_t ends[] = { INT64_MIN, INT64_MAX, TIME_MIN, TIME_MAX, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		(void)tz_first(zone("Europe/Berlin"), ends[i]);
		(void)tz_reached(zone("Europe/Berlin"), ends[i]);
		(void)tz_from_label(zone("Europe/Berlin"), ends[i]);
		(void)tz_first(zone("Asia/Tokyo"), ends[i]);
	}
}

static void unknown_and_unsafe_names_are_refused(void **state)
{
	static const char *const bad[] = { "",
		                           "Mars/Base",
		                           "../etc/passwd",
		                           "/etc/localtime",
		                           "Europe/../Asia/Tokyo",
		                           "Europe",
		                           "Europe/Berlin/",
		                           ".",
		                           "tzdata.zi",
		                           "Europe//Berlin" };
	const struct tz *tz;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(zones_get(bad[i], &tz, &err), E_INVALID);
	assert_int_equal(zones_get("Asia/Shangai", &tz, &err), E_INVALID);
	assert_non_null(strstr(err.text, "did you mean Asia/Shanghai"));
	assert_int_equal(zones_get("shanghai", &tz, &err), E_INVALID);
	assert_non_null(strstr(err.text, "did you mean Asia/Shanghai"));
}

static void broken_files_are_refused_or_read_but_never_overrun(void **state)
{
	struct buf file;
	uint32_t seed = 7;

	(void)state;
	buf_init(&file);
	assert_int_equal(fs_read("/usr/share/zoneinfo/Europe/Berlin", 1 << 20, &file, NULL), 0);
	for (size_t len = 0; len < file.len; len += 1 + len / 64) {
		struct tz *tz = NULL;
		uint8_t *cut = malloc(len + 1);
		memcpy(cut, buf_at(&file), len);
		assert_int_equal(tz_parse(cut, len, "cut", &tz, NULL), E_INVALID);
		free(cut);
	}
	for (int i = 0; i < 4000; i++) {
		struct tz *tz = NULL;
		uint8_t *copy = malloc(file.len);
		memcpy(copy, buf_at(&file), file.len);
		for (int k = 0; k < 4; k++) {
			seed = seed * 1664525u + 1013904223u;
			copy[(seed >> 8) % (k ? file.len : 64)] = (uint8_t)(seed >> 3);
		}
		if (tz_parse(copy, file.len, "bent", &tz, NULL) == 0) {
			(void)tz_first(tz, label(2026, 3, 29, 2, 30));
			(void)tz_from_label(tz, label(2200, 3, 29, 2, 30));
			(void)tz_reached(tz, label(1900, 3, 29, 2, 30));
		}
		tz_free(tz);
		free(copy);
	}
	buf_done(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_follow_the_zone_now_and_far_ahead),
		cmocka_unit_test(a_gap_ends_where_the_clock_lands),
		cmocka_unit_test(a_repeated_label_has_two_instants),
		cmocka_unit_test(a_date_that_was_left_out_has_no_instant),
		cmocka_unit_test(first_and_reached_undo_each_other),
		cmocka_unit_test(extreme_instants_are_answered),
		cmocka_unit_test(unknown_and_unsafe_names_are_refused),
		cmocka_unit_test(broken_files_are_refused_or_read_but_never_overrun),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
