/* The server's own commands `workflow-quarantine`: like those of people, so they are durable, in
 * the audit, and an administrator ends what they did.
 *
 * Two roads lead here. The meter says that a workflow takes more than its share. Or a start finds
 * what the process before had in hand when it ended, and had had for longer than stall_ms: then the
 * workflow is marked in the definitions before the resolver sees them, or it would stall again, and
 * the command only makes that durable. The crumb is settled when it has. A command that could not
 * be given is given again with the next word of the meter, or at the next start. */
#include "baseserver/daemon_quarantine.h"

#include <inttypes.h>
#include <stdlib.h>

#include "baseserver/command/commander.h"
#include "baseserver/model/definitions.h"
#include "baseserver/model/front.h"
#include "baseserver/plan/meter.h"
#include "baseserver/plan/resolver.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/log.h"
#include "util/param.h"

#define ACTOR "server"

struct quarantine {
	const struct param_baseserver *p;
	struct crumb *crumb; /* NULL: there is none, which is told once */
	struct meter *meter;
	struct resolver *resolver;
	struct commander *commander;
	char *found, *why; /* by the start; NULL: nothing */
};

static void quarantine_answered(struct letter *l, void *self)
{
	struct client_request *r = (struct client_request *)l;
	struct quarantine *q = r->ctx;

	(void)self;
	if (r->code < 0)
		log_warn("quarantine.refused", "text=\"%s\"", r->text);
	else if (r->id)
		crumb_settle(q->crumb);
	client_request_free(r);
}

/* From any thread. `settles`: it is what the crumb says. */
static void quarantine_give(struct quarantine *q, const char *workflow, const char *why,
                            bool settles)
{
	int64_t now_us = clock_wall_us(&clock_machine);
	struct buf args;

	buf_init(&args);
	put_open(&args, NULL, '{');
	put_open(&args, "selection", '{');
	put_text(&args, "workflow", workflow);
	put_close(&args, '}');
	put_text(&args, "message", why);
	put_close(&args, '}');
	struct client_request *r = client_request_new("workflow-quarantine", buf_str(&args),
	                                              args.len);
	r->reply_to = resolver_actor(q->resolver);
	r->answered = quarantine_answered;
	r->ctx = q;
	r->id = settles;
	r->request_id = mem_fmt("quarantine-%" PRId64, now_us);
	r->actor = mem_str(ACTOR);
	buf_done(&args);
	log_error("workflow.quarantined", "workflow=%s why=\"%s\"", workflow, why);
	if (commander_command(q->commander, r) < 0)
		client_request_free(r);
}

static void over_share(void *ctx, const char *workflow, int64_t percent)
{
	struct quarantine *q = ctx;
	char *why = mem_fmt("its planning took %" PRId64 " %% of a core for %" PRId64
	                    " s while others waited; quarantine_percent allows %" PRId64,
	                    percent, q->p->quarantine_ms / 1000, q->p->quarantine_percent);

	quarantine_give(q, workflow, why, false);
	free(why);
}

static void put_aside(struct quarantine *q, struct definitions *defs, const struct crumb_left *left)
{
	q->found = definitions_put_aside(defs, left->workflow, clock_wall_us(&clock_machine));
	if (q->found)
		q->why = mem_fmt("the server ended when it had been at %s for %" PRId64 " s",
		                 crumb_kind_text(left->kind), (int64_t)(left->for_us / US_PER_S));
}

void quarantine_new(const struct param_baseserver *p, struct definitions *defs,
                    struct quarantine **ret_q)
{
	struct quarantine *q;
	struct crumb_left left;
	struct err err = { 0 };

	if (p->quarantine_percent == 0)
		return;
	*ret_q = q = mem_new(sizeof *q);
	q->p = p;
	if (crumb_open(p->state_dir, p->stall_ms * US_PER_MS, clock_wall_us(&clock_machine),
	               &q->crumb, &left, &err) < 0)
		log_warn("crumb.not-kept", "text=\"%s\"", err.text);
	else if (left.workflow)
		put_aside(q, defs, &left);
	if (q->crumb && !q->found)
		crumb_settle(q->crumb);
}

void quarantine_watch(struct quarantine *q, struct resolver *resolver, struct commander *c)
{
	if (!q)
		return;
	struct meter_settings set = { .percent = q->p->quarantine_percent,
		                      .window_us = q->p->quarantine_ms * US_PER_MS,
		                      .crumb = q->crumb,
		                      .over = over_share,
		                      .ctx = q };
	q->resolver = resolver;
	q->commander = c;
	q->meter = meter_new(&set);
	resolver_set_meter(resolver, q->meter);
}

void quarantine_begin(struct quarantine *q)
{
	if (q && q->found)
		quarantine_give(q, q->found, q->why, true);
}

void quarantine_tick(struct quarantine *q, int64_t us)
{
	if (q)
		crumb_tick(q->crumb, us, clock_wall_us(&clock_machine));
}

void quarantine_free(struct quarantine *q)
{
	if (!q)
		return;
	meter_free(q->meter);
	crumb_free(q->crumb);
	free(q->found);
	free(q->why);
	free(q);
}
