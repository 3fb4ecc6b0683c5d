/* sensor.c — one look at whether something is there: README.md has the parameters.
 *
 * It never waits: "not yet, ask again after ..." gives the slot back, and the server comes again.
 */
#include "runners/sensor/sensor.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runners/common/apart.h"
#include "runners/common/fetch.h"

#define DAY_MS 86400000ll

static const char *const watches[] = { "file", "http", "sql", "partition", NULL };
static enum sight (*const looks[])(struct look *l) = { look_file, look_http, look_sql,
	                                               look_partition };

struct sensor {
	struct fetcher *fetcher;
	size_t watch;
	int64_t every_ms, give_up_ms;
	size_t on_error; /* 0 fail, 1 wait */
};

static int sensor_open(const struct runner_host *lent, void **ret_self)
{
	return apart_open(lent, ret_self) < 0 ? -1 : fetch_open(lent, ret_self);
}

static int sensor_prepare(void *self, const struct runner_job *job, struct runner_result *result,
                          void **ret_state)
{
	static const char *const on_errors[] = { "fail", "wait", NULL };
	struct run r = run_of(job, result);
	struct sensor *s = calloc(1, sizeof *s);

	(void)self;
	*ret_state = s;
	if (!s || !(s->fetcher = fetcher_new()))
		return run_refuse(&r, "out of memory");
	if (run_choice(&r, "watch", watches, &s->watch) < 0 ||
	    run_choice(&r, "on_error", on_errors, &s->on_error) < 0 ||
	    run_duration(&r, "every", 7 * DAY_MS, 60000, &s->every_ms) < 0 ||
	    run_duration(&r, "give_up", 3650 * DAY_MS, 0, &s->give_up_ms) < 0)
		return RUNNER_FAILED;
	if (s->every_ms == 0) /* of a macro: what is written is judged when it is saved */
		return run_refuse(&r, "parameter every is 0, want 1s or more");
	return RUNNER_DONE;
}

static bool is_over(const struct sensor *s, const struct runner_job *job)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return s->give_up_ms &&
	       now.tv_sec * 1000 + now.tv_nsec / 1000000 > job->due_us / 1000 + s->give_up_ms;
}

static int not_yet(const struct run *r, const struct sensor *s, const char *what)
{
	if (is_over(s, r->job))
		return run_end(r, RUNNER_FATAL, "given up: %.190s", what);
	run_log(r, "not yet: %s", what);
	run_end(r, RUNNER_NOT_YET, "%.200s", what);
	r->result->exit_code = 0;
	r->result->retry_after_ms = (uint64_t)s->every_ms;
	return RUNNER_DONE;
}

static int sensor_execute(void *self, void *state, const struct runner_job *job,
                          struct runner_result *result)
{
	struct run r = run_of(job, result);
	struct sensor *s = state;
	struct look look = { .run = &r, .fetcher = s->fetcher };
	char why[RUNNER_TEXT_BYTES];

	(void)self;
	switch (looks[s->watch](&look)) {
	case SIGHT_THERE:
		run_log(&r, "there: %s", look.found);
		return RUNNER_DONE;
	case SIGHT_NOT_YET:
		return not_yet(&r, s, look.found);
	case SIGHT_FAILED:
		if (!s->on_error)
			return RUNNER_DONE;
		memcpy(why, result->text, sizeof why);
		return not_yet(&r, s, why);
	case SIGHT_APART:
		return look.apart;
	case SIGHT_ENDED:
		break;
	}
	return result->exit_code < 0 ? RUNNER_DONE : RUNNER_FAILED;
}

static void sensor_kill(void *self, void *state, const struct runner_job *job)
{
	struct sensor *s = state;

	(void)self;
	(void)job;
	fetch_wake(s->fetcher);
}

static void sensor_finish(void *self, void *state, const struct runner_job *job,
                          struct runner_result *result)
{
	struct sensor *s = state;

	(void)self;
	(void)job;
	(void)result;
	if (s)
		fetcher_free(s->fetcher);
	free(s);
}

RUN_PLUGIN("sensor", .flags = RUNNER_NO_PROCESS, .open = sensor_open, .close = run_close,
           .prepare = sensor_prepare, .execute = sensor_execute, .finish = sensor_finish,
           .kill = sensor_kill);
