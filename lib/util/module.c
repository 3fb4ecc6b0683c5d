#include "util/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/err.h"
#include "util/trust.h"

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

static int open_beside(const char *file, const char *what, char tried[PATH_MAX], void **ret,
                       struct err *err)
{
	static const char *const places[] = { "../lib/sirdar/modules", "../modules" };
	enum { PLACES = sizeof places / sizeof places[0] };
	char dir[PATH_MAX];
	size_t i = 0;
	int r;

	own_directory(dir);
	for (; i < PLACES; i++) { /* one that is there and does not load is the one to tell about */
		if (snprintf(tried, PATH_MAX, "%s/%s/%s", dir, places[i], file) < PATH_MAX &&
		    access(tried, F_OK) == 0)
			break;
	}
	r = i < PLACES ? trust_check(tried, err) : 0;
	if (r < 0)
		return r;
	*ret = dlopen(tried, RTLD_NOW | RTLD_LOCAL);
	if (*ret)
		return 0;
	return err_set(err, E_NOT_FOUND, "%s %s does not load: %s", what, tried, dlerror());
}

int module_load(const char *file, const char *what, const char *symbol, const void **ret,
                struct err *err)
{
	char tried[PATH_MAX] = "";
	void *handle = NULL;
	int r = open_beside(file, what, tried, &handle, err);

	if (r < 0)
		return r;
	const void *found = dlsym(handle, symbol);
	if (!found)
		return err_set(err, E_ABI, "%s is not %s: %s", tried, what, dlerror());
	*ret = found;
	return 0;
}
