/* Secrets in the server's own environment, as a container's platform gives them: variables whose
 * names begin with `secret_env_prefix`, and no others. They are copied once, before there are
 * threads; another value takes a restart. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/secret/source.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/param.h"

extern char **environ;

struct env {
	char *prefix, **lines; /* NAME=VALUE, NULL-ended */
};

static int env_check(const struct secret_ref *ref, struct err *err)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_";

	if (ref->key[0])
		return err_set(err, E_INVALID, "a variable has one secret, it takes no key");
	if (!ref->path[0] || strlen(ref->path) > SECRET_PATH_MAX ||
	    ref->path[strspn(ref->path, allowed)])
		return err_set(err, E_INVALID,
		               "path is '%.100s', want the name of a variable: letters, digits "
		               "and _",
		               ref->path);
	return 0;
}

static int env_open(const struct param_baseserver *p, void **ret, struct err *err)
{
	size_t n = 0, prefix = strlen(p->secret_env_prefix);
	struct env *e;

	(void)err;
	if (!prefix)
		return 0;
	*ret = e = mem_new(sizeof *e);
	e->prefix = mem_str(p->secret_env_prefix);
	for (char **v = environ; *v; v++) {
		if (strncmp(*v, e->prefix, prefix) != 0 || !strchr(*v, '='))
			continue;
		e->lines = mem_grow(e->lines, n + 2, sizeof *e->lines);
		e->lines[n++] = mem_str(*v);
		e->lines[n] = NULL;
	}
	return 0;
}

static void env_close(void *self)
{
	struct env *e = self;

	for (char **l = e ? e->lines : NULL; l && *l; l++) {
		explicit_bzero(*l, strlen(*l));
		free(*l);
	}
	if (e) {
		free(e->lines);
		free(e->prefix);
	}
	free(e);
}

static int env_fetch(void *self, const struct secret_ref *ref, struct buf *out,
                     int64_t *ret_lease_us, struct err *err)
{
	const struct env *e = self;
	size_t n = strlen(ref->path);

	*ret_lease_us = 0;
	if (strncmp(ref->path, e->prefix, strlen(e->prefix)) != 0)
		return err_set(err, E_FORBIDDEN,
		               "the variable %.100s does not begin with secret_env_prefix",
		               ref->path);
	for (char **l = e->lines; l && *l; l++) {
		if (strncmp(*l, ref->path, n) == 0 && (*l)[n] == '=') {
			buf_puts(out, *l + n + 1);
			return 0;
		}
	}
	return err_set(err, E_NOT_FOUND, "the server has no variable %.100s", ref->path);
}

const struct source source_env = { "env",     env_check,           env_open, env_close,
	                           env_fetch, "secret_env_prefix", false };
