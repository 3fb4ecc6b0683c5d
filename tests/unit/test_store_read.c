/* The read-only side, against a store that a writer fills meanwhile. */
#include "tests/store/world.h"

#include <pthread.h>

#include "store/read.h"

enum { TASKS = 7, DATES = 60 };

/* TASKS x DATES instances, dates in neighbouring pairs: most finished, some live, a few bad,
 * a part for each of task 3. */
static void fill(struct world *w)
{
	struct err err = { 0 };
	struct store_task tasks[TASKS];
	static char names[TASKS][20];
	struct store_batch b = { .tasks = tasks, .n_tasks = TASKS, .epoch = w->epoch };

	for (uint32_t t = 0; t < TASKS; t++) {
		snprintf(names[t], sizeof names[t], "p/w%u/%c", t % 2, (char)('g' - (int)t));
		tasks[t] = (struct store_task){ .id = t + 1,
			                        .workflow_id = t % 2 + 1,
			                        .name = names[t],
			                        .type = "noop",
			                        .owner = "me",
			                        .state = t == 6 ? 3 : 1,
			                        .cycle_s = 60 };
	}
	world_must(store_commit(w->s, &b, &err), &err);
	for (int d = 0; d < DATES; d++)
		for (uint32_t t = 1; t <= TASKS; t++) {
			struct instance i = world_instance(t, d / 2 * 60 + d % 2, 0);

			i.broker = t % 3;
			i.priority = (uint8_t)(d % 4);
			world_change(w, &i, EV_CREATE, ST_READY);
			if (d % 10 != 3)
				world_change(w, &i, EV_KILL,
				             (d + (int)t) % 9 ? ST_SUCC : ST_KILLED);
			world_put(w, &i);
			if (t == 3) {
				i.key.part = 1;
				i.slot = world_slot(i.key);
				i.last_number = 0;
				world_change(w, &i, EV_CREATE_SKIP, ST_SKIPPED);
				world_put(w, &i);
			}
		}
}

/* With a server at hand against MySQL: see tests/store/world.h. */
static int setup_store(void **state)
{
	return world_mysql() ? setup_mysql(state) : setup_sqlite(state);
}

static int setup_read(void **state)
{
	setup_store(state);
	fill(*state);
	return 0;
}

static struct reader *open_reader(struct world *w)
{
	struct reader *r;
	struct err err = { 0 };

	world_must(reader_open(w->url, &r, &err), &err);
	return r;
}

static bool wanted(const struct read_filter *f, const struct instance *i)
{
	bool in = !f->n_tasks;

	for (size_t k = 0; k < f->n_tasks && !in; k++)
		in = f->tasks[k] == i->key.task;
	return in && (!f->workflow || (i->key.task - 1) % 2 + 1 == f->workflow) &&
	       (!f->states || f->states & 1u << i->state) &&
	       (!f->broker || f->broker == i->broker) &&
	       ((!f->from && !f->to) || (i->key.run_date >= f->from && i->key.run_date < f->to)) &&
	       (f->parts || i->key.part == 0);
}

static int64_t sort_key(enum read_sort sort, const struct instance *i)
{
	switch (sort) {
	case READ_BY_RUN_DATE:
		return i->key.run_date * 1000 + i->key.task * 10 + (uint32_t)i->key.part;
	case READ_BY_CHANGE:
		return (int64_t)i->last_number;
	case READ_BY_START:
		return i->started_us;
	case READ_BY_END:
		return i->ended_us;
	case READ_BY_PRIORITY:
		return i->priority;
	default:
		return state_number((enum state)i->state);
	}
}

/* All pages together are exactly the wanted rows, in order. */
static size_t walk_pages(struct reader *r, const struct read_filter *f, enum read_sort sort,
                         bool down, size_t limit, struct seen *all)
{
	struct read_filter sorted = *f;
	struct read_answer answer;
	struct read_page page = { .limit = limit, .descending = down, .answer = &answer };
	struct err err = { 0 };
	char cursor[READ_CURSOR_MAX] = "";
	size_t pages = 0;

	sorted.sort = sort;
	all->n = 0;
	do {
		size_t before = all->n;

		page.cursor = cursor;
		world_must(read_instances(r, &sorted, &page, see_instance, all, &err), &err);
		assert_true(all->n - before <= limit);
		assert_true(!*answer.cursor || all->n - before == limit);
		memcpy(cursor, answer.cursor, sizeof cursor);
		assert_true(++pages < 1000);
	} while (*cursor);
	for (size_t k = 1; k < all->n; k++) {
		int64_t a = sort_key(sort, &all->rows[k - 1]), b = sort_key(sort, &all->rows[k]);

		assert_true(down ? a >= b : a <= b);
	}
	return all->n;
}

