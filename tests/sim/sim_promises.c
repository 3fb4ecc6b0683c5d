/* What commands promise (design: SEMANTICS section 5), judged by durable records that carry a
 * command's number as their cause, and by its answers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sched/plan.h"
#include "sched/task.h"
#include "sim.h"
#include "util/alloc.h"

/* An instance that a command acted on. */
struct act {
	struct inst_key key;
	uint64_t number; /* of the first record that the command caused */
	uint32_t generation;
	bool opened;  /* made or redone by it, and not ended since */
	bool killed;  /* a redo that kills first: goes on when the kill is done */
	bool started; /* granted since */
	bool again;   /* skipped for a parent, which reopened it: not let go, and not over */
};

/* One command, by its number. */
struct deed {
	struct act *acts;
	size_t n;
	uint64_t last;         /* record that it caused, takings-back aside */
	int64_t most;          /* let go and not over at once, when not all of them waited */
	bool waited;           /* all of them did since the last one was let go */
	uint64_t paused_at;    /* its pause was told with this number; 0: it goes on */
	uint64_t cancelled_at; /* the same */
	bool resuming;         /* somebody asked to go on */
};

enum { DEEDS_MAX = 1024 };
static struct deed deeds[DEEDS_MAX];
static uint64_t last_number;

void promises_reset(void)
{
	for (size_t i = 0; i < DEEDS_MAX; i++)
		free(deeds[i].acts);
	memset(deeds, 0, sizeof deeds);
	last_number = 0;
}

uint64_t promises_number(void)
{
	return last_number;
}

static struct deed *deed_of(uint64_t id)
{
	return id < DEEDS_MAX ? &deeds[id] : NULL;
}

struct look_of promises_look(struct inst_key key)
{
	struct instance i;
	struct look_of l = { .key = key };

	if (check_find(key, &i)) {
		l.revision = i.revision;
		l.state = i.state;
		l.frozen = i.flags & IF_FROZEN;
		l.priority = i.priority;
	}
	return l;
}

static struct act *act_of(struct deed *d, struct inst_key key)
{
	for (size_t i = 0; i < d->n; i++)
		if (inst_key_eq(d->acts[i].key, key))
			return &d->acts[i];
	return NULL;
}

static int64_t out_now(const struct deed *d, bool *ret_all_wait)
{
	int64_t n = 0;
	struct instance i;

	*ret_all_wait = true;
	for (size_t k = 0; k < d->n; k++) {
		if (!d->acts[k].opened)
			continue;
		n++;
		if (check_find(d->acts[k].key, &i) && i.state != ST_READY)
			*ret_all_wait = false;
	}
	return n;
}

bool promises_out(uint64_t id)
{
	bool all_wait;

	for (size_t k = 0; id < DEEDS_MAX && k < deeds[id].n; k++)
		if (deeds[id].acts[k].again)
			return true;
	return id < DEEDS_MAX && out_now(&deeds[id], &all_wait) > 0;
}

static bool opens(const struct transition *tr)
{
	return tr->event == EV_CREATE || tr->event == EV_REDO ||
	       (tr->event == EV_KILL && tr->reason == RE_REDO);
}

static void follow_ends(const struct transition *tr)
{
	for (size_t i = 0; i < DEEDS_MAX; i++) {
		struct act *a = deeds[i].n ? act_of(&deeds[i], tr->inst.key) : NULL;
		if (!a)
			continue;
		if (state_final((enum state)tr->to))
			a->opened = a->again = false;
		/* Begun anew by no command: after a restart it counts as let go by this one. */
		bool anew = tr->event == EV_REOPEN || (tr->event == EV_REDO && !tr->cause);
		if (anew && tr->inst.cause == i)
			a->again = true;
		bool all_wait;
		if (deeds[i].n && out_now(&deeds[i], &all_wait) > 0 && all_wait)
			deeds[i].waited = true;
		if (tr->event == EV_GRANT && a->opened) {
			if (deeds[i].cancelled_at && tr->number > deeds[i].cancelled_at &&
			    !a->started && !a->killed && a->generation == tr->inst.generation)
				break_invariant("C5",
				                "command %zu was cancelled, task %u at %" PRId64
				                " that it let go starts",
				                i, a->key.task, a->key.run_date);
			a->started = true;
		}
	}
}

