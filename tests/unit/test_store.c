/* What every store promises, run against mem and sqlite alike; with a server at hand
 * ($SIRDAR_TEST_MYSQL, see tests/mysql/run) against MySQL instead. */
#include "tests/store/world.h"

#include "store/mem.h"

static void nothing_is_there_at_first(void **state)
{
	struct world *w = *state;
	struct seen *live = world_live(w);
	struct instance i;

	assert_int_equal(live->n, 0);
	assert_int_equal(w->number, 0);
	assert_int_equal(w->epoch, 1);
	assert_int_equal(store_find_done(w->s, (struct inst_key){ 1, 1, 0 }, &i, NULL),
	                 E_NOT_FOUND);
	free(live);
}

/* Every member a value of its own, and the ends of its range. */
static struct instance strange_instance(int variant)
{
	struct instance i = { 0 };
	int64_t n = 1;

#define COL(column, member, lo, hi) \
	i.member = (__typeof__(i.member))(variant == 0   ? (int64_t)(lo) \
	                                  : variant == 1 ? (int64_t)(hi) \
	                                                 : (++n) % ((int64_t)(hi)));
#include "store/instance_cols.def"
#undef COL
	i.last_number = 0;
	return i;
}

static void every_field_of_an_instance_comes_back(void **state)
{
	struct world *w = *state;

	for (int v = 0; v < 3; v++) {
		struct instance i = strange_instance(v), done;
		struct seen *live;

		world_change(w, &i, EV_CREATE, ST_HANGED);
		i.revision = (uint32_t)v;
		world_put(w, &i);
		world_reopen(w);
		live = world_live(w);
		assert_int_equal(live->n, 1);
		same_instance(&live->rows[0], &i);
		free(live);
		world_change(w, &i, EV_DECLARE, ST_KILLED);
		world_put(w, &i);
		world_reopen(w);
		live = world_live(w);
		assert_int_equal(live->n, 0);
		free(live);
		assert_int_equal(store_find_done(w->s, i.key, &done, NULL), 0);
		same_instance(&done, &i);
	}
}

static void a_commit_of_a_former_epoch_is_refused_and_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct instance i = world_instance(1, 60, 0);
	const struct instance *p = &i;
	struct store_batch b = { .live = &p, .n_live = 1 };
	struct seen *live;
	uint64_t number;
	uint32_t epoch, old = w->epoch;
	const struct store_retention ask = { 1, 1, false };

	assert_int_equal(store_take_epoch(w->s, "other", &epoch, NULL), 0);
	assert_int_equal(epoch, old + 1);
	world_change(w, &i, EV_CREATE, ST_READY);
	assert_int_equal(world_commit(w, &b, NULL), E_EPOCH);
	assert_int_equal(store_save_outcomes(w->s, old, NULL, 0, 0, NULL), E_EPOCH);
	assert_int_equal(store_retain(w->s, old, &ask, &(size_t){ 0 }, NULL), E_EPOCH);
	assert_int_equal(store_position(w->s, &number, &epoch, NULL), 0);
	assert_int_equal(number, 0);
	assert_int_equal(epoch, old + 1);
	live = world_live(w);
	assert_int_equal(live->n, 0);
	free(live);
}

static void a_batch_may_be_repeated_and_a_gap_is_refused(void **state)
{
	struct world *w = *state;
	struct instance i = world_instance(1, 60, 0);
	const struct instance *p = &i;
	struct store_batch b = { .live = &p, .n_live = 1 };
	struct seen *live;
	uint64_t number;
	uint32_t epoch;

	world_change(w, &i, EV_CREATE, ST_READY);
	world_fill(w, &b);
	for (int k = 0; k < 3; k++)
		assert_int_equal(store_commit(w->s, &b, NULL), 0);
	live = world_live(w);
	assert_int_equal(live->n, 1);
	free(live);
	b.first = b.last = 3;
	b.n_events = 0;
	assert_int_equal(store_commit(w->s, &b, NULL), E_INVALID);
	b.first = 1;
	assert_int_equal(store_commit(w->s, &b, NULL), E_INVALID);
	assert_int_equal(store_position(w->s, &number, &epoch, NULL), 0);
	assert_int_equal(number, 1);
}