static void all_pages_are_right(struct world *w, size_t rows)
{
	struct reader *r = open_reader(w);
	static const uint32_t some[] = { 2, 3, 99 };
	const struct read_filter filters[] = {
		{ 0 },
		{ .parts = true },
		{ .tasks = some, .n_tasks = 3, .parts = true },
		{ .tasks = some, .n_tasks = 1, .from = 600, .to = 1200 },
		{ .workflow = 2 },
		{ .states = 1u << ST_KILLED },
		{ .states = 1u << ST_KILLED | 1u << ST_READY, .from = 60, .to = 3000 },
		{ .broker = 2, .states = 1u << ST_SUCC },
		{ .from = 7200, .to = 7201 },
	};
	struct seen *all = mem_new(sizeof *all), *every = mem_new(sizeof *every);
	size_t most = walk_pages(r, &filters[1], READ_BY_CHANGE, false, 500, every);

	assert_int_equal(most, rows);
	for (size_t f = 0; f < sizeof filters / sizeof filters[0]; f++) {
		size_t want = 0;

		for (size_t k = 0; k < every->n; k++)
			want += wanted(&filters[f], &every->rows[k]);
		for (int sort = 0; sort < READ_SORT_COUNT; sort++)
			for (int down = 0; down < 2; down++) {
				assert_int_equal(walk_pages(r, &filters[f], (enum read_sort)sort,
				                            down, 7 + f * 20, all),
				                 want);
				for (size_t k = 0; k < all->n; k++)
					assert_true(wanted(&filters[f], &all->rows[k]));
			}
	}
	free(all);
	free(every);
	reader_close(r);
}

static void pages_join_live_and_history_in_order(void **state)
{
	all_pages_are_right(*state, TASKS * DATES + DATES);
}

/* Of a live table with places beyond what is looked at whole: dates that rise, fall and jump with
 * the places, at both ends and between them. */
static void pages_of_a_large_live_table_lose_no_row(void **state)
{
	enum { MORE = 400 };
	struct world *w = *state;

	for (uint32_t k = 0; k < MORE; k++) {
		int64_t date = k % 4 == 0 ? 2000 + k : k % 4 == 1 ? 9000 - k : 1 + k * 7919 % 8000;
		struct instance i = world_instance(1 + k % TASKS, 100000 + date, 0);

		i.slot = k % 3 == 0 ? 90000 - k : k % 3 == 1 ? 60000 + k * 31 : 99000 + k;
		i.priority = (uint8_t)(k % 4);
		i.broker = k % 3;
		world_change(w, &i, EV_CREATE, ST_READY);
		world_put(w, &i);
	}
	all_pages_are_right(w, TASKS * DATES + DATES + MORE);
}

static int ignore_instance(void *ctx, const struct instance *i)
{
	(void)ctx, (void)i;
	return 0;
}

static void foreign_cursors_and_limits_are_refused(void **state)
{
	struct world *w = *state;
	struct reader *r = open_reader(w);
	static const char *const bad[] = { "x",
		                           "ir",
		                           "ird.1.2.3",
		                           "ira.1.2",
		                           "ira.1.2.3.4",
		                           "ira.1.2.z",
		                           "ira.99999999999999999999.1.1",
		                           "ica.1",
		                           "ira.1.2.3'" };
	struct read_filter f = { 0 };
	struct read_page page = { .limit = 10 };

	for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
		page.cursor = bad[k];
		assert_int_equal(read_instances(r, &f, &page, ignore_instance, NULL, NULL),
		                 E_INVALID);
	}
	page.cursor = "ira.-1.2.3";
	assert_int_equal(read_instances(r, &f, &page, ignore_instance, NULL, NULL), 0);
	page = (struct read_page){ .limit = 0 };
	assert_int_equal(read_instances(r, &f, &page, ignore_instance, NULL, NULL), E_INVALID);
	page.limit = 501;
	assert_int_equal(read_instances(r, &f, &page, ignore_instance, NULL, NULL), E_INVALID);
	reader_close(r);
}

