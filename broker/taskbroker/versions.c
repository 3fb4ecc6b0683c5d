/* Versions of a type's plugin: which one the server wants here, kept over our restarts. A file
 * that is not what was registered is refused before the one that runs is touched. */
#include <signal.h>
#include <sirdar/runner.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "broker/link/digest.h"
#include "broker/taskbroker/broker.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

#define DRAIN "drain"

/* TYPE-VERSION.so, or TYPE-VERSION.yaml of one that another plugin hosts. */
char *version_path(const struct type *t)
{
	const char *dir = t->broker->settings->runners_dir;
	char *path = mem_fmt("%s/%s-%s.so", dir, t->name, t->wanted.version);
	char *manifest = mem_fmt("%s/%s-%s.yaml", dir, t->name, t->wanted.version);
	bool is_hosted = access(path, F_OK) < 0 && access(manifest, F_OK) == 0;

	free(is_hosted ? path : manifest);
	return is_hosted ? manifest : path;
}

static char *note_path(const struct type *t)
{
	return mem_fmt("%s/plugin.%s", t->broker->state_dir, t->name);
}

/* "VERSION ABI SHA256"; "": none, the type's own file runs. */
static bool parse(const char *text, struct version *ret)
{
	int n;

	*ret = (struct version){ 0 };
	if (!text[0])
		return true;
	/* NOLINTNEXTLINE(cert-err34-c): checked below, and by the digest */
	n = sscanf(text, "%63s %u %64s", ret->version, &ret->abi, ret->sha256);
	return n == 3 && fs_name_ok(ret->version, sizeof ret->version - 1);
}

void version_recall(struct type *t)
{
	char *path = note_path(t);
	struct buf text;

	buf_init(&text);
	if (fs_read(path, 1024, &text, NULL) == 0) {
		t->is_disabled = strcmp(buf_str(&text), DRAIN) == 0;
		if (t->is_disabled || !parse(buf_str(&text), &t->wanted))
			t->wanted = (struct version){ 0 };
		if (t->is_disabled)
			type_say(t, TYPE_STOPPED, "drained");
	}
	buf_done(&text);
	free(path);
}

void version_note(const struct type *t, const char *text)
{
	char *path = note_path(t);
	struct err err;

	if (!text[0])
		unlink(path);
	else if (fs_write(path, text, strlen(text), 0600, &err) < 0)
		log_warn("broker.version", "type=%s why=\"%s\"", t->name, err.text);
	free(path);
}

/* Why not, into ret; "": it may. */
static void judge(struct type *t, const struct version *v, char *ret, size_t cap)
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
	version_note(t, DRAIN);
	lane_drain(t);
}

static bool is_same(const struct version *a, const struct version *b)
{
	return strcmp(a->version, b->version) == 0 && strcmp(a->sha256, b->sha256) == 0;
}

/* Nothing of it runs: the next loader is of this version. */
static void want(struct type *t, const struct version *v, const char *text, bool same)
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

	if (strcmp(text, DRAIN) == 0) {
		drain(t);
		return;
	}
	if (!parse(text, &v))
		return; /* of a later version */
	if (coming && is_same(&v, &coming->wanted))
		return;
	bool same = is_same(&v, &t->wanted);
	judge(t, &v, why, sizeof why);
	if (why[0] && !same) {
		log_warn("broker.version", "type=%s why=\"%s\"", t->name, why);
		type_say(t, t->state, why);
		return;
	}
	lane_cancel(t);
	if (!t->pid || t->is_met || t->is_disabled) {
		want(t, &v, text, same);
	} else if (same) {
		if (t->failed[0] || (t->text[0] && t->state == TYPE_READY))
			type_say(t, t->state, ""); /* of a version that is wanted no more */
		t->failed[0] = 0;
	} else if (t->failed[0] && strcmp(t->failed, text) == 0) {
		type_tell(t); /* until it is released */
	} else {
		lane_begin(t, &v, text);
	}
}
