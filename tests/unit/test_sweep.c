/* Every text one letter away from a good one is refused with a reason, or means something that
 * holds together: what people mistype never falls through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/cron.h"
#include "sched/macro.h"
#include "sched/offset.h"
#include "sched/plan.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "sched/window.h"
#include "tests/unit/test_time.h"
#include "util/buf.h"
#include "util/err.h"

#define NOW INT64_C(1774656000) /* 2026-03-28 */

static size_t tried, taken;

/* `look` gets each prefix, each text with one letter left out, changed or put in. */
static void sweep(const char *text, const char *letters, void (*look)(const char *text))
{
	size_t n = strlen(text);
	char *t = malloc(n + 2);

	assert_non_null(t);
	look(text);
	for (size_t i = 0; i < n; i++) {
		snprintf(t, n + 2, "%.*s", (int)i, text);
		look(t);
		snprintf(t, n + 2, "%.*s%s", (int)i, text, text + i + 1);
		look(t);
		for (const char *c = letters; *c; c++) {
			snprintf(t, n + 2, "%.*s%c%s", (int)i, text, *c, text + i + 1);
			look(t);
			snprintf(t, n + 2, "%.*s%c%s", (int)i, text, *c, text + i);
			look(t);
		}
	}
	free(t);
}

static bool told(int r, const char *text, const struct err *err)
{
	tried++;
	taken += r == 0;
	if (r < 0 && !err->text[0])
		fail_msg("'%s' is refused without a word", text);
	return r == 0;
}

/* --- cron --------------------------------------------------------------------------------- */

static void look_cron(const char *text)
{
	struct err err = { 0 };
	struct cron *c;

	if (!told(cron_parse(text, "p/w/t", &c, &err), text, &err))
		return;
	int64_t next = cron_next(c, zone("Europe/Berlin"), NOW);
	if (next <= NOW)
		fail_msg("'%s' fires in the past", text);
	if (next != PLAN_NEVER) {
		int64_t prev = cron_prev(c, zone("Europe/Berlin"), next);
		if (prev > NOW || cron_prev(c, zone("Europe/Berlin"), next + 1) != next)
			fail_msg("'%s' goes back another way", text);
	}
	cron_free(c);
}