static void numbers_without_events_advance_too(void **state)
{
	struct world *w = *state;
	struct store_batch b = { .epoch = w->epoch, .first = 1, .last = 40 };

	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	world_reopen(w);
	assert_int_equal(store_position(w->s, &w->number, &w->epoch, NULL), 0);
	assert_int_equal(w->number, 40);
}

static void a_finished_instance_among_the_unfinished_is_refused(void **state)
{
	struct world *w = *state;
	struct instance i = world_instance(1, 60, 0);
	const struct instance *p = &i;
	struct store_batch b = { .epoch = w->epoch, .live = &p, .n_live = 1 };

	i.state = ST_SUCC;
	assert_int_equal(store_commit(w->s, &b, NULL), E_INVALID);
	b = (struct store_batch){ .epoch = w->epoch, .done = &p, .n_done = 1 };
	i.state = ST_FAILED;
	assert_int_equal(store_commit(w->s, &b, NULL), E_INVALID);
	i.state = ST_NONE;
	assert_int_equal(store_commit(w->s, &b, NULL), E_INVALID);
}

static void a_redo_takes_the_row_from_history_and_back(void **state)
{
	struct world *w = *state;
	struct instance i = world_instance(3, 3600, 0), found;
	const struct instance *p = &i;
	struct store_batch b = { .reopened = &p, .n_reopened = 1 };
	struct seen *live;
	struct err err = { 0 };

	world_change(w, &i, EV_CREATE, ST_READY);
	world_put(w, &i);
	world_change(w, &i, EV_DRY, ST_SUCC);
	world_put(w, &i);
	assert_int_equal(store_find_done(w->s, i.key, &found, NULL), 0);
	i.generation++;
	world_change(w, &i, EV_REDO, ST_READY);
	world_must(world_commit(w, &b, &err), &err);
	assert_int_equal(store_find_done(w->s, i.key, &found, NULL), E_NOT_FOUND);
	world_reopen(w);
	live = world_live(w);
	assert_int_equal(live->n, 1);
	same_instance(&live->rows[0], &i);
	free(live);
	world_change(w, &i, EV_KILL, ST_KILLED);
	world_put(w, &i);
	/* Forced while finished: one row of it still. */
	world_change(w, &i, EV_FORCE, ST_SUCC);
	b = (struct store_batch){ .reopened = &p, .n_reopened = 1, .done = &p, .n_done = 1 };
	world_must(world_commit(w, &b, &err), &err);
	world_reopen(w);
	assert_int_equal(store_find_done(w->s, i.key, &found, NULL), 0);
	same_instance(&found, &i);
	live = world_live(w);
	assert_int_equal(live->n, 0);
	free(live);
}

static void data_are_found_by_the_walk_of_one_generation(void **state)
{
	struct world *w = *state;
	struct instance i = world_instance(3, 3600, 0);
	const struct instance *p = &i;
	struct store_batch b = { .reopened = &p, .n_reopened = 1 };
	struct err err = { 0 };
	char *body = NULL;

	world_change(w, &i, EV_CREATE, ST_READY);
	char own[] = "{\"a\":\"own\"}", out[] = "{\"n\":\"it's 1\"}";
	w->events[w->n_events - 1].data = own;
	w->events[w->n_events - 1].data_kind = ID_OWN;
	world_put(w, &i);
	world_change(w, &i, EV_DRY, ST_SUCC);
	w->events[w->n_events - 1].data = out;
	w->events[w->n_events - 1].data_kind = ID_OUTPUTS;
	world_put(w, &i);
	world_reopen(w);
	world_must(store_find_data(w->s, i.last_number, i.generation, ID_OUTPUTS, &body, &err),
	           &err);
	assert_string_equal(body, "{\"n\":\"it's 1\"}");
	free(body);
	assert_int_equal(store_find_data(w->s, i.last_number, i.generation, ID_PARAMS, &body, NULL),
	                 E_NOT_FOUND);
	i.generation++;
	world_change(w, &i, EV_REDO, ST_READY);
	world_must(world_commit(w, &b, &err), &err);
	assert_int_equal(
		store_find_data(w->s, i.last_number, i.generation, ID_OUTPUTS, &body, NULL),
		E_NOT_FOUND);
	world_must(store_find_data(w->s, i.last_number, 0, ID_OWN, &body, &err), &err);
	assert_string_equal(body, "{\"a\":\"own\"}");
	free(body);
}

