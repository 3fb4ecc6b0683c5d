/* Fails without a word. */
#include "tests/plugins/good.h"

static int mute_execute(void *self, void *state, const struct runner_job *job,
                        struct runner_result *result)
{
	(void)good_execute(self, state, job, result);
	return RUNNER_FAILED;
}

static const struct runner_plugin plugin = {
	GOOD_HEAD,
	.open = good_open,
	.close = good_close,
	.execute = mute_execute,
};
GOOD_ENTRY(&plugin)
