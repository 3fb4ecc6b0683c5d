#include "util/utf8.h"

#include <string.h>

/* Table 3-7 of the Unicode standard: the second byte's range depends on the first. */
size_t utf8_char(const uint8_t *p, size_t left)
{
	uint8_t c = p[0], low = 0x80, high = 0xbf;
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (n <= 1)
		return c == 0 ? 0 : n;
	if (c == 0xe0)
		low = 0xa0;
	if (c == 0xed)
		high = 0x9f;
	if (c == 0xf0)
		low = 0x90;
	if (c == 0xf4)
		high = 0x8f;
	if (n > left || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/* Eight bytes of ASCII without a NUL? Nearly everything that travels is. */
static bool is_plain(const uint8_t *p)
{
	const uint64_t high = 0x8080808080808080ULL, low = 0x0101010101010101ULL;
	uint64_t w;

	memcpy(&w, p, sizeof w);
	return !((w | (w - low)) & high);
}

bool utf8_is_text(const uint8_t *p, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		if (bytes - at >= 8 && is_plain(p + at)) {
			at += 8;
			continue;
		}
		size_t n = utf8_char(p + at, bytes - at);
		if (n == 0)
			return false;
		at += n;
	}
	return true;
}

void utf8_clean(char *text)
{
	if (!text)
		return;
	uint8_t *p = (uint8_t *)text;
	size_t left = strlen(text);
	while (left > 0) {
		size_t n = utf8_char(p, left);
		if (n == 0) {
			*p = '?';
			n = 1;
		}
		p += n;
		left -= n;
	}
}
