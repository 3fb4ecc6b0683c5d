#include "tests/plugins/good.h"

int nobody_has_this(void);

static const struct runner_plugin plugin = { GOOD_HEAD, GOOD_CALLS };
GOOD_ENTRY(nobody_has_this() ? &plugin : NULL)
