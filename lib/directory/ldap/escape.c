#include "directory/escape.h"

#include <stdio.h>
#include <string.h>

#include "util/buf.h"

static void put_hex(struct buf *out, unsigned char ch)
{
	char hex[4];

	snprintf(hex, sizeof hex, "\\%02x", ch);
	buf_puts(out, hex);
}

/* All but letters, digits and a few signs, as \XX: both kinds of text take that for any byte,
 * and nothing is left that could mean something. */
void escape_ldap(struct buf *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._@-";

	for (const char *p = text; *p; p++)
		if (strchr(plain, *p))
			buf_put(out, p, 1);
		else
			put_hex(out, (unsigned char)*p);
}
