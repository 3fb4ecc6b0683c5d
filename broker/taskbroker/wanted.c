/* Which version of a type's plugin is wanted here: where its file is, and the note that outlives
 * this process.
 *
 * The note is the server's order, word for word: a broker that comes back begins with the version
 * it had. "drain" in it says that the type was drained. A note that does not read counts as none.
 * Whether a version may run is judged in versions.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/taskbroker/broker.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"

/* TYPE-VERSION.so, or TYPE-VERSION.yaml of one that another plugin hosts. */
char *version_path(const struct type *t)
{
	CHECK(t->wanted.version[0]);
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

bool version_parse(const char *text, struct version *ret)
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
		t->is_disabled = strcmp(buf_str(&text), VERSION_DRAIN) == 0;
		if (t->is_disabled || !version_parse(buf_str(&text), &t->wanted))
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
