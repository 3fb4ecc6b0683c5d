/* Files that a task names are opened inside the broker's process: they may not lie where the
 * broker has its own. Judged is where the path really leads, and that is what is opened. */
#include "runners/common/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runners/common/run.h"
#include "sirdar/kept.h"

/* Its folder is there; of the last name only the folder is resolved. */
static char *in_folder(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	char *real = folder ? realpath(folder, NULL) : NULL, *whole = NULL;

	free(folder);
	if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
		errno = EISDIR;
	} else if (real && asprintf(&whole, "%s/%s", strcmp(real, "/") ? real : "", name) < 0) {
		whole = NULL;
	}
	free(real);
	return whole;
}

static char *place_resolve(const char *path, bool follows)
{
	char *real = follows ? realpath(path, NULL) : in_folder(path);
	struct stat st;

	if (real || !follows || errno != ENOENT)
		return real;
	if (lstat(path, &st) < 0)
		return in_folder(path);
	/* A link that leads to nothing would be made there; a file was made since by another
	 * job. */
	errno = ENOENT;
	return S_ISLNK(st.st_mode) ? NULL : realpath(path, NULL);
}

/* What is not there yet may not be made by a job either. */
static bool is_in(const char *path, const char *kept)
{
	char *real = place_resolve(kept, true);
	size_t len = real ? strlen(real) : 0;
	const bool is = real && strncmp(path, real, len) == 0 && (!path[len] || path[len] == '/');

	free(real);
	return is;
}

char *place_of(const struct run *r, const char *path, bool follows, char *ret_why, size_t why_bytes)
{
	const struct runner_kept *kept = r->host->extension(r->host->ctx, RUNNER_KEPT_ID);
	char *real = place_resolve(path, follows);

	if (!real) {
		const char *why = strerrordesc_np(errno);

		snprintf(ret_why, why_bytes, "%.120s: cannot be made: %s", path,
		         why ? why : "error");
		return NULL;
	}
	for (uint32_t i = 0; kept && i < kept->n; i++) {
		if (!is_in(real, kept->paths[i]))
			continue;
		snprintf(
			ret_why, why_bytes,
			"%.80s is kept from jobs: %.60s is the broker's own; choose another folder",
			path, kept->paths[i]);
		free(real);
		errno = EPERM;
		return NULL;
	}
	return real;
}
