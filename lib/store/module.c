#include "store/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store_impl.h"
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

static void *open_beside(const char *name, char tried[PATH_MAX])
{
	static const char *const places[] = { "../lib/sirdar/modules", "../modules" };
	char dir[PATH_MAX];
	void *handle = NULL;

	own_directory(dir);
	for (size_t i = 0; i < sizeof places / sizeof places[0] && !handle; i++) {
		if (snprintf(tried, PATH_MAX, "%s/%s/store_%s.so", dir, places[i], name) >=
		    PATH_MAX)
			continue;
		/* A file that is there and does not load is the one to tell about. */
		if (access(tried, F_OK) == 0 || i + 1 == sizeof places / sizeof places[0]) {
			handle = dlopen(tried, RTLD_NOW | RTLD_LOCAL);
			break;
		}
	}
	return handle;
}

static int load(const char *name, const struct store_module **ret, struct err *err)
{
	char tried[PATH_MAX] = "";
	const struct store_module *m;
	void *handle = open_beside(name, tried);

	if (!handle)
		return err_set(err, E_NOT_FOUND, "the store's module %s does not load: %s", tried,
		               dlerror());
	m = dlsym(handle, STORE_MODULE_SYMBOL);
	if (!m)
		return err_set(err, E_ABI, "%s is no store's module: %s", tried, dlerror());
	if (m->abi != STORE_MODULE_ABI || m->ops_size != sizeof(struct store_ops) ||
	    m->batch_size != sizeof(struct store_batch))
		return err_set(err, E_ABI, "%s was built for another version of Sirdar", tried);
	*ret = m;
	return 0;
}

int store_module_load(const char *name, const struct store_ops **ret_ops,
                      const struct read_ops **ret_reading, struct err *err)
{
	const struct store_module *m = NULL;
	int r = load(name, &m, err);

	if (r < 0)
		return r;
	if (ret_ops)
		*ret_ops = m->ops;
	if (ret_reading)
		*ret_reading = m->reading;
	return 0;
}

int store_module_load_admin(const char *name, const struct admin_ops **ret, struct err *err)
{
	const struct store_module *m = NULL;
	int r = load(name, &m, err);

	if (r == 0)
		*ret = m->admin;
	return r;
}