/* Reopened by another command, it is that one's from now on. */
static void follow_other(const struct deed *d, const struct transition *tr)
{
	for (size_t i = 0; i < DEEDS_MAX; i++) {
		struct act *a = &deeds[i] != d && deeds[i].n ? act_of(&deeds[i], tr->inst.key)
		                                             : NULL;
		if (a && opens(tr))
			a->opened = false;
	}
}

static void follow_act(struct deed *d, const struct transition *tr)
{
	struct act *a = act_of(d, tr->inst.key);
	bool all_wait;

	follow_other(d, tr);
	bool restores = tr->event >= EV_RESTORE_SUCC && tr->event <= EV_RESTORE_SKIPPED;
	if (tr->reason == RE_CANCELLED || restores)
		return; /* it was cancelled: what it had not started is taken back */
	if (d->cancelled_at && tr->number > d->cancelled_at)
		break_invariant("C5", "command %" PRIu64 " was cancelled and acts on", tr->cause);
	/* Asked to go on before the pause, and asked again after a crash. */
	if (d->paused_at && tr->number > d->paused_at && !d->resuming &&
	    !commands_resume_out(tr->cause))
		break_invariant("C4", "command %" PRIu64 " is paused and acts on", tr->cause);
	if (a && tr->number > a->number + 1)
		break_invariant("C2", "command %" PRIu64 " acts twice on task %u at %" PRId64,
		                tr->cause, tr->inst.key.task, tr->inst.key.run_date);
	int64_t out = out_now(d, &all_wait);
	if (!a) {
		d->acts = mem_grow(d->acts, d->n + 1, sizeof *d->acts);
		a = &d->acts[d->n++];
		*a = (struct act){ .key = tr->inst.key };
	}
	/* What was let go because all waited may come when one of them does no more. */
	if (opens(tr) && !all_wait && !d->waited && !a->opened && out + 1 > d->most)
		d->most = out + 1;
	d->waited = all_wait;
	a->opened = opens(tr) || a->opened;
	a->killed = tr->event == EV_KILL;
	a->number = tr->number;
	a->generation = tr->inst.generation;
	a->started = false;
	d->last = tr->number;
}

void promises_follow(const struct transition *tr)
{
	struct deed *d = deed_of(tr->cause);

	last_number = tr->number;
	if (tr->kind != TK_INSTANCE)
		return;
	if (tr->inst.key.part > 0)
		return; /* the whole answers for its parts */
	if (tr->cause && d)
		follow_act(d, tr);
	if (tr->from != tr->to)
		follow_ends(tr);
}

/* --- what was told ------------------------------------------------------------------------ */

/* Would this instance, left just as it was, have been meant? */
static bool must_act(const struct order_of *o, const struct look_of *l)
{
	bool none = l->revision == 0, finished = !none && state_final((enum state)l->state);
	bool waits = l->state == ST_READY || l->state == ST_DEPEND || l->state == ST_FAILED;

	if (l->key.part > 0)
		return false; /* the whole may begin anew, and it with it */
	switch (o->kind) {
	case W_REDO:
		return finished && o->mode != 2 && !o->failed_parts;
	case W_BACKFILL:
		return none || (finished && !o->leave_finished);
	case W_KILL:
		return !none && (waits || l->state == ST_RUNNING);
	case W_FORCE:
		return none || waits || (finished && l->state != ST_SUCC);
	case W_SKIP:
		return none || waits;
	case W_FREEZE:
		return !none && !finished && !l->frozen;
	case W_UNFREEZE:
		return !none && !finished && l->frozen;
	case W_ENQUEUE:
	case W_RUN_NOW:
		return none;
	case W_DECLARE:
		return !none && l->state == ST_HANGED;
	default:
		return false;
	}
}

