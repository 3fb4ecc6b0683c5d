#include "util/param_impl.h"

#include "util/err.h"

int param_load(const struct param_table *t, void *p, const char *path, struct err *err)
{
	(void)t;
	(void)p;
	return err_set(err, E_UNSUPPORTED, "%.200s: settings files are not read yet", path);
}
