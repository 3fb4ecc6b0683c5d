/* What people were told of, as every store keeps it and as readers see it. */
#include "store/read.h"
#include "tests/store/world.h"

struct text {
	char text[4000];
	size_t n;
};

static int see_alert(void *ctx, const struct store_alert *a)
{
	struct text *t = ctx;
	size_t at = strlen(t->text);

	snprintf(t->text + at, sizeof t->text - at,
	         "%d %s %s %s t%u %d g%u a%u s%d %d-%d by %s '%s' %d;", (int)a->id, a->kind,
	         a->subject, a->body, a->task, (int)a->run_date, a->generation, a->attempt,
	         a->severity, (int)a->since_us, (int)a->ended_us, a->acked_by, a->ack_note,
	         (int)a->acked_us);
	t->n++;
	return 0;
}

static void an_alert_keeps_who_acknowledged_it_when_it_is_said_again(void **state)
{
	struct world *w = *state;
	struct store_alert said[] = {
		{ .id = 7,
		  .kind = "failed",
		  .subject = "p/w/t",
		  .body = "{}",
		  .run_date = 60,
		  .since_us = 5,
		  .task = 4000000000,
		  .generation = 1,
		  .attempt = 2,
		  .severity = 2 },
		{ .id = 3,
		  .kind = "late",
		  .subject = "x",
		  .body = "{}",
		  .since_us = 1,
		  .ended_us = 2 },
		{ .id = 9, .ack = true, .acked_us = 1, .acked_by = "nobody" },
		{ .id = 7, .ack = true, .acked_us = 6, .acked_by = "ann", .ack_note = "seen" }
	};
	struct store_batch b = { .epoch = w->epoch, .alerts = said, .n_alerts = 4 };
	struct text t = { 0 };
	size_t rows = 0;

	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	said[0].body = "{\"told\":[]}";
	b.n_alerts = 1;
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	world_reopen(w);
	assert_int_equal(store_load_alerts(w->s, see_alert, &t, NULL), 0);
	assert_string_equal(t.text, "7 failed p/w/t {\"told\":[]} t4000000000 60 g1 a2 s2 5-0 by "
	                            "ann 'seen' 6;");
	said[0].ended_us = 9;
	b.epoch = w->epoch;
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	assert_int_equal(store_load_alerts(w->s, see_alert, &t, NULL), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(store_retain(w->s, w->epoch, &(struct store_retention){ 9, 100, false },
	                              &rows, NULL),
	                 0);
	assert_int_equal(rows, 1);
	assert_int_equal(store_retain(w->s, w->epoch, &(struct store_retention){ 10, 100, true },
	                              &rows, NULL),
	                 0);
	assert_int_equal(rows, 1);
	assert_int_equal(store_retain(w->s, w->epoch, &(struct store_retention){ 10, 100, false },
	                              &rows, NULL),
	                 0);
	assert_int_equal(store_retain(w->s, w->epoch, &(struct store_retention){ 10, 100, false },
	                              &rows, NULL),
	                 0);
	assert_int_equal(rows, 0);
	said[0].severity = STORE_SEVERITIES;
	assert_int_equal(store_commit(w->s, &b, NULL), E_INVALID);
}

static int see_id(void *ctx, const struct store_alert *a)
{
	struct text *t = ctx;
	size_t at = strlen(t->text);

	snprintf(t->text + at, sizeof t->text - at, "%d ", (int)a->id);
	return 0;
}

static const char *ids(struct reader *r, struct read_alerts f, struct text *t)
{
	struct read_answer answer = { 0 };
	struct read_page page = { .limit = 2, .descending = true, .answer = &answer };

	memset(t, 0, sizeof *t);
	do {
		assert_int_equal(read_alerts(r, &f, &page, see_id, t, NULL), 0);
		page.cursor = answer.cursor;
	} while (answer.cursor[0]);
	return t->text;
}

static void a_reader_finds_them_by_what_they_are_of(void **state)
{
	struct world *w = *state;
	const struct store_alert said[] = {
		{ .id = 1, .kind = "failed", .subject = "p/w/a", .body = "{}", .since_us = 10 },
		{ .id = 2, .kind = "late", .subject = "p/w2/a", .body = "{}", .since_us = 20 },
		{ .id = 3,
		  .kind = "failed",
		  .subject = "p2/w/a",
		  .body = "{}",
		  .since_us = 30,
		  .ended_us = 40 },
		{ .id = 4, .kind = "trouble", .subject = "server", .body = "{}", .since_us = 40 },
		{ .id = 2, .ack = true, .acked_us = 50, .acked_by = "ann", .ack_note = "" },
	};
	struct store_batch b = { .epoch = w->epoch, .alerts = said, .n_alerts = 5 };
	struct reader *r = NULL;
	struct text t;

	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	assert_int_equal(reader_open(w->url, &r, NULL), 0);
	assert_string_equal(ids(r, (struct read_alerts){ 0 }, &t), "4 3 2 1 ");
	assert_string_equal(ids(r, (struct read_alerts){ .project = "p" }, &t), "2 1 ");
	assert_string_equal(ids(r, (struct read_alerts){ .workflow = "p/w" }, &t), "1 ");
	assert_string_equal(ids(r, (struct read_alerts){ .kind = "failed" }, &t), "3 1 ");
	assert_string_equal(ids(r, (struct read_alerts){ .since_us = 30 }, &t), "4 3 ");
	assert_string_equal(ids(r, (struct read_alerts){ .open = true }, &t), "4 2 1 ");
	assert_string_equal(ids(r, (struct read_alerts){ .ended = true }, &t), "3 ");
	assert_string_equal(ids(r, (struct read_alerts){ .acked = true }, &t), "2 ");
	assert_string_equal(ids(r, (struct read_alerts){ .unacked = true, .open = true }, &t),
	                    "4 1 ");
	memset(&t, 0, sizeof t);
	assert_int_equal(read_alert(r, 3, see_id, &t, NULL), 0);
	assert_string_equal(t.text, "3 ");
	assert_int_equal(read_alert(r, 5, see_id, &t, NULL), E_NOT_FOUND);
	reader_close(r);
}

#define KEPT(setup) \
	cmocka_unit_test_setup_teardown(an_alert_keeps_who_acknowledged_it_when_it_is_said_again, \
	                                setup, teardown)
#define READ(setup) \
	cmocka_unit_test_setup_teardown(a_reader_finds_them_by_what_they_are_of, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = { KEPT(setup_mem), KEPT(setup_sqlite),
		                            READ(setup_sqlite) };
	const struct CMUnitTest tests_of_mysql[] = { KEPT(setup_mysql), READ(setup_mysql) };

	return world_mysql() ? cmocka_run_group_tests(tests_of_mysql, NULL, NULL)
	                     : cmocka_run_group_tests(tests, NULL, NULL);
}
