/* The table of sources, and what they share. */
#include "baseserver/secret/source.h"

#include <string.h>

#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"

static const struct source *const sources[] = {
#define SOURCE(name) &source_##name,
#include "baseserver/secret/sources.def"
#undef SOURCE
};

const char source_names[] =
#define SOURCE(name) #name ", "
#include "baseserver/secret/sources.def"
#undef SOURCE
	;

const struct source *source_find(const char *from)
{
	for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
		if (strcmp(sources[i]->name, from) == 0)
			return sources[i];
	return NULL;
}

int source_check(const struct secret_ref *ref, struct err *err)
{
	const struct source *s = source_find(ref->from);

	if (!s)
		return err_set(err, E_INVALID, "there is no source of secrets '%.60s': want %.*s",
		               ref->from, (int)strlen(source_names) - 2, source_names);
	return s->check(ref, err);
}

bool source_path_ok(const char *path)
{
	size_t n = strlen(path);
	char name[SECRET_PATH_MAX + 1];

	if (n == 0 || n > SECRET_PATH_MAX || path[n - 1] == '/')
		return false;
	for (const char *at = path; *at; at += at[n] ? n + 1 : n) {
		n = strcspn(at, "/");
		memcpy(name, at, n);
		name[n] = 0;
		if (!fs_name_ok(name, SECRET_PATH_MAX))
			return false;
	}
	return true;
}

void source_wipe(struct buf *b)
{
	if (b->len)
		explicit_bzero((uint8_t *)(uintptr_t)buf_at(b), b->len);
	buf_clear(b);
}

int source_line(const char *path, bool is_open, struct buf *out, struct err *err)
{
	size_t before = out->len;
	int r = is_open ? fs_read_trusted(path, SECRET_BYTES_MAX, out, err)
	                : fs_read_secret(path, SECRET_BYTES_MAX, out, err);
	if (r < 0)
		return r;
	if (out->len > before && buf_at(out)[out->len - 1] == '\n')
		out->len--;
	if (out->len > before && buf_at(out)[out->len - 1] == '\r')
		out->len--;
	return 0;
}
