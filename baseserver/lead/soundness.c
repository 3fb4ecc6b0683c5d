/* Before a server leads, it asks whether the store is whole and has all that it had.
 *
 * It asks three questions, in this order. Is this the store that the server knows (the anchor)?
 * Can it be read (for a second, or wholly where damage was noted)? Do its last commits verify? A
 * store that fails one of them leads nobody: the process ends with an exit code of its own and
 * says what people may do. Nothing is written to the store. The scrubber reads the rest of a large
 * store later. */
#include "baseserver/lead/soundness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "baseserver/lead/site.h"
#include "store/anchor.h"
#include "store/tip.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/log.h"
#include "util/param.h"

/* A small store is looked at whole; the rest of a large one by the scrubber. */
#define LOOK_US US_PER_S

static const struct {
	int code, status;
} ends[] = {
	{ E_DAMAGED, EX_DATAERR }, /* 65 */
	{ E_LOST, EX_NOINPUT },    /* 66 */
	{ E_STRANGER, EX_NOUSER }, /* 67 */
};

int soundness_exit(int code)
{
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (ends[i].code == code)
			return ends[i].status;
	return 0;
}

const char *soundness_advice(int code)
{
	if (!soundness_exit(code))
		return NULL;
	return "  Nothing was handed out. Three ways on: 1. put back a whole copy of the "
	       "store (a back-up); 2. let a server lead that has one; 3. accept that work is lost, "
	       "which may run again: `sirdar db accept-loss URL`. See the manual, \"A store that "
	       "is damaged or lost work\".\n";
}

static char *note_path(const struct site *site)
{
	return mem_fmt("%s/" DAMAGED_FILE, site->p->state_dir);
}

void soundness_note_damage(const struct site *site, const char *text)
{
	char *path = note_path(site);
	struct err err = { 0 };

	if (fs_write(path, text, strlen(text), 0600, &err) < 0)
		log_error("store.damage-not-noted", "text=\"%s\"", err.text);
	free(path);
}

/* Without a bound where damage was seen before. */
static int soundness_look(const struct site *site, struct store *s, struct err *err)
{
	char *note = note_path(site);
	bool noted = access(note, F_OK) == 0;
	int r = store_inspect(s, noted ? 0 : LOOK_US, err);

	if (r == 0 && noted && unlink(note) == 0)
		log_info("store.whole", "text=\"what %s told of is not in the store any more\"",
		         note);
	free(note);
	return r == E_AGAIN ? 0 : r;
}

/* Without what follows the name of the database, and might be private. */
static void name_of(const struct site *site, char *to, size_t cap)
{
	snprintf(to, cap < 120 ? cap : 120, "%.*s", (int)strcspn(site->store_url, "?"),
	         site->store_url);
}

int soundness_check(const struct site *site, struct store *s, struct err *err)
{
	struct store_tip t = { 0 };
	char name[120];
	int r = store_read_tip(s, &t, err);

	name_of(site, name, sizeof name);
	if (r == E_UNSUPPORTED)
		return 0;
	if (r == 0)
		r = anchor_check(site->p->state_dir, name, s, &t, err);
	if (r == 0)
		r = soundness_look(site, s, err);
	if (r == 0)
		r = store_verify(s, &t, err);
	return r;
}
