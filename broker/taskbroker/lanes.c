/* Loaders of one type side by side: a type is one `struct type` that takes work, and others that
 * are on their way in (another version, not yet ready) or out (a former version's, that ends when
 * its jobs have). Each has a lane of its own, see broker/link/lane.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "broker/link/lane.h"
#include "broker/taskbroker/broker.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

bool lane_is_current(const struct type *t)
{
	return !t->is_retired && !t->is_coming;
}

struct type *lane_current(struct broker *b, const char *name)
{
	for (struct type *t = b->types; t; t = t->next)
		if (lane_is_current(t) && strcmp(t->name, name) == 0)
			return t;
	return NULL;
}

struct type *lane_coming(const struct type *t)
{
	for (struct type *o = t->broker->types; o; o = o->next)
		if (o->is_coming && strcmp(o->name, t->name) == 0)
			return o;
	return NULL;
}

static char *epoch_path(const struct type *t)
{
	char *name = lane_name(t->name, t->lane);
	char *path = mem_fmt("%s/epoch.%s", t->broker->state_dir, name);

	free(name);
	return path;
}

/* A lane that is new has obeyed whom we have. */
static void inherit_epoch(const struct type *t)
{
	char *path = epoch_path(t);
	struct buf text;
	struct err err;

	buf_init(&text);
	if (fs_read(t->broker->epoch_file, 128, &text, NULL) == 0 &&
	    fs_write(path, buf_at(&text), text.len, 0600, &err) < 0)
		log_warn("broker.lane", "type=%s lane=%u why=\"%s\"", t->name, t->lane, err.text);
	buf_done(&text);
	free(path);
}

static void lane_make(const struct type *t)
{
	char *path = lane_lock(t->broker->state_dir, t->name, t->lane);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0)
		close(fd);
	else
		log_warn("broker.lane", "%s cannot be made", path);
	free(path);
	inherit_epoch(t);
}

void lane_unmake(const struct type *t)
{
	CHECK(t->is_over && !t->pid);
	char *path = lane_lock(t->broker->state_dir, t->name, t->lane), *epoch = epoch_path(t);

	unlink(path);
	if (t->lane)
		unlink(epoch);
	free(path);
	free(epoch);
}

/* Another loader of the type, after all that there are. NULL: there are too many. */
static struct type *lane_new(struct type *t)
{
	uint32_t lanes[LANES_MAX], last = t->lane;
	size_t n = lane_list(t->broker->state_dir, t->name, lanes, LANES_MAX);

	CHECK(n <= LANES_MAX);
	if (n == LANES_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++)
		last = lanes[i] > last ? lanes[i] : last;
	struct type *next = type_make(t->broker, t->name);
	next->lane = last + 1;
	next->slots = t->slots;
	lane_make(next);
	return next;
}

void lane_note(const struct type *t)
{
	char *path = lane_lock(t->broker->state_dir, t->name, t->lane);
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW); /* not anew: it is locked */
	size_t n = strlen(t->version);

	if (fd < 0 || write(fd, t->version, n) != (ssize_t)n || ftruncate(fd, (off_t)n) < 0)
		log_warn("broker.lane", "%s cannot be written", path);
	if (fd >= 0)
		close(fd);
	free(path);
}

static void recall_version(struct type *t)
{
	char *path = lane_lock(t->broker->state_dir, t->name, t->lane);
	struct buf text;

	buf_init(&text);
	if (fs_read(path, sizeof t->version - 1, &text, NULL) == 0)
		snprintf(t->version, sizeof t->version, "%s", buf_str(&text));
	buf_done(&text);
	free(path);
}

/* --- in ------------------------------------------------------------------------------------- */

void lane_begin(struct type *t, const struct version *v, const char *text)
{
	CHECK(lane_is_current(t) && !lane_coming(t));
	struct type *next = lane_new(t);

	if (!next) {
		type_say(t, t->state,
		         "version %s is not started: %d former loaders still have jobs", v->version,
		         LANES_MAX - 1);
		return;
	}
	next->wanted = *v;
	next->is_coming = true;
	snprintf(next->order, sizeof next->order, "%s", text);
	log_info("broker.version", "type=%s wanted=%s lane=%u", t->name, v->version, next->lane);
	type_start(next, 0);
}

static const char *name_of(const struct version *v)
{
	return v->version[0] ? v->version : "of the type's own file";
}

