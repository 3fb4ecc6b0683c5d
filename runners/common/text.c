#include "runners/common/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct text *t, size_t len)
{
	size_t cap = t->cap ? t->cap : 256;

	while (cap < t->len + len + 1)
		cap *= 2;
	if (cap == t->cap)
		return true;
	char *at = realloc(t->at, cap);

	if (!at)
		return false;
	t->at = at;
	t->cap = cap;
	return true;
}

void text_add(struct text *t, const char *bytes, size_t len)
{
	if (t->max && len > t->max - t->len) {
		t->is_over = true;
		len = t->max - t->len;
	}
	if (len > SIZE_MAX / 4 || !make_room(t, len)) {
		t->is_over = true;
		return;
	}
	memcpy(t->at + t->len, bytes, len);
	t->len += len;
	t->at[t->len] = 0;
}

void text_str_add(struct text *t, const char *str)
{
	text_add(t, str, strlen(str));
}

void text_addf(struct text *t, const char *fmt, ...)
{
	char *made = NULL;
	va_list args;

	va_start(args, fmt);
	int n = vasprintf(&made, fmt, args);
	va_end(args);
	if (n < 0) {
		t->is_over = true;
		return;
	}
	text_add(t, made, (size_t)n);
	free(made);
}

const char *text_str(const struct text *t)
{
	return t->at ? t->at : "";
}

void text_clear(struct text *t)
{
	t->len = 0;
	t->is_over = false;
	if (t->at)
		t->at[0] = 0;
}

void text_done(struct text *t)
{
	free(t->at);
	*t = (struct text){ .max = t->max };
}
