#include "util/crc.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

/* table[k][b]: what byte b does when k bytes follow it. */
static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void crc_fill(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t c = b;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
		table[0][b] = c;
	}
	for (uint32_t b = 0; b < 256; b++)
		for (int k = 1; k < 8; k++)
			table[k][b] = table[0][table[k - 1][b] & 0xff] ^ table[k - 1][b] >> 8;
}

static uint32_t crc_number(uint32_t crc, uint64_t v)
{
	v ^= crc;
	return table[7][v & 0xff] ^ table[6][v >> 8 & 0xff] ^ table[5][v >> 16 & 0xff] ^
	       table[4][v >> 24 & 0xff] ^ table[3][v >> 32 & 0xff] ^ table[2][v >> 40 & 0xff] ^
	       table[1][v >> 48 & 0xff] ^ table[0][v >> 56];
}

uint32_t crc32c_numbers(uint32_t crc, const int64_t *numbers, size_t n)
{
	pthread_once(&once, crc_fill);
	crc = ~crc;
	for (size_t i = 0; i < n; i++)
		crc = crc_number(crc, (uint64_t)numbers[i]);
	return ~crc;
}

uint32_t crc32c_bytes(uint32_t crc, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t v;

	pthread_once(&once, crc_fill);
	crc = ~crc;
	for (; n >= sizeof v; n -= sizeof v, p += sizeof v) {
		memcpy(&v, p, sizeof v);
		crc = crc_number(crc, le64toh(v));
	}
	for (; n; n--, p++)
		crc = table[0][(crc ^ *p) & 0xff] ^ crc >> 8;
	return ~crc;
}
