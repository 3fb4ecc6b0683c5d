/* The types of this machine: the settings' list, and what changes when it is read again. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>

#include "broker/taskbroker/broker.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"

enum { SLOTS_MAX = 65536, NAME_BYTES = 65 };

static struct type *type_new(struct broker *b, const char *name)
{
	CHECK(!lane_current(b, name)); /* one of a type takes work */
	struct type *t = type_make(b, name);

	lanes_recall(t);
	version_recall(t);
	return t;
}

/* "type:slots" */
static int read_item(const char *item, char ret_name[NAME_BYTES], uint32_t *ret_slots,
                     struct err *err)
{
	const char *colon = strchr(item, ':');
	size_t len = colon ? (size_t)(colon - item) : strlen(item);
	char *end = NULL;
	unsigned long slots = colon ? strtoul(colon + 1, &end, 10) : 1;

	snprintf(ret_name, NAME_BYTES, "%.*s", (int)len, item);
	if (len >= NAME_BYTES || !fs_name_ok(ret_name, NAME_BYTES - 1) ||
	    (end && (*end || end == colon + 1)) || slots < 1 || slots > SLOTS_MAX)
		return err_set(err, E_INVALID, "types has '%.80s', want type:slots, 1..%d slots",
		               item, SLOTS_MAX);
	*ret_slots = (uint32_t)slots;
	return 0;
}

static int take_item(struct broker *b, const char *item, struct err *err)
{
	char name[NAME_BYTES];
	uint32_t slots = 0;
	int r = read_item(item, name, &slots, err);

	if (r < 0)
		return r;
	struct type *t = lane_current(b, name);

	if (!t)
		t = type_new(b, name);
	t->is_unwanted = false;
	if (t->is_leaving) { /* it was off the list for a moment */
		t->is_leaving = false;
		t->slots = slots;
		type_enable(t);
		return 0;
	}
	bool is_other = t->slots != slots;

	t->slots = slots;
	if (t->pid && is_other && !t->is_heir) { /* with the new number of slots */
		t->is_again = true;
		pidfd_send_signal(t->pid_fd, SIGTERM, NULL, 0);
	} else if ((!t->pid || t->is_heir) && !t->is_disabled) {
		type_enable(t);
	}
	return 0;
}

int types_read(struct broker *b, struct err *err)
{
	struct type *next;

	for (struct type *t = b->types; t; t = t->next)
		t->is_unwanted = lane_is_current(t);
	for (size_t i = 0; i < b->settings->types.n; i++) {
		int r = take_item(b, b->settings->types.items[i], err);

		if (r < 0)
			return r;
	}
	for (struct type *t = b->types; t; t = t->next) { /* others go with who takes work */
		const struct type *now = lane_current(b, t->name);

		t->is_unwanted = !now || now->is_unwanted;
		if (t->is_retired && !t->is_unwanted)
			t->is_disabled = t->is_leaving = false;
	}
	for (struct type *t = b->types; t; t = next) {
		next = t->next;
		if (!t->is_unwanted || t->is_heir)
			continue;
		t->is_leaving = true;
		type_stop(t, "no longer among this machine's types");
		if (!t->pid)
			type_free(t);
	}
	return 0;
}

/* It is known as the one that takes work, which it does when the settings name it again; or as
 * another lane of the one that is known. */
struct type *types_orphan(struct broker *b, const char *name, uint32_t lane)
{
	struct type *t = lane_current(b, name);

	if (!t) {
		t = type_new(b, name);
		t->is_unwanted = t->is_leaving = t->is_disabled = true;
		type_say(t, TYPE_STOPPED, "not among this machine's types");
	}
	for (struct type *o = b->types; o; o = o->next)
		if (o->lane == lane && strcmp(o->name, t->name) == 0)
			return o;
	return lane_meet_retired(t, lane);
}

bool types_are_gone(const struct broker *b)
{
	for (const struct type *t = b->types; t; t = t->next) {
		if (t->pid)
			return false;
	}
	return true;
}

/* One that is not ready yet has just read them, and may not be listening. */
void types_reload(struct broker *b)
{
	for (struct type *t = b->types; t; t = t->next)
		if (t->pid && t->is_listening)
			pidfd_send_signal(t->pid_fd, SIGHUP, NULL, 0);
}

void types_free(struct broker *b)
{
	for (struct type *t = b->types, *next; t; t = next) {
		next = t->next;
		type_free(t);
	}
}
