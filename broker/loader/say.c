/* A loader's words to its broker: one line each, on the status pipe.
 *
 * The broker reads them in taskbroker/types.c. A loader that was started by hand has no pipe and
 * says nothing; one whose broker is gone goes on without being heard. Any thread may speak: a line
 * is one write, shorter than what a pipe takes at once.
 */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "broker/loader/loader.h"
#include "util/check.h"
#include "util/log.h"

void loader_say(const struct loader *l, const char *fmt, ...)
{
	char line[600];
	va_list args;

	if (l->status_fd < 0)
		return;
	va_start(args, fmt);
	int n = vsnprintf(line, sizeof line - 1, fmt, args);

	va_end(args);
	CHECK(n >= 0);
	if (n > (int)sizeof line - 2)
		n = (int)sizeof line - 2;
	for (int i = 0; i < n; i++) {
		if (line[i] == '\n')
			line[i] = ' ';
	}
	line[n] = '\n';
	if (write(l->status_fd, line, (size_t)n + 1) < 0)
		log_warn("loader.no_broker", "nobody reads the status");
}
