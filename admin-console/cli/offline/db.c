/* `sirdar db ...` is the program sirdar-db: it opens stores, which nothing of this layer does. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "admin-console/cli/base/verb.h"
#include "util/err.h"

static int db(int argc, char **argv)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
	char *slash;

	(void)argc;
	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	memcpy(slash ? slash + 1 : path, "sirdar-db", sizeof "sirdar-db");
	argv[0] = path;
	execv(path, argv);
	struct err err = { 0 };
	err_sys(&err, E_NOT_FOUND, errno, "%s", path);
	return cli_fail(CLI_USAGE, "%s", err.text);
}

const struct verb verb_db = { .run_line = db };
