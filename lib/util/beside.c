/* What came with the program, looked for from the folder that the program itself is in. */
#include "util/beside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"

char *beside_program(const char *name)
{
	static const char *const ways[] = { "../share/sirdar", ".." };
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof ways / sizeof *ways; i++) {
		char *dir = mem_fmt("%.*s/%s/%s", (int)(slash - self), self, ways[i], name);
		char *real = realpath(dir, NULL);
		free(dir);
		if (real)
			return real;
	}
	return NULL;
}
