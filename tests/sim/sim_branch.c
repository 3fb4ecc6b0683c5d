/* Branches (design: SEMANTICS section 6): jobs that choose among the children of their task, and
 * what must follow: the others are left out with the success itself, and stay so until a
 * redo of the branch wants them, or a person does. By brute force over all dates. */
#include <inttypes.h>
#include <string.h>

#include "sched/plan.h"
#include "sched/task.h"
#include "sim.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/map.h"

#define CHOSEN UINT32_C(0x80000000) /* beside a bit for each child that goes on */

enum { DUE_MAX = 512, DATES = PLANNED_US / MINUTE + 2 };

/* What must come right after a success, before anything else. */
static struct {
	struct inst_key key;
	enum event event;
} due[DUE_MAX];
static size_t n_due;
static struct map choices; /* token -> what its job chose */

/* The last choice of each date; and of those left out: by whom. */
static uint32_t last_choice[TASKS + 1][DATES];
static struct inst_key left_by[TASKS + 1][DATES];

void branch_reset(void)
{
	map_done(&choices);
	map_init(&choices);
	n_due = 0;
	memset(last_choice, 0, sizeof last_choice);
	memset(left_by, 0, sizeof left_by);
}

static size_t date_at(int64_t run_date)
{
	int64_t k = (run_date - WALL_BASE_US / SEC) / 60;

	return k < 0 ? 0 : k < DATES ? (size_t)k : DATES - 1;
}

static bool is_child(const struct task *t, uint32_t parent)
{
	for (size_t k = 0; k < t->n_links; k++)
		if (t->links[k].parent == parent && !t->links[k].by_node)
			return t->id != parent;
	return false;
}

uint32_t branch_choose(uint64_t token, struct inst_key key)
{
	uint32_t mask = CHOSEN;
	bool some = false;

	if (!swarm.branches || key.part != 0 || !chance(400))
		return 0;
	for (uint32_t id = 1; id <= TASKS; id++) {
		bool child = is_child(task_now(id), key.task);
		some = some || child;
		if (chance(child ? 550 : 40)) /* some name what is no child */
			mask |= 1u << id;
	}
	if (!some)
		return 0;
	map_add(&choices, token, mask);
	return mask;
}

/* As a job says it; its process may say it more than once. */
char *branch_text(uint32_t choice, uint64_t token)
{
	static const char *const full[] = { "", "sim/w/", "w/", "sim/w/" };
	bool json = token % 2;
	struct buf b;

	if (!choice)
		return NULL;
	buf_init(&b);
	buf_puts(&b, json ? "[" : "");
	const char *sep = "";
	for (uint32_t id = 1; id <= TASKS; id++) {
		if (!(choice & 1u << id))
			continue;
		buf_printf(&b, json ? "%s\"%st%u\"" : "%s%st%u", sep, full[(token + id) % 4], id);
		sep = json ? "," : ", ";
	}
	buf_puts(&b, json ? "]" : "");
	char *text = mem_str(buf_str(&b));
	buf_done(&b);
	return text;
}

static bool picks(const struct task *child, const struct task *parent, int64_t t, int64_t p)
{
	struct link_span spans[LINK_SPANS_MAX];

	for (size_t k = 0; k < child->n_links; k++) {
		const struct task_link *l = &child->links[k];
		int n = l->parent == parent->id && !l->by_node
		                ? link_spans_ever(l, parent->plan, child->plan, t, spans)
		                : 0;
		for (int i = 0; i < n; i++)
			if (p >= spans[i].lo && p < spans[i].hi)
				return true;
	}
	return false;
}

/* The event that the success means for this date of a child; EV_NONE: it stays as it is. */
static enum event event_for(struct inst_key key, uint32_t parent, bool chosen, bool again)
{
	struct instance i;

	if (!check_find(key, &i))
		return chosen ? EV_NONE : EV_CREATE_SKIP;
	if (chosen && again && !state_final((enum state)i.state))
		return i.former == instance_former_pack(ST_SKIPPED, RE_BRANCH) &&
		                       left_by[key.task][date_at(key.run_date)].task == parent
		               ? EV_WANTED
		               : EV_NONE;
	if (chosen) /* a first choice has left out nobody: another branch did */
		return again && i.state == ST_SKIPPED && i.reason == RE_BRANCH &&
		                       left_by[key.task][date_at(key.run_date)].task == parent
		               ? EV_REOPEN
		               : EV_NONE;
	return i.state == ST_READY || i.state == ST_DEPEND || i.state == ST_FAILED ? EV_SKIP
	                                                                           : EV_NONE;
}

