/* A plugin of a later minor: its struct has more at the end than this host knows. */
#include "tests/plugins/good.h"

static const struct {
	struct runner_plugin known;
	void (*later[4])(void);
} plugin = {
	.known = {
		.size = sizeof plugin,
		.abi_major = RUNNER_ABI_MAJOR,
		.abi_minor = RUNNER_ABI_MINOR + 3,
		.name = "test",
		.version = "2",
		GOOD_CALLS,
	},
};
GOOD_ENTRY(&plugin.known)