/* C1: nothing that stood still all the while was left out, but what was refused by name. */
static void check_left_out(const struct order_of *o)
{
	int64_t missed = 0;
	struct inst_key first = { 0 };

	for (size_t i = 0; i < o->n_keys; i++) {
		struct look_of now = promises_look(o->keys[i].key);
		if (now.revision != o->keys[i].revision || !must_act(o, &now))
			continue;
		if (missed++ == 0)
			first = now.key;
	}
	if (missed > o->failed)
		break_invariant(
			"C1",
			"command %" PRIu64 " (%s %s) is done with %" PRId64
			" failed and left out %" PRId64 ", the first is task %u at %" PRId64,
			o->id, o->name, o->args, o->failed, missed, first.task, first.run_date);
}

static void check_done(const struct order_of *o)
{
	const struct deed *d = deed_of(o->id);

	if (o->done != o->total)
		break_invariant("C2",
		                "command %" PRIu64 " is done with %" PRId64 " outcomes of %" PRId64,
		                o->id, o->done, o->total);
	if (d && o->kind != W_TASK && (int64_t)d->n > o->done)
		break_invariant("C2",
		                "command %" PRIu64 " acted on %zu instances and has %" PRId64
		                " outcomes",
		                o->id, d->n, o->done);
	if (o->kind != W_TASK && !o->target)
		check_left_out(o);
}

static void check_parallel(const struct order_of *o)
{
	const struct deed *d = deed_of(o->id);

	if (d && o->parallel && d->most > o->parallel)
		break_invariant(
			"C6", "command %" PRIu64 " let %" PRId64 " go at once, its parallel is %d",
			o->id, d->most, o->parallel);
}

static void told_steer(const struct order_of *o)
{
	struct deed *d = deed_of(o->target);

	if (!d || strcmp(o->state, "done") != 0)
		return;
	if (o->kind == W_CANCEL) {
		d->cancelled_at = o->number;
		if (d->last > o->number)
			break_invariant("C5",
			                "command %" PRIu64 " was cancelled at %" PRIu64
			                " and acted at %" PRIu64,
			                o->target, o->number, d->last);
	} else if (o->kind == W_RESUME) {
		d->paused_at = 0;
	} else if (o->kind == W_PAUSE && !d->resuming) {
		d->paused_at = o->number;
		if (d->last > o->number)
			break_invariant("C4",
			                "command %" PRIu64 " was paused at %" PRIu64
			                " and acted at %" PRIu64,
			                o->target, o->number, d->last);
	}
}

void promises_steered(const struct order_of *o)
{
	struct deed *d = deed_of(o->target);

	if (d)
		d->resuming = o->kind != W_PAUSE;
	if (d && d->resuming)
		d->paused_at = 0;
}

/* C7: a dry run of what stood still counts what the command would act on. */
static void check_dry(const struct order_of *o)
{
	int64_t want = 0;

	if (o->failed_parts || (o->kind != W_BACKFILL && !(o->kind == W_REDO && o->mode == 0)))
		return;
	for (size_t i = 0; i < o->n_keys; i++) {
		struct look_of now = promises_look(o->keys[i].key);
		if (now.revision != o->keys[i].revision || now.key.part > 0)
			return; /* of parts that are over the commander does not know */
		if (!check_starts(now.key.task))
			return; /* refused: its task is offline */
		bool runs = now.revision && state_holds_slot((enum state)now.state);
		want += must_act(o, &now) ||
		        (runs && (o->kill_running || o->wait_running) && now.state != ST_HANGED) ||
		        (o->kind == W_REDO && now.revision && !runs && !must_act(o, &now));
	}
	if (o->total != want && promises_number() == o->number)
		break_invariant("C7", "the dry run of %s %s counts %" PRId64 ", there are %" PRId64,
		                o->name, o->args, o->total, want);
}

void promises_told(const struct order_of *o, bool first)
{
	(void)first;
	if (o->dry) {
		check_dry(o);
		return;
	}
	if (o->target)
		told_steer(o);
	check_parallel(o);
	if (strcmp(o->state, "done") == 0)
		check_done(o);
	if (strcmp(o->state, "failed") == 0 && !o->may_stop)
		note("  command %" PRIu64 " failed", o->id);
}
