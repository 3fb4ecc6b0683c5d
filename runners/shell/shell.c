#include "sirdar/runner.h"
static const struct runner_plugin plugin;
const struct runner_plugin *runner_entry(void)
{
	return &plugin;
}
