#include "broker/link/lane.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"

#define PREFIX "loader."
#define SUFFIX ".lock"

char *lane_name(const char *type, uint32_t lane)
{
	CHECK(type[0]); /* "": the broker's own, which has no lane */
	return lane ? mem_fmt("%s@%u", type, lane) : mem_str(type);
}

#define GUESTS "guests/" /* no type's name has a slash */

char *lane_of_guests(const char *name)
{
	return mem_fmt(GUESTS "%s", name);
}

bool lane_is_of_guests(const char *name)
{
	return strncmp(name, GUESTS, sizeof GUESTS - 1) == 0;
}

char *lane_lock(const char *state_dir, const char *type, uint32_t lane)
{
	char *name = lane_name(type, lane);
	char *path = mem_fmt("%s/" PREFIX "%s" SUFFIX, state_dir, name);

	free(name);
	return path;
}

static bool read_lane(const char *file, const char *type, uint32_t *ret)
{
	size_t n = strlen(type);
	char *end = NULL;

	if (strncmp(file, PREFIX, sizeof PREFIX - 1) != 0)
		return false;
	file += sizeof PREFIX - 1;
	if (strncmp(file, type, n) != 0)
		return false;
	file += n;
	*ret = 0;
	if (*file == '@') {
		*ret = (uint32_t)strtoul(file + 1, &end, 10);
		file = end;
	}
	return strcmp(file, SUFFIX) == 0;
}

size_t lane_list(const char *state_dir, const char *type, uint32_t *ret_lanes, size_t cap)
{
	DIR *dir = opendir(state_dir);
	size_t n = 0;

	CHECK(cap > 0);

	for (const struct dirent *e; dir && n < cap && (e = readdir(dir));)
		n += read_lane(e->d_name, type, &ret_lanes[n]);
	if (dir)
		closedir(dir);
	return n;
}