/* Random lives of 300 instances, against an array that does the same. */
enum { MODEL = 300 };

static void model_batch(struct world *w, struct instance *model)
{
	const struct instance *live[MODEL], *done[MODEL], *reopened[MODEL];
	struct store_batch b = { .live = live, .done = done, .reopened = reopened };
	struct err err = { 0 };

	for (uint32_t k = 0; k < MODEL; k++) {
		struct instance *i = &model[k];

		if (world_random(w, 4))
			continue;
		if (i->state == ST_NONE) {
			*i = world_instance(k % 17, (int64_t)(k / 17) * 60, (int32_t)(k % 3) - 1);
			world_change(w, i, EV_CREATE, ST_READY);
			live[b.n_live++] = i;
		} else if (state_final((enum state)i->state)) {
			world_change(w, i, EV_REDO, ST_READY);
			reopened[b.n_reopened++] = i;
		} else if (world_random(w, 2)) {
			world_change(w, i, EV_SATISFY, ST_DEPEND);
			live[b.n_live++] = i;
		} else {
			world_change(w, i, EV_SKIP, ST_SKIPPED);
			done[b.n_done++] = i;
		}
	}
	world_must(world_commit(w, &b, &err), &err);
}

static int order_keys(const void *a, const void *b)
{
	return memcmp(&((const struct instance *)a)->key, &((const struct instance *)b)->key,
	              sizeof(struct inst_key));
}

static void model_check(struct world *w, const struct instance *model)
{
	struct seen *live = world_live(w), *want = mem_new(sizeof *want);
	struct instance found;

	for (int k = 0; k < MODEL; k++) {
		int r = store_find_done(w->s, model[k].key, &found, NULL);

		if (model[k].state != ST_NONE && state_final((enum state)model[k].state)) {
			assert_int_equal(r, 0);
			same_instance(&found, &model[k]);
			continue;
		}
		if (model[k].state != ST_NONE) {
			assert_int_equal(r, E_NOT_FOUND);
			want->rows[want->n++] = model[k];
		}
	}
	assert_int_equal(live->n, want->n);
	qsort(live->rows, live->n, sizeof live->rows[0], order_keys);
	qsort(want->rows, want->n, sizeof want->rows[0], order_keys);
	for (size_t k = 0; k < want->n; k++)
		same_instance(&live->rows[k], &want->rows[k]);
	free(live);
	free(want);
}

static void random_lives_leave_what_a_plain_array_has(void **state)
{
	struct world *w = *state;
	static struct instance model[MODEL];

	memset(model, 0, sizeof model);
	for (int step = 0; step < 120; step++) {
		model_batch(w, model);
		if (step % 20 == 10)
			world_reopen(w);
		if (step % 7 == 0)
			store_idle(w->s);
		if (step % 10 == 9)
			model_check(w, model);
	}
}

struct texts {
	char text[2000];
	int n;
};

static int see_doc(void *ctx, const struct store_doc *d)
{
	struct texts *t = ctx;
	size_t at = strlen(t->text);

	snprintf(t->text + at, sizeof t->text - at, "%d:%u.%u%s %s %.*s by %s at %d;", (int)d->kind,
	         d->id, d->version, d->retired ? "r" : "", d->name, (int)d->body_len, d->body,
	         d->actor, (int)d->at_us);
	t->n++;
	return 0;
}

