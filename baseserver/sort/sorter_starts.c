/* Do starts go well there? A machine without its work directory, or out of descriptors, is the
 * quickest of all: it sends back what it gets, gets the next, and a queue is used up by failures of
 * machines beside others that are well. So each broker has a breaker for each type:
 *
 *   well   after TRIPS failed starts in a row: waits
 *   waits  nothing is granted there; after a pause that doubles with each failure: tries
 *   tries  one job; each that starts lets in one more, CLOSES of them: well; one that does not:
 *          waits. What is tried burns nothing (IF_PROBE), and lets others have the next try.
 *          A loader that comes meanwhile is tried too: the one that had the try may be gone.
 *
 * A machine that is full (RE_FULL) is not sick. Nor is one that has no user for a project
 * (RE_NO_USER): that one's jobs go elsewhere, and rest where there is no other. Nor does a runner
 * count that fails inside its loader before its work: it says so of its parameters, and what it
 * needs of a machine it asks for when its loader opens it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/why.h"
#include "baseserver/sort/registrar.h"
#include "baseserver/sort/sorter_impl.h"
#include "sched/civil.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/log.h"

enum { TRIPS = 3, CLOSES = 8 };
/* A try that nobody told the outcome of (its session went, it was never sent) is made again. */
#define TRY_AGAIN_US (30 * US_PER_S)

enum starts_state { STARTS_WELL, STARTS_WAIT, STARTS_TRY };

struct starts {
	struct starts *next;
	uint32_t broker;
	char *type, *name;
	enum starts_state state;
	uint32_t bad, good; /* in a row; of the tries */
	int64_t pause_us;   /* the present one; 0: well */
	int64_t due_us;     /* mono: the next try; 0: none */
	char text[200];     /* of the last failure */
	char told[200];     /* what people were told last: they learn a new cause of a pause, too */
};

void sorter_set_starts(struct sorter *s, struct registrar *r, int64_t pause_us,
                       int64_t pause_max_us)
{
	s->registrar = r;
	s->start_pause_us = pause_us;
	s->start_pause_max_us = pause_max_us;
}

void sorter__starts_enter(struct sorter *s, struct seat *seat)
{
	struct starts *b = s->starts;

	if (!s->start_pause_us)
		return;
	while (b && (b->broker != seat->broker || strcmp(b->type, seat->type) != 0))
		b = b->next;
	if (!b) {
		b = mem_new(sizeof *b);
		b->broker = seat->broker;
		b->type = mem_str(seat->type);
		b->name = mem_str(seat->broker_name);
		b->next = s->starts;
		s->starts = b;
	}
	seat->starts = b;
	seat->room = b->state == STARTS_WELL ? STARTS_ANY : b->state == STARTS_TRY;
}

static void give_room(struct sorter *s, const struct starts *b, uint32_t room)
{
	for (size_t i = 0; i < s->n_seats; i++)
		if (s->seats[i]->starts == b)
			sorter__seat_room(s, s->seats[i], room);
}

static void starts_tell(struct sorter *s, struct starts *b)
{
	struct broker_news *n;

	memcpy(b->told, b->text, sizeof b->told);
	log_warn("broker.starts", "broker=%s type=%s state=%s text=\"%s\"", b->name, b->type,
	         b->state == STARTS_WELL ? "well" : "failing", b->text);
	if (!s->registrar)
		return;
	n = mem_new(sizeof *n);
	n->broker = b->broker;
	n->starts = true;
	snprintf(n->type, sizeof n->type, "%s", b->type);
	snprintf(n->text, sizeof n->text, "%s", b->state == STARTS_WELL ? "" : b->text);
	if (registrar_report(s->registrar, n) < 0)
		free(n);
}

static void leave_alone(struct sorter *s, struct starts *b)
{
	bool was_well = b->pause_us == 0;

	CHECK(b->state != STARTS_WAIT && was_well == (b->state == STARTS_WELL));
	b->pause_us = was_well ? s->start_pause_us : b->pause_us * 2;
	if (b->pause_us > s->start_pause_max_us)
		b->pause_us = s->start_pause_max_us;
	b->state = STARTS_WAIT;
	b->due_us = actor_mono_us(s->me) + b->pause_us;
	give_room(s, b, 0);
	if (was_well || strcmp(b->text, b->told) != 0)
		starts_tell(s, b);
}

static void try_again(struct sorter *s, struct starts *b)
{
	CHECK(b->state != STARTS_WELL && b->pause_us > 0);
	b->state = STARTS_TRY;
	b->good = 0;
	b->due_us = actor_mono_us(s->me) +
	            (b->pause_us > TRY_AGAIN_US ? b->pause_us : TRY_AGAIN_US);
	give_room(s, b, 1);
}

static void be_well(struct sorter *s, struct starts *b)
{
	CHECK(b->state == STARTS_TRY);
	b->state = STARTS_WELL;
	b->bad = 0;
	b->pause_us = b->due_us = 0;
	b->text[0] = 0;
	give_room(s, b, STARTS_ANY);
	starts_tell(s, b);
}

static bool has_failed(const struct transition *tr)
{
	return (tr->event == EV_RETURN && (tr->reason == RE_NOSTART || tr->reason == RE_REJECT)) ||
	       (tr->event == EV_FAIL_FINAL && tr->reason == RE_INFRA && !tr->inst.started_us);
}

