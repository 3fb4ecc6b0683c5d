/* A loader shows a sign of life on its status pipe. One that is silent for loader_silent_ms is
 * frozen: it is ended by force, and types.c begins it anew. Its processes are the jobkeeper's.
 *
 * Silence is counted in looks, not read off a clock: when this process stood still itself, it has
 * looked once, and then reads what waits in the pipes. */
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>

#include "broker/taskbroker/broker.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/log.h"

#define LOOKS 5 /* in loader_silent_ms */

void alive_heard(struct type *t)
{
	t->silent = 0;
	t->heard_us = clock_mono_us(&clock_machine);
}

static void end_frozen(struct type *t)
{
	CHECK(t->pid > 0 && t->pid_fd >= 0);
	snprintf(t->last_words, sizeof t->last_words, "its loader gave no sign of life for %d ms",
	         (int)t->broker->settings->loader_silent_ms);
	log_error("broker.loader_silent", "type=%s lane=%u pid=%d: it is ended by force", t->name,
	          t->lane, t->pid);
	/* Told before it is gone: one that cannot die would look ready. */
	if (!t->is_retired && !t->is_heir && !t->is_coming)
		type_say(t, TYPE_CRASHED, "%s", t->last_words);
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

void alive_init(struct type *t)
{
	ev_init(&t->look, on_look);
	t->look.data = t;
	t->heard_us = clock_mono_us(&clock_machine);
}

/* Before its first sign it is inside the runner's open(), which has a limit of its own. The limit
 * is the one that the loader knows: it may read the settings later than we do. */
void alive_watch(struct type *t, long silent_ms)
{
	t->look.repeat = (double)silent_ms / 1000.0 / LOOKS;
	if (t->look.repeat > 0.0)
		ev_timer_again(t->broker->loop, &t->look);
}
