/* Has a name that others could bind to. */
#include "tests/plugins/good.h"

RUNNER_EXPORT int helper_of_its_own(void);
int helper_of_its_own(void)
{
	return 1;
}

static const struct runner_plugin plugin = { GOOD_HEAD, GOOD_CALLS };
GOOD_ENTRY(&plugin)