static int see_event(void *ctx, const struct read_event *e)
{
	struct read_event *list = ctx;

	while (list->number)
		list++;
	*list = *e;
	return 0;
}

static void an_instances_events_are_walked_newest_first(void **state)
{
	struct world *w = *state;
	struct reader *r = open_reader(w);
	struct instance i = world_instance(90, 60, 0), found;
	struct read_event e[8] = { 0 };
	struct err err = { 0 };
	uint64_t number;

	world_change(w, &i, EV_CREATE, ST_READY);
	world_put(w, &i);
	i.token = 5;
	i.attempt = 1;
	i.broker = 4;
	world_change(w, &i, EV_SATISFY, ST_DEPEND);
	w->events[0].note = (char *)(uintptr_t) "why it is so";
	world_put(w, &i);
	world_change(w, &i, EV_KILL, ST_KILLED);
	world_put(w, &i);
	world_must(
		read_events(r, &(struct read_history){ i.key, 0, 10 }, see_event, e, &number, &err),
		&err);
	assert_int_equal(number, w->number);
	assert_int_equal(e[0].event, EV_KILL);
	assert_int_equal(e[0].to, ST_KILLED);
	assert_int_equal(e[1].from, ST_READY);
	assert_int_equal(e[1].token, 5);
	assert_int_equal(e[1].broker, 4);
	assert_int_equal(e[2].from, ST_NONE);
	assert_int_equal(e[2].prev, 0);
	assert_int_equal(e[3].number, 0);
	memset(e, 0, sizeof e);
	world_must(read_events(r, &(struct read_history){ i.key, w->number, 1 }, see_event, e,
	                       &number, &err),
	           &err);
	assert_int_equal(e[0].event, EV_SATISFY);
	assert_int_equal(e[1].number, 0);
	assert_int_equal(
		read_events(r, &(struct read_history){ i.key, 1, 1 }, see_event, e, &number, NULL),
		E_INVALID);
	assert_int_equal(read_events(r,
	                             &(struct read_history){ (struct inst_key){ 1, 1, 1 }, 0, 1 },
	                             see_event, e, &number, NULL),
	                 E_NOT_FOUND);
	memset(e, 0, sizeof e);
	world_must(read_events_after(r, &(struct read_tail){ w->number - 2, 5 }, see_event, e,
	                             &number, &err),
	           &err);
	assert_int_equal(e[0].number, w->number - 1);
	assert_int_equal(e[1].number, w->number);
	world_must(read_instance(r, i.key, &found, &number, &err), &err);
	same_instance(&found, &i);
	assert_int_equal(read_instance(r, (struct inst_key){ 1, 1, 1 }, &found, &number, NULL),
	                 E_NOT_FOUND);
	reader_close(r);
}

struct names {
	char text[600];
};

static void name_add(struct names *n, const char *fmt, unsigned id, const char *name)
{
	size_t at = strlen(n->text);

	(void)fmt;
	snprintf(n->text + at, sizeof n->text - at, "%u%s ", id, name);
}

static int see_task(void *ctx, const struct store_task *t)
{
	name_add(ctx, "", t->id, t->name);
	return 0;
}

static int see_link(void *ctx, const struct store_link *l)
{
	name_add(ctx, "", l->from * 100 + l->to, l->window ? l->window : "");
	return 0;
}

