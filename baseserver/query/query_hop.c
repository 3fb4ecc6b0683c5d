/* A query's way from actor to actor: it is one letter, and ends with who cannot be reached. */
#include <stdlib.h>

#include "baseserver/forecast/forecaster.h"
#include "baseserver/query/query_impl.h"
#include "rt/actor.h"
#include "sched/task.h"

void query__free(struct query *q)
{
	client_request_free(q->req);
	forecast_letter_free(q->forecast);
	buf_done(&q->resolver);
	buf_done(&q->waits);
	task_unref(q->def);
	buf_done(&q->out);
	free(q);
}

bool query__hop(struct query *q, struct actor *to, void (*deliver)(struct letter *l, void *self))
{
	if (!to)
		return false;
	q->letter.deliver = deliver;
	if (actor_post_credit(to, &q->letter) < 0)
		query__free(q);
	return true;
}

void query__home(struct query *q)
{
	query__hop(q, commander_actor(q->c), q->home);
}
