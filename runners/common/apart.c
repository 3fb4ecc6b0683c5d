/* An attempt that touches files leaves the broker's process, where the machine has a user for each
 * project. What it may connect to goes with it as this process reads it: the file may be root's. */
#include "runners/common/apart.h"

#include <stdlib.h>

#include "runners/common/guard.h"
#include "runners/common/run.h"
#include "sirdar/apart.h"

static const struct runner_apart *apart_of(const struct runner_host *host)
{
	return host->extension(host->ctx, RUNNER_APART_ID);
}

int apart_open(const struct runner_host *lent, void **ret_self)
{
	apart_of(lent);
	return run_open(lent, ret_self);
}

bool apart_is_wanted(const struct run *r)
{
	return apart_of(r->host) != NULL;
}

int apart_begin(const struct run *r)
{
	const struct runner_apart *apart = apart_of(r->host);
	char why[RUNNER_TEXT_BYTES], *egress = NULL;

	if (!apart)
		return 0;
	/* One that cannot be read allows nothing, there as here. */
	if (guard_text(&egress, why, sizeof why) < 0)
		return run_end(r, RUNNER_INFRA, "%s", why), RUNNER_FAILED;
	int answer = apart->begin(r->job, egress);

	free(egress);
	return answer;
}
