/* Nobody is held by the beat of somebody who cannot report. Our beats name the jobkeeper's tokens,
 * which keeps their leases; only a loader can report their ends and carry out their kills. So:
 *
 *   - a lane that the jobkeeper holds jobs of has a loader, or one is on its way. Where there is
 *     none (the type is quarantined, refused, stopped, no longer in the settings) an heir is begun:
 *     a loader without the plugin, which ends when nothing is left;
 *   - a loader shows a sign of life on its status pipe. One that is silent for loader_silent_ms is
 *     frozen: it is ended by force and begun anew. Its processes are the jobkeeper's;
 *   - a lane without a sign of life for UNSERVED_TIMES as long is named no more: its leases run
 *     out, at the jobkeeper and at the server, as those of a machine that is gone.
 *
 * Silence is counted in looks, not read off a clock: when this process stood still itself, it has
 * looked once, and then reads what waits in the pipes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>

#include "broker/taskbroker/broker.h"
#include "util/clock.h"
#include "util/log.h"

#define LOOKS 5 /* in loader_silent_ms */

static int64_t now_us(void)
{
	return clock_mono_us(&clock_machine);
}

/* --- frozen loaders --------------------------------------------------------------- */

void served_heard(struct type *t)
{
	t->silent = 0;
	t->heard_us = now_us();
}

static void end_frozen(struct type *t)
{
	snprintf(t->last_words, sizeof t->last_words, "its loader gave no sign of life for %d ms",
	         (int)t->broker->settings->loader_silent_ms);
	log_error("broker.loader_silent", "type=%s lane=%u pid=%d: it is ended by force", t->name,
	          t->lane, t->pid);
	/* Told before it is gone: one that cannot die would look ready. */
	if (!t->is_retired && !t->is_heir && !t->is_coming)
		type_say(t, TYPE_CRASHED, t->last_words);
	pidfd_send_signal(t->pid_fd, SIGKILL, NULL, 0);
}

static void on_look(struct ev_loop *loop, ev_timer *w, int events)
{
	struct type *t = w->data;

	(void)events;
	if (!t->pid || t->status_fd < 0) {
		ev_timer_stop(loop, w);
		return;
	}
	if (++t->silent == LOOKS + 1)
		end_frozen(t);
}

void served_init(struct type *t)
{
	ev_init(&t->look, on_look);
	t->look.data = t;
	t->heard_us = now_us();
}

/* Before its first sign it is inside the runner's open(), which has a limit of its own. The limit
 * is the one that the loader knows: it may read the settings later than we do. */
void served_watch(struct type *t, long silent_ms)
{
	t->look.repeat = (double)silent_ms / 1000.0 / LOOKS;
	if (t->look.repeat > 0.0)
		ev_timer_again(t->broker->loop, &t->look);
}

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
	return types_orphan(b, lane_name, len, lane);
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
	bool was = t->is_unserved;

	t->holds = t->is_listed;
	t->is_listed = false;
	t->is_unserved = t->holds && now_us() - t->heard_us > limit_us;
	if (t->is_unserved && !was)
		log_error("broker.unserved",
		          "type=%s lane=%u: no loader reports its jobs, their leases run out",
		          t->name, t->lane);
	if (!t->holds)
		t->heard_us = now_us();
	else if (!t->pid && !ev_is_active(&t->start))
		lane_inherit(t);
}

void served_look(struct broker *b)
{
	for (struct type *t = b->types; t && !b->is_stopping; t = t->next)
		look_at(t);
}
