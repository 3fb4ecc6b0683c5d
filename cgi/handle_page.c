/* The status page, until the console comes: its files are inside the program, so that it is
 * there wherever the program is. */
#include <stddef.h>

#include "cgi/call.h"
#include "cgi/route.h"

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

int page_get(struct call *c)
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
