/* Opens a file before anybody has asked for anything. */
#include "tests/plugins/good.h"

#include <fcntl.h>

static const struct runner_plugin plugin = { GOOD_HEAD, GOOD_CALLS };

const struct runner_plugin *runner_entry(void)
{
	(void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
	return &plugin;
}