static void choose(const struct transition *tr)
{
	uint32_t mask = map_get(&choices, tr->inst.token);

	last_choice[tr->inst.key.task][date_at(tr->inst.key.run_date)] = mask == MAP_NONE ? 0
	                                                                                  : mask;
}

static void expect(const struct transition *tr)
{
	struct inst_key key = tr->inst.key;
	uint32_t mask = last_choice[key.task][date_at(key.run_date)];

	for (uint32_t id = 1; id <= TASKS; id++) {
		const struct task *child = check_def(id), *parent = check_def(key.task);
		if (!is_child(child, key.task))
			continue;
		for (int64_t d = plan_next(child->plan, INT64_MIN + 1); d != PLAN_NEVER;
		     d = plan_next(child->plan, d)) {
			struct inst_key at = { d, id, 0 };
			bool chosen = !mask || mask & 1u << id;
			enum event e = picks(child, parent, d, key.run_date)
			                       ? event_for(at, key.task, chosen,
			                                   tr->inst.generation > 1)
			                       : EV_NONE;
			if (e == EV_NONE || n_due == DUE_MAX)
				continue;
			due[n_due].key = at;
			due[n_due++].event = e;
			if (e != EV_REOPEN)
				left_by[id][date_at(d)] = key;
		}
	}
}

static bool is_branching(const struct transition *tr)
{
	struct instance was;

	if (tr->event == EV_SKIP || tr->event == EV_CREATE_SKIP)
		return tr->reason == RE_BRANCH;
	return tr->event == EV_REOPEN && check_find(tr->inst.key, &was) &&
	       was.state == ST_SKIPPED && was.reason == RE_BRANCH;
}

/* A person began one of its parts anew: it is wanted for that. */
static bool is_wanted_by_part(const struct transition *tr)
{
	struct instance part, was;
	struct inst_key key = tr->inst.key;

	if (tr->event != EV_REOPEN || !tr->cause || !check_find(key, &was))
		return false;
	for (key.part = 1; key.part <= was.parts; key.part++)
		if (check_find(key, &part) && part.state == ST_READY && part.cause == tr->cause)
			return true;
	return false;
}

/* B1. Of what is replayed with definitions that nobody knows, nothing is known. */
void branch_follow(const struct transition *tr, bool unclear)
{
	size_t k = 0;

	if (unclear) {
		n_due = 0;
		if (is_branching(tr) && tr->event != EV_REOPEN)
			left_by[tr->inst.key.task][date_at(tr->inst.key.run_date)] =
				(struct inst_key){ INT64_MAX, tr->inst.left_by, 0 };
	}
	while (k < n_due && !(inst_key_eq(due[k].key, tr->inst.key) && due[k].event == tr->event))
		k++;
	if (n_due > 0 && k == n_due)
		break_invariant("B1",
		                "task %u at %" PRId64 " should be %s by a branch, not task %u %s",
		                due[0].key.task, due[0].key.run_date, event_name(due[0].event),
		                tr->inst.key.task, event_name((enum event)tr->event));
	if (k == n_due && is_branching(tr) && !unclear && !is_wanted_by_part(tr))
		break_invariant("B1", "task %u at %" PRId64 ": %s by no branch", tr->inst.key.task,
		                tr->inst.key.run_date, event_name((enum event)tr->event));
	if (k < n_due)
		due[k] = due[--n_due];
	if (tr->event != EV_EXIT_OK || tr->inst.key.part != 0 || tr->inst.flags & IF_SPREAD)
		return;
	choose(tr);
	if (!unclear)
		expect(tr);
}

/* A commit has all of it or nothing. */
void branch_replayed(void)
{
	if (n_due)
		break_invariant("B1", "half of a branch was kept: task %u at %" PRId64 " is not",
		                due[0].key.task, due[0].key.run_date);
}

/* At the end: who is left out is so by the last word of the branch that did it. */
void branch_quiet(const struct instance *i)
{
	if (i->state != ST_SKIPPED || i->reason != RE_BRANCH)
		return;
	struct inst_key by = left_by[i->key.task][date_at(i->key.run_date)];
	uint32_t mask = last_choice[by.task][date_at(by.run_date)];
	if (by.run_date != INT64_MAX && check_def(i->key.task)->version == 1 &&
	    (!mask || mask & 1u << i->key.task))
		break_invariant("B1",
		                "task %u at %" PRId64 " is left out, and task %u wants it by now",
		                i->key.task, i->key.run_date, by.task);
}
