/* Secrets in files below one directory (`secret_files_dir`), as an administrator or a platform puts
 * them there: mode 0600 or 0400, of root or of the server's user, like every file with a secret
 * (lib/util/trust.h judges the way to it). The end of the last line is no part of the value. */
#include <stdlib.h>

#include "baseserver/secret/source.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/param.h"

static int file_check(const struct secret_ref *ref, struct err *err)
{
	if (ref->key[0])
		return err_set(err, E_INVALID, "a file has one secret, it takes no key");
	if (!source_path_ok(ref->path))
		return err_set(err, E_INVALID,
		               "path is '%.100s', want a path below secret_files_dir: names of "
		               "letters, digits and _ . - between slashes",
		               ref->path);
	return 0;
}

static int file_open(const struct param_baseserver *p, void **ret, struct err *err)
{
	(void)err;
	*ret = p->secret_files_dir[0] ? mem_str(p->secret_files_dir) : NULL;
	return 0;
}

static int file_fetch(void *self, const struct secret_ref *ref, struct buf *out,
                      int64_t *ret_lease_us, struct err *err)
{
	char *path = mem_fmt("%s/%s", (const char *)self, ref->path);
	int r = source_line(path, false, out, err);

	*ret_lease_us = 0;
	free(path);
	return r == E_IO ? E_NOT_FOUND : r; /* another file may well be read */
}

const struct source source_file = { "file",     file_check,         file_open, free,
	                            file_fetch, "secret_files_dir", false };
