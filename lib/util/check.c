#include "util/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void check_failed(const char *file, int line, const char *what)
{
	char text[512];
	int n = snprintf(text, sizeof text, "bug: %s:%d: CHECK(%s) failed\n", file, line, what);

	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
		abort();
	abort();
}
