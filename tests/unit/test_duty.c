/* Whose turn it is when clocks change; which addresses are public; files that take lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "notifier/filed.h"
#include "rt/zones.h"
#include "sched/civil.h"
#include "sched/duty.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "util/addr.h"
#include "util/err.h"

static int64_t at(const char *text)
{
	struct when w;

	assert_true(when_parse(text, WHEN_NO_NOW, &w));
	return w.kind == WHEN_LOCAL ? w.label : w.at;
}

/* Berlin's clock goes forward on 2026-03-29 and back on 2026-10-25: handovers stay at nine. */
static void turns_change_at_the_same_clock_time_all_year(void **state)
{
	static const struct {
		enum duty_every every;
		const char *at;
		size_t turn;
		const char *until;
	} rows[] = {
		{ DUTY_WEEK, "2026-03-02T07:59:59Z", 0, "2026-03-09T08:00:00Z" },
		{ DUTY_WEEK, "2025-01-01T00:00:00Z", 0, "2026-03-09T08:00:00Z" },
		{ DUTY_WEEK, "2026-03-09T07:59:59Z", 0, "2026-03-09T08:00:00Z" },
		{ DUTY_WEEK, "2026-03-09T08:00:00Z", 1, "2026-03-16T08:00:00Z" },
		{ DUTY_WEEK, "2026-03-30T06:59:59Z", 0, "2026-03-30T07:00:00Z" },
		{ DUTY_WEEK, "2026-03-30T07:00:00Z", 1, "2026-04-06T07:00:00Z" },
		{ DUTY_DAY, "2026-10-24T07:00:00Z", 2, "2026-10-25T08:00:00Z" },
		{ DUTY_DAY, "2026-10-25T08:00:00Z", 0, "2026-10-26T08:00:00Z" },
	};
	const struct tz *tz = NULL;

	(void)state;
	assert_int_equal(zones_get("Europe/Berlin", &tz, NULL), 0);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct duty_plan d = { .every = rows[i].every,
			               .from = at("2026-03-02 09:00"),
			               .tz = tz,
			               .people = 3 };
		int64_t until = 0;
		size_t want = rows[i].turn;
		size_t got = duty_turn(&d, at(rows[i].at), &until);
		if (got != want || until != at(rows[i].until))
			fail_msg("%s: turn %zu, want %zu; until %lld", rows[i].at, got, want,
			         (long long)until);
	}
}

static void inner_addresses_are_none_of_the_public_internet(void **state)
{
	static const struct {
		const char *ip;
		bool is_public;
	} rows[] = {
		{ "8.8.8.8", true },
		{ "93.184.216.34", true },
		{ "127.0.0.1", false },
		{ "10.1.2.3", false },
		{ "172.16.0.1", false },
		{ "172.31.255.255", false },
		{ "172.32.0.1", true },
		{ "192.168.0.1", false },
		{ "169.254.169.254", false },
		{ "100.64.0.1", false },
		{ "100.128.0.1", true },
		{ "0.0.0.0", false },
		{ "224.0.0.1", false },
		{ "255.255.255.255", false },
		{ "198.18.0.1", false },
		{ "2606:4700::1111", true },
		{ "::1", false },
		{ "::", false },
		{ "fe80::1", false },
		{ "fd00::1", false },
		{ "::ffff:127.0.0.1", false },
		{ "::ffff:8.8.8.8", true },
		{ "64:ff9b::a00:1", false },
		{ "2001:db8::1", false },
		{ "2002:7f00:1::", false },
		{ "ff02::1", false },
		{ "2001::1", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct sockaddr_in in = { .sin_family = AF_INET };
		struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
		bool is4 = inet_pton(AF_INET, rows[i].ip, &in.sin_addr) == 1;
		assert_true(is4 || inet_pton(AF_INET6, rows[i].ip, &in6.sin6_addr) == 1);
		if (addr_is_public(is4 ? (struct sockaddr *)&in : (struct sockaddr *)&in6) !=
		    rows[i].is_public)
			fail_msg("%s", rows[i].ip);
	}
	struct sockaddr other = { .sa_family = AF_UNIX };
	assert_false(addr_is_public(&other));
}

static off_t size_of(const char *folder, const char *name)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof path, "%s/files/%s", folder, name);
	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void a_full_file_is_set_aside_and_the_fourth_former_one_goes(void **state)
{
	char folder[] = "/tmp/sirdar-filed-XXXXXX", line[40] = "{\"n\":0}";
	struct err err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (int i = 0; i < 50; i++) {
		snprintf(line, sizeof line, "{\"n\":%02d}", i);
		assert_int_equal(filed_put(folder, "a", 30, line, strlen(line), &err), 0);
	}
	assert_int_equal(size_of(folder, "a.jsonl"), 18); /* two of nine bytes */
	assert_int_equal(size_of(folder, "a.jsonl.1"), 27);
	assert_int_equal(size_of(folder, "a.jsonl.3"), 27);
	assert_int_equal(size_of(folder, "a.jsonl.4"), -1);
	assert_int_equal(filed_put("/nowhere/at/all", "a", 30, line, strlen(line), &err), E_IO);
	const char *const rm[] = { "a.jsonl", "a.jsonl.1", "a.jsonl.2", "a.jsonl.3" };
	for (size_t i = 0; i < 4; i++) {
		char path[300];
		snprintf(path, sizeof path, "%s/files/%s", folder, rm[i]);
		unlink(path);
	}
	char files[300];
	snprintf(files, sizeof files, "%s/files", folder);
	rmdir(files);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_change_at_the_same_clock_time_all_year),
		cmocka_unit_test(inner_addresses_are_none_of_the_public_internet),
		cmocka_unit_test(a_full_file_is_set_aside_and_the_fourth_former_one_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
