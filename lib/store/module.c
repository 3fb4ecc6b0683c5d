#include "store/module.h"

#include <stdio.h>

#include "store/store_impl.h"
#include "util/err.h"
#include "util/module.h"

static int load(const char *name, const struct store_module **ret, struct err *err)
{
	const void *found = NULL;
	char file[64];

	snprintf(file, sizeof file, "store_%.40s.so", name);
	int r = module_load(file, "the store's module", STORE_MODULE_SYMBOL, &found, err);
	if (r < 0)
		return r;
	const struct store_module *m = found;
	if (m->abi != STORE_MODULE_ABI || m->ops_size != sizeof(struct store_ops) ||
	    m->batch_size != sizeof(struct store_batch))
		return err_set(err, E_ABI, "%s was built for another version of Sirdar", file);
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
