/* The tables of states, events, reasons and edges, as data made from schema/tbl. Which state an
 * event leads to from another is decided here and nowhere else; an edge that no row lists does not
 * exist. Names and numbers go both ways; the numbers are those of the database and never change. */
#include "sched/instance.h"

#include <strings.h>

#include "util/check.h"

static const struct {
	const char *name;
	int number;
	bool final, slot;
} states[ST_COUNT] = {
	[ST_NONE] = { "none", -2, false, false },
#define STATE(name, shown, num, final, slot) [ST_##name] = { shown, num, final, slot },
#include "tbl/state.def"
#undef STATE
};

static const char *const events[EV_COUNT] = {
	[EV_NONE] = "none",
#define EVENT(name, num, shown) [EV_##name] = shown,
#include "tbl/event.def"
#undef EVENT
};

static const struct {
	const char *name, *text;
} reasons[RE_COUNT] = {
#define REASON(name, num, lower, text) [RE_##name] = { lower, text },
#include "tbl/reason.def"
#undef REASON
};

/* ST_NONE is 0, so every cell left out reads as "no such edge". A cell listed twice
 * fails the build (-Woverride-init). */
static const uint8_t edges[ST_COUNT][EV_COUNT] = {
#define EDGE(from, event, to) [ST_##from][EV_##event] = ST_##to,
#include "tbl/edge.def"
#undef EDGE
};

int state_number(enum state st)
{
	CHECK(st > ST_NONE && st < ST_COUNT);
	return states[st].number;
}

bool state_from_number(int number, enum state *ret_state)
{
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		if (states[st].number == number) {
			*ret_state = (enum state)st;
			return true;
		}
	return false;
}

const char *state_name(enum state st)
{
	CHECK(st < ST_COUNT);
	return states[st].name;
}

const char *state_word(enum state st)
{
	static const char *const words[ST_COUNT] = {
#define STATE_WORD(name, word) [ST_##name] = word,
#include "tbl/state_word.def"
#undef STATE_WORD
	};

	CHECK(st > ST_NONE && st < ST_COUNT);
	return words[st];
}

bool state_from_name(const char *name, enum state *ret_state)
{
	for (int st = ST_NONE + 1; st < ST_COUNT; st++)
		if (strcasecmp(states[st].name, name) == 0) {
			*ret_state = (enum state)st;
			return true;
		}
	return false;
}

bool state_final(enum state st)
{
	CHECK(st < ST_COUNT);
	return states[st].final;
}

bool state_holds_slot(enum state st)
{
	CHECK(st < ST_COUNT);
	return states[st].slot;
}

const char *event_name(enum event ev)
{
	return ev < EV_COUNT && events[ev] ? events[ev] : "?";
}

const char *reason_text(enum reason re)
{
	return re < RE_COUNT && reasons[re].text ? reasons[re].text : "?";
}

const char *reason_name(enum reason re)
{
	return re < RE_COUNT && reasons[re].name ? reasons[re].name : "?";
}

const char *origin_name(enum origin o)
{
	static const char *const names[OR_END] = {
		[OR_CYCLE] = "cycle",
		[OR_MANUAL] = "manual",
		[OR_BACKFILL] = "backfill",
		[OR_TEST] = "test",
	};

	return o < OR_END ? names[o] : "?";
}

static bool keeps_state(enum event ev)
{
	return ev == EV_FREEZE || ev == EV_UNFREEZE || ev == EV_PRIORITY || ev == EV_NOTIFIED ||
	       ev == EV_PROMISE || ev == EV_WANTED || ev == EV_INTENT || ev == EV_STARTED ||
	       ev == EV_DUE_NOW;
}

enum state fsm_next(enum state from, enum event ev)
{
	CHECK(from < ST_COUNT && ev < EV_COUNT);
	if (keeps_state(ev))
		return from;
	return (enum state)edges[from][ev];
}

/* Skipped always has a reason: with it in the first place no outcome packs to 0. */
static const uint8_t finals[] = { ST_SKIPPED, ST_SUCC, ST_STOP, ST_KILLED };

_Static_assert(RE_COUNT <= 64, "a reason has six bits of `former`");

uint8_t instance_former_pack(enum state st, enum reason re)
{
	for (unsigned i = 0; i < sizeof finals; i++)
		if (finals[i] == st)
			return (uint8_t)(i << 6 | (unsigned)re);
	return 0;
}

void instance_former(uint8_t former, enum state *ret_state, enum reason *ret_reason)
{
	*ret_state = (enum state)finals[former >> 6];
	*ret_reason = (enum reason)(former & 63);
}

struct instance instance_now(const struct instance *i)
{
	struct instance now = *i;

	if (!i->former || state_final((enum state)i->state))
		return now;
	now.started_us = now.ended_us = now.retry_at_us = 0;
	now.exit_code = 0;
	return now;
}

int kill_rank(enum kill_intent k)
{
	static const int ranks[] = {
		[KI_NONE] = 0, [KI_TIMEOUT] = 1, [KI_REDO] = 2, [KI_REPLACE] = 3, [KI_USER] = 4
	};

	CHECK((size_t)k < sizeof ranks / sizeof ranks[0]);
	return ranks[k];
}