static void documents_keep_versions_and_load_the_newest(void **state)
{
	struct world *w = *state;
	const struct store_doc docs[] = {
		{ .kind = DOC_WORKFLOW,
		  .id = 2,
		  .version = 1,
		  .name = "b",
		  .body = "old",
		  .body_len = 3,
		  .actor = "x",
		  .at_us = 5 },
		{ .kind = DOC_WORKFLOW,
		  .id = 2,
		  .version = 2,
		  .name = "b2",
		  .body = "newXX",
		  .body_len = 3,
		  .actor = "y",
		  .at_us = 6,
		  .retired = true },
		{ .kind = DOC_WORKFLOW,
		  .id = 1,
		  .version = 7,
		  .name = "a",
		  .body = "",
		  .actor = "z",
		  .at_us = 7 },
		{ .kind = DOC_SETTING,
		  .id = 1,
		  .version = 1,
		  .name = "s",
		  .body = "{}",
		  .body_len = 2,
		  .actor = "z",
		  .at_us = 8 },
		{ .kind = DOC_NODE,
		  .id = 1,
		  .version = 1,
		  .name = "n",
		  .body = "{}",
		  .body_len = 2,
		  .actor = "z",
		  .at_us = 9 },
	};
	struct store_batch b = { .epoch = w->epoch, .docs = docs, .n_docs = 5 };
	struct texts t = { 0 };

	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	world_reopen(w);
	assert_int_equal(store_load_docs(w->s, DOC_WORKFLOW, see_doc, &t, NULL), 0);
	assert_string_equal(t.text, "1:1.7 a  by z at 7;1:2.2r b2 new by y at 6;");
	memset(&t, 0, sizeof t);
	assert_int_equal(store_load_docs(w->s, DOC_SETTING, see_doc, &t, NULL), 0);
	assert_string_equal(t.text, "8:1.1 s {} by z at 8;");
	memset(&t, 0, sizeof t);
	assert_int_equal(store_load_docs(w->s, DOC_NODE, see_doc, &t, NULL), 0);
	assert_string_equal(t.text, "10:1.1 n {} by z at 9;");
	memset(&t, 0, sizeof t);
	assert_int_equal(store_load_docs(w->s, DOC_POOL, see_doc, &t, NULL), 0);
	assert_int_equal(t.n, 0);
	assert_int_equal(store_find_workflow(w->s, 2, 1, see_doc, &t, NULL), 0);
	assert_string_equal(t.text, "1:2.1 b old by x at 5;");
	assert_int_equal(store_find_workflow(w->s, 2, 3, see_doc, &t, NULL), E_NOT_FOUND);
	assert_int_equal(store_find_workflow(w->s, 9, 1, see_doc, &t, NULL), E_NOT_FOUND);
}

static int see_task(void *ctx, const struct store_task *t)
{
	struct texts *x = ctx;
	size_t at = strlen(x->text);

	snprintf(x->text + at, sizeof x->text - at,
	         "%u %s %s %s w%u v%u s%d%s %lld %lld %lld %lld %lld %lld %d;", t->id, t->name,
	         t->type, t->owner, t->workflow_id, t->version, t->state, t->frozen ? "f" : "",
	         (long long)t->anchor, (long long)t->online_from, (long long)t->planned_through,
	         (long long)t->cycle_s, (long long)t->start_s, (long long)t->end_s, t->priority);
	x->n++;
	return 0;
}

static void tasks_come_back_by_id(void **state)
{
	struct world *w = *state;
	struct store_task tasks[] = {
		{ .id = 4000000000u,
		  .workflow_id = 3,
		  .version = 2,
		  .state = 1,
		  .frozen = true,
		  .anchor = -5,
		  .online_from = 6,
		  .planned_through = INT64_MIN,
		  .name = "p/w/z",
		  .type = "shell",
		  .owner = "o",
		  .cycle_s = 3600,
		  .start_s = 1,
		  .end_s = 2,
		  .priority = 9 },
		{ .id = 1, .name = "p/w/a" },
	};
	struct store_batch b = { .epoch = w->epoch, .tasks = tasks, .n_tasks = 2 };
	struct texts t = { 0 };

	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	tasks[1].state = 2;
	b.tasks = &tasks[1];
	b.n_tasks = 1;
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	world_reopen(w);
	assert_int_equal(store_load_tasks(w->s, see_task, &t, NULL), 0);
	assert_string_equal(
		t.text, "1 p/w/a   w0 v0 s2 0 0 0 0 0 0 0;4000000000 p/w/z shell o w3 v2 s1f -5 "
			"6 -9223372036854775808 3600 1 2 9;");
}

