/* Stored documents by name: numbers and versions of names, and what a body must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "baseserver/ledger/letters.h"
#include "baseserver/model/docs.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

static int learn(struct docs *ds, uint32_t id, uint32_t version, const char *name, const char *body)
{
	struct store_doc d = { .kind = ds->kind->kind,
		               .id = id,
		               .version = version,
		               .name = name,
		               .body = body,
		               .body_len = strlen(body) };

	return docs_learn(ds, &d, NULL);
}

static struct store_doc change(struct docs *ds, struct edit *e, const char *name, bool retired)
{
	docs_change(ds, e,
	            (struct store_doc){ .name = name,
	                                .body = "{}",
	                                .body_len = 2,
	                                .actor = "ann",
	                                .retired = retired });
	return e->docs[e->n_docs - 1];
}

static void a_name_keeps_its_number_when_it_comes_back(void **state)
{
	struct edit *e = mem_new(sizeof *e);
	struct docs ds;

	(void)state;
	docs_init(&ds, &doc_kinds[DOC_SERVER]);
	assert_int_equal(learn(&ds, 7, 3, "dw", "{\"host\":\"a\"}"), 0);
	struct store_doc gone = change(&ds, e, "dw", true);
	assert_int_equal(gone.kind, DOC_SERVER);
	assert_int_equal(gone.id, 7);
	assert_int_equal(gone.version, 4);
	assert_int_equal(docs_learn(&ds, &gone, NULL), 0);
	assert_null(docs_find(&ds, "dw"));
	assert_non_null(docs_ever(&ds, "dw"));
	struct store_doc back = change(&ds, e, "dw", false);
	assert_int_equal(back.id, 7);
	assert_int_equal(back.version, 5);
	edit_free(e);
	docs_done(&ds);
}

static void two_new_names_of_one_edit_have_two_numbers(void **state)
{
	struct edit *e = mem_new(sizeof *e);
	struct docs ds;

	(void)state;
	docs_init(&ds, &doc_kinds[DOC_CALENDAR]);
	assert_int_equal(change(&ds, e, "bank", false).id, 1);
	assert_int_equal(change(&ds, e, "school", false).id, 2);
	assert_int_equal(change(&ds, e, "school", false).version, 1);
	edit_free(e);
	docs_done(&ds);
}

static void a_body_that_does_not_read_back_changes_nothing(void **state)
{
	struct docs ds;

	(void)state;
	docs_init(&ds, &doc_kinds[DOC_SERVER]);
	assert_int_equal(learn(&ds, 1, 1, "dw", "{\"host\":\"a\"}"), 0);
	assert_int_equal(learn(&ds, 1, 2, "dw", "[]"), E_CORRUPT);
	assert_int_equal(learn(&ds, 2, 1, "other", "{"), E_CORRUPT);
	assert_null(docs_ever(&ds, "other"));
	assert_int_equal(docs_find(&ds, "dw")->version, 1);
	assert_string_equal(jv_get(doc_json(docs_find(&ds, "dw")), "host")->text, "a");
	docs_done(&ds);
}

static void what_a_person_set_for_browsers_is_not_kept(void **state)
{
	struct docs ds;

	(void)state;
	docs_init(&ds, &doc_kinds[DOC_PREFS]);
	assert_int_equal(learn(&ds, 1, 4, "ann", "{\"theme\":\"dark\"}"), 0);
	assert_string_equal(docs_find(&ds, "ann")->body, "");
	assert_null(doc_json(docs_find(&ds, "ann")));
	assert_int_equal(docs_find(&ds, "ann")->version, 4);
	docs_done(&ds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_keeps_its_number_when_it_comes_back),
		cmocka_unit_test(two_new_names_of_one_edit_have_two_numbers),
		cmocka_unit_test(a_body_that_does_not_read_back_changes_nothing),
		cmocka_unit_test(what_a_person_set_for_browsers_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
