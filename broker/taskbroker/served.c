/* Nobody is held by the beat of somebody who cannot report. Our beats name the jobkeeper's tokens,
 * which keeps their leases; only a loader can report their ends and carry out their kills. So:
 *
 *   - a lane that the jobkeeper holds jobs of has a loader, or one is on its way. Where there is
 *     none (the type is quarantined, refused, stopped, no longer in the settings) an heir is begun:
 *     a loader without the plugin, which ends when nothing is left;
 *   - a loader that is frozen is ended by force and begun anew (alive.c);
 *   - a lane without a sign of life for UNSERVED_TIMES as long is named no more: its leases run
 *     out, at the jobkeeper and at the server, as those of a machine that is gone. */
#include <stdlib.h>
#include <string.h>

#include "broker/taskbroker/broker.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/log.h"

/* --- lanes that the jobkeeper holds jobs of --------------------------------------- */

static bool is_lane(const struct type *t, const char *name, size_t len, uint32_t lane)
{
	return t->lane == lane && strlen(t->name) == len && memcmp(t->name, name, len) == 0;
}

/* `lane_name` as of lane_name(). */
static struct type *type_of(struct broker *b, const char *lane_name)
{
	const char *at = strchr(lane_name, '@');
	size_t len = at ? (size_t)(at - lane_name) : strlen(lane_name);
	uint32_t lane = at ? (uint32_t)strtoul(at + 1, NULL, 10) : 0;

	for (struct type *t = b->types; t; t = t->next)
		if (is_lane(t, lane_name, len, lane))
			return t;
	char *name = mem_strn(lane_name, len);
	struct type *t = types_orphan(b, name, lane);

	free(name);
	return t;
}

bool served_take(struct broker *b, const char *lane_name)
{
	struct type *t = type_of(b, lane_name);

	t->is_listed = true;
	return !t->is_unserved;
}

static void look_at(struct type *t)
{
	int64_t limit_us = t->broker->settings->loader_silent_ms * US_PER_MS * UNSERVED_TIMES;
	int64_t now_us = clock_mono_us(&clock_machine);
	bool was = t->is_unserved;

	CHECK(!was || t->holds);

	t->holds = t->is_listed;
	t->is_listed = false;
	t->is_unserved = t->holds && now_us - t->heard_us > limit_us;
	if (t->is_unserved && !was)
		log_error("broker.unserved",
		          "type=%s lane=%u: no loader reports its jobs, their leases run out",
		          t->name, t->lane);
	if (!t->holds)
		t->heard_us = now_us;
	else if (!t->pid && !ev_is_active(&t->start))
		lane_inherit(t);
}

void served_look(struct broker *b)
{
	for (struct type *t = b->types; t && !b->is_stopping; t = t->next)
		look_at(t);
}