static void crons_fire_forward_and_back(void **state)
{
	static const char *const good[] = {
		"*/5 0-4 1,15 JAN-MAR MON#2",
		"0 0 2 * * ?",
		"H H(0-7)/2 H * *",
		"0 0 LW L-3W *",
		"0 15 2 ? * 6L 2000-2060/4",
		"@daily",
		"0 22-2 15W * FRI-MON",
		"5/10 3 L-2 */2 0-7/3",
		"30 2 29 2 *",
		"0 0 l * fri#2",
		"0 0 0 1 1 ? 1999,2030",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		sweep(good[i], "0 79,-*/?LW#H@)x", look_cron);
	char wide[CRON_TEXT_MAX + 20];
	memset(wide, '1', sizeof wide);
	wide[sizeof wide - 1] = '\0';
	look_cron(wide);
}

/* --- offsets, durations, instants ----------------------------------------------------------- */

static void look_offset(const char *text)
{
	struct plan_offset o, again;
	struct err err = { 0 };
	struct buf out;
	int64_t s;

	if (told(offset_parse(text, &o, &err), text, &err)) {
		buf_init(&out);
		offset_print(&o, &out);
		assert_int_equal(offset_parse(buf_str(&out), &again, NULL), 0);
		assert_int_equal(o.kind, again.kind);
		assert_int_equal(o.days, again.days);
		assert_int_equal(o.seconds, again.seconds);
		buf_done(&out);
	}
	err.text[0] = '\0';
	if (told(duration_parse(text, &s, &err), text, &err)) {
		buf_init(&out);
		duration_print(s, &out);
		int64_t back = -1;
		assert_int_equal(duration_parse(buf_str(&out), &back, NULL), 0);
		assert_int_equal(s, back);
		buf_done(&out);
	}
}

static void offsets_print_as_they_read(void **state)
{
	static const char *const good[] = { "2h30m",          "1w2d3h4m5s",    "02:30:15",
		                            "last-day 02:30", "tuesday 06:00", "day 31 02:00",
		                            "day 5",          "3d 02:30",      "0",
		                            "99999999999s" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		sweep(good[i], "0169:dhmsw -x", look_offset);
}

static void look_instant(const char *text)
{
	static const char *const zones[] = { "UTC", "Europe/Berlin", "Pacific/Apia" };
	char out[WHEN_TEXT];
	struct when at, again;

	for (size_t i = 0; i < 3; i++) {
		tried++;
		if (!when_parse(text, WHEN_NO_NOW, &at))
			continue;
		taken++;
		int64_t t = when_instant(&at, zone(zones[i]), false);
		assert_true(when_parse(when_print(t, out), WHEN_NO_NOW, &again));
		assert_int_equal(again.at, t);
		assert_false(when_is_local(&again));
	}
}

static void instants_print_as_they_read(void **state)
{
	static const char *const good[] = { "2026-03-29", "2026-03-29 02:30",
		                            "2026-03-29T02:30:15Z", "2024-02-29T02:30+08:00",
		                            "2026-12-31 23:59:59-0530" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		sweep(good[i], "0169:TZ +-x", look_instant);
}

/* --- windows, macros -------------------------------------------------------------------------- */

static void look_window(const char *text)
{
	struct err err = { 0 };
	struct window_expr *w, *again;
	struct buf out, twice;

	if (!told(window_parse(text, &w, &err), text, &err))
		return;
	buf_init(&out);
	buf_init(&twice);
	window_print(w, &out);
	assert_int_equal(window_parse(buf_str(&out), &again, NULL), 0);
	window_print(again, &twice);
	assert_string_equal(buf_str(&out), buf_str(&twice));
	struct plan *p = plan_of(every(1, CU_DAY, "Europe/Berlin"));
	for (size_t i = 0; i < window_count(w) && window_form(w) != WF_LATEST; i++)
		(void)window_eval(w, i, p, plan_next(p, NOW));
	plan_free(p);
	window_free(w);
	window_free(again);
	buf_done(&out);
	buf_done(&twice);
}

static void windows_print_in_one_spelling(void **state)
{
	static const char *const good[] = { "[@day-1d, @day)",
		                            "(t-24h,t]",
		                            "{@week-3d,@month}",
		                            "{latest}",
		                            "[@month-1M+1d-2h+5m, @year+1y)",
		                            "(@hour-90m ,\t@minute]" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		sweep(good[i], "@09+-,dhMwy[]{}t )", look_window);
}

static const char *value_of(void *ctx, const char *name)
{
	(void)ctx;
	return strcmp(name, "a") == 0 ? "x" : NULL;
}

static bool has_value(void *ctx, const char *name)
{
	return value_of(ctx, name) != NULL;
}

static void look_macro(const char *text)
{
	static const char *const known[] = { "a", NULL };
	static const enum cycle_unit units[] = { CU_DAY, CU_HOUR };
	struct err err = { 0 };
	struct buf out;

	(void)told(macro_check(text, has_value, known, NULL, &err), text, &err);
	for (int i = 0; i < 2; i++) {
		struct schedule s = every(1, units[i], "Europe/Berlin");
		s.fire = i ? FIRE_END : FIRE_START;
		struct plan *p = plan_of(s);
		struct macro_scope scope = { .plan = p,
			                     .run_date = plan_next(p, NOW),
			                     .lookup = i ? value_of : NULL,
			                     .known = known };
		err.text[0] = '\0';
		buf_init(&out);
		if (told(macro_expand(text, &scope, &out, &err), text, &err) && !macro_has(text))
			assert_string_equal(buf_str(&out), text);
		buf_done(&out);
		plan_free(p);
	}
}

static void macros_are_replaced_or_told(void **state)
{
	static const char *const good[] = {
		"a ${run_date} $$ ${a:-x} $[yyyyMMdd-1]",
		"$[yyyy-MM-dd HH:mm:ss-1/24+30/24/60]",
		"$[add_months(yyyyMMdd, -1)]",
		"$[month_first_day(yyyy-MM-dd,1)]$[week_last_day(yyMMdd)]",
		"$[timestamp(yyyyMMddHH-1)] ${biz_date}${period_start}${period_end}",
		"$[yyyy-MM-01] $[year_last_day(MMdd, 2)] $[year_first_day(yyyy)]",
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		sweep(good[i], "${}[]()0,/-yMdH:x", look_macro);
}

/* --- zones ------------------------------------------------------------------------------ */

enum { ZONE_BYTES = 600 };

static size_t put_header(unsigned char *at, unsigned version, unsigned times, unsigned types)
{
	memcpy(at, "TZif", 4);
	memset(at + 4, 0, 40);
	at[4] = (unsigned char)version;
	at[35] = (unsigned char)times;
	at[39] = (unsigned char)types;
	at[43] = 4;
	return 44;
}

static void put64(unsigned char *at, int64_t v)
{
	for (int i = 0; i < 8; i++)
		at[i] = (unsigned char)((uint64_t)v >> (56 - 8 * i));
}

static void put32(unsigned char *at, int32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)((uint32_t)v >> (24 - 8 * i));
}

/* A zone of two changes and a rule, as a file of version 2. */
static size_t zone_file_of(unsigned char *b, const char *rule, int64_t first, int64_t second,
                           unsigned times)
{
	size_t n = put_header(b, '2', 0, 1);

	memset(b + n, 0, 10);
	n += 10; /* version 1: a type and its letters */
	n += put_header(b + n, '2', times, 2);
	if (times) {
		put64(b + n, first);
		put64(b + n + 8, second);
		b[n + 16] = 1, b[n + 17] = 0;
		n += 18;
	}
	for (int type = 0; type < 2; type++, n += 6) {
		put32(b + n, type ? 7200 : 3600);
		b[n + 4] = (unsigned char)type;
		b[n + 5] = 0;
	}
	memcpy(b + n, "CET", 4);
	n += 4;
	return n + (size_t)snprintf((char *)b + n, ZONE_BYTES - n, "\n%s\n", rule);
}

static size_t zone_file(unsigned char *b, const char *rule)
{
	return zone_file_of(b, rule, 1000000000, 1010000000, 2);
}

static void look_zone(const unsigned char *bytes, size_t n)
{
	static const int64_t at[] = { 0,          999999999,  1000000000, 1010000000,
		                      1774746000, 1792890000, TIME_MIN,   TIME_MAX };
	struct err err = { 0 };
	size_t hint = 0;
	struct tz *tz;

	if (!told(tz_parse(bytes, n, "Test/Zone", &tz, &err), "a zone file", &err))
		return;
	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		struct tz_span s = tz_span_at(tz, at[i]);
		assert_true(s.from <= at[i] && at[i] < s.to);
		assert_int_equal(s.offset, tz_offset(tz, at[i]));
		assert_int_equal(s.offset, tz_offset_hint(tz, at[i], &hint));
		assert_true(tz_first(tz, tz_to_label(tz, at[i])) <= at[i]);
		assert_true(tz_first(tz, tz_reached(tz, at[i])) <= at[i]);
		struct tz_local l = tz_from_label(tz, tz_to_label(tz, at[i]));
		assert_true(l.first <= l.last);
	}
	tz_free(tz);
}

static void look_rule(const char *text)
{
	unsigned char bytes[ZONE_BYTES];

	if (strlen(text) < 200)
		look_zone(bytes, zone_file(bytes, text));
}

static void zone_files_of_any_bytes_are_refused_or_hold(void **state)
{
	static const unsigned char values[] = { 0, 1, 2, 4, '2', 0x7f, 0x80, 0xff };
	static const char *const rules[] = {
		"CET-1CEST,M3.5.0,M10.5.0/3",
		"<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
		"LHST-10:30LHDT-11,J60/2,J300",
		"XXX5YYY,59/25,300/-7:30:15",
		"XXX0YYY-1,J365/167,J1/0",
		"EET-2EEST,M3.4.4/50,M10.4.4/50",
		"UTC0",
		"",
		"IST-1GMT0,M10.5.0,M3.5.0/1",
	};
	unsigned char bytes[ZONE_BYTES], other[ZONE_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		sweep(rules[i], "0159,.:/-+MJ<>x", look_rule);
	size_t n = zone_file(bytes, rules[0]);
	for (size_t i = 0; i <= n; i++) {
		look_zone(bytes, i);
		for (size_t v = 0; i < n && v < sizeof values; v++) {
			memcpy(other, bytes, n);
			other[i] = values[v];
			look_zone(other, n);
		}
	}
	/* Changes long ago, none at all, and none but the rule's. */
	look_zone(bytes,
	          zone_file_of(bytes, rules[0], -INT64_C(4000000000), -INT64_C(3900000000), 2));
	look_zone(bytes, zone_file_of(bytes, rules[0], 0, 0, 0));
	look_zone(bytes, zone_file_of(bytes, "", 0, 0, 0));
	n = zone_file(bytes, rules[0]);
	memset(other, 'A', sizeof other);
	n = zone_file(other, "") - 1;
	memset(other + n, 'A', 300); /* a rule that is too long, or never ends */
	look_zone(other, n + 300);
	other[n + 299] = '\n';
	look_zone(other, n + 300);
}

/* Two changes within hours of each other, as some zones had. */
static void crons_and_labels_hold_between_changes_that_are_close(void **state)
{
	static const char *const crons[] = { "0 0 * * * ?",      "0 0 * 1 1 ?",
		                             "0 0 * * * ? 2001", "0 30 2 * * ?",
		                             "0 0 * 9 9 ? 2001", "0 0 * 10 9 ? 2001",
		                             "0 0 * 8 9 ? 2001", "0 0 * 1 1 ? 2030",
		                             "0 0 * 8 * ?" };
	unsigned char bytes[ZONE_BYTES];
	int64_t first = 1000000000; /* 2001-09-09 01:46:40 */
	struct tz *tz;

	(void)state;
	size_t n = zone_file_of(bytes, "CET-1", first, first + 5 * 3600, 2);
	assert_int_equal(tz_parse(bytes, n, "Test/Close", &tz, NULL), 0);
	for (size_t i = 0; i < sizeof crons / sizeof *crons; i++) {
		struct cron *c;
		assert_int_equal(cron_parse(crons[i], NULL, &c, NULL), 0);
		int64_t t = first - 3 * DAY_S;
		for (int64_t next; t < first + 3 * DAY_S; t = next) {
			next = cron_next(c, tz, t);
			assert_true(next > t);
			if (next == PLAN_NEVER)
				break;
			assert_int_equal(cron_prev(c, tz, next + 1), next);
			assert_true(cron_prev(c, tz, next) <= t);
		}
		for (int64_t at = first - 2 * 3600; at < first + 8 * 3600; at += 600) {
			assert_true(cron_next(c, tz, at) > at);
			assert_true(cron_prev(c, tz, at) < at);
		}
		cron_free(c);
	}
	for (int64_t l = first - DAY_S; l < first + DAY_S; l += 900) {
		struct tz_local at = tz_from_label(tz, l);
		assert_true(at.first <= at.last && tz_first(tz, l) == at.first);
	}
	tz_free(tz);
	/* Back by three hours, and forth within one: some labels are passed over twice. */
	n = zone_file_of(bytes, "CET-1", first, first + 3600, 2);
	put32(bytes + 44 + 10 + 44 + 18 + 6, -7200);
	assert_int_equal(tz_parse(bytes, n, "Test/Close", &tz, NULL), 0);
	for (int64_t l = first - DAY_S; l < first + DAY_S; l += 900) {
		struct tz_local at = tz_from_label(tz, l);
		assert_true(at.first <= at.last && tz_first(tz, l) == at.first);
	}
	tz_free(tz);
}

static int something_was_taken_and_something_refused(void **state)
{
	(void)state;
	return tried > 1000 && taken > 100 && taken < tried ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crons_fire_forward_and_back),
		cmocka_unit_test(offsets_print_as_they_read),
		cmocka_unit_test(instants_print_as_they_read),
		cmocka_unit_test(windows_print_in_one_spelling),
		cmocka_unit_test(macros_are_replaced_or_told),
		cmocka_unit_test(zone_files_of_any_bytes_are_refused_or_hold),
		cmocka_unit_test(crons_and_labels_hold_between_changes_that_are_close),
	};

	return cmocka_run_group_tests(tests, NULL, something_was_taken_and_something_refused);
}
