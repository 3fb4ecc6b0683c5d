/* The pieces of the HTTP face that need no socket: routes, instants, ids, JSON both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cgi/handlers/route.h"
#include "cgi/http/cgi.h"
#include "cgi/http/prometheus.h"
#include "cgi/seeds/seed_routes.h"
#include "cgi/server/show.h"
#include "sched/when.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

static int find(const char *method, const char *path, char ret_param[CALL_PARAM_BYTES])
{
	static char params[CALL_PARAMS_MAX][CALL_PARAM_BYTES];
	struct routes *all = routes_new();
	const struct route *r = NULL;
	char allow[64];
	int code = route_find(all, method, path, &r, params, allow);

	routes_free(all);
	memcpy(ret_param, params[0], CALL_PARAM_BYTES);
	return code;
}

static void a_route_takes_its_parameters_decoded(void **state)
{
	char p[CALL_PARAM_BYTES];

	(void)state;
	assert_int_equal(find("GET", "/api/v1/tasks/a/b/c", p), 0);
	assert_string_equal(p, "a/b/c");
	assert_int_equal(find("GET", "/api/v1/tasks/a%2Fb%20c", p), 0);
	assert_string_equal(p, "a/b c");
	assert_int_equal(find("GET", "/api/v1/instances/1.2/events", p), 0);
	assert_string_equal(p, "1.2");
}

static void a_route_is_matched_whole_and_by_method(void **state)
{
	char p[CALL_PARAM_BYTES];

	(void)state;
	assert_int_equal(find("GET", "/api/v1/tasksx", p), E_NOT_FOUND);
	assert_int_equal(find("GET", "/api/v1/task", p), E_NOT_FOUND);
	assert_int_equal(find("GET", "/api/v1/instances/1.2/eventsx", p), E_NOT_FOUND);
	assert_int_equal(find("GET", "/api/v1/instances//events", p), E_NOT_FOUND);
	assert_int_equal(find("PUT", "/api/v1/tasks", p), E_UNSUPPORTED);
	assert_int_equal(find("GET", "/api/v1/tasks/%0a", p), E_INVALID);
	assert_int_equal(find("GET", "/api/v1/tasks/%4", p), E_INVALID);
	assert_int_equal(find("GET", "/api/v1/tasks/%zz", p), E_INVALID);
}

static bool is_there(struct param_cgi param, const char *method, const char *path, int *ret_code)
{
	static char params[CALL_PARAMS_MAX][CALL_PARAM_BYTES];
	struct cgi cgi = { .param = param, .routes = routes_new() };
	const struct route *r = NULL;
	char allow[64];

	seeds_register(&cgi);
	*ret_code = route_find(cgi.routes, method, path, &r, params, allow);
	routes_free(cgi.routes);
	return *ret_code == 0;
}

static void the_routes_of_a_seed_are_there_while_its_setting_names_a_project(void **state)
{
	char none[] = "", ects[] = "ects";
	struct param_cgi p = { .chin_project = none,
		               .jarvis2_project = none,
		               .crontab_project = none,
		               .ects_project = none };
	int code;

	(void)state;
	assert_true(is_there(p, "GET", "/api/v1/tasks", &code));
	assert_false(is_there(p, "GET", "/ects/tasks", &code));
	assert_int_equal(code, E_NOT_FOUND);
	assert_false(is_there(p, "PATCH", "/ects/tasks", &code));
	assert_int_equal(code, E_NOT_FOUND); /* not a path whose other methods are told */
	p.ects_project = ects;
	assert_true(is_there(p, "GET", "/ects/tasks", &code));
	assert_false(is_there(p, "PATCH", "/ects/tasks", &code));
	assert_int_equal(code, E_UNSUPPORTED);
	assert_false(is_there(p, "POST", "/job/save", &code));
	assert_true(is_there(p, "GET", "/api/v1/tasks", &code));
}

static void an_instance_id_reads_back_and_nothing_else_does(void **state)
{
	static const struct inst_key keys[] = { { 1772323200, 17, 0 },
		                                { -60, 1, -2 },
		                                { 0, UINT32_MAX, 9 } };
	static const char *const wrong[] = { "",
		                             "1",
		                             "1.",
		                             ".1",
		                             "1.2.",
		                             "1.2.3.4",
		                             " 1.2",
		                             "1.2 ",
		                             "+1.2",
		                             "-1.2",
		                             "4294967296.1",
		                             "1.2.2147483648",
		                             "1.9999999999999999999" };
	char text[ID_TEXT_MAX];
	struct inst_key k;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		key_text(keys[i], text);
		assert_true(key_read(text, &k));
		assert_true(inst_key_eq(k, keys[i]));
	}
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_false(key_read(wrong[i], &k));
}

