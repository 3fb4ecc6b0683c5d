/* A task's name and a run date, as people say them, to the id of an instance.
 *
 * The server answers for what is in force. What has gone out of force, a retired task, a test run
 * that is over, it forgets; the store has the rows still, and answers then: of those instances of
 * the task that the words name there must be one. Without a plan nothing says which dates there
 * would have been, so a date without a row is not found. */
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/list.h"
#include "cgi/server/names.h"
#include "cgi/server/show.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_put.h"

struct resolve {
	uint32_t task;
	int64_t part;
	bool is_gone;          /* the store has it, and it is out of force */
	struct inst_key found; /* n_found: how many of the task the words name */
	size_t n_found;
	struct err said; /* what the server said */
	char place[120], hint[240];
};

static int task_seen(void *ctx, const struct store_task *t)
{
	struct resolve *q = ((struct call *)ctx)->extra;

	names_set_task(((struct call *)ctx)->cgi->names, t);
	q->task = t->id;
	q->is_gone = t->state == TS_RETIRED;
	return 0;
}

static int row_seen(void *ctx, const struct instance *i)
{
	struct resolve *q = ((struct call *)ctx)->extra;

	if (i->key.part != q->part)
		return 0;
	q->found = i->key;
	q->n_found++;
	return 0;
}

static int rows_find(struct call *c, struct reader *r, const struct when *w)
{
	struct resolve *q = c->extra;
	const struct tz *tz = names_zone(c->cgi->names, q->task);
	struct read_answer more = { 0 };
	struct read_filter f = { .tasks = &q->task,
		                 .n_tasks = 1,
		                 .from = when_instant(w, tz, false),
		                 .to = when_instant(w, tz, true) + 1,
		                 .parts = true };

	return read_instances(r, &f, &(struct read_page){ READ_ROWS_MAX, NULL, false, &more },
	                      row_seen, c, &c->err);
}

static int several(struct call *c, const char *task, const char *date)
{
	snprintf(c->hint, sizeof c->hint, "sirdar run list %.200s", task);
	return call_fail(c, E_INVALID, "run_date", "'%.60s' names several runs of %.200s", date,
	                 task);
}

static void found_put(struct call *c, const char *task)
{
	const struct resolve *q = c->extra;
	char label[LABEL_TEXT], id[ID_TEXT_MAX];

	names_label(c->cgi->names, q->found.task, 0, q->found.run_date, label);
	put_open(&c->out, NULL, '{');
	key_text(q->found, id);
	put_text(&c->out, "id", id);
	put_text(&c->out, "task", task);
	put_int(&c->out, "task_id", q->found.task);
	put_time(&c->out, "run_date", q->found.run_date);
	put_text(&c->out, "label", label);
	put_int(&c->out, "part", q->found.part);
	put_bool(&c->out, "live", false);
	put_bool(&c->out, "planned", false);
	put_close(&c->out, '}');
}

/* The server's refusal stands where the store knows no more. */
static int gone_work(struct call *c, struct reader *r)
{
	struct resolve *q = c->extra;
	const char *task = call_arg(c, "task"), *date = call_arg(c, "run_date");
	struct when w;

	if (read_task(r, task, 0, task_seen, c, &c->err) < 0 || !q->is_gone ||
	    !when_parse(date, clock_wall_us(&clock_machine) / US_PER_S, &w) ||
	    rows_find(c, r, &w) < 0)
		q->n_found = 0;
	c->err = (struct err){ 0 };
	if (q->n_found > 1)
		return several(c, task, date);
	if (q->n_found == 1) {
		found_put(c, task);
		return 0;
	}
	c->err = q->said;
	memcpy(c->place, q->place, sizeof c->place);
	memcpy(c->hint, q->hint, sizeof c->hint);
	return c->err.code;
}

static int gone_shown(struct call *c)
{
	return c->err.code < 0 ? c->err.code : reply_json(c, MHD_HTTP_OK);
}

static int resolve_done(struct call *c)
{
	struct resolve *q = c->extra;

	if (c->err.code != E_NOT_FOUND)
		return gone_shown(c);
	q->said = c->err;
	memcpy(q->place, c->place, sizeof q->place);
	memcpy(q->hint, c->hint, sizeof q->hint);
	c->then = gone_shown;
	return call_read(c, gone_work);
}

int resolve_get(struct call *c)
{
	static const char *const names[] = { "task", "run_date", "part", NULL };
	const char *task = call_arg(c, "task"), *run_date = call_arg(c, "run_date");
	struct resolve *q = c->extra = mem_new(sizeof *q);
	struct buf args;
	int r;

	if (call_args_only(c, names) < 0 ||
	    call_arg_int(c, "part", 0, INT32_MIN, INT32_MAX, &q->part) < 0)
		return c->err.code;
	if (!task || !run_date)
		return call_fail(c, E_INVALID, !task ? "task" : "run_date",
		                 "want task and run_date");
	buf_init(&args);
	put_open(&args, NULL, '{');
	put_open(&args, "instance", '{');
	put_text(&args, "task", task);
	put_text(&args, "run_date", run_date);
	put_int(&args, "part", q->part);
	buf_puts(&args, "}}");
	c->then = resolve_done;
	r = call_query(c, "instance", buf_str(&args));
	buf_done(&args);
	return r;
}