static void tasks_are_listed_by_name_and_links_both_ways(void **state)
{
	struct world *w = *state;
	struct reader *r = open_reader(w);
	const struct store_link links[] = { { .from = 1, .to = 3, .depend_type = 1 },
		                            { .from = 2, .to = 3, .window = "-1d" },
		                            { .from = 1, .to = 4, .depend_type = -2 } };
	const uint32_t of[] = { 3, 4 };
	struct store_batch b = {
		.epoch = w->epoch, .links = links, .n_links = 3, .links_of = of, .n_links_of = 2
	};
	struct read_task_filter f = { .prefix = "p/w0/" };
	struct read_answer answer;
	struct read_page page = { .limit = 2, .answer = &answer };
	struct names n = { "" };
	struct err err = { 0 };

	world_must(read_tasks(r, &f, &page, see_task, &n, &err), &err);
	assert_string_equal(n.text, "7p/w0/a 5p/w0/c ");
	page.cursor = answer.cursor;
	memset(&n, 0, sizeof n);
	world_must(read_tasks(r, &f, &page, see_task, &n, &err), &err);
	assert_string_equal(n.text, "3p/w0/e 1p/w0/g ");
	assert_string_equal(answer.cursor, "");
	f = (struct read_task_filter){ .states = 1u << 3 };
	page = (struct read_page){ .limit = 10, .descending = true, .answer = &answer };
	memset(&n, 0, sizeof n);
	world_must(read_tasks(r, &f, &page, see_task, &n, &err), &err);
	assert_string_equal(n.text, "7p/w0/a ");
	memset(&n, 0, sizeof n);
	world_must(read_task(r, "p/w1/f", 0, see_task, &n, &err), &err);
	world_must(read_task(r, NULL, 4, see_task, &n, &err), &err);
	assert_string_equal(n.text, "2p/w1/f 4p/w1/d ");
	assert_int_equal(read_task(r, "x' OR 1=1 --", 0, see_task, &n, NULL), E_NOT_FOUND);
	world_must(store_commit(w->s, &b, &err), &err);
	world_must(store_commit(w->s, &b, &err), &err);
	memset(&n, 0, sizeof n);
	world_must(read_links(r, 3, false, see_link, &n, &err), &err);
	assert_string_equal(n.text, "103 203-1d ");
	memset(&n, 0, sizeof n);
	world_must(read_links(r, 1, true, see_link, &n, &err), &err);
	assert_string_equal(n.text, "103 104 ");
	reader_close(r);
}

static int see_doc(void *ctx, const struct store_doc *d)
{
	name_add(ctx, "", d->id * 100 + d->version, d->body);
	return 0;
}

static int see_command(void *ctx, const struct store_command *c)
{
	name_add(ctx, "", (unsigned)c->id, c->kind);
	return 0;
}

static int see_item(void *ctx, const struct store_command_item *i)
{
	name_add(ctx, "", i->key.task, i->text);
	return 0;
}

static int see_action(void *ctx, const struct read_action *a)
{
	name_add(ctx, "", (unsigned)a->id, a->action);
	return 0;
}

static void fill_docs(struct world *w)
{
	struct err err = { 0 };
	struct store_doc docs[4];
	struct store_command commands[3];
	struct store_command_item items[5];
	struct store_batch b = { .epoch = w->epoch,
		                 .docs = docs,
		                 .n_docs = 4,
		                 .commands = commands,
		                 .n_commands = 3,
		                 .items = items,
		                 .n_items = 5 };

	for (uint32_t k = 0; k < 4; k++)
		docs[k] = (struct store_doc){ .kind = DOC_WORKFLOW,
			                      .id = k / 2 + 1,
			                      .version = k % 2 + 1,
			                      .name = k / 2 ? "b" : "a",
			                      .body = "text",
			                      .body_len = 4,
			                      .actor = "me" };
	for (uint32_t k = 0; k < 3; k++)
		commands[k] = (struct store_command){ .id = k + 1,
			                              .request_id = k ? k > 1 ? "r2" : "r1" : "r0",
			                              .kind = "kill",
			                              .ended_us = k == 1 };
	for (uint32_t k = 0; k < 5; k++)
		items[k] = (struct store_command_item){ .command = 2,
			                                .key = { 60, k + 1, 0 },
			                                .code = k % 2 ? -6 : 0,
			                                .text = k % 2 ? "bad" : "" };
	world_must(store_commit(w->s, &b, &err), &err);
}

