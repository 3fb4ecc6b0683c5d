#include "tests/plugins/good.h"

#include <signal.h>

static int bad_open(const struct runner_host *host, void **ret_self)
{
	raise(SIGKILL);
	return good_open(host, ret_self);
}

static const struct runner_plugin plugin = {
	GOOD_HEAD,
	.open = bad_open,
	.close = good_close,
	.execute = good_execute,
};
GOOD_ENTRY(&plugin)