static int see_command(void *ctx, const struct store_command *c)
{
	struct texts *t = ctx;
	size_t at = strlen(t->text);

	snprintf(t->text + at, sizeof t->text - at, "%d %s %s %s %s '%s' s%d %d %d %u/%u/%u %s;",
	         (int)c->id, c->request_id, c->actor, c->kind, c->args, c->error, c->state,
	         (int)c->created_us, (int)c->ended_us, c->total, c->done, c->failed, c->cursor);
	t->n++;
	return 0;
}

static int see_item(void *ctx, const struct store_command_item *i)
{
	struct texts *t = ctx;
	size_t at = strlen(t->text);

	snprintf(t->text + at, sizeof t->text - at, "c%d %u %d %d %d %s;", (int)i->command,
	         i->key.task, (int)i->key.run_date, i->key.part, i->code, i->text);
	t->n++;
	return 0;
}

static void commands_advance_and_are_found_by_request(void **state)
{
	struct world *w = *state;
	struct store_command c[] = {
		{ .id = 9,
		  .request_id = "r9",
		  .actor = "root",
		  .kind = "redo",
		  .args = "{}",
		  .error = "",
		  .state = 1,
		  .created_us = 3,
		  .total = 10,
		  .cursor = "" },
		{ .id = 4,
		  .request_id = "r4",
		  .actor = "root",
		  .kind = "kill",
		  .args = "[]",
		  .error = "bad",
		  .state = 3,
		  .created_us = 2,
		  .ended_us = 8,
		  .total = 1,
		  .failed = 1,
		  .cursor = "" },
	};
	const struct store_command_item item = {
		.command = 9, .key = { 60, 1, 0 }, .code = -6, .text = "no"
	};
	struct store_batch b = {
		.epoch = w->epoch, .commands = c, .n_commands = 2, .items = &item, .n_items = 1
	};
	struct texts t = { 0 };

	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	c[0].done = 4;
	c[0].cursor = "at 4";
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	world_reopen(w);
	assert_int_equal(store_load_commands(w->s, false, see_command, &t, NULL), 0);
	assert_string_equal(t.text, "4 r4 root kill [] 'bad' s3 2 8 1/0/1 ;"
	                            "9 r9 root redo {} '' s1 3 0 10/4/0 at 4;");
	memset(&t, 0, sizeof t);
	assert_int_equal(store_load_commands(w->s, true, see_command, &t, NULL), 0);
	assert_string_equal(t.text, "9 r9 root redo {} '' s1 3 0 10/4/0 at 4;");
	memset(&t, 0, sizeof t);
	assert_int_equal(store_find_command(w->s, "r4", see_command, &t, NULL), 0);
	assert_int_equal(t.n, 1);
	memset(&t, 0, sizeof t);
	assert_int_equal(store_load_items(w->s, 9, see_item, &t, NULL), 0);
	assert_string_equal(t.text, "c9 1 60 0 -6 no;");
	assert_int_equal(store_load_items(w->s, 4, see_item, &t, NULL), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(store_find_command(w->s, "r5", see_command, &t, NULL), E_NOT_FOUND);
}

static int see_outcome(void *ctx, const struct store_outcome *o)
{
	struct texts *t = ctx;
	size_t at = strlen(t->text);

	snprintf(t->text + at, sizeof t->text - at, "%u g%u %d..%d %s %d;", o->task, o->generation,
	         (int)o->lo, (int)o->hi, state_name((enum state)o->state), o->reason);
	t->n++;
	return 0;
}

static void finish_new(struct world *w, uint32_t task, int64_t run_date, int32_t part)
{
	struct instance i = world_instance(task, run_date, part);

	i.reason = RE_ASKED;
	world_change(w, &i, EV_CREATE, ST_READY);
	world_change(w, &i, EV_SKIP, ST_SKIPPED);
	world_put(w, &i);
}

static void outcomes_are_the_saved_ranges_then_what_finished_since(void **state)
{
	struct world *w = *state;
	const struct store_outcome saved[] = { { 1, 1, 0, 600, ST_SUCC, RE_NONE },
		                               { 5, 2, -60, 60, ST_STOP, RE_EXPIRED } };
	struct texts t = { 0 };

	finish_new(w, 1, 60, 0);
	assert_int_equal(store_save_outcomes(w->s, w->epoch, saved, 2, w->number + 1, NULL),
	                 E_INVALID);
	assert_int_equal(store_save_outcomes(w->s, w->epoch, saved, 1, 0, NULL), 0);
	assert_int_equal(store_save_outcomes(w->s, w->epoch, saved, 2, w->number, NULL), 0);
	finish_new(w, 1, 660, 0);
	finish_new(w, 1, 660, 1); /* a part is no outcome */
	finish_new(w, 1, 120, 0);
	world_reopen(w);
	assert_int_equal(store_load_outcomes(w->s, see_outcome, &t, NULL), 0);
	assert_string_equal(t.text, "1 g1 0..600 Succ 0;5 g2 -60..60 StopSchedule 12;"
	                            "1 g1 660..660 Skipped 24;1 g1 120..120 Skipped 24;");
}

static void retention_drops_what_is_old_and_has_its_outcome_saved(void **state)
{
	struct world *w = *state;
	struct instance found;
	const struct store_command c[] = { { .id = 1, .request_id = "a", .ended_us = 5 },
		                           { .id = 2, .request_id = "b" } };
	const struct store_command_item items[] = { { .command = 1, .key = { 1, 1, 0 } },
		                                    { .command = 2, .key = { 1, 1, 0 } } };
	struct store_batch b = {
		.epoch = w->epoch, .commands = c, .n_commands = 2, .items = items, .n_items = 2
	};

	for (int k = 0; k < 10; k++) /* ends at 20, 40, ... 200 us */
		finish_new(w, 1, k * 60, 0);
	assert_int_equal(world_retain(w, INT64_MAX, 1000, true), 0);
	assert_int_equal(store_save_outcomes(w->s, w->epoch, NULL, 0, 12, NULL), 0);
	assert_int_equal(world_retain(w, 81, 1000, true), 4 * 3);
	assert_int_equal(world_retain(w, 81, 1, false), 3);
	assert_int_equal(world_retain(w, 81, 1000, false), 3 * 3);
	assert_int_equal(world_retain(w, 81, 1000, false), 0);
	assert_int_equal(world_retain(w, INT64_MAX, 1000, false), 2 * 3); /* up to number 12 */
	world_reopen(w);
	assert_int_equal(store_find_done(w->s, (struct inst_key){ 300, 1, 0 }, &found, NULL),
	                 E_NOT_FOUND);
	assert_int_equal(store_find_done(w->s, (struct inst_key){ 360, 1, 0 }, &found, NULL), 0);
	b.epoch = w->epoch;
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	assert_int_equal(world_retain(w, 6, 1000, false), 1);
	assert_int_equal(world_retain(w, INT64_MAX, 1000, true), 0);
}

static int see_stat(void *ctx, const struct store_stat *s)
{
	struct texts *t = ctx;
	size_t n = strlen(t->text);

	snprintf(t->text + n, sizeof t->text - n, "%d t%u %s b%d x%u %lld;", s->day, s->task,
	         state_name((enum state)s->state), s->bucket, s->count, (long long)s->sum_us);
	return 0;
}

static int add_stats(struct world *w, const struct store_stat *s, size_t n, struct err *err)
{
	struct instance i = world_instance(9, (int64_t)w->number, 0);
	const struct instance *live = &i;
	struct store_batch b = { .live = &live, .n_live = 1, .stats = s, .n_stats = n };

	world_change(w, &i, EV_CREATE, ST_READY);
	return world_commit(w, &b, err);
}

static const char *stats_of(struct world *w, uint32_t task, int32_t lo, int32_t hi, struct texts *t)
{
	const struct store_stat_days days = { task, lo, hi };

	t->text[0] = 0;
	assert_int_equal(store_load_stats(w->s, &days, see_stat, t, NULL), 0);
	return t->text;
}

static void statistics_add_up_and_go_by_day(void **state)
{
	struct world *w = *state;
	struct texts t = { 0 };
	size_t rows = 0;
	const struct store_stat first[] = { { 20000, 3, ST_SUCC, 17, 2, 34 },
		                            { 20000, 3, ST_SKIPPED, STORE_STAT_UNRUN, 1, 0 },
		                            { 20001, 3, ST_FAILED, 0, 1, 0 },
		                            { 20000, 0, ST_SUCC, 17, 2, 34 } };
	const struct store_stat second[] = { { 20000, 3, ST_SUCC, 17, 5, 85 },
		                             { 20000, 3, ST_SUCC, 959, 1, INT64_MAX / 2 } };
	const struct store_stat wrong = { 20000, 3, ST_RUNNING, 1, 1, 1 };

	assert_int_equal(add_stats(w, first, 4, NULL), 0);
	assert_int_equal(add_stats(w, second, 2, NULL), 0);
	assert_int_equal(add_stats(w, &wrong, 1, NULL), E_INVALID);
	w->number--;
	world_reopen(w);
	assert_string_equal(stats_of(w, 3, 20000, 20000, &t),
	                    "20000 t3 Succ b17 x7 119;20000 t3 Succ b959 x1 4611686018427387903;"
	                    "20000 t3 Skipped b-1 x1 0;");
	assert_string_equal(stats_of(w, 3, 20001, 30000, &t), "20001 t3 Failed b0 x1 0;");
	assert_string_equal(stats_of(w, 0, 19990, 20002, &t), "20000 t0 Succ b17 x2 34;");
	assert_string_equal(stats_of(w, 4, 19990, 20002, &t), "");
	assert_int_equal(store_drop_stats(w->s, w->epoch, 20001, 3, &rows, NULL), 0);
	assert_int_equal(rows, 3);
	assert_int_equal(store_drop_stats(w->s, w->epoch, 20001, 3, &rows, NULL), 0);
	assert_int_equal(rows, 1);
	assert_string_equal(stats_of(w, 3, 0, 30000, &t), "20001 t3 Failed b0 x1 0;");
	assert_int_equal(store_drop_stats(w->s, w->epoch + 7, 30000, 3, &rows, NULL), E_EPOCH);
}

static int stop_at_once(void *ctx, const struct instance *i)
{
	(void)i;
	++*(int *)ctx;
	return E_LIMIT;
}

static void a_negative_answer_ends_loading(void **state)
{
	struct world *w = *state;
	int n = 0;

	for (uint32_t k = 0; k < 5; k++) {
		struct instance i = world_instance(k, 60, 0);

		world_change(w, &i, EV_CREATE, ST_READY);
		world_put(w, &i);
	}
	assert_int_equal(store_load_live(w->s, stop_at_once, &n, NULL), E_LIMIT);
	assert_int_equal(n, 1);
	/* And the store goes on. */
	struct instance i = world_instance(1, 60, 0);
	i.last_number = 2;
	world_change(w, &i, EV_SATISFY, ST_DEPEND);
	world_put(w, &i);
	struct seen *live = world_live(w);
	assert_int_equal(live->n, 5);
	free(live);
}

/* ---- only in memory: faults to order ---- */

static void ordered_faults_store_nothing_or_everything(void **state)
{
	struct world *w = *state;
	struct instance i = world_instance(1, 60, 0);
	const struct instance *p = &i;
	struct store_batch b = { .live = &p, .n_live = 1 };

	world_change(w, &i, EV_CREATE, ST_READY);
	world_fill(w, &b);
	store_mem_fail(w->s, 0, 2, E_FULL, STORE_FAULT_BEFORE);
	assert_int_equal(store_commit(w->s, &b, NULL), E_FULL);
	assert_int_equal(store_commit(w->s, &b, NULL), E_FULL);
	assert_int_equal(store_mem_count_live(w->s), 0);
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	w->n_events = 0;
	world_change(w, &i, EV_SKIP, ST_SKIPPED);
	b = (struct store_batch){ .done = &p, .n_done = 1 };
	world_fill(w, &b);
	store_mem_fail(w->s, 0, 1, E_AGAIN, STORE_FAULT_AFTER);
	assert_int_equal(store_commit(w->s, &b, NULL), E_AGAIN);
	assert_int_equal(store_mem_count_live(w->s), 0);
	assert_int_equal(store_mem_count_done(w->s), 1);
	assert_int_equal(store_commit(w->s, &b, NULL), 0);
	assert_int_equal(store_mem_count_done(w->s), 1);
}

static int count_event(void *ctx, const struct transition *t)
{
	(void)t;
	++*(int *)ctx;
	return 0;
}

static void a_crash_keeps_what_was_committed_and_ends_the_handle(void **state)
{
	struct world *w = *state;
	struct store *next, *copy, *other;
	struct instance i = world_instance(1, 60, 0);
	uint64_t number;
	uint32_t epoch;
	int n = 0;

	world_change(w, &i, EV_CREATE, ST_READY);
	world_put(w, &i);
	store_mem_copy(w->s, &copy);
	world_change(w, &i, EV_SKIP, ST_SKIPPED);
	world_put(w, &i);
	store_mem_fail(w->s, 0, 1, E_IO, STORE_FAULT_BEFORE);
	store_mem_crash(w->s, &next);
	assert_int_equal(store_position(w->s, &number, &epoch, NULL), E_CLOSED);
	assert_int_equal(store_commit(w->s, &(struct store_batch){ 0 }, NULL), E_CLOSED);
	store_close(w->s);
	w->s = next;
	assert_int_equal(store_position(next, &number, &epoch, NULL), 0);
	assert_int_equal(number, 2);
	assert_int_equal(store_mem_each_event(next, count_event, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(store_position(copy, &number, &epoch, NULL), 0);
	assert_int_equal(number, 1);
	assert_int_equal(store_mem_count_live(copy), 1);
	store_close(copy);
	store_mem_share(next, &other);
	assert_int_equal(store_take_epoch(other, "standby", &epoch, NULL), 0);
	world_change(w, &i, EV_FORCE, ST_SUCC);
	struct store_batch b = { 0 };
	assert_int_equal(world_commit(w, &b, NULL), E_EPOCH);
	store_close(other);
}

#define EACH(f) \
	{ "mem: " #f, f, setup_mem, teardown, NULL }, \
	{ \
		"sqlite: " #f, f, setup_sqlite, teardown, NULL \
	}
#define MEM(f) \
	{ \
		"mem: " #f, f, setup_mem, teardown, NULL \
	}
#define MYSQL(f) \
	{ \
		"mysql: " #f, f, setup_mysql, teardown, NULL \
	}

/* clang-format off */
#define EVERY_STORE(ROW) \
	ROW(nothing_is_there_at_first), \
	ROW(every_field_of_an_instance_comes_back), \
	ROW(a_commit_of_a_former_epoch_is_refused_and_leaves_nothing), \
	ROW(a_batch_may_be_repeated_and_a_gap_is_refused), \
	ROW(numbers_without_events_advance_too), \
	ROW(a_finished_instance_among_the_unfinished_is_refused), \
	ROW(a_redo_takes_the_row_from_history_and_back), \
	ROW(data_are_found_by_the_walk_of_one_generation), \
	ROW(random_lives_leave_what_a_plain_array_has), \
	ROW(documents_keep_versions_and_load_the_newest), \
	ROW(tasks_come_back_by_id), \
	ROW(commands_advance_and_are_found_by_request), \
	ROW(outcomes_are_the_saved_ranges_then_what_finished_since), \
	ROW(retention_drops_what_is_old_and_has_its_outcome_saved), \
	ROW(statistics_add_up_and_go_by_day), \
	ROW(a_negative_answer_ends_loading)
/* clang-format on */

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVERY_STORE(EACH),
		MEM(ordered_faults_store_nothing_or_everything),
		MEM(a_crash_keeps_what_was_committed_and_ends_the_handle),
	};
	const struct CMUnitTest tests_of_mysql[] = { EVERY_STORE(MYSQL) };

	if (getenv("SIRDAR_TEST_FILTER"))
		cmocka_set_test_filter(getenv("SIRDAR_TEST_FILTER"));
	return world_mysql() ? cmocka_run_group_tests(tests_of_mysql, NULL, NULL)
	                     : cmocka_run_group_tests(tests, NULL, NULL);
}
