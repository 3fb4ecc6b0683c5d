/* Versions of a type's plugin: which one the server wants here, kept over our restarts. A file
 * that is not what was registered is refused before the one that runs is touched. */
#include <sirdar/runner.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/link/digest.h"
#include "broker/taskbroker/broker.h"
#include "util/check.h"
#include "util/err.h"
#include "util/log.h"

/* Why not, into ret; "": it may. */
static void versions_judge(struct type *t, const struct version *v, char *ret, size_t cap)
{
	struct version before = t->wanted;
	char is[DIGEST_HEX] = "";
	struct err err = { 0 };

	ret[0] = 0;
	if (!v->version[0])
		return;
	t->wanted = *v;
	char *path = version_path(t);
	t->wanted = before;
	if (v->abi != RUNNER_ABI_MAJOR)
		snprintf(ret, cap,
		         "version %s is refused: registered for ABI %u, this broker speaks %u",
		         v->version, v->abi, RUNNER_ABI_MAJOR);
	else if (digest_file(path, is, &err) < 0)
		snprintf(ret, cap, "version %s is refused: %.300s", v->version, err.text);
	else if (strcmp(is, v->sha256) != 0)
		snprintf(ret, cap, "version %s is refused: %s has the sha256 %s, registered is %s",
		         v->version, path, is, v->sha256);
	free(path);
}

static void drain(struct type *t)
{
	if (t->is_disabled && t->state == TYPE_STOPPED)
		return;
	version_note(t, VERSION_DRAIN);
	lane_drain(t);
}

static bool is_same(const struct version *a, const struct version *b)
{
	return strcmp(a->version, b->version) == 0 && strcmp(a->sha256, b->sha256) == 0;
}

/* Nothing of it runs: the next loader is of this version. */
static void versions_want(struct type *t, const struct version *v, const char *text, bool same)
{
	version_note(t, text);
	t->failed[0] = 0;
	t->wanted = *v;
	if (!same || t->is_disabled)
		type_enable(t);
}

void version_again(struct type *t)
{
	char text[sizeof t->failed];

	memcpy(text, t->failed, sizeof text);
	t->failed[0] = 0;
	if (text[0])
		version_order(t, text);
}

void version_order(struct type *t, const char *text)
{
	const struct type *coming = lane_coming(t);
	struct version v;
	char why[400];

	CHECK(lane_is_current(t));
	if (strcmp(text, VERSION_DRAIN) == 0) {
		drain(t);
		return;
	}
	if (!version_parse(text, &v))
		return; /* of a later version */
	if (coming && is_same(&v, &coming->wanted))
		return;
	bool same = is_same(&v, &t->wanted);
	versions_judge(t, &v, why, sizeof why);
	if (why[0] && !same) {
		log_warn("broker.version", "type=%s why=\"%s\"", t->name, why);
		type_say(t, t->state, "%s", why);
		return;
	}
	lane_cancel(t);
	if (!t->pid || t->is_met || t->is_disabled) {
		versions_want(t, &v, text, same);
	} else if (same) {
		if (t->failed[0] || (t->text[0] && t->state == TYPE_READY))
			type_say(t, t->state, "%s", ""); /* of a version that is wanted no more */
		t->failed[0] = 0;
	} else if (t->failed[0] && strcmp(t->failed, text) == 0) {
		type_tell(t); /* until it is released */
	} else {
		lane_begin(t, &v, text);
	}
}
