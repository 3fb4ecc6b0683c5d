#include "tests/plugins/good.h"

static const struct runner_plugin plugin = {
	GOOD_HEAD,
	.open = good_open,
	.close = good_close,
};
GOOD_ENTRY(&plugin)
