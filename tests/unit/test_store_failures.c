/* What failed, as the reader tells it: a slice of the transitions at a time. */
#include "tests/store/world.h"

#include "store/read.h"

/* With a server at hand against MySQL: see tests/store/world.h. */
static int setup_store(void **state)
{
	return world_mysql() ? setup_mysql(state) : setup_sqlite(state);
}

struct failures_seen {
	char text[400];
	size_t n;
};

static int see_failed(void *ctx, const struct read_failed *f)
{
	struct failures_seen *s = ctx;

	s->n += (size_t)snprintf(s->text + s->n, sizeof s->text - s->n, "%lld%s%s ",
	                         (long long)f->e.key.run_date, f->body ? f->body : "",
	                         f->now == ST_SUCC   ? " well"
	                         : f->now == ST_STOP ? " failed"
	                                             : " under way");
	return 0;
}

/* Slice by slice they are what one slice has, and what is of before `since` ends it. */
static void failures_come_newest_first_with_what_became_of_them(void **state)
{
	struct world *w = *state;
	struct reader *r;
	struct failures_seen all = { 0 }, sliced = { 0 };
	struct err err = { 0 };
	uint64_t before = 0;

	world_must(reader_open(w->url, &r, &err), &err);
	for (int k = 0; k < 3; k++) {
		struct instance i = world_instance(95, 60 * (k + 1), 0);

		i.slot = world_slot(i.key);
		world_change(w, &i, EV_CREATE, ST_READY);
		world_put(w, &i);
		world_change(w, &i, EV_GRANT, ST_RUNNING);
		world_put(w, &i);
		world_change(w, &i, EV_FAIL_RETRY, ST_FAILED);
		world_put(w, &i);
		if (k == 0)
			continue;
		world_change(w, &i, EV_RETRY, ST_READY);
		world_put(w, &i);
		world_change(w, &i, EV_GRANT, ST_RUNNING);
		world_put(w, &i);
		world_change(w, &i, k == 1 ? EV_EXIT_OK : EV_FAIL_FINAL,
		             k == 1 ? ST_SUCC : ST_STOP);
		world_put(w, &i);
	}
	world_must(read_failures(r, &(struct read_failures_of){ .numbers = 1000 }, &before,
	                         see_failed, &all, &err),
	           &err);
	assert_string_equal(all.text, "180 failed 180 failed 120 well 60 under way ");
	assert_int_equal(before, 0);
	do {
		world_must(read_failures(r, &(struct read_failures_of){ 0, before, 2 }, &before,
		                         see_failed, &sliced, &err),
		           &err);
	} while (before);
	assert_string_equal(sliced.text, all.text);
	sliced = (struct failures_seen){ 0 };
	world_must(read_failures(r, &(struct read_failures_of){ INT64_MAX, 0, 2 }, &before,
	                         see_failed, &sliced, &err),
	           &err);
	assert_string_equal(sliced.text, "");
	assert_int_equal(before, 0);
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "failures_come_newest_first_with_what_became_of_them",
		  failures_come_newest_first_with_what_became_of_them, setup_store, teardown,
		  NULL },
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