static void documents_commands_and_the_audit_are_listed(void **state)
{
	struct world *w = *state;
	struct reader *r = open_reader(w);
	struct read_answer answer;
	struct read_page page = { .limit = 1, .answer = &answer };
	struct names n = { "" };
	struct err err = { 0 };

	fill_docs(w);
	world_must(read_docs(r, &(struct read_docs_of){ DOC_WORKFLOW, true }, &page, see_doc, &n,
	                     &err),
	           &err);
	page.cursor = answer.cursor;
	world_must(read_docs(r, &(struct read_docs_of){ DOC_WORKFLOW, true }, &page, see_doc, &n,
	                     &err),
	           &err);
	world_must(read_doc_versions(r, DOC_WORKFLOW, 2, see_doc, &n, &err), &err);
	world_must(
		read_doc(r, &(struct read_which){ DOC_WORKFLOW, .name = "b" }, see_doc, &n, &err),
		&err);
	world_must(read_doc(r, &(struct read_which){ DOC_WORKFLOW, .id = 1, .version = 1 }, see_doc,
	                    &n, &err),
	           &err);
	assert_string_equal(n.text, "102 202 202 201 202text 101text ");
	assert_int_equal(read_doc(r, &(struct read_which){ DOC_WORKFLOW, .id = 1, .version = 3 },
	                          see_doc, &n, NULL),
	                 E_NOT_FOUND);
	memset(&n, 0, sizeof n);
	page = (struct read_page){ .limit = 2, .descending = true, .answer = &answer };
	world_must(read_commands(r, false, &page, see_command, &n, &err), &err);
	page.cursor = answer.cursor;
	world_must(read_commands(r, false, &page, see_command, &n, &err), &err);
	page.cursor = NULL;
	world_must(read_commands(r, true, &page, see_command, &n, &err), &err);
	world_must(read_command(r, "r1", 0, see_command, &n, &err), &err);
	assert_string_equal(n.text, "3kill 2kill 1kill 3kill 1kill 2kill ");
	memset(&n, 0, sizeof n);
	page = (struct read_page){ .limit = 3, .answer = &answer };
	world_must(read_command_items(r, &(struct read_items_of){ 2, false }, &page, see_item, &n,
	                              &err),
	           &err);
	page.cursor = answer.cursor;
	world_must(read_command_items(r, &(struct read_items_of){ 2, false }, &page, see_item, &n,
	                              &err),
	           &err);
	page.cursor = NULL;
	world_must(read_command_items(r, &(struct read_items_of){ 2, true }, &page, see_item, &n,
	                              &err),
	           &err);
	assert_string_equal(n.text, "1 2bad 3 4bad 5 2bad 4bad ");
	memset(&n, 0, sizeof n);
	page = (struct read_page){ .limit = 4, .answer = &answer };
	world_must(read_actions(r, &(struct read_actions_by){ 0 }, &page, see_action, &n, &err),
	           &err);
	assert_string_equal(n.text, "1save workflow 2save workflow 3save workflow 4save workflow ");
	reader_close(r);
}

static void counts_are_those_of_the_list(void **state)
{
	struct world *w = *state;
	struct reader *r = open_reader(w);
	struct read_filter f = { .workflow = 1 };
	struct seen *all = mem_new(sizeof *all);
	uint64_t counts[ST_COUNT], want[ST_COUNT] = { 0 }, number;
	struct err err = { 0 };

	walk_pages(r, &f, READ_BY_CHANGE, false, 100, all);
	for (size_t k = 0; k < all->n; k++)
		want[all->rows[k].state]++;
	world_must(read_counts(r, &f, counts, &number, &err), &err);
	assert_memory_equal(counts, want, sizeof counts);
	assert_int_equal(number, w->number);
	assert_true(counts[ST_READY] > 0 && counts[ST_KILLED] > 0);
	free(all);
	reader_close(r);
}

static bool see_last; /* of a descending list: a range stands at its last date */

static int see_range(void *ctx, const struct store_range *r)
{
	struct instance i = store_range_row(r, see_last ? r->hi : r->lo);

	return see_instance(ctx, &i);
}

static void leave_out(struct world *w, uint32_t task, int64_t lo, int64_t hi, uint32_t dates)
{
	struct store_range range = { .number = ++w->number,
		                     .task = task,
		                     .version = 1,
		                     .lo = lo,
		                     .hi = hi,
		                     .dates = dates,
		                     .at_us = 5000,
		                     .reason = RE_CATCHUP,
		                     .priority = 5 };
	struct store_batch b = { .epoch = w->epoch,
		                 .first = w->number,
		                 .last = w->number,
		                 .ranges = &range,
		                 .n_ranges = 1 };
	struct err err = { 0 };

	world_must(store_commit(w->s, &b, &err), &err);
}

