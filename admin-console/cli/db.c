/* `sirdar db ...` is the program sirdar-db: it opens stores, which nothing of this layer does. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

int cmd_db(struct cli *cli, int argc, char **argv)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
	char *slash;

	(void)cli;
	(void)argc;
	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	memcpy(slash ? slash + 1 : path, "sirdar-db", sizeof "sirdar-db");
	argv[0] = path;
	execv(path, argv);
	return cli_fail(CLI_USAGE, "%s: %s", path, strerror(errno));
}
