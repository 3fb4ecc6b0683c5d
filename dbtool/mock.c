/* mock: tasks and history as a server would have left them, by the store's own verbs.
 *
 * It is for trying out retention, pages of lists and starts of a server at a size that takes
 * months to grow. The same numbers give the same rows, but for the clock. Workflows are written as
 * text, which the server compiles when it starts on the store; outcomes are written as ranges, so
 * that a start need not read all of history. Only an empty store is filled. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbtool.h"
#include "sched/instance.h"
#include "store/admin.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { BATCH = 4000, TASKS_PER_WORKFLOW = 50, EVENTS_MAX = 4, HOUR_S = 3600 };

struct mock {
	const struct db_options *o;
	struct store *s;
	uint32_t epoch;
	uint64_t number, token;
	int64_t first_s, last_s; /* run_dates, hours */
	struct instance *images;
	const struct instance **done;
	struct transition *events;
	const struct transition **list;
};

/* A workflow's text, which a server compiles when it starts on this store. */
static char *workflow_text(const struct mock *m, uint32_t id, uint32_t first, uint32_t last)
{
	struct buf b;
	char line[200];

	buf_init(&b);
	snprintf(line, sizeof line,
	         "workflow: mock%" PRIu32 "\nproject: mock\nowner: mock\nstart_date: 2020-01-01\n"
	         "timezone: UTC\ndefaults: {type: noop, cycle: hour, catchup: {mode: "
	         "none}}\ntasks:\n",
	         id);
	buf_puts(&b, line);
	for (uint32_t t = first; t <= last; t++) {
		if (t == first)
			snprintf(line, sizeof line, "  t%" PRIu32 ": {}\n", t);
		else
			snprintf(line, sizeof line, "  t%" PRIu32 ": {needs: [t%" PRIu32 "]}\n", t,
			         t - 1);
		buf_puts(&b, line);
	}
	char *text = mem_str(buf_str(&b));
	buf_done(&b);
	(void)m;
	return text;
}

static int put_workflow(struct mock *m, uint32_t id, uint32_t first, uint32_t last, struct err *err)
{
	struct store_task rows[TASKS_PER_WORKFLOW] = { 0 };
	struct store_link links[TASKS_PER_WORKFLOW] = { 0 };
	uint32_t ids[TASKS_PER_WORKFLOW];
	char names[TASKS_PER_WORKFLOW][48], name[32], *text = workflow_text(m, id, first, last);
	CHECK(first <= last && last - first < TASKS_PER_WORKFLOW);
	size_t n = last - first + 1;

	snprintf(name, sizeof name, "mock/mock%" PRIu32, id);
	for (size_t i = 0; i < n; i++) {
		uint32_t t = first + (uint32_t)i;

		snprintf(names[i], sizeof names[i], "%s/t%" PRIu32, name, t);
		ids[i] = t;
		rows[i] = (struct store_task){ .id = t,
			                       .workflow_id = id,
			                       .version = 1,
			                       .state = 2, /* offline: nothing starts by itself */
			                       .anchor = m->first_s,
			                       .online_from = INT64_MIN,
			                       .planned_through = m->last_s,
			                       .name = names[i],
			                       .type = "noop",
			                       .owner = "mock",
			                       .cycle_s = HOUR_S,
			                       .start_s = 1577836800,
			                       .priority = 5 };
		if (i)
			links[i - 1] = (struct store_link){
				.from = t - 1, .to = t, .depend_type = 1, .on = 0, .strategy = 0
			};
	}
	struct store_doc doc = { .kind = DOC_WORKFLOW,
		                 .id = id,
		                 .version = 1,
		                 .name = name,
		                 .body = text,
		                 .body_len = strlen(text),
		                 .actor = "sirdar-db",
		                 .at_us = m->first_s * US_PER_S };
	struct store_batch b = { .epoch = m->epoch,
		                 .tasks = rows,
		                 .n_tasks = n,
		                 .docs = &doc,
		                 .n_docs = 1,
		                 .links_of = ids,
		                 .n_links_of = n,
		                 .links = links,
		                 .n_links = n - 1 };
	int r = store_commit(m->s, &b, err);
	free(text);
	return r;
}

