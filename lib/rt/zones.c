/* The time zones of this process: each is read from the machine's zone files when it is first
 * asked for, and stays for good, so that a pointer to it may be kept by anybody. The list is under
 * a lock, the zones in it never change. A name that is none is refused with the nearest that there
 * is; new tzdata counts from the next start on. */
#include "rt/zones.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sched/tz.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/near.h"

#define ZONE_DIR       "/usr/share/zoneinfo"
#define ZONE_NAME_MAX  64
#define ZONE_BYTES_MAX (1 << 20)
#define ZONE_LIST      ZONE_DIR "/tzdata.zi"
#define LIST_BYTES_MAX (4 << 20)

struct zone {
	struct zone *next;
	struct tz *tz;
};

/* The one table of zones of a process; entries are never removed. */
static struct {
	pthread_mutex_t mu;
	struct zone *first;
} zones = { .mu = PTHREAD_MUTEX_INITIALIZER };

/* Names as IANA makes them: no part may begin with a dot, a dash or be empty. */
static bool name_ok(const char *name)
{
	static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789_+-./";
	size_t n = strlen(name);

	if (n == 0 || n > ZONE_NAME_MAX || strspn(name, rest) != n || name[n - 1] == '/')
		return false;
	for (size_t i = 0; i < n; i++)
		if ((i == 0 || name[i - 1] == '/') && strchr("./-+", name[i]))
			return false;
	return true;
}

static void try_name(const char *name, const char *known, int *best, char *ret_near)
{
	const char *city = strrchr(known, '/');
	int d = near_distance(name, known);

	if (city && strcasecmp(city + 1, name) == 0)
		d = 0;
	if (d < *best) {
		*best = d;
		(void)snprintf(ret_near, ZONE_NAME_MAX + 1, "%s", known);
	}
}

/* The nearest name in the list that comes with the zone files ("Z name ..." and
 * "L target name"); empty when none is near. */
static void nearest(const char *name, char ret_near[ZONE_NAME_MAX + 1])
{
	char known[ZONE_NAME_MAX + 1];
	struct buf list;
	int best = 5;

	ret_near[0] = 0;
	if (strlen(name) > ZONE_NAME_MAX)
		return;
	buf_init(&list);
	if (fs_read(ZONE_LIST, LIST_BYTES_MAX, &list, NULL) == 0)
		for (const char *line = buf_str(&list); line && *line;) {
			if (sscanf(line, "Z %64s", known) == 1 ||
			    sscanf(line, "L %*s %64s", known) == 1)
				try_name(name, known, &best, ret_near);
			line = strchr(line, '\n');
			line = line ? line + 1 : NULL;
		}
	buf_done(&list);
}

static int zones_refuse(const char *name, struct err *err)
{
	char near[ZONE_NAME_MAX + 1];

	nearest(name, near);
	if (near[0])
		return err_set(err, E_INVALID, "unknown time zone %.64s: did you mean %s?", name,
		               near);
	return err_set(err, E_INVALID, "unknown time zone %.64s", name);
}

static int zones_load(const char *name, struct tz **ret_tz, struct err *err)
{
	struct buf bytes;
	char *path = mem_fmt("%s/%s", ZONE_DIR, name);
	int r;

	buf_init(&bytes);
	if (fs_read(path, ZONE_BYTES_MAX, &bytes, NULL) < 0)
		r = zones_refuse(name, err);
	else
		r = tz_parse(buf_at(&bytes), bytes.len, name, ret_tz, err);
	buf_done(&bytes);
	free(path);
	return r;
}

int zones_get(const char *name, const struct tz **ret_tz, struct err *err)
{
	struct tz *tz = NULL;
	int r = 0;

	if (strcmp(name, "UTC") == 0) {
		*ret_tz = tz_utc();
		return 0;
	}
	if (!name_ok(name))
		return zones_refuse(name, err);
	pthread_mutex_lock(&zones.mu);
	for (struct zone *z = zones.first; z && !tz; z = z->next)
		if (strcmp(tz_name(z->tz), name) == 0)
			tz = z->tz;
	if (!tz && (r = zones_load(name, &tz, err)) == 0) {
		struct zone *z = mem_new(sizeof *z);
		z->tz = tz;
		z->next = zones.first;
		zones.first = z;
	}
	pthread_mutex_unlock(&zones.mu);
	if (r == 0)
		*ret_tz = tz;
	return r;
}
