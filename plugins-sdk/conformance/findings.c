/* What was found about each promise, and inside which call of the plugin the scenario is.
 *
 * It stands in memory that a scenario's process shares with main.c, so that it outlives a crash.
 * Of a promise that is broken more than once the first finding is kept. A promise that was looked
 * at and never broken is kept; one that no scenario reached is neither.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "plugins-sdk/conformance/conformance.h"
#include "util/check.h"

#define GAVE_UP 86 /* exit status of a scenario that told its finding */

static const char *const call_names[CALLS] = { "runner_entry", "open", "prepare", "execute",
	                                       "finish",       "kill", "drain",   "close" };

void broke(struct check *c, enum promise p, const char *fmt, ...)
{
	struct report *r = c->report;
	char text[FINDING_BYTES - 64];
	va_list ap;

	CHECK((unsigned)p < PROMISES);

	atomic_store(&r->promises[p].is_seen, true);
	if (atomic_exchange(&r->promises[p].is_broken, true))
		return; /* the first says it */
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(r->promises[p].text, FINDING_BYTES, "%s: %s", c->scenario, text);
}

void seen(struct check *c, enum promise p)
{
	CHECK((unsigned)p < PROMISES);
	atomic_store(&c->report->promises[p].is_seen, true);
}

void enter(struct check *c, enum call call)
{
	CHECK((unsigned)call < CALLS);
	CHECK(atomic_fetch_add(&c->report->inside[call], 1) >= 0);
}

void leave(struct check *c, enum call call)
{
	CHECK((unsigned)call < CALLS);
	CHECK(atomic_fetch_sub(&c->report->inside[call], 1) > 0);
}

const char *call_name(enum call call)
{
	CHECK((unsigned)call < CALLS);
	return call_names[call];
}

_Noreturn void give_up(struct check *c)
{
	atomic_store(&c->report->is_given_up, true);
	_exit(GAVE_UP);
}