static void ranges_of_dates_left_out_stand_among_the_instances(void **state)
{
	struct world *w = *state;
	struct reader *r = open_reader(w);
	struct read_filter f = { .workflow = 1 }, few = { .from = 60000, .to = 63000 };
	struct seen *all = mem_new(sizeof *all);
	uint64_t was[ST_COUNT], counts[ST_COUNT], number;
	struct err err = { 0 };

	world_must(read_counts(r, &f, was, &number, &err), &err);
	size_t rows = walk_pages(r, &f, READ_BY_RUN_DATE, false, 7, all);
	leave_out(w, 1, 300, 60000, 996); /* rows of others, and of its own, lie in it */
	leave_out(w, 1, 61200, 66000, 81);
	leave_out(w, 2, 300, 600, 6); /* another workflow's */
	f.each_range = few.each_range = see_range;
	for (int sort = 0; sort < READ_SORT_COUNT; sort++)
		for (int k = 0; k < 4; k++) {
			see_last = k & 1 && sort == READ_BY_RUN_DATE;
			assert_int_equal(
				walk_pages(r, &f, (enum read_sort)sort, k & 1, k & 2 ? 1 : 7, all),
				rows + 2);
		}
	see_last = false;
	assert_int_equal(walk_pages(r, &few, READ_BY_RUN_DATE, false, 7, all), 2);
	few.states = 1u << ST_SUCC;
	assert_int_equal(walk_pages(r, &few, READ_BY_RUN_DATE, false, 7, all), 0);
	few.states = 1u << ST_SKIPPED | 1u << ST_SUCC;
	assert_int_equal(walk_pages(r, &few, READ_BY_RUN_DATE, false, 7, all), 2);
	few.broker = 3;
	assert_int_equal(walk_pages(r, &few, READ_BY_RUN_DATE, false, 7, all), 0);
	world_must(read_counts(r, &f, counts, &number, &err), &err);
	assert_int_equal(counts[ST_SKIPPED], was[ST_SKIPPED] + 996 + 81);
	few = (struct read_filter){ .from = 30180, .to = 61200 }; /* a good half of the first */
	world_must(read_counts(r, &few, counts, &number, &err), &err);
	assert_int_equal(counts[ST_SKIPPED], 497);
	free(all);
	reader_close(r);
}

static int see_kind(void *ctx, const struct read_event *e)
{
	char *to = ctx;
	size_t n = strlen(to);

	snprintf(to + n, 200 - n, "%llu %s %s;", (unsigned long long)e->number,
	         event_name((enum event)e->event), reason_name((enum reason)e->reason));
	return 0;
}

static void a_date_left_out_has_its_row_and_its_history(void **state)
{
	struct world *w = *state;
	struct reader *r = open_reader(w);
	struct inst_key key = { 90000, 1, 0 };
	struct instance i, found;
	struct err err = { 0 };
	char said[200] = "", want[200];
	uint64_t number;

	leave_out(w, 1, 80000, 100000, 300);
	uint64_t range = w->number;
	world_must(read_instance(r, key, &found, &number, &err), &err);
	assert_int_equal(found.state, ST_SKIPPED);
	assert_int_equal(found.reason, RE_CATCHUP);
	assert_int_equal(found.due, 0);
	world_must(
		read_events(r, &(struct read_history){ key, 0, 10 }, see_kind, said, &number, &err),
		&err);
	snprintf(want, sizeof want, "%llu create-skipped catchup;", (unsigned long long)range);
	assert_string_equal(said, want);
	assert_int_equal(read_instance(r, (struct inst_key){ 100001, 1, 0 }, &found, NULL, NULL),
	                 E_NOT_FOUND);
	assert_int_equal(read_instance(r, (struct inst_key){ 90000, 1, 1 }, &found, NULL, NULL),
	                 E_NOT_FOUND);

	/* Redone: its own row now, whose history begins with the range. */
	i = store_range_row(&(struct store_range){ .number = range, .task = 1 }, 90000);
	i.slot = world_slot(key);
	world_change(w, &i, EV_REDO, ST_READY);
	world_put(w, &i);
	world_must(read_instance(r, key, &found, &number, &err), &err);
	assert_int_equal(found.state, ST_READY);
	said[0] = 0;
	world_must(
		read_events(r, &(struct read_history){ key, 0, 10 }, see_kind, said, &number, &err),
		&err);
	snprintf(want, sizeof want, "%llu redo ;%llu create-skipped catchup;",
	         (unsigned long long)w->number, (unsigned long long)range);
	assert_string_equal(said, want);
	said[0] = 0;
	world_must(read_events(r, &(struct read_history){ key, w->number, 1 }, see_kind, said,
	                       &number, &err),
	           &err);
	snprintf(want, sizeof want, "%llu create-skipped catchup;", (unsigned long long)range);
	assert_string_equal(said, want);
	reader_close(r);
}