static int put_tasks(struct mock *m, struct err *err)
{
	uint32_t all = (uint32_t)m->o->tasks;
	int r = 0;

	for (uint32_t first = 1, id = 1; first <= all && r == 0;
	     first += TASKS_PER_WORKFLOW, id++) {
		uint32_t last = first + TASKS_PER_WORKFLOW - 1;
		r = put_workflow(m, id, first, last < all ? last : all, err);
	}
	return r;
}

/* What becomes of it: one in fifty fails, one in a hundred is skipped. */
static enum state end_of(int64_t n)
{
	return n % 50 == 7 ? ST_STOP : n % 100 == 31 ? ST_SKIPPED : ST_SUCC;
}

static void put_events(struct mock *m, struct instance *i, size_t *n_events)
{
	static const struct {
		uint8_t event, from, to;
	} way[EVENTS_MAX] = { { EV_CREATE, ST_NONE, ST_READY },
		              { EV_SATISFY, ST_READY, ST_DEPEND },
		              { EV_GRANT, ST_DEPEND, ST_RUNNING },
		              { EV_EXIT_OK, ST_RUNNING, ST_SUCC } };
	size_t n = (size_t)m->o->events;
	uint64_t prev = 0;

	CHECK(n >= 1 && n <= EVENTS_MAX && *n_events + n <= (size_t)BATCH * EVENTS_MAX);

	for (size_t k = 0; k < n; k++) {
		struct transition *t = &m->events[*n_events];
		bool is_last = k + 1 == n;

		*t = (struct transition){ .number = ++m->number,
			                  .prev = prev,
			                  .at_us = is_last ? i->ended_us : i->created_us,
			                  .epoch = m->epoch,
			                  .kind = TK_INSTANCE,
			                  .event = way[k].event,
			                  .from = way[k].from,
			                  .to = is_last ? i->state : way[k].to,
			                  .reason = is_last ? i->reason : 0 };
		prev = t->number;
		m->list[(*n_events)++] = t;
	}
	i->last_number = prev;
	for (size_t k = 1; k <= n; k++)
		m->events[*n_events - k].inst = *i;
}

static struct instance image_of(struct mock *m, int64_t n)
{
	int64_t date = m->first_s + n / m->o->tasks * HOUR_S, due_us = (date + HOUR_S) * US_PER_S;
	enum state st = end_of(n);
	bool ran = st != ST_SKIPPED;

	return (struct instance){
		.key = { .run_date = date, .task = (uint32_t)(n % m->o->tasks) + 1 },
		.due = date + HOUR_S,
		.eff_due_us = due_us,
		.created_us = due_us,
		.started_us = ran ? due_us + 1000 : 0,
		.ended_us = due_us + (ran ? 1000 * (1 + n % 977) : 0),
		.token = ran ? (uint64_t)m->epoch << 40 | ++m->token : 0,
		.generation = 1,
		.revision = (uint32_t)m->o->events,
		.version = 1,
		.broker = ran,
		.slot = (uint32_t)(n % BATCH),
		.exit_code = st == ST_STOP,
		.attempt = ran,
		.state = (uint8_t)st,
		.reason = (uint8_t)(st == ST_SKIPPED ? RE_USER : RE_EXIT),
		.origin = 1,
		.priority = 5,
	};
}

static int put_history(struct mock *m, struct err *err)
{
	int64_t rows = m->o->rows;
	int r = 0;

	for (int64_t at = 0; at < rows && r == 0;) {
		size_t n = 0, n_events = 0;
		uint64_t first = m->number + 1;

		for (; n < BATCH && at < rows; n++, at++) {
			m->images[n] = image_of(m, at);
			put_events(m, &m->images[n], &n_events);
			m->done[n] = &m->images[n];
		}
		CHECK(n > 0 && m->number + 1 == first + n_events);
		struct store_batch b = { .epoch = m->epoch,
			                 .first = first,
			                 .last = m->number,
			                 .events = m->list,
			                 .n_events = n_events,
			                 .done = m->done,
			                 .n_done = n };
		r = store_commit(m->s, &b, err);
		db_progress("history", at, rows, at == rows);
	}
	return r;
}

