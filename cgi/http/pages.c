/* The console's files, read once at the start with their packed forms. A file too large, or too
 * many of them, is an error at the start: it is what an administrator installed. Folders below
 * DEPTH_MAX are left out. A path is looked up in the table and never opened, so that no request
 * reaches another file. */
#include "cgi/http/pages.h"

#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/err.h"
#include "util/fs.h"

#define FILE_BYTES_MAX  ((size_t)8 << 20)
#define TOTAL_BYTES_MAX ((size_t)64 << 20)
#define FILES_MAX       2000
#define DEPTH_MAX       4

struct pages {
	struct page *all;
	size_t n;
	size_t bytes;
};

static const struct {
	const char *ending, *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".json", "application/json; charset=utf-8" },
	{ ".webmanifest", "application/manifest+json; charset=utf-8" },
	{ ".svg", "image/svg+xml; charset=utf-8" },
	{ ".png", "image/png" },
	{ ".ico", "image/x-icon" },
	{ ".txt", "text/plain; charset=utf-8" },
	{ ".woff2", "font/woff2" },
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

static const char *type_of(const char *path)
{
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (ends_with(path, types[i].ending))
			return types[i].type;
	return "application/octet-stream";
}

static void etags_make(struct page *p)
{
	unsigned char sum[16];
	char hex[33];

	crypto_generichash(sum, sizeof sum, buf_at(&p->plain), p->plain.len, NULL, 0);
	sodium_bin2hex(hex, sizeof hex, sum, sizeof sum);
	snprintf(p->etag, sizeof p->etag, "\"%s\"", hex);
	snprintf(p->etag_gzip, sizeof p->etag_gzip, "\"%s-gz\"", hex);
}

static int file_load(struct pages *all, const char *dir, const char *path, struct err *err)
{
	struct page *p;
	char *name = mem_fmt("%s/%s", dir, path);
	char *packed = mem_fmt("%s.gz", name);
	int r = 0;

	if (all->n == FILES_MAX) {
		r = err_set(err, E_TOO_BIG, "%s has more than %d files", dir, FILES_MAX);
		goto out;
	}
	all->all = mem_grow(all->all, all->n + 1, sizeof *all->all);
	p = &all->all[all->n++];
	memset(p, 0, sizeof *p);
	buf_init(&p->plain);
	buf_init(&p->gzip);
	p->path = mem_str(path);
	p->type = type_of(path);
	p->immutable = strncmp(path, "assets/", strlen("assets/")) == 0;
	r = fs_read(name, FILE_BYTES_MAX, &p->plain, err);
	if (r == 0) {
		struct err none = { 0 };
		int packed_r = fs_read(packed, FILE_BYTES_MAX, &p->gzip, &none);

		if (packed_r < 0 && packed_r != E_NOT_FOUND)
			r = err_set(err, packed_r, "%s", none.text);
	}
	all->bytes += p->plain.len + p->gzip.len;
	if (r == 0 && all->bytes > TOTAL_BYTES_MAX)
		r = err_set(err, E_TOO_BIG, "%s holds more than %zu MiB", dir,
		            TOTAL_BYTES_MAX >> 20);
	if (r == 0)
		etags_make(p);
out:
	free(name);
	free(packed);
	return r;
}

static int folder_load(struct pages *all, const char *dir, const char *below, int depth,
                       struct err *err)
{
	char *place = mem_fmt("%s/%s", dir, below);
	DIR *d = opendir(place);
	struct dirent *e;
	int r = 0;

	if (!d) {
		r = err_set(err, errno == ENOENT ? E_NOT_FOUND : E_IO, "%s: %m", place);
		goto out;
	}
	while (r == 0 && (e = readdir(d))) {
		char *path;

		if (e->d_name[0] == '.' || ends_with(e->d_name, ".gz"))
			continue;
		path = mem_fmt("%s%s%s", below, below[0] != '\0' ? "/" : "", e->d_name);
		if (e->d_type == DT_DIR)
			r = depth < DEPTH_MAX ? folder_load(all, dir, path, depth + 1, err) : 0;
		else
			r = file_load(all, dir, path, err);
		free(path);
	}
	closedir(d);
out:
	free(place);
	return r;
}

int pages_load(const char *dir, const char *first, struct pages **ret_pages, struct err *err)
{
	struct pages *p = mem_new(sizeof *p);
	int r = folder_load(p, dir, "", 0, err);

	if (r == 0 && !pages_find(p, first))
		r = err_set(err, E_NOT_FOUND, "%s has no %s", dir, first);
	if (r < 0) {
		pages_free(p);
		return r;
	}
	*ret_pages = p;
	return 0;
}

void pages_free(struct pages *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		free(p->all[i].path);
		buf_done(&p->all[i].plain);
		buf_done(&p->all[i].gzip);
	}
	free(p->all);
	free(p);
}

const struct page *pages_find(const struct pages *p, const char *path)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->all[i].path, path) == 0)
			return &p->all[i];
	return NULL;
}

bool page_etag_in(const char *list, const char *etag)
{
	size_t n = strlen(etag);

	if (!list)
		return false;
	while (*list != '\0') {
		list += strspn(list, " \t,");
		if (strncmp(list, "W/", 2) == 0)
			list += 2;
		if (*list == '*')
			return true;
		if (strncmp(list, etag, n) == 0 && strchr(" \t,", list[n]))
			return true;
		list += strcspn(list, ",");
	}
	return false;
}
