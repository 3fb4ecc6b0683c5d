/* Says minor 0 and has the size of none: members added without counting the minor up. */
#include "tests/plugins/good.h"

static const struct {
	struct runner_plugin known;
	void (*later)(void);
} plugin = {
	.known = { .size = sizeof plugin,
	           .abi_major = RUNNER_ABI_MAJOR,
	           .name = "test",
	           .version = "1",
	           GOOD_CALLS },
};
GOOD_ENTRY(&plugin.known)
