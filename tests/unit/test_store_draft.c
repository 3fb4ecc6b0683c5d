/* Workflows that a test run was given and nobody saved, against every store. */
#include "tests/store/world.h"

struct texts {
	char text[200];
};

static int see_doc(void *ctx, const struct store_doc *d)
{
	struct texts *t = ctx;
	size_t at = strlen(t->text);

	snprintf(t->text + at, sizeof t->text - at, "%u.%u %s %.*s;", d->id,
	         d->version - VERSION_DRAFT, d->name, (int)d->body_len, d->body);
	return 0;
}

static void put_draft(struct world *w, uint32_t id, uint32_t n)
{
	const struct store_doc d = { .kind = DOC_DRAFT,
		                     .id = id,
		                     .version = VERSION_DRAFT + n,
		                     .name = "p/w",
		                     .body = "drawn",
		                     .body_len = 5,
		                     .actor = "x" };
	struct store_batch b = { .epoch = w->epoch, .docs = &d, .n_docs = 1 };

	struct err err = { 0 };

	world_must(store_commit(w->s, &b, &err), &err);
}

static int find(struct world *w, uint32_t version, struct texts *t)
{
	memset(t, 0, sizeof *t);
	return store_find_workflow(w->s, 1, version, see_doc, t, NULL);
}

static void the_newest_of_each_workflow_stay(void **state)
{
	struct world *w = *state;
	struct texts t = { 0 };

	put_draft(w, 2, 1);
	for (uint32_t n = 1; n <= STORE_DRAFTS_MAX + 1; n++)
		put_draft(w, 1, n);
	world_reopen(w);
	assert_int_equal(find(w, VERSION_DRAFT + 1, &t), E_NOT_FOUND);
	assert_int_equal(find(w, 1, &t), E_NOT_FOUND);
	assert_int_equal(find(w, VERSION_DRAFT + 2, &t), 0);
	assert_string_equal(t.text, "1.2 p/w drawn;");
	memset(&t, 0, sizeof t);
	assert_int_equal(store_load_docs(w->s, DOC_DRAFT, see_doc, &t, NULL), 0);
	assert_string_equal(t.text, "1.65 p/w drawn;2.1 p/w drawn;");
	memset(&t, 0, sizeof t);
	assert_int_equal(store_load_docs(w->s, DOC_WORKFLOW, see_doc, &t, NULL), 0);
	assert_string_equal(t.text, "");
}

#define BOTH(setup) \
	{ \
		"the newest of each workflow stay", the_newest_of_each_workflow_stay, setup, \
			teardown, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = { BOTH(setup_mem), BOTH(setup_sqlite) };
	const struct CMUnitTest tests_of_mysql[] = { BOTH(setup_mysql) };

	return world_mysql() ? cmocka_run_group_tests(tests_of_mysql, NULL, NULL)
	                     : cmocka_run_group_tests(tests, NULL, NULL);
}
