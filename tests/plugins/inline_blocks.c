/* Says that it never blocks, and does. */
#include "tests/plugins/good.h"

#include <poll.h>

static int slow_execute(void *self, void *state, const struct runner_job *job,
                        struct runner_result *result)
{
	poll(NULL, 0, 80);
	return good_execute(self, state, job, result);
}

static const struct runner_plugin plugin = {
	GOOD_HEAD,           .flags = RUNNER_INLINE_OK, .open = good_open,
	.close = good_close, .execute = slow_execute,
};
GOOD_ENTRY(&plugin)