/* A reader beside a writer: every answer is one moment. In every commit one instance ends
 * and one begins, so the number of live ones never differs from any moment to any other. */
struct beside {
	struct world *w;
	_Atomic int stop;
	int answers;
};

static void *read_beside(void *ctx)
{
	struct beside *b = ctx;
	struct reader *r = open_reader(b->w);
	struct read_filter f = { 0 };
	uint64_t counts[ST_COUNT], number, last = 0;

	while (!b->stop) {
		struct err err = { 0 };

		world_must(read_counts(r, &f, counts, &number, &err), &err);
		assert_true(number >= last);
		assert_int_equal(counts[ST_READY], 1);
		assert_int_equal(counts[ST_SKIPPED], (number - 1) / 2);
		last = number;
		b->answers++;
	}
	reader_close(r);
	return NULL;
}

static void a_reader_beside_the_writer_sees_whole_commits(void **state)
{
	struct world *w = *state;
	struct instance now = world_instance(1, 0, 0), next;
	const struct instance *live = &next, *done = &now;
	struct beside b = { .w = w };
	pthread_t thread;

	world_change(w, &now, EV_CREATE, ST_READY);
	world_put(w, &now);
	assert_int_equal(pthread_create(&thread, NULL, read_beside, &b), 0);
	for (int64_t k = 1; k < 1500; k++) {
		struct store_batch batch = {
			.live = &live, .n_live = 1, .done = &done, .n_done = 1
		};
		struct err err = { 0 };

		next = world_instance(1, k, 0);
		world_change(w, &now, EV_SKIP, ST_SKIPPED);
		world_change(w, &next, EV_CREATE, ST_READY);
		world_must(world_commit(w, &batch, &err), &err);
		now = next;
		if (k % 50 == 0)
			store_idle(w->s);
	}
	b.stop = 1;
	pthread_join(thread, NULL);
	assert_true(b.answers > 0);
}

static void a_store_that_is_not_there_is_said(void **state)
{
	struct reader *r;

	(void)state;
	assert_int_equal(reader_open("sqlite:/nowhere/at/all", &r, NULL), E_NOT_FOUND);
	assert_int_equal(reader_open("mem:", &r, NULL), E_UNSUPPORTED);
}

#define READ(f) \
	{ \
#f, f, setup_read, teardown, NULL \
	}

static int see_due(void *ctx, const struct instance *i)
{
	if (i->key.task == 1 && i->key.run_date == 100000)
		*(int64_t *)ctx = i->eff_due_us;
	return 0;
}

static void a_row_that_waited_while_nobody_led_is_due_so_much_later(void **state)
{
	struct world *w = *state;
	struct instance i = world_instance(1, 100000, 0), found;
	struct err err = { 0 };
	struct reader *r = open_reader(w);

	world_change(w, &i, EV_CREATE, ST_READY);
	world_put(w, &i);
	const struct store_gap g = { w->number, i.eff_due_us + 10, i.eff_due_us + 5010 };
	world_must(store_add_gap(w->s, w->epoch, &g, 0, &err), &err);
	world_must(read_instance(r, i.key, &found, NULL, &err), &err);
	assert_int_equal(found.eff_due_us, i.eff_due_us + 5000);

	const struct read_filter f = { .states = 1u << ST_READY };
	const struct read_page page = { .limit = 500 };
	int64_t due_us = 0;
	world_must(read_instances(r, &f, &page, see_due, &due_us, &err), &err);
	assert_int_equal(due_us, i.eff_due_us + 5000);
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		READ(pages_join_live_and_history_in_order),
		READ(pages_of_a_large_live_table_lose_no_row),
		READ(foreign_cursors_and_limits_are_refused),
		READ(an_instances_events_are_walked_newest_first),
		READ(tasks_are_listed_by_name_and_links_both_ways),
		READ(documents_commands_and_the_audit_are_listed),
		READ(counts_are_those_of_the_list),
		READ(ranges_of_dates_left_out_stand_among_the_instances),
		READ(a_date_left_out_has_its_row_and_its_history),
		READ(a_row_that_waited_while_nobody_led_is_due_so_much_later),
		{ "a_reader_beside_the_writer_sees_whole_commits",
		  a_reader_beside_the_writer_sees_whole_commits, setup_store, teardown, NULL },
		cmocka_unit_test(a_store_that_is_not_there_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
