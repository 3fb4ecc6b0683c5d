/* What retention would take of the jobs' logs: asked of the thread that has them. */
#include "baseserver/query/query_impl.h"
#include "sched/when.h"
#include "util/err.h"
#include "util/json_put.h"

static void at_logs(struct letter *l, void *self)
{
	struct query *q = (struct query *)l;
	struct log_survey s = { 0 };
	struct buf *out = &q->out;

	commander_front(q->c)->survey_logs(self, &s);
	put_open(out, NULL, '{');
	put_time_us(out, "before", s.before_us);
	put_int(out, "instances", (int64_t)s.old);
	put_int(out, "bytes", (int64_t)s.old_bytes);
	put_int(out, "instances_all", (int64_t)s.all);
	put_int(out, "bytes_all", (int64_t)s.all_bytes);
	put_bool(out, "complete", s.is_complete);
	put_close(out, '}');
	query__home(q);
}

int query__logs(struct query *q, struct refusal *f)
{
	const struct front *front = commander_front(q->c);

	if (!front || !front->survey_logs || !query__hop(q, front->logs, at_logs))
		return refuse(f, E_UNSUPPORTED, "", NULL, "there are no logs of jobs here");
	return 0;
}
