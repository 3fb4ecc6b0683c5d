#include "tests/plugins/good.h"

static const struct runner_plugin plugin = { GOOD_HEAD, GOOD_CALLS };
GOOD_ENTRY(plugin.size ? NULL : &plugin)
