/* pages.h — the files of the web console, read once at start and kept in memory.
 *
 * A page is a file below web_dir, by its path there ("index.html", "assets/app-1a2b.js"). A
 * file beside it named `.gz` is its compressed form, not a page. Fixed after pages_load():
 * any thread may read.
 */
#ifndef CGI_PAGES_H
#define CGI_PAGES_H

#include <stdbool.h>

#include "util/buf.h"

#define PAGE_ETAG_MAX 40

struct err;
struct pages;

struct page {
	char *path;
	const char *type;
	struct buf plain, gzip;            /* gzip: empty when there is none */
	char etag[PAGE_ETAG_MAX];          /* with its quotes */
	char etag_gzip[PAGE_ETAG_MAX + 4]; /* of the compressed form */
	bool immutable;                    /* its name holds a hash of what is in it */
};

/* Everything below `dir`.
 *
 *   first   the page that is there when the folder was built
 *   errors  E_NOT_FOUND it is not; E_TOO_BIG, E_IO
 */
int pages_load(const char *dir, const char *first, struct pages **ret_pages, struct err *err);
void pages_free(struct pages *p); /* NULL is fine */

/* NULL: there is none. */
const struct page *pages_find(const struct pages *p, const char *path);

/* Whether a list of entity tags, as in If-None-Match, has this one. */
bool page_etag_in(const char *list, const char *etag);

#endif
