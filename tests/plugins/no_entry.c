#include "sirdar/runner.h"

RUNNER_EXPORT int runner_something(void);

int runner_something(void)
{
	return 0;
}
