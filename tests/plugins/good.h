/* good.h — the members that the bad plugins have right. */
#ifndef PLUGINS_GOOD_H
#define PLUGINS_GOOD_H

#include "sirdar/runner.h"

static inline int good_open(const struct runner_host *host, void **ret_self)
{
	(void)host;
	*ret_self = NULL;
	return 0;
}

static inline void good_close(void *self)
{
	(void)self;
}

static inline int good_execute(void *self, void *state, const struct runner_job *job,
                               struct runner_result *result)
{
	(void)self;
	(void)state;
	(void)job;
	(void)result;
	return RUNNER_DONE;
}

#define GOOD_HEAD \
	.size = sizeof(struct runner_plugin), .abi_major = RUNNER_ABI_MAJOR, \
	.abi_minor = RUNNER_ABI_MINOR, .name = "test", .version = "1"
#define GOOD_CALLS .open = good_open, .close = good_close, .execute = good_execute
#define GOOD_ENTRY(p) \
	const struct runner_plugin *runner_entry(void) \
	{ \
		return (p); \
	}

#endif
