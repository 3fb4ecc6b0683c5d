#include "etcd/base64.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_put(struct buf *out, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < n; i += 3) {
		size_t left = n - i;
		uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
		             (left > 2 ? p[i + 2] : 0);
		buf_putc(out, digits[v >> 18]);
		buf_putc(out, digits[v >> 12 & 63]);
		buf_putc(out, left > 1 ? digits[v >> 6 & 63] : '=');
		buf_putc(out, left > 2 ? digits[v & 63] : '=');
	}
}

/* -1: no digit. */
static int value_of(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

int base64_take(const char *text, char **ret_bytes, size_t *ret_n)
{
	size_t len = strlen(text), n = 0;
	size_t pad = len && text[len - 1] == '=' ? 1 + (len > 1 && text[len - 2] == '=') : 0;
	uint32_t v = 0;

	if (len % 4)
		return E_INVALID;
	char *out = mem_new(len / 4 * 3 + 1);
	for (size_t i = 0; i < len; i++) {
		int d = i >= len - pad ? 0 : value_of(text[i]);
		if (d < 0) {
			free(out);
			return E_INVALID;
		}
		v = v << 6 | (uint32_t)d;
		if (i % 4 == 3) {
			out[n++] = (char)(v >> 16);
			out[n++] = (char)(v >> 8);
			out[n++] = (char)v;
			v = 0;
		}
	}
	n -= pad;
	out[n] = 0;
	*ret_bytes = out;
	*ret_n = n;
	return 0;
}
