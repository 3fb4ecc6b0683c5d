/* Sensors that look again: what a look may change, and what history leaves out of it. */
#include <inttypes.h>
#include <string.h>

#include "sim.h"

enum { ROWS = 8192 };

static struct past {
	bool looking;   /* its last attempt ended "not yet" */
	uint32_t looks; /* in its generation */
	uint64_t kept;  /* its last record that history has */
} pasts[ROWS];

void looks_reset(void)
{
	memset(pasts, 0, sizeof pasts);
}

/* Records of it are in no history: they can only have been looks. What they come to. */
struct transition looks_bridge(uint32_t at, const struct instance *was, const struct instance *now,
                               enum state to)
{
	struct past *p = &pasts[at];
	struct transition tr = {
		.kind = TK_INSTANCE, .from = was->state, .to = (uint8_t)to, .inst = *now
	};

	if (!p->looking || now->looks < p->looks || now->token < was->token)
		break_invariant("I31",
		                "records of task %u at %" PRId64 " are missing that are no looks",
		                now->key.task, now->key.run_date);
	p->looks = now->looks;
	tr.inst.state = (uint8_t)to;
	tr.inst.revision = now->revision - (to != now->state);
	return tr;
}

/* I31: a look burns nothing, is counted, comes in its time, and history has the first and the end;
 * what it does not have is nothing but looks, and its chain leads past them. */
void looks_follow(uint32_t at, const struct transition *tr, const struct instance *was)
{
	struct past *r = &pasts[at];
	const struct instance *i = &tr->inst;
	bool is_look = tr->event == EV_SATISFY || tr->event == EV_GRANT ||
	               tr->event == EV_STARTED || tr->event == EV_LOOK;
	bool begins = tr->from == ST_NONE || tr->event == EV_REDO || tr->event == EV_REOPEN ||
	              tr->event == EV_DEAD_REDO;
	uint32_t looks = begins ? 0 : r->looks + (tr->event == EV_LOOK);

	if (tr->left_out && (!r->looking || !is_look || tr->cause || tr->data))
		break_invariant("I31", "history of task %u at %" PRId64 " has no %s", i->key.task,
		                i->key.run_date, event_name((enum event)tr->event));
	if (!tr->left_out && r->looking && is_look && tr->from != ST_HANGED && !tr->cause)
		break_invariant("I31", "history of task %u at %" PRId64 " has each look",
		                i->key.task, i->key.run_date);
	if (tr->prev != r->kept)
		break_invariant("I31", "record %" PRIu64 " follows %" PRIu64 ", want %" PRIu64,
		                tr->number, tr->prev, r->kept);
	if (i->looks != looks)
		break_invariant("I31", "task %u at %" PRId64 " looked %u times, it says %u",
		                i->key.task, i->key.run_date, looks, i->looks);
	if (tr->event == EV_LOOK && (i->attempt + 1 != was->attempt || i->infra != was->infra))
		break_invariant("I31", "a look of task %u burnt an attempt", i->key.task);
	if (inst_looks_again(was) && tr->event == EV_SATISFY && tr->reason == RE_NONE &&
	    !tr->cause && tr->at_us < was->retry_at_us && !swarm.wall_jumps)
		break_invariant("I31", "task %u looks again before its time", i->key.task);
	r->looks = looks;
	r->kept = tr->left_out ? r->kept : tr->number;
	r->looking = tr->event == EV_LOOK ||
	             (r->looking &&
	              (is_look ||
	               !(begins || tr->event == EV_FAIL_RETRY || tr->event == EV_DEAD_RETRY ||
	                 tr->event == EV_WITHDRAW || state_final((enum state)tr->to))));
}
