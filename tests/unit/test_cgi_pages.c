/* The console's files: read once, found by path, their tags and compressed forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cgi/http/pack.h"
#include "cgi/http/pages.h"
#include "util/err.h"
#include "util/fs.h"

static char dir[] = "/tmp/sirdar-pages-XXXXXX";

static void put(const char *name, const char *text)
{
	struct err err = { 0 };
	char path[200];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_int_equal(fs_write(path, text, strlen(text), 0644, &err), 0);
}

static int setup(void **state)
{
	struct err err = { 0 };
	char assets[200];

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(assets, sizeof assets, "%s/assets", dir);
	return fs_mkdirs(assets, 0755, &err);
}

static void a_folder_without_a_first_page_is_no_console(void **state)
{
	struct pages *p = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(pages_load("/nowhere/at/all", "index.html", &p, &err), E_NOT_FOUND);
	assert_int_equal(pages_load(dir, "index.html", &p, &err), E_NOT_FOUND);
	assert_non_null(strstr(err.text, "index.html"));
	assert_null(p);
}

static void files_are_found_by_their_path_with_type_and_tags(void **state)
{
	struct pages *p = NULL;
	struct err err = { 0 };
	const struct page *one;

	(void)state;
	put("index.html", "<!doctype html>");
	put("assets/a-1.js", "let a = 1");
	put("assets/a-1.js.gz", "packed");
	put("assets/b-2.js", "let a = 2");
	put(".hidden", "no");
	assert_int_equal(pages_load(dir, "index.html", &p, &err), 0);
	one = pages_find(p, "assets/a-1.js");
	assert_non_null(one);
	assert_string_equal(one->type, "text/javascript; charset=utf-8");
	assert_true(one->immutable);
	assert_int_equal(one->gzip.len, 6);
	assert_string_not_equal(one->etag, one->etag_gzip);
	assert_string_not_equal(one->etag, pages_find(p, "assets/b-2.js")->etag);
	assert_int_equal(pages_find(p, "assets/b-2.js")->gzip.len, 0);
	assert_false(pages_find(p, "index.html")->immutable);
	assert_null(pages_find(p, "assets/a-1.js.gz"));
	assert_null(pages_find(p, ".hidden"));
	assert_null(pages_find(p, "../etc/passwd"));
	assert_null(pages_find(p, "assets/../index.html"));
	pages_free(p);
}

static void a_tag_is_found_in_a_list_whole_or_not_at_all(void **state)
{
	(void)state;
	assert_true(page_etag_in("\"a\"", "\"a\""));
	assert_true(page_etag_in("\"x\", W/\"a\" ,\"y\"", "\"a\""));
	assert_true(page_etag_in("*", "\"a\""));
	assert_false(page_etag_in(NULL, "\"a\""));
	assert_false(page_etag_in("", "\"a\""));
	assert_false(page_etag_in("\"aa\"", "\"a\""));
	assert_false(page_etag_in("\"a\"b", "\"a\""));
}

static void gzip_goes_to_who_takes_it(void **state)
{
	(void)state;
	assert_true(pack_taken("gzip, deflate, br", "gzip"));
	assert_true(pack_taken("br;q=1.0, GZIP;q=0.5", "gzip"));
	assert_true(pack_taken("gzip;q=0.001", "gzip"));
	assert_false(pack_taken("gzip;q=0", "gzip"));
	assert_false(pack_taken("gzip;q=0.000, br", "gzip"));
	assert_false(pack_taken("gzipped", "gzip"));
	assert_false(pack_taken("deflate", "gzip"));
	assert_false(pack_taken("", "gzip"));
	assert_false(pack_taken(NULL, "gzip"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_folder_without_a_first_page_is_no_console),
		cmocka_unit_test(files_are_found_by_their_path_with_type_and_tags),
		cmocka_unit_test(a_tag_is_found_in_a_list_whole_or_not_at_all),
		cmocka_unit_test(gzip_goes_to_who_takes_it),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
