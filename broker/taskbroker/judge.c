/* What a loader's word "ready" means, and what its end does.
 *
 * An end is asked for, refused, only in the way of another loader, or a crash. A crash is tried
 * again after a pause that grows; loader_crash_max of them in ten minutes quarantine the type. An
 * end of a lane on its way in or out is a matter for lanes.c. Whoever started the loader, and what
 * it said, is known by then (types.c).
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>

#include "broker/keeper/client.h"
#include "broker/taskbroker/broker.h"
#include "util/check.h"
#include "util/log.h"

static void crashed(struct type *t, const char *how)
{
	CHECK(lane_is_current(t));
	uint32_t n = type_count_crash(t);

	if (n >= t->broker->settings->loader_crash_max) {
		type_say(t, TYPE_QUARANTINED,
		         "%u crashes in ten minutes, the last: %s; not started until asked", n,
		         how);
		return;
	}
	type_say(t, TYPE_CRASHED, "%s", how);
	type_start_later(t);
}

static void judge_describe(int status, char *ret_how, size_t cap)
{
	if (WIFSIGNALED(status))
		snprintf(ret_how, cap, "ended by signal %d (SIG%s)", WTERMSIG(status),
		         sigabbrev_np(WTERMSIG(status)));
	else
		snprintf(ret_how, cap, "exit %d", WEXITSTATUS(status));
}

static bool is_exit(int status, int code)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == code;
}

/* A version on its way in. */
static void judge_coming(struct type *t, int status, const char *how)
{
	char why[400];

	if (t->state == TYPE_REFUSED) {
		snprintf(why, sizeof why, "%s", t->text);
		lane_came_to_grief(t, true, why);
	} else if (is_exit(status, EX_TEMPFAIL)) {
		type_start_later(t);
	} else {
		snprintf(why, sizeof why, "%s", t->last_words[0] ? t->last_words : how);
		lane_came_to_grief(t, false, why);
	}
}

/* Of an heir that stood in for the loader that takes work. If it left something, the jobkeeper's
 * next list has the next one begun. */
static void heir_ended(struct type *t)
{
	CHECK(t->is_heir && lane_is_current(t));
	bool is_again = t->is_again && !t->is_disabled;

	t->is_heir = t->is_again = false;
	if (is_again)
		type_start(t, 0);
}

/* What an end means: asked for, refused, only in the way of another, or a crash. */
static void judge_end(struct type *t, int status)
{
	char how[80];

	CHECK(!t->pid && t->status_fd < 0);
	judge_describe(status, how, sizeof how);
	log_info("broker.loader_ended", "type=%s how=\"%s\"", t->name, how);
	if (t->broker->is_stopping || t->is_unwanted)
		return;
	if (t->is_retired) {
		lane_ended(t);
		return;
	}
	if (t->is_coming) {
		judge_coming(t, status, how);
		return;
	}
	if (t->is_heir && !t->is_met) {
		heir_ended(t);
		return;
	}
	if (t->is_again || t->is_met) {
		t->is_again = false;
		type_start(t, 0);
	} else if (t->is_disabled || t->state == TYPE_REFUSED) {
		return;
	} else if (t->last_words[0]) {
		crashed(t, t->last_words);
	} else if (t->is_ending || (t->state != TYPE_READY && is_exit(status, EX_TEMPFAIL))) {
		type_start_later(t); /* told to end by someone, or in the way of another */
	} else if (t->state != TYPE_READY && is_exit(status, EX_CONFIG)) {
		type_say(t, TYPE_REFUSED, "the loader would not start (%s): see its log", how);
	} else {
		size_t n = strlen(how);

		if (WIFEXITED(status))
			snprintf(how + n, sizeof how - n, ", which nobody asked for");
		crashed(t, how);
	}
}

/* It may free t. */
static void taskbroker_judge_ended(struct type *t, int status)
{
	judge_end(t, status);
	t->is_met = false;
	if (t->is_over)
		lane_unmake(t);
	/* Does it leave jobs that nobody reports now? */
	keeper_client_list(t->broker->keeper, KEEPER_LIST, NULL);
	if (t->is_unwanted || t->is_over)
		type_free(t);
}

static void judge_ready(struct type *t)
{
	CHECK(t->is_listening && !(t->is_coming && t->is_retired));
	if (t->is_retired || t->is_heir) {
		t->pause_ms = (uint32_t)t->broker->settings->loader_restart_ms;
		type_tell(t);
		return;
	}
	lane_note(t);
	if (t->is_coming)
		lane_promote(t);
	type_say(t, TYPE_READY, "%s", "");
}

const struct type_life judge_life = { .ready = judge_ready, .ended = taskbroker_judge_ended };