static void instants_are_read_with_offsets_and_written_in_utc(void **state)
{
	static const char *const wrong[] = { "2026-02-29", "2026-03-01T24:00",
		                             "2026-03-01T02:30:00Zx", "2026-03-01T" };
	char text[WHEN_TEXT];
	struct when w;

	(void)state;
	assert_true(when_parse("2026-03-01T02:30:00+08:00", WHEN_NO_NOW, &w));
	when_print(w.at, text);
	assert_string_equal(text, "2026-02-28T18:30:00Z");
	assert_true(when_parse("2026-03-01", WHEN_NO_NOW, &w) && w.is_date);
	assert_true(when_parse("1969-12-31 23:59", WHEN_NO_NOW, &w) && !w.is_date);
	assert_int_equal(w.label, -60);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_false(when_parse(wrong[i], WHEN_NO_NOW, &w));
}

static void what_is_put_is_strict_json_whatever_the_bytes(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	put_open(&b, NULL, '{');
	put_open(&b, "bytes", '[');
	for (int c = 0; c < 256; c++) {
		char bytes[3] = { 'a', (char)c, 'b' };

		put_bytes(&b, NULL, bytes, 3);
	}
	put_close(&b, ']');
	put_id(&b, "id", UINT64_MAX);
	put_time_us(&b, "t", 1772323200000001);
	put_open(&b, "l", '[');
	put_int(&b, NULL, 1);
	put_null(&b, NULL);
	put_close(&b, ']');
	put_close(&b, '}');
	assert_int_equal(json_check((const char *)buf_at(&b), b.len, NULL), 0);
	assert_non_null(strstr(buf_str(&b), "\"id\":\"18446744073709551615\","
	                                    "\"t\":\"2026-03-01T00:00:00.000001Z\""));
	assert_non_null(strstr(buf_str(&b), "[1,null]}"));
	buf_done(&b);
}

static void numbers_beyond_a_double_and_broken_text_are_refused(void **state)
{
	static const char *const good[] = {
		"9007199254740991", "-9007199254740991", "\"\\ud83d\\ude00\"", "[ ]", "{}", " 0 "
	};
	static const char *const bad[] = { "9007199254740992",
		                           "1.5",
		                           "1e3",
		                           "-",
		                           "01",
		                           "\"\\u0000\"",
		                           "\"\\udc00\"",
		                           "\"\xc0\x80\"",
		                           "[1,]",
		                           "{\"a\":1,\"a\":2}",
		                           "{\"\\u0061\":1}",
		                           "tru",
		                           "",
		                           "[",
		                           "\"",
		                           "nullx" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
		assert_int_equal(json_check(good[i], strlen(good[i]), NULL), 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(json_check(bad[i], strlen(bad[i]), NULL), E_INVALID);
}

static void a_place_is_counted_in_the_text_as_it_came(void **state)
{
	static const char text[] = "{\"a\":\"two\\nlines\",\n \"b\":x}";
	const struct jval *doc = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(jv_parse_args(text, sizeof text - 1, &doc, &err), E_INVALID);
	assert_string_equal(err.text, "JSON, line 2 column 6: a value is expected");
}

static void metrics_come_out_as_prometheus_reads_them(void **state)
{
	static const char in[] =
		"{\"metrics\":[{\"name\":\"grants_total\",\"type\":\"counter\",\"help\":\"a\\nb\","
		"\"samples\":"
		"[{\"labels\":{\"type\":\"sh\\\"x\"},\"value\":7}]},{\"name\":\"bad "
		"name\",\"type\":\"gauge\"},"
		"{\"name\":\"commit_seconds\",\"type\":\"histogram\",\"help\":\"h\","
		"\"unit\":\"us\",\"samples\":"
		"[{\"labels\":{},\"buckets\":[[100,3],[1500000,4]],\"sum\":9,\"count\":4}]}]}";
	struct buf b;

	(void)state;
	buf_init(&b);
	prometheus_server(&b, in, sizeof in - 1);
	assert_string_equal(
		buf_str(&b),
		"# HELP sirdar_grants_total a\\nb\n# TYPE sirdar_grants_total counter\n"
		"sirdar_grants_total{type=\"sh\\\"x\"} 7\n"
		"# HELP sirdar_commit_seconds h\n# TYPE sirdar_commit_seconds histogram\n"
		"sirdar_commit_seconds_bucket{le=\"0.0001\"} 3\n"
		"sirdar_commit_seconds_bucket{le=\"1.5\"} 4\n"
		"sirdar_commit_seconds_bucket{le=\"+Inf\"} 4\n"
		"sirdar_commit_seconds_sum 0.000009\nsirdar_commit_seconds_count 4\n");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_route_takes_its_parameters_decoded),
		cmocka_unit_test(a_route_is_matched_whole_and_by_method),
		cmocka_unit_test(the_routes_of_a_seed_are_there_while_its_setting_names_a_project),
		cmocka_unit_test(an_instance_id_reads_back_and_nothing_else_does),
		cmocka_unit_test(instants_are_read_with_offsets_and_written_in_utc),
		cmocka_unit_test(what_is_put_is_strict_json_whatever_the_bytes),
		cmocka_unit_test(numbers_beyond_a_double_and_broken_text_are_refused),
		cmocka_unit_test(a_place_is_counted_in_the_text_as_it_came),
		cmocka_unit_test(metrics_come_out_as_prometheus_reads_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