/* It goes as it came; nothing of it was ever told to a server. */
static void give_up(struct type *t, const char *how)
{
	struct type *now = lane_current(t->broker, t->name);
	char why[400];

	snprintf(why, sizeof why, "version %s %s", name_of(&t->wanted), how);
	log_warn("broker.version", "type=%s why=\"%s\"", t->name, why);
	t->is_over = true;
	if (now)
		type_say(now, now->state, "%s", why);
}

/* Before it was ready. */
void lane_came_to_grief(struct type *t, bool is_refused, const char *how)
{
	struct type *now = lane_current(t->broker, t->name);
	char text[400];

	CHECK(t->is_coming && !t->pid);
	if (is_refused) {
		snprintf(text, sizeof text, "is refused: %.300s", how);
		give_up(t, text);
		return;
	}
	uint32_t n = type_count_crash(t);
	if (n < t->broker->settings->loader_crash_max) {
		type_start_later(t);
		return;
	}
	snprintf(text, sizeof text,
	         "is quarantined: %u crashes in ten minutes, the last: %.200s; not started until "
	         "asked",
	         n, how);
	if (now)
		snprintf(now->failed, sizeof now->failed, "%s", t->order);
	give_up(t, text);
}

/* --- out ------------------------------------------------------------------------------------ */

void lane_inherit(struct type *t)
{
	CHECK(!t->pid);
	t->is_heir = true;
	type_start_later(t);
}

static void lane_retire(struct type *t, const char *why)
{
	CHECK(!t->is_retired);
	t->is_retired = true;
	t->is_coming = t->is_again = t->is_disabled = false;
	t->pause_ms = (uint32_t)t->broker->settings->loader_restart_ms;
	type_say(t, TYPE_DRAINING, "%s", why);
	if (!t->pid)
		lane_inherit(t);
	else if (!t->is_met)
		pidfd_send_signal(t->pid_fd, SIGUSR1, NULL, 0);
}

/* Its loader has ended. */
void lane_ended(struct type *t)
{
	CHECK(t->is_retired && !t->pid);
	if (!t->is_over) {
		lane_inherit(t);
		return;
	}
	log_info("broker.lane_over", "type=%s lane=%u version=%s", t->name, t->lane, t->version);
	type_say(t, TYPE_OVER, "%s", "");
}

/* A version that is on its way in is not wanted any more. */
void lane_cancel(struct type *t)
{
	struct type *coming = lane_coming(t);

	if (coming)
		lane_retire(coming, "another version is wanted");
}

/* It is ready: it takes work from now on, and who did so ends when its jobs have. */
void lane_promote(struct type *t)
{
	struct type *former = lane_current(t->broker, t->name);
	char why[200];

	CHECK(t->is_coming && !t->is_retired);
	t->is_coming = false;
	version_note(t, t->order);
	if (!former)
		return;
	snprintf(why, sizeof why, "version %.80s follows", name_of(&t->wanted));
	lane_retire(former, why);
}

void lane_drain(struct type *t)
{
	CHECK(lane_is_current(t));
	struct type *next = t->pid && !t->is_met ? lane_new(t) : NULL;

	lane_cancel(t);
	if (next) {
		next->wanted = t->wanted;
		lane_retire(t, "drained");
		t = next;
	}
	t->is_disabled = true;
	t->is_again = false;
	type_say(t, TYPE_STOPPED, "drained");
}

/* --- when we start ---------------------------------------------------------------------------- */

struct type *lane_meet_retired(struct type *t, uint32_t lane)
{
	CHECK(lane != t->lane);
	struct type *old = type_make(t->broker, t->name);

	old->lane = lane;
	old->slots = t->slots;
	old->is_retired = true;
	old->state = TYPE_DRAINING;
	recall_version(old);
	snprintf(old->text, sizeof old->text, "of an earlier version");
	if (!type_meet(old, SIGUSR1))
		lane_inherit(old);
	return old;
}

/* The last lane is the one that takes work: others were on their way out, or in. */
void lanes_recall(struct type *t)
{
	uint32_t lanes[LANES_MAX];
	size_t n = lane_list(t->broker->state_dir, t->name, lanes, LANES_MAX);

	for (size_t i = 0; i < n; i++)
		t->lane = lanes[i] > t->lane ? lanes[i] : t->lane;
	for (size_t i = 0; i < n; i++)
		if (lanes[i] != t->lane)
			lane_meet_retired(t, lanes[i]);
}
