#include "tests/plugins/good.h"

static const struct runner_plugin plugin = {
	.size = offsetof(struct runner_plugin, finish),
	.abi_major = RUNNER_ABI_MAJOR,
	.name = "test",
	.version = "1",
	GOOD_CALLS,
};
GOOD_ENTRY(&plugin)