/* As ranges, so that a start does not read all of history. */
static int put_outcomes(struct mock *m, struct err *err)
{
	int64_t rows = m->o->rows, n = 0;
	struct store_outcome *all = mem_array((size_t)rows + 1, sizeof *all);

	for (int64_t t = 0; t < m->o->tasks; t++)
		for (int64_t at = t; at < rows; at += m->o->tasks) {
			const int64_t date = m->first_s + at / m->o->tasks * HOUR_S;
			enum state st = end_of(at);
			uint8_t re = st == ST_SKIPPED ? RE_USER : RE_EXIT;
			struct store_outcome *last = n ? &all[n - 1] : NULL;

			if (last && last->task == t + 1 && last->state == st)
				last->hi = date;
			else
				all[n++] = (struct store_outcome){ .task = (uint32_t)t + 1,
					                           .generation = 1,
					                           .lo = date,
					                           .hi = date,
					                           .state = (uint8_t)st,
					                           .reason = re };
		}
	CHECK(n <= rows);
	int r = store_save_outcomes(m->s, m->epoch, all, (size_t)n, m->number, err);
	free(all);
	return r;
}

static int mock_fill(struct mock *m, struct err *err)
{
	uint32_t epoch;
	int r = store_take_epoch(m->s, "sirdar-db", &m->epoch, err);

	if (r == 0)
		r = store_position(m->s, &m->number, &epoch, err);
	if (r == 0)
		r = put_tasks(m, err);
	m->images = mem_array(BATCH, sizeof *m->images);
	m->done = mem_array(BATCH, sizeof *m->done);
	m->events = mem_array((size_t)BATCH * EVENTS_MAX, sizeof *m->events);
	m->list = mem_array((size_t)BATCH * EVENTS_MAX, sizeof *m->list);
	if (r == 0)
		r = put_history(m, err);
	if (r == 0)
		r = put_outcomes(m, err);
	free(m->images);
	free(m->done);
	free(m->events);
	free(m->list);
	return r;
}

/* 0, or an exit code: only into an empty store. */
static int make_empty(const struct db_options *o, int64_t first_us, struct err *err)
{
	struct admin *a = NULL;
	int64_t rows = 0;
	int r = admin_open(o->urls[0], true, &a, err);

	if (r == 0)
		r = db_count_all(a, &rows, err);
	if (r == 0 && rows) {
		char *what = mem_fmt("%s has %" PRId64 " rows, they are destroyed", o->urls[0],
		                     rows);
		r = db_may_destroy(o, what) ? 0 : DB_NOT_EMPTY;
		free(what);
	}
	if (r == 0)
		r = admin_wipe(a, err);
	if (r == 0)
		r = admin_migrate(a, first_us, err);
	admin_close(a);
	return r;
}

int db_mock(const struct db_options *o)
{
	int64_t hours = o->rows / o->tasks + 1, now_s = clock_wall_us(&clock_machine) / US_PER_S;
	struct mock m = { .o = o };
	struct err err = { 0 };

	/* Days stretch the dates when there are fewer hours than rows want. */
	if (hours < o->days * 24)
		hours = o->days * 24;
	m.last_s = now_s / HOUR_S * HOUR_S - 2 * HOUR_S;
	m.first_s = m.last_s - hours * HOUR_S;
	int r = make_empty(o, m.first_s * US_PER_S, &err);
	if (r == 0)
		r = store_open(o->urls[0], &m.s, &err);
	if (r == 0)
		r = mock_fill(&m, &err);
	store_close(m.s);
	if (r < 0)
		return db_fail(&err);
	if (r == 0)
		printf("%s: %" PRId64 " tasks, %" PRId64 " rows of history, %" PRIu64 " events\n",
		       o->urls[0], o->tasks, o->rows, m.number);
	return r;
}
