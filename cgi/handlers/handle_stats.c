/* Statistics: what ended, day by day, of one task or of all; and what retention would take.
 *
 * The store keeps sums by task and day, so an answer never counts instances. A day is the local
 * day of each task's own zone: for some it is tomorrow already, so the newest day of an answer may
 * lie ahead of the server's. */
#include <stdio.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "sched/civil.h"
#include "sched/measure.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_put.h"

enum { DAYS_MAX = 400, DAYS_DEFAULT = 7, RETENTION_DAYS_DEFAULT = 90 };

/* One day's, or the sum of all. */
struct ends {
	uint64_t states[ST_COUNT];
	struct measure took; /* runs that succeeded */
};

struct query {
	int64_t days;
	uint32_t task; /* 0: all of them */
	int32_t day;   /* the one that is being read */
	bool any;
	struct ends now, sum;
};

static void put_ends(struct buf *b, const struct ends *e)
{
	uint64_t good = e->states[ST_SUCC], judged = good + e->states[ST_STOP];

	put_open(b, "states", '{');
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		if (e->states[st])
			put_int(b, state_name((enum state)st), (int64_t)e->states[st]);
	put_close(b, '}');
	if (judged)
		put_int(b, "success_permille", (int64_t)(good * 1000 / judged));
	else
		put_null(b, "success_permille");
	put_int(b, "runs", (int64_t)e->took.n);
	if (e->took.n == 0) {
		put_null(b, "duration_us");
		return;
	}
	put_open(b, "duration_us", '{');
	put_int(b, "mean", measure_mean(&e->took));
	put_int(b, "p50", measure_percentile(&e->took, 500));
	put_int(b, "p90", measure_percentile(&e->took, 900));
	put_int(b, "p99", measure_percentile(&e->took, 990));
	put_close(b, '}');
}

static void put_day(struct call *c, struct query *q)
{
	struct civil d = civil_of_day(q->day);
	char text[16];

	snprintf(text, sizeof text, "%04d-%02d-%02d", (int)d.year, d.month, d.day);
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "day", text);
	put_ends(&c->out, &q->now);
	put_close(&c->out, '}');
	memset(&q->now, 0, sizeof q->now);
}

/* Newest day first: a new one closes the one before. */
static int stats_take(void *ctx, const struct store_stat *s)
{
	struct call *c = ctx;
	struct query *q = c->extra;
	struct ends *both[] = { &q->now, &q->sum };

	if (q->any && s->day != q->day)
		put_day(c, q);
	q->day = s->day;
	q->any = true;
	for (int i = 0; i < 2; i++) {
		both[i]->states[s->state] += s->count;
		if (s->state == ST_SUCC && s->bucket != STORE_STAT_UNRUN)
			measure_add(&both[i]->took, s->bucket, s->count, s->sum_us);
	}
	return 0;
}

static int take_task(void *ctx, const struct store_task *t)
{
	((struct query *)((struct call *)ctx)->extra)->task = t->id;
	return 0;
}

static int statistics_work(struct call *c, struct reader *r)
{
	struct query *q = c->extra;
	/* Days are local to each task: some are in tomorrow already. */
	int32_t hi = (int32_t)(clock_wall_us(&clock_machine) / US_PER_S / DAY_S) + 1;
	int code = c->params[0][0] ? read_task(r, c->params[0], 0, take_task, c, &c->err) : 0;

	if (code < 0)
		return code;
	put_open(&c->out, NULL, '{');
	put_text(&c->out, "task", c->params[0][0] ? c->params[0] : NULL);
	put_open(&c->out, "days", '[');
	code = read_stats(r, &(struct store_stat_days){ q->task, hi - (int32_t)q->days, hi },
	                  stats_take, c, &c->err);
	if (q->any)
		put_day(c, q);
	put_close(&c->out, ']');
	put_open(&c->out, "total", '{');
	put_ends(&c->out, &q->sum);
	put_close(&c->out, '}');
	put_close(&c->out, '}');
	return code;
}

int statistics_get(struct call *c)
{
	static const char *const names[] = { "days", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);

	if (call_args_only(c, names) < 0 ||
	    call_arg_int(c, "days", DAYS_DEFAULT, 1, DAYS_MAX, &q->days) < 0)
		return c->err.code;
	return call_read(c, statistics_work);
}

int task_statistics_get(struct call *c)
{
	return statistics_get(c);
}

/* --- retention ------------------------------------------------------------------------- */

static int retention_work(struct call *c, struct reader *r)
{
	const struct query *q = c->extra;
	int64_t before = clock_wall_us(&clock_machine) - q->days * DAY_S * US_PER_S;
	struct read_retention a;
	int code = read_retention(r, before, &a, &c->err);

	if (code < 0)
		return code;
	put_open(&c->out, NULL, '{');
	put_int(&c->out, "days", q->days);
	put_time_us(&c->out, "before", before);
	put_int(&c->out, "instances", (int64_t)a.rows);
	put_int(&c->out, "instances_kept", (int64_t)a.rows_kept);
	put_int(&c->out, "events", (int64_t)a.events);
	put_int(&c->out, "outcomes", (int64_t)a.items);
	put_time_us(&c->out, "oldest", a.first_us);
	put_time_us(&c->out, "newest", a.last_us);
	put_int(&c->out, "bytes", (int64_t)a.bytes);
	put_int(&c->out, "bytes_all", (int64_t)a.bytes_all);
	put_close(&c->out, '}');
	return 0;
}

int retention_get(struct call *c)
{
	static const char *const names[] = { "days", NULL };
	struct query *q = c->extra = mem_new(sizeof *q);

	if (call_args_only(c, names) < 0 ||
	    call_arg_int(c, "days", RETENTION_DAYS_DEFAULT, 1, 36500, &q->days) < 0)
		return c->err.code;
	return call_read(c, retention_work);
}
