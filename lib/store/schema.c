#include "store/schema.h"

#include <inttypes.h>

#include "util/err.h"

int schema_check(int64_t version, int64_t floor, size_t have, struct err *err)
{
	if (version == (int64_t)have)
		return 0;
	if (version < (int64_t)have)
		return err_set(err, E_VERSION,
		               "the store has schema %" PRId64 ", this program knows %zu: a server "
		               "of this release has to have it first",
		               version, have);
	if (floor > 0 && floor <= (int64_t)have)
		return 0;
	if (floor > 0)
		return err_set(
			err, E_VERSION,
			"the store has schema %" PRId64 " and serves programs from schema %" PRId64
			" on, this program knows up to %zu: it is more than one release behind",
			version, floor, have);
	return err_set(err, E_VERSION,
	               "the store has schema %" PRId64 ", this program knows up to %zu", version,
	               have);
}