static bool has_begun(const struct transition *tr)
{
	return tr->event == EV_STARTED || tr->event == EV_EXIT_OK || tr->event == EV_LOOK ||
	       ((tr->event == EV_FAIL_RETRY || tr->event == EV_FAIL_FINAL) &&
	        (tr->reason == RE_EXIT || tr->reason == RE_ATTEMPTS) && tr->inst.started_us);
}

/* Others' jobs start there: only this one looks for another machine, soon and then rarely. */
static void seek_user(struct sorter *s, const struct starts *b, const struct transition *tr)
{
	uint32_t index = sorter_of_slot(s, tr->slot);
	struct ready *r = index == SLAB_NONE ? NULL : sorter_ready(s, index);

	if (!r || r->runs || !r->lane)
		return;
	int64_t pause_us = r->avoid ? s->start_pause_max_us : s->start_pause_us;

	r->avoid = b->broker;
	r->no_user = true;
	sorter__rest(s, r, actor_mono_us(s->me) + pause_us);
}

/* What did not start goes elsewhere, if it can; what was a try lets another have the next one. */
static void put_off(struct sorter *s, const struct starts *b, const struct transition *tr)
{
	uint32_t index = sorter_of_slot(s, tr->slot);
	struct ready *r = index == SLAB_NONE ? NULL : sorter_ready(s, index);

	if (!r || r->runs || !r->lane)
		return;
	r->avoid = b->broker;
	if (tr->inst.flags & IF_PROBE)
		sorter__rest(s, r, actor_mono_us(s->me) + b->pause_us + s->start_pause_us);
}

void sorter__starts_fold(struct sorter *s, struct seat *seat, const struct transition *tr)
{
	struct starts *b = seat->starts;
	bool is_try = tr->inst.flags & IF_PROBE;

	if (!b)
		return;
	CHECK((b->state == STARTS_WELL) == (seat->room == STARTS_ANY)); /* give_room() */
	if (tr->event == EV_RETURN && tr->reason == RE_NO_USER)
		seek_user(s, b, tr);
	if (has_failed(tr)) {
		snprintf(b->text, sizeof b->text, "%s",
		         tr->note && tr->note[0] ? tr->note : reason_text((enum reason)tr->reason));
		if (b->state == STARTS_WELL ? ++b->bad == TRIPS : b->state == STARTS_TRY && is_try)
			leave_alone(s, b);
		put_off(s, b, tr);
	} else if (has_begun(tr) && b->state == STARTS_WELL) {
		b->bad = 0;
	} else if (has_begun(tr) && b->state == STARTS_TRY && is_try) {
		if (++b->good >= CLOSES)
			be_well(s, b);
		else
			sorter__seat_room(s, seat, seat->room + 2);
	} else if (tr->event == EV_RETURN && b->state == STARTS_TRY && is_try)
		sorter__seat_room(s, seat, seat->room + 1);
}

int64_t sorter__starts_look(struct sorter *s)
{
	int64_t now = actor_mono_us(s->me), next = sorter__rests_look(s, now);

	for (struct starts *b = s->starts; b; b = b->next) {
		if (b->due_us && b->due_us <= now)
			try_again(s, b);
		if (b->due_us && b->due_us < next)
			next = b->due_us;
	}
	return next;
}

/* The one of a class that is tried again first, if none is well. */
static const struct starts *sick_of(const struct klass *k)
{
	const struct starts *b = NULL;

	for (size_t i = 0; i < k->n_sessions; i++) {
		const struct seat *seat = k->sessions[i];
		if (!seat->starts || seat->starts->state == STARTS_WELL)
			return NULL;
		if (!b || seat->starts->due_us < b->due_us)
			b = seat->starts;
	}
	return b;
}

bool sorter__starts_explain(const struct sorter *s, const struct klass *k, struct why_line *w)
{
	const struct starts *b = sick_of(k);
	char at[WHEN_TEXT];

	if (!b)
		return false;
	int64_t due_us = actor_wall_us(s->me) + b->due_us - actor_mono_us(s->me);
	when_print(floor_div(due_us, US_PER_S), at);
	why_set(w, WHY_STARTS_FAIL);
	why_text(w, "type", "%s", b->type);
	why_text(w, "broker", "%s", b->name);
	why_text(w, "text", "%s", b->text);
	why_text(w, "at", "%s", at);
	return true;
}

void sorter__no_user_explain(const struct sorter *s, const struct ready *r, struct why_line *w)
{
	const struct starts *b = s->starts;
	const char *project = r->queue->def->name;
	int64_t rests_us = r->rests_us ? r->rests_us : actor_mono_us(s->me);
	char at[WHEN_TEXT];

	while (b && b->broker != r->avoid)
		b = b->next;
	when_print(floor_div(actor_wall_us(s->me) + rests_us - actor_mono_us(s->me), US_PER_S), at);
	why_set(w, WHY_NO_USER);
	why_text(w, "project", "%.*s", (int)strcspn(project, "/"), project);
	why_text(w, "broker", "%s", b ? b->name : "the machine that was tried");
	why_text(w, "at", "%s", at);
}

void sorter__starts_free(struct sorter *s)
{
	for (struct starts *b = s->starts, *next; b; b = next) {
		next = b->next;
		free(b->type);
		free(b->name);
		free(b);
	}
	free(s->rests);
}
