#include "util/utf8.h"

#include <string.h>
#include <unistr.h>

#include "util/check.h"

size_t utf8_char(const uint8_t *p, size_t left)
{
	int n = u8_mblen(p, left);

	CHECK(left > 0);
	return n > 0 ? (size_t)n : 0;
}

size_t utf8_unfinished(const uint8_t *p, size_t bytes)
{
	ucs4_t c;

	for (size_t back = 1; back <= 3 && back <= bytes; back++)
		if (u8_mbtoucr(&c, p + bytes - back, back) == -2)
			return back;
	return 0;
}

size_t utf8_put(char *to, uint32_t c)
{
	int n = u8_uctomb((uint8_t *)to, c, 4);

	CHECK(n > 0 && n <= 4);
	return (size_t)n;
}

/* Eight bytes of ASCII without a NUL? Nearly everything that travels begins with them. */
static bool is_plain(const uint8_t *p)
{
	const uint64_t high = 0x8080808080808080ULL, low = 0x0101010101010101ULL;
	uint64_t w;

	memcpy(&w, p, sizeof w);
	return !((w | (w - low)) & high);
}

bool utf8_is_text(const uint8_t *p, size_t bytes)
{
	for (; bytes >= 8 && is_plain(p); bytes -= 8)
		p += 8;
	return bytes == 0 || (!memchr(p, 0, bytes) && !u8_check(p, bytes));
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
