#include "store/sql_text.h"

#include <ctype.h>
#include <string.h>

#include "util/buf.h"
#include "util/check.h"

void sql_put_int(struct buf *b, int64_t v)
{
	char digits[20], *at = digits + sizeof digits;
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;
	uint8_t *to = buf_room(b, sizeof digits + 1);
	size_t n;

	do
		*--at = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		*to = '-';
	n = (size_t)(digits + sizeof digits - at);
	CHECK(n >= 1 && n <= sizeof digits);
	memcpy(to + (v < 0), at, n);
	buf_added(b, n + (v < 0));
}

static void put_name(struct buf *b, const char *name)
{
	for (const char *at = name; *at; at++)
		CHECK(isalnum((unsigned char)*at) || *at == '_');
	buf_puts(b, name);
}

void sql_vput(struct buf *b, sql_quote *quote, void *ctx, const char *text, const char *types,
              va_list ap)
{
	for (const char *end; *text; text = end) {
		end = text + strcspn(text, "?");
		buf_put(b, text, (size_t)(end - text));
		if (!*end)
			break;
		end++;
		const char type = *types++, *value = NULL;
		if (type == 'i') {
			sql_put_int(b, va_arg(ap, int64_t));
		} else if (type == '?') {
			buf_putc(b, '?');
		} else {
			CHECK(type == 't' || type == 'n');
			value = va_arg(ap, const char *);
			if (type == 'n')
				put_name(b, value);
			else
				quote(ctx, b, value ? value : "", value ? strlen(value) : 0);
		}
	}
	CHECK(!*types);
}

void sql_put(struct buf *b, sql_quote *quote, void *ctx, const char *text, const char *types, ...)
{
	va_list ap;

	va_start(ap, types);
	sql_vput(b, quote, ctx, text, types, ap);
	va_end(ap);
}
