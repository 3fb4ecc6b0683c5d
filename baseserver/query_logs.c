/* What retention would take of the jobs' logs: asked of the thread that has them. */
#include "baseserver/json_write.h"
#include "baseserver/query_impl.h"
#include "util/err.h"

static void at_logs(struct letter *l, void *self)
{
	struct query *q = (struct query *)l;
	struct log_survey s = { 0 };
	struct buf *out = &q->out;

	q->c->front->survey_logs(self, &s);
	jw_object(out, NULL);
	jw_instant_us(out, "before", s.before_us);
	jw_number(out, "instances", (int64_t)s.old);
	jw_number(out, "bytes", (int64_t)s.old_bytes);
	jw_number(out, "instances_all", (int64_t)s.all);
	jw_number(out, "bytes_all", (int64_t)s.all_bytes);
	jw_truth(out, "complete", s.is_complete);
	jw_end_object(out);
	query_home(q);
}

int query_logs(struct query *q, struct refusal *f)
{
	const struct front *front = q->c->front;

	if (!front || !front->survey_logs || !query_hop(q, front->logs, at_logs))
		return refuse(f, E_UNSUPPORTED, "", NULL, "there are no logs of jobs here");
	return 0;
}
