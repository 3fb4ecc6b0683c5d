/* A key in digits. Apart from wire/pair.c, for who keeps keys and has no TLS. */
#include "util/pair_text.h"

#include <stdio.h>

void pair_text(const uint8_t key[PAIR_BYTES], char ret[PAIR_TEXT])
{
	for (size_t i = 0; i < PAIR_BYTES; i++)
		snprintf(ret + 2 * i, 3, "%02x", key[i]);
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool pair_parse(const char *text, uint8_t ret_key[PAIR_BYTES])
{
	for (size_t i = 0; i < PAIR_BYTES; i++) {
		int high = digit_of(text[2 * i]);
		int low = high < 0 ? -1 : digit_of(text[2 * i + 1]);
		if (low < 0)
			return false;
		ret_key[i] = (uint8_t)(high << 4 | low);
	}
	return text[PAIR_TEXT - 1] == 0;
}
