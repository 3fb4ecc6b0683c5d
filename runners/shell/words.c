#include "shell.h"

#include <stdlib.h>
#include <string.h>

int words_add(struct words *w, const char *text, size_t len)
{
	if (w->n + 2 > w->cap) {
		size_t cap = w->cap ? w->cap * 2 : 16;
		char **at = realloc(w->at, cap * sizeof *at);

		if (!at)
			return -1;
		w->at = at;
		w->cap = cap;
	}
	char *copy = malloc(len + 1);

	if (!copy)
		return -1;
	memcpy(copy, text, len);
	copy[len] = 0;
	w->at[w->n++] = copy;
	w->at[w->n] = NULL;
	return 0;
}

void words_done(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->at[i]);
	free(w->at);
	memset(w, 0, sizeof *w);
}

int words_split(struct words *w, const char *text)
{
	for (;;) {
		text += strspn(text, " \t\r\n");
		size_t len = strcspn(text, " \t\r\n");

		if (len == 0)
			return 0;
		if (words_add(w, text, len) < 0)
			return -1;
		text += len;
	}
}

/* Everything a shell gives a meaning to, wherever it stands. `=` before the first space
 * would be an assignment, `~` and `#` count only at a word's start: no need to be finer. */
int command_is_plain(const char *text)
{
	return strpbrk(text, "|&;<>()$`\\\"'*?[]#~=%!{}\n\r") == NULL;
}

static const char *skip_space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static size_t put_utf8(char *out, unsigned code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 63));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 63));
		out[2] = (char)(0x80 | (code & 63));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 63));
	out[2] = (char)(0x80 | (code >> 6 & 63));
	out[3] = (char)(0x80 | (code & 63));
	return 4;
}

static const char *read_hex4(const char *p, unsigned *ret_code)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	unsigned code = 0;

	for (int i = 0; i < 4; i++) {
		const char *d = p[i] ? strchr(digits, p[i]) : NULL;

		if (!d)
			return NULL;
		code = code * 16 + (unsigned)((d - digits) % 16);
	}
	*ret_code = code;
	return p + 4;
}

/* After `\u`: one character, or a pair of surrogates. */
static const char *read_unicode(const char *p, unsigned *ret_code)
{
	unsigned low;

	p = read_hex4(p, ret_code);
	if (!p || *ret_code == 0)
		return NULL;
	if (*ret_code < 0xd800 || *ret_code > 0xdfff)
		return p;
	if (*ret_code > 0xdbff || p[0] != '\\' || p[1] != 'u')
		return NULL;
	p = read_hex4(p + 2, &low);
	if (!p || low < 0xdc00 || low > 0xdfff)
		return NULL;
	*ret_code = 0x10000 + ((*ret_code - 0xd800) << 10) + (low - 0xdc00);
	return p;
}

/* The string that begins at p (a quote); it is never longer unescaped than escaped. */
static const char *read_string(struct words *w, const char *p)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char *text = *p == '"' ? malloc(strlen(p) + 1) : NULL;
	size_t len = 0;
	unsigned code;

	if (!text)
		return NULL;
	for (p++; p && *p != '"';) {
		if (*p == 0) {
			p = NULL;
		} else if (*p != '\\') {
			text[len++] = *p++;
		} else if (p[1] == 'u') {
			p = read_unicode(p + 2, &code);
			len += p ? put_utf8(text + len, code) : 0;
		} else {
			const char *at = p[1] ? strchr(from, p[1]) : NULL;

			p = at ? p + 2 : NULL;
			if (at)
				text[len++] = to[at - from];
		}
	}
	if (p && words_add(w, text, len) < 0)
		p = NULL;
	free(text);
	return p ? p + 1 : NULL;
}

int words_json(struct words *w, const char *text)
{
	const char *p = skip_space(text);

	if (*p != '[')
		return -1;
	p = skip_space(p + 1);
	while (*p != ']') {
		p = read_string(w, p);
		if (!p)
			return -1;
		p = skip_space(p);
		if (*p == ',')
			p = skip_space(p + 1);
		else if (*p != ']')
			return -1;
	}
	return *skip_space(p + 1) == 0 ? 0 : -1;
}
