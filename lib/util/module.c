#include "util/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/err.h"

/* Where the program's own file is, without its name. */
static void own_directory(char ret[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	char *slash;

	ret[n > 0 ? n : 0] = 0;
	slash = strrchr(ret, '/');
	if (slash)
		*slash = 0;
}

static void *open_beside(const char *file, char tried[PATH_MAX])
{
	static const char *const places[] = { "../lib/sirdar/modules", "../modules" };
	char dir[PATH_MAX];
	void *handle = NULL;

	own_directory(dir);
	for (size_t i = 0; i < sizeof places / sizeof places[0] && !handle; i++) {
		if (snprintf(tried, PATH_MAX, "%s/%s/%s", dir, places[i], file) >= PATH_MAX)
			continue;
		/* A file that is there and does not load is the one to tell about. */
		if (access(tried, F_OK) == 0 || i + 1 == sizeof places / sizeof places[0]) {
			handle = dlopen(tried, RTLD_NOW | RTLD_LOCAL);
			break;
		}
	}
	return handle;
}

int module_load(const char *file, const char *what, const char *symbol, const void **ret,
                struct err *err)
{
	char tried[PATH_MAX] = "";
	void *handle = open_beside(file, tried);

	if (!handle)
		return err_set(err, E_NOT_FOUND, "%s %s does not load: %s", what, tried, dlerror());
	const void *found = dlsym(handle, symbol);
	if (!found)
		return err_set(err, E_ABI, "%s is not %s: %s", tried, what, dlerror());
	*ret = found;
	return 0;
}
