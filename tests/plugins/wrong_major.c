#include "tests/plugins/good.h"

static const struct runner_plugin plugin = {
	.size = sizeof(struct runner_plugin),
	.abi_major = RUNNER_ABI_MAJOR + 1,
	.name = "test",
	.version = "1",
	GOOD_CALLS,
};
GOOD_ENTRY(&plugin)
