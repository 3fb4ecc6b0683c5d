/* Quotes of bash. A word is read without expanding anything, and a name written so that nothing of
 * it means anything to the shell: outside of quotes all but letters, digits and a few signs is
 * behind a backslash; inside, what would end them is. */
#include <stdio.h>
#include <string.h>

#include "admin-console/cli/complete/complete.h"
#include "util/buf.h"
#include "util/visible.h"

char quote_take(const char *typed, struct buf *out)
{
	char open = 0;

	for (const char *p = typed; *p; p++) {
		bool escapes = *p == '\\' && open != '\'' && p[1] &&
		               (!open || strchr("\\\"$`", p[1]));
		if (escapes)
			buf_putc(out, *++p);
		else if (open && *p == open)
			open = 0;
		else if (!open && (*p == '\'' || *p == '"'))
			open = *p;
		else
			buf_putc(out, *p);
	}
	return open;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (unsigned char)c >= 0x80 || (c && strchr("_-./:=@%+,", c));
}

void quote_put(const char *text, char open, struct buf *out)
{
	for (const char *p = text; *p; p++) {
		if (open == '\'' && *p == '\'')
			buf_puts(out, "'\\''");
		else if (open == '"' && *p == '!') /* of the history, behind a backslash too */
			buf_puts(out, "\"'!'\"");
		else if (open ? open == '"' && strchr("\\\"$`", *p) : !is_plain(*p))
			buf_printf(out, "\\%c", *p);
		else
			buf_putc(out, *p);
	}
}

/* --- a candidate --- */

/* Does a terminal show it as it is, on one line? */
static bool is_shown(const char *text)
{
	struct buf shown;
	bool same;

	buf_init(&shown);
	visible_put(text, strlen(text), VISIBLE_LINE, &shown);
	same = strcmp(buf_str(&shown), text) == 0;
	buf_done(&shown);
	return same;
}

void candidate_put(struct typing *t, const char *text, const char *help)
{
	struct buf whole, out;

	if (!text[0] || t->n >= CANDIDATES_MAX || strncmp(text, t->begin, strlen(t->begin)) != 0 ||
	    !is_shown(text))
		return;
	buf_init(&whole);
	buf_init(&out);
	buf_printf(&whole, "%.*s%s", (int)t->head, t->typed, text);
	if (t->bash)
		quote_put(buf_str(&whole) + t->kept, t->quote, &out);
	else
		buf_printf(&out, "%s%s%s", buf_str(&whole), help ? "\t" : "", help ? help : "");
	puts(buf_str(&out));
	fflush(stdout); /* it counts, should the deadline come */
	t->n++;
	buf_done(&out);
	buf_done(&whole);
}
