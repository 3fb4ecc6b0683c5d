/* The web console below /ui/, from the files of web_dir; the manual below /docs/, from docs_dir;
 * and the plain status page, whose files are inside the program, so that it is there wherever the
 * program is. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/route.h"
#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/pack.h"
#include "cgi/http/pages.h"
#include "util/alloc.h"
#include "util/check.h"

#define FILE_IN(name, path) \
	__asm__(".section .rodata\n" \
	        ".global " #name "\n" #name ":\n.incbin \"" path "\"\n" \
	        ".global " #name "_end\n" #name "_end:\n.byte 0\n.previous\n"); \
	extern const char name[], name##_end[]

FILE_IN(page_html, "admin-console/web/status.html");
FILE_IN(page_script, "admin-console/web/status.js");
FILE_IN(page_style, "admin-console/web/status.css");

static int file_reply(struct call *c, const char *type, const char *from, const char *end)
{
	return reply_bytes(c, MHD_HTTP_OK, type, from, (size_t)(end - from));
}

int status_page_get(struct call *c)
{
	return file_reply(c, "text/html; charset=utf-8", page_html, page_html_end);
}

int page_script_get(struct call *c)
{
	return file_reply(c, "text/javascript; charset=utf-8", page_script, page_script_end);
}

int page_style_get(struct call *c)
{
	return file_reply(c, "text/css; charset=utf-8", page_style, page_style_end);
}

/* --- the console ------------------------------------------------------------------------------ */

#define CACHE_FOR_EVER "public, max-age=31536000, immutable"
#define CACHE_ASK      "no-cache"

static void page_header(struct MHD_Response *r, const char *name, const char *value)
{
	CHECK(MHD_add_response_header(r, name, value) == MHD_YES);
}

/* The compressed form to who takes it; 304 to who has it already. */
static int page_reply(struct call *c, const struct page *p)
{
	bool packed = p->gzip.len > 0 && pack_taken(call_header(c, "Accept-Encoding"), "gzip");
	const struct buf *b = packed ? &p->gzip : &p->plain;
	const char *etag = packed ? p->etag_gzip : p->etag;
	bool known = page_etag_in(call_header(c, "If-None-Match"), etag);
	struct MHD_Response *r = MHD_create_response_from_buffer(
		known ? 0 : b->len, (void *)(uintptr_t)buf_at(b), MHD_RESPMEM_PERSISTENT);

	CHECK(r);
	page_header(r, "Content-Type", p->type);
	page_header(r, "ETag", etag);
	page_header(r, "Cache-Control", p->immutable ? CACHE_FOR_EVER : CACHE_ASK);
	page_header(r, "Vary", "Accept-Encoding");
	if (packed)
		page_header(r, "Content-Encoding", "gzip");
	return reply_queue(c, known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, r);
}

int reply_to(struct call *c, const char *to)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "",
	                                                         MHD_RESPMEM_PERSISTENT);

	CHECK(r);
	page_header(r, "Location", to);
	if (c->cookie[0] != '\0')
		page_header(r, "Set-Cookie", c->cookie);
	return reply_queue(c, MHD_HTTP_FOUND, r);
}

int page_get(struct call *c)
{
	return c->cgi->pages ? reply_to(c, "/ui/") : status_page_get(c);
}

/* An instance by its label: the console reads the rest of the address. */
int link_get(struct call *c)
{
	char *to = mem_fmt("/ui%s", c->raw);
	int r = reply_to(c, to);

	free(to);
	return r;
}

/* A file, or the one page that shows every path of the console. */
int console_get(struct call *c)
{
	const char *path = c->params[0];
	const struct page *p;

	if (!c->cgi->pages)
		return reply_to(c, "/");
	p = pages_find(c->cgi->pages, path);
	if (!p && strncmp(path, "assets/", strlen("assets/")) == 0)
		return call_fail(c, E_NOT_FOUND, "path", "no such file of the console");
	return page_reply(c, p ? p : pages_find(c->cgi->pages, "index.html"));
}

/* --- the manual ------------------------------------------------------------------------------- */

/* Its links are relative: they need the blank end of /docs/. */
int manual_root_get(struct call *c)
{
	return reply_to(c, "/docs/");
}

int manual_get(struct call *c)
{
	const char *path = c->params[0][0] != '\0' ? c->params[0] : "index.html";
	const struct page *p = c->cgi->docs ? pages_find(c->cgi->docs, path) : NULL;

	if (p)
		return page_reply(c, p);
	if (c->cgi->docs)
		return call_fail(c, E_NOT_FOUND, "path", "no such page of the manual");
	return call_fail(c, E_NOT_FOUND, "docs_dir",
	                 "the manual is not installed here: make book builds it");
}

/* --- the schemas of documents ----------------------------------------------------------------- */

int schema_get(struct call *c)
{
	static const char *const no_args[] = { NULL };
	char file[CALL_PARAM_BYTES + sizeof ".json"];

	if (call_args_only(c, no_args) < 0)
		return c->err.code;
	snprintf(file, sizeof file, "%s.json", c->params[0]);
	const struct page *p = c->cgi->schemas ? pages_find(c->cgi->schemas, file) : NULL;

	if (p)
		return page_reply(c, p);
	return call_fail(c, E_NOT_FOUND, "kind", "no such kind of document: '%s'", c->params[0]);
}
